"""People as sets of items: a worked example, and purchases of any size."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.fields import Document
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.source import Source
from sfumato.data.examples.draws import PhiloxDraws
from sfumato.data.examples.literature import at_least, quasi
from sfumato.methods.hierarchies import intervals, tree

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.data.baskets.baskets import Baskets

# Ten baskets; every item is a letter for its group and a number.
TEN = ("a1b1b2", "a2b1", "a2b1b2", "a1a2b2", "a1b1c1", "a3b1c1", "a2c2", "a1b2c1", "a2b1c2", "a3b1")
SEVEN = {"*": {"P": {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"]}, "C": ["c1", "c2"]}}
FIRST = (
    "ba",
    "co",
    "du",
    "fe",
    "gi",
    "ha",
    "ke",
    "lo",
    "mu",
    "na",
    "po",
    "ri",
    "sa",
    "te",
    "vo",
    "zu",
)
LAST = ("bel", "dor", "fin", "gan", "lim", "mir", "nok", "pas", "ron", "tal")
PER_GROUP = 10


def baskets() -> Baskets:
    """Ten people, seven items in groups A and B (together P) and C: small enough to work out by
    hand.

    The cheapest cut with 2²-anonymity is {A, B, C}, which loses 65/189; four people are alone with
    some pair of their items.

    >>> baskets()
    Baskets(10 people, 7 items, 27 occurrences)
    """
    rows = []
    for person, basket in enumerate(TEN, start=1):
        # Two characters an item.
        rows += [(person, basket[at : at + 2]) for at in range(0, len(basket), 2)]
    table = pl.DataFrame(rows, schema=["person", "item"], orient="row")
    return _read(table, {"person": _unit(), "item": _items(tree(SEVEN))}, "baskets")


def purchases(people: int = 1000, *, items: int = 400, seed: int = 7) -> Baskets:
    """What people bought in a year: about ten of many products, some liked by all and most by few,
    and their age and region.

    Products have two-syllable names; ten of them make a group, ten groups a department. Everybody
    buys from a department or two more than from others. The same numbers give the same people on
    every machine; nobody is real.

    >>> purchases(50, items=30).counts()["people"]
    50
    """
    count = at_least("people", people, 1)
    width = at_least("items", items, 2)
    draws = PhiloxDraws(seed)
    names, groups = _products(width)
    # Between 1 and 19 items, ten on average.
    lengths = 1 + draws.whole(count, 0, 9) + draws.whole(count, 0, 9)
    owners = np.repeat(np.arange(count, dtype=np.int64), lengths)
    # Falling with the rank: a few products are bought by many.
    popularity = 1.0 / (np.arange(width) + 1.0) ** 0.8
    # The popular products are spread over all groups, not only the first ones.
    anywhere = draws.pick(len(owners), popularity[np.argsort(draws.uniform(width), kind="stable")])
    # The department a person prefers; departments have ten groups of ten products.
    home = draws.whole(count, 0, max(0, (width - 1) // (PER_GROUP * PER_GROUP)))[owners]
    # The last department may be smaller than a hundred products.
    nearby = np.minimum(
        home * PER_GROUP * PER_GROUP + draws.whole(len(owners), 0, PER_GROUP * PER_GROUP - 1),
        width - 1,
    )
    products = np.where(draws.chance(len(owners), 0.3), nearby, anywhere)
    age = np.clip(np.rint(46 + 17 * draws.bell(count)), 16, 95).astype(np.int64)
    region = np.array(["north", "east", "south", "west"], dtype=object)[
        draws.pick(count, [4, 2, 3, 1])
    ]
    table = pl.DataFrame(
        {
            "customer": owners + 1,
            "product": pl.Series(names, dtype=pl.String).gather(products),
            "age": age[owners],
            "region": pl.Series(region[owners].tolist(), dtype=pl.String),
        }
        # The same product drawn twice is bought once.
    ).unique(["customer", "product"], maintain_order=True)
    attributes = {
        "customer": _unit(),
        "product": _items(tree(groups)),
        "age": quasi(intervals(5, 10, 20), Kind.NUMERIC),
        "region": quasi(tree({"*": {"upper": ["north", "east"], "lower": ["south", "west"]}})),
    }
    return _read(table, attributes, "purchases")


def _products(count: int) -> tuple[list[str], Document]:
    """Invented names, and a tree of departments and groups above them."""
    words = ["".join(parts) for parts in product(FIRST, LAST)]
    names = []
    for i in range(count):
        rounds, position = divmod(i, len(words))
        # Where names run out they begin again, with a number behind them.
        number = str(rounds) if rounds else ""
        names.append(words[position] + number)
    departments: dict[str, dict[str, list[str]]] = {}
    for position, name in enumerate(names):
        group = position // PER_GROUP
        departments.setdefault(f"department {group // PER_GROUP + 1}", {}).setdefault(
            f"group {group + 1}", []
        ).append(name)
    return names, {"*": departments}


def _unit() -> Attribute:
    return Attribute((Role.PERSON,))


def _items(hierarchy: Hierarchy) -> Attribute:
    return Attribute((Role.ITEM,), hierarchy=hierarchy)


def _read(table: pl.DataFrame, attributes: dict[str, Attribute], name: str) -> Baskets:
    from sfumato.data.baskets.baskets import Baskets

    read: Baskets = Baskets.from_tables(
        {"data": table}, {"data": Schema(attributes)}, Source(name=name)
    )
    return read
