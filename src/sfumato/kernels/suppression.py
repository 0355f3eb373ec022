"""Loops of cell suppression: which records to suppress so that nobody is too rare.

Arrays. A *unit* is a set of equal records: a packed key, the columns that are missing in it as
bits, and how many of its records still show all their cells (``intact``). Column *c* owns the bits
``fields[c]`` of word ``words[c]`` of a key. ``frequencies`` are those of a record of the unit that
shows all its cells: the records that agree with it, where a hidden or missing cell agrees with
everything. ``absent`` has bits for cells that cannot be hidden, since they are missing already and
yet match nothing but missing ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit

# Loops over keys of which only some bits are shown: group them, find them, count those that agree.
#
# ``shown`` has one word of bits for every word of a key; two keys agree when they do on these bits.
# The look-up is written out in both loops: as a function that they share, called or inlined by
# numba, it took two to three times as long.

_EMPTY = np.int32(-1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def group_by_shown_bits(keys, rows, shown_bits):
    """Number rows alike that agree: the group of each, the shown bits of each group, and a hash
    table of the groups.
    """
    bits = 4
    # At most half full: about 1.5 probes a search (Knuth, linear probing).
    while (1 << bits) < 2 * rows.size:
        bits += 1
    table = np.full(1 << bits, _EMPTY, np.int32)
    mask = np.uint64((1 << bits) - 1)
    high = np.uint64(64 - bits)
    ids = np.empty(rows.size, np.int64)
    group_bits = np.empty((rows.size, shown_bits.size), np.uint64)
    count = np.int32(0)
    # Probed here as in find_shown: put into a function of its own it takes twice as long.
    for r in range(rows.size):
        i = rows[r]
        h = np.uint64(0)
        for w in range(shown_bits.size):
            h = (h ^ (keys[i, w] & shown_bits[w])) * _SPREAD
            h ^= h >> _HALF
        h = (h * _SPREAD) >> high
        g = table[h]
        while g >= 0:
            equal = True
            for w in range(shown_bits.size):
                equal &= group_bits[g, w] == keys[i, w] & shown_bits[w]
            if equal:
                break
            h = (h + _ONE) & mask
            g = table[h]
        if g < 0:
            g = count
            table[h] = g
            for w in range(shown_bits.size):
                group_bits[g, w] = keys[i, w] & shown_bits[w]
            count += np.int32(1)
        ids[r] = g
    return ids, group_bits[:count], table


@njit(cache=True, nogil=True)
def find_groups(keys, rows, shown_bits, group_bits, table):
    """The group of each row among those of a hash table, −1 where there is none."""
    bits = 0
    while (1 << bits) < table.size:
        bits += 1
    mask = np.uint64(table.size - 1)
    high = np.uint64(64 - bits)
    ids = np.empty(rows.size, np.int64)
    for r in range(rows.size):
        i = rows[r]
        h = np.uint64(0)
        for w in range(shown_bits.size):
            h = (h ^ (keys[i, w] & shown_bits[w])) * _SPREAD
            h ^= h >> _HALF
        h = (h * _SPREAD) >> high
        g = table[h]
        while g >= 0:
            equal = True
            for w in range(shown_bits.size):
                equal &= group_bits[g, w] == keys[i, w] & shown_bits[w]
            if equal:
                break
            h = (h + _ONE) & mask
            g = table[h]
        ids[r] = g
    return ids


@njit(cache=True, nogil=True)
def count_agreeing(keys, amounts, order, starts, shown_bits):
    """Per row, the records that agree with it in what is shown of both.

    ``order[starts[p]:starts[p+1]]`` are the rows of pattern *p*, which shows the bits
    ``shown_bits[p]``; row *i* stands for ``amounts[i]`` records.
    """
    agreeing = np.zeros(amounts.size, np.int64)
    # Patterns are few and records many: records meet by way of a hash table for each pair of
    # patterns, never one by one.
    # O(patterns² · rows): a missing cell agrees with everything, which is not transitive, so no
    # single grouping would do.
    for p in range(starts.size - 1):
        for q in range(p, starts.size - 1):
            small = order[starts[p] : starts[p + 1]]
            large = order[starts[q] : starts[q + 1]]
            # The table of the smaller side stays in the cache.
            if small.size > large.size:
                small, large = large, small
            shared_bits = shown_bits[p] & shown_bits[q]
            ids, group_bits, table = group_by_shown_bits(keys, small, shared_bits)
            small_records = np.zeros(len(group_bits), np.int64)
            large_records = np.zeros(len(group_bits), np.int64)
            for r in range(small.size):
                small_records[ids[r]] += amounts[small[r]]
            # Within a pattern both sides are the same rows, counted once.
            if p == q:
                for r in range(small.size):
                    agreeing[small[r]] += small_records[ids[r]]
                continue
            at = find_groups(keys, large, shared_bits, group_bits, table)
            for r in range(large.size):
                if at[r] >= 0:
                    agreeing[large[r]] += small_records[at[r]]
                    large_records[at[r]] += amounts[large[r]]
            for r in range(small.size):
                agreeing[small[r]] += large_records[ids[r]]
    return agreeing


class UnitCounts(NamedTuple):
    """How frequent units are by now: arrays with an entry a unit, which are brought up to date."""

    frequencies: NDArray[np.int64]
    """Records that agree with a record of the unit that shows all its cells."""
    intact: NDArray[np.int64]
    """Records of the unit that still show all their cells."""


class UnitGroups(NamedTuple):
    """Groups of units that agree when columns are hidden."""

    starts: NDArray[np.int64]
    """(groups + 1,): where the members of each begin."""
    members: NDArray[np.int64]
    """Units, one group after the other."""
    donors: NDArray[np.int64]
    """Per group, the unit whose records may be suppressed to help the members; −1: none."""


@njit(cache=True, nogil=True)
def list_groups(keys, rows, hiding, absent, amounts, unit_counts, k):
    """The groups of some units that agree when columns are hidden, those with at least k records of
    all units.

    Group *g* has ``members[starts[g]:starts[g+1]]``; its donor is the unit with most records left
    that are not rare, −1 where there is none. ``hiding`` is the bits of a key that stay shown, and
    the hidden columns as bits.
    """
    shown_bits, hidden = hiding
    frequencies, intact = unit_counts
    ids, group_bits, table = group_by_shown_bits(keys, rows, shown_bits)
    at = find_groups(keys, np.arange(amounts.size), shown_bits, group_bits, table)
    totals = np.zeros(len(group_bits), np.int64)
    donors = np.full(len(group_bits), -1, np.int64)
    # Records of all units count towards k, also those that are not to be covered now.
    for i in range(amounts.size):
        g = at[i]
        if g < 0:
            continue
        totals[g] += amounts[i]
        # A donor must not be rare itself, must have records left, and must have all the cells that
        # are hidden.
        if frequencies[i] < k or intact[i] == 0 or absent[i] & hidden:
            continue
        if donors[g] < 0 or intact[i] > intact[donors[g]]:
            donors[g] = i
    return _list_members(rows, ids, totals >= k, donors)


@njit(cache=True, nogil=True)
def _list_members(rows, ids, is_listed, donors):
    """The members of the wanted groups, one group after the other: a counting sort."""
    new_number = np.full(is_listed.size, -1, np.int64)
    count = 0
    for g in range(is_listed.size):
        if is_listed[g]:
            new_number[g] = count
            count += 1
    starts = np.zeros(count + 1, np.int64)
    for r in range(rows.size):
        if new_number[ids[r]] >= 0:
            starts[new_number[ids[r]] + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    members = np.empty(starts[count], np.int64)
    cursor = starts[:-1].copy()
    for r in range(rows.size):
        g = new_number[ids[r]]
        if g >= 0:
            members[cursor[g]] = rows[r]
            cursor[g] += 1
    return starts, members, donors[is_listed]


class PackedUnits(NamedTuple):
    """Sets of equal records: their packed keys, where each column lies in a key, and the columns
    that are missing, as bits.
    """

    keys: NDArray[np.uint64]
    words: NDArray[np.int64]
    fields: NDArray[np.uint64]
    missing: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _differing_columns(all_units, i, j):
    """The columns in which two units differ and neither is missing, as bits."""
    apart = np.int64(0)
    # A difference anywhere in the column's field is one set bit.
    for c in range(all_units.words.size):
        if (
            all_units.keys[i, all_units.words[c]] ^ all_units.keys[j, all_units.words[c]]
        ) & all_units.fields[c]:
            apart |= np.int64(1) << c
    return apart & ~(all_units.missing[i] | all_units.missing[j])


@njit(cache=True, nogil=True)
def _gain_ratio(members, frequencies, intact, k, by_deficit):
    """Ratio of the records to suppress when every member is on its own to those that suffice for
    all together.

    Together: when *t* records are suppressed, members that lack at most *t* are helped, those that
    lack more are suppressed themselves. Costs the members and k steps.
    """
    alone = 0
    largest = 0
    # Histogram of what members lack …
    for u in members:
        deficit = k - frequencies[u]
        if deficit > 0 and intact[u] > 0:
            alone += min(deficit, intact[u])
            largest = max(largest, deficit)
            by_deficit[deficit] += intact[u]
    # … of which the cheapest t is found from the top; the histogram is cleared on the way.
    together = largest
    above = 0
    for deficit in range(largest, 0, -1):
        together = min(together, max(above, deficit))
        above += by_deficit[deficit]
        by_deficit[deficit] = 0
    return alone / max(1, min(together, above))


@njit(cache=True, nogil=True)
def _comes_first(worth, first, second):
    """Whether one group comes before another in the heap: more gain, or the lower number."""
    return worth[first] > worth[second] or (worth[first] == worth[second] and first < second)


@njit(cache=True, nogil=True)
def _sift(heap, worth, size):
    """Let the first entry of a binary heap sink to its position."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _comes_first(worth, heap[child + 1], heap[child]):
            child += 1
        if not _comes_first(worth, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@njit(cache=True, nogil=True)
def cover_units(all_units, absent, hidden, unit_groups, k, unit_counts):
    """Suppress records, the group that gains most first, until no member of any group is too rare
    (greedy set cover with lazy updates).

    Group *g* hides the columns ``hidden[g]``; all these sets cost the same. Updates ``frequencies``
    and ``intact`` and returns unit and group of every suppressed record.
    """
    starts, members, donors = unit_groups
    frequencies, intact = unit_counts
    size = starts.size - 1
    by_deficit = np.zeros(k + 1, np.int64)
    worth = np.empty(size)
    for g in range(size):
        worth[g] = _gain_ratio(
            members[starts[g] : starts[g + 1]], frequencies, intact, k, by_deficit
        )
    heap = np.argsort(-worth, kind="mergesort")
    units = [np.int64(0) for _ in range(0)]
    groups = [np.int64(0) for _ in range(0)]
    # Lazy greedy: only the group on top is worked out again, since all of them after every record
    # would be quadratic; one whose gain fell goes back into the heap.
    while size > 0:
        g = heap[0]
        inside = members[starts[g] : starts[g + 1]]
        now = _gain_ratio(inside, frequencies, intact, k, by_deficit)
        # Others have helped its members since: it must wait for its turn.
        if 0 < now < worth[g]:
            worth[g] = now
            _sift(heap, worth, size)
            continue
        if now > 0:
            before = len(units)
            hideable = (absent[inside] & hidden[g]) == 0
            _cover_group(all_units, hideable, inside, donors[g], k, unit_counts, units)
            for _ in range(len(units) - before):
                groups.append(g)
        size -= 1
        heap[0] = heap[size]
        _sift(heap, worth, size)
    return np.array(units), np.array(groups)


@njit(cache=True, nogil=True)
def _cover_group(all_units, hideable, members, donor, k, unit_counts, units):
    """Suppress records of one group until no member is too rare, or nothing can be hidden that
    helps.
    """
    frequencies, intact = unit_counts
    while True:
        rarest = _find_rarest(members, k, frequencies, intact)
        if rarest < 0:
            return
        u = members[rarest]
        unit = np.int64(-1)
        if not hideable[rarest] or k - frequencies[u] < intact[u]:
            # Its own records are no help to one another, a record from elsewhere is a help to all
            # of them.
            if donor >= 0 and intact[donor] > 0:
                unit = donor
            else:
                unit = _largest_other(members, hideable, u, intact)
            if unit >= 0 and not _differing_columns(all_units, u, unit):
                unit = np.int64(-1)
        if unit < 0:
            if not hideable[rarest]:
                return
            unit = u
        intact[unit] -= 1
        units.append(unit)
        # A suppressed record now agrees with every member it differed from before.
        for member in members:
            if _differing_columns(all_units, member, unit):
                frequencies[member] += 1


@njit(cache=True, nogil=True)
def _find_rarest(members, k, frequencies, intact):
    """The index of the member that lacks most, of these the one with fewest records left; −1 when
    none is too rare.
    """
    rarest = -1
    for at in range(members.size):
        u = members[at]
        if frequencies[u] >= k or intact[u] == 0:
            continue
        if rarest < 0 or frequencies[u] < frequencies[members[rarest]]:
            rarest = at
        elif frequencies[u] == frequencies[members[rarest]] and intact[u] < intact[members[rarest]]:
            rarest = at
    return rarest


@njit(cache=True, nogil=True)
def _largest_other(members, hideable, unit, intact):
    """The other member that can be hidden with most records left, −1 where there is none."""
    largest = np.int64(-1)
    for at in range(members.size):
        u = members[at]
        if (
            u != unit
            and hideable[at]
            and intact[u] > 0
            and (largest < 0 or intact[u] > intact[largest])
        ):
            largest = u
    return largest


@njit(cache=True, nogil=True)
def restore_cells(all_units, hiding, watched, units, k, unit_counts, relied_on):
    """Show again what nobody needs hidden, record by record; all hide the same columns (``hiding``
    as in :func:`list_groups`).

    ``watched`` are the units that would be too rare by themselves. A record keeps hidden what those
    need that have exactly k records, and all of it when it would be too rare itself. ``relied_on``
    marks units whose frequency must not fall below k. Returns what each record hides afterwards.
    """
    keys = all_units.keys
    missing = all_units.missing
    shown_bits, hidden = hiding
    frequencies, intact = unit_counts
    complete = watched[missing[watched] == 0]
    incomplete = watched[missing[watched] != 0]
    ids, group_bits, table = group_by_shown_bits(keys, complete, shown_bits)
    at = find_groups(keys, units, shown_bits, group_bits, table)
    starts, members, _ = _list_members(
        complete, ids, np.ones(len(group_bits), np.bool_), np.zeros(len(group_bits), np.int64)
    )
    near = np.empty(watched.size, np.int64)
    needed = np.full(units.size, hidden, np.int64)
    for i in range(units.size):
        x = units[i]
        if frequencies[x] < k:
            continue
        # Missing cells agree with units of other groups too.
        if missing[x]:
            count = _gather(all_units, complete, x, hidden, near, 0)
        else:
            g = at[i]
            inside = members[starts[g] : starts[g + 1]] if g >= 0 else members[:0]
            count = _gather(all_units, inside, x, hidden, near, 0)
        count = _gather(all_units, incomplete, x, hidden, near, count)
        # Units at exactly k that agree only because of a hidden column need that column hidden.
        needed[i] = 0
        # Those that no longer agree with the record lose one.
        for u in near[:count]:
            if relied_on[u] and frequencies[u] <= k:
                needed[i] |= _differing_columns(all_units, u, x)
        if needed[i] == hidden:
            continue
        for u in near[:count]:
            if _differing_columns(all_units, u, x) & ~needed[i]:
                frequencies[u] -= 1
        relied_on[x] = True
        if needed[i] == 0:
            intact[x] += 1
    return needed


@njit(cache=True, nogil=True)
def _gather(all_units, candidates, x, hidden, near, count):
    """Append to ``near`` the units that agree with a record only because it hides some columns;
    returns how many there are.
    """
    for u in candidates:
        apart = _differing_columns(all_units, u, x)
        if apart and not apart & ~hidden:
            near[count] = u
            count += 1
    return count
