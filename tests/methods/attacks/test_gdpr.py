"""Singling out, linkability, inference and membership: worked rates, and the identity release
scores worst.
"""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.methods.attacks.gdpr import Inference, Linkability, Membership, SinglingOut
from sfumato.release.intruders import intruder_from

ATTACKS = (SinglingOut(), Linkability(), Inference(), Membership())


@pytest.fixture(scope="module")
def people():
    return examples.hospital(rows=600)


def scene_of(people, released):
    pair = TablePair.of(people, released)
    return Scene(pair, intruder_from(pair, pair.quasi, sample=10**6, seed=Seed(0)))


@pytest.fixture(scope="module")
def scenes(people):
    table = people.drop(people.schema.dropped_columns)
    mild = sf.anonymize(people, [sf.KAnonymity(3)], [sf.Mondrian()], seed=1).released
    strong = sf.anonymize(people, [sf.KAnonymity(60)], [sf.Mondrian()], seed=1).released
    gone = table.with_columns({c: pl.Series(["*"] * len(table)) for c in table.schema.quasi})
    return {
        name: scene_of(people, r)
        for name, r in (("identity", table), ("mild", mild), ("strong", strong), ("gone", gone))
    }


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_the_identity_release_scores_worst(scenes, attack):
    found = {
        name: attack.attack(scene).value
        for name, scene in scenes.items()
        if attack.applies(scene) is None
    }
    assert found["identity"] == max(found.values()) and found["identity"] > 0.5
    assert found["strong"] < 0.35
    assert found.get("gone", 0.0) < 0.1


def test_singling_out_names_its_victims(scenes):
    found = SinglingOut().attack(scenes["identity"])
    assert len(found.victims) > 0 and found.details["better_than_guessing"]
    assert SinglingOut().attack(scenes["gone"]).victims.tolist() == []


def test_one_record_has_no_control():
    table = Table(pl.DataFrame({"a": [1], "s": ["x"]})).with_roles(quasi="a", sensitive="s")
    for attack in (Linkability(), Inference(), Membership()):
        assert attack.applies(scene_of(table, table)) is not None


def test_linkability_needs_two_columns():
    table = Table(pl.DataFrame({"a": [1, 2, 3]})).with_roles(quasi="a")
    assert "two known columns" in Linkability().applies(scene_of(table, table))


def test_a_secret_that_everyone_has_is_no_breach():
    frame = pl.DataFrame({"a": list(range(40)), "s": ["same"] * 40})
    table = Table(frame).with_roles(quasi="a", sensitive="s")
    found = Inference().attack(scene_of(table, table))
    assert found.value == pytest.approx(0, abs=1e-9) and found.details["naive_rate"] == 1.0
