from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import chisquare

from sfumato.errors import ParameterError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.formulas.optimal_channels import (
    TOTAL,
    distortions,
    optimal_channel,
    whole_weights,
)

priors = st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(any)
epsilons = st.one_of(st.floats(0.01, 20), st.sampled_from([0.1, math.log(2), 1.0, 20.0]))
distances = st.sampled_from(["equal", "ordered"])


def shares(weights):
    return [w / sum(weights) for w in weights]


def taylor(epsilon):
    """A fraction that is surely above e^ε, by no more than 1e-20 of it, from the series."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(1)
    for n in range(1, 120):
        term = term * x / n
        total += term
    return total * (1 + Fraction(1, 10**20))


@given(priors, epsilons, distances)
def test_every_outcome_keeps_epsilon_in_whole_numbers(weights, epsilon, distance):
    """No rounding: the masses are whole parts, compared with e^ε from its series."""
    channel = optimal_channel(shares(weights), epsilon, distortions(len(weights), distance))
    limit = taylor(epsilon)
    assert (channel.weights.sum(axis=1) == TOTAL).all() and (channel.weights >= 0).all()
    for column in channel.weights.T.tolist():
        for one, other in itertools.permutations(column, 2):
            assert one <= limit * other


@given(priors, st.floats(0.05, 4), distances)
def test_is_the_least_distortion_of_the_definition(weights, epsilon, distance):
    """Against the linear program with one inequality for each pair of values and outcome."""
    size, prior = len(weights), shares(weights)
    cost = distortions(size, distance)
    rows = []
    for i, other, j in itertools.product(range(size), repeat=3):
        if i != other:
            row = np.zeros((size, size))
            row[i, j], row[other, j] = 1, -math.exp(epsilon)
            rows.append(row.ravel())
    sums = np.kron(np.eye(size), np.ones(size))
    naive = linprog(
        (np.array(prior)[:, None] * cost).ravel(),
        np.array(rows),
        np.zeros(len(rows)),
        sums,
        np.ones(size),
        method="highs-ipm",
    )
    channel = optimal_channel(prior, epsilon, cost)
    assert channel.distortion == pytest.approx(naive.fun, abs=1e-6)
    assert channel.lower_bound <= naive.fun + 1e-9
    assert channel.gap < 1e-6


@given(st.integers(2, 6), st.floats(0.1, 5))
def test_equal_priors_give_the_usual_randomised_response(size, epsilon):
    """Kairouz, Oh & Viswanath 2016: keep a value with probability e^ε/(e^ε + m − 1)."""
    channel = optimal_channel([1 / size] * size, epsilon, distortions(size, "equal"))
    keep = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    assert channel.distortion == pytest.approx(1 - keep, abs=1e-6)


@given(priors, st.floats(0.1, 4), st.lists(st.floats(0.0, 1.0), min_size=25, max_size=25))
def test_no_channel_is_below_the_bound(weights, epsilon, numbers):
    """Channels made at random: a common distribution, tilted by at most e^ε."""
    size = len(weights)
    cost = distortions(size, "ordered")
    bound = optimal_channel(shares(weights), epsilon, cost).lower_bound
    tilts = np.exp(epsilon / 2 * np.array(numbers[: size * size]).reshape(size, size))
    channel = tilts / tilts.sum(axis=1, keepdims=True)
    assert (np.array(shares(weights))[:, None] * channel * cost).sum() >= bound - 1e-12


@pytest.mark.parametrize(
    "draws", [Draws(), Draws(np.random.default_rng(3))], ids=["system", "seed"]
)
def test_draws_have_the_masses_of_the_channel(draws):
    """χ² for a value and for a missing one; wrong with probability 1e-6."""
    prior = [0.5, 0.3, 0.2]
    channel = optimal_channel(prior, 1.5, distortions(3, "equal"))
    for code, masses in ((1, channel.matrix[1]), (-1, np.array(prior) @ channel.matrix)):
        drawn = channel.draw(np.full(30_000, code), whole_weights(prior), draws)
        hits = np.bincount(drawn, minlength=3)
        possible = masses > 0
        assert hits[~possible].sum() == 0
        assert chisquare(hits[possible], masses[possible] * 30_000).pvalue > 1e-6


@pytest.mark.parametrize(
    ("prior", "epsilon"), [([1.0], 1), ([1 / 61] * 61, 1), ([0.5, 0.5], 0), ([0.5, 0.5], 21)]
)
def test_what_has_no_channel(prior, epsilon):
    with pytest.raises(ParameterError):
        optimal_channel(prior, epsilon, distortions(len(prior), "equal"))
