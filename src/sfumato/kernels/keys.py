"""Loops over packed keys: pack, group, look up, add up.

Arrays. A key is ``words`` unsigned 64-bit integers, so keys have shape ``(n, words)``; a column
owns ``width`` bits at ``shift`` of one word. Example: codes 5 and 2 in fields of 3 bits at shifts 0
and 3 make the key 5 | 2 << 3 = 21. Two rows agree in all packed columns exactly when their keys are
equal. ``ids`` are groups of rows, 0, 1, … in order of first appearance: keys 7, 9, 7 → ids 0, 1, 0.

Each public function stands before its loop and lets numpy do small inputs, where loading the loop
would take longer than the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit

Keys = NDArray[np.uint64]
Ids = NDArray[np.int64]

_EMPTY = np.int64(-1)


FEW = 200_000
"""Up to so many rows numpy takes a few milliseconds where it can stand in for a loop, less than
loading the loop takes.
"""
CALL = 1_000
"""What a call of numpy takes besides its rows, counted in rows."""


class StandIn:
    """Whether numpy should do the work of a loop that would first have to be loaded, or even
    compiled.

    A search calls some loops a few times and another one thousands of times, and which is not known
    before. So numpy serves until it has done as much as loading takes, and the loop from then on.
    Both give the same, bit for bit.
    """

    def __init__(self) -> None:
        """Nothing done so far."""
        self.done = 0

    def serves(self, rows: int) -> bool:
        """Whether numpy is to do the next call, over so many rows."""
        self.done += rows + CALL
        return self.done <= FEW


def pack(keys: Keys, codes: NDArray[Any], word: int, shift: int) -> None:
    """Write the codes of one column into its bit field, for every row."""
    if codes.size <= FEW:
        keys[:, word] |= codes.astype(np.uint64) << np.uint64(shift)
    else:
        _pack(keys, codes, word, shift)


@njit(cache=True, nogil=True)
def _pack(keys, codes, word, shift):
    """Or the shifted codes into the keys."""
    # Bits of other columns stay: fields do not overlap, and the key starts at 0.
    for i in range(codes.size):
        keys[i, word] |= np.uint64(codes[i]) << np.uint64(shift)


def pack_mapped(
    keys: Keys, codes: NDArray[Any], new_codes: NDArray[Any], word: int, shift: int
) -> None:
    """Like :func:`pack`, the code of every row replaced by what ``new_codes`` has for it."""
    if codes.size <= FEW:
        pack(keys, new_codes[codes], word, shift)
    else:
        _pack_mapped(keys, codes, new_codes.astype(np.uint32, copy=False), word, shift)


@njit(cache=True, nogil=True)
def _pack_mapped(keys, codes, new_codes, word, shift):
    """Map, shift and or in one pass."""
    # One pass: codes are mapped and packed while they are in a register.
    for i in range(codes.size):
        keys[i, word] |= np.uint64(new_codes[codes[i]]) << np.uint64(shift)


def map_codes(codes: NDArray[Any], new_codes: NDArray[Any]) -> NDArray[Any]:
    """What ``new_codes`` has for every code; numpy would widen all codes to 64 bits first."""
    if codes.size <= FEW or codes.dtype.kind != "u":
        images: NDArray[Any] = new_codes[codes]
        return images
    return _map_codes(codes, new_codes)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _map_codes(codes, new_codes):
    images = np.empty(codes.size, new_codes.dtype)
    # A gather from a small table; one read and write a row.
    for i in range(codes.size):
        images[i] = new_codes[codes[i]]
    return images


@njit(cache=True, nogil=True, inline="always")
def _hash(keys, i):
    """A hash of which the lowest bits depend on all bits of a key.

    A product carries bits upwards only, and the shift brings the upper half down once. Without the
    second round the bits from 48 on, where the last columns of a packed key lie, would not reach
    the lowest
    16: in a table of 65,536 slots all keys that differ in them alone would stand in one queue.
    """
    h = np.uint64(0x9E3779B97F4A7C15)
    # The finalizer of MurmurHash3 (constants by Austin Appleby), one round a word.
    for w in range(keys.shape[1]):
        h = (h ^ keys[i, w]) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(32))


@njit(cache=True, nogil=True, inline="always")
def _equal_keys(keys, i, other_keys, j):
    """Whether two keys are equal, word by word."""
    for w in range(keys.shape[1]):
        if keys[i, w] != other_keys[j, w]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rehash(first, keys, count, slots):
    """A hash table of the first ``count`` groups, whose keys are those of rows ``first``."""
    table = np.full(slots, _EMPTY, np.int64)
    mask = np.uint64(slots - 1)
    # Linear probing; keys are distinct, so none has to be compared.
    for g in range(count):
        h = _hash(keys, first[g]) & mask
        while table[h] != _EMPTY:
            h = (h + np.uint64(1)) & mask
        table[h] = g
    return table


def group(keys: Keys) -> tuple[Ids, Ids]:
    """Number equal keys alike, in order of first appearance.

    Returns the group of every row and, per group, the first row that has it. Keys of one word,
    which are the rule, take a faster path.
    """
    if keys.shape[1] == 1:
        one_word = _group_by_numpy if _grouping.serves(len(keys)) else _group_word
        return one_word(np.ascontiguousarray(keys).reshape(-1))
    return _group_words(keys)  # type: ignore[no-any-return]


_grouping = StandIn()


def _group_by_numpy(keys: NDArray[np.uint64]) -> tuple[Ids, Ids]:
    """What :func:`_group_word` gives, by numpy."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    # numpy numbers by value; renumber by first row.
    order = np.argsort(first)
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    return number[inverse], first[order]


@njit(cache=True, nogil=True, inline="always")
def _slot(key, high_bits):
    """The slot of a key in a table of 2^(64 − high_bits) slots."""
    # Fibonacci hashing (Knuth): 2⁶⁴ ∕ golden ratio; the upper bits depend on all bits.
    return (key * np.uint64(0x9E3779B97F4A7C15)) >> high_bits


@njit(cache=True, nogil=True)
def _group_word(keys):
    """:func:`group` for keys of one word: open addressing with linear probing."""
    n = keys.size
    ids = np.empty(n, np.int64)
    first = np.empty(n, np.int64)  # room for all; what is never written takes no memory
    distinct = np.empty(n, np.uint64)
    bits = 12
    count = np.int64(0)
    table = _spread_keys(distinct, count, np.int64(bits))
    # One pass; expected 1.5 probes a row at a load of at most one half. Numbers follow first
    # appearance, so they do not depend on the hash.
    for i in range(n):
        key = keys[i]
        mask = np.uint64(table.size - 1)
        h = _slot(key, np.uint64(64 - bits))
        g = table[h]
        while g >= 0 and distinct[g] != key:
            h = (h + np.uint64(1)) & mask
            g = table[h]
        if g < 0:
            g = count
            table[h] = g
            first[g] = i
            distinct[g] = key
            count += 1
            # Four times as large: growing costs a third of all insertions in total.
            if 2 * count > table.size:
                bits += 2
                table = _spread_keys(distinct, count, bits)
        ids[i] = g
    return ids, _resize(first, count)


def rank_keys(keys: NDArray[np.uint64], span: int) -> tuple[NDArray[np.uint32], Keys]:
    """Number keys of one word, all below ``span``, in their order: the number of every row, and the
    distinct keys.

    A bit for every possible key and, for every 64 of them, how many keys are below: nothing is
    hashed, nothing sorted.
    """
    return _rank_keys(np.ascontiguousarray(keys).reshape(-1), span)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def _count_bits(word):
    """How many bits of a word are set."""
    # Population count, sums of bits in pairs, nibbles and bytes (Warren, Hacker's Delight 5-1).
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def _rank_keys(keys, span):
    """:func:`rank_keys` over a bitmap of all possible keys."""
    bit_one = np.uint64(1)
    low = np.uint64(63)
    bits = np.zeros((span + 63) // 64, np.uint64)
    # A set bit for every key that occurs: span ∕ 8 bytes, and random writes into them.
    for i in range(keys.size):
        bits[keys[i] >> np.uint64(6)] |= bit_one << (keys[i] & low)
    below = np.empty(bits.size, np.uint32)
    count = np.uint64(0)
    # Prefix sums of the population counts: rank in constant time (a succinct rank index).
    for w in range(bits.size):
        below[w] = count
        count += _count_bits(bits[w])
    distinct = np.empty(count, np.uint64)
    position = 0
    for w in range(bits.size):
        word = bits[w]
        # The lowest set bit again and again: keys come out ascending.
        while word != 0:
            last = word & (~word + bit_one)
            distinct[position] = np.uint64(w) * np.uint64(64) + _count_bits(last - bit_one)
            position += 1
            word ^= last
    ranks = np.empty(keys.size, np.uint32)
    # The rank of a key: keys in words before its own, and set bits below its bit.
    for i in range(keys.size):
        w = keys[i] >> np.uint64(6)
        ranks[i] = below[w] + np.uint32(
            _count_bits(bits[w] & ((bit_one << (keys[i] & low)) - bit_one))
        )
    return ranks, distinct


def rank_by_sorting(keys: NDArray[np.uint64], span: int) -> tuple[NDArray[np.uint32], Keys]:
    """What :func:`rank_keys` gives, by sorting: for keys of which most are distinct, whatever their
    ``span``.

    Numpy sorts 64-bit numbers with vector instructions: where nearly every key is a new one, that
    takes a fifth of the time of hashing them. A key and the number of its row fit one word where
    there is room for both, and then one sort does it all.
    """
    rows = keys.size
    bits = max(1, int(keys.size - 1).bit_length())
    # Row numbers in the low bits: the sort keeps track of rows without an argsort.
    if (span - 1).bit_length() + bits <= 64:
        line = keys << np.uint64(bits)
        line |= np.arange(rows, dtype=np.uint64)
        line.sort()
        order = (line & np.uint64((1 << bits) - 1)).view(np.int64)
        line >>= np.uint64(bits)
    else:
        order = np.argsort(keys)
        line = keys[order]
    # Where a sorted key differs from the one before, a new number begins.
    fresh = np.ones(rows, dtype=np.bool_)
    np.not_equal(line[1:], line[:-1], out=fresh[1:])
    distinct = line[fresh]
    del line
    number = np.cumsum(fresh, dtype=np.uint32)
    number -= np.uint32(1)
    ranks = np.empty(rows, dtype=np.uint32)
    ranks[order] = number
    return ranks, distinct


SAMPLE = 1024
"""So many keys tell whether most are distinct."""


def mostly_distinct(keys: NDArray[np.uint64]) -> bool:
    """Whether most keys of one word seem to be distinct; a few at equal distances are looked at."""
    sample = keys[:: max(1, keys.size // SAMPLE)]
    return 2 * len(np.unique(sample)) > len(sample)


Places = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Where some columns lie in a key: their words, shifts and widths."""


def count_unique(keys: Keys, records: Ids, bits: np.uint64) -> int:
    """How many records are the only one with their bits ``bits`` of a key. ``keys`` are distinct
    keys of one word, ``records`` how many rows have each.
    """
    line = repeat_shared_keys(keys & bits, records)
    line.sort()
    # Sorted: a key is unique when it differs from both neighbours.
    differs = np.ones(line.size + 1, dtype=np.bool_)
    np.not_equal(line[1:], line[:-1], out=differs[1:-1])
    return int((differs[1:] & differs[:-1]).sum())


def repeat_shared_keys(line: Keys, records: Ids) -> Keys:
    """The keys of classes that have records, those of classes with several records twice, so that
    they are not counted as unique.
    """
    if int(records.min(initial=1)) == 1 and int(records.max(initial=1)) == 1:
        return line
    return np.concatenate([line[records > 0], line[records > 1]])


@njit(cache=True, nogil=True)
def _resize(values, size):
    """The values in a longer or shorter array; a loop of its own, since numpy's functions take long
    to compile.
    """
    resized = np.empty(size, values.dtype)
    for i in range(min(size, values.size)):
        resized[i] = values[i]
    return resized


@njit(cache=True, nogil=True)
def _spread_keys(distinct, count, bits):
    """A larger hash table of the keys known so far."""
    table = np.empty(1 << bits, np.int64)
    for h in range(table.size):
        table[h] = _EMPTY
    mask = np.uint64(table.size - 1)
    # Known keys are distinct: they are placed without comparing.
    for g in range(count):
        h = _slot(distinct[g], np.uint64(64 - bits))
        while table[h] != _EMPTY:
            h = (h + np.uint64(1)) & mask
        table[h] = g
    return table


@njit(cache=True, nogil=True)
def _group_words(keys):
    """:func:`group` for keys of several words."""
    n = keys.shape[0]
    ids = np.empty(n, np.int64)
    first = np.empty(1024, np.int64)
    slots = 4096
    table = np.full(slots, _EMPTY, np.int64)
    count = 0
    # As _group_word, comparing all words of a key.
    for i in range(n):
        mask = np.uint64(slots - 1)
        h = _hash(keys, i) & mask
        while table[h] != _EMPTY and not _equal_keys(keys, first[table[h]], keys, i):
            h = (h + np.uint64(1)) & mask
        g = table[h]
        if g == _EMPTY:
            if count == first.size:
                first = np.concatenate((first, np.empty(count, np.int64)))
            g = count
            table[h] = g
            first[g] = i
            count += 1
            if 2 * count > slots:
                slots *= 4
                table = _rehash(first, keys, count, slots)
        ids[i] = g
    return ids, first[:count].copy()


def look_up(distinct: Keys, keys: Keys) -> Ids:
    """Index of every key among the distinct ``distinct`` keys, −1 where it is not there."""
    if keys.shape[1] == 1 and max(len(distinct), len(keys)) <= FEW:
        return _search_sorted(distinct[:, 0], keys[:, 0])
    return _look_up(distinct, keys)  # type: ignore[no-any-return]


def _search_sorted(distinct: Keys, keys: Keys) -> Ids:
    """:func:`look_up` by binary search in numpy."""
    if not distinct.size:
        return np.full(keys.size, _EMPTY)
    order = np.argsort(distinct)
    # Beyond the last key there is none: compare with the last one, which then differs.
    at = order[np.minimum(np.searchsorted(distinct, keys, sorter=order), distinct.size - 1)]
    return np.where(distinct[at] == keys, at, _EMPTY)


@njit(cache=True, nogil=True)
def _look_up(distinct, keys):
    """:func:`look_up` by a hash table that is at most half full."""
    slots = 16
    while slots < 2 * distinct.shape[0] + 1:
        slots *= 2
    table = _rehash(np.arange(distinct.shape[0]), distinct, distinct.shape[0], slots)
    mask = np.uint64(slots - 1)
    indices = np.empty(keys.shape[0], np.int64)
    # One probe sequence a key; an empty slot ends it: the key is not among the known ones.
    for i in range(keys.shape[0]):
        h = _hash(keys, i) & mask
        while table[h] != _EMPTY and not _equal_keys(distinct, table[h], keys, i):
            h = (h + np.uint64(1)) & mask
        indices[i] = table[h]
    return indices


def lie_outside(distinct: Keys, keys: Keys) -> NDArray[np.bool_]:
    """Which keys are not among the distinct ``distinct`` keys."""
    if keys.shape[1] > 1 or len(keys) <= FEW or not len(distinct):
        return look_up(distinct, keys) < 0
    bits = max(9, int(len(distinct) - 1).bit_length() + 4)
    outside: NDArray[np.bool_] = _lie_outside(
        np.sort(distinct[:, 0]), keys.reshape(-1), np.int64(bits)
    )
    return outside


@njit(cache=True, nogil=True)
def _lie_outside(distinct, keys, bits):
    """Most keys are not among the known ones: a bit for every hash of a known key says so; the few
    others are searched for.

    With sixteen bits or more for every known key, of sixteen other keys at most one has the hash of
    one of them.
    """
    bit_one = np.uint64(1)
    low = np.uint64(63)
    high = np.uint64(64 - bits)
    filter_bits = np.zeros(1 << (bits - 6), np.uint64)
    # A Bloom filter with one hash: no known key is missed, few others pass.
    for g in range(distinct.size):
        h = _slot(distinct[g], high)
        filter_bits[h >> np.uint64(6)] |= bit_one << (h & low)
    outside = np.ones(keys.size, np.bool_)
    for i in range(keys.size):
        key = keys[i]
        h = _slot(key, high)
        if filter_bits[h >> np.uint64(6)] & (bit_one << (h & low)):
            first, end = 0, distinct.size
            # Binary search decides for those that pass: exact.
            while first < end:
                middle = (first + end) // 2
                if distinct[middle] < key:
                    first = middle + 1
                else:
                    end = middle
            outside[i] = first == distinct.size or distinct[first] != key
    return outside


def field_codes(keys: Keys, word: int, shift: int, width: int) -> Ids:
    """The code of one column in every key."""
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    return ((keys[:, word] >> np.uint64(shift)) & mask).astype(np.int64)


def add_by_fields(keys: Keys, records: Ids, fields: Places) -> Ids:
    """Sum of ``records`` by the codes of some columns put together, the first in the highest bits.
    Combinations without records have the sum 0.

    ``fields`` are the words, shifts and widths of the columns.
    """
    words, shifts, widths = fields
    size = 1 << int(widths.sum())
    if len(keys) > FEW:
        sums: Ids = _add_by_fields(keys, records, words, shifts, widths, size)
        return sums
    codes = np.zeros(len(keys), dtype=np.int64)
    for word, shift, width in zip(words.tolist(), shifts.tolist(), widths.tolist(), strict=True):
        codes = codes << width | field_codes(keys, word, shift, width)
    return np.bincount(codes, weights=records, minlength=size).astype(np.int64)


@njit(cache=True, nogil=True)
def _add_by_fields(keys, records, words, shifts, widths, size):
    """:func:`add_by_fields` in one pass over the keys."""
    sums = np.zeros(size, np.int64)
    # Codes of the columns side by side make an index: no hashing, 2^widths sums.
    for i in range(keys.shape[0]):
        code = np.uint64(0)
        for c in range(words.size):
            width = np.uint64(widths[c])
            mask = (np.uint64(1) << width) - np.uint64(1)
            code = (code << width) | ((keys[i, words[c]] >> np.uint64(shifts[c])) & mask)
        sums[code] += records[i]
    return sums


def find_first_rows(ids: NDArray[Any], groups: int) -> Ids:
    """The first row of every group; ``ids`` is the group of every row, and each has one."""
    if ids.size > FEW:
        return _first_rows(ids, groups)  # type: ignore[no-any-return]
    first = np.empty(groups, dtype=np.int64)
    # Backwards: of several rows of a group the first is written last and stays.
    first[ids[::-1]] = np.arange(ids.size - 1, -1, -1)
    return first


@njit(cache=True, nogil=True)
def _first_rows(ids, groups):
    """:func:`find_first_rows` in one pass."""
    first = np.empty(groups, np.int64)
    # From the end: the first row is written last and stays.
    for i in range(ids.size - 1, -1, -1):
        first[ids[i]] = i
    return first


def write_through(target: Ids, positions: NDArray[Any], rows: Ids, values: NDArray[Any]) -> None:
    """``target[positions[rows]] = values``, row by row: of several that go to one place the last
    stays.
    """
    if rows.size > FEW:
        _write_through(target, positions, rows, values)
    else:
        target[positions[rows]] = values


@njit(cache=True, nogil=True)
def _write_through(target, positions, rows, values):
    """:func:`write_through` in one pass."""
    for i in range(rows.size):
        target[positions[rows[i]]] = values[i]


@njit(cache=True, nogil=True)
def add_up(values, ids, groups):
    """Sum of ``values`` per group: values 5, 1, 2 of groups 0, 1, 0 → 7, 1."""
    sums = np.zeros(groups, values.dtype)
    # In the order of the rows, so that rounding is the same on every machine.
    for i in range(ids.size):
        sums[ids[i]] += values[i]
    return sums


@njit(cache=True, nogil=True)
def count_codes(codes, groups):
    """How often each code occurs; all are below ``groups``: codes 3, 0, 3 → 1, 0, 0, 2."""
    counts = np.zeros(groups, np.int64)
    for i in range(codes.size):
        counts[codes[i]] += 1
    return counts


@njit(cache=True, nogil=True)
def merge_counts(starts, codes, counts, ids, groups, domain):
    """Sparse counts of merged classes: class ``i`` goes to group ``ids[i]``.

    ``starts, codes, counts`` hold one class after the other (compressed rows). Codes come out
    sorted only when every merged class had them in an order; callers must not rely on the order.
    """
    members = np.zeros(groups + 1, np.int64)
    # Counting sort of the classes by group: three passes, no comparison.
    for i in range(ids.size):
        members[ids[i] + 1] += 1
    for g in range(groups):
        members[g + 1] += members[g]
    order = np.empty(ids.size, np.int64)
    cursor = members[:-1].copy()
    for i in range(ids.size):
        order[cursor[ids[i]]] = i
        cursor[ids[i]] += 1
    new_starts = np.empty(groups + 1, np.int64)
    new_codes = np.empty(codes.size, codes.dtype)
    new_counts = np.empty(counts.size, counts.dtype)
    # ``last_written`` has where a code was written last; an entry before the begin of the group at
    # hand belongs to an earlier group, so nothing is cleared. One visit an entry.
    last_written = np.full(domain, -1, np.int64)
    end = 0
    for g in range(groups):
        begin = end
        new_starts[g] = begin
        for position in range(members[g], members[g + 1]):
            i = order[position]
            for j in range(starts[i], starts[i + 1]):
                p = last_written[codes[j]]
                if p >= begin:
                    new_counts[p] += counts[j]
                else:
                    last_written[codes[j]] = end
                    new_codes[end] = codes[j]
                    new_counts[end] = counts[j]
                    end += 1
    new_starts[groups] = end
    return new_starts, new_codes[:end].copy(), new_counts[:end].copy()
