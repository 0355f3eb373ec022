"""Loops of Mondrian: find a cut, cut, and repeat until nothing can be cut.

A *cut* is five numbers: dimension, low, high, fill, left. Points with a rank from low to high go left, as do records of
rank high + 1 until ``fill`` of them have gone; ``left`` is how many records that makes in all.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.space import (
    AMOUNT,
    FORM,
    HIGH,
    LOW,
    PLACE,
    RANK,
    SIZE,
    TREE,
    TREE_AT,
    by_width,
    inner,
    measure,
    meeting_level,
    value_weights,
)

_NONE = np.int64(0)


@inner
def _add(cuts, found, a, low, high, fill, left):
    cuts[found, 0] = a
    cuts[found, 1] = low
    cuts[found, 2] = high
    cuts[found, 3] = fill
    cuts[found, 4] = left
    return found + 1


@inner
def _copy(rows, i, j):
    for c in range(rows.shape[1]):
        rows[j, c] = rows[i, c]


@inner
def _child_cuts(values, a, total, crowd, most, space, scratch):
    """Cut off one child of the node above all values: the children nearest to half of the records come first."""
    cuts, found = scratch.cuts, np.int64(0)
    level = meeting_level(space, a, scratch.box[LOW, a], scratch.box[HIGH, a]) - 1
    base = space.dims[TREE_AT, a] + level * space.dims[SIZE, a]
    i = 0
    while i < values:
        first, left = i, np.int64(0)
        while (
            i < values
            and space.nodes[base + scratch.values[RANK, i]] == space.nodes[base + scratch.values[RANK, first]]
        ):
            left += scratch.values[AMOUNT, i]
            i += 1
        if left < crowd or total - left < crowd:
            continue
        j = found
        while j > 0 and abs(2 * cuts[j - 1, 4] - total) > abs(2 * left - total):
            if j < most:
                _copy(cuts, j - 1, j)
            j -= 1
        if j < most:
            _add(cuts, j, a, scratch.values[RANK, first], scratch.values[RANK, i - 1], _NONE, left)
            found = min(found + 1, most)
    return found


@inner
def _cuts_of(values, a, total, crowd, shared, most, space, scratch):
    """The cuts of one dimension that leave enough records on both sides, in the order in which they are tried.

    Either the cuts that keep equal values together, or (``shared``) the one that shares out those of the median.
    """
    cuts, least, found = scratch.cuts, scratch.values[RANK, 0], np.int64(0)
    if space.dims[FORM, a] == TREE and not shared:
        found = _child_cuts(values, a, total, crowd, most, space, scratch)
    median, below = np.int64(0), np.int64(0)
    while 2 * (below + scratch.values[AMOUNT, median]) < total:
        below += scratch.values[AMOUNT, median]
        median += 1
    upto, half = below + scratch.values[AMOUNT, median], (total + 1) // 2
    if shared:
        if below < half < upto and total - half >= crowd:
            found = _add(cuts, found, a, least, scratch.values[RANK, median] - 1, half - below, half)
        return found
    if upto >= crowd and total - upto >= crowd:
        found = _add(cuts, found, a, least, scratch.values[RANK, median], _NONE, upto)
    if below >= crowd and total - below >= crowd:
        found = _add(cuts, found, a, least, scratch.values[RANK, median] - 1, _NONE, below)
    return found


@inner
def _find_cut(points, start, end, total, crowd, relaxed, most, skip, space, scratch, chosen):
    """Write the first cut but ``skip`` to ``chosen``; whether there is one."""
    if total < 2 * crowd:
        return False
    measure(points, start, end, space, scratch)
    by_width(space, scratch)
    for shared in range(1 + relaxed):
        for i in range(space.dims.shape[1]):
            a = scratch.box[PLACE, i]
            if scratch.box[LOW, a] >= scratch.box[HIGH, a]:
                continue
            values = value_weights(points, start, end, a, scratch)
            found = _cuts_of(values, a, total, crowd, shared == 1, most, space, scratch)
            if skip < found:
                for c in range(5):
                    chosen[c] = scratch.cuts[skip, c]
                return True
            skip -= found
    return False


@njit(cache=True, nogil=True)
def find_cuts(points, starts, ends, totals, skips, crowd, relaxed, most, space, scratch):
    """Per segment of points the first cut but ``skips``, and whether there is one."""
    chosen = np.zeros((starts.size, 5), np.int64)
    found = np.zeros(starts.size, np.bool_)
    for s in range(starts.size):
        found[s] = _find_cut(
            points, starts[s], ends[s], totals[s], crowd, relaxed, most, skips[s], space, scratch, chosen[s]
        )
    return chosen, found


@inner
def _goes_left(rank, amount, chosen, filled):
    """Whether a whole point goes left: points of the rank that is split go there while that comes nearer to half."""
    if rank == chosen[2] + 1 and chosen[3] > 0:
        return 2 * filled + amount <= 2 * chosen[3]
    return chosen[1] <= rank <= chosen[2]


@njit(cache=True, nogil=True)
def sides(points, starts, ends, cuts):
    """The class of every point of some segments and its side: 2·segment for left, 2·segment + 1 for right."""
    d = points.shape[1] - 2
    length = 0
    for s in range(starts.size):
        length += ends[s] - starts[s]
    members, halves = np.empty(length, np.int64), np.empty(length, np.int64)
    n = 0
    for s in range(starts.size):
        filled = np.int64(0)
        for i in range(starts[s], ends[s]):
            rank, amount = np.int64(points[i, cuts[s, 0]]), np.int64(points[i, d])
            left = _goes_left(rank, amount, cuts[s], filled)
            if left and rank > cuts[s, 2]:
                filled += amount
            members[n] = points[i, d + 1]
            halves[n] = 2 * s if left else 2 * s + 1
            n += 1
    return members, halves


@njit(cache=True, nogil=True)
def cut_all(points, starts, ends, cuts):
    """Put the left points of each segment before the right ones; returns where the right ones begin, and left records."""
    d = points.shape[1] - 2
    middles, totals = starts.copy(), np.zeros(starts.size, np.int64)
    for s in range(starts.size):
        filled = np.int64(0)
        for i in range(starts[s], ends[s]):
            rank, amount = np.int64(points[i, cuts[s, 0]]), np.int64(points[i, d])
            if _goes_left(rank, amount, cuts[s], filled):
                if rank > cuts[s, 2]:
                    filled += amount
                totals[s] += amount
                _swap(points, i, middles[s])
                middles[s] += 1
    return middles, totals


@inner
def _swap(points, i, j):
    if i != j:
        for c in range(points.shape[1]):
            points[i, c], points[j, c] = points[j, c], points[i, c]


@njit(cache=True, nogil=True)
def cut(points, start, end, chosen):
    """Like :func:`cut_all` for one segment, but a point that would make the left side too large is divided.

    What is left of it is written behind the segment. Returns where the right side begins and where it ends.
    """
    d = points.shape[1] - 2
    middle, last, fill = start, end, chosen[3]
    for i in range(start, end):
        rank = points[i, chosen[0]]
        left = chosen[1] <= rank <= chosen[2]
        if rank == chosen[2] + 1 and fill > 0:
            left = True
            if points[i, d] > fill:
                _copy(points, i, last)
                points[last, d] -= fill
                points[i, d] = fill
                last += 1
            fill -= points[i, d]
        if left:
            _swap(points, i, middle)
            middle += 1
    return middle, last


@njit(cache=True, nogil=True)
def partition(points, count, total, crowd, relaxed, space, scratch, parts, ends):
    """Cut until nothing can be cut, with no other promise than a crowd on both sides.

    The first ``count`` of ``points`` are used, and room behind them where points are divided. ``parts`` receives class
    and records, region after region, ``ends`` the ends of the regions in ``parts``. Returns the number of regions.

    The segments not yet done lie one after the other; the last one is always next, so it can grow when it is cut.
    """
    d = points.shape[1] - 2
    begins, totals = np.zeros(ends.size + 1, np.int64), np.zeros(ends.size + 1, np.int64)
    chosen = np.zeros(5, np.int64)
    totals[0] = total
    waiting, top, regions, written = 1, count, 0, 0
    while waiting > 0:
        start, here = begins[waiting - 1], totals[waiting - 1]
        if _find_cut(points, start, top, here, crowd, relaxed, 1, 0, space, scratch, chosen):
            middle, top = cut(points, start, top, chosen)
            totals[waiting - 1] = chosen[4]
            begins[waiting], totals[waiting] = middle, here - chosen[4]
            waiting += 1
            continue
        for i in range(start, top):
            parts[written, 0] = points[i, d + 1]
            parts[written, 1] = points[i, d]
            written += 1
        ends[regions] = written
        regions += 1
        top = start
        waiting -= 1
    return regions
