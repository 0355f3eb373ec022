"""Loops of the lattice searches: roll up classes and add up what the objectives need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.keys import StandIn, _hash, _same
from sfumato.kernels.loop_cache import njit

_EMPTY = np.int32(-1)
Rolled = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]


def roll_up(keys: NDArray[np.uint64], records: NDArray[np.int64], *columns: NDArray[Any]) -> Rolled:
    """Merge the classes that become equal when some columns climb.

    ``columns`` are ``words, shifts, widths, climbs, offsets``: column *a* of those given goes from
    ``code`` to ``climbs[offsets[a] + code]``. Returns the new keys and records and, per old class,
    its new class; new classes come in order of first appearance. Keys of one word, which are the
    rule, take a path three times as fast.
    """
    if keys.shape[1] == 1:
        one_word = _rolled_up if _rolling.serves(len(keys)) else _roll_up_word
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
    for i in range(keys.shape[0]):
        for a in range(words.size):
            shift = np.uint64(shifts[a])
            code = (keys[i, words[a]] >> shift) & (
                (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            )
            climbed[i, words[a]] ^= (code ^ np.uint64(climbs[offsets[a] + np.int64(code)])) << shift
    return climbed


_rolling, _tallying = StandIn(), StandIn()


def _rolled_up(
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
    distinct, first, place = np.unique(rolled, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    ids, new_records = number[place], np.zeros(order.size, np.int64)
    np.add.at(new_records, ids, records)
    return distinct[order], new_records, ids


@njit(cache=True, nogil=True)
def _roll_up_word(keys, records, shifts, widths, climbs, offsets):
    n = keys.size
    bits = 4
    while (
        (1 << bits) < 2 * n and bits < 12
    ):  # larger tables only where there are so many classes: small ones stay in the cache
        bits += 1
    new_keys = np.empty(n, np.uint64)  # room for all; what is never written takes no memory
    new_records = np.empty(n, np.int64)
    ids = np.empty(n, np.int64)
    count = np.int32(0)
    table = _spread_keys(new_keys, count, bits)
    for i in range(n):
        key = keys[i]
        for a in range(shifts.size):
            shift = np.uint64(shifts[a])
            code = (key >> shift) & ((np.uint64(1) << np.uint64(widths[a])) - np.uint64(1))
            key ^= (code ^ np.uint64(climbs[offsets[a] + np.int64(code)])) << shift
        slot_mask = np.uint64(table.size - 1)
        h = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)
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
    for g in range(count):
        h = (keys[g] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)
        while table[h] >= 0:
            h = (h + np.uint64(1)) & mask
        table[h] = g
    return table


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
            code = (keys[i, words[a]] >> shift) & (
                (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
            )
            new_keys[count, words[a]] ^= (
                code ^ np.uint64(climbs[offsets[a] + np.int64(code)])
            ) << shift
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


def tally(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    gone: NDArray[np.int64],
    words: NDArray[np.int64],
    shifts: NDArray[np.int64],
    widths: NDArray[np.int64],
    costs: NDArray[np.float64],
    offsets: NDArray[np.int64],
    lost: NDArray[np.float64],
) -> tuple[int, int, float]:
    """What a node keeps and loses when ``gone`` records of each class are suppressed.

    ``lost[a]`` receives, over the suppressed records, the sum of column *a*'s cell cost. Returns
    kept classes, kept records, and the sum of squared kept class sizes.
    """
    taken = _tallied if _tallying.serves(len(keys)) else _tally
    return taken(keys, records, gone, words, shifts, widths, costs, offsets, lost)


def _tallied(
    keys: NDArray[np.uint64],
    records: NDArray[np.int64],
    gone: NDArray[np.int64],
    words: NDArray[np.int64],
    shifts: NDArray[np.int64],
    widths: NDArray[np.int64],
    costs: NDArray[np.float64],
    offsets: NDArray[np.int64],
    lost: NDArray[np.float64],
) -> tuple[int, int, float]:
    """What :func:`_tally` gives, by numpy: sums are taken one by one, in the order of the classes,
    not in pairs.
    """
    kept = (records - gone)[records > gone]
    hit = np.flatnonzero(gone)
    for a in range(len(words)):
        mask = (np.uint64(1) << np.uint64(widths[a])) - np.uint64(1)
        codes = (keys[hit, words[a]] >> np.uint64(shifts[a])) & mask
        more = gone[hit] * costs[offsets[a] + codes.astype(np.int64)]
        lost[a] = np.cumsum(np.concatenate((lost[a : a + 1], more)))[-1]
    squares = np.cumsum(kept.astype(np.float64) ** 2)
    return kept.size, int(kept.sum()), float(squares[-1]) if kept.size else 0.0


@njit(cache=True, nogil=True)
def _tally(keys, records, gone, words, shifts, widths, costs, offsets, lost):
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


# The loop of towers: coarser and coarser tables stacked upon each other, and what their nodes keep
# under k-anonymity.
#
# A table is kept as *groups*: the classes that agree in all columns but one, the last. A group has
# one key and a run of entries, one for each code of the last column it holds. So rolling up any
# other column merges whole groups and hashes far fewer keys than there are classes, and all levels
# of the last column are tallied in one pass.
#
# A coarser table is written behind the one it is rolled up from. Indices are unsigned where it
# is hot: they need no test for a negative one.

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NOTHING, _LARGEST = np.int64(0), np.int64(2**62)


@njit(cache=True, nogil=True)
def climb(groups, entries, costs, bounds, table, rise, last, scratch, whole, lost):
    """Roll up columns of a table in a tower, and tally the new table on every level of the last
    column.

    ``groups`` has a row a group with its key and where its entries begin and end, ``entries`` a row
    an entry with the code of the last column and the records, ``costs`` a row a group with what the
    cells of its columns cost. ``bounds`` has a row a table: its first group, the end of its groups,
    its first entry, the end of its entries.

    ``table`` is ``source, target, k, levels, budget``: the table to roll up and the one to write
    (the same: nothing is rolled up), the size below which a class is suppressed, how many levels of
    the last column are tallied (0: the table is only written), and how many suppressed records end
    the tally of a level. ``rise`` is ``climbs, steps``. ``climbs`` has a row a column that climbs:
    the shift and width of its bits, which cost its cells count to, the place of its level before,
    and how many levels it climbs. ``steps`` is ``ups, prices, starts``: the levels of all columns
    one behind the
    other: the code one level above every code, what a cell costs, and where each level begins.
    ``last`` is the same of the last column alone (0 above the top), with one more beginning at the
    end. ``scratch`` is room to work in: a power of two of hash slots, at least twice the groups;
    three rows of the groups' length; ``seen`` and ``sums`` (all 0) of two more than the codes of
    all levels of the last column; ``jumps`` of as many as its lowest level has; ``changes`` of all
    codes of ``steps``, and ``begins`` of all columns. No array is made here: what numba imports for
    that takes longer than a search.

    ``whole`` receives, by level, records in classes below *k*, kept classes, the smallest of them
    and the sum of their squared sizes; ``lost`` what the cells of suppressed records would
    have cost: first those of the last column, then by feature. Of a level that suppresses more than
    the budget all that counts is that it does.
    """
    source, target = bounds[table[0]], bounds[table[1]]
    if table[0] == table[1]:
        links = scratch[1]
        for g in range(source[1] - source[0]):
            links[0, g], links[1, g] = _EMPTY, g
    else:
        _roll_up(groups, costs, source, target, rise[0], rise[1], scratch)
    _merge(groups, entries, costs, source, target, table, last, scratch, whole, lost)


@njit(cache=True, nogil=True)
def _find_changes(climbs, steps, changes, begins):
    """Write, for every column that climbs, the change of its bits by code, all levels at once; and
    where it begins.

    A key is raised by one exclusive or a column, ``key ^= changes[begins[c] + code]``: a column at
    bit 8 that climbs from code 5 to code 1 has ``(5 ^ 1) << 8`` there. Costs one look-up a code and
    level.
    """
    ups, _, starts = steps
    begin = _ZERO
    for c in range(climbs.shape[0]):
        shift, begins[c] = np.uint64(climbs[c, 0]), begin
        for code in range(starts[climbs[c, 3] + 1] - starts[climbs[c, 3]]):
            above = np.uint64(code)
            for level in range(climbs[c, 3], climbs[c, 3] + climbs[c, 4]):
                above = np.uint64(ups[starts[level] + above])
            changes[begin] = (np.uint64(code) ^ above) << shift
            begin += _ONE


@njit(cache=True, nogil=True)
def _rise_in_cost(costs, before, after, climbs, steps):
    """Add to the costs of a group what its key says that its cells cost more."""
    _, prices, starts = steps
    for c in range(climbs.shape[0]):
        shift, mask = np.uint64(climbs[c, 0]), (_ONE << np.uint64(climbs[c, 1])) - _ONE
        old, new = starts[climbs[c, 3]], starts[climbs[c, 3] + climbs[c, 4]]
        costs[climbs[c, 2]] += (
            prices[new + ((after >> shift) & mask)] - prices[old + ((before >> shift) & mask)]
        )


@njit(cache=True, nogil=True)
def _roll_up(groups, costs, source, target, climbs, steps, scratch):
    """Write the groups within ``source`` behind it, with columns higher; chain the old ones to the
    new.
    """
    slots, links = scratch[0], scratch[1]
    following, first, latest = links[0], links[1], links[2]
    bits = 4
    while (1 << bits) < 2 * (source[1] - source[0]):
        bits += 1
    for h in range(1 << bits):
        slots[h] = _EMPTY
    high_bits, slot_mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    begin, count = source[1], np.int32(0)
    changes, begins = scratch[5], scratch[6]
    _find_changes(climbs, steps, changes, begins)
    for g in range(source[0], source[1]):
        key = before = groups[g, 0]
        for c in range(climbs.shape[0]):
            mask = (_ONE << np.uint64(climbs[c, 1])) - _ONE
            key ^= changes[begins[c] + ((before >> np.uint64(climbs[c, 0])) & mask)]
        h = (key * np.uint64(0x9E3779B97F4A7C15)) >> high_bits
        new = slots[h]
        while new >= 0 and groups[begin + new, 0] != key:
            h = (h + _ONE) & slot_mask
            new = slots[h]
        here = np.int32(g - source[0])
        following[here] = _EMPTY
        if new < 0:
            slots[h] = count
            groups[begin + count, 0] = key
            for f in range(costs.shape[1]):
                costs[begin + count, f] = costs[g, f]
            _rise_in_cost(costs[begin + count], groups[g, 0], key, climbs, steps)
            first[count] = latest[count] = here
            count += np.int32(1)
        else:
            following[latest[new]] = here
            latest[new] = here
    target[0], target[1], target[2] = begin, begin + count, source[3]


@njit(cache=True, nogil=True)
def _lift_codes(seen, sums, jumps, distinct, here):
    """Add the sums of the lowest codes up on a higher level, which begins at ``here``; returns how
    many it has.
    """
    n = _ZERO
    for i in range(distinct):
        code = np.uint64(seen[i])
        size = sums[code]
        sums[code] = 0
        above = np.uint64(jumps[code])
        seen[here + n] = above
        n += _ONE if sums[here + above] == 0 else _ZERO
        sums[here + above] += size
    return n


@njit(cache=True, nogil=True)
def _clear_tallies(whole, lost, levels):
    """Nothing is suppressed, kept or lost on any level yet."""
    for each in range(levels):
        whole[each, 0], whole[each, 1], whole[each, 2], whole[each, 3] = 0, 0, _LARGEST, 0
        for f in range(lost.shape[1]):
            lost[each, f] = 0.0


@njit(cache=True, nogil=True)
def _merge(groups, entries, costs, source, target, table, last, scratch, whole, lost):
    """Write the entries of the new groups, each merged from a chain of old ones, and tally them on
    every level.

    A code is written down whenever it comes and kept only when it is new, a size is added to both
    sides or to none: what cannot be guessed by the processor is not a branch.
    """
    following, first, seen, sums, jumps = (
        scratch[1][0],
        scratch[1][1],
        scratch[2],
        scratch[3],
        scratch[4],
    )
    ups, prices, starts = last
    k, levels, budget = table[2], np.uint64(table[3]), table[4]
    # Levels below ``lowest`` exceed the budget: classes merge on the way up, so every group
    # suppresses most on the lowest level. ``jumps`` leads from a code to the one above it on that
    # level.
    lowest = _ZERO
    _clear_tallies(whole, lost, levels)
    end = np.uint64(target[2])
    for new in range(target[0], target[1]):
        n, begin, old = _ZERO, end, first[new - target[0]]
        while old >= 0:
            for e in range(groups[source[0] + old, 1], groups[source[0] + old, 2]):
                code = np.uint64(entries[e, 0])
                seen[n] = code
                n += _ONE if sums[code] == 0 else _ZERO
                sums[code] += entries[e, 1]
            old = following[old]
        for i in range(n):
            code = np.uint64(seen[i])
            entries[end, 0], entries[end, 1] = code, sums[code]
            end += _ONE
            if levels == 0:
                sums[code] = 0
        while lowest < levels and whole[lowest, 0] > budget:
            for start in range(starts[1]):
                jumps[start] = ups[
                    starts[lowest] + (np.uint64(jumps[start]) if lowest > _ZERO else start)
                ]
            lowest += _ONE
        if lowest > _ZERO and levels > _ZERO:
            n = _lift_codes(seen, sums, jumps, n, starts[lowest])
        level = lowest
        while level < levels:
            here, above = starts[level], starts[level + _ONE]
            gone, kept, least, squares, cost = _NOTHING, 0, whole[level, 2], _NOTHING, 0.0
            n, distinct = _ZERO, n
            for i in range(here, here + distinct):
                code = here + np.uint64(seen[i])
                size = np.int64(sums[code])
                sums[code] = 0
                few = size < k
                small = size if few else _NOTHING
                gone += small
                kept += 0 if few else 1
                least = min(least, _LARGEST if few else size)
                squares += _NOTHING if few else size * size
                cost += np.float64(small) * prices[code]
                next_code = np.uint64(ups[code])
                seen[above + n] = next_code
                n += _ONE if sums[above + next_code] == 0 else _ZERO
                sums[above + next_code] += size
            whole[level, 0] += gone
            whole[level, 1] += kept
            whole[level, 2] = least
            whole[level, 3] += squares
            lost[level, 0] += cost
            for f in range(costs.shape[1]):
                lost[level, 1 + f] += gone * costs[new, f]
            level += _ONE
        sums[starts[levels]] = 0  # above the top all went into one
        groups[new, 1], groups[new, 2] = begin, end
    target[3] = end


@njit(cache=True, nogil=True)
def lay_groups(keys, codes, records, known, steps, scratch, groups, entries, costs):
    """Lay out classes as the groups of a tower's lowest table; returns how many groups there are.

    ``keys`` are those of the classes without the bits of the last column, ``codes`` the codes of
    that column. ``known`` has a row a column that costs something: the shift and width of its bits,
    which cost its cells count to, and the place of its level in ``steps``. ``groups`` and ``costs``
    receive a row a group, in order of first appearance; ``entries`` a row a class, those of a group
    one behind the other and in the order of the classes.

    ``scratch`` is room to work in: a power of two of hash slots (all -1), at least twice the
    classes, and three rows of one more than the classes. One hash a class; entries are sorted by
    counting.
    """
    slots, (ids, firsts, ends) = scratch
    slot_mask, high_bits = np.uint64(slots.size - 1), np.uint64(64)
    for bit in range(63):
        if (1 << bit) < slots.size:
            high_bits -= _ONE
    count = 0
    ends[0] = 0
    for i in range(keys.size):
        h = (keys[i] * np.uint64(0x9E3779B97F4A7C15)) >> high_bits
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
    for group in range(count):
        ends[group + 1] += ends[group]
        key = keys[firsts[group]]
        groups[group, 0], groups[group, 1], groups[group, 2] = key, ends[group], ends[group + 1]
        for f in range(costs.shape[1]):
            costs[group, f] = 0.0
        for c in range(known.shape[0]):
            code = (key >> np.uint64(known[c, 0])) & ((_ONE << np.uint64(known[c, 1])) - _ONE)
            costs[group, known[c, 2]] += prices[starts[known[c, 3]] + code]
    for i in range(keys.size):
        at = ends[ids[i]]
        entries[at, 0], entries[at, 1] = codes[i], records[i]
        ends[ids[i]] += 1
    return count


@njit(cache=True, nogil=True)
def least_beside(keys, records, columns, steps, limits, room, levels):
    """The lowest levels of one column that leave few enough records in small classes, beside each
    level of others.

    ``columns`` has a row a column, the one in question last: the shift and width of its bits, the
    place of its lowest level in ``steps``, and how many levels it has. ``limits`` is ``k, budget``.
    ``levels[i, l]`` receives the lowest level of the last column at which the two columns alone,
    the other one on level *l*, leave at most ``budget`` records in classes below *k*; 0 where the
    two make more cells than ``room`` has. Whatever other columns do, classes of a node are no
    larger than those of two of its columns, so lower levels are in no node that keeps the budget.

    ``room`` has three rows of cells to work in. One count a class and column; then tables of two
    columns, which are small, are folded level by level.
    """
    k, budget = limits
    starts = steps[2]
    last = columns.shape[0] - 1
    shift, mask = np.uint64(columns[last, 0]), (_ONE << np.uint64(columns[last, 1])) - _ONE
    place, spans = columns[last, 2], columns[last, 3]
    size = starts[place + 1] - starts[place]
    for i in range(last):
        other = columns[i, 2]
        rows = starts[other + 1] - starts[other]
        if rows * size > room.shape[1]:
            for level in range(columns[i, 3]):
                levels[i, level] = 0
            continue
        other_shift = np.uint64(columns[i, 0])
        other_mask = (_ONE << np.uint64(columns[i, 1])) - _ONE
        counts = 0  # which row of the room has the counts on the present level of the other column
        for cell in range(rows * size):
            room[counts, cell] = 0
        for c in range(keys.size):
            cell = ((keys[c] >> other_shift) & other_mask) * size + ((keys[c] >> shift) & mask)
            room[counts, cell] += records[c]
        for level in range(columns[i, 3]):
            rows = starts[other + level + 1] - starts[other + level]
            least, source, width = 0, counts, size
            while least < spans - 1 and _in_small_classes(room[source], rows * width, k) > budget:
                # The counts of the lowest level are needed again; what is folded goes to and fro
                # between two rows.
                target = 2 if source != 2 else 1 - counts
                width = _fold_codes(room[source], room[target], rows, steps, place + least)
                source = target
                least += 1
            levels[i, level] = least
            if level + 1 < columns[i, 3]:
                _fold_rows(room[counts], room[1 - counts], size, steps, other + level)
                counts = 1 - counts


@njit(cache=True, nogil=True)
def _fold_codes(source, target, rows, steps, place):
    """Write a table with its columns one level higher, and say how many columns that are."""
    ups, _, starts = steps
    begin, end, width = starts[place], starts[place + 1], starts[place + 2] - starts[place + 1]
    for cell in range(rows * width):
        target[cell] = 0
    for row in range(rows):
        for code in range(end - begin):
            target[row * width + np.uint64(ups[begin + code])] += source[row * (end - begin) + code]
    return width


@njit(cache=True, nogil=True)
def _fold_rows(source, target, width, steps, place):
    """Write a table with its rows one level higher."""
    ups, _, starts = steps
    begin, end = starts[place], starts[place + 1]
    for cell in range((starts[place + 2] - end) * width):
        target[cell] = 0
    for row in range(end - begin):
        above = np.uint64(ups[begin + row]) * width
        for code in range(width):
            target[above + code] += source[row * width + code]


@njit(cache=True, nogil=True)
def _in_small_classes(counts, cells, k):
    """Records of the cells that hold fewer than *k*."""
    records = _NOTHING
    for cell in range(cells):
        records += counts[cell] if counts[cell] < k else _NOTHING
    return records


# The loop that finds which points nothing beats.


def unbeaten(points: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of ``points`` that no other row is at most equal to in every entry; of equal rows
    the first in ``order``.

    ``order`` sorts the rows by their first entry, then the second and so on, so that no row beats
    one before it.
    """
    found = np.empty(
        order.size, np.int64
    )  # not made by the loop: numba's own arrays take longer to load than it takes
    return found[: _unbeaten(points, order, found)].copy()


@njit(cache=True, nogil=True)
def _unbeaten(points, order, found):
    """Write the unbeaten rows and say how many there are; one that has just beaten another is
    asked first: neighbours are beaten by the same ones.
    """
    count = 0
    for i in order:
        beaten = False
        for at in range(count):
            other = found[at]
            beaten = True
            for f in range(points.shape[1]):
                if points[other, f] > points[i, f]:
                    beaten = False
                    break
            if beaten:
                for before in range(at, 0, -1):
                    found[before] = found[before - 1]
                found[0] = other
                break
        if not beaten:
            found[count] = i
            count += 1
    return count
