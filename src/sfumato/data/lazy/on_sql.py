"""What databases do for us: count, and give rows in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

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
    memo: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def within(cls, running: Transaction, name: Name) -> DatabaseTable:
        """A table as a transaction sees it that is running already."""
        return cls(running.place, name, {"transaction": running})

    @property
    def transaction(self) -> Transaction:
        """The transaction, which sees one moment of the database for as long as the table is
        used.
        """
        found: Transaction | None = self.memo.get("transaction")
        if found is None or not found.runs:
            found = self.memo["transaction"] = begun(self.place)
        return found

    @property
    def described(self) -> dict[str, Column]:
        """The columns."""
        if "columns" not in self.memo:
            self.memo["columns"] = self.transaction.columns(self.name)
        found: dict[str, Column] = self.memo["columns"]
        return found

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
    frame: DatabaseTable, columns: Sequence[str], most: int, tick: Tick
) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are
    more than ``most``.
    """
    name = on_polars.spare(columns)
    places = ", ".join(str(place) for place in range(1, len(columns) + 1))
    sql = (
        f"SELECT {frame.select(columns)}, count(*) AS {quoted(name)}"  # noqa: S608
        f" FROM {frame.name.quoted} GROUP BY {places} LIMIT {most + 1}"
    )
    wanted = {column: frame.described[column] for column in columns} | {
        name: Column("", pl.Int64())
    }
    found = frame.transaction.query(sql, wanted)
    tick(int(found[name].sum()))
    return None if found.height > most else found


def batches(frame: DatabaseTable, columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows as the database sends them, in any order."""
    seen, wanted = 0, {name: frame.described[name] for name in columns}
    sql = f"SELECT {frame.select(columns)} FROM {frame.name.quoted}"  # noqa: S608 - quoted names
    for batch in frame.transaction.batches(sql, wanted):
        seen += batch.height
        tick(seen)
        yield batch


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet, which polars reads: what is released of a table stands in files first."""
    return on_polars.scanned(parts, like)
