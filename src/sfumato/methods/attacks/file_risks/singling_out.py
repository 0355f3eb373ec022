"""Which columns give people away: contributions and the smallest sets that single people out."""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import combinations, permutations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.table import Table

MOST_PERMUTED = 7
CHEAP = 20_000_000
"""Classes grouped, in all, that take well under a second."""
MOST_SORTED = 2 * MOST_PERMUTED
"""Of so many orders each is counted by one sort; where all are looked at, every set is counted
once.
"""
CALL = 2000
"""Classes that could be grouped in the time it takes to ask for it."""
MOST_SETS = 2000
"""Sets of columns looked at before the search for small ones stops."""


@dataclasses.dataclass(frozen=True)
class Exposure:
    """A set of columns and how many records it makes unique."""

    columns: tuple[str, ...]
    unique_records: int


def contributions(classes: ClassTable) -> dict[str, float]:
    r"""Per column, its fair share in how many records are unique (its Shapley value), in falling
    order.

    .. math:: \frac1{|R|} \sum_{r \in R} u(P_i^r \cup \{i\}) - u(P_i^r)

    *u* is the share of records that are unique on a set of columns, *r* an order in which an
    intruder learns the columns, and :math:`P_i^r` the columns learnt before *i*. The values sum to
    the share of records that are unique on all columns. *R* is every order where that costs little;
    otherwise the rotations of the columns and their reverses, in which every column stands at every
    place; for very large tables one order and its reverse.
    """
    exposed = cache(lambda columns: unique_records(classes, sorted(columns)) if columns else 0)
    total = max(1, classes.total)
    if not exposed(frozenset(classes.columns)):
        return dict.fromkeys(classes.columns, 0.0)
    orders = _orders(classes)
    gained = dict.fromkeys(classes.columns, 0.0)
    for order in orders:
        alone = None
        # One sort counts all prefixes of an order; where all orders are looked at, the same sets
        # come up again and again, and remembering them is cheaper.
        if classes.person is None and len(orders) <= MOST_SORTED:
            alone = classes.unique_by_prefixes(order)
        if alone is None:
            alone = [exposed(frozenset(order[: rank + 1])) for rank in range(len(order))]
        # What each column adds to those before it: counts 0, 3, 5 → gains 3 and 2.
        for name, before, after in zip(order, [0, *alone], alone, strict=False):
            gained[name] += after - before
    shares = {name: gain / len(orders) / total for name, gain in gained.items()}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def _orders(classes: ClassTable) -> list[tuple[str, ...]]:
    names = tuple(sorted(classes.columns))  # whatever their order in the table
    if len(names) <= MOST_PERMUTED and 2 ** len(names) * len(classes) <= CHEAP:
        return list(permutations(names))
    if 2 * len(names) ** 2 * (len(classes) + CALL) <= CHEAP:
        turns = len(names)
    else:
        turns = 1
    rotated = [names[turn:] + names[:turn] for turn in range(turns)]
    return rotated + [order[::-1] for order in rotated]


def smallest_exposing_sets(classes: ClassTable, *, limit: int = 5) -> tuple[Exposure, ...]:
    """The smallest sets of columns on which somebody is unique, those that expose most people
    first.

    Sets of one column are tried, then of two, and so on; the first size at which somebody is unique
    is reported.
    """
    if not unique_records(classes, classes.columns):
        return ()
    # Sets of smaller sizes were counted before: the limit is on all of them together.
    sets_counted = 0
    for size in range(1, len(classes.columns) + 1):
        sets_counted += comb(len(classes.columns), size)
        if sets_counted > MOST_SETS and size > 1:
            break
        exposures = [
            Exposure(c, unique_records(classes, c)) for c in combinations(classes.columns, size)
        ]
        exposing = [e for e in exposures if e.unique_records]
        if exposing:
            return tuple(sorted(exposing, key=lambda e: (-e.unique_records, e.columns))[:limit])
    return ()


def unique_records(classes: ClassTable, columns: Sequence[str]) -> int:
    """Number of records that are unique on some of the columns.

    Where a person can have several records, those that only one person has are unique. A missing
    value is a category of its own here, whatever the schema says.
    """
    if not len(classes):
        return 0
    if classes.person is None and (alone := classes.unique_by(columns)) is not None:
        return alone
    ids = classes.project(columns)
    records, sizes = _project_classes(classes, ids)
    return int(records[sizes == 1].sum())


def _project_classes(
    classes: ClassTable, ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records and size of each group of classes."""
    records = np.bincount(ids, weights=classes.records).astype(np.int64)
    if classes.person is None:
        return records, records
    return records, classes.counts[classes.person].merged(ids, len(records)).distinct()


def why_alone(
    dataset: Table, row: int, columns: Sequence[str] | None = None, *, limit: int = 5
) -> tuple[tuple[str, ...], ...]:
    """The smallest sets of columns on which one record is alone: what an intruder must know of a
    person to find that record.

    Every set is minimal: without any one of its columns somebody else fits too. Sets of at most
    ``limit`` columns are searched, smallest first; nothing is returned when the record shares all
    its values with another. ``columns`` are the quasi-identifiers by default. The answer names
    columns, never values.

    >>> from sfumato import examples
    >>> why_alone(examples.special_uniques(), 8)
    (('age', 'gender', 'education'),)
    """
    names = tuple(dataset.schema.quasi if columns is None else columns)
    dataset.require(names)
    if not 0 <= row < len(dataset):
        raise ParameterError(
            f"there is no record {row:,}; the table has {len(dataset):,}, counted from 0"
        )
    # Per other record the columns it shares with this one, a bit each.
    alike = np.zeros(len(dataset), dtype=np.int64)
    for bit, name in enumerate(names):
        codes = dataset.encoded(name).codes
        alike |= (codes == codes[row]).astype(np.int64) << bit
    # The record itself shares everything and would rule out every set.
    alike[row] = 0
    agreements = np.unique(alike)
    minimal: list[int] = []
    for size in range(1, min(limit, len(names)) + 1):
        for subset in combinations(range(len(names)), size):
            mask = sum(1 << bit for bit in subset)
            if (
                # A set that holds a smaller one that is enough is not minimal.
                not any(mask & smaller == smaller for smaller in minimal)
                and not ((agreements & mask) == mask).any()
            ):
                minimal.append(mask)
    return tuple(tuple(n for bit, n in enumerate(names) if mask >> bit & 1) for mask in minimal)
