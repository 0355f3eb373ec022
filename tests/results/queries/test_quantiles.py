"""Quantiles: the value of a public grid whose rank is nearest, chosen so that one person hardly
matters."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.budget import PrivacyLoss
from sfumato.core.declared import Relation
from sfumato.errors import ParameterError
from sfumato.results.queries.quantiles import chooser, exact_level, grid
from tests.oracles import private_queries as oracle

LEVELS = st.sampled_from([0.5, 0.25, 0.9])


TABLES = st.lists(st.integers(0, 4), max_size=6)


@given(TABLES, st.integers(0, 4), LEVELS, st.sampled_from([0.5, 1.0, 3.0]))
def test_a_quantile_is_private_exactly(values, person, level, epsilon):
    """Every candidate's probability with and without a person, computed, not sampled."""
    share, candidates = exact_level(level), [0, 1, 3]
    made = chooser(level, candidates, Relation(), PrivacyLoss.of(epsilon=epsilon), cells=1)
    without = oracle.noisy_best(oracle.quantile_scores(values, candidates, share), made.noise.scale)
    present = oracle.noisy_best(
        oracle.quantile_scores([*values, person], candidates, share), made.noise.scale
    )
    assert sum(without) == pytest.approx(1)
    for p, q in zip(without, present, strict=True):
        assert p <= math.exp(epsilon) * q + 1e-12
        assert q <= math.exp(epsilon) * p + 1e-12


@given(TABLES, st.integers(0, 4), st.integers(0, 4), LEVELS)
def test_a_quantile_is_private_when_one_row_changes(values, old, new, level):
    share, candidates = exact_level(level), [0, 1, 3]
    made = chooser(
        level, candidates, Relation(neighbours="change_one"), PrivacyLoss.of(epsilon=1.0), cells=1
    )
    before = oracle.noisy_best(
        oracle.quantile_scores([*values, old], candidates, share), made.noise.scale
    )
    after = oracle.noisy_best(
        oracle.quantile_scores([*values, new], candidates, share), made.noise.scale
    )
    assert all(p <= math.e * q + 1e-12 for p, q in zip(before, after, strict=True))


@given(st.lists(st.integers(-2, 12), max_size=12), LEVELS)
def test_scores_are_those_of_the_definition(values, level):
    made = chooser(level, grid((0.0, 10.0), 6), Relation(), PrivacyLoss.of(epsilon=1.0), cells=1)
    scores = oracle.quantile_scores(values, made.candidates, made.level)
    silent = np.zeros((1, 6), dtype=np.int64)
    rows = np.array(values, dtype=float)
    chosen = made.choose(rows, np.zeros(len(rows), dtype=np.int64), 1, silent)[0]
    assert chosen == made.candidates[int(np.argmin(scores))]


def test_the_rank_error_holds():
    """At most 5 % of the answers may be farther off; of 1,000 more than 95 are with a probability
    below 1e-8.
    """
    values = np.arange(200, dtype=float)
    made = chooser(0.5, grid((0.0, 199.0), 21), Relation(), PrivacyLoss.of(epsilon=0.5), cells=1)
    runs = 1000
    scores = np.array(oracle.quantile_scores(values, made.candidates, Fraction(1, 2)))
    drawn = made.draw(runs)
    lost = (scores[np.argmax(drawn - scores, axis=1)] - scores.min()) / 2
    assert np.sum(lost > made.rank_error(0.05)) <= 95


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, math.nan, "half", True, None, 1 / 3])
def test_wrong_levels(level):
    with pytest.raises(ParameterError, match="level"):
        exact_level(level)


@pytest.mark.parametrize(
    "candidates", [1, 0, -3, True, "abc", [], [11.0], [math.nan], [True], None, 2.5]
)
def test_wrong_candidates(candidates):
    with pytest.raises(ParameterError, match=r"candidates|grid"):
        grid((0.0, 10.0), candidates)


def test_grids_are_sorted_and_end_at_the_bounds():
    made = grid((-1e308, 1e308), 5)
    assert made[0] == -1e308 and made[-1] == 1e308 and all(a < b for a, b in pairwise(made))
