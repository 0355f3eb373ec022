"""Columns that were generalized before: intervals such as ``20-24`` and masks such as ``537**``."""

from __future__ import annotations

import itertools
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from sfumato.guidance.profiling.generalized_values import intervals_around, widths_for


@given(st.floats(1e-6, 1e12), st.booleans())
def test_widths_are_round_and_nest(spread, whole):
    widths = [Decimal(repr(width)) for width in widths_for(spread, whole=whole)]
    for width in widths:
        assert width.normalize().as_tuple().digits in {(1,), (2,), (5,)}
        assert 2 * width <= Decimal(repr(spread))
    for finer, coarser in itertools.pairwise(widths):
        assert coarser > finer
        assert coarser % finer == 0
    if whole:
        assert all(width == width.to_integral_value() and width >= 2 for width in widths)


def test_intervals_of_several_widths_share_a_grid():
    assert intervals_around({"20-24": 1, "20-29": 1, "80-89": 1}) == {"widths": [5, 10, 20]}
    assert intervals_around({"20-24": 1, "20-26": 1}) is None  # 7 is no multiple of 5
    assert intervals_around({"20-24": 1, "23-27": 1}) is None  # not on one grid
    assert intervals_around({"<20": 50, "<30": 50, "30-39": 1}) is None  # two open ends of one side
    assert intervals_around({"20": 1}) is None  # no interval at all
