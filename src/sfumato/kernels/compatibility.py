"""Loops over keys of which only some bits are shown: group them, find them, count those that agree.

``shown`` has one word of bits for every word of a key; two keys agree when they do on these bits. The loops are written
out instead of sharing small functions: numba passes arrays to those at several times the cost of a look-up.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_EMPTY = np.int32(-1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def group_shown(keys, rows, shown):
    """Number rows alike that agree: the group of each, what is shown of each group, and a hash table of the groups."""
    bits = 4
    while (1 << bits) < 2 * rows.size:
        bits += 1
    table = np.full(1 << bits, _EMPTY, np.int32)
    mask, high = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
    ids = np.empty(rows.size, np.int64)
    known = np.empty((rows.size, shown.size), np.uint64)
    count = np.int32(0)
    for r in range(rows.size):
        i = rows[r]
        h = np.uint64(0)
        for w in range(shown.size):
            h = (h ^ (keys[i, w] & shown[w])) * _SPREAD
            h ^= h >> _HALF
        h = (h * _SPREAD) >> high
        g = table[h]
        while g >= 0:
            same = True
            for w in range(shown.size):
                same &= known[g, w] == keys[i, w] & shown[w]
            if same:
                break
            h = (h + _ONE) & mask
            g = table[h]
        if g < 0:
            g = count
            table[h] = g
            for w in range(shown.size):
                known[g, w] = keys[i, w] & shown[w]
            count += np.int32(1)
        ids[r] = g
    return ids, known[:count], table


@njit(cache=True, nogil=True)
def find_shown(keys, rows, shown, known, table):
    """The group of each row among known ones, −1 where there is none."""
    bits = 0
    while (1 << bits) < table.size:
        bits += 1
    mask, high = np.uint64(table.size - 1), np.uint64(64 - bits)
    ids = np.empty(rows.size, np.int64)
    for r in range(rows.size):
        i = rows[r]
        h = np.uint64(0)
        for w in range(shown.size):
            h = (h ^ (keys[i, w] & shown[w])) * _SPREAD
            h ^= h >> _HALF
        h = (h * _SPREAD) >> high
        g = table[h]
        while g >= 0:
            same = True
            for w in range(shown.size):
                same &= known[g, w] == keys[i, w] & shown[w]
            if same:
                break
            h = (h + _ONE) & mask
            g = table[h]
        ids[r] = g
    return ids


@njit(cache=True, nogil=True)
def count_agreeing(keys, amounts, order, starts, shown):
    """Per row, the records that agree with it in what is shown of both.

    ``order[starts[p]:starts[p+1]]`` are the rows of pattern *p*, which shows the bits ``shown[p]``; row *i* stands for
    ``amounts[i]`` records.
    """
    found = np.zeros(amounts.size, np.int64)
    for p in range(starts.size - 1):
        for q in range(p, starts.size - 1):
            small, large = order[starts[p] : starts[p + 1]], order[starts[q] : starts[q + 1]]
            if small.size > large.size:  # the table of the smaller side stays in the cache
                small, large = large, small
            both = shown[p] & shown[q]
            ids, known, table = group_shown(keys, small, both)
            mine = np.zeros(len(known), np.int64)
            theirs = np.zeros(len(known), np.int64)
            for r in range(small.size):
                mine[ids[r]] += amounts[small[r]]
            if p == q:
                for r in range(small.size):
                    found[small[r]] += mine[ids[r]]
                continue
            at = find_shown(keys, large, both, known, table)
            for r in range(large.size):
                if at[r] >= 0:
                    found[large[r]] += mine[at[r]]
                    theirs[at[r]] += amounts[large[r]]
            for r in range(small.size):
                found[small[r]] += theirs[ids[r]]
    return found
