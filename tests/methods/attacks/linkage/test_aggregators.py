"""Families of distances that can be learned: all are linear in their parameters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.linkage import compute_terms
from sfumato.methods.attacks.linkage.aggregators import (
    CHOQUET,
    MEAN,
    ORDERED,
    PAIRWISE,
    SQUARE_FORM,
    Family,
)
from sfumato.methods.attacks.linkage.worst_case import parameter_bounds


def distance(kind, differences, parameters):
    roots = np.sqrt(np.array([differences], dtype=float))
    return float((compute_terms(kind, roots, len(parameters)) @ np.array(parameters))[0])


def symmetric(values):
    """A measure by the number of columns in a set."""
    return [([0.0, *values])[bin(s).count("1")] for s in range(1 << len(values))]


@pytest.mark.slow
def test_identities_of_the_families():
    # ALGORITHMS §3.2: x = (.4, .1, .9): WM(.5, .3, .2) = 0.41; symmetric μ = (.2, .5, 1) → 0.35
    x, weights = (0.4, 0.1, 0.9), np.array([0.5, 0.3, 0.2])
    assert distance(MEAN, x, weights) == pytest.approx(0.41)
    assert distance(CHOQUET, x, Family(CHOQUET, 3).of_weights(weights)) == pytest.approx(0.41)
    assert distance(PAIRWISE, x, Family(PAIRWISE, 3).of_weights(weights)) == pytest.approx(0.41)
    assert distance(SQUARE_FORM, x, Family(SQUARE_FORM, 3).of_weights(weights)) == pytest.approx(
        0.41
    )
    assert distance(CHOQUET, x, symmetric([0.2, 0.5, 1.0])) == pytest.approx(0.35)
    assert distance(ORDERED, x, [0.2, 0.3, 0.5]) == pytest.approx(0.35)


@given(x=st.lists(st.floats(0, 2), min_size=3, max_size=3), seed=st.integers(0, 999))
def test_a_measure_with_pairs_only_is_the_same_integral(x, seed):
    family = Family(PAIRWISE, 3)
    found = family.nearest_allowed(np.random.default_rng(seed).normal(size=6))
    m = family.matrix(found)
    measure = [
        sum(m[i, i] for i in range(3) if s >> i & 1)
        + sum(m[i, j] for i, j in itertools.combinations(range(3), 2) if s >> i & 1 and s >> j & 1)
        for s in range(8)
    ]
    assert distance(PAIRWISE, x, found) == pytest.approx(distance(CHOQUET, x, measure), abs=1e-9)
    assert family.importance(found) == pytest.approx(
        Family(CHOQUET, 3).importance(np.array(measure)), abs=1e-9
    )


@given(
    kind=st.sampled_from([MEAN, ORDERED, CHOQUET, PAIRWISE, SQUARE_FORM]),
    columns=st.integers(1, 4),
    seed=st.integers(0, 999),
)
def test_what_is_allowed_satisfies_the_rows_of_the_program(kind, columns, seed):
    from sfumato.methods.attacks.linkage.worst_case import extend_parameters

    family = Family(kind, columns)
    found = family.nearest_allowed(np.random.default_rng(seed).normal(size=family.width))
    low, high, rows, rows_low, rows_high = parameter_bounds(family)
    point = extend_parameters(family, found)
    assert (point >= low - 1e-9).all() and (point <= high + 1e-9).all()
    assert (rows @ point >= rows_low - 1e-9).all() and (rows @ point <= rows_high + 1e-9).all()
    if kind == SQUARE_FORM:
        assert np.linalg.eigvalsh(family.matrix(found)).min() >= -1e-9
    shares = family.importance(found)
    assert shares is None or shares.sum() == pytest.approx(1.0)
