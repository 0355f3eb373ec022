"""What all steps that exchange values or release them at random have in common."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import InternalError
from tests.methods.steps.exchange_tables import SCHEMA, in_all_frames, multiset, people, run

STEPS = {
    "interval": sf.RankSwap(["income", "age", "grade"], p=0.1),
    "p_distribution": sf.RankSwap(["income"], p=0.1, variant="p_distribution"),
    "p_buckets": sf.RankSwap(["income", "size"], p=0.1, variant="p_buckets", within=[]),
    "grouped": sf.RankSwap(["income"], p=0.2, top=0.1, extremes="group"),
    "controlled": sf.RankSwap(
        ["income", "age"], p=0.5, keep_correlation=0.8, keep_mean=1.5, subsets=["sex"]
    ),
    "data": sf.SwapData(["illness", "grade"], keep=["sex"], rate=0.6),
    "apart": sf.SwapData(["illness", "land"], rate=0.6, together=False),
    "similar": sf.SwapSimilar(["illness"], by="income", k=4, reach=300),
    "households": sf.SwapHouseholds(
        ["land", "town"], risk=["sex", "age"], similar=[["size"], []], k=2, rate=0.4
    ),
    "across": sf.SwapAcross(["income", "illness"], match=["age", "sex"], rate=0.8),
    "shuffle": sf.ShuffleValues(["income", "grade"], predictors=["age", "size"]),
    "two-stage": sf.Pram(["illness", "area"], retain=0.6, alpha=0.9),
    "direct": sf.Pram(["illness", "sex"], invariant="direct", theta=0.7, jointly=True),
    "matrix": sf.Pram(
        ["sex"],
        matrix={"sex": {"f": {"f": 0.7, "m": 0.3}, "m": {"m": 0.9, "f": 0.1}}},
        invariant="none",
    ),
}
every_step = pytest.mark.parametrize("step", STEPS.values(), ids=list(STEPS))


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def second():
    return people(seed=2)


@pytest.mark.slow
@every_step
def test_neither_order_nor_kind_of_frame_matters(step, table, second):
    expected = multiset(run(step, table, population=second)[1])
    for kind, same in in_all_frames(table).items():
        for name, other in {"": second, **in_all_frames(second)}.items():
            if name and not isinstance(step, sf.SwapAcross):
                continue
            assert multiset(run(step, same, population=other)[1]) == expected, (kind, name)


@every_step
def test_the_seed_decides(step, table, second):
    once, again, other = (run(step, table, seed, second)[1].to_polars() for seed in (5, 5, 6))
    assert once.equals(again)
    if step.name != "swap_similar":  # where chance only decides between equals
        assert not once.equals(other)
    assert not once.equals(table.to_polars())


@every_step
def test_only_named_columns_change_and_all_of_them_are_told(step, table, second):
    plan, made = run(step, table, population=second)
    named = set(plan.actions)
    assert set(plan.columns) == named
    assert len(made) == len(table)
    assert made.columns == table.columns
    for name in table.columns:
        if name not in named:
            assert made.column(name).equals(table.column(name))
        else:
            assert (made.column(name).is_null() == table.column(name).is_null()).all(), (
                "missing stays missing"
            )


@every_step
def test_plans_are_plain_data_without_values(step, table, second):
    plan, _ = run(step, table, population=second)
    told = json.dumps([plan.describe(), plan.effort()], allow_nan=False)
    for value in ("gout", "high", "t03", "h00"):
        assert value not in told
    assert plan.describe()["masked"] == dict(plan.actions)
    assert all(0 <= one.off_by < 10 for one in plan.preserved)
    assert plan.preserved


@every_step
def test_recipe_and_back(step):
    recipe = Recipe(SCHEMA, (sf.KAnonymity(2),), (step,))
    assert recipes.parse(recipes.dump(recipe)).steps == (step,)


@every_step
def test_secret_fields_are_fields(step):
    assert set(getattr(step, "secret", ())) <= set(type(step).__dataclass_fields__)


@every_step
def test_a_release_from_end_to_end(step, table, second):
    release = sf.anonymize(
        table, [sf.KAnonymity(1)], [step], seed=3, options=sf.AnonymizeOptions(population=second)
    )
    again = sf.anonymize(
        table, [sf.KAnonymity(1)], [step], seed=3, options=sf.AnonymizeOptions(population=second)
    )
    assert release.data.equals(again.data)
    changes = {change.name: change.action for change in release.columns}
    plan = release.plans[0][1]
    assert all(words in changes[name] for name, words in plan.actions.items())
    assert sf.check(release.released, release.recipe, original=table, population=second)[0].holds


@every_step
def test_without_a_seed_it_is_our_mistake(step, table, second):
    with pytest.raises(InternalError):
        step.plan(table, Goal(population=second))


@every_step
def test_one_row_and_only_missing_values(step, table, second):
    one = table.take(range(1))
    assert len(run(step, one, population=second)[1]) == 1
    blank = {
        name: pl.Series(name, [None] * len(table), dtype=table.column(name).dtype)
        for name in ("income", "illness")
    }
    made = run(step, table.with_columns(blank), population=second)[1]
    assert made.column("income").null_count() == len(table)
    assert made.column("illness").null_count() == len(table)


@every_step
def test_no_rows(step, table, second):
    empty = Table(table.to_polars().clear(), SCHEMA)
    assert len(step.apply(empty, step.plan(empty, Goal(seed=Seed(1), population=second)))) == 0


@every_step
def test_a_stratum_without_values(step, table, second):
    void = pl.Series([i % 3 == 1 for i in range(len(table))])
    area = pl.Series("area", ["void" if v else "full" for v in void])
    blank = {name: table.column(name).set(void, None) for name in ("income", "illness")}
    made = run(step, table.with_columns({"area": area, **blank}), population=second)[1]
    assert made.column("income").filter(void).null_count() == void.sum()


@pytest.mark.parametrize("name", ["interval", "p_distribution", "data", "similar", "shuffle"])
def test_alone_in_a_stratum_a_record_keeps_its_values(name, table):
    lone = table.with_columns({"area": pl.Series("area", ["lone", *["rest"] * (len(table) - 1)])})
    plan, made = run(STEPS[name], lone)
    assert all(made.column(c)[0] == lone.column(c)[0] for c in plan.actions)
    assert any((made.column(c) != lone.column(c)).any() for c in plan.actions)
