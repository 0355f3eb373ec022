"""Confidence intervals of rates of success."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.attacks.linkage.success_rates import sampled_interval, wilson


def test_the_interval_of_half_of_ten():
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)


@pytest.mark.parametrize("successes", [0, 1, 30, 30.5, 31])
def test_the_rate_lies_within_its_interval(successes):
    low, high = wilson(successes, 31)
    assert 0 <= low <= successes / 31 <= high <= 1


def test_without_trials_nothing_is_known():
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_rate_of_everybody_is_exact():
    credit = np.array([1.0, 0.0])
    assert sampled_interval(credit, everybody=True) is None
    assert sampled_interval(credit, everybody=False) == wilson(1, 2)
