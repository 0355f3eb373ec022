"""Numbers of the tiers: classes, limits, sources, and which tier a context asks for."""

from __future__ import annotations

import itertools

import pytest

from sfumato.release.decision.tiers import (
    CLASS_SIZES,
    EPSILON_LIMITS,
    GRANTED,
    HARMS,
    SAFE_ROOM,
    SOURCES,
    Tier,
    class_size,
    harm_of,
    requested_tier,
    required_diversity,
    risk_limit,
    source_of,
)

# DOI-less guidance: see docs/explanation/decision.md for where each number was seen.
PUBLISHED = {
    Tier.PUBLICATION: (11, 15, 20),
    Tier.CONTRACT: (5, 5, 11),
    Tier.INTERNAL: (3, 5, 11),
}


def test_class_sizes_are_those_of_the_terms() -> None:
    for tier, sizes in PUBLISHED.items():
        assert tuple(class_size(tier, harm) for harm in HARMS) == sizes
    assert tuple(SAFE_ROOM[harm] for harm in HARMS) == (3, 3, 5)


def test_a_higher_tier_and_more_harm_never_ask_for_less() -> None:
    for higher, lower in itertools.pairwise(GRANTED):
        assert all(risk_limit(higher, harm) <= risk_limit(lower, harm) for harm in HARMS)
        assert EPSILON_LIMITS[higher] < EPSILON_LIMITS[lower]
    for tier in GRANTED:
        sizes = [class_size(tier, harm) for harm in HARMS]
        assert sizes == sorted(sizes)


def test_every_number_has_a_source_and_how_far_it_was_checked() -> None:
    for tier in GRANTED:
        for harm in HARMS:
            source = source_of(tier, harm)
            assert source.text
            assert source.checked in ("seen at the source", "secondary source")
            assert "memory" not in source.text
            if tier is not Tier.PUBLICATION:
                assert "our reading" in source.text
    assert set(SOURCES) == {k for sizes in CLASS_SIZES.values() for k in sizes.values()}


def test_ranks_letters_and_ladder() -> None:
    assert [tier.letter for tier in GRANTED] == ["P", "C", "I"]
    assert Tier.NONE.letter == "N"
    assert [tier.rank for tier in GRANTED] == [3, 2, 1]
    assert Tier.NONE.next_higher is Tier.INTERNAL
    assert Tier.PUBLICATION.next_higher is None
    assert all(tier.obligations and tier.headline and tier.meaning for tier in Tier)


@pytest.mark.parametrize(
    ("recipient", "contract", "tier"),
    [
        ("public", "yes", Tier.PUBLICATION),
        ("researchers", "no", Tier.PUBLICATION),
        ("internal", "unknown", Tier.PUBLICATION),
        ("researchers", "yes", Tier.CONTRACT),
        ("trusted", "yes", Tier.CONTRACT),
        ("internal", "yes", Tier.INTERNAL),
    ],
)
def test_whoever_is_not_bound_is_anybody(recipient: str, contract: str, tier: Tier) -> None:
    assert requested_tier(recipient, contract) is tier


def test_small_or_unknown_population_counts_a_step_worse() -> None:
    assert harm_of("low", None) == harm_of("low", 20_000) == "medium"
    assert harm_of("low", 20_001) == "low"
    assert harm_of("high", 10) == "high"
    assert harm_of("unknown", 10**9) == "high"


def test_a_column_of_two_values_cannot_have_three_in_a_class() -> None:
    assert [required_diversity("high", n) for n in (1, 2, 3, 40)] == [1, 2, 3, 3]
    assert [required_diversity("medium", n) for n in (1, 2, 3)] == [1, 2, 2]
