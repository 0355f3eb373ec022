"""Noise: drawn by OpenDP as whole numbers, from the system's source of randomness, never from a
seed.

Floating-point noise betrays the number it is added to by its last bits (Mironov 2012). So
everything that gets noise here is a whole number, and so is the noise: the discrete Laplace and the
discrete Gaussian distribution, sampled exactly. It is drawn on zeros, before the data are touched,
and added afterwards: how long a draw takes says nothing about them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.budget import PrivacyLoss
from sfumato.errors import InternalError, ParameterError, require

if TYPE_CHECKING:
    from numpy.typing import NDArray


LARGEST_SCALE = 2.0**53
"""Noise of a larger scale would leave the range of 64-bit numbers; draws beyond it have a
probability below e^-1000.
"""
WHOLE = "i64"  # OpenDP takes Python's int for 32 bits and cuts what is larger
EXACT_TAIL = 10_000.0
LAPLACE = "discrete Laplace"
GAUSSIAN = "discrete Gaussian"


@dataclasses.dataclass(frozen=True)
class Noise:
    """A distribution of whole numbers around 0: its name, scale, and the sensitivity it hides at
    its loss.
    """

    name: str
    scale: float
    measurement: Any = dataclasses.field(repr=False, compare=False)

    def draw(self, count: int) -> NDArray[np.int64]:
        """So many independent numbers."""
        return np.array(self.measurement([0] * count), dtype=np.int64)

    def draw_one_sided(self, count: int) -> NDArray[np.int64]:
        """Numbers of the same distribution given that they are not negative (geometric for the
        discrete Laplace).
        """
        accepted = np.empty(0, dtype=np.int64)
        while len(accepted) < count:
            # About half of the draws are kept; a few more save another round.
            fresh = self.draw(2 * (count - len(accepted)) + 16)
            accepted = np.concatenate([accepted, fresh[fresh >= 0]])
        return accepted[:count]

    def tail(self, failure: float) -> int:
        """The smallest t with P(|noise| > t) ≤ failure.

        Discrete Laplace of scale s, p = e^(−1/s): ``P(|X| > t) = 2·p^(t+1)/(1 + p)``.
        Discrete Gaussian: its mass function summed up to σ = 10⁴, beyond that the normal quantile
        rounded up.
        """
        if self.name == GAUSSIAN:
            return _gaussian_tail(self.scale, failure)
        p = math.exp(-1 / self.scale)
        reach = self.scale * math.log(2 / (failure * (1 + p)))
        return max(0, math.ceil(reach - 1))


def noise_for(loss: PrivacyLoss, l1: int, l2: float) -> Noise:
    """The noise that hides a change of L1 norm ``l1`` and L2 norm ``l2`` at this loss: Laplace for
    ε, Gaussian for ρ.

    The scale is ``l1/ε`` or ``l2/√(2ρ)``, rounded up until OpenDP's own privacy map confirms the
    loss.
    """
    if loss.epsilon is not None:
        return laplace(l1, loss.epsilon)
    return gaussian(l2, loss.as_rho)


def laplace(l1: int, epsilon: Fraction) -> Noise:
    """Discrete Laplace noise on a vector of whole numbers: ``P(x) ∝ e^(−|x|·ε/l1)`` (Ghosh et al.
    2012).
    """
    dp = _opendp()
    vectors = dp.vector_domain(dp.atom_domain(T=WHOLE))

    def make(scale: float) -> Any:
        return dp.m.make_laplace(vectors, dp.l1_distance(T=WHOLE), scale=scale)

    return _confirm_noise(LAPLACE, make, float(l1 / epsilon), l1, epsilon)


def gaussian(l2: float, rho: Fraction) -> Noise:
    """Discrete Gaussian noise: ``P(x) ∝ e^(−x²/2σ²)`` with ``σ = l2/√(2ρ)`` (Canonne, Kamath,
    Steinke 2020).
    """
    dp = _opendp()
    vectors = dp.vector_domain(dp.atom_domain(T=WHOLE))

    def make(scale: float) -> Any:
        return dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=scale)

    return _confirm_noise(GAUSSIAN, make, l2 / math.sqrt(2 * rho), float(l2), rho)


def _confirm_noise(
    name: str, make: Callable[[float], Any], scale: float, distance: float, allowed: Fraction
) -> Noise:
    """The mechanism whose own privacy map stays within what is allowed."""
    # A step of rounding is enough in general; the loop only guards against an endless search.
    for _ in range(64):
        if not scale < LARGEST_SCALE:
            raise ParameterError(
                "epsilon or rho is so small that the noise exceeds the range of whole numbers; "
                "ask for a larger one"
            )
        measurement = make(scale)
        if Fraction(measurement.map(distance)) <= allowed:
            return Noise(name, scale, measurement)
        # The next larger number or so: 5e-324 moves even a scale of 0.
        scale = scale * (1 + 1e-15) + 5e-324
    raise InternalError(
        "no scale of noise reaches the requested privacy loss; ask for a larger one"
    )


@dataclasses.dataclass(frozen=True)
class Selector:
    """The exponential mechanism on whole scores: the best is the most probable, and its scale says
    by how much.
    """

    scale: float
    measurement: Any = dataclasses.field(repr=False, compare=False)

    def choose(self, scores: NDArray[np.int64]) -> int:
        """The place of the score that was chosen."""
        return int(self.measurement(scores.tolist()))


def exponential(sensitivity: int, rho: Fraction) -> Selector:
    r"""The exponential mechanism for scores that one unit moves by ``sensitivity`` Δ at most, at
    the loss ρ.

    :math:`P(i) \propto e^{q_i/s}` with :math:`s = 2\Delta/\sqrt{8\rho}`, rounded up until OpenDP's
    own privacy map confirms ρ.
    """
    dp = _opendp()
    vectors = dp.vector_domain(dp.atom_domain(T=WHOLE))

    def make(scale: float) -> Any:
        return dp.m.make_noisy_max(
            vectors, dp.linf_distance(T=WHOLE), dp.zero_concentrated_divergence(), scale=scale
        )

    noise = _confirm_noise("Gumbel", make, 2 * sensitivity / math.sqrt(8 * rho), sensitivity, rho)
    return Selector(noise.scale, noise.measurement)


def _opendp() -> Any:
    dp = require("opendp.prelude", extra="dp", to="work under differential privacy")
    dp.enable_features("contrib")
    return dp


def _gaussian_tail(sigma: float, failure: float) -> int:
    if sigma > EXACT_TAIL:
        quantile = sigma * NormalDist().inv_cdf(1 - failure / 2)
        return math.ceil(quantile) + 1
    reach = math.ceil(12 * sigma) + 10  # beyond, there is less than 1e-30 of the mass
    deviations = np.arange(reach + 1) / sigma
    mass = np.exp(-0.5 * deviations**2)
    # The mass of 0 is there once, all other sizes with both signs.
    total = 2 * mass.sum() - mass[0]
    outside = 2 * (mass.sum() - np.cumsum(mass)) / total  # P(|X| > t) for t = 0, 1, …
    return int(np.argmax(outside <= failure))
