"""Columns as the search for dependences looks at them: as numbers, and as days of the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.methods.formulas.dependence import Codes, Numbers

TEXT_TYPES = (pl.String, pl.Categorical, pl.Enum)
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
DATE_LENGTH = 10
"""Signs of a date; a time of the day may stand behind it."""
PARTS = ("year", "month", "weekday")


def numbers_of(dataset: Dataset, name: str) -> Numbers | None:
    """A column as numbers, missing ones as NaN: numbers, days of dates, text that is nothing but numbers or dates; None for any other."""
    if dataset.dtype(name).is_numeric():
        return _floats(dataset.column(name).cast(pl.Float64, strict=False))
    if dataset.dtype(name) in TEXT_TYPES:
        encoded = dataset.encoded(name)
        labels = pl.Series(encoded.labels, dtype=pl.String)
        parsed = labels.cast(pl.Float64, strict=False)
        if parsed.null_count() == labels.null_count() < len(labels):
            return _floats(parsed)[encoded.narrow.astype(np.int64)]
    days = days_of(dataset, name)
    return None if days is None else _floats(days.to_physical().cast(pl.Float64))


def days_of(dataset: Dataset, name: str) -> pl.Series | None:
    """A column as days of the calendar, without the time of the day, whatever kind the recipe calls it; None where it holds no dates."""
    dtype = dataset.dtype(name)
    if dtype in (pl.Date, pl.Datetime):
        return dataset.column(name).cast(pl.Date)
    if dtype not in TEXT_TYPES:
        return None
    encoded = dataset.encoded(name)
    labels = pl.Series(encoded.labels, dtype=pl.String)
    start = labels.str.slice(0, DATE_LENGTH)
    known = start.drop_nulls()
    for form in DATE_FORMATS:
        # Most text is no date: one value tells.
        if len(known) and known.head(1).str.to_date(form, strict=False).null_count() == 0:
            parsed = start.str.to_date(form, strict=False)
            if parsed.null_count() == labels.null_count():
                return parsed.gather(encoded.narrow.astype(np.int64))
    return None


def date_part(days: pl.Series, part: str) -> Codes:
    """Year, month or weekday of days, −1 where there is none."""
    if part == "year":
        found = days.dt.year()
    elif part == "month":
        found = days.dt.month()
    else:
        found = days.dt.weekday()
    return np.asarray(found.cast(pl.Int64).fill_null(-1).to_numpy())


def _floats(column: pl.Series) -> Numbers:
    values = np.array(column.to_numpy(), dtype=np.float64)
    values[np.isinf(values)] = np.nan
    return values
