"""Numbers between public bounds as whole steps of a grid: what exact noise is added to."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Whole = NDArray[np.int64]

USUAL_STEPS = 1 << 20
"""Bounds without a unit are divided into so many steps."""
MOST_STEPS = 1 << 40
"""More steps would bring the noise near the end of 64-bit numbers."""


@dataclasses.dataclass(frozen=True)
class NumberGrid:
    """The numbers ``low + m·unit`` for m = 0, …, ``steps``; ``unit`` None: a 2²⁰-th of the bounds.

    Where the bounds are no multiple of the unit, the last number lies above the upper one.

    >>> grid = NumberGrid(0, 10, 4)
    >>> grid.steps, grid.positions(np.array([-3, 5.9, 99, np.nan])).tolist()
    (3, [0, 1, 2, 1])
    >>> grid.values(np.array([-1, 3])).tolist()
    [-4, 12]
    """

    low: float
    high: float
    unit: float | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.high - self.low) or self.width <= 0:
            raise ParameterError(
                "the bounds are too far apart, or too close, for floating-point numbers; change"
                " them, or the unit of the column"
            )
        if self.unit is None:
            return
        if not 0 < self.unit <= self.high - self.low:
            raise ParameterError("a unit must be above 0 and at most the width of the bounds")
        if (self.high - self.low) / self.unit > MOST_STEPS:
            raise ParameterError("the unit is too small for the bounds; choose a larger one")

    @property
    def width(self) -> float:
        """How far two neighbouring numbers of the grid lie apart."""
        return (self.high - self.low) / USUAL_STEPS if self.unit is None else self.unit

    @property
    def steps(self) -> int:
        """The position of the last number: how far two values can lie apart."""
        if self.unit is None:
            return USUAL_STEPS
        # 1e-9 forgives rounding: 0.3 / 0.1 is 2.9999999999999996 and means 3.
        return max(1, math.ceil((self.high - self.low) / self.unit - 1e-9))

    def positions(self, values: Numbers) -> Whole:
        """The nearest positions of values cut off at the bounds; a missing value (NaN) counts as
        the middle of the bounds, since an error would tell of a record.
        """
        middle = self.low + (self.high - self.low) / 2
        known = np.where(np.isnan(values), middle, values)
        inside = np.clip(known, self.low, self.high)
        positions = np.rint((inside - self.low) / self.width)
        return np.clip(positions, 0, self.steps).astype(np.int64)

    def values(self, positions: Whole) -> Numbers:
        """The numbers at positions, which may lie outside of the bounds."""
        return np.asarray(self.low + positions * self.width)
