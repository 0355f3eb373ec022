"""How a party talks to the others, whatever carries the messages: all protocols are written for
this."""

from __future__ import annotations

import asyncio

import pytest

from sfumato.errors import PartyLeft, WrongMessage
from sfumato.parties.channel import Network, Phase
from tests.parties.patient import run as run_patiently


def test_in_one_process_who_leaves_may_be_left_out_too():
    async def run():
        network = Network(3)
        await network.channel(2).close()
        lines = [network.channel(i) for i in range(2)]
        return await asyncio.gather(
            *(line.broadcast(Phase.OPEN, b"x", 1, missing="allow") for line in lines)
        )

    assert run_patiently(run()) == [{0: b"x", 1: b"x"}] * 2


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
