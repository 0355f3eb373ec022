"""Attacks on tables that join, on the worked example and on the clinic."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

from sfumato import examples
from sfumato.core import registry
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import Goal
from sfumato.data.relational import FAMILIES
from sfumato.data.relational.attacks import (
    HomogeneityOfJoin,
    JoinInflation,
    JoinUniqueness,
    RowCounts,
)
from sfumato.data.relational.linkage import JoinLinkage, looked_like, wilson
from sfumato.data.relational.models import PersonsKAnonymity
from tests.data.relational.persons import few, six

CLINIC = examples.clinic(80)


def scene_of(released, original=None, **more) -> Scene:
    return Scene.of(released if original is None else original, released, seed=Seed(1), **more)


def test_curve_of_the_worked_example():
    # alone with no, one, two and three rows: nobody; p3 (onco, derm); p3 and p6 (derm twice); the
    # same
    finding = JoinUniqueness(3).attack(scene_of(six()))
    assert finding.details["curve"]["points"] == [
        [0, 0.0],
        [1, pytest.approx(1 / 6)],
        [2, pytest.approx(1 / 3)],
        [3, pytest.approx(1 / 3)],
    ]
    assert finding.victims.tolist() == [2, 5]
    assert finding.interval is None


def test_beyond_the_effort_the_share_has_an_interval():
    finding = JoinUniqueness(2, effort=10).attack(scene_of(six()))
    assert finding.value == pytest.approx(1 / 6)  # p3, by one row
    assert finding.interval == (pytest.approx(1 / 6), pytest.approx(1 / 3))  # and at most p6 too
    assert "at least, and 2 at most" in finding.sentence


def test_numbers_of_rows():
    finding = RowCounts().attack(scene_of(six()))
    assert finding.value == pytest.approx(
        1 / 6
    )  # p3 alone has four visits in class A; all of class B have two
    assert finding.victims.tolist() == [2]
    assert finding.details["tables"] == {"orders": 0, "visits": 1, "wards": 0}
    assert finding.baseline == 0


def test_a_join_seems_to_hide():
    # class A and cardiology, class B and dermatology: four joined rows, three persons each; p1, p2
    # and p6 have no other row
    finding = JoinInflation(4).attack(scene_of(six()))
    assert finding.victims.tolist() == [0, 1, 5]
    assert finding.details["tables"]["visits"]["k_of_rows"] == 1
    assert JoinInflation(3).attack(scene_of(six())).value == 0.0
    assert finding.details["tables"]["visits"]["most_rows_for_a_person"] == pytest.approx(4 / 3)
    promised = scene_of(six(), models=(PersonsKAnonymity(4, "own"),))
    assert JoinInflation().attack(promised).details["k"] == 4


def test_secrets_that_all_share():
    # own columns: all of class A were in cardiology, all of class B in dermatology
    assert HomogeneityOfJoin("own").attack(scene_of(six())).value == 1.0
    people = [(0, {})] * 3 + [(1, {})] * 2
    finding = HomogeneityOfJoin("own").attack(scene_of(few(people, [{0}, {0}, {0}, {1}, {2}])))
    assert finding.value == pytest.approx(3 / 5)
    assert finding.victims.tolist() == [0, 1, 2]
    assert finding.baseline == 0.0
    everybody = HomogeneityOfJoin("own").attack(scene_of(few(people, [{0}] * 5)))
    assert everybody.baseline == 1.0
    assert everybody.beyond_guessing == 0.0


def test_what_there_is_not():
    without = scene_of(few([(0, {})] * 2))
    for attack in (JoinUniqueness(), RowCounts(), JoinInflation(), HomogeneityOfJoin()):
        assert isinstance(attack.applies(without), NothingToAttack)
    split = registry.build("steps", {"key_pseudonyms": {"split": True}}, shape=Shape.TABLES)
    apart = split.apply(CLINIC, split.plan(CLINIC, Goal(seed=Seed(1))))
    reason = JoinLinkage().applies(scene_of(apart, CLINIC))
    assert reason is not None
    assert not isinstance(reason, NothingToAttack)  # unknown, which is no pass
    assert JoinUniqueness().attack(scene_of(apart, CLINIC)).victims is None
    assert "orders" in JoinLinkage(("orders",)).applies(scene_of(CLINIC))


def _naive_chances(released, original, where) -> list[float]:
    """Of those with the same own columns and no row that the person has not, those with the most
    rows; one of them is named.
    """

    def described(tables, person):
        rows = (
            tables["visits"]
            .frame.select("ward", "month")
            .filter(tables["visits"].owner == person)
            .rows()
        )
        wards = tables["visits"].frame.select("ward", "month")[tables["prescriptions"].above].rows()
        drugs = [
            ("drug", *wards[at]) for at in np.flatnonzero(tables["prescriptions"].owner == person)
        ]
        return tables["people"].frame.select("age", "sex", "region").row(person), Counter(
            [*rows, *drugs]
        )

    theirs = [described(released, person) for person in range(released.people)]
    chances = []
    for person in range(original.people):
        own, rows = described(original, person)
        fit = [
            q
            for q, (their_own, their_rows) in enumerate(theirs)
            if their_own == own and not their_rows - rows
        ]
        most = max((theirs[q][1].total() for q in fit), default=0)
        best = [q for q in fit if theirs[q][1].total() == most]
        chances.append((where[person] in best) / len(best) if best else 0.0)
    return chances


@pytest.mark.parametrize("at_most", [1, 2, 100])
def test_linking_by_the_definition(at_most):
    people = examples.clinic(60, seed=9)
    step = registry.build(
        "steps", {"cap_rows": {"table": "visits", "at_most": at_most}}, shape=Shape.TABLES
    )
    capped = step.apply(people, step.plan(people, Goal(seed=Seed(1)))).shuffled(
        np.random.default_rng(5)
    )
    where = {int(original): place for place, original in enumerate(capped.origin)}
    finding = JoinLinkage().attack(scene_of(capped, people))
    chances = _naive_chances(capped, people, where)
    assert finding.value == pytest.approx(np.mean(chances))
    assert finding.victims.tolist() == [
        person for person, chance in enumerate(chances) if chance == 1
    ]
    assert finding.details["same_key"] == 0


def test_linking_after_rows_were_left_out():
    step = registry.build(
        "steps", {"cap_rows": {"table": "visits", "at_most": 1}}, shape=Shape.TABLES
    )
    capped = step.apply(CLINIC, step.plan(CLINIC, Goal(seed=Seed(1)))).shuffled(
        np.random.default_rng(5)
    )
    finding = JoinLinkage().attack(scene_of(capped, CLINIC))
    assert 0 < finding.value < JoinLinkage().attack(scene_of(CLINIC)).value + 1e-9
    assert finding.details["named_with_certainty"] >= finding.details["rightly"]
    only = JoinLinkage(("visits",)).attack(scene_of(capped, CLINIC))
    assert only.value < finding.value


def test_people_who_are_not_released_are_not_found():
    half = np.arange(CLINIC.people) % 2 == 0
    finding = JoinLinkage().attack(scene_of(CLINIC.keep_people(half), CLINIC))
    assert (finding.victims % 2 == 0).all()
    assert finding.value <= 0.5


def test_a_key_that_was_kept_tells_everything():
    people = CLINIC["people"]
    kept = CLINIC.with_rows(dataclasses.replace(people, labels=people.names))
    finding = JoinLinkage().attack(scene_of(kept, CLINIC))
    assert finding.value == 1.0
    assert finding.details["same_key"] == CLINIC.people


def test_a_sample_has_an_interval():
    many = examples.clinic(150)
    finding = JoinLinkage(people=40).attack(scene_of(many))
    assert finding.trials == 40
    assert finding.interval == wilson(finding.value, 40)


def test_values_that_are_gone_look_like_nothing():
    assert looked_like(np.array([3, 4]), np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == [
        -1,
        -1,
    ]
    assert looked_like(np.array([3, 3, 3]), np.array([1, 1, 2]), np.array([0, 1, 2])).tolist() == [
        1,
        1,
        2,
    ]


@pytest.mark.parametrize("name", list(FAMILIES["risk"]))
def test_all_attacks_on_the_clinic(name):
    attack = FAMILIES["risk"][name]()
    assert attack.applies(scene_of(CLINIC)) is None
    finding = attack.attack(scene_of(CLINIC))
    assert 0 <= finding.value <= 1
    assert json.dumps(finding.to_dict())
    values = {
        str(v)
        for rows in CLINIC.parts
        for column in rows.frame
        for v in column
        if isinstance(v, str)
    }
    assert not values & set(
        json.dumps(finding.to_dict()).replace('"', " ").replace(",", " ").split()
    )
    told = registry.describe(type(attack))
    assert told["name"] == name
    assert all(field["meaning"] for field in told["fields"])
