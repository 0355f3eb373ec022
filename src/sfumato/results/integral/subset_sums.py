"""How many subsets of some numbers have each sum, and how many of them leave a number out: without
listing any subset.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_STEPS = 100_000_000
"""Additions that the table of all sums may take."""


@dataclasses.dataclass(frozen=True, eq=False)
class SubsetSums:
    """``counts[v]`` subsets of one size have sum *v*, and ``without[x][v]`` of these leave a given
    record of value *x* out.
    """

    counts: NDArray[Any]
    without: dict[int, NDArray[Any]]


def subset_sums(values: Sequence[int], size: int) -> SubsetSums:
    r"""Count subsets of ``size`` records by the sum of their values, none of them negative.

    .. math:: c_j(v) \mathrel{+}= c_{j-1}(v - x) \text{ for every record } x, \qquad w_j(v)
        = c_j(v) - w_{j-1}(v - x), \quad w_0 = c_0

    The first is the usual recurrence; the second takes one record out again, since every subset
    that leaves *x* out or holds it is counted once. Counts are whole numbers of any length. Work
    grows with records × size × largest sum, and again with distinct values × size × largest sum.

    >>> found = subset_sums([1, 2, 3], 2)
    >>> found.counts.tolist(), found.without[1].tolist()
    ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 1])
    """
    # no set of this size, and so no smaller one either, has a larger sum
    top = sum(sorted(values)[len(values) - size :])
    steps = (len(values) + len(set(values))) * size * (top + 1)
    if steps > MOST_STEPS:
        raise ParameterError(
            f"counting all subsets exactly would take {steps:,} additions, and at most "
            f"{MOST_STEPS:,} are possible; draw samples, use fewer records, or write the values "
            "with fewer digits"
        )
    # objects, since the counts soon exceed 64 bits
    table = np.zeros((size + 1, top + 1), dtype=object)
    table[0, 0] = 1
    for value in values:
        # from large sets to small ones: upwards, the row below would hold this record already and
        # it would be taken twice
        for member_count in range(size, 0, -1):
            table[member_count, value:] += table[member_count - 1, : top + 1 - value]
    return SubsetSums(table[size], {value: _without(table, value) for value in sorted(set(values))})


def _without(table: NDArray[Any], value: int) -> NDArray[Any]:
    """The counts of subsets that leave one record of a value out."""
    width = table.shape[1]
    sums_left: NDArray[Any] = table[0].copy()
    for member_count in range(1, len(table)):
        following = table[member_count].copy()
        # sets that hold the record are sets with one member less that leave it out, plus the record
        following[value:] -= sums_left[: width - value]
        sums_left = following
    return sums_left
