"""Whole numbers, zeros, bounds and sums that masked numbers preserve."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEPS_OF_BISECTION = 200
MOST = 200.0
"""The logarithm of the largest factor that values are scaled by."""


@dataclasses.dataclass(frozen=True)
class Settling:
    """What masked numbers must keep.

    ``integers``: columns of whole numbers stay whole. ``zeros``: what was 0 is 0. ``lower`` and
    ``upper``: what is beyond is set to the bound. ``sums``: the weighted sum stays; all values that
    may move are shifted alike (``scaled``: multiplied alike, if all have one sign), those at a
    bound staying there; a value that is alone is left out of this, since its sum would give it
    away. Whole numbers are rounded to the nearest; where their sum must stay, those with the
    largest fractions are rounded up.
    """

    integers: bool = False
    zeros: bool = False
    lower: float | None = None
    upper: float | None = None
    sums: bool = False

    @property
    def changes(self) -> bool:
        """Whether anything is done to the numbers."""
        return (
            self.integers
            or self.zeros
            or self.sums
            or self.lower is not None
            or self.upper is not None
        )

    def settled(
        self,
        masked: Array,
        original: Array,
        weights: Array,
        *,
        whole: bool,
        alone: bool = True,
        scaled: bool = False,
    ) -> Array:
        """One column of one stratum, settled; NaN stays.

        ``whole`` says whether the column holds whole numbers. Unless every row is drawn ``alone``,
        whole numbers are rounded to the nearest even if sums must stay: rows of one person keep one
        value.
        """
        settled = masked.copy()
        free = ~np.isnan(masked)
        if self.zeros:
            settled[free & (original == 0)] = 0.0
            free &= original != 0
        low, high = self._bounds(whole=self.integers and whole)
        within = np.clip(settled[free], low, high)
        if self.sums and len(within) > 1:  # the sum of a single value is the value
            within = self._with_sum(
                within, original[free], weights[free], (low, high), scaled=scaled
            )
        if self.integers and whole:
            # Moving one unit from row to row keeps the sum only where all weights are equal.
            exact = self.sums and alone and bool((weights[free] == weights[free][:1]).all())
            within = rounded_to_sum(within) if exact else np.rint(within)
        settled[free] = within
        return settled

    def _bounds(self, *, whole: bool) -> tuple[float, float]:
        if self.lower is None:
            low = -math.inf
        elif whole:
            low = math.ceil(self.lower)
        else:
            low = self.lower
        if self.upper is None:
            high = math.inf
        elif whole:
            high = math.floor(self.upper)
        else:
            high = self.upper
        return low, high

    @staticmethod
    def _with_sum(
        masked: Array, original: Array, weights: Array, bounds: tuple[float, float], *, scaled: bool
    ) -> Array:
        target_sum = float(weights @ original)
        now = float(weights @ masked)
        if not weights.sum() > 0:
            return masked
        one_sign = bool((masked >= 0).all() or (masked <= 0).all())
        # with both signs a larger factor need not give a larger sum
        if scaled and one_sign and target_sum * now > 0:

            def shift(t: float) -> Array:
                rescaled = masked * math.exp(min(max(t, -MOST), MOST))
                return np.clip(rescaled, *bounds)

            guess = math.log(target_sum / now)
        else:

            def shift(t: float) -> Array:
                return np.clip(masked + t, *bounds)

            guess = (target_sum - now) / float(weights.sum())
        return _at(shift, weights, target_sum, guess)


def _at(shift: Callable[[float], Array], weights: Array, target_sum: float, guess: float) -> Array:
    """The values moved so far that their weighted sum is the wanted one, or as near to it as bounds
    allow.

    Without bounds the guess is right. Otherwise it is doubled until the sum lies between, and then
    halved in.
    """

    def missing(t: float) -> float:
        return float(weights @ shift(t)) - target_sum

    scale = max(1.0, abs(target_sum))
    if abs(missing(guess)) <= 1e-12 * scale:
        return shift(guess)
    # Larger t need not give a larger sum: negative numbers shrink when they are scaled up.
    rising = missing(guess + 1.0) >= missing(guess)
    near, far = guess, guess
    if (missing(guess) < 0) == rising:
        direction = 1.0
    else:
        direction = -1.0
    step = max(abs(guess), 1.0) * direction
    # Double the step until the sum has passed the target.
    for _ in range(64):
        far += step
        if (missing(far) < 0) != (missing(near) < 0):
            break
        step *= 2
    # Bisection; it ends when no number lies between the two ends.
    for _ in range(STEPS_OF_BISECTION):
        middle = (near + far) / 2
        if middle in (near, far):
            break
        if (missing(middle) < 0) == (missing(near) < 0):
            near = middle
        else:
            far = middle
    return shift(min(near, far, key=lambda t: abs(missing(t))))


def rounded_to_sum(values: Array) -> Array:
    """Whole numbers next to the values whose sum is the values' sum, rounded: the largest fractions
    go up.

    >>> import numpy as np
    >>> rounded_to_sum(np.array([0.4, 1.4, 2.2])).tolist()
    [1.0, 1.0, 2.0]
    """
    low = np.floor(values)
    # 0.4 + 0.4 + 0.2 = 1 unit to add, to the largest fraction, the first of equal ones.
    units_to_add = round(float((values - low).sum()))
    low[np.argsort(low - values, kind="stable")[:units_to_add]] += 1.0
    return low
