"""Columns as the search for dependences looks at them: as numbers, and as days of the calendar."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.encoding import Encoded
    from sfumato.core.table import Table
    from sfumato.methods.formulas.dependence import Codes, Numbers

TEXT_TYPES = (pl.String, pl.Categorical, pl.Enum)
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
DATE_LENGTH = 10
"""Signs of a date; a time of the day may stand behind it."""
PARTS = ("year", "month", "weekday")


Reader = Callable[["Codes"], "NDArray[Any]"]
"""Gives the values of the rows whose numbers it is given."""


class RecordColumn:
    """A column of the records that are looked at, read only for those that are asked for.

    Most pairs of columns are compared on a sample: nothing is made for all records of a large table
    unless something was found. ``column[some]`` has the values of some records, ``column.whole``
    those of all.

    >>> column = RecordColumn(np.array([5.0, 6.0, 7.0]).__getitem__, rows=np.array([2, 0]))
    >>> column[np.array([0])].tolist(), column.whole.tolist()
    ([7.0], [7.0, 5.0])
    """

    def __init__(self, read: Reader, rows: Codes) -> None:
        """``rows`` has the row of every record."""
        self._read = read
        self._rows = rows

    def __getitem__(self, selection: Any) -> NDArray[Any]:
        """The values of some records; ``slice(None)`` stands for all."""
        if isinstance(selection, slice):
            return self.whole
        return self._read(self._rows[selection])

    @cached_property
    def whole(self) -> NDArray[Any]:
        """The values of all records."""
        return self._read(self._rows)


def number_reader(dataset: Table, name: str) -> Reader | None:
    """Reads a column as numbers, missing ones as NaN: numbers, days of dates, text of numbers or
    dates only.

    None for any other column.
    """
    if dataset.dtype(name).is_numeric():
        numbers = dataset.column(name)
        return lambda rows: _floats(numbers.gather(rows).cast(pl.Float64, strict=False))
    if dataset.dtype(name) in TEXT_TYPES:
        encoded = dataset.encoded(name)
        labels = pl.Series(encoded.labels, dtype=pl.String)
        parsed = labels.cast(pl.Float64, strict=False)
        if parsed.null_count() == labels.null_count() < len(labels):
            by_label = _floats(parsed)
            return lambda rows: by_label[encoded.narrow[rows]]
    days = days_of(dataset, name)
    if days is None:
        return None
    physical = days.to_physical()
    return lambda rows: _floats(physical.gather(rows).cast(pl.Float64))


def code_reader(encoded: Encoded) -> Reader:
    """Reads a column as codes."""
    return lambda rows: encoded.narrow[rows].astype(np.int64)


def days_of(dataset: Table, name: str) -> pl.Series | None:
    """A column as days of the calendar, without the time of the day, whatever kind the recipe calls
    it; None where it holds no dates.
    """
    dtype = dataset.dtype(name)
    if dtype in (pl.Date, pl.Datetime):
        return dataset.column(name).cast(pl.Date)
    if dtype not in TEXT_TYPES:
        return None
    encoded = dataset.encoded(name)
    labels = pl.Series(encoded.labels, dtype=pl.String)
    start = labels.str.slice(0, DATE_LENGTH)
    present_texts = start.drop_nulls()
    for form in DATE_FORMATS:
        # Most text is no date: one value tells.
        if (
            len(present_texts)
            and present_texts.head(1).str.to_date(form, strict=False).null_count() == 0
        ):
            parsed = start.str.to_date(form, strict=False)
            if parsed.null_count() == labels.null_count():
                return parsed.gather(encoded.narrow.astype(np.int64))
    return None


def date_part(days: pl.Series, part: str) -> Codes:
    """Year, month or weekday of days, −1 where there is none."""
    if part == "year":
        parts = days.dt.year()
    elif part == "month":
        parts = days.dt.month()
    else:
        parts = days.dt.weekday()
    return np.asarray(parts.cast(pl.Int64).fill_null(-1).to_numpy())


def _floats(column: pl.Series) -> Numbers:
    values = np.array(column.to_numpy(), dtype=np.float64)
    values[np.isinf(values)] = np.nan
    return values
