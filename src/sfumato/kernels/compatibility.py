"""Loops over keys of which only some bits are shown: group them, find them, count those that agree.

``shown`` has one word of bits for every word of a key; two keys agree when they do on these bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_EMPTY = np.int32(-1)


@njit(cache=True, nogil=True, inline="always")
def _slot(keys, i, shown, bits):
    h = np.uint64(0)
    for w in range(shown.size):
        h = (h ^ (keys[i, w] & shown[w])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return (h * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)


@njit(cache=True, nogil=True, inline="always")
def _agree(known, g, keys, i, shown):
    for w in range(shown.size):
        if known[g, w] != keys[i, w] & shown[w]:
            return False
    return True


@njit(cache=True, nogil=True)
def group_shown(keys, rows, shown):
    """Number rows alike that agree: the group of each, what is shown of each group, and a hash table of the groups."""
    bits = 4
    while (1 << bits) < 2 * rows.size:
        bits += 1
    table = np.full(1 << bits, _EMPTY, np.int32)
    mask = np.uint64((1 << bits) - 1)
    ids = np.empty(rows.size, np.int64)
    known = np.empty((rows.size, shown.size), np.uint64)
    count = np.int32(0)
    for r in range(rows.size):
        h = _slot(keys, rows[r], shown, bits)
        while table[h] != _EMPTY and not _agree(known, table[h], keys, rows[r], shown):
            h = (h + np.uint64(1)) & mask
        if table[h] == _EMPTY:
            table[h] = count
            for w in range(shown.size):
                known[count, w] = keys[rows[r], w] & shown[w]
            count += np.int32(1)
        ids[r] = table[h]
    return ids, known[:count], table, bits


@njit(cache=True, nogil=True, inline="always")
def find_shown(keys, i, shown, known, table, bits):
    """The group that a row would be in, −1 where there is none."""
    mask = np.uint64(table.size - 1)
    h = _slot(keys, i, shown, bits)
    while table[h] != _EMPTY and not _agree(known, table[h], keys, i, shown):
        h = (h + np.uint64(1)) & mask
    return table[h]


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
            ids, known, table, bits = group_shown(keys, small, both)
            mine = np.zeros(len(known), np.int64)
            theirs = np.zeros(len(known), np.int64)
            for r in range(small.size):
                mine[ids[r]] += amounts[small[r]]
            if p == q:
                for r in range(small.size):
                    found[small[r]] += mine[ids[r]]
                continue
            for r in range(large.size):
                g = find_shown(keys, large[r], both, known, table, bits)
                if g >= 0:
                    found[large[r]] += mine[g]
                    theirs[g] += amounts[large[r]]
            for r in range(small.size):
                found[small[r]] += theirs[ids[r]]
    return found
