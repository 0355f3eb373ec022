"""When data must be gone."""

from __future__ import annotations

import calendar
import datetime

from sfumato.policy.policy import Retention


def delete_by(retention: Retention, ended: datetime.date | None = None) -> datetime.date | None:
    """The last day data may be kept; None for no limit, or while the end of the purpose is not known.

    ``ended`` is the day the purpose ended. Months are calendar months, cut to the last day of a shorter one.

    >>> delete_by(Retention("after_purpose", amount=1, unit="month"), datetime.date(2024, 1, 31))
    datetime.date(2024, 2, 29)
    """
    if retention.kind == "fixed_date":
        return retention.date or datetime.date.min
    if retention.kind == "indefinite" or ended is None:
        return None
    amount = retention.amount or 0
    if retention.unit == "day":
        return _later(ended, amount)
    months = ended.year * 12 + ended.month - 1 + amount * (12 if retention.unit == "year" else 1)
    year, month = divmod(months, 12)
    if year > datetime.MAXYEAR:
        return datetime.date.max
    return datetime.date(year, month + 1, min(ended.day, calendar.monthrange(year, month + 1)[1]))


def _later(day: datetime.date, days: int) -> datetime.date:
    try:
        return day + datetime.timedelta(days=days)
    except OverflowError:
        return datetime.date.max


def expired(retention: Retention, today: datetime.date, ended: datetime.date | None = None) -> bool:
    """Whether data should be gone by today; the last day itself still counts."""
    last = delete_by(retention, ended)
    return last is not None and today > last
