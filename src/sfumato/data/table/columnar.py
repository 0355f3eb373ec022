"""Parquet files, Arrow files (Feather version 2) and Arrow streams, read and written by polars."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from sfumato.core.source import Source
from sfumato.data.table.formats import FileFormat, ReadRequest, refuse_nested, refusing
from sfumato.errors import UnreadableInput

if TYPE_CHECKING:
    from sfumato.data.table.form import Form

ARROW_STREAM = b"\xff\xff\xff\xff"


def read_arrow(data: bytes, *, name: str, lists: bool = False) -> tuple[pl.DataFrame, Source]:
    """Read an Arrow file or stream."""
    if data.startswith(b"FEA1"):
        raise UnreadableInput(
            f"{name} is a Feather file of version 1: write it again as Feather version 2 or Parquet"
        )
    if not data.startswith((b"ARROW1", ARROW_STREAM)):
        raise UnreadableInput(
            f"{name} is not an Arrow file: it must begin with ARROW1; pass format= if it has "
            "another format"
        )
    with refusing(
        f"{name} begins like an Arrow file but cannot be read: it is damaged, cut off or of an"
        " unknown version"
    ):
        if data.startswith(ARROW_STREAM):
            reader = pl.read_ipc_stream
        else:
            reader = pl.read_ipc
        frame = reader(io.BytesIO(data))
    return refuse_nested(frame, name, lists=lists), Source(name, "arrow")


def write_arrow(frame: pl.DataFrame, target: Path, source: Source) -> None:
    """Write an Arrow file.

    An array may keep a value behind a missing one, and the text of rows that are gone: a suppressed
    cell would be in the file for whoever looks at its bytes. Parquet holds neither, so the table is
    rewritten by way of it.
    """
    clean = io.BytesIO()
    frame.write_parquet(clean)
    with target.open("wb") as out:
        pl.read_parquet(clean.getvalue()).write_ipc(out)


# Parquet files, read and written by polars.


def read_parquet(data: bytes, *, name: str, lists: bool = False) -> tuple[pl.DataFrame, Source]:
    """Read a Parquet file."""
    # PAR1 twice and the length of the footer are twelve bytes.
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1") and len(data) >= 12):
        raise UnreadableInput(
            f"{name} is not a Parquet file, or only a part of one: it must begin and end with "
            "PAR1; copy it again"
        )
    with refusing(
        f"{name} begins like a Parquet file but cannot be read: it is damaged, encrypted or of an"
        " unknown version"
    ):
        frame = pl.read_parquet(io.BytesIO(data))
    return refuse_nested(frame, name, lists=lists), Source(name, "parquet")


PART = 1 << 19
"""Rows that are read at once: few enough that their memory is used again and again."""
PART_CELLS = 1 << 22
"""Cells that are read at once: of a wide table some columns after the others."""


def parquet_parts(file: Path) -> Iterator[tuple[int, pl.DataFrame]]:
    """The table of a Parquet file part by part: some columns after the others, of these the rows in
    their order; one part at least.

    Beside each part stands its first row.
    """
    unreadable = f"{file.name} cannot be read"
    with refusing(unreadable):
        lazy = pl.scan_parquet(io.BytesIO(file.read_bytes()))
        names, rows = lazy.collect_schema().names(), int(lazy.select(pl.len()).collect().item())
    # So many columns that a part with all its rows has about PART_CELLS cells.
    width = max(1, PART_CELLS // max(1, min(rows, PART)))
    # Once at least: an empty table gives a part as well.
    for first in range(0, max(1, len(names)), width):
        columns = lazy.select(names[first : first + width])
        for start in range(0, max(1, rows), PART):
            with refusing(unreadable):
                part = columns.slice(start, PART).collect()
            yield start, part


def write_parquet(frame: pl.DataFrame, target: Path, source: Source) -> None:
    """Write a Parquet file."""
    with target.open("wb") as out:
        frame.write_parquet(out)


def more_in_parquet(file: Path, *, exact: bool) -> bool:
    """Whether a Parquet file tells more than its table: metadata that nobody sees who reads the
    rows.

    ``exact``: this version of polars wrote it, and describes the columns in the same bytes.
    """
    with refusing(f"{file.name} cannot be read"):
        metadata, empty = pl.read_parquet_metadata(file), io.BytesIO()
        if not exact or not _is_of_polars(file):
            return bool(set(metadata) - {"ARROW:schema"})
        pl.DataFrame(schema=pl.read_parquet_schema(file)).write_parquet(empty)
        return metadata != pl.read_parquet_metadata(io.BytesIO(empty.getvalue()))


def _is_of_polars(file: Path) -> bool:
    """Whether polars says at the end of a Parquet file that it wrote it; other engines describe
    columns in other bytes.
    """
    with file.open("rb") as opened:
        # The last eight bytes are the length of the footer and PAR1.
        opened.seek(-8, io.SEEK_END)
        footer = int.from_bytes(opened.read(4), "little")
        opened.seek(-8 - footer, io.SEEK_END)
        return b"Polars" in opened.read(footer)


class Parquet(FileFormat):
    """Parquet."""

    name: ClassVar[str] = "parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    openings: ClassVar[tuple[bytes, ...]] = (b"PAR1",)

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """What :func:`read_parquet` reads."""
        return read_parquet(data, name=name, lists=request.lists)

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """What :func:`write_parquet` writes."""
        write_parquet(frame, target, source)

    def holds_more(self, file: Path, *, exact: bool) -> bool:
        """What :func:`more_in_parquet` finds."""
        return more_in_parquet(file, exact=exact)


class Arrow(FileFormat):
    """Arrow files and streams."""

    name: ClassVar[str] = "arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    openings: ClassVar[tuple[bytes, ...]] = (b"ARROW1", ARROW_STREAM)

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """What :func:`read_arrow` reads."""
        return read_arrow(data, name=name, lists=request.lists)

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """What :func:`write_arrow` writes."""
        write_arrow(frame, target, source)
