"""Which columns give people away: contributions and the smallest sets that single people out."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

MOST_SETS = 2000
"""Sets of columns looked at before the search for small ones stops."""


@dataclasses.dataclass(frozen=True)
class Exposure:
    """A set of columns and how many records it makes unique."""

    columns: tuple[str, ...]
    unique_records: int


def contributions(classes: ClassTable) -> dict[str, float]:
    """Per column, by how much the share of unique records falls when an intruder does not know it.

    Columns are in falling order of their contribution.
    """
    total = max(1, classes.total)
    all_unique = unique_records(classes, classes.columns)
    if not all_unique:
        return dict.fromkeys(classes.columns, 0.0)
    fall = {
        name: (all_unique - unique_records(classes, [c for c in classes.columns if c != name])) / total
        for name in classes.columns
    }
    return dict(sorted(fall.items(), key=lambda item: (-item[1], item[0])))


def smallest_exposing_sets(classes: ClassTable, *, most: int = 5) -> tuple[Exposure, ...]:
    """The smallest sets of columns on which somebody is unique, those that expose most people first.

    Sets of one column are tried, then of two, and so on; the first size at which somebody is unique is reported.
    """
    if not unique_records(classes, classes.columns):
        return ()
    tried = 0
    for size in range(1, len(classes.columns) + 1):
        tried += comb(len(classes.columns), size)
        if tried > MOST_SETS and size > 1:
            break
        found = [Exposure(c, unique_records(classes, c)) for c in combinations(classes.columns, size)]
        exposing = [e for e in found if e.unique_records]
        if exposing:
            return tuple(sorted(exposing, key=lambda e: (-e.unique_records, e.columns))[:most])
    return ()


def unique_records(classes: ClassTable, columns: Sequence[str]) -> int:
    """Number of records that are unique on some of the columns."""
    sizes = _projected_sizes(classes, columns)
    return int((sizes == 1).sum())


def _projected_sizes(classes: ClassTable, columns: Sequence[str]) -> NDArray[np.int64]:
    import numpy as np

    if not len(classes):
        return np.empty(0, dtype=np.int64)
    ids = classes.project(columns)
    return np.bincount(ids, weights=classes.records).astype(np.int64)
