"""Draws by counter (Philox): one word for every record, and records that occurred before.

Arrays. All are one-dimensional, one entry per record; words are uint64. A draw depends on key and
counter only, never on the draws before it.
"""

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
def multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of the product of two words, by four products of halves (Knuth's schoolbook
    multiplication).
    """
    a0 = a & LOW
    a1 = a >> HALF
    b0 = b & LOW
    b1 = b >> HALF
    # Both middle products are added with the carries of the lower ones; no sum exceeds 64 bits.
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    lower_middle = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (lower_middle >> HALF)


@njit(cache=True, nogil=True)
def draw_words(
    key: NDArray[np.uint64], first: NDArray[np.uint64], second: NDArray[np.uint64], third: np.uint64
) -> NDArray[np.uint64]:
    """The first word of Philox4x64-10 (Salmon, Moraes, Dror & Shaw 2011) with the counter (first,
    second, third, 0), record by record.
    """
    draws = np.empty(len(first), dtype=np.uint64)
    for i in range(len(first)):
        a = first[i]
        b = second[i]
        c = third
        d = np.uint64(0)
        k = key[0]
        m = key[1]
        # Ten rounds: two multiplications, exclusive ors with the key, and a swap of the halves.
        for _ in range(10):
            upper = multiply_high(MULTIPLIER_0, a)
            lower = MULTIPLIER_0 * a
            above = multiply_high(MULTIPLIER_1, c)
            below = MULTIPLIER_1 * c
            a = above ^ b ^ k
            b = below
            c = upper ^ d ^ m
            d = lower
            # The key schedule is a Weyl sequence: a constant is added in every round.
            k = k + BUMP_0
            m = m + BUMP_1
        draws[i] = a
    return draws


@njit(cache=True, nogil=True)
def mark_repeats(bits: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which keys fall on a bit that an earlier key has set; all bits they fall on are set
    afterwards.

    ``bits`` are a power of two of words: a Bloom filter with one hash. Every key that occurs again
    is marked, and a few that only share their bit with another.
    """
    repeats = np.zeros(len(keys), dtype=np.bool_)
    mask = np.uint64(len(bits) * 64 - 1)
    for i in range(len(keys)):
        # The low bits of a key choose the bit: six of them within a word, the others the word.
        bit_number = keys[i] & mask
        bit = ONE << (bit_number & BIT)
        repeats[i] = (bits[bit_number >> WORD] & bit) != 0
        bits[bit_number >> WORD] |= bit
    return repeats
