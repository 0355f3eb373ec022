"""Sums and products of numbers that nobody knows: Shamir's shares, multiplied (Ben-Or, Goldwasser &
Wigderson 1988).

A shared number is the value at 0 of a random polynomial whose degree is the number of parties that
may collude; party *i* holds its value at *i* + 1. Sums, and products with public numbers, need no
message. A product of two shared numbers has twice the degree: every party shares its part of it
again, and the weighted sum of those shares has the old degree (degree reduction), for which
2·degree + 1 parties are needed. What is opened is always such a reduced number, so the shares that
all can see say nothing but its value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import Disagreement, ParameterError
from sfumato.parties.channel import Channel, Phase
from sfumato.parties.sharing import Draw, Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Shares = NDArray[np.uint64]
    """This party's shares of numbers, one a number."""

BLOCK = 1 << 18
"""Numbers that are worked on at a time: memory and messages stay bounded, however many there are.
"""


@dataclasses.dataclass
class Arithmetic:
    """Computing with shared numbers; every party calls the same methods in the same order, with
    arrays of the same lengths.

    So many parties as ``degree`` together learn nothing but what is opened; products need 2·degree
    below the number of parties, so that two parties alone cannot multiply: they need a third that
    helps without data. ``phase`` replaces the phase of all messages. ``products`` counts the
    numbers that were multiplied.
    """

    channel: Channel
    degree: int
    draw: Draw
    field: Field = dataclasses.field(default_factory=Field)
    phase: Phase | None = None
    products: int = 0

    def __post_init__(self) -> None:
        if self.degree < 1 or 2 * self.degree >= self.channel.parties:
            raise ParameterError(
                f"products among {self.channel.parties} parties cannot protect against "
                f"{self.degree} colluding parties: twice as many and one more are needed; let a "
                "party without data take part"
            )

    async def shared(self, values: NDArray[np.int64], phase: Phase = Phase.SHARE) -> Shares:
        """Shares of the sums over all parties of ``values``; one message each way for every
        block.
        """
        residues = np.mod(np.asarray(values), self.field.modulus).astype(np.uint64)
        blocks = [
            await self._dealt(block, phase, range(self.channel.parties))
            for block in _blocks(residues)
        ]
        return _join_blocks(blocks)

    async def product(self, a: Shares, b: Shares) -> Shares:
        """Shares of the products, number by number."""
        blocks = [
            await self._reduced(self._times(x, y))
            for x, y in zip(_blocks(a), _blocks(b), strict=True)
        ]
        return _join_blocks(blocks)

    async def dot(self, a: Shares, b: Shares, starts: Sequence[int] = (0,)) -> Shares:
        """Shares of the sums of products, one from each start to the next: added before their
        degree is reduced, so that one number a sum is sent.
        """
        return await self._reduced(self._segments(self._times(a, b), starts))

    async def all_multiplied(self, x: Shares) -> Shares:
        """A share of the product of all numbers, in a tree: as many rounds as their number has
        binary digits.

        Of rows of numbers the product is taken column by column.
        """
        while len(x) > 1:
            # first half times second half, an odd number waits: 5 numbers → 3 → 2 → 1
            half = len(x) // 2
            pairs = await self.product(x[:half].ravel(), x[half : 2 * half].ravel())
            x = np.concatenate([pairs.reshape(x[:half].shape), x[2 * half :]])
        if len(x):
            return x.ravel()
        return self.constant(1, 1)

    async def polynomial(self, x: Shares, coefficients: Sequence[int]) -> Shares:
        """Shares of a public polynomial's values at shared numbers; ``coefficients`` begin with the
        constant.

        By Paterson & Stockmeyer 1973: about 2·√degree products.
        """
        blocks = []
        for block in _blocks(x):
            upper, power, remainder = await self._cut(block, coefficients)
            if upper is None:
                product = remainder
            else:
                product = self._plus(await self.product(upper, power), remainder)
            blocks.append(product)
        return _join_blocks(blocks)

    async def polynomial_sums(
        self, x: Shares, coefficients: Sequence[int], starts: Sequence[int] = (0,)
    ) -> Shares:
        """Shares of sums of a polynomial's values, one from each start to the next; at most a block
        of numbers.

        The last product is added up before it is reduced.
        """
        upper, power, remainder = await self._cut(x, coefficients)
        sums = self._segments(remainder, starts)
        if upper is None:
            return sums
        return self._plus(sums, await self.dot(upper, power, starts))

    async def nonzero(self, count: int) -> Shares:
        """Random numbers from 1 to p - 1 that nobody knows, all equally likely.

        Of two random numbers the product is opened, and says of each only that it is not 0: where
        it is 0, both are drawn again.
        """
        numbers = np.empty(count, dtype=np.uint64)
        positions = np.arange(count)
        while len(positions):
            random_shares = await self.shared(
                self.field.random(2 * len(positions), self.draw).astype(np.int64)
            )
            # masks are kept at once: a bad one (chance about 2/p) is overwritten in the next pass
            mask, witness = random_shares[: len(positions)], random_shares[len(positions) :]
            numbers[positions] = mask
            opened_values = await self.opened(await self.product(mask, witness), Phase.PRODUCTS)
            positions = positions[opened_values == 0]
        return numbers

    async def opened(self, x: Shares, phase: Phase = Phase.OPEN) -> NDArray[np.uint64]:
        """The numbers themselves, known to all.

        Shares of all parties must lie on one polynomial of the degree: otherwise somebody sent a
        wrong one (or the number was never reduced), and nothing is returned.
        """
        return _join_blocks([await self._open_values(block, phase) for block in _blocks(x)])

    async def zeros(self, x: Shares, phase: Phase = Phase.OPEN) -> NDArray[np.bool_]:
        """Which numbers are 0, known to all, and nothing else about them: each is multiplied by a
        random number but 0.
        """
        masked = await self.product(x, await self.nonzero(len(x)))
        return np.equal(await self.opened(masked, phase), 0)

    def constant(self, value: int, count: int) -> Shares:
        """Shares of a number that all know."""
        # the constant polynomial: every party's share is the number itself
        return np.full(count, value % self.field.modulus, dtype=np.uint64)

    def plus(self, x: Shares, value: int) -> Shares:
        """Shares of the numbers with a public one added."""
        return self._plus(x, self.constant(value, 1))

    def scaled(self, x: Shares, factor: int) -> Shares:
        """Shares of the numbers times a public one."""
        return self._times(x, self.constant(factor, 1))

    def sums(self, x: Shares) -> Shares:
        """Shares of the sums along the last axis, at most 2³² numbers each."""
        return self._mod(x.sum(axis=-1, dtype=np.uint64))

    async def _cut(
        self, x: Shares, coefficients: Sequence[int]
    ) -> tuple[Shares | None, Shares, Shares]:
        """A polynomial as upper·power + rest, without the last product; upper is None where rest is
        all.
        """
        degree = len(coefficients) - 1
        size, chunks = _shape(degree)
        powers = await self._powers(x, size)
        # a polynomial in x^size whose coefficients are polynomials in x; degree 5, size 2:
        # (c0 + c1 x) + (c2 + c3 x) x² + (c4 + c5 x) x⁴
        parts = [
            self._linear(powers, coefficients[i * size : (i + 1) * size]) for i in range(chunks)
        ]
        # the highest power is there anyhow: the last part may use it
        if degree and degree == chunks * size:
            parts[-1] = self._linear(powers, coefficients[(chunks - 1) * size :])
        upper = parts.pop() if chunks > 1 else None
        # Horner's rule in x^size; the last product is left to the caller, who may add up first
        while upper is not None and len(parts) > 1:
            upper = self._plus(await self.product(upper, powers[-1]), parts.pop())
        return upper, powers[-1], parts[0]

    async def _powers(self, x: Shares, highest: int) -> list[Shares]:
        """The powers 0, 1, … of shared numbers; several at once, so that there are few rounds."""
        powers = [self.constant(1, len(x)), x]
        while len(powers) <= highest:
            top = len(powers) - 1
            # x … x^top times x^top: the powers double in each round, 1 → 2 → 4 → 8
            count = min(top, highest - top)
            products = await self.product(
                np.concatenate(powers[1 : count + 1]), np.tile(powers[top], count)
            )
            powers += np.split(products, count)
        return powers

    def _linear(self, powers: Sequence[Shares], coefficients: Sequence[int]) -> Shares:
        total = np.zeros_like(powers[0])
        # every summand is below 2³¹ and there are few: one reduction at the end is enough
        for power, coefficient in zip(powers, coefficients, strict=False):
            total += self._times(power, self.constant(coefficient, 1))
        return self._mod(total)

    def _plus(self, a: Shares, b: Shares) -> Shares:
        return self._mod(a + b)

    def _times(self, a: Shares, b: Shares) -> Shares:
        return self._mod(a * b)

    def _segments(self, a: Shares, starts: Sequence[int]) -> Shares:
        if len(a):
            return self._mod(np.add.reduceat(a, np.asarray(starts)))
        return self.constant(0, len(starts))

    def _mod(self, values: Shares) -> Shares:
        return self.field.reduced(values)

    async def _reduced(self, products: Shares) -> Shares:
        """Products of two shares, of twice the degree, brought back to the degree: each party's
        share is weighed and shared again.
        """
        # so many points determine a polynomial of twice the degree; the others only receive
        dealers = range(2 * self.degree + 1)
        weight = self.field.weights(tuple(dealers))
        if self.channel.number in dealers:
            own = weight[self.channel.number]
        else:
            own = 0
        self.products += len(products)
        return await self._dealt(self.scaled(products, own), Phase.PRODUCTS, dealers)

    async def _dealt(self, values: NDArray[np.uint64], phase: Phase, dealers: range) -> Shares:
        """Every dealer shares its numbers with all; the sum of what arrives is a share of the
        dealers' sum.
        """
        channel, field = self.channel, self.field
        dealing = channel.number in dealers
        own_share = np.zeros(len(values), dtype=np.uint64)
        outgoing: dict[int, bytes] = {}
        if dealing:
            shares = field.share(values.astype(np.int64), channel.parties, self.degree, self.draw)
            own_share, outgoing = (
                shares[channel.number],
                {i: field.packed(shares[i]) for i in channel.others},
            )
        senders = dict.fromkeys(
            (i for i in dealers if i != channel.number), field.width * len(values)
        )
        arrived = await channel.exchange(self.phase or phase, outgoing, senders)
        total = own_share + np.zeros(len(values), dtype=np.uint64)
        for message in arrived.values():
            total += field.unpacked(message)
        return self._mod(total)

    async def _open_values(self, x: Shares, phase: Phase) -> NDArray[np.uint64]:
        field = self.field
        messages = await self.channel.broadcast(
            self.phase or phase, field.packed(x), field.width * len(x)
        )
        shares = {sender: field.unpacked(message) for sender, message in messages.items()}
        value = field.opened({i: shares[i] for i in range(self.degree + 1)})
        # the value must be the same with each of the others
        for extra in range(self.degree + 1, self.channel.parties):
            # degree shares in common and the same value at 0 are degree + 1 points: the two
            # polynomials are one, so the extra share lies on it too
            value_again = field.opened({i: shares[i] for i in (*range(1, self.degree + 1), extra)})
            if not np.array_equal(value_again, value):
                raise Disagreement(
                    "the shares of an opened number are inconsistent: a party sent a wrong one, "
                    "and nothing was answered"
                )
        return value


async def at_least(
    arithmetic: Arithmetic, own_counts: NDArray[np.int64], k: int, phase: Phase = Phase.OPEN
) -> NDArray[np.bool_]:
    """For every cell whether the parties' counts add up to at least ``k``: one bit each, known to
    all.

    Each party clips its counts at k before it shares them, which changes no answer. Cells below k
    and empty cells look alike.
    """
    if k < 1:
        return np.ones(len(own_counts), dtype=np.bool_)
    return ~await arithmetic.zeros(await reaching(arithmetic, own_counts, k), phase)


async def all_at_least(arithmetic: Arithmetic, gates: Sequence[tuple[int, int]]) -> bool:
    """Whether every count, added up over the parties, reaches its threshold: one bit, for all gates
    of ``(own count, threshold)``.

    The gates are multiplied before anything is opened, so which one failed is not learned.
    """
    # a phase of its own: a gate must not count as an opening, which is noted at home first
    gated = dataclasses.replace(arithmetic, phase=Phase.GATES)
    tested = [await reaching(gated, np.array([count]), threshold) for count, threshold in gates]
    failed = await gated.zeros(await gated.all_multiplied(np.concatenate(tested)))
    # the copy went on counting from the original's number
    arithmetic.products = gated.products
    return not bool(failed[0])


async def none_below(arithmetic: Arithmetic, own_counts: NDArray[np.int64], k: int) -> bool:
    """Whether the parties' counts add up to at least ``k`` in every cell: one bit for all cells,
    which does not tell which one fails.
    """
    failed = await arithmetic.zeros(
        await arithmetic.all_multiplied(await reaching(arithmetic, own_counts, k)), Phase.OPEN
    )
    return not bool(failed[0])


async def reaching(arithmetic: Arithmetic, own_counts: NDArray[np.int64], k: int) -> Shares:
    """Shares of numbers that are 0 exactly where the parties' counts add up to less than ``k``: Π
    (c - j) over j < k.
    """
    require_room(arithmetic, k)
    clipped = await arithmetic.shared(np.clip(np.asarray(own_counts, dtype=np.int64), 0, max(k, 0)))
    return await arithmetic.polynomial(clipped, vanishing(k, arithmetic.field.modulus))


def require_room(arithmetic: Arithmetic, k: int) -> None:
    """Counts of all parties, each clipped at k, must stay below the modulus."""
    if arithmetic.channel.parties * k >= arithmetic.field.modulus:
        raise ParameterError(
            f"a threshold of {k:,} is too large for {arithmetic.channel.parties} parties "
            "to compare; lower it"
        )


def vanishing(k: int, modulus: int) -> list[int]:
    """The coefficients, constant first, of the polynomial that is 0 at 0, 1, …, k - 1.

    >>> vanishing(3, 101)  # x (x - 1) (x - 2) = 2x - 3x² + x³
    [0, 2, 98, 1]
    """
    coefficients = np.ones(1, dtype=np.uint64)
    for root in range(k):
        coefficients = _times_x_minus(coefficients, root, modulus)
    return [int(c) for c in coefficients]


def interpolate(values: Sequence[int], modulus: int) -> list[int]:
    """The coefficients of the polynomial with these values at 0, 1, …, as many as there are values.

    By Newton's forward differences: Σ Δʲ(0) · x(x-1)…(x-j+1) / j!.

    >>> interpolate([0, 1, 4, 9], 101)
    [0, 0, 1, 0]
    """
    field = Field(modulus)
    differences = np.array([v % modulus for v in values], dtype=np.uint64)
    coefficients, basis, inverse = np.zeros_like(differences), np.ones(1, dtype=np.uint64), 1
    for j in range(len(values)):
        # 1 / j!, from 1 / (j − 1)!
        if j:
            inverse = inverse * pow(j, -1, modulus) % modulus
        else:
            inverse = 1
        weight = np.uint64(int(differences[0]) * inverse % modulus)
        coefficients[: j + 1] = field.reduced(coefficients[: j + 1] + field.reduced(basis * weight))
        # the modulus is added first, as unsigned numbers cannot become negative
        differences = field.reduced(differences[1:] + np.uint64(modulus) - differences[:-1])
        basis = _times_x_minus(basis, j, modulus)
    return [int(c) for c in coefficients]


def _times_x_minus(coefficients: NDArray[np.uint64], root: int, modulus: int) -> NDArray[np.uint64]:
    """The coefficients of a polynomial times (x - root)."""
    longer = np.zeros(len(coefficients) + 1, dtype=np.uint64)
    longer[1:] = coefficients
    longer[:-1] += coefficients * np.uint64(-root % modulus) % np.uint64(modulus)
    return Field(modulus).reduced(longer)


def polynomial_products(degree: int) -> int:
    """How many products a number costs in a polynomial of some degree."""
    size, chunks = _shape(degree)
    return size - 1 + chunks - 1


def _shape(degree: int) -> tuple[int, int]:
    """The length of the parts into which a polynomial is cut, and their number, so that products
    are fewest.
    """
    if degree < 1:
        return 1, 1
    sizes = range(1, degree + 1)
    # size − 1 products for the powers, and one for each part but the first
    size = min(sizes, key=lambda s: (s - 1 + -(-degree // s) - 1, s))
    return size, -(-degree // size)


def _blocks(x: NDArray[np.uint64]) -> Sequence[NDArray[np.uint64]]:
    # no numbers make one empty block: every party must send the same messages
    return [x[i : i + BLOCK] for i in range(0, max(len(x), 1), BLOCK)]


def _join_blocks(blocks: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Blocks as one array; at least one block."""
    if len(blocks) == 1:
        return blocks[0]
    return np.concatenate(blocks)
