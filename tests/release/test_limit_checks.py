"""Limits and contract: what is measured is held against what the recipe allows, and unknown is not
kept.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.limits import limits_of
from sfumato.core.metric import Measure
from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Kept
from sfumato.errors import ParameterError
from sfumato.release.attack_report import AttackReport, Skipped
from sfumato.release.limit_checks import (
    USUAL_LIMITS,
    check_agreement,
    judge_limits,
    kept_by_attack,
    kept_within,
    with_usual_limits,
)


def limit_of(name: str, bound: float) -> Any:
    (limit,) = limits_of({name: bound})
    return limit


@pytest.fixture(scope="module")
def pair() -> TablePair:
    people = sf.examples.hospital(rows=200)
    release = sf.anonymize(people, [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.2)], seed=1)
    return release.pair


@pytest.mark.parametrize(
    ("better", "value", "bound", "holds"),
    [
        ("lower", 0.10, 0.10, True),
        ("lower", 0.11, 0.10, False),
        ("higher", 0.90, 0.90, True),
        ("higher", 0.89, 0.90, False),
    ],
)
def test_a_bound_is_the_last_value_that_is_allowed(
    better: Any, value: float, bound: float, holds: bool
) -> None:
    check = kept_within(limit_of("loss", bound), Measure("loss", value, better, "what is lost"))
    assert (check.holds, check.value, check.limit) == (holds, value, bound)
    assert ("at most" if better == "lower" else "at least") in check.sentence


def test_every_limit_is_checked_in_its_order(pair: TablePair) -> None:
    limits = {"loss": 1.0, "unique_records": 0.0, "linkage": 1.0}
    checks = judge_limits(limits, pair, seed=Seed(1))
    assert [check.name for check in checks] == list(limits)
    assert [check.holds for check in checks] == [True, True, True]
    assert not judge_limits({"loss": 0.0}, pair, seed=Seed(1))[0].holds


def test_risks_of_a_sample_are_measured_on_all_that_was_counted(pair: TablePair) -> None:
    """Two records alone are unique, whatever the sample says."""
    counted = pair.released.take(range(2)).with_schema(pair.released.schema)
    (check,) = judge_limits({"unique_records": 0.0}, pair, seed=Seed(1), counted=counted)
    (of_all,) = judge_limits({"unique_records": 0.0}, pair, seed=Seed(1))
    assert check.value > of_all.value == 0


class Register:
    """Answers for all releases of the same people, with what it was told to say."""

    def kept(self, bound: float, pair: Any) -> Kept:
        return Kept("joint_disclosure", 0.5, bound, bound >= 0.5, "half of them are known by now")


def test_a_register_answers_for_limits_about_all_releases(pair: TablePair) -> None:
    from sfumato.release.register.joint_disclosure import NAME

    (check,) = judge_limits({NAME: 0.4}, pair, seed=Seed(1), memory=Register())
    assert (check.holds, check.sentence) == (False, "half of them are known by now")


def report_with(reason: str, limit: float) -> AttackReport:
    skipped = Skipped("somebody", "linkage", reason, limit, {})
    return AttackReport("data", 10, 10, (), (skipped,), 0.0, "records")


def test_an_attack_that_could_not_be_tried_does_not_keep_its_limit() -> None:
    check = kept_by_attack(limit_of("linkage", 0.05), report_with("it was out of time", 0.05))
    assert not check.holds and math.isnan(check.value) and "unknown" in check.sentence


def test_an_unknown_attack_on_synthetic_rows_is_kept_where_everything_is_allowed() -> None:
    for bound, holds in ((1.0, True), (0.5, False)):
        assert (
            kept_by_attack(limit_of("copied_records", bound), report_with("no time", bound)).holds
            is holds
        )


class Fickle:
    """A line of a contract that cannot be measured."""

    def __init__(self, *, refuse: bool) -> None:
        self.refuse = refuse

    def judge(self, pair: Any) -> Kept:
        raise ParameterError("no such column")

    def check(self, sentence: str) -> Kept:
        return Kept("means", math.nan, 0.1, False, sentence, refuses=False)


def test_what_cannot_be_measured_ends_a_run_but_where_an_epsilon_is_accounted_for(
    pair: TablePair,
) -> None:
    promise: Any = Fickle(refuse=False)
    with pytest.raises(ParameterError, match="no such column"):
        check_agreement(promise, pair, fixed=False)
    assert "cannot be measured" in check_agreement(promise, pair, fixed=True).sentence
    strict: Any = Fickle(refuse=True)
    with pytest.raises(ParameterError, match="no such column"):
        check_agreement(strict, pair, fixed=True)


def test_synthetic_rows_have_usual_limits_unless_the_recipe_sets_them(pair: TablePair) -> None:
    recipe = sf.Recipe(pair.original.schema, steps=(sf.Mondrian(),), limits={"copied_records": 0.3})
    assert with_usual_limits(recipe).limits == {**USUAL_LIMITS, "copied_records": 0.3}
    accounted = sf.Recipe(
        pair.original.schema,
        steps=(sf.SynthesizePrivately(epsilon=1.0, delta=1e-6),),
        limits=recipe.limits,
    )
    assert with_usual_limits(accounted) is accounted, "an ε is its limit"
