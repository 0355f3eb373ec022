"""Sums of floating-point numbers without rounding: the same in any order, and from any pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEEPEST = 1127
"""Sums are whole numbers of 2^−1127: every finite number is one."""
HALF = 27
MOST = 1 << 25
"""Rows whose halves of 27 bits a floating-point number adds up exactly."""


def exact_sums(values: NDArray[np.float64], groups: NDArray[np.int64], count: int) -> list[int]:
    """The sum of the values of every group, in units of 2^−1127; nothing is lost.

    Numbers are taken apart into a whole number of 53 bits and a power of two, and the whole numbers
    of one power added up in two halves.

    >>> import numpy as np
    >>> found = exact_sums(np.array([1e100, 1.5, -1e100]), np.zeros(3, dtype=np.int64), 1)
    >>> round_exact(found[0])
    1.5
    """
    sums = [0] * count
    for start in range(0, len(values), MOST):
        _add(sums, values[start : start + MOST], groups[start : start + MOST])
    return sums


def _add(sums: list[int], values: NDArray[np.float64], groups: NDArray[np.int64]) -> None:
    fractions, powers = np.frexp(values)
    whole = np.ldexp(fractions, 53)
    high = np.floor(np.ldexp(whole, -HALF))
    low = whole - np.ldexp(high, HALF)
    lowest_power = int(powers.min(initial=0))
    width = int(powers.max(initial=0)) - lowest_power + 1
    positions = groups * width + (powers - lowest_power)
    upper = np.bincount(positions, high)
    lower = np.bincount(positions, low)
    for at in np.flatnonzero((upper != 0) | (lower != 0)).tolist():
        total = (int(upper[at]) << HALF) + int(lower[at])
        bit = at % width + lowest_power
        sums[at // width] += total << (bit - 53 + DEEPEST)


def round_exact(total: int) -> float:
    """An exact sum as the floating-point number nearest to it."""
    return total / (1 << DEEPEST)
