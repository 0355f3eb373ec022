"""A hierarchy for a column, from its kind, its concept and its spread; with numbers of ours only,
never values.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import polars as pl

from sfumato.core import registry
from sfumato.core.encoding import label
from sfumato.core.fields import Document
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError
from sfumato.guidance.profiling.classification_codes import classified
from sfumato.guidance.profiling.columns import ProfiledColumn, count_values
from sfumato.guidance.profiling.generalized_values import (
    intervals_around,
    is_number,
    looks_grouped,
    masked_side,
    widths_for,
)
from sfumato.guidance.profiling.kinds import MOST_VALUES, all_dates, date_form, known_order

# Concepts whose codes say the large group with their first characters.
_CODED_FROM_LEFT = frozenset({"postal code", "region", "place of residence", "occupation"})

# Direct identifiers whose first parts say where they belong.
_ADDRESSES = frozenset({"ip address", "device id", "web address"})
_WEB = re.compile(r"https?://|www\.", re.I)
_CODE = re.compile(r"[A-Za-z0-9]{1,12}(?:[./:_|-][A-Za-z0-9]{1,12})*", re.ASCII)
_FEWEST_CODES = 3
_LONGEST_CODE = 12
# Numbers per whole number from the smallest to the largest, from which they are running ones.
_LEAST_DENSE = 0.8
_READ_AS = {Kind.NUMERIC: "numbers or intervals", Kind.DATE: "dates", Kind.TEXT: "labels"}
_AGES = 130
_DEGREES = [0.01, 0.1, 1]


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """A hierarchy in recipe syntax and the reason for it."""

    hierarchy: Document
    reason: str


def suggest(column: ProfiledColumn) -> Suggestion:
    """The hierarchy that fits a quasi-identifier best; any column has one, for ``suppress`` fits
    all.
    """
    card = column.card
    labels = _labels(column)
    return (
        _dates(column, labels)
        or _classified(column, labels)
        or _mask(column, labels)
        or _separated(labels)
        or _order(labels)
        or _intervals(column, labels)
        or (Suggestion({"suppress": {}}, "too few values to group") if card.distinct <= 3 else None)
        or _frequency(card.kind, card.distinct)
    )


def _frequency(kind: Kind, distinct: int) -> Suggestion:
    why = "no known grouping"
    if kind not in (Kind.NOMINAL, Kind.ORDINAL):
        why = f"not all values can be read as {_READ_AS[kind]}"
    return Suggestion(
        {"frequency": {"keep": prefix_lengths(distinct)}}, f"{why}: rare values are joined first"
    )


def prefix_lengths(distinct: int) -> list[int]:
    """How many frequent values each level keeps: powers of two below the number of values, 64 at
    most.

    >>> prefix_lengths(14), prefix_lengths(4), prefix_lengths(40), prefix_lengths(100_000)
    ([8, 4, 2], [2], [32, 8, 2], [64, 16, 4])
    """
    power = min(6, max(1, (distinct - 1).bit_length() - 1))
    step = 1 if power <= 3 else 2
    return [2**exponent for exponent in range(power, 0, -step)]


def _labels(column: ProfiledColumn) -> list[str]:
    """The distinct values as hierarchies will see them; a bounded look where there are very
    many.
    """
    if column.counts is None:
        return list(column.sample.texts)
    return [label(value) for value in column.counts.values.to_list()]


def _dates(column: ProfiledColumn, labels: list[str]) -> Suggestion | None:
    if column.card.kind is not Kind.DATE:
        return None
    if column.dtype.is_temporal():
        return Suggestion({"dates": {}}, "day, month, quarter, year, decade")
    form = date_form(column.sample.texts)
    if form is None or not all_dates(labels, form):
        return None
    options = {} if form.format is None else {"format": form.format}
    return Suggestion({"dates": options}, "month, quarter, year, decade")


def _classified(column: ProfiledColumn, labels: list[str]) -> Suggestion | None:
    offer = classified(column.card.name, labels, numbers=column.dtype.is_numeric())
    if offer is None:
        return None
    return Suggestion(offer.hierarchy, offer.reason)


def _mask(column: ProfiledColumn, labels: list[str]) -> Suggestion | None:
    concept = column.match.concept if column.match else None
    side = masked_side(labels)
    longest = max(map(len, labels), default=0)
    if side is not None and longest <= _LONGEST_CODE:
        return Suggestion({f"mask_{side}": {"length": longest}}, f"masked from the {side} already")
    if concept not in _CODED_FROM_LEFT or not 3 <= longest <= _LONGEST_CODE:
        return None
    if concept == "postal code" or (_codes_of_one_length(labels) and not _are_running(labels)):
        return Suggestion(
            {"mask_right": {"length": longest, **_filled_up(column, labels)}},
            "codes whose first characters say the larger area or group",
        )
    return None


def suggest_for_address(column: ProfiledColumn) -> Suggestion | None:
    """The hierarchy of network, hardware and web addresses, whatever the role of their column; None
    of any other column.
    """
    concept = column.match.concept if column.match else None
    if concept not in _ADDRESSES:
        return None
    return _separated(_labels(column))


def _separated(labels: list[str]) -> Suggestion | None:
    """Networks, web addresses, and codes whose parts stand between separators."""
    if len(labels) < _FEWEST_CODES:
        return None
    if _covers("networks", labels):
        return Suggestion({"networks": {}}, "addresses and their networks")
    if all(map(_WEB.match, labels)) and _covers("web_addresses", labels):
        return Suggestion({"web_addresses": {}}, "pages, hosts and their domains")
    if not all(map(_CODE.fullmatch, labels)):
        return None
    parts: Any = registry.family("hierarchies")["parts"].from_values(dict.fromkeys(labels, 1))
    with_digit = sum(any(map(str.isdigit, label)) for label in labels)
    if parts is None or with_digit < 0.9 * len(labels) or all(map(is_number, labels)):
        return None
    if any(map(looks_grouped, labels)):
        return None
    groups = {re.split(f"[{re.escape(parts.separators)}]", label)[0] for label in labels}
    # Groups that hold hardly more than one code each would say nothing.
    if 2 * len(groups) > len(labels):
        return None
    return Suggestion(
        {"parts": {"separators": parts.separators, "keep": list(parts.keep)}},
        "codes whose first parts say the larger group",
    )


def _covers(kind: str, labels: list[str]) -> bool:
    """Whether a hierarchy with its usual levels has a path for all labels."""
    hierarchy: Any = registry.build("hierarchies", {kind: {}})
    try:
        hierarchy.paths(labels, [1] * len(labels))
    except SchemaError:
        return False
    return True


def _filled_up(column: ProfiledColumn, labels: list[str]) -> dict[str, str]:
    """Numbers of different length have lost leading zeros, which a mask must have back."""
    lost = column.dtype.is_numeric() and len({len(text) for text in labels}) > 1
    return {"pad": "0"} if lost else {}


def _codes_of_one_length(labels: list[str]) -> bool:
    one_length = len({len(text) for text in labels}) == 1
    return one_length and all(any(map(str.isdigit, text)) for text in labels)


def _are_running(labels: list[str]) -> bool:
    """Whether whole numbers leave hardly one out, as villages 100 to 219 do: their first digits say
    nothing of where they are.
    """
    if not all(text.isascii() and text.isdigit() for text in labels):
        return False
    numbers = [int(text) for text in labels]
    return len(numbers) >= _LEAST_DENSE * (max(numbers) - min(numbers) + 1)


def _order(labels: list[str]) -> Suggestion | None:
    vocabulary = None
    if len(labels) <= MOST_VALUES:
        vocabulary = known_order(labels)
    if vocabulary is None:
        return None
    order = {"values": list(vocabulary.values), "sizes": vocabulary.sizes}
    return Suggestion({"order": order}, "neighbours in a known order")


def _intervals(column: ProfiledColumn, labels: list[str]) -> Suggestion | None:
    if column.card.kind not in (Kind.NUMERIC, Kind.ORDINAL) or not labels:
        return None
    if all(map(is_number, labels)):
        return _intervals_by_spread(column, labels)
    if not any(map(looks_grouped, labels)):
        return None
    around = intervals_around(_records_of(column))
    if around is None:
        return None
    return Suggestion({"intervals": around}, "the intervals in the column are nodes of it")


def _records_of(column: ProfiledColumn) -> dict[str, int]:
    """Every distinct value and how many records have it."""
    counts = column.counts or count_values(column.values.drop_nulls())
    return dict(zip(counts.values.to_list(), counts.counts.tolist(), strict=True))


def _intervals_by_spread(column: ProfiledColumn, labels: list[str]) -> Suggestion | None:
    """Round widths for the middle 98 % of the values, so that one outlier does not coarsen all."""
    numbers = column.values.drop_nulls().cast(pl.Float64, strict=False).drop_nulls()
    low, high = numbers.quantile(0.01), numbers.quantile(0.99)
    spread = (high or 0.0) - (low or 0.0)
    concept = column.match.concept if column.match else None
    if concept == "age" and spread <= _AGES and numbers.min() >= 0:  # type: ignore[operator]
        widths: list[int | float] = [width for width in (5, 10, 20) if width < spread] or [5]
    elif concept == "location" and spread > 0:
        widths = [width for width in _DEGREES if width < spread] or [0.01]
    else:
        widths = widths_for(spread, whole=all("." not in text for text in labels))
    if widths:
        return Suggestion(
            {"intervals": {"widths": widths}}, "round widths by the spread of the numbers"
        )
    return None
