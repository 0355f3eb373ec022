"""A large Parquet table that is read column by column: never all of it is in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.exchange import Workplace, telling
from sfumato.core.source import Source
from sfumato.core.table import refuse_patterns
from sfumato.data.lazy import on_polars
from sfumato.data.lazy.file_types import PartsSource
from sfumato.data.lazy.part_files import digest_of_parts
from sfumato.data.lazy.table import LazyTable, unheard
from sfumato.data.table.formats import format_of_suffix, refusing
from sfumato.data.table.values import settle_values
from sfumato.errors import UnreadableInput

LARGE = 200_000
"""Rows from which a file is not read as a whole to look at its columns."""


@dataclasses.dataclass(frozen=True, repr=False)
class ParquetColumns:
    """The columns of one Parquet table, in one file or several parts; values are read as
    ``source.intake`` says.
    """

    parts: tuple[Path, ...]
    source: Source
    columns: list[str]
    height: int
    keep: Any = None
    """What must live as long as the files are read."""

    @classmethod
    def of(cls, parts: Sequence[Path], source: Source, keep: Any = None) -> ParquetColumns:
        """Parts that have the same columns, in their order."""
        with refusing(f"{source.name} cannot be read: a part is damaged or missing"):
            lazy = _scanned(parts, source)
            columns = lazy.collect_schema().names()
            height = int(lazy.select(pl.len()).collect().item())
        refuse_patterns(columns)
        return cls(tuple(parts), source, columns, height, keep)

    def column(self, name: str) -> pl.Series:
        """One column in full, the rows as the files have them."""
        position = self.columns.index(name)  # by place: to polars some names mean several columns
        with refusing(f"{self.source.name} cannot be read: a part is damaged or missing"):
            values = (
                _scanned(self.parts, self.source).select(pl.nth(position)).collect().to_series()
            )
        # Columns are read one after the other: another number of rows would pair cells of two
        # tables.
        if values.len() != self.height:
            raise UnreadableInput(
                f"{self.source.name} changed while it was being read; try again when "
                "nobody writes to it"
            )
        read = [values]
        settle_values(read, self.source.intake)
        return read[0]


def parquet_columns(table: Any) -> ParquetColumns | None:
    """A table in Parquet files that is looked at column by column: one that an engine holds, or the
    path of a large file.

    None for anything else, which is read as a whole. So is a file that cannot be read or
    holds lists: its reader says what is wrong.
    """
    if isinstance(table, ParquetColumns):
        return table
    if isinstance(table, LazyTable):
        if not table.parts:
            return _written(table)
        return ParquetColumns.of(table.parts, table.source, table.keep)
    if not isinstance(table, str | Path) or format_of_suffix(Path(table).suffix) != "parquet":
        return None
    file = Path(table)
    try:
        with refusing(f"{file.name} cannot be read"):
            types = _scanned([file]).collect_schema().dtypes()
            rows = int(_scanned([file]).select(pl.len()).collect().item())
    except UnreadableInput:
        return None
    if rows <= LARGE or any(dtype.is_nested() or dtype.is_object() for dtype in types):
        return None
    return ParquetColumns.of([file], Source(file.name, "parquet", digest=digest_of_parts([file])))


def _written(table: LazyTable) -> ParquetColumns | None:
    """The rows of a table without files, which its engine gives once, in files of our own; None:
    there are no rows.
    """
    with Workplace() as workplace:
        parts = list[Path]()
        for rows in table.engine.batches(table.frame, table.columns, unheard):
            parts.append(workplace.path / f"{len(parts):06}.parquet")
            with telling(workplace.path):
                rows.write_parquet(parts[-1])
    if not parts:
        return None
    return ParquetColumns.of(parts, table.source, workplace)


def _scanned(parts: Sequence[Path], source: Source | None = None) -> pl.LazyFrame:
    constants = source.constants if isinstance(source, PartsSource) else None
    if constants is None:
        return on_polars.opened(parts, 0)
    return on_polars.opened_with_constants(parts, 0, constants)
