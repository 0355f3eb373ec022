from __future__ import annotations

import math
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import in_all_frames, multiset
from tests.oracles.closeness_and_privacy import multiplicative


def table(n=120, seed=0, *, gaps=False):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "zip": rng.choice(["A", "B", "C"], n),
            "salary": (age * 20 + rng.normal(0, 300, n)).round(1),
            "grade": rng.choice(["low", "mid", "high"], n),
            "illness": rng.choice(["flu", "cold", "gout", "none"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    if gaps:
        frame = frame.with_columns(
            pl.when(pl.int_range(n) % 7 != 3).then(c).alias(c) for c in ("salary", "age")
        )
    roles = Table(frame).with_roles(quasi=["age", "zip"], sensitive=["salary", "grade", "illness"])
    schema = roles.schema.replace("grade", kind="ordinal", order=("low", "mid", "high"))
    return roles.with_schema(schema)


def judged(step, dataset, names):
    """The plan, and the largest distance of a released class from the released table, counted
    naively.
    """
    plan = step.plan(dataset, Goal())
    made = step.apply(dataset, plan).to_polars()
    whole = made.group_by(names).len().sort(names)
    labels = whole.select(names).rows()
    p = [c / len(made) for c in whole["len"].to_list()]
    worst, smallest = 1.0, math.inf
    for _, part in made.group_by("age", "zip"):
        seen = part.select(names).rows()
        q = [seen.count(label) / len(seen) for label in labels]
        smallest = min(smallest, len(seen))
        worst = max(worst, multiplicative(q, p))
    return plan, worst, smallest


CASES = {
    "numbers": (["salary"], {}),
    "ordered": (["grade"], {}),
    "nominal": (["illness"], {}),
    "numbers by flow": (["salary"], {"assignment": "flow", "rounds": 3}),
    "numbers by halving": (["salary"], {"assignment": "halving"}),
    "bucket means": (["salary"], {"release": "mean", "release_quasi": "centres"}),
    "bucket numbers": (["illness"], {"release": "number"}),
    "jointly": (["salary", "illness"], {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("n", "k", "t"), [(120, 10, 2.0), (97, 7, 2.5), (101, 6, 1.5), (61, 4, 3.7)]
)
def test_classes_of_the_release_are_close(name, n, k, t):
    columns, options = CASES[name]
    plan, worst, smallest = judged(sf.Bucketize(columns, t=t, k=k, **options), table(n), columns)
    assert smallest >= k
    assert (
        worst <= plan.public["distance"] + 1e-9 <= t + 2e-9
    )  # buckets that look alike only make it smaller
    assert plan.public["implied_epsilon"]["conditional"]


@pytest.mark.parametrize(("n", "k", "t"), [(120, 10, 2.0), (97, 9, 2.5)])
def test_columns_with_buckets_of_their_own_are_each_close(n, k, t):
    columns = ["salary", "grade", "illness"]
    step = sf.Bucketize(columns, t=t, k=k, jointly=False, release="number")
    for name in columns:
        plan, worst, smallest = judged(step, table(n), [name])
        assert worst <= t + 1e-9
        assert smallest >= k
    assert plan.public["of"] == "each column"
    assert plan.public["classes"] > 1


@given(
    st.integers(4, 60),
    st.integers(2, 8),
    st.sampled_from([1.1, 1.5, 2.0, 2.5, 4.0]),
    st.integers(0, 5),
)
def test_any_size_and_factor(n, k, t, seed):
    step = sf.Bucketize(["salary"], t=t, k=k, release="number")
    if k > n:
        with pytest.raises(SchemaError, match="more than"):
            step.plan(table(n, seed), Goal())
        return
    _, worst, smallest = judged(step, table(n, seed), ["salary"])
    assert worst <= t + 1e-9
    assert smallest >= k


def test_g11_paper_examples_are_reached():
    """Everyone with the same confidential values lives together: classes are as far from the table
    as they may.
    """
    places = ["north"] * 6 + ["south"] * 6 + ["west"] * 6
    people = Table(
        pl.DataFrame({"zip": places, "age": [1] * 18, "salary": [*range(18)]})
    ).with_roles(quasi=["age", "zip"], sensitive=["salary"])
    plan, worst, _ = judged(sf.Bucketize(["salary"], t=2, k=6), people, ["salary"])
    assert plan.public["distance"] == pytest.approx(2)
    assert worst <= 2 + 1e-9  # all three classes may release the same places
    assert plan.public["classes"] == 3
    twelve = people.take(np.array([*range(4), *range(6, 10), *range(12, 16)]))
    assert sf.Bucketize(["salary"], t=2, k=4).plan(twelve, Goal()).public[
        "distance"
    ] == pytest.approx(1.5)


def test_buckets_have_equal_sizes_and_follow_the_order():
    plan = sf.Bucketize(["salary"], t=2, k=10, release="number").plan(table(100), Goal())
    made = table(100).to_polars().with_columns(plan.columns["salary"].alias("bucket"))
    sizes = made.group_by("bucket").len().sort("bucket")["len"].to_list()
    assert sizes == [34, 33, 33]
    ends = made.group_by("bucket").agg(
        pl.col("salary").min().alias("low"), pl.col("salary").max().alias("high")
    )
    low, high = ends.sort("bucket")["low"].to_list(), ends.sort("bucket")["high"].to_list()
    assert all(a <= b for a, b in zip(high, low[1:], strict=False))


def test_a_release_keeps_what_t_closeness_promises():
    promise = sf.TCloseness("salary", t=2, distance="multiplicative", reference="released")
    release = sf.anonymize(
        table().drop(["grade", "illness"]),
        [sf.KAnonymity(10), promise],
        [sf.Bucketize(["salary"], t=2, k=10)],
        seed=1,
    )
    assert all(verdict.holds for verdict in release.verdicts)
    assert all(verdict.holds for verdict in sf.check(release.released, release.recipe))


@pytest.mark.parametrize("name", CASES)
def test_neither_frame_nor_order_of_rows_matters(name):
    columns, options = CASES[name]
    step = sf.Bucketize(columns, t=2, k=8, **options)
    found = {
        kind: multiset(step.apply(t, step.plan(t, Goal())))
        for kind, t in in_all_frames(table(60)).items()
    }
    assert all(rows == found["polars"] for rows in found.values())


def test_scipy_stands_in_for_ortools(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    step = sf.Bucketize(["salary"], t=2, k=8, assignment="flow", rounds=2)
    plan, worst, _ = judged(step, table(60), ["salary"])
    assert plan.owner["solver"] == "scipy"
    assert worst <= 2 + 1e-9


def test_missing_values_stand_in_the_last_bucket():
    people = table(70, gaps=True)
    plan, worst, _ = judged(sf.Bucketize(["salary"], t=2, k=7), people, ["salary"])
    assert worst <= 2 + 1e-9
    assert "*" in plan.columns["salary"].to_list()
    with pytest.raises(SchemaError, match="salary lack values"):
        sf.Bucketize(["salary"], t=2, k=7, release="mean").plan(people, Goal())
    with pytest.raises(SchemaError, match="age lack values"):
        sf.Bucketize(["grade"], t=2, k=7, release_quasi="centres").plan(people, Goal())


def test_a_column_with_one_value_and_classes_of_equal_people():
    people = Table(
        pl.DataFrame({"age": [3] * 10, "zip": ["A"] * 10, "salary": [5] * 10})
    ).with_roles(quasi=["age", "zip"], sensitive=["salary"])
    plan, worst, _ = judged(sf.Bucketize(["salary"], t=2, k=5), people, ["salary"])
    assert worst == 1.0
    assert set(plan.columns["salary"].to_list()) == {"5"}


def test_warnings_name_what_is_left_out():
    plan = sf.Bucketize(["salary"], t=2, k=5, quasi=["age"]).plan(table(40), Goal())
    assert any("grade, illness" in words for words in plan.warnings)
    assert any("zip" in words for words in plan.warnings)


def test_is_the_same_once_written_down():
    step = sf.Bucketize(["salary", "grade"], t=2.5, k=7, jointly=False, release="number")
    text = recipes.dump(Recipe(table(10).schema, (sf.KAnonymity(2),), (step,)))
    assert recipes.parse(text).steps == (step,)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"t": 1.0}, "t should be greater than 1"),
        ({"t": math.inf}, "finite"),
        ({"k": 1}, "k should be"),
        ({"buckets": 6}, "at most k"),
        ({"sensitive": []}, "at least 1"),
        ({"rounds": 3}, "for the assignment flow"),
        ({"sensitive": ["salary", "grade"], "jointly": False, "assignment": "greedy"}, "halving"),
        ({"quasi": ["salary"]}, "both"),
    ],
)
def test_wrong_parameters(wrong, words):
    with pytest.raises(ParameterError, match=words):
        sf.Bucketize(**{"sensitive": ["salary"], "t": 2, "k": 5, **wrong})


def test_wrong_tables():
    step = sf.Bucketize(["salary"], t=2, k=5)
    with pytest.raises(SchemaError, match="no rows"):
        step.plan(table(10).take(np.array([], dtype=np.int64)), Goal())
    with pytest.raises(SchemaError, match="has no column 'salary'"):
        step.plan(table(10).drop(["salary"]), Goal())
    with pytest.raises(SchemaError, match="role quasi"):
        step.plan(table(10).with_roles(keep=["age", "zip"]), Goal())
    with pytest.raises(SchemaError, match="both form classes"):
        sf.Bucketize(["age"], t=2, k=5).plan(table(10), Goal())


def test_numbers_too_large_to_compute_with():
    people = Table(pl.DataFrame({"age": [1e300, -1e300, 0, 1], "salary": [1, 2, 3, 4]})).with_roles(
        quasi="age", sensitive="salary"
    )
    for step in (
        sf.Bucketize(["salary"], t=2, k=2),
        sf.TClosenessMicroaggregate("salary", t=0.2, k=2),
    ):
        with pytest.raises(SchemaError, match="too large or too small"):
            step.plan(people, Goal())


def test_example_of_the_salaries():
    """Nine people, salaries 3 to 11: one of each bucket in every class is the table itself."""
    plan = sf.Bucketize(["salary"], t=2, k=3).plan(examples.salaries(), Goal())
    assert (plan.public["classes"], plan.public["distance"]) == (3, 1.0)
