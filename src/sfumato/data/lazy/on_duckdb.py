"""What DuckDB relations do for us: count, and give rows in batches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from sfumato.data.lazy.constant_columns import SQL_TYPES
from sfumato.data.lazy.databases import literal, quoted
from sfumato.data.lazy.on_polars import BATCH, spare
from sfumato.errors import UnreadableInput, require

if TYPE_CHECKING:
    from sfumato.data.lazy.constant_columns import Constant, ConstantColumns
    from sfumato.data.lazy.table import Tick

name = "duckdb"
RESUMES = True
workers = None
"""All rows come to us, in batches."""


def opened(parts: Sequence[Path], memory: int) -> Any:
    """Parts of Parquet as a relation."""
    duckdb: Any = require("duckdb", extra="duckdb", to="let DuckDB read")
    # A connection of its own: where an error leaves rows half read, others must not be blocked.
    cursor: Any = duckdb.cursor()
    return cursor.read_parquet([str(part) for part in parts], hive_partitioning=False)


def opened_with_constants(parts: Sequence[Path], memory: int, constants: ConstantColumns) -> Any:
    """The same, with columns that stand outside of the files."""
    duckdb: Any = require("duckdb", extra="duckdb", to="let DuckDB read")
    selects = []
    for values, files in constants.groups().items():
        columns = [
            f"CAST({_literal(value)} AS {SQL_TYPES[dtype]}) AS {quoted(name)}"
            for (name, dtype), value in zip(constants.types.items(), values, strict=True)
        ]
        listed = ", ".join(literal(str(file)) for file in files)
        selects.append(
            f"SELECT *, {', '.join(columns)}"  # noqa: S608 - names and values are quoted
            f" FROM read_parquet([{listed}], hive_partitioning = false)"
        )
    with guarded():
        return duckdb.cursor().sql(" UNION ALL ".join(selects))


def _literal(value: Constant) -> str:
    """A value as a text in SQL, to be cast."""
    if value is None:
        return "NULL"
    return literal(str(value))


def require_no_spans(relation: Any) -> None:
    """Refuse columns that hold spans of months, days and microseconds at once: no other type holds
    these, and polars ends the process over them.
    """
    for number, kind in enumerate(relation.types, start=1):
        if "INTERVAL" in str(kind):
            raise UnreadableInput(
                f"column number {number} is an INTERVAL of DuckDB, which cannot be read: give its "
                "seconds in a view or query, as epoch(column), or leave it out"
            )


def types_of(frame: Any) -> pl.Schema:
    """The types that columns have when they come to us."""
    with guarded():
        return pl.DataFrame(frame.limit(0).to_arrow_table()).schema


def columns_of(frame: nw.LazyFrame[Any]) -> list[str]:
    """Names of the columns."""
    return list(frame.collect_schema().names())


def rows_of(frame: nw.LazyFrame[Any]) -> int:
    """Number of rows."""
    with guarded():
        row_count: Any = frame.select(nw.len()).collect("polars").item()
        return int(row_count)


def keeps_order(frame: nw.LazyFrame[Any]) -> bool:
    """Whether rows come in the same order every time: unless its connection was told otherwise."""
    query = "SELECT current_setting('preserve_insertion_order')"
    with guarded():
        [(is_kept,)] = frame.to_native().query("sfumato_order", query).fetchall()
    return bool(is_kept)


def counted(
    frame: nw.LazyFrame[Any], columns: Sequence[str], max_combinations: int, tick: Tick
) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are
    more than ``max_combinations``.
    """
    name = spare(columns)
    # Keys of a grouping are parsed as SQL, where a.b is column b of table a: plain names are safe.
    plain_names = {column: f"key{number}" for number, column in enumerate(columns)}
    with guarded():
        plain = _without_collations(frame, plain_names)
        grouped = (
            plain.group_by(*plain_names.values())
            .agg(nw.len().cast(nw.Int64).alias("records"))
            # One more than allowed is asked for: that many rows already mean too many.
            .head(max_combinations + 1)
        )
        counts = pl.DataFrame(grouped.to_native().to_arrow_table())
    counts.columns = [*columns, name]
    tick(int(counts[name].sum()))
    return None if counts.height > max_combinations else counts


def _without_collations(
    frame: nw.LazyFrame[Any], plain_names: Mapping[str, str]
) -> nw.LazyFrame[Any]:
    """Some columns under other names, text by its bytes: a collation such as NOCASE would count two
    values as one, and k as more than it is.
    """
    schema = frame.collect_schema()
    parts = []
    for column, plain_name in plain_names.items():
        quoted = '"' + column.replace('"', '""') + '"'
        value = f"decode(encode({quoted}))" if schema[column] == nw.String else quoted
        parts.append(f"{value} AS {plain_name}")
    projected: nw.LazyFrame[Any] = nw.from_native(
        frame.to_native().project(", ".join(parts))
    ).lazy()
    return projected


def batches(frame: nw.LazyFrame[Any], columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows, a million at a time, in any order: what it hands over in smaller pieces is put
    together.

    Of an empty table there is one batch without rows.
    """
    rows_seen, pieces = 0, list[pl.DataFrame]()
    selected = frame.select(*columns)
    with guarded():
        for batch in selected.to_native().to_arrow_reader(BATCH):
            pieces.append(pl.DataFrame(batch))
            if sum(piece.height for piece in pieces) >= BATCH:
                rows_seen += sum(piece.height for piece in pieces)
                tick(rows_seen)
                yield pl.concat(pieces, rechunk=True)
                pieces = []
        if not rows_seen and not pieces:
            pieces.append(pl.DataFrame(selected.head(0).to_native().to_arrow_table()))
        if pieces:
            tick(rows_seen + sum(piece.height for piece in pieces))
            yield pl.concat(pieces, rechunk=True)


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet as a relation on the connection of ``like``."""
    listed = ", ".join("'" + str(part).replace("'", "''") + "'" for part in parts)
    query = f"SELECT * FROM read_parquet([{listed}])"  # noqa: S608 - paths of our own, quoted
    scanned_frame: nw.LazyFrame[Any] = nw.from_native(
        like.to_native().query("sfumato_beside", query)
    ).lazy()
    return scanned_frame


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Errors of an engine may show values of the table: they are told without their text."""
    import duckdb

    try:
        yield
    # Running out of memory is no fault of the table, and is told as such.
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except (duckdb.Error, OSError) as error:
        raise UnreadableInput(
            f"{name} could not read the table ({type(error).__name__}): a part is damaged or "
            "missing, or the query behind the relation fails; run it by hand to see why"
        ) from None
