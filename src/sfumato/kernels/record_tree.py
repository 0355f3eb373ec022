"""A tree over the records of one file: a k-d tree (Bentley 1975) whose boxes also bound categories,
ranges and open cells.

Arrays. Files are :class:`sfumato.kernels.linkage.FileArrays`, of which the other file is put into
the tree; :class:`RecordTree` says what its arrays hold. Records are cut at the middle of the column
that distinguishes them best. :mod:`sfumato.kernels.neighbours` searches the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.kernels.linkage import (
    ABSOLUTE,
    CATEGORY,
    DIFFERENT,
    GRADED,
    MISSING,
    NEAR,
    NEARING,
    OPEN,
    REACH,
    SAME,
    SQUARE,
)
from sfumato.kernels.loop_cache import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAF = 16
"""Boxes of no more records than this are not parted: comparing them costs about as much as two
bounds.
"""
PROBES = 32
"""Pairs of records that a column is judged by before a box is parted."""
HAS_PLACE, HAS_OPEN, HAS_MISSING = 1, 2, 4


class RecordTree(NamedTuple):
    """Boxes of records: node 0 is the root, children come after their parents."""

    order: NDArray[np.int64]
    """The records, so that those of a node lie side by side."""
    spans: NDArray[np.int64]
    """(nodes, 2): where the records of a node begin and end in ``order``."""
    children: NDArray[np.int64]
    """(nodes, 2): the two halves of a node; −1 for a leaf."""
    ends: NDArray[np.float64]
    """(nodes, columns, 3): least low end, greatest high end and least half width of the cells on
    the line.
    """
    codes: NDArray[np.int64]
    """(nodes, columns, 2): least and greatest mark."""
    holds: NDArray[np.int64]
    """(nodes, columns): which kinds of cell occur, as bits."""


@njit(cache=True, nogil=True)
def _sort_key(kind, number, mark):
    """The sort key of a cell: open ones first, missing ones last, numbers by the middle of their
    range.
    """
    # Infinite keys keep open and missing cells out of the ranges of values.
    if mark == OPEN:
        return -np.inf
    if mark == MISSING:
        return np.inf
    return float(mark) if kind == CATEGORY else (number[0] + number[1]) / 2.0


@njit(cache=True, nogil=True)
def _choose_column(files, order, low, high):
    """The column in which records far apart in the order differ most; −1 where they differ in none.

    Records are probed in pairs that are half the box apart, at most ``PROBES`` of them a column.
    """
    kinds = files.kinds
    rules = files.rules
    best, largest = -1, 0.0
    half = (high - low) // 2
    step = max(1, half // PROBES)
    # By how much costs differ between the probed pairs: what a bound on this column can gain.
    for k in range(kinds.size):
        total = 0.0
        for p in range(low, low + half, step):
            i = order[p]
            j = order[p + half]
            first = _sort_key(kinds[k], files.other_numbers[i, k], files.other_marks[i, k])
            second = _sort_key(kinds[k], files.other_numbers[j, k], files.other_marks[j, k])
            if first == second:
                continue
            apart = abs(first - second)
            if kinds[k] == SQUARE and np.isfinite(apart):
                total += rules[k, DIFFERENT] * apart * apart
            elif kinds[k] == ABSOLUTE and np.isfinite(apart):
                total += rules[k, DIFFERENT] * apart
            elif kinds[k] == GRADED and np.isfinite(apart):
                # Distances that the costs are sensitive to: up to eight times the tolerance.
                gain = 1e-6 + abs(rules[k, DIFFERENT] - rules[k, SAME])
                total += gain * min(1.0, apart / (8.0 * rules[k, REACH] + 1e-12))
            elif kinds[k] == NEARING and np.isfinite(apart):
                gain = abs(rules[k, DIFFERENT] - rules[k, NEAR])
                total += 1e-6 + min(gain, rules[k, REACH] * apart * apart)
            else:
                # One of the cells is open or missing: the gain is that of differing.
                agreeing = 0.0 if kinds[k] == SQUARE else rules[k, SAME]
                total += 1e-6 + abs(rules[k, DIFFERENT] - agreeing)
        if total > largest:
            best, largest = k, total
    return best


@njit(cache=True, nogil=True)
def _bound_box(files, tree, node):
    """Write what the cells of a node's records have between them: ends of the box, codes, kinds of
    cells.
    """
    ends = tree.ends[node]
    codes = tree.codes[node]
    holds = tree.holds[node]
    for k in range(files.kinds.size):
        ends[k, 0] = np.inf
        ends[k, 1] = -np.inf
        ends[k, 2] = np.inf
        codes[k, 0] = 2**62
        codes[k, 1] = -1
        holds[k] = 0
        # One pass per column; open and missing cells have no position and do not widen the box.
        for p in range(tree.spans[node, 0], tree.spans[node, 1]):
            i = tree.order[p]
            mark = files.other_marks[i, k]
            if mark == OPEN:
                holds[k] |= HAS_OPEN
            elif mark == MISSING:
                holds[k] |= HAS_MISSING
            else:
                holds[k] |= HAS_PLACE
                ends[k, 0] = min(ends[k, 0], files.other_numbers[i, k, 0])
                ends[k, 1] = max(ends[k, 1], files.other_numbers[i, k, 1])
                ends[k, 2] = min(ends[k, 2], files.other_numbers[i, k, 2])
                codes[k, 0] = min(codes[k, 0], mark)
                codes[k, 1] = max(codes[k, 1], mark)


@njit(cache=True, nogil=True)
def _find_cut(keys, low, high):
    """Where to cut sorted keys: between two different ones, as near the middle as can be; −1 when
    all are equal.
    """
    middle = (high - low) // 2
    # Outwards from the middle, a step to the left and to the right in turn.
    for away in range(middle + 1):
        for position in (middle - away, middle + away):
            if 0 < position < high - low and keys[position - 1] < keys[position]:
                return low + position
    return -1


@njit(cache=True, nogil=True)
def build_tree(files):
    """The tree over the records of the other file; n records cost about n log n keys, sorted box by
    box.
    """
    size, columns = files.other_marks.shape
    # Room for the largest binary tree: fewer than two nodes per record.
    node_limit = max(1, 2 * size)
    tree = RecordTree(
        np.arange(size),
        np.zeros((node_limit, 2), np.int64),
        np.full((node_limit, 2), -1, np.int64),
        np.empty((node_limit, columns, 3)),
        np.empty((node_limit, columns, 2), np.int64),
        np.zeros((node_limit, columns), np.int64),
    )
    order = tree.order
    spans = tree.spans
    spans[0, 1] = size
    count, node = 1, 0
    # Breadth first: children are appended, so they come after their parents.
    while node < count:
        low = spans[node, 0]
        high = spans[node, 1]
        _bound_box(files, tree, node)
        k = _choose_column(files, order, low, high) if high - low > LEAF else -1
        if k >= 0:
            keys = np.empty(high - low)
            for p in range(low, high):
                keys[p - low] = _sort_key(
                    files.kinds[k], files.other_numbers[order[p], k], files.other_marks[order[p], k]
                )
            sorting = np.argsort(keys)
            order[low:high] = order[low:high][sorting]
            cut = _find_cut(keys[sorting], low, high)
            # Equal keys are never separated, so a box of equal keys stays a leaf.
            if cut > 0:
                spans[count, 0] = low
                spans[count, 1] = cut
                spans[count + 1, 0] = cut
                spans[count + 1, 1] = high
                tree.children[node, 0] = count
                tree.children[node, 1] = count + 1
                count += 2
        node += 1
    return RecordTree(
        order,
        spans[:count],
        tree.children[:count],
        tree.ends[:count],
        tree.codes[:count],
        tree.holds[:count],
    )


@njit(cache=True, nogil=True)
def find_lowest_records(tree):
    """Per node of a tree the lowest number of any of its records."""
    lowest = np.empty(tree.spans.shape[0], np.int64)
    # From the last node back: children come after their parents.
    for node in range(tree.spans.shape[0] - 1, -1, -1):
        # An inner node has the lower of its children's, a leaf that of its records.
        if tree.children[node, 0] >= 0:
            lowest[node] = min(lowest[tree.children[node, 0]], lowest[tree.children[node, 1]])
        else:
            lowest[node] = np.int64(2**62)
            for p in range(tree.spans[node, 0], tree.spans[node, 1]):
                lowest[node] = min(lowest[node], tree.order[p])
    return lowest
