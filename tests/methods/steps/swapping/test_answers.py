"""Answers that are released at random: the values of a column, or of several taken together, as
codes and back."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.table import Table
from tests.methods.steps.exchange_tables import PLAIN, plain, run
from tests.methods.steps.swapping.test_pram import SIGMAS


def test_persons_get_one_answer():
    table = Table(
        pl.DataFrame(
            {
                "who": np.repeat(np.arange(500), 3),
                "x": np.repeat(["a", "b"] * 250, 3),
                "y": ["u", "v", "w"] * 500,
            }
        ),
        Schema({"who": Attribute((Role.PERSON,)), "x": PLAIN, "y": PLAIN}),
    )
    plan, made = run(sf.Pram(["x", "y"], retain=0.5, invariant="none"), table)
    per_person = (
        made.to_polars().group_by("who").agg(pl.col("x").n_unique(), pl.col("y").n_unique())
    )
    assert per_person["x"].max() == 1
    assert per_person["y"].max() > 1
    changed = (made.column("x") != table.column("x")).to_numpy().reshape(-1, 3)
    assert abs(changed[:, 0].mean() - 0.5) <= SIGMAS * math.sqrt(0.25 / 500)
    assert ["'y'" in told for told in plan.warnings] == [True]


def test_jointly_only_combinations_that_occur_are_released():
    table = plain(
        sex=["f", "f", "m", "m"] * 250,
        job=["nurse", "miner", "miner", "judge"] * 250,
        i=range(1000),
    )
    plan, made = run(sf.Pram(["sex", "job"], retain=0.4, jointly=True), table)
    pairs = set(made.to_polars().select("sex", "job").rows())
    assert pairs == {("f", "nurse"), ("f", "miner"), ("m", "miner"), ("m", "judge")}
    assert list(plan.public["local_epsilon"]) == ["sex × job"]
    apart = set(
        run(sf.Pram(["sex", "job"], retain=0.4), table)[1].to_polars().select("sex", "job").rows()
    )
    assert len(apart) == 6


def test_missing_values_stay_missing_and_rows_without_all_joint_values_stay_as_they_are():
    table = plain(x=["a", None, "b", "b"] * 50, y=[1, 2, None, 3] * 50)
    plan, made = run(sf.Pram(["x", "y"], retain=0.1), table)
    assert (made.column("x").is_null() == table.column("x").is_null()).all()
    assert (made.column("y").is_null() == table.column("y").is_null()).all()
    plan, made = run(sf.Pram(["x", "y"], retain=0.1, jointly=True), table)
    kept_rows = table.to_polars().select(pl.any_horizontal(pl.all().is_null())).to_series()
    assert made.to_polars().filter(kept_rows).equals(table.to_polars().filter(kept_rows))
    assert "100 row(s) lack a value" in plan.warnings[0]
