"""Times of points: what a column of times is, as whole numbers, and the buckets they fall into.

Times are counted in *ticks*: microseconds of moments, days of dates, and of plain whole numbers
what the recipe says that they count (``unit``), else hours. Buckets begin at multiples of their
width, counted from a Monday (from 0 for plain numbers), so that widths that divide one another
nest.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TimeKind = Literal["moments", "days", "seconds", "minutes", "hours", "none"]
SECOND = 1_000_000
HOUR = 3600 * SECOND
# 1 January 1970 was a Thursday, so the first Monday is four days later.
ORIGIN = {"moments": 4 * 24 * HOUR, "days": 4}
"""Where buckets are counted from: Monday, 5 January 1970; plain numbers from 0."""
OF_A_DAY = {"moments": 24 * HOUR, "seconds": 24 * 3600, "minutes": 24 * 60, "hours": 24, "days": 1}
"""Ticks of a day."""
MINUTES = {"min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
OF_HOURS = ("1h", "2h", "4h", "8h", "24h", "7d")
USUAL = {
    "moments": OF_HOURS,
    "seconds": OF_HOURS,
    "minutes": OF_HOURS,
    "hours": OF_HOURS,
    "days": ("1d", "7d", "28d"),
    "none": (),
}
WIDTH = re.compile(r"([1-9]\d{0,5})(min|h|d|w)")
ALL = "all"
"""The widest bucket: no times at all."""
EVERYTHING = 0
"""The width of that bucket in ticks."""


@dataclasses.dataclass(frozen=True)
class Clock:
    """What the times of a file are: their kind, the form they are written in, and the time zone
    where there is one.

    ``plain``: they are whole numbers, which count what ``kind`` says; ``guessed``: nobody said that
    they do.
    """

    kind: TimeKind
    text: bool = False
    zone: str | None = None
    plain: bool = False
    guessed: bool = False

    @property
    def hour(self) -> int | None:
        """Ticks of an hour; None where times are not told to the hour."""
        # Days have one tick a day, which is less than one an hour: 1 // 24 = 0, hence None.
        return OF_A_DAY.get(self.kind, 0) // 24 or None

    @property
    def minute(self) -> int:
        """Ticks of a minute, 1 where times are coarser."""
        return max(1, OF_A_DAY.get(self.kind, 0) // (24 * 60))

    def ticks(self, width: str) -> int:
        """A width in ticks.

        >>> Clock("hours").ticks("2d")
        48
        >>> Clock("days").ticks("8h")
        Traceback (most recent call last):
        ...
        sfumato.errors.ParameterError: a time width of 8h is finer than the days of the file; use
        whole days
        """
        if width == ALL:
            return EVERYTHING
        # In minutes first, then in ticks of the file: 8h of a file in days leaves a rest, and is
        # refused.
        ticks, part = divmod(minutes_of(width) * OF_A_DAY.get(self.kind, 24 * 60), 24 * 60)
        if part:
            raise ParameterError(
                f"a time width of {width} is finer than the {self.kind} of the file; use whole "
                f"{self.kind}"
            )
        return ticks

    def floor(self, ticks: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """The starts of the buckets of some times; a width of 1 leaves times as they are, one of 0
        takes them all together.
        """
        if width == EVERYTHING:
            return np.zeros_like(ticks)
        origin = 0 if self.plain else ORIGIN.get(self.kind, 0)
        # Whole division rounds down for negative numbers too, so times before the origin fit as
        # well.
        floors: NDArray[np.int64] = (ticks - origin) // width * width + origin
        return floors

    def written(self, ticks: NDArray[np.int64]) -> pl.Series:
        """Times as a file holds them; without any times a column of nothing."""
        # A release without times keeps the column, so that it can be read under the same schema.
        if self.kind == "none":
            return pl.Series([None] * len(ticks), dtype=pl.String)
        if self.plain:
            return pl.Series(ticks, dtype=pl.Int64)
        if self.kind == "days":
            days = pl.Series(ticks.astype(np.int32), dtype=pl.Int32).cast(pl.Date)
            if not self.text:
                return days
            return days.dt.to_string("%Y-%m-%d")
        moments = pl.Series(ticks, dtype=pl.Int64).cast(pl.Datetime("us", self.zone))
        if not self.text:
            return moments
        # Fractions of seconds are written only where there are any; otherwise they would look
        # exact.
        fraction = "%.6f" if bool((ticks % SECOND).any()) else ""
        return moments.dt.to_string(f"%Y-%m-%dT%H:%M:%S{fraction}" + ("Z" if self.zone else ""))

    def width_shown(self, width: int) -> str:
        """A width in words: ``4h``, ``7d``, ``as in the data``, ``no times``."""
        if width == EVERYTHING:
            return "no times"
        if width == 1:
            return "as in the data"
        # The largest unit without a rest: 1440 minutes are 1d, not 24h.
        minutes = width * 24 * 60 // OF_A_DAY.get(self.kind, 24 * 60)
        for unit in ("d", "h", "min"):
            if minutes % MINUTES[unit] == 0:
                return f"{minutes // MINUTES[unit]}{unit}"
        return "as in the data"  # pragma: no cover - widths are made of whole minutes

    def sentence(self) -> str:
        """What readers should know about the times."""
        if self.kind == "none":
            return "the points have no times"
        if self.plain and self.guessed:
            return (
                f"times are whole numbers without a unit, taken as {self.kind}; give the unit with "
                "the column: {role: time, unit: minutes}, or seconds, hours, days"
            )
        if self.plain:
            return f"times are whole numbers of {self.kind}, counted from 0"
        if self.kind == "days":
            return "times are days"
        if self.zone:
            return "times are in UTC, and buckets begin at midnight there"
        return (
            "times have no time zone: they count as local times, and buckets begin at local "
            "midnight"
        )


COUNTED = Clock("hours", plain=True, guessed=True)
"""Whole numbers of which nobody says what they count."""


def minutes_of(width: str) -> int:
    """The minutes of a width such as ``30min``, ``4h``, ``7d`` or ``1w``.

    >>> minutes_of("4h"), minutes_of("1w")
    (240, 10080)
    """
    parts = WIDTH.fullmatch(width)
    if parts is None:
        raise ParameterError(f"a time width is written like 30min, 4h, 7d or 1w, not {width!r}")
    return int(parts[1]) * MINUTES[parts[2]]


def require_nested(widths: Sequence[str]) -> None:
    """Raise where the next width is no multiple of the one before: what is alike in one level must
    be alike in the next.

    >>> require_nested(["1h", "2h", "3h"])
    Traceback (most recent call last):
    ...
    sfumato.errors.ParameterError: time widths must nest, each a multiple of the one before; 3h is
    not a multiple of 2h
    """
    for below, above in itertools.pairwise(widths):
        # Nothing is coarser than no times at all, so that can only be the last.
        if below == ALL or (
            above != ALL and (minutes_of(above) % minutes_of(below) or above == below)
        ):
            raise ParameterError(
                f"time widths must nest, each a multiple of the one before; {above} is not a "
                f"multiple of {below}"
            )
    # A single width is in no pair above, so it has not been read yet.
    for width in widths:
        if width != ALL:
            minutes_of(width)
    # buckets of part of a day must begin again with the day, so that they nest in days and weeks
    for width in widths:
        minutes = 0 if width == ALL else minutes_of(width)
        # 5h would cut days at ever other hours: neither day nor week would be a union of such
        # buckets.
        if minutes and (24 * 60) % minutes and minutes % (24 * 60):
            raise ParameterError(
                f"a time width must divide a day or be whole days, so that buckets nest; {width} "
                "does neither"
            )


def read_times(
    column: pl.Series, name: str, unit: TimeKind | None = None
) -> tuple[Clock, NDArray[np.int64]]:
    """The clock of a column, and its times in ticks; what is no time is a :class:`SchemaError` with
    counts.

    ``unit`` is what whole numbers count, where that is said; times that are no whole numbers are
    refused then.
    """
    clock, ticks = _read(column, name)
    if clock.plain and unit is not None:
        return Clock(unit, plain=True), ticks
    if unit is not None and clock.kind != "none":
        raise SchemaError(
            f"time column {name!r} has a unit {unit}, but holds {clock.kind} instead of whole "
            "numbers; leave unit out"
        )
    return clock, ticks


def _read(column: pl.Series, name: str) -> tuple[Clock, NDArray[np.int64]]:
    gaps = column.null_count()
    # All missing is how a release without times is written; some missing is a fault of the file.
    if len(column) and gaps == len(column):
        return Clock("none"), np.zeros(len(column), dtype=np.int64)
    if gaps:
        raise SchemaError(
            f"time column {name!r}: {gaps:,} of {len(column):,} rows have no time; remove these "
            "rows, or drop the time column"
        )
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return _from_text(column.cast(pl.String), name)
    if column.dtype == pl.Date:
        return Clock("days"), column.cast(pl.Int32).cast(pl.Int64).to_numpy()
    if isinstance(column.dtype, pl.Datetime):
        return _moments(column)
    if column.dtype.is_integer():
        return COUNTED, column.cast(pl.Int64).to_numpy()
    if column.dtype.is_float():
        # Some files hold whole numbers as floats; a fraction of a tick would have no meaning.
        numbers = column.to_numpy()
        broken = int(np.count_nonzero(~np.isfinite(numbers) | (numbers != np.floor(numbers))))
        if broken:
            raise SchemaError(
                f"time column {name!r}: {broken:,} of {len(column):,} times are not whole numbers; "
                "use whole numbers, dates or moments"
            )
        return COUNTED, numbers.astype(np.int64)
    raise SchemaError(
        f"time column {name!r} holds neither dates, moments nor whole numbers; convert it"
    )


def _moments(column: pl.Series, *, text: bool = False) -> tuple[Clock, NDArray[np.int64]]:
    """Moments in microseconds; what has a time zone is taken to UTC."""
    zone = getattr(column.dtype, "time_zone", None)
    moments = column.dt.cast_time_unit("us")
    if zone is not None:
        moments = moments.dt.convert_time_zone("UTC")
    ticks = moments.cast(pl.Int64).to_numpy()
    return Clock("moments", text, None if zone is None else "UTC"), ticks


def _from_text(column: pl.Series, name: str) -> tuple[Clock, NDArray[np.int64]]:
    """Times as text: dates, moments as ISO 8601 writes them with a blank or T, or whole numbers."""
    texts = column.str.strip_chars()
    # In this order: a bare year such as 2024 is a whole number and no date, but 2024-02-28 must not
    # be read as a moment at midnight, which would promise an hour that is not known.
    days = texts.str.to_date("%Y-%m-%d", strict=False)
    if not days.null_count():
        return Clock("days", True), days.cast(pl.Int32).cast(pl.Int64).to_numpy()
    numbers = texts.cast(pl.Int64, strict=False)
    if not numbers.null_count():
        return COUNTED, numbers.to_numpy()
    shape = texts.str.replace("T", " ", literal=True)
    # Moments with and without zone cannot be compared. The second test keeps the hyphens of a date
    # from being taken for an offset.
    aware = shape.str.contains(r"(?:Z|[+-]\d\d:?\d\d)$") & shape.str.contains(r"\d:\d\d")
    if aware.all():
        plain = shape.str.replace(r"Z$", "+0000").str.replace(r"([+-]\d\d):(\d\d)$", "$1$2")
        moments = _first(plain, ["%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%d %H:%M%z"], utc=True)
    else:
        # Days among moments are read as midnight, as there are moments with hours beside them.
        moments = _first(shape, ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d"], utc=False)
    broken = moments.null_count()
    if broken:
        raise SchemaError(
            f"time column {name!r}: {broken:,} of {len(column):,} times cannot be read; write dates"
            " as 2024-02-28, moments as 2024-02-28T17:30, all with or all without a time zone, or"
            " whole numbers"
        )
    return _moments(moments, text=True)


def _first(texts: pl.Series, formats: Sequence[str], *, utc: bool) -> pl.Series:
    """Moments by the first format that reads each of them; null where none does."""
    kind = pl.Datetime("us", "UTC") if utc else pl.Datetime("us")
    parsed = pl.Series([None] * len(texts), dtype=kind)
    # Rows may be written in different ways (with and without seconds): each format fills the gaps
    # that the ones before it left.
    for form in formats:
        if not parsed.null_count():
            break
        rows = (
            texts.to_frame("t")
            .select(pl.col("t").str.strptime(kind, form, strict=False))
            .to_series()
        )
        parsed = pl.select(pl.coalesce(parsed, rows)).to_series()
    return parsed
