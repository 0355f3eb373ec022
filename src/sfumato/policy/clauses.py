"""The clauses of a policy that says what may be done with data, each in words, and who can tell
whether a release keeps it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Literal

from sfumato.policy.dialects.dialect_detection import read_concept_text
from sfumato.policy.dialects.special import (
    And,
    Between,
    Concept,
    NamedClass,
    Or,
    Some,
    as_policy,
    core_property,
)
from sfumato.policy.dialects.usages import Usage
from sfumato.policy.documents import Tree

TITLES = {
    "hasData": "data",
    "hasPurpose": "purpose",
    "hasProcessing": "processing",
    "hasRecipient": "recipient",
    "hasStorage": "storage",
    "hasLocation": "place of storage",
}
Counterpart = Literal["none", "said", "release"]
ORDER: tuple[Counterpart, ...] = ("none", "said", "release")
SAID = ("hasPurpose", "hasRecipient", "durationInDays")


@dataclasses.dataclass(frozen=True)
class UsageClause:
    """One clause of a use: what it is about, what it says, the names in it, and its counterpart.

    ``counterpart`` is ``release`` where the certificate of a release tells, ``said`` where only who
    holds it against the policy can say, and ``none`` where nothing of a release or of what can be
    said answers it. ``use`` counts the uses of a policy from 1; a prohibition is not ``permitted``.
    """

    use: int
    permitted: bool
    subject: str
    words: str
    names: tuple[str, ...]
    counterpart: Counterpart

    def to_dict(self) -> Tree:
        """Plain data."""
        return {**dataclasses.asdict(self), "names": list(self.names)}


def clauses_of(text: str, name: str = "the policy") -> list[UsageClause]:
    """The clauses of a SPECIAL, DPV or ODRL policy; those without a counterpart come first.

    >>> purpose = "ObjectSomeValuesFrom(hasPurpose dpv:Marketing)"
    >>> policy = f"ObjectIntersectionOf({purpose} ObjectSomeValuesFrom(hasLocation eu))"
    >>> [(one.subject, one.words, one.counterpart) for one in clauses_of(policy)]
    [('place of storage', 'eu', 'none'), ('purpose', 'dpv:Marketing', 'said')]
    """
    document, _ = read_concept_text(text, name)
    clauses = list(_of_usages(document) if isinstance(document, tuple) else _of_concept(document))
    return sorted(clauses, key=lambda clause: (ORDER.index(clause.counterpart), clause.use))


def _of_usages(usages: tuple[Usage, ...]) -> Iterator[UsageClause]:
    for number, usage in enumerate(usages, 1):
        yield from _of_part(number, usage.concept(), permitted=usage.permitted)
        if usage.legal_bases:
            words = ", ".join(usage.legal_bases)
            yield UsageClause(
                number, usage.permitted, "legal basis", words, usage.legal_bases, "none"
            )
        if usage.until is not None:
            yield UsageClause(
                number, usage.permitted, "until", usage.until.isoformat(), (), "release"
            )


def _of_concept(concept: Concept) -> Iterator[UsageClause]:
    for number, part in enumerate(concept.parts if isinstance(concept, Or) else (concept,), 1):
        yield from _of_part(number, part, permitted=True)


def _of_part(number: int, concept: Concept, *, permitted: bool) -> Iterator[UsageClause]:
    """The clauses of one use, a part of an intersection each; where and how long data are stored
    are two.
    """
    if isinstance(concept, And):
        for part in concept.parts:
            yield from _of_part(number, part, permitted=permitted)
        return
    name = ""
    if isinstance(concept, Some | Between):
        name = core_property(concept.property)
    inside = concept.concept if isinstance(concept, Some) else concept
    if name == "hasData":
        yield from _of_data(number, inside, permitted=permitted)
    elif name == "hasStorage":
        yield from _of_part(number, inside, permitted=permitted)
    else:
        counterpart: Counterpart = "said" if name in SAID else "none"
        if name == "hasProcessing":
            counterpart = "release"
        subject = "days of storage"
        if name != "durationInDays":
            subject = TITLES.get(name, name or "besides")
        words = in_words(inside).removeprefix(f"{name} ")
        yield UsageClause(number, permitted, subject, words, _names(inside), counterpart)


def _of_data(number: int, concept: Concept, *, permitted: bool) -> Iterator[UsageClause]:
    """What is asked of data: how they are protected, which a certificate tells, and of which kind
    they are, which somebody must say.
    """
    parts = concept.parts if isinstance(concept, And) else (concept,)
    measures = [part for part in parts if isinstance(part, Between) or _is_measure(part)]
    kinds = [part for part in parts if part not in measures]
    if kinds:
        kind = And(tuple(kinds)) if len(kinds) > 1 else kinds[0]
        yield UsageClause(number, permitted, "kind of data", in_words(kind), _names(kind), "said")
    if measures:
        yield UsageClause(
            number, permitted, "protection", in_words(And(tuple(measures))), (), "release"
        )


def _is_measure(concept: Concept) -> bool:
    """Whether a class is a way to protect data: a model of ours or of SPECIAL, or anonymisation as
    such.
    """
    if not isinstance(concept, NamedClass):
        return False
    plain = concept.name.rsplit(":", 1)[-1].rsplit("#", 1)[-1].lower()
    is_own_term = concept.name.startswith("sf:")
    return (
        is_own_term
        or "anonym" in plain
        or plain.endswith(("diverse", "close", "closeness", "diversity", "private"))
    )


def _names(concept: Concept) -> tuple[str, ...]:
    if isinstance(concept, NamedClass):
        return (concept.name,)
    if isinstance(concept, Some):
        return _names(concept.concept)
    if isinstance(concept, Between):
        return ()
    return tuple(name for part in concept.parts for name in _names(part))


def in_words(concept: Concept) -> str:
    """A concept as people read it, as a policy means it.

    >>> in_words(And((NamedClass("kAnonymous"), Between("has_k", 3, 3, exact=True))))
    'kAnonymous, has_k at least 3'
    """
    policy = as_policy(concept)
    if isinstance(policy, NamedClass):
        return policy.name
    if isinstance(policy, Some):
        return (
            f"{TITLES.get(core_property(policy.property), policy.property)}"
            f" {in_words(policy.concept)}"
        )
    if isinstance(policy, Between):
        return f"{policy.property} {_span(policy.low, policy.high)}"
    if isinstance(policy, And):
        return ", ".join(in_words(part) for part in policy.parts) or "anything"
    return " or ".join(in_words(part) for part in policy.parts) or "nothing"


def _span(low: float, high: float) -> str:
    if low == high:
        return f"{low:g}"
    if math.isinf(high):
        return f"at least {low:g}"
    if low <= 0:
        return f"at most {high:g}"
    return f"{low:g} to {high:g}"
