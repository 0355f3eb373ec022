"""An attack that could not be tried is unknown: shown as such everywhere, never a pass; and a rate
that may be guessing is none.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.attack import Finding, NothingToAttack
from sfumato.core.data import Context
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.table import Table
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.release import attack_run as battery
from sfumato.release.attack_report import Skipped, Tried
from sfumato.release.make import make_release
from sfumato.release.report.attacks import conclusion, unknown_attacks

ATTRIBUTE = [
    "homogeneity",
    "probabilistic_inference",
    "skewness",
    "similarity",
    "background_knowledge",
    "inference",
]


def visits(n: int = 60) -> Table:
    frame = pl.DataFrame(
        {
            "age": [20 + i % 30 for i in range(n)],
            "sex": ["f", "m"] * (n // 2),
            "ill": ["flu", "cold", "gout"] * (n // 3),
        }
    )
    return sf.read(frame).with_roles(quasi=["age", "sex"], sensitive="ill")


def swapped() -> TablePair:
    """One known column is not what it was: whom a class holds cannot be told."""
    people = visits()
    ages = people.column("age").to_list()
    released = people.to_polars().with_columns(pl.Series("age", [ages[1], ages[0], *ages[2:]]))
    return TablePair.of(people, Table(released, people.schema))


def test_what_could_not_be_tried_is_unknown_and_told_from_what_has_nothing_to_attack():
    report = battery.attack_release(swapped(), only=["homogeneity", "composition", "linkage"])
    status = {skipped.attack: (skipped.status, skipped.reason) for skipped in report.skipped}
    assert (
        status["homogeneity"][0] == "unknown"
        and "values of age were changed" in status["homogeneity"][1]
    )
    assert status["composition"] == ("does not apply", "there is no other release of these people")
    assert [skipped.attack for skipped in report.unknown] == ["homogeneity"]
    assert "1 attack is unknown" in str(report).splitlines()[
        0
    ] and "? homogeneity: unknown: values of age" in str(report)
    assert "unknown" in report._repr_html_() and "does not apply" in report._repr_html_()
    frame = report.to_frame().filter(pl.col("status") == "unknown")
    assert frame["attack"].to_list() == ["homogeneity"] and frame["value"].to_list() == [None]
    assert frame["exceeds"].to_list() == [None]


def test_the_certificate_tells_what_is_unknown():
    told = json.loads(
        json.dumps(battery.attack_release(swapped(), only=["homogeneity", "linkage"]).to_dict())
    )
    assert told["skipped"][0] == {
        "intruder": "prosecutor",
        "attack": "homogeneity",
        "status": "unknown",
        "reason": (
            "values of age were changed, not generalised, so a class does not contain the people it seems to"
        ),
        "limit": None,
    }
    assert unknown_attacks(told) == told["skipped"] and conclusion(told).endswith(
        "1 attack is unknown."
    )


def test_an_attack_that_stumbles_and_one_of_others_that_gives_any_reason_are_unknown():
    assert Skipped("x", "linkage", "the grid is too large").unknown
    assert not Skipped("x", "linkage", NothingToAttack("no column was released")).unknown


def test_there_is_nothing_to_attack_where_there_is_no_secret():
    people = visits().drop(["ill"])
    report = battery.attack_release(TablePair.of(people, people), only=ATTRIBUTE)
    assert not report.tried and not report.unknown
    assert {s.reason for s in report.skipped} == {"the table has no sensitive column"}
    hidden = battery.attack_release(TablePair.of(visits(), people), only=ATTRIBUTE)
    assert {s.reason for s in hidden.skipped} == {"no sensitive column was released"}


def test_a_population_that_nobody_speaks_of_is_nothing_to_attack_but_weights_left_out_are_unknown():
    only = ["population_uniques", "individual_risk", "log_linear"]
    assert not battery.attack_release(TablePair.of(visits(), visits()), only=only).unknown
    frame = visits().to_polars().with_columns(pl.lit(3.0).alias("w"))
    people = sf.read(frame).with_roles(quasi=["age", "sex"], sensitive="ill", weight="w")
    report = battery.attack_release(TablePair.of(people, people.drop(["w"])), only=only)
    assert len(report.unknown) == 3 and all("were not released" in s.reason for s in report.unknown)


def limited(limits, step) -> sf.Release:
    return sf.anonymize(visits(), [sf.KAnonymity(1)], [step], limits=limits, seed=5)


def test_a_limit_on_what_is_unknown_refuses_with_the_true_reason():
    with pytest.raises(
        ReleaseRefused, match=r"homogeneity is unknown: values of age were changed.*at most 0\.9"
    ):
        limited({"homogeneity": 0.9}, sf.RankSwap(["age"], p=0.3))
    with pytest.raises(
        ParameterError,
        match="composition does not apply to this release: there is no other release",
    ):
        limited({"composition": 0.9}, sf.RankSwap(["age"], p=0.3))


def test_a_limit_is_about_the_first_intruder_even_if_others_can_try(monkeypatch):
    """The prosecutor's linkage is what a limit on linkage means; that a neighbour can try does not
    replace it.
    """
    tried = battery._try

    def blind(name, scene):
        return "it is too much" if len(scene.intruder.knows) == 2 else tried(name, scene)

    people = visits()
    monkeypatch.setattr(battery, "_try", blind)
    report = battery.attack_release(
        TablePair.of(people, people),
        only=["linkage"],
        context=sf.AttackContext(limits={"linkage": 1.0}),
    )
    assert report.tried and report.refused == ("linkage is unknown: it is too much",)
    assert report.skipped[0].limit == 1.0


def test_what_was_not_measured_has_no_value_in_the_certificate():
    recipe = Recipe(
        visits().schema, (), (sf.RankSwap(["age"], p=0.3),), limits={"homogeneity": 0.9}
    )
    release = make_release(visits(), recipe, Context(Seed(5), refuse=False))
    (kept,) = release.limits
    assert not kept.holds and not release.holds and kept.to_dict()["value"] is None
    json.dumps(kept.to_dict(), allow_nan=False)


# --- rates of a sample ---


@pytest.mark.parametrize("attack", ["linkage", "probabilistic_linkage", "worst_case_linkage"])
def test_rates_of_a_sample_of_people_carry_an_interval_and_those_of_everybody_are_exact(attack):
    pair = TablePair.of(visits(), visits())
    some = battery.attack_release(pair, only=[attack], sample=30, seconds=20).tried[0].finding
    everybody = battery.attack_release(pair, only=[attack], sample=60, seconds=20).tried[0].finding
    assert some.interval[0] < some.value < some.interval[1] or some.value in some.interval
    assert some.interval[1] - some.interval[0] > 0.1
    if attack == "worst_case_linkage":
        assert (
            everybody.interval[0] == everybody.value
        )  # what was found, and what was proved of everybody
    else:
        assert everybody.interval is None


def test_knowing_the_method_has_an_interval_on_a_sample_only():
    people = visits(90)
    release = sf.anonymize(people, [sf.KAnonymity(1)], [sf.RankSwap(["age"], p=0.1)], seed=5)
    some, everybody = (
        release.attack(only=["transparency"], sample=n).tried[0].finding for n in (40, 90)
    )
    assert some.interval[0] < some.value < some.interval[1] and everybody.interval is None


# --- a finding counts when its interval does not include guessing ---


def tried(value, interval, baseline=None, limit=None) -> Tried:
    return Tried(
        "colleague", ("age",), Finding("inference", value, "", interval, baseline), 0.2, limit
    )


def test_a_rate_whose_interval_includes_guessing_is_no_finding():
    # 98.0 % against 96.8 %: 37.5 % of what is left open, but anything between 0 and 80 % is as
    # likely
    assert not tried(0.375, (0.0, 0.8)).exceeds
    assert tried(0.375, (0.1, 0.6)).exceeds and tried(0.375, None).exceeds
    assert (
        not tried(0.5, (0.25, 0.8), baseline=0.3).exceeds
        and tried(0.5, (0.31, 0.8), baseline=0.3).exceeds
    )
    assert tried(
        0.375, (0.0, 0.8), limit=0.2
    ).exceeds  # what the recipe limits is judged by the rate itself
    assert tried(0.375, (0.0, 0.8)).to_dict()["certain"] is False
