"""Tables given by how often each sensitive value occurs in each class, and what the models say
about them.
"""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from sfumato.core.evidence import gather
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.models.beta_likeness import BetaLikeness, DeltaDisclosure
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import AlphaKAnonymity, LDiversity, PSensitive
from sfumato.methods.models.t_closeness import TCloseness

VALUES = ("1", "2", "4", "8", "16", "32")
"""Default values: they are numbers, in this order and not evenly spaced."""

TREE = TableHierarchy(
    [
        ("1", "low", "*"),
        ("2", "low", "*"),
        ("4", "mid", "*"),
        ("8", "mid", "*"),
        ("16", "high", "*"),
        ("32", "high", "*"),
    ]
)


def counted_dataset(classes, values=VALUES, **described):
    """One row a record: ``classes[i][j]`` records of class i have value j (None: missing)."""
    rows = [
        (f"c{i:03}", value)
        for i, counts in enumerate(classes)
        for value, n in zip(values, counts, strict=False)
        for _ in range(n)
    ]
    frame = pl.DataFrame(
        {
            "block": pl.Series([b for b, _ in rows], dtype=pl.String),
            "secret": pl.Series([v for _, v in rows], dtype=pl.String),
        }
    )
    secret = Attribute((Role.SENSITIVE,), **{"kind": Kind.NUMERIC, "hierarchy": TREE, **described})
    return Table(frame, Schema({"block": Attribute((Role.QUASI,)), "secret": secret}))


def evidence_of(classes, model, values=VALUES, **described):
    return gather(counted_dataset(classes, values, **described), [model])


def verdict_of(classes, model, values=VALUES, **described):
    return model.judge(evidence_of(classes, model, values, **described))


def table_of(classes):
    """Counts of every value in all classes together."""
    return [sum(column) for column in zip(*classes, strict=True)]


@st.composite
def counted_classes(draw, *, most_classes=5, most_values=5, most=6):
    """Classes by values; every class has a record, every value occurs, there are two values or
    more.
    """
    width = draw(st.integers(2, most_values))
    row = st.lists(st.integers(0, most), min_size=width, max_size=width).filter(any)
    classes = draw(st.lists(row, min_size=1, max_size=most_classes))
    occurring = [j for j in range(width) if any(row[j] for row in classes)]
    kept = [[row[j] for j in occurring] for row in classes]
    return kept if len(occurring) > 1 else [[*row, 1] for row in kept]


@st.composite
def mergings(draw, classes):
    """A group for every class."""
    return draw(st.lists(st.integers(0, 2), min_size=len(classes), max_size=len(classes)))


def many_models(values):
    """Models of all kinds and strengths that fit a column with so many values."""
    few = range(1, min(values, 4) + 1)
    distances = ("equal", "ordered", "numeric", "hierarchical")
    return [
        *(KAnonymity(k) for k in (1, 2, 5)),
        *(LDiversity("secret", l=n) for n in few),
        *(LDiversity("secret", l=n, kind="entropy") for n in (1, 1.5, 2)),
        *(LDiversity("secret", l=n, kind="recursive", c=c) for n in few for c in (0.5, 1, 2.5)),
        *(PSensitive("secret", p=p, k=k) for p in few for k in (1, 3)),
        *(AlphaKAnonymity("secret", alpha=a, k=k) for a in (0.4, 0.5, 1) for k in (1, 3)),
        AlphaKAnonymity("secret", alpha=0.5, k=2, values=("1",)),
        *(TCloseness("secret", t=t, distance=d) for d in distances for t in (0.1, 0.3, 0.5)),
        *(TCloseness("secret", t=t, distance="multiplicative") for t in (1.5, 2, 4)),
        *(DeltaDisclosure("secret", delta=d) for d in (0.41, 0.7, 1.5)),
        *(DeltaDisclosure("secret", delta=d, absent="skip") for d in (0.41, 0.7)),
        *(
            BetaLikeness("secret", beta=b, kind=kind)
            for b in (0.5, 1, 3)
            for kind in ("basic", "enhanced")
        ),
    ]
