"""The context of a protection: answers, assumptions with reasons, and what is refused."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError, RecipeError
from sfumato.guidance.protection.context import assumptions_of, context_from
from sfumato.release.decision.tiers import Tier


def test_keywords_go_before_a_file(tmp_path):
    file = tmp_path / "answers.yaml"
    file.write_text(
        "recipient: internal\ncontract: yes\nnot_known: {cost: billing}\nfirst_release: new data\n"
    )
    context = context_from(file, recipient="researchers", not_known={"ward": "secret"})
    assert context.answers.recipient == "researchers" and context.answers.contract == "yes"
    assert context.not_known == {"cost": "billing", "ward": "secret"}
    assert context.first_release == "new data"
    assert context_from(context.to_dict()) == context
    assert context.terms().requested is Tier.CONTRACT


def test_nothing_said_is_the_worst_case_and_no_first_release():
    terms = context_from(None).terms()
    assert terms.requested is Tier.PUBLICATION and terms.harm == "high"
    assert terms.first_release is None


@pytest.mark.parametrize("value", [{"not_known": ["cost"]}, {"not_known": {"cost": 3}}])
def test_an_assumption_needs_its_reason(value):
    with pytest.raises(RecipeError):
        context_from(value)


@pytest.mark.parametrize("text", ["cost", "cost=", "=why"])
def test_an_assumption_on_the_command_line_needs_column_and_reason(text):
    with pytest.raises(ParameterError):
        assumptions_of([text])


def test_an_empty_reason_is_none():
    with pytest.raises(ParameterError):
        context_from({"first_release": "  "})
