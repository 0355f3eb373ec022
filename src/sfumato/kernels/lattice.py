"""Loops of the lattice searches: roll up classes and add up what the objectives need."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.keys import _hash, _same

_EMPTY = np.int32(-1)


@njit(cache=True, nogil=True)
def roll_up(keys, records, words, shifts, widths, climbs, offsets):  # type: ignore[no-untyped-def]
    """Merge the classes that become equal when some columns climb.

    Column *a* of those given goes from ``code`` to ``climbs[offsets[a] + code]``. Returns the new keys and records
    and, per old class, its new class; new classes come in order of first appearance.
    """
    n = keys.shape[0]
    slots = 16
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, _EMPTY, np.int32)
    slot_mask = np.uint64(slots - 1)
    new_keys = np.empty((n + 1, keys.shape[1]), np.uint64)
    new_records = np.zeros(n, np.int64)
    ids = np.empty(n, np.int64)
    masks = np.empty(words.size, np.uint64)
    for a in range(words.size):
        masks[a] = (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
    count = 0
    for i in range(n):
        for w in range(keys.shape[1]):
            new_keys[count, w] = keys[i, w]
        for a in range(words.size):
            shift = np.uint64(shifts[a])
            code = (keys[i, words[a]] >> shift) & masks[a]
            above = np.uint64(climbs[offsets[a] + np.int64(code)])
            new_keys[count, words[a]] ^= (code ^ above) << shift
        h = _hash(new_keys, count) & slot_mask
        while table[h] != _EMPTY and not _same(new_keys, table[h], new_keys, count):
            h = (h + np.uint64(1)) & slot_mask
        if table[h] == _EMPTY:
            table[h] = count
            count += 1
        g = table[h]
        ids[i] = g
        new_records[g] += records[i]
    return new_keys[:count].copy(), new_records[:count].copy(), ids


@njit(cache=True, nogil=True)
def tally(keys, sizes, failing, words, shifts, widths, costs, offsets, lost):  # type: ignore[no-untyped-def]
    """What a node keeps and loses when its failing classes are suppressed.

    ``lost[a]`` receives, over the suppressed records, the sum of column *a*'s cell cost. Returns kept classes,
    kept records, and the sum of squared kept sizes.
    """
    kept_classes = 0
    kept_records = 0
    squares = 0.0
    columns = words.size
    for a in range(columns):
        lost[a] = 0.0
    for i in range(sizes.size):
        if failing[i]:
            for a in range(columns):
                mask = (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
                code = (keys[i, words[a]] >> np.uint64(shifts[a])) & mask
                lost[a] += sizes[i] * costs[offsets[a] + np.int64(code)]
        else:
            kept_classes += 1
            kept_records += sizes[i]
            squares += np.float64(sizes[i]) * np.float64(sizes[i])
    return kept_classes, kept_records, squares
