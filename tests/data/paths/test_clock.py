"""Times of points: what a column of times is, as whole numbers, and the buckets they fall into."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.data.paths.clock import Clock, read_times, require_nested
from sfumato.errors import ParameterError


@pytest.mark.parametrize(
    "widths", [["2h", "3h"], ["4h", "2h"], ["all", "1h"], ["5h"], ["36h"], ["soon"]], ids=str
)
def test_levels_must_nest(widths):
    with pytest.raises(ParameterError, match="width"):
        require_nested(widths)


MOMENTS = st.datetimes(datetime.datetime(1960, 1, 1), datetime.datetime(2040, 1, 1))


@given(st.lists(MOMENTS, min_size=1, max_size=5), st.booleans())
def test_times_are_written_as_they_are_read(moments, as_text):
    column = pl.Series(moments)
    clock, ticks = read_times(
        column.dt.to_string("%Y-%m-%d %H:%M:%S%.6f") if as_text else column, "t"
    )
    again = read_times(clock.written(ticks), "t")
    assert again[1].tolist() == ticks.tolist() == column.dt.epoch("us").to_list()


@given(st.lists(MOMENTS, min_size=1, max_size=5))
def test_buckets_nest_and_begin_where_people_expect_it(moments):
    clock, ticks = read_times(pl.Series(moments), "t")
    for fine, wide in (("1h", "8h"), ("8h", "24h"), ("24h", "7d")):
        floor = clock.floor(ticks, clock.ticks(wide))
        assert (
            clock.floor(clock.floor(ticks, clock.ticks(fine)), clock.ticks(wide)) == floor
        ).all()
    weeks = clock.written(clock.floor(ticks, clock.ticks("7d")))
    assert weeks.dt.weekday().unique().to_list() == [1]
    assert weeks.dt.hour().unique().to_list() == [0]


def test_nothing_of_anybody_is_shown():
    assert repr(examples.small_paths()) == "<8 people, 29 points at 6 places>"
    assert Clock("hours").width_shown(48) == "2d"


@pytest.mark.parametrize(
    ("unit", "of_an_hour"), [("seconds", 3600), ("minutes", 60), ("hours", 1), ("days", None)]
)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_recipe_says_what_whole_numbers_count(unit, of_an_hour, as_text):
    """The oracle: 30 hours are 108,000 seconds, 1,800 minutes and a day and a quarter."""
    ticks = [0, 30 * (of_an_hour or 1), 31 * (of_an_hour or 1)]
    frame = pl.DataFrame(
        {"p": [1, 2, 3], "t": [str(t) for t in ticks] if as_text else ticks, "x": ["a", "b", "c"]}
    )
    roles = {"person": "p", "time": "t", "place": "x"}
    people = sf.read_paths(frame, roles, columns=sf.ColumnDetails(units={"t": unit}))
    assert people.clock == Clock(unit, plain=True) and people.clock.hour == of_an_hour
    assert f"whole numbers of {unit}" in people.notes[0]
    assert people.to_tables()["data"]["t"].to_list() == ticks
    assert people.clock.ticks("2d") == 48 * (of_an_hour or 1 / 24)
    assert people.clock.floor(np.array(ticks), people.clock.ticks("1d")).tolist() == [
        t // people.clock.ticks("1d") * people.clock.ticks("1d") for t in ticks
    ]
    assert people.clock.width_shown(people.clock.ticks("7d")) == "7d"
