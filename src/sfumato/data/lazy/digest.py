"""The digest of a table that has no file: of its rows, in whatever order and batches they come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np
import polars as pl

MODULUS = 2**256


class RowsDigest:
    """SHA-256 of the names of the columns, the number of rows and the sum, modulo 2²⁵⁶, of the
    BLAKE2b digests of all rows.

    A sum does not depend on order, and equal rows count as often as they come. Rows are spelled
    by value: the width of numbers, the unit of times, the order of columns and whether text is held
    as categories make no difference, whoever holds the table.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self.names = sorted(columns)
        self.rows = 0
        self.total = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Add some rows."""
        self.rows += rows.height
        if rows.height:
            self.total = (self.total + _sum_of(spelled(rows))) % MODULUS

    def merge(self, rows: int, total: int) -> None:
        """Add rows whose digests were added up elsewhere."""
        self.rows += rows
        self.total = (self.total + total) % MODULUS

    def hexdigest(self) -> str:
        """The digest of the rows so far."""
        document = [self.names, self.rows, f"{self.total:064x}"]
        return hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()


def _sum_of(texts: pl.Series) -> int:
    """The sum of the digests of texts as whole numbers of 256 bits, added up by halves of words,
    which cannot overflow.
    """
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=32).digest() for text in texts.to_list()
    )
    # A digest of 32 bytes is eight words of 4 bytes. Summed in 64 bits, 2³² rows cannot overflow.
    words = np.frombuffer(digests, dtype="<u4").reshape(-1, 8).sum(axis=0, dtype=np.uint64)
    return sum(int(word) << (32 * position) for position, word in enumerate(words))


def spelled(rows: pl.DataFrame) -> pl.Series:
    """Every row as a text that no other row has: cells in the order of the names, missing ones as a
    dash.

    >>> spelled(pl.DataFrame({"b": ["x;y", None], "a": [1, 2]})).to_list()
    ['i1;3:x;y;', 'i2;-;']
    """
    # Each cell ends with ';' and text says its length first, so no two rows share a spelling.
    cells = [
        _spelled(rows[name]).fill_null("-").alias(str(number))
        for number, name in enumerate(sorted(rows.columns))
    ]
    texts = pl.DataFrame(cells).select(
        pl.concat_str([pl.format("{};", pl.col(cell.name)) for cell in cells])
    )
    return texts.to_series()


def _spelled(column: pl.Series) -> pl.Series:
    """The cells of a column as texts with a letter for their kind; numbers that are none are
    missing.
    """
    kind, name = column.dtype, pl.col(column.name)
    if kind in (pl.String, pl.Categorical, pl.Enum):
        text = name.cast(pl.String)
        return _build_series(column, pl.format("{}:{}", text.str.len_bytes(), text))
    if kind.is_integer():
        return _build_series(column, pl.format("i{}", name))
    if kind.is_float():
        return _of_floats(column)
    if kind == pl.Boolean:
        return _build_series(column, pl.format("b{}", name.cast(pl.Int8)))
    if kind.is_decimal():
        # 1.50 and 1.5 are one value: zeros at the end and a bare point are taken off.
        text = name.cast(pl.String).str.replace(r"(\.\d*?)0+$", "${1}").str.strip_suffix(".")
        return _build_series(column, pl.format("m{}", text))
    if kind.is_temporal():
        return _of_times(column)
    if kind == pl.Binary:
        return _build_series(column, pl.format("x{}", name.bin.encode("hex")))
    # What has no rule of its own, such as lists: as Python spells it.
    texts = [None if value is None else repr(value) for value in column.to_list()]
    return pl.Series(
        [None if text is None else f"{len(text)}?{text}" for text in texts], dtype=pl.String
    )


def _build_series(column: pl.Series, text: pl.Expr) -> pl.Series:
    return column.to_frame().select(text).to_series()


def _of_floats(column: pl.Series) -> pl.Series:
    """Floats by their bits, so that no spelling of numbers matters; zero has no sign."""
    plain = column.cast(pl.Float64).fill_nan(None)
    # Adding 0.0 turns -0.0 into 0.0, whose bits differ.
    bits = pl.Series((plain.fill_null(0.0).to_numpy() + 0.0).view(np.int64))
    is_present = plain.is_not_null()
    return (
        bits.to_frame("bits")
        .select(pl.when(is_present).then(pl.format("f{}", pl.col("bits"))))
        .to_series()
    )


def _of_times(column: pl.Series) -> pl.Series:
    """Dates by day, other times by microsecond, or by nanosecond where they are that fine."""
    if column.dtype == pl.Date:
        return _build_series(column, pl.format("d{}", pl.col(column.name).to_physical()))
    # Factor to microseconds; 0 stands for nanoseconds, which are divided where nothing is lost.
    scale = {"ms": 1000, "us": 1, "ns": 0, None: 0}[getattr(column.dtype, "time_unit", None)]
    number = column.to_physical()
    letter = {pl.Datetime: "t", pl.Duration: "u"}.get(column.dtype.base_type(), "h")
    ticks = pl.col("ticks")
    if scale:
        return (
            (number * scale).to_frame("ticks").select(pl.format(letter + "{}", ticks)).to_series()
        )
    fine = pl.when(ticks % 1000 == 0).then(pl.format(letter + "{}", ticks // 1000))
    return (
        number.to_frame("ticks")
        .select(fine.otherwise(pl.format(letter + "n{}", ticks)))
        .to_series()
    )
