"""Random draws that may carry a promise of differential privacy: from the operating system, and
exact.

Noise in floating-point numbers betrays by its last bits what it was added to (Mironov 2012,
doi:10.1145/2382196.2382264), and a seed that is written down is not secret. So noise is made of
whole numbers, drawn with fair coins of whole numbers only, and comes from the system. In a
rehearsal, whose seed can be guessed anyway, draws are seeded so that tests can repeat them; then
nothing is certified.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import MissingExtra, ParameterError, require
from sfumato.methods.formulas.noise import exponential, gaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

    Ints = NDArray[np.int64]

Below = Callable[[int], int]
"""A whole number from 0 up to one below the given one, all equally likely."""

LARGEST_SCALE = 2**50


class Draws:
    """A source of draws: ``secure`` ones come from the system and may be certified."""

    # Seeded draws can be repeated by anybody who knows the seed: they protect nobody.
    def __init__(self, generator: np.random.Generator | None = None) -> None:
        self.secure = generator is None
        self._generator = generator
        if generator is None:
            self._bytes: Callable[[int], bytes] = secrets.token_bytes
        else:
            self._bytes = generator.bytes
        if generator is None:
            self._below: Below = secrets.randbelow
        else:
            self._below = _seeded_below(generator)

    @classmethod
    def of(cls, goal: Goal, purpose: str) -> Draws:
        """The draws of a step: seeded in a rehearsal only."""
        rehearsal = goal.seed is not None and goal.seed.rehearsal
        return cls(goal.stream(purpose) if rehearsal else None)

    def kept(self, count: int, share: float) -> NDArray[np.bool_]:
        """So many coins that show True with probability ``share`` (rounded down to a multiple of
        2^−64).
        """
        # Compared as whole words: no floating-point number decides.
        limit = int(Fraction(share) * (1 << 64))
        if limit >= 1 << 64:
            return np.ones(count, dtype=np.bool_)
        return self._words(count) < np.uint64(limit)

    def below_power(self, bits: int, count: int) -> Ints:
        """So many whole numbers from 0 to 2^bits − 1, all equally likely; at most 63 bits."""
        return (self._words(count) >> np.uint64(64 - bits)).astype(np.int64)

    def permutation(self, count: int) -> Ints:
        """A random order of 0, 1, …, by keys of 128 bits."""
        # Two words a place: equal keys are all but impossible.
        sort_keys = self._words(count), self._words(count)
        return np.lexsort(sort_keys).astype(np.int64)

    def laplace(self, scale: Fraction, count: int) -> Ints:
        r"""So many numbers of the discrete Laplace distribution, :math:`P(x) \propto e^{-|x|/s}`, s
        = ``scale``.

        By OpenDP where it is installed (extra ``dp``), else, and in rehearsals,
        by :func:`discrete_laplace`.
        """
        if not 0 < scale < LARGEST_SCALE:
            raise ParameterError(
                "the noise would exceed the range of whole numbers; raise epsilon or k"
            )
        if self.secure and (opendp_draws := _by_opendp(scale, count)) is not None:
            return np.array(opendp_draws, dtype=np.int64)
        return np.array(
            [discrete_laplace(scale, self._below) for _ in range(count)], dtype=np.int64
        )

    def gaussian(self, l2: float, rho: Fraction, count: int) -> Ints:
        r"""So many numbers of the discrete Gaussian distribution that hides a change of L2 norm
        ``l2`` at the loss ρ: :math:`\sigma = l_2/\sqrt{2\rho}`.

        By OpenDP (extra ``dp``), whose own privacy map confirms ρ. In rehearsals rounded normal
        numbers stand in: nothing is certified.
        """
        if self._generator is None:
            return gaussian(l2, rho).draw(count)
        sigma = l2 / math.sqrt(2 * rho)
        return np.rint(self._generator.normal(0.0, sigma, count)).astype(np.int64)

    def best(self, scores: Ints, sensitivity: int, rho: Fraction) -> int:
        r"""The place of a score, chosen by the exponential mechanism at the loss ρ.

        With whole scores q that one unit moves by ``sensitivity`` Δ
        at most: :math:`P(i) \propto e^{\varepsilon q_i/(2\Delta)}`,
        :math:`\rho = \varepsilon^2/8` (Cesar & Rogers 2021, arXiv:2004.07223). By OpenDP as a noisy
        maximum with Gumbel noise.
        """
        if self._generator is None:
            return exponential(sensitivity, rho).choose(scores)
        scale = 2 * sensitivity / math.sqrt(8 * rho)
        noisy_scores = scores + self._generator.gumbel(0.0, scale, len(scores))
        return int(np.argmax(noisy_scores))

    def seed(self) -> int:
        """A seed of 128 bits for draws that touch no data."""
        return int.from_bytes(self._bytes(16), "big")

    def _words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(self._bytes(8 * count), dtype=np.uint64)


def discrete_laplace(scale: Fraction, below: Below = secrets.randbelow) -> int:
    r"""One number of the discrete Laplace
    distribution, exactly: :math:`P(x) = \frac{1 - q}{1 + q} q^{|x|}`, :math:`q = e^{-1/s}`.

    Reference: Canonne, Kamath & Steinke 2020, arXiv:2004.00010, Algorithm 2.

    >>> isinstance(discrete_laplace(Fraction(5, 2)), int)
    True
    """
    numerator = scale.numerator
    denominator = scale.denominator
    while True:
        # Accepted with probability e^(−fine/numerator): together with the whole steps below it is a
        # geometric number with the parameter 1/numerator.
        fine = below(numerator)
        if not _coin_of_exp(Fraction(fine, numerator), below):
            continue
        whole = 0
        while _coin_of_exp(Fraction(1), below):
            whole += 1
        size = (fine + numerator * whole) // denominator
        negative = below(2) == 1
        # Zero would be drawn with either sign, twice as often as it should.
        if negative and size == 0:
            continue
        return -size if negative else size


def _coin_of_exp(exponent: Fraction, below: Below) -> bool:
    """True with probability e^−exponent, for an exponent from 0 to 1: no exponential is
    computed.
    """
    turns = 1
    # Turns go on with chances x/1, x/2, x/3 …: an odd number of them has the probability e^−x.
    while below(exponent.denominator * turns) < exponent.numerator:
        turns += 1
    return turns % 2 == 1


def _by_opendp(scale: Fraction, count: int) -> Any | None:
    """Numbers drawn by OpenDP with the next larger scale that is a floating-point number, or None
    without it.
    """
    try:
        dp = require("opendp.prelude", extra="dp", to="draw noise with OpenDP")
    except MissingExtra:
        return None
    dp.enable_features("contrib")
    near = float(scale)
    # Rounded up: a smaller scale would promise more than is kept.
    if Fraction(near) >= scale:
        wide = near
    else:
        wide = math.nextafter(near, math.inf)
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    return dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=wide)([0] * count)


def _seeded_below(generator: np.random.Generator) -> Below:
    def below(limit: int) -> int:
        bits = (limit - 1).bit_length()
        while True:
            random_bytes = generator.bytes(-(-bits // 8))
            value = int.from_bytes(random_bytes, "big") >> (-bits % 8)
            # Numbers at or above the limit are redrawn: a remainder would favour small ones.
            if value < limit:
                return value

    return below
