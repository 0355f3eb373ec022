"""Sullivan's algorithm: noise in normal space, and back through the distribution functions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.steps.masking.block import Block
from sfumato.methods.steps.masking.normal_noise import coarse_first, shrinkage, with_covariance
from sfumato.methods.steps.masking.weighted_moments import (
    correlation_of,
    covariance_of,
    semidefinite,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

ROUNDS = 10
"""How often the noise's correlations are mended, and how often near records are redrawn, at
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
        # A weight of 0 would put two records at one place of the distribution function.
        mass = np.maximum(weights[ordered_rows], 1e-12 * weights.max(initial=1.0))
        total = max(float(mass.sum()), 1e-300)
        # The middle of each record's step: with four equal weights 1/8, 3/8, 5/8 and 7/8.
        middles = (np.cumsum(mass) - mass / 2) / total
        shares = np.full(len(column), 0.5)
        shares[ordered_rows] = middles
        shares[present] = _average_groups(shares[present], groups[present])
        scores = ndtri(shares)
        distinct, starts = np.unique(column[ordered_rows], return_index=True)
        ends = typical = np.zeros(0)
        if len(starts):
            masses = np.add.reduceat(mass, starts)
            ends = masses.cumsum() / total
            typical = np.add.reduceat(scores[ordered_rows] * mass, starts) / masses
        # a column with many ties is not continuous: its correlations must be seen after the way
        # back
        stepped = stepped or 2 * len(distinct) < len(ordered_rows)
        return cls(scores, middles, column[ordered_rows], ends, distinct, typical, stepped)

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
        if not (self.stepped and len(self.distinct)):
            return scores
        return self.typical[self._step(scores)]

    def _step(self, scores: Array) -> Rows:
        from scipy.special import ndtr

        positions = np.searchsorted(self.ends, ndtr(scores), side="left")
        steps: Rows = np.minimum(positions, len(self.ends) - 1)
        return steps


def _average_groups(values: Array, groups: Rows) -> Array:
    _, number, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return (np.bincount(number, values) / counts)[number]


class Sullivan:
    """Noise after Sullivan for the strata of a block.

    ``near`` is the share of records that are too near to themselves by chance; ``redrawn`` counts
    draws remade, ``left`` the records that are near all the same, ``gap`` is the largest
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
        self.block = block
        self.goal = goal
        self.normals = normals
        self.alpha = alpha
        self.near = near
        self.categories = categories
        self.coarse = coarse_first(block)
        pairs = zip(self.block.names, self.block.marks, strict=True)
        uniforms = [self.goal.keyed(f"ties of {name}").uniforms(marks) for name, marks in pairs]
        self.ties = np.stack(uniforms, axis=1)
        self.redrawn = self.left = self.mended = 0
        self.gap = 0.0

    def masked(self, rows: Rows) -> Array:
        """One stratum with noise."""
        block = self.block
        scales = []
        for j, is_category in enumerate(self.categories):
            scale_of_column = NormalScale.of(
                block.values[rows, j],
                block.weights[rows],
                block.groups[j][rows],
                self.ties[rows, j],
                stepped=is_category,
            )
            scales.append(scale_of_column)
        noisy = self._noisy(rows, scales)
        pairs = enumerate(zip(scales, self.categories, strict=True))
        columns_back = []
        for j, (scale, is_category) in pairs:
            columns_back.append(scale.back(noisy[:, j], stepped=is_category))
        columns = np.stack(columns_back, axis=1)
        return np.where(np.isnan(block.values[rows]), np.nan, columns)

    def _noisy(self, rows: Rows, scales: list[NormalScale]) -> Array:
        """Scores with noise whose correlations were mended until the released ones are the original
        ones.
        """
        scores = np.stack([scale.scores for scale in scales], axis=1)
        gaps = np.isnan(self.block.values[rows])
        weights = self.block.weights[rows]
        rows_in_part = np.array([len(rows)])
        shrink = float(shrinkage(rows_in_part, self.alpha)[0])
        # Compared as they are seen after the way back, where ties move correlations.
        target_correlations = self._correlations([s.seen(s.scores) for s in scales], gaps, weights)
        shape, mended = semidefinite(self._correlations([s.scores for s in scales], gaps, weights))
        self.mended += mended
        start = shape
        best = scores
        best_gap = np.inf
        # A fixed point is looked for; the best round is kept, as the gap need not shrink every
        # time.
        for turn in range(ROUNDS):
            noise = with_covariance(self.normals[rows], self.alpha * shape, self.coarse)
            noisy = shrink * (scores + noise)
            if turn == 0 and self.near > 0:
                noisy = self._away(rows, scores, noisy, shape, shrink)
            normals_seen = [s.seen(noisy[:, j]) for j, s in enumerate(scales)]
            correlations = self._correlations(normals_seen, gaps, weights)
            apart = target_correlations - correlations
            gap = float(np.abs(apart).max())
            if gap < best_gap:
                best, best_gap = noisy, gap
            # Half the standard error of a correlation of n records, 1/√n.
            if gap <= 0.5 / np.sqrt(len(rows)):
                break
            # Released correlations mix those of scores and noise as 1 : α, so the noise must make
            # up for (1 + α)/α times the gap.
            corrected = shape + apart * (1 + self.alpha) / self.alpha
            shape = semidefinite(_limit_correlations(corrected))[0]
        moved = _distances(best - scores, start, self.alpha, shrink)
        self.left += int((moved < self._threshold(len(scales))).sum())
        self.gap = max(self.gap, best_gap)
        return best

    def _away(self, rows: Rows, scores: Array, noisy: Array, shape: Array, shrink: float) -> Array:
        """Scores with noise, redrawn for records that came out too near to where they were."""
        for turn in range(ROUNDS):
            distances = _distances(noisy - scores, shape, self.alpha, shrink)
            near = distances < self._threshold(scores.shape[1])
            if not near.any():
                break
            self.redrawn += int(near.sum())
            self._redraw(rows, rows[near], turn)
            noise = with_covariance(self.normals[rows], self.alpha * shape, self.coarse)
            noisy = shrink * (scores + noise)
        return np.asarray(noisy)

    def _redraw(self, rows: Rows, near: Rows, turn: int) -> None:
        """New draws for the groups that have a record among the near ones."""
        for j, (name, groups) in enumerate(zip(self.block.names, self.block.groups, strict=True)):
            # All rows of a unit that shares the draw change with it.
            redraw_group = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
            redraw_group[groups[near]] = True
            hit = rows[redraw_group[groups[rows]]]
            draws = self.goal.keyed(f"redraw {name}")
            self.normals[hit, j] = draws.normals(self.block.marks[j].taken(hit), turn)

    def _threshold(self, columns: int) -> float:
        from scipy.special import chdtri

        if not (self.near > 0):
            return 0.0
        return float(chdtri(columns, 1 - self.near))

    @staticmethod
    def _correlations(columns: list[Array], gaps: NDArray[np.bool_], weights: Array) -> Array:
        values = np.where(gaps, np.nan, np.stack(columns, axis=1))
        return correlation_of(covariance_of(values, weights))


def _limit_correlations(shape: Array) -> Array:
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
