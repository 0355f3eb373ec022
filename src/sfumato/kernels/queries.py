"""Loops over counting queries, of which up to 64 are asked at once.

Arrays. Bit q of ``words[i]`` (uint64) says whether record *i* counts for query *q*; ``amounts[i]``
(int64) is how often it counts.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.loop_cache import njit


@njit(cache=True, nogil=True)
def add_by_bit(words, amounts):
    """Per bit the sum of the amounts whose word has it; costs a step for every word and every bit
    that is set.
    """
    sums = np.zeros(64, np.int64)
    for i in range(words.size):
        word = words[i]
        # x & −x is the lowest set bit; it is cleared after its amount is added.
        while word:
            lowest = word & (~word + np.uint64(1))
            sums[_bit_number(lowest)] += amounts[i]
            word ^= lowest
    return sums


@njit(cache=True, nogil=True, inline="always")
def _bit_number(bit):
    """The number of the only set bit of a word, by six tests: each mask has the bits whose number
    has one binary digit 1.
    """
    # Upper half of the word → the number has the digit 32, and so on.
    number = 0
    if bit & np.uint64(0xFFFFFFFF00000000):
        number += 32
    if bit & np.uint64(0xFFFF0000FFFF0000):
        number += 16
    if bit & np.uint64(0xFF00FF00FF00FF00):
        number += 8
    if bit & np.uint64(0xF0F0F0F0F0F0F0F0):
        number += 4
    if bit & np.uint64(0xCCCCCCCCCCCCCCCC):
        number += 2
    if bit & np.uint64(0xAAAAAAAAAAAAAAAA):
        number += 1
    return number
