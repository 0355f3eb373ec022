"""Values that stand for all that are generalised alike, put into rows before steps see them.

A batch of a large table has nearly as many distinct values as rows where values hardly repeat: to look each of them up by its
label, again in every batch, takes most of a run. After the plan is known a value may as well be replaced by any other with the same label
at the level that is released; then few distinct ones are left, and all that follows is quick.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.classes import remap_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.hierarchy import Ladder

MANY_VALUES = 1 << 12
"""Columns with fewer values are looked up quickly enough as they are."""


def first_rows(codes: NDArray[np.integer], groups: int) -> NDArray[np.int64]:
    """The first row of each group; ``len(codes)`` where a group has none.

    >>> first_rows(np.array([1, 0, 1]), 3).tolist()
    [1, 0, 3]
    """
    first = np.full(groups, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


@dataclasses.dataclass(frozen=True, eq=False)
class Representatives:
    """For every value of a column the one that stands for it; what is not among ``values`` stands for itself.

    No value comes twice, and none is missing.
    """

    values: pl.Series
    stand: pl.Series

    @classmethod
    def of(cls, values: pl.Series, groups: NDArray[np.integer]) -> Representatives:
        """Values of which those of one group stand for each other; the first of each is taken."""
        first = first_rows(groups, int(groups.max(initial=-1)) + 1)
        frame = pl.DataFrame({"value": values, "stand": values.gather(first[groups])}).drop_nulls()
        if values.dtype.is_float():
            frame = frame.filter(frame["value"].is_not_nan())
        if _is_ordered(values.dtype):
            frame = frame.sort("value")
        frame = frame.unique("value", keep="first", maintain_order=True)
        return cls(frame["value"], frame["stand"])

    def put_into(self, column: pl.Series) -> pl.Series:
        """A column with the values that stand for its own."""
        if column.dtype != self.values.dtype or not len(self.values):
            return column
        known = self._places(column)
        stand = self.stand.gather(known).alias(column.name)
        if known.null_count() == 0:
            return stand
        return stand.zip_with(known.is_not_null(), column)

    def _places(self, column: pl.Series) -> pl.Series:
        """Where each cell is among the values; missing where it is not."""
        if column.dtype == pl.String:
            return column.cast(self._labels, strict=False).to_physical().cast(pl.UInt32)
        if not _is_ordered(column.dtype):
            known = pl.DataFrame({"value": self.values}).with_row_index("place")
            return pl.DataFrame({"value": column}).join(known, on="value", how="left", maintain_order="left")["place"]
        there = column.is_not_null()
        cells = column.to_physical()
        present = (cells.filter(there) if column.null_count() else cells).to_numpy()
        # values in order are looked up many times as quickly as in the order of the rows
        distinct, which = np.unique(present, return_inverse=True)
        places = np.minimum(np.searchsorted(self._sorted, distinct), len(self._sorted) - 1)
        found = pl.Series(places.astype(np.uint32))
        if (unknown := self._sorted[places] != distinct).any():
            found = found.zip_with(pl.Series(~unknown), pl.Series([None], dtype=pl.UInt32))
        among = found.gather(which)
        if not column.null_count():
            return among
        row = pl.Series(np.cumsum(there.to_numpy()) - 1).zip_with(there, pl.Series([None], dtype=pl.Int64))
        return among.gather(row)

    @functools.cached_property
    def _labels(self) -> pl.Enum:
        return pl.Enum(self.values)

    @functools.cached_property
    def _sorted(self) -> NDArray[np.generic]:
        return self.values.to_physical().to_numpy()


def _is_ordered(dtype: pl.DataType) -> bool:
    """Whether values are numbers for numpy."""
    return dtype.is_integer() or dtype.is_float() or dtype in (pl.Date, pl.Datetime, pl.Duration, pl.Time)


def representatives_in(
    dataset: Dataset, levels: Mapping[str, tuple[Ladder, int]]
) -> dict[str, tuple[Representatives, Ladder]]:
    """What stands for the values of columns that have many, when each is released at a level of its ladder; and the ladder of those alone."""
    found: dict[str, tuple[Representatives, Ladder]] = {}
    for name, (ladder, level) in levels.items():
        if level == 0 or name not in dataset.columns:
            continue
        encoded, dtype = dataset.encoded(name), dataset.dtype(name)
        count = len(encoded.labels)
        if count < MANY_VALUES or not (_is_ordered(dtype) or dtype == pl.String):
            continue
        groups = remap_to(ladder, encoded, level)
        first = first_rows(groups, len(ladder.labels[level]))
        standing = np.append(first[first < count], count - 1)  # the missing one, if there is one, is the last
        values = dataset.column(name).gather(first_rows(encoded.narrow, count))
        codes = np.unique(ladder.codes_of(encoded.labels)[standing])
        found[name] = Representatives.of(values, groups), _limited(ladder, codes)
    return found


def _limited(ladder: Ladder, codes: NDArray[np.int64]) -> Ladder:
    """A ladder of some of the values, in order; all levels above are as they were."""
    return dataclasses.replace(
        ladder,
        labels=(tuple(ladder.labels[0][code] for code in codes.tolist()), *ladder.labels[1:]),
        up=(ladder.up[0][codes], *ladder.up[1:]),
        leaves=(ladder.leaves[0][codes], *ladder.leaves[1:]),
        loss=(ladder.loss[0][codes], *ladder.loss[1:]),
    )
