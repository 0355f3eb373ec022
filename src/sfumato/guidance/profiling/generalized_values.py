"""Columns that were generalized before: intervals such as ``20-24`` and masks such as ``537**``."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

# Round interval widths for a column of numbers.

# About how many intervals the finest level has.
INTERVALS = 20

MOST_LEVELS = 4


def nice_at_least(number: Decimal) -> Decimal:
    """The least number of the series 1, 2, 5, 10, 20, 50, … that is not smaller.

    >>> nice_at_least(Decimal("3.65")), nice_at_least(Decimal("0.02")), nice_at_least(Decimal("51"))
    (Decimal('5'), Decimal('0.02'), Decimal('1.0E+2'))
    """
    power = Decimal(1).scaleb(number.adjusted())
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= number)


def coarser_widths(width: Decimal, spread: Decimal) -> list[Decimal]:
    """Widths above one: round, each a multiple of the one before, none over half of the spread.

    >>> [int(width) for width in coarser_widths(Decimal(5), Decimal(80))]
    [10, 20]
    """
    widths: list[Decimal] = []
    while len(widths) < MOST_LEVELS - 1:
        width = _next_width(width)
        if width * 2 > spread:
            break
        widths.append(width)
    return widths


def _next_width(width: Decimal) -> Decimal:
    """The least round multiple of a width; twice the width where it is not round itself."""
    power = Decimal(1).scaleb(width.adjusted())
    rounds = (digit * power for digit in (2, 5, 10, 20, 50, 100))
    return next((n for n in rounds if n >= 2 * width and n % width == 0), 2 * width)


def widths_for(spread: float, *, whole: bool) -> list[int | float]:
    """Nested widths for numbers that spread over a range; whole numbers start with 2; [] if there
    is no range.

    >>> (
    ...     widths_for(73, whole=True),
    ...     widths_for(9, whole=True),
    ...     widths_for(0.8, whole=False),
    ...     widths_for(1, whole=True),
    ... )
    ([5, 10, 20], [2], [0.05, 0.1, 0.2], [])
    """
    if not spread > 0 or spread == float("inf"):
        return []
    exact = Decimal(repr(float(spread)))
    finest = nice_at_least(exact / INTERVALS)
    if whole:
        finest = max(finest, Decimal(2))
    if finest * 2 > exact:
        return []
    return [plain_number(width) for width in (finest, *coarser_widths(finest, exact))]


def plain_number(number: Decimal) -> int | float:
    """A number as a recipe writes it.

    >>> plain_number(Decimal("1E+2")), plain_number(Decimal("0.50"))
    (100, 0.5)
    """
    if number == number.to_integral_value():
        return int(number)
    return float(number)


_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)
_BRACKET = re.compile(rf"\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\)", re.ASCII)
_OPEN = re.compile(rf"(<|>=)\s*({_NUMBER})", re.ASCII)
_FOREIGN = re.compile(
    rf"[\[(\]]?\s*({_NUMBER})\s*(?:-|–|to|bis|à|a|do|till|,|;)\s*({_NUMBER})\s*[\])\[]?"
    rf"|{_NUMBER}\s*\+|[<>≤≥]=?\s*{_NUMBER}",
    re.I,
)
_MASKED_RIGHT = re.compile(r"[^*]+\*+")
_MASKED_LEFT = re.compile(r"\*+[^*]+")
TOP = "*"
# Records an open end must hold before its limit is written into a recipe.
FEWEST_IN_OPEN_END = 10


@dataclasses.dataclass(frozen=True)
class IntervalLabel:
    """An interval in a cell; an open end has one limit only."""

    low: Decimal | None
    high: Decimal | None

    @property
    def limit(self) -> Decimal:
        """The lower limit, or the only one."""
        if self.low is not None:
            return self.low
        return self.high or Decimal(0)

    @property
    def width(self) -> Decimal | None:
        """From one limit to the other; None for an open end."""
        if self.low is None or self.high is None:
            return None
        return self.high - self.low


def read_interval(text: str) -> IntervalLabel | None:
    """Read ``20-24`` (whole numbers, both ends inside), ``[20, 25)``, ``<20`` or ``>=80``; None for
    anything else.

    >>> read_interval("20-24").width, read_interval("[0.5, 1)").width, read_interval("24-20")
    (Decimal('5'), Decimal('0.5'), None)
    """
    if match := _RANGE.fullmatch(text):
        return _ordered(Decimal(match[1]), Decimal(match[2]) + 1)
    if match := _BRACKET.fullmatch(text):
        return _ordered(Decimal(match[1]), Decimal(match[2]))
    if match := _OPEN.fullmatch(text):
        limit = Decimal(match[2])
        if match[1] == "<":
            return IntervalLabel(None, limit)
        return IntervalLabel(limit, None)
    return None


def _ordered(low: Decimal, high: Decimal) -> IntervalLabel | None:
    return IntervalLabel(low, high) if low < high else None


def is_number(text: str) -> bool:
    """Whether a text is a finite number with a decimal point."""
    try:
        return Decimal(text).is_finite() and "_" not in text
    except InvalidOperation:
        return False


def looks_grouped(text: str) -> bool:
    """Whether a text is an interval in any usual notation, ours or not.

    >>> (
    ...     looks_grouped("20 to 24"),
    ...     looks_grouped("85+"),
    ...     looks_grouped("(0, 5]"),
    ...     looks_grouped("9-1"),
    ... )
    (True, True, True, False)
    """
    match = _FOREIGN.fullmatch(text)
    if match is None:
        return read_interval(text) is not None
    return match[1] is None or Decimal(match[1]) < Decimal(match[2])


def masked_side(texts: Iterable[str]) -> str | None:
    """``right`` or ``left`` when some texts end or begin in stars and no text has stars elsewhere.

    >>> (
    ...     masked_side(["537**", "53711"]),
    ...     masked_side(["**711"]),
    ...     masked_side(["537"]),
    ...     masked_side(["5*7"]),
    ... )
    ('right', 'left', None, None)
    """
    starred = [text for text in texts if TOP in text and text != TOP]
    if not starred:
        return None
    if all(map(_MASKED_RIGHT.fullmatch, starred)):
        return "right"
    if all(map(_MASKED_LEFT.fullmatch, starred)):
        return "left"
    return None


def intervals_around(counts: Mapping[str, int]) -> dict[str, object] | None:
    """Parameters of an ``intervals`` hierarchy that has all interval labels as nodes; None where
    there is none.

    The widths of the labels must be multiples of each other and their limits lie on one grid;
    coarser widths follow. Limits of open ends are taken over when they
    hold :data:`FEWEST_IN_OPEN_END` records each.

    >>> intervals_around({"20-24": 1, "25-29": 1, "95-99": 1})
    {'widths': [5, 10, 20]}
    """
    labels = {text: read_interval(text) for text in counts if text != TOP and not is_number(text)}
    if not labels or None in labels.values():
        return None
    intervals = [label for label in labels.values() if label is not None]
    widths = sorted({label.width for label in intervals if label.width is not None})
    if not widths or any(wide % narrow for narrow, wide in itertools.pairwise(widths)):
        return None
    origin = next(
        label.low % widths[-1]
        for label in intervals
        if label.width == widths[-1] and label.low is not None
    )
    if any(label.width and (label.limit - origin) % label.width for label in intervals):
        return None
    opened = _open_ends({t: label for t, label in labels.items() if label is not None}, counts)
    if opened is None:
        return None
    return _parameters(intervals, widths, origin, opened)


def _open_ends(
    labels: Mapping[str, IntervalLabel], counts: Mapping[str, int]
) -> dict[str, Decimal] | None:
    """``open_below`` and ``open_above``; None if there are several of a kind or one holds too few
    records.
    """
    opened: dict[str, Decimal] = {}
    for text, label in labels.items():
        if label.width is None:
            side = "open_below" if label.low is None else "open_above"
            if (
                opened.setdefault(side, label.limit) != label.limit
                or counts[text] < FEWEST_IN_OPEN_END
            ):
                return None
    return opened


def _parameters(
    labels: list[IntervalLabel], widths: list[Decimal], origin: Decimal, opened: dict[str, Decimal]
) -> dict[str, object] | None:
    limits = [label.limit for label in labels]
    spread = max(limits) - min(limits)
    chain = [*widths, *coarser_widths(widths[-1], spread)]
    # Every interval must end where an open end begins, on every level.
    while any((limit - origin) % chain[-1] for limit in opened.values()):
        if len(chain) == len(widths):
            return None
        chain.pop()
    options: dict[str, object] = {"widths": [plain_number(width) for width in chain]}
    if origin:
        options["origin"] = plain_number(origin)
    return options | {side: plain_number(limit) for side, limit in opened.items()}
