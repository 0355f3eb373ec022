"""The grid of interval limits: where a number or an interval label stands on it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sfumato.core.hierarchy import TOP
from sfumato.errors import InternalError
from sfumato.hierarchies.numbers import NUMBER, Exact, exact, on_axis, written
from sfumato.hierarchies.occurring import EVERYWHERE, Extent

_HALF_OPEN = re.compile(rf"\[\s*({NUMBER})\s*,\s*({NUMBER})\s*\)", re.ASCII)
_WHOLE = re.compile(r"(\d{1,300})-(\d{1,300})", re.ASCII)
_OPEN = re.compile(rf"(<|>=)\s*({NUMBER})", re.ASCII)


class Reading(NamedTuple):
    """What a cell says: a number (``low`` = ``high``), an interval, an open end (one side), or the top (neither)."""

    low: Exact | None
    high: Exact | None
    bracket: bool = False


def read(text: str) -> Reading | None:
    """Read a number or an interval label, or return None.

    >>> read("20-24") == Reading((20, 0), (25, 0)), read("older")
    (True, None)
    """
    number = exact(text)
    return Reading(number, number) if number is not None else _read_label(text.strip())


def _read_label(text: str) -> Reading | None:
    if text == TOP:
        return Reading(None, None)
    if found := _HALF_OPEN.fullmatch(text):
        return _span(exact(found[1]), exact(found[2]), bracket=True)
    if found := _WHOLE.fullmatch(text):
        return _span((int(found[1]), 0), (int(found[2]) + 1, 0), bracket=False)
    if found := _OPEN.fullmatch(text):
        end = exact(found[2])
        return None if end is None else Reading(None, end) if found[1] == "<" else Reading(end, None)
    return None


def _span(low: Exact | None, high: Exact | None, *, bracket: bool) -> Reading | None:
    if low is None or high is None:
        return None
    digits = max(0, -low[1], -high[1])
    return Reading(low, high, bracket) if on_axis(low, digits) < on_axis(high, digits) else None


class Fields(Protocol):
    """The numbers that make a grid."""

    @property
    def widths(self) -> Sequence[float]: ...  # noqa: D102
    @property
    def origin(self) -> float: ...  # noqa: D102
    @property
    def lower(self) -> float | None: ...  # noqa: D102
    @property
    def upper(self) -> float | None: ...  # noqa: D102
    @property
    def open_below(self) -> float | None: ...  # noqa: D102
    @property
    def open_above(self) -> float | None: ...  # noqa: D102


Ends = tuple[int | None, int | None]
"""Where a cell begins and ends on the axis, as far as it says."""


@dataclasses.dataclass(frozen=True)
class Grid:
    """The limits of all intervals, as whole positions on an axis with steps of 10^−digits."""

    digits: int
    widths: tuple[int, ...]
    origin: int
    lower: int | None
    upper: int | None
    below: int | None
    above: int | None

    @classmethod
    def of(cls, fields: Fields, readings: Sequence[Reading] = ()) -> Grid:
        """The grid of a hierarchy, fine enough for the numbers of all cells."""
        widths = [_exact(width) for width in fields.widths]
        others = (fields.origin, fields.lower, fields.upper, fields.open_below, fields.open_above)
        ends = [None if end is None else _exact(end) for end in others]
        numbers = [*widths, *ends, *(r.low for r in readings), *(r.high for r in readings)]
        digits = max(0, -min(n[1] for n in numbers if n is not None))
        origin, lower, upper, below, above = [None if n is None else on_axis(n, digits) for n in ends]
        return cls(digits, tuple(on_axis(w, digits) for w in widths), origin or 0, lower, upper, below, above)

    def ends(self, reading: Reading) -> Ends:
        """The ends of a cell on the axis."""
        low, high, _ = reading
        first = None if low is None else on_axis(low, self.digits)
        return first, first if high is low else None if high is None else on_axis(high, self.digits)

    def level(self, ends: Ends) -> int | None:
        """The level of the node a cell names: 0 for a number; None when it is no node of this grid."""
        low, high = ends
        if low == high:
            return len(self.widths) + 1 if low is None else 0
        if low is None or high is None:
            return 1 if ends in ((None, self.below), (self.above, None)) else None
        if high - low not in self.widths or (low - self.origin) % (high - low):
            return None
        return 1 if self.open_end(low) else self.widths.index(high - low) + 1

    def open_end(self, position: int) -> int:
        """Whether a position lies in the open end below (−1), above (1) or in none (0)."""
        if self.below is not None and position < self.below:
            return -1
        return int(self.above is not None and position >= self.above)

    def around(self, position: int) -> list[Extent]:
        """The intervals around a position, from the finest to the coarsest."""
        side = self.open_end(position)
        if side:
            extent = (EVERYWHERE[0], self.below) if side < 0 else (self.above, EVERYWHERE[1])
            return [extent] * len(self.widths)  # type: ignore[list-item]  # an open end that holds something exists
        starts = [self.origin + (position - self.origin) // width * width for width in self.widths]
        return [(low, low + width) for low, width in zip(starts, self.widths, strict=True)]

    def can_be_whole(self, ends: Sequence[Ends]) -> bool:
        """Whether labels like 20-24 can say it: whole numbers only, and no interval that starts below zero."""
        positions = [p for pair in ends for p in pair if p is not None]
        unit = 10**self.digits
        if any(p % unit for p in (*self.widths, self.origin, *positions)):
            return False
        closed = [low for low, _ in ends if low is not None and not self.open_end(low)]
        return not closed or self.around(min(closed))[-1][0] >= 0

    def label(self, extent: Extent, *, whole: bool) -> str:
        """How an interval is written."""
        low, high = extent
        if low == EVERYWHERE[0]:
            return f"<{written(int(high), self.digits)}"
        if high == EVERYWHERE[1]:
            return f">={written(int(low), self.digits)}"
        if not whole:
            return f"[{written(int(low), self.digits)}, {written(int(high), self.digits)})"
        first, last = int(low) // 10**self.digits, int(high) // 10**self.digits - 1
        return str(first) if first == last else f"{first}-{last}"


def _exact(number: float) -> Exact:
    found = exact(repr(number))
    if found is None:
        raise InternalError("a finite number of a hierarchy could not be read back")
    return found
