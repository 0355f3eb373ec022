"""Numbers cut into shares that say nothing alone: additive shares modulo 2⁶⁴, and Shamir's over a
prime field.

All arithmetic is on whole numbers in arrays; randomness comes from the operating system, or in
tests from a given source.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Draw = Callable[[int], bytes]
"""So many random bytes."""

PRIMES = (2147483647, 2147483629, 2147483587)
"""The largest primes below 2³¹: a product of two residues fits into 64 bits."""


MERSENNE = 2**31 - 1
"""A prime modulo which numbers are reduced by adding their upper bits to their lower ones."""


class Ring:
    """Additive sharing of signed numbers modulo 2⁶⁴: any parties but one together know nothing, and
    all are needed.

    >>> from secrets import token_bytes
    >>> shares = Ring().share(np.array([5, -7]), 3, token_bytes)
    >>> Ring().joined(list(shares)).tolist()
    [5, -7]
    """

    width = 8
    bound = 2**63
    """Sums must stay below it in absolute value."""

    def share(self, values: NDArray[np.int64], parties: int, draw: Draw) -> NDArray[np.uint64]:
        """One row of shares for each party: all but the last are random, the last is what is
        missing.
        """
        shares = np.empty((parties, len(values)), dtype=np.uint64)
        random_words = np.frombuffer(draw(8 * (parties - 1) * len(values)), dtype="<u8")
        shares[:-1] = random_words.reshape(parties - 1, len(values))
        # unsigned 64-bit numbers wrap around, which is arithmetic modulo 2⁶⁴
        shares[-1] = values.view(np.uint64) - shares[:-1].sum(axis=0, dtype=np.uint64)
        return shares

    def joined(self, shares: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
        """The signed numbers that shares add up to."""
        return functools.reduce(np.add, shares).view(np.int64)

    def packed(self, shares: NDArray[np.uint64]) -> bytes:
        """Shares as bytes, 8 each."""
        return shares.astype("<u8", copy=False).tobytes()

    def unpacked(self, message: bytes) -> NDArray[np.uint64]:
        """The inverse of :meth:`packed`."""
        return np.frombuffer(message, dtype="<u8").astype(np.uint64, copy=False)


@dataclasses.dataclass(frozen=True)
class Field:
    """Shamir's sharing over the whole numbers modulo a prime below 2³¹: a polynomial of some degree
    with the secret at 0.

    Party *i* holds its value at *i* + 1. So many parties as the degree know nothing together; one
    more knows all.

    >>> field = Field()
    >>> from secrets import token_bytes
    >>> shares = field.share(np.array([5, -7]), 3, 1, token_bytes)
    >>> field.signed(field.opened({0: shares[0], 2: shares[2]})).tolist()
    [5, -7]
    """

    modulus: int = PRIMES[0]
    width = 4

    def share(
        self, values: NDArray[np.int64], parties: int, degree: int, draw: Draw
    ) -> NDArray[np.uint64]:
        """One row of shares for each party."""
        if not 0 < degree < parties:
            raise ParameterError(
                f"shares of degree {degree} do not protect anything among {parties} parties"
            )
        secret = np.mod(values, self.modulus).astype(np.uint64)
        # new coefficients for every number: with common ones, shares would tell differences
        coefficients = [self.random(len(values), draw) for _ in range(degree)]
        return np.stack([self._at(point, secret, coefficients) for point in range(1, parties + 1)])

    def _at(
        self, point: int, secret: NDArray[np.uint64], coefficients: Sequence[NDArray[np.uint64]]
    ) -> NDArray[np.uint64]:
        value = np.zeros_like(secret)
        # Horner's rule, with the secret as the constant
        for coefficient in reversed(coefficients):
            value = self.reduced((value + coefficient) * np.uint64(point))
        return self.reduced(value + secret)

    def random(self, count: int, draw: Draw) -> NDArray[np.uint64]:
        """Numbers from 0 to the modulus - 1, all equally likely: 31 bits each, drawn again where
        they are too large.
        """
        # 31 of 32 bits: for p = 2³¹ − 1 only one value of 2³¹ must be drawn again
        random_values = np.frombuffer(draw(4 * count), dtype="<u4").astype(np.uint64) & np.uint64(
            0x7FFFFFFF
        )
        large = np.flatnonzero(random_values >= self.modulus)
        if len(large):
            random_values[large] = self.random(len(large), draw)
        return random_values

    def opened(self, shares: Mapping[int, NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """The secrets of shares by party; there must be at least one more than the degree of their
        polynomial.
        """
        # any degree + 1 points determine the polynomial; more give the same value at 0
        weights = self.weights(tuple(shares))
        total = np.zeros(len(next(iter(shares.values()))), dtype=np.uint64)
        for share, weight in zip(shares.values(), weights, strict=True):
            total = self.reduced(total + share * np.uint64(weight))
        return total

    def reduced(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Residues of any numbers of 64 bits; for the Mersenne prime 2³¹ - 1 without a division,
        which is several times as fast.

        >>> Field().reduced(np.array([2**31 - 1, 2**64 - 1, 5], dtype=np.uint64)).tolist()
        [0, 3, 5]
        """
        modulus = np.uint64(self.modulus)
        if self.modulus != MERSENNE:
            return values % modulus
        folded = (values & modulus) + (values >> np.uint64(31))  # below 2³⁴
        folded = (folded & modulus) + (folded >> np.uint64(31))  # at most 2³¹ + 7
        return folded - modulus * (folded >= modulus)

    def weights(self, parties: tuple[int, ...]) -> tuple[int, ...]:
        """Lagrange's weights at 0 of the points of these parties."""
        return _weights(self.modulus, parties)

    def signed(self, values: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Residues as numbers from -(p-1)/2 to (p-1)/2."""
        whole = values.astype(np.int64)
        return np.where(whole > self.modulus // 2, whole - self.modulus, whole)

    def packed(self, values: NDArray[np.uint64]) -> bytes:
        """Field elements as bytes, 4 each."""
        return values.astype("<u4").tobytes()

    def unpacked(self, message: bytes) -> NDArray[np.uint64]:
        """The inverse of :meth:`packed`; numbers that are no elements are reduced (a liar can send
        any element anyway).
        """
        return np.frombuffer(message, dtype="<u4").astype(np.uint64) % np.uint64(self.modulus)


@functools.cache
def _weights(modulus: int, parties: tuple[int, ...]) -> tuple[int, ...]:
    points = [party + 1 for party in parties]
    weights = []
    # the weight of point a is Π b / (b − a) over the other points b
    for i, own in enumerate(points):
        upper, lower = 1, 1
        for j, other_point in enumerate(points):
            if j != i:
                upper, lower = upper * other_point % modulus, lower * (other_point - own) % modulus
        weights.append(upper * pow(lower, -1, modulus) % modulus)
    return tuple(weights)


def fields_for(bound: int) -> tuple[Field, ...]:
    """So many fields that signed numbers below ``bound`` in absolute value are known by their
    residues.

    >>> len(fields_for(2**20)), len(fields_for(2**60)), len(fields_for(2**80))
    (1, 2, 3)
    """
    product = 1
    for i, prime in enumerate(PRIMES, start=1):
        product *= prime
        # twice the bound, as numbers of both signs must be distinguished
        if 2 * bound < product:
            return tuple(Field(p) for p in PRIMES[:i])
    raise ParameterError(
        "the sums may exceed the range of whole numbers; narrow the bounds or lower the scale"
    )


def from_residues(
    fields: Sequence[Field], residues: Sequence[NDArray[np.uint64]]
) -> NDArray[np.object_]:
    """The signed whole numbers with these residues, by the Chinese remainder theorem.

    >>> fields = fields_for(2**60)
    >>> values = np.array([-(2**59), 12])
    >>> [
    ...     int(v)
    ...     for v in from_residues(
    ...         fields, [np.mod(values, f.modulus).astype(np.uint64) for f in fields]
    ...     )
    ... ]
    [-576460752303423488, 12]
    """
    product = 1
    for field in fields:
        product *= field.modulus
    total = np.zeros(len(residues[0]), dtype=object)
    for field, values in zip(fields, residues, strict=True):
        # 1 modulo this prime and 0 modulo the others
        cofactor = product // field.modulus
        total = total + values.astype(object) * (cofactor * pow(cofactor, -1, field.modulus))
    total = total % product
    # the upper half of the residues stands for negative numbers
    return np.where(total > product // 2, total - product, total)
