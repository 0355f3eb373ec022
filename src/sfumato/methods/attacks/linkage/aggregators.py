r"""Families of distances that can be learned: all are linear in their parameters.

With :math:`d_k` the difference in column *k* and :math:`\delta_k` its signed root:

* ``weighted_mean``: :math:`\sum_k p_k d_k`, p on the simplex;
* ``owa``: :math:`\sum_k p_k d_{(k)}`, differences in falling order, p on the simplex;
* ``choquet``: :math:`\sum_i (d_{(i)} - d_{(i-1)})\, \mu(\{(i), \dots, (n)\})`, differences in
  rising order, μ monotone with μ(∅) = 0 and μ(all) = 1 (up to 8 columns); beyond 8 columns
  2-additive:
  :math:`\sum_i m_i d_i + \sum_{i<j} m_{ij} \min(d_i, d_j)`
  with :math:`m_i \ge \sum_j \max(0, -m_{ij})` and sum 1 (up to 30);
* ``bilinear``: :math:`\delta^T Q \delta`, Q positive semidefinite with trace 1.

An additive μ is the weighted mean; a μ that depends on the number of columns only is the OWA with
weights μ(i) − μ(i−1).
"""

from __future__ import annotations

import dataclasses
from math import factorial
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Aggregator = Literal["weighted_mean", "owa", "bilinear", "choquet"]
MOST_SETS, MOST_PAIRWISE = 8, 30
MEAN, ORDERED, CHOQUET, PAIRWISE, SQUARE_FORM = 0, 1, 2, 3, 4


@dataclasses.dataclass(frozen=True)
class Family:
    """One family of distances over some columns; ``kind`` is its number in the loops."""

    kind: int
    columns: int

    @property
    def width(self) -> int:
        """How many parameters it has."""
        if self.kind in (MEAN, ORDERED):
            return self.columns
        if self.kind == CHOQUET:
            # One number for every set of columns, a bit a column.
            return 1 << self.columns
        return self.columns * (self.columns + 1) // 2

    def of_weights(self, weights: Floats) -> Floats:
        """The parameters that make it the weighted mean (for the OWA: with its weights by
        order).
        """
        if self.kind in (MEAN, ORDERED):
            return weights
        if self.kind == CHOQUET:
            sets = np.arange(self.width)
            is_member = sets[:, None] >> np.arange(self.columns) & 1
            return np.asarray((is_member * weights).sum(axis=1))
        return np.concatenate([weights, np.zeros(self.width - self.columns)])

    def nearest_allowed(self, parameters: Floats) -> Floats:
        """Allowed parameters near some that may not be."""
        if self.kind in (MEAN, ORDERED):
            clipped = np.maximum(parameters, 0.0)
            if clipped.sum() > 0:
                return np.asarray(clipped / clipped.sum())
            return np.full(self.width, 1 / self.width)
        if self.kind == CHOQUET:
            return _monotone(parameters, self.columns)
        if self.kind == PAIRWISE:
            return self._pairwise(parameters)
        return self._semidefinite(parameters)

    def _pairwise(self, parameters: Floats) -> Floats:
        size = self.columns
        # Negative interactions of a column with the others; its own weight must make up for them.
        negative = np.minimum(self.matrix(parameters), 0.0)
        np.fill_diagonal(negative, 0.0)
        repaired = parameters.copy()
        repaired[:size] = np.maximum(repaired[:size], -negative.sum(axis=1))
        total = repaired.sum()
        if total > 1e-9:
            return np.asarray(repaired / total)
        return self.of_weights(np.full(size, 1 / size))

    def _semidefinite(self, parameters: Floats) -> Floats:
        values, vectors = np.linalg.eigh(self.matrix(parameters))
        positive = np.maximum(values, 0.0)
        if positive.sum() <= 1e-12:
            return self.of_weights(np.full(self.columns, 1 / self.columns))
        # Negative eigenvalues are cut off, and the trace is brought back to 1.
        return self.flat((vectors * positive) @ vectors.T / positive.sum())

    def matrix(self, parameters: Floats) -> Floats:
        """Parameters of pairs as a symmetric matrix."""
        matrix = np.diag(parameters[: self.columns])
        upper = np.triu_indices(self.columns, 1)
        matrix[upper] = parameters[self.columns :]
        matrix.T[upper] = parameters[self.columns :]
        return matrix

    def flat(self, matrix: Floats) -> Floats:
        """A symmetric matrix as parameters: the diagonal, then what is above it."""
        above_diagonal = matrix[np.triu_indices(self.columns, 1)]
        return np.concatenate([np.diag(matrix), above_diagonal])

    def importance(self, parameters: Floats) -> Floats | None:
        """How much each column counts, summing to 1 (Shapley's value of the measure; the diagonal
        of Q); None for the OWA.
        """
        size = self.columns
        if self.kind == ORDERED:
            return None
        if self.kind == PAIRWISE:
            off = self.matrix(parameters)
            np.fill_diagonal(off, 0.0)
            return np.asarray(parameters[:size] + off.sum(axis=1) / 2)
        if self.kind == CHOQUET:
            return _shapley(parameters, size)
        return parameters[:size]


def family_of(aggregator: Aggregator, columns: int) -> Family:
    """The family of an aggregator over so many columns."""
    kinds = {"weighted_mean": MEAN, "owa": ORDERED, "bilinear": SQUARE_FORM}
    return Family(kinds.get(aggregator, CHOQUET if columns <= MOST_SETS else PAIRWISE), columns)


def _monotone(measure: Floats, columns: int) -> Floats:
    """A monotone measure near a set function: halfway between its running maximum upwards and
    minimum downwards.
    """
    up = np.clip(measure, 0.0, 1.0)
    # Fixed before the passes, so that both keep the measure 0 of nothing and 1 of everything.
    up[0], up[-1] = 0.0, 1.0
    down = up.copy()
    sets = np.arange(len(up))
    for k in range(columns):
        without = sets[sets >> k & 1 == 0]
        with_column = without | 1 << k
        up[with_column] = np.maximum(up[with_column], up[without])
        down[without] = np.minimum(down[without], down[without | 1 << k])
    return np.asarray((up + down) / 2)


def _shapley(measure: Floats, columns: int) -> Floats:
    sets = np.arange(len(measure))
    is_member = sets[:, None] >> np.arange(columns) & 1
    sizes = is_member.sum(axis=1)
    shares = np.array(
        # The share of orders in which just these s columns come before column k.
        [factorial(s) * factorial(columns - s - 1) / factorial(columns) for s in range(columns)]
    )
    values = np.zeros(columns)
    for k in range(columns):
        without = sets[sets >> k & 1 == 0]
        weights = shares[sizes[without]]
        gains = measure[without | 1 << k] - measure[without]
        values[k] = (weights * gains).sum()
    return values
