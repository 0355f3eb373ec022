"""Linking people of a release to those of a file: whoever has the original rows of some tables
looks for who fits them."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from sfumato import examples
from sfumato.core import registry
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import Goal
from sfumato.data.relational.linkage import JoinLinkage, looked_like, wilson
from tests.data.relational.test_attacks import CLINIC, scene_of


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
