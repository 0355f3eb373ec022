from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.masking_contract import in_all_frames, multiset

METHODS = ("merge", "k_anonymity_first", "t_closeness_first")


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "zip": rng.choice(["A", "B"], n),
            "salary": (age * 20 + rng.normal(0, 300, n)).round(-1),
        }
    )
    return Table(frame).with_roles(quasi=["age", "zip"], sensitive=["salary"])


@pytest.mark.parametrize("method", METHODS)
def test_neither_frame_nor_order_of_rows_matters(method):
    step = sf.TClosenessMicroaggregate("salary", t=0.15, k=4, method=method)
    found = {
        kind: multiset(step.apply(t, step.plan(t, Goal())))
        for kind, t in in_all_frames(table(50)).items()
    }
    assert all(rows == found["polars"] for rows in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("distance", "of"), [("ordered", "ordered"), ("numeric", "numeric")])
def test_a_release_keeps_what_the_model_promises(method, distance, of):
    promise = sf.TCloseness("salary", t=0.15, distance=of)
    step = sf.TClosenessMicroaggregate("salary", t=0.15, k=4, method=method, distance=distance)
    release = sf.anonymize(table(), [sf.KAnonymity(4), promise], [step], seed=1)
    assert all(verdict.holds for verdict in release.verdicts)
    assert (
        release.released.column("salary").sort().to_list()
        == table().column("salary").sort().to_list()
    )
    assert all(
        verdict.holds for verdict in sf.check(release.released, release.recipe, original=table())
    )


def test_one_group_is_warned_about():
    plan = sf.TClosenessMicroaggregate("salary", t=0.001, k=2, method="merge").plan(
        table(20), Goal()
    )
    assert plan.public["groups"] == 1
    assert any("one group" in words for words in plan.warnings)


def test_is_the_same_once_written_down():
    step = sf.TClosenessMicroaggregate("salary", t=0.1, k=4, method="merge", release_quasi="ranges")
    text = recipes.dump(Recipe(table(10).schema, (sf.KAnonymity(2),), (step,)))
    assert recipes.parse(text).steps == (step,)


def test_wrong_parameters_and_tables():
    for wrong in ({"t": 0}, {"t": 1.1}, {"k": 1}, {"quasi": ["salary"]}):
        with pytest.raises(ParameterError):
            sf.TClosenessMicroaggregate(**{"sensitive": "salary", "t": 0.1, "k": 3, **wrong})
    step = sf.TClosenessMicroaggregate("salary", t=0.1, k=5)
    with pytest.raises(SchemaError, match="more than the 4"):
        step.plan(table(4), Goal())
    with pytest.raises(SchemaError, match="no rows"):
        step.plan(table(4).take(np.array([], dtype=np.int64)), Goal())
    with pytest.raises(SchemaError, match="must be ordered"):
        sf.TClosenessMicroaggregate("zip", t=0.1, k=5, quasi=["age"]).plan(table(20), Goal())
    with pytest.raises(SchemaError, match="role quasi"):
        step.plan(table(20).with_roles(keep=["age", "zip"]), Goal())
    gaps = Table(pl.DataFrame({"age": [1, 2], "salary": [None, 3]})).with_roles(
        quasi="age", sensitive="salary"
    )
    with pytest.raises(SchemaError, match="salary lack values"):
        sf.TClosenessMicroaggregate("salary", t=0.1, k=2).plan(gaps, Goal())


def test_a_constant_column_is_close_whatever_the_groups():
    people = Table(pl.DataFrame({"age": [*range(9)], "salary": [4] * 9})).with_roles(
        quasi="age", sensitive="salary"
    )
    plan = sf.TClosenessMicroaggregate(
        "salary", t=0.01, k=3, method="merge", distance="numeric"
    ).plan(people, Goal())
    assert (plan.public["groups"], plan.public["distance"]) == (3, 0.0)
