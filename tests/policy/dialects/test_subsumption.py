"""Structural subsumption against brute force on random small vocabularies."""

from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.policy.dialects.special import And, Between, Concept, NamedClass, Or, Some, as_policy
from sfumato.policy.dialects.subsumption import Vocabulary, built_in, decide, simple_parts, subsumes
from tests.oracles.policy_concepts import individuals, subsumed

CLASSES = ("A", "B", "C")
VOCABULARIES = (
    ({}, ()),
    ({"A": {"B"}}, ()),
    ({"A": {"B"}, "B": {"C"}}, ()),
    ({"A": {"B", "C"}}, ()),
    ({"A": {"C"}}, (("B", "C"),)),
    ({}, (("A", "B"),)),
)
WHOLE_WORLD = tuple(float(n) for n in range(5))
REAL_WORLD = tuple(
    n / 2 for n in range(9)
)  # ends are whole numbers, so halves tell all stretches apart


def concepts(whole: bool, depth: int):
    numbers = st.integers(0, 4).map(float)
    between = st.builds(
        lambda a, b: Between("f", min(a, b), max(a, b), whole=whole), numbers, numbers
    )
    base = st.builds(NamedClass, st.sampled_from(CLASSES)) | between
    if depth:
        base |= st.builds(Some, st.just("R"), concepts(whole, depth - 1))
    parts = st.lists(base, min_size=1, max_size=3).map(tuple)
    joined = base | st.builds(And, parts)
    return joined | st.builds(Or, st.lists(joined, min_size=1, max_size=3).map(tuple))


@cache
def world(vocabulary: int, whole: bool):
    parents, apart = VOCABULARIES[vocabulary]
    above = {name: frozenset(classes) for name, classes in parents.items()}
    pairs = frozenset(frozenset(pair) for pair in apart)
    return list(individuals(CLASSES, above, pairs, WHOLE_WORLD if whole else REAL_WORLD, 1))


@pytest.mark.slow
@settings(max_examples=80)
@given(
    vocabulary=st.integers(0, len(VOCABULARIES) - 1),
    pair=st.booleans().flatmap(
        lambda whole: st.tuples(st.just(whole), concepts(whole, 1), concepts(whole, 1))
    ),
)
def test_the_same_as_trying_every_individual(vocabulary, pair):
    whole, special, general = pair
    parents, apart = VOCABULARIES[vocabulary]
    words = Vocabulary({}).extended(parents, apart)
    assert subsumes(general, special, words) == subsumed(special, general, world(vocabulary, whole))


@given(concepts(True, 1), st.integers(0, len(VOCABULARIES) - 1))
def test_everything_lies_within_itself(concept, vocabulary):
    words = Vocabulary({}).extended(*VOCABULARIES[vocabulary])
    assert subsumes(concept, concept, words)


def between(low: float, high: float, *, whole: bool = True) -> Concept:
    return Between("f", low, high, whole=whole)


def test_intervals_side_by_side_cover_whole_numbers_only():
    parts = Or((between(0, 5), between(6, 9)))
    assert subsumes(parts, between(0, 9), built_in())
    real = Or((between(0, 5, whole=False), between(6, 9, whole=False)))
    assert not subsumes(real, between(0, 9, whole=False), built_in())
    assert subsumes(
        Or((between(0, 6, whole=False), between(6, 9, whole=False))),
        between(0, 9, whole=False),
        built_in(),
    )


def test_functional_properties_are_merged():
    twice = And((Some("R", NamedClass("A")), Some("R", NamedClass("B"))))
    assert subsumes(Some("R", And((NamedClass("A"), NamedClass("B")))), twice, Vocabulary({}))


def test_what_contradicts_itself_describes_nothing():
    words = Vocabulary({}).extended({}, [("A", "B")])
    nothing = Some("R", And((NamedClass("A"), NamedClass("B"))))
    assert list(simple_parts(nothing, words)) == []
    assert list(simple_parts(And((between(0, 1), between(2, 3))), words)) == []
    assert subsumes(NamedClass("C"), nothing, words)
    answer = decide(nothing, NamedClass("C"), words)
    assert not answer and "contradicts itself" in answer.reason


def test_unbounded_intervals():
    assert subsumes(between(10, math.inf), between(12, math.inf), built_in())
    assert not subsumes(between(10, math.inf), between(9, math.inf), built_in())
    assert not subsumes(between(10, 99), between(12, math.inf), built_in())
    assert subsumes(between(-math.inf, math.inf), between(12, math.inf), built_in())


def test_circles_in_a_vocabulary_end():
    words = Vocabulary({}).extended({"A": ["B"], "B": ["A"]})
    assert subsumes(NamedClass("A"), NamedClass("B"), words)


# --- G25: has_k as an interval in the direction that protects (S4-31)


def anonymous(k: int) -> Concept:
    return And(
        (NamedClass("Demographic"), NamedClass("kAnonymous"), Between("has_k", k, k, exact=True))
    )


@pytest.mark.parametrize(("k", "allowed"), [(12, True), (10, True), (9, False)])
def test_k_of_the_data_against_k_of_the_policy(k, allowed):
    answer = decide(anonymous(k), anonymous(10), built_in())
    assert bool(answer) is allowed
    if not allowed:
        assert answer.reason == "has_k is 9, allowed is 10 to ∞"


def test_exact_values_on_both_sides_would_refuse_better_data():
    assert not subsumes(anonymous(10), anonymous(12), built_in())


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("has_k", 0.3, math.inf),
        ("has_l", 0.3, math.inf),
        ("has_t", 0, 0.3),
        ("has_epsilon", 0, 0.3),
        ("other", 0.3, 0.3),
    ],
)
def test_directions(name, low, high):
    assert as_policy(Between(name, 0.3, 0.3, exact=True)) == Between(name, low, high)


# --- reasons


def use(purpose: str, recipient: str, days: int) -> Concept:
    storage = Some("hasStorage", Between("durationInDays", 0, days))
    return And(
        (
            Some("hasPurpose", NamedClass(purpose)),
            Some("hasRecipient", NamedClass(recipient)),
            storage,
        )
    )


def test_the_first_reason_follows_the_order_of_the_core_model():
    consent = use("dpv:ResearchAndDevelopment", "dpv:Organisation", 365)
    words = built_in()
    assert decide(use("dpv:AcademicResearch", "dpv:PublicBody", 30), consent, words)
    both = decide(use("dpv:Marketing", "dpv:ThirdParty", 500), consent, words)
    assert both.reason == "hasPurpose: dpv:Marketing is not dpv:ResearchAndDevelopment"
    late = decide(use("dpv:AcademicResearch", "dpv:PublicBody", 500), consent, words)
    assert late.reason.startswith("hasStorage: durationInDays is") and late.reason.endswith(
        "allowed is 0 to 365"
    )


def test_the_nearest_of_several_permissions_gives_the_reason():
    consent = Or(
        (
            use("dpv:Marketing", "dpv:Organisation", 1),
            use("dpv:ResearchAndDevelopment", "dpv:Organisation", 30),
        )
    )
    answer = decide(use("dpv:AcademicResearch", "dpv:PublicBody", 365), consent, built_in())
    assert "durationInDays" in answer.reason


def test_what_is_not_said_is_not_allowed():
    answer = decide(
        Some("hasPurpose", NamedClass("dpv:Marketing")),
        use("dpv:Marketing", "dpv:Organisation", 1),
        built_in(),
    )
    assert answer.reason == "hasStorage is missing"


@pytest.mark.slow
def test_size_is_bounded():
    wide = And(tuple(Or((NamedClass(f"A{i}"), NamedClass(f"B{i}"))) for i in range(30)))
    with pytest.raises(ParameterError, match="alternatives"):
        subsumes(NamedClass("A"), wide, built_in())
    ends = Or(tuple(And(tuple(Between(f"f{j}", i, i + 1) for j in range(8))) for i in range(20)))
    with pytest.raises(ParameterError, match="parts"):
        subsumes(ends, And(tuple(Between(f"f{j}", 0, 100) for j in range(8))), built_in())
