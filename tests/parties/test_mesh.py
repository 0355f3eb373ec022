"""The mesh between parties in one process: real sockets and certificates, and everything that can
be wrong with them.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import socket

import numpy as np
import pytest

from sfumato.errors import (
    Declined,
    ParameterError,
    PartyError,
    PartyLeft,
    PartyMissing,
    WrongCertificate,
    WrongMessage,
)
from sfumato.parties.channel import Phase
from sfumato.parties.keys import new_keys
from sfumato.parties.mesh import HEAD, Mesh, MeshLimits, Peer
from tests.parties.patient import run as run_patiently

QUICK = MeshLimits(connect=20, step=20, total=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Keys of four parties, one stranger, and one whose certificate has expired."""
    home = tmp_path_factory.mktemp("keys")
    for i in range(4):
        new_keys(home, f"p{i}")
    new_keys(home, "stranger")
    new_keys(home, "expired", days=1, now=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    return home


def keys_of(folder, name):
    from sfumato.parties.keys import Keys

    return Keys(folder, name)


def free_ports(count):
    """Ports that nobody uses: the system names them, all held until all are named."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def peers_of(folder, names):
    return [
        Peer(name, "127.0.0.1", port, keys_of(folder, name).der())
        for name, port in zip(names, free_ports(len(names)), strict=True)
    ]


def meet(folder, script, *, names=("p0", "p1", "p2"), shown=None, limits=QUICK):
    """Run a script for every party over a mesh; results or errors, by party. ``shown`` are the keys
    really used.
    """
    peers = peers_of(folder, names)

    async def one(number):
        used = keys_of(folder, (shown or {}).get(number, names[number]))
        mine = list(peers)
        mine[number] = Peer(names[number], peers[number].host, peers[number].port, used.der())
        mesh = await Mesh.open(number, mine, used, limits)
        try:
            result = await script(mesh)
        except Exception as error:
            await mesh.close(error if isinstance(error, PartyError) else None)
            raise
        await mesh.close()
        return result

    async def everyone():
        return await asyncio.gather(*(one(i) for i in range(len(names))), return_exceptions=True)

    return run_patiently(everyone())


def test_everybody_hears_everybody(folder):
    async def script(mesh):
        heard = await mesh.exchange(
            Phase.SHARE,
            {i: b"%d to %d" % (mesh.number, i) for i in mesh.others},
            dict.fromkeys(mesh.others, 6),
        )
        said = await mesh.broadcast(Phase.OPEN, bytes([mesh.number]), 1)
        return heard, said, mesh.public.hexdigest(), mesh.sent, mesh.messages

    results = meet(folder, script, names=("p0", "p1", "p2", "p3"))
    for number, (heard, said, public, sent, messages) in enumerate(results):
        assert heard == {i: b"%d to %d" % (i, number) for i in range(4) if i != number}
        assert said == {i: bytes([i]) for i in range(4)}
        assert (public, sent, messages) == (results[0][2], 3 * 6 + 3, 6)


def test_large_messages_both_ways_do_not_block(folder):
    """More than any socket holds, sent by everybody to everybody at once."""
    size = 6 << 20

    async def script(mesh):
        message = np.full(size, mesh.number, dtype=np.uint8).tobytes()
        heard = await mesh.exchange(
            Phase.SHARE, dict.fromkeys(mesh.others, message), dict.fromkeys(mesh.others, size)
        )
        return all(set(heard[i][:: 1 << 16]) == {i} and len(heard[i]) == size for i in mesh.others)

    assert meet(folder, script) == [True, True, True]


def test_an_empty_message_is_a_message(folder):
    async def script(mesh):
        return await mesh.exchange(
            Phase.SHARE, dict.fromkeys(mesh.others, b""), dict.fromkeys(mesh.others, 0)
        )

    assert meet(folder, script)[0] == {1: b"", 2: b""}


def test_who_leaves_is_named_with_the_phase(folder):
    async def script(mesh):
        if mesh.number == 1:
            return None
        return await mesh.broadcast(Phase.PRODUCTS, b"x", 1)

    gone, _, other = meet(folder, script)
    assert isinstance(gone, PartyLeft)
    assert isinstance(other, PartyLeft)
    assert (gone.party, other.party, gone.phase) == (1, 1, "products")


def test_who_leaves_may_be_left_out_where_that_is_allowed(folder):
    async def script(mesh):
        if mesh.number == 2:
            return None
        first = await mesh.broadcast(Phase.OPEN, b"x", 1, missing="allow")
        return first, await mesh.broadcast(Phase.OPEN, b"y", 1, missing="allow")

    assert meet(folder, script)[:2] == [({0: b"x", 1: b"x"}, {0: b"y", 1: b"y"})] * 2


@pytest.mark.parametrize(
    "odd",
    [
        HEAD.pack(bytes(16), Phase.OPEN, 0, 4) + b"abcd",
        HEAD.pack(bytes(16), Phase.SHARE, 1, 4) + b"abcd",
        HEAD.pack(bytes(16), Phase.SHARE, 0, 1 << 60),
        HEAD.pack(b"another session!", Phase.SHARE, 0, 4) + b"abcd",
        b"\xff" * 64,
    ],
    ids=["phase", "sequence", "length", "session", "garbage"],
)
def test_what_does_not_fit_is_refused_before_it_is_read(folder, odd):
    async def script(mesh):
        if mesh.number == 0:
            for line in mesh._lines.values():
                line.writer.write(odd)
            with contextlib.suppress(PartyLeft, WrongMessage):
                await mesh.broadcast(Phase.SHARE, b"abcd", 4)
            return None
        return await mesh.broadcast(Phase.SHARE, b"abcd", 4)

    _, one, other = meet(folder, script)
    for error in (one, other):
        assert isinstance(error, WrongMessage)
        assert (error.party, error.phase) == (0, "share")


def test_who_declines_gives_no_reason(folder):
    async def script(mesh):
        if mesh.number == 1:
            await mesh.close(Declined("too few of our own", party=1))
            return None
        return await mesh.broadcast(Phase.HELLO, b"x", 1)

    one, _, other = meet(folder, script)
    for error in (one, other):
        assert isinstance(error, Declined)
        assert error.party == 1
        assert "few" not in str(error)


def test_who_is_silent_is_missing(folder):
    async def script(mesh):
        if mesh.number == 1:
            with contextlib.suppress(PartyLeft, PartyMissing):
                await mesh.exchange(Phase.SHARE, {}, {0: 1})
            return None
        return await mesh.exchange(Phase.SHARE, {}, {1: 1})

    results = meet(folder, script, limits=MeshLimits(connect=20, step=1, total=60))
    assert isinstance(results[0], PartyMissing)
    assert results[0].party == 1


def test_who_does_not_come_is_missing(folder):
    peers = peers_of(folder, ("p0", "p1", "p2"))

    async def run():
        limits = MeshLimits(connect=1, step=5, total=10)
        return await asyncio.gather(
            *(Mesh.open(i, peers, keys_of(folder, f"p{i}"), limits) for i in (0, 2)),
            return_exceptions=True,
        )

    for error in run_patiently(run()):
        assert isinstance(error, PartyMissing)
        assert error.party == 1


@pytest.mark.parametrize(("hasty", "late"), [(0, 2), (2, 0)])
def test_who_gave_up_while_others_wait_can_come_back(folder, monkeypatch, hasty, late):
    """Whether it dials or is dialled: the one that has waited all the time takes its new line."""
    peers = peers_of(folder, ("p0", "p1", "p2"))

    def opened(number, connect=60):
        return Mesh.open(
            number,
            peers,
            keys_of(folder, f"p{number}"),
            MeshLimits(connect=connect, step=30, total=120),
        )

    came, joined = [], Mesh.joined

    def noted(mesh, party, line):
        joined(mesh, party, line)
        came.append((mesh.number, party))

    monkeypatch.setattr(Mesh, "joined", noted)

    async def run():
        patient = asyncio.ensure_future(opened(1))
        with pytest.raises(PartyMissing):
            await opened(hasty, connect=1)
        back = asyncio.ensure_future(opened(hasty))
        while came.count((1, hasty)) < 2:
            await asyncio.sleep(0.01)
        meshes = await asyncio.gather(patient, back, opened(late))
        heard = await asyncio.gather(
            *(mesh.broadcast(Phase.HELLO, bytes([mesh.number]), 1) for mesh in meshes)
        )
        await asyncio.gather(*(mesh.close() for mesh in meshes))
        return heard

    assert run_patiently(run()) == [{i: bytes([i]) for i in range(3)}] * 3


@pytest.mark.parametrize("number", [0, 2])
def test_an_expired_certificate_is_refused(folder, number):
    """Whether its owner dials or waits; the study itself names the certificate."""

    async def script(mesh):
        return "never"

    names = [f"p{i}" for i in range(3)]
    names[number] = "expired"
    results = meet(folder, script, names=names, limits=MeshLimits(connect=2, step=5, total=10))
    assert all(isinstance(error, WrongCertificate | PartyMissing) for error in results)
    assert any(
        isinstance(error, WrongCertificate) and error.party == number
        for i, error in enumerate(results)
        if i != number
    )


@pytest.mark.parametrize(("number", "shown"), [(0, "stranger"), (2, "p1")])
def test_nobody_comes_with_the_certificate_of_another(folder, number, shown):
    async def script(mesh):
        return "never"

    results = meet(
        folder, script, shown={number: shown}, limits=MeshLimits(connect=2, step=5, total=10)
    )
    assert all(
        isinstance(error, WrongCertificate | PartyMissing | WrongMessage) for error in results
    )


def test_own_keys_must_be_those_of_the_study(folder):
    peers = peers_of(folder, ("p0", "p1", "p2"))

    async def run():
        await Mesh.open(0, peers, keys_of(folder, "stranger"), QUICK)

    with pytest.raises(WrongCertificate, match="not the certificate of the study"):
        run_patiently(run())


def test_the_study_limits_the_bytes(folder):
    async def script(mesh):
        return await mesh.broadcast(Phase.SHARE, bytes(1000), 1000)

    results = meet(folder, script, limits=MeshLimits(connect=20, step=20, total=60, bytes=3999))
    assert all(isinstance(error, ParameterError) for error in results)
