"""Columns that undo the recoding of two others are found and not left as they are."""

from __future__ import annotations

import datetime
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Role


def stays(rows: int = 200, **more) -> pl.DataFrame:
    draw = random.Random(1)
    start = [
        datetime.date(2020, 1, 1) + datetime.timedelta(days=draw.randrange(700))
        for _ in range(rows)
    ]
    end = [day + datetime.timedelta(days=draw.randrange(90)) for day in start]
    columns = {
        "start_date": start,
        "end_date": end,
        "gap": [(b - a).days for a, b in zip(start, end, strict=True)],
    }
    return pl.DataFrame({**columns, "noise": [draw.randrange(90) for _ in range(rows)], **more})


def role(frame: pl.DataFrame, name: str):
    found = sf.profile(sf.read(frame))[name]
    return found.roles, " ".join(found.reasons)


@pytest.mark.parametrize("text", [False, True])
def test_a_difference_of_two_dates_is_dropped_with_its_reason(text):
    frame = stays()
    if text:
        frame = frame.with_columns(pl.col("start_date", "end_date").cast(pl.String))
    roles, why = role(frame.with_columns(gap=pl.col("gap").cast(pl.Float64)), "gap")
    assert roles == (Role.DROP,) and "is end_date − start_date in every record: dropped" in why


def test_one_record_that_differs_is_enough_to_leave_a_column():
    frame = stays()
    off = frame.with_columns(
        gap=pl.when(pl.int_range(pl.len()) == 150).then(1000).otherwise(pl.col("gap")) * 1.0
    )
    assert "in every record" not in role(off, "gap")[1]
    assert "in every record" not in role(frame, "noise")[1]


def test_missing_values_hide_no_difference_and_few_records_show_none():
    frame = stays().with_columns(
        gap=pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.col("gap") * 1.0)
    )
    assert role(frame, "gap")[0] == (Role.DROP,)
    assert "in every record" not in role(stays(25), "gap")[1]


def test_a_sum_of_two_numbers_that_is_sensitive_is_recoded_with_them():
    draw = random.Random(2)
    ages, years = ([draw.randrange(20, 60) for _ in range(100)] for _ in range(2))
    frame = pl.DataFrame(
        {
            "age": ages,
            "age_of_partner": years,
            "cost": [a + b for a, b in zip(ages, years, strict=True)],
        }
    )
    roles, why = role(frame, "cost")
    assert (
        roles == (Role.QUASI, Role.SENSITIVE) and "is age + age_of_partner in every record" in why
    )


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("homo", "sexual life"),
        ("hemo", "health"),
        ("drugs", "alcohol, tobacco or drugs"),
        ("homosexual_activity", "sexual life"),
    ],
)
def test_sexuality_haemophilia_and_drug_use_are_sensitive(name, concept):
    frame = stays().with_columns((pl.int_range(pl.len()) % 2).alias(name))
    roles, why = role(frame, name)
    assert roles == (Role.SENSITIVE,) and f"the name says {concept} (GDPR Art. 9)" in why
