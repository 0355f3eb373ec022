"""Noise: the right distribution, the loss that was asked for, whole numbers only.

Goodness-of-fit tests reject a right sampler with probability 1e-6 each.
"""

from __future__ import annotations

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.core.budget import PrivacyLoss
from sfumato.core.declared import Relation
from sfumato.errors import MissingExtra, ParameterError
from sfumato.methods.formulas import noise as noises
from sfumato.methods.formulas.noise import gaussian, laplace, noise_for
from sfumato.results.queries import quantiles
from sfumato.results.queries.quantiles import chooser
from tests.oracles import private_queries as oracle

REJECTED = 1e-6
DRAWS = 20_000


def fits(drawn, mass, reach):
    """p-value of a chi-square test; what lies beyond the reach is one cell a side."""
    cells = range(-reach, reach + 1)
    seen = [np.sum(drawn < -reach), *(np.sum(drawn == x) for x in cells), np.sum(drawn > reach)]
    expected = [mass(x) * len(drawn) for x in cells]
    rest = max(len(drawn) - sum(expected), 1e-9)
    pooled_seen, pooled = [seen[0] + seen[-1], *seen[1:-1]], [rest, *expected]
    return chisquare(pooled_seen, np.array(pooled) * (sum(pooled_seen) / sum(pooled))).pvalue


@pytest.mark.parametrize(("l1", "epsilon", "reach"), [(1, "1", 5), (1, "1/2", 9), (3, "1", 12)])
def test_discrete_laplace_has_its_distribution(l1, epsilon, reach):
    noise = laplace(l1, Fraction(epsilon))
    drawn = noise.draw(DRAWS)
    assert noise.scale == pytest.approx(l1 / float(Fraction(epsilon)), rel=1e-12)
    assert fits(drawn, lambda x: oracle.discrete_laplace(x, noise.scale), reach) > REJECTED


@pytest.mark.slow
@pytest.mark.parametrize(("l2", "rho", "reach"), [(1.0, "1/8", 5), (math.sqrt(2), "1/4", 5)])
def test_discrete_gaussian_has_its_distribution(l2, rho, reach):
    noise = gaussian(l2, Fraction(rho))
    drawn = noise.draw(DRAWS)
    assert fits(drawn, lambda x: oracle.discrete_gaussian(x, noise.scale), reach) > REJECTED


def test_one_sided_noise_is_geometric():
    noise = laplace(2, Fraction(1))
    drawn = noise.draw_one_sided(DRAWS)
    p = math.exp(-1 / noise.scale)
    assert len(drawn) == DRAWS and drawn.min() == 0
    seen = np.bincount(np.minimum(drawn, 12), minlength=13)
    expected = np.array([(1 - p) * p**x for x in range(12)] + [p**12]) * DRAWS
    assert chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > REJECTED


def test_a_wrong_scale_would_be_noticed():
    drawn = laplace(1, Fraction(1)).draw(DRAWS)
    assert fits(drawn, lambda x: oracle.discrete_laplace(x, 1.2), 5) < REJECTED


@given(st.integers(1, 10**6), st.floats(1e-3, 20).map(lambda e: Fraction(str(e))))
def test_the_loss_never_exceeds_what_was_asked(reach, amount):
    by_epsilon, by_rho = laplace(reach, amount), gaussian(float(reach), amount)
    assert Fraction(by_epsilon.measurement.map(reach)) <= amount
    assert Fraction(by_rho.measurement.map(float(reach))) <= amount
    assert by_epsilon.scale <= float(reach / amount) * (1 + 1e-12)
    assert by_rho.scale <= reach / math.sqrt(2 * amount) * (1 + 1e-12)


@pytest.mark.parametrize("failure", [0.05, 0.05 / 3, 1e-4])
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_tails_are_the_smallest_that_hold(scale, failure):
    for noise, mass in (
        (laplace(1, Fraction(str(1 / scale))), oracle.discrete_laplace),
        (gaussian(scale, Fraction(1, 2)), oracle.discrete_gaussian),
    ):
        t = noise.tail(failure)
        inside = sum(mass(x, noise.scale) for x in range(-t, t + 1))
        smaller = sum(mass(x, noise.scale) for x in range(-t + 1, t))
        assert 1 - inside <= failure + 1e-9
        assert t == 0 or 1 - smaller > failure - 1e-9


def test_the_tail_of_wide_gaussian_noise_continues_that_of_narrow():
    narrow, wide = (
        gaussian(9_999.0, Fraction(1, 2)).tail(0.05),
        gaussian(10_001.0, Fraction(1, 2)).tail(0.05),
    )
    assert narrow <= wide <= narrow + 6


def test_large_numbers_are_not_cut_to_32_bits():
    drawn = laplace(2**40, Fraction(1)).draw(200)
    assert (
        np.abs(drawn).max() > 2**32 and len(np.unique(drawn)) == 200
    )  # equal draws: probability below 1e-7


def test_noise_that_leaves_the_range_is_refused():
    with pytest.raises(ParameterError, match="small"):
        noise_for(PrivacyLoss.of(epsilon=1e-12), 2**20, 2.0**20)


def test_nothing_here_takes_a_seed():
    names = [
        name
        for room in (noises, quantiles)
        for _, function in inspect.getmembers(room, inspect.isfunction)
        for name in inspect.signature(function).parameters
    ]
    assert names and not {"seed", "rng", "generator", "random_state"} & set(names)
    assert len({tuple(laplace(1, Fraction(1, 100)).draw(8)) for _ in range(20)}) == 20


def test_a_missing_extra_is_named(monkeypatch):
    def lost(name):
        raise ImportError(name)

    monkeypatch.setattr("sfumato.errors.importlib.import_module", lost)
    with pytest.raises(MissingExtra, match=r"sfumato\[dp\]"):
        laplace(1, Fraction(1))


# --- quantiles: the distribution is known exactly, and so is its privacy ---


def test_quantiles_are_drawn_with_these_probabilities():
    values, candidates = np.array([0.0, 1.0, 1.0, 3.0, 4.0]), (0.0, 1.0, 2.0, 3.0)
    made = chooser(0.5, candidates, Relation(), PrivacyLoss.of(epsilon=0.8), cells=1)
    runs = 4000
    cell = np.repeat(np.arange(runs), len(values))  # every group holds the same table
    chosen = made.choose(np.tile(values, runs), cell, runs, made.draw(runs))
    expected = oracle.noisy_best(
        oracle.quantile_scores(values, candidates, Fraction(1, 2)), made.noise.scale
    )
    seen = [int(np.sum(chosen == c)) for c in candidates]
    assert chisquare(seen, np.array(expected) / sum(expected) * runs).pvalue > REJECTED
