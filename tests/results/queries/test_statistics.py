"""Statistics of noisy totals: without noise they are the statistic, with it the interval holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.results.queries.statistics import STEPS, statistic

BOUNDS = (-2.0, 6.0)
NAMES = ("count", "sum", "mean", "variance")


def totals_of(name, values):
    return [total.whole(values).sum() * total.step for total in statistic(name, BOUNDS).totals]


def estimate(name, totals, tails):
    columns = [np.array([total]) for total in totals]
    return statistic(name, BOUNDS).combine(columns, tails)


def exact(name, values):
    values = np.clip(values, *BOUNDS)
    return {
        "count": len(values),
        "sum": values.sum(),
        "mean": values.mean(),
        "variance": values.var(ddof=1),
    }[name]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_without_noise_the_value_is_the_statistic(name, seed):
    random = np.random.default_rng(seed)
    values = random.uniform(-4, 8, int(random.integers(2, 50)))
    result = estimate(name, totals_of(name, values), [0.0, 0.0, 0.0])
    # Values move by half a step of the grid at most.
    assert result.value[0] == pytest.approx(exact(name, values), abs=len(values) * 64 / STEPS)


@pytest.mark.parametrize("name", NAMES)
def test_one_row_moves_a_total_by_its_range_at_most(name):
    values = np.array([-1e9, -2.0, -0.5, 0.0, 2.0, 6.0, 1e9])
    for total in statistic(name, BOUNDS).totals:
        whole = total.whole(values)
        assert np.array_equal(whole, np.rint(whole))
        assert (whole >= total.low).all() and (whole <= total.high).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_the_interval_holds_whatever_noise_within_the_tails(name, seed):
    random = np.random.default_rng(seed)
    values = random.uniform(*BOUNDS, int(random.integers(3, 60)))
    true_totals = totals_of(name, values)
    tails = random.uniform(0, 3, 3).tolist()
    noisy = []
    for total, tail in zip(true_totals, tails, strict=False):
        noisy.append(total + random.choice([-1, 0, 1]) * tail)
    result = estimate(name, noisy, tails)
    slack = len(values) * 64 / STEPS
    assert result.low[0] - slack <= exact(name, values) <= result.high[0] + slack
    assert result.low[0] <= result.value[0] <= result.high[0]


def test_with_hardly_any_rows_a_mean_is_anything_within_the_bounds():
    result = estimate("mean", [0.5, 1.0], [2.0, 0.1])
    assert (result.low[0], result.high[0]) == BOUNDS


@pytest.mark.parametrize("bounds", [(0.0, 0.0), (-math.inf, 1.0)])
def test_bounds_that_give_no_grid_are_refused(bounds):
    with pytest.raises(ParameterError, match="too wide or too narrow"):
        statistic("sum", bounds)
