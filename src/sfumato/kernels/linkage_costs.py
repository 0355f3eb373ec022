"""What it costs to take a record of one file for a record of another, column by column.

A record is two rows of arrays: ``numbers[k]`` holds the low end, the high end and half the width that is averaged over
(for a category: what agreeing costs), ``marks[k]`` a code of a category, 0 for a place on the line, ``OPEN`` for a cell
that fits everything, ``MISSING`` for none. ``rules[k]`` holds the constants of a column: what differing costs (or the
weight of a squared or absolute difference), an open cell, one missing, both missing, the tolerance, and what exact,
covered and close agreement cost. Codes of one file that agree with a code of the other are listed in ``matches``.

What runs for every pair takes numbers only: numba passes arrays at many times the cost of the comparison. So before a
record is compared with many, the codes that agree with its own are stamped with its number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SQUARE, ABSOLUTE, CATEGORY, GRADED = 0, 1, 2, 3
OPEN, MISSING = -1, -2
EXACT, COVERED, CLOSE, DIFFERS, NOTHING = 3, 2, 1, 0, 4
SLACK = 1e-9


@njit(cache=True, nogil=True)
def agree(code, first, last, base, starts, matches):
    """Whether a code agrees with any code from ``first`` to ``last`` of the other file."""
    low, high = starts[base + code], starts[base + code + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if matches[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low < end and matches[low] <= last


@njit(cache=True, nogil=True)
def stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps):
    """Stamp the codes of the other file that agree with those of record *i*, in all columns of categories."""
    for k in range(kinds.size):
        if kinds[k] == CATEGORY and marks[i, k] >= 0:
            for m in range(starts[bases[k] + marks[i, k]], starts[bases[k] + marks[i, k] + 1]):
                stamps[other_bases[k] + matches[m]] = i


@njit(cache=True, nogil=True)
def line_cost(kind, gap, half, points, differs, reach, exact, covered, close):
    """The cost of a gap on the line, for a cell that is averaged over ``half`` to either side."""
    if kind == SQUARE:
        return differs * (gap * gap + half * half / 3.0)
    if kind == ABSOLUTE:
        if gap < half:
            return differs * (gap * gap + half * half) / (2.0 * half)
        return differs * gap
    if gap <= SLACK:
        return exact if points else covered
    return close if gap <= reach + SLACK else differs


@njit(cache=True, nogil=True)
def cell_cost(
    kind, mark, low, high, half, other_mark, other_low, other_high, other_half, agreeing,
    differs, opened, one_missing, both_missing, reach, exact, covered, close,
):  # fmt: skip
    """What two cells cost; ``agreeing`` says whether their codes do."""
    if mark == OPEN or other_mark == OPEN:
        return opened
    if kind == CATEGORY:
        return max(half, other_half) if agreeing else differs
    if mark == MISSING or other_mark == MISSING:
        return both_missing if mark == other_mark else one_missing
    gap = max(0.0, other_low - high, low - other_high)
    points = low == high and other_low == other_high
    return line_cost(kind, gap, half + other_half, points, differs, reach, exact, covered, close)


@njit(cache=True, nogil=True)
def cell_level(kind, mark, low, high, other_mark, other_low, other_high, agreeing, reach):
    """How far two cells agree: exactly, covered, closely, not at all, or nothing can be said."""
    if mark < 0 or other_mark < 0:
        return NOTHING
    points = low == high and other_low == other_high
    if kind == CATEGORY:
        if not agreeing:
            return DIFFERS
        return EXACT if points else COVERED
    gap = max(other_low - high, low - other_high)
    if gap <= SLACK:
        return EXACT if points else COVERED
    return CLOSE if gap <= reach + SLACK else DIFFERS


@njit(cache=True, nogil=True)
def pair_costs(pairs, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches):
    """The cost of each pair of records, one number a column."""
    found = np.empty((pairs.shape[0], kinds.size))
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        for k in range(kinds.size):
            mark, other = marks[i, k], other_marks[j, k]
            agreeing = False
            if kinds[k] == CATEGORY and mark >= 0 and other >= 0:
                agreeing = agree(mark, other, other, bases[k], starts, matches)
            found[p, k] = cell_cost(
                kinds[k], mark, numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2], agreeing,
                rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
            )  # fmt: skip
    return found
