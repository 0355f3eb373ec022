"""Attacks on tables that join, on the worked example and on the clinic."""

from __future__ import annotations

import json

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
from sfumato.data.relational.linkage import JoinLinkage
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
