"""A table that is looked at through noise only, and what was measured of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.budget import Budget, PrivacyLoss
from sfumato.core.declared import Relation
from sfumato.core.fields import Document
from sfumato.core.ledger import Ledger, Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.formulas.exact_draws import Draws

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Clique = tuple[str, ...]
FINE = 1 << 10
"""Scores are counted in parts of a record so fine, as whole numbers: then what one record moves is
exact.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """Noisy counts of the cells of some columns together, and the standard deviation of their
    noise.

    ``merged`` says of cells that stand for several how many those are: the variance of their noise
    is so many times as large.
    """

    clique: Clique
    counts: Floats
    sigma: float
    merged: Floats | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class OpenMarginal:
    """A marginal that may be measured next: what is expected of it, how much it matters, and what
    its noise would cost.
    """

    clique: Clique
    expected: Floats
    weight: int = 1
    penalty: float = 0.0


class PrivateTable:
    """Rows as cells, a total of ρ, and two ways to look: noisy counts, and the choice of what
    differs most.

    Every look is written into a ledger before it is taken, with what it costs, and refused where it
    would cost more than there is. ``rows`` of one unit change a count by so much, and a score by so
    much times its weight.
    """

    def __init__(
        self,
        codes: Mapping[str, Codes],
        sizes: Mapping[str, int],
        *,
        rho: Fraction,
        rows: int,
        draws: Draws,
    ) -> None:
        self.sizes = dict(sizes)
        self.rho = rho
        self.rows = rows
        self._codes = dict(codes)
        self._draws = draws
        # Rounded up to a float: the ledger must not refuse the last look for a rounding error.
        budget = Budget(rho=float(_above(rho)))
        self.ledger = Ledger(Terms("drawn", budget, Relation()))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in their order."""
        return tuple(self.sizes)

    def size(self, clique: Sequence[str]) -> int:
        """How many cells some columns have together."""
        return math.prod(self.sizes[name] for name in clique)

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        with self.ledger.hold() as book:
            return self.rho - book.spending.rho

    def sigma(self, rho: Fraction | float) -> float:
        """The standard deviation of the noise of counts that cost ρ."""
        return self.rows / math.sqrt(2 * rho)

    def measure(self, clique: Clique, rho: Fraction) -> NoisyMarginal:
        r"""The counts of all cells with discrete Gaussian noise
        of :math:`\sigma = g/\sqrt{2\rho}`.
        """
        # Spent before it is looked at: a failure later on gives nothing back.
        self._spend(f"counts of {' × '.join(clique)}", rho)
        noise = self._draws.gaussian(float(self.rows), rho, self.size(clique))
        noisy_counts = self._count_cells(clique) + noise
        return NoisyMarginal(clique, noisy_counts.astype(np.float64), self.sigma(rho))

    def select(self, candidates: Sequence[OpenMarginal], rho: Fraction) -> OpenMarginal:
        r"""One candidate, by the exponential mechanism: the larger :math:`w(\|M - \hat M\|_1 - p)`,
        the likelier.

        What is expected is rounded to whole parts of a record, which is no look at the data; then
        every score is a whole number that a unit of g rows moves by :math:`g\,w` records at most.
        """
        self._spend(f"a choice among {len(candidates):,} marginals", rho)
        # One scale for all candidates: the one that a unit moves most decides it.
        largest_weight = max(candidate.weight for candidate in candidates)
        scores = np.array([self._score(candidate) for candidate in candidates], dtype=np.int64)
        return candidates[self._draws.best(scores, FINE * largest_weight * self.rows, rho)]

    def merged(self, cells: Mapping[str, Codes], sizes: Mapping[str, int]) -> PrivateTable:
        """The same table with other cells, which are functions of these; what is spent on one is
        spent on both.
        """
        codes = {name: cells[name][codes] for name, codes in self._codes.items()}
        merged_table = PrivateTable(codes, sizes, rho=self.rho, rows=self.rows, draws=self._draws)
        # One ledger for both: merging cells must not make a second budget.
        merged_table.ledger = self.ledger
        return merged_table

    def spent(self) -> list[Document]:
        """Every look and what it cost, for the owner and the certificate."""
        with self.ledger.hold() as book:
            costs = [float(loss.as_rho) for loss in book.losses]
            return [
                {"looked_at": title, "rho": cost}
                for title, cost in zip(book.asked, costs, strict=True)
            ]

    def _score(self, candidate: OpenMarginal) -> int:
        # Rounded before it is compared: whole numbers leak nothing through their last digits.
        expected = np.rint(candidate.expected * FINE).astype(np.int64)
        differences = FINE * self._count_cells(candidate.clique) - expected
        apart = int(np.abs(differences).sum())
        return candidate.weight * (apart - round(FINE * candidate.penalty))

    def _count_cells(self, clique: Clique) -> Codes:
        codes = next(iter(self._codes.values()))
        cell = np.zeros(len(codes), dtype=np.int64)
        for name in clique:
            # Cells of several columns as one number, the first column leading.
            cell = cell * self.sizes[name] + self._codes[name]
        return np.bincount(cell, minlength=self.size(clique))

    def _spend(self, title: str, rho: Fraction) -> None:
        with self.ledger.hold() as book:
            book.spend({f"{book.spending.answers}": (title, PrivacyLoss(rho=rho))})


def _above(rho: Fraction) -> Fraction:
    """A number that is written as a float and is not below ρ: a budget is read as the decimal that
    was written.
    """
    near = float(rho)
    while Fraction(str(near)) < rho:
        near = math.nextafter(near, math.inf)
    return Fraction(str(near))


def noisy_total(singles: Sequence[NoisyMarginal]) -> float:
    r"""How many rows there are, from the sums of noisy counts: their mean with weights 1/cells, and
    at least one.

    The sum of m noisy counts has the variance :math:`m\sigma^2`, so these weights make the variance
    of the mean smallest.

    >>> import numpy as np
    >>> first = NoisyMarginal(("a",), np.array([10.0, 20.0]), 1.0)
    >>> noisy_total([first, NoisyMarginal(("b",), np.array([36.0]), 1.0)])
    34.0
    """
    weights = np.array([1 / len(measurement.counts) for measurement in singles])
    sums = np.array([measurement.counts.sum() for measurement in singles])
    return max(1.0, float(weights @ sums / weights.sum()))


def on_simplex(counts: Floats, total: float, variances: Floats | None = None) -> Floats:
    r"""The counts, none negative and with this total, that are nearest:
    smallest :math:`\sum_i (x_i - y_i)^2/v_i`.

    :math:`x_i = \max(0, y_i - \tau v_i)` with the τ that gives the total; it lies between two of
    the sorted :math:`y_i/v_i`.

    >>> import numpy as np
    >>> on_simplex(np.array([5.0, 3.0, -1.0]), 10.0).tolist()
    [6.0, 4.0, 0.0]
    """
    if variances is None:
        spread = np.ones(len(counts))
    else:
        spread = variances
    order = np.argsort(-counts / spread, kind="stable")
    sums = np.cumsum(counts[order])
    widths = np.cumsum(spread[order])
    # The level τ if just the first i + 1 entries stay above 0.
    levels = (sums - total) / widths
    # The last entry that its own level leaves above 0: all behind it become 0.
    inside = np.flatnonzero(counts[order] / spread[order] > levels)
    level = levels[inside[-1]]
    nearest: Floats = np.maximum(0.0, counts - level * spread)
    return nearest
