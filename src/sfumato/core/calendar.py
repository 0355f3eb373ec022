"""Columns of dates and times: their days, and the same moved by whole days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TICKS = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
FIRST, LAST = -719_162, 2_932_896
"""1 January 1 and 31 December 9999 as days since 1 January 1970."""


def days_of(column: pl.Series, table: str) -> NDArray[np.float64]:
    """The day of every value, counted from 1 January 1970; NaN where it is missing.

    >>> import polars as pl
    >>> days_of(pl.Series("at", ["1970-01-11", "1969-12-31T08:00", None]), "the table").tolist()
    [10.0, -1.0, nan]
    """
    days = dates_of(column, table).cast(pl.Int32).cast(pl.Float64)
    return days.fill_null(float("nan")).to_numpy()


def dates_of(column: pl.Series, table: str) -> pl.Series:
    """The date of every value of a column of dates, times or ISO text; its time of day is left
    out.
    """
    name = column.name
    if column.dtype in (pl.Date, pl.Null):
        return column.cast(pl.Date)
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.date()
    if column.dtype != pl.String:
        raise SchemaError(
            f"column {name!r} of {table} must hold dates, times or ISO text, but it "
            f"holds {column.dtype}; convert it"
        )
    read = column.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    # Behind a day stands nothing, a T or a blank: 2024-01-150 is no date.
    after = column.str.slice(10, 1)
    read = read.set(~after.is_in(["", "T", " "]).fill_null(True), None)
    lost = read.null_count() - column.null_count()
    if lost:
        raise SchemaError(
            f"column {name!r} of {table} must hold dates as YYYY-MM-DD, with or without a time; "
            f"{lost:,} value(s) are not written so; correct them or make them missing"
        )
    return read


def shift_column(column: pl.Series, table: str, shifts: NDArray[np.int64]) -> pl.Series:
    """A column moved by whole days, row by row; the time of day and what text says behind the date
    stay.
    """
    name, days = column.name, pl.Series(shifts)
    if isinstance(column.dtype, pl.Datetime):
        ticks = TICKS[column.dtype.time_unit]
        return (column.to_physical() + days * ticks).cast(column.dtype).alias(name)
    day_numbers = dates_of(column, table).cast(pl.Int32).cast(pl.Int64)
    dates = (day_numbers + days).cast(pl.Int32).cast(pl.Date)
    if column.dtype != pl.String:
        return dates.alias(name)
    moved_dates = dates.dt.strftime("%Y-%m-%d").str.zfill(10)
    times_of_day = column.str.slice(10)
    return (moved_dates + times_of_day).alias(name)
