"""From a question to its answer: a plan made without the data, noise drawn without them, one scan,
nothing else.

The order is what protects: everything that can be refused is refused while planning, from
declarations alone; the loss is written down; the noise is drawn; only then the rows are read, all
of them, whatever is in them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import InternalError, ParameterError
from sfumato.methods.formulas.noise import Noise, noise_for
from sfumato.results.queries.quantiles import Chooser, chooser
from sfumato.results.queries.question import CONFIDENCE, Answer, Question
from sfumato.results.queries.statistics import statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.budget import PrivacyLoss
    from sfumato.core.declared import Declared, DeclaredTable, Relation
    from sfumato.results.queries.statistics import Statistic


MOST_CELLS = 100_000
"""Groups (times candidates of a quantile) that one question may ask about."""
WITHOUT_BOUNDS = (0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class PlannedQuestion:
    """A question that can be answered: its groups, its mechanisms and, once drawn, its noise."""

    question: Question
    relation: Relation
    loss: PrivacyLoss
    groups: tuple[tuple[str, ...], ...]
    statistic: Statistic | None
    noises: tuple[Noise, ...]
    chooser: Chooser | None
    drawn: tuple[NDArray[np.int64], ...] = ()

    @property
    def mechanism(self) -> str:
        """What hides a person, in words; scales are those of whole numbers, times what one of them
        is worth.
        """
        if self.statistic is None:
            return "noisy maximum (permute-and-flip) over a public grid"
        pairs = zip(self.noises, self.statistic.totals, strict=True)
        return (
            f"{self.noises[0].name}, scale {', '.join(f'{n.scale * t.step:.4g}' for n, t in pairs)}"
        )

    def with_noise(self) -> PlannedQuestion:
        """The same with its noise drawn."""
        cells = len(self.groups)
        if self.chooser is not None:
            return dataclasses.replace(self, drawn=(self.chooser.draw(cells),))
        return dataclasses.replace(self, drawn=tuple(noise.draw(cells) for noise in self.noises))

    def answered(self, table: DeclaredTable) -> Answer:
        """The answer, by one scan of all rows."""
        cells = len(self.groups)
        values, cell = scan(self.question, table, cells)
        if self.chooser is not None:
            quantile_values = self.chooser.choose(values, cell, cells, self.drawn[0])
            return self._answer(quantile_values, None, None)
        return self._combined(values, cell)

    def _combined(self, values: NDArray[np.float64], cell: NDArray[np.int64]) -> Answer:
        statistic, cells = _make_statistic(self.statistic), len(self.groups)
        totals: list[NDArray[np.float64]] = []
        tails = []
        for total, noise, noise_drawn in zip(
            statistic.totals, self.noises, self.drawn, strict=True
        ):
            # the cell after the last takes the rows that do not count, and is cut off
            whole = np.bincount(cell, weights=total.whole(values), minlength=cells + 1)[:cells]
            totals.append((whole.astype(np.int64) + noise_drawn).astype(np.float64) * total.step)
            tails.append(noise.tail(failure(len(self.noises))) * total.step)
        estimate = statistic.combine(totals, tails)
        return self._answer(estimate.value, estimate.low, estimate.high)

    def _answer(self, values: Any, low: Any, high: Any) -> Answer:
        by = tuple(axis.column for axis in self.question.by)
        return Answer(
            question=str(self.question),
            by=by,
            groups=self.groups,
            values=tuple(map(float, values)),
            low=() if low is None else tuple(map(float, low)),
            high=() if high is None else tuple(map(float, high)),
            rank_error=None if self.chooser is None else self.chooser.rank_error(1 - CONFIDENCE),
            epsilon=None if self.loss.epsilon is None else float(self.loss.epsilon),
            rho=None if self.loss.rho is None else float(self.loss.rho),
            mechanism=self.mechanism,
            protects=self.relation.words,
        )


def plan_question(
    question: Question, declared: Declared, relation: Relation, loss: PrivacyLoss
) -> PlannedQuestion:
    """Everything about an answer that does not need the data; whatever is refused is refused
    here.
    """
    sides = [axis.labels(declared) for axis in question.by]
    # without candidates a group is one cell
    candidates = len(question.candidates or (0,))
    if math.prod(len(side) for side in sides) * candidates > MOST_CELLS:
        raise ParameterError(
            f"the question has more than {MOST_CELLS:,} groups (times candidates); group by fewer"
            " or coarser columns"
        )
    groups = tuple(itertools.product(*sides))
    if question.column is None:
        bounds = WITHOUT_BOUNDS
    else:
        bounds = declared.bounds_of(question.column)
    if question.statistic == "quantile":
        level, values = question.level or 0.5, question.candidates or bounds
        quantile = chooser(level, values, relation, loss, cells=len(groups))
        return PlannedQuestion(question, relation, loss, groups, None, (), quantile)
    parts = statistic(question.statistic, bounds)
    noises = noises_of(parts, relation, loss, cells=len(groups))
    return PlannedQuestion(question, relation, loss, groups, parts, noises, None)


def noises_of(
    statistic: Statistic, relation: Relation, loss: PrivacyLoss, *, cells: int
) -> tuple[Noise, ...]:
    """One noise a total; the loss is divided equally among them."""
    part = loss.divided(len(statistic.totals))
    return tuple(
        noise_for(part, *relation.reach(total.low, total.high, cells=cells))
        for total in statistic.totals
    )


def failure(totals: int) -> float:
    """How often the noise of each of several totals may leave its interval, so that all hold at 95
    %.
    """
    return (1 - CONFIDENCE) / totals


def scan(
    question: Question, table: DeclaredTable, cells: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The value and the group of every row; what does not count is in the group after the last."""
    counts = table.counts
    for condition in question.where:
        counts = counts & condition.mask(table)
    values = np.zeros(len(counts))
    if question.column is not None:
        values, present = table.numbers(question.column)
        counts = counts & present
    cell = np.zeros(len(counts), dtype=np.int64)
    # numbered as itertools.product lists the groups: the last column runs fastest
    for axis in question.by:
        cell = cell * len(axis.labels(table.declared)) + axis.codes(table)
    return values, np.where(counts, cell, cells)


def _make_statistic(statistic: Statistic | None) -> Statistic:
    if statistic is None:
        raise InternalError("a quantile is selected, not summed")
    return statistic
