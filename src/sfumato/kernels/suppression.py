"""Loops of cell suppression: groups of records that agree on the cells shown, and which of them to suppress.

A *unit* is a class of records that are still alike: a packed key, the columns that are missing in it as bits, and how
many records it has. Column *c* owns the bits ``fields[c]`` of word ``words[c]`` of a key. Frequencies are those of a
record that keeps all its cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_EMPTY = np.int64(-1)


@njit(cache=True, nogil=True, inline="always")
def _slot(keys, i, shown, bits):
    h = np.uint64(0)
    for w in range(shown.size):
        h = (h ^ (keys[i, w] & shown[w])) * np.uint64(0x9E3779B97F4A7C15)
        if shown.size > 1:
            h ^= h >> np.uint64(32)
    return h >> np.uint64(64 - bits)


@njit(cache=True, nogil=True, inline="always")
def _agree(keys, i, j, shown):
    for w in range(shown.size):
        if (keys[i, w] ^ keys[j, w]) & shown[w]:
            return False
    return True


@njit(cache=True, nogil=True)
def _group_some(keys, rows, shown):
    """Number rows alike that agree where it is shown: their groups, one row of each, and the hash table."""
    bits = 4
    while (1 << bits) < 2 * rows.size:
        bits += 1
    table = np.full(1 << bits, _EMPTY, np.int64)
    mask = np.uint64((1 << bits) - 1)
    ids = np.empty(rows.size, np.int64)
    first = np.empty(rows.size, np.int64)
    count = 0
    for r in range(rows.size):
        h = _slot(keys, rows[r], shown, bits)
        while table[h] != _EMPTY and not _agree(keys, first[table[h]], rows[r], shown):
            h = (h + np.uint64(1)) & mask
        if table[h] == _EMPTY:
            table[h] = count
            first[count] = rows[r]
            count += 1
        ids[r] = table[h]
    return ids, first[:count].copy(), table, bits


@njit(cache=True, nogil=True, inline="always")
def _find(keys, i, shown, first, table, bits):
    mask = np.uint64(table.size - 1)
    h = _slot(keys, i, shown, bits)
    while table[h] != _EMPTY and not _agree(keys, first[table[h]], i, shown):
        h = (h + np.uint64(1)) & mask
    return table[h]


@njit(cache=True, nogil=True)
def compatible_records(keys, amounts, order, starts, shown):
    """Per unit, the records that agree with it in every column that is missing in neither.

    ``order[starts[p]:starts[p+1]]`` are the units with pattern *p* of missing columns, which shows the bits ``shown[p]``.
    """
    found = np.zeros(amounts.size, np.int64)
    for p in range(starts.size - 1):
        for q in range(p, starts.size - 1):
            both = shown[p] & shown[q]
            small, large = order[starts[p] : starts[p + 1]], order[starts[q] : starts[q + 1]]
            if small.size > large.size:
                small, large = large, small
            ids, first, table, bits = _group_some(keys, small, both)
            mine = np.zeros(first.size, np.int64)
            theirs = np.zeros(first.size, np.int64)
            for r in range(small.size):
                mine[ids[r]] += amounts[small[r]]
            if p == q:
                for r in range(small.size):
                    found[small[r]] += mine[ids[r]]
                continue
            for r in range(large.size):
                g = _find(keys, large[r], both, first, table, bits)
                if g >= 0:
                    found[large[r]] += mine[g]
                    theirs[g] += amounts[large[r]]
            for r in range(small.size):
                found[small[r]] += theirs[ids[r]]
    return found


@njit(cache=True, nogil=True)
def groups_of(keys, rows, shown, amounts, left, frequencies, k):
    """The groups of some units among all: group of each, and per group all its records and the best safe unit, or −1."""
    ids, first, table, bits = _group_some(keys, rows, shown)
    totals = np.zeros(first.size, np.int64)
    donors = np.full(first.size, -1, np.int64)
    for i in range(amounts.size):
        g = _find(keys, i, shown, first, table, bits)
        if g < 0:
            continue
        totals[g] += amounts[i]
        if frequencies[i] >= k and left[i] > 0 and (donors[g] < 0 or left[i] > left[donors[g]]):
            donors[g] = i
    return ids, totals, donors


@njit(cache=True, nogil=True, inline="always")
def _differing(keys, i, j, words, fields):
    """The columns in which two units differ, as bits."""
    found = np.int64(0)
    for c in range(words.size):
        if (keys[i, words[c]] ^ keys[j, words[c]]) & fields[c]:
            found |= np.int64(1) << c
    return found


@njit(cache=True, nogil=True)
def _worth(members, begin, end, frequencies, left, k, by_deficit):
    """Suppressions that members would need one by one, over those they need together."""
    by_deficit[:] = 0
    alone = 0
    for at in range(begin, end):
        u = members[at]
        deficit = k - frequencies[u]
        if deficit > 0 and left[u] > 0:
            alone += min(deficit, left[u])
            by_deficit[deficit] += left[u]
    if alone == 0:
        return 0.0
    together = np.int64(k)
    above = np.int64(0)
    for deficit in range(k, -1, -1):
        together = min(together, max(above, deficit))
        above += by_deficit[deficit]
    return alone / max(1, together)


@njit(cache=True, nogil=True)
def _sift(heap, worth, size, at):
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _before(worth, heap[child + 1], heap[child]):
            child += 1
        if not _before(worth, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@njit(cache=True, nogil=True, inline="always")
def _before(worth, one, other):
    return worth[one] > worth[other] or (worth[one] == worth[other] and one < other)


@njit(cache=True, nogil=True)
def cover_groups(keys, words, fields, missing, hidden, starts, members, donors, k, frequencies, left, out):
    """Suppress cells, the groups that gain most first, until no member of any group is too rare.

    Group *g* has ``members[starts[g]:starts[g+1]]`` and hides the columns ``hidden[g]``; at least *k* records are in it.
    ``frequencies`` and ``left`` are kept up to date; ``out`` receives unit and group of every record suppressed.
    Returns how many.
    """
    size = starts.size - 1
    by_deficit = np.zeros(k + 1, np.int64)
    worth = np.empty(size)
    heap = np.arange(size)
    for g in range(size):
        worth[g] = _worth(members, starts[g], starts[g + 1], frequencies, left, k, by_deficit)
    for at in range(size // 2 - 1, -1, -1):
        _sift(heap, worth, size, at)
    done = 0
    while size > 0:
        g = heap[0]
        now = _worth(members, starts[g], starts[g + 1], frequencies, left, k, by_deficit)
        if now > 0 and now < worth[g]:
            worth[g] = now
            _sift(heap, worth, size, 0)
            continue
        if now > 0:
            done = _cover(keys, words, fields, missing, members[starts[g] : starts[g + 1]], donors[g], k, frequencies, left, out, done, g)
        size -= 1
        heap[0] = heap[size]
        _sift(heap, worth, size, 0)
    return done


@njit(cache=True, nogil=True)
def _cover(keys, words, fields, missing, members, donor, k, frequencies, left, out, done, g):
    """Suppress records of one group, the rarest first, until no member is too rare."""
    while True:
        rarest = np.int64(-1)
        for u in members:
            if frequencies[u] >= k or left[u] == 0:
                continue
            if rarest < 0 or frequencies[u] < frequencies[rarest] or (
                frequencies[u] == frequencies[rarest] and left[u] < left[rarest]
            ):
                rarest = u
        if rarest < 0:
            return done
        chosen = rarest
        # a record that is common anyway helps all of a class; suppressing the class helps nobody of its own
        if donor >= 0 and left[donor] > 0 and k - frequencies[rarest] < left[rarest]:
            chosen = donor
        left[chosen] -= 1
        out[done, 0], out[done, 1] = chosen, g
        done += 1
        for u in members:
            if _differing(keys, u, chosen, words, fields) & ~(missing[u] | missing[chosen]):
                frequencies[u] += 1
