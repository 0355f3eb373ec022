"""Loops of a lower bound for lattice searches: the lowest level that one column may have beside
each level of another.

Arrays. ``keys`` are packed keys of one uint64 word, ``records`` their records. ``steps`` are the
:class:`sfumato.kernels.lattice.ColumnLevels` of all columns. A table of two columns is one row of
``room``, cell ``row * width + code``.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit

_ONE = np.uint64(1)
_NOTHING = np.int64(0)


@njit(cache=True, nogil=True)
def find_least_levels(keys, records, columns, steps, limits, room, levels):
    """The lowest levels of one column that leave few enough records in small classes, beside each
    level of others.

    ``columns`` has a row per column, the one in question last: the shift and width of its bits, the
    place of its lowest level in ``steps``, and how many levels it has. ``limits`` is ``k, budget``.
    ``levels[i, l]`` receives the lowest level of the last column at which the two columns alone,
    the other one on level *l*, leave at most ``budget`` records in classes below *k*; 0 where the
    two make more cells than ``room`` has. By the subset property of Incognito (LeFevre, DeWitt &
    Ramakrishnan 2005) lower levels are in no node that keeps the budget: classes of a node are no
    larger than those of two of its columns.

    ``room`` has three rows of cells to work in. One count per class and column; then tables of two
    columns, which are small, are folded level by level.
    """
    k, budget = limits
    starts = steps[2]
    last = columns.shape[0] - 1
    shift = np.uint64(columns[last, 0])
    mask = (_ONE << np.uint64(columns[last, 1])) - _ONE
    first_level = columns[last, 2]
    spans = columns[last, 3]
    size = starts[first_level + 1] - starts[first_level]
    # Subset property (LeFevre et al. 2005) for every pair of columns.
    for i in range(last):
        other_level = columns[i, 2]
        rows = starts[other_level + 1] - starts[other_level]
        if rows * size > room.shape[1]:
            for level in range(columns[i, 3]):
                levels[i, level] = 0
            continue
        other_shift = np.uint64(columns[i, 0])
        other_mask = (_ONE << np.uint64(columns[i, 1])) - _ONE
        counts = 0  # which row of the room has the counts on the present level of the other column
        for cell in range(rows * size):
            room[counts, cell] = 0
        for c in range(keys.size):
            cell = ((keys[c] >> other_shift) & other_mask) * size + ((keys[c] >> shift) & mask)
            room[counts, cell] += records[c]
        for level in range(columns[i, 3]):
            # A higher level of the other column merges classes, so the lowest legal level only
            # falls; it is searched from the bottom, which is cheap on tables so small.
            rows = starts[other_level + level + 1] - starts[other_level + level]
            lowest = 0
            source = counts
            width = size
            while lowest < spans - 1 and _in_small_classes(room[source], rows * width, k) > budget:
                # The counts of the lowest level are needed again; what is folded goes to and fro
                # between two rows.
                target = 2 if source != 2 else 1 - counts
                width = _fold_codes(room[source], room[target], rows, steps, first_level + lowest)
                source = target
                lowest += 1
            levels[i, level] = lowest
            if level + 1 < columns[i, 3]:
                _fold_rows(room[counts], room[1 - counts], size, steps, other_level + level)
                counts = 1 - counts


@njit(cache=True, nogil=True)
def _fold_codes(source, target, rows, steps, level):
    """Write a table with its columns one level higher; returns how many columns it has then."""
    ups, _, starts = steps
    begin = starts[level]
    end = starts[level + 1]
    width = starts[level + 2] - starts[level + 1]
    for cell in range(rows * width):
        target[cell] = 0
    for row in range(rows):
        for code in range(end - begin):
            target[row * width + np.uint64(ups[begin + code])] += source[row * (end - begin) + code]
    return width


@njit(cache=True, nogil=True)
def _fold_rows(source, target, width, steps, level):
    """Write a table with its rows one level higher."""
    ups, _, starts = steps
    begin = starts[level]
    end = starts[level + 1]
    for cell in range((starts[level + 2] - end) * width):
        target[cell] = 0
    # Whole rows are added: sequential reads and writes.
    for row in range(end - begin):
        above = np.uint64(ups[begin + row]) * width
        for code in range(width):
            target[above + code] += source[row * width + code]


@njit(cache=True, nogil=True)
def _in_small_classes(counts, cells, k):
    """Records of the cells that hold fewer than *k*."""
    records = _NOTHING
    for cell in range(cells):
        records += counts[cell] if counts[cell] < k else _NOTHING
    return records
