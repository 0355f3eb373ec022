"""What is guessed about the role of a column, and how guesses of a concept are worded."""

from __future__ import annotations

import dataclasses

from sfumato.core.schema import Role
from sfumato.guidance.profiling.concepts import Concept
from sfumato.guidance.profiling.questions import Doubt


@dataclasses.dataclass(frozen=True)
class RoleGuess:
    """Roles, the reason, how sure it is, the concept behind it, which quasi-identifier it copies,
    what it may be where somebody is asked, and the rule that decided.
    """

    roles: tuple[Role, ...]
    reason: str
    confidence: float
    concept: str | None = None
    copy_of: str | None = None
    doubt: Doubt | None = None
    rule: str = "design"


def roles_in(words: str) -> tuple[Role, ...]:
    """Roles written with ``+``.

    >>> roles_in("quasi+sensitive") == (Role.QUASI, Role.SENSITIVE)
    True
    """
    return tuple(Role(word) for word in words.split("+"))


def guess_of_concept(
    concept: Concept, evidence: str, confidence: float, rule: str, *, role: str | None = None
) -> RoleGuess:
    """The guess for a column that is about a concept: ``evidence`` says where it was read."""
    roles = roles_in(role or concept.role)
    law = ""
    if "GDPR Art. 9" in concept.authority:
        law = " (GDPR Art. 9)"
    elif "GDPR Art. 10" in concept.authority:
        law = " (GDPR Art. 10)"
    if Role.SENSITIVE not in roles:
        law = ": outsiders may know it"
    return RoleGuess(
        roles, f"{evidence} {concept.subject}{law}", confidence, concept.concept, rule=rule
    )
