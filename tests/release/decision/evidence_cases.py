"""Evidence for tests of the decision: complete and harmless, to be made worse in one place."""

from __future__ import annotations

import dataclasses
from typing import Any

from sfumato.release.decision.evidence import (
    AttackEvidence,
    AttributeEvidence,
    CertainDisclosure,
    DecisionEvidence,
    DependenceEvidence,
    Figure,
    FileEvidence,
    ReleaseKind,
    VerificationEvidence,
)
from sfumato.release.decision.terms import DecisionTerms, terms_of_context

PEOPLE = 10_000
BY_WHOM = {
    "linkage": ("prosecutor", "neighbour", "colleague"),
    "probabilistic_linkage": ("prosecutor",),
    "worst_case_linkage": ("worst case",),
    "transparency": ("worst case",),
    "minimality": ("worst case",),
    "downcoding": ("worst case",),
    "copied_records": ("prosecutor",),
    "near_copies": ("prosecutor",),
    "membership": ("journalist",),
}
OF_PEOPLE = ("linkage", "probabilistic_linkage", "transparency", "minimality", "downcoding")
OF_DRAWN = ("copied_records", "near_copies", "membership")


def terms(**answers: Any) -> DecisionTerms:
    """Terms of a context in which harm is low and these people were never released before."""
    usual = {"recipient": "public", "sensitivity": "low", "population": 10**6}
    return terms_of_context(**{**usual, "first_release": "a new study", **answers})


def tried(attack: str, intruder: str, figure: Figure) -> AttackEvidence:
    """An attack that was carried out."""
    knows = {"prosecutor": "abcdefg", "neighbour": "abc", "colleague": "abcde"}
    return AttackEvidence(
        attack, intruder, "tried", figure, knows=tuple(knows.get(intruder, "abcdefg"))
    )


def attacks_of(kinds: tuple[ReleaseKind, ...], figure: Figure) -> tuple[AttackEvidence, ...]:
    """All attacks that the terms need for these kinds of release, each with the same figure."""
    names: list[str] = []
    if {ReleaseKind.CLASSES, ReleaseKind.PERTURBED} & set(kinds):
        names += OF_PEOPLE
    if ReleaseKind.PERTURBED in kinds:
        names.append("worst_case_linkage")
    if ReleaseKind.DRAWN in kinds:
        names += OF_DRAWN
    return tuple(tried(name, whom, figure) for name in names for whom in BY_WHOM[name])


def evidence(
    *kinds: ReleaseKind, figure: Figure | None = None, smallest: int = 20
) -> DecisionEvidence:
    """Complete evidence of a release that holds every tier, unless the figure says otherwise."""
    figure = figure or Figure.of_everybody(0.01, PEOPLE)
    classes = ReleaseKind.CLASSES in kinds
    return DecisionEvidence(
        kinds=kinds,
        file=FileEvidence(PEOPLE, None, 300, smallest, ("age", "sex")),
        sensitive=("diagnosis",),
        attacks=attacks_of(kinds, figure),
        attributes=(
            AttributeEvidence(
                "diagnosis",
                distinct=9,
                status="tried",
                risk=figure,
                uncommon_people=PEOPLE // 2,
                uncommon_risk=figure,
                certain=CertainDisclosure(PEOPLE, 0, 0) if classes else None,
            ),
        ),
        dependences=None
        if ReleaseKind.DRAWN in kinds
        else DependenceEvidence("tried", compared=12),
        verification=VerificationEvidence(with_original=True, made_again=True),
    )


def with_attack(
    base: DecisionEvidence, attack: str, intruder: str, figure: Figure
) -> DecisionEvidence:
    """The evidence with another figure for one attack."""
    assert base.attack(attack, intruder) is not None
    entries = tuple(
        tried(attack, intruder, figure) if (e.attack, e.intruder) == (attack, intruder) else e
        for e in base.attacks
    )
    return dataclasses.replace(base, attacks=entries)


def with_risk(base: DecisionEvidence, risk: Figure) -> DecisionEvidence:
    """The evidence with another attribute risk."""
    entry = dataclasses.replace(base.attributes[0], risk=risk, uncommon_risk=risk)
    return dataclasses.replace(base, attributes=(entry,))
