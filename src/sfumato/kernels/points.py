"""Loops over points of a table's space: every class is a point, every quasi-identifier a dimension.

Arrays. A dimension is a line (numbers, dates, ordered values), a tree (values under a hierarchy, in
its depth-first order) or a set (values without either). Values are ranks 0, 1, …; a missing value
has the last rank. ``points`` has one row per class: its ranks, then the number of its records, then
the number of the class. Losses are between 0 (one value) and 1 (suppressed).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit

LINE, TREE, SET = 0, 1, 2
FORM, SIZE, MISSING, AT, TREE_AT = range(5)
WEIGHT, SPAN = range(2)
LOW, HIGH, DISTINCT, PLACE = range(4)
HISTOGRAM, RANK, AMOUNT = range(3)
_FAR = np.int64(1) << np.int64(40)

inner: Any = njit(cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For loops that only loops call: without a way in from Python they compile faster."""


class Space(NamedTuple):
    """The dimensions. Few arrays with named rows instead of many arrays: that compiles several
    times faster.

    ``dims`` has the rows FORM, SIZE (number of ranks), MISSING (rank of missing values, −1: none),
    AT, TREE_AT; ``scales`` the rows WEIGHT and SPAN. The cell of a rank on a line has the limits
    ``limits[LOW, AT + rank]`` and ``limits[HIGH, AT + rank]`` and the ranks
    ``cells[LOW, AT + rank]`` to ``cells[HIGH, AT + rank]``: a line is cut between cells, and a
    range reaches from the limit of its first cell to that of its last one.
    ``nodes[TREE_AT + level·SIZE + rank]`` is the node above a rank of a tree and ``losses`` the
    loss of that node.
    """

    dims: NDArray[np.int64]
    scales: NDArray[np.float64]
    limits: NDArray[np.float64]
    cells: NDArray[np.int64]
    nodes: NDArray[np.int64]
    losses: NDArray[np.float64]


class Scratch(NamedTuple):
    """Room for the loops: the box around some points and the values of one dimension in it.

    ``box`` has the rows LOW, HIGH, DISTINCT, PLACE (the dimensions, the widest first), ``widths``
    the losses of its cells, ``values`` the rows HISTOGRAM, RANK, AMOUNT; the last entry of
    ``stamps`` is the stamp in use.
    """

    box: NDArray[np.int64]
    widths: NDArray[np.float64]
    stamps: NDArray[np.int64]
    values: NDArray[np.int64]
    cuts: NDArray[np.int64]


def make_scratch(space: Space, children: int = 1) -> Scratch:
    """Room for a space and at most so many children of a tree's node to be cut off."""
    sizes = space.dims[SIZE]
    whole = [
        np.zeros(shape, dtype=np.int64)
        for shape in ((4, len(sizes)), int(sizes.sum()) + 1, (3, int(sizes.max())))
    ]
    return Scratch(
        whole[0],
        np.zeros(len(sizes)),
        whole[1],
        whole[2],
        np.zeros((children + 3, 5), dtype=np.int64),
    )


@inner
def find_meeting_level(space, a, low, high):
    """The lowest level of a tree on which two ranks are under one node."""
    size = space.dims[SIZE, a]
    base = space.dims[TREE_AT, a]
    level = 0
    # All ranks meet at the root, so this ends.
    while space.nodes[base + level * size + low] != space.nodes[base + level * size + high]:
        level += 1
    return level


@inner
def cell_loss(space, a, low, high, distinct):
    """The loss of a cell that covers the ranks from ``low`` to ``high``, ``distinct`` of them where
    it is a set.
    """
    if space.dims[FORM, a] == TREE:
        # In a tree, the loss of the lowest node above both ranks.
        level = find_meeting_level(space, a, low, high)
        return space.losses[space.dims[TREE_AT, a] + level * space.dims[SIZE, a] + low]
    if low == high:
        return 0.0
    # Missing values have the highest rank: a cell with them and others says nothing.
    if high == space.dims[MISSING, a]:
        return 1.0
    if space.scales[SPAN, a] <= 0.0:
        return 0.0
    # On a line, the width of the range as a share of the span.
    if space.dims[FORM, a] == LINE:
        width = (
            space.limits[HIGH, space.dims[AT, a] + high]
            - space.limits[LOW, space.dims[AT, a] + low]
        )
        return min(1.0, width / space.scales[SPAN, a])
    # In a set, the number of values beyond one as a share of all but one.
    return (distinct - 1.0) / space.scales[SPAN, a]


@inner
def measure_box(points, start, end, space, scratch):
    """The box around some points, and the loss of each of its cells; points without records do not
    count.
    """
    d = space.dims.shape[1]
    for a in range(d):
        scratch.box[LOW, a] = _FAR
        scratch.box[HIGH, a] = -1
        scratch.box[DISTINCT, a] = 0
    scratch.stamps[-1] += 1
    # One pass over the points. A value of a set is counted once: its stamp is the number of this
    # measurement, so that nothing is cleared in between.
    for i in range(start, end):
        if points[i, d] == 0:
            continue
        for a in range(d):
            rank = np.int64(points[i, a])
            if rank < scratch.box[LOW, a]:
                scratch.box[LOW, a] = rank
            if rank > scratch.box[HIGH, a]:
                scratch.box[HIGH, a] = rank
            if (
                space.dims[FORM, a] == SET
                and scratch.stamps[space.dims[AT, a] + rank] != scratch.stamps[-1]
            ):
                scratch.stamps[space.dims[AT, a] + rank] = scratch.stamps[-1]
                scratch.box[DISTINCT, a] += 1
    for a in range(d):
        scratch.widths[a] = cell_loss(
            space, a, scratch.box[LOW, a], scratch.box[HIGH, a], scratch.box[DISTINCT, a]
        )


@inner
def sort_dimensions(space, scratch):
    """Put the dimensions in order of weight times width, the widest first; equal ones stay in their
    order.
    """
    # Insertion sort: dimensions are few, and equal ones must keep their order.
    for i in range(space.dims.shape[1]):
        key = space.scales[WEIGHT, i] * scratch.widths[i]
        j = i
        while (
            j > 0
            and space.scales[WEIGHT, scratch.box[PLACE, j - 1]]
            * scratch.widths[scratch.box[PLACE, j - 1]]
            < key
        ):
            scratch.box[PLACE, j] = scratch.box[PLACE, j - 1]
            j -= 1
        scratch.box[PLACE, j] = i


@inner
def _sort_values(values, n):
    """Shell sort of a few ranks with their amounts."""
    gap = 1
    # Gaps 1, 4, 13, 40, … (Knuth): n^1.5 at worst, no recursion and no room.
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            rank = values[RANK, i]
            amount = values[AMOUNT, i]
            j = i
            while j >= gap and values[RANK, j - gap] > rank:
                values[RANK, j] = values[RANK, j - gap]
                values[AMOUNT, j] = values[AMOUNT, j - gap]
                j -= gap
            values[RANK, j] = rank
            values[AMOUNT, j] = amount
        gap //= 3


@inner
def count_values(points, start, end, a, scratch):
    """The ranks that occur in one dimension, ascending, and their records; returns how many there
    are.

    By histogram, or by sorting where few points lie in a wide range.
    """
    d = points.shape[1] - 2
    low = scratch.box[LOW, a]
    high = scratch.box[HIGH, a]
    values = scratch.values
    n = np.int64(0)
    # A histogram costs the range, a sort n log n: eight ranks a point is where they meet.
    if high - low < 8 * (end - start):
        for rank in range(low, high + 1):
            values[HISTOGRAM, rank] = 0
        for i in range(start, end):
            values[HISTOGRAM, points[i, a]] += points[i, d]
        for rank in range(low, high + 1):
            if values[HISTOGRAM, rank] > 0:
                values[RANK, n] = rank
                values[AMOUNT, n] = values[HISTOGRAM, rank]
                n += 1
        return n
    for i in range(start, end):
        if points[i, d] > 0:
            values[RANK, n] = points[i, a]
            values[AMOUNT, n] = points[i, d]
            n += 1
    _sort_values(values, n)
    last = 0
    # Equal ranks lie side by side now, and are added up in place.
    for i in range(1, n):
        if values[RANK, last] == values[RANK, i]:
            values[AMOUNT, last] += values[AMOUNT, i]
        else:
            last += 1
            values[RANK, last] = values[RANK, i]
            values[AMOUNT, last] = values[AMOUNT, i]
    return last + 1


@inner
def join_cells(space, a, values, n):
    """Count values of a line by cell: afterwards RANK is the last rank of each cell that occurs;
    returns how many do.
    """
    base = space.dims[AT, a]
    count = np.int64(-1)
    # Values ascend, so those of one cell follow one another: in place, one pass.
    for i in range(n):
        last = space.cells[HIGH, base + values[RANK, i]]
        if count >= 0 and values[RANK, count] == last:
            values[AMOUNT, count] += values[AMOUNT, i]
        else:
            count += 1
            values[RANK, count] = last
            values[AMOUNT, count] = values[AMOUNT, i]
    return count + 1


@njit(cache=True, nogil=True)
def find_boxes(points, ids, groups, count):
    """The least and greatest rank of every dimension in each group: point ``ids[i]`` belongs to
    ``groups[i]``.

    Points without records do not count; a group without records has a box with nothing inside.
    """
    d = points.shape[1] - 2
    lows = np.full((count, d), np.int32(2**31 - 1), np.int32)
    highs = np.full((count, d), np.int32(-1), np.int32)
    # One pass over the points, in any order.
    for i in range(ids.size):
        g = groups[i]
        if points[ids[i], d] == 0:
            continue
        for a in range(d):
            rank = points[ids[i], a]
            if rank < lows[g, a]:
                lows[g, a] = rank
            if rank > highs[g, a]:
                highs[g, a] = rank
    return lows, highs


@njit(cache=True, nogil=True)
def count_people_inside(points, ids, groups, people, lows, highs):
    """How many of the ``people`` of each point lie inside the box of its group; summed per
    group.
    """
    d = points.shape[1] - 2
    sums = np.zeros(lows.shape[0], np.int64)
    # No branch a dimension: most points are inside.
    for i in range(ids.size):
        g = groups[i]
        inside = True
        for a in range(d):
            rank = points[ids[i], a]
            inside = inside and lows[g, a] <= rank <= highs[g, a]
        if inside:
            sums[g] += people[ids[i]]
    return sums
