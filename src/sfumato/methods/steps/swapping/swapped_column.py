"""Rank swapping of one column: what is sorted, what may move, what comes out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.core.encoding import as_column, numbers_of
from sfumato.core.step import Goal
from sfumato.methods.steps.swapping.carriers import Carriers, carriers_of
from sfumato.methods.steps.swapping.ordered_scores import is_measured, scores_of
from sfumato.methods.steps.swapping.rank_partners import Ranking, Variant, share_of
from sfumato.methods.steps.swapping.record_groups import strata_apart

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Extremes = Literal["exclude", "group"]


def ends_of(
    scores: Floats, bottom: float, top: float, stream: np.random.Generator
) -> tuple[Codes, Codes]:
    """The carriers with the lowest and with the highest share of the known scores; chance decides
    between equals.
    """
    present = np.flatnonzero(~np.isnan(scores))
    low = share_of(bottom, len(present))
    high = share_of(top, len(present))
    if not low and not high:
        return present[:0], present[:0]
    # Mixed before a stable sort: which of several equal values is at the end is chance.
    mixed = stream.permutation(present)
    order = mixed[np.argsort(scores[mixed], kind="stable")]
    return order[:low], order[len(order) - high :]


def group_ends(
    dataset: Table, name: str, scores: Floats, carriers: Carriers, ends: tuple[Codes, Codes]
) -> pl.Series:
    """The column with either end replaced by one value: the mean of numbers, the lower median of
    anything else.
    """
    column = dataset.column(name)
    groups = [np.flatnonzero(_mark_rows(carriers, end)) for end in ends if len(end)]
    if is_measured(dataset, name):
        values = numbers_of(dataset, name)
        for rows in groups:
            values[rows] = math.fsum(values[rows]) / len(rows)  # exact, whatever the order of rows
        return as_column(name, values, column)
    sources = np.arange(len(column))
    row_scores = scores[carriers.of]
    for rows in groups:
        by_score = rows[np.argsort(row_scores[rows], kind="stable")]
        sources[rows] = by_score[(len(rows) - 1) // 2]
    return column.gather(sources)


def _mark_rows(carriers: Carriers, carrier_numbers: Codes) -> NDArray[np.bool_]:
    """Which rows belong to some carriers."""
    marked = np.zeros(len(carriers), dtype=np.bool_)
    marked[carrier_numbers] = True
    return marked[carriers.of]


# Rank swapping of one column: what is sorted, what may move, what comes out.


@dataclasses.dataclass(frozen=True, eq=False)
class SwappedColumn:
    """A column ready to be swapped: its values, their scores per row, who may exchange them, how
    many were grouped.
    """

    name: str
    column: pl.Series
    scores: Floats
    carriers: Carriers
    ranking: Ranking
    grouped: int

    def sources(self, partner: Codes) -> Codes:
        """Per row the row whose value it gets."""
        return self.carriers.sources(self.ranking.order, partner)


@dataclasses.dataclass(frozen=True)
class RankSwapping:
    """How columns are prepared for rank swapping."""

    variant: Variant
    bottom: float
    top: float
    extremes: Extremes
    within: Sequence[str] | None

    def prepare(self, dataset: Table, name: str, goal: Goal) -> SwappedColumn:
        """Sort a column and draw the random numbers of its swap."""
        scores = scores_of(dataset, name)
        strata, _ = strata_apart(dataset, self.within, [name])
        carriers = carriers_of(dataset, [name], strata)
        stream = goal.stream(f"rank swap {name}")
        column = dataset.column(name)
        own = scores[carriers.rows]
        ends = ends_of(own, self.bottom, self.top, stream)
        together = np.concatenate(ends)
        # Grouped ends take part in the swap with their new value.
        if len(together) and self.extremes == "group":
            column = group_ends(dataset, name, own, carriers, ends)
            scores = scores_of(dataset.with_columns({name: column}), name)
            own = scores[carriers.rows]
        movable = ~np.isnan(own)
        if self.extremes == "exclude":
            movable[together] = False
        rows = np.flatnonzero(movable)
        ranking = Ranking.of(own, strata[carriers.rows], rows, self.variant, stream)
        grouped_count = len(together) if self.extremes == "group" else 0
        return SwappedColumn(
            name, column, scores=scores, carriers=carriers, ranking=ranking, grouped=grouped_count
        )
