"""Loops of the walk over a whole lattice: every node of a table under k-anonymity, and which of them nothing beats.

The table is kept as *groups*: classes that agree in all columns but the last one walked. A group has one key and a
run of entries, one for each code of the last column it holds. So a roll-up of any other column merges whole groups
and hashes far fewer keys than there are classes, and all levels of the last column are tallied in one pass.

Tables lie on a stack, one for each column that has climbed: the walk goes to the next node by rolling up one column
of the table on top and dropping those above it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_EMPTY = np.int32(-1)


@njit(cache=True, nogil=True)
def walk(groups, starts, codes, counts, costs, columns, ladder, last, k, out):
    """Tally every node of a lattice.

    ``groups, starts, codes, counts, costs`` are the table at the lowest levels: key of each group, where its entries
    begin, the entries' code of the last column and records, and the cell costs of the group's columns.
    ``columns`` is ``shifts, widths, tops, strides, features``, one entry a column but the last: its bits, how many levels
    it can climb, by how much a level moves the node's number, and which cost its cells count to. ``ladder`` is ``ups,
    up_at, prices, price_at``: ``ups[up_at[a, l] + code]`` is the code one level above *l*, ``prices[price_at[a, l] + code]``
    the cost of a cell; its last row is the last column, described by ``last = (top, stride, feature, codes)``.
    ``out`` is ``suppressed, classes, squares, smallest, lost``, one entry a node: records in classes below *k*, kept
    classes, their squared sizes, the smallest of them (0: none), and the suppressed records' cost by feature.
    """
    tops, strides = columns[2], columns[3]
    depth = tops.size
    level = np.zeros(depth, np.int64)
    owner = np.zeros(depth + 1, np.int64)  # which table of the stack a column stands in; table 0 is the lowest node's
    group_end = np.zeros(depth + 1, np.int64)
    entry_end = np.zeros(depth + 1, np.int64)
    group_end[0], entry_end[0] = groups.size, codes.size
    stack = (groups.copy(), starts.copy(), codes.copy(), counts.copy(), costs.copy())
    scratch = _scratch(groups.size, codes.size, counts, costs, last[3])
    node = 0
    while True:
        top = owner[depth]
        begin = 0 if top == 0 else group_end[top - 1]
        _tally(stack, begin, group_end[top], ladder, last, k, scratch, out, node)
        a = depth - 1
        while a >= 0 and level[a] == tops[a]:
            node -= level[a] * strides[a]
            level[a] = 0
            a -= 1
        if a < 0:
            return
        source = owner[a + 1]
        below = owner[a]
        begin = 0 if source == 0 else group_end[source - 1]
        merged, entries = _roll_up(stack, begin, group_end[source], a, level[a], columns, ladder, scratch)
        level[a] += 1
        node += strides[a]
        stack = _pushed(stack, group_end[below], entry_end[below], merged, entries, scratch)
        for b in range(below + 1, a + 2):
            group_end[b], entry_end[b] = group_end[below] + merged, entry_end[below] + entries
            owner[b] = owner[b]
        owner[a + 1 :] = a + 1
