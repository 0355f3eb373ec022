"""Loops of k-Ward: join the two groups whose union adds the least squared error, but never two that are large enough."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.space import inner


@inner
def _added(sums, sizes, g, h):
    """What joining two groups adds to the squared error: n·m/(n+m) times the squared distance of their means."""
    total = 0.0
    for a in range(sums.shape[1]):
        gap = sums[g, a] / sizes[g] - sums[h, a] / sizes[h]
        total += gap * gap
    return total * sizes[g] * sizes[h] / (sizes[g] + sizes[h])


@inner
def _find_partner(sums, sizes, alive, g, enough, partner, cost):
    """The cheapest group that may join a group; −1 where there is none."""
    partner[g], cost[g] = -1, np.inf
    for h in range(alive.size):
        if h == g or not alive[h] or (sizes[g] >= enough and sizes[h] >= enough):
            continue
        added = _added(sums, sizes, g, h)
        if added < cost[g]:
            partner[g], cost[g] = h, added


@inner
def _too_small(sizes, alive, k):
    for g in range(alive.size):
        if alive[g] and sizes[g] < k:
            return True
    return False


@njit(cache=True, nogil=True)
def join_until(points, groups, k, enough):
    """Join groups until all have k records or none may join another; ``groups`` are numbered by their first records.

    Two groups with ``enough`` records each are never joined. Ties: the group that comes first, then the partner that does.
    """
    n, d = points.shape
    sums, sizes, alive = np.zeros((n, d)), np.zeros(n), np.zeros(n, np.bool_)
    partner, cost = np.full(n, -1, np.int64), np.full(n, np.inf)
    for i in range(n):
        alive[groups[i]] = True
        sizes[groups[i]] += 1.0
        for a in range(d):
            sums[groups[i], a] += points[i, a]
    for g in range(n):
        if alive[g]:
            _find_partner(sums, sizes, alive, g, enough, partner, cost)
    while _too_small(sizes, alive, k):
        g, least = -1, np.inf
        for h in range(n):
            if alive[h] and cost[h] < least:
                g, least = h, cost[h]
        if g < 0:
            break
        h = partner[g]
        alive[h] = False
        sizes[g] += sizes[h]
        for a in range(d):
            sums[g, a] += sums[h, a]
        for i in range(n):
            if groups[i] == h:
                groups[i] = g
        _find_partner(sums, sizes, alive, g, enough, partner, cost)
        _update_partners(sums, sizes, alive, g, h, enough, partner, cost)


@inner
def _update_partners(sums, sizes, alive, g, h, enough, partner, cost):
    """After h has joined g: look again where one of them was the partner, and whether g is a better one now."""
    for c in range(alive.size):
        if not alive[c] or c == g:
            continue
        if partner[c] == g or partner[c] == h:
            _find_partner(sums, sizes, alive, c, enough, partner, cost)
        elif not (sizes[g] >= enough and sizes[c] >= enough):
            added = _added(sums, sizes, g, c)
            if added < cost[c] or (added == cost[c] and g < partner[c]):
                partner[c], cost[c] = g, added


@njit(cache=True, nogil=True)
def farthest_pair(points):
    """The two records that lie farthest apart; of equal pairs the first."""
    n, d = points.shape
    one, two, most = 0, 0, -1.0
    for i in range(n):
        for j in range(i + 1, n):
            away = 0.0
            for a in range(d):
                gap = points[i, a] - points[j, a]
                away += gap * gap
            if away > most:
                one, two, most = i, j, away
    return one, two
