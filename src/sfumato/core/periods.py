"""Periods of the calendar: how they are written, and where they begin and end."""

from __future__ import annotations

import datetime
import re
from typing import Literal

Level = Literal["day", "week", "month", "quarter", "year", "decade"]
"""The periods a date can be generalised to."""

NESTING = ("time", "day", "month", "quarter", "year", "decade")
"""Periods that lie in each other, from fine to coarse; a week lies in none of them but holds days.
"""

_WRITTEN = {
    "week": re.compile(r"(\d{4})-W(\d\d)", re.ASCII),
    "month": re.compile(r"(\d{4})-(\d\d)", re.ASCII),
    "quarter": re.compile(r"(\d{4})-Q([1-4])", re.ASCII),
    "year": re.compile(r"(\d{4})", re.ASCII),
    "decade": re.compile(r"(\d{3})0s", re.ASCII),
}


def covers(level: str, period: str) -> bool:
    """Whether every ``period`` lies in one ``level``.

    >>> covers("quarter", "month"), covers("month", "week"), covers("week", "day")
    (True, False, True)
    """
    if "week" in (level, period):
        return level == "week" and period in ("time", "day", "week")
    return NESTING.index(level) >= NESTING.index(period)


def write_period(level: Level, day: datetime.date) -> str:
    """The label of the period a day lies in.

    >>> [
    ...     write_period(level, datetime.date(2024, 3, 5))
    ...     for level in ("week", "month", "quarter", "decade")
    ... ]
    ['2024-W10', '2024-03', '2024-Q1', '2020s']
    """
    if level == "week":
        # The year of the week: the first days of January may belong to the year before.
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if level == "day":
        return day.isoformat()
    if level == "month":
        return day.isoformat()[:7]
    if level == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if level == "year":
        return f"{day.year:04d}"
    return f"{day.year // 10:03d}0s"


def bounds(level: Level, day: datetime.date) -> tuple[int, int]:
    """The first day of the period a day lies in and the day after its last one, as ordinals."""
    first = day.toordinal()
    if level == "day":
        return first, first + 1
    if level == "week":
        return first - day.weekday(), first - day.weekday() + 7
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[level]
    # Months since year 0, cut to a multiple of the period: in quarters month 5 becomes 3.
    month_number = day.year * 12 + day.month - 1
    start = month_number // months * months
    return _first_of(start), _first_of(start + months)


def _first_of(month: int) -> int:
    """The ordinal of the first day of a month, counted from year 0; the calendar has the years 1 to
    9999.
    """
    year = month // 12
    if year < 1:
        return datetime.date.min.toordinal()
    if year <= datetime.MAXYEAR:
        return datetime.date(year, month % 12 + 1, 1).toordinal()
    return datetime.date.max.toordinal() + 1


def read_period(text: str) -> tuple[Level, datetime.date] | None:
    """Read the label of a period: which kind it is, and a day in it; None when it is no such label.

    >>> read_period("2024-Q2")
    ('quarter', datetime.date(2024, 4, 1))
    """
    if len(text) == 10 and text[4] == text[7] == "-":
        return _read_day(text)
    for level, pattern in _WRITTEN.items():
        match = pattern.fullmatch(text)
        if match:
            try:
                day = _day_in(level, [int(part) for part in match.groups()])
                return level, day  # type: ignore[return-value]
            except ValueError:
                return None
    return None


def _read_day(text: str) -> tuple[Level, datetime.date] | None:
    try:
        return "day", datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _day_in(level: str, parts: list[int]) -> datetime.date:
    if level == "week":
        return datetime.date.fromisocalendar(parts[0], parts[1], 1)
    if level == "quarter":
        return datetime.date(parts[0], parts[1] * 3 - 2, 1)
    if level == "decade":
        return datetime.date(max(1, parts[0] * 10), 1, 1)
    return datetime.date(parts[0], parts[1] if level == "month" else 1, 1)
