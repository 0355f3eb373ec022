"""Cells that a spreadsheet would run: text that begins like a formula.

A spreadsheet that opens a CSV takes ``=HYPERLINK(…)`` for a formula, and ``+``, ``-``, ``@``, a tab or a line end before one too.
A number is no formula. Defused, such a cell has an apostrophe before it, and so has every cell that begins with apostrophes
before such a sign: taking one apostrophe away gives every value back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_NUMBER = r"^[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?$"
_RUNS = r"^[=+\-@\t\r\n]"
_HARMLESS = r"^'+[=+\-@\t\r\n]"


def runnable_cells(frame: pl.DataFrame) -> dict[str, int]:
    """How many cells of each column a spreadsheet would run, the name of the column counted as one; others are left out."""
    import polars as pl

    counts = {}
    for column in frame:
        cells = int(_runs(column.cast(pl.String)).sum()) if _is_text(column) else 0
        cells += int(_runs(pl.Series([column.name])).sum())
        if cells:
            counts[column.name] = cells
    return counts


def defused(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before every name and text that a spreadsheet would run."""
    import polars as pl

    def one(column: pl.Series) -> pl.Series:
        name = _marked(pl.Series([column.name])).item()
        return (_marked(column.cast(pl.String)) if _is_text(column) else column).alias(name)

    return pl.DataFrame([one(column) for column in frame])


def restored(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as it was before :func:`defused`, from columns of text.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"x": ["=1+1", "-5", "'=1", "a"]})
    >>> defused(cells)["x"].to_list(), restored(defused(cells)).equals(cells)
    (["'=1+1", '-5', "''=1", 'a'], True)
    """
    import polars as pl

    def one(column: pl.Series) -> pl.Series:
        return column.str.replace(r"^'('*[=+\-@\t\r\n])", "$1") if column.dtype == pl.String else column

    names = one(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return pl.DataFrame([one(column).alias(name) for column, name in zip(frame, names, strict=True)])


def _is_text(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _runs(text: pl.Series) -> pl.Series:
    return text.str.contains(_RUNS) & ~text.str.contains(_NUMBER)


def _marked(text: pl.Series) -> pl.Series:
    import polars as pl

    marked = _runs(text) | text.str.contains(_HARMLESS)
    named = text.alias("text").to_frame().with_columns(marked.alias("marked"))
    return named.select(pl.when("marked").then("'" + pl.col("text")).otherwise("text")).to_series().alias(text.name)
