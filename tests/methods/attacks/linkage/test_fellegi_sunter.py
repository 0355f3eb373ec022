"""Fellegi and Sunter's model of record linkage: what agreement is worth, estimated from patterns of
agreement."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.methods.attacks.linkage.fellegi_sunter import (
    NOTHING,
    Parameters,
    Patterns,
    decide,
    estimate,
    pattern_weights,
    probability,
    shares,
)


def two_columns(m, u, prior, pairs=1e6):
    levels = np.array(list(itertools.product([0, 3], repeat=len(m))))

    def chance(p):
        return np.where(levels == 3, p, 1 - np.array(p)).prod(axis=1)

    return Patterns(levels, pairs * (prior * chance(m) + (1 - prior) * chance(u)))


@settings(max_examples=10)
@given(
    m=st.lists(st.floats(0.8, 0.95), min_size=4, max_size=5),
    spread=st.floats(0.02, 0.12),
    prior=st.floats(0.05, 0.3),
)
def test_the_estimate_finds_what_made_the_counts(m, spread, prior):
    u = [spread * (1 + k / 10) for k in range(len(m))]
    found = estimate(two_columns(m, u, prior), 0.05)
    assert found.m[:, 3] == pytest.approx(m, abs=0.02)
    assert found.u[:, 3] == pytest.approx(u, abs=0.02)
    assert found.prior == pytest.approx(prior, abs=0.02)


def test_changed_places_are_put_back():
    # most pairs are matches: those that agree are the larger group
    found = estimate(two_columns([0.9, 0.9, 0.9], [0.1, 0.1, 0.1], 0.7), 0.9)
    assert (found.m[:, 3] > found.u[:, 3]).all()


def test_thresholds_by_hand():
    # one column, m = 0.9 and u = 0.01: agreeing is a link from μ = 0.01 on, differing a non-link
    # from λ = 0.1 on
    patterns = Patterns(np.array([[3], [0]]), np.array([1.0, 99.0]))
    found = Parameters(np.array([[0.1, 0, 0, 0.9]]), np.array([[0.99, 0, 0, 0.01]]), 0.01)
    assert pattern_weights(patterns, found) == pytest.approx([math.log2(90), math.log2(0.1 / 0.99)])
    assert decide(patterns, found, 0.02, 0.2).verdicts.tolist() == [1, -1]
    assert decide(patterns, found, 0.005, 0.05).verdicts.tolist() == [0, 0]
    assert decide(patterns, found, 0.005, 0.2).upper == math.inf
    assert decide(patterns, found, 0.02, 0.05).lower == -math.inf


@pytest.mark.slow
@given(
    m=st.lists(st.floats(0.6, 0.95), min_size=2, max_size=4),
    wrong=st.floats(1e-4, 0.9),
    missed=st.floats(1e-4, 0.9),
)
def test_both_error_probabilities_are_kept(m, wrong, missed):
    patterns = two_columns(m, [0.1] * len(m), 0.05)
    found = estimate(patterns, 0.05)
    verdict = decide(patterns, found, wrong, missed).verdicts
    assert probability(patterns, found.u)[verdict == 1].sum() <= wrong + 1e-9
    assert probability(patterns, found.m)[verdict == -1].sum() <= missed + 1e-9
    weights = pattern_weights(patterns, found)
    assert (
        weights[verdict == 1].min(initial=np.inf)
        >= weights[verdict == -1].max(initial=-np.inf) - 1e-9
    )


@pytest.mark.parametrize("room", [0, 1 << 23])
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 300))
def test_what_the_estimate_keeps_for_all_rounds_says_what_the_patterns_say(
    room, seed, columns, size
):
    rng = np.random.default_rng(seed)
    patterns = Patterns(
        rng.integers(0, NOTHING + 1, (size, columns)), rng.integers(1, 1000, size).astype(float)
    )
    weights, given_ = rng.random(size), rng.random((columns, NOTHING))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.methods.attacks.linkage.fellegi_sunter.ROOM", room)
        found, told = shares(patterns, weights), probability(patterns, given_)
    plain = np.stack([weights @ (patterns.levels == level) for level in range(NOTHING)], axis=1)
    plain = plain / np.maximum(plain.sum(axis=1, keepdims=True), 1e-300)
    occur = np.stack([(patterns.levels == level).any(axis=0) for level in range(NOTHING)], axis=1)
    assert (found == np.where(occur, np.clip(plain, 1e-6, 1 - 1e-6), 0.0)).all()
    nothing = patterns.counts @ (patterns.levels == NOTHING) / patterns.counts.sum()
    table = np.column_stack([given_ * (1 - nothing[:, None]), nothing])
    assert (told == table[np.arange(columns), patterns.levels].prod(axis=1)).all()
