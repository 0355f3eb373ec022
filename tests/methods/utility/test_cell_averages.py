"""Means of a cost per cell: per column, per record and over all."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.methods.utility.pairs_of_tables import patients


def test_blanks_cost_as_much_as_records():
    people = sf.examples.regions()
    blank = TablePair.of(
        people, people.with_columns({"gender": pl.Series([None] * 7, dtype=pl.String)})
    )
    star = TablePair.of(people, people.with_columns({"gender": pl.Series(["*"] * 7)}))
    for metric in (
        sf.Loss(["gender"]),
        sf.NormalisedCertaintyPenalty(["gender"]),
        sf.NonUniformEntropy(["gender"]),
    ):
        assert metric.measure(blank).value == metric.measure(star).value == 1, metric.name
    assert sf.Completeness(["gender"]).measure(star).value == 0


def test_weights_of_columns():
    pair = patients("single")
    assert sf.Loss(["age", "sex"], weights={"age": 3}).measure(pair).value == pytest.approx(0.75)
    with pytest.raises(sf.errors.SchemaError, match="'zip' is not compared"):
        sf.Loss(["age"], weights={"zip": 1}).measure(pair)
    with pytest.raises(sf.errors.ParameterError, match="above 0"):
        sf.Loss(["age"], weights={"age": 0}).measure(pair)
    with pytest.raises(sf.errors.ParameterError, match="greater than or equal to 0"):
        sf.Loss(["age"], weights={"age": -1})
