from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.uniqueness import (
    Frequencies,
    classes_of_population,
    pitman,
    pitman_maximum,
    population_uniques,
    slide_negative_binomial,
    zayatz,
)
from tests.oracles.definitions import pitman_log_likelihood, zayatz_uniques

PROFILE = [
    (alpha, at)
    for alpha in (1e-6, 1e-3, 0.02, *np.linspace(0.05, 0.99, 20))
    for at in np.linspace(-6, 12, 50)
]
"""A grid of α and ln(θ + α)."""


def skewed_samples():
    """A population of 20 000 with 806 uniques, and samples of it (ALGORITHMS 10.2: numbers from a
    prototype).
    """
    rng = np.random.default_rng(3)
    weights = rng.pareto(1.2, 4000) + 0.05
    population = rng.multinomial(20000, weights / weights.sum())
    assert (population == 1).sum() == 806
    people = np.repeat(np.arange(4000), population)
    for fraction in (0.05, 0.1, 0.2, 0.5):
        drawn = rng.choice(people, int(fraction * 20000), replace=False)
        sizes = np.bincount(drawn)
        yield fraction, sizes[sizes > 0]


SAMPLES = dict(skewed_samples())


@pytest.mark.parametrize(
    ("fraction", "estimator", "expected"),
    [
        (0.5, "zayatz", 913),
        (0.5, "pitman", 1226),
        (0.5, "snb", 820),
        (0.05, "zayatz", 3122),
        (0.05, "pitman", 2618),
        (0.05, "snb", 2293),
        (0.2, "zayatz", 1639),
        (0.2, "pitman", 1805),
        (0.2, "snb", 1335),
    ],
)
def test_estimates_of_the_skewed_population(fraction, estimator, expected):
    found = population_uniques(SAMPLES[fraction], fraction, estimator)
    assert (round(found.number), found.estimator, found.population) == (expected, estimator, 20000)


@pytest.mark.parametrize(
    ("fraction", "chosen"), [(0.05, "pitman"), (0.1, "pitman"), (0.2, "snb"), (0.5, "snb")]
)
def test_rule_of_dankar(fraction, chosen):
    found = population_uniques(SAMPLES[fraction], fraction)
    assert found == population_uniques(SAMPLES[fraction], fraction, chosen)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.sampled_from([0.1, 0.25, 0.5]))
def test_zayatz_is_its_definition(sizes, fraction):
    assume(1 in sizes)
    sample = Frequencies.of(sizes, fraction)
    assert zayatz(sample) == pytest.approx(zayatz_uniques(sizes, sample.population))


def test_pitman_maximises_the_likelihood():
    sizes = [1] * 40 + [2] * 12 + [3] * 5 + [9] * 2
    found = pitman(Frequencies.of(sizes, 0.1))
    grid = [
        (pitman_log_likelihood(sizes, theta, alpha), theta, alpha)
        for theta in np.linspace(-0.3, 40, 120)
        for alpha in np.linspace(0.02, 0.98, 97)
        if theta > -alpha
    ]
    _, theta, alpha = max(grid)
    from math import exp, lgamma

    near = exp(lgamma(theta + 1) - lgamma(theta + alpha)) * (sum(sizes) * 10) ** alpha
    assert found == pytest.approx(near, rel=0.03)  # the grid is coarse


@given(st.lists(st.integers(1, 6), min_size=2, max_size=8))
@settings(max_examples=25)
def test_pitman_is_fitted_where_the_maximum_is_inside_and_nowhere_else(sizes):
    assume(len(sizes) < sum(sizes))
    found = pitman_maximum(Frequencies.of(sizes, 0.1))
    inside = max(pitman_log_likelihood(sizes, math.exp(at) - alpha, alpha) for alpha, at in PROFILE)
    if found is None:
        # as good as any point inside, at α = 0: a finer grid of θ alone
        edge = max(
            pitman_log_likelihood(sizes, math.exp(at), 0.0) for at in np.linspace(-6, 12, 2000)
        )
        assert edge >= inside - 1e-4
        return
    theta, alpha = found
    assert 0 < alpha < 1 and theta > -alpha
    top = pitman_log_likelihood(sizes, theta, alpha)
    assert top >= inside - 1e-9
    for step in (
        1e-3,
        -1e-3,
    ):  # no slope: a step in either direction loses something of second order only
        assert 0 <= top - pitman_log_likelihood(sizes, theta + step * (theta + alpha), alpha) < 1e-4
        assert (
            0
            <= top - pitman_log_likelihood(sizes, theta, alpha + step * alpha * (1 - alpha))
            < 1e-4
        )


def test_a_likelihood_that_rises_to_the_boundary_has_no_estimate():
    # along the ridge of the likelihood α = 0.5, 0.1, 0.01, 0 give −162.7450, −162.7444, −162.74435,
    # −162.74434 (term by term)
    sizes, fraction = [1] * 63425 + [2] * 8, 63441 / 317238626
    assert pitman(Frequencies.of(sizes, fraction)) is None
    found = population_uniques(sizes, fraction)
    assert (found.estimator, round(found.number / 1e6, 1), found.capped) == ("zayatz", 317.1, False)


def test_a_capped_estimate_says_so():
    found = population_uniques([1, 1, 1, 1, 30], 0.4, "pitman")
    assert found.capped and found.number == 4 / 0.4
    assert found.how == "pitman, capped at what the sample allows"
    assert population_uniques([1, 1, 1, 1, 30], 0.4, "zayatz").how == "zayatz"


def test_slide_negative_binomial_recovers_a_population_made_by_it():
    rng = np.random.default_rng(11)
    alpha, beta, classes = 0.5, 0.2, 60_000
    population = 1 + rng.negative_binomial(alpha, beta, classes)
    sample = rng.binomial(population, 0.3)
    found = slide_negative_binomial(Frequencies.of(sample[sample > 0], 0.3))
    # K is estimated too, so this is no exact recovery; the true share of uniques is beta**alpha =
    # 0.447
    assert found == pytest.approx(classes * beta**alpha, rel=0.15)
    assert classes_of_population(Frequencies.of(sample[sample > 0], 0.3)) == pytest.approx(
        classes, rel=0.15
    )


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=30),
    st.sampled_from(["zayatz", "pitman", "snb", "dankar"]),
)
def test_never_more_than_the_sample_uniques_allow(sizes, estimator):
    for fraction in (0.05, 0.4, 1.0):
        found = population_uniques(sizes, fraction, estimator)
        assert 0 <= found.number <= sizes.count(1) / fraction + 1e-9
        assert 0 <= found.share <= 1 + 1e-9


def test_the_whole_population_is_counted():
    # G29: population a,a,b,c,d,d,e has the uniques b, c and e
    found = population_uniques([2, 1, 1, 2, 1], 1.0)
    assert (found.number, found.population, found.estimator) == (3, 7, "counted")


def test_samples_that_no_model_fits():
    assert pitman(Frequencies.of([4], 0.1)) is None
    assert pitman(Frequencies.of([1, 1, 1], 0.1)) is None
    assert slide_negative_binomial(Frequencies.of([1, 1, 3], 0.5)) is None
    assert population_uniques([1, 1, 3], 0.5, "snb").estimator == "zayatz"
    assert population_uniques([], 0.5).share == 0


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan")])
def test_fraction_out_of_range(fraction):
    with pytest.raises(ParameterError, match="fraction"):
        population_uniques([1, 2], fraction)
