"""Means of a cost per cell: per column, per record and over all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.classes import Layout
from sfumato.core.metric import Measure
from sfumato.utility.cells import Cells, cells_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import Pair


# One rule for what was suppressed, the same in every metric: **a suppressed record has every cell at the top.**
#
# So a record of which nothing was released, a released ``*``, a blank where there was a value, and every cell of a column
# that was not released at all cost the same: all that a cell can cost. Three consequences are kept everywhere:
#
# * averages are over all original records, not over those that were kept;
# * where a single number must stand for a suppressed cell, it is the mean of the original column: the best guess of someone
#   who knows nothing about the record;
# * normalised losses are shares of what suppressing everything would cost: the identity scores 0, and a release without
#   records scores 1.
#
# Metrics of what an analyst computes from the file (moments, propensity, regression, prediction) see the records that are in
# it; there, too, a file without records scores 1.


def records_of(pair: Pair) -> int:
    """Records that averages are over: the released ones and those of which nothing was released."""
    return len(pair.rows) + max(0, pair.suppressed)


def suppressed_of(pair: Pair) -> int:
    """Records of which nothing was released."""
    return max(0, pair.suppressed)


def gone(pair: Pair) -> NDArray[np.bool_]:
    """Per original record, whether nothing of it was released."""
    found = np.ones(len(pair.original), dtype=bool)
    found[pair.rows] = False
    return found


def share_lost(pair: Pair, released: float, *, most: float = 1.0) -> float:
    """The mean over all records when the released ones cost ``released`` together and every other one ``most``.

    Without any record nothing can be lost.
    """
    records = records_of(pair)
    return (released + suppressed_of(pair) * most) / records if records else 0.0


def normalised(raw: float, most: float, pair: Pair, *, least: float = 0.0) -> float:
    """A raw loss as a share of the way from ``least`` to ``most``, which is what suppressing everything costs.

    Where these are equal nothing could be lost, except everything: then the release without records alone scores 1.
    """
    if not len(pair.rows):
        return 1.0 if records_of(pair) else 0.0
    if not most > least:
        return 0.0
    return min(1.0, max(0.0, (raw - least) / (most - least)))


def mean_cost(
    pair: Pair, shares: Mapping[str, float], cost: Callable[[Cells], NDArray[Any]]
) -> tuple[float, dict[str, float], NDArray[np.float64]]:
    """The mean cost of a cell over columns of given importance, per column and per released record.

    ``cost`` gives the cost, 0 to 1, of every distinct cell; a suppressed one costs 1 (:mod:`sfumato.utility.averaging`).
    """
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


# The equivalence classes of both sides of a pair, by some of their columns.

Side = Literal["original", "released"]


def classes_of(
    pair: Pair, columns: Sequence[str], side: Side
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Per row its class, per class a row that is in it, and its number of records; worked out once.

    Missing is a value like any other. A column that was not released divides nothing.
    """
    names = tuple(name for name in columns if name in pair.released.columns or side == "original")
    if ("classes", names, side) not in pair.memo:
        pair.memo["classes", names, side] = _classes(pair, names, side)
    found: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] = pair.memo["classes", names, side]
    return found


def class_sizes(pair: Pair, columns: Sequence[str], side: Side) -> NDArray[np.int64]:
    """Records per class."""
    return classes_of(pair, columns, side)[2]


def codes_of(pair: Pair, name: str, side: Side) -> tuple[NDArray[np.int64], int]:
    """The codes of a column on one side, and how many there are."""
    if name not in pair.released.columns:
        encoded = pair.original.encoded(name)
        return encoded.codes, len(encoded.labels)
    reading = pair.reading(name)
    if side == "original":
        return reading.original, len(reading.values)
    return reading.released, len(reading.labels)


def _classes(
    pair: Pair, names: Sequence[str], side: Side
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    rows = len(pair.original) if side == "original" else len(pair.released)
    columns = [codes_of(pair, name, side) for name in names]
    layout = Layout.of([max(1, size) for _, size in columns])
    keys = np.zeros((rows, layout.length), dtype=np.uint64)
    for a, (codes, _) in enumerate(columns):
        kernels.keys.pack(keys, np.asarray(codes, dtype=np.int64), layout.words[a], layout.shifts[a])
    ids, first = kernels.keys.group(keys)
    return ids, first, np.bincount(ids, minlength=len(first))
