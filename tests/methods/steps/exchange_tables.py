"""Tables for steps that exchange values, in several kinds of frames, and how two releases are
compared.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table

PLAIN = Attribute((Role.KEEP,))
SCHEMA = Schema(
    {
        "home": Attribute((Role.HOUSEHOLD,)),
        "land": PLAIN,
        "town": PLAIN,
        "size": PLAIN,
        "area": Attribute((Role.STRATUM,)),
        "sex": Attribute((Role.QUASI,)),
        "grade": Attribute((Role.KEEP,), Kind.ORDINAL, order=("low", "mid", "high")),
        "age": Attribute((Role.QUASI,), Kind.NUMERIC),
        "income": Attribute((Role.SENSITIVE,), Kind.NUMERIC),
        "illness": Attribute((Role.SENSITIVE,)),
        "weight": Attribute((Role.WEIGHT,), Kind.NUMERIC),
    }
)


def people(rows: int = 120, *, seed: int = 1) -> Table:
    """People in households; a few values are missing, and a few rows agree in most columns."""
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, rows // 2, rows))
    size = np.bincount(home)
    land = rng.integers(0, 3, rows)
    town = land * 3 + rng.integers(0, 3, rows)
    age = rng.integers(18, 40, rows)
    income = np.round(100 * np.exp(age / 30 + rng.normal(0, 0.3, rows)))
    frame = pl.DataFrame(
        {
            "home": [f"h{i:03d}" for i in home],
            "land": [f"l{i}" for i in land[home]],
            "town": [f"t{i:02d}" for i in town[home]],
            "size": size[home],
            "area": rng.choice(["a", "b"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "grade": rng.choice(["low", "mid", "high"], rows),
            "age": age,
            "income": income,
            "illness": rng.choice(["cold", "flu", "gout", "none"], rows, p=[0.2, 0.3, 0.1, 0.4]),
            "weight": rng.integers(1, 4, rows).astype(float),
        }
    )
    gaps = (
        pl.when(pl.int_range(rows) % 13 != 4).then(c).alias(c)
        for c in ("income", "illness", "grade")
    )
    return Table(frame.with_columns(gaps), SCHEMA)


def plain(**columns) -> Table:
    """A table all of whose columns are plain."""
    frame = pl.DataFrame(columns)
    return Table(frame).with_roles(keep=list(frame.columns))


def in_all_frames(dataset: Table) -> dict[str, Table]:
    """The same table in other orders and kinds of frames."""
    frame = dataset.to_polars()
    mixed = frame[np.random.default_rng(9).permutation(len(frame))]
    return {
        "other order": Table(mixed, dataset.schema),
        "pandas": Table(frame.to_pandas(), dataset.schema),
        "arrow, other order": Table(mixed.to_arrow(), dataset.schema),
    }


def run(step, dataset: Table, seed: int = 5, population: Table | None = None):
    """The plan and the released table."""
    plan = step.plan(dataset, Goal(seed=Seed(seed), population=population))
    return plan, step.apply(dataset, plan)


def multiset(dataset: Table) -> list[tuple[str, ...]]:
    """The rows as sorted tuples of labels, whatever the frame."""
    columns = []
    for name in sorted(dataset.columns):
        encoded = encode(dataset.column(name))
        columns.append([str(encoded.labels[c]) for c in encoded.codes])
    return sorted(zip(*columns, strict=True))


def kept(plan, what: str):
    """The one preserved quantity whose name starts so."""
    (found,) = [one for one in plan.preserved if one.what.startswith(what)]
    return found
