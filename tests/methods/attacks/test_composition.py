"""Composition: two releases that share people, each safe, together not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.attack import NothingToAttack, Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.methods.attacks.composition import Composition, common_people
from sfumato.release.intruders import intruder_from
from tests.methods.attacks.test_inference import scene_of


def john(age_practice, age_clinic):
    """John's two releases as one scene: one original row, found in a class of each."""
    practice, clinic = examples.john_releases()
    first = practice.column("age").to_list().index(age_practice)
    second = clinic.column("age").to_list().index(age_clinic)
    original = practice.take(np.array([first]))

    def pair(released, row):
        rows = np.full(len(released), 1, dtype=np.int64)
        rows[row] = 0
        two = Table(pl.concat([original.to_polars()] * 2), original.schema)
        return TablePair(two, released, rows)

    one, other = pair(practice, first), pair(clinic, second)
    return Scene(one, intruder_from(one, ("zip", "age"), sample=9, seed=Seed(0)), others=(other,))


@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        (("<30", "<40"), {"HIV": 1}),
        (("3*", "<40"), {"Lung oedema": 1}),
        ((">=40", ">=40"), {"HIV": Fraction(1, 3), "Common cold": Fraction(2, 3)}),
    ],
)
def test_john_saw_two_doctors(ages, expected):
    # Gerl, after Ganta et al. 2008 (G33)
    scene = john(*ages)
    rows, posteriors = Composition().posteriors(scene, "diagnosis")
    labels = scene.pair.reading("diagnosis").labels
    found = {
        label: p
        for label, p in zip(labels, posteriors[rows.tolist().index(0)], strict=True)
        if p > 0
    }
    assert found == pytest.approx({label: float(p) for label, p in expected.items()})


def test_composition_needs_another_release():
    assert "no other release" in Composition().applies(
        scene_of(examples.conditions(release="diverse"))
    )


def visits(people, column="diagnosis", **schema):
    """A table of people with an identifier, a quasi-identifier and a sensitive column."""
    frame = pl.DataFrame(people, schema=["person", "zip", "diagnosis"], orient="row")
    roles = {"drop": ["person"], "quasi": ["zip"], "sensitive": ["diagnosis"]}
    return Table(frame).with_roles(**{**roles, **schema})


def released_in_one_class(table):
    """A release in which everybody has the same quasi-identifier."""
    kept = table.to_polars().drop("person").with_columns(zip=pl.lit("*"))
    return TablePair(table, Table(kept, table.schema.without({"person"})), np.arange(len(table)))


def two_doctors(clinic_schema=None, **composition):
    practice = visits([("ann", "1", "flu"), ("bob", "2", "gout"), ("cem", "3", "angina")])
    clinic = visits(
        [("dan", "9", "gout"), ("bob", "2", "gout"), ("eve", "8", "cough")], **(clinic_schema or {})
    )
    one, other = released_in_one_class(practice), released_in_one_class(clinic)
    scene = Scene(one, intruder_from(one, ("zip",), sample=9, seed=Seed(0)), others=(other,))
    return Composition(**composition), scene


@pytest.mark.parametrize(
    ("people", "clinic_roles"),
    [((), {}), (("person",), {}), ((), {"drop": [], "keep": ["person"]}), (("zip",), {})],
    ids=["identifiers", "named column", "quasi-identifiers", "named attribute"],
)
def test_a_patient_of_two_doctors_is_recognised_in_tables_of_different_people(people, clinic_roles):
    # gout is the only value that both classes have: bob, who is in both tables, has it for certain
    attack, scene = two_doctors(clinic_roles, people=people)
    assert attack.applies(scene) is None
    found = attack.attack(scene)
    assert found.value == 1.0 and found.victims.tolist() == [1]


def test_tables_without_a_common_name_for_people_leave_the_attack_unknown():
    roles = {"drop": [], "quasi": [], "keep": ["person", "zip"]}
    attack, scene = two_doctors(roles)
    reason = attack.applies(scene)
    assert "people: [patient_id]" in reason and not isinstance(reason, NothingToAttack)


@given(st.integers(0, 10_000))
def test_common_people_are_those_a_naive_search_finds(seed):
    draw = np.random.default_rng(seed)
    tables = [
        visits(
            [
                (f"p{n}", str(n % 3), "flu")
                for n in draw.integers(0, 9, int(draw.integers(1, 9))).tolist()
            ]
        )
        for _ in range(2)
    ]
    one, two = (released_in_one_class(table) for table in tables)
    found = common_people(one, two, ("person",))
    names = [table.column("person").to_list() for table in tables]
    expected = [
        (i, names[1].index(name))
        for i, name in enumerate(names[0])
        if names[0].count(name) == 1 and names[1].count(name) == 1
    ]
    assert list(zip(found.own_rows.tolist(), found.other_rows.tolist(), strict=True)) == expected
    in_both = [name for name in names[0] if name in names[1]]
    assert found.ambiguous == len(in_both) - len(expected)
