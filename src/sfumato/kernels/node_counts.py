"""Loops that count the classes of one node after the other in a table of all combinations, without hashing.

Every row is a class of the finest table: ``keys`` has its codes, ``records`` its records and ``ids`` the group it belongs to among
the columns decided so far. A group and a code of the next column make a cell ``group * size + code``.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def count_cells(ids, keys, records, shift, mask, climb, size, counts):
    """Add the records of every class to its cell of ``counts``; one read, two look-ups and one addition a class.

    ``climb`` has the code of the column at its level for the code in the key, which lies at ``shift`` under ``mask``.
    """
    for i in range(keys.size):
        code = climb[(keys[i] >> shift) & mask]
        counts[np.uint64(ids[i]) * np.uint64(size) + np.uint64(code)] += records[i]


@njit(cache=True, nogil=True)
def merge_cells(counts, size, climb, fewer):
    """The counts when a column climbs from ``size`` codes to ``fewer``: ``climb`` has the higher code for each.

    One addition a cell. There are far fewer cells than classes, so this spares a pass over all classes.
    """
    groups = counts.size // size
    merged = np.zeros(groups * fewer, counts.dtype)
    for g in range(groups):
        for c in range(size):
            merged[g * fewer + np.int64(climb[c])] += counts[g * size + c]
    return merged


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
def regroup(ids, keys, shift, mask, climb, size, numbers):
    """The group of every class when one more column is decided: what ``numbers`` has for its cell."""
    found = np.empty(ids.size, np.uint32)
    for i in range(ids.size):
        code = climb[(keys[i] >> shift) & mask]
        found[i] = numbers[np.uint64(ids[i]) * np.uint64(size) + np.uint64(code)]
    return found
