"""Loops that change groups of at least k records a little: move, swap, dissolve, create (local
search for microaggregation).

Arrays. :class:`Groups` holds points as one row per record. Every change is tried with a *limit*: it
is made when it adds less than that to the sum of squared errors (SSE), and undone otherwise. The
SSE changes by n/(n+1)·d² when a record at distance d from the mean of n others joins them, and by
−n/(n−1)·d² when it leaves its group of n; both follow from sums and sizes of the groups alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit
from sfumato.kernels.points import inner


class Groups(NamedTuple):
    """Records in groups. Dimensions are filled up with zeros to a multiple of four: four sums run
    side by side.

    ``members[g, :sizes[g]]`` are the records of a group (one place more than is used, for swaps),
    ``slots`` where each record stands there; ``free[1:free[0] + 1]`` are the numbers of groups
    that do not exist. ``near`` lists the neighbours of each record, the nearest first.
    """

    points: NDArray[np.float64]
    near: NDArray[np.int32]
    groups: NDArray[np.int64]
    slots: NDArray[np.int64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sums: NDArray[np.float64]
    free: NDArray[np.int64]


@njit(cache=True, nogil=True)
def fill_groups(state):
    """Fill members, sizes, sums and free numbers from ``groups``."""
    points = state.points
    sizes = state.sizes
    sums = state.sums
    free = state.free
    for g in range(sizes.size):
        sizes[g] = 0
        for a in range(points.shape[1]):
            sums[g, a] = 0.0
    # Sums are taken in the order of the records, so that they are the same on every machine.
    for i in range(points.shape[0]):
        join(state, i, state.groups[i])
    free[0] = 0
    # A stack of free numbers, the lowest on top.
    for g in range(sizes.size - 1, -1, -1):
        if sizes[g] == 0:
            free[0] += 1
            free[free[0]] = g


@njit(cache=True, nogil=True)
def sum_squared_errors(points, groups, count):
    """The sum of squared distances of all records from the means of their groups."""
    n, d = points.shape
    means = np.zeros((count, d))
    sizes = np.zeros(count)
    for i in range(n):
        sizes[groups[i]] += 1.0
        for a in range(d):
            means[groups[i], a] += points[i, a]
    for g in range(count):
        for a in range(d):
            means[g, a] /= max(sizes[g], 1.0)
    # Two passes, means first: exact where the short formula would lose digits.
    total = 0.0
    for i in range(n):
        own = 0.0
        for a in range(d):
            gap = points[i, a] - means[groups[i], a]
            own += gap * gap
        total += own
    return total


@inner
def join(state, i, g):
    """Put a record that is in no group into one."""
    state.members[g, state.sizes[g]] = i
    state.slots[i] = state.sizes[g]
    state.sizes[g] += 1
    state.groups[i] = g
    for a in range(state.points.shape[1]):
        state.sums[g, a] += state.points[i, a]


@inner
def leave(state, i):
    """Take a record out of its group."""
    g = state.groups[i]
    state.sizes[g] -= 1
    # The last member takes the place that is free: constant time.
    last = state.members[g, state.sizes[g]]
    state.members[g, state.slots[i]] = last
    state.slots[last] = state.slots[i]
    for a in range(state.points.shape[1]):
        state.sums[g, a] -= state.points[i, a]


@inner
def _shift(state, i, g):
    """Move a record to another group."""
    leave(state, i)
    join(state, i, g)


@inner
def _squared_distance(state, i, g):
    """The squared distance of a record from the mean of a group."""
    points = state.points
    sums = state.sums
    share = 1.0 / state.sizes[g]
    s = 0.0
    t = 0.0
    u = 0.0
    v = 0.0
    # Four sums without a dependence between them: the processor adds them side by side. The order
    # is fixed, so is the rounding.
    for a in range(0, points.shape[1], 4):
        gap = points[i, a] - sums[g, a] * share
        s += gap * gap
        gap = points[i, a + 1] - sums[g, a + 1] * share
        t += gap * gap
        gap = points[i, a + 2] - sums[g, a + 2] * share
        u += gap * gap
        gap = points[i, a + 3] - sums[g, a + 3] * share
        v += gap * gap
    return (s + t) + (u + v)


@inner
def _cost_of_joining(state, i, g):
    """What a record adds to the SSE when it joins a group."""
    size = state.sizes[g]
    return size / (size + 1.0) * _squared_distance(state, i, g) if size > 0 else 0.0


@inner
def _gain_of_leaving(state, i):
    """What the SSE loses when a record leaves its group."""
    size = state.sizes[state.groups[i]]
    return size / (size - 1.0) * _squared_distance(state, i, state.groups[i]) if size > 1 else 0.0


@inner
def _cost_of_swapping(state, i, j):
    """What exchanging two records of different groups adds."""
    points = state.points
    sums = state.sums
    g = state.groups[i]
    h = state.groups[j]
    p = 1.0 / state.sizes[g]
    q = 1.0 / state.sizes[h]
    s = 0.0
    t = 0.0
    u = 0.0
    v = 0.0
    p_plus_q = p + q
    # Δ = Σ gap · (2(m_h − m_g) − gap(1/n_g + 1/n_h)): both groups keep their sizes, so the change
    # follows from means and the gap of the two records.
    for a in range(0, points.shape[1], 4):
        gap = points[j, a] - points[i, a]
        s += gap * (2.0 * (sums[h, a] * q - sums[g, a] * p) - gap * p_plus_q)
        gap = points[j, a + 1] - points[i, a + 1]
        t += gap * (2.0 * (sums[h, a + 1] * q - sums[g, a + 1] * p) - gap * p_plus_q)
        gap = points[j, a + 2] - points[i, a + 2]
        u += gap * (2.0 * (sums[h, a + 2] * q - sums[g, a + 2] * p) - gap * p_plus_q)
        gap = points[j, a + 3] - points[i, a + 3]
        v += gap * (2.0 * (sums[h, a + 3] * q - sums[g, a + 3] * p) - gap * p_plus_q)
    return (s + t) + (u + v)


@inner
def try_move(state, k, i, g, limit):
    """Move a record to another group where its own can spare it."""
    # Both groups must keep their limits: k at least, and the room there is.
    if state.sizes[state.groups[i]] <= k or state.sizes[g] >= state.members.shape[1] - 1:
        return False
    if _cost_of_joining(state, i, g) - _gain_of_leaving(state, i) >= limit:
        return False
    _shift(state, i, g)
    return True


@inner
def try_swap(state, i, j, limit):
    """Let a record join the group of another, j, in exchange for the one of it that costs least,
    but for j itself.
    """
    g = state.groups[i]
    h = state.groups[j]
    best, lowest = -1, limit
    # All members of the other group but j, whose neighbourhood is the reason to go there.
    for b in range(state.sizes[h]):
        candidate = state.members[h, b]
        if candidate != j:
            cost = _cost_of_swapping(state, i, candidate)
            if cost < lowest:
                best, lowest = candidate, cost
    if best < 0:
        return False
    _shift(state, i, h)
    _shift(state, best, g)
    return True


@inner
def _undo_shifts(state, records, homes, count):
    """Undo shifts."""
    # In the opposite order, so that members stand where they stood.
    for b in range(count - 1, -1, -1):
        _shift(state, records[b], homes[b])


@inner
def try_dissolve(state, g, reach, limit, records, homes):
    """Dissolve a group: each of its records joins the best group among those of its nearest
    neighbours.
    """
    size = state.sizes[g]
    added = 0.0
    for b in range(size):
        records[b] = state.members[g, b]
        homes[b] = g
        added -= _squared_distance(state, records[b], g)
    for b in range(size):
        i = records[b]
        best = -1
        lowest = np.inf
        # Groups of near records only: those far away cost more. ``h != best`` spares a second look
        # at the best.
        for r in range(reach):
            h = state.groups[state.near[i, r]]
            if h != g and h != best and state.sizes[h] < state.members.shape[1] - 1:
                cost = _cost_of_joining(state, i, h)
                if cost < lowest:
                    best, lowest = h, cost
        added += lowest
        # Joining only adds: once beyond the limit it stays there.
        if best < 0 or added >= limit:
            _undo_shifts(state, records, homes, b)
            return False
        _shift(state, i, best)
    state.free[0] += 1
    state.free[state.free[0]] = g
    for a in range(state.points.shape[1]):
        state.sums[g, a] = 0.0
    return True


@inner
def try_create(state, k, i, limit, records, homes):
    """Make a new group of a record and its nearest neighbours whose groups can spare them."""
    if state.free[0] == 0 or state.sizes[state.groups[i]] <= k:
        return False
    g = state.free[state.free[0]]
    added, count = 0.0, 0
    # The record itself comes first (r = −1), then its neighbours by distance.
    for r in range(-1, state.near.shape[1]):
        j = i if r < 0 else np.int64(state.near[i, r])
        h = state.groups[j]
        if h != g and state.sizes[h] > k:
            added += _cost_of_joining(state, j, g) - _gain_of_leaving(state, j)
            records[count] = j
            homes[count] = h
            _shift(state, j, g)
            count += 1
            if count == k:
                break
    if count == k and added < limit:
        state.free[0] -= 1
        return True
    _undo_shifts(state, records, homes, count)
    for a in range(state.points.shape[1]):
        state.sums[g, a] = 0.0
    return False
