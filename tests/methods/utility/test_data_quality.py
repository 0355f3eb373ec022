"""The six dimensions of data quality."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.methods.utility.pairs_of_tables import itself


def table(columns, **roles):
    return sf.read(pl.DataFrame(columns)).with_roles(**(roles or {"keep": list(columns)}))


def test_completeness_counts_blanks_stars_and_records():
    people = table({"a": ["x", "y", None, "x"], "b": [1.0, 2.0, 3.0, 4.0]})
    shared = people.take(np.array([0, 1, 2])).with_columns(
        {"a": pl.Series(["*", "y", None]), "b": pl.Series([1.0, None, float("nan")])}
    )
    found = sf.Completeness().measure(TablePair.of(people, shared))
    assert found.per_column == {"a": 0.25, "b": 0.25}
    assert found.value == 0.25
    assert found.raw == 7 / 8


def test_uniqueness_by_a_key():
    people = table({"id": [1, 2, 3, 3], "x": [1, 1, 1, 1]})
    assert sf.Uniqueness(["id"]).measure(itself(people)).value == 0.75
    assert (
        sf.Uniqueness(["id"]).measure(TablePair.of(people, people.take(np.array([2, 3])))).value
        == 0.25
    )
    assert sf.Uniqueness().applies(itself(people)) == "there is no column to compare; name some"


def test_timeliness():
    days = [datetime.date(2025, 1, 1), datetime.date(2025, 3, 1), datetime.date(2025, 5, 1), None]
    visits = table({"day": days})
    metric = sf.Timeliness("day", days=100, today="2025-05-10")
    assert metric.measure(itself(visits)).value == 0.5
    blurred = visits.with_columns(
        {"day": pl.Series(["*", "2025-02-01..2025-02-28", "2025-05-01", None])}
    )
    assert metric.measure(TablePair.of(visits, blurred)).value == 0.5
    assert metric.measure(TablePair.of(visits, visits.take(np.array([0])))).value == 0
    assert (
        sf.Timeliness("x", days=1, today="2025-01-01").applies(itself(table({"x": [1]})))
        == "column 'x' does not hold dates"
    )
    with pytest.raises(sf.errors.ParameterError, match="a date like"):
        sf.Timeliness("day", days=1, today="yesterday")


def test_validity():
    people = table({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}, quasi=["age", "sex"])
    shared = people.with_columns(
        {"age": pl.Series(["20-30", "old", "*", "50"]), "sex": pl.Series(["f", "x", None, "m"])}
    )
    pair = TablePair.of(people, shared)
    assert sf.Validity().measure(pair).per_column == {"age": 0.5, "sex": 0.5}
    assert sf.Validity(["age"], rules={"age": [0, 35]}).measure(pair).value == 0.25
    assert sf.Validity(["age"], rules={"age": [0, None]}).measure(itself(people)).value == 1
    assert sf.Validity(["age"], rules={"age": [None, 35]}).measure(itself(people)).value == 0.5
    assert sf.Validity(["sex"], rules={"sex": "[fm]"}).measure(pair).value == 0.5
    with pytest.raises(sf.errors.ParameterError, match="is not a regular expression"):
        sf.Validity(rules={"sex": "["})
    with pytest.raises(
        sf.errors.SchemaError, match=", which is not compared; remove it or name the"
    ):
        sf.Validity(rules={"wage": [0, 1]}).measure(pair)


def test_accuracy():
    people = table({"x": [0.0, 10.0, 5.0, None], "y": ["a", "b", None, "a"]})
    shared = people.with_columns(
        {"x": pl.Series([1.0, 10.0, None, None]), "y": pl.Series(["a", "a", None, "*"])}
    )
    pair = TablePair.of(people, shared)
    assert sf.Accuracy().measure(pair).per_column == {"x": 0.5, "y": 0.5}
    assert sf.Accuracy(tolerance=0.1).measure(pair).per_column == {"x": 0.75, "y": 0.5}
    assert sf.Accuracy().measure(pair).per_record.tolist() == [0.5, 0.5, 0.5, 0.5]
    assert sf.Accuracy().measure(TablePair.of(people, people.drop(["y"]))).per_column == {
        "x": 1.0,
        "y": 0.0,
    }


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("a < b", [True, False, False], [True, True, False]),
        ("a <= b", [True, True, False], [True, True, False]),
        ("a = b", [False, True, False], [True, True, False]),
        ("a != b", [True, False, True], [True, True, True]),
        ("a >= b", [False, True, True], [True, True, True]),
        ("a > b", [False, False, True], [False, True, True]),
    ],
)
def test_rules_hold_when_they_can(rule, before, after):
    people = table({"a": [1, 2, 9], "b": [2, 2, 3]})
    shared = people.with_columns(
        {"a": pl.Series(["1-2", "1-3", "9"]), "b": pl.Series(["2", "2", "3"])}
    )
    assert sf.Consistency([rule]).measure(itself(people)).per_record.tolist() == before
    assert sf.Consistency([rule]).measure(TablePair.of(people, shared)).per_record.tolist() == after


def test_rules_of_categories_and_blanks():
    people = table({"a": ["x", "y", None], "b": ["x", "z", None]})
    assert sf.Consistency(["a = b"]).measure(itself(people)).value == pytest.approx(1 / 3)
    assert sf.Consistency(["a != b"]).measure(itself(people)).value == pytest.approx(1 / 3)
    hidden = people.with_columns({"a": pl.Series(["*", "*", "*"])})
    assert sf.Consistency(["a != b"]).measure(TablePair.of(people, hidden)).value == 0
    with pytest.raises(sf.errors.SchemaError, match="use = or !="):
        sf.Consistency(["a < b"]).measure(itself(people))
    assert sf.Consistency(["a = b"]).measure(TablePair.of(people, people.drop(["b"]))).value == 0
    with pytest.raises(sf.errors.ParameterError, match="a rule is two columns"):
        sf.Consistency(["a ~ b"])
    with pytest.raises(sf.errors.SchemaError, match="no column 'c'"):
        sf.Consistency(["a = c"]).measure(itself(people))


def test_completeness_counts_a_missing_number_before_and_after():
    """A number that is NaN is missing in the original as in the release."""
    people = sf.read(pl.DataFrame({"a": [1.0, float("nan"), 3.0, 4.0]}))
    measure = sf.Completeness(["a"]).measure(TablePair.of(people, people))
    assert (measure.value, measure.raw) == (0.75, 0.75)
