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
def _remove_item(pool, at, first, count, item):
    """Take an item out of a pool by putting the last one in its slot; returns how many remain."""
    last = pool[first + count - 1]
    pool[at[item]] = last
    at[last] = at[item]
    return count - 1


@njit(cache=True, nogil=True)
def pair_in_windows(starts, limits, uniforms):
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
            count = _remove_item(pool, at, 0, count, i)
            if count == 0:
                continue
            j = pool[np.int64(uniforms[i] * count)]
            count = _remove_item(pool, at, 0, count, j)
            partner[i] = j
            partner[j] = i
    return partner


@njit(cache=True, nogil=True)
def _find_end(links, i):
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
def pair_at_distances(starts, limits, normals):
    """Each free rank exchanges with the free rank nearest to one that lies a normal distance ahead,
    however far.

    ``right_links`` and ``left_links`` lead from a taken rank to the nearest free one on that side;
    ``left_links`` is numbered from 1. Nearly linear time (union–find).
    """
    n = normals.size
    partner = np.arange(n)
    right_links = np.arange(n + 1)
    left_links = np.arange(n + 1)
    for s in range(starts.size - 1):
        end = starts[s + 1]
        for i in range(starts[s], end):
            if partner[i] != i or limits[s] == 0:
                continue
            right_links[i] = i + 1
            left_links[i + 1] = i
            # The target lies limit ∕ 2 ranks ahead on average, at least one.
            ahead = max(1.0, np.rint(abs(0.5 * limits[s] * (1.0 + normals[i]))))
            target = min(i + np.int64(min(ahead, 1.0 * n)), end - 1)
            # The nearer of the free ranks on either side of the target, but never one before i.
            above = _find_end(right_links, target)
            below = _find_end(left_links, target + 1) - 1
            if above >= end and below <= i:
                continue
            if below <= i or (above < end and above - target <= target - below):
                j = above
            else:
                j = below
            right_links[j] = j + 1
            left_links[j + 1] = j
            partner[i] = j
            partner[j] = i
    return partner


@njit(cache=True, nogil=True)
def _draw_bucket(counts, r, last, uniform):
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
    target = uniform * total
    weight = 0.5
    bucket = -1
    for s in range(r, min(last, r + FARTHEST_BUCKET)):
        if counts[s] > 0:
            bucket = s
            if target < weight:
                break
            target -= weight
        weight *= 0.5
    return bucket


@njit(cache=True, nogil=True)
def pair_in_buckets(starts, limits, uniforms, second_uniforms):
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
            counts[own] = _remove_item(pool, at, first + own * width, counts[own], i)
            bucket = _draw_bucket(counts, own, last, uniforms[i])
            if bucket < 0:
                continue
            j = pool[first + bucket * width + np.int64(second_uniforms[i] * counts[bucket])]
            counts[bucket] = _remove_item(pool, at, first + bucket * width, counts[bucket], j)
            partner[i] = j
            partner[j] = i
    return partner


@njit(cache=True, nogil=True)
def _push_pair(heap, values, is_wanted, reach, i, j):
    """Put a pair on the heap if one of them is wanted and they are within reach."""
    if (is_wanted[i] or is_wanted[j]) and values[j] - values[i] <= reach:
        heapq.heappush(heap, (values[j] - values[i], i, j))


@njit(cache=True, nogil=True)
def pair_closest(starts, values, is_wanted, reach):
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
            _push_pair(heap, values, is_wanted, reach, row, row + 1)
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
                _push_pair(heap, values, is_wanted, reach, low, high)
    return partner


@njit(cache=True, nogil=True)
def draw_codes(codes, cumulative, uniforms):
    """For each code i the first j whose cumulative probability exceeds the uniform number:
    inversion by binary search.
    """
    drawn_codes = np.empty(codes.size, np.int64)
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
        drawn_codes[n] = low
    return drawn_codes


@njit(cache=True, nogil=True)
def assign_first_free(neighbours, distances, reach, is_taken, once):
    """For each seeker in turn the first of its neighbours that is not taken and within reach, or
    −1. Neighbours come by rising distance, so the first beyond reach ends the search.
    """
    donors = np.full(neighbours.shape[0], -1)
    for i in range(neighbours.shape[0]):
        for c in range(neighbours.shape[1]):
            j = neighbours[i, c]
            if j >= is_taken.size or distances[i, c] > reach:
                break
            if not is_taken[j]:
                donors[i] = j
                is_taken[j] = once
                break
    return donors


# Loops that draw donors for households, with probability in proportion to a whole-number weight.
#
# Households are sorted by similarity profile and, within it, by area, once for each list of similar
# columns. A Fenwick tree over the weights in that order gives sums over any stretch: the donors for
# a household are the stretch of its profile without the stretch of its own area. Weights are whole
# numbers so that sums are exact when households are taken out.


@njit(cache=True, nogil=True)
def build_weight_tree(weights):
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
def _sum_before(tree, end):
    """The sum of the weights before ``end``: log n steps."""
    total = np.int64(0)
    while end > 0:
        total += tree[end]
        end -= end & -end
    return total


@njit(cache=True, nogil=True)
def _subtract_weight(tree, position, weight):
    """Subtract a weight: log n steps."""
    i = position + 1
    while i < tree.size:
        tree[i] -= weight
        i += i & -i


@njit(cache=True, nogil=True)
def _find_position(tree, target):
    """The first position at which the sum of weights, its own included, exceeds a target: binary
    descent in the Fenwick tree.
    """
    step = 1
    while 2 * step < tree.size:
        step *= 2
    position = 0
    while step > 0:
        if position + step < tree.size and tree[position + step] <= target:
            position += step
            target -= tree[position]
        step //= 2
    return position


@njit(cache=True, nogil=True)
def _draw_donor(tree, stretch, uniform):
    """The position of a donor, or −1; a stretch is the ends of the profile and of the household's
    own area.
    """
    before = _sum_before(tree, stretch[0])
    # Weights of the profile without the own area.
    own_before = _sum_before(tree, stretch[2])
    own = _sum_before(tree, stretch[3]) - own_before
    total = _sum_before(tree, stretch[1]) - before - own
    if total <= 0:
        return -1
    target = before + min(np.int64(uniform * total), total - 1)
    # A target beyond the own area skips it.
    return _find_position(tree, target + own if target >= own_before else target)


class Profiles(NamedTuple):
    """Per profile (one row each) the place of every household in its order, that order, its
    stretches and its tree of weights.
    """

    positions: NDArray[np.int64]
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
    positions, households, stretches, trees = profiles
    # Seekers in their order; a swap takes both out of all trees, so that nobody is swapped twice.
    # Profiles × log n a swap.
    for n in range(seekers.size):
        h = seekers[n]
        if partner[h] != h or quotas[areas[h]] <= 0:
            continue
        # Profiles in their order: the first that offers a donor is taken.
        for p in range(trees.shape[0]):
            position = _draw_donor(trees[p], stretches[p, h], uniforms[n])
            if position < 0:
                continue
            d = households[p, position]
            for q in range(trees.shape[0]):
                _subtract_weight(trees[q], positions[q, h], weights[h])
                _subtract_weight(trees[q], positions[q, d], weights[d])
            partner[h] = d
            partner[d] = h
            similar[h] = similar[d] = p
            quotas[areas[h]] -= 1
            break
