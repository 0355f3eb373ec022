from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import in_all_frames, multiset
from tests.oracles.closeness_and_privacy import clopper_pearson, epsilon_from_below


def table(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"age": rng.integers(0, 90, n), "sex": rng.choice(["f", "m"], n)})
    return (
        Table(frame)
        .with_roles(quasi="age", sensitive="sex")
        .with_hierarchies(age=sf.intervals(10, 30))
    )


def copies(count, others=0):
    """A table of equal records, and some of another kind."""
    return Table(pl.DataFrame({"a": ["x"] * count + ["y"] * others})).with_roles(quasi="a")


def run(step, dataset, **goal):
    plan = step.plan(dataset, Goal(**goal))
    return plan, step.apply(dataset, plan)


def test_classes_over_all_columns_are_large_and_the_facts_are_told():
    step = sf.SafeAnonymize(1.0, delta=1e-5, levels={"age": 1})
    plan, made = run(step, table())
    assert made.to_polars().group_by("age", "sex").len()["len"].min() >= 61
    assert set(made.column("age").to_list()) <= {f"{a}-{a + 9}" for a in range(0, 90, 10)}
    assert (plan.public["epsilon"], plan.public["k"], plan.public["certified"]) == (1.0, 61, True)
    assert 0 < plan.public["delta"] <= 1e-5
    assert plan.public["beta"] == pytest.approx(1 - math.exp(-1))
    assert plan.public["neighbours"].startswith("add_remove")
    known = plan.public["where_the_number_of_records_is_public"]
    assert (known["epsilon"], known["delta"]) == (
        2.0,
        pytest.approx((1 + math.e) * plan.public["delta"]),
    )
    assert (
        not {"rows", "records", "suppressed_records"} & plan.describe().keys()
    )  # their number stays secret


def test_sampled_share():
    """Two levels above everything: one class a sex; the share is within limits that are wrong with
    probability 1e-6.
    """
    _, made = run(sf.SafeAnonymize(0.5, k=2, levels={"age": 3}), table(5000))
    low, high = clopper_pearson(len(made), 5000, 1 - 1e-6)
    assert low <= 1 - math.exp(-0.5) <= high


def test_small_classes_go():
    counts = [len(run(sf.SafeAnonymize(3.0, k=4), copies(4))[1]) for _ in range(200)]
    assert set(counts) <= {0, 4}
    low, high = clopper_pearson(sum(c == 4 for c in counts), 200, 1 - 1e-6)
    assert low <= float(binom.pmf(4, 4, 1 - math.exp(-3))) <= high


@pytest.mark.slow
def test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim():
    """One record more or less, 700 runs each, every event 'at least j are released'; wrong with
    probability 1e-4 each.
    """
    step = sf.SafeAnonymize(1.0, k=5)
    delta = step.reached
    runs = [[len(run(step, copies(size))[1]) for _ in range(700)] for size in (9, 10)]
    found = []
    for least in (5, 6, 7, 8):
        hits = [sum(r >= least for r in one) for one in runs]
        found += [
            epsilon_from_below(hits[1], hits[0], 700, delta),
            epsilon_from_below(700 - hits[0], 700 - hits[1], 700, delta),
        ]
    assert max(found) <= 1.0
    # without δ the record that completes a class would tell: the promise needs it
    exact = [1 - binom.cdf(4, size, step.share) for size in (4, 5)]
    assert exact[0] == 0 < exact[1] <= delta


def test_the_order_of_rows_tells_nothing():
    step = sf.SafeAnonymize(2.0, k=2, levels={"age": 2})
    _, made = run(step, table(400))
    rows = made.to_polars().rows()
    firsts = [row for i, row in enumerate(rows) if i == 0 or rows[i - 1] != row]
    assert len(firsts) == len(set(rows))


def test_rehearsals_repeat_and_certify_nothing():
    step = sf.SafeAnonymize(1.0, k=5, levels={"age": 2})
    found = {
        kind: multiset(run(step, t, seed=Seed(3))[1])
        for kind, t in in_all_frames(table(300)).items()
    }
    assert all(rows == found["polars"] for rows in found.values())
    plan, _ = run(step, table(300), seed=Seed(3))
    assert plan.public["epsilon"] is None
    assert plan.public["not_certified_because"] == "rehearsal: no ε is certified"
    fresh = Seed.fresh()
    assert multiset(run(step, table(300), seed=fresh)[1]) != multiset(
        run(step, table(300), seed=fresh)[1]
    )
    assert not step.replayable


def test_nothing_left_is_an_answer():
    plan, made = run(sf.SafeAnonymize(1.0, k=50), table(30))
    assert len(made) == 0
    assert any("nothing is released" in words for words in plan.warnings)


def test_a_release_is_made_and_checked():
    step = sf.SafeAnonymize(1.0, delta=1e-4, levels={"age": 2})
    release = sf.anonymize(table(), [sf.KAnonymity(47)], [step], seed=5)
    assert all(verdict.holds for verdict in sf.check(release.released, release.recipe))


def test_is_the_same_once_written_down():
    step = sf.SafeAnonymize(1.0, k=5, beta=0.2, levels={"age": 2})
    text = recipes.dump(Recipe(table(10).schema, (sf.KAnonymity(2),), (step,)))
    assert recipes.parse(text).steps == (step,)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "either delta or k"),
        ({"k": 5, "delta": 0.1}, "either delta or k"),
        ({"k": 5, "beta": 0.9}, "too large for epsilon"),
        ({"k": 1}, "k should be"),
        ({"k": 5, "epsilon": 0}, "epsilon should be"),
        ({"k": 5, "epsilon": -1}, "epsilon should be"),
        ({"k": 5, "levels": {"age": -1}}, "levels"),
        ({"delta": 1.0}, "delta should be"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(ParameterError, match=words):
        sf.SafeAnonymize(**{"epsilon": 1.0, **wrong})


def test_wrong_tables():
    step = sf.SafeAnonymize(1.0, k=5, levels={"age": 1})
    for dataset, words in (
        (table(10).take(np.array([], dtype=np.int64)), "no rows"),
        (table(10).drop(["age"]), "has no column 'age'"),
        (table(10).with_hierarchies(age=sf.frequency(5)), "made from the values that occur"),
        (
            table(10).with_schema(table(10).schema.replace("age", hierarchy=None)),
            "level 0 only, but",
        ),
        (table(10).with_roles(person="sex"), "distinguishes every record"),
    ):
        with pytest.raises(SchemaError, match=words):
            step.plan(dataset, Goal())
    with pytest.raises(SchemaError, match="levels 0 to 3"):
        sf.SafeAnonymize(1.0, k=5, levels={"age": 9}).plan(table(10), Goal())
    people = Table(pl.DataFrame({"p": ["1", "2"], "a": [1, 1]})).with_roles(person="p", quasi="a")
    with pytest.raises(SchemaError, match="distinguishes every record"):
        sf.SafeAnonymize(1.0, k=2).plan(people, Goal())
