"""The loop of controlled rounding (Cox 1987): fractions become 0 or 1 at random so that row and
column sums, which are whole, stay.

Arrays. ``fractions`` and ``result`` are rows × columns, float64. ``cell[slot, column]`` holds the
open fractions of the row ``owner[slot]``, −1 where a cell is settled. Seen as a graph between slots
and columns, the open cells are edges; the graph never has a circle for longer than one step.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit

NEAR = 1e-9


@njit(cache=True)
def round_table(fractions, draws, result):
    """Round the fractions of a table (rows × columns) to 0 or 1, keeping the sums of rows and
    columns, which must be whole.

    ``result`` gets the 0s and 1s. ``draws`` are uniform numbers, one per cell at least.

    Cells are put one at a time into a graph of rows and columns that has no circle. A cell that
    closes one is raised by as much as every second cell of the circle, and lowered with the others,
    or the other way round, until one of them is 0 or 1; which way is drawn so that the expected
    value of each cell stays. So at most as many rows as columns are open at once. A cell costs one
    search of the graph, columns² steps.
    """
    rows, columns = fractions.shape
    slots = columns + 1
    # Open fractions by slot and column; −1: none.
    cell = np.full((slots, columns), -1.0)
    owner = np.full(slots, -1, np.int64)
    by_column = np.empty(columns, np.int64)
    by_slot = np.empty(slots, np.int64)
    queue = np.empty(slots, np.int64)
    used = 0
    for i in range(rows):
        slot = -1
        for j in range(columns):
            value = fractions[i, j]
            # The slot from which the search came to a column, and the column from which it came to
            # a slot. Whole already, but for rounding errors: settled at once.
            if value <= NEAR or value >= 1 - NEAR:
                result[i, j] = 1.0 if value >= 0.5 else 0.0
                continue
            # A free slot for the row: a forest of columns and open rows with two edges each has
            # fewer rows than columns, so there is one.
            if slot < 0:
                for s in range(slots):
                    if owner[s] < 0:
                        slot = s
                        break
                owner[slot] = i
            cell[slot, j] = value
            if _find_path(cell, owner, slot, j, by_column, by_slot, queue):
                _cancel_circle(cell, owner, slot, j, (by_column, by_slot), draws[used], result)
                used += 1
        _free_slots(cell, owner, result, 1)
    _free_slots(cell, owner, result, columns)


@njit(cache=True)
def _free_slots(cell, owner, result, limit):
    """Free the slots with at most ``limit`` open cells; sums are whole, so a single open cell is
    only a rounding error.
    """
    slots, columns = cell.shape
    for s in range(slots):
        count = 0
        for c in range(columns):
            count += cell[s, c] >= 0
        if owner[s] < 0 or count > limit:
            continue
        for c in range(columns):
            if cell[s, c] >= 0:
                result[owner[s], c] = 1.0 if cell[s, c] >= 0.5 else 0.0
                cell[s, c] = -1.0
        owner[s] = -1


@njit(cache=True)
def _find_path(cell, owner, slot, j, by_column, by_slot, queue):
    """Whether a path leads from slot ``slot`` to column ``j`` that does not take the cell between
    them: breadth-first search, whose steps stand in ``by_column`` and ``by_slot``.
    """
    slots, columns = cell.shape
    by_column[:] = -1
    by_slot[:] = -1
    # The start has a predecessor that is no column.
    by_slot[slot] = columns
    queue[0] = slot
    head, tail = 0, 1
    while head < tail:
        s = queue[head]
        head += 1
        for c in range(columns):
            if cell[s, c] < 0 or by_column[c] >= 0 or (s == slot and c == j):
                continue
            by_column[c] = s
            if c == j:
                return True
            for t in range(slots):
                if owner[t] >= 0 and cell[t, c] >= 0 and by_slot[t] < 0:
                    by_slot[t] = c
                    queue[tail] = t
                    tail += 1
    return False


@njit(cache=True)
def _cancel_circle(cell, owner, slot, j, circle, draw, result):
    """Move the cells of a circle up and down by turns until one is 0 or 1."""
    by_column, by_slot = circle  # the slot before each column, and the column before each slot
    up = 1 - cell[slot, j]
    down = cell[slot, j]
    c = j
    # How far the circle can move either way. The cell on the way into column c moves against the
    # last one, the next one with it.
    while True:
        s = by_column[c]
        up = min(up, cell[s, c])
        down = min(down, 1 - cell[s, c])
        if s == slot:
            break
        c = by_slot[s]
        up = min(up, 1 - cell[s, c])
        down = min(down, cell[s, c])
    # Up with probability down ∕ (up + down): the expected step is 0.
    step = up if draw * (up + down) < down else -down
    _move_cell(cell, owner, slot, j, step, result)
    c = j
    while True:
        s = by_column[c]
        before = by_slot[s]
        _move_cell(cell, owner, s, c, -step, result)
        if s == slot:
            break
        c = before
        _move_cell(cell, owner, s, c, step, result)


@njit(cache=True)
def _move_cell(cell, owner, s, c, step, result):
    """Move one cell; a cell that became 0 or 1 is settled."""
    cell[s, c] += step
    if NEAR < cell[s, c] < 1 - NEAR:
        return
    result[owner[s], c] = 1.0 if cell[s, c] >= 0.5 else 0.0
    cell[s, c] = -1.0
