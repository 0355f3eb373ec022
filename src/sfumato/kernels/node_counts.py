"""Loops that count the classes of one node after the other in a table of all combinations, without hashing.

Every row is a class of the finest table: ``codes`` has its code of the next column at the lowest level that is searched, ``records`` its
records and ``ids`` the group it belongs to among the columns decided so far. ``climb`` has for such a code that of a higher level, of
which there are ``size``. A group and a code make a cell ``group * size + code``.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def read_codes(keys, shift, width, climb, codes):
    """Write into ``codes`` what ``climb`` has for the code of a column, which lies at ``shift`` of a key of one word."""
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    for i in range(keys.size):
        codes[i] = climb[(keys[i] >> np.uint64(shift)) & mask]


@njit(cache=True, nogil=True)
def count_cells(ids, codes, records, climb, size, counts):
    """Add the records of every class to its cell of ``counts``: three reads in order, a look-up in a small table and an addition."""
    for i in range(codes.size):
        counts[np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])] += records[i]


@njit(cache=True, nogil=True)
def count_lost(ids, codes, records, climb, size, k, share, slots):
    """At least so many records are in cells of fewer than ``k``: counted in one of 2^``share`` cells, drawn by a hash.

    ``slots`` (all 0, a power of two of them) has the records of those cells, each in the slot that further bits of its hash say.
    Cells that meet in a slot look larger together than each is, so no cell is taken for smaller than it is; and records of
    the cells that are not looked at are left out. Most classes are read and passed over: unlike the table of all cells, the slots
    stay in the cache.
    """
    few = np.uint64(slots.size - 1)
    for i in range(codes.size):
        cell = np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])
        h = cell * np.uint64(0x9E3779B97F4A7C15)
        if h >> np.uint64(64 - share) == 0:
            slots[(h >> np.uint64(16)) & few] += records[i]
    lost = np.int64(0)
    for slot in range(slots.size):
        if slots[slot] < k:
            lost += slots[slot]
    return lost


@njit(cache=True, nogil=True)
def tally_cells(counts, size, k, prices, costs, whole, lost):
    """What the cells keep under k-anonymity.

    ``prices`` is what a cell of the column costs by code, ``costs`` has a row a group with what the cells of the columns before it
    cost. ``whole`` receives records in classes below *k*, kept classes, the smallest of them and the sum of their squared sizes;
    ``lost`` what the cells of suppressed records would have cost: those of the column, then by feature.
    """
    gone, kept, least, squares = np.int64(0), np.int64(0), np.int64(2**62), np.int64(0)
    for f in range(lost.size):
        lost[f] = 0.0
    for g in range(costs.shape[0]):
        small = np.int64(0)
        for c in range(size):
            records = np.int64(counts[g * size + c])
            if records >= k:
                kept += 1
                least = min(least, records)
                squares += records * records
            elif records > 0:
                small += records
                lost[0] += np.float64(records) * prices[c]
        if small > 0:
            gone += small
            for f in range(costs.shape[1]):
                lost[1 + f] += np.float64(small) * costs[g, f]
    whole[0], whole[1], whole[2], whole[3] = gone, kept, least, squares


@njit(cache=True, nogil=True)
def number_cells(counts):
    """Cells that have records become groups: how many records each has, the cell of each, and in ``counts`` the group of every cell."""
    groups = 0
    for cell in range(counts.size):
        groups += counts[cell] > 0
    amounts, cells = np.empty(groups, counts.dtype), np.empty(groups, np.int64)
    group = 0
    for cell in range(counts.size):
        if counts[cell] > 0:
            amounts[group], cells[group] = counts[cell], cell
            counts[cell] = group
            group += 1
    return amounts, cells


@njit(cache=True, nogil=True)
def regroup(ids, codes, climb, size, numbers):
    """The group of every class when one more column is decided: what ``numbers`` has for its cell."""
    found = np.empty(ids.size, np.uint32)
    for i in range(ids.size):
        found[i] = numbers[np.uint64(ids[i]) * np.uint64(size) + np.uint64(climb[codes[i]])]
    return found
