"""Means of a cost per cell: per column, per record and over all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.metric import Measure
from sfumato.utility.cells import Cells, cells_of
from sfumato.utility.suppressed import share_lost

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


def mean_cost(
    pair: Pair, shares: Mapping[str, float], cost: Callable[[Cells], NDArray[Any]]
) -> tuple[float, dict[str, float], NDArray[np.float64]]:
    """The mean cost of a cell over columns of given importance, per column and per released record.

    ``cost`` gives the cost, 0 to 1, of every distinct cell; a suppressed one costs 1 (:mod:`sfumato.utility.suppressed`).
    """
    import numpy as np

    columns: dict[str, float] = {}
    records = np.zeros(len(pair.rows))
    for name, share in shares.items():
        cells = cells_of(pair, name)
        if cells is None:
            columns[name] = share_lost(pair, float(len(pair.rows)))
            records += share
        else:
            costs = cost(cells)
            columns[name] = share_lost(pair, cells.total(costs))
            records += share * costs[cells.which]
    return sum(shares[name] * value for name, value in columns.items()), columns, records


def cell_measure(
    name: str, pair: Pair, shares: Mapping[str, float], cost: Callable[[Cells], NDArray[Any]], meaning: str
) -> Measure:
    """A mean cost of cells as a measure; its raw value is the same number."""
    value, columns, records = mean_cost(pair, shares, cost)
    return Measure(name, value, "lower", meaning, raw=value, per_column=columns, per_record=records)
