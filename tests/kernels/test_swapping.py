"""Loops that pair records whose values are exchanged."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.swapping import (
    pair_at_distances,
    pair_closest,
    pair_in_buckets,
    pair_in_windows,
)
from tests.oracles import exchange as oracle


def test_interval_draws_evenly_among_the_next():
    # the first of 11 ranks with m = 10 finds each of the ten others in a tenth of the cases
    n = 20_000
    uniforms = np.random.default_rng(2).random((n, 11))
    starts, limits = np.array([0, 11]), np.array([10])
    first = [pair_in_windows(starts, limits, row)[0] for row in uniforms]
    counts = np.bincount(first, minlength=11)
    assert counts[0] == 0
    assert np.abs(counts[1:] - n / 10).max() <= 5 * math.sqrt(
        n * 0.09
    )  # 5 sigma: 6e-7 for each of ten


def test_buckets_are_half_as_likely_each_time():
    # five buckets of four ranks; seen from the first: 1/2, 1/4, 1/8, 1/16, 1/32, scaled to 1
    n = 20_000
    rng = np.random.default_rng(3)
    starts, limits = np.array([0, 20]), np.array([4])
    first = [pair_in_buckets(starts, limits, rng.random(20), rng.random(20))[0] for _ in range(n)]
    counts = np.bincount(np.array(first) // 4, minlength=5)
    expected = np.array([16, 8, 4, 2, 1]) / 31
    assert (np.abs(counts - n * expected) <= 5 * np.sqrt(n * expected * (1 - expected))).all()


def test_distances_of_p_distribution_are_folded_normal():
    # with m = 400 among 3,000 ranks the first goes |N(200, 200)| ahead
    starts, limits = np.array([0, 3000]), np.array([400])
    rng = np.random.default_rng(4)
    first = np.array(
        [pair_at_distances(starts, limits, rng.standard_normal(3000))[0] for _ in range(2000)]
    )
    # mean of |N(1, 1)| is √(2/π) e^(−1/2) + 1 − 2 Φ(−1) = 1.16663; its variance is 2 − 1.16663² =
    # 0.63898
    assert abs(first.mean() / 200 - 1.16663) <= 5 * math.sqrt(0.63898 / 2000) + 0.5 / 200
    assert first.max() > 400


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.booleans()),
        min_size=0,
        max_size=12,
        unique_by=lambda t: t[0],
    ),
    st.sampled_from([math.inf, 10**5, 0.0]),
)
def test_pairs_are_those_of_the_naive_search(records, reach):
    records.sort()
    values = [
        math.sqrt(v) + 1e-3 * i for i, (v, _) in enumerate(records)
    ]  # distances that all differ
    wanted = [w for _, w in records]
    found = pair_closest(
        np.array([0, len(values)]), np.array(values, float), np.array(wanted, bool), float(reach)
    )
    pairs = {(i, int(j)) for i, j in enumerate(found) if i < j}
    assert pairs == oracle.closest_pairs(values, wanted, reach)
