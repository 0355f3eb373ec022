"""Means of groups of neighbours with exact noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.encoding import numbers_of
from sfumato.core.randomness import canonical_order
from sfumato.methods.formulas.exact_draws import Draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Numbers = NDArray[np.float64]
    Whole = NDArray[np.int64]

STEPS = 1 << 20
"""Values between the bounds are rounded to so many steps."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """Public bounds of a column, and the whole steps between them."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the bounds lie apart."""
        return self.high - self.low

    def steps(self, values: Numbers) -> Whole:
        """Values cut off at the bounds, in whole steps from the lower one."""
        inside = np.clip(values, self.low, self.high)
        positions = (inside - self.low) / self.width * STEPS
        return np.clip(np.rint(positions), 0, STEPS).astype(np.int64)

    def values(self, steps: Numbers) -> Numbers:
        """Steps as values again, cut off at the bounds."""
        return np.clip(self.low + steps / STEPS * self.width, self.low, self.high)


def group_starts(n: int, k: int) -> Whole:
    """Where groups of k begin in a sorted list of n; the last takes the rest."""
    return np.arange(n // k, dtype=np.int64) * k


def noisy_means(ordered: Whole, starts: Whole, scale: Fraction, draws: Draws) -> Numbers:
    """The mean of every group, with noise of this scale on its sum.

    >>> import numpy as np
    >>> from sfumato.methods.formulas.exact_draws import Draws
    >>> noisy_means(
    ...     np.array([1, 3, 5, 7, 9]), np.array([0, 2]), Fraction(1, 10**6), Draws()
    ... ).tolist()
    [2.0, 7.0]
    """
    sums = np.add.reduceat(ordered, starts) + draws.laplace(scale, len(starts))
    group_sizes = np.diff(np.append(starts, len(ordered)))
    return np.asarray(sums / group_sizes)


def individually(
    dataset: Table,
    scales: Mapping[str, Scale],
    starts: Whole,
    epsilon: Fraction,
    draws: Draws,
    *,
    linked: bool,
) -> dict[str, pl.Series]:
    """Every column by itself, each with ε; its values are dealt out at random unless they stay
    ``linked`` to their rows.
    """
    columns = {}
    n = len(dataset)
    for name, scale in scales.items():
        steps = scale.steps(_known_values(dataset, name, scale))
        order = _by_value([steps], dataset)
        means = noisy_means(steps[order], starts, Fraction(STEPS) / epsilon, draws)
        released = np.empty(n)
        released[order if linked else draws.permutation(n)] = _spread(
            scale.values(means), starts, n
        )
        columns[name] = pl.Series(name, released)
    return columns


def together(
    dataset: Table,
    scales: Mapping[str, Scale],
    starts: Whole,
    epsilon: Fraction,
    draws: Draws,
    *,
    linked: bool,
) -> dict[str, pl.Series]:
    """Whole records by their distance from the lower corner; every column of every group has ε for
    all groups.
    """
    n = len(dataset)
    steps = {
        name: scale.steps(_known_values(dataset, name, scale)) for name, scale in scales.items()
    }
    total_steps = np.sum(list(steps.values()), axis=0)
    order = _by_value([total_steps, *steps.values()], dataset)
    columns = {}
    for name, scale in scales.items():
        noise_scale = Fraction(STEPS * len(starts)) / epsilon
        means = noisy_means(steps[name][order], starts, noise_scale, draws)
        released = np.empty(n)
        released[order if linked else np.arange(n)] = _spread(scale.values(means), starts, n)
        columns[name] = pl.Series(name, released)
    return columns


def _by_value(keys: list[Whole], dataset: Table) -> Whole:
    """Rows sorted by keys, the first first; where all are equal, in canonical order."""
    canonical = canonical_order(dataset)
    return canonical[np.lexsort([key[canonical] for key in reversed(keys)])]


def _spread(means: Numbers, starts: Whole, n: int) -> Numbers:
    return np.repeat(means, np.diff(np.append(starts, n)))


def _known_values(dataset: Table, name: str, scale: Scale) -> Numbers:
    """The values of a column; a missing one counts as the middle of the bounds, since an error
    would tell of a record.
    """
    values = numbers_of(dataset, name)
    return np.where(np.isnan(values), (scale.low + scale.high) / 2, values)
