"""What would help: nobody is told to call a release the first one that is not."""

from __future__ import annotations

import dataclasses

from sfumato.guidance.protection.helpful_changes import FIRST_RELEASE, _of_assumptions
from sfumato.release.decision.decide import decide
from sfumato.release.decision.evidence import CompositionEvidence, DecisionEvidence, ReleaseKind
from sfumato.release.decision.terms import terms_of_context
from sfumato.release.decision.tiers import Tier

TERMS = terms_of_context(
    recipient="researchers", contract="yes", sensitivity="low", population=10**6
)
NOTHING = DecisionEvidence(kinds=(ReleaseKind.CLASSES,))


def offers(evidence: DecisionEvidence) -> list[str]:
    decision = dataclasses.replace(decide(TERMS, evidence), tier=Tier.INTERNAL)
    return [change.flag for change in _of_assumptions(decision, evidence)]


def test_whoever_did_not_say_is_told_what_to_say():
    assert offers(NOTHING) == [FIRST_RELEASE.flag]


def test_after_an_earlier_release_it_is_not_the_first():
    unknown = CompositionEvidence("earlier release 1", "unknown", reason="no column names people")
    assert offers(dataclasses.replace(NOTHING, earlier=1, compositions=(unknown,))) == []
