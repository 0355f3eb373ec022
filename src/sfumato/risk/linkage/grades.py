"""Rules that grade agreement in a column, and the counts of patterns that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.risk.linkage.arrays import CATEGORY, GRADED, Arrays, Rule
from sfumato.risk.linkage.distances import moments
from sfumato.risk.linkage.fellegi_sunter import LEVELS, Patterns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.risk.linkage.compared import Compared

MOST_COLUMNS = 27
"""Columns whose pattern fits a word."""


def graded_rule(column: Compared, tolerance: float, bits: NDArray[np.float64] | None = None) -> Rule:
    """How one column is graded: close are numbers within so many standard deviations, or neighbouring ranks.

    With ``bits`` (per level the weight of a match, the last where nothing can be said) grades cost the bits they lack.
    """
    import numpy as np

    costs = np.zeros(LEVELS) if bits is None else bits.max() - bits
    differs, close, covered, exact, nothing = costs.tolist()
    if column.scale == "category":
        others = (column.stands_for - 1).astype(float)
        theirs = np.column_stack([np.zeros((len(column.places), 2)), np.full(len(column.places), -np.inf)])
        ours = np.column_stack([np.zeros(len(others)), others, np.where(others > 0, covered, exact)])
        return Rule(CATEGORY, np.array([differs, nothing, nothing, nothing, 0, exact, covered, close]), theirs, ours)
    theirs = np.column_stack([column.places, column.places, np.zeros(len(column.places))])
    ours = np.column_stack([column.low, column.high, np.zeros(len(column.low))])
    reach = 1.0 if column.scale == "order" else tolerance * _deviation(column)
    return Rule(GRADED, np.array([differs, nothing, nothing, nothing, reach, exact, covered, close]), theirs, ours)


def _deviation(column: Compared) -> float:
    """The standard deviation of both files together."""
    import numpy as np

    theirs, ours = column.places[column.theirs], ((column.low + column.high) / 2)[column.ours]
    ours = ours[~column.open_ours[column.ours]]
    both = np.concatenate([theirs, ours])
    return moments(both[~np.isnan(both)])[1]


def count_patterns(arrays: Arrays, anchors: NDArray[np.int64]) -> Patterns:
    """The patterns of all pairs of an anchor (a distinct record of the intruder) and a released record."""
    import numpy as np

    from sfumato.kernels.linkage_patterns import pattern_counts

    left, right = arrays.theirs, arrays.ours
    keys, counts = pattern_counts(
        anchors, arrays.kinds, arrays.constants, left.numbers, left.marks, left.records.astype(float),
        right.numbers, right.marks, right.records.astype(float), left.bases, left.starts, left.matches, right.bases,
    )  # fmt: skip
    order = np.argsort(keys)
    digits = LEVELS ** np.arange(len(arrays.kinds) - 1, -1, -1)
    return Patterns(keys[order][:, None] // digits % LEVELS, counts[order])
