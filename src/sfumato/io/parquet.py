"""Parquet files, read and written by polars."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from sfumato.core.source import Source
from sfumato.errors import UnreadableInput
from sfumato.io.formats import refuse_nested, refusing


def read(data: bytes, *, name: str) -> tuple[pl.DataFrame, Source]:
    """Read a Parquet file."""
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1") and len(data) >= 12):
        raise UnreadableInput(
            f"{name} is no Parquet file, or only a part of one: it must begin and end with PAR1; fetch it again"
        )
    with refusing(
        f"{name} begins like a Parquet file but cannot be read: it is damaged, encrypted or of an unknown version"
    ):
        frame = pl.read_parquet(io.BytesIO(data))
    return refuse_nested(frame, name), Source(name, "parquet")


def write(frame: pl.DataFrame, target: Path, source: Source) -> None:
    """Write a Parquet file."""
    with target.open("wb") as out:
        frame.write_parquet(out)
