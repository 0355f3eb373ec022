"""Evidence: exact and sampled figures, how many more people are needed, strict JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, UnreadableInput
from sfumato.methods.attacks.linkage.success_rates import wilson
from sfumato.release.decision.evidence import (
    AttackEvidence,
    DecisionEvidence,
    DependenceEvidence,
    EpsilonEvidence,
    Figure,
    ReleaseKind,
    people_needed,
)
from tests.release.decision.evidence_cases import evidence

# DECISION, section 6: most successes among those tried for the upper end to stay within the limit.
MOST_SUCCESSES = {
    100: (24, 12, 3, 1, 0),
    200: (53, 28, 10, 6, 3),
    500: (146, 82, 32, 22, 15),
    2000: (625, 364, 156, 111, 80),
}
LIMITS = (1 / 3, 0.2, 1 / 11, 1 / 15, 0.05)


@pytest.mark.parametrize("trials", sorted(MOST_SUCCESSES))
def test_most_successes_that_stay_within_a_limit(trials: int) -> None:
    for limit, most in zip(LIMITS, MOST_SUCCESSES[trials], strict=True):
        assert Figure.of_rate(most / trials, trials, 10**6).high <= limit
        assert Figure.of_rate((most + 1) / trials, trials, 10**6).high > limit


@given(st.integers(1, 3000), st.integers(1, 3000), st.floats(0, 1))
def test_a_rate_is_exact_where_everybody_was_tried_and_wilsons_else(
    trials: int, people: int, value: float
) -> None:
    trials = min(trials, people)
    figure = Figure.of_rate(value, trials, people)
    if trials == people:
        assert figure.exact
        assert figure.low == figure.value == figure.high == value
    else:
        low, high = wilson(value * trials, trials)
        assert not figure.exact
        assert (figure.low, figure.high) == (min(low, value), max(high, value))


@given(st.integers(20, 2000), st.floats(0, 0.3), st.floats(0.04, 0.4))
def test_so_many_people_settle_it_and_far_fewer_do_not(
    trials: int, value: float, limit: float
) -> None:
    figure = Figure.of_rate(value, trials, 10**9)
    needed = people_needed(figure, limit)
    if value >= limit:
        assert needed is None
        return
    assert needed is not None
    assert Figure.of_rate(value, needed, 10**9).high <= limit + 1e-9
    # Rounded up to two digits that count: a tenth less is surely too few.
    fewer = int(needed * 0.89) - 1
    if fewer > 0:
        assert Figure.of_rate(value, fewer, 10**9).high > limit - 1e-9


@pytest.mark.parametrize(
    "fields",
    [
        {"value": 0.5, "low": 0.6, "high": 0.7, "trials": 1, "of": 1},
        {"value": 0.5, "low": 0.5, "high": 0.5, "trials": 1, "of": 2},
        {"value": 0.5, "low": 0.4, "high": 1.2, "trials": 1, "of": 2},
        {"value": 0.5, "low": 0.4, "high": 0.6, "trials": 3, "of": 2},
        {"value": float("nan"), "low": 0.0, "high": 1.0, "trials": 1, "of": 2},
        {"value": 0.5, "low": 0.4, "high": 0.6, "trials": 1.0, "of": 2},
        {"value": 0.5, "low": 0.4, "high": 0.6, "trials": True, "of": 2},
    ],
)
def test_figures_that_cannot_be_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Figure(**fields)


def test_outcomes_without_figure_or_reason_are_refused() -> None:
    with pytest.raises(ParameterError, match="has a figure"):
        AttackEvidence("linkage", "prosecutor", "tried")
    with pytest.raises(ParameterError, match="needs a reason"):
        AttackEvidence("linkage", "prosecutor", "unknown", reason=" ")
    with pytest.raises(ParameterError, match="needs a reason"):
        DependenceEvidence("does not apply")
    with pytest.raises(ParameterError, match="of which kinds"):
        DecisionEvidence(kinds=())
    with pytest.raises(ParameterError, match="accounted"):
        DecisionEvidence(kinds=(ReleaseKind.ACCOUNTED,))
    with pytest.raises(ParameterError, match="accounted"):
        DecisionEvidence(
            kinds=(ReleaseKind.DRAWN,), epsilon=EpsilonEvidence(1.0, 0.0, True, None, False)
        )


KINDS = [
    (ReleaseKind.CLASSES,),
    (ReleaseKind.PERTURBED,),
    (ReleaseKind.CLASSES, ReleaseKind.PERTURBED),
    (ReleaseKind.DRAWN,),
]


@pytest.mark.parametrize("kinds", KINDS)
def test_evidence_is_read_as_it_was_written(kinds: tuple[ReleaseKind, ...]) -> None:
    written = evidence(*kinds)
    text = json.dumps(written.to_dict())
    assert DecisionEvidence.from_dict(json.loads(text)) == written
    assert json.dumps(DecisionEvidence.from_dict(json.loads(text)).to_dict()) == text


@pytest.mark.parametrize(
    "edit",
    [
        {"earlier": "1"},
        {"earlier": True},
        {"earlier": -1},
        {"more": 1},
        {"kinds": ["classes", "classes"]},
        {"kinds": ["other"]},
        {"sensitive": "diagnosis"},
        {"attacks": None},
    ],
)
def test_other_types_and_unknown_fields_are_refused(edit: dict[str, Any]) -> None:
    document = {**evidence(ReleaseKind.CLASSES).to_dict(), **edit}
    with pytest.raises(UnreadableInput, match="the evidence of the decision"):
        DecisionEvidence.from_dict(document)


def test_an_attack_that_stands_twice_is_refused() -> None:
    document = evidence(ReleaseKind.CLASSES).to_dict()
    document["attacks"] *= 2
    with pytest.raises(UnreadableInput, match="stands twice"):
        DecisionEvidence.from_dict(document)
