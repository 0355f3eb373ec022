"""Loops of MDAV on many records of few dimensions: the same groups as
``microaggregation.build_mdav_groups``, found in a tree of boxes.

Arrays. ``columns`` has one row per dimension and one column per record; :class:`BoxTree` holds the
same points as one row per record, in the order of the leaves. Records without a group stand first
in their leaf. Nodes hold the box around their records and the least of their numbers. A box that
ends before the farthest record so far, or begins behind the k nearest, is not opened. Distances to
boxes are computed as those to records are, so that rounding is monotone and no box is left out
wrongly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner

_LEAF = 12
"""The most records of a leaf."""
_UNIT = 1.1102230246251565e-16
"""Half the distance of 1 to the next number."""


class BoxTree(NamedTuple):
    """Node i has the children 2i and 2i + 1; those from ``leaves`` on are leaves. Records stand in
    the order of the leaves.

    ``points`` and ``numbers`` are the records by position, ``at`` the position of a number; a node
    reaches from ``starts[i]`` to ``ends[i]`` (of a leaf: as far as records are left), has the box
    ``lows``, ``highs`` and the ``lowest`` number (that of all records: none is left).
    """

    points: NDArray[np.float64]
    numbers: NDArray[np.int64]
    at: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    lowest: NDArray[np.int64]
    leaves: int


@inner
def _select_middle(values, order, low, high, middle):
    """Put the positions low…high−1 in an order where none before ``middle`` has a greater value
    than any from there on.
    """
    high -= 1
    # Quickselect (Hoare 1961, FIND): linear on average; only the side with the middle goes on.
    while low < high:
        pivot = values[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@inner
def _find_widest(columns, order, low, high):
    """The dimension in which some records reach farthest."""
    best, width = 0, -1.0
    # One pass a dimension over the records of the node.
    for a in range(columns.shape[0]):
        low_value = np.inf
        high_value = -np.inf
        for i in range(low, high):
            value = columns[a, order[i]]
            low_value = min(low_value, value)
            high_value = max(high_value, value)
        if high_value - low_value > width:
            best = a
            width = high_value - low_value
    return best


@inner
def _build_tree(columns):
    """The tree of all records."""
    d, n = columns.shape
    leaves = 1
    # A power of two of leaves: children are 2i and 2i + 1, no pointers are stored.
    while leaves * _LEAF < n:
        leaves *= 2
    starts = np.zeros(2 * leaves, np.int64)
    ends = np.zeros(2 * leaves, np.int64)
    order = np.arange(n)
    ends[1] = n
    # k-d tree (Bentley 1975), cut at the median of the widest dimension: n log n on average.
    for node in range(1, leaves):
        low = starts[node]
        high = ends[node]
        middle = (low + high) // 2
        _select_middle(columns[_find_widest(columns, order, low, high)], order, low, high, middle)
        starts[2 * node] = low
        ends[2 * node] = middle
        starts[2 * node + 1] = middle
        ends[2 * node + 1] = high
    points = np.empty((n, d))
    at = np.empty(n, np.int64)
    for i in range(n):
        at[order[i]] = i
        for a in range(d):
            points[i, a] = columns[a, order[i]]
    lows = np.empty((2 * leaves, d))
    highs = np.empty((2 * leaves, d))
    tree = BoxTree(
        points, order, at, starts, ends, lows, highs, np.empty(2 * leaves, np.int64), leaves
    )
    # Children have higher numbers, so they are measured before their parents.
    for node in range(2 * leaves - 1, 0, -1):
        _measure_node(tree, node)
    return tree


@inner
def _measure_node(tree, node):
    """The box and the least number of a node, from its records or its children."""
    lowest = tree.numbers.size
    for a in range(tree.points.shape[1]):
        tree.lows[node, a] = np.inf
        tree.highs[node, a] = -np.inf
    if node >= tree.leaves:
        for i in range(tree.starts[node], tree.ends[node]):
            lowest = min(lowest, tree.numbers[i])
            for a in range(tree.points.shape[1]):
                tree.lows[node, a] = min(tree.lows[node, a], tree.points[i, a])
                tree.highs[node, a] = max(tree.highs[node, a], tree.points[i, a])
    else:
        for child in range(2 * node, 2 * node + 2):
            lowest = min(lowest, tree.lowest[child])
            for a in range(tree.points.shape[1]):
                tree.lows[node, a] = min(tree.lows[node, a], tree.lows[child, a])
                tree.highs[node, a] = max(tree.highs[node, a], tree.highs[child, a])
    tree.lowest[node] = lowest


@inner
def _squared_distance(point, second):
    """The squared distance of two points, added up dimension by dimension."""
    total = (point[0] - second[0]) * (point[0] - second[0])
    for a in range(1, point.size):
        total += (point[a] - second[a]) * (point[a] - second[a])
    return total


@inner
def _farthest_corner(tree, node, centre):
    """The squared distance of a point from the farthest corner of a box."""
    total = 0.0
    # Either end of the box may be the farther one in a dimension.
    for a in range(centre.size):
        low = tree.lows[node, a] - centre[a]
        high = tree.highs[node, a] - centre[a]
        total += max(low * low, high * high)
    return total


@inner
def _box_distance(tree, node, centre):
    """The squared distance of a point from a box."""
    total = 0.0
    # At most one of the two terms is not 0: the point lies below the box, above it, or inside.
    for a in range(centre.size):
        gap = max(tree.lows[node, a] - centre[a], 0.0) + min(tree.highs[node, a] - centre[a], 0.0)
        total += gap * gap
    return total


@inner
def _equal_points(point, second):
    """Whether two points are equal in all dimensions."""
    for a in range(point.size):
        if point[a] != second[a]:
            return False
    return True


@inner
def _is_point(tree, node, point):
    """Whether a box is nothing but a point."""
    return _equal_points(tree.lows[node], point) and _equal_points(tree.highs[node], point)


@inner
def _farthest(tree, centre, waiting):
    """The position of the record farthest from a point, its squared distance, and that of the next
    one elsewhere.
    """
    best = -1
    farthest = -1.0
    second = -1.0
    waiting[0], height = 1, 1
    # Branch and bound over boxes, the farther child first, so that ``farthest`` rises early. A
    # stack as deep as the tree, one more a level.
    while height > 0:
        height -= 1
        node = waiting[height]
        if tree.lowest[node] == tree.numbers.size:
            continue
        reach = _farthest_corner(tree, node, centre)
        # No record of the box can be farther, or as far with a smaller number; nor the next one
        # elsewhere.
        if best >= 0 and not (reach >= farthest and tree.lowest[node] < tree.numbers[best]):
            if reach <= second or _is_point(tree, node, tree.points[best]):
                continue
        if node < tree.leaves:
            nearer = 2 * node + (
                1
                if _farthest_corner(tree, 2 * node, centre)
                > _farthest_corner(tree, 2 * node + 1, centre)
                else 0
            )
            waiting[height] = nearer
            waiting[height + 1] = 4 * node + 1 - nearer
            height += 2
            continue
        for i in range(tree.starts[node], tree.ends[node]):
            away = _squared_distance(tree.points[i], centre)
            if away < farthest:
                second = max(second, away)
                continue
            if best >= 0 and not _equal_points(tree.points[i], tree.points[best]):
                second = farthest
            if away > farthest or tree.numbers[i] < tree.numbers[best]:
                best, farthest = i, away
    return best, farthest, second


@inner
def _nearest(tree, centre, k, waiting, nearest, outs):
    """The numbers of the k records nearest to a point, in ``nearest``; ``outs`` receives their
    squared distances.
    """
    count = 0
    waiting[0], height = 1, 1
    # Branch and bound, the nearer child first; k nearest in order, ties by number.
    while height > 0:
        height -= 1
        node = waiting[height]
        if tree.lowest[node] == tree.numbers.size:
            continue
        # All records of a box are at least as far as the box: it is passed over when k nearer ones
        # are there.
        gap = _box_distance(tree, node, centre)
        if count == k and (
            gap > outs[k - 1] or (gap == outs[k - 1] and tree.lowest[node] > nearest[k - 1])
        ):
            continue
        if node < tree.leaves:
            nearer = 2 * node + (
                1
                if _box_distance(tree, 2 * node + 1, centre) < _box_distance(tree, 2 * node, centre)
                else 0
            )
            waiting[height] = 4 * node + 1 - nearer
            waiting[height + 1] = nearer
            height += 2
            continue
        for i in range(tree.starts[node], tree.ends[node]):
            away = _squared_distance(tree.points[i], centre)
            number = tree.numbers[i]
            if count == k and (
                away > outs[k - 1] or (away == outs[k - 1] and number > nearest[k - 1])
            ):
                continue
            position = count if count < k else k - 1
            count = min(count + 1, k)
            # Insertion sort: k is small, and most records are farther than all k.
            while position > 0 and (
                outs[position - 1] > away
                or (outs[position - 1] == away and nearest[position - 1] > number)
            ):
                nearest[position], outs[position] = nearest[position - 1], outs[position - 1]
                position -= 1
            nearest[position] = number
            outs[position] = away


@inner
def _leaf_of(tree, position):
    """The leaf that holds a position."""
    node = 1
    # log n steps; starts of nodes never change.
    while node < tree.leaves:
        node = 2 * node + (1 if position >= tree.starts[2 * node + 1] else 0)
    return node


@inner
def _remove_record(tree, number):
    """Take a record out of its leaf, and make the boxes above it smaller."""
    position = tree.at[number]
    node = _leaf_of(tree, position)
    tree.ends[node] -= 1
    last = tree.ends[node]
    tree.numbers[position], tree.at[tree.numbers[last]] = tree.numbers[last], position
    for a in range(tree.points.shape[1]):
        tree.points[position, a] = tree.points[last, a]
    # Boxes shrink on the way to the root, so that searches stay tight: log n boxes.
    while node >= 1:
        _measure_node(tree, node)
        node //= 2


class RecordsLeft(NamedTuple):
    """The records that are left as ``microaggregation.build_mdav_groups`` holds them, whose means
    are sums in this order.

    ``columns`` and ``numbers`` by place, ``at`` the place of a number; ``sums`` and ``carried`` are
    what they add up to.
    """

    columns: NDArray[np.float64]
    numbers: NDArray[np.int64]
    at: NDArray[np.int64]
    sums: NDArray[np.float64]
    carried: NDArray[np.float64]


@inner
def _add_to_sum(remaining, a, value):
    """Add to the sum of a dimension; what rounding takes away is carried along."""
    # Compensated summation (Neumaier 1974): sums stay exact to the last digit over many removals.
    total = remaining.sums[a] + value
    if abs(remaining.sums[a]) >= abs(value):
        remaining.carried[a] += (remaining.sums[a] - total) + value
    else:
        remaining.carried[a] += (value - total) + remaining.sums[a]
    remaining.sums[a] = total


@inner
def _take(tree, remaining, count, members, groups, group):
    """Put records into a group and close the gaps they leave; returns how many are left."""
    gone = np.sort(remaining.at[members])
    for b in range(gone.size):
        number = remaining.numbers[gone[b]]
        groups[number] = group
        _remove_record(tree, number)
    # From the highest place down, as in ``microaggregation``: the order of the records, and with it
    # the rounding of their sums, is the same.
    for b in range(gone.size - 1, -1, -1):
        count -= 1
        remaining.numbers[gone[b]] = remaining.numbers[count]
        remaining.at[remaining.numbers[count]] = gone[b]
        for a in range(remaining.columns.shape[0]):
            _add_to_sum(remaining, a, -remaining.columns[a, gone[b]])
            remaining.columns[a, gone[b]] = remaining.columns[a, count]
    return count


@inner
def _bound_mean_error(tree, count, widest):
    """How far the mean, added up in any order, may lie from the one that is carried along."""
    n = tree.numbers.size
    total = 0.0
    # Plain summation of ``count`` numbers errs by at most (count − 1) units of rounding of the sum
    # of absolute values; compensated summation by a square of it.
    for a in range(tree.points.shape[1]):
        largest = max(abs(tree.lows[1, a]), abs(tree.highs[1, a]))
        error = (
            2.0 * (count + 4.0) * _UNIT * largest + 8.0 * (n * _UNIT) * (n * _UNIT) * widest / count
        )
        total += error * error
    return np.sqrt(total)


@inner
def _find_outermost(tree, remaining, count, widest, centre, waiting):
    """The position of the record farthest from the mean of the remaining ones.

    Where rounding could decide, the mean is added up in the order of
    ``microaggregation.build_mdav_groups``.
    """
    for a in range(centre.size):
        centre[a] = (remaining.sums[a] + remaining.carried[a]) / count
    best, farthest, second = _farthest(tree, centre, waiting)
    slack = 2.0 * _bound_mean_error(tree, count, widest) + 4.0 * (
        centre.size + 4.0
    ) * _UNIT * np.sqrt(farthest)
    # The farthest record leads by more than both means can differ: rounding cannot decide.
    if second < 0.0 or np.sqrt(farthest) - np.sqrt(second) > slack:
        return best
    # Else the mean is summed in the other function's order, and the search repeated.
    for a in range(centre.size):
        total = 0.0
        for i in range(count):
            total += remaining.columns[a, i]
        centre[a] = total / count
    return _farthest(tree, centre, waiting)[0]


@njit(cache=True, nogil=True)
def build_mdav_groups(columns, k, groups):
    """Maximum distance to average vector (Domingo-Ferrer & Torra 2005); returns the number of
    groups, the same ones that ``microaggregation.build_mdav_groups`` finds.

    ``columns`` has no missing or infinite numbers and is used up. n log n steps where boxes are
    small, n² ∕ k at worst.
    """
    d, count = columns.shape
    group_count, tree = 0, _build_tree(columns)
    remaining = RecordsLeft(columns, np.arange(count), np.arange(count), np.zeros(d), np.zeros(d))
    widest = 0.0
    for a in range(d):
        widest = max(widest, abs(tree.lows[1, a]), abs(tree.highs[1, a]))
        for i in range(count):
            _add_to_sum(remaining, a, columns[a, i])
    waiting = np.empty(128, np.int64)
    members = np.empty(k, np.int64)
    outs = np.empty(k)
    centre = np.empty(d)
    second_seed = np.empty(d)
    while count >= 2 * k:
        # With 3k or more records two groups a round, around r and around s; with 2k or more, one.
        two_groups = count >= 3 * k
        centre[:] = tree.points[_find_outermost(tree, remaining, count, widest, centre, waiting)]
        second_seed[:] = tree.points[_farthest(tree, centre, waiting)[0]]
        _nearest(tree, centre, k, waiting, members, outs)
        count = _take(tree, remaining, count, members, groups, group_count)
        group_count += 1
        if two_groups:
            _nearest(tree, second_seed, k, waiting, members, outs)
            count = _take(tree, remaining, count, members, groups, group_count)
            group_count += 1
    # The last 1 … 2k − 1 records are the last group.
    for i in range(count):
        groups[remaining.numbers[i]] = group_count
    return group_count + (1 if count > 0 else 0)
