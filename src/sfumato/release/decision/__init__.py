"""The decision about a release: which terms it meets, for whom, and what is missing."""

from __future__ import annotations

from sfumato.release.decision.decide import decide
from sfumato.release.decision.decision import Decision, MeasuredChange
from sfumato.release.decision.evidence import DecisionEvidence
from sfumato.release.decision.terms import DecisionTerms
from sfumato.release.decision.tiers import Tier

__all__ = [
    "Decision",
    "DecisionEvidence",
    "DecisionTerms",
    "MeasuredChange",
    "Tier",
    "decide",
]
