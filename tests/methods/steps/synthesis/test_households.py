"""Households drawn whole: the household and its head first, then its other members one after the
other."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import run
from tests.methods.steps.synthesis.test_synthesize import homes, workers


def test_households_are_drawn_whole():
    table = homes()
    _, made = run(
        sf.Synthesize(
            members=["-age"], rules=["count(relation = head) = 1"], holdout=0, min_leaf=5
        ),
        table,
    )
    drawn = made.to_polars()
    each = drawn.group_by("home").agg(
        pl.col("region").n_unique(),
        pl.col("rooms").n_unique(),
        pl.col("relation").eq("head").sum(),
        pl.len(),
    )
    assert len(each) == 300
    assert (
        (each["region"] == 1).all() and (each["rooms"] == 1).all() and (each["relation"] == 1).all()
    )
    real = table.to_polars().group_by("home").len()["len"]
    assert abs(each["len"].mean() - real.mean()) < 0.35  # 4 standard errors of the difference
    assert not set(drawn["home"].to_list()) & set(table.to_polars()["home"].to_list())


def test_a_rule_no_draw_keeps_takes_whole_households_and_says_so():
    # the head is one of up to five, and nothing but chance says which: with leaves as large as the
    # table most draws break the rule
    draw = np.random.default_rng(1)
    rows = [
        (h, "head" if m == k else "other", int(draw.integers(0, 90)))
        for h in range(60)
        for k in [int(draw.integers(0, 9))]
        for m in range(9)
    ]
    frame = pl.DataFrame(rows, schema=["home", "relation", "age"], orient="row")
    schema = sf.Schema(
        {
            "home": Attribute((Role.HOUSEHOLD,)),
            "relation": Attribute((Role.KEEP,)),
            "age": Attribute((Role.KEEP,), Kind.NUMERIC),
        }
    )
    step = sf.Synthesize(
        rules=["count(relation = head) = 1"], min_leaf=500, members=["age"], holdout=0
    )
    plan, made = run(step, Table(frame, schema))
    assert (
        made.to_polars()
        .group_by("home")
        .agg(pl.col("relation").eq("head").sum())["relation"]
        .eq(1)
        .all()
    )
    if plan.owner.get("whole_households"):
        assert any("taken whole" in warning for warning in plan.warnings)


def test_a_column_that_says_how_large_a_household_is_stays_true():
    frame = homes().to_polars().with_columns(pl.len().over("home").cast(pl.Int64).alias("persons"))
    table = Table(
        frame,
        sf.Schema({**homes().schema.attributes, "persons": Attribute((Role.KEEP,), Kind.NUMERIC)}),
    )
    drawn = run(sf.Synthesize(holdout=0.1), table)[1].to_polars()
    assert (
        (
            drawn.group_by("home")
            .agg(pl.col("persons").first(), pl.len())
            .select(pl.col("persons") == pl.col("len"))
        )
        .to_series()
        .all()
    )
    assert drawn.group_by("home").agg(pl.col("persons").n_unique())["persons"].eq(1).all()


def test_households_are_set_aside_whole():
    table = homes()
    plan, _ = run(sf.Synthesize(holdout=0.3), table)
    aside = set(table.to_polars()[plan.held_out]["home"].to_list())
    rest = set(
        table.to_polars()[np.setdiff1d(np.arange(len(table)), plan.held_out)]["home"].to_list()
    )
    assert len(aside) == 90 and not aside & rest


def test_rules_of_households_have_to_hold_and_to_make_sense():
    with pytest.raises(SchemaError, match="does not hold in 240 household"):
        run(sf.Synthesize(rules=["count(relation = head) = 2"]), homes())
    with pytest.raises(ParameterError, match="for households"):
        run(sf.Synthesize(rules=["count(job = none) = 2"]), workers())
    with pytest.raises(ParameterError, match="of one member"):
        run(sf.Synthesize(rules=["age > 95 => region = n"]), homes())
    with pytest.raises(SchemaError, match="more than one stratum"):
        run(sf.Synthesize(within=["sex"]), homes())
    with pytest.raises(ParameterError, match="members"):
        run(sf.Synthesize(members=["age"]), workers())
    with pytest.raises(ParameterError, match="members"):
        run(sf.Synthesize(members=["-height"]), homes())
