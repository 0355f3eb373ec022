"""Loops of the lattice searches: roll up classes and add up what the objectives need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.keys import _hash, _same

_EMPTY = np.int32(-1)
Rolled = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]


def roll_up(keys: NDArray[np.uint64], records: NDArray[np.int64], *columns: NDArray[Any]) -> Rolled:
    """Merge the classes that become equal when some columns climb.

    ``columns`` are ``words, shifts, widths, climbs, offsets``: column *a* of those given goes from ``code`` to
    ``climbs[offsets[a] + code]``. Returns the new keys and records and, per old class, its new class; new classes
    come in order of first appearance. Keys of one word, which are the rule, take a path three times as fast.
    """
    if keys.shape[1] == 1:
        rolled, new_records, ids = _roll_up_word(keys.reshape(-1), records, *columns[1:])
        return rolled.reshape(-1, 1), new_records, ids
    return _roll_up_words(keys, records, *columns)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _roll_up_word(keys, records, shifts, widths, climbs, offsets):
    n = keys.size
    slots, bits = 16, 4
    while slots < 2 * n:
        slots *= 2
        bits += 1
    table = np.full(slots, _EMPTY, np.int32)
    slot_mask = np.uint64(slots - 1)
    high_bits = np.uint64(64 - bits)
    new_keys = np.empty(n, np.uint64)
    new_records = np.zeros(n, np.int64)
    ids = np.empty(n, np.int64)
    count = np.int32(0)
    for i in range(n):
        key = keys[i]
        for a in range(shifts.size):
            shift = np.uint64(shifts[a])
            code = (key >> shift) & ((np.uint64(1) << np.uint64(widths[a])) - np.uint64(1))
            key ^= (code ^ np.uint64(climbs[offsets[a] + np.int64(code)])) << shift
        h = (key * np.uint64(0x9E3779B97F4A7C15)) >> high_bits
        g = table[h]
        while g >= 0 and new_keys[g] != key:
            h = (h + np.uint64(1)) & slot_mask
            g = table[h]
        if g < 0:
            g = count
            table[h] = g
            new_keys[g] = key
            count += np.int32(1)
        ids[i] = g
        new_records[g] += records[i]
    return new_keys[:count].copy(), new_records[:count].copy(), ids


@njit(cache=True, nogil=True)
def _roll_up_words(keys, records, words, shifts, widths, climbs, offsets):
    n = keys.shape[0]
    slots = 16
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, _EMPTY, np.int32)
    slot_mask = np.uint64(slots - 1)
    new_keys = np.empty((n + 1, keys.shape[1]), np.uint64)
    new_records = np.zeros(n, np.int64)
    ids = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        for w in range(keys.shape[1]):
            new_keys[count, w] = keys[i, w]
        for a in range(words.size):
            shift = np.uint64(shifts[a])
            code = (keys[i, words[a]] >> shift) & ((np.uint64(1) << np.uint64(widths[a])) - np.uint64(1))
            new_keys[count, words[a]] ^= (code ^ np.uint64(climbs[offsets[a] + np.int64(code)])) << shift
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
def tally(keys, records, gone, words, shifts, widths, costs, offsets, lost):
    """What a node keeps and loses when ``gone`` records of each class are suppressed.

    ``lost[a]`` receives, over the suppressed records, the sum of column *a*'s cell cost. Returns kept classes,
    kept records, and the sum of squared kept class sizes.
    """
    kept_classes = 0
    kept_records = 0
    squares = 0.0
    for i in range(records.size):
        kept = records[i] - gone[i]
        if kept > 0:
            kept_classes += 1
            kept_records += kept
            squares += np.float64(kept) * np.float64(kept)
        if gone[i] == 0:
            continue
        for a in range(words.size):
            mask = (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            code = (keys[i, words[a]] >> np.uint64(shifts[a])) & mask
            lost[a] += gone[i] * costs[offsets[a] + np.int64(code)]
    return kept_classes, kept_records, squares
