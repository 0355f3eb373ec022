"""Normal noise on blocks of numbers: one stratum at a time, one draw a unit where a column has one
value a unit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.design import Stratum, in_order, labelled_strata, weights_of
from sfumato.methods.formulas.exact_sums import exact_sums
from sfumato.methods.steps.masking.block import (
    Block,
    correlation_of,
    covariance_of,
    means_of,
    root_of,
    semidefinite,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.core.table import Table

if TYPE_CHECKING:
    Reader = Callable[[Table, str], NDArray[np.float64]]
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


# Moments of a table that comes in pieces: exact sums, so that neither the pieces nor their order
# change a digit.


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """What noise must know of all records.

    ``groups`` numbers the strata, those put together alike; ``pooled`` counts these. ``means`` are
    by group and column, ``flat`` says where a column does not vary, ``whole`` which columns hold
    whole numbers only. ``covariance`` is by group.
    """

    groups: Mapping[Stratum, int]
    pooled: int
    means: Array
    flat: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    covariance: Array | None = None

    def of_rows(self, dataset: Table, within: Sequence[str] | None) -> Rows:
        """The group of every row."""
        codes, labels = labelled_strata(dataset, within)
        return np.array([self.groups[label] for label in labels], dtype=np.int64)[codes]


class _Stratum:
    """What is summed of one stratum: its rows, and per column weights, weighted values, the least
    and the greatest.
    """

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self.weight, self.total = [0] * columns, [0] * columns
        self.least, self.most = np.full(columns, np.inf), np.full(columns, -np.inf)

    def join(self, second: _Stratum) -> _Stratum:
        """Both together."""
        self.rows += second.rows
        self.weight = [a + b for a, b in zip(self.weight, second.weight, strict=True)]
        self.total = [a + b for a, b in zip(self.total, second.total, strict=True)]
        self.least, self.most = (
            np.minimum(self.least, second.least),
            np.maximum(self.most, second.most),
        )
        return self


class MeansLearner:
    """Means of every stratum, and which strata are put together because they have too few rows."""

    def __init__(
        self,
        columns: Sequence[str],
        within: Sequence[str] | None,
        smallest_stratum: int,
        read: Reader,
    ) -> None:
        self.columns, self.within, self.least, self.read = columns, within, smallest_stratum, read
        self.strata: dict[Stratum, _Stratum] = {}
        self.whole = np.ones(len(columns), dtype=np.bool_)

    def see(self, rows: Table) -> None:
        """Add some rows."""
        codes, labels = labelled_strata(rows, self.within)
        fresh = [_Stratum(len(self.columns)) for _ in labels]
        for stratum, count in zip(
            fresh, np.bincount(codes, minlength=len(labels)).tolist(), strict=True
        ):
            stratum.rows = count
        weights_column = weights_of(rows)
        weights = np.ones(len(rows)) if weights_column is None else weights_column
        for j, name in enumerate(self.columns):
            values = self.read(rows, name)
            present = np.flatnonzero(~np.isnan(values))
            self.whole[j] &= bool((values[present] == np.rint(values[present])).all())
            self._add(fresh, j, values[present], weights[present], codes[present])
        for label, stratum in zip(labels, fresh, strict=True):
            self.strata[label] = (
                self.strata[label].join(stratum) if label in self.strata else stratum
            )

    @staticmethod
    def _add(
        strata: list[_Stratum], column_number: int, values: Array, weights: Array, codes: Rows
    ) -> None:
        totals = exact_sums(values * weights, codes, len(strata))
        masses = exact_sums(weights, codes, len(strata))
        lowest, highest = np.full(len(strata), np.inf), np.full(len(strata), -np.inf)
        np.minimum.at(lowest, codes, values)
        np.maximum.at(highest, codes, values)
        for s, stratum in enumerate(strata):
            stratum.total[column_number], stratum.weight[column_number] = totals[s], masses[s]
            stratum.least[column_number], stratum.most[column_number] = lowest[s], highest[s]

    def learnt(self) -> Moments:
        """The means, by groups of strata."""
        groups, pooled = large_enough(
            {label: s.rows for label, s in self.strata.items()}, self.least
        )
        together: dict[int, _Stratum] = {}
        for label in in_order(self.strata):
            stratum = together.setdefault(groups[label], _Stratum(len(self.columns)))
            stratum.join(self.strata[label])
        strata = [together[g] for g in sorted(together)]
        means = [
            [
                t / w if w else 0.0
                for t, w in zip(stratum_sums.total, stratum_sums.weight, strict=True)
            ]
            for stratum_sums in strata
        ]  # whole numbers of the same unit: their ratio is rounded once
        flat = np.array([~(stratum_sums.least < stratum_sums.most) for stratum_sums in strata])
        return Moments(groups, pooled, np.array(means), flat, self.whole)


class CovarianceLearner:
    """Weighted covariances of every group over the pairs that are known, once the means are."""

    def __init__(
        self, columns: Sequence[str], within: Sequence[str] | None, moments: Moments, read: Reader
    ) -> None:
        self.columns, self.within, self.moments, self.read = columns, within, moments, read
        size = (len(moments.means), len(columns), len(columns))
        self.products, self.masses = np.zeros(size, dtype=object), np.zeros(size, dtype=object)
        self.counts = np.zeros(size, dtype=np.int64)

    def see(self, rows: Table) -> None:
        """Add some rows."""
        groups, count = self.moments.of_rows(rows, self.within), len(self.moments.means)
        weights_column = weights_of(rows)
        weights = np.ones(len(rows)) if weights_column is None else weights_column
        centred = [
            self.read(rows, n) - self.moments.means[groups, j] for j, n in enumerate(self.columns)
        ]
        for j, left_column in enumerate(centred):
            for k, right in enumerate(centred[: j + 1]):
                present_rows = np.flatnonzero(~np.isnan(left_column) & ~np.isnan(right))
                at = groups[present_rows]
                self.products[:, j, k] += exact_sums(
                    weights[present_rows] * (left_column[present_rows] * right[present_rows]),
                    at,
                    count,
                )
                self.masses[:, j, k] += exact_sums(weights[present_rows], at, count)
                self.counts[:, j, k] += np.bincount(at, minlength=count)

    def learnt(self) -> Moments:
        """The covariances as :func:`sfumato.methods.steps.masking.block.covariance_of` defines
        them.
        """
        size = self.products.shape
        covariance = np.zeros(size)
        for g, j, k in np.argwhere(self.counts > 1).tolist():
            count, mass = int(self.counts[g, j, k]), self.masses[g, j, k]
            if mass > 0 and not self.moments.flat[g, [j, k]].any():
                covariance[g, j, k] = covariance[g, k, j] = (
                    self.products[g, j, k] / mass * count / (count - 1)
                )
        return dataclasses.replace(self.moments, covariance=covariance)


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
    shaped[:, coarse] = normals[:, coarse] @ root_of(covariance[np.ix_(coarse, coarse)]).T
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
    large = sorted(
        (name for name in names if sizes[name] >= smallest_stratum), key=lambda name: sizes[name]
    )
    small_count = len(small)
    if small and sum(sizes[name] for name in small) < smallest_stratum and large:
        small.append(large.pop(0))
    numbers = {name: g for g, name in enumerate(name for name in names if name not in set(small))}
    return {name: numbers.get(name, len(numbers)) for name in names}, small_count


class BlockNoise:
    """Noise of one kind for the strata of a block; ``mended`` counts those whose covariance could
    not be drawn from.

    ``covariances`` holds that of each stratum under the first of its rows.
    """

    def __init__(
        self, block: Block, normals: Array, alpha: float, covariances: Mapping[int, Array]
    ) -> None:
        self.block, self.normals, self.alpha, self.covariances = block, normals, alpha, covariances
        self.coarse = coarse_first(block)
        self.mended = 0

    def covariance(self, rows: Rows) -> Array:
        """The covariance of a stratum, mended where gaps spoiled it."""
        covariance, mended = semidefinite(self.covariances[int(rows[0])])
        self.mended += mended
        return covariance

    def uncorrelated(self, rows: Rows) -> Array:
        """Values x + e with independent e of variance αS_jj."""
        spread = np.sqrt(self.alpha * np.diag(self.covariances[int(rows[0])]))
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
        """Values x + e with e of covariance αS for the records that lie far out, the others as they
        are.
        """
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

    Columns are measured in normal-consistent median absolute deviations (1.4826·MAD; the standard
    deviation where more than half of the values are the same), and correlated after drawing in what
    lies beyond 2.5 of them. A missing value counts as the median. The correlation of a column with
    itself is raised by 10⁻⁶, so that columns may be copies of each other.
    """
    present = ~np.isnan(values)
    middle = _medians(values)
    scale = 1.4826 * _medians(np.abs(values - middle))
    scale = np.where(scale > 0, scale, np.sqrt(np.diag(covariance_of(values, weights))))
    scores = np.divide(
        values - middle, scale, out=np.zeros_like(values), where=present & (scale > 0)
    )
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
"""How often the noise's correlations are mended, and how often near records are drawn anew, at
most.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class NormalScale:
    """One column of one stratum as normal scores, and the way back.

    ``scores`` are standard normal, with ties in random order; 0 where the value is missing.
    ``middles`` is where each known record stands on the distribution function, ascending, and
    ``sorted`` its value; ``ends`` is the distribution function at every distinct value,
    ``distinct``, and ``typical`` the mean score there.
    """

    scores: Array
    middles: Array
    sorted: Array
    ends: Array
    distinct: Array
    typical: Array
    stepped: bool

    @classmethod
    def of(
        cls, column: Array, weights: Array, groups: Rows, ties: Array, *, stepped: bool
    ) -> NormalScale:
        """Scores of a column; rows of a group with one value have one score. ``ties`` breaks
        ties.
        """
        from scipy.special import ndtri

        present = np.flatnonzero(~np.isnan(column))
        ordered_rows = present[np.lexsort((ties[present], column[present]))]
        mass = np.maximum(weights[ordered_rows], 1e-12 * weights.max(initial=1.0))
        total = max(float(mass.sum()), 1e-300)
        middles = (np.cumsum(mass) - mass / 2) / total
        shares = np.full(len(column), 0.5)
        shares[ordered_rows] = middles
        shares[present] = _averaged(shares[present], groups[present])
        scores = ndtri(shares)
        distinct, starts = np.unique(column[ordered_rows], return_index=True)
        ends = np.add.reduceat(mass, starts).cumsum() / total if len(starts) else np.zeros(0)
        heavy = (
            np.add.reduceat(scores[ordered_rows] * mass, starts) / np.add.reduceat(mass, starts)
            if len(starts)
            else ends
        )
        # a column with many ties is not continuous: its correlations must be seen after the way
        # back
        return cls(
            scores,
            middles,
            column[ordered_rows],
            ends,
            distinct,
            heavy,
            stepped or 2 * len(distinct) < len(ordered_rows),
        )

    def back(self, scores: Array, *, stepped: bool) -> Array:
        """Values at these scores: the distribution function inverted, stepwise or smoothly between
        the records.
        """
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

        steps: Rows = np.minimum(
            np.searchsorted(self.ends, ndtr(scores), side="left"), len(self.ends) - 1
        )
        return steps


def _averaged(values: Array, groups: Rows) -> Array:
    _, number, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return (np.bincount(number, values) / counts)[number]


class Sullivan:
    """Noise after Sullivan for the strata of a block.

    ``near`` is the share of records that are too near to themselves by chance; ``redrawn`` counts
    draws made anew, ``left`` the records that are near all the same, ``gap`` is the largest
    difference of correlations left, ``mended`` counts strata whose correlations could not be drawn
    from.
    """

    def __init__(
        self,
        block: Block,
        goal: Goal,
        normals: Array,
        alpha: float,
        near: float,
        categories: list[bool],
    ) -> None:
        self.block, self.goal, self.normals, self.alpha, self.near = (
            block,
            goal,
            normals,
            alpha,
            near,
        )
        self.categories = categories
        self.coarse = coarse_first(block)
        self.ties = self._ties()
        self.redrawn = self.left = self.mended = 0
        self.gap = 0.0

    def _ties(self) -> Array:
        pairs = zip(self.block.names, self.block.marks, strict=True)
        return np.stack(
            [self.goal.keyed(f"ties of {name}").uniforms(marks) for name, marks in pairs], axis=1
        )

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
        columns = np.stack(
            [scale.back(noisy[:, j], stepped=is_category) for j, (scale, is_category) in pairs],
            axis=1,
        )
        return np.where(np.isnan(block.values[rows]), np.nan, columns)

    def _noisy(self, rows: Rows, scales: list[NormalScale]) -> Array:
        """Scores with noise whose correlations were mended until the released ones are the original
        ones.
        """
        scores = np.stack([scale.scores for scale in scales], axis=1)
        gaps, weights = np.isnan(self.block.values[rows]), self.block.weights[rows]
        shrink = float(shrinkage(np.array([len(rows)]), self.alpha)[0])
        target_correlations = self._correlations([s.seen(s.scores) for s in scales], gaps, weights)
        shape, mended = semidefinite(self._correlations([s.scores for s in scales], gaps, weights))
        self.mended += mended
        start, best, best_gap = shape, scores, np.inf
        for turn in range(ROUNDS):
            noise = with_covariance(self.normals[rows], self.alpha * shape, self.coarse)
            noisy = shrink * (scores + noise)
            if turn == 0 and self.near > 0:
                noisy = self._away(rows, scores, noisy, shape, shrink)
            correlations = self._correlations(
                [s.seen(noisy[:, j]) for j, s in enumerate(scales)], gaps, weights
            )
            apart = target_correlations - correlations
            gap = float(np.abs(apart).max())
            if gap < best_gap:
                best, best_gap = noisy, gap
            if gap <= 0.5 / np.sqrt(len(rows)):
                break
            shape = semidefinite(_limited(shape + apart * (1 + self.alpha) / self.alpha))[0]
        self.left += int(
            (
                _distances(best - scores, start, self.alpha, shrink) < self._threshold(len(scales))
            ).sum()
        )
        self.gap = max(self.gap, best_gap)
        return best

    def _away(self, rows: Rows, scores: Array, noisy: Array, shape: Array, shrink: float) -> Array:
        """Scores with noise, drawn anew for records that came out too near to where they were."""
        for turn in range(ROUNDS):
            near = _distances(noisy - scores, shape, self.alpha, shrink) < self._threshold(
                scores.shape[1]
            )
            if not near.any():
                break
            self.redrawn += int(near.sum())
            self._redraw(rows, rows[near], turn)
            noisy = shrink * (
                scores + with_covariance(self.normals[rows], self.alpha * shape, self.coarse)
            )
        return np.asarray(noisy)

    def _redraw(self, rows: Rows, near: Rows, turn: int) -> None:
        """New draws for the groups that have a record among the near ones."""
        for j, (name, groups) in enumerate(zip(self.block.names, self.block.groups, strict=True)):
            redraw_group = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
            redraw_group[groups[near]] = True
            hit = rows[redraw_group[groups[rows]]]
            self.normals[hit, j] = self.goal.keyed(f"redraw {name}").normals(
                self.block.marks[j].taken(hit), turn
            )

    def _threshold(self, columns: int) -> float:
        from scipy.special import chdtri

        return float(chdtri(columns, 1 - self.near)) if self.near > 0 else 0.0

    @staticmethod
    def _correlations(columns: list[Array], gaps: NDArray[np.bool_], weights: Array) -> Array:
        return correlation_of(
            covariance_of(np.where(gaps, np.nan, np.stack(columns, axis=1)), weights)
        )


def _limited(shape: Array) -> Array:
    """Correlations drawn into what correlations can be."""
    limited = np.clip(shape, -1.0, 1.0)
    np.fill_diagonal(limited, np.diag(shape))
    return limited


def _distances(differences: Array, shape: Array, alpha: float, shrink: float) -> Array:
    """Squared Mahalanobis distance of every record from itself, by the covariance such moves
    have.
    """
    spread = ((1 - shrink) ** 2 + shrink**2 * alpha) * shape
    squared: Array = np.einsum(
        "ij,ij->i", differences @ np.linalg.pinv(spread, hermitian=True), differences
    )
    return squared
