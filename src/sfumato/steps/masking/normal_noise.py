"""Normal noise on blocks of numbers: one stratum at a time, one draw a unit where a column has one value a unit."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato.steps.masking.block import Block, correlation_of, covariance_of, means_of, root_of, semidefinite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

if TYPE_CHECKING:
    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]


def standard_normals(block: Block, goal: Goal, purpose: str) -> Array:
    """Standard normal draws by row and column, the same for rows that share a draw; each column has its own stream."""
    normals = np.empty_like(block.values)
    for j, (name, groups) in enumerate(zip(block.names, block.groups, strict=True)):
        draws = goal.stream(f"{purpose} {name}").standard_normal(int(groups.max()) + 1)
        normals[:, j] = draws[groups]
    return normals


def coarse_first(block: Block) -> list[int]:
    """Columns by the number of their draws: those of households before those of persons before those of rows."""
    return sorted(range(len(block.names)), key=lambda j: int(block.groups[j].max()))


def with_covariance(normals: Array, covariance: Array, coarse: list[int]) -> Array:
    """Standard normals made to have a covariance.

    The root is triangular with coarse columns first, so that a column that is drawn once a unit takes nothing from draws
    that differ within the unit.
    """
    shaped = np.empty_like(normals)
    shaped[:, coarse] = normals[:, coarse] @ root_of(covariance[np.ix_(coarse, coarse)]).T
    return shaped


def large_enough(parts: list[Rows], least: int) -> tuple[list[Rows], int]:
    """Strata with fewer than ``least`` rows put together, and how many there were.

    What is still too small after that joins the smallest of the others.
    """
    small = [rows for rows in parts if len(rows) < least]
    large = sorted((rows for rows in parts if len(rows) >= least), key=lambda rows: (len(rows), int(rows[0])))
    if not small:
        return parts, 0
    pool = np.concatenate(small)
    if len(pool) < least and large:
        pool = np.concatenate([pool, large.pop(0)])
    return [*large, np.sort(pool)], len(small)


class BlockNoise:
    """Noise of one kind for the strata of a block; ``mended`` counts those whose covariance could not be drawn from."""

    def __init__(self, block: Block, normals: Array, alpha: float) -> None:
        self.block, self.normals, self.alpha = block, normals, alpha
        self.coarse = coarse_first(block)
        self.mended = 0

    def covariance(self, rows: Rows) -> Array:
        """The covariance of a stratum, mended where gaps spoiled it."""
        covariance, mended = semidefinite(covariance_of(self.block.values[rows], self.block.weights[rows]))
        self.mended += mended
        return covariance

    def uncorrelated(self, rows: Rows) -> Array:
        """Values x + e with independent e of variance αS_jj."""
        spread = np.sqrt(self.alpha * np.diag(covariance_of(self.block.values[rows], self.block.weights[rows])))
        return self.block.values[rows] + self.normals[rows] * spread

    def correlated(self, rows: Rows) -> Array:
        """Values x + e with e of covariance αS."""
        noise = with_covariance(self.normals[rows], self.alpha * self.covariance(rows), self.coarse)
        return self.block.values[rows] + noise

    def kim(self, rows: Rows) -> Array:
        """Values d₁(x + e) + (1 − d₁)x̄ with e of covariance αS, centred."""
        values, weights = self.block.values[rows], self.block.weights[rows]
        noise = with_covariance(self.normals[rows], self.alpha * self.covariance(rows), self.coarse)
        present = ~np.isnan(values)
        noise -= means_of(np.where(present, noise, np.nan), weights)
        shrink = shrinkage(present.sum(axis=0), self.alpha)
        return shrink * (values + noise) + (1 - shrink) * means_of(values, weights)

    def multiplicative(self, rows: Rows) -> Array:
        """Values x·exp(e − s²/2) with e of variance s² = ln(1 + α)."""
        variance = float(np.log1p(self.alpha))
        factors: Array = np.exp(np.sqrt(variance) * self.normals[rows] - variance / 2)
        return self.block.values[rows] * factors

    def outliers(self, rows: Rows, quantile: float) -> Array:
        """Values x + e with e of covariance αS for the records that lie far out, the others as they are."""
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
    n = count.astype(np.float64)
    return np.sqrt(np.divide(n - 1, n * (1 + alpha) - 1, out=np.ones_like(n), where=n > 1))


def robust_distances(values: Array, weights: Array) -> Array:
    """Mahalanobis distance of every record from the medians, on scales that outliers do not move.

    Columns are measured in normal-consistent median absolute deviations (1.4826·MAD; the standard deviation where more than
    half of the values are the same), and correlated after drawing in what lies beyond 2.5 of them. A missing value counts as
    the median. The correlation of a column with itself is raised by 10⁻⁶, so that columns may be copies of each other.
    """
    present = ~np.isnan(values)
    middle = _medians(values)
    scale = 1.4826 * _medians(np.abs(values - middle))
    scale = np.where(scale > 0, scale, np.sqrt(np.diag(covariance_of(values, weights))))
    scores = np.divide(values - middle, scale, out=np.zeros_like(values), where=present & (scale > 0))
    shape = correlation_of(covariance_of(np.clip(scores, -2.5, 2.5), weights))
    np.fill_diagonal(shape, 1.0 + 1e-6)
    squares: Array = np.einsum("ij,ij->i", scores @ np.linalg.inv(shape), scores)
    return np.sqrt(np.maximum(squares, 0.0))


def _medians(values: Array) -> Array:
    """Median per column over the known values; 0 for a column without any."""
    present = [column[~np.isnan(column)] for column in values.T]
    return np.array([float(np.median(column)) if len(column) else 0.0 for column in present])


# Sullivan's algorithm: noise in normal space, and back through the distribution functions.

ROUNDS = 10
"""How often the noise's correlations are mended, and how often near records are drawn anew, at most."""


@dataclasses.dataclass(frozen=True, eq=False)
class NormalScale:
    """One column of one stratum as normal scores, and the way back.

    ``scores`` are standard normal, with ties in random order; 0 where the value is missing. ``middles`` is where each known
    record stands on the distribution function, ascending, and ``sorted`` its value; ``ends`` is the distribution function at
    every distinct value, ``distinct``, and ``typical`` the mean score there.
    """

    scores: Array
    middles: Array
    sorted: Array
    ends: Array
    distinct: Array
    typical: Array
    stepped: bool

    @classmethod
    def of(cls, column: Array, weights: Array, groups: Rows, ties: Array, *, stepped: bool) -> NormalScale:
        """Scores of a column; rows of a group with one value have one score. ``ties`` breaks ties."""
        from scipy.special import ndtri

        present = np.flatnonzero(~np.isnan(column))
        places = present[np.lexsort((ties[present], column[present]))]
        mass = np.maximum(weights[places], 1e-12 * weights.max(initial=1.0))
        total = max(float(mass.sum()), 1e-300)
        middles = (np.cumsum(mass) - mass / 2) / total
        shares = np.full(len(column), 0.5)
        shares[places] = middles
        shares[present] = _averaged(shares[present], groups[present])
        scores = ndtri(shares)
        distinct, starts = np.unique(column[places], return_index=True)
        ends = np.add.reduceat(mass, starts).cumsum() / total if len(starts) else np.zeros(0)
        heavy = np.add.reduceat(scores[places] * mass, starts) / np.add.reduceat(mass, starts) if len(starts) else ends
        # a column with many ties is not continuous: its correlations must be seen after the way back
        return cls(scores, middles, column[places], ends, distinct, heavy, stepped or 2 * len(distinct) < len(places))

    def back(self, scores: Array, *, stepped: bool) -> Array:
        """Values at these scores: the distribution function inverted, stepwise or smoothly between the records."""
        from scipy.special import ndtr

        if not len(self.sorted):
            return np.full(len(scores), np.nan)
        if stepped:
            return self.distinct[self._step(scores)]
        values: Array = np.interp(ndtr(scores), self.middles, self.sorted)
        return values

    def seen(self, scores: Array) -> Array:
        """Scores as they look once they were mapped back to values that tie."""
        return self.typical[self._step(scores)] if self.stepped and len(self.distinct) else scores

    def _step(self, scores: Array) -> Rows:
        from scipy.special import ndtr

        steps: Rows = np.minimum(np.searchsorted(self.ends, ndtr(scores), side="left"), len(self.ends) - 1)
        return steps


def _averaged(values: Array, groups: Rows) -> Array:
    _, number, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return (np.bincount(number, values) / counts)[number]


class Sullivan:
    """Noise after Sullivan for the strata of a block.

    ``near`` is the share of records that are too near to themselves by chance; ``redrawn`` counts draws made anew, ``left``
    the records that are near all the same, ``gap`` is the largest difference of correlations left, ``mended`` counts strata whose
    correlations could not be drawn from.
    """

    def __init__(
        self, block: Block, goal: Goal, normals: Array, alpha: float, near: float, categories: list[bool]
    ) -> None:
        self.block, self.goal, self.normals, self.alpha, self.near = block, goal, normals, alpha, near
        self.categories = categories
        self.coarse = coarse_first(block)
        self.ties = self._ties()
        self.redrawn = self.left = self.mended = 0
        self.gap = 0.0

    def _ties(self) -> Array:
        draws = np.empty_like(self.block.values)
        for j, (name, groups) in enumerate(zip(self.block.names, self.block.groups, strict=True)):
            draws[:, j] = self.goal.stream(f"ties of {name}").random(int(groups.max()) + 1)[groups]
        return draws

    def masked(self, rows: Rows) -> Array:
        """One stratum with noise."""
        block = self.block
        scales = [
            NormalScale.of(
                block.values[rows, j],
                block.weights[rows],
                block.groups[j][rows],
                self.ties[rows, j],
                stepped=is_category,
            )
            for j, is_category in enumerate(self.categories)
        ]
        noisy = self._noisy(rows, scales)
        pairs = enumerate(zip(scales, self.categories, strict=True))
        columns = np.stack([scale.back(noisy[:, j], stepped=is_category) for j, (scale, is_category) in pairs], axis=1)
        return np.where(np.isnan(block.values[rows]), np.nan, columns)

    def _noisy(self, rows: Rows, scales: list[NormalScale]) -> Array:
        """Scores with noise whose correlations were mended until the released ones are the original ones."""
        scores = np.stack([scale.scores for scale in scales], axis=1)
        gaps, weights = np.isnan(self.block.values[rows]), self.block.weights[rows]
        shrink = float(shrinkage(np.array([len(rows)]), self.alpha)[0])
        wanted = self._correlations([s.seen(s.scores) for s in scales], gaps, weights)
        shape, mended = semidefinite(self._correlations([s.scores for s in scales], gaps, weights))
        self.mended += mended
        start, best, best_gap = shape, scores, np.inf
        for turn in range(ROUNDS):
            noise = with_covariance(self.normals[rows], self.alpha * shape, self.coarse)
            noisy = shrink * (scores + noise)
            if turn == 0 and self.near > 0:
                noisy = self._away(rows, scores, noisy, shape, shrink)
            correlations = self._correlations([s.seen(noisy[:, j]) for j, s in enumerate(scales)], gaps, weights)
            apart = wanted - correlations
            gap = float(np.abs(apart).max())
            if gap < best_gap:
                best, best_gap = noisy, gap
            if gap <= 0.5 / np.sqrt(len(rows)):
                break
            shape = semidefinite(_limited(shape + apart * (1 + self.alpha) / self.alpha))[0]
        self.left += int((_distances(best - scores, start, self.alpha, shrink) < self._threshold(len(scales))).sum())
        self.gap = max(self.gap, best_gap)
        return best

    def _away(self, rows: Rows, scores: Array, noisy: Array, shape: Array, shrink: float) -> Array:
        """Scores with noise, drawn anew for records that came out too near to where they were."""
        for turn in range(ROUNDS):
            near = _distances(noisy - scores, shape, self.alpha, shrink) < self._threshold(scores.shape[1])
            if not near.any():
                break
            self.redrawn += int(near.sum())
            self._redraw(rows, rows[near], turn)
            noisy = shrink * (scores + with_covariance(self.normals[rows], self.alpha * shape, self.coarse))
        return np.asarray(noisy)

    def _redraw(self, rows: Rows, near: Rows, turn: int) -> None:
        """New draws for the groups that have a record among the near ones."""
        for j, (name, groups) in enumerate(zip(self.block.names, self.block.groups, strict=True)):
            fresh = self.goal.stream(f"round {turn} of {name} from {int(rows[0])}").standard_normal(
                int(groups.max()) + 1
            )
            again = np.zeros(len(fresh), dtype=np.bool_)
            again[groups[near]] = True
            hit = rows[again[groups[rows]]]
            self.normals[hit, j] = fresh[groups[hit]]

    def _threshold(self, columns: int) -> float:
        from scipy.special import chdtri

        return float(chdtri(columns, 1 - self.near)) if self.near > 0 else 0.0

    @staticmethod
    def _correlations(columns: list[Array], gaps: NDArray[np.bool_], weights: Array) -> Array:
        return correlation_of(covariance_of(np.where(gaps, np.nan, np.stack(columns, axis=1)), weights))


def _limited(shape: Array) -> Array:
    """Correlations drawn into what correlations can be."""
    limited = np.clip(shape, -1.0, 1.0)
    np.fill_diagonal(limited, np.diag(shape))
    return limited


def _distances(moved: Array, shape: Array, alpha: float, shrink: float) -> Array:
    """Squared Mahalanobis distance of every record from itself, by the covariance such moves have."""
    spread = ((1 - shrink) ** 2 + shrink**2 * alpha) * shape
    squared: Array = np.einsum("ij,ij->i", moved @ np.linalg.pinv(spread, hermitian=True), moved)
    return squared
