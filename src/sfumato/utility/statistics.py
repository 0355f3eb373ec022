"""Statistics of a table of numbers, weighted or not, and how far two of them are apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEGLIGIBLE = 1e-9
"""A statistic smaller than this share of its natural scale counts as 0."""


@dataclasses.dataclass(frozen=True)
class Term:
    """One statistic of some columns before and after; ``scale`` is the unit for those that may be 0."""

    columns: tuple[str, ...]
    before: float
    after: float
    scale: float
    relative: bool = True

    @property
    def error(self) -> float:
        """The difference over the size before; 1 where there is nothing to compare with any more."""
        if math.isnan(self.before):
            return 0.0
        if math.isnan(self.after):
            return 1.0
        size = abs(float(self.before))
        unit = size if self.relative and size > NEGLIGIBLE * self.scale else self.scale
        difference = abs(float(self.after) - float(self.before))
        if unit > 0:
            return difference / float(unit)
        return float(difference > 0)


def relative_errors(terms: Sequence[Term]) -> tuple[float, float, dict[str, float]]:
    """The mean error, the mean with each error counting for at most 1, and the latter per column."""
    if not terms:
        return 0.0, 0.0, {}
    names = list(dict.fromkeys(name for term in terms for name in term.columns))
    capped = [min(1.0, term.error) for term in terms]
    columns = {}
    for name in names:
        own = [error for term, error in zip(terms, capped, strict=True) if name in term.columns]
        columns[name] = sum(own) / len(own)
    return sum(term.error for term in terms) / len(terms), sum(capped) / len(capped), columns


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Rows of numbers (NaN: none) and their weights, or None."""

    table: NDArray[np.float64]
    weights: NDArray[np.float64] | None

    def means(self) -> list[float]:
        """The mean of every column over the rows that have it; NaN where none does."""
        return [self._mean(self.table[:, j]) for j in range(self.table.shape[1])]

    def _mean(self, column: NDArray[np.float64]) -> float:
        import numpy as np

        known = ~np.isnan(column)
        weight = known.astype(np.float64) if self.weights is None else np.where(known, self.weights, 0.0)
        total = float(weight.sum())
        return float((weight * np.where(known, column, 0.0)).sum()) / total if total > 0 else math.nan

    def deviations(self) -> list[float]:
        """The standard deviation of every column; 0 where there are no numbers."""
        means = self.means()
        squares = [self._mean((self.table[:, j] - mean) ** 2) for j, mean in enumerate(means)]
        return [0.0 if math.isnan(square) else math.sqrt(square) for square in squares]

    def quantiles(self, shares: Sequence[float]) -> list[list[float]]:
        """Quantiles of every column."""
        return [self._quantiles(self.table[:, j], shares) for j in range(self.table.shape[1])]

    def _quantiles(self, column: NDArray[np.float64], shares: Sequence[float]) -> list[float]:
        import numpy as np

        known = ~np.isnan(column)
        if self.weights is not None:
            known &= self.weights > 0
        if not known.any():
            return [math.nan] * len(shares)
        if self.weights is None:
            return [float(q) for q in np.quantile(column[known], shares)]
        order = np.argsort(column[known], kind="stable")
        upto = np.cumsum(self.weights[known][order])
        places = np.searchsorted(upto, np.asarray(shares) * upto[-1] * (1 - 1e-12), side="left")
        return [float(v) for v in column[known][order][np.minimum(places, len(order) - 1)]]

    def covariances(self) -> NDArray[np.float64]:
        """The covariance matrix of the rows that are complete; NaN for columns without numbers."""
        import numpy as np

        width = self.table.shape[1]
        matrix = np.full((width, width), np.nan)
        there = np.flatnonzero(~np.isnan(self.table).all(axis=0)) if len(self.table) else np.zeros(0, dtype=np.int64)
        complete = ~np.isnan(self.table[:, there]).any(axis=1)
        rows = self.table[complete][:, there]
        weights = np.ones(len(rows)) if self.weights is None else self.weights[complete]
        total = float(weights.sum())
        if not len(there) or total <= 0:
            return matrix
        centred = rows - (weights[:, None] * rows).sum(axis=0) / total
        # more or fewer rows must not change weighted results: they are divided by the total, others by one less
        divisor = total if self.weights is not None else max(1.0, total - 1)
        matrix[np.ix_(there, there)] = (centred * weights[:, None]).T @ centred / divisor
        return matrix

    def correlations(self) -> NDArray[np.float64]:
        """The correlation matrix; a constant column correlates with nothing but itself."""
        import numpy as np

        matrix = self.covariances()
        deviations = np.sqrt(matrix.diagonal())
        constant = deviations <= 0
        scale = np.where(constant, 1.0, deviations)
        found = matrix / np.outer(scale, scale)
        found[constant, :] = 0.0
        found[:, constant] = 0.0
        np.fill_diagonal(found, np.where(np.isnan(deviations), np.nan, 1.0))
        return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)
