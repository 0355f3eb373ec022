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
        self.block, self.masked = block, masked
        self.before = covariance_of(block.values, block.weights)
        self.after = covariance_of(masked, block.weights)
        self.spread = np.sqrt(np.diag(self.before))

    def means(self, *, exactly: bool = False) -> Preserved:
        """How many standard deviations the means moved."""
        moved = means_of(self.masked, self.block.weights) - means_of(
            self.block.values, self.block.weights
        )
        return self._told("means", exactly, _relative(moved, self.spread))

    def sums(self, *, exactly: bool = False) -> Preserved:
        """How far the (weighted) totals moved, as a share of the sum of absolute values; the worst
        stratum counts.
        """
        worst = 0.0
        for rows in self.block.parts():
            weights, old = self.block.weights[rows], np.nan_to_num(self.block.values[rows])
            moved = weights @ (np.nan_to_num(self.masked[rows]) - old)
            worst = max(worst, _relative(moved, weights @ np.abs(old)))
        return self._told("sums", exactly, worst)

    def variances(self) -> Preserved:
        """How far the variances moved, as a share of them."""
        return self._told(
            "variances", False, _relative(np.diag(self.after - self.before), np.diag(self.before))
        )

    def covariances(self) -> Preserved:
        """How far the covariances of different columns moved, as a share of the product of standard
        deviations.
        """
        moved = self.after - self.before
        np.fill_diagonal(moved, 0.0)
        return self._told(
            "covariances", False, _relative(moved, np.outer(self.spread, self.spread))
        )

    def correlations(self) -> Preserved:
        """How far the correlations moved."""
        moved = correlation_of(self.after) - correlation_of(self.before)
        return self._told("correlations", False, float(np.abs(moved).max()))

    def distributions(self) -> Preserved:
        """How far the (weighted) distribution functions lie apart: Kolmogorov's distance."""
        columns = range(len(self.block.names))
        apart = [
            kolmogorov(self.block.values[:, j], self.masked[:, j], self.block.weights)
            for j in columns
        ]
        return self._told("distribution functions", False, max(apart))

    def exact(self, what: str) -> Preserved:
        """Something that a step keeps by how it works; checked by its caller."""
        return self._told(what, True, 0.0)

    def _told(self, what: str, exactly: bool, off_by: float) -> Preserved:
        return Preserved(what, self.block.names, exactly, off_by)


def _relative(moved: Array, scale: Array) -> float:
    """The largest move as a share of its scale; as it is where there is no scale."""
    sizes = np.abs(moved)
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
