from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import Dates, dates
from sfumato.methods.hierarchies.date_periods import write_period
from tests.methods.hierarchies.contract import (
    keeps_the_contract,
    loses_nothing_at_first_and_all_at_the_top,
    understands_its_own_labels,
)

DAY = datetime.timedelta(days=1)


def one_row(hierarchy, value):
    return hierarchy.paths([value], [1]).rows[0]


def test_a_date():
    assert one_row(dates(), "2024-03-15") == (
        "2024-03-15",
        "2024-03",
        "2024-Q1",
        "2024",
        "2020s",
        "*",
    )


@pytest.mark.parametrize(
    "value",
    [
        "2024-03-15T08:30:00",
        "2024-03-15 08:30",
        "2024-03-15T08:30:00.123456789Z",
        "2024-03-15T23:59:59-11:00",
    ],
)
def test_a_time_of_day_is_dropped_first(value):
    assert one_row(dates(), value) == (
        value,
        "2024-03-15",
        "2024-03",
        "2024-Q1",
        "2024",
        "2020s",
        "*",
    )


def test_levels_that_are_named_are_the_levels():
    assert one_row(dates("year"), "2024-03-15T08:30:00") == ("2024-03-15T08:30:00", "2024", "*")
    assert one_row(dates("day", "month"), "2024-03-15") == (
        "2024-03-15",
        "2024-03-15",
        "2024-03",
        "*",
    )


def test_weeks_belong_to_the_year_of_their_thursday():
    # ISO 8601: 2024-12-30 is the Monday of week 1 of 2025
    assert one_row(dates("week"), "2024-12-30") == ("2024-12-30", "2025-W01", "*")


@pytest.mark.parametrize(
    ("value", "pattern", "month"),
    [
        ("15.03.24", "%d.%m.%y", "2024-03"),
        ("03/15/1968", "%m/%d/%Y", "1968-03"),
        ("1968074", "%Y%j", "1968-03"),
    ],
)
def test_other_ways_to_write_dates_need_a_format(value, pattern, month):
    assert one_row(dates("month", format=pattern), value) == (value, month, "*")
    with pytest.raises(SchemaError, match="1 of 1 distinct values are not dates"):
        dates("month").paths([value], [1])


def test_a_format_with_hours_makes_days_coarser():
    assert one_row(dates(format="%d.%m.%Y %H:%M"), "15.03.2024 08:30")[:3] == (
        "15.03.2024 08:30",
        "2024-03-15",
        "2024-03",
    )


def test_periods_are_inner_nodes():
    values = ["2024-03-15", "2024-03", "2024-Q1", "2024", "2020s", "*"]
    paths = keeps_the_contract(dates(), values)
    for level, row in enumerate(paths.rows):
        assert row == (values[level],) * (level + 1) + tuple(values[level + 1 :])


def test_a_period_without_a_level_of_its_own_waits_for_the_first_that_contains_it():
    paths = keeps_the_contract(dates("year"), ["2024-03-15", "2024-03", "2020s"])
    assert paths.rows[1:] == (("2024-03", "2024", "*"), ("2020s", "2020s", "*"))


def test_days_are_inner_nodes_among_times():
    paths = keeps_the_contract(
        dates(), ["2024-03-15T08:30:00", "2024-03-15", "2024-03-16T00:00:00"]
    )
    assert paths.rows[1][:3] == ("2024-03-15", "2024-03-15", "2024-03")
    assert (
        paths.loss[0]["2024-03-15"] == paths.loss[1]["2024-03-15"] == 1.0
    )  # 15:30 h of the range of 15:30 h


def test_loss_is_the_share_of_the_days():
    # range: 2024-01-01 to 2024-12-31, 365 days
    paths = dates("month", "year").paths(["2024-01-01", "2024-02-10", "2024-12-31"], [1] * 3)
    assert paths.loss[1] == {"2024-01": 31 / 365, "2024-02": 29 / 365, "2024-12": 30 / 365}
    assert paths.loss[2] == {"2024": 1.0}


def test_one_date_loses_nothing():
    assert all(set(level.values()) == {0.0} for level in dates().paths(["2024-01-01"], [7]).loss)


def test_the_day_of_a_date_is_the_date():
    paths = dates("day", "month").paths(["2024-01-01", "2024-01-11"], [1, 1])
    assert set(paths.loss[1].values()) == {0.0}
    timed = dates("day", "month").paths(["2024-01-01T00:00", "2024-01-11T00:00"], [1, 1])
    assert timed.loss[1] == {"2024-01-01": 1 / 10, "2024-01-11": 0.0}


def test_the_ends_of_the_calendar():
    keeps_the_contract(dates(), ["0001-01-01", "9999-12-31", "0009-05-01"])
    assert one_row(dates(), "0001-01-01")[-2] == "0000s"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "2024-13-01",
        "2024-02-30",
        "20240315",
        "15.03.2024",
        "2024-Q5",
        "2024-W54",
        "24",
        "2024-03-15T25:00",
    ],
)
def test_what_is_no_date_is_counted(value):
    with pytest.raises(SchemaError, match="1 of 2 distinct values are not dates"):
        dates().paths([value, "2024-01-01"], [1, 1])


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (["week", "month"], "a week does not lie within one month"),
        (["month", "week"], "a month does not lie within one week"),
        (["year", "month"], "a year does not lie within one month"),
        (["month", "month"], "a month does not lie within one month"),
        ([], "at least 1 entry"),
        (["fortnight"], "should be 'day'"),
    ],
)
def test_levels_must_nest(levels, said):
    with pytest.raises(ParameterError, match=said):
        Dates(levels)


@pytest.mark.parametrize("pattern", ["%Y", "%m.%Y", "%d.%m.", "day"])
def test_a_format_must_say_the_whole_date(pattern):
    with pytest.raises(ParameterError, match="format must hold a year"):
        dates(format=pattern)


days = st.dates(datetime.date(1970, 1, 1), datetime.date(2033, 12, 31))
chains = st.sampled_from(
    [
        (),
        ("month", "year"),
        ("day", "quarter", "decade"),
        ("week",),
        ("day", "week"),
        ("year", "decade"),
        ("quarter",),
    ]
)


@given(st.lists(days.map(str), min_size=1, max_size=12, unique=True), chains)
def test_contract(values, levels):
    paths = keeps_the_contract(dates(*levels), values)
    understands_its_own_labels(dates(*levels), values)
    if len(values) > 1:
        loses_nothing_at_first_and_all_at_the_top(paths)


@given(
    st.lists(st.datetimes().map(str) | days.map(str), min_size=1, max_size=12, unique=True), chains
)
def test_contract_with_times(values, levels):
    keeps_the_contract(dates(*levels), values)


@given(
    st.lists(
        st.dates(datetime.date(1998, 11, 1), datetime.date(2001, 3, 31)),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_loss_agrees_with_counting_days(values):
    """The loss is the share of the days of the range that have the same label."""
    paths = dates("month", "quarter", "year", "decade").paths(
        [str(d) for d in values], [1] * len(values)
    )
    first, last = min(values), max(values)
    inside = [first + i * DAY for i in range((last - first).days)]
    for level, period in enumerate(("month", "quarter", "year", "decade"), 1):
        for label, loss in paths.loss[level].items():
            same = sum(write_period(period, day) == label for day in inside)
            assert loss == pytest.approx(same / len(inside), abs=1e-12)
