r"""AIM: the marginal that the model gets most wrong is measured next, as long as the budget lasts.

Reference: McKenna, Mullins, Sheldon & Miklau 2022, doi:10.14778/3551793.3551817.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.methods.steps.synthesis.noisy_counts import (
    Clique,
    NoisyMarginal,
    OpenMarginal,
    PrivateTable,
    noisy_total,
)

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.methods.steps.synthesis.model_fits import Fitter

USUAL_ROUNDS = 2
"""Rounds, for every column, that the budget is planned for. The paper has 16; then most rounds tell
nothing on tables of this size.
"""
FOR_COUNTS = Fraction(9, 10)
"""The share of a round's ρ that goes to the counts; the rest goes to the choice."""
MOST_CANDIDATES = 20_000
MOST_CELLS = 2_000_000
"""Marginals with more cells than this are not candidates."""


@dataclasses.dataclass(frozen=True)
class Pace:
    """What one round costs: its counts and its choice."""

    counts: Fraction
    choice: Fraction

    @classmethod
    def over(cls, rho: Fraction, rounds: Fraction | int = 1) -> Pace:
        """So many equal rounds for ρ."""
        rho_per_round = rho / rounds
        return cls(rho_per_round * FOR_COUNTS, rho_per_round * (1 - FOR_COUNTS))

    @property
    def whole(self) -> Fraction:
        """What the round costs."""
        return self.counts + self.choice

    def faster(self) -> Pace:
        """Half the noise and twice the ε: four times the price."""
        return Pace(4 * self.counts, 4 * self.choice)


@dataclasses.dataclass(frozen=True, eq=False)
class RoundsMeasured:
    """What was measured, and how many rounds it took."""

    measured: tuple[NoisyMarginal, ...]
    total: float
    rounds: int


def workload_of(
    columns: Sequence[str], workload: int | Sequence[Sequence[str]]
) -> tuple[Clique, ...]:
    """The marginals that shall be right: those given, or all of so many columns.

    >>> workload_of(["a", "b", "c"], 2)
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    if isinstance(workload, int):
        size = min(workload, len(columns))
        _require_few(math.comb(len(columns), size))
        return tuple(itertools.combinations(columns, size))
    cliques: dict[Clique, None] = {}
    for clique in workload:
        ordered = tuple(name for name in columns if name in clique)
        cliques[ordered] = None
    return tuple(cliques)


def closure_of(workload: Sequence[Clique]) -> dict[Clique, int]:
    r"""Every part of a marginal of the workload, and its
    weight :math:`w_r = \sum_{s \in W} |r \cap s|`.

    >>> closure_of([("a", "b"), ("b", "c")])
    {('a',): 1, ('b',): 2, ('a', 'b'): 3, ('c',): 1, ('b', 'c'): 3}
    """
    subsets = sum(2 ** len(whole) for whole in workload)
    _require_few(subsets // max(1, len(workload)))
    parts: dict[Clique, None] = {}
    for whole in workload:
        for size in range(1, len(whole) + 1):
            parts.update(dict.fromkeys(itertools.combinations(whole, size)))
        _require_few(len(parts))
    weights = {}
    for part in parts:
        weights[part] = sum(len(set(part) & set(whole)) for whole in workload)
    return weights


def _require_few(marginals: int) -> None:
    if marginals > MOST_CANDIDATES:
        raise ParameterError(
            f"synthesize_privately: the workload has {marginals:,} marginals or parts of them, and "
            f"at most {MOST_CANDIDATES:,} are possible. Name fewer, or smaller ones"
        )


def choose_and_measure(
    table: PrivateTable,
    fitter: Fitter,
    *,
    workload: Sequence[Clique],
    rounds: int,
    model_mb: float,
    progress: Progress,
) -> RoundsMeasured:
    """Measure single columns, then round by round what the model gets most wrong; spends all of the
    table's ρ.
    """
    pace = Pace.over(table.rho, rounds)
    weights = closure_of(workload)
    # Single columns first: every later choice is about what they leave open.
    measurements = [table.measure((name,), pace.counts) for name in table.columns]
    total = noisy_total(measurements)
    fitter.fit(measurements, total)
    turn = 0
    last = False
    while not last:
        turn += 1
        rho_left = table.left
        # Not enough for two rounds: the last one takes all.
        if rho_left < 2 * pace.whole:
            pace = Pace.over(rho_left)
            last = True
        spent_share = 1 - float(rho_left / table.rho)
        progress(min(0.99, spent_share), f"AIM, round {turn}")
        # The model may grow as the budget is spent, so that early choices do not fill the memory.
        rho_used = (table.rho - rho_left + pace.whole) / table.rho
        limit = model_mb * float(rho_used)
        measurement, before = _select_marginal(
            table, fitter, weights, measurements=measurements, pace=pace, limit=limit
        )
        measurements.append(measurement)
        fitter.fit(measurements, total)
        differences = fitter.marginals([measurement.clique])[0] - before
        change = float(np.abs(differences).sum())
        # The model moved less than noise does: rounds with less noise from now on (annealing of
        # AIM).
        if change <= usual_error(measurement.sigma, len(measurement.counts)):
            pace = pace.faster()
    return RoundsMeasured(tuple(measurements), total, turn)


def usual_error(sigma: float, cells: int) -> float:
    r"""What noise alone does to so many counts in
    absolute terms: :math:`\sqrt{2/\pi}\,\sigma n_r`.
    """
    return math.sqrt(2 / math.pi) * sigma * cells


def _select_marginal(
    table: PrivateTable,
    fitter: Fitter,
    weights: dict[Clique, int],
    measurements: Sequence[NoisyMarginal],
    pace: Pace,
    limit: float,
) -> tuple[NoisyMarginal, np.ndarray]:
    """Choose and measure a marginal; with it, what the model thought of it."""
    cliques = [measurement.clique for measurement in measurements]
    # parts of what was measured are in the model already: they cost no memory
    inside = {r for r in weights if any(set(r) <= set(clique) for clique in cliques)}
    outside = [r for r in weights if r not in inside and table.size(r) <= MOST_CELLS]
    sizes = fitter.model_sizes(cliques, outside)
    fitting = {r for r, size in zip(outside, sizes, strict=True) if size <= limit}
    names = [r for r in weights if r in fitting or r in inside]
    sigma = table.sigma(pace.counts)
    candidates = []
    for r, expected in zip(names, fitter.marginals(names), strict=True):
        noise = usual_error(sigma, table.size(r))
        candidates.append(OpenMarginal(r, expected, weights[r], noise))
    candidate = table.select(candidates, pace.choice)
    return table.measure(candidate.clique, pace.counts), candidate.expected
