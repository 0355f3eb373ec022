"""Combining rules for several synthetic copies: the worked numbers, and a simulation in which the
variances come true.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError

U = [0.04, 0.05, 0.045, 0.05, 0.04]
NEAR = [10.2, 9.8, 10.5, 9.9, 10.1]
FAR = [10.9, 9.1, 10.6, 9.4, 10]
SAME = [10, 10.1, 9.9, 10, 10.05]

# Worked by hand from Raghunathan, Reiter & Rubin 2003, Reiter 2003 and Raab, Nowok & Dibben 2016; ū
# = .045, m = 5.


def test_partly_synthetic_copies():
    found = sf.combine(NEAR, U, case="partly")
    assert (found.estimate, found.between, found.within) == pytest.approx((10.1, 0.075, 0.045))
    assert (found.variance, found.degrees) == pytest.approx((0.06, 64))
    assert found.interval() == pytest.approx((9.610658, 10.589342), abs=5e-7)
    assert sf.combine(SAME, U, case="partly").variance == pytest.approx(0.0461)


def test_fully_synthetic_copies_from_a_posterior():
    near, far = sf.combine(NEAR, U, case="fully"), sf.combine(FAR, U, case="fully")
    assert (near.variance, near.degrees, near.adjusted) == pytest.approx((0.045, 1, False))
    assert (far.between, far.variance, far.degrees) == pytest.approx(
        (0.585, 0.657, 3.503616), abs=5e-7
    )


def test_a_negative_variance_is_replaced():
    found = sf.combine(SAME, U, case="fully")
    assert found.between == pytest.approx(0.0055)  # (1 + 1/5) · .0055 − .045 = −.0384
    assert found.adjusted and found.variance == pytest.approx(0.045)
    assert sf.combine(SAME, U, case="fully", n=100, n_synthetic=200).variance == pytest.approx(0.09)


def test_copies_of_plain_trees_and_proper_ones():
    given = {"n": 200, "n_synthetic": 400}
    assert sf.combine([1.0] * 5, [0.0025] * 5, **given).variance == pytest.approx(0.0055)
    assert sf.combine([1.0] * 5, [0.0025] * 5, case="proper", **given).variance == pytest.approx(
        0.0065
    )
    one = sf.combine([3.0], [0.5])
    assert (one.variance, one.degrees) == (1.0, math.inf)
    low, high = one.interval(0.9)
    assert (low + high) / 2 == pytest.approx(3) and high - low == pytest.approx(2 * 1.6448536)


def test_equal_estimates_have_no_degrees_to_count():
    assert math.isinf(sf.combine([1, 1, 1], [0.1, 0.1, 0.1], case="partly").degrees)
    assert math.isinf(sf.combine([1, 1, 1], [0.1, 0.1, 0.1], case="fully").degrees)


def test_the_plain_variance_comes_true():
    # Mean of a normal, n = 200, m = 5 copies of 200 drawn from the fitted normal: true variance
    # .006; 4000 runs know it to 2.2 %.
    draw = np.random.default_rng(7)
    estimates, variances = [], []
    for _ in range(4000):
        sample = draw.normal(size=200)
        copies = draw.normal(sample.mean(), sample.std(ddof=1), (5, 200))
        found = sf.combine(copies.mean(axis=1), copies.var(axis=1, ddof=1) / 200)
        estimates.append(found.estimate)
        variances.append(found.variance)
    assert np.mean(variances) == pytest.approx(0.006, rel=0.02)
    assert np.var(estimates) == pytest.approx(np.mean(variances), rel=0.11)  # 5 standard errors


@pytest.mark.parametrize(
    ("estimates", "variances", "given"),
    [
        ([], [], {}),
        ([1.0], [1.0, 2.0], {}),
        ([1.0], [-1.0], {}),
        ([math.nan], [1.0], {}),
        ([1.0], [1.0], {"case": "fully"}),
        ([1.0], [1.0], {"case": "partly"}),
        ([1.0], [1.0], {"case": "other"}),
        ([1.0], [1.0], {"n": 5}),
        ([1.0], [1.0], {"n": 0, "n_synthetic": 5}),
    ],
)
def test_what_makes_no_sense_is_refused(estimates, variances, given):
    with pytest.raises(ParameterError, match="combine"):
        sf.combine(estimates, variances, **given)


def test_a_level_lies_between_0_and_1():
    with pytest.raises(ParameterError, match="level"):
        sf.combine([1.0], [1.0]).interval(1.0)
