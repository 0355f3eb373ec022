"""Masked numbers keep whole numbers, zeros, bounds and sums."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.masking.settling import Settling, rounded_to_sum

ORIGINAL = np.array([0.0, 4.0, 8.0, 12.0])
MASKED = np.array([0.7, 5.2, 7.1, 19.0])
WEIGHTS = np.ones(4)


def test_zeros_stay_zero_and_bounds_hold():
    settled = Settling(zeros=True, upper=15.0).settled(MASKED, ORIGINAL, WEIGHTS, whole=False)
    assert settled.tolist() == [0.0, 5.2, 7.1, 15.0]


@pytest.mark.parametrize("scaled", [False, True])
def test_sums_stay_within_bounds(scaled):
    step = Settling(sums=True, lower=0.0, upper=11.0)
    settled = step.settled(MASKED, ORIGINAL, WEIGHTS, whole=False, scaled=scaled)
    assert settled.sum() == pytest.approx(ORIGINAL.sum())
    assert settled.min() >= 0.0
    assert settled.max() <= 11.0


def test_whole_numbers_keep_their_sum():
    settled = Settling(integers=True, sums=True).settled(MASKED, ORIGINAL, WEIGHTS, whole=True)
    assert settled.sum() == ORIGINAL.sum()
    assert (settled == np.rint(settled)).all()


def test_a_single_value_is_not_moved_to_its_sum():
    one = Settling(sums=True).settled(MASKED[:1], np.array([3.0]), np.ones(1), whole=False)
    assert one.tolist() == [0.7]


def test_the_largest_fractions_are_rounded_up():
    assert rounded_to_sum(np.array([0.4, 1.4, 2.2])).tolist() == [1.0, 1.0, 2.0]
