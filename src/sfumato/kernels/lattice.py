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


# Loops of the walk over a whole lattice: what every node of a table keeps under k-anonymity.
#
# The table is kept as *groups*: the classes that agree in all columns but the last one walked. A group has one key and
# a run of entries, one for each code of the last column it holds. So rolling up any other column merges whole groups
# and hashes far fewer keys than there are classes, and all levels of the last column are tallied in one pass.
#
# Tables lie on a stack. The walk goes on by rolling up one column of the deepest table that is still fine enough; what
# was rolled up from it before is dropped. Indices are unsigned where it is hot: they need no test for a negative one.

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NOTHING, _LARGEST = np.int64(0), np.int64(2**62)


@njit(cache=True, nogil=True)
def walk(table, columns, ladder, last, k, scratch, out):
    """Tally every node of a lattice.

    ``table`` is ``groups, entries, costs``, at the lowest levels: a row a group with its key and where its entries begin and
    end; a row an entry with the code of the last column and the records; a row a group with what the cells of its
    columns cost. ``columns`` is ``shifts, widths, tops, strides, features``, one entry a column but the last: its bits, how
    many levels it can climb, by how much a level moves the number of a node, and which cost its cells count to.
    ``ladder`` is ``ups, up_at, prices, price_at``: ``ups[up_at[a, l] + code]`` is the code one level above *l* (0 at the top)
    and ``prices[price_at[a, l] + code]`` what a cell costs at *l*; the last row is the last column. ``last`` is ``stride,
    feature, starts``: the same for the last column, and where each of its levels begins when they are put one behind
    the other, with one more at the end.

    ``scratch`` is room to work in: a power of two of hash slots, at least twice the groups; ``following, first, latest``
    of the groups' size (``following`` all −1, ``first`` counting from 0); ``seen`` and ``sums`` (all 0) of two more than
    the codes of all levels of the last column; ``whole`` (levels × 4) and ``lost`` (levels × costs and one);
    ``level, place`` (all 0) of one more than the columns, ``bounds`` (all 0) with four entries a table of the stack.

    ``out`` is ``suppressed, classes, squares, smallest, lost``, one entry a node: records in classes below *k*, kept
    classes, the sum of their squared sizes, the smallest of them (0: there is none), and what the cells of suppressed
    records would have cost, by feature.
    """
    tops, strides = columns[2], columns[3]
    level, place, bounds = scratch[8], scratch[9], scratch[10]  # place[a + 1]: the table that shows column a
    depth = tops.size
    bounds[0, 1], bounds[0, 3] = table[0].shape[0], table[1].shape[0]
    node, source, target = np.int64(0), np.int64(0), np.int64(0)
    while True:
        _merge(table, bounds[source], bounds[target], ladder, last, k, scratch)
        _write(scratch, last, out, node)
        a = depth - 1
        while a >= 0 and level[a] == tops[a]:
            node -= level[a] * strides[a]
            level[a] = 0
            a -= 1
        if a < 0:
            return
        source = place[a + 1]
        target = source + 1
        groups = _with_room(table[0], 2 * bounds[source, 1] - bounds[source, 0])
        entries = _with_room(table[1], 2 * bounds[source, 3] - bounds[source, 2])
        table = (groups, entries, _with_room(table[2], groups.shape[0]))
        _roll_up(table, bounds[source], bounds[target], a, level[a], columns, ladder, scratch)
        level[a] += 1
        node += strides[a]
        for b in range(a + 1, depth + 1):
            place[b] = target


@njit(cache=True, nogil=True)
def _with_room(rows, size):
    """Rows that are at least so many; half as many more when they must be copied, so that this is rare."""
    if rows.shape[0] >= size:
        return rows
    longer = np.empty((size + size // 2, rows.shape[1]), rows.dtype)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            longer[i, j] = rows[i, j]
    return longer


@njit(cache=True, nogil=True)
def _roll_up(table, source, target, a, level, columns, ladder, scratch):
    """Write the groups within ``source`` behind it, with column *a* one level higher; chain the old ones to the new."""
    groups, _, costs = table
    shift, feature = np.uint64(columns[0][a]), columns[4][a]
    mask = (_ONE << np.uint64(columns[1][a])) - _ONE
    ups, prices = ladder[0], ladder[2]
    up, price, next_price = ladder[1][a, level], ladder[3][a, level], ladder[3][a, level + 1]
    slots, following, first, latest = scratch[0], scratch[1], scratch[2], scratch[3]
    bits = 4
    while (1 << bits) < 2 * (source[1] - source[0]):
        bits += 1
    for h in range(1 << bits):
        slots[h] = _EMPTY
    high_bits, slot_mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    begin, count = source[1], np.int32(0)
    for g in range(source[0], source[1]):
        code = (groups[g, 0] >> shift) & mask
        above = np.uint64(ups[up + code])
        key = groups[g, 0] ^ ((code ^ above) << shift)
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
            costs[begin + count, feature] += prices[next_price + above] - prices[price + code]
            first[count] = latest[count] = here
            count += np.int32(1)
        else:
            following[latest[new]] = here
            latest[new] = here
    target[0], target[1], target[2] = begin, begin + count, source[3]


@njit(cache=True, nogil=True)
def _merge(table, source, target, ladder, last, k, scratch):
    """Write the entries of the new groups, each merged from a chain of old ones, and tally them on every level.

    A code is written down whenever it comes and kept only when it is new, a size is added to both sides or to none:
    what cannot be guessed by the processor is not a branch.
    """
    groups, entries, costs = table
    following, first, seen, sums = scratch[1], scratch[2], scratch[4], scratch[5]
    whole, lost, starts = scratch[6], scratch[7], last[2]
    ups, prices, z = ladder[0], ladder[2], ladder[1].shape[0] - 1
    for level in range(whole.shape[0]):
        whole[level, 0], whole[level, 1], whole[level, 2], whole[level, 3] = 0, 0, _LARGEST, 0
        for f in range(lost.shape[1]):
            lost[level, f] = 0.0
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
        for level in range(whole.shape[0]):
            up, price, here, above = ladder[1][z, level], ladder[3][z, level], starts[level], starts[level + 1]
            gone, kept, least, squares, cost = _NOTHING, 0, whole[level, 2], _NOTHING, 0.0
            n, distinct = _ZERO, n
            for i in range(here, here + distinct):
                code = np.uint64(seen[i])
                size = np.int64(sums[here + code])
                sums[here + code] = 0
                if level == 0:
                    entries[end, 0], entries[end, 1] = code, size
                    end += _ONE
                few = size < k
                small = size if few else _NOTHING
                gone += small
                kept += 0 if few else 1
                least = min(least, _LARGEST if few else size)
                squares += _NOTHING if few else size * size
                cost += np.float64(small) * prices[price + code]
                next_code = np.uint64(ups[up + code])
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
        sums[above] = 0  # above the top all went into one
        groups[new, 1], groups[new, 2] = begin, end
    target[3] = end


@njit(cache=True, nogil=True)
def _write(scratch, last, out, node):
    """Put what was added up where the nodes are."""
    suppressed, classes, squares, smallest, missed = out
    whole, lost = scratch[6], scratch[7]
    for level in range(whole.shape[0]):
        at = node + level * last[0]
        suppressed[at], classes[at], squares[at] = whole[level, 0], whole[level, 1], whole[level, 3]
        smallest[at] = whole[level, 2] if whole[level, 1] else 0
        for f in range(lost.shape[1] - 1):
            missed[at, f] = lost[level, 1 + f]
        missed[at, last[1]] += lost[level, 0]


# The loop that finds which points nothing beats.


@njit(cache=True, nogil=True)
def unbeaten(points, order):
    """The rows of ``points`` that no other row is at most equal to in every entry; of equal rows the first in ``order``.

    ``order`` sorts the rows by their first entry, then the second and so on, so that no row beats one before it. A row
    that has just beaten another is asked first: neighbours are beaten by the same ones.
    """
    found = np.empty(order.size, np.int64)
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
    return found[:count].copy()
