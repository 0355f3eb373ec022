"""What a row of the battery may claim: nothing where nothing follows, no time where nothing
applies, and on how many it was tried.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.attack import Finding, NothingToAttack, Scene
from sfumato.core.hierarchy import TOP
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.table import Table
from sfumato.interfaces.cli.console import show_blocks
from sfumato.methods.attacks.gdpr import worst_of
from sfumato.methods.attacks.inference import Homogeneity, Similarity, Skewness
from sfumato.release import attack_run as battery
from sfumato.release.attack_report import AttackReport, Tried
from sfumato.release.intruders import BATTERY, intruder_from


def survey(n: int = 60) -> Table:
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "age": [20 + 10 * (i % 3) for i in range(n)],
            "sex": ["f", "m"] * (n // 2),
            "w": [100.0 + 1.5 * i for i in range(n)],
        }
    )
    return sf.read(frame).with_roles(drop="who", quasi=["age", "sex"], weight="w")


def colleague(pair: TablePair) -> tuple[str, ...]:
    return next(profile for profile in BATTERY if profile.name == "colleague").knows(pair)


# --- whatever their role ---


def test_a_colleague_takes_a_weight_that_tells_most():
    pair = TablePair.of(survey(), survey().drop(["who"]))
    assert colleague(pair)[0] == "w"
    report = battery.attack_release(pair, only=["linkage"])
    found = {tried.intruder: tried.finding.value for tried in report.tried}
    assert found["prosecutor"] == pytest.approx(0.1) and found["colleague"] == 1.0


def test_a_colleague_knows_names_that_were_released_but_no_pseudonyms():
    assert colleague(TablePair.of(survey(), survey()))[:2] == ("w", "who")
    renamed = survey().with_columns({"who": pl.Series([f"x{i}" for i in range(60)])})
    assert colleague(TablePair.of(survey(), renamed)) == ("w", "age", "sex")


# --- nothing follows from everything ---


def test_a_control_that_always_succeeds_makes_linkability_unknown():
    people = survey().drop(["w"])
    blank = people.drop(["who"]).with_columns({c: pl.Series([TOP] * 60) for c in ("age", "sex")})
    report = battery.attack_release(TablePair.of(people, blank), only=["linkability"])
    assert not report.tried and [s.attack for s in report.unknown] == ["linkability"]
    assert "any rate between 0 % and 100 %" in report.unknown[0].reason
    assert "100 % without their own record" in report.unknown[0].reason
    limited = battery.attack_release(
        TablePair.of(people, blank),
        only=["linkability"],
        context=sf.AttackContext(limits={"linkability": 0.5}),
    )
    assert limited.refused and "? linkability" in str(limited)


def test_only_an_interval_of_everything_is_undefined():
    assert Finding("x", 0.0, "told", (0.0, 1.0)).undefined
    for interval in (None, (0.0, 0.99), (0.01, 1.0)):
        assert Finding("x", 0.0, "told", interval).undefined is None


def test_a_certain_finding_comes_before_an_undefined_one_and_that_before_any_other():
    sure, blind, weak = (
        Finding("x", v, "", i) for v, i in ((0.3, (0.1, 0.5)), (0.0, (0.0, 1.0)), (0.4, (0.0, 0.9)))
    )
    assert (
        worst_of([weak, blind, sure]) is sure
        and worst_of([weak, blind]) is blind
        and worst_of([weak]) is weak
    )


# --- what guessing gives ---


def secrets(values, classes, kind="numeric") -> Scene:
    frame = pl.DataFrame({"q": [str(c) for c in classes], "s": values})
    table = sf.read(frame).with_roles(quasi="q", sensitive="s").with_kinds(s=kind)
    pair = TablePair.of(table, table)
    return Scene(pair, intruder_from(pair, ("q",), sample=10**6, seed=Seed(0)))


def test_skewness_says_nothing_of_a_column_with_as_many_values_as_records():
    scene = secrets([float(i) for i in range(100)], [i % 10 for i in range(100)])
    found = Skewness().attack(scene)
    assert found.value == 1.0 and found.baseline == 1.0 and found.beyond_guessing == 0.0


def test_skewness_of_classes_of_one_is_not_by_chance():
    found = Skewness().attack(secrets([float(i) for i in range(100)], range(100)))
    assert found.value == 1.0 and found.baseline == 0.0


def test_skewness_beyond_chance_counts_and_chance_agrees_with_shuffling():
    ill = np.array(["rare"] * 10 + ["common"] * 190)
    classes = np.arange(200) // 10
    found = Skewness().attack(secrets(ill, classes, "nominal"))
    assert found.value == pytest.approx(0.05) and found.baseline < 0.01
    draw = np.random.default_rng(4)
    mixed = [
        Skewness(lift=2.0).attack(secrets(draw.permutation(ill), classes, "nominal"))
        for _ in range(60)
    ]
    assert np.mean([each.value for each in mixed]) == pytest.approx(mixed[0].baseline, abs=0.004)
    assert mixed[0].baseline > 0.015


def test_similarity_of_a_column_with_a_few_large_values_is_no_finding():
    amounts = [float(i % 7) for i in range(99)] + [1000.0]
    found = Similarity().attack(secrets(amounts, np.arange(100) // 10))
    assert (
        found.value == pytest.approx(0.9)
        and found.baseline == pytest.approx(0.99)
        and not found.beyond_guessing
    )
    sorted_by_class = Similarity().attack(
        secrets([float(i) for i in range(100)], np.arange(100) // 10)
    )
    assert sorted_by_class.value == 1.0 and sorted_by_class.baseline == pytest.approx(
        0.25, abs=0.01
    )


def test_similarity_of_categories_guesses_the_largest_node():
    found = Similarity().attack(secrets(["a", "a", "b", "c"], [0, 0, 1, 1], "nominal"))
    assert found.value == 0.5 and found.baseline == 0.5


def test_homogeneity_is_held_against_the_table_as_one_class():
    assert (
        Homogeneity().attack(secrets(["a", "a", "b", "c"], [0, 0, 1, 1], "nominal")).baseline == 0.0
    )
    assert Homogeneity().attack(secrets(["a"] * 4, [0, 0, 1, 1], "nominal")).beyond_guessing == 0.0
    half = Homogeneity(confidence=0.5).attack(
        secrets(["a", "a", "b", "c"], [0, 0, 1, 1], "nominal")
    )
    assert (half.value, half.baseline) == (1.0, 0.5)


# --- no time ---


def test_what_does_not_apply_is_not_called_late(monkeypatch):
    clock = [0.0]

    def slow(name, scene):
        clock[0] += 100.0
        return Finding(name, 0.0, "waited")

    monkeypatch.setattr("time.process_time", lambda: clock[0])
    monkeypatch.setattr(battery, "_try", slow)
    report = battery.attack_release(TablePair.of(survey(), survey()), seconds=30)
    reasons = {skipped.attack: skipped.reason for skipped in report.skipped}
    for name in ("transparency", "composition", "minimality"):
        assert isinstance(reasons[name], NothingToAttack)
    assert reasons["worst_case_linkage"] == battery.OUT_OF_TURN


def test_after_so_long_by_the_clock_no_other_attack_is_begun(monkeypatch):
    monkeypatch.setattr(battery, "_try", lambda name, scene: pytest.fail("it was begun"))
    report = battery.attack_release(
        TablePair.of(survey(), survey()), seconds=10**9, options=sf.AttackOptions(clock=-1)
    )
    assert not report.tried
    reasons = {skipped.attack: skipped.reason for skipped in report.skipped}
    assert reasons["worst_case_linkage"] == battery.OUT_OF_TURN
    assert isinstance(reasons["composition"], NothingToAttack)


# --- how many ---


def test_a_row_says_on_how_many_it_was_tried_where_that_is_not_who_was_looked_for(capsys):
    def report(trials):
        finding = Finding("worst_case_linkage", 0.25, "told", trials=trials)
        return AttackReport(
            "t", 5000, 1000, (Tried("worst case", ("age",), finding, 0.2),), (), 1.0
        )

    show_blocks(report(258).blocks())
    shown = capsys.readouterr().out
    assert re.search(r"succeeds +people", shown) and "258" in shown
    show_blocks(report(1000).blocks())
    assert not re.search(r"succeeds +people", capsys.readouterr().out)


@pytest.mark.parametrize(
    "name", ["linkage", "probabilistic_linkage", "worst_case_linkage", "linkability", "membership"]
)
def test_attacks_on_people_say_how_many(name):
    report = battery.attack_release(TablePair.of(survey(), survey()), only=[name], sample=40)
    found, *_ = [tried.finding for tried in report.tried]
    assert found.trials == 40 and found.to_dict()["trials"] == 40 and "40" in found.sentence
