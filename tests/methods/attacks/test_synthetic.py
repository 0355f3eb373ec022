"""Drawn rows that give people away are refused, surely more than chance would; where too few were
set aside it is unknown.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ReleaseRefused
from sfumato.methods.attacks.synthetic import FEW_ALARMS, TELLING, DrawnEvidence, chance_of


def continuous(rows=1500, seed=0):
    """Five numbers that hang together; no two people are alike in any of them."""
    draws = np.random.default_rng(seed)
    numbers = draws.normal(size=(rows, 2)) @ draws.normal(size=(2, 5)) + 0.3 * draws.normal(
        size=(rows, 5)
    )
    frame = pl.DataFrame({f"x{i}": numbers[:, i] for i in range(5)})
    return sf.read(frame).with_roles(quasi=frame.columns)


def judged(people, step, **limits):
    return {
        kept.name: kept
        for kept in sf.anonymize(people, meet=[], steps=[step], seed=1, **limits).limits
    }


# -------------------------------------------------------------------------------- what was released


def test_leaves_of_one_record_are_refused_although_no_cell_is_copied():
    with pytest.raises(ReleaseRefused) as refused:
        sf.anonymize(continuous(), meet=[], steps=[sf.Synthesize(min_leaf=1)], seed=1)
    assert "recognised members is" in str(refused.value)
    assert "copied records" not in str(refused.value)  # smoothed numbers are nobody's, cell by cell


def test_the_default_is_judged_and_released():
    kept = judged(continuous(), sf.Synthesize())
    assert set(kept) == {"copied_records", "recognised_members"}
    assert all(kept.values())
    assert kept["recognised_members"].value < 0.05


def test_with_few_people_set_aside_it_is_unknown_and_not_a_pass():
    with pytest.raises(
        ReleaseRefused,
        match=r"recognised members is unknown: with \d+ people set aside, chance alone",
    ):
        sf.anonymize(continuous(60), meet=[], steps=[sf.Synthesize()], seed=1)


def test_a_recipe_may_set_another_limit():
    kept = judged(continuous(), sf.Synthesize(min_leaf=1), limits={"recognised_members": 0.99})
    assert {name: one.limit for name, one in kept.items()} == {
        "recognised_members": 0.99,
        "copied_records": 0.1,
    }
    assert kept["recognised_members"].value > 0.2


def test_a_recipe_may_accept_what_nobody_can_tell():
    # it counts as the worst there is
    kept = judged(continuous(60), sf.Synthesize(), limits={"recognised_members": 1})
    assert kept["recognised_members"].holds and kept["recognised_members"].value == 1


# ------------------------------------------------------------------------------------------- oracle


def naive(people, member):
    """The three excesses from their definitions, person by person."""

    def excess(hit, of):
        shares = [[bool(hit[i]) for i in of if member[i] == side] for side in (True, False)]
        a, h = (sum(side) / len(side) for side in shares)
        return (a - h) / (1 - h) if h < 1 else 0.0

    everyone = range(len(member))
    found = {"near_copies": excess(people.far <= people.radius, everyone)}
    unique = [i for i in everyone if people.unique[i]]
    if len({bool(member[i]) for i in unique}) == 2:
        found["copied_records"] = excess(people.there, unique)
    best = 0.0
    for cut in sorted(set(people.far.tolist())):
        near = [i for i in everyone if people.far[i] <= cut]
        alarms = sum(not member[i] for i in near) / sum(not one for one in member)
        if alarms > FEW_ALARMS:
            break
        best = sum(bool(member[i]) for i in near) / sum(map(bool, member)) - alarms
    return {**found, "membership": best}


def random_people(draws, *, leak=0.0):
    members, others = (int(n) for n in draws.integers(40, 160, 2))
    member = np.arange(members + others) < members
    far = draws.integers(1, draws.choice([5, 400]), members + others).astype(float)
    far[member & (draws.random(len(member)) < leak)] = 0.0
    unique = draws.random(len(member)) < draws.choice([0.0, 0.5, 1.0])
    return DrawnEvidence(
        member, unique, draws.random(len(member)) < 0.1, far, float(draws.choice([0.0, 2.0, 50.0]))
    )


@pytest.mark.parametrize("seed", range(40))
def test_excesses_are_those_of_the_definitions(seed):
    draws = np.random.default_rng(seed)
    people = random_people(draws, leak=float(draws.choice([0.0, 0.3])))
    for member in (people.member, draws.permutation(people.member)):
        assert people.excesses(member) == pytest.approx(naive(people, member))


def test_where_rows_tell_nothing_chance_is_rarely_exceeded():
    # 300 tables without a leak: each of the three is above its chance in about 5 % of them
    # together; more than 28 would happen with probability below 0.1 % at 5 %
    above = 0
    for seed in range(300):
        draws = np.random.default_rng(seed)
        people = random_people(draws)
        chance = chance_of(people, draws)
        excesses = people.excesses(people.member)
        above += any(excesses[name] > chance[name] + 1e-12 for name in chance)
    assert above <= 28


def test_a_leak_of_a_third_is_seen():
    draws = np.random.default_rng(5)
    people = random_people(draws, leak=0.35)
    chance = chance_of(people, draws)
    assert people.excesses(people.member)["membership"] - chance["membership"] > TELLING


def test_nobody_unique_leaves_two_excesses():
    member = np.arange(100) < 50
    people = DrawnEvidence(member, np.zeros(100, bool), np.zeros(100, bool), np.arange(100.0), 3.0)
    assert set(people.excesses(member)) == {"near_copies", "membership"}
    assert all(
        math.isfinite(value) for value in chance_of(people, np.random.default_rng(1)).values()
    )
