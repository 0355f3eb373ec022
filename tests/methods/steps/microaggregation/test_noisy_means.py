"""Means of groups of neighbours with exact noise."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.microaggregation.noisy_means import (
    STEPS,
    Scale,
    group_starts,
    noisy_means,
)
from tests.oracles.closeness_and_privacy import epsilon_from_below, means_of_ranked

NO_NOISE = Fraction(1, 10**6)
"""Noise of this scale is 0 but for a probability of e^−1000000."""


def means(values, k, scale=NO_NOISE):
    ordered = np.sort(np.array(values, dtype=np.int64))
    return noisy_means(ordered, group_starts(len(values), k), scale, Draws())


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12), st.integers(2, 5))
def test_means_of_neighbours(values, k):
    if k <= len(values):
        assert means(values, k).tolist() == pytest.approx(means_of_ranked(values, k))


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=14),
    st.integers(2, 5),
    st.integers(0, 50),
    st.data(),
)
def test_g39_one_record_moves_all_means_together_by_range_over_k(values, k, new, data):
    """Section on individual ranking, Sánchez et al. 2016: what groups lose and gain telescopes."""
    if k > len(values):
        return
    other = values.copy()
    other[data.draw(st.integers(0, len(values) - 1))] = new
    assert np.abs(means(values, k) - means(other, k)).sum() <= 50 / k + 1e-9


@pytest.mark.parametrize("k", [2, 5, 10])
def test_g39_the_bound_is_reached(k):
    steps = np.linspace(0, 100, 3 * k).round().astype(int).tolist()
    moved = np.abs(means([0, *steps[1:]], k) - means([100, *steps[1:]], k)).sum()
    assert moved == pytest.approx(100 / k)


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (6, 3)])
def test_whole_records_change_one_record_of_each_group_at_most(n, k):
    """All tables of few values: sorted records, one replaced; every group sum moves by the range at
    most.
    """
    starts = group_starts(n, k)
    for values in itertools.combinations_with_replacement(range(3), n):
        for new in range(3):
            other = sorted([*values[1:], new])
            before, after = (np.add.reduceat(np.array(v), starts) for v in (values, other))
            assert np.abs(before - after).max() <= 2


def test_audit_of_the_noise_itself():
    """Sums one step apart, 60 000 draws: every threshold stays below the claim, and the largest
    comes close to it.
    """
    claim = 0.5
    noise = Draws().laplace(Fraction(STEPS) / Fraction(claim), 60_000)
    hits = {
        limit: (int((noise + STEPS > limit).sum()), int((noise > limit).sum()))
        for limit in (0, STEPS, 2 * STEPS)
    }
    found = [epsilon_from_below(a, b, len(noise)) for a, b in hits.values()]
    assert 0.8 * claim < max(found) <= claim


def test_values_outside_the_bounds_count_as_the_bounds():
    assert Scale(0, 10).steps(np.array([-5.0, 0, 5, 10, 99])).tolist() == [
        0,
        0,
        STEPS // 2,
        STEPS,
        STEPS,
    ]
    assert Scale(0, 10).values(np.array([-1.0, STEPS / 2, 2 * STEPS])).tolist() == [0, 5, 10]
