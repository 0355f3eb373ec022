"""What masking kept of the numbers, measured on what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.step import Preserved
from sfumato.methods.steps.masking.weighted_moments import correlation_of, covariance_of, means_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.masking.block import Block

    Array = NDArray[np.float64]


class KeptNumbers:
    """The original numbers beside the masked ones; every method measures one quantity, the worst
    column counts.
    """

    def __init__(self, block: Block, masked: Array) -> None:
        self.block = block
        self.masked = masked
        self.before = covariance_of(block.values, block.weights)
        self.after = covariance_of(masked, block.weights)
        self.spread = np.sqrt(np.diag(self.before))

    def means(self, *, exactly: bool = False) -> Preserved:
        """How many standard deviations the means moved."""
        means_before = means_of(self.block.values, self.block.weights)
        differences = means_of(self.masked, self.block.weights) - means_before
        return self._preserved("means", exactly, _relative(differences, self.spread))

    def sums(self, *, exactly: bool = False) -> Preserved:
        """How far the (weighted) totals moved, as a share of the sum of absolute values; the worst
        stratum counts.
        """
        worst = 0.0
        for rows in self.block.parts():
            weights = self.block.weights[rows]
            old = np.nan_to_num(self.block.values[rows])
            differences = weights @ (np.nan_to_num(self.masked[rows]) - old)
            worst = max(worst, _relative(differences, weights @ np.abs(old)))
        return self._preserved("sums", exactly, worst)

    def variances(self) -> Preserved:
        """How far the variances moved, as a share of them."""
        differences = np.diag(self.after - self.before)
        return self._preserved("variances", False, _relative(differences, np.diag(self.before)))

    def covariances(self) -> Preserved:
        """How far the covariances of different columns moved, as a share of the product of standard
        deviations.
        """
        differences = self.after - self.before
        np.fill_diagonal(differences, 0.0)
        return self._preserved(
            "covariances", False, _relative(differences, np.outer(self.spread, self.spread))
        )

    def correlations(self) -> Preserved:
        """How far the correlations moved."""
        differences = correlation_of(self.after) - correlation_of(self.before)
        return self._preserved("correlations", False, float(np.abs(differences).max()))

    def distributions(self) -> Preserved:
        """How far the (weighted) distribution functions lie apart: Kolmogorov's distance."""
        columns = range(len(self.block.names))
        apart = []
        for j in columns:
            apart.append(kolmogorov(self.block.values[:, j], self.masked[:, j], self.block.weights))
        return self._preserved("distribution functions", False, max(apart))

    def exact(self, statistic: str) -> Preserved:
        """Something that a step keeps by how it works; checked by its caller."""
        return self._preserved(statistic, True, 0.0)

    def _preserved(self, statistic: str, exactly: bool, off_by: float) -> Preserved:
        return Preserved(statistic, self.block.names, exactly, off_by)


def _relative(differences: Array, scale: Array) -> float:
    """The largest move as a share of its scale; as it is where there is no scale."""
    sizes = np.abs(differences)
    return float(np.divide(sizes, scale, out=sizes.copy(), where=scale > 0).max(initial=0.0))


def kolmogorov(before: Array, after: Array, weights: Array) -> float:
    """The largest difference of two weighted distribution functions over the known values.

    >>> import numpy as np
    >>> kolmogorov(np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.ones(2))
    0.5
    """
    present = ~np.isnan(before) & ~np.isnan(after)
    points = np.concatenate([before[present], after[present]])
    steps = np.concatenate([weights[present], -weights[present]])
    if not weights[present].sum() > 0:
        return 0.0
    order = np.argsort(points, kind="stable")
    apart = np.abs(np.cumsum(steps[order]))
    last = np.append(np.diff(points[order]) > 0, True)
    return float(apart[last].max() / weights[present].sum())
