"""Values that stand for all that are generalised alike, put into rows before steps see them.

A batch of a large table has nearly as many distinct values as rows where values hardly repeat: to
look each of them up by its label, again in every batch, takes most of a run. After the plan is
known a value may as well be replaced by any other with the same label at the level that is
released; then few distinct ones are left, and all that follows is quick.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.classes import remap_to
from sfumato.core.encoding import Encoded, encode, relabelled
from sfumato.kernels.keys import map_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Ladder
    from sfumato.core.table import Table

MANY_VALUES = 1 << 12
"""Columns with fewer values are looked up quickly enough as they are."""


def first_rows(codes: NDArray[np.integer], groups: int) -> NDArray[np.int64]:
    """The first row of each group; ``len(codes)`` where a group has none.

    >>> first_rows(np.array([1, 0, 1]), 3).tolist()
    [1, 0, 3]
    """
    first = np.full(groups, len(codes), dtype=np.int64)
    # Written from the last row to the first, so that the first row of each group stays.
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


class Representatives(abc.ABC):
    """For every value of a column the one that stands for it; what is not known stands for itself.

    ``stand`` has each of those that stand for others once.
    """

    stand: pl.Series

    @staticmethod
    def of(values: pl.Series, groups: NDArray[np.integer]) -> Representatives:
        """Values of which those of one group stand for each other; the first of each that is there
        is taken.
        """
        present = values.is_not_null()
        if values.dtype.is_float():
            present &= values.is_not_nan().fill_null(False)
        if not present.all():
            values, groups = values.filter(present), groups[present.to_numpy()]
        # Groups get numbers from 0 without gaps: labels of the level that no value has are skipped.
        _, which = np.unique(groups, return_inverse=True)
        first = first_rows(which, int(which.max(initial=-1)) + 1)
        ranges = _ranges(values, which) if _is_ordered(values.dtype) else None
        if ranges is not None:
            order, starts, ends = ranges
            return RangedRepresentatives(values.gather(first[order]), starts, ends)
        frame = pl.DataFrame({"value": values, "which": which.astype(np.uint32)})
        if _is_ordered(values.dtype):
            frame = frame.sort("value")
        # Lookups by search and by Enum need each value once.
        frame = frame.unique("value", keep="first", maintain_order=True)
        return ListedRepresentatives(
            values.gather(first), frame["value"], frame["which"].to_numpy()
        )

    @abc.abstractmethod
    def places(self, column: pl.Series) -> pl.Series:
        """Of every cell the place of what stands for it in ``stand``; missing where nothing
        does.
        """

    def replaced(self, column: pl.Series) -> tuple[pl.Series, Encoded | None]:
        """A column with the values that stand for its own; and its encoding where that follows from
        them.
        """
        if column.dtype != self.stand.dtype or not len(self.stand):
            return column, None
        stand_codes = self.places(column)
        stand = self.stand.gather(stand_codes).alias(column.name)
        # A value that is not known stands for itself, so the encoding does not follow from the
        # stand-ins.
        if stand_codes.null_count():
            return stand.zip_with(stand_codes.is_not_null(), column), None
        codes = map_codes(stand_codes.to_numpy(), self._encoded.narrow)
        return stand, relabelled(codes, self._encoded.labels)

    def put_into(self, column: pl.Series) -> pl.Series:
        """A column with the values that stand for its own."""
        return self.replaced(column)[0]

    @functools.cached_property
    def _encoded(self) -> Encoded:
        return encode(self.stand)


@dataclasses.dataclass(frozen=True, eq=False)
class ListedRepresentatives(Representatives):
    """Every value by itself, with the place of what stands for it. No value comes twice, and none
    is missing.
    """

    stand: pl.Series
    values: pl.Series
    which: NDArray[np.uint32]

    def places(self, column: pl.Series) -> pl.Series:
        """Looked up among all values."""
        value_codes = self._value_codes(column)
        if value_codes.null_count() == 0:
            return pl.Series(map_codes(value_codes.to_numpy(), self.which))
        return pl.Series(self.which).gather(value_codes)

    def _value_codes(self, column: pl.Series) -> pl.Series:
        """Where each cell is among the values; missing where it is not."""
        if column.dtype == pl.String:
            return column.cast(self._labels, strict=False).to_physical().cast(pl.UInt32)
        if not _is_ordered(column.dtype):
            value_table = pl.DataFrame({"value": self.values}).with_row_index("place")
            return pl.DataFrame({"value": column}).join(
                value_table, on="value", how="left", maintain_order="left"
            )["place"]
        is_present = column.is_not_null()
        cells = column.to_physical()
        present = (cells.filter(is_present) if column.null_count() else cells).to_numpy()
        # values in order are looked up many times as quickly as in the order of the rows
        distinct, which = np.unique(present, return_inverse=True)
        positions = np.minimum(np.searchsorted(self._sorted, distinct), len(self._sorted) - 1)
        value_numbers = pl.Series(positions.astype(np.uint32))
        if (unknown := self._sorted[positions] != distinct).any():
            value_numbers = value_numbers.zip_with(
                pl.Series(~unknown), pl.Series([None], dtype=pl.UInt32)
            )
        among = value_numbers.gather(which)
        if not column.null_count():
            return among
        # Place among the cells that are present: present, missing, present → 0, –, 1.
        row = pl.Series(np.cumsum(is_present.to_numpy()) - 1).zip_with(
            is_present, pl.Series([None], dtype=pl.Int64)
        )
        return among.gather(row)

    @functools.cached_property
    def _labels(self) -> pl.Enum:
        return pl.Enum(self.values)

    @functools.cached_property
    def _sorted(self) -> NDArray[np.generic]:
        return self.values.to_physical().to_numpy()


@dataclasses.dataclass(frozen=True, eq=False)
class RangedRepresentatives(Representatives):
    """Ranges of numbers or times that do not overlap, in order: what lies from a start to an end
    has one that stands for it.

    Millions of values make a few hundred ranges where a hierarchy cuts numbers into intervals.
    """

    stand: pl.Series
    starts: NDArray[np.generic]
    ends: NDArray[np.generic]

    def places(self, column: pl.Series) -> pl.Series:
        """The last range that does not start behind a cell, if it does not end before it."""
        missing = column.null_count()
        physical = column.to_physical()
        # Missing cells get any number here and are masked below.
        cells = (physical.fill_null(0) if missing else physical).to_numpy()
        behind = np.searchsorted(self.starts, cells, side="right")
        range_numbers = np.maximum(behind - 1, 0).astype(np.uint32)
        # what is no number is in no range
        within = (behind > 0) & (cells <= self.ends[range_numbers])
        if missing:
            within &= column.is_not_null().to_numpy()
        every_place = pl.Series(range_numbers)
        if within.all():
            return every_place
        return every_place.zip_with(pl.Series(within), pl.Series([None], dtype=pl.UInt32))


VALUES_A_RANGE = 8
"""Ranges are looked up where they have so many values on average."""


def _ranges(
    values: pl.Series, which: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.generic], NDArray[np.generic]] | None:
    """The groups in the order of their values, and the least and the greatest value of each; None
    where they overlap.
    """
    groups = int(which.max(initial=-1)) + 1
    if groups * VALUES_A_RANGE > len(values):
        return None
    frame = pl.DataFrame({"which": which, "value": values.to_physical()})
    ends = frame.group_by("which").agg(
        pl.col("value").min().alias("start"), pl.col("value").max().alias("end")
    )
    ends = ends.sort("start")
    starts, lasts = ends["start"].to_numpy(), ends["end"].to_numpy()
    # Ranges that overlap would put one value into two groups.
    if (lasts[:-1] >= starts[1:]).any():
        return None
    return ends["which"].to_numpy(), starts, lasts


def represented(rows: Table, representatives: Mapping[str, Representatives]) -> Table:
    """Rows with the values that stand for theirs in some columns, which are encoded at once."""
    columns, codes = dict[str, pl.Series](), dict[str, Encoded]()
    for name, stands in representatives.items():
        columns[name], encoded = stands.replaced(rows.column(name))
        if encoded is not None:
            codes[name] = encoded
    changed = rows.with_columns(columns)
    changed.known.codes.update(codes)
    return changed


def _is_ordered(dtype: pl.DataType) -> bool:
    """Whether values are numbers for numpy."""
    return (
        dtype.is_integer()
        or dtype.is_float()
        or dtype in (pl.Date, pl.Datetime, pl.Duration, pl.Time)
    )


def representatives_in(
    dataset: Table, levels: Mapping[str, tuple[Ladder, int]]
) -> dict[str, tuple[Representatives, Ladder]]:
    """What stands for the values of columns that have many, when each is released at a level of its
    ladder; and the ladder of those alone.
    """
    stand_ins: dict[str, tuple[Representatives, Ladder]] = {}
    for name, (ladder, level) in levels.items():
        # At level 0 every value is released as it is, and none can stand for another.
        if level == 0 or name not in dataset.columns:
            continue
        encoded, dtype = dataset.encoded(name), dataset.dtype(name)
        count = len(encoded.labels)
        if count < MANY_VALUES or not (_is_ordered(dtype) or dtype == pl.String):
            continue
        groups = remap_to(ladder, encoded, level)
        first = first_rows(groups, len(ladder.labels[level]))
        standing = np.append(
            first[first < count], count - 1
        )  # the missing one, if there is one, is the last
        values = dataset.column(name).gather(first_rows(encoded.narrow, count))
        codes = np.unique(ladder.codes_of(encoded.labels)[standing])
        stand_ins[name] = Representatives.of(values, groups), limited(ladder, codes)
    return stand_ins


def limited(ladder: Ladder, codes: NDArray[np.int64]) -> Ladder:
    """A ladder of some of the values, in order; all levels above are as they were."""
    return dataclasses.replace(
        ladder,
        bound=None,
        labels=(tuple(ladder.labels[0][code] for code in codes.tolist()), *ladder.labels[1:]),
        up=(ladder.up[0][codes], *ladder.up[1:]),
        leaves=(ladder.leaves[0][codes], *ladder.leaves[1:]),
        loss=(ladder.loss[0][codes], *ladder.loss[1:]),
    )
