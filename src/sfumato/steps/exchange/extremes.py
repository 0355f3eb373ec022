"""The lowest and highest values of a column, which swapping may leave out or group first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.core.numbers import as_column, numbers_of
from sfumato.steps.exchange.ranking import share_of
from sfumato.steps.exchange.scores import is_measured

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.steps.exchange.carriers import Carriers

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]


def ends_of(scores: Floats, bottom: float, top: float, stream: np.random.Generator) -> tuple[Codes, Codes]:
    """The carriers with the lowest and with the highest share of the known scores; chance decides between equals."""
    import numpy as np

    known = np.flatnonzero(~np.isnan(scores))
    low, high = share_of(bottom, len(known)), share_of(top, len(known))
    if not low and not high:
        return known[:0], known[:0]
    mixed = stream.permutation(known)
    order = mixed[np.argsort(scores[mixed], kind="stable")]
    return order[:low], order[len(order) - high :]


def grouped(dataset: Dataset, name: str, scores: Floats, carriers: Carriers, ends: tuple[Codes, Codes]) -> pl.Series:
    """The column with either end replaced by one value: the mean of numbers, the lower median of anything else."""
    import numpy as np

    column = dataset.column(name)
    groups = [np.flatnonzero(_marked(carriers, end)) for end in ends if len(end)]
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


def _marked(carriers: Carriers, some: Codes) -> NDArray[np.bool_]:
    """Which rows belong to some carriers."""
    import numpy as np

    marked = np.zeros(len(carriers), dtype=np.bool_)
    marked[some] = True
    return marked[carriers.of]
