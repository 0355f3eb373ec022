"""Attacks on paths against their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.data.paths import (
    LkcPrivacy,
    PathRecoding,
    PointSuppression,
    TimeShift,
    TimeShiftAttack,
    Unicity,
)
from sfumato.data.paths import unicity as module
from tests.oracles import paths as oracle


def recoded(people, **levels):
    step = PathRecoding(**levels)
    return step.apply(people, step.plan(people, Goal()))


def curve(finding):
    return [share for _, share in finding.details["curve"]["points"]]


# Worked example: the share alone with p = 1…4 points of the released paths.
CURVES = {
    "hours": ({}, "5/48 19/48 11/16 7/8"),
    "2h": ({"place_level": 0, "time_width": "2h"}, "7/96 5/16 1/2 5/8"),
    "4h": ({"place_level": 0, "time_width": "4h"}, "1/32 11/48 3/8 1/2"),
    "4h and zones": ({"place_level": 1, "time_width": "4h"}, "1/32 11/48 11/32 3/8"),
    "place only": ({"place_level": 0, "time_width": "all"}, "0 1/4 1/2 1/2"),
}


@pytest.mark.parametrize(("levels", "shares"), CURVES.values(), ids=CURVES.keys())
def test_unicity_of_the_worked_example(levels, shares):
    people = recoded(examples.small_paths(), **levels) if levels else examples.small_paths()
    finding = Unicity(4).attack(Scene.of(people, people))
    assert curve(finding) == pytest.approx([float(Fraction(share)) for share in shares.split()])
    assert finding.interval is None


@given(
    oracle.some_paths(),
    st.integers(1, 3),
    st.sampled_from([{}, {"place_level": 1, "time_width": "2h"}]),
)
def test_unicity_is_what_it_says(paths, p, levels):
    """Also in a release, where the intruder knows true points and looks for what contains them."""
    people = oracle.people_of(paths)
    released = recoded(people, **levels) if levels else people
    shown = released.shuffled(np.random.default_rng(4))
    zone = (
        {place: "north" if place in "abc" else "south" for place in oracle.PLACES} if levels else {}
    )
    known = [
        [(t // 2 * 2, zone[a]) if levels else (t, a) for t, a in sorted(path)] for path in paths
    ]
    wanted = oracle.unicity(known, dict(enumerate(oracle.paths_of(released))), p)
    assert curve(Unicity(p).attack(Scene.of(people, shown)))[-1] == pytest.approx(float(wanted))


@given(oracle.some_paths())
def test_suppressed_points_lead_nowhere(paths):
    people = oracle.people_of(paths)
    kept = people.ticks % 2 == 0
    if not kept.any():
        return
    released = people.with_points(people.who[kept], people.ticks[kept], people.places[kept])
    who = np.arange(people.people) if released.origin is None else released.origin
    there = {int(i): path for i, path in zip(who, oracle.paths_of(released), strict=True)}
    wanted = oracle.unicity([sorted(path) for path in paths], there, 2)
    assert curve(Unicity(2).attack(Scene.of(people, released)))[-1] == pytest.approx(float(wanted))


def test_draws_come_near_all_sets(monkeypatch):
    """Shares of 300 draws of 40 people: the standard error of the mean is below 0.5/√12 000; five
    of them are allowed.
    """
    people = examples.mobility(40, days=2, points=3)
    scene = Scene.of(
        people, recoded(people, place_level=4, time_width="24h", cell=500), seed=Seed(3)
    )
    exact = curve(Unicity(4).attack(scene))
    monkeypatch.setattr(module, "EXACT", 0)
    finding = Unicity(4, draws=300).attack(scene)
    assert curve(finding) == pytest.approx(exact, abs=5 * 0.5 / np.sqrt(12000))
    assert curve(finding) == sorted(curve(finding))
    assert finding.interval[0] <= finding.value <= finding.interval[1]


def test_a_promise_about_points_leaves_nobody_alone():
    people = examples.mobility(60, days=3)
    promise = LkcPrivacy(3, l=2)
    released = people
    for step in (PathRecoding(cell=500, budget=0.2), PointSuppression()):
        released = step.apply(released, step.plan(released, Goal(models=(promise,))))
    before, after = (curve(Unicity(5).attack(Scene.of(people, one))) for one in (people, released))
    assert after[:2] == [0, 0]
    assert before[1] > 0.9


def fits(paths, known, most):
    """Who has known points under one shift of at most so much."""
    return [
        i
        for i, path in enumerate(paths)
        if any(all((t + shift, a) in path for t, a in known) for shift in range(-most, most + 1))
    ]


def test_shift_attack_of_the_worked_example():
    """0, 1/3, 11/16, 7/8 whatever the largest shift; 1 000 draws of 8 people: five standard errors
    are below 0.03.
    """
    people = examples.small_paths()
    for most in ("1h", "24h"):
        finding = TimeShiftAttack(4, most=most, draws=1000).attack(Scene.of(people, people))
        assert curve(finding) == pytest.approx([0, 1 / 3, 11 / 16, 7 / 8], abs=0.03)


@settings(max_examples=20)
@given(oracle.some_paths(5), st.integers(0, 99))
def test_shift_attack_with_all_points(paths, seed):
    people = oracle.people_of(paths)
    step = TimeShift("3h")
    moved = step.apply(people, step.plan(people, Goal(seed=Seed(seed))))
    finding = TimeShiftAttack(5, draws=1).attack(
        Scene.of(people, moved.shuffled(np.random.default_rng(seed)))
    )
    shown = oracle.paths_of(moved)
    alone = [fits(shown, sorted(path), 3) == [i] for i, path in enumerate(paths)]
    assert finding.value == pytest.approx(np.mean(alone))


def test_shift_attack_needs_a_shift():
    people = examples.small_paths()
    assert isinstance(TimeShiftAttack().applies(Scene.of(people, people)), NothingToAttack)
    assert TimeShiftAttack(most="1h").applies(Scene.of(people, people)) is None
