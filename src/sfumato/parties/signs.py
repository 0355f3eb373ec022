"""Which of two numbers is larger, where nobody knows either: the sign of a shared number, as a
shared bit.

A number *v* with |v| < p/2 is negative exactly when 2v mod p is odd. The last bit of x = 2v is
found by opening c = x + r for a random r whose bits are shared: c and r tell x, and with c public
only ``c < r`` has to be computed on bits (Nishide, Ohta 2007). c is uniform, so that it says
nothing about x (r is uniform but for one value of 2³¹).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.parties.channel import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.parties.arithmetic import Arithmetic

BITS = 31


async def negative(arithmetic: Arithmetic, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Shares of 1 where a shared number is negative and of 0 elsewhere; numbers must lie between
    −p/2 and p/2.
    """
    bits = await random_bits(arithmetic, BITS * len(numbers))
    # one row for each place, lowest first; one column for each number
    bits = bits.reshape(BITS, len(numbers))
    # the mask r = Σ 2ⁱ · bit i
    mask = arithmetic.sums(
        np.stack([arithmetic.scaled(bit, 1 << i) for i, bit in enumerate(bits)], axis=1)
    )
    masked = arithmetic.sums(np.stack([arithmetic.scaled(numbers, 2), mask], axis=1))
    opened_value = await arithmetic.opened(masked, Phase.PRODUCTS)
    # bit i of c in row i, as the bits of r
    public = (
        (opened_value[None, :] >> np.arange(BITS, dtype=np.uint64)[:, None]) & np.uint64(1)
    ).astype(bool)
    # c < r says that x + r passed p: then x = c − r + p, and p is odd
    wrapped = await _below(arithmetic, public, bits)
    last = _flip_bit(arithmetic, bits[0], public[0])
    # x is odd where last and wrapped differ: a xor b = a + b − 2ab
    both_signs = await arithmetic.product(last, wrapped)
    return arithmetic.sums(np.stack([last, wrapped, arithmetic.scaled(both_signs, -2)], axis=1))


async def random_bits(arithmetic: Arithmetic, count: int) -> NDArray[np.uint64]:
    """Shared bits that nobody knows: a random number divided by the root of its square is 1 or −1,
    and nobody knows which.

    p = 3 mod 4, so the root of a square a is ``a^((p+1)/4)``; a square that is 0 is drawn again
    by :meth:`Arithmetic.nonzero`.
    """
    p = arithmetic.field.modulus
    random_values = await arithmetic.nonzero(count)
    squares = await arithmetic.opened(
        await arithmetic.product(random_values, random_values), Phase.PRODUCTS
    )
    # the squares are public, so roots and inverses need no message
    inverse_roots = np.array(
        [pow(pow(int(a), (p + 1) // 4, p), -1, p) for a in squares], dtype=np.uint64
    )
    signs = random_values * inverse_roots % np.uint64(p)
    # −1 → 0, 1 → 1
    return arithmetic.scaled(arithmetic.plus(signs, 1), pow(2, -1, p))


async def _below(
    arithmetic: Arithmetic, public: NDArray[np.bool_], bits: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Shares of 1 where the public number is below the shared one, by their bits, lowest first.

    At the highest place where they differ, the public bit is 0. Whether two numbers are equal from
    a place up is a product over the places above; all these products are computed in five rounds,
    by doubling.
    """
    equal = [
        _flip_bit(arithmetic, bit, ~known_bit) for bit, known_bit in zip(bits, public, strict=True)
    ]
    step = 1
    while step < BITS:
        # after steps 1, 2, 4, … an entry covers 2, 4, 8, … places from its own up
        above = await arithmetic.product(
            np.concatenate(equal[:-step]), np.concatenate(equal[step:])
        )
        equal = [*np.split(above, BITS - step), *equal[-step:]]
        step *= 2
    # above the highest place everything is equal
    higher = [*equal[1:], arithmetic.constant(1, len(bits[0]))]
    # equal above a place but not from it on: there the numbers first differ
    first = [
        np.where(
            known_bit,
            np.uint64(0),
            arithmetic.sums(np.stack([up, arithmetic.scaled(equal_bit, -1)], axis=1)),
        )
        for up, equal_bit, known_bit in zip(higher, equal, public, strict=True)
    ]
    return arithmetic.sums(np.stack(first, axis=1))


def _flip_bit(
    arithmetic: Arithmetic, bit: NDArray[np.uint64], where: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Shares of a bit, or of its opposite where asked."""
    return np.where(where, arithmetic.plus(arithmetic.scaled(bit, -1), 1), bit)
