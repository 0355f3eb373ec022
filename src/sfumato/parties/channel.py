"""How a party talks to the others, whatever carries the messages: all protocols are written for
this.

A protocol is one coroutine that every party runs. In a rehearsal all of them run in one process
over a :class:`Network`; for real, each runs on its own machine over the mesh. Nothing else differs.
"""

from __future__ import annotations

import abc
import asyncio
import enum
import hashlib
from collections.abc import Callable, Mapping
from typing import Literal

from sfumato.errors import Declined, InternalError, PartyError, PartyLeft, WrongMessage

SESSION = 16
"""Bytes that name a meeting."""

LINK = 8
"""Bytes that are kept of the digest after each broadcast: enough to find where two parties heard
different things.
"""

Missing = Literal["refuse", "allow"]


class Phase(enum.IntEnum):
    """What is going on when a message is sent; a failure names it."""

    HELLO = 1
    GATES = 2
    SHARE = 3
    PRODUCTS = 4
    OPEN = 5
    CONFIRM = 6


class Channel(abc.ABC):
    """One party's lines to all the others. Parties have the numbers 0, 1, … of the study.

    ``sent`` and ``messages`` count what went out. ``public`` is the digest of everything that was
    said to all, in an order on which all
    agree: where two parties have heard different things, it differs; ``chain`` has it after every
    broadcast. ``session`` marks every message after the hello, so that one of another meeting is
    not taken for one of this.
    """

    def __init__(self, number: int, parties: int) -> None:
        self.number = number
        self.parties = parties
        self.sent = 0
        self.messages = 0
        self.public = hashlib.sha256()
        self.chain: list[bytes] = []
        self.session = bytes(SESSION)
        self.before_opening: Callable[[bytes], None] | None = None

    @property
    def others(self) -> tuple[int, ...]:
        """The numbers of all parties but this one."""
        return tuple(i for i in range(self.parties) if i != self.number)

    async def exchange(
        self,
        phase: Phase,
        outgoing: Mapping[int, bytes],
        lengths: Mapping[int, int],
        *,
        missing: Missing = "refuse",
    ) -> dict[int, bytes]:
        """Send each receiver its message and wait for one of the given length from each party named
        in ``lengths``.

        Lengths are known beforehand: a message of another length is refused before it is read. Who
        has left is refused too, or with ``missing="allow"`` left out of the result; who sends what
        does not fit never is.
        """
        self.sent += sum(len(message) for message in outgoing.values())
        self.messages += len(outgoing)
        return await self._exchange(phase, outgoing, lengths, missing)

    async def broadcast(
        self,
        phase: Phase,
        payload: bytes,
        lengths: Mapping[int, int] | int,
        *,
        missing: Missing = "refuse",
    ) -> dict[int, bytes]:
        """Say the same to all and hear what all others say; one's own message is among the result.

        ``lengths`` is the length of every party's message, or one for each of the others. Where
        parties may be missing, one may have heard what another has not: such a broadcast does not
        enter the digest of what was said to all.
        """
        # noted at home before it leaves: afterwards others may know the answer
        if phase is Phase.OPEN and self.before_opening is not None:
            self.before_opening(payload)
        if isinstance(lengths, int):
            expected = dict.fromkeys(self.others, lengths)
        else:
            expected = dict(lengths)
        heard = await self.exchange(
            phase, dict.fromkeys(self.others, payload), expected, missing=missing
        )
        # by number: all parties hash the same messages in the same order
        messages = dict(sorted({**heard, self.number: payload}.items()))
        if missing == "allow":
            return messages
        for sender, message in messages.items():
            # lengths too, so that no byte can move from one message to the next
            self.public.update(b"%d %d %d\n" % (phase, sender, len(message)))
            self.public.update(message)
        self.chain.append(self.public.digest()[:LINK])
        return messages

    @abc.abstractmethod
    async def _exchange(
        self,
        phase: Phase,
        outgoing: Mapping[int, bytes],
        lengths: Mapping[int, int],
        missing: Missing,
    ) -> dict[int, bytes]:
        """Carry the messages."""

    # There may be nothing to close.
    async def close(self, why: PartyError | None = None) -> None:  # noqa: B027
        """Let the lines go; who waits for this party learns that it left, and what it found wrong
        with another one.
        """


_Carried = tuple[Phase, bytes] | type[Declined] | None


class Network:
    """Lines between parties in one process: for rehearsals and tests. ``views`` holds what every
    party received.
    """

    def __init__(self, parties: int, *, keep: bool = False) -> None:
        self.parties = parties
        self.views: list[list[tuple[Phase, int, bytes]]] | None = (
            [[] for _ in range(parties)] if keep else None
        )
        self._lines: dict[tuple[int, int], asyncio.Queue[_Carried]] = {}

    def channel(self, number: int) -> Channel:
        """The lines of one party."""
        return _Line(self, number)

    def line(self, sender: int, receiver: int) -> asyncio.Queue[_Carried]:
        """What one party has sent to another and it has not yet read; None says that the sender has
        left, Declined that it declines.
        """
        if sender == receiver:
            raise InternalError("a party needs no connection to itself")
        return self._lines.setdefault((sender, receiver), asyncio.Queue())


class _Line(Channel):
    def __init__(self, network: Network, number: int) -> None:
        super().__init__(number, network.parties)
        self._network = network

    async def _exchange(
        self,
        phase: Phase,
        outgoing: Mapping[int, bytes],
        lengths: Mapping[int, int],
        missing: Missing,
    ) -> dict[int, bytes]:
        # all are sent before anything is read: nobody waits for one who waits for him
        for receiver, message in outgoing.items():
            self._network.line(self.number, receiver).put_nowait((phase, message))
        arrived = {
            sender: await self._read(sender, phase, length, missing)
            for sender, length in lengths.items()
        }
        return {sender: message for sender, message in arrived.items() if message is not None}

    async def _read(self, sender: int, phase: Phase, length: int, missing: Missing) -> bytes | None:
        line = self._network.line(sender, self.number)
        arrived = await line.get()
        if arrived is None or not isinstance(arrived, tuple):
            line.put_nowait(arrived)  # whoever asks again hears the same
            if arrived is not None:
                raise arrived(
                    f"party {sender} declines to answer; nothing was answered", party=sender
                )
            if missing == "allow":
                return None
            raise PartyLeft(sender, phase.name.lower())
        if arrived[0] is not phase or len(arrived[1]) != length:
            raise WrongMessage(sender, phase.name.lower())
        if self._network.views is not None:
            self._network.views[self.number].append((phase, sender, arrived[1]))
        return arrived[1]

    async def close(self, why: PartyError | None = None) -> None:
        for receiver in self.others:
            self._network.line(self.number, receiver).put_nowait(
                Declined if isinstance(why, Declined) else None
            )
