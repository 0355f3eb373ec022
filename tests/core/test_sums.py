"""Sums by parts are those of numpy over the whole, to the last bit."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import sums


@given(st.lists(st.floats(-1e300, 1e300), max_size=400), st.sampled_from([128, 200, 256]))
def test_sums_by_parts_are_those_of_numpy(numbers, part):
    values = np.array(numbers)
    with mock.patch.object(sums, "PART", part), np.errstate(over="ignore", invalid="ignore"):
        found = sums.sum_in_parts(len(values), lambda rows: (values[rows], np.abs(values[rows])))
        expected = float(values.sum()), float(np.abs(values).sum())
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("rows", [0, 1, 65_536, 65_537, 131_071, 300_001, 1_000_000])
def test_long_sums_are_those_of_numpy(rows):
    values = np.random.default_rng(rows).lognormal(3, 5, rows)
    assert sums.sum_in_parts(rows, lambda part: (values[part] ** 2,)) == (float((values**2).sum()),)
