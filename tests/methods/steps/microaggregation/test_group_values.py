"""What groups of records release in a column: the range of their values, or their centre."""

from __future__ import annotations

import datetime

import polars as pl

from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.methods.steps import Microaggregate
from tests.methods.steps.microaggregation.test_microaggregation import GOAL, table


def test_survey_weights_enter_the_mean():
    frame = pl.DataFrame({"a": [0.0, 3, 100, 104], "w": [2, 1, 0, 0]})
    schema = Schema(
        {"a": Attribute((Role.KEEP,), Kind.NUMERIC), "w": Attribute((Role.WEIGHT,), Kind.NUMERIC)}
    )
    plan = Microaggregate(["a"], 2).plan(Table(frame, schema), GOAL)
    assert plan.columns["a"].to_list() == [1, 1, 102, 102]
    assert plan.preserved[0].what == "weighted means"
    assert plan.preserved[0].off_by < 1e-12


def test_times_of_day_are_averaged_to_the_microsecond():
    noon = datetime.datetime(2024, 1, 1, 12)
    plan = Microaggregate(["t"], 2).plan(
        table(t=[noon, noon + datetime.timedelta(seconds=1)]), GOAL
    )
    assert plan.columns["t"].to_list() == [noon + datetime.timedelta(seconds=0.5)] * 2
