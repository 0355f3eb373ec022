"""Naive definitions for private answers, straight from the formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product


def discrete_laplace(x: int, scale: float) -> float:
    """P(X = x) of the two-sided geometric distribution: (1 − p)/(1 + p)·p^|x|, p = e^(−1/scale)."""
    p = math.exp(-1 / scale)
    return (1 - p) / (1 + p) * p ** abs(x)


def discrete_gaussian(x: int, sigma: float) -> float:
    """P(X = x) ∝ e^(−x²/2σ²) over the whole numbers."""
    reach = math.ceil(sigma * 12) + 2
    total = sum(math.exp(-k * k / (2 * sigma * sigma)) for k in range(-reach, reach + 1))
    return math.exp(-x * x / (2 * sigma * sigma)) / total


def quantile_scores(values, candidates, level: Fraction) -> list[int]:
    """How far the rank of every candidate is from the level, times its denominator."""
    a, b = level.numerator, level.denominator
    return [
        abs((b - a) * sum(v < c for v in values) - a * sum(v > c for v in values))
        for c in candidates
    ]


def noisy_best(scores, scale: float) -> list[float]:
    """P(candidate i wins) when each has geometric noise taken from its score and the first of the
    largest wins.
    """
    p = math.exp(-1 / scale)

    def at_most(t: int) -> float:  # P(noise ≤ t)
        return 1 - p ** (t + 1) if t >= 0 else 0.0

    won = []
    for i, own in enumerate(scores):
        total, r = 0.0, 0
        while p**r > 1e-18:
            others = 1.0
            for j, other in enumerate(scores):
                if j != i:
                    others *= at_most(r - own + other - (1 if j < i else 0))
            total += (1 - p) * p**r * others
            r += 1
        won.append(total)
    return won


def widest_move(rows_before, rows_after, cells: int) -> tuple[int, float]:
    """L1 and L2 distance of the totals of two lists of (cell, number)."""
    totals = [[0] * cells, [0] * cells]
    for side, rows in enumerate((rows_before, rows_after)):
        for cell, number in rows:
            totals[side][cell] += number
    moves = [x - y for x, y in zip(*totals, strict=True)]
    return sum(map(abs, moves)), math.sqrt(sum(m * m for m in moves))


def all_rows(numbers, cells: int, most: int) -> list[tuple[tuple[int, int], ...]]:
    """Everything one unit can contribute: up to ``most`` rows, each in a cell with a number."""
    single = list(product(range(cells), numbers))
    return [rows for count in range(most + 1) for rows in product(single, repeat=count)]


def clopper_pearson(hits: int, runs: int, error: float) -> tuple[float, float]:
    """Exact one-sided bounds of a probability, each wrong with at most this probability."""
    from scipy.stats import beta

    low = beta.ppf(error, hits, runs - hits + 1) if hits else 0.0
    high = beta.ppf(1 - error, hits + 1, runs - hits) if hits < runs else 1.0
    return float(low), float(high)
