"""What databases do for us: count, and give rows in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from sfumato.core.fields import Document
from sfumato.data.lazy import on_polars
from sfumato.data.lazy.databases import Address, Column, Name, Transaction, quoted
from sfumato.data.lazy.drivers import begun

if TYPE_CHECKING:
    from sfumato.data.lazy.table import Tick

name = "its database"
RESUMES = False
workers = None
"""All rows come to us, in batches."""


@dataclasses.dataclass(frozen=True, eq=False)
class DatabaseTable:
    """A table of a database, as an engine holds it: one transaction, begun when something is asked
    first.
    """

    place: Address
    name: Name
    memo: Document = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def within(cls, running: Transaction, name: Name) -> DatabaseTable:
        """A table as a transaction sees it that is running already."""
        return cls(running.place, name, {"transaction": running})

    @property
    def transaction(self) -> Transaction:
        """The transaction, which sees one moment of the database for as long as the table is
        used.
        """
        transaction: Transaction | None = self.memo.get("transaction")
        if transaction is None or not transaction.runs:
            transaction = self.memo["transaction"] = begun(self.place)
        return transaction

    @property
    def described(self) -> dict[str, Column]:
        """The columns."""
        if "columns" not in self.memo:
            self.memo["columns"] = self.transaction.columns(self.name)
        columns: dict[str, Column] = self.memo["columns"]
        return columns

    def collect_schema(self) -> nw.Schema:
        """The types of the columns, as narwhals tells them."""
        empty = pl.DataFrame(schema={name: column.dtype for name, column in self.described.items()})
        return nw.from_native(empty).schema

    def to_native(self) -> DatabaseTable:
        """Itself: there is no other form of it."""
        return self

    def select(self, columns: Sequence[str]) -> str:
        """The SQL that lists some columns."""
        return ", ".join(f"{self.described[name].select} AS {quoted(name)}" for name in columns)


def columns_of(frame: DatabaseTable) -> list[str]:
    """Names of the columns."""
    return list(frame.described)


def rows_of(frame: DatabaseTable) -> int:
    """Number of rows."""
    sql = f'SELECT count(*) AS "rows" FROM {frame.name.quoted}'  # noqa: S608 - a quoted name
    return int(frame.transaction.query(sql, {"rows": Column("", pl.Int64())}).item())


def counted(
    frame: DatabaseTable, columns: Sequence[str], max_combinations: int, tick: Tick
) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are
    more than ``max_combinations``.
    """
    name = on_polars.spare(columns)
    column_numbers = ", ".join(str(number) for number in range(1, len(columns) + 1))
    sql = (
        f"SELECT {frame.select(columns)}, count(*) AS {quoted(name)}"  # noqa: S608
        f" FROM {frame.name.quoted} GROUP BY {column_numbers} LIMIT {max_combinations + 1}"
    )
    result_columns = {column: frame.described[column] for column in columns} | {
        name: Column("", pl.Int64())
    }
    counts = frame.transaction.query(sql, result_columns)
    tick(int(counts[name].sum()))
    if counts.height > max_combinations:
        return None
    return counts


def batches(frame: DatabaseTable, columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows as the database sends them, in any order."""
    rows_seen, result_columns = 0, {name: frame.described[name] for name in columns}
    sql = f"SELECT {frame.select(columns)} FROM {frame.name.quoted}"  # noqa: S608 - quoted names
    for batch in frame.transaction.batches(sql, result_columns):
        rows_seen += batch.height
        tick(rows_seen)
        yield batch


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet, which polars reads: what is released of a table stands in files first."""
    return on_polars.scanned(parts, like)
