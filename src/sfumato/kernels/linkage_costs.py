"""What it costs to take a record of one file for a record of another, column by column.

A record is two rows of arrays: ``numbers[k]`` holds the low end, the high end and half the width that is averaged over
(for a category: what agreeing costs), ``marks[k]`` a code of a category, 0 for a place on the line, ``OPEN`` for a cell
that fits everything, ``MISSING`` for none. ``rules[k]`` holds the constants of a column: what differing costs (or the
weight of a squared or absolute difference), an open cell, one missing, both missing, the tolerance, and what exact,
covered and close agreement cost. Codes of one file that agree with a code of the other are listed in ``matches``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SQUARE, ABSOLUTE, CATEGORY, GRADED = 0, 1, 2, 3
OPEN, MISSING = -1, -2
EXACT, COVERED, CLOSE, DIFFERS, NOTHING = 3, 2, 1, 0, 4
SLACK = 1e-9


@njit(inline="always")
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


@njit(inline="always")
def line_cost(k, kind, rules, gap, half, points):
    """The cost of a gap on the line, for a cell that is averaged over ``half`` to either side."""
    if kind == SQUARE:
        return rules[k, 0] * (gap * gap + half * half / 3.0)
    if kind == ABSOLUTE:
        if gap < half:
            return rules[k, 0] * (gap * gap + half * half) / (2.0 * half)
        return rules[k, 0] * gap
    if gap <= SLACK:
        return rules[k, 5] if points else rules[k, 6]
    return rules[k, 7] if gap <= rules[k, 4] + SLACK else rules[k, 0]


@njit(inline="always")
def column_cost(k, kind, rules, numbers, marks, i, other_numbers, other_marks, j, base, starts, matches):
    """What one column costs for record *i* of the file whose matches are listed and record *j* of the other.

    Whole arrays are passed, not rows of them: making and dropping a row costs more than the rest.
    """
    mark, other = marks[i, k], other_marks[j, k]
    if mark == OPEN or other == OPEN:
        return rules[k, 1]
    if kind == CATEGORY:
        if agree(mark, other, other, base, starts, matches):
            return max(numbers[i, k, 2], other_numbers[j, k, 2])
        return rules[k, 0]
    if mark == MISSING or other == MISSING:
        return rules[k, 3] if mark == other else rules[k, 2]
    low, high = numbers[i, k, 0], numbers[i, k, 1]
    other_low, other_high = other_numbers[j, k, 0], other_numbers[j, k, 1]
    gap = max(0.0, other_low - high, low - other_high)
    half = numbers[i, k, 2] + other_numbers[j, k, 2]
    return line_cost(k, kind, rules, gap, half, low == high and other_low == other_high)


@njit(inline="always")
def record_cost(kinds, rules, numbers, marks, i, other_numbers, other_marks, j, bases, starts, matches, limit):
    """What all columns cost; given up as soon as that exceeds the limit."""
    total = 0.0
    for k in range(kinds.size):
        total += column_cost(
            k, kinds[k], rules, numbers, marks, i, other_numbers, other_marks, j, bases[k], starts, matches
        )
        if total > limit:
            break
    return total


@njit(cache=True, nogil=True)
def pair_costs(pairs, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches):
    """The cost of each pair of records, one number a column."""
    found = np.empty((pairs.shape[0], kinds.size))
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        for k in range(kinds.size):
            found[p, k] = column_cost(
                k, kinds[k], rules, numbers, marks, i, other_numbers, other_marks, j, bases[k], starts, matches
            )
    return found


@njit(cache=True, nogil=True)
def level(k, kind, rules, numbers, marks, i, other_numbers, other_marks, j, base, starts, matches):
    """How far two cells agree: exactly, covered, closely, not at all, or nothing can be said."""
    mark, other = marks[i, k], other_marks[j, k]
    if mark < 0 or other < 0:
        return NOTHING
    points = numbers[i, k, 0] == numbers[i, k, 1] and other_numbers[j, k, 0] == other_numbers[j, k, 1]
    if kind == CATEGORY:
        if not agree(mark, other, other, base, starts, matches):
            return DIFFERS
        return EXACT if points else COVERED
    gap = max(0.0, other_numbers[j, k, 0] - numbers[i, k, 1], numbers[i, k, 0] - other_numbers[j, k, 1])
    if gap <= SLACK:
        return EXACT if points else COVERED
    return CLOSE if gap <= rules[k, 4] + SLACK else DIFFERS
