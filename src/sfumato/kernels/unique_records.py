"""Loops that count records which are the only one with their codes of some columns.

Arrays. Keys and where columns lie in them are those of :mod:`sfumato.kernels.keys`; ``records`` has
the number of records of every key.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.keys import Ids, Keys, Places, _count_bits, repeat_shared_keys
from sfumato.kernels.loop_cache import njit


def count_unique_by_fields(keys: Keys, records: Ids, fields: Places) -> int:
    """How many records are the only one with their codes of some columns, by a table of all
    combinations of codes.
    """
    return int(_count_unique_by_fields(keys, records, *fields))


@njit(cache=True, nogil=True)
def _count_unique_by_fields(keys, records, words, shifts, widths):
    """Two bits per combination say whether nobody has it (0), one record (1) or several (2): 32 of
    them fit a word.

    A random read and write per class, in a table that is 32 times smaller than one of 64-bit sums
    and so stays in the cache.
    """
    bits = 0
    for c in range(widths.size):
        bits += widths[c]
    table = np.zeros((1 << max(0, bits - 5)), np.uint64)
    for i in range(keys.shape[0]):
        if records[i] == 0:
            continue
        # The codes of the columns side by side are the number of the combination.
        code = np.uint64(0)
        for c in range(words.size):
            width = np.uint64(widths[c])
            code = (code << width) | (
                (keys[i, words[c]] >> np.uint64(shifts[c]))
                & ((np.uint64(1) << width) - np.uint64(1))
            )
        at = code >> np.uint64(5)
        shift = (code & np.uint64(31)) << np.uint64(1)
        pair = (table[at] >> shift) & np.uint64(3)
        # 0 → 1 for a single record, 0 or 1 → 2 for more; 2 stays.
        if pair == 0 and records[i] == 1:
            table[at] |= np.uint64(1) << shift
        elif pair < 2:
            table[at] ^= (pair ^ np.uint64(2)) << shift
    # The lower bit of a pair is set where exactly one record has the combination.
    alone = np.uint64(0)
    for word in range(table.size):
        alone += _count_bits(table[word] & np.uint64(0x5555555555555555))
    return alone


def count_unique_by_prefixes(keys: Keys, records: Ids, shifts: Ids, widths: Ids) -> Ids:
    """How many records are the only one with their codes of the first column, of the first two, and
    so on.

    Keys of one word, laid out again with the first column in the highest bits: sorted once, records
    that share the first columns lie side by side, whatever the number of columns.
    """
    # Where each column begins, counted from the lowest bit.
    ends = np.cumsum(widths[::-1])[::-1] - widths
    line = repeat_shared_keys(_lay_out_keys(keys.reshape(-1), shifts, widths, ends), records)
    line.sort()
    return np.cumsum(_count_by_first_difference(line, ends))


@njit(cache=True, nogil=True)
def _lay_out_keys(keys, shifts, widths, targets):
    """Keys of one word with the columns at ``shifts`` moved to ``targets``."""
    line = np.empty(keys.size, np.uint64)
    for i in range(keys.size):
        new_key = np.uint64(0)
        for c in range(shifts.size):
            code = (keys[i] >> np.uint64(shifts[c])) & (
                (np.uint64(1) << np.uint64(widths[c])) - np.uint64(1)
            )
            new_key |= code << np.uint64(targets[c])
        line[i] = new_key
    return line


@njit(cache=True, nogil=True)
def _count_by_first_difference(line, ends):
    """By column, how many keys of a sorted line become unique with it: they differ from both
    neighbours in the columns up to it, but not in those before it.

    Of two differences from the neighbours the smaller one begins later, so it says how many columns
    are shared with somebody. Nobody further away shares more: the line is sorted. What lies above
    bit ``ends[c]`` belongs to the columns up to ``c``.
    """
    counts = np.zeros(ends.size, np.int64)
    for i in range(line.size):
        nearest = ~np.uint64(0)
        # Exclusive or of neighbours: its highest set bit is the first difference.
        if i > 0:
            nearest = line[i] ^ line[i - 1]
        if i + 1 < line.size:
            nearest = min(nearest, line[i] ^ line[i + 1])
        for c in range(ends.size):
            if nearest >> np.uint64(ends[c]) != 0:
                counts[c] += 1
                break
    return counts
