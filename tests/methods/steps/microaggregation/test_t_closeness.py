from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.microaggregation.close_classes import RecordLine, close_classes, merged
from tests.methods.steps.masking_contract import in_all_frames, multiset
from tests.oracles.closeness_and_privacy import earth_movers

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


@given(st.lists(st.integers(0, 12), min_size=2, max_size=20), st.data())
def test_distances_are_areas_between_distribution_functions(places, data):
    groups = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(places), max_size=len(places)))
    )
    groups = np.unique(groups, return_inverse=True)[1]
    found = RecordLine.of(np.array(places, dtype=float)).distances(groups)
    for group in range(groups.max() + 1):
        members = np.flatnonzero(groups == group)
        assert found[group] == pytest.approx(earth_movers(places, members), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(st.integers(4, 60), st.integers(2, 6), st.floats(0.01, 0.5), st.integers(0, 9))
def test_groups_are_large_and_close(method, n, k, t, seed):
    if k > n:
        return
    rng = np.random.default_rng(seed)
    points, places = rng.normal(size=(n, 2)), rng.integers(0, 30, n).astype(float)
    groups, _ = close_classes(points, RecordLine.of(places), k=k, t=t, method=method)
    assert np.bincount(groups).min() >= k
    for group in range(groups.max() + 1):
        assert earth_movers(places.tolist(), np.flatnonzero(groups == group)) <= t + 1e-8


@pytest.mark.parametrize(("n", "t", "size"), [(1000, 0.05, 10), (1080, 0.05, 10)])
def test_t_closeness_first_makes_classes_of_the_needed_size(n, t, size):
    """G12: k* records, one of each part; where k* divides n nothing is left to merge."""
    rng = np.random.default_rng(1)
    groups, notes = close_classes(
        rng.normal(size=(n, 2)),
        RecordLine.of(np.arange(n, dtype=float)),
        k=2,
        t=t,
        method="t_closeness_first",
    )
    assert notes == {"class_size": size, "merged": 0}
    assert set(np.bincount(groups).tolist()) == {size}


def test_classes_that_exceed_the_bound_are_merged():
    """G12: n = 1080, t = 0.01 asks for 49 records, which do not divide n: whatever exceeds t is
    joined with its neighbour.
    """
    points, places = np.random.default_rng(2).normal(size=(1080, 2)), np.arange(1080.0)
    groups, notes = close_classes(
        points, RecordLine.of(places), k=2, t=0.01, method="t_closeness_first"
    )
    assert notes["class_size"] == 49
    assert RecordLine.of(places).distances(groups).max() <= 0.01 + 1e-9


def test_swapping_finds_closer_groups_than_merging_alone():
    """What the paper shows: k-anonymity first keeps many more groups than merging MDAV's."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2))
    line = RecordLine.of(points[:, 0] + 0.3 * rng.normal(size=300))
    made = {m: close_classes(points, line, k=5, t=0.15, method=m)[0].max() + 1 for m in METHODS}
    assert made["merge"] < made["k_anonymity_first"] < made["t_closeness_first"]


def test_merging_ends_with_the_table():
    points, places = np.arange(6.0)[:, None], np.array([0.0, 0, 0, 9, 9, 9])
    assert (
        merged(points, RecordLine.of(places), np.array([0, 0, 0, 1, 1, 1]), 0.01).tolist()
        == [0] * 6
    )


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
    with pytest.raises(SchemaError, match="must have an order"):
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
