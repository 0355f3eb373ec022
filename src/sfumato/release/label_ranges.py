"""What the labels of a released column stand for: the ends of ranges of numbers and dates."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Literal

import polars as pl

from sfumato.core.hierarchy import TOP
from sfumato.core.periods import bounds, read_period
from sfumato.core.ranges import range_of_days, range_of_numbers

Scale = Literal["number", "date", "category"]
EPOCH = datetime.date(1970, 1, 1).toordinal()
SUFFIXES = ("low", "high", "middle")


@dataclasses.dataclass(frozen=True)
class RecodedColumn:
    """A column whose cells are labels. ``labels`` has one row a distinct label: ``label``, ``low``,
    ``high`` and ``middle`` (missing where a label has no place: open ends, suppressed cells,
    categories), in the order of the labels.
    """

    name: str
    scale: Scale
    labels: pl.DataFrame


def read_labels(name: str, values: pl.Series, kind: str) -> RecodedColumn:
    """What the labels of a column stand for, in the order of the numbers or dates that they mean.

    The kind only says where to begin: a column whose labels mean nothing on its scale is one of
    categories.

    >>> ages = pl.Series(["30-39", "20-29", "*", "90+"])
    >>> read_labels("age", ages, "numeric").labels.rows()
    [('20-29', 20.0, 29.0, 24.5), ('30-39', 30.0, 39.0, 34.5), ('90+', 90.0, None, None), ('*', \
None, None, None)]
    """
    labels = values.drop_nulls().unique().sort().to_list()
    shown = [label for label in labels if label != TOP]
    scale: Scale = "category"
    ends: dict[str, tuple[float, float]] = {}
    if kind in ("numeric", "date"):
        read = range_of_numbers if kind == "numeric" else range_of_period
        ranges = {label: read(label) for label in shown}
        ends = {label: place for label, place in ranges.items() if place is not None}
        if shown and len(ends) == len(shown):
            scale = "number" if kind == "numeric" else "date"
    if scale == "category":
        return RecodedColumn(name, scale, pl.DataFrame({"label": labels}, {"label": pl.String}))
    # Suppressed cells come last: they have no place on the line.
    ordered = sorted(shown, key=ends.__getitem__) + [label for label in labels if label == TOP]
    rows = [(label, *_places(ends.get(label))) for label in ordered]
    kinds = {"label": pl.String, **dict.fromkeys(SUFFIXES, pl.Float64)}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    if scale == "date":
        days = [pl.col(suffix).floor().cast(pl.Int32).cast(pl.Date) for suffix in SUFFIXES]
        frame = frame.with_columns(days)
    return RecodedColumn(name, scale, frame)


def _places(ends: tuple[float, float] | None) -> tuple[float | None, float | None, float | None]:
    """Low, high and middle; an end that is open is missing, and so is the middle then."""
    if ends is None:
        return None, None, None
    low = ends[0] if math.isfinite(ends[0]) else None
    high = ends[1] if math.isfinite(ends[1]) else None
    middle = None if low is None or high is None else low / 2 + high / 2
    return low, high, middle


def range_of_period(label: str) -> tuple[float, float] | None:
    """The first and last day of a date, a range of dates or a period of the calendar, counted from
    1970-01-01.

    >>> range_of_period("1970-01"), range_of_period("1970-01-02..1970-01-04")
    ((0.0, 30.0), (1.0, 3.0))
    """
    spelled = range_of_days(label)
    if spelled is not None:
        return spelled
    period = read_period(label)
    if period is None:
        return None
    first, after = bounds(*period)
    return float(first - EPOCH), float(after - 1 - EPOCH)
