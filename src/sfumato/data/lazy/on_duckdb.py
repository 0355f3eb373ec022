"""What DuckDB relations do for us: count, and give rows in batches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from sfumato.data.lazy.on_polars import BATCH, spare
from sfumato.errors import UnreadableInput, require

if TYPE_CHECKING:
    from sfumato.data.lazy.table import Tick

name = "duckdb"
RESUMES = True
workers = None
"""All rows come to us, in batches."""


def opened(parts: Sequence[Path], memory: int) -> Any:
    """Parts of Parquet as a relation."""
    duckdb: Any = require("duckdb", extra="duckdb", to="let DuckDB read")
    return duckdb.read_parquet([str(part) for part in parts], hive_partitioning=False)


def columns_of(frame: nw.LazyFrame[Any]) -> list[str]:
    """Names of the columns."""
    return list(frame.collect_schema().names())


def rows_of(frame: nw.LazyFrame[Any]) -> int:
    """Number of rows."""
    with guarded():
        found: Any = frame.select(nw.len()).collect("polars").item()
        return int(found)


def counted(
    frame: nw.LazyFrame[Any], columns: Sequence[str], most: int, tick: Tick
) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are
    more than ``most``.
    """
    name = spare(columns)
    with guarded():
        plain = _without_collations(frame, columns)
        grouped = plain.group_by(*columns).agg(nw.len().cast(nw.Int64).alias(name)).head(most + 1)
        found = pl.DataFrame(grouped.to_native().to_arrow_table())
    tick(int(found[name].sum()))
    return None if found.height > most else found


def _without_collations(frame: nw.LazyFrame[Any], columns: Sequence[str]) -> nw.LazyFrame[Any]:
    """Some columns, text by its bytes: a collation such as NOCASE would count two values as one,
    and k as more than it is.
    """
    schema = frame.collect_schema()
    quoted = {column: '"' + column.replace('"', '""') + '"' for column in columns}
    parts = [
        f"decode(encode({q})) AS {q}" if schema[c] == nw.String else q for c, q in quoted.items()
    ]
    made: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(", ".join(parts))).lazy()
    return made


def batches(frame: nw.LazyFrame[Any], columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows, a million at a time, in any order: what it hands over in smaller pieces is put
    together.

    Of an empty table there is one batch without rows.
    """
    seen, held = 0, list[pl.DataFrame]()
    wanted = frame.select(*columns)
    with guarded():
        for batch in wanted.to_native().to_arrow_reader(BATCH):
            held.append(pl.DataFrame(batch))
            if sum(piece.height for piece in held) >= BATCH:
                seen += sum(piece.height for piece in held)
                tick(seen)
                yield pl.concat(held, rechunk=True)
                held = []
        if not seen and not held:
            held.append(pl.DataFrame(wanted.head(0).to_native().to_arrow_table()))
        if held:
            tick(seen + sum(piece.height for piece in held))
            yield pl.concat(held, rechunk=True)


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet as a relation on the connection of ``like``."""
    listed = ", ".join("'" + str(part).replace("'", "''") + "'" for part in parts)
    query = f"SELECT * FROM read_parquet([{listed}])"  # noqa: S608 - paths of our own, quoted
    made: nw.LazyFrame[Any] = nw.from_native(like.to_native().query("sfumato_beside", query)).lazy()
    return made


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Errors of an engine may show values of the table: they are told without their text."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except (duckdb.Error, OSError) as error:
        raise UnreadableInput(
            f"{name} could not read the table ({type(error).__name__}): a part is damaged or gone,"
            " or the query behind the relation fails; run it by hand to see why"
        ) from None
