"""How the dates of a column are written."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections.abc import Sequence

from sfumato.profiling.finding import share

ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:.+)?|\d{4}-\d\d|\d{4}-Q[1-4]|\d{4}-W\d\d|\d{3}0s|\d{4}|\*", re.ASCII)
"""What the hierarchy ``dates`` reads without a format: dates, times, and periods of the calendar."""

_YEAR_ONLY = re.compile(r"\d{4}|\*", re.ASCII)
_DIGITS_ONLY = "%Y%m%d"
_FORMATS = (
    (re.compile(r"\d{8}", re.ASCII), (_DIGITS_ONLY,)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}", re.ASCII), ("%d.%m.%Y",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{2}", re.ASCII), ("%d.%m.%y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}", re.ASCII), ("%d/%m/%Y", "%m/%d/%Y")),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{2}", re.ASCII), ("%d/%m/%y", "%m/%d/%y")),
    (re.compile(r"\d{1,2}-\d{1,2}-\d{4}", re.ASCII), ("%d-%m-%Y", "%m-%d-%Y")),
    (re.compile(r"\d{4}/\d{1,2}/\d{1,2}", re.ASCII), ("%Y/%m/%d",)),
    (re.compile(r"\d{4}\.\d{1,2}\.\d{1,2}", re.ASCII), ("%Y.%m.%d",)),
    (re.compile(r"\d{1,2}[ -][A-Za-z]{3}[ -]\d{4}", re.ASCII), ("%d %b %Y", "%d-%b-%Y")),
    (re.compile(r"\d{1,2} [A-Za-z]{4,9} \d{4}", re.ASCII), ("%d %B %Y",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d\d", re.ASCII), ("%d.%m.%Y %H:%M",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d", re.ASCII), ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M")),
)
_YEARS = range(1850, 2101)
"""Years of dates about people; eight digits of other years are numbers."""


@dataclasses.dataclass(frozen=True)
class DateForm:
    """``format`` in the language of strptime, None for ISO 8601; ``swappable``: day and month cannot be told apart."""

    format: str | None
    swappable: bool = False


def date_form(texts: Sequence[str]) -> DateForm | None:
    """How nearly all of the texts are dates, or None.

    >>> date_form(["31.12.1999", "01.02.2003"])
    DateForm(format='%d.%m.%Y', swappable=False)
    >>> date_form(["1999", "2003"]) is None
    True
    """
    if share(_is_iso, texts) >= 0.98 and share(_YEAR_ONLY.fullmatch, texts) < 0.5:
        return DateForm(None)
    for pattern, formats in _FORMATS:
        if share(pattern.fullmatch, texts) >= 0.98:
            fitting = [f for f in formats if share(functools.partial(_is_date, form=f), texts, at_most=1000) >= 0.98]
            return DateForm(fitting[0], swappable=len(fitting) > 1) if fitting else None
    return None


def all_dates(texts: Sequence[str], form: DateForm) -> bool:
    """Whether every text is a date, so that a hierarchy of dates covers the column."""
    if form.format is None:
        return all(map(_is_iso, texts))
    return all(_is_date(text, form.format) for text in texts)


def _is_iso(text: str) -> bool:
    if not ISO.fullmatch(text):
        return False
    if len(text) < 10:
        return len(text) != 7 or text[5] in "QW" or "01" <= text[5:] <= "12"
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date(text: str, form: str) -> bool:
    try:
        return datetime.datetime.strptime(text, form).year in _YEARS or form != _DIGITS_ONLY
    except ValueError:
        return False
