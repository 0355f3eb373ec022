"""Differential privacy: questions to a table under a budget."""

from __future__ import annotations

from sfumato.core.budget import Budget, PrivacyLoss, composed
from sfumato.core.ledger import Ledger
from sfumato.results.queries.planner import (
    Choice,
    belief_after,
    choices,
    epsilon_for,
    epsilon_for_belief,
    expected_error,
    success,
)
from sfumato.results.queries.question import Answer
from sfumato.results.queries.session import Quantum, Session, SessionOptions, SlowReply, session

__all__ = [
    "Answer",
    "Budget",
    "Choice",
    "Ledger",
    "PrivacyLoss",
    "Quantum",
    "Session",
    "SessionOptions",
    "SlowReply",
    "belief_after",
    "choices",
    "composed",
    "epsilon_for",
    "epsilon_for_belief",
    "expected_error",
    "session",
    "success",
]
