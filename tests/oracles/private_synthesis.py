"""Naive definitions for tables drawn from noisy counts: models as whole tables of cells,
projections by bisection.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def smallest_delta(rho, epsilon):
    """δ = min over α of exp((α−1)(αρ−ε))/(α−1)·(1−1/α)^α, by a fine grid of α (Canonne, Kamath,
    Steinke 2020).
    """
    alphas = 1 + np.exp(np.linspace(-6, 12, 200_001))
    logs = (
        (alphas - 1) * (alphas * rho - epsilon)
        - np.log(alphas - 1)
        + alphas * np.log1p(-1 / alphas)
    )
    return float(np.exp(logs.min()))


def nearest_counts(counts, total, variances):
    """Counts ≥ 0 with this total, nearest in Σ (x − y)²/v: τ by bisection."""
    low, high = -1e7, 1e7
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (
            (tau, high)
            if sum(max(0.0, y - tau * v) for y, v in zip(counts, variances, strict=True)) > total
            else (low, tau)
        )
    return [max(0.0, y - low * v) for y, v in zip(counts, variances, strict=True)]


def cell_of_number(value, low, high, bins, decimals):
    """The run of grid points that a number falls into; points are dealt out to runs one by one."""
    step = Fraction(1, 10**decimals)
    points = [
        Fraction(str(low)) + i * step
        for i in range(int((Fraction(str(high)) - Fraction(str(low))) / step) + 1)
    ]
    runs = min(bins, len(points))
    inside = min(max(Fraction(str(value)), points[0]), points[-1])
    nearest = min(range(len(points)), key=lambda i: abs(points[i] - inside))
    return nearest * runs // len(points)


def spanning_tree(score, columns):
    """Pairs that join all columns, the largest score first (Kruskal)."""
    part = {name: {name} for name in columns}
    edges = []
    for pair in sorted(itertools.combinations(columns, 2), key=score, reverse=True):
        if part[pair[0]] is not part[pair[1]]:
            both = part[pair[0]] | part[pair[1]]
            part.update(dict.fromkeys(both, both))
            edges.append(pair)
    return edges


class WholeTable:
    """A model that is the table of all cells, fitted by mirror descent: for few cells only. It
    stands where mbi does.
    """

    def __init__(self, sizes, *, seconds=None):
        self.names, self.shape = list(sizes), tuple(sizes.values())
        self.logs = np.zeros(self.shape)
        self.fits = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def fit(self, measured, total):
        self.total, self.fits = total, self.fits + 1
        step, loss = 1.0, math.inf
        logs = best = kept = np.zeros(self.shape)
        for _ in range(400):
            cells = self._cells(logs)
            now, slope = self._loss(cells, measured)
            if now > loss:
                step /= 2
            else:
                loss, best, kept, step = now, logs, slope, step * 1.1
            logs = best - step * kept / total
        self.logs = best

    def marginals(self, cliques):
        cells = self._cells(self.logs)
        return [self._marginal(cells, clique).ravel() for clique in cliques]

    def model_sizes(self, present, more):
        return [0.0] * len(more)

    def draw(self, rows, seed):
        cells = self._cells(self.logs).ravel()
        drawn = np.random.default_rng(seed).choice(cells.size, rows, p=cells / cells.sum())
        return {
            name: np.asarray(one)
            for name, one in zip(self.names, np.unravel_index(drawn, self.shape), strict=True)
        }

    def _cells(self, logs):
        cells = np.exp(logs - logs.max())
        return cells * (self.total / cells.sum())

    def _marginal(self, cells, clique):
        summed = cells.sum(axis=tuple(i for i, name in enumerate(self.names) if name not in clique))
        order = [name for name in self.names if name in clique]
        return summed.transpose([order.index(name) for name in clique])

    def _loss(self, cells, measured):
        loss, slope = 0.0, np.zeros(self.shape)
        for one in measured:
            order = [name for name in self.names if name in one.clique]
            off = self._marginal(cells, one.clique) - one.counts.reshape(
                [self.shape[self.names.index(n)] for n in one.clique]
            )
            many = np.ones(off.size) if one.merged is None else one.merged
            weighted = off / (one.sigma**2 * many.reshape(off.shape))
            loss += float((off * weighted).sum()) / 2
            weighted = weighted.transpose([one.clique.index(name) for name in order])
            slope += weighted.reshape(
                [
                    size if name in one.clique else 1
                    for name, size in zip(self.names, self.shape, strict=True)
                ]
            )
        return loss, slope
