"""Coarser places and times for everybody alike."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.step import Goal
from sfumato.data.paths import (
    KmPoints,
    KmVisits,
    KWindows,
    LkcPrivacy,
    PathRecoding,
    PointSuppression,
)
from sfumato.data.paths.path_recoding import PathLattice
from sfumato.errors import ParameterError, Unsatisfiable
from tests.data.paths.test_point_suppression import applied
from tests.oracles import paths as oracle


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
        with pytest.raises(Unsatisfiable, match="even the coarsest levels do not reach"):
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
