"""Ranges of times: written as days where all are midnight, and read with their true loss."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Kind


def released(hour: int, *, text: bool = False, grid: str | None = "day"):
    times = pl.Series("when", [datetime.datetime(2020, 1, day + 1, hour) for day in range(28)])
    frame = pl.DataFrame(
        {"when": times.dt.strftime("%Y-%m-%d %H:%M:%S") if text else times, "x": range(28)}
    )
    people = sf.read(frame).with_roles(quasi=["when"], keep=["x"])
    people = people.with_schema(people.schema.replace("when", kind=Kind.DATE))
    return sf.anonymize(
        people, [sf.KAnonymity(7)], [sf.Mondrian(grid={"when": grid} if grid else {})], seed=1
    )


@pytest.mark.parametrize("text", [False, True])
def test_midnights_are_written_as_days(text):
    made = released(0, text=text)
    assert sorted(set(made.released.column("when").to_list()))[0] == "2020-01-01..2020-01-07"


@pytest.mark.parametrize("hour", [0, 9])
def test_a_range_of_times_loses_what_it_leaves_open(hour):
    made = released(hour, grid="day" if hour == 0 else "hour")
    assert made.pair.losses("when").mean() == pytest.approx((6 + (hour > 0) * 3599 / 86400) / 27)
    assert made.pair.losses("when").mean() == pytest.approx(made.plans[0][1].score)


def test_times_of_the_day_stay_where_they_say_something():
    assert (
        "2020-01-01 09:00:00..2020-01-07 09:59:59"
        in released(9, grid="hour").released.column("when").to_list()
    )


def test_without_a_declared_step_a_range_of_weeks_is_released():
    # the interquartile range of 28 days is 13.5 days, and a tenth of it longer than a day
    plan = released(0, grid=None).plans[0][1]
    assert plan.describe()["grid"] == {"when": {"step": "week", "source": "default"}}
    ends = [end for label in plan.labels["when"] for end in label.split("..")]
    weekdays = [datetime.date.fromisoformat(end).weekday() for end in ends]
    assert set(weekdays[0::2]) == {0} and set(weekdays[1::2]) == {6}


def test_the_original_shows_that_the_rows_are_its_own(tmp_path):
    made = released(0, text=True)
    out = made.write(tmp_path / "out")
    found = sf.verify(out / "share", original=made.original, owner=out / "owner")
    status = {claim.name: claim.status for claim in found.claims}
    assert found.holds and status["rows are the recoded original"] == "holds"
