"""Which of two numbers is larger, where nobody knows either: the sign of a shared number, as a
shared bit."""

from __future__ import annotations

import os

import numpy as np

from sfumato.parties.arithmetic import Arithmetic
from sfumato.parties.signs import negative, random_bits
from tests.parties.test_protocols import everybody


def test_signs_of_numbers_nobody_knows():
    values = np.array([0, 1, -1, 5, -5, 2**30 - 1, -(2**30 - 1), 12345, -99999, *range(-40, 40)])

    async def compare(channel):
        arithmetic = Arithmetic(channel, 1, os.urandom)
        shares = await arithmetic.shared(values * (channel.number == 1))
        bits = await arithmetic.opened(await random_bits(arithmetic, 2000))
        return (await arithmetic.opened(await negative(arithmetic, shares))).tolist(), bits

    answers, _ = everybody(3, compare)
    assert all(bits == (values < 0).astype(int).tolist() for bits, _ in answers)
    drawn = answers[0][1]
    assert (
        set(drawn.tolist()) == {0, 1} and abs(drawn.mean() - 0.5) < 0.08
    )  # seven standard deviations
