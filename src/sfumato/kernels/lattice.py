"""Loops of the lattice searches: roll up classes and add up what the objectives need.

Arrays. Classes are packed keys, uint64 of shape (classes, words), with ``records[i]`` rows each;
column *a* owns ``widths[a]`` bits at ``shifts[a]`` of word ``words[a]``. ``climbs[offsets[a] +
code]`` is the code one or more levels above. A second layout, the *tower*, holds classes as groups
that differ in the last column only; see the comment before ``TowerArrays``. Records are counted in
integers; costs are float64 and added in the order of the classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.keys import StandIn, _equal_keys, _hash
from sfumato.kernels.loop_cache import njit

_EMPTY = np.int32(-1)
_HASH = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio (Knuth's multiplicative hashing): the upper bits of a product
with it depend on all bits of a key.
"""
Rolled = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]


def roll_up(keys: NDArray[np.uint64], records: NDArray[np.int64], *columns: NDArray[Any]) -> Rolled:
    """Merge the classes that become equal when some columns climb.

    ``columns`` are ``words, shifts, widths, climbs, offsets``: column *a* of those given goes from
    ``code`` to ``climbs[offsets[a] + code]``. Returns the new keys and records and, per old class,
    its new class; new classes come in order of first appearance. Keys of one word, which are the
    rule, take a path three times as fast.
    """
    if keys.shape[1] == 1:
        one_word = _roll_up_by_numpy if _rolling.serves(len(keys)) else _roll_up_word
        rolled, new_records, ids = one_word(keys.reshape(-1), records, *columns[1:])
        return rolled.reshape(-1, 1), new_records, ids
    return _roll_up_words(keys, records, *columns)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def climb_keys(keys, words, shifts, widths, climbs, offsets):
    """The keys after some columns climbed, described as for :func:`roll_up`; equal ones are not
    merged.

    One read and write a class, and a look-up a column: what comes after looks up in the few codes
    of the higher levels.
    """
    climbed = keys.copy()
    # Exclusive or with both codes replaces one by the other and leaves other bits alone.
    for i in range(keys.shape[0]):
        for a in range(words.size):
            shift = np.uint64(shifts[a])
            code = (keys[i, words[a]] >> shift) & (
                (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            )
            climbed[i, words[a]] ^= (code ^ np.uint64(climbs[offsets[a] + np.int64(code)])) << shift
    return climbed


_rolling, _tallying = StandIn(), StandIn()


def _roll_up_by_numpy(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    shifts: NDArray[np.int64],
    widths: NDArray[np.int64],
    climbs: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> Rolled:
    """What :func:`_roll_up_word` gives, by numpy."""
    rolled = keys.copy()
    for shift, width, offset in zip(
        shifts.astype(np.uint64), widths.astype(np.uint64), offsets, strict=True
    ):
        code = (keys >> shift) & ((np.uint64(1) << width) - np.uint64(1))
        rolled ^= (code ^ climbs[offset + code.astype(np.int64)].astype(np.uint64)) << shift
    distinct, first, inverse = np.unique(rolled, return_index=True, return_inverse=True)
    # numpy numbers by value; renumber by first appearance.
    order = np.argsort(first)
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    ids = number[inverse]
    new_records = np.zeros(order.size, np.int64)
    np.add.at(new_records, ids, records)
    return distinct[order], new_records, ids


@njit(cache=True, nogil=True)
def _roll_up_word(keys, records, shifts, widths, climbs, offsets):
    """:func:`roll_up` for keys of one word."""
    n = keys.size
    bits = 4
    # Larger tables only where there are so many classes: small ones stay in the processor's cache.
    while (1 << bits) < 2 * n and bits < 12:
        bits += 1
    new_keys = np.empty(n, np.uint64)  # room for all; what is never written takes no memory
    new_records = np.empty(n, np.int64)
    ids = np.empty(n, np.int64)
    count = np.int32(0)
    table = _spread_keys(new_keys, count, bits)
    # Linear probing as in kernels.keys; records are added as the class is found. One pass, and a
    # look-up a column that climbs.
    for i in range(n):
        key = keys[i]
        for a in range(shifts.size):
            shift = np.uint64(shifts[a])
            code = (key >> shift) & ((np.uint64(1) << np.uint64(widths[a])) - np.uint64(1))
            key ^= (code ^ np.uint64(climbs[offsets[a] + np.int64(code)])) << shift
        slot_mask = np.uint64(table.size - 1)
        h = (key * _HASH) >> np.uint64(64 - bits)
        g = table[h]
        while g >= 0 and new_keys[g] != key:
            h = (h + np.uint64(1)) & slot_mask
            g = table[h]
        if g < 0:
            g = count
            table[h] = g
            new_keys[g] = key
            new_records[g] = 0
            count += np.int32(1)
            # Four times as large when half full.
            if 2 * count > table.size:
                bits += 2
                table = _spread_keys(new_keys, count, bits)
        ids[i] = g
        new_records[g] += records[i]
    return new_keys[:count].copy(), new_records[:count].copy(), ids


@njit(cache=True, nogil=True)
def _spread_keys(keys, count, bits):
    """A hash table of so many bits with the first keys."""
    table = np.full(1 << bits, _EMPTY, np.int32)
    mask = np.uint64(table.size - 1)
    # Keys are distinct: nothing is compared.
    for g in range(count):
        h = (keys[g] * _HASH) >> np.uint64(64 - bits)
        while table[h] >= 0:
            h = (h + np.uint64(1)) & mask
        table[h] = g
    return table


@njit(cache=True, nogil=True)
def _roll_up_words(keys, records, words, shifts, widths, climbs, offsets):
    """:func:`roll_up` for keys of several words."""
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
    # The key is written behind the last class first: if it is new it stays there, else it is
    # written over by the next.
    for i in range(n):
        for w in range(keys.shape[1]):
            new_keys[count, w] = keys[i, w]
        for a in range(words.size):
            shift = np.uint64(shifts[a])
            code = (keys[i, words[a]] >> shift) & (
                (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            )
            new_keys[count, words[a]] ^= (
                code ^ np.uint64(climbs[offsets[a] + np.int64(code)])
            ) << shift
        h = _hash(new_keys, count) & slot_mask
        while table[h] != _EMPTY and not _equal_keys(new_keys, table[h], new_keys, count):
            h = (h + np.uint64(1)) & slot_mask
        if table[h] == _EMPTY:
            table[h] = count
            count += 1
        g = table[h]
        ids[i] = g
        new_records[g] += records[i]
    return new_keys[:count].copy(), new_records[:count].copy(), ids


class CostedColumns(NamedTuple):
    """Where columns lie in a key, and what their cells cost."""

    words: NDArray[np.int64]
    shifts: NDArray[np.int64]
    widths: NDArray[np.int64]
    costs: NDArray[np.float64]
    """What a cell costs by code, one column and level behind the other."""
    offsets: NDArray[np.int64]
    """Per column, where the codes of its present level begin in ``costs``."""


def tally(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    gone: NDArray[np.int64],
    columns: CostedColumns,
    lost: NDArray[np.float64],
) -> tuple[int, int, float]:
    """What a node keeps and loses when ``gone`` records of each class are suppressed. One pass over
    the classes.

    ``lost[a]`` receives, over the suppressed records, the sum of column *a*'s cell cost. Returns
    kept classes, kept records, and the sum of squared kept class sizes.
    """
    add_up = _tally_by_numpy if _tallying.serves(len(keys)) else _tally
    return add_up(keys, records, gone, columns, lost)


def _tally_by_numpy(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    gone: NDArray[np.int64],
    columns: CostedColumns,
    lost: NDArray[np.float64],
) -> tuple[int, int, float]:
    """What :func:`_tally` gives, by numpy: sums are taken one by one, in the order of the classes,
    not in pairs.
    """
    words, shifts, widths, costs, offsets = columns
    kept_sizes = (records - gone)[records > gone]
    hit = np.flatnonzero(gone)
    for a in range(len(words)):
        mask = (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
        codes = (keys[hit, words[a]] >> np.uint64(shifts[a])) & mask
        costs_lost = gone[hit] * costs[offsets[a] + codes.astype(np.int64)]
        lost[a] = np.cumsum(np.concatenate((lost[a : a + 1], costs_lost)))[-1]
    squares = np.cumsum(kept_sizes.astype(np.float64) ** 2)
    return kept_sizes.size, int(kept_sizes.sum()), float(squares[-1]) if kept_sizes.size else 0.0


@njit(cache=True, nogil=True)
def _tally(keys, records, gone, columns, lost):
    """:func:`tally` in one pass."""
    words, shifts, widths, costs, offsets = columns
    kept_classes = 0
    kept_records = 0
    squares = 0.0
    # One pass; columns are looked at only for classes that lose records.
    for i in range(records.size):
        kept_size = records[i] - gone[i]
        if kept_size > 0:
            kept_classes += 1
            kept_records += kept_size
            squares += np.float64(kept_size) * np.float64(kept_size)
        if gone[i] == 0:
            continue
        for a in range(words.size):
            mask = (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            code = (keys[i, words[a]] >> np.uint64(shifts[a])) & mask
            lost[a] += gone[i] * costs[offsets[a] + np.int64(code)]
    return kept_classes, kept_records, squares


# A tower: coarser and coarser tables stacked upon each other, and what their nodes keep under
# k-anonymity.
#
# A table is held as *groups*: the classes that agree in all columns but one, the last. A group has
# one key and a run of entries, one for each code of the last column it holds. So rolling up any
# other column merges whole groups and hashes far fewer keys than there are classes (Adult with nine
# columns: 19,502 classes, 3,900 groups), and all levels of the last column are tallied in one pass.
# That a coarser table may be counted from a finer one instead of from the records is the roll-up
# property of Incognito (LeFevre, DeWitt, Ramakrishnan 2005).
#
# A coarser table is written behind the one it is rolled up from. Indices are unsigned where it
# is hot: they need no test for a negative one.

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NOTHING, _LARGEST = np.int64(0), np.int64(2**62)


class TowerArrays(NamedTuple):
    """The tables of a tower, one behind the other in the same arrays."""

    groups: NDArray[np.uint64]
    """(groups, 3): the key, and where its entries begin and end."""
    entries: NDArray[Any]
    """(entries, 2): the code of the last column at its lowest level, and the number of records."""
    costs: NDArray[np.float64]
    """(groups, features): what one record of the group costs in all columns but the last."""
    bounds: NDArray[np.int64]
    """(tables, 4): first group, end of groups, first entry, end of entries."""


class ColumnLevels(NamedTuple):
    """The levels of columns, one behind the other from the lowest to the highest: their codes are
    numbered through.
    """

    ups: NDArray[np.uint32]
    """Per code, the code one level above it within its level; 0 at the highest."""
    prices: NDArray[np.float64]
    """Per code, what a cell with it costs."""
    starts: NDArray[np.uint64]
    """Where the codes of each level begin, and where those of the last one end."""


class LastColumns(NamedTuple):
    """The levels of the last column, which are tallied in one pass; or of the last two, as if they
    were one: its codes are pairs, ``second * size + last``.

    A chain has the levels of the last column at one level of the second; there is one chain where
    one column is the last. Codes of all levels and chains are numbered through.
    """

    ups: NDArray[np.uint32]
    """Per code, the code above it in its chain; on the highest level that behind the chain."""
    folds: NDArray[np.uint32]
    """Per code on the lowest level of a chain, the code in the next chain."""
    prices: NDArray[np.float64]
    """Per code, what a cell of the last column costs."""
    second_prices: NDArray[np.float64]
    """Per code, what a cell of the second column costs."""
    starts: NDArray[np.uint64]
    """(chains, levels + 1): where the codes of each level begin, and those behind the chain."""
    feature: int
    """The feature that cells of the second column count to; -1 where ``prices`` includes them."""


class Room(NamedTuple):
    """Room for :func:`climb` to work in. It makes no array: what numba imports for that takes
    longer than a search.
    """

    slots: NDArray[np.int32]
    """A hash table of 2^b slots, at least twice the groups of a table."""
    links: NDArray[np.int32]
    """(3, groups): the next group of the same chain, the first of a chain, its latest."""
    codes: NDArray[np.uint32]
    """The codes that a group has, those of each level from where its codes begin."""
    sums: NDArray[Any]
    """The records of each code in the group at hand, as long as ``seen``; 0 between groups."""
    jumps: NDArray[np.uint32]
    """The code above each lowest code of the last column on the lowest level still tallied."""
    changes: NDArray[np.uint64]
    """Per code of a column that climbs, what changes in the bits of a key."""
    rises: NDArray[np.float64]
    """The same of what a record costs."""
    begins: NDArray[np.uint64]
    """Per column that climbs, where it begins in ``changes`` and ``rises``."""


class ClimbJob(NamedTuple):
    """What :func:`climb` is to do."""

    source: int
    """The table to roll up, as a row of ``bounds``."""
    target: int
    """The table to write; the same as the source where nothing climbs."""
    k: int
    """Classes of fewer records are suppressed."""
    levels: int
    """How many levels of the last column are tallied; 0: the table is only written."""
    budget: int
    """So many suppressed records end the tally of a level."""
    writes: bool
    """Whether the entries of the target are written: not where nothing is rolled up from it."""
    climbs: NDArray[np.int64]
    """(columns that climb, 5): shift and width of its bits, the feature that its cells cost, the
    place of its level before among the ``ColumnLevels``, and how many levels it climbs.
    """


@njit(cache=True, nogil=True)
def climb(tower, job, steps, last, room, whole, lost):
    """Roll up columns of a table in a tower, and tally the new table on every level of the last
    column.

    ``steps`` are the ``ColumnLevels`` of all columns, ``last`` the ``LastColumns``.

    ``whole`` receives, by chain and level, records in classes below *k*, kept classes, the smallest
    of them and the sum of their squared sizes; ``lost`` what the cells of suppressed records would
    have cost: first those of the last column, then by feature. Of a level that suppresses more than
    the budget all that counts is that it does.

    Costs one hash a group of the source, one addition an entry of it, and one visit of every class
    on every level of the last column.
    """
    source = tower.bounds[job.source]
    target = tower.bounds[job.target]
    if job.source == job.target:
        links = room.links
        for g in range(source[1] - source[0]):  # every group is a chain of itself
            links[0, g] = _EMPTY
            links[1, g] = g
    else:
        _roll_up(tower.groups, tower.costs, source, target, job.climbs, steps, room)
    _merge(tower, job, last, room, whole, lost)


@njit(cache=True, nogil=True)
def _find_changes(climbs, steps, room):
    """Write, for every column that climbs, the change of its bits and costs by code, all levels at
    once; and where it begins.

    A key is raised by one exclusive or a column, ``key ^= changes[begins[c] + code]``: a column at
    bit 8 that climbs from code 5 to code 1 has ``(5 ^ 1) << 8`` there. Costs one look-up a code and
    level.
    """
    ups, prices, starts = steps
    begin = _ZERO
    for c in range(climbs.shape[0]):
        shift = np.uint64(climbs[c, 0])
        room.begins[c] = begin
        before = climbs[c, 3]
        after = climbs[c, 3] + climbs[c, 4]
        for code in range(starts[before + 1] - starts[before]):
            above = np.uint64(code)
            for level in range(before, after):
                above = np.uint64(ups[starts[level] + above])
            room.changes[begin] = (np.uint64(code) ^ above) << shift
            room.rises[begin] = prices[starts[after] + above] - prices[starts[before] + code]
            begin += _ONE


@njit(cache=True, nogil=True)
def _roll_up(groups, costs, source, target, climbs, steps, room):
    """Write the groups within ``source`` behind it, with columns higher; chain the old ones to the
    new.

    Open addressing, as in :func:`_roll_up_word`. Old groups with one key may not lie side by side,
    so each new group keeps a linked list of them, in their order: :func:`_merge` adds them up.
    """
    slots = room.slots
    changes = room.changes
    rises = room.rises
    begins = room.begins
    following = room.links[0]
    first = room.links[1]
    latest = room.links[2]
    bits = 4
    while (1 << bits) < 2 * (source[1] - source[0]):
        bits += 1
    for h in range(1 << bits):
        slots[h] = _EMPTY
    high_bits = np.uint64(64 - bits)
    slot_mask = np.uint64((1 << bits) - 1)
    begin = source[1]
    count = np.int32(0)
    _find_changes(climbs, steps, room)
    # A merged key is looked up in the hash table of the new groups.
    for g in range(source[0], source[1]):
        key = before = groups[g, 0]
        for c in range(climbs.shape[0]):
            mask = (_ONE << np.uint64(climbs[c, 1])) - _ONE
            key ^= changes[begins[c] + ((before >> np.uint64(climbs[c, 0])) & mask)]
        h = (key * _HASH) >> high_bits
        new = slots[h]
        while new >= 0 and groups[begin + new, 0] != key:
            h = (h + _ONE) & slot_mask
            new = slots[h]
        old = np.int32(g - source[0])
        following[old] = _EMPTY
        if new < 0:
            slots[h] = count
            groups[begin + count, 0] = key
            for f in range(costs.shape[1]):
                costs[begin + count, f] = costs[g, f]
            for c in range(climbs.shape[0]):
                # Groups that merge agree in all codes, so the first one says what all will cost.
                mask = (_ONE << np.uint64(climbs[c, 1])) - _ONE
                code = (before >> np.uint64(climbs[c, 0])) & mask
                costs[begin + count, climbs[c, 2]] += rises[begins[c] + code]
            first[count] = latest[count] = old
            count += np.int32(1)
        else:
            following[latest[new]] = old
            latest[new] = old
    target[0], target[1], target[2] = begin, begin + count, source[3]


@njit(cache=True, nogil=True)
def _lift_codes(codes, sums, jumps, distinct, begin):
    """Add the sums of the lowest codes up on a higher level, which begins at ``begin``; returns how
    many codes it has.
    """
    n = _ZERO
    for i in range(distinct):
        code = np.uint64(codes[i])
        size = sums[code]
        sums[code] = 0
        above = np.uint64(jumps[code])
        codes[begin + n] = above
        n += _ONE if sums[above] == 0 else _ZERO
        sums[above] += size
    return n


@njit(cache=True, nogil=True)
def _clear_tallies(whole, lost, levels):
    """Nothing is suppressed, kept or lost on any level yet."""
    for level in range(levels):
        whole[level, 0] = 0
        whole[level, 1] = 0
        whole[level, 2] = _LARGEST
        whole[level, 3] = 0
        for f in range(lost.shape[1]):
            lost[level, f] = 0.0


@njit(cache=True, nogil=True)
def _fold_chain(codes, sums, folds, starts, chain, n):
    """Add up the n codes of a group for the next chain, in which the second column is one level
    higher; returns how many codes that are. One visit a code.
    """
    begin = starts[chain + _ONE, 0]
    next_n = _ZERO
    for i in range(starts[chain, 0], starts[chain, 0] + n):
        code = np.uint64(codes[i])
        above = np.uint64(folds[code])
        codes[begin + next_n] = above
        next_n += _ONE if sums[above] == 0 else _ZERO
        sums[above] += sums[code]
    return next_n


@njit(cache=True, nogil=True)
def _tally_class(code, size, rows, k, last, whole, lost):
    """Tally one class on all rows of a chain from its own on, the columns of the key aside."""
    row, end = rows
    if size >= k:
        while row < end:
            whole[row, 1] += 1
            whole[row, 2] = min(whole[row, 2], size)
            whole[row, 3] += size * size
            row += _ONE
        return
    while row < end:
        whole[row, 0] += size
        lost[row, 0] += np.float64(size) * last.prices[code]
        if last.feature >= 0:
            lost[row, 1 + last.feature] += size * last.second_prices[code]
        code = np.uint64(last.ups[code])
        row += _ONE


@njit(cache=True, nogil=True)
def _second_cost(codes, sums, begin, n, k, last):
    """What the cells of the second column cost in the classes below k among n codes."""
    cost = 0.0
    for i in range(begin, begin + n):
        code = np.uint64(codes[i])
        size = np.int64(sums[code])
        cost += np.float64(size if size < k else 0) * last.second_prices[code]
    return cost


@njit(cache=True, nogil=True)
def _merge(tower, job, last, room, whole, lost):
    """Write the entries of the new groups, each merged from a chain of old ones, and tally them on
    every level.

    Levels below ``lowest`` exceed the budget, and their tallies end there. Classes only merge on
    the way up (Samarati's generalization property, 2001), so every group suppresses most on the
    lowest level and the levels beyond the budget are the lowest ones. ``jumps`` leads from a code
    to the one above it on level ``lowest``.

    A code is written at ``codes[n]`` whenever it comes and kept (n rises) only if its sum was 0, a
    size is added to both sides or to none: what cannot be guessed by the processor is not a branch.
    One addition per old entry; then some 25 instructions for every class on every level.
    """
    groups, entries, costs, bounds = tower
    source, target = bounds[job.source], bounds[job.target]
    following, first = room.links[0], room.links[1]
    codes, sums, jumps = room.codes, room.sums, room.jumps
    ups, folds, prices, _, starts, feature = last
    k, budget, writes = job.k, job.budget, job.writes
    levels, span = np.uint64(job.levels), np.uint64(starts.shape[1] - 1)
    lowest = _ZERO
    _clear_tallies(whole, lost, levels)
    end = np.uint64(target[2])
    for new in range(target[0], target[1]):
        n = _ZERO
        begin = end
        old = first[new - target[0]]
        # Add up the entries of all old groups of the chain, by code.
        while old >= 0:
            for e in range(groups[source[0] + old, 1], groups[source[0] + old, 2]):
                code = np.uint64(entries[e, 0])
                codes[n] = code
                n += _ONE if sums[code] == 0 else _ZERO
                sums[code] += entries[e, 1]
            old = following[old]
        # Prune: levels that exceed the budget end here. Jumps then lead one level higher.
        while lowest < span and levels > _ZERO and whole[lowest, 0] > budget:
            for start in range(starts[0, 1]):
                jumps[start] = ups[np.uint64(jumps[start]) if lowest > _ZERO else start]
            lowest += _ONE
        if lowest > _ZERO or levels == _ZERO:
            # The lowest level is not tallied, so the entries are written here.
            for i in range(n):
                code = np.uint64(codes[i])
                if writes:
                    entries[end, 0], entries[end, 1], end = code, sums[code], end + _ONE
                sums[code] = 0 if levels == _ZERO else sums[code]
            if levels > _ZERO:
                n = _lift_codes(codes, sums, jumps, n, starts[0, lowest])
        level, first_level, chain = lowest, _ZERO, _ZERO
        while first_level < levels:
            # The second column climbs one level: its sums wait where the next chain begins.
            next_n = _ZERO
            if first_level + span < levels:
                next_n = _fold_chain(codes, sums, folds, starts, chain, n)
            while level < span:
                begin_seen = starts[chain, level]
                row = first_level + level
                writes_now = writes and row == _ZERO
                if n == _ONE:
                    # One class, which stays as it is on all levels above: nearly half of all groups
                    # have one entry, and on the highest level most groups are one class.
                    code = np.uint64(codes[begin_seen])
                    size = np.int64(sums[code])
                    sums[code] = 0
                    if writes_now:
                        entries[end, 0], entries[end, 1], end = code, size, end + _ONE
                    _tally_class(code, size, (row, first_level + span), job.k, last, whole, lost)
                    for f in range(costs.shape[1] if size < k else 0):
                        lost[row : first_level + span, 1 + f] += size * costs[new, f]
                    break
                if feature >= 0:
                    lost[row, 1 + feature] += _second_cost(codes, sums, begin_seen, n, k, last)
                gone, kept_classes, squares, cost = _NOTHING, _NOTHING, _NOTHING, 0.0
                # How much larger than k the smallest kept class is; a class below k wraps to a
                # number beyond all others.
                margin = np.uint64(whole[row, 2] - k)
                end_seen = starts[chain, level + _ONE]
                for i in range(begin_seen, begin_seen + n):
                    code = np.uint64(codes[i])
                    size = np.int64(sums[code])
                    sums[code] = 0
                    if writes_now:
                        entries[end, 0], entries[end, 1], end = code, size, end + _ONE
                    small = size if size < k else _NOTHING
                    large = size - small
                    gone += small
                    kept_classes += _NOTHING if size < k else 1
                    margin = min(margin, np.uint64(size - k))
                    squares += large * large
                    cost += np.float64(small) * prices[code]
                    above = np.uint64(ups[code])
                    codes[end_seen] = above
                    end_seen += _ONE if sums[above] == 0 else _ZERO
                    sums[above] += size
                level += _ONE
                n = end_seen - starts[chain, level]
                whole[row, 0] += gone
                whole[row, 1] += kept_classes
                whole[row, 2] = np.int64(margin) + k
                whole[row, 3] += squares
                lost[row, 0] += cost
                for f in range(costs.shape[1]):
                    lost[row, 1 + f] += gone * costs[new, f]
            sums[starts[chain, span]] = 0  # behind the chain all went into one
            n, level = next_n, _ZERO
            first_level += span
            chain += _ONE
        if writes:
            groups[new, 1], groups[new, 2] = begin, end
    if writes:
        target[3] = end


@njit(cache=True, nogil=True)
def lay_groups(keys, codes, records, priced_columns, steps, scratch, tower):
    """Lay out classes as the groups of a tower's lowest table; returns how many groups there are.

    ``keys`` are those of the classes without the bits of the last column, ``codes`` the codes of
    that column. ``priced_columns`` has a row a column that costs something: the shift and width of
    its bits, which cost its cells count to, and the place of its level in ``steps``. ``groups`` and
    ``costs`` receive a row a group, in order of first appearance; ``entries`` a row a class, those
    of a group one behind the other and in the order of the classes.

    ``scratch`` is room to work in: a power of two of hash slots (all -1), at least twice the
    classes, and three rows of one more than the classes. One hash a class; entries are sorted by
    counting.
    """
    slots, (ids, firsts, ends) = scratch
    groups, entries, costs, bounds = tower
    slot_mask = np.uint64(slots.size - 1)
    high_bits = np.uint64(64)
    # 64 − b for 2^b slots: the hash keeps the upper b bits.
    for bit in range(63):
        if (1 << bit) < slots.size:
            high_bits -= _ONE
    count = 0
    ends[0] = 0
    # A hash a class numbers the groups in order of first appearance.
    for i in range(keys.size):
        h = (keys[i] * _HASH) >> high_bits
        group = slots[h]
        while group >= 0 and keys[firsts[group]] != keys[i]:
            h = (h + _ONE) & slot_mask
            group = slots[h]
        if group < 0:
            group = count
            slots[h] = count
            firsts[count] = i
            ends[count + 1] = 0
            count += 1
        ids[i] = group
        ends[group + 1] += 1
    _, prices, starts = steps
    # Prefix sums: where the entries of each group begin. All records of a group cost alike in the
    # columns of its key.
    for group in range(count):
        ends[group + 1] += ends[group]
        key = keys[firsts[group]]
        groups[group, 0] = key
        groups[group, 1] = ends[group]
        groups[group, 2] = ends[group + 1]
        for f in range(costs.shape[1]):
            costs[group, f] = 0.0
        for c in range(priced_columns.shape[0]):
            code = (key >> np.uint64(priced_columns[c, 0])) & (
                (_ONE << np.uint64(priced_columns[c, 1])) - _ONE
            )
            costs[group, priced_columns[c, 2]] += prices[starts[priced_columns[c, 3]] + code]
    # The second pass of the counting sort; ``ends`` now counts up from where each group begins.
    for i in range(keys.size):
        at = ends[ids[i]]
        entries[at, 0] = codes[i]
        entries[at, 1] = records[i]
        ends[ids[i]] += 1
    bounds[0, 0] = 0
    bounds[0, 1] = count
    bounds[0, 2] = 0
    bounds[0, 3] = keys.size
    return count
