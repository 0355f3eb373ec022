"""Ways to add the numbers of several parties: additive shares, and Shamir's.

=========== =================================== ==============================
protocol    learns nothing but the sums         somebody leaves
=========== =================================== ==============================
additive    all parties but one together        nobody gets a result
shamir      so many as the degree, together     degree + 1 parties get it
=========== =================================== ==============================

Everybody is taken to follow the protocol (passive adversaries): who sends wrong shares makes the
result wrong, and nobody notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError, PartyLeft
from sfumato.parties.channel import Channel, Phase
from sfumato.parties.question import Cost, Numbers, Summation
from sfumato.parties.sharing import Draw, Field, Ring, fields_for, from_residues

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Additive(Summation):
    """Every party cuts its numbers into shares that add up to them modulo 2⁶⁴, one for each party,
    and opens only the sum of what it got.
    """

    name = "additive"

    def fits(self, bound: int) -> bool:
        """Signed numbers of 64 bits."""
        return bound <= Ring.bound

    async def total(self, channel: Channel, own: Numbers, bound: int, draw: Draw) -> Numbers:
        """Two messages to everybody: a share, and the sum of the shares received."""
        _require(self, bound)
        ring = Ring()
        shares = ring.share(np.asarray(own, dtype=np.int64), channel.parties, draw)
        length = ring.width * len(own)
        outgoing = {j: ring.packed(shares[j]) for j in channel.others}
        arrived = await channel.exchange(
            Phase.SHARE, outgoing, dict.fromkeys(channel.others, length)
        )
        # shares of everybody's numbers added: a share of the sum, which may be seen
        own_share = ring.joined(
            [shares[channel.number], *(ring.unpacked(m) for m in arrived.values())]
        ).view(np.uint64)
        messages = await channel.broadcast(Phase.OPEN, ring.packed(own_share), length)
        return ring.joined([ring.unpacked(message) for message in messages.values()])

    def cost(self, parties: int, cells: int, bound: int) -> Cost:
        """16 bytes a number and other party."""
        return Cost(2 * (parties - 1), 2 * Ring.width * cells * (parties - 1))


class Shamir(Summation):
    """Shares are values of a random polynomial; the sum of polynomials is one of the same degree.

    ``degree`` parties together learn nothing; by default one less than half of all, as products
    need. Wide sums are added modulo several primes. With ``dropout``, who leaves after everybody's
    shares have arrived does not stop the others.
    """

    name = "shamir"

    def __init__(self, degree: int | None = None, *, dropout: bool = False) -> None:
        self.degree = degree
        self.dropout = dropout

    def degree_among(self, parties: int) -> int:
        """The degree for so many parties."""
        degree = usual_degree(parties) if self.degree is None else self.degree
        if not 0 < degree < parties:
            raise ParameterError(
                f"among {parties} parties the degree of Shamir's shares must be 1 to {parties - 1}"
            )
        return degree

    def fits(self, bound: int) -> bool:
        """Three primes of 31 bits."""
        try:
            return len(fields_for(bound)) > 0
        except ParameterError:
            return False

    async def total(self, channel: Channel, own: Numbers, bound: int, draw: Draw) -> Numbers:
        """A share to everybody, then the sum of those received; so many openings as the degree and
        one tell it.
        """
        _require(self, bound)
        degree, fields = self.degree_among(channel.parties), fields_for(bound)
        own_shares = await self._shared(channel, fields, own, degree, draw)
        length = Field.width * len(own) * len(fields)
        # all primes in one message, one after the other
        payload = b"".join(f.packed(h) for f, h in zip(fields, own_shares, strict=True))
        messages = await channel.broadcast(
            Phase.OPEN, payload, length, missing="allow" if self.dropout else "refuse"
        )
        # fewer points do not determine the polynomial
        if len(messages) <= degree:
            raise PartyLeft(
                next(j for j in range(channel.parties) if j not in messages),
                Phase.OPEN.name.lower(),
            )
        parts = {
            # the first prime is the largest: read by it, residues of the others stay as they are
            j: np.split(Field().unpacked(message), len(fields))
            for j, message in messages.items()
        }
        opened = [f.opened({j: part[i] for j, part in parts.items()}) for i, f in enumerate(fields)]
        # one prime: residues are the sums; several: put together from their residues
        if len(fields) > 1:
            return _narrow(from_residues(fields, opened), bound)
        return fields[0].signed(opened[0])

    async def _shared(
        self, channel: Channel, fields: tuple[Field, ...], own: Numbers, degree: int, draw: Draw
    ) -> list[NDArray[np.uint64]]:
        """The sums of what everybody gave this party, one array for each prime."""
        cut = [
            field.share(_residues(own, field), channel.parties, degree, draw) for field in fields
        ]
        outgoing = {
            j: b"".join(field.packed(rows[j]) for field, rows in zip(fields, cut, strict=True))
            for j in channel.others
        }
        length = Field.width * len(own) * len(fields)
        arrived = await channel.exchange(
            Phase.SHARE, outgoing, dict.fromkeys(channel.others, length)
        )
        own_shares = [rows[channel.number] for rows in cut]
        for message in arrived.values():
            parts = np.split(Field().unpacked(message), len(fields))
            own_shares = [
                (h + part) % np.uint64(f.modulus)
                for f, h, part in zip(fields, own_shares, parts, strict=True)
            ]
        return own_shares

    def cost(self, parties: int, cells: int, bound: int) -> Cost:
        """8 bytes a number, prime and other party."""
        return Cost(
            2 * (parties - 1), 2 * Field.width * len(fields_for(bound)) * cells * (parties - 1)
        )


def usual_degree(parties: int) -> int:
    """The most colluders among whom products can still be computed: below half of the parties.

    >>> [usual_degree(n) for n in (3, 4, 5, 10)]
    [1, 1, 2, 4]
    """
    return (parties - 1) // 2


def _residues(own: Numbers, field: Field) -> NDArray[np.int64]:
    residues: NDArray[np.int64] = np.mod(own, field.modulus).astype(np.int64)
    return residues


def _narrow(values: NDArray[np.object_], bound: int) -> Numbers:
    """64-bit numbers where they suffice."""
    if bound <= Ring.bound:
        return values.astype(np.int64)
    return values


def _require(way: Summation, bound: int) -> None:
    if not way.fits(bound):
        raise ParameterError(
            f"sums up to about 2^{bound.bit_length()} do not fit into protocol {way.name!r}; narrow"
            " the bounds, lower the scale, or say how many records there are at most"
            + (", or take 'shamir'" if way.name == "additive" else "")
        )


def summation(protocol: str, **options: Any) -> Summation:
    """The way to add with this name."""
    ways: dict[str, type[Summation]] = {"additive": Additive, "shamir": Shamir}
    if protocol == "encrypted":
        # imported only when asked for: it needs an extra
        from sfumato.parties.encrypted_sum import EncryptedSum

        return EncryptedSum(**options)
    if protocol not in ways:
        raise ParameterError(
            f"protocol {protocol!r} does not exist; choose additive, shamir or encrypted"
        )
    return ways[protocol](**options)
