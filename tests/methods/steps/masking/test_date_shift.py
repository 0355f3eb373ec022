"""Date shifting: one shift a person, intervals kept."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from tests.methods.steps.masking_contract import people, run

days = st.dates(datetime.date(1990, 1, 1), datetime.date(2030, 1, 1))
visits = st.lists(
    st.tuples(st.sampled_from("pqr"), days, days | st.none()), min_size=1, max_size=12
)
SCHEMA = Schema(
    {
        "who": Attribute((Role.PERSON,)),
        "came": Attribute((Role.KEEP,)),
        "went": Attribute((Role.KEEP,)),
    }
)


def table(rows):
    kinds = {"who": pl.String, "came": pl.Date, "went": pl.Date}
    return Table(pl.DataFrame(rows, schema=kinds, orient="row"), SCHEMA)


@given(rows=visits, span=st.integers(7, 400), weekday=st.booleans())
def test_all_dates_of_a_person_move_together_and_all_move(rows, span, weekday):
    _, made = run(sf.ShiftDates(["came", "went"], span, keep_weekday=weekday), table(rows))
    shifts: dict[str, set[int]] = {}
    for (who, *old), (_, *new) in zip(rows, made.to_polars().rows(), strict=True):
        for before, after in zip(old, new, strict=True):
            assert (before is None) == (after is None)
            if before is not None:
                shifts.setdefault(who, set()).add((after - before).days)
    for moved in shifts.values():
        (shift,) = moved
        assert shift != 0 and abs(shift) <= span and (not weekday or shift % 7 == 0)


def test_shifts_are_uniform():
    frame = pl.DataFrame({"at": [datetime.date(2024, 1, 1)] * 6000})
    _, made = run(sf.ShiftDates(["at"], 3), Table(frame))
    counts = (made.column("at") - frame["at"]).dt.total_days().value_counts()
    assert sorted(counts["at"].to_list()) == [-3, -2, -1, 1, 2, 3]
    # binomial with chance 1/6: five standard errors of √(6000·5/36) = 28.9
    assert (counts["count"].cast(pl.Int64) - 1000).abs().max() < 5 * 28.9


@given(rows=visits)
def test_bounds_hold_or_the_table_is_refused(rows):
    first, last = datetime.date(1995, 1, 1), datetime.date(2025, 1, 1)
    step = sf.ShiftDates(["came", "went"], 500, earliest=first, latest=last)
    stuck = 0
    for who in {row[0] for row in rows}:
        dates = [date for row in rows if row[0] == who for date in row[1:] if date is not None]
        low, high = max(-500, (first - min(dates)).days), min(500, (last - max(dates)).days)
        stuck += not set(range(low, high + 1)) - {0}
    if stuck:
        with pytest.raises(
            SchemaError, match=rf"{stuck} unit\(s\) cannot be moved within the bounds"
        ):
            run(step, table(rows))
        return
    _, made = run(step, table(rows))
    known = pl.concat([made.column("came"), made.column("went")]).drop_nulls()
    assert known.min() >= first and known.max() <= last


def test_times_zones_and_text_keep_what_is_not_the_date():
    moment = datetime.datetime(2024, 2, 28, 23, 30, 15)
    frame = pl.DataFrame(
        {
            "a": pl.Series([moment], dtype=pl.Datetime("ms")),
            "b": pl.Series([moment], dtype=pl.Datetime("ns", "UTC")),
            "c": ["2024-02-28"],
            "d": ["2024-02-28T23:30:15+02:00"],
            "e": ["2024-02-28 23:30"],
        }
    )
    _, made = run(sf.ShiftDates(list("abcde"), 20), Table(frame))
    out = made.to_polars()
    assert out.schema == frame.schema
    shift = (out["a"][0] - moment).days
    day = (moment + datetime.timedelta(days=shift)).date().isoformat()
    assert (
        out["b"][0].replace(tzinfo=None) == out["a"][0] == moment + datetime.timedelta(days=shift)
    )
    assert out.row(0)[2:] == (day, f"{day}T23:30:15+02:00", f"{day} 23:30")


def test_units_rows_and_missing_units():
    missing = table([(None, datetime.date(2024, 1, 1), None)] * 40)
    made = run(sf.ShiftDates(["came"], 100), missing)[1]
    assert made.column("came").n_unique() > 20  # who is not known is alone
    plan, made = run(sf.ShiftDates(["seen", "left"], 100, unit="row"), people())
    assert "average reveals the true date" in plan.warnings[0]
    shifts = made.column("left") - people().column("left")
    assert shifts.n_unique() > 30


def test_few_shifts_are_warned_of():
    assert "only 6 shifts are possible" in run(sf.ShiftDates(["seen"], 3), people())[0].warnings[0]
    assert (
        "only 2 shifts are possible"
        in run(sf.ShiftDates(["seen"], 13, keep_weekday=True), people())[0].warnings[0]
    )
    assert run(sf.ShiftDates(["seen"], 30), people())[0].warnings == ()


def test_bad_columns():
    for bad in (["soon"], ["2024-13-01"], ["2024-01-01x"], ["20240101"]):
        with pytest.raises(SchemaError, match="1 value") as refused:
            run(sf.ShiftDates(["x"], 30), Table(pl.DataFrame({"x": bad})))
        assert bad[0] not in str(refused.value)
    with pytest.raises(SchemaError, match="must hold dates"):
        run(sf.ShiftDates(["x"], 30), Table(pl.DataFrame({"x": [20240101]})))
    with pytest.raises(SchemaError, match="no column has role household"):
        run(sf.ShiftDates(["x"], 30, unit="household"), Table(pl.DataFrame({"x": ["2024-01-01"]})))
    made = run(
        sf.ShiftDates(["x"], 30), Table(pl.DataFrame({"x": [None, None]}, schema={"x": pl.Date}))
    )[1]
    assert made.column("x").null_count() == 2


def test_the_ends_of_time_are_not_left():
    frame = pl.DataFrame({"x": ["0001-01-02", "9999-12-30"]})
    made = run(sf.ShiftDates(["x"], 300), Table(frame))[1].column("x").to_list()
    assert np.all([datetime.date.fromisoformat(text) for text in made])
