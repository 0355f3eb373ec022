"""The nearest records by category first, by the tree where that does not settle it.

Per column of categories the records that hold each code are listed. A record that is on none of the lists of the columns
looked through so far differs in all of them, which is what it costs at least: when that is more than the best found,
nothing else can be as near. This settles files with rare categories in a few hundred comparisons; the tree settles
files of numbers and ranges, and starts from the best found here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.linkage_costs import CATEGORY, cell_cost, stamp_agreeing
from sfumato.kernels.linkage_tree import descend

FEW, SHARE, SHARE_OF_CATEGORIES = 256, 64, 3
"""Lists of more records than the few, and than one in so many of all, are not looked through. Where all columns are
categories the tree can leave out little, and longer lists still pay."""


@njit(cache=True, nogil=True)
def _shortest(i, marks, bases, starts, matches, lists, list_starts, done):
    """The column not looked through yet in which the fewest records could agree, and how many those are."""
    column, least = -1, np.int64(2**62)
    for k in range(marks.shape[1]):
        if lists[k] < 0 or done[k] or marks[i, k] < 0:
            continue
        first = list_starts[lists[k]]
        length = list_starts[lists[k] + 1] - first
        for m in range(starts[bases[k] + marks[i, k]], starts[bases[k] + marks[i, k] + 1]):
            code = lists[k] + 1 + matches[m]
            length += list_starts[code + 1] - list_starts[code]
        if length < least:
            column, least = k, length
    return column, least


@njit(cache=True, nogil=True)
def _look_through(
    i, column, best, slack, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches,
    lists, list_starts, listed, seen, candidates, totals, found, other_bases, stamps,
):  # fmt: skip
    """Compare with all records that could agree in a column; the first list holds those that are open in it."""
    place = bases[column] + marks[i, column]
    first, last = starts[place], starts[place + 1]
    for m in range(first - 1, last):
        code = lists[column] if m < first else lists[column] + 1 + matches[m]
        for p in range(list_starts[code], list_starts[code + 1]):
            j = listed[p]
            if seen[j] == i:
                continue
            seen[j] = i
            limit = best + slack * (1.0 + abs(best))
            total = 0.0
            for k in range(kinds.size):
                other = other_marks[j, k]
                total += cell_cost(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                    other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i,
                    rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
                )  # fmt: skip
                if total > limit:
                    break
            if total <= limit:
                candidates[found], totals[found] = j, total
                found += 1
                best = min(best, total)
    return best, found


@njit(cache=True, nogil=True)
def nearest(
    queries, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases, starts, matches,
    order, spans, children, ends, codes, holds, lists, list_starts, listed, other_bases, slack,
):  # fmt: skip
    """Per query the least cost of any record of the other file, and how many records cost that, within the slack."""
    least, tied = np.full(queries.size, np.inf), np.zeros(queries.size, np.int64)
    stack, bounds = np.empty(spans.shape[0] + 1, np.int64), np.empty(spans.shape[0] + 1)
    seen, candidates = np.full(records.size, -1, np.int64), np.empty(records.size, np.int64)
    stamps = np.full(other_bases[-1] + 1, -1, np.int64)
    totals, done = np.empty(records.size), np.zeros(kinds.size, np.bool_)
    share = SHARE_OF_CATEGORIES if (kinds == CATEGORY).all() else SHARE
    for q in range(queries.size):
        i, best, found, floor, settled = queries[q], np.inf, 0, 0.0, False
        done[:] = False
        stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
        while not settled:
            k, length = _shortest(i, marks, bases, starts, matches, lists, list_starts, done)
            if k < 0 or length > max(FEW, records.size // share):
                break
            done[k] = True
            best, found = _look_through(
                i, k, best, slack, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches,
                lists, list_starts, listed, seen, candidates, totals, found, other_bases, stamps,
            )  # fmt: skip
            floor += rules[k, 0]
            settled = floor > best + slack * (1.0 + abs(best))
        if settled:
            for c in range(found):
                if totals[c] <= best + slack * (1.0 + abs(best)):
                    tied[q] += records[candidates[c]]
        else:
            for counting in (False, True):
                best, tied[q] = descend(
                    i, best, counting, slack, kinds, rules, numbers, marks, other_numbers, other_marks, records,
                    bases, starts, matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps,
                )  # fmt: skip
        least[q] = best
    return least, tied
