"""Channels of least expected distortion: how to randomise a category under a local ε."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.formulas.exact_draws import Draws

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TOTAL = 1 << 48
"""Probabilities are whole multiples of one part in so many."""
MOST_VALUES = 60
"""The linear program of so many values has 3,660 unknowns and 7,200 inequalities."""
LARGEST_EPSILON = 20.0
"""Beyond it the rarest outcomes are too rare for whole multiples."""


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerChannel:
    """What a value becomes: ``weights[i, j]`` of ``TOTAL`` is the probability that *i* is released
    as *j*.

    ``distortion`` is the expected one under the prior; no channel with this ε has less than
    ``lower_bound``.
    """

    weights: Ints
    distortion: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """How much more the distortion is than the least possible, at most."""
        return max(0.0, self.distortion - self.lower_bound)

    @property
    def matrix(self) -> Floats:
        """The probabilities."""
        return self.weights / TOTAL

    def draw(self, codes: Ints, prior: Ints, draws: Draws) -> Ints:
        """What becomes of every value; a missing one (−1) is first drawn by ``prior`` (in parts of
        ``TOTAL``), so that it is a mixture of rows and hidden as well as they are.
        """
        sources = codes.copy()
        missing = np.flatnonzero(codes < 0)
        # Drawn for all rows: how many are missing must not show in the time it takes.
        first, second = draws.below_power(48, len(codes)), draws.below_power(48, len(codes))
        sources[missing] = np.searchsorted(np.cumsum(prior), first[missing], side="right")
        drawn = np.empty(len(codes), dtype=np.int64)
        for value in range(len(self.weights)):
            rows = np.flatnonzero(sources == value)
            ends = np.cumsum(self.weights[value])
            drawn[rows] = np.searchsorted(ends, second[rows], side="right")
        return drawn


def distortions(size: int, distance: str) -> Floats:
    """What it costs to release value *i* as *j*: 1 for every other value (``equal``), or how many
    places of the order lie between, of all there are (``ordered``).

    >>> distortions(3, "ordered").tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]]
    """
    places = np.arange(size)
    apart = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    if distance == "equal":
        return np.asarray(np.minimum(apart, 1.0))
    return np.asarray(apart / max(1, size - 1))


def whole_weights(shares: Sequence[float]) -> Ints:
    """Probabilities as whole parts of ``TOTAL``; what rounding leaves goes to the largest."""
    chances = np.asarray(shares, dtype=np.float64)
    weights: Ints = np.floor(chances / chances.sum() * TOTAL).astype(np.int64)
    weights[int(np.argmax(weights))] += TOTAL - int(weights.sum())
    return weights


def optimal_channel(prior: Sequence[float], epsilon: float, cost: Floats) -> AnswerChannel:
    r"""The channel of least expected distortion that is ε-private for one value.

    .. math:: \min_R \sum_{ij} p_i R_{ij} d_{ij} \quad \text{with} \quad
        b_j \le R_{ij} \le e^\varepsilon b_j, \quad \sum_j R_{ij} = 1, \quad R, b \ge 0

    A linear program. Its dual, with what rounding broke repaired, gives the lower bound: for any
    :math:`z, w \ge 0` with :math:`\sum_i w_{ij} \ge e^\varepsilon \sum_i z_{ij}` it is
    :math:`\sum_i \min_j (p_i d_{ij} + z_{ij} - w_{ij})`. The channel is rounded to whole parts of
    2⁴⁸ and mixed with a little of one distribution for all values, until every inequality holds in
    whole numbers: ε is exact, whatever the solver did.

    >>> channel = optimal_channel([0.5, 0.5], math.log(3), distortions(2, "equal"))
    >>> channel.matrix.round(6).tolist(), channel.gap < 1e-6
    ([[0.75, 0.25], [0.25, 0.75]], True)
    """
    size = len(prior)
    if not 2 <= size <= MOST_VALUES:
        raise ParameterError(
            f"an optimal channel needs 2 to {MOST_VALUES} values; recode the column first"
        )
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise ParameterError(f"ε of a column must be above 0 and at most {LARGEST_EPSILON:g}")
    chances = np.asarray(prior, dtype=np.float64)
    weighted = chances[:, None] * cost
    solved, lower_bound = _solve(weighted, math.exp(epsilon))
    weights = _round_exactly(solved, epsilon)
    distortion = float((weighted * weights).sum() / TOTAL)
    return AnswerChannel(weights, distortion, min(lower_bound, distortion))


def _solve(weighted: Floats, factor: float) -> tuple[Floats, float]:
    """A channel near the optimum, and what no channel is below."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    size = len(weighted)
    cells = np.arange(size * size)
    rows, columns = np.divmod(cells, size)
    smallest = size * size + columns  # b_j stands after all R_ij
    ones = np.ones(len(cells))
    # First R_ij − e^ε b_j ≤ 0, then b_j − R_ij ≤ 0.
    entries = np.concatenate([ones, -factor * ones, ones, -ones])
    at_row = np.concatenate([cells, cells, len(cells) + cells, len(cells) + cells])
    at_column = np.concatenate([cells, smallest, smallest, cells])
    shape = (2 * len(cells), size * size + size)
    inequalities = coo_array((entries, (at_row, at_column)), shape=shape).tocsr()
    sums = coo_array((ones, (rows, cells)), shape=(size, shape[1])).tocsr()
    costs = np.concatenate([weighted.ravel(), np.zeros(size)])
    result = linprog(costs, inequalities, np.zeros(shape[0]), sums, np.ones(size), method="highs")
    if result.x is None:
        raise ParameterError("no channel was found; raise epsilon or name fewer values")
    channel = np.clip(result.x[: len(cells)].reshape(size, size), 0.0, None)
    prices = np.clip(-result.ineqlin.marginals, 0.0, None).reshape(2, size, size)
    return channel / channel.sum(axis=1, keepdims=True), _lower_bound(weighted, factor, prices)


def _lower_bound(weighted: Floats, factor: float, prices: Floats) -> float:
    """What no channel is below, by any prices of the inequalities."""
    high, low = prices
    allowed = low.sum(axis=0)
    asked = factor * high.sum(axis=0)
    # Prices that rounding made too high for their column are scaled down.
    shrink = np.minimum(1.0, np.divide(allowed, asked, out=np.ones_like(asked), where=asked > 0))
    reduced = weighted + high * shrink - low
    return max(0.0, float(reduced.min(axis=1).sum()) - 1e-12)


def _round_exactly(channel: Floats, epsilon: float) -> Ints:
    """The channel in whole parts, mixed with as little of one distribution as makes it private."""
    # A little below e^ε, as a fraction: a float may be above it.
    factor = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 1 << 50))
    common = channel.max(axis=0)
    common = common / common.sum()
    share = 1e-12
    while share < 1:
        mixed = (channel + share * common) / (1 + share)
        weights = np.stack([whole_weights(row) for row in mixed])
        if _is_private(weights, factor):
            return weights
        share *= 4
    raise ParameterError("no channel of whole parts keeps this ε; take one between 0.00001 and 20")


def _is_private(weights: Ints, factor: Fraction) -> bool:
    """Whether no outcome is likelier by more than the factor, in whole numbers."""
    highest, lowest = weights.max(axis=0).tolist(), weights.min(axis=0).tolist()
    pairs = zip(highest, lowest, strict=True)
    return all(high * factor.denominator <= low * factor.numerator for high, low in pairs)
