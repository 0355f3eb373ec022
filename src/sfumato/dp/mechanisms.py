"""Noise: drawn by OpenDP as whole numbers, from the system's source of randomness, never from a seed.

Floating-point noise betrays the number it is added to by its last bits (Mironov 2012). So everything that gets noise here
is a whole number, and so is the noise: the discrete Laplace and the discrete Gaussian distribution, sampled exactly.
It is drawn on zeros, before the data are touched, and added afterwards: how long a draw takes says nothing about them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.budget import PrivacyLoss
from sfumato.errors import InternalError, ParameterError, require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.table import Relation

LARGEST_SCALE = 2.0**53
"""Noise of a larger scale would leave the range of 64-bit numbers; draws beyond it have a probability below e^-1000."""

WHOLE = "i64"  # OpenDP takes Python's int for 32 bits and cuts what is larger
EXACT_TAIL = 10_000.0


@dataclasses.dataclass(frozen=True)
class Noise:
    """A distribution of whole numbers around 0: its name, scale, and the sensitivity it hides at its loss."""

    name: str
    scale: float
    measurement: Any = dataclasses.field(repr=False, compare=False)

    def draw(self, count: int) -> NDArray[np.int64]:
        """So many independent numbers."""
        return np.array(self.measurement([0] * count), dtype=np.int64)

    def draw_one_sided(self, count: int) -> NDArray[np.int64]:
        """Numbers of the same distribution given that they are not negative (geometric for the discrete Laplace)."""
        kept = np.empty(0, dtype=np.int64)
        while len(kept) < count:
            fresh = self.draw(2 * (count - len(kept)) + 16)
            kept = np.concatenate([kept, fresh[fresh >= 0]])
        return kept[:count]

    def tail(self, failure: float) -> int:
        """The smallest t with P(|noise| > t) ≤ failure.

        Discrete Laplace of scale s, p = e^(−1/s): ``P(|X| > t) = 2·p^(t+1)/(1 + p)``. Discrete Gaussian: its mass
        function summed up to σ = 10⁴, beyond that the normal quantile rounded up.
        """
        if self.name == GAUSSIAN:
            return _gaussian_tail(self.scale, failure)
        p = math.exp(-1 / self.scale)
        return max(0, math.ceil(self.scale * math.log(2 / (failure * (1 + p))) - 1))


LAPLACE = "discrete Laplace"
GAUSSIAN = "discrete Gaussian"


def noise_for(loss: PrivacyLoss, l1: int, l2: float) -> Noise:
    """The noise that hides a change of L1 norm ``l1`` and L2 norm ``l2`` at this loss: Laplace for ε, Gaussian for ρ.

    The scale is ``l1/ε`` or ``l2/√(2ρ)``, rounded up until OpenDP's own privacy map confirms the loss.
    """
    if loss.epsilon is not None:
        return laplace(l1, loss.epsilon)
    return gaussian(l2, loss.as_rho)


def laplace(l1: int, epsilon: Fraction) -> Noise:
    """Discrete Laplace noise on a vector of whole numbers: ``P(x) ∝ e^(−|x|·ε/l1)`` (Ghosh et al. 2012)."""
    dp = _opendp()
    vectors = dp.vector_domain(dp.atom_domain(T=WHOLE))

    def make(scale: float) -> Any:
        return dp.m.make_laplace(vectors, dp.l1_distance(T=WHOLE), scale=scale)

    return _confirmed(LAPLACE, make, float(l1 / epsilon), l1, epsilon)


def gaussian(l2: float, rho: Fraction) -> Noise:
    """Discrete Gaussian noise: ``P(x) ∝ e^(−x²/2σ²)`` with ``σ = l2/√(2ρ)`` (Canonne, Kamath, Steinke 2020)."""
    dp = _opendp()
    vectors = dp.vector_domain(dp.atom_domain(T=WHOLE))

    def make(scale: float) -> Any:
        return dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=scale)

    return _confirmed(GAUSSIAN, make, l2 / math.sqrt(2 * rho), float(l2), rho)


def _confirmed(name: str, make: Callable[[float], Any], scale: float, distance: float, allowed: Fraction) -> Noise:
    """The mechanism whose own privacy map stays within what is allowed."""
    for _ in range(64):
        if not scale < LARGEST_SCALE:
            raise ParameterError(
                "epsilon or rho is so small that the noise leaves the range of whole numbers; ask more"
            )
        measurement = make(scale)
        if Fraction(measurement.map(distance)) <= allowed:
            return Noise(name, scale, measurement)
        scale = scale * (1 + 1e-15) + 5e-324
    raise InternalError("no scale of noise keeps the privacy loss that was asked for")


def _opendp() -> Any:
    dp = require("opendp.prelude", extra="dp", to="answer questions under differential privacy")
    dp.enable_features("contrib")
    return dp


def _gaussian_tail(sigma: float, failure: float) -> int:
    if sigma > EXACT_TAIL:
        return math.ceil(sigma * NormalDist().inv_cdf(1 - failure / 2)) + 1
    reach = math.ceil(12 * sigma) + 10  # beyond, there is less than 1e-30 of the mass
    mass = np.exp(-0.5 * (np.arange(reach + 1) / sigma) ** 2)
    total = 2 * mass.sum() - mass[0]
    outside = 2 * (mass.sum() - np.cumsum(mass)) / total  # P(|X| > t) for t = 0, 1, …
    return int(np.argmax(outside <= failure))


# Quantiles: the value of a public grid whose rank is nearest, chosen so that one person hardly matters.
#
# Every candidate c gets a score, how far its rank is from the asked level a/b:
# ``|(b − a)·#(x < c) − a·#(x > c)|``. Geometric noise is added to each, and the best noisy score wins; equal ones are told
# apart by their place. It is permute-and-flip (McKenna, Sheldon 2020), taken as a noisy maximum with exponential noise
# (Ding et al. 2021) and moved to whole numbers: with all other noises fixed, a candidate wins when its own noise is at least
# some r, and ``P(noise ≥ r + 2Δ) ≥ e^(−2Δ/s)·P(noise ≥ r)``, so the loss is at most 2Δ/s, ties included.

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
        return self.noise.draw_one_sided(cells * len(self.candidates)).reshape(cells, len(self.candidates))

    def choose(
        self, values: NDArray[np.float64], cell: NDArray[np.int64], cells: int, drawn: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The winning candidate of every group; rows with the number after the last group do not count."""
        a, b = self.level.numerator, self.level.denominator
        less, greater = _ranks(values, cell, cells, self.candidates)
        score = np.abs((b - a) * less - a * greater)
        winners: NDArray[np.float64] = np.array(self.candidates)[np.argmax(drawn - score, axis=1)]
        return winners

    def rank_error(self, failure: float) -> float:
        """In rows: how much farther the chosen rank may be from the level than that of the best candidate.

        The winner loses at most the largest noise to the best: ``P(max noise > t) ≤ m·e^(−(t+1)/s)``.
        """
        largest = max(0, math.ceil(self.noise.scale * math.log(len(self.candidates) / failure)) - 1)
        return largest / self.level.denominator


def chooser(level: float, candidates: Sequence[float], relation: Relation, loss: PrivacyLoss, *, cells: int) -> Chooser:
    """The mechanism for a level between 0 and 1; adding a person moves scores by Δ in total over all groups."""
    share = exact_level(level)
    a, b = share.numerator, share.denominator
    reach = relation.reach(-a, b - a, cells=cells)[0]
    epsilon = loss.epsilon if loss.epsilon is not None else _epsilon_within(loss.as_rho)
    return Chooser(share, tuple(candidates), laplace(2 * reach, epsilon))


def exact_level(level: Any) -> Fraction:
    """A quantile level as a fraction with a small denominator.

    >>> exact_level(0.25)
    Fraction(1, 4)
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError("a quantile's level must lie between 0 and 1, both excluded (0.5 is the median)")
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
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and low <= v <= high for v in candidates):
        raise ParameterError(wrong)
    return tuple(sorted({float(v) for v in candidates}))


def _ranks(
    values: NDArray[np.float64], cell: NDArray[np.int64], cells: int, candidates: tuple[float, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per group and candidate, the rows below and above it, by one scan and running sums."""
    width = len(candidates) + 1

    def counted(side: Any) -> NDArray[np.int64]:
        place = np.searchsorted(candidates, values, side=side)
        return np.bincount(cell * width + place, minlength=(cells + 1) * width).reshape(cells + 1, width)[:cells]

    below = np.cumsum(counted("right"), axis=1)[:, :-1]
    smaller = np.cumsum(counted("left"), axis=1)
    return below, smaller[:, -1:] - smaller[:, :-1]


def _epsilon_within(rho: Fraction) -> Fraction:
    """The pure ε that costs no more than ρ: ε²/2 ≤ ρ."""
    epsilon = Fraction(math.sqrt(2 * rho))
    while epsilon**2 / 2 > rho:
        epsilon *= Fraction(10**15 - 1, 10**15)
    return epsilon
