"""The decision: worked examples, and what holds of all evidence: tiers nest, improving a figure
never lowers the tier, and what is missing never raises it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.release.decision import Decision, DecisionEvidence, DecisionTerms, Tier, decide
from sfumato.release.decision.evidence import (
    AttackEvidence,
    AttributeEvidence,
    CertainDisclosure,
    CompositionEvidence,
    DependenceEvidence,
    EpsilonEvidence,
    Figure,
    FileEvidence,
    ReleaseKind,
    VerificationEvidence,
)
from sfumato.release.decision.terms import AcceptedDependence, terms_of_context
from sfumato.release.decision.tiers import GRANTED, HARMS, class_size
from tests.release.decision.evidence_cases import (
    OF_DRAWN,
    PEOPLE,
    attacks_of,
    evidence,
    terms,
    tried,
    with_attack,
    with_risk,
)

CLASSES, PERTURBED = ReleaseKind.CLASSES, ReleaseKind.PERTURBED
DRAWN, ACCOUNTED = ReleaseKind.DRAWN, ReleaseKind.ACCOUNTED
NO_METHOD = ("transparency", "minimality", "downcoding")


def exactly(value: float, people: int = PEOPLE) -> Figure:
    return Figure.of_everybody(value, people)


def between(value: float, low: float, high: float, trials: int = 500) -> Figure:
    return Figure(value, low, high, trials, PEOPLE)


def limiting(decision: Decision) -> tuple[str, str, str]:
    assert decision.limiting is not None
    line = decision.limiting
    return line.term, line.attack or line.column or line.subject, line.status


# The worked examples of the terms: figures that were not measured are invented, and only have to
# lead to the decision.


def test_first_example_is_published_and_its_assumption_is_printed() -> None:
    """Clinic table: k = 11, 2-diverse, 2,571 people, all tried."""
    base = evidence(CLASSES, figure=exactly(0.069, 2571), smallest=11)
    base = with_attack(base, "linkage", "colleague", exactly(0.078, 2571))
    base = with_risk(base, Figure(0.03, 0.01, 0.06, 2000, 2571))
    clinic = terms(not_known={"cost": "billing figure, seen by nobody else"})
    decision = decide(clinic, base)
    assert decision.tier is Tier.PUBLICATION
    assert decision.exit_code == 0
    assert decision.limiting is None
    assert "nobody else knows cost (billing figure, seen by nobody else)" in str(decision)


def test_second_example_is_shared_under_contract_limited_by_the_colleague() -> None:
    """visits, harm medium, k = 15: the colleague finds 31 %."""
    base = evidence(CLASSES, figure=between(0.04, 0.026, 0.061), smallest=15)
    base = with_risk(base, between(0.05, 0.02, 0.065))
    base = with_attack(base, "linkage", "colleague", between(0.31, 0.27, 0.35))
    decision = decide(terms(sensitivity="medium"), base)
    assert decision.tier is Tier.CONTRACT
    assert decision.exit_code == 1
    assert limiting(decision) == ("T7", "linkage", "fails")
    reason = (
        "Not for publication: a colleague who knows 5 columns finds 31 % (up to 35 %) of people;"
        " the limit is 1 in 15 (6.7 %)."
    )
    assert decision.refusals == (reason,)
    # Rounding brings the colleague to 5 %, which 500 people do not show.
    rounded = with_attack(base, "linkage", "colleague", between(0.05, 0.034, 0.073))
    decision = decide(terms(sensitivity="medium"), rounded)
    assert decision.tier is Tier.CONTRACT
    assert limiting(decision) == ("T7", "linkage", "not shown")
    assert "try 870 people instead of 500" in decision.refusals[0]


def loans(sensitivity: str, *, drop: bool) -> Decision:
    """Loans: k = 5, and a column that implies a quasi-identifier; R is .24."""
    base = evidence(CLASSES, figure=between(0.155, 0.126, 0.189), smallest=5)
    base = with_risk(base, exactly(0.24))
    if not drop:
        refused = DependenceEvidence(
            "tried",
            compared=516,
            found=27,
            refused=("open_credit_lines → num_satisfactory_accounts",),
            linkage=exactly(0.824),
        )
        base = dataclasses.replace(base, dependences=refused)
    return decide(terms(sensitivity=sensitivity), base)


def test_third_example_is_refused_until_the_column_is_dropped() -> None:
    undone = loans("medium", drop=False)
    assert undone.tier is Tier.NONE
    assert undone.exit_code == 4
    assert limiting(undone)[0] == "T6"
    assert "open_credit_lines" in undone.refusals[0]
    # Without it .24 is above .2, the limit of contract and internal use at medium harm.
    still = loans("medium", drop=True)
    assert still.tier is Tier.NONE
    assert limiting(still) == ("T5", "diagnosis", "fails")
    assert loans("low", drop=True).tier is Tier.INTERNAL


def test_fourth_example_of_synthetic_rows_is_not_shared() -> None:
    """One leaf a record: near copies .318, membership .29, no attack unknown."""
    base = evidence(DRAWN, figure=Figure(0.0, 0.0, 0.02, 560, 560, 140))
    near = with_attack(
        base, "near_copies", "prosecutor", Figure(0.318, 0.278, 0.358, 560, 560, 140)
    )
    near = with_attack(near, "membership", "journalist", Figure(0.29, 0.25, 0.33, 560, 560, 140))
    decision = decide(terms(), near)
    assert decision.tier is Tier.NONE
    assert limiting(decision) == ("T4", "near_copies", "not shown")
    # Default trees on a small table: by this attack alone contract, with 148 set aside.
    copied = Figure(0.053, 0.0, 0.137, 560, 560, 148)
    decision = decide(terms(), with_attack(base, "copied_records", "prosecutor", copied))
    assert decision.tier is Tier.CONTRACT
    assert limiting(decision) == ("T4", "copied_records", "not shown")
    assert "set aside" in decision.refusals[0]


# Single lines.


def test_nobody_in_a_class_smaller_than_k_whatever_the_mean() -> None:
    for harm, population in ((harm, 10**6) for harm in HARMS):
        for tier in GRANTED:
            k = class_size(tier, harm)
            context = terms(sensitivity=harm, population=population)
            assert decide(context, evidence(CLASSES, smallest=k)).tier.rank >= tier.rank
            assert decide(context, evidence(CLASSES, smallest=k - 1)).tier.rank < tier.rank


def test_without_a_proved_bound_nothing_perturbed_is_published() -> None:
    base = evidence(PERTURBED)
    assert decide(terms(), base).tier is Tier.PUBLICATION
    bound = with_attack(base, "worst_case_linkage", "worst case", between(0.01, 0.01, 0.1))
    assert decide(terms(), bound).tier is Tier.CONTRACT
    gone = tuple(entry for entry in base.attacks if entry.attack != "worst_case_linkage")
    decision = decide(terms(), dataclasses.replace(base, attacks=gone))
    assert decision.tier is Tier.CONTRACT
    assert limiting(decision) == ("T3", "worst_case_linkage", "unknown")


def test_of_several_kinds_the_terms_of_each_apply() -> None:
    both = evidence(CLASSES, PERTURBED, smallest=2)
    assert decide(terms(), both).tier is Tier.NONE
    assert decide(terms(), evidence(PERTURBED, smallest=2)).tier is Tier.PUBLICATION


def test_certain_disclosure_is_nobodys_in_public_and_few_peoples_under_contract() -> None:
    base = evidence(CLASSES)

    def with_certain(one: int, two: int, distinct: int = 9) -> DecisionEvidence:
        entry = dataclasses.replace(
            base.attributes[0], certain=CertainDisclosure(PEOPLE, one, two), distinct=distinct
        )
        return dataclasses.replace(base, attributes=(entry,))

    assert decide(terms(), with_certain(1, 1)).tier is Tier.CONTRACT
    assert decide(terms(), with_certain(PEOPLE // 5, PEOPLE)).tier is Tier.CONTRACT
    assert decide(terms(), with_certain(PEOPLE // 5 + 1, PEOPLE)).tier is Tier.INTERNAL
    assert decide(terms(), with_certain(0, PEOPLE)).tier is Tier.PUBLICATION
    # At high harm classes of two values are too few, unless the column has no more.
    high = terms(sensitivity="high")
    assert decide(high, with_certain(0, 1)).tier is Tier.CONTRACT
    assert decide(high, with_certain(0, 0)).tier is Tier.PUBLICATION
    assert decide(high, with_certain(0, PEOPLE, distinct=2)).tier is Tier.PUBLICATION


def test_first_release_is_the_owners_word_and_earlier_ones_contradict_it() -> None:
    base = evidence(CLASSES)
    assert decide(terms(first_release=None), base).tier is Tier.INTERNAL
    assert decide(terms(), base).tier is Tier.PUBLICATION
    earlier = CompositionEvidence("earlier release 1", "tried", exactly(0.15))
    known = dataclasses.replace(base, earlier=1, compositions=(earlier,))
    assert decide(terms(), known).tier is Tier.CONTRACT
    assert decide(terms(first_release=None), known).tier is Tier.CONTRACT
    hidden = dataclasses.replace(known, compositions=())
    assert decide(terms(), hidden).tier is Tier.INTERNAL


def test_verification_must_pass_beside_the_original() -> None:
    base = evidence(CLASSES)
    for verification in (
        None,
        VerificationEvidence(with_original=False, made_again=True),
        VerificationEvidence(with_original=True, made_again=None),
        VerificationEvidence(with_original=True, made_again=False),
        VerificationEvidence(with_original=True, made_again=True, failing=("class sizes",)),
        VerificationEvidence(with_original=True, made_again=True, open_promises=("loss",)),
    ):
        decision = decide(terms(), dataclasses.replace(base, verification=verification))
        assert decision.tier is Tier.NONE
        assert limiting(decision)[0] == "T10"


def accounted(epsilon: float, **fields: Any) -> DecisionEvidence:
    usual = {"delta": 0.0, "per_person": True, "public_people": None, "recipe_from_table": False}
    entry = AttributeEvidence("diagnosis", 9, "does not apply", reason="bounded by ε")
    return DecisionEvidence(
        kinds=(ACCOUNTED, DRAWN),
        sensitive=("diagnosis",),
        attributes=(entry,),
        verification=VerificationEvidence(with_original=True, made_again=None),
        epsilon=EpsilonEvidence(epsilon, **{**usual, **fields}),
    )


@pytest.mark.parametrize(
    ("epsilon", "tier"),
    [
        (1.0, Tier.PUBLICATION),
        (1.1, Tier.CONTRACT),
        (3.0, Tier.CONTRACT),
        (3.1, Tier.INTERNAL),
        (8.0, Tier.INTERNAL),
        (8.1, Tier.NONE),
    ],
)
def test_an_accounted_release_has_limits_of_its_own(epsilon: float, tier: Tier) -> None:
    assert decide(terms(), accounted(epsilon)).tier is tier


def test_epsilon_must_be_about_persons_and_delta_small_beside_a_public_number() -> None:
    assert decide(terms(), accounted(1.0, per_person=False)).tier is Tier.NONE
    assert decide(terms(), accounted(1.0, delta=1e-6)).tier is Tier.NONE
    assert decide(terms(), accounted(1.0, delta=1e-6, public_people=10**5)).tier is Tier.PUBLICATION
    assert decide(terms(), accounted(1.0, delta=1e-5, public_people=10**5)).tier is Tier.NONE


def test_a_recipe_chosen_on_the_table_is_said_beside_epsilon() -> None:
    decision = decide(terms(), accounted(1.0, recipe_from_table=True))
    assert any("covers one run" in note for note in decision.notes)


def test_attacks_on_an_accounted_release_are_told_and_no_term() -> None:
    worst = attacks_of((DRAWN,), Figure(0.9, 0.8, 1.0, 500, 500, 100))
    decision = decide(terms(), dataclasses.replace(accounted(1.0), attacks=worst))
    assert decision.tier is Tier.PUBLICATION
    lines = {line.attack: line.status for line in decision.outcome_of(Tier.PUBLICATION).outcomes}
    assert all(lines[name] == "told" for name in OF_DRAWN)


def test_a_safe_room_is_a_note_and_no_tier() -> None:
    base = evidence(CLASSES, figure=exactly(0.25), smallest=4)
    decision = decide(terms(sensitivity="medium"), base)
    assert decision.tier is Tier.NONE
    assert any("safe room" in note for note in decision.notes)
    worse = decide(terms(sensitivity="medium"), evidence(CLASSES, figure=exactly(0.5), smallest=4))
    assert not any("safe room" in note for note in worse.notes)


def test_accepted_dependences_are_assumptions_of_the_terms() -> None:
    pair = AcceptedDependence(("ward",), "age", "both are in the contract")
    decision = decide(terms(accepted=(pair,)), evidence(CLASSES))
    assert "ward may imply age (both are in the contract)" in decision.assumed


def test_limits_are_written_as_one_in_so_many() -> None:
    decision = decide(terms(), evidence(CLASSES, figure=exactly(0.1), smallest=11))
    text = str(decision)
    assert "1 in 11 (9.1 %)" in text
    assert " 9 %" not in text


def test_decision_says_what_is_not_judged_and_what_it_obliges_to() -> None:
    for base in (evidence(CLASSES), evidence(CLASSES, smallest=1)):
        decision = decide(terms(), base)
        text = str(decision)
        assert "Not judged: law, consent or what others publish." in text
        assert all(obligation in text for obligation in decision.tier.obligations)
        assert f"version {decision.terms_version} of {decision.terms_date}" in text
        assert "compl" not in text.replace("completeness", "")  # nothing complies with anything


# What holds of all evidence.

KINDS = [
    (CLASSES,),
    (PERTURBED,),
    (CLASSES, PERTURBED),
    (DRAWN,),
]
CONTEXTS = st.builds(
    terms_of_context,
    recipient=st.sampled_from(["public", "researchers", "internal", "trusted"]),
    contract=st.sampled_from(["yes", "no", "unknown"]),
    sensitivity=st.sampled_from(["low", "medium", "high", "unknown"]),
    population=st.sampled_from([None, 500, 10**6]),
    first_release=st.sampled_from([None, "a new study"]),
)


@st.composite
def figures(draw: st.DrawFn, people: int = PEOPLE) -> Figure:
    value = draw(st.sampled_from([0.0, 0.01, 0.04, 0.06, 0.09, 0.15, 0.19, 0.3, 0.35, 1.0]))
    trials = draw(st.sampled_from([50, 200, 500, 2000, people]))
    return Figure.of_rate(value, trials, people)


@st.composite
def any_evidence(draw: st.DrawFn) -> DecisionEvidence:
    kinds = draw(st.sampled_from(KINDS))
    base = evidence(*kinds, smallest=draw(st.sampled_from([1, 3, 4, 5, 11, 15, 20])))
    attacks = []
    for entry in base.attacks:
        status = draw(st.sampled_from(["tried", "tried", "tried", "unknown", "does not apply"]))
        if status == "tried":
            attacks.append(dataclasses.replace(entry, figure=draw(figures())))
        else:
            attacks.append(AttackEvidence(entry.attack, entry.intruder, status, reason="a reason"))
    one = draw(st.sampled_from([0, 1, PEOPLE // 6, PEOPLE // 4, PEOPLE]))
    entry = dataclasses.replace(
        base.attributes[0],
        risk=draw(figures()),
        uncommon_risk=draw(figures(people=PEOPLE // 2)),
    )
    if entry.certain is not None:
        entry = dataclasses.replace(entry, certain=CertainDisclosure(PEOPLE, one, max(one, 7)))
    dependences = base.dependences
    if dependences is not None and draw(st.booleans()):
        dependences = DependenceEvidence(
            "tried",
            compared=12,
            found=1,
            refused=draw(st.sampled_from([(), ("ward → age",)])),
            linkage=draw(figures()),
        )
    compositions = draw(
        st.sampled_from([(), (CompositionEvidence("earlier release 1", "tried", exactly(0.12)),)])
    )
    return dataclasses.replace(
        base,
        attacks=tuple(attacks),
        attributes=(entry,),
        dependences=dependences,
        compositions=compositions,
        earlier=len(compositions),
    )


@given(CONTEXTS, any_evidence())
def test_tiers_nest(context: DecisionTerms, found: DecisionEvidence) -> None:
    decision = decide(context, found)
    holding = [outcome.holds for outcome in decision.tiers]
    # From internal use to publication: once one does not hold, no higher one does.
    assert holding == sorted(holding, reverse=True)
    assert decision.tier.rank == sum(holding)
    assert decision.exit_code == (
        4 if decision.tier is Tier.NONE else int(decision.tier.rank < context.requested.rank)
    )
    if decision.limiting is None:
        assert decision.tier is Tier.PUBLICATION
    else:
        above = decision.tier.next_higher
        assert above is not None
        lines = decision.outcome_of(above)
        assert decision.limiting == lines.broken[0]
        excesses = [line.excess(1 / lines.class_size) for line in lines.broken]
        assert excesses == sorted(excesses, reverse=True)


@given(CONTEXTS, any_evidence(), st.data())
def test_improving_a_figure_never_lowers_the_tier(
    context: DecisionTerms, found: DecisionEvidence, data: st.DataObject
) -> None:
    before = decide(context, found).tier
    tried_attacks = [entry for entry in found.attacks if entry.figure is not None]
    if not tried_attacks:
        return
    chosen = data.draw(st.sampled_from(tried_attacks))
    figure = chosen.figure
    assert figure is not None
    # Never down to nothing: a sample without a success still leaves something possible.
    share = data.draw(st.floats(0.01, 1))
    better = dataclasses.replace(
        figure, value=figure.value * share, low=figure.low * share, high=figure.high * share
    )
    improved = with_attack(found, chosen.attack, chosen.intruder, better)
    assert decide(context, improved).tier.rank >= before.rank


@given(CONTEXTS, any_evidence(), st.integers(1, 9))
def test_larger_classes_never_lower_the_tier(
    context: DecisionTerms, found: DecisionEvidence, more: int
) -> None:
    assert found.file is not None
    file = dataclasses.replace(found.file, smallest_class=found.file.smallest_class + more)
    larger = dataclasses.replace(found, file=file)
    assert decide(context, larger).tier.rank >= decide(context, found).tier.rank


def poorer(found: DecisionEvidence) -> Iterator[DecisionEvidence]:
    """The evidence with one finding less, each in turn."""
    for index in range(len(found.attacks)):
        rest = found.attacks[:index] + found.attacks[index + 1 :]
        yield dataclasses.replace(found, attacks=rest)
    yield dataclasses.replace(found, attributes=())
    for entry in found.attributes:
        if entry.status == "tried":
            yield dataclasses.replace(
                found, attributes=(dataclasses.replace(entry, uncommon_risk=None),)
            )
            yield dataclasses.replace(found, attributes=(dataclasses.replace(entry, certain=None),))
    yield dataclasses.replace(found, verification=None)
    yield dataclasses.replace(found, dependences=None)
    if found.dependences is not None:
        yield dataclasses.replace(
            found, dependences=dataclasses.replace(found.dependences, linkage=None)
        )
    yield dataclasses.replace(found, file=None)
    yield dataclasses.replace(found, compositions=())


@given(CONTEXTS, any_evidence())
def test_a_missing_finding_never_raises_the_tier(
    context: DecisionTerms, found: DecisionEvidence
) -> None:
    before = decide(context, found).tier
    for less in poorer(found):
        assert decide(context, less).tier.rank <= before.rank


@pytest.mark.parametrize("kinds", KINDS)
def test_each_finding_that_a_tier_needs_is_missed(kinds: tuple[ReleaseKind, ...]) -> None:
    """Of complete evidence that is published, no entry can be left out without losing it."""
    complete = evidence(*kinds)
    assert decide(terms(), complete).tier is Tier.PUBLICATION
    for index, entry in enumerate(complete.attacks):
        rest = complete.attacks[:index] + complete.attacks[index + 1 :]
        decision = decide(terms(), dataclasses.replace(complete, attacks=rest))
        assert decision.tier is not Tier.PUBLICATION, entry.attack
        assert limiting(decision)[1:] == (entry.attack, "unknown")
    for less in poorer(complete):
        if less == complete:
            continue
        unneeded = less.file is None and CLASSES not in kinds
        if not unneeded:
            assert decide(terms(), less).tier is not Tier.PUBLICATION


@given(st.sampled_from([0, 1, 100, 199]), st.sampled_from(["linkage", "downcoding"]))
def test_too_few_people_are_unknown(trials: int, attack: str) -> None:
    base = evidence(CLASSES)
    figure = Figure(0.0, 0.0, 0.001, trials, PEOPLE)
    whom = "prosecutor" if attack == "linkage" else "worst case"
    decision = decide(terms(), with_attack(base, attack, whom, figure))
    assert decision.tier is (Tier.NONE if attack == "linkage" else Tier.INTERNAL)
    # Of a table with fewer people everybody is enough.
    few = Figure.of_everybody(0.0, 60)
    assert decide(terms(), with_attack(base, attack, whom, few)).tier is Tier.PUBLICATION


@given(CONTEXTS, any_evidence())
def test_the_same_json_gives_the_same_bytes(
    context: DecisionTerms, found: DecisionEvidence
) -> None:
    decision = decide(context, found)
    text = json.dumps(decision.to_dict())
    read_terms = DecisionTerms.from_dict(json.loads(json.dumps(context.to_dict())))
    read_evidence = DecisionEvidence.from_dict(json.loads(json.dumps(found.to_dict())))
    assert json.dumps(decide(read_terms, read_evidence).to_dict()) == text
    assert Decision.from_dict(json.loads(text)) == decision
    assert json.dumps(Decision.from_dict(json.loads(text)).to_dict()) == text


def test_order_of_the_evidence_decides_nothing() -> None:
    found = with_attack(evidence(CLASSES), "linkage", "colleague", exactly(0.5))
    turned = dataclasses.replace(found, attacks=found.attacks[::-1])
    assert decide(terms(), turned) == decide(terms(), found)


def test_intruders_are_told_apart() -> None:
    """A good figure of one intruder does not stand for another's."""
    found = evidence(CLASSES)
    renamed = tuple(
        tried(entry.attack, "prosecutor", exactly(0.0)) if entry.intruder == "neighbour" else entry
        for entry in found.attacks
        if entry.intruder != "prosecutor" or entry.attack != "linkage"
    )
    assert decide(terms(), dataclasses.replace(found, attacks=renamed)).tier is Tier.CONTRACT


def test_nothing_is_known_of_an_empty_file() -> None:
    found = dataclasses.replace(evidence(CLASSES), file=FileEvidence(0, None, 0, 0, ("age",)))
    assert decide(terms(), found).tier is Tier.NONE


def test_no_sensitive_column_is_a_question() -> None:
    found = dataclasses.replace(evidence(CLASSES), sensitive=(), attributes=())
    decision = decide(terms(), found)
    assert decision.tier is Tier.PUBLICATION
    assert any("is that right" in note for note in decision.notes)
