"""Shares: what comes together is what was cut, and what one holds alone says nothing."""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.parties.sharing import PRIMES, Field, Ring, fields_for, from_residues

numbers = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5)


@given(numbers, st.integers(2, 6))
def test_additive_shares_add_up(values, parties):
    shares = Ring().share(np.array(values), parties, os.urandom)
    again = [Ring().unpacked(Ring().packed(row)) for row in shares]
    assert Ring().joined(again).tolist() == values


@given(st.lists(st.integers(-(2**29), 2**29), min_size=1, max_size=5), st.data())
def test_any_parties_above_the_degree_know_the_secret(values, data):
    parties = data.draw(st.integers(2, 6))
    degree = data.draw(st.integers(1, parties - 1))
    field = Field(data.draw(st.sampled_from(PRIMES)))
    shares = field.share(np.array(values), parties, degree, os.urandom)
    for some in combinations(range(parties), degree + 1):
        told = {i: field.unpacked(field.packed(shares[i])) for i in some}
        assert field.signed(field.opened(told)).tolist() == values


@given(st.lists(st.integers(-(2**91), 2**91), min_size=1, max_size=5))
def test_residues_tell_wide_numbers(values):
    fields = fields_for(2**91 + 1)
    residues = [np.array([v % f.modulus for v in values], dtype=np.uint64) for f in fields]
    assert from_residues(fields, residues).tolist() == values


def test_ranges_and_degrees_are_checked():
    with pytest.raises(ParameterError, match="range"):
        fields_for(2**92)
    with pytest.raises(ParameterError, match="protect"):
        Field().share(np.array([1]), 2, 0, os.urandom)


def chi_square(samples, cells):
    counts = np.bincount(samples, minlength=cells)
    expected = len(samples) / cells
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("secret", [0, 1, 12345])
def test_a_share_is_uniform_whatever_the_secret(secret):
    """64 cells: a fair share exceeds 160 with probability below 1e-9 (63 degrees of freedom)."""
    values = np.full(64_000, secret)
    for row in Ring().share(values, 3, os.urandom):
        assert chi_square((row >> np.uint64(58)).astype(np.int64), 64) < 160
    for row in Field().share(values, 3, 1, os.urandom):
        assert chi_square((row >> np.uint64(25)).astype(np.int64), 64) < 160
