"""Loops over points of a table's space: every class is a point, every quasi-identifier a dimension.

A dimension is a line (numbers, dates, ordered values), a tree (values under a hierarchy, in its depth-first order) or a
set (values without either). Values are ranks 0, 1, …; a missing value has the last rank. ``points`` has one row a
class: its ranks, then the number of its records, then the number of the class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LINE, TREE, SET = 0, 1, 2
_FAR = np.int64(1) << np.int64(40)


class Space(NamedTuple):
    """The dimensions, one entry each: form, number of ranks, rank of missing values (−1: none), weight, and span.

    ``places[at[a] + rank]`` is where a rank lies on a line. ``nodes[tree_at[a] + level·sizes[a] + rank]`` is the node
    above a rank of a tree and ``losses`` the loss of that node; ``depths`` are the numbers of levels.
    """

    forms: NDArray[np.int64]
    sizes: NDArray[np.int64]
    missing: NDArray[np.int64]
    weights: NDArray[np.float64]
    spans: NDArray[np.float64]
    at: NDArray[np.int64]
    places: NDArray[np.float64]
    depths: NDArray[np.int64]
    tree_at: NDArray[np.int64]
    nodes: NDArray[np.int64]
    losses: NDArray[np.float64]


class Scratch(NamedTuple):
    """Room for the loops: the box around some points, the values in it, and the weights of one dimension's values."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    distinct: NDArray[np.int64]
    widths: NDArray[np.float64]
    ordered: NDArray[np.int64]
    stamps: NDArray[np.int64]
    stamp: NDArray[np.int64]
    histogram: NDArray[np.int64]
    ranks: NDArray[np.int64]
    amounts: NDArray[np.int64]
    cuts: NDArray[np.int64]


def scratch_for(space: Space, children: int) -> Scratch:
    """Room for a space and at most so many children of a tree's node to be cut off."""
    d, most = len(space.sizes), int(space.sizes.max())
    whole = [np.zeros(n, dtype=np.int64) for n in (d, d, d, d, int(space.sizes.sum()), 1, most, most, most)]
    lows, highs, distinct, ordered, stamps, stamp, histogram, ranks, amounts = whole
    cuts = np.zeros((children + 3, 5), dtype=np.int64)
    return Scratch(lows, highs, distinct, np.zeros(d), ordered, stamps, stamp, histogram, ranks, amounts, cuts)


@njit(cache=True, nogil=True)
def meeting_level(space, a, low, high):
    """The lowest level of a tree on which two ranks are under one node."""
    size, base = space.sizes[a], space.tree_at[a]
    level = 0
    while space.nodes[base + level * size + low] != space.nodes[base + level * size + high]:
        level += 1
    return level


@njit(cache=True, nogil=True)
def cell_loss(space, a, low, high, distinct):
    """The loss of a cell that covers the ranks from ``low`` to ``high``, ``distinct`` of them where it is a set."""
    if space.forms[a] == TREE:
        level = meeting_level(space, a, low, high)
        return space.losses[space.tree_at[a] + level * space.sizes[a] + low]
    if low == high:
        return 0.0
    if high == space.missing[a]:
        return 1.0
    if space.spans[a] <= 0.0:
        return 0.0
    if space.forms[a] == LINE:
        return (space.places[space.at[a] + high] - space.places[space.at[a] + low]) / space.spans[a]
    return (distinct - 1.0) / space.spans[a]


@njit(cache=True, nogil=True)
def measure(points, start, end, space, scratch):
    """The box around some points, and the loss of each of its cells; points without records do not count."""
    d = space.sizes.size
    for a in range(d):
        scratch.lows[a] = _FAR
        scratch.highs[a] = -1
        scratch.distinct[a] = 0
    scratch.stamp[0] += 1
    for i in range(start, end):
        if points[i, d] == 0:
            continue
        for a in range(d):
            rank = np.int64(points[i, a])
            if rank < scratch.lows[a]:
                scratch.lows[a] = rank
            if rank > scratch.highs[a]:
                scratch.highs[a] = rank
            if space.forms[a] == SET and scratch.stamps[space.at[a] + rank] != scratch.stamp[0]:
                scratch.stamps[space.at[a] + rank] = scratch.stamp[0]
                scratch.distinct[a] += 1
    for a in range(d):
        scratch.widths[a] = cell_loss(space, a, scratch.lows[a], scratch.highs[a], scratch.distinct[a])


@njit(cache=True, nogil=True)
def by_width(space, scratch):
    """Put the dimensions in order of weight times width, the widest first; equal ones stay in their order."""
    for i in range(space.sizes.size):
        key = space.weights[i] * scratch.widths[i]
        j = i
        while j > 0 and space.weights[scratch.ordered[j - 1]] * scratch.widths[scratch.ordered[j - 1]] < key:
            scratch.ordered[j] = scratch.ordered[j - 1]
            j -= 1
        scratch.ordered[j] = i


@njit(cache=True, nogil=True)
def _sort(ranks, amounts, n):
    """Shell sort of a few ranks with their amounts."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            rank, amount = ranks[i], amounts[i]
            j = i
            while j >= gap and ranks[j - gap] > rank:
                ranks[j] = ranks[j - gap]
                amounts[j] = amounts[j - gap]
                j -= gap
            ranks[j] = rank
            amounts[j] = amount
        gap //= 3


@njit(cache=True, nogil=True)
def value_weights(points, start, end, a, space, scratch):
    """The ranks that occur in one dimension, ascending, and their records; returns how many there are.

    By histogram, or by sorting where few points lie in a wide range.
    """
    d, low, high = space.sizes.size, scratch.lows[a], scratch.highs[a]
    ranks, amounts, histogram = scratch.ranks, scratch.amounts, scratch.histogram
    found = 0
    if high - low < 8 * (end - start):
        for rank in range(low, high + 1):
            histogram[rank] = 0
        for i in range(start, end):
            if points[i, d] > 0:
                histogram[points[i, a]] += points[i, d]
        for rank in range(low, high + 1):
            if histogram[rank] > 0:
                ranks[found] = rank
                amounts[found] = histogram[rank]
                found += 1
        return found
    n = 0
    for i in range(start, end):
        if points[i, d] > 0:
            ranks[n] = points[i, a]
            amounts[n] = points[i, d]
            n += 1
    _sort(ranks, amounts, n)
    for i in range(n):
        if found > 0 and ranks[found - 1] == ranks[i]:
            amounts[found - 1] += amounts[i]
        else:
            ranks[found] = ranks[i]
            amounts[found] = amounts[i]
            found += 1
    return found


@njit(cache=True, nogil=True)
def boxes(points, ids, groups, count):
    """The least and greatest rank of every dimension in each group; point ``i`` belongs to ``groups[i]`` (−1: none)."""
    d = points.shape[1] - 2
    lows = np.full((count, d), np.int32(2**31 - 1), np.int32)
    highs = np.full((count, d), np.int32(-1), np.int32)
    for i in range(ids.size):
        g = groups[i]
        if g < 0:
            continue
        for a in range(d):
            rank = points[ids[i], a]
            if rank < lows[g, a]:
                lows[g, a] = rank
            if rank > highs[g, a]:
                highs[g, a] = rank
    return lows, highs


@njit(cache=True, nogil=True)
def box_losses(space, lows, highs, distinct):
    """The loss of every cell of some boxes."""
    losses = np.empty(lows.shape, np.float64)
    for g in range(lows.shape[0]):
        for a in range(lows.shape[1]):
            losses[g, a] = cell_loss(space, a, np.int64(lows[g, a]), np.int64(highs[g, a]), distinct[g, a])
    return losses


@njit(cache=True, nogil=True)
def people_inside(points, ids, groups, people, lows, highs):
    """How many of the ``people`` of each point lie inside the box of its group; summed per group."""
    d = points.shape[1] - 2
    sums = np.zeros(lows.shape[0], np.int64)
    for i in range(ids.size):
        g = groups[i]
        if g < 0:
            continue
        inside = True
        for a in range(d):
            rank = points[ids[i], a]
            inside = inside and lows[g, a] <= rank <= highs[g, a]
        if inside:
            sums[g] += people[ids[i]]
    return sums

