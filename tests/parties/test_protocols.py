"""Adding together: who leaves, who sends nonsense, what each sees."""

from __future__ import annotations

import asyncio
import os

import numpy as np
import pytest

from sfumato.errors import PartyLeft
from sfumato.parties.channel import Network, Phase
from sfumato.parties.encrypted_sum import EncryptedSum
from sfumato.parties.protocols import Additive, Shamir


def everybody(parties, protocol, *, keep=False):
    network = Network(parties, keep=keep)

    async def run():
        channels = [network.channel(i) for i in range(parties)]
        return await asyncio.gather(*map(protocol, channels), return_exceptions=True)

    return asyncio.run(run()), network


VALUES = [[5, -7, 2**40], [0, 1, 1], [10, 10, -(2**41)], [3, 3, 3]]
SUMS = [18, 7, 4 - 2**40]


@pytest.mark.parametrize(
    "way", [Additive(), Shamir(), Shamir(3), EncryptedSum(0, 1), EncryptedSum(3, 2)]
)
def test_everybody_gets_the_sums(way):
    if way.name == "encrypted":
        pytest.importorskip("tenseal")

    async def add(channel):
        total = await way.total(channel, np.array(VALUES[channel.number]), 2**50, os.urandom)
        return total.tolist(), channel.public.hexdigest(), channel.sent

    answers, _ = everybody(4, add)
    assert [total for total, _, _ in answers] == [SUMS] * 4
    assert len({digest for _, digest, _ in answers}) == 1
    assert max(sent for _, _, sent in answers) <= way.cost(4, 3, 2**50).sent


def test_who_leaves_between_sharing_and_opening():
    async def add(channel, way):
        if channel.number == 3:
            shares = dict.fromkeys(
                channel.others, b"\x00" * (2 * 12 if way.name == "shamir" else 24)
            )
            await channel.exchange(Phase.SHARE, shares, {})
            return await channel.close()
        return (
            await way.total(channel, np.array(VALUES[channel.number]), 2**50, os.urandom)
        ).tolist()

    for way in (Additive(), Shamir(1)):
        answers, _ = everybody(4, lambda channel, way=way: add(channel, way))
        assert all(isinstance(answer, PartyLeft) and answer.party == 3 for answer in answers[:3])
    answers, _ = everybody(4, lambda channel: add(channel, Shamir(1, dropout=True)))
    assert answers[:3] == [[15, 4, 1 - 2**40]] * 3  # what it shared, zeros, is in the sum


def chi_square(words, cells=64):
    counts = np.bincount((words >> np.uint64(25)).astype(np.int64), minlength=cells)
    return float(((counts - len(words) / cells) ** 2 / (len(words) / cells)).sum())


@pytest.mark.parametrize("inputs", [[0, 0, 0, 0], [10**6, -5, 77, 123456]])
def test_what_a_coalition_sees_before_the_end_is_uniform_whatever_the_others_hold(inputs):
    """Two of four with Shamir's degree 2: shares they receive, and together also their joint
    distribution with each other.

    160 is exceeded with a probability below 1e-9 (63 degrees of freedom).
    """

    async def add(channel):
        own = np.full(6400, inputs[channel.number])
        return await Shamir(2).total(channel, own, 2**28, os.urandom)

    _, network = everybody(4, add, keep=True)
    for sender in (2, 3):
        seen = [
            np.frombuffer(m, dtype="<u4").astype(np.uint64)
            for member in (0, 1)
            for phase, who, m in network.views[member]
            if who == sender and phase is Phase.SHARE
        ]
        assert chi_square(seen[0]) < 160 and chi_square(seen[1]) < 160
        assert chi_square((seen[0] + seen[1]) % np.uint64(2**31)) < 160


@pytest.mark.parametrize("degree", [1, 2])
def test_the_view_of_a_coalition_is_simulated_from_its_inputs_and_the_sum(degree):
    """Given the sum and the coalition's shares, everything it is sent at the opening is determined:
    no more is learned.

    The polynomial of the sum has the given degree, so its value at 0 and the coalition's own points
    fix all others.
    """
    from sfumato.parties.sharing import Field

    async def add(channel):
        return await Shamir(degree).total(
            channel, np.array([channel.number * 11 + 1]), 2**28, os.urandom
        )

    answers, network = everybody(4, add, keep=True)
    field, coalition = Field(), list(range(degree))
    total = int(answers[0][0])
    said = {}
    for member in (0, 3):
        said |= {
            who: int(np.frombuffer(m, "<u4")[0])
            for phase, who, m in network.views[member]
            if phase is Phase.OPEN
        }
    for outsider in range(degree, 4):
        points = {**{m + 1: said[m] for m in coalition}, 0: total % field.modulus}
        assert lagrange(points, outsider + 1, field.modulus) == said[outsider]


def lagrange(points, at, p):
    value = 0
    for x, y in points.items():
        weight = 1
        for z in points:
            if z != x:
                weight = weight * (at - z) * pow(x - z, -1, p) % p
        value = (value + y * weight) % p
    return value
