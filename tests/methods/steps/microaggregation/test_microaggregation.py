"""Microaggregation: worked numbers, the definitions, what every method owes, mixed data, bad
input.
"""

from __future__ import annotations

import datetime
import itertools
import json
import types

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import kernels
from sfumato.core import recipe_files as recipes
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.steps import Microaggregate
from sfumato.methods.steps.microaggregation import local_search
from sfumato.methods.steps.microaggregation.k_ward import k_ward_of
from sfumato.methods.steps.microaggregation.mdav import blocks_of, mdav_of
from tests.methods.steps.masking_contract import in_all_frames, multiset, people
from tests.oracles import microaggregation as oracle

OPTIONS = {
    "single_axis": {"axis": "a"},
    "generalized_k_ward": {"mixability": 0.5},
    "best": {"effort": 20_000},
}
METHODS = (
    "single_axis",
    "z_score_sum",
    "principal_component",
    "projected_optimal",
    "mdav",
    "v_mdav",
    "partitioned",
    "k_ward",
    "generalized_k_ward",
    "genetic",
    "refined",
    "best",
)
GOAL = Goal(seed=Seed(5))


def table(**columns):
    return Table(pl.DataFrame(columns))


def step(method, k, columns=("a", "b"), **options):
    return Microaggregate(columns, k, method=method, **{**OPTIONS.get(method, {}), **options})


def partition(groups):
    """Groups as sets of rows."""
    groups = np.asarray(groups)
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


points = st.integers(4, 24).flatmap(
    lambda n: st.lists(
        st.lists(st.floats(-100, 100).map(lambda v: round(v, 6)), min_size=2, max_size=2),
        min_size=n,
        max_size=n,
    )
)


# ----------------------------------------------------------------------------------- worked numbers


# ---------------------------------------------------------------------------------- the definitions


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(0, 30), st.integers(1, 4))
def test_mdav_is_the_textbooks(seed, k, more, columns):
    # drawn from a density: records at exactly the same distance, between which rounding decides, do
    # not occur
    x = np.random.default_rng(seed).normal(size=(k + more, columns))
    assert partition(mdav_of(x, k)) == {frozenset(g) for g in oracle.mdav(x.tolist(), k)}


SHAPES = (
    "scattered",
    "small whole numbers",
    "rounded",
    "evenly spaced",
    "of very different size",
    "two heaps",
)


def points_of(shape, seed, records, columns):
    draw = np.random.default_rng(seed)
    found = draw.normal(size=(records, columns))
    if shape == "small whole numbers":
        return draw.integers(0, 4, size=(records, columns)).astype(float)
    if shape == "of very different size":
        return found * 10.0 ** draw.integers(-12, 12, size=(records, 1))
    if shape == "rounded":
        found = found.round(1)
    if shape == "evenly spaced":
        found = np.arange(records * columns, dtype=float).reshape(records, columns)
    if shape == "two heaps":
        found = np.repeat(np.arange(records) % 2, columns).reshape(records, columns).astype(float)
    return (found - found.mean(axis=0)) / np.maximum(found.std(axis=0), 1e-9)


@given(
    st.sampled_from(SHAPES),
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(0, 300),
    st.integers(1, 4),
)
def test_mdav_in_a_tree_of_boxes_makes_the_same_groups_as_a_look_at_all_records(
    shape, seed, k, more, columns
):
    points = points_of(shape, seed, k + more, columns)
    plain, tree = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.int64)
    made = kernels.microaggregation.build_mdav_groups(np.array(points.T, order="C"), k, plain)
    assert kernels.mdav_tree.build_mdav_groups(np.array(points.T, order="C"), k, tree) == made
    assert (plain == tree).all()


@pytest.mark.parametrize("columns", [1, 2])
def test_mdav_of_many_records_is_that_of_few(columns, monkeypatch):
    points = points_of("rounded", 1, 12_000, columns)
    plain = np.empty(len(points), dtype=np.int64)
    kernels.microaggregation.build_mdav_groups(np.array(points.T, order="C"), 3, plain)
    monkeypatch.setattr("sfumato.methods.steps.microaggregation.mdav.SCANNED", 1000)
    assert (mdav_of(points, 3) == plain).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_mdav_and_its_relatives_agree_with_the_definitions_on_random_points(seed):
    rng = np.random.default_rng(seed)
    k, x = 2 + seed % 3, rng.normal(size=(17 + seed, 1 + seed % 3))
    assert partition(mdav_of(x, k)) == {frozenset(g) for g in oracle.mdav(x.tolist(), k)}
    assert partition(k_ward_of(x, k, k)) == {frozenset(g) for g in oracle.k_ward(x.tolist(), k)}
    for gamma in (0.2, 1.1, 3.0):
        names = [f"c{a}" for a in range(x.shape[1])]
        made = Microaggregate(names, k, method="v_mdav", gamma=gamma, standardize=False)
        plan = made.plan(Table(pl.DataFrame(x, schema=names)), GOAL)
        order = np.lexsort(x.T[::-1])  # the canonical order of records that have these columns only
        groups = oracle.v_mdav(x[order].tolist(), k, gamma)
        assert partition(plan.columns["c0"].to_numpy()[order]) == {frozenset(g) for g in groups}


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=9), st.integers(2, 3))
def test_optimal_is_the_best_of_all_partitions(values, k):
    if len(values) < k:
        return
    plan = step("optimal", k, ["x"], standardize=False).plan(table(x=values), GOAL)
    total = float(np.var(values)) * len(values)
    rows = [[float(v)] for v in values]
    wanted = (
        oracle.least_error(rows, k)
        if len(values) <= 8
        else oracle.least_error_of_runs(sorted(rows), k)
    )
    assert plan.owner["sse_over_sst"] * total == pytest.approx(wanted, abs=1e-7)


# --------------------------------------------------------------------------- what every method owes


@pytest.mark.parametrize("seed", range(3))
def test_refinements_are_never_worse_than_where_they_start(seed):
    x = np.random.default_rng(seed).lognormal(size=(150, 3))
    people_ = Table(pl.DataFrame(x, schema=["a", "b", "c"]))
    share = {
        m: step(m, 4, ["a", "b", "c"]).plan(people_, GOAL).owner["sse_over_sst"]
        for m in ("mdav", "genetic", "refined", "best")
    }
    assert share["genetic"] < share["mdav"]
    assert share["best"] <= share["refined"] < share["mdav"]
    more = (
        step("best", 4, ["a", "b", "c"], effort=400_000).plan(people_, GOAL).owner["sse_over_sst"]
    )
    assert more <= share["best"]


@pytest.mark.parametrize("method", [*METHODS, "individual_ranking"])
def test_the_release_depends_neither_on_the_frame_nor_on_the_order_of_rows(method):
    options = {"single_axis": {"axis": "rent"}}.get(method, {})
    mixed_columns = () if method in ("z_score_sum", "individual_ranking") else ("sex",)
    made = step(
        method,
        3,
        ["income", "age", "rent", "school", "seen", *mixed_columns],
        missing="leave",
        **options,
    )
    found = {
        kind: multiset(made.apply(t, made.plan(t, GOAL)))
        for kind, t in in_all_frames(people(90)).items()
    }
    for kind, rows in found.items():
        assert rows == found["polars"], kind


def test_seconds_stand_for_work_and_the_effort_reached_gives_the_same_release_again():
    x = np.random.default_rng(3).normal(size=(300, 3))
    sample = Table(pl.DataFrame(x, schema=["a", "b", "c"]))
    timed = Microaggregate(["a", "b", "c"], 3, method="best", seconds=0.1)
    first = timed.plan(sample, GOAL)
    again = timed.locked(first)
    assert again.effort == first.owner["effort"] and again.seconds is None
    second = again.plan(sample, GOAL)
    assert all(first.columns[n].equals(second.columns[n]) for n in "abc")
    assert again.locked(second) == again
    assert first.owner["stopped_by"] == "seconds" and second.owner["stopped_by"] == "effort"


def test_a_busy_machine_finds_the_same_groups(monkeypatch):
    x = np.random.default_rng(3).normal(size=(200, 3))
    sample = Table(pl.DataFrame(x, schema=["a", "b", "c"]))
    timed = Microaggregate(["a", "b", "c"], 3, method="best", seconds=0.1)
    quiet = timed.plan(sample, GOAL)
    late = itertools.count(step=1000.0)  # every look at a clock costs a quarter of an hour
    monkeypatch.setattr(
        local_search, "time", types.SimpleNamespace(process_time=lambda: next(late))
    )
    busy = timed.plan(sample, GOAL)
    assert busy.owner["effort"] == quiet.owner["effort"]
    assert all(quiet.columns[n].equals(busy.columns[n]) for n in "abc")


def test_progress_grows_to_the_end():
    told = []
    x = np.random.default_rng(3).normal(size=(100, 2))
    step("best", 3).plan(
        table(a=x[:, 0], b=x[:, 1]),
        Goal(seed=Seed(1), progress=lambda share, words="": told.append(share)),
    )
    assert told == sorted(told) or told[0] == 1.0
    assert told[-1] == 1.0


def test_blocks_cover_all_records_once_and_lose_little():
    x = np.random.default_rng(1).normal(size=(3000, 3))
    blocks = blocks_of(x, 3, 500)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(3000))
    assert max(map(len, blocks)) <= 500
    assert sum(len(b) % 3 > 0 for b in blocks) <= 1
    sample = Table(pl.DataFrame(x, schema=["a", "b", "c"]))
    plain = step("mdav", 3, ["a", "b", "c"]).plan(sample, GOAL).owner["sse_over_sst"]
    cut = (
        step("partitioned", 3, ["a", "b", "c"], block=500).plan(sample, GOAL).owner["sse_over_sst"]
    )
    assert cut < 1.3 * plain


# ---------------------------------------------------------------------------------- strata, weights


# --------------------------------------------------------------------------------------- mixed data

DISEASES = TableHierarchy(
    [
        ("flu", "lung", "*"),
        ("cold", "lung", "*"),
        ("ulcer", "stomach", "*"),
        ("gastritis", "stomach", "*"),
    ]
)
MIXED = Schema(
    {
        "age": Attribute((Role.QUASI,), Kind.NUMERIC, hierarchy=sf.intervals(5, 10)),
        "school": Attribute((Role.QUASI,), Kind.ORDINAL, order=("low", "middle", "high")),
        "illness": Attribute((Role.QUASI,), hierarchy=DISEASES),
        "sex": Attribute((Role.QUASI,)),
        "seen": Attribute((Role.QUASI,), Kind.DATE),
        "pay": Attribute((Role.SENSITIVE,), Kind.NUMERIC),
    }
)


def mixed(rows=40, seed=1):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "school": [("low", "middle", "high")[i] for i in rng.integers(0, 3, rows)],
            "illness": [("flu", "cold", "ulcer", "gastritis")[i] for i in rng.integers(0, 4, rows)],
            "sex": [("f", "m")[i] for i in rng.integers(0, 2, rows)],
            "seen": [
                datetime.date(2024, 1, 1) + datetime.timedelta(days=int(d))
                for d in rng.integers(0, 300, rows)
            ],
            "pay": rng.normal(size=rows),
        }
    )
    return Table(frame, MIXED)


@pytest.mark.parametrize(
    "method", ["mdav", "best", "v_mdav", "k_ward", "principal_component", "genetic"]
)
def test_all_quasi_identifiers_together_give_k_anonymity(method):
    release = sf.anonymize(
        mixed(), [sf.KAnonymity(4)], [step(method, 4, list(MIXED.quasi))], seed=1
    )
    assert release.holds
    assert not release.plans[0][1].warnings
    assert all(v.holds for v in sf.check(release.released, release.recipe))


def test_numbers_alone_give_k_anonymity_and_the_release_can_be_written_and_verified(tmp_path):
    rng = np.random.default_rng(4)
    numbers = table(a=rng.normal(size=50), b=rng.integers(0, 9, 50)).with_roles(quasi=["a", "b"])
    release = sf.anonymize(numbers, [sf.KAnonymity(5)], [Microaggregate(["a", "b"], 5)], seed=1)
    assert release.verdicts[0].attained >= 5
    release.write(tmp_path / "out")
    found = sf.verify(
        tmp_path / "out" / "share", original=numbers, owner=tmp_path / "out" / "owner"
    )
    assert not any(claim.status == "fails" for claim in found.claims), found


def test_some_quasi_identifiers_do_not_and_the_plan_warns():
    plan = Microaggregate(["age", "school"], 4).plan(mixed(), GOAL)
    assert any("only some of the quasi-identifiers" in w for w in plan.warnings)
    with pytest.raises(ReleaseRefused):
        sf.anonymize(mixed(), [sf.KAnonymity(4)], [Microaggregate(["age", "school"], 4)], seed=1)
    assert not Microaggregate(["pay"], 4).plan(mixed(), GOAL).warnings
    ranked = Microaggregate(["age", "pay"], 4, method="individual_ranking").plan(mixed(), GOAL)
    assert any("protects little" in w for w in ranked.warnings)


def test_strata_that_are_quasi_identifiers_are_shared_by_whole_groups():
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4], "s": ["x", "x", "y", "y"]})
    roles = {
        "a": Attribute((Role.QUASI,), Kind.NUMERIC),
        "s": Attribute((Role.QUASI, Role.STRATUM)),
    }
    release = sf.anonymize(
        Table(frame, Schema(roles)), [sf.KAnonymity(2)], [Microaggregate(["a"], 2)], seed=1
    )
    assert release.holds and not release.plans[0][1].warnings


def test_individual_ranking_averages_each_column_by_itself():
    plan = Microaggregate(["a", "b"], 2, method="individual_ranking").plan(
        table(a=[1, 2, 8, 9], b=[1, 9, 2, 8]), GOAL
    )
    assert plan.columns["a"].to_list() == [1.5, 1.5, 8.5, 8.5]
    assert plan.columns["b"].to_list() == [1.5, 8.5, 1.5, 8.5]


# ---------------------------------------------------------------------------- recipes and bad input


@pytest.mark.parametrize("method", METHODS)
def test_a_step_is_the_same_once_it_was_written_down(method):
    made = step(method, 3, ["age", "pay"], **({"axis": "age"} if method == "single_axis" else {}))
    text = recipes.dump(Recipe(MIXED, (sf.KAnonymity(1),), (made,)))
    assert recipes.parse(text).steps == (made,)


def test_a_plan_is_plain_data_without_values():
    plan = step("best", 4, ["age", "pay"]).plan(mixed(), GOAL)
    json.dumps([plan.describe(), plan.effort()])
    assert plan.describe()["groups"] == plan.owner["groups"]
    assert "sse_over_sst" not in plan.describe()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"k": 1}, "k should be"),
        ({"columns": []}, "columns"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"method": "single_axis"}, "needs axis"),
        ({"method": "generalized_k_ward"}, "needs mixability"),
        ({"axis": "a"}, "axis is for single_axis"),
        ({"gamma": 1.0}, "gamma is for v_mdav"),
        ({"seconds": 1}, "seconds is for best"),
        ({"effort": 5, "method": "refined"}, "effort is for best"),
        ({"block": 500}, "block is for partitioned"),
        ({"method": "optimal", "columns": ["a", "b"]}, "one column"),
        ({"within": ["a"]}, "cannot both"),
        ({"method": "best", "seconds": 0}, "seconds"),
        ({"method": "v_mdav", "gamma": float("nan")}, "gamma"),
        ({"method": "kmeans"}, "method"),
    ],
)
def test_wrong_parameters_are_refused(options, told):
    with pytest.raises(ParameterError, match=told):
        Microaggregate(**{"columns": ["a"], "k": 3, **options})


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_do_not_vary_and_equal_records(method):
    plan = step(method, 2).plan(table(a=[0.1] * 7, b=[3] * 7), GOAL)
    assert plan.columns["a"].to_list() == [0.1] * 7
    assert plan.columns["b"].to_list() == [3] * 7
    assert plan.owner["sse_over_sst"] == 0.0
