"""How often each pattern of agreement occurs among pairs of records: counted, never kept."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.linkage_costs import CATEGORY, cell_level, stamp_agreeing

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
    anchors, kinds, rules, numbers, marks, weights, other_numbers, other_marks, other_weights, bases, starts, matches,
    other_bases,
):  # fmt: skip
    """Patterns (digits to base 5, the first column first) of all pairs of an anchor and a record of the other file.

    A pair of distinct records counts as often as rows have them.
    """
    keys, counts, used = np.full(1024, _EMPTY), np.zeros(1024), 0
    found = np.empty(other_marks.shape[0], np.int64)
    stamps = np.full(other_bases[-1] + 1, -1, np.int64)
    for a in range(anchors.size):
        i = anchors[a]
        stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
        for j in range(found.size):
            key = np.int64(0)
            for k in range(kinds.size):
                other = other_marks[j, k]
                key = key * LEVELS + cell_level(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], other,
                    other_numbers[j, k, 0], other_numbers[j, k, 1],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i, rules[k, 4],
                )  # fmt: skip
            found[j] = key
        last, h = _EMPTY, np.uint64(0)
        for j in range(found.size):
            if 4 * used > keys.size:
                keys, counts = _grown(keys, counts)
                last = _EMPTY
            if found[j] != last:
                last = found[j]
                h = _place(keys, last)
                if keys[h] == _EMPTY:
                    keys[h] = last
                    used += 1
            counts[h] += weights[i] * other_weights[j]
    return keys[keys != _EMPTY], counts[keys != _EMPTY]
