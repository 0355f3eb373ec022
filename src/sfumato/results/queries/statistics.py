"""Count, sum, mean and variance: each is made of totals of whole numbers, which get the noise.

Values are rounded to a public grid of 2²⁰ steps first, so that totals are whole numbers and their
sensitivity is exact; a value moves by less than a millionth of its bounds. What is computed from
noisy totals costs nothing more.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 1 << 20


@dataclasses.dataclass(frozen=True)
class Total:
    """A sum over rows: every row adds a whole number of [low, high], each worth ``step``."""

    low: int
    high: int
    step: float
    of_value: Callable[[Floats], Floats]

    def whole(self, values: Floats) -> Floats:
        """The whole numbers that rows with these values add (as floats: sums of them are exact
        below 2⁵³).
        """
        return np.clip(np.rint(self.of_value(values) / self.step), self.low, self.high)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Values with the interval that holds with the asked confidence, one each a group."""

    value: Floats
    low: Floats
    high: Floats


@dataclasses.dataclass(frozen=True)
class Statistic:
    """Which totals a statistic needs, and what it makes of them; ``combine(totals, tails)`` works
    on whole columns.
    """

    totals: tuple[Total, ...]
    combine: Callable[[Sequence[Floats], Sequence[float]], Estimate]


def statistic(name: str, bounds: tuple[float, float]) -> Statistic:
    """The statistic of this name for a column with these bounds."""
    return {"count": _count, "sum": _sum, "mean": _mean, "variance": _variance}[name](bounds)


def _constant_one(_values: Floats) -> Any:
    return np.ones_like(_values)


ROWS = Total(0, 1, 1.0, _constant_one)


def _count(_bounds: tuple[float, float]) -> Statistic:
    """The number of rows, plus noise: it may be negative, because cutting it off would bias sums of
    counts.
    """
    return Statistic(
        (ROWS,),
        lambda totals, tails: Estimate(totals[0], totals[0] - tails[0], totals[0] + tails[0]),
    )


def _sum(bounds: tuple[float, float]) -> Statistic:
    """The sum of the values, each moved into the bounds."""
    # the bound that is farther from 0 is 2²⁰ steps away, so one row moves the total by that at most
    step = _positive(max(abs(bounds[0]), abs(bounds[1])) / STEPS)
    low, high = (round(bound / step) for bound in bounds)
    total = Total(low, high, step, lambda values: values)
    return Statistic((total,), lambda t, tails: Estimate(t[0], t[0] - tails[0], t[0] + tails[0]))


def _mean(bounds: tuple[float, float]) -> Statistic:
    """The noisy sum of distances to the middle, divided by the noisy number of rows, within the
    bounds.
    """
    middle, half = _middle(bounds)
    centred = Total(-STEPS, STEPS, _positive(half / STEPS), lambda values: values - middle)

    def combine(totals: Sequence[Floats], tails: Sequence[float]) -> Estimate:
        rows, distance = totals
        low, high = _ratio(distance, tails[1], rows, tails[0], half)
        # the noisy number of rows may be 0 or negative
        value = np.clip(distance / np.maximum(rows, 1), -half, half)
        return Estimate(
            middle + value, middle + np.minimum(low, value), middle + np.maximum(high, value)
        )

    return Statistic((ROWS, centred), combine)


def _variance(bounds: tuple[float, float]) -> Statistic:
    """The sample variance ``(Q/n − (S/n)²)·n/(n−1)`` from noisy n, S = Σ(x−m), Q = Σ(x−m)², m the
    middle.

    It lies between 0 and the largest possible, (high − low)²/2 (two rows at the ends). Below two
    rows, counted noisily, n/(n−1) is taken as 2.
    """
    middle, half = _middle(bounds)
    largest_square = half * half
    centred = Total(-STEPS, STEPS, _positive(half / STEPS), lambda values: values - middle)
    # squares lie in [0, half²]; taken from the middle of that, one row moves the total half as far
    squares = Total(
        -STEPS,
        STEPS,
        _positive(largest_square / 2 / STEPS),
        lambda values: (values - middle) ** 2 - largest_square / 2,
    )

    def combine(totals: Sequence[Floats], tails: Sequence[float]) -> Estimate:
        rows, distance, square = totals
        low_mean, high_mean = _ratio(distance, tails[1], rows, tails[0], half)
        low_square, high_square = _ratio(square, tails[2], rows, tails[0], largest_square / 2)
        # the least square of an interval is 0 where the interval holds 0
        lowest_square = np.where(
            (low_mean <= 0) & (high_mean >= 0), 0.0, np.minimum(low_mean**2, high_mean**2)
        )
        mean = np.clip(distance / np.maximum(rows, 1), -half, half)
        value = (
            np.clip(square / np.maximum(rows, 1), -largest_square / 2, largest_square / 2)
            + largest_square / 2
            - mean**2
        )
        low = low_square + largest_square / 2 - np.maximum(low_mean**2, high_mean**2)
        high = high_square + largest_square / 2 - lowest_square
        variances = [
            np.clip(part, 0, largest_square) * _bessel(at)
            # n/(n − 1) falls with n: the lower end takes the most rows, the upper end the fewest
            for part, at in ((value, rows), (low, rows + tails[0]))
        ]
        top = np.clip(high, 0, largest_square) * _bessel(rows - tails[0])
        return Estimate(
            variances[0], np.minimum(variances[1], variances[0]), np.maximum(top, variances[0])
        )

    return Statistic((ROWS, centred, squares), combine)


def _bessel(rows: Floats) -> Any:
    return np.where(rows >= 2, rows / np.maximum(rows - 1, 1), 2.0)


def _ratio(
    above: Floats, above_tail: float, below: Floats, below_tail: float, bound: float
) -> tuple[Floats, Floats]:
    """The least and the greatest quotient within the tails; all of ±most where the divisor may be
    below one row.
    """
    fewest, largest = np.maximum(below - below_tail, 1), np.maximum(below + below_tail, 1)
    # a quotient is monotone in each of its parts, so its extremes lie at corners of the rectangle
    corners = np.stack(
        [(above + sign * above_tail) / by for sign in (-1, 1) for by in (fewest, largest)]
    )
    unknown = below - below_tail < 1
    low = np.where(unknown, -bound, np.clip(corners.min(axis=0), -bound, bound))
    return low, np.where(unknown, bound, np.clip(corners.max(axis=0), -bound, bound))


def _middle(bounds: tuple[float, float]) -> tuple[float, float]:
    """The middle of the bounds and half their distance."""
    return bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2


def _positive(step: float) -> float:
    if not (0 < step < math.inf):
        raise ParameterError(
            "the bounds are too wide or too narrow to compute with; use another unit for the column"
        )
    return step
