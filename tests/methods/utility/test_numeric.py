"""Columns of numbers before and after, record by record."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.methods.utility.pairs_of_tables import of_numbers


def test_ranges_stand_for_their_middles():
    people = sf.read(pl.DataFrame({"age": [20, 24, 30]})).with_roles(keep="age")
    pair = TablePair.of(people, people.with_columns({"age": pl.Series(["20-24", "20-24", "*"])}))
    deviation = np.std([20, 24, 30], ddof=1)
    # 22 for the range, the mean 24.667 for what is suppressed
    expected = (2 + 2 + abs(30 - 74 / 3)) / 3 / (math.sqrt(2) * deviation)
    assert sf.StandardisedError().measure(pair).raw == pytest.approx(expected)
    assert sf.Means().measure(pair).raw == pytest.approx(
        abs(22 - 74 / 3) / (74 / 3)
    )  # what is suppressed is left out


def test_suppressed_records_stand_at_the_mean():
    people = sf.read(pl.DataFrame({"x": [0.0, 1.0, 5.0]})).with_roles(keep="x")
    pair = TablePair.of(people, people.take(np.array([2, 0])))
    assert sf.SumOfSquares().measure(pair).raw == pytest.approx(1 / 14)
    assert sf.RecordSquaredError(scale="range").measure(pair).raw == pytest.approx(1 / 75)


def test_what_holds_no_numbers():
    people = sf.examples.illnesses()
    pair = TablePair.of(people, people)
    for metric in (
        sf.StandardisedError,
        sf.SumOfSquares,
        sf.RecordSquaredError,
        sf.Means,
        sf.Quantiles,
        sf.Covariances,
    ):
        assert metric().applies(pair) == "no column holds numbers; name the columns to compare"
        with pytest.raises(sf.errors.SchemaError, match="'sex' of illnesses does not hold numbers"):
            metric(["sex"]).applies(pair)
    one = of_numbers({"x": [1, 2]}, {})
    assert (
        sf.Correlations().applies(one)
        == sf.Eigenvalues().applies(one)
        == "two columns of numbers are needed"
    )
