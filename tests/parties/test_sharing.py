"""Shares: what comes together is what was cut, and what one holds alone says nothing."""

from __future__ import annotations

import asyncio
import os
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, PartyLeft, WrongMessage
from sfumato.parties.channel import Network, Phase
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


def run_all(network, protocol):
    async def everyone():
        return await asyncio.gather(*(protocol(network.channel(i)) for i in range(network.parties)))

    return asyncio.run(everyone())


def test_everybody_hears_the_same_and_has_the_same_digest():
    async def talk(channel):
        said = await channel.broadcast(Phase.OPEN, bytes([channel.number] * 3), 3)
        return said, channel.public.hexdigest(), channel.sent

    told = run_all(Network(3), talk)
    assert (
        told[0][0] == {0: b"\0\0\0", 1: b"\1\1\1", 2: b"\2\2\2"} and told[0] == told[1] == told[2]
    )
    assert told[0][2] == 6


def test_who_leaves_and_who_says_too_much_is_named():
    async def leave(channel):
        if channel.number == 2:
            return await channel.close()
        with pytest.raises(PartyLeft, match="party 2 left in phase 'share'"):
            await channel.broadcast(Phase.SHARE, b"x", 1)
        return None

    async def long(channel):
        if channel.number == 1:
            return await channel.exchange(Phase.SHARE, {0: b"four"}, {})
        with pytest.raises(WrongMessage, match="party 1"):
            await channel.exchange(Phase.SHARE, {}, {1: 3})
        return None

    run_all(Network(3), leave)
    run_all(Network(2), long)
