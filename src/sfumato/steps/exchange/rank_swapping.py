"""Rank swapping of one column: what is sorted, what may move, what comes out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from sfumato.steps.exchange.carriers import Carriers, carriers_of
from sfumato.steps.exchange.extremes import ends_of, grouped
from sfumato.steps.exchange.groups import strata_apart
from sfumato.steps.exchange.ranking import Ranking, Variant
from sfumato.steps.exchange.scores import scores_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.step import Goal

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

Extremes = Literal["exclude", "group"]


@dataclasses.dataclass(frozen=True, eq=False)
class SwappedColumn:
    """A column ready to be swapped: its values, their scores per row, who may exchange them, how many were grouped."""

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

    def prepare(self, dataset: Dataset, name: str, goal: Goal) -> SwappedColumn:
        """Sort a column and draw the random numbers of its swap."""
        import numpy as np

        scores = scores_of(dataset, name)
        strata, _ = strata_apart(dataset, self.within, [name])
        carriers = carriers_of(dataset, [name], strata)
        stream = goal.stream(f"rank swap {name}")
        column, own = dataset.column(name), scores[carriers.rows]
        ends = ends_of(own, self.bottom, self.top, stream)
        together = np.concatenate(ends)
        if len(together) and self.extremes == "group":
            column = grouped(dataset, name, own, carriers, ends)
            scores = scores_of(dataset.with_columns({name: column}), name)
            own = scores[carriers.rows]
        movable = ~np.isnan(own)
        if self.extremes == "exclude":
            movable[together] = False
        ranking = Ranking.of(own, strata[carriers.rows], np.flatnonzero(movable), self.variant, stream)
        return SwappedColumn(name, column, scores, carriers, ranking, len(together) * (self.extremes == "group"))
