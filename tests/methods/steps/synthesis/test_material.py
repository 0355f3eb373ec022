"""Columns as synthesis learns them: the step of dates, moments, times of day and durations."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.methods.steps.synthesis.material import material_of

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("column", "step"),
    [
        # day 20,000 since 1970 is a multiple of 1,000 days, and still a day
        (pl.Series([datetime.date(2024, 10, 4)] * 4), 1.0),
        (pl.Series([datetime.datetime(2024, 1, d, 12) for d in (1, 2, 3, 4)]), 3600.0 * SECOND),
        (pl.Series([datetime.time(h) for h in (1, 5, 7, 23)]), 3600.0 * SECOND * 1000),
        (pl.Series([datetime.time(1, 2, s) for s in (1, 5, 7, 23)]), 1.0 * SECOND * 1000),
        (pl.Series([1, 2, 3, 5]).cast(pl.Duration("ms")), 1.0),
        (pl.Series([60_000, 120_000]).cast(pl.Duration("ms")), 60_000.0),
    ],
)
def test_step_of_time(column, step):
    table = sf.read(pl.DataFrame({"t": column}))
    material = material_of(table, "t", np.arange(len(column)))
    assert material.step == step
