"""Ranges in released cells: what numbers or days a label stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.ranges import places_of, range_of_numbers


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_what_is_written_as_a_range_is_read_as_one(one, other):
    low, high = sorted((one, other))
    assert range_of_numbers(f"[{low!r}, {high!r}]") == (low, high)


@pytest.mark.parametrize("text", ["", "-", "..", "a-b", "[1, 2, 3]", "{a, 1}", "nan", "1-", "--5"])
def test_what_is_no_range_is_none_or_open(text):
    found = range_of_numbers(text)
    assert found is None or math.isinf(found[0]) or math.isinf(found[1])


def test_values_on_no_line_have_no_place():
    places, read = places_of(["a", "1"])
    assert np.isnan(places).all() and read("1-2") is None
