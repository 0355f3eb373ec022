"""Loops that draw donors for households, with probability in proportion to a whole-number weight.

Households are sorted by similarity profile and, within it, by area, once for each list of similar columns. A Fenwick tree over the
weights in that order gives sums over any stretch: the donors for a household are the stretch of its profile without the
stretch of its own area. Weights are whole numbers so that sums are exact when households are taken out.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def tree_of(weights):
    """The Fenwick tree of some weights; entry 0 is not used."""
    tree = np.zeros(weights.size + 1, np.int64)
    for i in range(1, tree.size):
        tree[i] += weights[i - 1]
        above = i + (i & -i)
        if above < tree.size:
            tree[above] += tree[i]
    return tree


@njit(cache=True, nogil=True)
def _sum(tree, end):
    """The weights of the places before end."""
    total = np.int64(0)
    while end > 0:
        total += tree[end]
        end -= end & -end
    return total


@njit(cache=True, nogil=True)
def _take_out(tree, place, weight):
    i = place + 1
    while i < tree.size:
        tree[i] -= weight
        i += i & -i


@njit(cache=True, nogil=True)
def _find(tree, target):
    """The first place at which the sum of weights, its own included, exceeds a target."""
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
    """The place of a donor, or −1; a stretch is the ends of the profile and of the household's own area."""
    before = _sum(tree, stretch[0])
    own_before = _sum(tree, stretch[2])
    own = _sum(tree, stretch[3]) - own_before
    total = _sum(tree, stretch[1]) - before - own
    if total <= 0:
        return -1
    target = before + min(np.int64(uniform * total), total - 1)
    return _find(tree, target + own if target >= own_before else target)


@njit(cache=True, nogil=True)
def find_donors(seekers, uniforms, areas, quotas, weights, places, households, stretches, trees, partner, similar):
    """Give each seeker that is still free a donor, while its area has a quota left.

    ``weights`` are per household, 0 for those that cannot be donors. ``places[p, h]`` is the place of household *h* in the order
    of profile *p*, ``households[p]`` that order. Writes ``partner`` and the profile by which the two are ``similar``.
    """
    for n in range(seekers.size):
        h = seekers[n]
        if partner[h] != h or quotas[areas[h]] <= 0:
            continue
        for p in range(trees.shape[0]):
            place = _donor(trees[p], stretches[p, h], uniforms[n])
            if place < 0:
                continue
            d = households[p, place]
            for q in range(trees.shape[0]):
                _take_out(trees[q], places[q, h], weights[h])
                _take_out(trees[q], places[q, d], weights[d])
            partner[h], partner[d] = d, h
            similar[h] = similar[d] = p
            quotas[areas[h]] -= 1
            break
