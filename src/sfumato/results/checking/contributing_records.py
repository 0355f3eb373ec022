"""The records behind an output: which of them belong to each cell, whose they are, and what they
contribute.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.core.table import Table, as_table
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.tables.cells import MISSING, TableCells
from sfumato.results.tables.problem import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOTALS = ("All", "Total", "total", "all", "(total)")
"""What people call the sum over a column, where the column has no such value itself."""


@dataclasses.dataclass(frozen=True, eq=False)
class Behind:
    """The records that an output was computed from, and who they belong to. Persons are counted,
    never rows or weights.
    """

    dataset: Table
    unit: str | None = None
    weight: str | None = None

    @classmethod
    def of(
        cls, data: Any, *, unit: str | None = None, weight: str | None = None, where: Any = None
    ) -> Behind:
        """Records from a frame; ``where`` chooses some of them: a polars expression, or true and
        false per row.
        """
        dataset = as_table(data)
        person = unit or dataset.schema.person
        dataset.require([name for name in (person, weight) if name is not None])
        if where is not None:
            rows: Any = dataset.to_polars().filter(chosen(dataset, where))
            dataset = Table(rows)
        return cls(dataset, person, weight)

    def __len__(self) -> int:
        return len(self.dataset)

    @cached_property
    def who(self) -> NDArray[np.int64]:
        """Per row the number of its person."""
        if self.unit is None:
            return np.arange(len(self), dtype=np.int64)
        encoded = self.dataset.encoded(self.unit)
        codes = encoded.codes
        if (
            None in encoded.labels
        ):  # a row of nobody known is a person of its own: that counts too few of nothing
            raise SchemaError(
                f"column {self.unit!r} tells persons apart and is missing in some rows; fill it in"
                " first"
            )
        return codes

    @property
    def people(self) -> int:
        """One more than the largest number of a person; at least one."""
        return int(self.who.max(initial=0)) + 1

    @cached_property
    def persons(self) -> int:
        """How many persons there are."""
        return how_many(self.who)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers, or of true and false; NaN where it is missing."""
        dtype = self.dataset.dtype(name)
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            raise SchemaError(f"column {name!r} holds no numbers")
        values: NDArray[np.float64] = (
            self.dataset.column(name).cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
        )
        if np.isinf(values).any():
            raise SchemaError(f"column {name!r} holds infinite numbers; make them missing first")
        return values

    def ordered(self, name: str) -> NDArray[np.float64]:
        """A column as numbers in its order: of text, the place of every label among all of them;
        NaN where it is missing.
        """
        if self.is_numeric(name):
            return self.numbers(name)
        encoded = self.dataset.encoded(name)
        places = places_of(encoded.labels)
        return np.array([places.get(one, np.nan) for one in encoded.labels])[encoded.codes]

    def there(self, name: str) -> NDArray[np.bool_]:
        """Per row whether a column is known; a number that is none is missing."""
        column = self.dataset.column(name)
        missing = (
            column.is_null() | column.is_nan().fill_null(value=True)
            if column.dtype.is_float()
            else column.is_null()
        )
        present: NDArray[np.bool_] = ~missing.to_numpy()
        return present

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Per row its weight; one where there are none."""
        if self.weight is None:
            return np.ones(len(self))
        weights = self.numbers(self.weight)
        if np.isnan(weights).any() or (weights < 0).any():
            raise SchemaError(
                f"the weight {self.weight!r} is missing or negative in some rows; fill it in first"
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

    def holds(self, words: Sequence[str]) -> bool:
        """Whether one of some words is a value of a column of text."""
        return any(
            set(words) & self.labels(one)
            for one in self.dataset.columns
            if not self.is_numeric(one)
        )

    def labels(self, name: str) -> set[str]:
        """The labels of a column, as tables show them."""
        return {MISSING if one is None else one for one in self.dataset.encoded(name).labels}


def places_of(labels: Sequence[str | None]) -> dict[str | None, float]:
    """The place of every label among all in their order; nothing is none."""
    return {
        one: float(place)
        for place, one in enumerate(sorted(one for one in labels if one is not None))
    }


def how_many(who: NDArray[np.int64]) -> int:
    """How many different persons some numbers stand for; marking them is faster than sorting.

    >>> how_many(np.array([3, 0, 3]))
    2
    """
    most = int(who.max(initial=-1)) + 1
    if most > 16 * len(who):  # few of many
        return len(distinct(who))
    there = np.zeros(most, dtype=bool)
    there[who] = True
    return int(there.sum())


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different numbers among some, rising."""
    ordered = np.sort(keys)
    first: NDArray[np.bool_] = np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)]
    values: NDArray[np.int64] = ordered[first]
    return values


def chosen(dataset: Table, where: Any) -> pl.Series:
    """Per row whether it is meant; refused where the condition does not say yes or no of each."""
    if isinstance(where, pl.Expr):
        try:
            mask = dataset.to_polars().select(where.alias("chosen"))["chosen"]
        except pl.exceptions.PolarsError:
            raise ParameterError(
                "where: the condition does not fit the columns of the data"
            ) from None
    else:
        try:
            mask = pl.Series("chosen", np.asarray(where))
        except Exception:  # noqa: BLE001 - of whatever class it is
            raise ParameterError(
                "where is a polars expression, or a list of true and false per row"
            ) from None
    if mask.dtype != pl.Boolean or len(mask) != len(dataset):
        raise ParameterError("where must say true or false of each of the rows of the data")
    return mask.fill_null(value=False)


@dataclasses.dataclass(frozen=True, eq=False)
class CellRows:
    """Which row of the data belongs to which cell of the output; with margins a row belongs to
    several.

    ``known`` is false for cells whose labels the data do not have. ``absent`` is the number of
    combinations that the output leaves out: without anybody in them, and with somebody.
    """

    row: NDArray[np.int64]
    cell: NDArray[np.int64]
    size: int
    known: NDArray[np.bool_]
    total: NDArray[np.bool_]
    absent: tuple[int, int] = (0, 0)
    unseen: tuple[int, ...] = ()
    """Per column that makes cells, the labels of the data that the output does not show."""
    margins: tuple[NDArray[np.bool_], ...] = ()
    """Per column that makes cells, which of them are over all of its values."""

    def persons(self, behind: Behind, having: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Persons per cell, each once; ``having`` says which rows of the data count."""
        cell, who = self.cell, behind.who[self.row]
        if having is not None:
            cell, who = cell[having[self.row]], who[having[self.row]]
        if behind.unit is not None:
            cell = distinct(cell * behind.people + who) // behind.people
        return np.bincount(cell, minlength=self.size)

    def contributions(self, behind: Behind, amount: NDArray[np.float64], depth: int) -> TableCells:
        """The cells as rules look at them: the rows of a person in a cell are one contribution;
        missing ones are none.
        """
        present = ~np.isnan(amount[self.row])
        rows = pl.DataFrame(
            {
                "cell": self.cell[present],
                "who": behind.who[self.row[present]],
                "x": amount[self.row[present]],
            }
        )
        each = rows if behind.unit is None else rows.group_by("cell", "who").agg(pl.col("x").sum())
        size = pl.col("x").abs()
        contributions = each.group_by("cell").agg(
            pl.len().alias("n"),
            pl.col("x").sum().alias("value"),
            size.sum().alias("size"),
            size.min().alias("least"),
            size.top_k(depth).alias("top"),
        )
        at = contributions["cell"].to_numpy()
        n, value, sizes, least = (np.zeros(self.size) for _ in range(4))
        for into, name in ((n, "n"), (value, "value"), (sizes, "size"), (least, "least")):
            into[at] = contributions[name].to_numpy()
        top = np.zeros((self.size, depth))
        for place, largest in zip(at.tolist(), contributions["top"].to_list(), strict=True):
            top[place, : len(largest)] = sorted(largest, reverse=True)
        owner = np.full(self.size, NOBODY, dtype=np.int64)
        return TableCells((), n.astype(np.int64), value, sizes, top, least, owner, counted=False)


def membership(frame: pl.DataFrame, by: Sequence[str], behind: Behind) -> CellRows:
    """Find the records of every row of a table; without columns all records belong to its only
    rows.
    """
    size = frame.height
    if not by and size > 1:
        raise SchemaError(
            f"the output has {size:,} rows and no column that tells them apart; name it in by="
        )
    if not by:
        rows = np.arange(len(behind))
        cells = np.repeat(np.arange(size), len(rows))
        everything = np.ones(size, dtype=bool)
        return CellRows(np.tile(rows, size), cells, size, everything, np.zeros(size, dtype=bool))
    labels = [_codes(frame[name], behind, name) for name in by]
    places = np.stack([codes for codes, _, _ in labels])
    sizes = [count for _, count, _ in labels]
    data = np.stack([code for _, _, code in labels])
    listed: NDArray[np.bool_] = np.all(places > UNKNOWN, axis=0)
    total: NDArray[np.bool_] = np.any(places == EVERYTHING, axis=0)
    rows_found, cells_found = [], []
    for pattern in np.unique((places == EVERYTHING)[:, listed], axis=1).T:
        here = np.flatnonzero(listed & ((places == EVERYTHING) == pattern[:, None]).all(axis=0))
        released = _joined(places[:, here], ~pattern, sizes)
        if len(np.unique(released)) < len(released):
            raise SchemaError(
                f"several rows of the output have the same values of {', '.join(by)}; name all"
                " columns that tell rows apart in by="
            )
        row, cell = _matched(_joined(data, ~pattern, sizes), released)
        rows_found.append(row)
        cells_found.append(here[cell])
    row = np.concatenate(rows_found) if rows_found else np.zeros(0, dtype=np.int64)
    cell = np.concatenate(cells_found) if cells_found else np.zeros(0, dtype=np.int64)
    absent = _absent(places[:, listed & ~total], data, sizes)
    unseen = tuple(
        len(np.setdiff1d(ours, theirs)) for ours, theirs in zip(data, places, strict=True)
    )
    return CellRows(row, cell, size, listed, total, absent, unseen, tuple(places == EVERYTHING))


EVERYTHING, UNKNOWN = -1, -2


def _codes(
    column: pl.Series, behind: Behind, name: str
) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Per row of the output the code that its label has in the data, how many there are, and the
    codes of the data.
    """
    encoded = behind.dataset.encoded(name)
    at: dict[str | None, int] = {one: code for code, one in enumerate(encoded.labels)}
    if None in at:
        at.setdefault(MISSING, at[None])
    own = encode(column)
    totals = set(TOTALS) - set(encoded.labels)
    codes = [EVERYTHING if one in totals else at.get(one, UNKNOWN - 1) for one in own.labels]
    return np.array(codes, dtype=np.int64)[own.codes], len(encoded.labels), encoded.codes


def _joined(
    codes: NDArray[np.int64], used: NDArray[np.bool_], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """The codes of several columns as one number."""
    if np.prod([float(size) for size in sizes]) > 2**62:
        raise ParameterError("the table has too many columns to be told apart; leave some out")
    key = np.zeros(codes.shape[1], dtype=np.int64)
    for column, size, take in zip(codes, sizes, used, strict=True):
        if take:
            key = key * size + column
    return key


def _matched(
    data: NDArray[np.int64], released: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the data whose key is told, and where."""
    order = np.argsort(released)
    ranked = released[order]
    place = np.minimum(np.searchsorted(ranked, data), max(0, len(ranked) - 1))
    there = np.flatnonzero(ranked[place] == data) if len(ranked) else np.zeros(0, dtype=np.int64)
    return there, order[place[there]] if len(ranked) else there


def _absent(
    released: NDArray[np.int64], data: NDArray[np.int64], sizes: Sequence[int]
) -> tuple[int, int]:
    """Combinations of labels that the output leaves out: how many nobody has, and how many somebody
    has.

    Labels are those that the output shows: a table of two regions says nothing of a third one.
    """
    if released.shape[0] < 2 or released.shape[1] == 0:
        return 0, 0
    values = [np.unique(column) for column in released]
    count = int(np.prod([float(len(one)) for one in values]))
    everything = np.ones(len(sizes), dtype=bool)
    keys = np.unique(_joined(released, everything, sizes))
    inside = np.logical_and.reduce(
        [np.isin(column, one) for column, one in zip(data, values, strict=True)]
    )
    occupied = np.unique(_joined(data[:, inside], everything, sizes))
    somebody = int((~np.isin(occupied, keys)).sum())
    return count - len(keys) - somebody, somebody
