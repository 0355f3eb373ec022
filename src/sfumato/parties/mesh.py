"""The mesh: a line of TLS 1.3 between every two parties, each knowing the other by the certificate
of the signed study.

The party with the lower number dials. There is no authority: trusted are the study's certificates,
and beyond that the SHA-256 of what the other side shows must be that of the party who is meant. In
TLS 1.3 a client whose certificate is refused sees a finished handshake first, so a line counts only
when both sides have greeted.

A frame is session (16 bytes) ‖ phase (1) ‖ sequence (4) ‖ length (8) ‖ payload. Every length is
known before it comes, and compared before anything is read; every wait has an end. Phase 0 is
a stop: two bytes that say why a party leaves and of whom it complains.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import ssl
import struct
from collections.abc import Coroutine, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.errors import (
    Declined,
    Disagreement,
    ParameterError,
    PartyError,
    PartyLeft,
    PartyMissing,
    WrongCertificate,
    WrongMessage,
    WrongStudy,
)
from sfumato.parties.channel import SESSION, Channel, Missing, Phase
from sfumato.parties.keys import Keys

GREETING = b"sfumato mesh 1\n"
# big-endian and without gaps, as the frame is described above
HEAD = struct.Struct(f">{SESSION}sBIQ")
CHUNK = 1 << 20
"""Bytes that are handed to a line at once: 2¹⁸ cells of four."""
STOP = 0
# the position is what a stop sends: new reasons go to the end
REASONS: tuple[type[PartyError], ...] = (
    PartyError,
    Declined,
    WrongStudy,
    WrongMessage,
    WrongCertificate,
    PartyMissing,
    PartyLeft,
    Disagreement,
)
# fits into one byte, and no party has it: a study has at most 64
NOBODY = 255
GRACE = 0.3
"""Seconds in which, after a failure, the others may say what it was."""
LINGER = 1.0
WELCOMED_AT_ONCE = 32
HANDSHAKE = 10.0
"""Seconds for a handshake, so that strangers who say nothing do not keep parties out."""


@parameters
class MeshLimits:
    """How long anything may take, and how much a party sends and takes in all."""

    connect: Annotated[int, Field(ge=1, description="seconds to wait for all parties")] = 60
    step: Annotated[int, Field(ge=1, description="seconds for one message")] = 60
    total: Annotated[int, Field(ge=1, description="seconds in all")] = 3600
    bytes: Annotated[int, Field(ge=1, description="bytes sent and received in all")] = 4_000_000_000


@dataclasses.dataclass(frozen=True)
class Peer:
    """A party as the study names it: where it listens and the certificate (DER) it shows."""

    name: str
    host: str
    port: int
    certificate: bytes


@dataclasses.dataclass
class _Line:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sent: int = 0
    heard: int = 0
    left: bool = False


class Mesh(Channel):
    """The lines of one party over TCP. Made by :meth:`open`."""

    def __init__(self, number: int, peers: Sequence[Peer], limits: MeshLimits) -> None:
        super().__init__(number, len(peers))
        self.peers = tuple(peers)
        self.limits = limits
        self._lines: dict[int, _Line] = {}
        self._carried = 0
        self._ends = asyncio.get_running_loop().time() + limits.total

    @classmethod
    async def open(cls, number: int, peers: Sequence[Peer], keys: Keys, limits: MeshLimits) -> Mesh:
        """Wait until every party has come; what is wrong with one of them is told to the others."""
        if keys.der() != peers[number].certificate:
            raise WrongCertificate(
                f"{keys.certificate} is not the certificate of the study", party=number
            )
        mesh = cls(number, peers, limits)
        try:
            await _Meeting(mesh, keys).gathered()
        except PartyError as error:
            await mesh.close(error)
            raise
        except BaseException:
            await mesh.close()
            raise
        return mesh

    def joined(self, party: int, line: _Line) -> None:
        """Another party is there, or there again: only who has lost its line makes another."""
        if party in self._lines:
            self._lines[party].writer.close()
        self._lines[party] = line

    @property
    def there(self) -> frozenset[int]:
        """The parties that have come."""
        return frozenset(self._lines)

    async def _exchange(
        self,
        phase: Phase,
        outgoing: Mapping[int, bytes],
        lengths: Mapping[int, int],
        missing: Missing,
    ) -> dict[int, bytes]:
        # both directions, before anything is sent: the lengths are known
        self._carried += sum(map(len, outgoing.values())) + sum(lengths.values())
        if self._carried > self.limits.bytes:
            raise ParameterError(
                f"this needs more than the {self.limits.bytes:,} bytes that the study allows; raise"
                " limits.bytes in a new study"
            )
        allow = missing == "allow"
        sending = [self._send(to, phase, message) for to, message in outgoing.items()]
        reading = {
            sender: self._receive(sender, phase, length) for sender, length in lengths.items()
        }
        got = await _all_of(
            [_tolerant(task, allow=allow) for task in (*sending, *reading.values())]
        )
        # results stand in the order of the work: those of sending first, then the messages
        arrived = dict(zip(reading, got[len(sending) :], strict=True))
        return {sender: message for sender, message in arrived.items() if message is not None}

    async def _send(self, to: int, phase: Phase, message: bytes) -> bytes:
        line = self._line(to, phase)
        # frames are counted on each line, so that one left out or repeated does not fit
        head = HEAD.pack(self.session, phase, line.sent, len(message))
        line.sent += 1
        view = memoryview(message)
        try:
            line.writer.write(head)
            for start in range(0, max(len(view), 1), CHUNK):
                line.writer.write(view[start : start + CHUNK])
                await self._limited(line.writer.drain())
        except (OSError, TimeoutError) as error:
            raise self._lost(to, phase, error) from None
        return b""

    async def _receive(self, sender: int, phase: Phase, length: int) -> bytes:
        line = self._line(sender, phase)
        try:
            head = await self._limited(line.reader.readexactly(HEAD.size))
            session, kind, sequence, announced = HEAD.unpack(head)
            # a stop may stand where any message is awaited, and who leaves early has no session yet
            if kind == STOP and announced == 2:
                raise self._stopped(sender, phase, await self._limited(line.reader.readexactly(2)))
            # compared before the payload is read: nobody can make us take more than was agreed
            if (session, kind, sequence, announced) != (self.session, phase, line.heard, length):
                raise WrongMessage(sender, phase.name.lower())
            line.heard += 1
            message = bytearray()
            while len(message) < length:
                message += await self._limited(
                    line.reader.readexactly(min(CHUNK, length - len(message)))
                )
        except (OSError, EOFError, TimeoutError) as error:
            raise self._lost(sender, phase, error) from None
        return bytes(message)

    def _line(self, party: int, phase: Phase) -> _Line:
        line = self._lines[party]
        if line.left:
            raise PartyLeft(party, phase.name.lower())
        return line

    def _lost(self, party: int, phase: Phase, error: BaseException) -> PartyError:
        self._lines[party].left = True
        if isinstance(error, TimeoutError):
            return PartyMissing(
                f"party {party} was silent for too long in phase {phase.name.lower()!r}; nothing"
                " was answered, try again",
                party=party,
            )
        return PartyLeft(party, phase.name.lower())

    def _stopped(self, sender: int, phase: Phase, notice: bytes) -> PartyError:
        """What a party says when it leaves."""
        self._lines[sender].left = True
        # another version may send what this one does not know
        if notice[0] < len(REASONS):
            reason = REASONS[notice[0]]
        else:
            reason = PartyError
        accused = notice[1] if notice[1] < self.parties else sender
        if reason is Declined:
            return Declined(
                f"party {sender} declines to answer; nothing was answered", party=sender
            )
        # to us a complaint about ourselves is a matter of the one who complains
        about = sender if accused == self.number else accused
        if reason is PartyLeft or reason is WrongMessage:
            return (PartyLeft if reason is PartyLeft else WrongMessage)(about, phase.name.lower())
        accused_words = "us" if accused == self.number else f"party {accused}"
        return reason(
            f"party {sender} stopped because of {accused_words} ({reason.__name__}); nothing was"
            " answered",
            party=about,
        )

    async def _limited(self, work: Coroutine[Any, Any, Any]) -> Any:
        # no single wait goes beyond the end of the whole study
        seconds_left = self._ends - asyncio.get_running_loop().time()
        return await asyncio.wait_for(work, max(0.0, min(self.limits.step, seconds_left)))

    async def close(self, why: PartyError | None = None) -> None:
        """Let the lines go; where something was wrong, say first what."""
        lines = [line for line in self._lines.values() if not line.writer.is_closing()]
        await asyncio.gather(*(self._part(line, why) for line in lines))

    async def _part(self, line: _Line, why: PartyError | None) -> None:
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            if why is not None and not line.left:
                accused = NOBODY if why.party is None else why.party
                reason = REASONS.index(type(why)) if type(why) in REASONS else 0
                line.writer.write(
                    HEAD.pack(self.session, STOP, line.sent, 2) + bytes((reason, accused))
                )
                # an end with unread bytes would take back what was said
                await asyncio.wait_for(_drain(line), GRACE)
        line.writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(line.writer.wait_closed(), LINGER)


async def _drain(line: _Line) -> None:
    await line.writer.drain()
    while await line.reader.read(CHUNK):
        pass


async def _gone(line: _Line) -> None:
    """Wait for the end of a line, however it ends."""
    with contextlib.suppress(OSError, EOFError):
        await line.writer.wait_closed()


async def _tolerant(work: Coroutine[Any, Any, bytes], *, allow: bool) -> bytes | None:
    """The same, with nothing from a party that has left or is silent, where that is allowed."""
    try:
        return await work
    except (PartyLeft, PartyMissing):
        if allow:
            return None
        raise


async def _all_of(work: Sequence[Coroutine[Any, Any, bytes | None]]) -> list[bytes | None]:
    """All results at once, so that nobody waits for a line that is full while his own is; or the
    error that says most.

    When one line fails others may be about to say why: they get a moment.
    """
    tasks = [asyncio.ensure_future(work_item) for work_item in work]
    if not tasks:
        return []
    try:
        # on success this waits for all; on the first failure the others get the moment
        _, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if waiting:
            await asyncio.wait(waiting, timeout=GRACE)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    errors = [
        error for task in tasks if not task.cancelled() and (error := task.exception()) is not None
    ]
    # False sorts first: what somebody did wrong says more than that somebody is gone
    if errors:
        raise min(errors, key=lambda error: isinstance(error, PartyLeft | PartyMissing))
    return [task.result() for task in tasks]


class _Meeting:
    """How parties come together: lower numbers dial, higher ones wait."""

    def __init__(self, mesh: Mesh, keys: Keys) -> None:
        self.mesh = mesh
        self.own = mesh.peers[mesh.number]
        self.loop = asyncio.get_running_loop()
        self.ends = self.loop.time() + mesh.limits.connect
        peer_certificates = b"".join(
            mesh.peers[peer_number].certificate for peer_number in mesh.others
        )
        self.dialling = _context(ssl.PROTOCOL_TLS_CLIENT, keys, peer_certificates)
        self.waiting = _context(ssl.PROTOCOL_TLS_SERVER, keys, peer_certificates)
        self.unknown = False
        self.welcomes: set[asyncio.Task[None]] = set()
        self.watches: list[asyncio.Task[None]] = []
        self.complete = asyncio.Event()

    async def gathered(self) -> None:
        """Dial and wait until all are there."""
        # nobody dials party 0, which has the lowest number
        listener = _listener(self.own) if self.mesh.number else None
        tasks = [
            asyncio.ensure_future(self._dial(peer_number))
            for peer_number in self.mesh.others
            if peer_number > self.mesh.number
        ]
        if listener is not None:
            tasks.append(asyncio.ensure_future(self._wait()))
            self.watches.append(asyncio.ensure_future(self._accept(listener)))
        try:
            await asyncio.gather(*tasks)
        finally:
            for begun in (tasks, self.watches, self.welcomes):  # the first begin some of the others
                for task in begun:
                    task.cancel()
                await asyncio.gather(*begun, return_exceptions=True)
            if listener is not None:
                listener.close()

    def _seconds_left(self) -> float:
        return max(0.0, self.ends - self.loop.time())

    async def _dial(self, peer_number: int) -> None:
        refused = False
        pause = 0.05
        while self._seconds_left():
            try:
                line = await asyncio.wait_for(self._call_peer(peer_number), self._seconds_left())
                if await self._greeted(line, peer_number):
                    self.mesh.joined(peer_number, line)
                    self.watches.append(asyncio.ensure_future(self._watch(peer_number, line)))
                    return
                refused = True
            except (
                ssl.SSLCertVerificationError
            ) as error:  # an OSError too, but trying again would not help
                raise WrongCertificate(
                    f"party {peer_number} shows another certificate than that of the study "
                    f"({error.verify_message})",
                    party=peer_number,
                ) from None
            except ssl.SSLError:
                raise WrongMessage(peer_number, "hello") from None
            except (OSError, TimeoutError):
                # not listening yet, or not reachable for now: try again after a pause
                pass
            await asyncio.sleep(min(pause, self._seconds_left()))
            pause = min(2 * pause, 1.0)
        raise self._absent(peer_number, refused=refused)

    async def _watch(self, peer_number: int, line: _Line) -> None:
        """Dial again when a party that had come gives up while we wait for another: it may come
        back.

        Until then its old line stays, as it may say why it left.
        """
        await asyncio.shield(_gone(line))  # who closes the line later waits for the same
        with contextlib.suppress(PartyError):  # the meeting itself says who is missing
            await self._dial(peer_number)

    async def _call_peer(self, peer_number: int) -> _Line:
        peer = self.mesh.peers[peer_number]
        reader, writer = await asyncio.open_connection(
            peer.host, peer.port, ssl=self.dialling, limit=CHUNK, server_hostname=peer.name
        )
        line = _Line(reader, writer)
        if _peer_certificate(line) != peer.certificate:
            writer.close()
            raise WrongCertificate(
                f"party {peer_number} shows the certificate of another party", party=peer_number
            )
        return line

    async def _greeted(self, line: _Line, peer_number: int) -> bool:
        """Whether the other side greets too: only then has it accepted our certificate."""
        try:
            line.writer.write(GREETING + bytes((self.mesh.number,)))
            heard = await asyncio.wait_for(
                line.reader.readexactly(len(GREETING) + 1), self._seconds_left()
            )
        except (OSError, EOFError, TimeoutError):
            line.writer.close()
            return False
        except asyncio.CancelledError:
            line.writer.close()
            raise
        if heard != GREETING + bytes((peer_number,)):
            line.writer.close()
            raise WrongMessage(peer_number, "hello")
        return True

    async def _wait(self) -> None:
        """Until all lower numbers are there; strangers do not stop a study."""
        try:
            await asyncio.wait_for(self.complete.wait(), self._seconds_left())
        except TimeoutError:
            missing = min(set(range(self.mesh.number)) - self.mesh.there)
            raise self._absent(missing, refused=self.unknown) from None

    async def _accept(self, listener: socket.socket) -> None:
        """Welcome everyone who dials, until all parties have come: who gave up and comes back takes
        the place of its old line.
        """
        while True:
            connection, _ = await self.loop.sock_accept(listener)
            # strangers cannot fill the memory with handshakes; a party dials again
            if len(self.welcomes) >= WELCOMED_AT_ONCE:
                connection.close()
                continue
            task = asyncio.ensure_future(self._welcome(connection))
            self.welcomes.add(task)
            task.add_done_callback(self.welcomes.discard)

    async def _welcome(self, connection: socket.socket) -> None:
        reader = asyncio.StreamReader(limit=CHUNK)
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await self.loop.connect_accepted_socket(
                lambda: protocol,
                connection,
                ssl=self.waiting,
                ssl_handshake_timeout=max(0.1, min(HANDSHAKE, self._seconds_left())),
            )
        except ssl.SSLCertVerificationError:
            # only remembered, for the message if a party never comes
            self.unknown = True
            return
        except OSError:
            return
        line = _Line(reader, asyncio.StreamWriter(transport, protocol, reader, self.loop))
        peer_certificate = _peer_certificate(line)
        # only lower numbers dial, so only they are looked for
        number = next(
            (
                i
                for i in range(self.mesh.number)
                if self.mesh.peers[i].certificate == peer_certificate
            ),
            None,
        )
        # a wrong greeting ends this line, not the study
        with contextlib.suppress(WrongMessage):
            if number is not None and await self._greeted(line, number):
                self.mesh.joined(number, line)
                if set(range(self.mesh.number)) <= self.mesh.there:
                    self.complete.set()
                return
        line.writer.close()

    def _absent(self, peer_number: int, *, refused: bool) -> PartyError:
        if refused and peer_number > self.mesh.number:
            return WrongCertificate(
                f"party {peer_number} rejects our certificate; check that both read the same study",
                party=peer_number,
            )
        if refused:
            return WrongCertificate(
                f"party {peer_number} did not connect, but somebody with a certificate that has "
                "expired or is not of the study did",
                party=peer_number,
            )
        return PartyMissing(
            f"party {peer_number} ({self.mesh.peers[peer_number].name}) did not connect within "
            f"{self.mesh.limits.connect} s; nothing was sent, try again together",
            party=peer_number,
        )


def _peer_certificate(line: _Line) -> bytes | None:
    secured: ssl.SSLObject = line.writer.get_extra_info("ssl_object")
    return secured.getpeercert(binary_form=True)


def _context(side: int, keys: Keys, trusted: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = (
        False  # parties are known by their certificates, whatever their machines are called
    )
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(keys.certificate, keys.private)
        context.load_verify_locations(cadata=trusted)
    except (OSError, ValueError):
        raise ParameterError(
            f"{keys.certificate} and {keys.private} do not belong together, or a certificate of "
            "the study is invalid"
        ) from None
    return context


def _listener(own: Peer) -> socket.socket:
    """Listen where the study says, and nowhere else."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            own.host, own.port, type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            # a second try must not wait until the system has forgotten the first one's port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ParameterError(
            f"cannot listen at {own.host}:{own.port}, the address of {own.name!r} in the study:"
            f" {error.strerror}"
        ) from None
    return listener
