"""Dates of people in several tables: all of one person move together."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import RecipeError, SchemaError
from tests.data.relational.test_steps import after, days, made

CARE = {
    "people": {"key": "id", "columns": {"born": "quasi"}},
    "stays": {"key": "stay", "belongs_to": {"people": "id"}, "columns": {"day": "quasi"}},
    "tests": {"belongs_to": {"stays": "stay"}, "columns": {"at": "keep"}},
}


def care(first="1970-01-01"):
    people = pl.DataFrame(
        {"id": [1, 2, 3], "born": pl.Series([first, "1980-05-05", None]).str.to_date()}
    )
    stays = pl.DataFrame(
        {
            "stay": [1, 2, 3, 4],
            "id": [1, 1, 2, 3],
            "day": ["2024-02-28", "2024-03-01T08:00", "2024-01-01", None],
        }
    )
    at = pl.Series(["2024-02-29 09:00", "2024-03-02 10:00", "2024-01-02 11:00"]).str.to_datetime()
    return sf.read_tables(
        {"people": people, "stays": stays, "tests": pl.DataFrame({"stay": [1, 2, 3], "at": at})},
        CARE,
    )


@given(st.integers(1, 400), st.booleans(), st.integers(0, 20))
@settings(max_examples=20)
def test_all_dates_of_a_person_move_by_one_shift(most, weeks, seed):
    if weeks and most < 7:
        most += 7
    people = care()
    columns = {"people": ["born"], "stays": ["day"], "tests": ["at"]}
    left, plan = after(
        people,
        {"shift_dates": {"columns": columns, "days": most, "keep_weekday": weeks}},
        seed=seed,
    )
    shifts = {}
    for table, (column,) in columns.items():
        for who, was, now in zip(
            people[table].owner, days(people, table, column), days(left, table, column), strict=True
        ):
            assert (was is None) == (now is None)
            if was is not None:
                shifts.setdefault(int(who), set()).add(now - was)
    assert all(len(one) == 1 for one in shifts.values())
    assert all(
        0 < abs(shift) <= most and not (weeks and shift % 7)
        for one in shifts.values()
        for shift in one
    )
    assert left["stays"].frame["day"][1].endswith("T08:00")
    assert left["tests"].frame["at"].dt.hour().to_list() == [9, 10, 11]
    assert any("gaps" in warning for warning in plan.warnings)
    assert any("shifts are possible" in warning for warning in plan.warnings) == (
        2 * (most // (7 if weeks else 1)) < 14
    )


def test_dates_that_are_none_or_leave_the_calendar_are_refused():
    step = made("steps", {"shift_dates": {"columns": {"people": ["born"]}, "days": 365_000}})
    earlier = [
        seed
        for seed in range(9)
        if step.plan(care("2000-01-01"), Goal((), Seed(seed))).shifts[0] < 0
    ]
    with pytest.raises(SchemaError, match="leave the calendar"):
        step.plan(care("0001-01-02"), Goal((), Seed(earlier[0])))
    with pytest.raises(SchemaError, match="no column 'id' besides its keys"):
        after(care(), {"shift_dates": {"columns": {"people": ["id"]}, "days": 3}})
    with pytest.raises(SchemaError, match="must hold dates"):
        after(examples.clinic(), {"shift_dates": {"columns": {"people": ["age"]}, "days": 3}})
    with pytest.raises(RecipeError, match="whole weeks"):
        made(
            "steps",
            {"shift_dates": {"columns": {"people": ["born"]}, "days": 3, "keep_weekday": True}},
        )
