"""Loops over records in a given order: groups are runs of neighbours."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def best_runs(points, k, groups):
    """Cut points, in their order, into runs of k to 2k − 1 with the least squared error; returns the number of runs.

    A shortest path over the places between records: the arc from i to j costs the squared error of the records i…j−1 and
    exists for k ≤ j − i ≤ 2k − 1. The error grows by n/(n+1)·d² with each record, at distance d from the mean of the n
    before it: without the cancellation that differences of prefix sums suffer from.
    """
    n, d = points.shape
    cost, step = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    mean = np.empty(d)
    cost[0] = 0.0
    for i in range(n - k + 1):
        if cost[i] == np.inf:
            continue
        error = 0.0
        for a in range(d):
            mean[a] = 0.0
        for size in range(1, min(2 * k - 1, n - i) + 1):
            away = 0.0
            for a in range(d):
                gap = points[i + size - 1, a] - mean[a]
                away += gap * gap
                mean[a] += gap / size
            error += away * (size - 1.0) / size
            if size >= k and cost[i] + error < cost[i + size]:
                cost[i + size] = cost[i] + error
                step[i + size] = size
    made, end = np.int64(0), n
    while end > 0:
        for i in range(end - step[end], end):
            groups[i] = made
        made += 1
        end -= step[end]
    return made
