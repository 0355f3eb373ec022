"""Attacks keep to their budget of computing: by a clock that ticks whenever someone looks at it, never by a real one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import registry
from sfumato.attacks.suda import Suda
from sfumato.core.attack import AT_LEAST, NothingToAttack, Scene
from sfumato.core.pair import Pair
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError
from sfumato.intruders import intruder_from

COLUMNS = tuple("abcdef")


class Clock:
    """A clock that moves by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return float(self.looks)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.process_time", made)
    return made


def people(rows=300):
    draw = np.random.default_rng(0)
    frame = pl.DataFrame(
        {c: draw.integers(0, 6, rows) for c in COLUMNS} | {"ill": draw.integers(0, 3, rows).astype(str)}
    )
    return sf.read(frame).with_roles(quasi=COLUMNS, sensitive="ill")


def scene(seconds):
    pair = Pair.of(people(), people())
    return Scene(pair, intruder_from(pair, COLUMNS, sample=10**6, seed=Seed(0)), seed=Seed(3), seconds=seconds)


SAMPLING = ("membership", "linkability", "inference", "singling_out")


@pytest.mark.parametrize("name", SAMPLING)
def test_a_loop_over_people_ends_with_the_budget_and_says_so(clock, name):
    attack = registry.attacks()[name]()
    place = scene(seconds=30)
    found = attack.attack(place)
    assert clock.looks <= 30 + 3  # it stops at the first look after the budget
    assert found.details["stopped_by_time"] and "for want of time" in found.sentence
    assert found.interval[0] <= found.value <= found.interval[1]
    assert found.interval[1] - found.interval[0] > 0


@pytest.mark.parametrize("name", SAMPLING)
def test_with_time_enough_nothing_is_cut(name):
    attack = registry.attacks()[name]()
    found = attack.attack(scene(seconds=10**9))
    assert not found.details["stopped_by_time"] and "want of time" not in found.sentence


@pytest.mark.parametrize("name", SAMPLING)
def test_however_little_time_there_is_some_are_tried(clock, name):
    found = registry.attacks()[name]().attack(scene(seconds=1))
    assert found.details["stopped_by_time"] and f" {AT_LEAST} " in found.sentence.replace(",", "")


def test_a_search_that_knows_nothing_before_its_end_is_unknown(clock, monkeypatch):
    assert Suda().attack(scene(seconds=0)).value >= 0  # a small table takes no time
    monkeypatch.setattr("sfumato.attacks.suda.AT_ONCE", 0)
    clock.looks = 0
    with pytest.raises(ParameterError, match="time budget was spent before it was through"):
        Suda().attack(scene(seconds=5))
    assert clock.looks <= 5 + 3


def test_worst_case_linkage_stops_looking(clock, monkeypatch):
    from sfumato.attacks.linkage import files as units

    looks = []
    monkeypatch.setattr(
        units, "look", lambda *given, _look=units.look, **more: looks.append(1) or _look(*given, **more)
    )
    found = registry.attacks()["worst_case_linkage"]().attack(scene(seconds=1))
    assert len(looks) <= 3 and found.details["stopped_by_time"]
    assert found.interval[0] <= found.value <= found.interval[1]


def test_large_releases_are_compared_with_fewer_people(monkeypatch):
    from sfumato.attacks.linkage import learned_linkage

    monkeypatch.setattr(learned_linkage, "PAIRS", 20_000)
    monkeypatch.setattr(learned_linkage, "LEAST", 10)
    found = registry.attacks()["worst_case_linkage"](restarts=1, steps=5, solver="none").attack(scene(seconds=10**9))
    distinct = people().to_polars().select(COLUMNS).n_unique()
    assert found.details["sampled"] and found.details["distinct_people"] == 20_000 // distinct
    assert found.interval[0] < found.value < found.interval[1]


def test_all_attacks_together_end_near_the_budget(clock):
    report = sf.attack(people(), people(), seconds=60)
    assert not [s for s in report.skipped if s.attack == "linkage" and s.intruder == "prosecutor"]
    # every attack may look a few times more after its share is spent, and its least number of trials is made in any case
    assert clock.looks < 60 + 10 * len(report.tried) + 3 * len(report.skipped)
    late = [s for s in report.skipped if "before it was its turn" in s.reason]
    assert late and all(s.attack in registry.attacks() for s in late)


def test_an_attack_whose_turn_never_came_is_unknown(clock):
    report = sf.attack(people(), people(), seconds=30)
    late = [s for s in report.skipped if "before it was its turn" in s.reason]
    assert late and not any(isinstance(s.reason, NothingToAttack) for s in late)


def test_what_is_asked_for_by_name_has_its_turn(clock):
    report = sf.attack(people(), people(), seconds=1, only=["linkage", "membership"])
    assert {t.finding.attack for t in report.tried} == {"linkage", "membership"}


def test_a_slow_clock_changes_nothing(monkeypatch):
    """Budgets count what is computed: on a machine that is busy with others, hours pass between two looks at the clock."""

    def found():
        monkeypatch.setattr("time.process_time", lambda: 100.0)  # no time is computed, however long it takes
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


@pytest.mark.parametrize("solver", ["scipy", "highspy"])
def test_a_program_gets_nodes_for_as_long_as_there_is_time(monkeypatch, solver):
    from sfumato.attacks.linkage import worst_case

    given = []

    def once(*call):
        given.append(call[-1])
        return worst_case.Solution(None, 0.0, optimal=False)

    monkeypatch.setattr(worst_case, f"_by_{solver}", once)
    passed = [0.0]

    def computed() -> float:
        passed[0] += 1.0
        return passed[0]

    monkeypatch.setattr(worst_case, "now", computed)
    worst_case.solve(solver, None, None, seconds=9.0, nodes=10**6)
    assert given == [50, 100, 200]
    given.clear()
    worst_case.solve(solver, None, None, seconds=1000.0, nodes=10**6)
    assert given == [50, 12_475, 10**6]
    given.clear()
    worst_case.solve(solver, None, None, seconds=1e9, nodes=120)
    assert given == [50, 120]
