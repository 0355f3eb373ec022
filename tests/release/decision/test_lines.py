"""Lines of the terms: random evidence against the terms read naively, and evidence that contradicts
itself.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from typing import Any

import pytest

from sfumato.errors import ParameterError
from sfumato.release.decision.decide import decide
from sfumato.release.decision.documents import canonical_json
from sfumato.release.decision.evidence import (
    REGISTER,
    AttackEvidence,
    AttributeEvidence,
    CertainDisclosure,
    CompositionEvidence,
    DecisionEvidence,
    DependenceEvidence,
    EpsilonEvidence,
    Figure,
    FileEvidence,
    ReleaseKind,
    VerificationEvidence,
)
from sfumato.release.decision.terms import AcceptedDependence, DecisionTerms, terms_of_context
from tests.oracles.decision import naive_tier

CASES = range(400)
"""With thousands of them, seldom: change the range."""
ATTACKS = (
    ("linkage", "prosecutor"),
    ("probabilistic_linkage", "prosecutor"),
    ("worst_case_linkage", "worst case"),
    ("linkage", "neighbour"),
    ("linkage", "colleague"),
    ("transparency", "worst case"),
    ("minimality", "worst case"),
    ("downcoding", "worst case"),
    ("copied_records", "prosecutor"),
    ("near_copies", "prosecutor"),
    ("membership", "journalist"),
)
KINDS = ("classes", "perturbed", "classes perturbed", "drawn", "classes accounted")
PEOPLE = 2571


def everybody(value: float) -> Figure:
    return Figure.of_everybody(value, PEOPLE)


def terms_for(sensitivity: str = "low", **options: Any) -> DecisionTerms:
    return terms_of_context(recipient="public", sensitivity=sensitivity, **options)


def good_evidence(kinds: str = "classes", **changes: Any) -> DecisionEvidence:
    """A release that holds every tier at low harm."""
    certain = CertainDisclosure(PEOPLE, 0, 0)
    attribute = AttributeEvidence("ill", 4, "tried", everybody(0.01), 40, everybody(0.01), certain)
    accounted = "accounted" in kinds
    evidence = DecisionEvidence(
        kinds=tuple(map(ReleaseKind, kinds.split())),
        file=FileEvidence(PEOPLE, None, 40, 25, ("age",)),
        sensitive=("ill",),
        attacks=tuple(AttackEvidence(*names, "tried", everybody(0.01)) for names in ATTACKS),
        attributes=(attribute,),
        dependences=DependenceEvidence("tried", 10),
        earlier=1,
        compositions=(CompositionEvidence("first", "tried", everybody(0.01)),),
        verification=VerificationEvidence(True, True),
        epsilon=EpsilonEvidence(0.5, 0.0, True, 10**6, False) if accounted else None,
    )
    return dataclasses.replace(evidence, **changes)


def random_figure(draw: random.Random) -> Figure:
    value = draw.choice([0.01, 1 / 20, 1 / 15, 1 / 11, 0.1, 0.2, 1 / 3, 0.5])
    if draw.random() < 0.6:
        return everybody(value)
    return Figure(value, value / 2, min(1.0, value * 1.3), draw.choice([0, 100, 200, 2000]), 10**5)


def worsened(draw: random.Random, evidence: DecisionEvidence) -> DecisionEvidence:
    """One part of the evidence missing, unknown, or with another figure."""
    part = draw.choice(["attacks", "attacks", "attributes", "file", "rest", "earlier"])
    changes: dict[str, Any] = {}
    if part == "attacks":
        attacks = list(evidence.attacks)
        place = draw.randrange(len(attacks))
        names = (attacks[place].attack, attacks[place].intruder)
        status: Any = draw.choice(["unknown", "does not apply"])
        other = draw.choice(
            [
                [],
                [AttackEvidence(*names, "tried", random_figure(draw))],
                [AttackEvidence(*names, status, reason="because")],
            ]
        )
        attacks[place : place + 1] = other
        changes = {"attacks": tuple(attacks)}
    elif part == "attributes":
        one_value, two_values = sorted(draw.choice([0, 1, 200, 900, PEOPLE]) for _ in range(2))
        attribute = AttributeEvidence(
            "ill",
            draw.choice([1, 2, 3, 9]),
            "tried",
            random_figure(draw),
            draw.choice([0, 40]),
            draw.choice([None, random_figure(draw)]),
            draw.choice([None, CertainDisclosure(PEOPLE, one_value, two_values)]),
        )
        changes = {"attributes": draw.choice([(), (attribute,)])}
    elif part == "file":
        smallest = draw.choice([0, 1, 2, 3, 4, 5, 10, 11, 14, 15, 19, 20])
        file = FileEvidence(PEOPLE, None, 40, smallest, ("age",))
        changes = {"file": draw.choice([None, file])}
    elif part == "earlier":
        unrelated = CompositionEvidence(
            "other people", "does not apply", reason="nobody is in both"
        )
        register = CompositionEvidence(REGISTER, "does not apply", reason="it knows of none")
        compared = CompositionEvidence("second", "tried", random_figure(draw))
        entries = draw.choice([(), (unrelated,), (register,), (compared,), (unrelated, compared)])
        changes = {"compositions": entries, "earlier": len(entries) + draw.choice([0, 0, 1])}
    else:
        implied = DependenceEvidence("tried", 5, 1, linkage=random_figure(draw))
        taken_on = DependenceEvidence("tried", 5, 1, (), ("ward → age",), (), everybody(0.01))
        refused = DependenceEvidence("tried", 5, 1, ("cost → age",))
        changes = draw.choice(
            [
                {"dependences": draw.choice([None, implied, taken_on, refused])},
                {"verification": VerificationEvidence(True, draw.choice([None, False]))},
                {"verification": VerificationEvidence(True, True, (), ("5-anonymity",))},
                {"sensitive": ("ill", "new")},
            ]
        )
        if evidence.epsilon is not None:
            account = EpsilonEvidence(draw.choice([1.0, 2.0, 9.0]), 1e-8, True, 10**6, True)
            changes |= {"epsilon": account}
    return dataclasses.replace(evidence, **changes)


def test_random_evidence_is_decided_as_the_terms_read() -> None:
    tiers = Counter[str]()
    for seed in CASES:
        draw = random.Random(seed)
        evidence = good_evidence(draw.choice(KINDS))
        for _ in range(draw.choice([0, 1, 1, 2])):
            evidence = worsened(draw, evidence)
        accepted = (AcceptedDependence(("ward",), "age", "in the contract"),)
        terms = terms_for(
            draw.choice(["low", "medium", "high"]),
            population=draw.choice([None, 20_000, 10**6, 10**6]),
            first_release=draw.choice([None, "it is"]),
            accepted=draw.choice([(), accepted]),
        )
        decision = decide(terms, evidence)
        assert str(decision.tier) == naive_tier(terms, evidence), seed
        tiers[str(decision.tier)] += 1
        text = canonical_json(evidence.to_dict())
        again = decide(
            DecisionTerms.from_dict(json.loads(canonical_json(terms.to_dict()))),
            DecisionEvidence.from_dict(json.loads(text)),
        )
        assert canonical_json(again.to_dict()) == canonical_json(decision.to_dict())
    assert len(tiers) == 4 and min(tiers.values()) >= 10


@pytest.mark.parametrize(
    "contradiction",
    [
        lambda: FileEvidence(5, None, 1, 99, ("age",)),
        lambda: FileEvidence(100, -5, 1, 20, ("age",)),
        lambda: FileEvidence(100, 5000, 1, 20, ("age",)),
        lambda: FileEvidence(100, None, 3, 20, ()),
        lambda: DependenceEvidence("tried", 5, taken_on=("ward → age",)),
        lambda: DependenceEvidence("does not apply", 5, 1, refused=("a → b",), reason="none"),
        lambda: DependenceEvidence("unknown", linkage=everybody(0.9), reason="none"),
        lambda: EpsilonEvidence(0.5, 0.05, True, 0, False),
        lambda: EpsilonEvidence(0.5, 2.0, True, 10, False),
        lambda: AttributeEvidence("ill", -3, "tried", everybody(0.1)),
        lambda: good_evidence(sensitive=()),
        lambda: good_evidence(earlier=0),
        lambda: good_evidence(
            earlier=2,
            compositions=(CompositionEvidence("first", "tried", everybody(0.01)),) * 2,
        ),
    ],
)
def test_evidence_that_contradicts_itself_is_refused(contradiction: Any) -> None:
    with pytest.raises(ParameterError):
        contradiction()


def test_a_dependence_is_taken_on_by_the_terms_alone() -> None:
    """Evidence that says so beside terms that do not accept it would hide who took it on."""
    told = DependenceEvidence("tried", 5, 1, (), ("ward → age",), (), everybody(0.01))
    evidence = good_evidence(dependences=told)
    accepted = AcceptedDependence(("ward",), "age", "in the contract")
    assert decide(terms_for(population=10**6, accepted=(accepted,)), evidence).tier == "publication"
    other = AcceptedDependence(("cost",), "age", "in the contract")
    for terms in (terms_for(population=10**6), terms_for(population=10**6, accepted=(other,))):
        decision = decide(terms, evidence)
        assert decision.tier == "none"
        assert decision.limiting is not None and decision.limiting.term == "T6"


def test_a_release_of_other_people_is_no_word_about_these() -> None:
    """Else any table would do in the place of saying that nothing was released before."""
    unrelated = CompositionEvidence("other people", "does not apply", reason="nobody is in both")
    evidence = good_evidence(compositions=(unrelated,))
    assert decide(terms_for(population=10**6), evidence).tier == "internal"
    terms = terms_for(population=10**6, first_release="it is")
    assert decide(terms, evidence).tier == "publication"
    register = CompositionEvidence(REGISTER, "does not apply", reason="it knows of none")
    evidence = good_evidence(compositions=(register,))
    assert decide(terms_for(population=10**6), evidence).tier == "publication"
