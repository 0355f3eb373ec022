"""Loops of a genetic algorithm on partitions of a few dozen records."""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.regrouping import squared_error
from sfumato.kernels.space import inner


@inner
def _means(points, groups, sums, sizes):
    sizes[:] = 0
    sums[:] = 0.0
    for i in range(points.shape[0]):
        sizes[groups[i]] += 1
        for a in range(points.shape[1]):
            sums[groups[i], a] += points[i, a]


@inner
def _away(points, i, sums, sizes, g):
    total = 0.0
    for a in range(points.shape[1]):
        gap = points[i, a] - sums[g, a] / sizes[g]
        total += gap * gap
    return total


@inner
def _dissolve_small(points, groups, k, sums, sizes):
    """Records of groups that are too small join the nearest group that is large enough."""
    _means(points, groups, sums, sizes)
    for i in range(points.shape[0]):
        if sizes[groups[i]] >= k:
            continue
        best, least = -1, np.inf
        for g in range(sizes.size):
            if sizes[g] >= k:
                away = _away(points, i, sums, sizes, g)
                if away < least:
                    best, least = g, away
        if best < 0:
            best = 0  # nobody is large enough: all together
        groups[i] = best


@inner
def _split_large(points, groups, k, sums, sizes, away):
    """Groups of 2k or more are split: the record farthest from the mean and its k − 1 nearest are a group of their own."""
    _means(points, groups, sums, sizes)
    for g in range(sizes.size):
        while sizes[g] >= 2 * k:
            free = 0
            while free < sizes.size and sizes[free] > 0:
                free += 1
            if free == sizes.size:
                return
            seed, most = -1, -1.0
            for i in range(points.shape[0]):
                if groups[i] == g and _away(points, i, sums, sizes, g) > most:
                    seed, most = i, _away(points, i, sums, sizes, g)
            for i in range(points.shape[0]):
                away[i] = np.inf
                if groups[i] == g:
                    away[i] = 0.0
                    for a in range(points.shape[1]):
                        gap = points[i, a] - points[seed, a]
                        away[i] += gap * gap
            away[seed] = -1.0
            for _ in range(k):
                nearest = np.argmin(away)
                groups[nearest] = free
                away[nearest] = np.inf
            _means(points, groups, sums, sizes)


@inner
def _cross(child, mother, father, k, draw):
    """A child of the mother that has one group of the father; its number is one that the mother does not use, or −1."""
    child[:] = mother
    used = np.zeros(child.size // k + 2, np.bool_)
    for i in range(child.size):
        used[mother[i]] = True
    fresh = 0
    while used[fresh]:
        fresh += 1
    wanted = father[int(draw * child.size)]
    for i in range(child.size):
        if father[i] == wanted:
            child[i] = fresh


@njit(cache=True, nogil=True)
def evolve(points, k, start, randoms):
    """The best partition that some generations find; never worse than ``start``.

    ``randoms`` has one row of six numbers between 0 and 1 a generation. Each makes one child of two parents, which are the
    better of two drawn each; with probability one half two of its records are exchanged; it is mended (no group has fewer
    than k records or, as far as numbers last, 2k or more) and takes the place of the worst where it is better.
    """
    n, many = points.shape[0], 24
    people, errors = np.empty((many, n), np.int64), np.empty(many)
    count = n // k + 2
    sums, sizes, away = np.empty((count, points.shape[1])), np.empty(count, np.int64), np.empty(n)
    child = np.empty(n, np.int64)
    for p in range(many):
        people[p] = start
        for turn in range(2 * p):
            row = randoms[(p * 7 + turn) % randoms.shape[0]]
            i, j = int(row[turn % 6] * n), int(row[(turn + 3) % 6] * n)
            people[p, i], people[p, j] = people[p, j], people[p, i]
        errors[p] = squared_error(points, people[p], count)
    for turn in range(randoms.shape[0]):
        row = randoms[turn]
        a, b, c, d = int(row[0] * many), int(row[1] * many), int(row[2] * many), int(row[3] * many)
        mother, father = a if errors[a] <= errors[b] else b, c if errors[c] <= errors[d] else d
        _cross(child, people[mother], people[father], k, row[4])
        if row[5] < 0.5:
            i, j = int(row[5] * 2.0 * n), int((row[4] * 977.0) % 1.0 * n)
            child[i], child[j] = child[j], child[i]
        _dissolve_small(points, child, k, sums, sizes)
        _split_large(points, child, k, sums, sizes, away)
        error = squared_error(points, child, count)
        worst = np.argmax(errors)
        if error < errors[worst] and not np.any(errors == error):
            people[worst], errors[worst] = child, error
    return people[np.argmin(errors)]
