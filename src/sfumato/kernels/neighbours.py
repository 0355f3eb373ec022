"""A tree over the records of one file, to find the nearest to each record of another, exactly.

It is a k-d tree whose boxes also bound categories, ranges and open cells: per column the ends on the line, the least
width, the range of codes, and which kinds of cell occur. Records are parted at the middle of the column that tells
most of them apart. No record that could be as near as the best is passed over. Costs are never negative.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.linkage import (
    ABSOLUTE,
    CATEGORY,
    GRADED,
    MISSING,
    NEARING,
    OPEN,
    SLACK,
    SQUARE,
    agree,
    cell_cost,
    line_cost,
    stamp_agreeing,
)
from sfumato.kernels.loop_cache import njit

LEAF = 16
PROBES = 32
HAS_PLACE, HAS_OPEN, HAS_MISSING = 1, 2, 4


@njit(cache=True, nogil=True)
def _key(kind, number, mark):
    """Where a cell stands among others: open ones first, missing ones last."""
    if mark == OPEN:
        return -np.inf
    if mark == MISSING:
        return np.inf
    return float(mark) if kind == CATEGORY else (number[0] + number[1]) / 2.0


@njit(cache=True, nogil=True)
def _telling(kinds, rules, numbers, marks, order, low, high):
    """The column in which records far apart in the order differ most; −1 where they differ in none."""
    best, most = -1, 0.0
    half = (high - low) // 2
    step = max(1, half // PROBES)
    for k in range(kinds.size):
        total = 0.0
        for p in range(low, low + half, step):
            one, two = order[p], order[p + half]
            first = _key(kinds[k], numbers[one, k], marks[one, k])
            second = _key(kinds[k], numbers[two, k], marks[two, k])
            if first == second:
                continue
            apart = abs(first - second)
            if kinds[k] == SQUARE and np.isfinite(apart):
                total += rules[k, 0] * apart * apart
            elif kinds[k] == ABSOLUTE and np.isfinite(apart):
                total += rules[k, 0] * apart
            elif kinds[k] == GRADED and np.isfinite(apart):
                total += (1e-6 + abs(rules[k, 0] - rules[k, 5])) * min(1.0, apart / (8.0 * rules[k, 4] + 1e-12))
            elif kinds[k] == NEARING and np.isfinite(apart):
                total += 1e-6 + min(abs(rules[k, 0] - rules[k, 7]), rules[k, 4] * apart * apart)
            else:
                total += 1e-6 + abs(rules[k, 0] - (rules[k, 5] if kinds[k] != SQUARE else 0.0))
        if total > most:
            best, most = k, total
    return best


@njit(cache=True, nogil=True)
def _bound_box(kinds, numbers, marks, order, low, high, ends, codes, holds):
    """Write down what the cells of some records have between them."""
    for k in range(kinds.size):
        ends[k, 0], ends[k, 1], ends[k, 2] = np.inf, -np.inf, np.inf
        codes[k, 0], codes[k, 1], holds[k] = 2**62, -1, 0
        for p in range(low, high):
            i = order[p]
            mark = marks[i, k]
            if mark == OPEN:
                holds[k] |= HAS_OPEN
            elif mark == MISSING:
                holds[k] |= HAS_MISSING
            else:
                holds[k] |= HAS_PLACE
                ends[k, 0] = min(ends[k, 0], numbers[i, k, 0])
                ends[k, 1] = max(ends[k, 1], numbers[i, k, 1])
                ends[k, 2] = min(ends[k, 2], numbers[i, k, 2])
                codes[k, 0] = min(codes[k, 0], mark)
                codes[k, 1] = max(codes[k, 1], mark)


@njit(cache=True, nogil=True)
def _cut(keys, low, high):
    """Where to part sorted keys: between two different ones, as near the middle as can be; −1 when all are alike."""
    middle = (high - low) // 2
    for away in range(middle + 1):
        for place in (middle - away, middle + away):
            if 0 < place < high - low and keys[place - 1] < keys[place]:
                return low + place
    return -1


@njit(cache=True, nogil=True)
def build_tree(kinds, rules, numbers, marks):
    """The tree: order of the records, per node where it starts and ends, its two children, and its bounds."""
    size, columns = marks.shape
    most = max(1, 2 * size)
    order = np.arange(size)
    spans, children = np.zeros((most, 2), np.int64), np.full((most, 2), -1, np.int64)
    ends, codes = np.empty((most, columns, 3)), np.empty((most, columns, 2), np.int64)
    holds = np.zeros((most, columns), np.int64)
    spans[0, 1] = size
    count, done = 1, 0
    while done < count:
        low, high = spans[done, 0], spans[done, 1]
        _bound_box(kinds, numbers, marks, order, low, high, ends[done], codes[done], holds[done])
        k = _telling(kinds, rules, numbers, marks, order, low, high) if high - low > LEAF else -1
        if k >= 0:
            keys = np.empty(high - low)
            for p in range(low, high):
                keys[p - low] = _key(kinds[k], numbers[order[p], k], marks[order[p], k])
            sorting = np.argsort(keys)
            order[low:high] = order[low:high][sorting]
            place = _cut(keys[sorting], low, high)
            if place > 0:
                spans[count, 0], spans[count, 1], spans[count + 1, 0], spans[count + 1, 1] = low, place, place, high
                children[done, 0], children[done, 1] = count, count + 1
                count += 2
        done += 1
    return order, spans[:count], children[:count], ends[:count], codes[:count], holds[:count]


@njit(cache=True, nogil=True, inline="always")
def _least(node, k, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches):
    """At least this much does any record of a node cost in one column."""
    mark, held = marks[i, k], holds[node, k]
    if mark == OPEN:
        return rules[k, 1]
    least = rules[k, 1] if held & HAS_OPEN else np.inf
    if held & HAS_MISSING:
        least = min(least, rules[k, 3] if mark == MISSING else rules[k, 2])
    if held & HAS_PLACE:
        if kinds[k] == CATEGORY:
            least = min(least, rules[k, 0])
            if agree(mark, codes[node, k, 0], codes[node, k, 1], bases[k], starts, matches):
                least = min(least, max(numbers[i, k, 2], ends[node, k, 2]))
        elif mark == MISSING:
            least = min(least, rules[k, 2])
        else:
            gap = max(0.0, ends[node, k, 0] - numbers[i, k, 1], numbers[i, k, 0] - ends[node, k, 1])
            if kinds[k] == GRADED:
                least = min(least, rules[k, 0])
                if gap <= rules[k, 4] + SLACK:
                    least = min(least, rules[k, 7])
                if gap <= SLACK:
                    least = min(least, rules[k, 5], rules[k, 6])
            elif kinds[k] == NEARING:
                least = min(least, rules[k, 0], rules[k, 7] + rules[k, 4] * gap * gap)
                if gap <= SLACK:
                    least = min(least, rules[k, 5], rules[k, 6])
            else:
                half = numbers[i, k, 2] + ends[node, k, 2]
                least = min(least, line_cost(kinds[k], gap, half, False, rules[k, 0], 0.0, 0.0, 0.0, 0.0))
    return least


@njit(cache=True, nogil=True)
def _bound(node, weights, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches, limit):
    """At least this much does any record of a node cost, columns weighted; given up as soon as that exceeds the limit."""
    total = 0.0
    for k in range(kinds.size):
        least = _least(node, k, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches)
        total += least * weights[k]
        if total > limit:
            break
    return total


@njit(cache=True, nogil=True)
def descend(
    i, best, counting, slack, weights, skip, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases, starts,
    matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps, listed, work,
):  # fmt: skip
    """Record *i*: the least cost of any record of the tree but ``skip``, at most ``best``; counting, how many cost no more than that.

    Not counting, the record that costs least stands in place of how many, −1 where none costs less than ``best``.
    Columns are weighted. Counting, the records are written into ``listed`` too, where it has room for all; returns the least cost, how
    many rows have such a record, and how many records that are. ``work[0]`` grows by the boxes and records held against *i*.
    """
    limit = best + slack * (1.0 + abs(best)) if counting else best
    found, amount, height = 0 if counting else -1, 0, 1
    stack[0], bounds[0] = 0, -np.inf
    while height > 0:
        height -= 1
        node = stack[height]
        if bounds[height] > limit:
            continue
        one, two = children[node, 0], children[node, 1]
        if one >= 0:
            work[0] += 2
            first = _bound(
                one, weights, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches, limit
            )
            second = _bound(
                two, weights, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches, limit
            )
            if first < second:
                one, two, first, second = two, one, second, first
            stack[height], bounds[height] = one, first
            stack[height + 1], bounds[height + 1] = two, second
            height += 2
            continue
        work[0] += spans[node, 1] - spans[node, 0]
        for p in range(spans[node, 0], spans[node, 1]):
            j = order[p]
            if j == skip:
                continue
            total = 0.0
            for k in range(kinds.size):
                other = other_marks[j, k]
                total += weights[k] * cell_cost(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                    other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i,
                    rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
                )  # fmt: skip
                if total > limit:
                    break
            if counting:
                if total <= limit:
                    found += records[j]
                    if listed.size:
                        listed[amount] = j
                    amount += 1
            elif total < best:
                best, limit, found = total, total, j
    return best, found, amount


# The nearest records by category first, by the tree where that does not settle it.
#
# Per column of categories the records that hold each code are listed. A record that is on none of the lists of the columns
# looked through so far differs in all of them, which is what it costs at least: when that is more than the best found,
# nothing else can be as near. This settles files with rare categories in a few hundred comparisons; the tree settles
# files of numbers and ranges, and starts from the best found here.

FEW, SHARE, SHARE_OF_CATEGORIES = 256, 64, 3
"""Lists of more records than the few, and than one in so many of all, are not looked through. Where all columns are
categories the tree can leave out little, and longer lists still pay."""


@njit(cache=True, nogil=True)
def _shortest(i, marks, bases, starts, matches, lists, list_starts, done):
    """The column not looked through yet in which the fewest records could agree, and how many those are."""
    column, least = -1, np.int64(2**62)
    for k in range(marks.shape[1]):
        if lists[k] < 0 or done[k] or marks[i, k] < 0:
            continue
        first = list_starts[lists[k]]
        length = list_starts[lists[k] + 1] - first
        for m in range(starts[bases[k] + marks[i, k]], starts[bases[k] + marks[i, k] + 1]):
            code = lists[k] + 1 + matches[m]
            length += list_starts[code + 1] - list_starts[code]
        if length < least:
            column, least = k, length
    return column, least


@njit(cache=True, nogil=True)
def _look_through(
    i, column, best, slack, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches,
    lists, list_starts, listed, seen, candidates, totals, found, other_bases, stamps, work,
):  # fmt: skip
    """Compare with all records that could agree in a column; the first list holds those that are open in it."""
    place = bases[column] + marks[i, column]
    first, last = starts[place], starts[place + 1]
    for m in range(first - 1, last):
        code = lists[column] if m < first else lists[column] + 1 + matches[m]
        for p in range(list_starts[code], list_starts[code + 1]):
            j = listed[p]
            if seen[j] == i:
                continue
            seen[j] = i
            work[0] += 1
            limit = best + slack * (1.0 + abs(best))
            total = 0.0
            for k in range(kinds.size):
                other = other_marks[j, k]
                total += cell_cost(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                    other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i,
                    rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
                )  # fmt: skip
                if total > limit:
                    break
            if total <= limit:
                candidates[found], totals[found] = j, total
                found += 1
                best = min(best, total)
    return best, found


@njit(cache=True, nogil=True)
def nearest(
    queries, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases, starts, matches,
    order, spans, children, ends, codes, holds, lists, list_starts, listed, other_bases, slack, work,
):  # fmt: skip
    """Per query the least cost of any record of the other file, how many records cost that, within the slack, and one of them.

    ``work[0]`` grows by the boxes and records that were held against queries.
    """
    chosen = np.full(queries.size, -1, np.int64)
    least, tied = np.full(queries.size, np.inf), np.zeros(queries.size, np.int64)
    stack, bounds = np.empty(spans.shape[0] + 1, np.int64), np.empty(spans.shape[0] + 1)
    seen, candidates = np.full(records.size, -1, np.int64), np.empty(records.size, np.int64)
    stamps = np.full(other_bases[-1] + 1, -1, np.int64)
    totals, done = np.empty(records.size), np.zeros(kinds.size, np.bool_)
    alike, none = np.ones(kinds.size), np.empty(0, np.int64)
    share = SHARE_OF_CATEGORIES
    for kind in kinds:
        if kind != CATEGORY:
            share = SHARE
    for q in range(queries.size):
        i, best, found, floor, settled = queries[q], np.inf, 0, 0.0, False
        done[:] = False
        stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
        while not settled:
            k, length = _shortest(i, marks, bases, starts, matches, lists, list_starts, done)
            if k < 0 or length > max(FEW, records.size // share):
                break
            done[k] = True
            best, found = _look_through(
                i, k, best, slack, kinds, rules, numbers, marks, other_numbers, other_marks, bases, starts, matches,
                lists, list_starts, listed, seen, candidates, totals, found, other_bases, stamps, work,
            )  # fmt: skip
            floor += rules[k, 0]
            settled = floor > best + slack * (1.0 + abs(best))
        for c in range(found):
            if totals[c] == best:
                chosen[q] = candidates[c]
            if settled and totals[c] <= best + slack * (1.0 + abs(best)):
                tied[q] += records[candidates[c]]
        if not settled:
            for counting in (False, True):
                best, told, _ = descend(
                    i, best, counting, slack, alike, -1, kinds, rules, numbers, marks, other_numbers, other_marks, records,
                    bases, starts, matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps, none,
                    work,
                )  # fmt: skip
                if counting:
                    tied[q] = told
                elif told >= 0:
                    chosen[q] = told
        least[q] = best
    return least, tied, chosen


# All records that are nearest, and the nearest others of records whose own is known.


@njit(cache=True, nogil=True)
def all_nearest(
    i, skip, slack, weights, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases, starts, matches,
    order, spans, children, ends, codes, holds, other_bases, stamps, work,
):  # fmt: skip
    """The least weighted cost of any record but ``skip`` for record *i*, and the records that cost that, within the slack.

    ``stamps`` may be used again as long as another record comes with other codes: *i* is what is stamped.
    """
    stack, bounds = np.empty(spans.shape[0] + 1, np.int64), np.empty(spans.shape[0] + 1)
    stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
    none = np.empty(0, np.int64)
    best, _, _ = descend(
        i, np.inf, False, slack, weights, skip, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases,
        starts, matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps, none, work,
    )  # fmt: skip
    if best == np.inf:
        return best, none
    listed = np.empty(records.size, np.int64)
    _, _, amount = descend(
        i, best, True, slack, weights, skip, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases,
        starts, matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps, listed, work,
    )  # fmt: skip
    return best, listed[:amount].copy()


@njit(cache=True, nogil=True)
def least_cost(
    i, slack, weights, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases, starts, matches,
    order, spans, children, ends, codes, holds, other_bases, stamps, work,
):  # fmt: skip
    """The least weighted cost of any record for record *i*: the first half of :func:`all_nearest`."""
    stack, bounds = np.empty(spans.shape[0] + 1, np.int64), np.empty(spans.shape[0] + 1)
    stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
    best, _, _ = descend(
        i, np.inf, False, slack, weights, -1, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases,
        starts, matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps, np.empty(0, np.int64), work,
    )  # fmt: skip
    return best


@njit(cache=True, nogil=True)
def first_of_nodes(order, spans, children):
    """Per node of a tree the lowest number of any of its records."""
    lowest = np.empty(spans.shape[0], np.int64)
    for node in range(spans.shape[0] - 1, -1, -1):  # children come after their parents
        if children[node, 0] >= 0:
            lowest[node] = min(lowest[children[node, 0]], lowest[children[node, 1]])
        else:
            lowest[node] = np.int64(2**62)
            for p in range(spans[node, 0], spans[node, 1]):
                lowest[node] = min(lowest[node], order[p])
    return lowest


@njit(cache=True, nogil=True)
def _keep_in_order(distance, j, distances, nearest):
    """Put a record in its place among the nearest so far; of equally near ones the lowest numbers come first."""
    place = distances.size - 1
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and nearest[place - 1] > j)
    ):
        distances[place], nearest[place] = distances[place - 1], nearest[place - 1]
        place -= 1
    distances[place], nearest[place] = distance, j


@njit(cache=True, nogil=True)
def _nearest_others(
    i, own, own_terms, apart, weights, distances, nearest, kinds, rules, numbers, marks, other_numbers, other_marks, bases,
    starts, matches, order, spans, children, ends, codes, holds, lowest, stack, bounds, other_bases, stamps, work,
):  # fmt: skip
    """The nearest records to *i* but for its own and those that cost the same as that in every column, up to ``apart``."""
    last, height = distances.size - 1, 1
    stack[0], bounds[0] = 0, -np.inf
    while height > 0:
        height -= 1
        node, limit = stack[height], distances[last]
        if bounds[height] > limit or (bounds[height] == limit and 0 <= nearest[last] < lowest[node]):
            continue
        one, two = children[node, 0], children[node, 1]
        if one >= 0:
            work[0] += 2
            first = _bound(
                one, weights, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches, limit
            )
            second = _bound(
                two, weights, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches, limit
            )
            if first < second or (first == second and lowest[one] < lowest[two]):
                one, two, first, second = two, one, second, first
            stack[height], bounds[height] = one, first
            stack[height + 1], bounds[height + 1] = two, second
            height += 2
            continue
        work[0] += spans[node, 1] - spans[node, 0]
        for p in range(spans[node, 0], spans[node, 1]):
            j = order[p]
            total, unlike = 0.0, 0.0
            for k in range(kinds.size):
                other = other_marks[j, k]
                cost = cell_cost(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                    other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i,
                    rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
                )  # fmt: skip
                total += cost * weights[k]
                unlike = max(unlike, abs(cost - own_terms[k]))
                if total > distances[last]:
                    break
            if j == own or unlike <= apart or total > distances[last]:
                continue
            if total < distances[last] or nearest[last] < 0 or j < nearest[last]:
                _keep_in_order(total, j, distances, nearest)


@njit(cache=True, nogil=True)
def _surrounded(
    i, own, own_terms, apart, margin, tie, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases, starts,
    matches, order, spans, children, ends, codes, holds, stack, other_bases, stamps, work,
):  # fmt: skip
    """How many records are as far from *i* as its own in every column, and what a monotone distance can reach for it.

    Only records no farther than its own in any column, up to the margin, matter: nodes that are farther in one are left out.
    """
    twins, reach, height = 0, 2, 1
    stack[0] = 0
    while height > 0:
        height -= 1
        node = stack[height]
        beyond = False
        for k in range(kinds.size):
            least = _least(node, k, kinds, rules, numbers, marks, i, ends, codes, holds, bases, starts, matches)
            if least - own_terms[k] >= margin:
                beyond = True
                break
        if beyond:
            continue
        if children[node, 0] >= 0:
            stack[height], stack[height + 1] = children[node, 0], children[node, 1]
            height += 2
            work[0] += 2
            continue
        work[0] += spans[node, 1] - spans[node, 0]
        for p in range(spans[node, 0], spans[node, 1]):
            j = order[p]
            farthest, unlike = -np.inf, 0.0
            for k in range(kinds.size):
                other = other_marks[j, k]
                cost = cell_cost(
                    kinds[k], marks[i, k], numbers[i, k, 0], numbers[i, k, 1], numbers[i, k, 2],
                    other, other_numbers[j, k, 0], other_numbers[j, k, 1], other_numbers[j, k, 2],
                    kinds[k] == CATEGORY and other >= 0 and stamps[other_bases[k] + other] == i,
                    rules[k, 0], rules[k, 1], rules[k, 2], rules[k, 3], rules[k, 4], rules[k, 5], rules[k, 6], rules[k, 7],
                )  # fmt: skip
                farthest, unlike = max(farthest, cost - own_terms[k]), max(unlike, abs(cost - own_terms[k]))
                if farthest >= margin:
                    break
            if j == own or farthest >= margin:
                continue
            if unlike <= apart:
                twins += records[j]
            else:
                reach = min(reach, 0 if farthest < -tie else 1)
    return twins, reach


@njit(cache=True, nogil=True)
def impostors(
    units, parameters, most, surrounded, true_roots, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases,
    starts, matches, order, spans, children, ends, codes, holds, lowest, other_bases, margin, tie, work,
):  # fmt: skip
    """What :func:`sfumato.kernels.linkage.impostors` finds for a weighted mean, without a look at records that are too far.

    ``true_roots`` are the roots of each unit's differences from its own. Twins and reach, which no weights change, are found only
    where ``surrounded`` says so, and are 0 otherwise.
    """
    size = units.shape[0]
    own, tied = np.empty(size), np.zeros(size, np.int64)
    nearest, distances = np.full((size, most), -1, np.int64), np.full((size, most), np.inf)
    twins, reach = np.zeros(size, np.int64), np.zeros(size, np.int64)
    stamps, none = np.full(other_bases[-1] + 1, -1, np.int64), np.empty(0, np.int64)
    stack, bounds = np.empty(spans.shape[0] + 1, np.int64), np.empty(spans.shape[0] + 1)
    own_terms = np.empty(kinds.size)
    for u in range(size):
        i, mine = units[u, 0], units[u, 1]
        stamp_agreeing(i, kinds, marks, bases, starts, matches, other_bases, stamps)
        own[u] = 0.0
        for k in range(kinds.size):
            own_terms[k] = true_roots[u, k] * true_roots[u, k]
            own[u] += own_terms[k] * parameters[k]
        _nearest_others(
            i, mine, own_terms, 0.1 * tie, parameters, distances[u], nearest[u], kinds, rules, numbers, marks, other_numbers,
            other_marks, bases, starts, matches, order, spans, children, ends, codes, holds, lowest, stack, bounds, other_bases,
            stamps, work,
        )  # fmt: skip
        least = min(own[u], distances[u, 0])  # twins are as far as its own, up to a tenth of what is a tie
        if own[u] <= least + tie * (1.0 + abs(least)):
            _, found, _ = descend(
                i, least, True, tie, parameters, mine, kinds, rules, numbers, marks, other_numbers, other_marks, records, bases,
                starts, matches, order, spans, children, ends, codes, holds, stack, bounds, other_bases, stamps, none,
                work,
            )  # fmt: skip
            tied[u] = found + records[mine]
        if surrounded:
            twins[u], reach[u] = _surrounded(
                i, mine, own_terms, 0.1 * tie, margin, tie, kinds, rules, numbers, marks, other_numbers, other_marks, records,
                bases, starts, matches, order, spans, children, ends, codes, holds, stack, other_bases, stamps, work,
            )  # fmt: skip
    return own, nearest, distances, tied, twins, reach
