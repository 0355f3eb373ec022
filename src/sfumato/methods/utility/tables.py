"""Counts and tables that must survive: one count, one table, all tables of a few columns."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.encoding import label
from sfumato.core.hierarchy import TOP
from sfumato.core.metric import ColumnUtility, Measure, Utility
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.randomness import Seed
from sfumato.core.reading import ColumnLevel
from sfumato.core.words import count_of, percent
from sfumato.methods.formulas.binning import BinnedColumn, bin_column, table_after, table_before
from sfumato.methods.utility.cell_averages import normalise
from sfumato.methods.utility.columns import AllColumns, data_of, require_sense, why_not

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Reading


Value = str | int | float | bool
Condition = Value | list[Value]
MOST_BINS = 40
MOST_VALUES = 100
MOST_TABLES = 500


@parameters
class CountError(Utility):
    r"""The relative error of one count: :math:`|n - n'| / \max(n, 1)`.

    ``where`` maps columns to what they must be: one value, a list of values, or, for numbers, dates
    and ordered values, two ends ``[low, high]`` (both inside). A generalised cell counts with the
    share of its range, or of its values, that meets the condition; records that were left out do
    not count. Of synthetic rows, of which there may be any number, the share is taken.
    Conditions hold data values: a certificate leaves them out.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> people = examples.patients()
    >>> CountError({"age": [20, 40]}).measure(TablePair.of(people, people)).value
    0.0
    """

    where: Annotated[
        Mapping[str, Condition],
        COLUMNS,
        Field(min_length=1, description="column → value, values, or [low, high]"),
    ]

    name: ClassVar[str] = "count"
    line: ClassVar[str] = "relative error of one count"
    secret: ClassVar[tuple[str, ...]] = ("where",)

    def applies(self, pair: TablePair) -> str | None:
        """None when all columns were released."""
        pair.original.require(self.where)
        gone = [c for c in self.where if c not in pair.columns]
        if gone:
            return f"{', '.join(gone)} was not released"
        if len(pair.original):
            return None
        return "the original table is empty"

    def measure(self, pair: TablePair) -> Measure:
        """Count before and after."""
        before = np.ones(len(pair.original))
        after = np.ones(len(pair.released))
        for column, condition in self.where.items():
            reading = pair.reading(column)
            values, labels = _shares_meeting(reading, condition)
            before *= values[reading.original]
            after *= labels[reading.released]
        true = float(before.sum())
        released_count = float(after.sum())
        if not pair.aligned:
            # Drawn rows may be any number: their count is scaled to the original's.
            released_count *= len(pair.original) / max(1, len(pair.released))
        error = abs(true - released_count) / max(true, 1.0)
        columns = ", ".join(self.where)
        return Measure(
            self.name,
            min(1.0, error),
            self.better,
            f"relative error of a count over {columns}",
            raw=error,
        )


def _shares_meeting(
    reading: Reading, condition: Condition
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each original value, and each released label, meets a condition: 0 to 1."""
    conditions = condition if isinstance(condition, list) else [condition]
    ends = _ends(reading, conditions)
    if ends is not None:
        low, high = ends
        values = ((reading.places >= low) & (reading.places <= high)).astype(np.float64)
        width = reading.high - reading.low
        inside = np.minimum(reading.high, high) - np.maximum(reading.low, low)
        # A single number has no width to take a share of: it is inside or not.
        point = (reading.low >= low) & (reading.high <= high)
        share = np.where(
            width > 0, np.clip(inside, 0, None) / np.where(width > 0, width, 1.0), point
        )
        return values, np.nan_to_num(share)
    names = {label(value) for value in conditions}
    values = np.array([float(v in names) for v in reading.values])
    labels = np.zeros(len(reading.labels))
    for i, text in enumerate(reading.labels):
        members = reading.members[reading.starts[i] : reading.starts[i + 1]]
        # A label that no original value stands under stands for itself.
        if len(members):
            labels[i] = float(values[members].mean())
        else:
            labels[i] = float(text in names)
    return values, labels


def _ends(reading: Reading, conditions: list[Value]) -> tuple[float, float] | None:
    """Two ends on the line, where the column has one and the condition names places on it."""
    if reading.scale == "category":
        return None
    positions = {value: float(at) for value, at in zip(reading.values, reading.places, strict=True)}
    ends = []
    for value in conditions:
        number = positions.get(label(value))
        # In Python True is a number, too.
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
        if number is None:
            return None
        ends.append(number)
    if len(ends) == 1:
        return ends[0], ends[0]
    if not (len(ends) == 2 and ends[0] <= ends[1]):
        return None
    return (ends[0], ends[1])


# Tables: how far a cross-table of the release is from the original one.


@parameters
class TableDistance(ColumnUtility):
    r"""The share of records that would have to change their cell to make the released table the
    original one.

    .. math:: \tfrac12 \sum_c |p_c - p'_c|

    the total variation between the shares of the cells *c* of a table of one to four columns.
    Numbers are put in 40 bins between their 1st and 99th percentile, categories beyond the 40 most
    frequent in one; a generalised cell is spread evenly over what it may stand for. Records that
    were left out are missing from the released table, whose shares still add up to one. Without any
    released record everything is lost: 1.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> people = examples.patients()
    >>> TableDistance(("age", "sex")).measure(TablePair.of(people, people)).value
    0.0
    """

    columns: Annotated[
        tuple[str, ...],
        COLUMNS,
        Field(min_length=1, max_length=4, description="the columns of the table"),
    ]

    name: ClassVar[str] = "table"
    line: ClassVar[str] = "share of records in another cell of a table than before"

    def applies(self, pair: TablePair) -> str | None:
        """None when all columns were released."""
        pair.original.require(self.columns)
        gone = [c for c in self.columns if c not in pair.columns]
        if gone:
            return f"{', '.join(gone)} was not released"
        if len(pair.original):
            return None
        return "the original table is empty"

    def measure(self, pair: TablePair) -> Measure:
        """Total variation of the table."""
        if not len(pair.released):
            return Measure(self.name, 1.0, self.better, "nothing was released", raw=1.0)
        columns = [bin_column(pair, c, MOST_BINS, even=True) for c in self.columns]
        # Half of the L1 distance: who leaves one cell enters another.
        value = _distance(columns) / 2
        return Measure(
            self.name,
            value,
            self.better,
            f"share of records in another cell of {' × '.join(self.columns)}",
            raw=value,
        )


def _distance(columns: list[BinnedColumn]) -> float:
    """The L1 distance between the shares of the cells of a table, before and after."""
    records = len(columns[0].original), len(columns[0].released)
    shares_before = table_before(*columns) / records[0]
    shares_after = table_after(*columns) / records[1]
    return float(np.abs(shares_before - shares_after).sum())


# All tables of two or three columns at once.


@parameters
class MarginalError(ColumnUtility):
    r"""How far the tables of every ``ways`` columns are from the original ones, on average.

    .. math:: \frac1{|T|}\sum_{t \in T}\sum_{c \in t} |p_c - p'_c|

    over all tables *t* of ``ways`` columns, or a random ``tables`` of them where there are
    more; :math:`p_c` is the share of the original records in cell *c*, :math:`p'_c` that of the
    released ones. ``raw`` is this mean (0 to 2, the L1 error that papers about synthetic data
    print; half of it is the share of records in another cell than before), ``value`` its share of
    what a release of nothing but ``*`` has, at most 1. ``per_column`` is half the error over the
    tables that a column is part of. Every value has a cell of its own where a column has no more
    than 100 (a number that only the release has counts as the nearest); other numbers are put in
    100 bins between their 1st and 99th percentile, and categories beyond the 100 most frequent in
    one. A generalised cell is spread evenly over what it may stand for. It is measured alike on
    recoded, masked and drawn records. A column that was not released is spread evenly over its
    values, and without any released record everything is lost: 1. Of fewer columns than ``ways``
    one table is made.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})).with_roles(
    ...     quasi=["a", "b"]
    ... )
    >>> after = sf.read(pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]})).with_roles(
    ...     quasi=["a", "b"]
    ... )
    >>> found = MarginalError().measure(TablePair.of(before, after))
    >>> found.raw, found.per_column
    (1.0, {'a': 0.5, 'b': 0.5})
    """

    columns: AllColumns = None
    ways: Annotated[int, Field(ge=1, le=3, description="columns a table has")] = 2
    tables: Annotated[int, Field(ge=1, le=100_000, description="most tables to compare")] = (
        MOST_TABLES
    )
    seed: Annotated[int, Field(ge=0, description="seed for the choice of tables")] = 1

    name: ClassVar[str] = "marginal_error"
    title: ClassVar[str] = "Error of tables"
    line: ClassVar[str] = "how far the tables of every two columns are from the original ones"

    def applies(self, pair: TablePair) -> str | None:
        """None when there are records, and columns to look at."""
        return why_not(pair, data_of(pair, self.columns))

    def measure(self, pair: TablePair) -> Measure:
        """The mean error of all tables."""
        require_sense(self, pair)
        if not len(pair.released):
            return Measure(self.name, 1.0, self.better, "nothing was released", raw=2.0)
        names = data_of(pair, self.columns)
        coded = {name: _code_column(pair, name) for name in names}
        tables = self._tables(list(names))
        error_pairs = [_errors([coded[name] for name in table_columns]) for table_columns in tables]
        errors = [error for error, _ in error_pairs]
        largest = float(np.mean([blind for _, blind in error_pairs]))
        raw = float(np.mean(errors))
        parts = {}
        for name in names:
            parts[name] = [
                e for e, table_columns in zip(errors, tables, strict=True) if name in table_columns
            ]
        columns = {}
        for name, column_errors in parts.items():
            if column_errors:
                columns[name] = float(np.mean(column_errors)) / 2
        meaning = (
            f"tables of {count_of(self.ways, 'column')}: {percent(raw / 2)} of records in another"
            " cell than before; as a share of that without any data"
        )
        return Measure(
            self.name,
            normalise(raw, largest, pair),
            self.better,
            meaning,
            raw=raw,
            per_column=columns,
        )

    def _tables(self, names: list[str]) -> list[tuple[str, ...]]:
        """The columns of every table that is looked at."""
        size = min(self.ways, len(names))
        if math.comb(len(names), size) <= self.tables:
            return list(itertools.combinations(names, size))
        stream = Seed(self.seed).stream("tables of columns")
        tables_drawn = dict[tuple[str, ...], None]()
        # A dict keeps the order of the draws and leaves out repeats.
        while len(tables_drawn) < self.tables:
            tables_drawn[
                tuple(names[i] for i in sorted(stream.permutation(len(names))[:size].tolist()))
            ] = None
        return list(tables_drawn)


def _code_column(pair: TablePair, name: str) -> BinnedColumn:
    """A column in bins; one that was not released says nothing."""
    if name in pair.released.columns:
        return bin_column(pair, name, MOST_VALUES, even=True, single=True, blind=True)
    # A column that was not released is taken for one of nothing but suppressed cells.
    blank = pl.Series([TOP], dtype=pl.String).new_from_index(0, len(pair.released))
    beside = dataclasses.replace(
        pair,
        released=pair.released.with_columns({name: blank}),
        levels={name: ColumnLevel(level=1, top=1)},
    )
    column = bin_column(beside, name, MOST_VALUES, even=True, single=True, blind=True)
    nothing = np.zeros(len(pair.released), dtype=np.uint8)
    return dataclasses.replace(column, released=nothing, spread=np.atleast_2d(column.blind))


def _errors(columns: list[BinnedColumn]) -> tuple[float, float]:
    """The L1 distance between the shares of the cells of a table, before and after; and where every
    column says nothing.

    There all cells are alike, so those that occur in the original are enough.
    """
    before = table_before(*columns) / len(columns[0].original)
    error = float(np.abs(before - table_after(*columns) / len(columns[0].released)).sum())
    spread = np.ones(())
    for column in columns:
        spread = np.multiply.outer(spread, column.blind)
    used = before > 0
    # Cells that the original lacks need not be listed: together they hold what is left of 1.
    met_differences = np.abs(before[used] - spread[used]).sum()
    unmet_share = max(0.0, 1.0 - spread[used].sum())
    blind = float(met_differences + unmet_share)
    return error, blind
