"""Classes of similar records, as similar as the limits on every bucket allow."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.methods.formulas.bucket_counts import distance_of
from sfumato.methods.steps.microaggregation.bucket_classes import Limits, greedy, halve_parts


def test_greedy_that_runs_into_a_corner_starts_again_with_counts_that_work_out():
    """All of one bucket lie far out: the first classes would take them and leave the last none."""
    found = [_corner(seed) for seed in range(40)]
    assert all(found)


def _corner(seed):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(12, 40)), int(rng.integers(2, 5))
    shares = np.bincount(rng.integers(0, 3, n), minlength=3)
    if (shares < 2 * classes).any():
        return True
    buckets = np.repeat(np.arange(3), shares)
    sizes = [n // classes + (i < n % classes) for i in range(classes)]
    limits = Limits.of(sizes, shares.tolist(), 1.6)
    try:
        exact = limits.exact(shares.tolist())
    except sf.errors.InternalError:
        return True  # nothing fits
    points = rng.normal(size=(n, 1)) + 3.0 * buckets[:, None]
    groups, _ = greedy(points, buckets, limits)
    counts = np.array([np.bincount(buckets[groups == c], minlength=3) for c in range(classes)])
    return distance_of(counts) <= 1.6 + 1e-9 and exact.low.sum() == n


def test_halving_makes_parts_of_at_least_k_that_are_close():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 3))
    buckets = [np.argsort(np.argsort(points[:, a])) * 3 // 200 for a in range(2)]
    groups = halve_parts(points, buckets, 8, 2.0)
    assert np.bincount(groups).min() >= 8
    assert groups.max() >= 7
    for one in buckets:
        assert (
            distance_of(
                [np.bincount(one[groups == g], minlength=3) for g in range(groups.max() + 1)]
            )
            <= 2 + 1e-9
        )
