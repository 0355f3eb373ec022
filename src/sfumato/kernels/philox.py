"""Draws by counter: one word for every record, and records that were seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.kernels.loop_cache import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
BUMP_0 = np.uint64(0x9E3779B97F4A7C15)
BUMP_1 = np.uint64(0xBB67AE8584CAA73B)
WORD = np.uint64(6)
BIT = np.uint64(63)
ONE = np.uint64(1)


@njit(cache=True, nogil=True, inline="always")
def high(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a product."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (other >> HALF)


@njit(cache=True, nogil=True)
def words(
    key: NDArray[np.uint64], first: NDArray[np.uint64], second: NDArray[np.uint64], third: np.uint64
) -> NDArray[np.uint64]:
    """The first word of Philox4x64-10 with the counter (first, second, third, 0), record by
    record.
    """
    found = np.empty(len(first), dtype=np.uint64)
    for i in range(len(first)):
        a, b, c, d = first[i], second[i], third, np.uint64(0)
        k, m = key[0], key[1]
        for _ in range(10):
            upper, lower = high(MULTIPLIER_0, a), MULTIPLIER_0 * a
            above, below = high(MULTIPLIER_1, c), MULTIPLIER_1 * c
            a, b, c, d = above ^ b ^ k, below, upper ^ d ^ m, lower
            k, m = k + BUMP_0, m + BUMP_1
        found[i] = a
    return found


@njit(cache=True, nogil=True)
def seen_again(bits: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which keys fall on a bit that is set already, by one before; all bits they fall on are set
    afterwards.

    ``bits`` are a power of two of words. Every key that comes again is told, and a few that only
    share their bit with another.
    """
    found = np.zeros(len(keys), dtype=np.bool_)
    places = np.uint64(len(bits) * 64 - 1)
    for i in range(len(keys)):
        place = keys[i] & places
        bit = ONE << (place & BIT)
        found[i] = (bits[place >> WORD] & bit) != 0
        bits[place >> WORD] |= bit
    return found
