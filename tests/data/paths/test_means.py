"""Means for paths: they reach what they are asked for, as little as they can, and say so where they
cannot.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.paths import (
    CollapseRepeats,
    KmPoints,
    KmVisits,
    KWindows,
    LkcPrivacy,
    PathRecoding,
    PointSuppression,
    TimeShift,
)
from sfumato.data.paths.path_recoding import PathLattice
from sfumato.errors import ParameterError, Unsatisfiable
from tests.oracles import paths as oracle


def applied(step, people, *models, seed=1):
    return step.apply(people, step.plan(people, Goal(models=models, seed=Seed(seed))))


def points_left(people):
    return sum(map(len, oracle.paths_of(people)))


# Suppression.


def test_suppression_of_the_worked_example():
    """Frequent from 3 people: global 12 of 29 points are left, local 17."""
    people, promise = examples.small_paths(), LkcPrivacy(2, l=2)
    everywhere = applied(PointSuppression(), people, promise)
    gone = {p for path in oracle.paths_of(people) for p in path} - {
        p for path in oracle.paths_of(everywhere) for p in path
    }
    assert gone == {(12, "f"), (7, "a"), (9, "e"), (10, "b"), (13, "c"), (9, "b"), (12, "c")}
    assert points_left(everywhere) == 12
    assert points_left(applied(PointSuppression("local"), people, promise)) == 17
    assert (
        PointSuppression().plan(people, Goal(models=(promise,))).describe()["points_deleted"] == 17
    )


def global_order(paths, l, k, least):  # noqa: E741 - the literature's letter
    """The points that the global rule deletes, in order, from the definition."""
    moles = oracle.violating(paths, l, k)
    often = {q for q in oracle.point_sets(paths, l) if len(oracle.carriers(paths, q)) >= least}
    keep = {q for q in often if not any(q < other for other in often)}
    order = []
    while moles:
        points = {p for q in moles for p in q}
        best = min(
            points,
            key=lambda p: (-Fraction(sum(p in q for q in moles), 1 + sum(p in q for q in keep)), p),
        )
        order.append(best)
        moles, keep = {q for q in moles if best not in q}, {q for q in keep if best not in q}
    return order


@given(oracle.some_paths(), st.integers(1, 3), st.integers(2, 3))
def test_global_suppression_follows_its_rule(paths, length, k):
    people, promise = oracle.people_of(paths), KmPoints(k, m=length)
    if people.people < k:
        return
    gone = set(global_order(paths, length, k, k + 1))
    rest = [frozenset(path - gone) for path in paths]
    if sum(map(bool, rest)) < k:
        with pytest.raises(Unsatisfiable):
            applied(PointSuppression(), people, promise)
        return
    left = applied(PointSuppression(), people, promise)
    assert oracle.paths_of(left) == [path for path in rest if path]
    assert promise.judge(Evidence(left)).holds


@settings(max_examples=25)
@given(oracle.some_paths(), st.integers(1, 2), st.data())
def test_local_suppression_keeps_its_promise(paths, length, data):
    values = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(paths), max_size=len(paths)))
    people, promise = oracle.people_of(paths, values), LkcPrivacy(2, l=length, c=0.7)
    try:
        left = applied(PointSuppression("local"), people, promise)
    except Unsatisfiable:
        return
    assert promise.judge(Evidence(left)).holds
    assert all(
        path <= paths[i]
        for i, path in zip(
            left.origin if left.origin is not None else itertools.count(),
            oracle.paths_of(left),
            strict=False,
        )
    )


def test_suppression_says_what_it_cannot_do():
    people = examples.small_paths()
    with pytest.raises(Unsatisfiable, match=r"58\.6 % of the points") as caught:
        applied(PointSuppression(budget=0.1), people, LkcPrivacy(2, l=2))
    assert caught.value.closest == {"share_deleted": 0.586207, "people_left": 7}
    with pytest.raises(Unsatisfiable, match="0 people only"):
        applied(PointSuppression(), people, LkcPrivacy(8, l=1))
    with pytest.raises(ParameterError, match="lkc_privacy, km_anonymity"):
        applied(PointSuppression(), people, KmVisits(2))


# Recoding.


def test_recoding_says_what_else_can_be_done():
    people = oracle.people_of([[(0, "a")], [(1, "b")], [(2, "b")]])
    flat = dataclasses.replace(people, schema=people.schema.replace("place", hierarchy=None))
    coarser = "; give the place a hierarchy, without which it cannot become coarser, or "
    with pytest.raises(
        Unsatisfiable,
        match=f"{coarser}let point_suppression follow, with a budget here, or promise less$",
    ):
        applied(PathRecoding(), flat, LkcPrivacy(2, l=1))
    with pytest.raises(
        Unsatisfiable,
        match=rf"{coarser}let suppression delete more than 10 % of the points \(budget\)",
    ):
        applied(PathRecoding(budget=0.1), flat, LkcPrivacy(2, l=1))


@settings(max_examples=30)
@given(
    oracle.some_paths(5),
    st.sampled_from(
        [KmPoints(2, m=2), KmVisits(2, m=2), KWindows(2, tau="4h"), LkcPrivacy(2, l=2, c=0.6)]
    ),
    st.sampled_from("xy"),
)
def test_recoding_takes_the_least_loss_of_all_levels(paths, promise, value):
    people = oracle.people_of(paths, [value if i % 2 else "y" for i in range(len(paths))])
    step = PathRecoding(widths=("1h", "2h", "4h", "all"))
    lattice = PathLattice.of(people, step)
    nodes = [
        (lattice.loss[place, time], lattice.at(place, time))
        for place in range(len(lattice.place_levels))
        for time in range(len(lattice.widths))
    ]
    holding = [loss for loss, at in nodes if promise.judge(Evidence(at)).holds]
    if not holding:
        with pytest.raises(Unsatisfiable, match="not even the coarsest"):
            step.plan(people, Goal(models=(promise,)))
        return
    plan = step.plan(people, Goal(models=(promise,)))
    assert plan.loss == pytest.approx(min(holding))
    assert promise.judge(Evidence(step.apply(people, plan))).holds


def test_recoding_then_suppression_within_the_budget():
    people, promise = examples.mobility(150, days=3), LkcPrivacy(3, l=2)
    step = PathRecoding(cell=500, budget=0.1)
    plan = step.plan(people, Goal(models=(promise,)))
    coarse = step.apply(people, plan)
    assert not promise.judge(Evidence(coarse)).holds
    left = applied(PointSuppression(budget=0.2), coarse, promise)
    assert promise.judge(Evidence(left)).holds
    strict = PathRecoding(cell=500).plan(people, Goal(models=(promise,)))
    assert plan.loss < strict.loss
    assert plan.describe()["places"].startswith("cells of ")


def test_recoding_knows_its_levels():
    people = examples.small_paths()
    assert applied(PathRecoding(place_level=1, time_width="4h"), people).counts() == {
        "people": 8,
        "points": 24,
        "places": 2,
        "times": 4,
    }
    with pytest.raises(ParameterError, match=": place level"):
        applied(PathRecoding(place_level=7, time_width="4h"), people)
    with pytest.raises(ParameterError, match="no promise to reach"):
        applied(PathRecoding(), people)
    with pytest.raises(ParameterError, match="must nest"):
        PathRecoding(widths=("2h", "3h"))
    coarse = applied(PathRecoding(place_level=1, time_width="4h"), people)
    assert applied(PathRecoding(place_level=0, time_width="8h"), coarse).width == 8
    with pytest.raises(ParameterError, match="coarser buckets already"):
        applied(PathRecoding(place_level=0, time_width="2h"), coarse)


def test_without_a_hierarchy_places_stay():
    people = oracle.people_of([{(1, "a")}, {(1, "b")}])
    bare = people.with_points(people.who, people.ticks, people.places, schema=oracle.schema(None))
    with pytest.raises(Unsatisfiable) as caught:
        applied(PathRecoding(), bare, KmPoints(2))
    assert caught.value.closest["time_width"] == "no times"


# Shifts and repeats.


@given(oracle.some_paths(), st.integers(0, 1000))
def test_shifts_keep_gaps(paths, seed):
    people = oracle.people_of(paths)
    moved = applied(TimeShift("5h"), people, seed=seed)
    for before, after in zip(oracle.paths_of(people), oracle.paths_of(moved), strict=True):
        shift = min(after)[0] - min(before)[0]
        assert abs(shift) <= 5
        assert after == {(t + shift, p) for t, p in before}
    assert moved.shifted == 5


def test_shifts_are_uniform():
    """11 shifts from −5 to 5, 2 200 people: each 200 times; chi-squared with 10 degrees of freedom
    is below 35.6 but for 1 in 10 000.
    """
    people = oracle.people_of([{(0, "a")}] * 2200)
    counts = np.bincount(applied(TimeShift("5h"), people).ticks + 5, minlength=11)
    assert ((counts - 200) ** 2 / 200).sum() < 35.6


def test_shifts_promise_nothing_and_say_so():
    plan = TimeShift("2h").plan(examples.small_paths(), Goal(seed=Seed(1)))
    assert plan.describe() == {"at_most": "2h", "people": 8, "guarantee": "none"}
    assert "promises nothing" in plan.warnings[0]
    coarse = applied(PathRecoding(place_level=0, time_width="4h"), examples.small_paths())
    with pytest.raises(ParameterError, match="less than the time buckets"):
        applied(TimeShift("2h"), coarse)
    assert set(applied(TimeShift("8h"), coarse).ticks % 4) == {0}
    with pytest.raises(ParameterError, match="no times"):
        applied(
            TimeShift(),
            applied(PathRecoding(place_level=0, time_width="all"), examples.small_paths()),
        )


def test_repeats_collapse_before_coarsening_only():
    people = oracle.people_of([[(1, "a"), (2, "a"), (3, "b"), (4, "a")], [(1, "a"), (2, "b")]])
    assert [sorted(path) for path in oracle.paths_of(applied(CollapseRepeats(), people))] == [
        [(1, "a"), (3, "b"), (4, "a")],
        [(1, "a"), (2, "b")],
    ]
    coarse = applied(PathRecoding(place_level=1, time_width="1h"), people)
    with pytest.raises(ParameterError, match="before places or times"):
        applied(CollapseRepeats(), coarse)
