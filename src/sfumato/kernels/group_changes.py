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
    ``places`` where each record stands there; ``free[1:free[0] + 1]`` are the numbers of groups
    that do not exist. ``near`` lists the neighbours of each record, the nearest first.
    """

    points: NDArray[np.float64]
    near: NDArray[np.int32]
    groups: NDArray[np.int64]
    places: NDArray[np.int64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sums: NDArray[np.float64]
    free: NDArray[np.int64]


@njit(cache=True, nogil=True)
def settle(made):
    """Fill members, sizes, sums and free numbers from ``groups``."""
    points = made.points
    sizes = made.sizes
    sums = made.sums
    free = made.free
    for g in range(sizes.size):
        sizes[g] = 0
        for a in range(points.shape[1]):
            sums[g, a] = 0.0
    # Sums are taken in the order of the records, so that they are the same on every machine.
    for i in range(points.shape[0]):
        join(made, i, made.groups[i])
    free[0] = 0
    # A stack of free numbers, the lowest on top.
    for g in range(sizes.size - 1, -1, -1):
        if sizes[g] == 0:
            free[0] += 1
            free[free[0]] = g


@njit(cache=True, nogil=True)
def squared_error(points, groups, count):
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
def join(made, i, g):
    """Put a record that is in no group into one."""
    made.members[g, made.sizes[g]] = i
    made.places[i] = made.sizes[g]
    made.sizes[g] += 1
    made.groups[i] = g
    for a in range(made.points.shape[1]):
        made.sums[g, a] += made.points[i, a]


@inner
def leave(made, i):
    """Take a record out of its group."""
    g = made.groups[i]
    made.sizes[g] -= 1
    # The last member takes the place that is free: constant time.
    last = made.members[g, made.sizes[g]]
    made.members[g, made.places[i]] = last
    made.places[last] = made.places[i]
    for a in range(made.points.shape[1]):
        made.sums[g, a] -= made.points[i, a]


@inner
def _shift(made, i, g):
    """Move a record to another group."""
    leave(made, i)
    join(made, i, g)


@inner
def _away(made, i, g):
    """The squared distance of a record from the mean of a group."""
    points = made.points
    sums = made.sums
    share = 1.0 / made.sizes[g]
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
def _cost_of_joining(made, i, g):
    """What a record adds to the SSE when it joins a group."""
    size = made.sizes[g]
    return size / (size + 1.0) * _away(made, i, g) if size > 0 else 0.0


@inner
def _gain_of_leaving(made, i):
    """What the SSE loses when a record leaves its group."""
    size = made.sizes[made.groups[i]]
    return size / (size - 1.0) * _away(made, i, made.groups[i]) if size > 1 else 0.0


@inner
def _cost_of_swapping(made, i, j):
    """What exchanging two records of different groups adds."""
    points = made.points
    sums = made.sums
    g = made.groups[i]
    h = made.groups[j]
    p = 1.0 / made.sizes[g]
    q = 1.0 / made.sizes[h]
    s = 0.0
    t = 0.0
    u = 0.0
    v = 0.0
    both = p + q
    # Δ = Σ gap · (2(m_h − m_g) − gap(1/n_g + 1/n_h)): both groups keep their sizes, so the change
    # follows from means and the gap of the two records.
    for a in range(0, points.shape[1], 4):
        gap = points[j, a] - points[i, a]
        s += gap * (2.0 * (sums[h, a] * q - sums[g, a] * p) - gap * both)
        gap = points[j, a + 1] - points[i, a + 1]
        t += gap * (2.0 * (sums[h, a + 1] * q - sums[g, a + 1] * p) - gap * both)
        gap = points[j, a + 2] - points[i, a + 2]
        u += gap * (2.0 * (sums[h, a + 2] * q - sums[g, a + 2] * p) - gap * both)
        gap = points[j, a + 3] - points[i, a + 3]
        v += gap * (2.0 * (sums[h, a + 3] * q - sums[g, a + 3] * p) - gap * both)
    return (s + t) + (u + v)


@inner
def try_move(made, k, i, g, limit):
    """Move a record to another group where its own can spare it."""
    # Both groups must keep their limits: k at least, and the room there is.
    if made.sizes[made.groups[i]] <= k or made.sizes[g] >= made.members.shape[1] - 1:
        return False
    if _cost_of_joining(made, i, g) - _gain_of_leaving(made, i) >= limit:
        return False
    _shift(made, i, g)
    return True


@inner
def try_swap(made, i, j, limit):
    """Let a record join the group of another, j, in exchange for the one of it that costs least,
    but for j itself.
    """
    g = made.groups[i]
    h = made.groups[j]
    best, least = -1, limit
    # All members of the other group but j, whose neighbourhood is the reason to go there.
    for b in range(made.sizes[h]):
        other = made.members[h, b]
        if other != j:
            cost = _cost_of_swapping(made, i, other)
            if cost < least:
                best, least = other, cost
    if best < 0:
        return False
    _shift(made, i, h)
    _shift(made, best, g)
    return True


@inner
def _back(made, records, homes, count):
    """Undo shifts."""
    # In the opposite order, so that members stand where they stood.
    for b in range(count - 1, -1, -1):
        _shift(made, records[b], homes[b])


@inner
def try_dissolve(made, g, reach, limit, records, homes):
    """Dissolve a group: each of its records joins the best group among those of its nearest
    neighbours.
    """
    size = made.sizes[g]
    added = 0.0
    for b in range(size):
        records[b] = made.members[g, b]
        homes[b] = g
        added -= _away(made, records[b], g)
    for b in range(size):
        i = records[b]
        best = -1
        least = np.inf
        # Groups of near records only: those far away cost more. ``h != best`` spares a second look
        # at the best.
        for r in range(reach):
            h = made.groups[made.near[i, r]]
            if h != g and h != best and made.sizes[h] < made.members.shape[1] - 1:
                cost = _cost_of_joining(made, i, h)
                if cost < least:
                    best, least = h, cost
        added += least
        # Joining only adds: once beyond the limit it stays there.
        if best < 0 or added >= limit:
            _back(made, records, homes, b)
            return False
        _shift(made, i, best)
    made.free[0] += 1
    made.free[made.free[0]] = g
    for a in range(made.points.shape[1]):
        made.sums[g, a] = 0.0
    return True


@inner
def try_create(made, k, i, limit, records, homes):
    """Make a new group of a record and its nearest neighbours whose groups can spare them."""
    if made.free[0] == 0 or made.sizes[made.groups[i]] <= k:
        return False
    g = made.free[made.free[0]]
    added, count = 0.0, 0
    # The record itself comes first (r = −1), then its neighbours by distance.
    for r in range(-1, made.near.shape[1]):
        j = i if r < 0 else np.int64(made.near[i, r])
        h = made.groups[j]
        if h != g and made.sizes[h] > k:
            added += _cost_of_joining(made, j, g) - _gain_of_leaving(made, j)
            records[count] = j
            homes[count] = h
            _shift(made, j, g)
            count += 1
            if count == k:
                break
    if count == k and added < limit:
        made.free[0] -= 1
        return True
    _back(made, records, homes, count)
    for a in range(made.points.shape[1]):
        made.sums[g, a] = 0.0
    return False
