"""How often each pattern of agreement occurs among pairs of records: counted, never kept."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.linkage_costs import level

LEVELS = 5
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = np.int64(-1)


@njit(cache=True, nogil=True)
def _place(keys, key):
    """The place of a key in a table of open addressing whose size is a power of two."""
    mask = np.uint64(keys.size - 1)
    h = (np.uint64(key) * _SPREAD >> np.uint64(20)) & mask
    while keys[h] != _EMPTY and keys[h] != key:
        h = (h + np.uint64(1)) & mask
    return h


@njit(cache=True, nogil=True)
def _grown(keys, counts):
    wider, more = np.full(2 * keys.size, _EMPTY), np.zeros(2 * keys.size)
    for p in range(keys.size):
        if keys[p] != _EMPTY:
            h = _place(wider, keys[p])
            wider[h], more[h] = keys[p], counts[p]
    return wider, more


@njit(cache=True, nogil=True)
def pattern_counts(
    anchors, kinds, rules, numbers, marks, weights, other_numbers, other_marks, other_weights, bases, starts, matches
):
    """Patterns (digits to base 5, the first column last) of all pairs of an anchor and a record of the other file.

    A pair of distinct records counts as often as rows have them.
    """
    keys, counts, used = np.full(1024, _EMPTY), np.zeros(1024), 0
    for a in range(anchors.size):
        i = anchors[a]
        for j in range(other_marks.shape[0]):
            key = np.int64(0)
            for k in range(kinds.size):
                key = key * LEVELS + level(
                    k, kinds[k], rules, numbers, marks, i, other_numbers, other_marks, j, bases[k], starts, matches
                )
            h = _place(keys, key)
            if keys[h] == _EMPTY:
                keys[h] = key
                used += 1
            counts[h] += weights[i] * other_weights[j]
        if 2 * used > keys.size // 2:
            keys, counts = _grown(keys, counts)
    return keys[keys != _EMPTY], counts[keys != _EMPTY]
