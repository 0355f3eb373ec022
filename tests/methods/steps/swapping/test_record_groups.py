"""Records that belong together: joint codes, members and random pairs."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.methods.steps.swapping.record_groups import (
    combine_codes,
    members_of,
    paired_at_random,
    round_at_random,
)


def test_joint_codes_have_no_gaps_and_follow_the_order_of_the_codes():
    first = np.array([5, 0, 5, 0])
    second = np.array([1, 9, 0, 9])
    assert combine_codes([first, second]).tolist() == [2, 0, 1, 0]


def test_joint_codes_of_many_large_codes_fit_a_word():
    codes = [np.array([0, 10**9, 10**9]) for _ in range(5)]
    assert combine_codes(codes).tolist() == [0, 1, 1]


def test_members_are_listed_by_group():
    assert [part.tolist() for part in members_of(np.array([1, 0, 1]), 3)] == [[1], [0, 2], []]


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_partners_are_mutual_and_of_one_cell(rate):
    stream = np.random.default_rng(3)
    cells = stream.integers(0, 4, 200)
    partner = paired_at_random(cells, rate, stream)
    assert (partner[partner] == np.arange(200)).all()
    assert (cells[partner] == cells).all()
    assert abs((partner != np.arange(200)).mean() - rate) < 0.05


def test_rounding_is_right_on_average_and_leaves_whole_numbers():
    stream = np.random.default_rng(1)
    assert round_at_random(np.array([0.29 * 100]), stream).tolist() == [29]
    assert round_at_random(np.full(4000, 2.25), stream).mean() == pytest.approx(2.25, abs=0.03)
