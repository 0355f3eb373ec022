from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import kstest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.oracles.closeness_and_privacy import epsilon_from_below


def table(values, **others):
    return Table(pl.DataFrame({"x": values, **others}))


def released(step, dataset, **goal):
    plan = step.plan(dataset, Goal(**goal))
    return plan, step.apply(dataset, plan)


def test_noise_has_the_scale_that_is_told():
    """Two groups far from the bounds; Kolmogorov's test against the Laplace distribution, wrong
    with probability 1e-6.
    """
    step = sf.InsensitiveMicroaggregate(["x"], k=100, epsilon=1, bounds={"x": (0, 1000)})
    drawn = []
    for _ in range(250):
        plan, made = released(step, table([500.0] * 200))
        drawn += made.column("x").unique().to_list()
    assert plan.public["noise_scale"] == {"x": 10.0}
    assert kstest(np.array(drawn) - 500, "laplace", args=(0, 10)).pvalue > 1e-6


def test_total_order_has_noise_for_all_groups_and_keeps_records_together():
    step = sf.InsensitiveMicroaggregate(
        ["x", "y"], k=3, epsilon=2, bounds={"x": (0, 10), "y": (0, 1)}, method="total_order"
    )
    rng = np.random.default_rng(0)
    people = table(rng.uniform(0, 10, 9), y=rng.uniform(0, 1, 9))
    plan, made = released(step, people)
    assert plan.public["noise_scale"] == pytest.approx(
        {"x": 3 * 10 * 2 / (3 * 2), "y": 3 * 1 * 2 / (3 * 2)}
    )
    assert made.to_polars().n_unique() <= 3
    with pytest.raises(SchemaError, match="whole records"):
        step.plan(table([1.0] * 6, y=[0.5] * 6, z=[1] * 6), Goal())


def test_values_do_not_stay_in_their_rows_unless_that_is_asked_for():
    values = [float(v) for v in range(40)]
    step = sf.InsensitiveMicroaggregate(["x"], k=2, epsilon=1e6, bounds={"x": (0, 40)})
    _, made = released(step, table(values))
    found = made.column("x").to_list()
    assert sorted(found) == pytest.approx([v // 2 * 2 + 0.5 for v in values], abs=0.01)
    assert found != sorted(found)
    linked = sf.InsensitiveMicroaggregate(
        ["x"], k=2, epsilon=1e6, bounds={"x": (0, 40)}, linked=True
    )
    plan, made = released(linked, table(values))
    assert made.column("x").to_list() == pytest.approx([v // 2 * 2 + 0.5 for v in values], abs=0.01)
    assert plan.public["epsilon"] is None
    assert not plan.public["certified"]
    assert any("no ε" in words for words in plan.warnings)


@pytest.mark.slow
def test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim():
    """Neighbouring tables at opposite bounds, 800 runs each; wrong with probability 1e-4 were ε
    exactly as claimed.
    """
    claim = 1.0
    step = sf.InsensitiveMicroaggregate(["x"], k=2, epsilon=claim, bounds={"x": (0, 1)})
    tables = [(table([0.0, 0.0]), table([0.0, 1.0])), (table([0.0] * 4), table([0.0] * 3 + [1.0]))]
    strongest = []
    for pair in tables:
        runs = [[released(step, t)[1].column("x").max() for _ in range(800)] for t in pair]
        for limit in (0.2, 0.5, 0.9):
            hits = [sum(value > limit for value in run) for run in runs]
            strongest.append(epsilon_from_below(hits[1], hits[0], 800))
    assert max(strongest) <= claim
    assert max(strongest) > 0.3 * claim  # the audit tells the tables apart: it could fail


def test_epsilon_is_certified_only_without_a_seed():
    step = sf.InsensitiveMicroaggregate(["x"], k=2, epsilon=0.5, bounds={"x": (0, 9)})
    people = table([1.0, 5, 3, 8])
    plan, _ = released(step, people, seed=Seed.fresh())
    assert (plan.public["epsilon"], plan.public["delta"], plan.public["certified"]) == (
        0.5,
        0.0,
        True,
    )
    assert plan.public["neighbours"].startswith("replace")
    rehearsed, made = released(step, people, seed=Seed(3))
    assert rehearsed.public["epsilon"] is None
    assert rehearsed.public["not_certified_because"] == "rehearsal: no ε is certified"
    assert (
        made.column("x").to_list() == released(step, people, seed=Seed(3))[1].column("x").to_list()
    )
    assert not step.replayable
    later = step.plan(people, Goal(seed=Seed.fresh(), place=1))
    assert any("the step by itself" in words for words in later.public["assumptions"])


def test_bounds_may_come_from_the_schema():
    people = table([1.0, 2, 3]).with_roles(sensitive="x")
    declared = people.with_schema(people.schema.replace("x", bounds=(0, 5)))
    plan = sf.InsensitiveMicroaggregate(["x"], k=3, epsilon=1).plan(declared, Goal())
    assert plan.public["noise_scale"]["x"] == pytest.approx(5 / 3)


def test_is_the_same_once_written_down():
    step = sf.InsensitiveMicroaggregate(
        ["x"], k=3, epsilon=0.7, bounds={"x": (0, 5)}, method="total_order"
    )
    text = recipes.dump(
        Recipe(table([1.0]).with_roles(keep="x").schema, (sf.KAnonymity(2),), (step,))
    )
    assert recipes.parse(text).steps == (step,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 1},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"bounds": {"x": (5, 5)}},
        {"bounds": {"x": (5, 1)}},
        {"bounds": {"x": (0, math.inf)}},
        {"bounds": {"y": (0, 1)}},
        {"columns": []},
    ],
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError):
        sf.InsensitiveMicroaggregate(
            **{"columns": ["x"], "k": 3, "epsilon": 1, "bounds": {"x": (0, 1)}, **wrong}
        )


def test_missing_values_count_as_the_middle_of_the_bounds():
    """An error would tell that somebody's value is missing."""
    step = sf.InsensitiveMicroaggregate(["x"], k=3, epsilon=1e6, bounds={"x": (0, 10)})
    plan = step.plan(table([None, None, None]), Goal())
    assert plan.columns["x"].to_list() == pytest.approx([5.0] * 3, abs=0.01)


def test_wrong_tables():
    step = sf.InsensitiveMicroaggregate(["x"], k=3, epsilon=1, bounds={"x": (0, 1)})
    for dataset, words in (
        (table([]), "no rows"),
        (table([0.5, 0.5]), "more than the 2"),
        (table(["a", "b", "c"]), "must hold numbers"),
        (Table(pl.DataFrame({"y": [1, 2, 3]})), "has no column 'x'"),
        (
            table([0.1] * 3, person=["p", "p", "q"]).with_roles(person="person", keep="x"),
            "one row per person",
        ),
    ):
        with pytest.raises(SchemaError, match=words):
            step.plan(dataset, Goal())
    with pytest.raises(SchemaError, match="without looking at the data"):
        sf.InsensitiveMicroaggregate(["x"], k=2, epsilon=1).plan(table([0.1, 0.2]), Goal())
    with pytest.raises(ParameterError, match="range of whole numbers"):
        sf.InsensitiveMicroaggregate(["x"], k=2, epsilon=1e-12, bounds={"x": (0, 1)}).plan(
            table([0.1, 0.2]), Goal()
        )
