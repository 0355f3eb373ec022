"""Attacks are tried on as many people as some work is enough for; the clock stops them, and then
they are unknown. No real clock is used.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import attack as core_attack
from sfumato.core import registry
from sfumato.core.attack import AT_LEAST, NothingToAttack, Scene
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.reading import Reading
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies import Tree
from sfumato.release import attack_run
from sfumato.release.intruders import intruder_from
from tests.methods.attacks import drawn_rows

COLUMNS = tuple("abcdef")
STOPPED = "time budget ran out before the attack finished"


class Clock:
    """A clock that stands still until it was looked at so many times, and then runs out."""

    def __init__(self, looks: float = math.inf) -> None:
        self.looks, self.seen = looks, 0

    def __call__(self) -> float:
        self.seen += 1
        return 0.0 if self.seen <= self.looks else 1e12


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.process_time", made)
    return made


def people(rows=120):
    draw = np.random.default_rng(0)
    frame = pl.DataFrame(
        {c: draw.integers(0, 6, rows) for c in COLUMNS}
        | {"ill": draw.integers(0, 3, rows).astype(str)}
    )
    return sf.read(frame).with_roles(quasi=COLUMNS, sensitive="ill")


def scene(seconds=100.0, rows=120, **more):
    pair = TablePair.of(people(rows), people(rows))
    return Scene(
        pair,
        intruder_from(pair, COLUMNS, sample=10**6, seed=Seed(0)),
        seed=Seed(3),
        seconds=seconds,
        **more,
    )


def noisy_scene(**more):
    """Numbers with noise, and the step that added it: an intruder may know the method."""
    draw = np.random.default_rng(1)
    table = sf.read(pl.DataFrame({c: draw.normal(0, 1, 60).round(3) for c in "abc"})).with_roles(
        quasi=["a", "b", "c"]
    )
    release = sf.anonymize(
        table, meet=sf.KAnonymity(1), steps=sf.AddNoise(["a", "b", "c"], alpha=0.2), seed=1
    )
    who = intruder_from(release.pair, ("a", "b", "c"), sample=10**6, seed=Seed(0))
    made = Scene(
        release.pair, who, release.recipe.steps, release.recipe.meet, seed=Seed(3), seconds=100.0
    )
    return dataclasses.replace(made, **more)


def recoded_scene(**more):
    table = sf.read(
        pl.DataFrame({"town": ["Ulm", "Passau", "Kiel", "Bonn"] * 10, "sex": ["f", "m"] * 20})
    )
    towns = Tree({"*": {"south": ["Ulm", "Passau"], "north": ["Kiel", "Bonn"]}})
    table = table.with_roles(quasi=["town", "sex"]).with_hierarchies(town=towns)
    release = sf.anonymize(table, meet=sf.KAnonymity(12), steps=sf.LocalRecoding(), seed=1)
    who = intruder_from(release.pair, ("town", "sex"), sample=10**6, seed=Seed(0))
    made = Scene(
        release.pair, who, release.recipe.steps, release.recipe.meet, seed=Seed(3), seconds=100.0
    )
    return dataclasses.replace(made, **more)


def drawn_scene(**more):
    """Rows drawn column by column, and people set aside."""
    table = drawn_rows.people(300).to_polars()
    draw = np.random.default_rng(2)
    drawn = pl.DataFrame(
        {name: table[name].gather(draw.integers(0, 150, 150)) for name in table.columns}
    )
    pair = drawn_rows.pair_of(
        table,
        drawn,
        range(150, 300),
        quasi=["age", "sex", "zip"],
        keep=["income"],
        sensitive=["illness"],
    )
    return dataclasses.replace(drawn_rows.scene_of(pair), **more)


SCENES = {
    **dict.fromkeys(
        (
            "linkage",
            "probabilistic_linkage",
            "worst_case_linkage",
            "attack_cost",
            "membership",
            "linkability",
            "inference",
            "singling_out",
        ),
        scene,
    ),
    "transparency": noisy_scene,
    "downcoding": recoded_scene,
    **dict.fromkeys(("near_copies", "recognised_members", "closest_record"), drawn_scene),
}


def attack_of(name):
    small = {"restarts": 1, "steps": 30} if name == "worst_case_linkage" else {}
    return registry.attacks()[name](**small)


def told(finding):
    return {
        **finding.to_dict(),
        "victims": None if finding.victims is None else finding.victims.tolist(),
    }


@pytest.mark.parametrize("name", SCENES)
def test_a_clock_that_runs_out_leaves_an_attack_unknown_and_never_a_pass(monkeypatch, name):
    attack, clock = attack_of(name), Clock()
    attack.attack(SCENES[name]())  # what is loaded at the first use looks at the clock too
    place = SCENES[name](started=0.0)
    monkeypatch.setattr("time.process_time", clock)
    whole = told(attack.attack(place))
    looks = clock.seen
    assert looks, "it never looks at the clock"
    for most in sorted({0, min(1, looks - 1), looks // 3, looks // 2, looks - 1}):
        monkeypatch.setattr("time.process_time", lambda: 0.0)
        place = SCENES[name](started=0.0)
        monkeypatch.setattr("time.process_time", Clock(most))
        with pytest.raises(ParameterError, match=STOPPED):
            attack.attack(place)
    place = SCENES[name](started=0.0)
    monkeypatch.setattr("time.process_time", Clock(looks))
    assert told(attack.attack(place)) == whole


def scene_with_numbers(secrets, work):
    """People of whom some numbers are secret, nearly every one of them another."""
    draw = np.random.default_rng(4)
    columns = {c: draw.integers(0, 6, 300) for c in COLUMNS}
    amounts = {f"amount {i}": draw.normal(0, 1, 300) for i in range(secrets)}
    table = sf.read(pl.DataFrame(columns | amounts)).with_roles(
        quasi=COLUMNS, sensitive=list(amounts)
    )
    pair = TablePair.of(table, table)
    who = intruder_from(pair, COLUMNS, sample=10**6, seed=Seed(0))
    return Scene(pair, who, seed=Seed(3), seconds=100.0, work=work)


def test_guesses_of_every_secret_are_counted_as_work():
    attack, work = attack_of("inference"), 2_000_000
    one, eight = (attack.attack(scene_with_numbers(secrets, work)).trials for secrets in (1, 8))
    assert AT_LEAST <= eight < one <= 300
    assert one == pytest.approx(8 * eight, rel=0.5)


def test_the_middles_of_all_labels_are_worked_out_once_for_a_secret(monkeypatch):
    asked = []
    middle = Reading.middle.fget
    monkeypatch.setattr(
        Reading, "middle", property(lambda self: asked.append(self.name) or middle(self))
    )
    attack_of("inference").attack(scene_with_numbers(secrets=2, work=10**9))
    assert sorted(asked) == ["amount 0", "amount 1"]


def test_special_uniques_are_unknown_before_the_search_is_through(monkeypatch):
    monkeypatch.setattr("sfumato.methods.attacks.suda.AT_ONCE", 0)
    monkeypatch.setattr("time.process_time", Clock(5))
    with pytest.raises(ParameterError, match=STOPPED):
        attack_of("suda").attack(scene(started=0.0))


@pytest.mark.parametrize("looks", [1, 2, 7, 40, 300])
def test_a_report_without_time_has_unknown_attacks_and_keeps_no_limit_on_them(monkeypatch, looks):
    table = people(60)
    monkeypatch.setattr("time.process_time", Clock())
    whole = sf.attack(table, table, seconds=60, sample=30)
    monkeypatch.setattr("time.process_time", Clock(looks))
    report = sf.attack(
        table,
        table,
        seconds=60,
        sample=30,
        context=sf.AttackContext(limits={"worst_case_linkage": 1.0, "inference": 1.0}),
    )
    assert report.unknown and len(report.tried) < len(whole.tried)
    rest = {(t.intruder, t.finding.attack): told(t.finding) for t in whole.tried}
    for one in report.tried:  # what was through before the clock ran out is what it would have been
        assert told(one.finding) == rest[one.intruder, one.finding.attack]
    assert not any(isinstance(each.reason, NothingToAttack) for each in report.unknown)
    missed = {each.attack for each in report.unknown} & {"worst_case_linkage", "inference"}
    assert missed and all(
        any(name.split("_")[0] in line and "unknown" in line for line in report.refused)
        for name in missed
    )


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SCENES
        if name not in ("downcoding", "worst_case_linkage", "recognised_members")
    ],
)
def test_work_decides_whom_an_attack_is_tried_on_whatever_the_clock_says(monkeypatch, name):
    everybody = attack_of(name).attack(SCENES[name]()).trials
    found = []
    for clock in (Clock(), lambda: 99.0):
        monkeypatch.setattr("time.process_time", clock)
        scenes = [SCENES[name](work=1, started=0.0, seconds=seconds) for seconds in (100.0, 1e9)]
        found += [told(attack_of(name).attack(place)) for place in scenes]
    assert all(one == found[0] for one in found)
    assert 0 < found[0]["trials"] < everybody
    assert found[0]["trials"] <= 2 * AT_LEAST
    if name != "near_copies":
        assert "to limit the work" in found[0]["sentence"]


def test_worst_case_linkage_draws_fewer_people_by_work():
    attack = registry.attacks()["worst_case_linkage"](restarts=1, steps=5, solver="none")
    found = attack.attack(scene(work=1))
    assert found.details["sampled"] and found.details["distinct_people"] == AT_LEAST
    assert found.interval[0] < found.value <= found.interval[1]
    assert told(found) == told(attack.attack(scene(work=1, seconds=1e9)))


def test_more_work_means_more_people(monkeypatch):
    monkeypatch.setattr("time.process_time", lambda: 0.0)
    trials = [
        attack_of("membership").attack(scene(work=work)).trials for work in (1, 60_000, 10**9)
    ]
    assert (
        trials == sorted(trials)
        and trials[0] == AT_LEAST
        and AT_LEAST < trials[1] < trials[2] == 120
    )


@pytest.mark.parametrize("name", SCENES)
def test_the_size_of_blocks_changes_nothing(monkeypatch, name):
    whole = told(attack_of(name).attack(SCENES[name]()))
    for module in ("sfumato.core.attack", "sfumato.methods.attacks.transparency"):
        monkeypatch.setattr(f"{module}.AT_ONCE", 1)
    monkeypatch.setattr("sfumato.methods.attacks.transparency.BLOCK_BYTES", 1)
    monkeypatch.setattr(core_attack, "MOST_AT_ONCE", 3)
    from sfumato.methods.attacks.linkage import files, probabilistic_linkage

    monkeypatch.setattr(files, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(
        probabilistic_linkage,
        "count_patterns",
        lambda *given, _count=probabilistic_linkage.count_patterns, **more: _count(
            *given, **{**more, "at_once": 1}
        ),
    )
    blocked = told(attack_of(name).attack(SCENES[name]()))
    assert blocked.keys() == whole.keys()
    for key, value in whole.items():
        assert blocked[key] == (
            pytest.approx(value, abs=1e-9) if isinstance(value, float) else value
        ), key


def test_portions_are_decided_by_the_work_of_the_first_few(clock):
    place = scene(work=1000, started=0.0)
    assert list(place.portions(10**6, cost=100)) == [(0, AT_LEAST)]
    assert list(place.portions(5, cost=10**12)) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    spent = [0]
    ends = []
    for start, end in place.portions(10**6, cost=10**12, spent=lambda: spent[0]):
        spent[0] += 10 * (end - start)  # it turns out to be little
        ends.append(end)
    assert ends[0] == 1 and ends[-1] == 100 and spent[0] == 1000


def test_no_attack_takes_more_than_half_of_what_is_left(clock, monkeypatch):
    given = []
    monkeypatch.setattr(
        attack_run, "_try", lambda attack, place: given.append(place.seconds) or "not now"
    )
    sf.attack(people(30), people(30), seconds=60)
    assert given[-1] == 60.0 and set(given[:-1]) == {30.0}


def test_outcomes_are_told_as_they_come(clock):
    outcomes = []
    report = sf.attack(
        people(30),
        people(30),
        only=["linkage", "composition"],
        options=sf.AttackOptions(on_outcome=outcomes.append),
    )
    assert [type(one).__name__ for one in outcomes] == ["Tried", "Tried", "Tried", "Skipped"]
    assert tuple(outcomes[:3]) == report.tried and tuple(outcomes[3:]) == report.skipped


def test_a_slow_clock_changes_nothing(monkeypatch):
    """Budgets count what is computed: on a machine that is busy with others, hours pass between two
    looks at the clock.
    """

    def found():
        monkeypatch.setattr(
            "time.process_time", lambda: 100.0
        )  # no time is computed, however long it takes
        report = sf.attack(people(60), people(60), seconds=1, sample=20).to_dict()
        return {**report, "seconds": None}

    quiet = found()
    passed = [0.0]

    def hours() -> float:
        passed[0] += 3600.0
        return passed[0]

    for clock in ("time.monotonic", "time.perf_counter", "time.time"):
        monkeypatch.setattr(clock, hours)
    assert found() == quiet
    assert quiet["tried"] and not [s for s in quiet["skipped"] if "time budget" in s["reason"]]
