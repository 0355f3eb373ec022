"""Loops of the walk over a whole lattice: what every node of a table keeps under k-anonymity.

The table is kept as *groups*: the classes that agree in all columns but the last one walked. A group has one key and
a run of entries, one for each code of the last column it holds. So rolling up any other column merges whole groups
and hashes far fewer keys than there are classes, and all levels of the last column are tallied in one pass.

Tables lie on a stack. The walk goes on by rolling up one column of the deepest table that is still fine enough; what
was rolled up from it before is dropped.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_EMPTY = np.int32(-1)


@njit(cache=True, nogil=True)
def walk(table, columns, ladder, last, k, out):
    """Tally every node of a lattice.

    ``table`` is ``keys, begins, ends, codes, counts, costs``, at the lowest levels: per group its key, where its entries
    begin and end and the cell costs of its columns; per entry the code of the last column and the records.
    ``columns`` is ``shifts, widths, tops, strides, features``, one entry a column but the last: its bits, how many
    levels it can climb, by how much a level moves the node's number, and which cost its cells count to. ``ladder`` is
    ``ups, up_at, prices, price_at``: ``ups[up_at[a, l] + code]`` is the code one level above *l* and
    ``prices[price_at[a, l] + code]`` what a cell costs at *l*; its last row is the last column, which ``last = (top,
    stride, feature, codes)`` describes. ``out`` is ``suppressed, classes, squares, smallest, lost``, one entry a node:
    records in classes below *k*, kept classes, their squared sizes, the smallest of them (0: there is none), and what
    the suppressed records' cells would have cost, by feature.
    """
    tops, strides = columns[2], columns[3]
    depth = tops.size
    level = np.zeros(depth, np.int64)
    slot = np.zeros(depth + 1, np.int64)  # slot[a + 1]: which table of the stack column a stands in; 0 is the first
    bounds = np.zeros((1 + tops.sum(), 4), np.int64)  # of each table: first and last group, first and last entry
    bounds[0, 1], bounds[0, 3] = table[0].size, table[3].size
    scratch = _scratch(table, last[3])
    node = np.int64(0)
    while True:
        _tally(table, bounds[slot[depth]], ladder, last, k, scratch, out, node)
        a = depth - 1
        while a >= 0 and level[a] == tops[a]:
            node -= level[a] * strides[a]
            level[a] = 0
            a -= 1
        if a < 0:
            return
        source = slot[a + 1]
        table = _with_room(table, bounds[source])
        _roll_up(table, bounds[source], bounds[source + 1], a, level[a], columns, ladder, scratch)
        level[a] += 1
        node += strides[a]
        for b in range(a + 1, depth + 1):
            slot[b] = source + 1


@njit(cache=True, nogil=True)
def _scratch(table, codes):
    """Room to work in: hash slots, new group of each group, next group in the same new one, first and last of each new one, codes seen, sums, codes and sums of the level before."""
    groups = table[0].size
    slots = 16
    while slots < 2 * groups:
        slots *= 2
    most = max(np.int64(1), codes)
    return (
        np.empty(slots, np.int32),
        np.empty(groups, np.int32),
        np.empty(groups, np.int32),
        np.empty(groups, np.int32),
        np.empty(most, np.int32),
        np.zeros(most, table[4].dtype),
        np.empty(most, np.int32),
        np.empty(most, table[4].dtype),
    )


@njit(cache=True, nogil=True)
def _longer(array, size):
    longer = np.empty(size, array.dtype)
    longer[: array.size] = array
    return longer


@njit(cache=True, nogil=True)
def _with_room(table, bound):
    """The stack with room for one more table as large as the one within these bounds."""
    keys, begins, ends, codes, counts, costs = table
    groups, entries = 2 * bound[1] - bound[0], 2 * bound[3] - bound[2]
    if groups > keys.size:
        size = groups + groups // 2
        keys, begins, ends = _longer(keys, size), _longer(begins, size), _longer(ends, size)
        more = np.empty((size, costs.shape[1]))
        more[: costs.shape[0]] = costs
        costs = more
    if entries > codes.size:
        codes, counts = _longer(codes, entries + entries // 2), _longer(counts, entries + entries // 2)
    return keys, begins, ends, codes, counts, costs


@njit(cache=True, nogil=True)
def _roll_up(table, source, target, a, level, columns, ladder, scratch):
    """Write the table within ``source`` behind it with column *a* one level higher, and set the bounds of the new one."""
    keys, _, _, _, _, costs = table
    shift, feature = np.uint64(columns[0][a]), columns[4][a]
    mask = (np.uint64(1) << np.uint64(columns[1][a])) - np.uint64(1)
    ups, up_at, prices, price_at = ladder
    slots, following, first, latest = scratch[0], scratch[1], scratch[2], scratch[3]
    bits = 4
    while (1 << bits) < 2 * (source[1] - source[0]):
        bits += 1
    slots[: 1 << bits] = _EMPTY
    high_bits, slot_mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    begin = source[1]
    count = np.int32(0)
    for g in range(source[0], source[1]):
        code = (keys[g] >> shift) & mask
        above = ups[up_at[a, level] + np.int64(code)]
        key = keys[g] ^ ((code ^ np.uint64(above)) << shift)
        h = (key * np.uint64(0x9E3779B97F4A7C15)) >> high_bits
        new = slots[h]
        while new >= 0 and keys[begin + new] != key:
            h = (h + np.uint64(1)) & slot_mask
            new = slots[h]
        here = np.int32(g - source[0])
        following[here] = _EMPTY
        if new < 0:
            slots[h] = count
            keys[begin + count] = key
            costs[begin + count] = costs[g]
            change = prices[price_at[a, level + 1] + above] - prices[price_at[a, level] + np.int64(code)]
            costs[begin + count, feature] += change
            first[count] = here
            latest[count] = here
            count += np.int32(1)
        else:
            following[latest[new]] = here
            latest[new] = here
    target[0], target[1], target[2] = begin, begin + count, source[3]
    target[3] = _merge(table, source, target, scratch)


@njit(cache=True, nogil=True)
def _merge(table, source, target, scratch):
    """Write the entries of the new groups, each merged from a chain of old ones; returns where they end."""
    _, begins, ends, codes, counts, _ = table
    following, first, seen, sums = scratch[1], scratch[2], scratch[4], scratch[5]
    end = target[2]
    for new in range(target[0], target[1]):
        begins[new] = end
        here = first[new - target[0]]
        if following[here] < 0:
            for e in range(begins[source[0] + here], ends[source[0] + here]):
                codes[end], counts[end] = codes[e], counts[e]
                end += 1
            ends[new] = end
            continue
        distinct = 0
        while here >= 0:
            for e in range(begins[source[0] + here], ends[source[0] + here]):
                code = codes[e]
                if sums[code] == 0:
                    seen[distinct] = code
                    distinct += 1
                sums[code] += counts[e]
            here = following[here]
        for i in range(distinct):
            code = seen[i]
            codes[end], counts[end] = code, sums[code]
            sums[code] = 0
            end += 1
        ends[new] = end
    return end


@njit(cache=True, nogil=True)
def _tally(table, bound, ladder, last, k, scratch, out, node):
    """Add up what the nodes with these levels of all columns but the last keep, for every level of the last."""
    _, begins, ends, codes, counts, costs = table
    top, stride, feature, _ = last
    suppressed, _, _, _, lost = out
    own_code, own_count = scratch[6], scratch[7]
    for g in range(bound[0], bound[1]):
        n = ends[g] - begins[g]
        for i in range(n):
            own_code[i], own_count[i] = codes[begins[g] + i], counts[begins[g] + i]
        for level in range(top + 1):
            if level > 0:
                n = _climb(n, level, ladder, scratch)
            at = node + level * stride
            gone, cost = _tally_run(n, level, ladder, k, scratch, out, at)
            if gone > 0:
                suppressed[at] += gone
                lost[at, feature] += cost
                for f in range(lost.shape[1]):
                    lost[at, f] += gone * costs[g, f]


@njit(cache=True, nogil=True, inline="always")
def _climb(n, level, ladder, scratch):
    """Bring the entries of one group to the next level of the last column."""
    ups, up_at = ladder[0], ladder[1]
    seen, sums, own_code, own_count = scratch[4], scratch[5], scratch[6], scratch[7]
    at = up_at[up_at.shape[0] - 1, level - 1]
    distinct = 0
    for i in range(n):
        code = ups[at + own_code[i]]
        if sums[code] == 0:
            seen[distinct] = code
            distinct += 1
        sums[code] += own_count[i]
    for i in range(distinct):
        own_code[i] = seen[i]
        own_count[i] = sums[seen[i]]
        sums[seen[i]] = 0
    return distinct


@njit(cache=True, nogil=True, inline="always")
def _tally_run(n, level, ladder, k, scratch, out, at):
    """Tally the classes of one group at one level of the last column; what is suppressed, and its cells' cost."""
    prices, price_at = ladder[2], ladder[3]
    own_code, own_count = scratch[6], scratch[7]
    _, classes, squares, smallest, _ = out
    price = price_at[price_at.shape[0] - 1, level]
    gone, kept, square, cost = 0, 0, 0.0, 0.0
    least = smallest[at]
    for i in range(n):
        size = np.int64(own_count[i])
        if size < k:
            gone += size
            cost += size * prices[price + own_code[i]]
        else:
            kept += 1
            square += np.float64(size) * np.float64(size)
            if size < least or least == 0:
                least = size
    classes[at] += kept
    squares[at] += square
    smallest[at] = least
    return gone, cost
