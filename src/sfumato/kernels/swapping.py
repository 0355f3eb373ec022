"""Loops that pair records whose values are exchanged.

Arrays. ``partner[i]`` is the record with which *i* exchanges, or *i* itself; every array of
partners is its own inverse. Ranks are numbered from 0 over all strata; stratum *s* holds those from
``starts[s]`` to ``starts[s + 1]``. ``uniforms`` and ``normals`` are draws that the caller made, one
per record, so that results do not depend on the machine.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.loop_cache import njit

FARTHEST_BUCKET = 50
"""Buckets so far away would be chosen with probability 2⁻⁵⁰."""


@njit(cache=True, nogil=True)
def _remove(pool, at, first, count, item):
    """Take an item out of a pool by putting the last one in its slot; returns how many remain."""
    last = pool[first + count - 1]
    pool[at[item]] = last
    at[last] = at[item]
    return count - 1


@njit(cache=True, nogil=True)
def window_partners(starts, limits, uniforms):
    """Rank swapping: each free rank exchanges with one drawn evenly among the free ranks that
    follow within its stratum's limit. Linear time.
    """
    n = uniforms.size
    partner = np.arange(n)
    pool = np.empty(n, np.int64)
    at = np.empty(n, np.int64)
    for s in range(starts.size - 1):
        count = 0
        entering = starts[s]
        for i in range(starts[s], starts[s + 1]):
            # The pool holds the free ranks from i to i + limit; each enters and leaves once.
            while entering < starts[s + 1] and entering <= i + limits[s]:
                pool[count] = entering
                at[entering] = count
                count += 1
                entering += 1
            if partner[i] != i:
                continue
            count = _remove(pool, at, 0, count, i)
            if count == 0:
                continue
            j = pool[np.int64(uniforms[i] * count)]
            count = _remove(pool, at, 0, count, j)
            partner[i] = j
            partner[j] = i
    return partner


@njit(cache=True, nogil=True)
def _end(links, i):
    """The end of a chain of links from i, with path compression: all links on the way lead there
    directly afterwards (union–find).
    """
    end = i
    while links[end] != end:
        end = links[end]
    while links[i] != end:
        i, links[i] = links[i], end
    return end


@njit(cache=True, nogil=True)
def spread_partners(starts, limits, normals):
    """Each free rank exchanges with the free rank nearest to one that lies a normal distance ahead,
    however far.

    ``right`` and ``left`` lead from a taken rank to the nearest free one on that side; ``left`` is
    numbered from 1. Nearly linear time (union–find).
    """
    n = normals.size
    partner = np.arange(n)
    right = np.arange(n + 1)
    left = np.arange(n + 1)
    for s in range(starts.size - 1):
        end = starts[s + 1]
        for i in range(starts[s], end):
            if partner[i] != i or limits[s] == 0:
                continue
            right[i] = i + 1
            left[i + 1] = i
            # The target lies limit ∕ 2 ranks ahead on average, at least one.
            ahead = max(1.0, np.rint(abs(0.5 * limits[s] * (1.0 + normals[i]))))
            target = min(i + np.int64(min(ahead, 1.0 * n)), end - 1)
            # The nearer of the free ranks on either side of the target, but never one before i.
            above = _end(right, target)
            below = _end(left, target + 1) - 1
            if above >= end and below <= i:
                continue
            if below <= i or (above < end and above - target <= target - below):
                j = above
            else:
                j = below
            right[j] = j + 1
            left[j + 1] = j
            partner[i] = j
            partner[j] = i
    return partner


@njit(cache=True, nogil=True)
def _bucket(counts, r, last, uniform):
    """A bucket from r on that has free ranks, each half as probable as the one before; −1 if there
    is none.
    """
    total, weight = 0.0, 0.5
    # Weights ½, ¼, ⅛ … of the buckets that have free ranks, normalised by their sum.
    for s in range(r, min(last, r + FARTHEST_BUCKET)):
        if counts[s] > 0:
            total += weight
        weight *= 0.5
    # Inversion: the bucket in which the running sum passes the draw.
    rest = uniform * total
    weight = 0.5
    found = -1
    for s in range(r, min(last, r + FARTHEST_BUCKET)):
        if counts[s] > 0:
            found = s
            if rest < weight:
                break
            rest -= weight
        weight *= 0.5
    return found


@njit(cache=True, nogil=True)
def bucket_partners(starts, limits, uniforms, others):
    """Each free rank exchanges with one of its own bucket or a later one; buckets hold as many
    ranks as the limit.
    """
    n = uniforms.size
    partner = np.arange(n)
    pool = np.arange(n)
    at = np.arange(n)
    for s in range(starts.size - 1):
        first = starts[s]
        size = starts[s + 1] - starts[s]
        width = limits[s]
        if width == 0:
            continue
        last = (size + width - 1) // width
        counts = np.full(last, width)
        counts[last - 1] = size - (last - 1) * width
        for i in range(first, starts[s + 1]):
            if partner[i] != i:
                continue
            own = (i - first) // width
            # Within a bucket the free ranks stand first in its slots of the pool.
            counts[own] = _remove(pool, at, first + own * width, counts[own], i)
            chosen = _bucket(counts, own, last, uniforms[i])
            if chosen < 0:
                continue
            j = pool[first + chosen * width + np.int64(others[i] * counts[chosen])]
            counts[chosen] = _remove(pool, at, first + chosen * width, counts[chosen], j)
            partner[i] = j
            partner[j] = i
    return partner


@njit(cache=True, nogil=True)
def _push(heap, values, wanted, reach, i, j):
    """Put a pair on the heap if one of them is wanted and they are within reach."""
    if (wanted[i] or wanted[j]) and values[j] - values[i] <= reach:
        heapq.heappush(heap, (values[j] - values[i], i, j))


@njit(cache=True, nogil=True)
def closest_pairs(starts, values, wanted, reach):
    """Pair the two nearest records of which one is wanted, then the nearest two of the remaining,
    and so on.

    ``values`` ascend within each stratum. The nearest free record is always the next free one below
    or above, so a heap of neighbours is enough: n log n steps.
    """
    n = values.size
    partner = np.arange(n)
    heap = [(0.0, np.int64(-1), np.int64(-1))]
    heap.pop()
    for s in range(starts.size - 1):
        below = np.arange(starts[s], starts[s + 1]) - 1
        above = below + 2
        first = starts[s]
        end = starts[s + 1]
        for row in range(first, end - 1):
            _push(heap, values, wanted, reach, row, row + 1)
        while len(heap) > 0:
            _, i, j = heapq.heappop(heap)
            # An entry whose record was paired meanwhile is stale.
            if partner[i] != i or partner[j] != j:
                continue
            partner[i] = j
            partner[j] = i
            # Unlink both from the list of free records; their outer neighbours become neighbours.
            low = below[i - first]
            high = above[j - first]
            if low >= first:
                above[low - first] = high
            if high < end:
                below[high - first] = low
            if low >= first and high < end:
                _push(heap, values, wanted, reach, low, high)
    return partner


@njit(cache=True, nogil=True)
def draw_codes(codes, cumulative, uniforms):
    """For each code i the first j whose cumulative probability exceeds the uniform number:
    inversion by binary search.
    """
    found = np.empty(codes.size, np.int64)
    for n in range(codes.size):
        i = codes[n]
        u = uniforms[n]
        low = 0
        high = cumulative.shape[1] - 1
        while low < high:
            middle = (low + high) // 2
            if cumulative[i, middle] > u:
                high = middle
            else:
                low = middle + 1
        found[n] = low
    return found


@njit(cache=True, nogil=True)
def first_free(neighbours, distances, reach, taken, once):
    """For each seeker in turn the first of its neighbours that is not taken and within reach, or
    −1. Neighbours come by rising distance, so the first beyond reach ends the search.
    """
    found = np.full(neighbours.shape[0], -1)
    for i in range(neighbours.shape[0]):
        for c in range(neighbours.shape[1]):
            j = neighbours[i, c]
            if j >= taken.size or distances[i, c] > reach:
                break
            if not taken[j]:
                found[i] = j
                taken[j] = once
                break
    return found


# Loops that draw donors for households, with probability in proportion to a whole-number weight.
#
# Households are sorted by similarity profile and, within it, by area, once for each list of similar
# columns. A Fenwick tree over the weights in that order gives sums over any stretch: the donors for
# a household are the stretch of its profile without the stretch of its own area. Weights are whole
# numbers so that sums are exact when households are taken out.


@njit(cache=True, nogil=True)
def tree_of(weights):
    """The Fenwick tree (1994) of some weights; entry 0 is not used. Entry i holds the sum of the
    weights of the i & −i entries up to i.
    """
    tree = np.zeros(weights.size + 1, np.int64)
    # Linear time: each entry passes its sum to the next that covers it.
    for i in range(1, tree.size):
        tree[i] += weights[i - 1]
        above = i + (i & -i)
        if above < tree.size:
            tree[above] += tree[i]
    return tree


@njit(cache=True, nogil=True)
def _sum(tree, end):
    """The sum of the weights before ``end``: log n steps."""
    total = np.int64(0)
    while end > 0:
        total += tree[end]
        end -= end & -end
    return total


@njit(cache=True, nogil=True)
def _take_out(tree, place, weight):
    """Subtract a weight: log n steps."""
    i = place + 1
    while i < tree.size:
        tree[i] -= weight
        i += i & -i


@njit(cache=True, nogil=True)
def _find(tree, target):
    """The first position at which the sum of weights, its own included, exceeds a target: binary
    descent in the Fenwick tree.
    """
    step = 1
    while 2 * step < tree.size:
        step *= 2
    place = 0
    while step > 0:
        if place + step < tree.size and tree[place + step] <= target:
            place += step
            target -= tree[place]
        step //= 2
    return place


@njit(cache=True, nogil=True)
def _donor(tree, stretch, uniform):
    """The position of a donor, or −1; a stretch is the ends of the profile and of the household's
    own area.
    """
    before = _sum(tree, stretch[0])
    # Weights of the profile without the own area.
    own_before = _sum(tree, stretch[2])
    own = _sum(tree, stretch[3]) - own_before
    total = _sum(tree, stretch[1]) - before - own
    if total <= 0:
        return -1
    target = before + min(np.int64(uniform * total), total - 1)
    # A target beyond the own area skips it.
    return _find(tree, target + own if target >= own_before else target)


class Profiles(NamedTuple):
    """Per profile (one row each) the place of every household in its order, that order, its
    stretches and its tree of weights.
    """

    places: NDArray[np.int64]
    households: NDArray[np.int64]
    stretches: NDArray[np.int64]
    trees: NDArray[np.int64]


@njit(cache=True, nogil=True)
def find_donors(seekers, uniforms, area_quotas, weights, profiles, partner, similar):
    """Give each seeker that is still free a donor, while its area has a quota left.

    ``area_quotas`` is the area of every household, and by area how many swaps are left. ``weights``
    are per household, 0 for those that cannot be donors. Writes ``partner`` and the
    profile by which the two are ``similar``.
    """
    areas, quotas = area_quotas
    places, households, stretches, trees = profiles
    # Seekers in their order; a swap takes both out of all trees, so that nobody is swapped twice.
    # Profiles × log n a swap.
    for n in range(seekers.size):
        h = seekers[n]
        if partner[h] != h or quotas[areas[h]] <= 0:
            continue
        # Profiles in their order: the first that offers a donor is taken.
        for p in range(trees.shape[0]):
            place = _donor(trees[p], stretches[p, h], uniforms[n])
            if place < 0:
                continue
            d = households[p, place]
            for q in range(trees.shape[0]):
                _take_out(trees[q], places[q, h], weights[h])
                _take_out(trees[q], places[q, d], weights[d])
            partner[h] = d
            partner[d] = h
            similar[h] = similar[d] = p
            quotas[areas[h]] -= 1
            break
