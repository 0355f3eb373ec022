"""Draws that are the same on every platform and with every version of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.examples.draws import PhiloxDraws
from sfumato.errors import ParameterError


def test_one_seed_gives_one_stream():
    assert PhiloxDraws(7).uniform(5).tolist() == PhiloxDraws(7).uniform(5).tolist()
    assert PhiloxDraws(7).uniform(5).tolist() != PhiloxDraws(8).uniform(5).tolist()


def test_a_negative_seed_is_refused():
    with pytest.raises(ParameterError, match="seed"):
        PhiloxDraws(-1)


def test_draws_follow_their_weights():
    picks = PhiloxDraws(1).pick(20_000, [1, 0, 3])
    assert np.bincount(picks, minlength=3) / 20_000 == pytest.approx([0.25, 0, 0.75], abs=0.02)


def test_each_row_has_weights_of_its_own():
    weights = np.array([[0.0, 1.0], [1.0, 0.0]] * 50)
    assert PhiloxDraws(1).pick_each(weights).tolist() == [1, 0] * 50


def test_an_order_holds_every_number_once():
    assert sorted(PhiloxDraws(3).order(100).tolist()) == list(range(100))


def test_bell_numbers_have_mean_0_and_variance_1():
    numbers = PhiloxDraws(2).bell(20_000)
    assert numbers.mean() == pytest.approx(0, abs=0.03)
    assert numbers.var() == pytest.approx(1, abs=0.05)
