"""Rules that hold in every drawn record, or in every drawn household, as people write them."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import run
from tests.methods.steps.synthesis.test_synthesize import table_of, workers

RULES = (
    "age < 15 => married = single",
    "age < 15 => job = none",
    "job = office => school in {middle, high}",
)


def test_rules_hold_in_every_record():
    table = workers()
    step = sf.Synthesize(
        min_leaf=5,
        rules=[
            *RULES,
            "age < 6 => income in [-9, 0]",
            "school = low and age > 20 => region in {n, s}",
        ],
        holdout=0,
    )
    plan, made = run(step, _with_rules(table))
    drawn = made.to_polars()
    assert drawn.filter((pl.col("age") < 15) & (pl.col("married") != "single")).is_empty()
    assert drawn.filter((pl.col("age") < 15) & (pl.col("job") != "none")).is_empty()
    assert drawn.filter((pl.col("job") == "office") & (pl.col("school") == "low")).is_empty()
    assert drawn.filter((pl.col("age") < 6) & ~pl.col("income").is_between(-9, 0)).is_empty()
    assert plan.describe()["synthesis"]["rules_that_hold"] == 5


def _with_rules(table: Table) -> Table:
    frame = table.to_polars().with_columns(
        pl.when(pl.col("job") == "office")
        .then(pl.lit("high"))
        .otherwise(pl.col("school"))
        .alias("school"),
        pl.when(pl.col("age") < 6).then(pl.lit(0.0)).otherwise(pl.col("income")).alias("income"),
    )
    return Table(frame, table.schema)


def test_rules_are_learnt_from_fifty_records_or_more():
    table = workers(900)
    plan, made = run(
        sf.Synthesize(
            min_leaf=40,
            learn_rules=True,
            holdout=0,
            order=["age", "born", "income", "job", "married", "school", "region"],
        ),
        table,
    )
    assert plan.owner["learnt_rules"] >= 2
    drawn = made.to_polars()
    assert drawn.filter((pl.col("age") < 15) & (pl.col("job") != "none")).is_empty()
    few = run(sf.Synthesize(min_leaf=5, learn_rules=True, holdout=0), workers(40))[0]
    assert few.owner["learnt_rules"] == 0


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (["age < 15 => married = yes"], "does not hold in"),
        (["age < 99 and age > 97 => married = single", "age > 96 => married = yes"], "contradict"),
        (["age < 15 => married = divorced"], "without donor|does not hold"),
        (["age > 200 => married = divorced"], "without donor"),
        (["married = x => job = none", "job = none => married = single"], "does not hold|circle"),
    ],
)
def test_rules_that_cannot_hold_are_refused(rules, told):
    frame = workers().to_polars()
    extra = frame.head(1).with_columns(
        pl.lit(98).alias("age").cast(pl.Int64), pl.lit("yes").alias("married")
    )
    table = Table(pl.concat([frame, extra]), workers().schema) if "97" in rules[0] else workers()
    with pytest.raises(sf.errors.SfumatoError, match=told):
        run(sf.Synthesize(rules=rules, holdout=0), table)


def test_contradictions_are_found_before_anything_is_drawn():
    table = workers()
    frame = table.to_polars().with_columns(
        pl.when(pl.col("age") < 15).then(pl.lit("low")).otherwise(pl.lit("high")).alias("school"),
        pl.when(pl.col("age") < 15)
        .then(pl.lit("single"))
        .otherwise(pl.lit("yes"))
        .alias("married"),
    )
    rules = [
        "age < 15 => married = single",
        "school = high => married = yes",
    ]  # no child is there, but one could be drawn
    with pytest.raises(SchemaError, match="contradict"):
        run(sf.Synthesize(rules=rules), Table(frame, table.schema))


def test_rules_about_columns_that_stay_are_refused():
    with pytest.raises(ParameterError, match="a column that stays"):
        run(sf.Synthesize(columns=["age"], rules=["age < 15 => job = none"]), workers())
    kept = run(sf.Synthesize(columns=["job"], rules=["age < 15 => job = none"]), workers())[
        1
    ].to_polars()
    assert kept.filter((pl.col("age") < 15) & (pl.col("job") != "none")).is_empty()


def test_learnt_rules_give_way_where_they_leave_no_value():
    # x = a means z = p, y = c means z = q, and nobody has both; drawn apart, x and y meet
    part = ["a"] * 200 + ["b"] * 400
    table = table_of(
        {
            "x": part,
            "y": ["d", "e"] * 100 + ["c"] * 200 + ["d"] * 200,
            "z": ["p"] * 200 + ["q"] * 200 + ["p", "q"] * 100,
        }
    )
    step = sf.Synthesize(learn_rules=True, order=["x", "y", "z"], predictors={"y": []}, holdout=0)
    plan, made = run(step, table)
    both = made.to_polars().filter((pl.col("x") == "a") & (pl.col("y") == "c"))
    assert len(both) > 20 and plan.owner["learnt_rules_given_way"] == len(both)
    assert plan.describe()["synthesis"]["rules_that_hold"] < plan.owner["learnt_rules"]
    assert any("were broken in favour of others" in warning for warning in plan.warnings)


def test_circles_are_refused():
    frame = (
        workers()
        .to_polars()
        .with_columns(pl.lit("single").alias("married"), pl.col("region").alias("job"))
    )
    frame = frame.with_columns(pl.col("region").alias("married"))
    table = Table(frame, workers().schema)
    with pytest.raises(ParameterError, match="circle"):
        run(sf.Synthesize(rules=["job = n => married = n", "married = n => job = n"]), table)


@pytest.mark.parametrize(
    "rule",
    [
        "age < 15",
        "=> a = b",
        "age ? 3 => b = c",
        "a = 1 => a = 2",
        "a in (1) => b = 2",
        "count(a = 1) = x",
        "a = 'x => b = 2",
        "a = 1 => b = 2 => c = 3",
        "a is gone => b = 2",
        "count(a = 1 = 3",
    ],
)
def test_rules_that_are_not_written_well_are_refused_at_once(rule):
    with pytest.raises(ParameterError, match="rule 1"):
        sf.Synthesize(rules=[rule])


def test_rules_compare_what_has_an_order_only():
    with pytest.raises(ParameterError, match="no order"):
        run(sf.Synthesize(rules=["job < office => married = single"]), workers())
    with pytest.raises(ParameterError, match="neither a number nor a date"):
        run(sf.Synthesize(rules=["born < soon => married = single"]), workers())
    with pytest.raises(ParameterError, match="does not list"):
        run(sf.Synthesize(rules=["school < top => married = single"]), workers())
    plan, _ = run(
        sf.Synthesize(
            rules=[
                "born > 2023-12-31 => married = single",
                "school >= middle and born > 2030-01-01 => job = none",
            ]
        ),
        workers(),
    )
    assert any("applies to no record" in warning for warning in plan.warnings)
