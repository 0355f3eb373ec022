"""Loops that grow a classification or regression tree (CART) on predictors given as bins, and send
records down it.

Arrays. ``bins[f, i]`` is the bin of record *i* in predictor *f*, one byte. One list of records
(``order``) is cut in two at every split and stays one list: a node is a stretch of it, from ``lo``
to ``hi``. ``nodes`` has the rows feature, cut, left, right, parent, lo, hi, depth and a column per
node. Nodes are numbered in preorder, a node before its left child and all below that before its
right one. A record goes left when its bin is at most the ``cut``; a leaf has −1 for its
``feature``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit

UNSEEN = 255
"""The bin of what did not occur when the tree was grown: it goes where more records went."""
EQUAL = 1 + 1e-12
"""Scores whose ratio is smaller are equal but for rounding: the first of them is taken, whatever
the order of the sums.
"""


class ClassRoom(NamedTuple):
    """Room to look for the best split of a node; a segment ``order[lo:hi]`` has its records."""

    counts: NDArray[np.int32]
    """(bins × classes,): records of each bin and class."""
    left_counts: NDArray[np.int64]
    """(classes,): records of each class left of the cut."""
    starts: NDArray[np.int64]
    """(256,): where each bin ends among the sorted targets."""
    sorted_target: NDArray[np.uint8]
    """(records,): classes in the order of the bins."""
    totals: NDArray[np.int64]
    """(classes,): records of each class in the node."""


@njit(cache=True, nogil=True)
def _counted_cut(bins, target, segment, width, leaf_size, room):
    """The best cut of one predictor by counts of bins × classes: its score Σ L²/n_L + Σ R²/n_R, and
    the last bin on the left.

    The sums of squares are kept running: h records of a class that has L on the left add h(2L + h)
    there, and h(h − 2R) on the right.
    """
    order, lo, hi = segment
    counts = room.counts
    left_counts = room.left_counts
    totals = room.totals
    classes = totals.size
    for i in range(width * classes):
        counts[i] = 0
    # One pass over the records; what follows costs bins × classes only.
    for i in range(lo, hi):
        counts[np.int64(bins[order[i]]) * classes + target[order[i]]] += 1
    squares_left = np.int64(0)
    squares_right = np.int64(0)
    for k in range(classes):
        left_counts[k] = 0
        squares_right += totals[k] * totals[k]
    n_left = np.int64(0)
    best, cut = 0.0, -1
    # Bins from left to right: all records of a bin move over at once.
    for b in range(width - 1):
        before = n_left
        for k in range(classes):
            h = np.int64(counts[b * classes + k])
            if h > 0:
                squares_left += h * (2 * left_counts[k] + h)
                squares_right += h * (h - 2 * (totals[k] - left_counts[k]))
                left_counts[k] += h
                n_left += h
        n_right = hi - lo - n_left
        # The right side only shrinks from here on: no later cut can be legal.
        if n_right < leaf_size:
            break
        # A bin without records gives the cut of the bin before it, which came first.
        if n_left > before and n_left >= leaf_size:
            score = squares_left / n_left + squares_right / n_right
            if score > best * EQUAL:
                best, cut = score, b
    return best, cut


@njit(cache=True, nogil=True)
def _sorted_by_bin(bins, target, order, lo, hi, starts, sorted_target):
    """Targets of the records of a node in the order of their bins; returns the lowest and highest
    bin. ``starts[b]`` ends bin b.
    """
    # Bins are bytes: 255 is the highest there is.
    low = np.int64(255)
    high = np.int64(0)
    for i in range(lo, hi):
        own = np.int64(bins[order[i]])
        low = min(low, own)
        high = max(high, own)
    if low == high:
        return low, high
    # Counting sort over the bins between lowest and highest; stable, two passes over the records.
    for b in range(low, high + 1):
        starts[b] = 0
    for i in range(lo, hi):
        starts[bins[order[i]]] += 1
    total = 0
    for b in range(low, high + 1):
        count = starts[b]
        starts[b] = total
        total += count
    for i in range(lo, hi):
        own = np.int64(bins[order[i]])
        sorted_target[starts[own]] = target[order[i]]
        starts[own] += 1
    return low, high


@njit(cache=True, nogil=True)
def _walked_cut(bins, target, segment, leaf_size, room):
    """As :func:`_counted_cut`, record by record: for nodes with fewer records than there are bins ×
    classes.
    """
    order, lo, hi = segment
    starts = room.starts
    sorted_target = room.sorted_target
    left_counts = room.left_counts
    totals = room.totals
    low, high = _sorted_by_bin(bins, target, order, lo, hi, starts, sorted_target)
    best, cut = 0.0, -1
    if low == high:
        return best, cut
    squares_left = np.int64(0)
    squares_right = np.int64(0)
    for k in range(totals.size):
        left_counts[k] = 0
        squares_right += totals[k] * totals[k]
    position = 0
    # A record of class k moves left: L² grows by 2L + 1, R² by 1 − 2R. Integers, so sums are exact.
    for b in range(low, high):
        end = starts[b]
        if end == position:
            continue
        while position < end:
            k = sorted_target[position]
            squares_left += 2 * left_counts[k] + 1
            squares_right += 1 - 2 * (totals[k] - left_counts[k])
            left_counts[k] += 1
            position += 1
        n_right = hi - lo - position
        if n_right < leaf_size:
            break
        if position >= leaf_size:
            score = squares_left / position + squares_right / n_right
            if score > best * EQUAL:
                best, cut = score, b
    return best, cut


@njit(cache=True, nogil=True)
def _summed_cut(bins, target, segment, leaf_size, counts, sums):
    """The best cut of one predictor for a target of numbers: its score S_L²/n_L + S_R²/n_R, and the
    last bin on the left.
    """
    order, lo, hi = segment
    low = np.int64(255)
    high = np.int64(0)
    for i in range(lo, hi):
        own = np.int64(bins[order[i]])
        low = min(low, own)
        high = max(high, own)
    best, cut = 0.0, -1
    if low == high:
        return best, cut
    for b in range(low, high + 1):
        counts[b] = 0
        sums[b] = 0.0
    for i in range(lo, hi):
        own = np.int64(bins[order[i]])
        counts[own] += 1
        sums[own] += target[order[i]]
    total = 0.0
    for b in range(low, high + 1):
        total += sums[b]
    n_left, sum_left = 0, 0.0
    # Cuts lie between occupied bins; of equal scores the first is taken.
    for b in range(low, high):
        if counts[b] == 0:
            continue
        n_left += counts[b]
        sum_left += sums[b]
        n_right = hi - lo - n_left
        if n_right < leaf_size:
            break
        if n_left >= leaf_size:
            # Least squares: the sum of squared errors falls by exactly the rise of this score.
            score = sum_left * sum_left / n_left + (total - sum_left) * (total - sum_left) / n_right
            if score > best * EQUAL:
                best, cut = score, b
    return best, cut


@njit(cache=True, nogil=True)
def _part_records(bins, cut, order, lo, hi, scratch):
    """Put the records that go left before those that go right, each in the order they had; returns
    where the right ones begin.
    """
    position, right_count = lo, 0
    # Stable partition: left ones are written in place, which never overtakes the read, right ones
    # wait in the scratch.
    for i in range(lo, hi):
        if bins[order[i]] <= cut:
            order[position] = order[i]
            position += 1
        else:
            scratch[right_count] = order[i]
            right_count += 1
    for i in range(right_count):
        order[position + i] = scratch[i]
    return position


@njit(cache=True, nogil=True)
def _class_split(bins, widths, target, segment, leaf_size, room):
    """The best split of a node by Gini impurity: how much it gains (in records times impurity), the
    predictor and the cut.
    """
    order, lo, hi = segment
    totals = room.totals
    n = hi - lo
    for k in range(totals.size):
        totals[k] = 0
    for i in range(lo, hi):
        totals[target[order[i]]] += 1
    squares = np.int64(0)
    for k in range(totals.size):
        squares += totals[k] * totals[k]
    best = 0.0
    feature = -1
    cut = -1
    # One class only: nothing can be gained.
    if squares == n * n:
        return 0.0, feature, cut, n - squares / n
    # Counting costs n + bins × classes, walking n steps and a sort: the cheaper one is taken.
    for f in range(bins.shape[0]):
        if n >= widths[f] * totals.size:
            score, at = _counted_cut(bins[f], target, segment, widths[f], leaf_size, room)
        else:
            score, at = _walked_cut(bins[f], target, segment, leaf_size, room)
        if at >= 0 and score > best * EQUAL:
            best = score
            feature = f
            cut = at
    return best - squares / n, feature, cut, n - squares / n


@njit(cache=True, nogil=True)
def _number_split(bins, target, order, lo, hi, leaf_size, room):
    """The best split of a node by variance: how much it gains (in sums of squares), the predictor
    and the cut.
    """
    counts, sums = room
    total, squares = 0.0, 0.0
    smallest = largest = target[order[lo]]
    # Variance by sums: the target has mean 0, so no digits are lost to a large mean.
    for i in range(lo, hi):
        y = target[order[i]]
        total += y
        squares += y * y
        smallest = min(smallest, y)
        largest = max(largest, y)
    best = 0.0
    feature = -1
    cut = -1
    impurity = squares - total * total / (hi - lo)
    # All targets are equal: nothing can be gained.
    if smallest == largest:
        return 0.0, feature, cut, 0.0
    for f in range(bins.shape[0]):
        score, at = _summed_cut(bins[f], target, (order, lo, hi), leaf_size, counts, sums)
        if at >= 0 and score > best * EQUAL:
            best = score
            feature = f
            cut = at
    return best - total * total / (hi - lo), feature, cut, impurity


@njit(cache=True, nogil=True)
def _make_room(n, leaf_size):
    """Room for a tree of n records: feature, cut, left, right, parent, lo, hi, depth of the nodes,
    the records, and scratch.
    """
    # Leaves hold at least ``leaf_size`` records, and a binary tree has one inner node fewer than
    # leaves.
    node_limit = 2 * (n // leaf_size + 1) + 1
    nodes = np.full((8, node_limit), -1, np.int64)
    order = np.arange(n).astype(np.int32)
    return nodes, order, np.empty(n, np.int32), np.empty((node_limit, 5), np.int64)


@njit(cache=True, nogil=True)
def _enter_node(nodes, node, stack, top):
    """Take the next node off the stack, and tell its parent."""
    lo, hi, parent, side, depth = stack[top]
    nodes[4, node] = parent
    nodes[5, node] = lo
    nodes[6, node] = hi
    nodes[7, node] = depth
    if parent >= 0:
        nodes[2 + side, parent] = node
    return lo, hi, depth


@njit(cache=True, nogil=True)
def _push_children(stack, top, lo, middle, hi, node, depth):
    """The two children of a node; the left one comes off the stack first, so that nodes are
    numbered in preorder.
    """
    stack[top] = middle, hi, node, 1, depth + 1
    stack[top + 1] = lo, middle, node, 0, depth + 1
    return top + 2


@njit(cache=True, nogil=True)
def grow_class_tree(bins, widths, target, classes, leaf_size, complexity, deepest):
    """A tree for a target of classes, by Gini impurity.

    ``bins[f, i]`` is the bin of record i in predictor f, below ``widths[f]``; leaves hold at least
    ``leaf_size`` records; a split must gain at least ``complexity`` of the impurity of the root,
    and the root has depth 0. Returns feature, cut, left, right, parent, lo, hi and depth of the
    nodes (a row each), and the records in the order of the leaves.
    """
    n = target.size
    nodes, order, scratch, stack = _make_room(n, leaf_size)
    widest = np.int64(1)
    for f in range(widths.size):
        widest = max(widest, widths[f])
    room = ClassRoom(
        np.empty(widest * classes, np.int32),
        np.empty(classes, np.int64),
        np.empty(256, np.int64),
        np.empty(n, np.uint8),
        np.empty(classes, np.int64),
    )
    stack[0] = 0, n, -1, 0, 0
    top, node_count, needed = 1, 0, 0.0
    # CART (Breiman, Friedman, Olshen & Stone 1984), depth first in preorder: the stack holds at
    # most one open node a level and side.
    while top > 0:
        top -= 1
        lo, hi, depth = _enter_node(nodes, node_count, stack, top)
        node_count += 1
        # Two leaves of the smallest size would not fit, or the tree is deep enough.
        if hi - lo < 2 * leaf_size or depth >= deepest:
            continue
        gain, f, cut, impurity = _class_split(
            bins, widths, target, (order, lo, hi), leaf_size, room
        )
        # The complexity parameter of CART is relative to the impurity of the root.
        if node_count == 1:
            needed = complexity * impurity
        if f < 0 or gain <= needed:
            continue
        nodes[0, node_count - 1] = f
        nodes[1, node_count - 1] = cut
        middle = _part_records(bins[f], cut, order, lo, hi, scratch)
        top = _push_children(stack, top, lo, middle, hi, node_count - 1, depth)
    return nodes[:, :node_count].copy(), order


@njit(cache=True, nogil=True)
def grow_number_tree(bins, target, leaf_size, complexity, deepest):
    """A tree for a target of numbers, by variance; as :func:`grow_class_tree`. The target should
    have mean 0: squares are summed.
    """
    n = target.size
    nodes, order, scratch, stack = _make_room(n, leaf_size)
    # Bins are bytes: room for 256 counts and sums.
    room = np.empty(256, np.int64), np.empty(256, np.float64)
    stack[0] = 0, n, -1, 0, 0
    top, node_count, needed = 1, 0, 0.0
    # As in grow_classes, by variance.
    while top > 0:
        top -= 1
        lo, hi, depth = _enter_node(nodes, node_count, stack, top)
        node_count += 1
        if hi - lo < 2 * leaf_size or depth >= deepest:
            continue
        gain, f, cut, impurity = _number_split(bins, target, order, lo, hi, leaf_size, room)
        if node_count == 1:
            needed = complexity * impurity
        if f < 0 or gain <= needed:
            continue
        nodes[0, node_count - 1] = f
        nodes[1, node_count - 1] = cut
        middle = _part_records(bins[f], cut, order, lo, hi, scratch)
        top = _push_children(stack, top, lo, middle, hi, node_count - 1, depth)
    return nodes[:, :node_count].copy(), order


@njit(cache=True, nogil=True)
def _pack_nodes(nodes):
    """Feature, cut, right child and the child with more records of every node, side by side: a
    record needs them together.

    The left child of a node is the one after it.
    """
    packed = np.empty((nodes.shape[1], 4), np.int32)
    for node in range(nodes.shape[1]):
        left_child = nodes[2, node]
        right_child = nodes[3, node]
        packed[node, 0] = nodes[0, node]
        packed[node, 1] = nodes[1, node]
        packed[node, 2] = right_child
        packed[node, 3] = right_child
        if (
            left_child >= 0
            and nodes[6, left_child] - nodes[5, left_child]
            >= nodes[6, right_child] - nodes[5, right_child]
        ):
            packed[node, 3] = left_child
    return packed


@njit(cache=True, nogil=True)
def route_records(nodes, bins):
    """The leaf that every record falls into; a bin that did not occur goes to the child with more
    records. Depth × records steps.
    """
    packed = _pack_nodes(nodes)
    leaves = np.zeros(bins.shape[1], np.int64)
    # One step down a level and record; the left child is the next node, so most steps read on.
    for i in range(bins.shape[1]):
        node = 0
        while packed[node, 0] >= 0:
            b = bins[packed[node, 0], i]
            if b == UNSEEN:
                node = packed[node, 3]
            elif b <= packed[node, 1]:
                node += 1
            else:
                node = packed[node, 2]
        leaves[i] = node
    return leaves
