"""Ranges in released cells: what numbers or days a label stands for."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIR = re.compile(rf"[\[(]?\s*({_NUMBER})\s*(?:,|\.\.|–|-)\s*({_NUMBER})\s*[\])]?", re.ASCII)
_BELOW = re.compile(rf"(?:<=?|≤)\s*({_NUMBER})|({_NUMBER})-", re.ASCII)
_ABOVE = re.compile(rf"(?:>=?|≥)\s*({_NUMBER})|({_NUMBER})\+", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

Range = tuple[float, float]


def number(text: str) -> float | None:
    """A finite number in decimal notation, or None.

    >>> number("1e3"), number("nan"), number("1_0"), number("07")
    (1000.0, None, None, 7.0)
    """
    if not re.fullmatch(_NUMBER, text.strip(), re.ASCII):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def day(text: str) -> float | None:
    """A date (or date and time) in ISO notation as a number of days, or None.

    >>> day("1970-01-11"), day("2024-02-30")
    (10.0, None)
    """
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    since = moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
    return since / datetime.timedelta(days=1)


def range_of_numbers(text: str) -> Range | None:
    """The least and the greatest number a label may stand for; an open end is infinite. None for
    anything else.

    >>> (
    ...     range_of_numbers("25-26"),
    ...     range_of_numbers("[-1.5, 2]"),
    ...     range_of_numbers("90+"),
    ...     range_of_numbers("{3, 1, 2}"),
    ... )
    ((25.0, 26.0), (-1.5, 2.0), (90.0, inf), (1.0, 3.0))
    >>> (
    ...     range_of_numbers("7"),
    ...     range_of_numbers("<20"),
    ...     range_of_numbers("9-1"),
    ...     range_of_numbers("537**"),
    ... )
    ((7.0, 7.0), (-inf, 20.0), None, None)
    """
    alone = number(text)
    if alone is not None:
        return alone, alone
    if match := _PAIR.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        return (low, high) if low <= high else None
    if match := _BELOW.fullmatch(text):
        # Either spelling filled one of the two groups: <20 or 20-.
        return -math.inf, float(match[1] or match[2])
    if match := _ABOVE.fullmatch(text):
        return float(match[1] or match[2]), math.inf
    if text.startswith("{") and text.endswith("}"):
        members = [number(part) for part in text[1:-1].split(",")]
        numbers = [m for m in members if m is not None]
        if numbers and len(numbers) == len(members):
            return (min(numbers), max(numbers))
        return None
    return None


SECOND = 1 / 86_400
"""A second, in days."""


def range_of_days(text: str, *, timed: bool = False) -> Range | None:
    """The first and the last day, or moment, a label may stand for, as numbers of days; None for
    anything else.

    In a column with times of day (``timed``) a date without one stands for the whole day, up to its
    last second.

    >>> range_of_days("1970-01-02..1970-01-11"), range_of_days("1970-01-02"), range_of_days("1970")
    ((1.0, 10.0), (1.0, 1.0), None)
    >>> range_of_days("1970-01-02 12:00:00..1970-01-11 06:00:00")
    (1.5, 10.25)
    >>> [round(24 * end, 3) for end in range_of_days("1970-01-02", timed=True)]
    [24.0, 48.0]
    """
    first, apart, last = text.partition("..")
    # fromisoformat takes more than dates with dashes, such as 20240101, which is a number here.
    ends = []
    for end in (first, last) if apart else (first, first):
        if _DAY.match(end):
            ends.append(day(end))
        else:
            ends.append(None)
    if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        return None
    whole = timed and _DAY.fullmatch(last if apart else first) is not None
    return ends[0], ends[1] + 1 - SECOND if whole else ends[1]


def range_in_order(text: str, ranks: Mapping[str, float]) -> Range | None:
    """The ranks a label may stand for: a listed value, ``first..last``, or a set of listed values.

    >>> ranks = {"low": 0.0, "mid": 1.0, "high": 2.0}
    >>> (
    ...     range_in_order("low..mid", ranks),
    ...     range_in_order("{mid, high}", ranks),
    ...     range_in_order("all", ranks),
    ... )
    ((0.0, 1.0), (1.0, 2.0), None)
    """
    if text in ranks:
        return ranks[text], ranks[text]
    # A value may itself hold two dots, so every cut is tried.
    for cut in (at for at in range(1, len(text)) if text.startswith("..", at)):
        if text[:cut] in ranks and text[cut + 2 :] in ranks:
            return ranks[text[:cut]], ranks[text[cut + 2 :]]
    parts = [ranks.get(part.strip()) for part in text.strip("{}").split(",")]
    ends = [part for part in parts if part is not None]
    if ends and len(ends) == len(parts):
        return (min(ends), max(ends))
    return None


def places_of(
    values: Sequence[str | None], order: Sequence[str] | None = None
) -> tuple[list[float], Callable[[str], Range | None]]:
    """Where values lie on a line, and how labels of that line are read: ordered values, numbers or
    days.

    Values that lie on no line (and missing ones) have no place: NaN.

    >>> places, read = places_of(["3", None, "20"])
    >>> places, read("2-5")
    ([3.0, nan, 20.0], (2.0, 5.0))
    """
    if order is not None:
        ranks = {value: float(rank) for rank, value in enumerate(order)}
        return [math.nan if v is None else ranks.get(v, math.nan) for v in values], partial(
            range_in_order, ranks=ranks
        )
    # Numbers before days; the kind must fit all values.
    for locate, read in ((number, range_of_numbers), (day, range_of_days)):
        positions = [None if v is None else locate(v) for v in values]
        if all(f is not None or v is None for f, v in zip(positions, values, strict=True)):
            return [math.nan if f is None else f for f in positions], read
    return [math.nan] * len(values), lambda text: None
