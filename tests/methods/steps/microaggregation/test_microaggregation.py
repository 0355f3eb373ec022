"""Microaggregation: worked numbers, the definitions, what every method owes, mixed data, bad
input.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
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
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError
from sfumato.methods.hierarchies import TableHierarchy
from sfumato.methods.steps import Microaggregate
from sfumato.methods.steps.microaggregation import local_search
from sfumato.methods.steps.microaggregation.k_ward import k_ward_of
from sfumato.methods.steps.microaggregation.mdav import blocks_of, mdav_of
from tests.methods.steps.masking_contract import in_all_frames, multiset, people
from tests.oracles import microaggregation as oracle

SIX = [2.0, 12, 16, 25, 29, 45]
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
AT_MOST = {
    "single_axis",
    "z_score_sum",
    "principal_component",
    "projected_optimal",
    "mdav",
    "partitioned",
    "k_ward",
}
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "k", "released", "share"),
    [
        # {2,12},{16,25},{29,45}: SSE 218.5 of SST 1121.5; {2,12,16},{25,29,45}: SSE 328 (golden
        # G38)
        *(
            (m, 2, [7, 7, 20.5, 20.5, 37, 37], 0.194828)
            for m in ("optimal", "mdav", "k_ward", "best")
        ),
        *(
            (m, 3, [10, 10, 10, 33, 33, 33], 0.292465)
            for m in ("optimal", "k_ward", "refined", "genetic")
        ),
    ],
)
def test_the_six_numbers_of_the_literature(method, k, released, share):
    plan = step(method, k, ["x"]).plan(table(x=SIX), GOAL)
    assert plan.columns["x"].to_list() == pytest.approx(released)
    assert plan.owner["sse_over_sst"] == pytest.approx(share, abs=1e-6)


def test_the_optimum_has_groups_of_different_size():
    # {1,2,3},{10,11,12,13},{50,51,52}: SSE 2 + 5 + 2 = 9 (golden G38)
    values = [1.0, 2, 3, 10, 11, 12, 13, 50, 51, 52]
    plan = step("optimal", 3, ["x"], standardize=False).plan(table(x=values), GOAL)
    assert plan.columns["x"].to_list() == [2, 2, 2, 11.5, 11.5, 11.5, 11.5, 51, 51, 51]
    total = float(np.var(values)) * len(values)
    assert plan.owner["sse_over_sst"] * total == pytest.approx(9.0)


def test_sorting_takes_the_rest_into_the_last_group():
    plan = step("single_axis", 2, ["a"]).plan(table(a=[5, 1, 4, 2, 3]), GOAL)
    assert plan.columns["a"].to_list() == [4, 1.5, 4, 1.5, 4]
    by_other = Microaggregate(["a"], 2, method="single_axis", axis="b").plan(
        table(a=[1, 2, 3, 4], b=[0, 9, 1, 8]), GOAL
    )
    assert by_other.columns["a"].to_list() == [2, 3, 2, 3]
    by_sum = step("z_score_sum", 2).plan(table(a=[1, 2, 3, 4], b=[4, 1, 9, 9]), GOAL)
    assert by_sum.columns["a"].to_list() == [1.5, 1.5, 3.5, 3.5]


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


@pytest.mark.parametrize("seed", range(6))
def test_best_finds_the_best_of_all_partitions_of_eight_records(seed):
    x = np.random.default_rng(seed).normal(size=(8, 2))
    plan = step("best", 2 + seed % 2, standardize=False).plan(table(a=x[:, 0], b=x[:, 1]), GOAL)
    total = float(x.var(axis=0).sum()) * 8
    assert plan.owner["sse_over_sst"] * total == pytest.approx(
        oracle.least_error(x.tolist(), 2 + seed % 2)
    )


def test_projected_optimal_is_the_best_of_all_runs():
    x = np.random.default_rng(1).normal(size=(9, 2))
    plan = step("projected_optimal", 2, standardize=False).plan(table(a=x[:, 0], b=x[:, 1]), GOAL)
    axis = np.linalg.svd(x - x.mean(axis=0))[2][0]
    ordered = x[np.argsort(x @ axis)].tolist()
    total = float(x.var(axis=0).sum()) * 9
    assert plan.owner["sse_over_sst"] * total == pytest.approx(
        oracle.least_error_of_runs(ordered, 2)
    )


# --------------------------------------------------------------------------- what every method owes


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(rows=points, k=st.integers(2, 4))
def test_groups_are_large_enough_and_means_stay(method, rows, k):
    a, b = np.array(rows).T
    plan = step(method, k).plan(table(a=a, b=b), GOAL)
    assert plan.owner["smallest_group"] >= k
    assert method not in AT_MOST or plan.owner["largest_group"] <= 2 * k - 1
    for name, old in (("a", a), ("b", b)):
        assert math.isclose(plan.columns[name].mean(), old.mean(), rel_tol=1e-9, abs_tol=1e-9)
    assert (
        plan.preserved[0].what == "means"
        and plan.preserved[0].exactly
        and plan.preserved[0].off_by < 1e-9
    )
    assert 0 <= plan.owner["sse_over_sst"] <= 1 + 1e-9
    together = plan.columns["a"].to_frame().with_columns(plan.columns["b"]).group_by("a", "b").len()
    assert together["len"].min() >= k


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


def test_groups_stay_within_strata_and_keep_their_means():
    rng = np.random.default_rng(2)
    sample = table(a=rng.normal(size=60), b=rng.normal(size=60), s=["x", "y", "z"] * 20)
    for method in ("mdav", "best", "genetic", "k_ward", "partitioned"):
        plan = step(method, 4, within=["s"]).plan(sample, GOAL)
        both = sample.to_polars().with_columns(new=plan.columns["a"])
        kept = both.group_by("s").agg(pl.col("a").mean(), pl.col("new").mean())
        assert np.allclose(kept["a"], kept["new"])
        assert both.group_by("new").agg(pl.col("s").n_unique())["s"].max() == 1


def test_strata_by_role_are_taken_when_nothing_is_said():
    frame = pl.DataFrame({"a": [1.0, 1.1, 9, 9.1], "s": ["x", "y", "x", "y"]})
    schema = Schema({"a": Attribute((Role.KEEP,), Kind.NUMERIC), "s": Attribute((Role.STRATUM,))})
    plan = Microaggregate(["a"], 2).plan(Table(frame, schema), GOAL)
    assert plan.columns["a"].to_list() == pytest.approx([5, 5.1, 5, 5.1])


def test_survey_weights_enter_the_mean():
    frame = pl.DataFrame({"a": [0.0, 3, 100, 104], "w": [2, 1, 0, 0]})
    schema = Schema(
        {"a": Attribute((Role.KEEP,), Kind.NUMERIC), "w": Attribute((Role.WEIGHT,), Kind.NUMERIC)}
    )
    plan = Microaggregate(["a"], 2).plan(Table(frame, schema), GOAL)
    assert plan.columns["a"].to_list() == [1, 1, 102, 102]
    assert plan.preserved[0].what == "weighted means"
    assert plan.preserved[0].off_by < 1e-12


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


def test_centres_of_every_kind():
    day = datetime.date
    frame = pl.DataFrame(
        {
            "age": [20, 22, 24, 80, 81, 82],
            "school": ["low", "high", "high", "low", "low", "middle"],
            "illness": ["flu", "cold", "flu", "ulcer", "flu", "flu"],
            "sex": ["f", "f", "m", "m", "m", "f"],
            "seen": [
                day(2024, 1, 1),
                day(2024, 1, 2),
                day(2024, 1, 4),
                *[day(2024, 12, d) for d in (1, 2, 3)],
            ],
            "pay": [0.0] * 6,
        }
    )
    people_ = Table(frame, MIXED)
    made = (
        Microaggregate(["age", "school", "illness", "sex", "seen"], 3).plan(people_, GOAL).columns
    )
    assert made["age"].to_list() == [22] * 3 + [81] * 3
    assert made["school"].to_list() == ["high"] * 3 + ["low"] * 3
    assert made["illness"].to_list() == ["lung"] * 3 + ["*"] * 3
    assert made["sex"].to_list() == ["f"] * 3 + ["m"] * 3
    assert made["seen"].to_list() == [day(2024, 1, 2)] * 3 + [day(2024, 12, 2)] * 3
    assert made["seen"].dtype == pl.Date and made["age"].dtype == pl.Int64
    modes = Microaggregate(["age", "illness"], 3, nominal="mode").plan(people_, GOAL).columns
    assert modes["illness"].to_list() == ["flu"] * 6


def test_values_under_one_node_are_nearer_than_others():
    # flu and cold differ on one of two levels: squared distance 1/2; flu and ulcer on both: 1
    frame = pl.DataFrame({"illness": ["flu", "cold", "ulcer", "gastritis"]})
    ill = Table(frame, Schema({"illness": MIXED["illness"]}))
    plan = Microaggregate(["illness"], 2).plan(ill, GOAL)
    assert plan.columns["illness"].to_list() == ["lung", "lung", "stomach", "stomach"]
    # SSE: two groups with pairs at 1/2 each: 2 · 1/4; SST: pairs of all four: (2 · 1/2 + 4 · 1)/4
    assert plan.owner["sse_over_sst"] == pytest.approx(0.5 / 1.25)


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


def test_times_of_day_are_averaged_to_the_microsecond():
    noon = datetime.datetime(2024, 1, 1, 12)
    plan = Microaggregate(["t"], 2).plan(
        table(t=[noon, noon + datetime.timedelta(seconds=1)]), GOAL
    )
    assert plan.columns["t"].to_list() == [noon + datetime.timedelta(seconds=0.5)] * 2


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


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ({"a": []}, {}, "no rows"),
        ({"b": [1, 2]}, {}, "no column 'a'"),
        ({"a": [1]}, {}, "k = 2 needs as many"),
        ({"a": [1, 2], "s": ["x", "y"]}, {"within": ["s"]}, "2 of 2 strata"),
        ({"a": [1, 2, None]}, {}, "1 record.s. lack a value in a"),
        ({"a": [None, None]}, {"missing": "leave"}, "every record lacks"),
        ({"a": ["p", "q"]}, {"method": "z_score_sum"}, "cannot"),
        ({"a": [1.0, float("inf")]}, {}, "infinite"),
        ({"a": [1, 2], "s": ["x", "y"]}, {"method": "single_axis", "axis": "s"}, "can be ordered"),
        ({"a": [1, 2, 3, None]}, {"missing": "pattern"}, "1 of 2 strata"),
    ],
)
def test_tables_that_do_not_fit_are_refused(columns, options, told):
    with pytest.raises(SchemaError, match=told):
        Microaggregate(["a"], 2, **options).plan(table(**columns), GOAL)


def test_missing_values_are_grouped_by_pattern_or_left():
    gaps = table(a=[1.0, 2, 3, 4, None, None], b=[1.0, 2, 3, 4, 10, 20])
    by_pattern = Microaggregate(["a", "b"], 2, missing="pattern").plan(gaps, GOAL)
    assert by_pattern.columns["a"].to_list() == [1.5, 1.5, 3.5, 3.5, None, None]
    assert by_pattern.columns["b"].to_list() == [1.5, 1.5, 3.5, 3.5, 15, 15]
    left = Microaggregate(["a", "b"], 2, missing="leave").plan(gaps, GOAL)
    assert left.columns["b"].to_list() == [1.5, 1.5, 3.5, 3.5, 10, 20]
    assert any("2 record(s) with missing values" in w for w in left.warnings)


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_do_not_vary_and_equal_records(method):
    plan = step(method, 2).plan(table(a=[0.1] * 7, b=[3] * 7), GOAL)
    assert plan.columns["a"].to_list() == [0.1] * 7
    assert plan.columns["b"].to_list() == [3] * 7
    assert plan.owner["sse_over_sst"] == 0.0


def test_categories_without_end_are_refused():
    with pytest.raises(SchemaError, match="too many different values"):
        Microaggregate(["a"], 2).plan(table(a=[f"v{i}" for i in range(2100)]), GOAL)
