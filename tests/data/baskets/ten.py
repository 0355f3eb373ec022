"""The worked example: ten people, seven items, and the hierarchy above them; and random baskets
under the same hierarchy.
"""

from __future__ import annotations

import polars as pl
from hypothesis import strategies as st

from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.source import Source
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.examples.set_valued import SEVEN
from sfumato.methods.hierarchies import tree

LEAVES = ("a1", "a2", "a3", "b1", "b2", "c1", "c2")
ABOVE = {**{leaf: leaf[0].upper() for leaf in LEAVES}, "A": "P", "B": "P", "P": "*", "C": "*"}
SIZES = {**dict.fromkeys(LEAVES, 1), "A": 3, "B": 2, "C": 2, "P": 5, "*": 7}

BASKETS = st.lists(st.frozensets(st.sampled_from(LEAVES), max_size=5), min_size=2, max_size=10)


def people_of(baskets, own=None, hierarchy=True) -> Baskets:
    """Baskets as a list column; ``own`` adds a column with role quasi."""
    item = Attribute((Role.ITEM,), hierarchy=tree(SEVEN) if hierarchy else None)
    columns = {"item": pl.Series([sorted(one) for one in baskets], dtype=pl.List(pl.String))}
    attributes = {"item": item}
    if own is not None:
        columns["own"] = pl.Series(own)
        attributes["own"] = Attribute((Role.QUASI,))
    return Baskets.from_tables(
        {"data": pl.DataFrame(columns)}, {"data": Schema(attributes)}, Source(name="ten")
    )


def sets_of(people) -> list[frozenset[str]]:
    """Everybody's items by name."""
    return [
        frozenset(people.labels[item] for item in people.sets[person].tolist())
        for person in range(people.people)
    ]


def ancestors(label: str) -> list[str]:
    """A node and all above it."""
    return [label, *(ancestors(ABOVE[label]) if label in ABOVE else [])]


def ncp(before, after) -> float:
    """The mean loss over the items of the original, node by node."""
    losses = []
    for old, new in zip(before, after, strict=True):
        for item in old:
            node = next((one for one in ancestors(item) if one in new), None)
            losses.append(1.0 if node is None else 0.0 if SIZES[node] == 1 else SIZES[node] / 7)
    return sum(losses) / len(losses)
