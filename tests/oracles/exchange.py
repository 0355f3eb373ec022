"""Naive definitions of swapping, shuffling and randomising, straight from their descriptions."""

from __future__ import annotations

import itertools
from collections import Counter


def rank_shift(values, before, after):
    """How many ranks lie between the ranks that two values have among all, at least: equal values
    share several.
    """
    ordered = sorted(values)
    first, count = {}, Counter(ordered)
    for rank, value in enumerate(ordered):
        first.setdefault(value, rank)
    low, high = sorted([before, after])
    return max(0, first[high] - (first[low] + count[low] - 1))


def tables_up_to(rows, names, fixed, column):
    """The table of counts of a column with every subset of some others."""
    found = {}
    for size in range(len(fixed) + 1):
        for some in itertools.combinations(fixed, size):
            places = [names.index(name) for name in (column, *some)]
            found[some] = Counter(tuple(row[p] for p in places) for row in rows)
    return found


def two_stage(p, matrix):
    """R = PQ with Q_kj = P_jk p_j / q_k, by loops."""
    m = range(len(p))
    q = [sum(p[j] * matrix[j][k] for j in m) for k in m]
    back = [[matrix[j][k] * p[j] / q[k] if q[k] else float(j == k) for j in m] for k in m]
    return [[sum(matrix[i][k] * back[k][j] for k in m) for j in m] for i in m]


def direct(p, theta):
    """R_ii = 1 − θ p_min / p_i, the rest spread evenly."""
    m = range(len(p))
    return [
        [1 - theta * min(p) / p[i] if i == j else theta * min(p) / (p[i] * (len(p) - 1)) for j in m]
        for i in m
    ]


def closest_pairs(values, wanted, reach):
    """Pair the nearest two records of which one is wanted, again and again; only for distances that
    all differ.
    """
    free, pairs = set(range(len(values))), set()
    while True:
        near = [
            (abs(values[i] - values[j]), i, j)
            for i, j in itertools.combinations(sorted(free), 2)
            if (wanted[i] or wanted[j]) and abs(values[i] - values[j]) <= reach
        ]
        if not near:
            return pairs
        _, i, j = min(near)
        pairs.add((i, j))
        free -= {i, j}


def levels_at_risk(rows, k):
    """Per household the highest level at which a member is one of fewer than k; rows are
    (household, areas, traits).
    """
    found = {}
    for level in range(len(rows[0][1])):
        counts = Counter((areas[: level + 1], traits) for _, areas, traits in rows)
        for household, areas, traits in rows:
            if counts[areas[: level + 1], traits] < k:
                found.setdefault(household, level)
    return found


def average_ranks(values):
    """Ranks from 1, the average for equal values."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]
