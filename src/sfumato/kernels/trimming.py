"""Loops that find outliers: records without which a region is much tighter.

A *trim* is six numbers: what it is worth per record that goes, the dimension, the lowest and highest rank that stay, one
between them that goes (−1: none), and how many records go.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.partition import _swap
from sfumato.kernels.space import (
    AMOUNT,
    FORM,
    HIGH,
    LINE,
    LOW,
    RANK,
    SET,
    SIZE,
    TREE_AT,
    WEIGHT,
    cell_loss,
    inner,
    measure,
    meeting_level,
    value_weights,
)


@inner
def _consider(a, first, last, distinct, gone, region, space, scratch, trim):
    """Write a trim down if it is worth more per record than the best so far.

    ``first`` and ``last`` are the ranks that stay. ``region`` is total records, crowd, loss of all its cells, and the
    loss of cells that are suppressed: those that stay lose less, those that go lose the rest.
    """
    total, crowd, width, weight = region
    if total - gone < crowd:
        return False
    narrower = space.scales[WEIGHT, a] * (scratch.widths[a] - cell_loss(space, a, first, last, distinct))
    worth = ((total - gone) * narrower - gone * (weight - width)) / gone
    if worth <= trim[0]:
        return False
    trim[0], trim[1], trim[2], trim[3], trim[4], trim[5] = worth, a, first, last, -1, gone
    return True


@inner
def _trim_line(count, a, region, space, scratch, trim):
    """Take values from either end of a line."""
    values = scratch.values
    below, above = np.int64(0), np.int64(0)
    for i in range(count - 1):
        below += values[AMOUNT, i]
        above += values[AMOUNT, count - 1 - i]
        _consider(a, values[RANK, i + 1], values[RANK, count - 1], count, below, region, space, scratch, trim)
        _consider(a, values[RANK, 0], values[RANK, count - 2 - i], count, above, region, space, scratch, trim)


@inner
def _trim_set(count, a, region, space, scratch, trim):
    """Take one value from a set."""
    values = scratch.values
    for i in range(count):
        first = values[RANK, 1 if i == 0 else 0]
        last = values[RANK, count - 2 if i == count - 1 else count - 1]
        if _consider(a, first, last, count - 1, values[AMOUNT, i], region, space, scratch, trim):
            trim[4] = values[RANK, i]


@inner
def _trim_tree(count, a, region, space, scratch, trim):
    """Keep one child of the node above all values of a tree."""
    values = scratch.values
    level = meeting_level(space, a, values[RANK, 0], values[RANK, count - 1]) - 1
    base = space.dims[TREE_AT, a] + level * space.dims[SIZE, a]
    i = 0
    while i < count:
        first, kept = i, np.int64(0)
        while i < count and space.nodes[base + values[RANK, i]] == space.nodes[base + values[RANK, first]]:
            kept += values[AMOUNT, i]
            i += 1
        _consider(a, values[RANK, first], values[RANK, i - 1], count, region[0] - kept, region, space, scratch, trim)


@njit(cache=True, nogil=True)
def find_trims(points, starts, ends, crowd, space, scratch):
    """Per region the trim that is worth most per record; its worth is 0 where none is worth anything."""
    d = points.shape[1] - 2
    trims = np.zeros((starts.size, 6))
    weight = 0.0
    for a in range(d):
        weight += space.scales[WEIGHT, a]
    for s in range(starts.size):
        total, width = np.int64(0), 0.0
        for i in range(starts[s], ends[s]):
            total += points[i, d]
        if total <= crowd:
            continue
        measure(points, starts[s], ends[s], space, scratch)
        for a in range(d):
            width += space.scales[WEIGHT, a] * scratch.widths[a]
        region = (total, crowd, width, weight)
        for a in range(d):
            if scratch.box[LOW, a] >= scratch.box[HIGH, a]:
                continue
            count = value_weights(points, starts[s], ends[s], a, scratch)
            if space.dims[FORM, a] == LINE:
                _trim_line(count, a, region, space, scratch, trims[s])
            elif space.dims[FORM, a] == SET:
                _trim_set(count, a, region, space, scratch, trims[s])
            else:
                _trim_tree(count, a, region, space, scratch, trims[s])
    return trims


@njit(cache=True, nogil=True)
def trim(points, starts, ends, trims):
    """Put the points that stay before those that go; returns where those begin that go."""
    middles = starts.copy()
    for s in range(starts.size):
        for i in range(starts[s], ends[s]):
            rank = points[i, np.int64(trims[s, 1])]
            if trims[s, 2] <= rank <= trims[s, 3] and rank != trims[s, 4]:
                _swap(points, i, middles[s])
                middles[s] += 1
    return middles
