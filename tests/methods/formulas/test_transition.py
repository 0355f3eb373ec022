"""Transition matrices: invariance, ε of local differential privacy, and frequencies estimated
back.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.transition import (
    checked_matrix,
    direct_invariant,
    estimate_frequencies,
    local_epsilon,
    two_stage_invariant,
    uniform_matrix,
)
from tests.oracles import exchange as oracle

P = (0.5, 0.3, 0.2)
MATRIX = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]

positive = st.floats(0.01, 1)


@st.composite
def chances(draw):
    """Shares and a matrix of the same size."""
    m = draw(st.integers(1, 5))
    rows = draw(
        st.lists(st.lists(positive, min_size=m, max_size=m), min_size=m + 1, max_size=m + 1)
    )
    scaled = [[x / sum(row) for x in row] for row in rows]
    return scaled[0], scaled[1:]


def test_two_stage_worked_numbers():
    # worked numbers G37, recomputed to six digits
    expected = [
        [0.707292, 0.180625, 0.112083],
        [0.301042, 0.499375, 0.199583],
        [0.280208, 0.299375, 0.420417],
    ]
    assert two_stage_invariant(MATRIX, P) == pytest.approx(np.array(expected), abs=1e-6)


def test_direct_worked_numbers():
    # worked numbers G37
    expected = [[0.8, 0.1, 0.1], [1 / 6, 2 / 3, 1 / 6], [0.25, 0.25, 0.5]]
    assert direct_invariant(P, 0.5) == pytest.approx(np.array(expected), abs=1e-12)


@given(chances(), st.floats(0.01, 1))
def test_both_invariants_keep_the_shares_and_equal_their_definitions(chance, strength):
    p, matrix = chance
    two, direct = two_stage_invariant(matrix, p, strength), direct_invariant(p, strength)
    for found in (two, direct):
        assert np.array(p) @ found == pytest.approx(np.array(p), abs=1e-12)
        checked_matrix(found)
    damped = strength * np.array(oracle.two_stage(p, matrix)) + (1 - strength) * np.eye(len(p))
    assert two == pytest.approx(damped, abs=1e-12)
    if len(p) > 1:
        assert direct == pytest.approx(np.array(oracle.direct(p, strength)), abs=1e-12)


def test_values_that_do_not_occur_break_nothing():
    found = two_stage_invariant([[0.9, 0, 0.1], [0, 1, 0], [0.2, 0, 0.8]], [0.5, 0, 0.5])
    assert np.array([0.5, 0, 0.5]) @ found == pytest.approx(np.array([0.5, 0, 0.5]))
    assert found[1].tolist() == [0, 1, 0]
    with pytest.raises(ParameterError, match="all occur"):
        direct_invariant([0.5, 0, 0.5], 0.5)


@given(chances())
def test_epsilon_by_its_definition(chance):
    _, matrix = chance
    m = range(len(matrix))
    ratio = max(matrix[i][j] / matrix[k][j] for j in m for i in m for k in m)
    assert local_epsilon(matrix) == pytest.approx(math.log(ratio), abs=1e-9)


def test_epsilon_of_randomised_response():
    # Warner's coin: the truth with probability 3/4 gives e^ε = 3
    assert local_epsilon(uniform_matrix(2, 0.75)) == pytest.approx(math.log(3))
    assert local_epsilon([[1.0]]) == 0
    assert local_epsilon([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]) == 0
    assert local_epsilon(np.eye(2)) == math.inf


@given(chances(), st.integers(1, 10**6))
def test_what_was_randomised_exactly_is_estimated_back(chance, n):
    p, matrix = chance
    if np.linalg.cond(np.array(matrix)) > 1e6:
        return
    found = estimate_frequencies(n * np.array(p) @ np.array(matrix), matrix)
    assert found == pytest.approx(n * np.array(p), rel=1e-6, abs=1e-6 * n)


@pytest.mark.parametrize(
    ("matrix", "told"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "add up to 1; 1 of 2 do not"),
        ([[1.5, -0.5], [0.5, 0.5]], "negative"),
        ([[float("nan"), 1], [0, 1]], "negative or missing"),
        ([[0.5, 0.5]], "square"),
        ([], "square"),
        ([[1, 0], [1]], "must hold numbers"),
        ([["a"]], "must hold numbers"),
    ],
)
def test_what_is_no_transition_matrix(matrix, told):
    with pytest.raises(ParameterError, match=told):
        checked_matrix(matrix)


def test_frequencies_that_cannot_be_estimated():
    with pytest.raises(ParameterError, match="erases"):
        estimate_frequencies([1, 1], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ParameterError, match="one count for each of the 2"):
        estimate_frequencies([1, 1, 1], [[0.5, 0.5], [0.4, 0.6]])
