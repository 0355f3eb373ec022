from __future__ import annotations

import datetime
import decimal

import polars as pl
import pytest

from sfumato.core.schema import Kind
from sfumato.guidance.profiling.columns import describe


def test_counts_of_a_card():
    card = describe("x", pl.Series(["a", "a", "b", None, None, "c"]))
    # values a, a, b, c and two missing, which equal each other: 13 of 15 pairs are apart, b and c
    # stand alone
    assert card.rows == 6
    assert card.missing_share == pytest.approx(2 / 6)
    assert card.distinct == 3
    assert card.uniqueness == pytest.approx(2 / 6)
    assert card.separation == pytest.approx(13 / 15)
    assert card.rows_per_value == pytest.approx(4 / 3)
    assert not card.constant


def test_not_a_number_is_missing():
    card = describe("x", pl.Series([1.5, float("nan"), None, 1.5]))
    assert card.missing_share == 0.5
    assert card.distinct == 1
    assert card.constant


@pytest.mark.parametrize(
    "values",
    [pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.Float64), pl.Series([None] * 3)],
)
def test_nothing_to_see(values):
    card = describe("x", values)
    assert card.distinct == 0
    assert card.constant
    assert card.uniqueness == card.separation == 0.0


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("x", [datetime.date(2020, 1, 1)], Kind.DATE),
        ("x", [datetime.datetime(2020, 1, 1, 8)], Kind.DATE),
        ("x", ["2020-01-01", "2021-05-06"], Kind.DATE),
        ("x", ["2020-01-01T08:00", "2021-05-06 09:30:00"], Kind.DATE),
        ("x", ["31.12.1999", "1.2.2003"], Kind.DATE),
        ("x", ["12/31/1999", "01/20/2003"], Kind.DATE),
        ("x", ["2020-Q1", "2020-03"], Kind.DATE),
        ("date_of_birth", [19851231, 19900101], Kind.DATE),
        ("x", [19851231, 19900101, 20001212, 19770707, 19660606], Kind.DATE),
        ("x", [12345678, 90000000, 11111111, 22222222, 33333333], Kind.NUMERIC),
        ("x", ["1999", "2003"], Kind.NUMERIC),
        ("x", ["1.5", "-2", "3e2"], Kind.NUMERIC),
        ("x", ["007", "123"], Kind.NOMINAL),
        ("x", ["20-24", "25-29", "85"], Kind.NUMERIC),
        ("x", ["20-24", "25-29", "85+"], Kind.NUMERIC),
        ("x", ["[20, 25)", ">=25"], Kind.NUMERIC),
        ("x", ["537**", "53711"], Kind.NOMINAL),
        ("x", ["low", "high", "medium"], Kind.ORDINAL),
        ("x", ["Strongly agree", "Agree", "Neutral"], Kind.ORDINAL),
        ("x", ["red", "green"], Kind.NOMINAL),
        ("x", [True, False], Kind.NOMINAL),
        ("x", [1.5, 2.5], Kind.NUMERIC),
        ("x", [1, 2, 3] * 20, Kind.NOMINAL),
        ("children", [1, 2, 3] * 20, Kind.NUMERIC),
        ("sex", [1, 2], Kind.NOMINAL),
        ("zip", [12345, 23456], Kind.NOMINAL),
        ("education", [1, 2, 3, 4], Kind.ORDINAL),
        ("x", [decimal.Decimal("1.5")], Kind.NUMERIC),
        ("x", [[1], [2]], Kind.NOMINAL),
        ("x", [datetime.time(8)], Kind.NOMINAL),
        ("x", [None], Kind.NOMINAL),
    ],
)
def test_kinds(name, values, kind):
    card = describe(name, pl.Series(values))
    assert card.kind is kind
    assert card.reason


def test_dates_that_can_be_read_both_ways_are_said_to_be():
    assert "swapped" in describe("x", pl.Series(["01/02/2003", "03/04/2005"])).reason
    assert "swapped" not in describe("x", pl.Series(["31/02/2003", "03/04/2005"])).reason
