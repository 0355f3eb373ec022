"""Loops that count the classes of one lattice node after the other in a table of all combinations,
without hashing.

Arrays. Every row is a class of the finest table: ``codes`` has its code of the next column at the
lowest level that is searched, ``records`` its records and ``ids`` the group it belongs to among the
columns decided so far. ``climb`` has for such a code that of a higher level, of which there are
``size``. A group and a code make a cell ``group * size + code``; ``counts`` has the records of
every cell.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit

HASH = 0x9E3779B97F4A7C15
"""2⁶⁴ divided by the golden ratio: the upper bits of a product with it depend on all bits of a
number.
"""


@njit(cache=True, nogil=True)
def read_codes(keys, shift, width, climb, codes):
    """Write into ``codes`` what ``climb`` has for the code of a column, which lies at ``shift`` of
    a key of one word.
    """
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    # A read in order and a look-up in a table of 2^width codes at most, which stays in the cache.
    for i in range(keys.size):
        codes[i] = climb[(keys[i] >> np.uint64(shift)) & mask]


@njit(cache=True, nogil=True)
def count_cells(ids, codes, records, climb, size, counts):
    """Add the records of every class to its cell of ``counts``: three reads in order, a look-up in
    a small table and an addition.
    """
    # Unsigned cells: no test for a negative index. Random writes; fewer than 2^18 cells stay in the
    # second cache.
    for i in range(codes.size):
        counts[np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])] += records[i]


@njit(cache=True, nogil=True)
def count_lost(ids, codes, records, climb, size, k, slots):
    """At least so many records are in cells of fewer than ``k``, where the rows are all classes of
    some cells.

    ``slots`` (all 0, 2^b of them) has the records of the cells, each in the slot that the upper
    bits of its hash say: cells are too many for an array of their own. Cells that meet in a slot
    look larger together than each is, so no cell is taken for smaller than it is, and the sum is
    never too large. An addition a row and a look at every slot.
    """
    shift = np.uint64(64)
    room = slots.size
    # 64 − b: the hash keeps the upper b bits.
    while room > 1:
        room >>= 1
        shift -= np.uint64(1)
    for i in range(codes.size):
        cell = np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])
        # Two shifts: one by 64, where there is a single slot, would be no shift at all.
        slots[((cell * np.uint64(HASH)) >> np.uint64(1)) >> (shift - np.uint64(1))] += records[i]
    lost = np.int64(0)
    # Empty slots add 0.
    for slot in range(slots.size):
        if slots[slot] < k:
            lost += slots[slot]
    return lost


@njit(cache=True, nogil=True)
def draw_rows(ids, codes, climb, size, share):
    """The classes in one of 2^``share`` cells, drawn by a hash of the cell: of a cell all classes
    are drawn or none.

    Two reads in order, once to count and once to write: a branch that is mostly not taken costs
    less than room for all.
    """
    shift = np.uint64(64 - share)
    amount = 0
    # The upper bits of the hash are 0 for one cell in 2^share, whatever order cells have.
    for i in range(codes.size):
        cell = np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])
        amount += (cell * np.uint64(HASH)) >> shift == 0
    rows = np.empty(amount, np.int64)
    position = 0
    for i in range(codes.size):
        cell = np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])
        if (cell * np.uint64(HASH)) >> shift == 0:
            rows[position] = i
            position += 1
    return rows


@njit(cache=True, nogil=True)
def merge_cells(fine, fine_size, climb, size, coarse):
    """Add the records of the cells of a level to those of a higher one, which are 0: ``climb`` has
    the code there for each code.

    Cells of a group lie side by side at both levels, so every read and nearly every write is of
    what is in the cache.
    """
    for g in range(fine.size // fine_size):
        for c in range(fine_size):
            coarse[g * size + climb[c]] += fine[g * fine_size + c]


@njit(cache=True, nogil=True)
def tally_cells(counts, size, k, prices, costs, whole, lost):
    """What the cells keep under k-anonymity.

    ``prices`` is what a cell of the column costs by code, ``costs`` has a row a group with what the
    cells of the columns before it cost. ``whole`` receives records in classes below *k*, kept
    classes, the smallest of them and the sum of their squared sizes; ``lost`` what the cells of
    suppressed records would have cost: those of the column, then by feature.
    """
    gone = np.int64(0)
    kept_classes = np.int64(0)
    smallest = np.int64(2**62)
    squares = np.int64(0)
    for f in range(lost.size):
        lost[f] = 0.0
    # One look at every cell. Records of small cells are added up by group first, so that the
    # features of a group are read once and not at all where nothing is suppressed.
    for g in range(costs.shape[0]):
        small = np.int64(0)
        for c in range(size):
            records = np.int64(counts[g * size + c])
            if records >= k:
                kept_classes += 1
                smallest = min(smallest, records)
                squares += records * records
            elif records > 0:
                small += records
                lost[0] += np.float64(records) * prices[c]
        if small > 0:
            gone += small
            for f in range(costs.shape[1]):
                lost[1 + f] += np.float64(small) * costs[g, f]
    whole[0] = gone
    whole[1] = kept_classes
    whole[2] = smallest
    whole[3] = squares


@njit(cache=True, nogil=True)
def number_cells(counts):
    """Cells that have records become groups: how many records each has, the cell of each, and in
    ``counts`` the group of every cell.
    """
    groups = 0
    # Two passes: the number of groups is known before room is made for them.
    for cell in range(counts.size):
        groups += counts[cell] > 0
    amounts = np.empty(groups, counts.dtype)
    cells = np.empty(groups, np.int64)
    group = 0
    for cell in range(counts.size):
        if counts[cell] > 0:
            amounts[group] = counts[cell]
            cells[group] = cell
            # Counts become numbers in place; empty cells keep their 0, and no class asks for them.
            counts[cell] = group
            group += 1
    return amounts, cells


@njit(cache=True, nogil=True)
def regroup(ids, codes, climb, size, numbers):
    """The group of every class when one more column is decided: what ``numbers`` has for its
    cell.
    """
    groups = np.empty(ids.size, np.uint32)
    # The cost of one column decided: one random read a class.
    for i in range(ids.size):
        groups[i] = numbers[np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])]
    return groups
