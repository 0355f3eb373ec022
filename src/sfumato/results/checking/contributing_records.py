"""The records behind an output: which of them are in each cell, whose they are, and what they
contribute.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.core.table import Table, as_table
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.tables.cells import MISSING, TableCells
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Codes, Floats, Mask

TOTALS = ("All", "Total", "total", "all", "(total)")
"""What people call the sum over a column, where the column has no such value itself."""
EVERYTHING, UNKNOWN = -1, -2
"""Codes of a label of the output: the total over a column, or no label of the data."""


@dataclasses.dataclass(frozen=True, eq=False)
class ContributingRecords:
    """The records that an output was computed from, and who they belong to. Persons are counted,
    never rows or weights.
    """

    dataset: Table
    unit: str | None = None
    weight: str | None = None

    @classmethod
    def of(
        cls,
        data: object,
        *,
        unit: str | None = None,
        weight: str | None = None,
        where: object = None,
    ) -> ContributingRecords:
        """Records from a frame; ``where`` selects some of them: a polars expression, or true and
        false per row.
        """
        dataset = as_table(data)
        person = unit or dataset.schema.person
        dataset.require([name for name in (person, weight) if name is not None])
        if where is not None:
            dataset = as_table(dataset.to_polars().filter(row_mask(dataset, where)))
        return cls(dataset, person, weight)

    def __len__(self) -> int:
        return len(self.dataset)

    @cached_property
    def person_ids(self) -> Codes:
        """Per row the number of its person."""
        if self.unit is None:
            return np.arange(len(self), dtype=np.int64)
        encoded = self.dataset.encoded(self.unit)
        # Rows without a person would count as one person, or as many: both counts are wrong.
        if None in encoded.labels:
            raise SchemaError(
                f"column {self.unit!r} identifies persons and is missing in some rows; fill it in "
                "first"
            )
        return encoded.codes

    @property
    def person_bound(self) -> int:
        """One more than the largest number of a person; at least one."""
        return int(self.person_ids.max(initial=0)) + 1

    @cached_property
    def persons(self) -> int:
        """How many persons there are."""
        return count_persons(self.person_ids)

    def numbers(self, name: str) -> Floats:
        """A column of numbers, or of true and false; NaN where it is missing."""
        if not self.is_numeric(name):
            raise SchemaError(f"column {name!r} holds no numbers")
        column = self.dataset.column(name).cast(pl.Float64)
        values: Floats = column.fill_null(float("nan")).to_numpy().copy()
        if np.isinf(values).any():
            raise SchemaError(f"column {name!r} holds infinite numbers; make them missing first")
        return values

    def ordered(self, name: str) -> Floats:
        """A column as numbers in its order: of text, the rank of every label; NaN where it is
        missing.
        """
        if self.is_numeric(name):
            return self.numbers(name)
        # Text has no numbers; for the least, the largest and the commonest value the order is
        # enough.
        encoded = self.dataset.encoded(name)
        ranks = label_ranks(encoded.labels)
        return np.array([ranks.get(label, np.nan) for label in encoded.labels])[encoded.codes]

    def has_value(self, name: str) -> Mask:
        """Per row whether a column has a value; NaN is missing."""
        column = self.dataset.column(name)
        missing = column.is_null()
        if column.dtype.is_float():
            missing |= column.is_nan().fill_null(value=True)
        present: Mask = ~missing.to_numpy()
        return present

    @cached_property
    def weights(self) -> Floats:
        """Per row its weight; one where there are none."""
        if self.weight is None:
            return np.ones(len(self))
        weights = self.numbers(self.weight)
        if np.isnan(weights).any() or (weights < 0).any():
            raise SchemaError(
                f"the weight {self.weight!r} is missing or negative in some rows; correct it first"
            )
        return weights

    def is_numeric(self, name: str) -> bool:
        """Whether a column can be summed."""
        dtype = self.dataset.dtype(name)
        return bool(dtype.is_numeric() or dtype == pl.Boolean)

    def is_finite(self, name: str) -> bool:
        """Whether a column can be summed and holds no infinite number."""
        if not self.is_numeric(name):
            return False
        column = self.dataset.column(name)
        return not (column.dtype.is_float() and bool(column.is_infinite().any()))

    def is_binary(self, name: str) -> bool:
        """Whether a column of numbers holds zeros and ones only."""
        values = self.numbers(name)
        return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())

    def contains_label(self, words: Sequence[str]) -> bool:
        """Whether one of some words is a value of a column of text."""
        for name in self.dataset.columns:
            if not self.is_numeric(name) and set(words) & self.labels(name):
                return True
        return False

    def labels(self, name: str) -> set[str]:
        """The labels of a column, as tables show them."""
        labels = set(self.dataset.encoded(name).labels)
        if None in labels:
            labels.add(MISSING)
        return {label for label in labels if label is not None}

    def group_codes(self, names: Sequence[str]) -> Codes:
        """Per row a number of its combination of values; zero for all without columns."""
        groups = np.zeros(len(self), dtype=np.int64)
        for name in names:
            codes = self.dataset.encoded(name).codes
            # A number in mixed radix: one digit per column, so different combinations never meet.
            groups = groups * (int(codes.max(initial=0)) + 1) + codes
        return groups


def label_ranks(labels: Sequence[str | None]) -> dict[str | None, float]:
    """The rank of every label among all in their order; a missing one has none."""
    ordered = sorted(label for label in labels if label is not None)
    return {label: float(rank) for rank, label in enumerate(ordered)}


def count_persons(person_ids: Codes) -> int:
    """How many different persons there are; marking them is faster than sorting.

    >>> count_persons(np.array([3, 0, 3]))
    2
    """
    bound = int(person_ids.max(initial=-1)) + 1
    # Few of many persons: an array of all would cost more than sorting the few.
    if bound > 16 * len(person_ids):
        return len(distinct(person_ids))
    present = np.zeros(bound, dtype=bool)
    present[person_ids] = True
    return int(present.sum())


def distinct(keys: Codes) -> Codes:
    """The different numbers among some, rising."""
    ordered = np.sort(keys)
    # The first of every run of equal numbers; the slice is for no numbers at all.
    first: Mask = np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)]
    values: Codes = ordered[first]
    return values


def row_mask(dataset: Table, where: object) -> pl.Series:
    """Per row whether a condition selects it; refused where it does not say yes or no of each."""
    if isinstance(where, pl.Expr):
        try:
            mask = dataset.to_polars().select(where.alias("chosen"))["chosen"]
        except pl.exceptions.PolarsError:
            raise ParameterError(
                "where: the condition does not match the columns of the data"
            ) from None
    else:
        try:
            mask = pl.Series("chosen", np.asarray(where))
        except Exception:  # noqa: BLE001 - of whatever class it is
            raise ParameterError(
                "where is a polars expression, or a list of true and false per row"
            ) from None
    if mask.dtype != pl.Boolean or len(mask) != len(dataset):
        raise ParameterError("where must be true or false for each row of the data")
    return mask.fill_null(value=False)


@dataclasses.dataclass(frozen=True, eq=False)
class CellMembers:
    """Which row of the data is in which cell of the output, as pairs of ``row`` and ``cell``; with
    margins a row is in several cells.

    ``in_data`` is false for cells whose labels the data do not have. ``absent`` is the number of
    combinations that the output leaves out: without anybody in them, and with somebody.
    """

    row: Codes
    cell: Codes
    size: int
    in_data: Mask
    total: Mask
    absent: tuple[int, int] = (0, 0)
    missing_labels: tuple[int, ...] = ()
    """Per column that makes cells, how many labels of the data the output does not show."""
    margins: tuple[Mask, ...] = ()
    """Per column that makes cells, which of them are over all of its values."""

    @classmethod
    def of_cells(cls, cell: Codes, size: int) -> CellMembers:
        """Every row in one cell, and no cell a margin."""
        return cls(
            np.arange(len(cell)),
            cell,
            size,
            in_data=np.ones(size, dtype=bool),
            total=np.zeros(size, dtype=bool),
        )

    def rows_by_cell(self) -> list[Codes]:
        """The rows of every cell."""
        # One sort instead of a search per cell.
        order = np.argsort(self.cell, kind="stable")
        starts = np.searchsorted(self.cell[order], np.arange(1, self.size))
        return np.split(self.row[order], starts)

    def persons(self, records: ContributingRecords, having: Mask | None = None) -> Codes:
        """Persons per cell, each once; ``having`` says which rows of the data count."""
        cell, person_ids = self.cell, records.person_ids[self.row]
        if having is not None:
            included = having[self.row]
            cell, person_ids = cell[included], person_ids[included]
        if records.unit is not None:
            # A pair (cell, person) as one number; each pair once, then back to its cell.
            cell = distinct(cell * records.person_bound + person_ids) // records.person_bound
        return np.bincount(cell, minlength=self.size)

    def contributions(self, records: ContributingRecords, amount: Floats, depth: int) -> TableCells:
        """The cells as rules look at them: the rows of a person in a cell are one contribution;
        missing ones are none.
        """
        # Only amounts that are known: a missing one is no contribution of zero.
        present = ~np.isnan(amount[self.row])
        rows = self.row[present]
        frame = pl.DataFrame(
            {"cell": self.cell[present], "person": records.person_ids[rows], "x": amount[rows]}
        )
        if records.unit is not None:
            frame = frame.group_by("cell", "person").agg(pl.col("x").sum())
        size = pl.col("x").abs()
        sums = frame.group_by("cell").agg(
            pl.len().alias("n"),
            pl.col("x").sum().alias("value"),
            size.sum().alias("size"),
            size.min().alias("least"),
            # Rules look at the few largest contributions only.
            size.top_k(depth).alias("top"),
        )
        cells = sums["cell"].to_numpy()

        def per_cell(name: str) -> Floats:
            values = np.zeros(self.size)
            values[cells] = sums[name].to_numpy()
            return values

        top = np.zeros((self.size, depth))
        for cell, largest in zip(cells.tolist(), sums["top"].to_list(), strict=True):
            top[cell, : len(largest)] = sorted(largest, reverse=True)
        return TableCells(
            (),
            per_cell("n").astype(np.int64),
            per_cell("value"),
            per_cell("size"),
            top,
            per_cell("least"),
            np.full(self.size, NOBODY, dtype=np.int64),
            counted=False,
        )


def find_members(
    frame: pl.DataFrame, by: Sequence[str], records: ContributingRecords
) -> CellMembers:
    """Find the records of every row of a table; without columns all records are in its only row."""
    size = frame.height
    if not by and size > 1:
        raise SchemaError(
            f"the output has {size:,} rows and no column that distinguishes them; name it in by="
        )
    if not by:
        members = np.zeros(len(records) if size else 0, dtype=np.int64)
        return CellMembers.of_cells(members, size)
    encoded = [_match_labels(frame[name], records, name) for name in by]
    labels = np.stack([codes for codes, _ in encoded])
    data = np.stack([records.dataset.encoded(name).codes for name in by])
    sizes = [count for _, count in encoded]
    # A total is a label as well as those of the data; anything else is in no cell.
    in_data: Mask = np.all(labels > UNKNOWN, axis=0)
    margins = labels == EVERYTHING
    total: Mask = np.any(margins, axis=0)
    rows, cells = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    # Cells with a total in the same columns are matched together, by the other columns.
    for pattern in np.unique(margins[:, in_data], axis=1).T:
        alike = np.flatnonzero(in_data & (margins == pattern[:, None]).all(axis=0))
        keys = _join_codes(labels[:, alike], ~pattern, sizes)
        if len(np.unique(keys)) < len(keys):
            raise SchemaError(
                f"several rows of the output have the same values of {', '.join(by)}; name all "
                "columns that distinguish rows in by="
            )
        row, position = _match_keys(_join_codes(data, ~pattern, sizes), keys)
        rows.append(row)
        cells.append(alike[position])
    missing_labels = []
    for data_codes, cell_codes in zip(data, labels, strict=True):
        missing_labels.append(len(np.setdiff1d(data_codes, cell_codes)))
    return CellMembers(
        np.concatenate(rows),
        np.concatenate(cells),
        size,
        in_data,
        total,
        _count_absent(labels[:, in_data & ~total], data, sizes),
        tuple(missing_labels),
        tuple(margins),
    )


def _match_labels(column: pl.Series, records: ContributingRecords, name: str) -> tuple[Codes, int]:
    """Per row of the output the code that its label has in the data, and how many codes there
    are.
    """
    labels = records.dataset.encoded(name).labels
    codes: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
    for total in TOTALS:
        # A value of the data that is called "All" keeps its own code and is no total.
        codes.setdefault(total, EVERYTHING)
    if None in codes:
        codes.setdefault(MISSING, codes[None])
    encoded = encode(column)
    matched = [codes.get(label, UNKNOWN - 1) for label in encoded.labels]
    return np.array(matched, dtype=np.int64)[encoded.codes], len(labels)


def _join_codes(codes: Codes, used: Mask, sizes: Sequence[int]) -> Codes:
    """The codes of several columns as one number."""
    # Numbers up to 2**62 cannot overflow an array of 64 bits.
    if np.prod(np.array(sizes, dtype=float)) > 2**62:
        raise ParameterError(
            "the table has too many columns to distinguish its cells; leave some out"
        )
    key = np.zeros(codes.shape[1], dtype=np.int64)
    for column in np.flatnonzero(used).tolist():
        key = key * sizes[column] + codes[column]
    return key


def _match_keys(data: Codes, keys: Codes) -> tuple[Codes, Codes]:
    """The rows of the data whose key is among some, and its position there."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    order = np.argsort(keys)
    # searchsorted points one past the end for larger keys; the comparison after it rules these out.
    position = np.minimum(np.searchsorted(keys[order], data), len(keys) - 1)
    rows = np.flatnonzero(keys[order][position] == data)
    return rows, order[position[rows]]


def _count_absent(labels: Codes, data: Codes, sizes: Sequence[int]) -> tuple[int, int]:
    """Combinations of labels that the output leaves out: how many nobody has, and how many somebody
    has.

    Labels are those that the output shows: a table of two regions says nothing of a third one.
    """
    if labels.shape[0] < 2 or labels.shape[1] == 0:
        return 0, 0
    combinations = 1.0
    inside = np.ones(data.shape[1], dtype=bool)
    for data_codes, cell_codes in zip(data, labels, strict=True):
        values = np.unique(cell_codes)
        combinations *= len(values)
        # Only records whose labels the output shows in every column: others say nothing of its
        # gaps.
        inside &= np.isin(data_codes, values)
    every_column = np.ones(len(sizes), dtype=bool)
    cells = np.unique(_join_codes(labels, every_column, sizes))
    occupied = np.unique(_join_codes(data[:, inside], every_column, sizes))
    with_somebody = int((~np.isin(occupied, cells)).sum())
    return int(combinations) - len(cells) - with_somebody, with_somebody
