"""Corrected estimates: each against a simulation of the method, with a stated error probability."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError

DRAWS = 400
# A 95 % interval covers in at least 91 % of 400 draws, but for a chance of about 1 in 10,000.
LEAST_COVERED = 0.91


@pytest.fixture
def random():
    return np.random.default_rng(20261118)


def test_slopes_of_noisy_columns_are_covered_by_their_intervals(random):
    covered, naive = 0, []
    for _ in range(DRAWS):
        x = random.normal(0, 2, 300)
        y = 1.5 * x + random.normal(0, 1, 300)
        noisy = x + random.normal(0, 1, 300)
        low, high = sf.analysis.slope_with_noise(noisy, y, 1.0).interval()
        covered += low <= 1.5 <= high
        naive.append(np.polyfit(noisy, y, 1)[0])
    assert covered / DRAWS >= LEAST_COVERED
    # Without the correction the slope is 1.5 · 4 / (4 + 1).
    assert np.mean(naive) == pytest.approx(1.2, abs=0.02)


def test_counts_after_pram_are_unbiased_and_covered(random):
    matrix = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    truth = np.array([500, 300, 40])
    covered, estimates = np.zeros(3), []
    for _ in range(DRAWS):
        released = sum(random.multinomial(n, row) for n, row in zip(truth, matrix, strict=True))
        result = sf.analysis.counts_after_pram(released, matrix)
        estimates.append([estimate.value for estimate in result])
        for value, estimate in enumerate(result):
            low, high = estimate.interval()
            covered[value] += low <= truth[value] <= high
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=5)
    assert (covered / DRAWS >= LEAST_COVERED).all()


@pytest.mark.parametrize("variant", ["deterministic", "random"])
def test_variances_of_rounded_values(random, variant):
    x = random.normal(50, 12, 200_000)
    below = np.floor(x / 10)
    part = x / 10 - below
    up = part >= 0.5 if variant == "deterministic" else random.random(len(x)) < part
    rounded = 10 * (below + up)
    corrected = sf.analysis.variance_of_rounded(rounded, 10, variant=variant)
    assert corrected == pytest.approx(144, rel=0.01)
    assert rounded.var() > 150


def test_variances_of_noisy_and_microaggregated_values(random):
    x = np.sort(random.normal(0, 3, 30_000))
    noisy = x + random.normal(0, 2, len(x))
    assert sf.analysis.variance_of_noisy(noisy, 4) == pytest.approx(9, rel=0.03)
    groups = x.reshape(-1, 3000)
    means = np.repeat(groups.mean(axis=1), 3000)
    lost = ((groups - groups.mean(axis=1, keepdims=True)) ** 2).sum() / ((x - x.mean()) ** 2).sum()
    assert sf.analysis.variance_of_microaggregated(means, lost) == pytest.approx(x.var(), rel=1e-3)


def test_means_and_their_errors_under_a_sampling_fraction(random):
    population = random.gamma(2, 10, 1000)
    covered = 0
    for _ in range(DRAWS):
        sample = random.choice(population, 500, replace=False)
        low, high = sf.analysis.mean(sample, fraction=0.5).interval()
        covered += low <= population.mean() <= high
    assert LEAST_COVERED <= covered / DRAWS <= 0.99


def test_bounds_hold_whatever_is_hidden(random):
    x = random.uniform(0, 100, 500)
    low = np.floor(x / 10) * 10
    least, most = sf.analysis.mean_between(low, low + 10)
    assert least <= x.mean() <= most
    is_ill = random.random(1000) < 0.3
    shown = is_ill[:900]
    least, most = sf.analysis.share_with_suppressed(shown.mean(), 0.1)
    assert least <= is_ill.mean() <= most


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sf.analysis.mean([1.0]), "at least 2 numbers"),
        (lambda: sf.analysis.mean([1.0, float("nan")]), "none of them missing"),
        (lambda: sf.analysis.mean([1.0, 2.0], fraction=2), "from 0 to 1"),
        (lambda: sf.analysis.variance_of_rounded([1, 2], 0), "more than 0"),
        (lambda: sf.analysis.slope_with_noise([1, 2, 3], [1, 2], 1), "at least 3|give both"),
        (lambda: sf.analysis.slope_with_noise([1, 2, 3], [1, 2, 3], 5), "no slope"),
        (lambda: sf.analysis.counts_after_pram([1, 2], [[0.5, 0.5], [0.5, 0.5]]), "erases"),
        (
            lambda: sf.analysis.counts_after_pram([1], [[0.5, 0.5], [0.5, 0.5]]),
            "one count for each of the 2",
        ),
        (lambda: sf.analysis.mean_between([1, None], [2, 3]), "no end"),
        (lambda: sf.analysis.mean_between([3], [2]), "low at most high"),
        (lambda: sf.analysis.share_with_suppressed(1.2, 0), "from 0 to 1"),
    ],
)
def test_what_cannot_be_estimated_is_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
