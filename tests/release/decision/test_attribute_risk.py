"""Attribute risk R beside a naive count written from its definition, on small random tables."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.pair import TablePair
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.release.decision.attribute_risk import GuessBudget, attribute_evidence
from sfumato.release.decision.evidence import AttributeEvidence

SEED = Seed.of(5)
EVERYBODY = GuessBudget(everybody=5000, sample=2000, work=10**9)
Person = tuple[str, object]
"""The class of a person, and their secret."""


def pair_of(people: Sequence[Person], kind: str) -> TablePair:
    frame = pl.DataFrame({"group": [c for c, _ in people], "secret": [s for _, s in people]})
    schema = Schema(
        {
            "group": Attribute((Role.QUASI,)),
            "secret": Attribute((Role.SENSITIVE,), kind=Kind(kind)),
        }
    )
    table = Table(frame).with_schema(schema)
    origin = np.arange(len(people), dtype=np.int64)
    return TablePair(table, dataclasses.replace(table, origin=origin), origin)


def chance(secrets: Sequence[object], truth: object, width: float) -> float | None:
    """The chance that the guess from these people is right; ties are shared out, None: nobody."""
    if not secrets:
        return None

    def right(guess: object, secret: object) -> bool:
        if isinstance(guess, str):
            return guess == secret
        return abs(float(guess) - float(secret)) <= width + 1e-9  # type: ignore[arg-type]

    scores = {guess: sum(right(guess, s) for s in secrets) for guess in set(secrets)}
    best = [guess for guess, score in scores.items() if score == max(scores.values())]
    return sum(right(guess, truth) for guess in best) / len(best)


def naive_risk(people: Sequence[Person], chosen: Sequence[int]) -> float:
    """R of some people: of those not guessed without their own record, how many are with it."""
    numbers = [float(s) for _, s in people if not isinstance(s, str)]  # type: ignore[arg-type]
    width = 0.05 * (max(numbers) - min(numbers)) if numbers else 0.0
    added, left = 0.0, 0.0
    for index in chosen:
        group, truth = people[index]
        alike = [s for c, s in people if c == group]
        others = [s for i, (c, s) in enumerate(people) if c == group and i != index]
        everybody_else = [s for i, (_, s) in enumerate(people) if i != index]
        attack = chance(alike, truth, width)
        control = chance(others, truth, width)
        if control is None:
            control = chance(everybody_else, truth, width)
        assert attack is not None
        control = control or 0.0
        added += max(0.0, attack - control)
        left += 1 - control
    return added / left if left > 1e-9 else 0.0


def measured(people: Sequence[Person], kind: str) -> AttributeEvidence:
    pair = pair_of(people, kind)
    (entry,) = attribute_evidence(pair, ["secret"], seed=SEED, budget=EVERYBODY, by_classes=True)
    return entry


WORDS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["flu", "hiv", "burn"])),
    min_size=3,
    max_size=30,
).filter(lambda people: len({secret for _, secret in people}) > 1)
NUMBERS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 60)), min_size=3, max_size=30
).filter(lambda people: len({secret for _, secret in people}) > 1)


@given(WORDS)
def test_risk_of_categories_is_the_naive_one(people: list[Person]) -> None:
    entry = measured(people, "nominal")
    assert entry.risk is not None
    assert entry.risk.exact
    assert entry.risk.value == pytest.approx(naive_risk(people, range(len(people))), abs=1e-9)


@given(NUMBERS)
def test_risk_of_numbers_is_the_naive_one(people: list[Person]) -> None:
    entry = measured(people, "numeric")
    assert entry.risk is not None
    assert entry.risk.value == pytest.approx(naive_risk(people, range(len(people))), abs=1e-9)


@given(WORDS)
def test_the_uncommon_are_those_without_the_usual_value(people: list[Person]) -> None:
    counts = Counter(secret for _, secret in people)
    usual = min(word for word in counts if counts[word] == max(counts.values()))  # type: ignore[type-var]
    chosen = [index for index, (_, secret) in enumerate(people) if secret != usual]
    if max(counts.values()) == sorted(counts.values())[-2]:
        return  # two values are equally usual: either may be taken
    entry = measured(people, "nominal")
    assert entry.uncommon_people == len(chosen)
    assert entry.uncommon_risk is not None
    assert entry.uncommon_risk.value == pytest.approx(naive_risk(people, chosen), abs=1e-9)


@given(WORDS)
def test_certain_disclosure_counts_uncommon_people_of_classes_of_one_value(
    people: list[Person],
) -> None:
    counts = Counter(secret for _, secret in people)
    if max(counts.values()) == sorted(counts.values())[-2]:
        return
    usual = counts.most_common(1)[0][0]
    values = {c: {s for other, s in people if other == c} for c, _ in people}
    one = sum(len(values[c]) == 1 and s != usual for c, s in people)
    two = sum(len(values[c]) <= 2 and s != usual for c, s in people)
    certain = measured(people, "nominal").certain
    assert certain is not None
    assert (certain.people, certain.one_value, certain.two_values) == (len(people), one, two)


def test_what_is_true_of_everybody_is_no_disclosure() -> None:
    """All smokers have cancer: their own record adds nothing to that."""
    people: list[Person] = [("smoker", "cancer")] * 20 + [("other", "none")] * 20
    entry = measured(people, "nominal")
    assert entry.risk is not None
    assert entry.risk.value == 0.0


def test_one_of_k_different_values_is_as_bad_as_finding_one_of_k() -> None:
    people: list[Person] = [("a", word) for word in ("flu", "hiv", "burn", "cold", "gout")]
    people += [("b", f"other {number}") for number in range(5)]
    entry = measured(people, "nominal")
    assert entry.risk is not None
    assert entry.risk.value == pytest.approx(1 / 5)


def test_a_column_of_one_value_and_a_known_one_do_not_apply() -> None:
    assert measured([("a", "no")] * 5, "nominal").status == "does not apply"


def test_the_rare_are_looked_at_by_themselves() -> None:
    """A column that is no for 98 % hides the others unless they are asked for."""
    people: list[Person] = [("a", "no")] * 490
    people += [(f"class {number}", "yes") for number in range(10)]
    people += [(f"class {number}", "no") for number in range(10)]
    entry = measured(people, "nominal")
    assert entry.uncommon_people == 10
    assert entry.uncommon_risk is not None and entry.risk is not None
    assert entry.uncommon_risk.value > entry.risk.value or entry.uncommon_risk.value > 0.4


def test_a_sample_has_an_interval_that_holds_the_exact_figure() -> None:
    rng = np.random.default_rng(1)
    people: list[Person] = [(f"c{number % 200}", str(rng.integers(6))) for number in range(2000)]
    pair = pair_of(people, "nominal")
    exact = measured(people, "nominal").risk
    small = GuessBudget(everybody=100, sample=600, work=10**9)
    (entry,) = attribute_evidence(pair, ["secret"], seed=SEED, budget=small, by_classes=True)
    assert exact is not None and entry.risk is not None
    assert entry.risk.trials == 600
    assert entry.risk.low <= exact.value <= entry.risk.high
    again = next(attribute_evidence(pair, ["secret"], seed=SEED, budget=small, by_classes=True))
    assert again == entry
