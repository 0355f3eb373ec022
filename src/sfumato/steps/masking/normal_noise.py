"""Normal noise on blocks of numbers: one stratum at a time, one draw a unit where a column has one value a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.steps.masking.moments import correlation_of, covariance_of, means_of, root_of, semidefinite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.steps.masking.block import Block

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]


def standard_normals(block: Block, goal: Goal, purpose: str) -> Array:
    """Standard normal draws by row and column, the same for rows that share a draw; each column has its own stream."""
    import numpy as np

    found = np.empty_like(block.values)
    for j, (name, groups) in enumerate(zip(block.names, block.groups, strict=True)):
        draws = goal.stream(f"{purpose} {name}").standard_normal(int(groups.max()) + 1)
        found[:, j] = draws[groups]
    return found


def coarse_first(block: Block) -> list[int]:
    """Columns by the number of their draws: those of households before those of persons before those of rows."""
    return sorted(range(len(block.names)), key=lambda j: int(block.groups[j].max()))


def with_covariance(normals: Array, covariance: Array, coarse: list[int]) -> Array:
    """Standard normals made to have a covariance.

    The root is triangular with coarse columns first, so that a column that is drawn once a unit takes nothing from draws
    that differ within the unit.
    """
    import numpy as np

    found = np.empty_like(normals)
    found[:, coarse] = normals[:, coarse] @ root_of(covariance[np.ix_(coarse, coarse)]).T
    return found


def large_enough(parts: list[Rows], least: int) -> tuple[list[Rows], int]:
    """Strata with fewer than ``least`` rows put together, and how many there were.

    What is still too small after that joins the smallest of the others.
    """
    import numpy as np

    small = [rows for rows in parts if len(rows) < least]
    large = sorted((rows for rows in parts if len(rows) >= least), key=lambda rows: (len(rows), int(rows[0])))
    if not small:
        return parts, 0
    pool = np.concatenate(small)
    if len(pool) < least and large:
        pool = np.concatenate([pool, large.pop(0)])
    return [*large, np.sort(pool)], len(small)


class Noise:
    """Noise of one kind for the strata of a block; ``mended`` counts those whose covariance could not be drawn from."""

    def __init__(self, block: Block, normals: Array, alpha: float) -> None:
        self.block, self.normals, self.alpha = block, normals, alpha
        self.coarse = coarse_first(block)
        self.mended = 0

    def covariance(self, rows: Rows) -> Array:
        """The covariance of a stratum, mended where gaps spoiled it."""
        found, mended = semidefinite(covariance_of(self.block.values[rows], self.block.weights[rows]))
        self.mended += mended
        return found

    def uncorrelated(self, rows: Rows) -> Array:
        """Values x + e with independent e of variance αS_jj."""
        import numpy as np

        spread = np.sqrt(self.alpha * np.diag(covariance_of(self.block.values[rows], self.block.weights[rows])))
        return self.block.values[rows] + self.normals[rows] * spread

    def correlated(self, rows: Rows) -> Array:
        """Values x + e with e of covariance αS."""
        noise = with_covariance(self.normals[rows], self.alpha * self.covariance(rows), self.coarse)
        return self.block.values[rows] + noise

    def kim(self, rows: Rows) -> Array:
        """Values d₁(x + e) + (1 − d₁)x̄ with e of covariance αS, centred."""
        import numpy as np

        values, weights = self.block.values[rows], self.block.weights[rows]
        noise = with_covariance(self.normals[rows], self.alpha * self.covariance(rows), self.coarse)
        known = ~np.isnan(values)
        noise -= means_of(np.where(known, noise, np.nan), weights)
        shrink = shrinkage(known.sum(axis=0), self.alpha)
        return shrink * (values + noise) + (1 - shrink) * means_of(values, weights)

    def multiplicative(self, rows: Rows) -> Array:
        """Values x·exp(e − s²/2) with e of variance s² = ln(1 + α)."""
        import numpy as np

        variance = float(np.log1p(self.alpha))
        factors: Array = np.exp(np.sqrt(variance) * self.normals[rows] - variance / 2)
        return self.block.values[rows] * factors

    def outliers(self, rows: Rows, quantile: float) -> Array:
        """Values x + e with e of covariance αS for the records that lie far out, the others as they are."""
        import numpy as np

        values, weights = self.block.values[rows], self.block.weights[rows]
        far = robust_distances(values, weights)
        out = far > np.quantile(far, quantile, method="inverted_cdf")
        return np.where(out[:, None], self.correlated(rows), values)


def shrinkage(count: NDArray[np.int64], alpha: float) -> Array:
    """Kim's d₁ = √((n−1)/(n(1+α)−1)); 1 for a single record.

    >>> import numpy as np
    >>> shrinkage(np.array([3]), 0.5).round(6).tolist()  # √(2/3.5)
    [0.755929]
    """
    import numpy as np

    n = count.astype(np.float64)
    return np.sqrt(np.divide(n - 1, n * (1 + alpha) - 1, out=np.ones_like(n), where=n > 1))


def robust_distances(values: Array, weights: Array) -> Array:
    """Mahalanobis distance of every record from the medians, on scales that outliers do not move.

    Columns are measured in normal-consistent median absolute deviations (1.4826·MAD; the standard deviation where more than
    half of the values are the same), and correlated after drawing in what lies beyond 2.5 of them. A missing value counts as
    the median. The correlation of a column with itself is raised by 10⁻⁶, so that columns may be copies of each other.
    """
    import numpy as np

    known = ~np.isnan(values)
    middle = _medians(values)
    scale = 1.4826 * _medians(np.abs(values - middle))
    scale = np.where(scale > 0, scale, np.sqrt(np.diag(covariance_of(values, weights))))
    scores = np.divide(values - middle, scale, out=np.zeros_like(values), where=known & (scale > 0))
    shape = correlation_of(covariance_of(np.clip(scores, -2.5, 2.5), weights))
    np.fill_diagonal(shape, 1.0 + 1e-6)
    squares: Array = np.einsum("ij,ij->i", scores @ np.linalg.inv(shape), scores)
    return np.sqrt(np.maximum(squares, 0.0))


def _medians(values: Array) -> Array:
    """Median per column over the known values; 0 for a column without any."""
    import numpy as np

    known = [column[~np.isnan(column)] for column in values.T]
    return np.array([float(np.median(column)) if len(column) else 0.0 for column in known])
