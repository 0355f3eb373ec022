"""Whole tables drawn from what was learnt: stratum by stratum, copy by copy, fully or partly
synthetic."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from tests.methods.steps.masking_contract import run
from tests.methods.steps.synthesis.test_synthesize import table_of, workers


@pytest.mark.parametrize("records", [1, 7, 2000])
def test_any_number_of_records_can_be_drawn(records):
    plan, made = run(sf.Synthesize(records=records, within=["region"]), workers(500))
    assert len(made) == records and set(plan.origin.tolist()) == {-1}


def test_strata_are_learnt_by_themselves_and_small_ones_together():
    draw = np.random.default_rng(1)
    stratum = np.array(["a"] * 300 + ["b"] * 300 + ["c"] * 20 + ["d"] * 30)
    table = table_of(
        {
            "s": stratum,
            "y": np.where(stratum == "a", "x", draw.choice(["y", "z"], 650)),
            "z": draw.integers(0, 5, 650),
        }
    )
    plan, made = run(sf.Synthesize(within=["s"], holdout=0), table)
    sizes = dict(made.to_polars().group_by("s").len().iter_rows())
    assert sizes["a"] == sizes["b"] == 300 and sizes.get("c", 0) + sizes.get("d", 0) == 50
    assert made.to_polars().filter(pl.col("s") == "a")["y"].eq("x").all()
    assert any("2 strata" in warning for warning in plan.warnings)


def test_copies_and_promises_do_not_go_together():
    table = workers(200)
    with pytest.raises(ParameterError, match="copies repeat people"):
        sf.Synthesize(copies=2).plan(table, Goal((sf.KAnonymity(2),), sf.core.randomness.Seed(1)))
    with pytest.raises(ParameterError, match="which the table already"):
        run(sf.Synthesize(copies=2), table_of({"copy": [1, 2] * 50, "x": [1, 2, 3, 4] * 25}))
