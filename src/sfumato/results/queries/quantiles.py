"""Quantiles: the value of a public grid whose rank is nearest, chosen so that one person hardly
matters.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.methods.formulas.noise import Noise, laplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.budget import PrivacyLoss
    from sfumato.core.declared import Relation

# Every candidate c gets a score, how far its rank is from the asked level a/b:
# ``|(b − a)·#(x < c) − a·#(x > c)|``. Geometric noise is added to each, and the best noisy score
# wins; equal ones are distinguished by their place. It is permute-and-flip (McKenna, Sheldon 2020),
# taken as a noisy maximum with exponential noise (Ding et al. 2021) and moved to whole numbers:
# with all other noises fixed, a candidate wins when its own noise is at least some r, and
# ``P(noise ≥ r + 2Δ) ≥ e^(−2Δ/s)·P(noise ≥ r)``, so the loss is at most 2Δ/s, ties included.

FINEST_LEVEL = 10_000
DEFAULT_GRID = 101


@dataclasses.dataclass(frozen=True)
class Chooser:
    """The noise of one quantile question, and how far the chosen rank can be off."""

    level: Fraction
    candidates: tuple[float, ...]
    noise: Noise

    def draw(self, cells: int) -> NDArray[np.int64]:
        """The noise of every candidate in every group."""
        return self.noise.draw_one_sided(cells * len(self.candidates)).reshape(
            cells, len(self.candidates)
        )

    def choose(
        self,
        values: NDArray[np.float64],
        cell: NDArray[np.int64],
        cells: int,
        noise: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """The winning candidate of every group; rows with the number after the last group do not
        count.
        """
        a, b = self.level.numerator, self.level.denominator
        below_counts, greater = _ranks(values, cell, cells, self.candidates)
        score = np.abs((b - a) * below_counts - a * greater)
        winners: NDArray[np.float64] = np.array(self.candidates)[np.argmax(noise - score, axis=1)]
        return winners

    def rank_error(self, failure: float) -> float:
        """In rows: how much farther the chosen rank may be from the level than that of the best
        candidate.

        The winner loses at most the largest noise to the best:
        ``P(max noise > t) ≤ m·e^(−(t+1)/s)``.
        """
        largest = max(0, math.ceil(self.noise.scale * math.log(len(self.candidates) / failure)) - 1)
        # scores are in units of 1/b of a row
        return largest / self.level.denominator


def chooser(
    level: float, candidates: Sequence[float], relation: Relation, loss: PrivacyLoss, *, cells: int
) -> Chooser:
    """The mechanism for a level between 0 and 1; adding a person moves scores by Δ in total over
    all groups.
    """
    share = exact_level(level)
    a, b = share.numerator, share.denominator
    reach = relation.reach(-a, b - a, cells=cells)[0]
    if loss.epsilon is not None:
        epsilon = loss.epsilon
    else:
        epsilon = _epsilon_within(loss.as_rho)
    return Chooser(share, tuple(candidates), laplace(2 * reach, epsilon))


def exact_level(level: Any) -> Fraction:
    """A quantile level as a fraction with a small denominator.

    >>> exact_level(0.25)
    Fraction(1, 4)
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(
            "a quantile's level must be between 0 and 1, both excluded (0.5 is the median)"
        )
    share = Fraction(str(float(level)))
    if share.denominator > FINEST_LEVEL:
        raise ParameterError("a quantile's level may have at most four digits")
    return share


def grid(bounds: tuple[float, float], candidates: Any) -> tuple[float, ...]:
    """The candidates: a number of equal steps from bound to bound, or a list of values within them.

    >>> grid((0.0, 10.0), 3), grid((0.0, 10.0), [9, 1, 1])
    ((0.0, 5.0, 10.0), (1.0, 9.0))
    """
    low, high = bounds
    if type(candidates) is int:
        if candidates < 2:
            raise ParameterError("a grid needs at least 2 candidates")
        share = [i / (candidates - 1) for i in range(candidates)]
        return tuple(low * (1 - part) + high * part for part in share)
    wrong = "candidates must be a number of grid values or a list of numbers within the bounds"
    if not isinstance(candidates, Sequence) or isinstance(candidates, str) or not candidates:
        raise ParameterError(wrong)
    if not all(
        isinstance(v, int | float) and not isinstance(v, bool) and low <= v <= high
        for v in candidates
    ):
        raise ParameterError(wrong)
    return tuple(sorted({float(v) for v in candidates}))


def _ranks(
    values: NDArray[np.float64], cell: NDArray[np.int64], cells: int, candidates: tuple[float, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per group and candidate, the rows below and above it, by one scan and running sums."""
    width = len(candidates) + 1

    def count_side(side: Any) -> NDArray[np.int64]:
        positions = np.searchsorted(candidates, values, side=side)
        return np.bincount(cell * width + positions, minlength=(cells + 1) * width).reshape(
            cells + 1, width
        )[:cells]

    # the first j + 1 columns hold the values below candidate j with "right", and those not above it
    # with "left"
    below = np.cumsum(count_side("right"), axis=1)[:, :-1]
    smaller = np.cumsum(count_side("left"), axis=1)
    return below, smaller[:, -1:] - smaller[:, :-1]


def _epsilon_within(rho: Fraction) -> Fraction:
    """The pure ε that costs no more than ρ: ε²/2 ≤ ρ."""
    # the square root may be rounded up: step down until the cost fits
    epsilon = Fraction(math.sqrt(2 * rho))
    while epsilon**2 / 2 > rho:
        epsilon *= Fraction(10**15 - 1, 10**15)
    return epsilon
