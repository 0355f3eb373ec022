"""Noise nobody knows: every party adds a share, and the sum of the shares is the noise of a
differentially private answer.

The shares are so large that those of the honest parties alone are enough: with *c* of *n* parties
colluding, each draws for n − c. With shares for n, a single defector raises the loss (from .5 to
.7465 for four parties).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field as Limit

from sfumato.core.budget import PrivacyLoss
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError
from sfumato.methods.formulas.noise import gaussian, laplace
from sfumato.parties.question import JointStatistic, Meeting, NoisyPart
from sfumato.parties.sharing import Draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAILURE = Fraction(1, 2**40)
"""With at most this probability noise leaves the range that is kept free for it."""
LAPLACE_SCALE = 256
"""About so many steps is the scale of discrete Laplace noise: finer ones would hardly change an
answer and take long to draw.
"""
FEWEST_STEPS = 16
"""One record moves a sum by so many steps at least, so that rounding costs little noise."""
LEAST_VARIANCE = 4.0
"""Sums of discrete Gaussians of at least this variance each cannot be told from one discrete
Gaussian in double precision.
"""


@parameters
class JointNoise:
    """What the answer may cost, and how many parties may collude: ``epsilon`` (discrete Laplace) or
    ``rho`` (discrete Gaussian).

    The loss is that of the whole answer, all its sums and rounds together.
    """

    epsilon: Annotated[str | None, Limit(description="ε of the answer, a decimal")] = None
    rho: Annotated[
        str | None, Limit(description="ρ of zCDP of the answer, a decimal, instead of ε")
    ] = None
    colluders: Annotated[
        int, Limit(ge=0, description="parties that may tell each other their noise")
    ] = 0
    neighbours: Literal["add_remove", "change_one"] = "add_remove"

    name: ClassVar[str] = "noise"

    def __post_init__(self) -> None:
        # neither or both of ε and ρ are refused here, not when noise is drawn
        _ = self.loss

    @property
    def loss(self) -> PrivacyLoss:
        """What the answer costs everybody's records."""
        return PrivacyLoss.of(epsilon=self.epsilon, rho=self.rho)

    def honest(self, parties: int) -> int:
        """The parties whose noise must be enough."""
        if not 0 <= self.colluders < parties:
            raise ParameterError(
                f"of {parties} parties at most {parties - 1} can collude; with all of them nobody "
                "would be protected"
            )
        return parties - self.colluders

    def prepare(
        self,
        meeting: Meeting,
        question: JointStatistic,
        noise_drawn: Mapping[int, NDArray[np.int64]],
    ) -> None:
        """Give a meeting this party's noise, and what all must know of everybody's."""
        parties = meeting.channel.parties
        meeting.noise, meeting.noise_units = noise_drawn, self.units(question, parties)
        meeting.noise_at_most = self.at_most(question, parties)

    def units(self, question: JointStatistic, parties: int) -> NDArray[np.int64]:
        """The step of every sum."""
        parts, loss = self._parts(question), self._loss(question)
        # one step for each sum, in the order of the parts
        steps = [step for part in parts for step in [self._step(part, loss)] * part.cells]
        return np.array(steps, dtype=np.int64 if max(steps) < 2**62 else object)

    def _step(self, part: NoisyPart, loss: PrivacyLoss) -> int:
        """Steps so coarse that discrete Laplace noise has a scale of some hundreds of them;
        Gaussian noise needs none.
        """
        if loss.epsilon is None:
            return 1
        # in steps, the scale is (l1 / step) / ε; a step of l1 / (256 ε) makes it 256
        return max(1, part.l1 // max(FEWEST_STEPS, math.ceil(LAPLACE_SCALE * loss.epsilon)))

    def _loss(self, question: JointStatistic) -> PrivacyLoss:
        """What each part of each round may cost."""
        # parts and rounds compose: each gets an equal share
        return self.loss.divided(len(self._parts(question)) * question.rounds)

    def drawn(self, question: JointStatistic, parties: int) -> dict[int, NDArray[np.int64]]:
        """This party's noise by round."""
        return {number: self._drawn_once(question, parties) for number in range(question.rounds)}

    def _drawn_once(self, question: JointStatistic, parties: int) -> NDArray[np.int64]:
        shares = self._shares(question, parties)
        return np.concatenate(
            [
                share.draw(part.cells)
                for part, share in zip(self._parts(question), shares, strict=True)
            ]
        )

    def at_most(self, question: JointStatistic, parties: int) -> int:
        """What all noise together in any sum does not exceed, but for a probability of 2⁻⁴⁰."""
        # each sum of each round may fail with its share (union bound)
        failure = float(FAILURE) / (question.cells * question.rounds)
        return max(share.at_most(parties, failure) for share in self._shares(question, parties))

    def _parts(self, question: JointStatistic) -> tuple[NoisyPart, ...]:
        return question.parts(self.neighbours)

    def _shares(self, question: JointStatistic, parties: int) -> list[PolyaShare | GaussianShare]:
        """For every part the distribution of one party's share."""
        # the shares of the honest parties alone must be the promised noise
        parts, honest, loss = self._parts(question), self.honest(parties), self._loss(question)
        if loss.epsilon is not None:
            return [
                PolyaShare(
                    Fraction(_largest_move(part, self._step(part, loss))) / loss.epsilon, honest
                )
                for part in parts
            ]
        return [GaussianShare(part.l2, loss.as_rho, honest) for part in parts]


def _largest_move(part: NoisyPart, step: int) -> int:
    """How far one record moves sums that are rounded to steps: a number that moves by y is rounded
    to one at most ⌈y⌉ away.

    >>> (
    ...     _largest_move(NoisyPart(1, 1000, 1000.0), 1),
    ...     _largest_move(NoisyPart(1, 1000, 1000.0), 300),
    ...     _largest_move(NoisyPart(2, 1000, 1000.0), 300),
    ... )
    (1000, 4, 5)
    """
    # one record moves at most two sums of a part; both rounded, ⌈y⌉ + ⌈z⌉ ≤ ⌈y + z⌉ + 1
    if step == 1:
        return part.l1
    return -(-part.l1 // step) + min(part.cells, 2) - 1


class PolyaShare:
    r"""A share of discrete Laplace noise: the difference of two negative binomial numbers of shape
    1/m.

    With :math:`a = e^{-1/s}`, the sum of *m* such differences
    has :math:`P(x) = \frac{1-a}{1+a} a^{|x|}`: two-sided geometric. A number is drawn as a
    geometric one, kept when coins of probability :math:`(m(i-1)+1)/(mi)`, i = 1…x, all show heads,
    and else drawn again; coins of whole numbers only.
    """

    def __init__(self, scale: Fraction, honest: int) -> None:
        self.scale, self.honest = scale, honest
        # sensitivity 1 at a loss of 1 / scale: discrete Laplace of this scale
        self._geometric = laplace(1, 1 / scale)

    @property
    def base(self) -> float:
        """A."""
        return math.exp(-1 / float(self._geometric.scale))

    def draw(self, count: int) -> NDArray[np.int64]:
        """So many shares."""
        draws = self.one_sided(2 * count)
        return draws[:count] - draws[count:]

    def one_sided(self, count: int) -> NDArray[np.int64]:
        """Negative binomial numbers of shape 1/m."""
        values_kept = np.empty(0, dtype=np.int64)
        # the share of candidates that survive their coins
        accepted = (1 - self.base) ** (1 - 1 / self.honest)
        while len(values_kept) < count:
            # some more than expected, so that one pass is mostly enough; never more than fit memory
            candidates = self._geometric.draw_one_sided(
                min(math.ceil((count - len(values_kept)) / accepted) + 16, MOST_TRIED)
            )
            values_kept = np.concatenate([values_kept, candidates[self._heads(candidates)]])
        return values_kept[:count]

    def _heads(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether all coins of each number show heads."""
        heads = np.ones(len(numbers), dtype=bool)
        # shape 1 is the geometric distribution itself
        if self.honest == 1:
            return heads
        # coin i is tossed for all numbers of at least i that have not lost yet
        for i in range(1, int(numbers.max(initial=0)) + 1):
            tossed = np.flatnonzero(heads & (numbers >= i))
            if not len(tossed):
                break
            # whole numbers only: of m·i equally likely ones, m(i − 1) + 1 are heads
            heads[tossed] = below(self.honest * i, len(tossed)) < self.honest * (i - 1) + 1
        return heads

    def at_most(self, parties: int, failure: float) -> int:
        """B with ``2 P(NB(n/m, a) > b) ≤ failure``: a difference exceeds b only where one of the
        two does.
        """
        from scipy.stats import nbinom

        # all n parties add, not only the m honest ones: n shares of shape 1/m
        shape = parties / self.honest
        # double until the bound holds, then bisect
        high = 1
        while 2 * nbinom.sf(high, shape, 1 - self.base) > failure:
            high *= 2
        low = high // 2
        while low < high:
            middle = (low + high) // 2
            if 2 * nbinom.sf(middle, shape, 1 - self.base) > failure:
                low = middle + 1
            else:
                high = middle
        return high


MOST_TRIED = 1 << 18


class GaussianShare:
    """A share of discrete Gaussian noise: variance σ²/m, where ``ρ = Δ²/(2σ²)``."""

    def __init__(self, l2: float, rho: Fraction, honest: int) -> None:
        self.honest = honest
        # m shares add up to variance σ²; one of σ²/m is noise for m times the ρ
        self._noise = gaussian(l2, rho * honest)
        if self._noise.scale**2 < LEAST_VARIANCE:
            raise ParameterError(
                f"the noise of one party would have a variance of {self._noise.scale**2:.2g}, "
                f"and shares below {LEAST_VARIANCE:g} do not sum to the promised noise; lower rho, "
                "or use epsilon"
            )

    def draw(self, count: int) -> NDArray[np.int64]:
        """So many shares."""
        return self._noise.draw(count)

    def at_most(self, parties: int, failure: float) -> int:
        """B with ``2 e^(−b²/2nσᵢ²) ≤ failure``."""
        return math.ceil(self._noise.scale * math.sqrt(2 * parties * math.log(2 / failure)))


def below(limit: int, count: int, draw: Draw | None = None) -> NDArray[np.int64]:
    """Numbers from 0 to limit − 1, all equally likely: words of 64 bits, those above the last
    multiple of the limit drawn again.
    """
    source: Callable[[int], bytes] = secrets.token_bytes if draw is None else draw
    last = np.uint64((1 << 64) // limit * limit - 1)
    words = np.frombuffer(source(8 * count), dtype="<u8").copy()
    while len(wrong := np.flatnonzero(words > last)):
        words[wrong] = np.frombuffer(source(8 * len(wrong)), dtype="<u8")
    return (words % np.uint64(limit)).astype(np.int64)
