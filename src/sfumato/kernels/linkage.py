"""What it costs to take a record of one file for a record of another, column by column.

A record is two rows of arrays: ``numbers[k]`` holds the low end, the high end and half the width that is averaged over
(for a category: what agreeing costs), ``marks[k]`` a code of a category, 0 for a place on the line, ``OPEN`` for a cell
that fits everything, ``MISSING`` for none. ``rules[k]`` holds the constants of a column: what differing costs (or the
weight of a squared or absolute difference), an open cell, one missing, both missing, the tolerance, and what exact,
covered and close agreement cost. Where the cost grows with the square of a gap, from that of close agreement up to that of
differing, the tolerance is what a unit adds. Codes of one file that agree with a code of the other are listed in ``matches``.

What runs for every pair takes numbers only: numba passes arrays at many times the cost of the comparison. So before a
record is compared with many, the codes that agree with its own are stamped with its number.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit

SQUARE, ABSOLUTE, CATEGORY, GRADED, NEARING = 0, 1, 2, 3, 4
OPEN, MISSING = -1, -2
EXACT, COVERED, CLOSE, DIFFERS, NOTHING = 3, 2, 1, 0, 4
SLACK = 1e-9
ROUNDING = 1e-14


@njit(cache=True, nogil=True)
def agree(code, first, last, base, starts, matches):
    """Whether a code agrees with any code from ``first`` to ``last`` of the other file."""
    low, high = starts[base + code], starts[base + code + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if matches[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low < end and matches[low] <= last


@njit(cache=True, nogil=True)
def stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps):
    """Stamp the codes of the other file that agree with those of record *i*, in all columns of categories."""
    for k in range(kinds.size):
        if kinds[k] == CATEGORY and marks[i, k] >= 0:
            for m in range(starts[bases[k] + marks[i, k]], starts[bases[k] + marks[i, k] + 1]):
                stamps[other_bases[k] + matches[m]] = i


@njit(cache=True, nogil=True)
def line_cost(kind, gap, half, points, differs, reach, exact, covered, close):
    """The cost of a gap on the line, for a cell that is averaged over ``half`` to either side."""
    if kind == SQUARE:
        return differs * (gap * gap + half * half / 3.0)
    if kind == ABSOLUTE:
        if gap < half:
            return differs * (gap * gap + half * half) / (2.0 * half)
        return differs * gap
    if gap <= SLACK:
        return exact if points else covered
    if kind == NEARING:
        return min(differs, close + reach * gap * gap)
    return close if gap <= reach + SLACK else differs


@njit(cache=True, nogil=True)
def cell_cost(
    kind, mark, low, high, half, other_mark, other_low, other_high, other_half, agreeing,
    differs, opened, one_missing, both_missing, reach, exact, covered, close,
):  # fmt: skip
    """What two cells cost; ``agreeing`` says whether their codes do."""
    if mark == OPEN or other_mark == OPEN:
        return opened
    if kind == CATEGORY:
        return max(half, other_half) if agreeing else differs
    if mark == MISSING or other_mark == MISSING:
        return both_missing if mark == other_mark else one_missing
    gap = max(0.0, other_low - high, low - other_high)
    points = low == high and other_low == other_high
    return line_cost(kind, gap, half + other_half, points, differs, reach, exact, covered, close)


@njit(cache=True, nogil=True)
def cell_level(kind, mark, low, high, other_mark, other_low, other_high, agreeing, reach):
    """How far two cells agree: exactly, covered, closely, not at all, or nothing can be said."""
    if mark < 0 or other_mark < 0:
        return NOTHING
    points = low == high and other_low == other_high
    if kind == CATEGORY:
        if not agreeing:
            return DIFFERS
        return EXACT if points else COVERED
    gap = max(other_low - high, low - other_high)
    if gap <= SLACK:
        return EXACT if points else COVERED
    return CLOSE if gap <= reach + SLACK else DIFFERS


@njit(cache=True, nogil=True)
def pair_costs(pairs, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches):
    """The cost of each pair of records, one number a column."""
    found = np.empty((pairs.shape[0], kinds.size))
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        for k in range(kinds.size):
            mark, other = marks[i, k], other_marks[j, k]
            agreeing = False
            if kinds[k] == CATEGORY and mark >= 0 and other >= 0:
                agreeing = agree(mark, other, other, bases[k], starts, matches)
            found[p, k] = cell_cost(
                kinds[k], mark, numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2], agreeing,
                rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
            )  # fmt: skip
    return found


# How often each pattern of agreement occurs among pairs of records: counted, never kept.

LEVELS = 5
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = np.int64(-1)


@njit(cache=True, nogil=True)
def _place(keys, key):
    """The place of a key in a table of open addressing whose size is a power of two."""
    mask = np.uint64(keys.size - 1)
    h = (np.uint64(key) * _SPREAD >> np.uint64(20)) & mask
    while keys[h] != _EMPTY and keys[h] != key:
        h = (h + np.uint64(1)) & mask
    return h


@njit(cache=True, nogil=True)
def _grown(keys, counts):
    wider, more = np.full(2 * keys.size, _EMPTY), np.zeros(2 * keys.size)
    for p in range(keys.size):
        if keys[p] != _EMPTY:
            h = _place(wider, keys[p])
            wider[h], more[h] = keys[p], counts[p]
    return wider, more


@njit(cache=True, nogil=True)
def _count(keys, counts, used, new_keys, amounts, size):
    """Add amounts to the counts of keys; both tables grow before they are a quarter full."""
    last, h = _EMPTY, np.uint64(0)
    for p in range(size):
        if 4 * used > keys.size:
            keys, counts = _grown(keys, counts)
            last = _EMPTY
        if new_keys[p] != last:
            last = new_keys[p]
            h = _place(keys, last)
            if keys[h] == _EMPTY:
                keys[h] = last
                used += 1
        counts[h] += amounts[p]
    return keys, counts, used


@njit(cache=True, nogil=True)
def _first_from(lows, low, high, least):
    """The first of sorted values from ``low`` to ``high`` that is not less."""
    while low < high:
        middle = (low + high) >> 1
        if lows[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _mark_levels(
    k, i, kinds, rules, numbers, marks, bases, starts, matches, values, lows, highs, widest, power, levels
):
    """Write what the values of a column that do not differ from record *i*'s add to a pattern; returns the span they lie in."""
    x, y, reach = numbers[i, k, 0], numbers[i, k, 1], rules[k, 4]
    if kinds[k] == CATEGORY:
        first, last = values[k + 1], values[k]
        for m in range(starts[bases[k] + marks[i, k]], starts[bases[k] + marks[i, k] + 1]):
            v = values[k] + matches[m]
            first, last = min(first, v), max(last, v + 1)
            levels[v] = power * cell_level(CATEGORY, 0, x, y, 0, lows[v], highs[v], True, reach)
        return first, last
    spare = 2 * SLACK + ROUNDING * (abs(x) + abs(y) + reach + widest[k])
    first = _first_from(lows, values[k], values[k + 1], x - reach - widest[k] - spare)
    last = first
    while last < values[k + 1] and lows[last] <= y + reach + spare:
        levels[last] = power * cell_level(GRADED, 0, x, y, 0, lows[last], highs[last], False, reach)
        last += 1
    return first, last


@njit(cache=True, nogil=True)
def pattern_counts(
    anchors, kinds, rules, numbers, marks, weights, bases, starts, matches,
    values, lows, highs, widest, held_starts, held, few, other_weights, class_of, class_values, class_weights,
):  # fmt: skip
    """Patterns (digits to base 5, the first column first) of all pairs of an anchor and a record of the other file.

    A pair of distinct records counts as often as rows have them. Not every pair is looked at: records of a class hold the same
    values in all columns but those in which ``few`` agree, and the same gaps in these; so a class is counted at once, as if its
    records differed in these columns, and then those are put right that do agree with the anchor in one of them.
    Values of column *k* are ``values[k]`` to ``values[k + 1]``, on the line by their low ends; value *v* is held by the records
    ``held[held_starts[v]:held_starts[v + 1]]``.
    """
    keys, counts, used = np.full(1024, _EMPTY), np.zeros(1024), 0
    columns, classes, records = kinds.size, class_weights.size, class_of.size
    levels, power = np.zeros(lows.size, np.int64), np.ones(columns, np.int64)
    for k in range(columns - 2, -1, -1):
        power[k] = power[k + 1] * LEVELS
    spans = np.zeros((columns, 2), np.int64)
    found, amounts = np.empty(classes + 2 * records, np.int64), np.empty(classes + 2 * records)
    added, touched = np.zeros(records, np.int64), np.empty(records, np.int64)
    for a in range(anchors.size):
        i = anchors[a]
        for k in range(columns):
            if marks[i, k] >= 0:
                spans[k, 0], spans[k, 1] = _mark_levels(
                    k, i, kinds, rules, numbers, marks, bases, starts, matches, values, lows, highs, widest, power[k], levels
                )  # fmt: skip
        for c in range(classes):
            key = np.int64(0)
            for k in range(columns):
                v = class_values[c, k]
                if marks[i, k] < 0 or v < 0:
                    key += power[k] * NOTHING
                elif not few[k]:
                    key += levels[v]
            found[c], amounts[c] = key, weights[i] * class_weights[c]
        size = 0
        for k in range(columns):
            if marks[i, k] < 0:
                continue
            for v in range(spans[k, 0], spans[k, 1]):
                if few[k] and levels[v] > 0:
                    for p in range(held_starts[v], held_starts[v + 1]):
                        j = held[p]
                        if added[j] == 0:
                            touched[size] = j
                            size += 1
                        added[j] += levels[v]
                levels[v] = 0
        for t in range(size):
            j = touched[t]
            amount, place = weights[i] * other_weights[j], classes + 2 * t
            found[place], amounts[place] = found[class_of[j]], -amount
            found[place + 1], amounts[place + 1] = found[class_of[j]] + added[j], amount
            added[j] = 0
        keys, counts, used = _count(keys, counts, used, found, amounts, classes + 2 * size)
    there = (keys != _EMPTY) & (counts > 0)
    return keys[there], counts[there]


# Distances with parameters, and a look at all records under them.
#
# The differences of two records in all columns are put together by a weighted mean, an ordered weighted average, a Choquet
# integral (measure by sets of columns as bits), one whose measure has interactions of pairs only, or a square form.

MEAN, ORDERED, CHOQUET, PAIRWISE, SQUARE_FORM = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
def roots_of(pairs, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches):
    """Signed roots of the differences of pairs of records, one row a pair: negative where the first lies higher."""
    found = np.sqrt(pair_costs(pairs, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches))
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        for k in range(kinds.size):
            if kinds[k] != CATEGORY and marks[i, k] == 0 and other_marks[j, k] == 0:
                if numbers[i, k, 0] > other_numbers[j, k, 1]:
                    found[p, k] = -found[p, k]
    return found


@njit(cache=True, nogil=True)
def terms(kind, roots, out, order):
    """What each parameter is multiplied by, so that the distance is a sum of products."""
    size = roots.size
    out[:] = 0.0
    if kind == SQUARE_FORM or kind == PAIRWISE:
        place = 0
        for k in range(size):
            out[k] = roots[k] * roots[k]
        place = size
        for k in range(size):
            for m in range(k + 1, size):
                if kind == SQUARE_FORM:
                    out[place] = 2.0 * roots[k] * roots[m]
                else:
                    out[place] = min(out[k], out[m])
                place += 1
        return
    for k in range(size):  # columns by rising difference
        place = k
        while place > 0 and abs(roots[order[place - 1]]) > abs(roots[k]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = k
    if kind == MEAN:
        for k in range(size):
            out[k] = roots[k] * roots[k]
    elif kind == ORDERED:
        for k in range(size):
            out[k] = roots[order[size - 1 - k]] ** 2
    else:
        members, before = (1 << size) - 1, 0.0
        for k in range(size):
            here = roots[order[k]] ** 2
            out[members] = here - before
            before = here
            members &= ~(1 << order[k])


@njit(cache=True, nogil=True)
def terms_of(kind, roots, width):
    """The terms of every row."""
    found, order = np.empty((roots.shape[0], width)), np.zeros(roots.shape[1], np.int64)
    for p in range(roots.shape[0]):
        terms(kind, roots[p], found[p], order)
    return found


@njit(cache=True, nogil=True)
def keep_nearest(distance, j, distances, nearest):
    """Put a record in its place among the nearest so far, if it is one of them."""
    place = distances.size - 1
    if distance >= distances[place]:
        return
    while place > 0 and distances[place - 1] > distance:
        distances[place], nearest[place] = distances[place - 1], nearest[place - 1]
        place -= 1
    distances[place], nearest[place] = distance, j


@njit(cache=True, nogil=True)
def tied_with(own, distances, records, tie):
    """How many records are at the least distance when one's own is among them, else 0."""
    least = distances.min()
    limit = least + tie * (1.0 + abs(least))
    found = 0
    if own <= limit:
        for j in range(distances.size):
            if distances[j] <= limit:
                found += records[j]
    return found


@njit(cache=True, nogil=True)
def impostors(
    units, kind, parameters, most, kinds, rules, numbers, marks, other_numbers, other_marks, other_records, bases, starts,
    matches, other_bases, margin, tie,
):  # fmt: skip
    """Per unit (a record and its own in the other file) the distance to its own and the nearest ``most`` others.

    Also how many records are tied at the least distance (0 where its own is not among them); how many other records are its
    twins, as far as its own under all parameters; and what a monotone distance can reach for it: 0 never the nearest, 1 nearest
    with a tie, 2 nearest alone. Some other that is no farther in any column, up to the margin, leaves a tie at best.
    """
    own = np.empty(units.shape[0])
    nearest = np.full((units.shape[0], most), -1, np.int64)
    distances = np.full((units.shape[0], most), np.inf)
    tied, twins = np.zeros(units.shape[0], np.int64), np.zeros(units.shape[0], np.int64)
    reach = np.full(units.shape[0], 2, np.int64)
    true_roots = roots_of(units, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches)
    stamps = np.full(other_bases[-1] + 1, -1, np.int64)
    roots, out, order = np.empty(kinds.size), np.empty(parameters.size), np.zeros(kinds.size, np.int64)
    own_terms, all_distances = np.empty(parameters.size), np.empty(other_marks.shape[0])
    for u in range(units.shape[0]):
        i = units[u, 0]
        stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
        terms(kind, true_roots[u], own_terms, order)
        own[u] = 0.0
        for t in range(out.size):
            own[u] += own_terms[t] * parameters[t]
        all_distances[units[u, 1]] = own[u]
        for j in range(other_marks.shape[0]):
            distance, farthest = 0.0, -np.inf
            for k in range(kinds.size):
                other = other_marks[j, k]
                cost = cell_cost(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                    other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i,
                    rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
                )  # fmt: skip
                farthest = max(farthest, cost - true_roots[u, k] * true_roots[u, k])
                if kind == MEAN:
                    out[k] = cost
                else:
                    roots[k] = np.sqrt(cost)
                    if (
                        kinds[k] != CATEGORY
                        and marks[i, k] == 0
                        and other == 0
                        and numbers[i, k, 0] > other_numbers[j, k, 1]
                    ):
                        roots[k] = -roots[k]
            if j == units[u, 1]:
                continue
            if kind != MEAN:
                terms(kind, roots, out, order)
            apart = 0.0
            for t in range(out.size):
                distance += out[t] * parameters[t]
                apart = max(apart, abs(out[t] - own_terms[t]))
            all_distances[j] = distance
            if apart <= 0.1 * tie:
                twins[u] += other_records[j]
                continue
            if farthest < margin:
                reach[u] = min(reach[u], 0 if farthest < -tie else 1)
            keep_nearest(distance, j, distances[u], nearest[u])
        tied[u] = tied_with(own[u], all_distances, other_records, tie)
    return own, nearest, distances, tied, twins, reach
