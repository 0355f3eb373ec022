"""Borders of bins that people can read: round numbers, and days, months or years for dates."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence

STEPS = (1.0, 2.0, 2.5, 5.0)
DAYS = (1, 2, 7, 14)
MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
LEAST = 1e-300
EPOCH = datetime.date(1970, 1, 1)


def round_step(low: float, high: float, most: int, *, whole: bool = False) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten with which at most ``most`` bins reach from low to high.

    >>> round_step(0, 85, 12), round_step(0, 0.9, 12), round_step(0, 21, 12, whole=True), round_step(3, 3, 12)
    (10.0, 0.1, 2.0, 1.0)
    """
    if high <= low:
        return 1.0
    power = math.floor(math.log10(max(LEAST, high / most - low / most))) - 1
    sizes = (step * 10.0**exponent for exponent in itertools.count(power) for step in STEPS)
    fits = (s for s in sizes if (not whole or s.is_integer()) and _bins(low, high, s) <= most)
    return next(fits)


def _bins(low: float, high: float, step: float) -> int:
    first, last = _ends(low, high, step)
    return last - first + 1


def _ends(low: float, high: float, step: float) -> tuple[int, int]:
    """Which bins hold the lowest and the highest value, forgiving what floating point takes off a border."""
    return math.floor(low / step + 1e-9), math.floor(high / step + 1e-9)


def number_edges(low: float, high: float, most: int, *, whole: bool = False) -> list[float]:
    """Round borders from at most ``low`` to more than ``high``, each bin with its lower border.

    >>> number_edges(17, 90, 12, whole=True)
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    """
    step = round_step(low, high, most, whole=whole)
    first, last = _ends(low, high, step)
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(place * step, digits) for place in range(first, last + 2)]


def number_names(edges: Sequence[float], *, whole: bool, below: bool, above: bool) -> list[str]:
    """What bins are called; the outer ones by one border where values lie beyond the other.

    >>> number_names([0, 10, 20], whole=True, below=False, above=True), number_names([0, 0.5, 1], whole=False, below=True, above=False)
    (['0–9', '≥ 10'], ['< 0.5', '0.5–1'])
    >>> number_names([94, 95, 96], whole=True, below=False, above=False)
    ['94', '95']
    """
    names = [_between(low, high, whole=whole) for low, high in itertools.pairwise(edges)]
    if above:
        names[-1] = f"≥ {_short(edges[-2])}"
    if below:
        names[0] = f"< {_short(edges[1])}" if len(names) > 1 else "all"
    return names


def date_edges(low: float, high: float, most: int) -> tuple[list[float], list[str]]:
    """Borders of dates (days since 1970) in natural units, and the names of the bins.

    >>> date_edges(0, 700, 12)[1]
    ['1970 Q1', '1970 Q2', '1970 Q3', '1970 Q4', '1971 Q1', '1971 Q2', '1971 Q3', '1971 Q4']
    >>> date_edges(0, 5, 12)[1][:2], date_edges(-36500, 0, 12)[1][:2], date_edges(0, 300, 12)[1][0]
    (['1970-01-01', '1970-01-02'], ['1870–1879', '1880–1889'], '1970-01')
    """
    for days in DAYS:
        edges, names = _by_days(low, high, days) if high - low <= most * days else ([], [])
        if edges and len(names) <= most:
            return edges, names
    spans = ((m, _month(low) // m, _month(high) // m) for m in MONTHS)
    months, first, last = next(one for one in spans if one[2] - one[1] < most or one[0] == MONTHS[-1])
    edges = [_start(place * months) for place in range(first, last + 2)]
    return edges, [_period(place * months, months) for place in range(first, last + 1)]


def _by_days(low: float, high: float, days: int) -> tuple[list[float], list[str]]:
    """Weeks begin on Mondays; the first day of 1970 was a Thursday."""
    shift = 4 if days in (7, 14) else 0
    first, last = (math.floor((at - shift) / days) for at in (low, high))
    edges = [float(place * days + shift) for place in range(first, last + 2)]
    return edges, [_day(at) if days == 1 else f"from {_day(at)}" for at in edges[:-1]]


def _period(month: int, months: int) -> str:
    """A period of so many months that begins with this one, counted from the year 0."""
    year, inside = divmod(month, 12)
    if months == 1:
        return f"{year}-{inside + 1:02d}"
    if months in (3, 6):
        return f"{year} {'Q' if months == 3 else 'H'}{inside // months + 1}"
    return str(year) if months == 12 else f"{year}–{year + months // 12 - 1}"


def _month(days: float) -> int:
    at = EPOCH + datetime.timedelta(days=math.floor(days))
    return at.year * 12 + at.month - 1


def _start(month: int) -> float:
    """The first day of a month; years beyond the calendar count as its ends."""
    year = min(max(month // 12, 1), 9999)
    return float((datetime.date(year, month % 12 + 1, 1) - EPOCH).days)


def _day(days: float) -> str:
    return (EPOCH + datetime.timedelta(days=math.floor(days))).isoformat()


def _between(low: float, high: float, *, whole: bool) -> str:
    if whole and high - low <= 1:
        return _short(low)
    return f"{_short(low)}–{_short(high - 1 if whole else high)}"


def _short(number: float) -> str:
    """A number with at most six digits, whole ones with commas between the thousands.

    >>> _short(1400.0), _short(0.25), _short(-0.0), _short(2.5e-7), _short(3e15)
    ('1,400', '0.25', '0', '2.5e-07', '3e+15')
    """
    if float(number).is_integer() and abs(number) < 1e9:
        return f"{int(number):,}"
    return f"{number:.6g}"
