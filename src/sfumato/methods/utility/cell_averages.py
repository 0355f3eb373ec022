"""Means of a cost per cell: per column, per record and over all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.classes import Layout, remembered_classes, remembered_rows
from sfumato.core.encoding import Encoded, code_type, tallied
from sfumato.core.metric import Measure
from sfumato.methods.utility.cells import Cells, cells_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Ints = NDArray[np.int64]


# One rule for what was suppressed, the same in every metric: **a suppressed record has every cell
# at the top.**
#
# So a record of which nothing was released, a released ``*``, a blank where there was a value, and
# every cell of a column that was not released at all cost the same: all that a cell can cost. Three
# consequences are kept everywhere:
#
# * averages are over all original records, not over those that were kept;
# * where a single number must stand for a suppressed cell, it is the mean of the original column:
# the best guess of someone
#   who knows nothing about the record;
# * normalised losses are shares of what suppressing everything would cost: the identity scores 0,
# and a release without
#   records scores 1.
#
# Metrics of what an analyst computes from the file (moments, propensity, regression, prediction)
# see the records that are in it; there, too, a file without records scores 1.


Side = Literal["original", "released"]


def records_of(pair: TablePair) -> int:
    """Records that averages are over: the released ones and those of which nothing was released."""
    return pair.kept + max(0, pair.suppressed)


def suppressed_of(pair: TablePair) -> int:
    """Records of which nothing was released."""
    return max(0, pair.suppressed)


def gone(pair: TablePair) -> NDArray[np.bool_]:
    """Per original record, whether nothing of it was released; found once."""
    key = ("gone",)  # no text: readings are remembered by the names of columns
    if key not in pair.memo:
        is_gone = np.ones(len(pair.original), dtype=bool)
        is_gone[pair.rows] = False
        pair.memo[key] = is_gone
    lost: NDArray[np.bool_] = pair.memo[key]
    return lost


def share_lost(pair: TablePair, released: float, *, loss_of_suppressed: float = 1.0) -> float:
    """The mean over all records when the released ones cost ``released`` together and every other
    one ``loss_of_suppressed``.

    Without any record nothing can be lost.
    """
    records = records_of(pair)
    if not records:
        return 0.0
    return (released + suppressed_of(pair) * loss_of_suppressed) / records


def add_amounts(pair: TablePair, amounts: NDArray[np.float64], side: Side = "released") -> float:
    """The sum over the records of one side of an amount for every row."""
    copies = (pair.released if side == "released" else pair.original).copies
    return float(amounts.sum() if copies is None else (amounts * copies).sum())


def normalise(raw: float, highest: float, pair: TablePair, *, lowest: float = 0.0) -> float:
    """A raw loss as a share of the way from ``lowest`` to ``highest``, which is what suppressing
    everything costs.

    Where these are equal nothing could be lost, except everything: then the release without records
    alone scores 1.
    """
    if not len(pair.released):
        return 1.0 if records_of(pair) else 0.0
    if not highest > lowest:
        return 0.0
    return min(1.0, max(0.0, (raw - lowest) / (highest - lowest)))


def mean_cost(
    pair: TablePair, shares: Mapping[str, float], cost: Callable[[Cells], NDArray[Any]]
) -> tuple[float, dict[str, float]]:
    """The mean cost of a cell over columns of given importance, and per column.

    ``cost`` gives the cost, 0 to 1, of every distinct cell; a suppressed one costs 1
    (:mod:`sfumato.methods.utility.cell_averages`).
    """
    columns: dict[str, float] = {}
    for name in shares:
        cells = cells_of(pair, name)
        if cells is None:
            released = float(pair.kept)
        else:
            released = cells.total(cost(cells))
        columns[name] = share_lost(pair, released)
    return sum(shares[name] * value for name, value in columns.items()), columns


def record_costs(
    pair: TablePair, shares: Mapping[str, float], cost: Callable[[Cells], NDArray[Any]]
) -> NDArray[np.float64]:
    """The same per released record: what its cells cost together, each by the importance of its
    column.
    """
    records = np.zeros(len(pair.released))
    for name, share in shares.items():
        cells = cells_of(pair, name)
        if cells is None:
            records += share
        else:
            records += (share * cost(cells))[cells.which]
    return records


def cell_measure(
    name: str,
    pair: TablePair,
    shares: Mapping[str, float],
    cost: Callable[[Cells], NDArray[Any]],
    meaning: str,
) -> Measure:
    """A mean cost of cells as a measure; its raw value is the same number."""
    value, columns = mean_cost(pair, shares, cost)
    parts = partial(record_costs, pair, shares, cost)
    return Measure(name, value, "lower", meaning, raw=value, per_column=columns, parts=parts)


# The equivalence classes of both sides of a pair, by some of their columns.


@dataclasses.dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one side in the order in which they appear: a row that is in each (its first),
    and its number of records.

    ``inside`` is the class of every row, or of every class of the finer ones ``of``.
    """

    first: Ints
    sizes: Ints
    inside: NDArray[Any]
    of: Classes | None = None

    def __len__(self) -> int:
        return len(self.first)

    @property
    def ids(self) -> Ints:
        """The class of every row, worked out again at every call."""
        return self.rows.astype(np.int64)

    @property
    def rows(self) -> NDArray[Any]:
        """The same in the narrowest type."""
        if self.of is None:
            return self.inside
        return np.asarray(self.inside[self.of.inside])


def classes_of(
    pair: TablePair, columns: Sequence[str], side: Side, *, keep: bool = True
) -> Classes:
    """The classes of one side by some columns; worked out once, from those of all quasi-identifiers
    where that is possible.

    Missing is a value like any other. A column that was not released divides nothing. Classes that
    nobody else will ask for need not be kept.
    """
    names = tuple(name for name in columns if name in pair.released.columns or side == "original")
    classes: Classes | None = pair.memo.get(("classes", names, side))
    if classes is None:
        classes = _classes(pair, names, side)
        if keep:
            pair.memo["classes", names, side] = classes
    return classes


def class_sizes(pair: TablePair, columns: Sequence[str], side: Side) -> Ints:
    """Records per class, in any order: where the table was grouped before, no row is looked at."""
    cached = remembered_classes(pair.original if side == "original" else pair.released, columns)
    if cached is None:
        return classes_of(pair, columns, side).sizes
    return cached.records


def encoded_of(pair: TablePair, name: str, side: Side) -> Encoded:
    """A column on one side as codes; one that was not released as it was."""
    if name not in pair.released.columns:
        return pair.original.encoded(name)
    return pair.encoded(name)[side == "released"]


def _classes(pair: TablePair, names: tuple[str, ...], side: Side) -> Classes:
    if side == "original":
        finest = pair.original.schema.quasi
    else:
        finest = pair.quasi
    if names == finest or not set(names) <= set(finest):
        return _classes_of_rows(pair, names, side)
    fine = classes_of(pair, finest, side)
    ids, first = kernels.keys.group(_keys(pair, names, side, fine.first))
    sizes = np.bincount(ids, weights=fine.sizes, minlength=len(first)).astype(np.int64)
    return Classes(fine.first[first], sizes, _narrow(ids, len(first)), fine)


def _classes_of_rows(pair: TablePair, names: tuple[str, ...], side: Side) -> Classes:
    table = pair.original if side == "original" else pair.released
    remembered = remembered_rows(table, names)
    if remembered is None:
        ids, first = kernels.keys.group(_keys(pair, names, side, slice(None)))
        return Classes(first, tallied(ids, len(first), table.copies), _narrow(ids, len(first)))
    inside, groups = remembered
    begins = np.zeros(len(inside), dtype=np.bool_)  # rows that are the first of their class
    begins[kernels.keys.find_first_rows(inside, groups)] = True
    first = np.flatnonzero(begins)
    order = inside[first]
    rank = np.empty(groups, dtype=inside.dtype)
    rank[order] = np.arange(groups)
    return Classes(
        first, tallied(inside, groups, table.copies)[order], kernels.keys.map_codes(inside, rank)
    )


def _narrow(ids: Ints, groups: int) -> NDArray[Any]:
    return ids.astype(code_type(groups))


def _keys(
    pair: TablePair, names: Sequence[str], side: Side, rows: Ints | slice
) -> NDArray[np.uint64]:
    """Packed keys of some rows of one side."""
    columns = [encoded_of(pair, name, side) for name in names]
    layout = Layout.of([max(1, len(column.labels)) for column in columns])
    if side == "original":
        amount = len(pair.original)
    else:
        amount = len(pair.released)
    if isinstance(rows, slice):
        row_count = amount
    else:
        row_count = len(rows)
    keys = np.zeros((row_count, layout.length), dtype=np.uint64)
    for a, column in enumerate(columns):
        codes = column.narrow[rows].astype(np.int64)
        kernels.keys.pack(keys, codes, layout.words[a], layout.shifts[a])
    return keys
