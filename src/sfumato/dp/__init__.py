"""Differential privacy: questions to a table under a budget."""

from __future__ import annotations

from sfumato.dp.answer import Answer
from sfumato.dp.asking import Session
from sfumato.dp.attacker import belief_after, epsilon_for_belief, success
from sfumato.dp.budget import Budget, Loss
from sfumato.dp.composition import composed
from sfumato.dp.ledger import Ledger
from sfumato.dp.opening import session
from sfumato.dp.planner import Choice, choices, epsilon_for, expected_error
from sfumato.dp.timing import Quantum, SlowReply

__all__ = [
    "Answer",
    "Budget",
    "Choice",
    "Ledger",
    "Loss",
    "Quantum",
    "Session",
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
