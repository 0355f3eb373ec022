"""Means for paths: they reach what they are asked for, as little as they can, and say so where they
cannot.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.data import Evidence
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.paths import (
    KmPoints,
    KmVisits,
    LkcPrivacy,
    PointSuppression,
)
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


# Shifts and repeats.
