"""Singling out, linkability, inference and membership: worked rates, and the identity release
scores worst.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import examples
from sfumato.core.attack import Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.methods.attacks.gdpr import Inference, Linkability, Membership, SinglingOut
from sfumato.methods.attacks.rates import ExcessRisk, Rate, area, true_positives
from sfumato.release.intruders import intruder_from

ATTACKS = (SinglingOut(), Linkability(), Inference(), Membership())


def test_worked_rates():
    # ALGORITHMS 10.6 (G35): 30 of 100 against 10 of 100, 95 %
    attack, control = Rate.of(30, 100), Rate.of(10, 100)
    assert (attack.centre, attack.error) == pytest.approx((0.307399, 0.088450), abs=1e-6)
    assert (control.centre, control.error) == pytest.approx((0.114797, 0.059568), abs=1e-6)
    risk = ExcessRisk.of(attack, control)
    assert (risk.value, risk.error) == pytest.approx((0.217579, 0.112944), abs=1e-6)


@given(st.integers(1, 200), st.data())
def test_risks_are_within_their_intervals(trials, data):
    hits, chance = (data.draw(st.integers(0, trials)) for _ in range(2))
    risk = ExcessRisk.of(Rate.of(hits, trials), Rate.of(chance, trials))
    low, high = risk.interval
    assert 0 <= low <= risk.clipped <= high <= 1


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


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.floats(0.001, 0.9),
)
def test_curves_against_counting(members, others, share):
    near, far = np.array(members, dtype=float), np.array(others, dtype=float)
    options = [
        (sum(m <= cut for m in members) / len(members), sum(o <= cut for o in others) / len(others))
        for cut in sorted({*members, *others})
    ]
    allowed = [(hit, alarm) for hit, alarm in options if alarm <= share]
    assert true_positives(near, far, share) == pytest.approx(max(allowed, default=(0.0, 0.0)))
    pairs = [(m < o) + (m == o) / 2 for m in members for o in others]
    assert area(near, far) == pytest.approx(sum(pairs) / len(pairs))


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
