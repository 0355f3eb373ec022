"""Normal noise on blocks of numbers: one stratum at a time, one draw a unit where a column has one
value a unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import Stratum, in_order
from sfumato.methods.steps.masking.block import Block
from sfumato.methods.steps.masking.weighted_moments import (
    correlation_of,
    covariance_of,
    means_of,
    root_of,
    semidefinite,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]


def standard_normals(block: Block, goal: Goal, purpose: str) -> Array:
    """Standard normal draws by row and column, the same for rows that share a draw; each column has
    its own draws.
    """
    pairs = zip(block.names, block.marks, strict=True)
    return np.stack(
        [goal.keyed(f"{purpose} {name}").normals(marks) for name, marks in pairs], axis=1
    )


def coarse_first(block: Block) -> list[int]:
    """Columns by the number of their draws: those of households before those of persons before
    those of rows.
    """
    return sorted(range(len(block.names)), key=lambda j: int(block.groups[j].max()))


def with_covariance(normals: Array, covariance: Array, coarse: list[int]) -> Array:
    """Standard normals made to have a covariance.

    The root is triangular with coarse columns first, so that a column that is drawn once a unit
    takes nothing from draws that differ within the unit.
    """
    shaped = np.empty_like(normals)
    root = root_of(covariance[np.ix_(coarse, coarse)])
    shaped[:, coarse] = normals[:, coarse] @ root.T
    return shaped


def large_enough(
    sizes: Mapping[Stratum, int], smallest_stratum: int
) -> tuple[dict[Stratum, int], int]:
    """A number for every stratum, the same for those with fewer than ``smallest_stratum`` rows, and
    how many of these there are.

    What is still too small after they were put together joins the smallest of the others.

    >>> large_enough({("a",): 9, ("b",): 1, ("c",): 2}, 3)
    ({('a',): 0, ('b',): 1, ('c',): 1}, 2)
    """
    names = in_order(sizes)
    small = [name for name in names if sizes[name] < smallest_stratum]
    large = [name for name in names if sizes[name] >= smallest_stratum]
    small_count = len(small)
    if small and large and sum(sizes[name] for name in small) < smallest_stratum:
        large.remove(min(large, key=lambda name: sizes[name]))
    numbers = {name: g for g, name in enumerate(large)}
    return {name: numbers.get(name, len(numbers)) for name in names}, small_count


class BlockNoise:
    """Noise of one kind for the strata of a block; ``mended`` counts those whose covariance could
    not be drawn from.

    ``covariances`` holds that of each stratum under the first of its rows.
    """

    def __init__(
        self, block: Block, normals: Array, alpha: float, covariances: Mapping[int, Array]
    ) -> None:
        self.block = block
        self.normals = normals
        self.alpha = alpha
        self.covariances = covariances
        self.coarse = coarse_first(block)
        self.mended = 0

    def covariance(self, rows: Rows) -> Array:
        """The covariance of a stratum, mended where gaps spoiled it."""
        covariance, mended = semidefinite(self.covariances[int(rows[0])])
        self.mended += mended
        return covariance

    def uncorrelated(self, rows: Rows) -> Array:
        """Values x + e with independent e of variance αS_jj."""
        variances = np.diag(self.covariances[int(rows[0])])
        spread = np.sqrt(self.alpha * variances)
        return self.block.values[rows] + self.normals[rows] * spread

    def correlated(self, rows: Rows) -> Array:
        """Values x + e with e of covariance αS."""
        noise = with_covariance(self.normals[rows], self.alpha * self.covariance(rows), self.coarse)
        return self.block.values[rows] + noise

    def kim(self, rows: Rows) -> Array:
        """Values d₁(x + e) + (1 − d₁)x̄ with e of covariance αS, centred."""
        values = self.block.values[rows]
        weights = self.block.weights[rows]
        noise = with_covariance(self.normals[rows], self.alpha * self.covariance(rows), self.coarse)
        present = ~np.isnan(values)
        # Centred noise keeps the means exactly, not only on average.
        noise -= means_of(np.where(present, noise, np.nan), weights)
        shrink = shrinkage(present.sum(axis=0), self.alpha)
        return shrink * (values + noise) + (1 - shrink) * means_of(values, weights)

    def multiplicative(self, rows: Rows) -> Array:
        """Values x·exp(e − s²/2) with e of variance s² = ln(1 + α)."""
        variance = float(np.log1p(self.alpha))
        spread = np.sqrt(variance) * self.normals[rows]
        factors: Array = np.exp(spread - variance / 2)
        return self.block.values[rows] * factors

    def outliers(self, rows: Rows, quantile: float) -> Array:
        """Values x + e with e of covariance αS for the records that lie far out, the others as they
        are.
        """
        values = self.block.values[rows]
        weights = self.block.weights[rows]
        far = robust_distances(values, weights)
        out = far > np.quantile(far, quantile, method="inverted_cdf")
        return np.where(out[:, None], self.correlated(rows), values)


def shrinkage(count: NDArray[np.int64], alpha: float) -> Array:
    """Kim's d₁ = √((n−1)/(n(1+α)−1)); 1 for a single record.

    >>> import numpy as np
    >>> shrinkage(np.array([3]), 0.5).round(6).tolist()  # √(2/3.5)
    [0.755929]
    """
    n = count.astype(np.float64)
    divisor = n * (1 + alpha) - 1
    return np.sqrt(np.divide(n - 1, divisor, out=np.ones_like(n), where=n > 1))


def robust_distances(values: Array, weights: Array) -> Array:
    """Mahalanobis distance of every record from the medians, on scales that outliers do not move.

    Columns are measured in normal-consistent median absolute deviations (1.4826·MAD; the standard
    deviation where more than half of the values are the same), and correlated after drawing in what
    lies beyond 2.5 of them. A missing value counts as the median. The correlation of a column with
    itself is raised by 10⁻⁶, so that columns may be copies of each other.
    """
    present = ~np.isnan(values)
    middle = medians_of(values)
    # 1.4826 = 1/Φ⁻¹(3/4): makes the MAD the standard deviation of normal values.
    scale = 1.4826 * medians_of(np.abs(values - middle))
    variances = np.diag(covariance_of(values, weights))
    scale = np.where(scale > 0, scale, np.sqrt(variances))
    scores = np.divide(
        values - middle, scale, out=np.zeros_like(values), where=present & (scale > 0)
    )
    # Clipped at 2.5, so that outliers do not decide what counts as far.
    shape = correlation_of(covariance_of(np.clip(scores, -2.5, 2.5), weights))
    np.fill_diagonal(shape, 1.0 + 1e-6)
    squares: Array = np.einsum("ij,ij->i", scores @ np.linalg.inv(shape), scores)
    return np.sqrt(np.maximum(squares, 0.0))


def medians_of(values: Array) -> Array:
    """Median per column over the known values; 0 for a column without any."""
    medians = np.zeros(values.shape[1])
    for j, column in enumerate(values.T):
        present = column[~np.isnan(column)]
        if len(present):
            medians[j] = np.median(present)
    return medians
