"""Loops of k-member clustering: grow one cluster after the other around a point near to, or far from, the last start."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.space import AT, DISTINCT, FORM, HIGH, LOW, SET, SIZE, WEIGHT, cell_loss, inner

_BINS = 256


@inner
def _distances_from(points, seed, space, near):
    """Per dimension and rank, the weighted loss of a cell that covers the seed and that rank."""
    for a in range(space.dims.shape[1]):
        here = np.int64(points[seed, a])
        for rank in range(space.dims[SIZE, a]):
            loss = cell_loss(space, a, min(rank, here), max(rank, here), np.int64(2))
            near[space.dims[AT, a] + rank] = space.scales[WEIGHT, a] * loss


@inner
def _measure_from(points, seed, left, count, space, near, costs):
    """The distance of all points that are left from a seed: the loss of a cell that covers both."""
    _distances_from(points, seed, space, near)
    for i in range(count):
        total = 0.0
        for a in range(space.dims.shape[1]):
            total += near[space.dims[AT, a] + points[left[i], a]]
        costs[left[i]] = total


@inner
def _next_seed(left, count, costs, far):
    seed = left[0]
    for i in range(1, count):
        better = costs[left[i]] > costs[seed] if far else costs[left[i]] < costs[seed]
        if better or (costs[left[i]] == costs[seed] and left[i] < seed):
            seed = left[i]
    return seed


@inner
def _nearest(left, count, costs, most, chosen):
    """Collect about ``most`` of the points that cost least; returns how many. By bins, so that one pass is enough."""
    greatest = 0.0
    for i in range(count):
        greatest = max(greatest, costs[left[i]])
    bins = np.zeros(_BINS + 1, np.int64)
    scale = (_BINS - 1) / greatest if greatest > 0.0 else 0.0
    for i in range(count):
        bins[np.int64(costs[left[i]] * scale)] += 1
    limit, below = 0, bins[0]
    while below < most and limit < _BINS:
        limit += 1
        below += bins[limit]
    found = np.int64(0)
    for i in range(count):
        if np.int64(costs[left[i]] * scale) <= limit and found < chosen.size:
            chosen[found] = left[i]
            found += 1
    return found


@inner
def _open_box(points, i, space, scratch):
    scratch.stamps[-1] += 1
    for a in range(space.dims.shape[1]):
        scratch.box[LOW, a] = scratch.box[HIGH, a] = points[i, a]
        scratch.box[DISTINCT, a] = 1
        scratch.stamps[space.dims[AT, a] + points[i, a]] = scratch.stamps[-1]


@inner
def _loss_with(points, i, space, scratch):
    """The weighted loss of the box when it also covers a point."""
    total = 0.0
    for a in range(space.dims.shape[1]):
        rank = np.int64(points[i, a])
        distinct = scratch.box[DISTINCT, a]
        if space.dims[FORM, a] == SET and scratch.stamps[space.dims[AT, a] + rank] != scratch.stamps[-1]:
            distinct += 1
        low, high = min(scratch.box[LOW, a], rank), max(scratch.box[HIGH, a], rank)
        total += space.scales[WEIGHT, a] * cell_loss(space, a, low, high, distinct)
    return total


@inner
def _widen(points, i, space, scratch):
    for a in range(space.dims.shape[1]):
        rank = np.int64(points[i, a])
        scratch.box[LOW, a] = min(scratch.box[LOW, a], rank)
        scratch.box[HIGH, a] = max(scratch.box[HIGH, a], rank)
        if scratch.stamps[space.dims[AT, a] + rank] != scratch.stamps[-1]:
            scratch.stamps[space.dims[AT, a] + rank] = scratch.stamps[-1]
            scratch.box[DISTINCT, a] += 1


@inner
def _remove(left, where, count, i):
    """Take a point out of those that are left."""
    last = left[count - 1]
    left[where[i]] = last
    where[last] = where[i]
    where[i] = -1
    return count - 1


@njit(cache=True, nogil=True)
def cluster(points, sizes, crowd, pool, far, space, scratch, groups):
    """Cluster points so that each cluster has at least ``crowd`` of their ``sizes``; returns the number of clusters.

    ``groups`` receives the cluster of each point, −1 for the few that are left over. A cluster starts at the point
    nearest to the start of the last one, or farthest (``far``), and grows by the point that adds the least loss, out of the
    ``pool`` nearest to its start (0: out of all). Of equal ones the first point is taken.
    """
    n, d = points.shape[0], points.shape[1] - 2
    left, where = np.arange(n), np.arange(n)
    near, costs = np.zeros(space.places.size), np.zeros(n)
    chosen = np.empty(n if pool == 0 else min(n, 4 * pool), np.int64)
    count, remaining, clusters = n, np.int64(0), np.int64(0)
    for i in range(n):
        groups[i] = -1
        remaining += sizes[i]
    _measure_from(points, left[0], left, count, space, near, costs)
    while remaining >= crowd:
        seed = _next_seed(left, count, costs, far)
        _open_box(points, seed, space, scratch)
        count = _remove(left, where, count, seed)
        _measure_from(points, seed, left, count, space, near, costs)
        size, records, loss = sizes[seed], np.float64(points[seed, d]), _loss_with(points, seed, space, scratch)
        groups[seed] = clusters
        found = np.int64(-1)
        while size < crowd:
            if found <= 0:
                found = _pool_of(left, count, pool, costs, chosen)
            best, least, worst = 0, np.inf, 0.0
            for c in range(found):
                grown = _loss_with(points, chosen[c], space, scratch)
                score = records * (grown - loss) + points[chosen[c], d] * grown
                if score < least or (score == least and chosen[c] < chosen[best]):
                    best, least, worst = c, score, grown
            i = chosen[best]
            _widen(points, i, space, scratch)
            size, records, loss = size + sizes[i], records + points[i, d], worst
            groups[i] = clusters
            count = _remove(left, where, count, i)
            found -= 1
            chosen[best] = chosen[found]
        remaining -= size
        clusters += 1
    return clusters


@inner
def _pool_of(left, count, pool, costs, chosen):
    """The points that are looked at while a cluster grows."""
    if pool > 0:
        return _nearest(left, count, costs, pool, chosen)
    for i in range(count):
        chosen[i] = left[i]
    return count


@inner
def _union_loss(lows, highs, distinct, g, h, space):
    """The weighted loss of two boxes as one; values of a set are taken to be different in both."""
    total = 0.0
    for a in range(space.dims.shape[1]):
        low, high = min(lows[g, a], lows[h, a]), max(highs[g, a], highs[h, a])
        values = distinct[g, a] if g == h else min(distinct[g, a] + distinct[h, a], space.dims[SIZE, a])
        total += space.scales[WEIGHT, a] * cell_loss(space, a, np.int64(low), np.int64(high), np.int64(values))
    return total


@njit(cache=True, nogil=True)
def nearest_groups(some, others, lows, highs, distinct, records, space):
    """For each of some groups, the one of the others that it is cheapest to join; −1 where there is none."""
    alone = np.empty(records.size)
    for g in range(records.size):
        alone[g] = records[g] * _union_loss(lows, highs, distinct, g, g, space)
    found = np.full(some.size, -1, np.int64)
    for s in range(some.size):
        g, least = some[s], np.inf
        for o in range(others.size):
            h = others[o]
            if h == g:
                continue
            cost = (records[g] + records[h]) * _union_loss(lows, highs, distinct, g, h, space) - alone[g] - alone[h]
            if cost < least:
                least = cost
                found[s] = h
    return found
