"""What it costs to take a record of one file for a record of another, column by column.

A search holds every record *i* of one file (in an attack: what the intruder knows) against records
*j* of the other (what was released). Both files are their distinct records; :class:`FileArrays`
says what its arrays hold.

What runs for every pair of cells is inlined and takes arrays, not the tuples that hold them:
calling a function with arrays, or taking an array out of a tuple, costs numba several times as much
as comparing two cells. So loops unpack their tuples first. Before a record is compared with many,
the codes that agree with its own are stamped with its number (:func:`stamp_agreeing`), so that one
look into an array tells whether two categories agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.kernels.loop_cache import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

SQUARE, ABSOLUTE, CATEGORY, GRADED, NEARING = 0, 1, 2, 3, 4
OPEN, MISSING = -1, -2
EXACT, COVERED, CLOSE, DIFFERS, NOTHING = 3, 2, 1, 0, 4
DIFFERENT, OPENED, ONE_MISSING, BOTH_MISSING, REACH, SAME, INSIDE, NEAR = range(8)
"""Columns of ``FileArrays.rules``."""
SLACK = 1e-9
ROUNDING = 1e-14


class FileArrays(NamedTuple):
    """Two files of distinct records, and how each of their columns is compared."""

    kinds: NDArray[np.int64]
    """(columns,): squared or absolute difference, category, graded or nearing agreement."""
    rules: NDArray[np.float64]
    """(columns, 8): what differing costs (or the weight of a squared or absolute difference), an
    open cell, one cell missing, both missing, the tolerance, and what exact, covered and close
    agreement cost. Where the cost grows with the square of a gap (nearing), from that of close
    agreement up to that of differing, the tolerance is what a unit of gap² adds.
    """
    numbers: NDArray[np.float64]
    """(records, columns, 3): low end, high end, and half the width that is averaged over (category:
    what agreeing costs).
    """
    marks: NDArray[np.int64]
    """(records, columns): the code of a category, 0 for a place on the line, ``OPEN`` for a cell
    that fits everything, ``MISSING`` for none.
    """
    bases: NDArray[np.int64]
    """(columns + 1,): where the codes of each column begin in ``starts``."""
    starts: NDArray[np.int64]
    """Per code, where its entries in ``matches`` begin."""
    matches: NDArray[np.int64]
    """Codes of the other file that agree with each code of this one, ascending."""
    other_numbers: NDArray[np.float64]
    """``numbers`` of the other file."""
    other_marks: NDArray[np.int64]
    """``marks`` of the other file."""
    other_records: NDArray[np.int64]
    """How many rows have each distinct record of the other file."""
    other_bases: NDArray[np.int64]
    """(columns + 1,): where the codes of each column of the other file begin in an array of stamps.
    """


@njit(cache=True, nogil=True)
def codes_agree(code, first, last, base, starts, matches):
    """Whether a code agrees with any code from ``first`` to ``last`` of the other file, by binary
    search.
    """
    low = starts[base + code]
    high = starts[base + code + 1]
    end = high
    # The first match that is not below ``first``; the code agrees if it is not beyond ``last``.
    while low < high:
        middle = (low + high) >> 1
        if matches[middle] < first:
            low = middle + 1
        else:
            high = middle
    return low < end and matches[low] <= last


@njit(cache=True, nogil=True)
def stamp_agreeing(i, files, stamps):
    """Stamp the codes of the other file that agree with those of record *i*, in all columns of
    categories: ``stamps[code] == i`` then says whether a code agrees. Old stamps need no clearing,
    they hold other numbers.
    """
    for k in range(files.kinds.size):
        mark = files.marks[i, k]
        if files.kinds[k] == CATEGORY and mark >= 0:
            code = files.bases[k] + mark
            for m in range(files.starts[code], files.starts[code + 1]):
                stamps[files.other_bases[k] + files.matches[m]] = i


@njit(cache=True, nogil=True)
def line_cost(kind, gap, half, points, differs, reach, exact, covered, close):
    """The cost of a gap on the line, for a cell that is averaged over ``half`` to either side."""
    if kind == SQUARE:
        # The mean of (gap + x)² over x uniform in −half … half is gap² + half² ∕ 3.
        return differs * (gap * gap + half * half / 3.0)
    if kind == ABSOLUTE:
        # The mean of |gap + x|: where the gap is within half, both signs occur.
        if gap < half:
            return differs * (gap * gap + half * half) / (2.0 * half)
        return differs * gap
    if gap <= SLACK:
        return exact if points else covered
    if kind == NEARING:
        return min(differs, close + reach * gap * gap)
    return close if gap <= reach + SLACK else differs


@njit(cache=True, nogil=True)
def _cost_cells(
    kind,
    mark,
    low,
    high,
    half,
    other_mark,
    other_low,
    other_high,
    other_half,
    agreeing,
    differs,
    opened,
    one_missing,
    both_missing,
    reach,
    exact,
    covered,
    close,
):
    """What two cells cost, from numbers alone: numba compiles this better than the same lines
    inlined.
    """
    if mark == OPEN or other_mark == OPEN:
        return opened
    # Categories: what agreeing costs stands where numbers have half their width.
    if kind == CATEGORY:
        return max(half, other_half) if agreeing else differs
    if mark == MISSING or other_mark == MISSING:
        return both_missing if mark == other_mark else one_missing
    # The gap between two intervals, 0 where they overlap.
    gap = max(0.0, other_low - high, low - other_high)
    points = low == high and other_low == other_high
    return line_cost(kind, gap, half + other_half, points, differs, reach, exact, covered, close)


@njit(cache=True, nogil=True, inline="always")
def cell_cost(kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing):
    """What the cells of records *i* and *j* in column *k* cost; ``agreeing`` says whether their
    categories do.
    """
    return _cost_cells(
        kinds[k],
        marks[i, k],
        numbers[i, k, 0],
        numbers[i, k, 1],
        numbers[i, k, 2],
        other_marks[j, k],
        other_numbers[j, k, 0],
        other_numbers[j, k, 1],
        other_numbers[j, k, 2],
        agreeing,
        rules[k, 0],
        rules[k, 1],
        rules[k, 2],
        rules[k, 3],
        rules[k, 4],
        rules[k, 5],
        rules[k, 6],
        rules[k, 7],
    )


@njit(cache=True, nogil=True)
def cost_pairs(pairs, files):
    """The cost of each pair of records, one number per column."""
    kinds, rules, numbers, marks, bases, starts, matches, other_numbers, other_marks, _, _ = files
    costs = np.empty((pairs.shape[0], kinds.size))
    for p in range(pairs.shape[0]):
        i = pairs[p, 0]
        j = pairs[p, 1]
        for k in range(kinds.size):
            mark = marks[i, k]
            other_mark = other_marks[j, k]
            # Few pairs are compared here: a binary search is cheaper than stamping.
            agreeing = False
            if kinds[k] == CATEGORY and mark >= 0 and other_mark >= 0:
                agreeing = codes_agree(mark, other_mark, other_mark, bases[k], starts, matches)
            costs[p, k] = cell_cost(
                kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing
            )
    return costs


# How often each pattern of agreement occurs among pairs of records: counted, never kept.

LEVELS = 5
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = np.int64(-1)


@njit(cache=True, nogil=True)
def _find_slot(keys, key):
    """The place of a key in a table of open addressing whose size is a power of two."""
    mask = np.uint64(keys.size - 1)
    h = (np.uint64(key) * _SPREAD >> np.uint64(20)) & mask
    while keys[h] != _EMPTY and keys[h] != key:
        h = (h + np.uint64(1)) & mask
    return h


@njit(cache=True, nogil=True)
def _grow_table(keys, counts):
    """Both arrays of the hash table with twice the slots."""
    new_keys = np.full(2 * keys.size, _EMPTY)
    new_counts = np.zeros(2 * keys.size)
    for p in range(keys.size):
        if keys[p] != _EMPTY:
            h = _find_slot(new_keys, keys[p])
            new_keys[h], new_counts[h] = keys[p], counts[p]
    return new_keys, new_counts


@njit(cache=True, nogil=True)
def _add_counts(keys, counts, used, new_keys, amounts, size):
    """Add amounts to the counts of keys; the table grows before it is a quarter full."""
    last = _EMPTY
    h = np.uint64(0)
    for p in range(size):
        if 4 * used > keys.size:
            keys, counts = _grow_table(keys, counts)
            last = _EMPTY
        # Equal keys often follow each other: the slot of the last one is remembered.
        if new_keys[p] != last:
            last = new_keys[p]
            h = _find_slot(keys, last)
            if keys[h] == _EMPTY:
                keys[h] = last
                used += 1
        counts[h] += amounts[p]
    return keys, counts, used


@njit(cache=True, nogil=True)
def _find_first(lows, low, high, value):
    """The first of sorted values from ``low`` to ``high`` that is not less."""
    while low < high:
        middle = (low + high) >> 1
        if lows[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


class ColumnValues(NamedTuple):
    """The distinct values of the other file's columns, one column after the other, on the line by
    their low ends.
    """

    starts: NDArray[np.int64]
    """(columns + 1,): column *k* has the values ``starts[k]`` to ``starts[k + 1]``."""
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    widest: NDArray[np.float64]
    """Per column the largest width of a value."""
    holder_starts: NDArray[np.int64]
    holders: NDArray[np.int64]
    """Value *v* is held by the records ``holders[holder_starts[v]:holder_starts[v + 1]]``."""
    selective: NDArray[np.bool_]
    """Per column whether few records agree with a random one in it."""


class RecordClasses(NamedTuple):
    """Records of the other file that hold the same values in all columns but those where
    ``selective`` agree, and the same gaps there.
    """

    class_of: NDArray[np.int64]
    values: NDArray[np.int64]
    """(classes, columns): the value of each class, −1 for a gap."""
    weights: NDArray[np.float64]
    """Rows of each class."""
    record_weights: NDArray[np.float64]
    """Rows of each distinct record."""


@njit(cache=True, nogil=True)
def _line_level(low, high, other_low, other_high, reach):
    """How far two cells on the line agree: exactly, covered, closely or not at all."""
    gap = max(other_low - high, low - other_high)
    if gap <= SLACK:
        return EXACT if low == high and other_low == other_high else COVERED
    return CLOSE if gap <= reach + SLACK else DIFFERS


@njit(cache=True, nogil=True)
def _mark_levels(k, i, files, values, power, levels):
    """Write what the values of a column that do not differ from record *i*'s add to a pattern;
    returns the span they lie in.
    """
    low = files.numbers[i, k, 0]
    high = files.numbers[i, k, 1]
    reach = files.rules[k, REACH]
    if files.kinds[k] == CATEGORY:
        first = values.starts[k + 1]
        last = values.starts[k]
        code = files.bases[k] + files.marks[i, k]
        for m in range(files.starts[code], files.starts[code + 1]):
            v = values.starts[k] + files.matches[m]
            first = min(first, v)
            last = max(last, v + 1)
            exact = low == high and values.lows[v] == values.highs[v]
            levels[v] = power * (EXACT if exact else COVERED)
        return first, last
    # A value that agrees begins at most its own width, the reach and a rounding error below the
    # cell.
    spare = 2 * SLACK + ROUNDING * (abs(low) + abs(high) + reach + values.widest[k])
    lowest = low - reach - values.widest[k] - spare
    first = _find_first(values.lows, values.starts[k], values.starts[k + 1], lowest)
    last = first
    while last < values.starts[k + 1] and values.lows[last] <= high + reach + spare:
        levels[last] = power * _line_level(low, high, values.lows[last], values.highs[last], reach)
        last += 1
    return first, last


@njit(cache=True, nogil=True)
def count_patterns(anchors, files, weights, values, classes):
    """Count patterns of agreement (digits to base 5, the first column first) over all pairs of an
    anchor and a record of the other file, as the EM algorithm of Fellegi & Sunter (1969) needs
    them.

    A pair of distinct records counts as often as rows have them: ``weights`` are the rows of the
    first file's records. Not every pair is looked at: a class is counted at once, as if its records
    differed in the columns where few agree, and then those are put right that do agree with the
    anchor in one of them. An anchor costs classes × columns, and its agreeing records.
    """
    keys = np.full(1024, _EMPTY)
    counts = np.zeros(1024)
    used = 0
    columns = files.kinds.size
    class_count = classes.weights.size
    records = classes.class_of.size
    levels = np.zeros(values.lows.size, np.int64)
    # power[k] is the value of digit k: 3 columns → 25, 5, 1.
    power = np.ones(columns, np.int64)
    for k in range(columns - 2, -1, -1):
        power[k] = power[k + 1] * LEVELS
    spans = np.zeros((columns, 2), np.int64)
    patterns = np.empty(class_count + 2 * records, np.int64)
    amounts = np.empty(class_count + 2 * records)
    added = np.zeros(records, np.int64)
    touched = np.empty(records, np.int64)
    for a in range(anchors.size):
        i = anchors[a]
        # levels[v] becomes what value v adds to the pattern; values that differ stay 0.
        for k in range(columns):
            if files.marks[i, k] >= 0:
                spans[k, 0], spans[k, 1] = _mark_levels(k, i, files, values, power[k], levels)
        # Every class at once, columns where few agree counted as differing.
        for c in range(class_count):
            key = np.int64(0)
            for k in range(columns):
                v = classes.values[c, k]
                if files.marks[i, k] < 0 or v < 0:
                    key += power[k] * NOTHING
                elif not values.selective[k]:
                    key += levels[v]
            patterns[c], amounts[c] = key, weights[i] * classes.weights[c]
        # Records that agree in one of those columns are listed with what they add.
        size = 0
        for k in range(columns):
            if files.marks[i, k] < 0:
                continue
            for v in range(spans[k, 0], spans[k, 1]):
                if values.selective[k] and levels[v] > 0:
                    for p in range(values.holder_starts[v], values.holder_starts[v + 1]):
                        j = values.holders[p]
                        if added[j] == 0:
                            touched[size] = j
                            size += 1
                        added[j] += levels[v]
                levels[v] = 0
        # Take each agreeing record out of its class's pattern and put it where it belongs.
        for t in range(size):
            j = touched[t]
            amount = weights[i] * classes.record_weights[j]
            entry = class_count + 2 * t
            pattern = patterns[classes.class_of[j]]
            patterns[entry] = pattern
            amounts[entry] = -amount
            patterns[entry + 1] = pattern + added[j]
            amounts[entry + 1] = amount
            added[j] = 0
        keys, counts, used = _add_counts(
            keys, counts, used, patterns, amounts, class_count + 2 * size
        )
    # Amounts of patterns that were taken away completely are 0.
    present = (keys != _EMPTY) & (counts > 0)
    return keys[present], counts[present]


# Distances with parameters, and a look at all records under them.
#
# The differences of two records in all columns are put together by a weighted mean, an ordered
# weighted average, a Choquet integral (measure by sets of columns as bits), one whose measure has
# interactions of pairs only, or a square form.

MEAN, ORDERED, CHOQUET, PAIRWISE, SQUARE_FORM = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True)
def compute_roots(pairs, files):
    """Signed square roots of the differences of pairs of records, one row per pair: negative where
    the first lies higher. The sign matters to the square form only.
    """
    roots = np.sqrt(cost_pairs(pairs, files))
    for p in range(pairs.shape[0]):
        i = pairs[p, 0]
        j = pairs[p, 1]
        for k in range(files.kinds.size):
            if (
                files.kinds[k] != CATEGORY
                and files.marks[i, k] == 0
                and files.other_marks[j, k] == 0
            ):
                if files.numbers[i, k, 0] > files.other_numbers[j, k, 1]:
                    roots[p, k] = -roots[p, k]
    return roots


@njit(cache=True, nogil=True)
def write_terms(kind, roots, out, order):
    """Write what each parameter is multiplied by, so that the distance is a sum of products.

    Width by kind: MEAN and ORDERED one term per column, SQUARE_FORM and PAIRWISE one per column and
    pair, CHOQUET one per set of columns (as bits).
    """
    size = roots.size
    out[:] = 0.0
    if kind == SQUARE_FORM or kind == PAIRWISE:
        position = 0
        for k in range(size):
            out[k] = roots[k] * roots[k]
        # The 2-additive Choquet integral takes the minimum of a pair, the square form its product.
        position = size
        for k in range(size):
            for m in range(k + 1, size):
                if kind == SQUARE_FORM:
                    out[position] = 2.0 * roots[k] * roots[m]
                else:
                    out[position] = min(out[k], out[m])
                position += 1
        return
    # Columns by rising difference: insertion sort, since they are few.
    for k in range(size):
        position = k
        while position > 0 and abs(roots[order[position - 1]]) > abs(roots[k]):
            order[position] = order[position - 1]
            position -= 1
        order[position] = k
    if kind == MEAN:
        for k in range(size):
            out[k] = roots[k] * roots[k]
    # Ordered weighted average: the largest difference comes first.
    elif kind == ORDERED:
        for k in range(size):
            out[k] = roots[order[size - 1 - k]] ** 2
    else:
        # Choquet integral: each rise from one difference to the next is weighed by the measure of
        # the columns that are at least as large.
        members = (1 << size) - 1
        before = 0.0
        for k in range(size):
            difference = roots[order[k]] ** 2
            out[members] = difference - before
            before = difference
            members &= ~(1 << order[k])


@njit(cache=True, nogil=True)
def compute_terms(kind, roots, width):
    """The terms of every row of ``roots``."""
    products = np.empty((roots.shape[0], width))
    order = np.zeros(roots.shape[1], np.int64)
    for p in range(roots.shape[0]):
        write_terms(kind, roots[p], products[p], order)
    return products


@njit(cache=True, nogil=True)
def keep_nearest(distance, j, distances, nearest):
    """Put a record in its place among the nearest so far, if it is one of them."""
    position = distances.size - 1
    if distance >= distances[position]:
        return
    while position > 0 and distances[position - 1] > distance:
        distances[position], nearest[position] = distances[position - 1], nearest[position - 1]
        position -= 1
    distances[position] = distance
    nearest[position] = j


@njit(cache=True, nogil=True)
def count_ties(own, distances, records, tie):
    """How many rows are at the least distance when the true record is among them, else 0."""
    nearest = distances.min()
    limit = nearest + tie * (1.0 + abs(nearest))
    ties = 0
    if own <= limit:
        for j in range(distances.size):
            if distances[j] <= limit:
                ties += records[j]
    return ties


@njit(cache=True, nogil=True)
def find_impostors(units, kind, parameters, count, files, margin, tie):
    """Per unit (a record and its true record in the other file) the distance to the true record and
    the nearest ``count`` other records.

    Also how many rows are tied at the least distance (0 where the true record is not among them);
    how many other rows are twins of the true record, as far away under all parameters; and what a
    monotone distance can reach: 0 never the nearest, 1 nearest with a tie, 2 nearest alone. Some
    other record that is no farther in any column, up to the margin, leaves a tie at best. Costs
    units × records × columns, and the terms of the distance.
    """
    own = np.empty(units.shape[0])
    nearest = np.full((units.shape[0], count), -1, np.int64)
    distances = np.full((units.shape[0], count), np.inf)
    tied = np.zeros(units.shape[0], np.int64)
    twins = np.zeros(units.shape[0], np.int64)
    reach = np.full(units.shape[0], 2, np.int64)
    (
        kinds,
        rules,
        numbers,
        marks,
        _,
        _,
        _,
        other_numbers,
        other_marks,
        other_records,
        other_bases,
    ) = files
    columns = kinds.size
    other_size = other_marks.shape[0]
    true_roots = compute_roots(units, files)
    stamps = np.full(other_bases[-1] + 1, -1, np.int64)
    roots = np.empty(columns)
    out = np.empty(parameters.size)
    order = np.zeros(columns, np.int64)
    own_terms = np.empty(parameters.size)
    all_distances = np.empty(other_size)
    for u in range(units.shape[0]):
        i = units[u, 0]
        stamp_agreeing(i, files, stamps)
        # The distance to the true record, which is not compared again below.
        write_terms(kind, true_roots[u], own_terms, order)
        own[u] = 0.0
        for t in range(out.size):
            own[u] += own_terms[t] * parameters[t]
        all_distances[units[u, 1]] = own[u]
        for j in range(other_size):
            distance = 0.0
            farthest = -np.inf
            for k in range(columns):
                other_mark = other_marks[j, k]
                agreeing = (
                    kinds[k] == CATEGORY
                    and other_mark >= 0
                    and stamps[other_bases[k] + other_mark] == i
                )
                cost = cell_cost(
                    kinds, rules, numbers, marks, other_numbers, other_marks, i, j, k, agreeing
                )
                # How much farther than the true record it is in the column where it is farthest.
                farthest = max(farthest, cost - true_roots[u, k] * true_roots[u, k])
                if kind == MEAN:
                    out[k] = cost
                else:
                    roots[k] = np.sqrt(cost)
                    if kinds[k] != CATEGORY and marks[i, k] == 0 and other_mark == 0:
                        if numbers[i, k, 0] > other_numbers[j, k, 1]:
                            roots[k] = -roots[k]
            if j == units[u, 1]:
                continue
            if kind != MEAN:
                write_terms(kind, roots, out, order)
            apart = 0.0
            for t in range(out.size):
                distance += out[t] * parameters[t]
                apart = max(apart, abs(out[t] - own_terms[t]))
            all_distances[j] = distance
            # As far as the true record in every term: no parameters tell them apart.
            if apart <= 0.1 * tie:
                twins[u] += other_records[j]
                continue
            # Dominance: no farther in any column means no farther under any monotone distance.
            if farthest < margin:
                reach[u] = min(reach[u], 0 if farthest < -tie else 1)
            keep_nearest(distance, j, distances[u], nearest[u])
        tied[u] = count_ties(own[u], all_distances, other_records, tie)
    return own, nearest, distances, tied, twins, reach
