"""What a group is released as: the mean of numbers, the median of ordered values, the mode or the
common node of others."""

from __future__ import annotations

import datetime

import polars as pl

from sfumato.core.table import Table
from sfumato.methods.steps import Microaggregate
from tests.methods.steps.microaggregation.test_microaggregation import GOAL, MIXED


def test_centres_of_every_kind():
    day = datetime.date
    frame = pl.DataFrame(
        {
            "age": [20, 22, 24, 80, 81, 82],
            "school": ["low", "high", "high", "low", "low", "middle"],
            "illness": ["flu", "cold", "flu", "ulcer", "flu", "flu"],
            "sex": ["f", "f", "m", "m", "m", "f"],
            "seen": [
                day(2024, 1, 1),
                day(2024, 1, 2),
                day(2024, 1, 4),
                *[day(2024, 12, d) for d in (1, 2, 3)],
            ],
            "pay": [0.0] * 6,
        }
    )
    people_ = Table(frame, MIXED)
    made = (
        Microaggregate(["age", "school", "illness", "sex", "seen"], 3).plan(people_, GOAL).columns
    )
    assert made["age"].to_list() == [22] * 3 + [81] * 3
    assert made["school"].to_list() == ["high"] * 3 + ["low"] * 3
    assert made["illness"].to_list() == ["lung"] * 3 + ["*"] * 3
    assert made["sex"].to_list() == ["f"] * 3 + ["m"] * 3
    assert made["seen"].to_list() == [day(2024, 1, 2)] * 3 + [day(2024, 12, 2)] * 3
    assert made["seen"].dtype == pl.Date and made["age"].dtype == pl.Int64
    modes = Microaggregate(["age", "illness"], 3, nominal="mode").plan(people_, GOAL).columns
    assert modes["illness"].to_list() == ["flu"] * 6
