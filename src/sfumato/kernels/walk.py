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
_LARGEST = np.int64(2**62)


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
    scratch = _scratch(table, last)
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
def _scratch(table, last):
    """Room to work in."""
    groups = table[0].size
    slots = 16
    while slots < 2 * groups:
        slots *= 2
    starts = last[3]
    most = starts[starts.size - 1]
    return (
        np.empty(slots, np.int32),
        np.empty(groups, np.int32),
        np.empty(groups, np.int32),
        np.empty(groups, np.int32),
        np.empty(most, np.int32),
        np.zeros(most, table[4].dtype),
        np.zeros((last[0] + 1, 4), np.int64),
        np.zeros((last[0] + 1, 2 + table[5].shape[1])),
        starts,
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
                seen[distinct] = code  # overwritten by the next one when it was seen before: no branch to guess
                distinct += sums[code] == 0
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
    """Tally the nodes with the levels of this table and every level of the last column."""
    _, begins, ends, codes, counts, costs = table
    ups, up_at, prices, price_at = ladder
    top, z = last[0], up_at.shape[0] - 1
    seen, sums, whole, parts, starts = scratch[4], scratch[5], scratch[6], scratch[7], scratch[8]
    whole[:] = 0
    whole[:, 2] = _LARGEST
    parts[:] = 0.0
    for g in range(bound[0], bound[1]):
        count = ends[g] - begins[g]
        for level in range(top + 1):
            here = starts[level]
            price, up, above = price_at[z, level], up_at[z, level], starts[level + 1]
            gone, kept, least, square, cost = 0, 0, whole[level, 2], 0.0, 0.0
            n = 0
            for i in range(count):
                if level == 0:
                    code, size = codes[begins[g] + i], np.int64(counts[begins[g] + i])
                else:
                    code = seen[here + i]
                    size = np.int64(sums[here + code])
                    sums[here + code] = 0
                few = size < k
                gone += size if few else 0
                kept += 0 if few else 1
                least = min(least, _LARGEST if few else size)
                square += 0.0 if few else np.float64(size) * np.float64(size)
                cost += np.float64(size if few else 0) * prices[price + code]
                if level < top:
                    next_code = ups[up + code]
                    seen[above + n] = next_code
                    n += sums[above + next_code] == 0
                    sums[above + next_code] += size
            count = n
            whole[level, 0] += gone
            whole[level, 1] += kept
            whole[level, 2] = least
            parts[level, 0] += square
            parts[level, 1] += cost
            for f in range(costs.shape[1]):
                parts[level, 2 + f] += gone * costs[g, f]
    _write(whole, parts, last, out, node)


@njit(cache=True, nogil=True)
def _write(whole, parts, last, out, node):
    top, stride, feature, _ = last
    for level in range(top + 1):
        at = node + level * stride
        out[0][at], out[1][at], out[2][at] = whole[level, 0], whole[level, 1], parts[level, 0]
        out[3][at] = 0 if whole[level, 1] == 0 else whole[level, 2]
        for f in range(parts.shape[1] - 2):
            out[4][at, f] = parts[level, 2 + f]
        out[4][at, feature] += parts[level, 1]
