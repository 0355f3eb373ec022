"""Intervals: numbers in nested widths, on a grid that does not depend on the data."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, NamedTuple, Protocol

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Ladder, Paths
from sfumato.core.labels import text_of
from sfumato.core.parameters import Multiples, parameters
from sfumato.errors import InternalError, ParameterError, SchemaError
from sfumato.methods.hierarchies.bulk_ladders import (
    decimal_positions,
    has_many_values,
    ladder_by_nodes,
)
from sfumato.methods.hierarchies.leaf_lists import (
    EVERYWHERE,
    Extent,
    Number,
    PositiveNumber,
    extent_paths,
)

Exact = tuple[int, int]
"""``(m, e)`` stands for m · 10^e."""
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?"
_PARTS = re.compile(r"([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
LONGEST = 400
"""Digits and powers of ten beyond this do not come from measurements; a float has no more than 309.
"""
_HALF_OPEN = re.compile(rf"\[\s*({NUMBER})\s*,\s*({NUMBER})\s*\)", re.ASCII)
_WHOLE = re.compile(r"(\d{1,300})-(\d{1,300})", re.ASCII)
_OPEN = re.compile(rf"(<|>=)\s*({NUMBER})", re.ASCII)
Ends = tuple[int | None, int | None]
"""Where a cell begins and ends on the axis, as far as it says."""


# Numbers as they are written: exact, whatever their size, on one axis of whole steps.


def exact(text: str) -> Exact | None:
    """Read a decimal number without rounding, or return None.

    >>> exact("20.50"), exact("1e3"), exact("1_000"), exact("nan")
    ((205, -1), (1, 3), None, None)
    """
    text = text.strip()
    parts = None
    if len(text) <= LONGEST:
        parts = _PARTS.fullmatch(text)
    if parts is None:
        return None
    sign, whole, fraction, power = parts.groups()
    fraction = fraction.rstrip("0")
    exponent = int(power or 0) - len(fraction)
    if abs(exponent) > LONGEST:
        return None
    return int(f"{sign}{whole}{fraction}") if whole or fraction else 0, exponent


def on_axis(number: Exact, digits: int) -> int:
    """The position of a number on an axis with steps of 10^−digits, which must be fine enough for
    it.
    """
    mantissa, exponent = number
    return mantissa * int(10 ** (exponent + digits))


def format_position(position: int, digits: int) -> str:
    """A position as a plain decimal number.

    >>> format_position(2050, 2), format_position(-5, 1), format_position(20, 0)
    ('20.5', '-0.5', '20')
    """
    whole, decimals = divmod(abs(position), 10**digits)
    fraction = ""
    if decimals:
        fraction = str(decimals).zfill(digits).rstrip("0")
    return f"{'-' if position < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"


# The grid of interval limits: where a number or an interval label stands on it.


class CellReading(NamedTuple):
    """What a cell says: a number (``low`` = ``high``), an interval, an open end (one side), or the
    top (neither).
    """

    low: Exact | None
    high: Exact | None
    bracket: bool = False


def read_interval(text: str) -> CellReading | None:
    """Read a number or an interval label, or return None.

    >>> read_interval("20-24") == CellReading((20, 0), (25, 0)), read_interval("older")
    (True, None)
    """
    number = exact(text)
    if number is not None:
        return CellReading(number, number)
    text = text.strip()
    if text == TOP:
        return CellReading(None, None)
    if match := _OPEN.fullmatch(text):
        end = exact(match[2])
        if end is None:
            return None
        if match[1] == "<":
            return CellReading(None, end)
        return CellReading(end, None)
    low: Exact | None = None
    high: Exact | None = None
    if bracket := _HALF_OPEN.fullmatch(text):
        low = exact(bracket[1])
        high = exact(bracket[2])
    elif match := _WHOLE.fullmatch(text):
        low = (int(match[1]), 0)
        high = (int(match[2]) + 1, 0)
    if low is None or high is None:
        return None
    digits = max(0, -low[1], -high[1])
    if on_axis(low, digits) >= on_axis(high, digits):
        return None
    return CellReading(low, high, bracket is not None)


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
    def of(cls, fields: Fields, readings: Sequence[CellReading] = ()) -> Grid:
        """The grid of a hierarchy, fine enough for the numbers of all cells."""
        limits: list[Exact | None] = []
        ends = (fields.origin, fields.lower, fields.upper, fields.open_below, fields.open_above)
        for number in (*ends, *fields.widths):
            limit = None if number is None else exact(repr(number))
            if number is not None and limit is None:
                raise InternalError(
                    "a finite number of a hierarchy could not be read back; report this as a bug"
                )
            limits.append(limit)
        numbers = [*limits, *(r.low for r in readings), *(r.high for r in readings)]
        least_power = min(number[1] for number in numbers if number is not None)
        digits = max(0, -least_power)
        positions = [None if limit is None else on_axis(limit, digits) for limit in limits]
        origin, lower, upper, below, above, *widths = positions
        own_widths = []
        for width in widths:
            if width is not None:
                own_widths.append(width)
        return cls(digits, tuple(own_widths), origin or 0, lower, upper, below, above)

    def level(self, ends: Ends) -> int | None:
        """The level of the node a cell names: 0 for a number; None when it is no node of this
        grid.
        """
        low, high = ends
        if low == high:
            if low is not None:
                return 0
            return len(self.widths) + 1
        if low is None or high is None:
            if ends in ((None, self.below), (self.above, None)):
                return 1
            return None
        if high - low not in self.widths or (low - self.origin) % (high - low):
            return None
        if self.open_end(low):
            return 1
        return self.widths.index(high - low) + 1

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
            # an open end that holds something exists
            return [extent] * len(self.widths)  # type: ignore[list-item]
        starts = [self.origin + (position - self.origin) // width * width for width in self.widths]
        return [(low, low + width) for low, width in zip(starts, self.widths, strict=True)]

    def can_be_whole(self, ends: Sequence[Ends]) -> bool:
        """Whether labels like 20-24 can say it: whole numbers only, and no interval that starts
        below zero.
        """
        positions = []
        for pair in ends:
            for p in pair:
                if p is not None:
                    positions.append(p)
        unit = 10**self.digits
        if any(p % unit for p in (*self.widths, self.origin, *positions)):
            return False
        # Of the intervals between the open ends, the one that begins first.
        first = -math.inf if self.below is None else self.below
        end = math.inf if self.above is None else self.above
        closed = [low for low, _ in ends if low is not None and first <= low < end]
        return not closed or self.around(min(closed))[-1][0] >= 0

    def label(self, extent: Extent, *, whole: bool) -> str:
        """How an interval is written."""
        low, high = extent
        if low == EVERYWHERE[0]:
            return f"<{format_position(int(high), self.digits)}"
        if high == EVERYWHERE[1]:
            return f">={format_position(int(low), self.digits)}"
        if not whole:
            bounds = [format_position(int(bound), self.digits) for bound in (low, high)]
            return f"[{bounds[0]}, {bounds[1]})"
        first = int(low) // 10**self.digits
        last = int(high) // 10**self.digits - 1
        if first == last:
            return str(first)
        return f"{first}-{last}"

    def rows(
        self, values: Sequence[str], ends: Sequence[Ends], own: Sequence[int], *, whole: bool
    ) -> tuple[list[tuple[str, ...]], list[dict[str, Extent]]]:
        """The path of every cell, a node of level ``own``, and per level the extents of all
        labels.
        """
        extents: list[dict[str, Extent]] = [{} for _ in range(len(self.widths) + 1)]
        labels_above: dict[
            int, tuple[str, ...]
        ] = {}  # by the finest interval that a position lies in
        rows = []
        for text, (low, high), level in zip(values, ends, own, strict=True):
            above: tuple[str, ...] = (TOP,)
            extent = EVERYWHERE
            if low is not None or high is not None:
                position = low if low is not None else (high or 0) - 1
                start = (position - self.origin) // self.widths[0]
                if start not in labels_above:
                    around = self.around(position)
                    labels = [self.label(interval, whole=whole) for interval in around]
                    for rung, label, interval in zip(extents[1:], labels, around, strict=True):
                        rung[label] = interval
                    labels_above[start] = (*labels, TOP)
                above = labels_above[start]
                is_closed = low is not None and high is not None
                if is_closed:
                    extent = (low, high)  # type: ignore[assignment]
                else:
                    extent = extents[1][above[0]]
            if not level:
                rows.append((text, *above))
                continue
            # An inner node stays itself on all levels below its own, and has its extent there.
            for rung in extents[:level]:
                rung[text] = extent
            if len(above) > 1:
                above_labels = above[level - 1 :]
            else:
                above_labels = above
            rows.append((text,) * level + above_labels)
        return rows, extents


@parameters
class Intervals(Hierarchy):
    r"""Level *j* is the interval of width ``widths[j−1]`` a number lies in; the level above is
    ``*``.

    Intervals start at ``origin`` plus a multiple of the width, never at the data; each width is a
    multiple of the one before, so that they nest. They are labelled ``20-24`` where all numbers are
    whole and no interval starts below zero, ``[20, 25)`` otherwise. ``open_below=20`` puts all
    numbers under 20 in ``<20``, ``open_above=80`` all from 80 on in ``>=80``, on every level of
    intervals. Cells may hold such labels already.

    The loss of an interval *I* in the domain :math:`[L, U]` is its width inside the domain over the
    domain's,

    .. math:: |I \cap [L, U]| / (U - L)

    with *L* = ``lower`` and *U* = ``upper``, or the least and greatest number that occurs (an
    interval label counts with its ends); 0 for a number, 1 for the top, 0 for all where the domain
    is a point. Widths are real ones: ``20-24`` is 5 wide. ``leaves`` counts the numbers that occur.

    Reference: Iyengar 2002, doi:10.1145/775047.775089.

    >>> Intervals([5, 20], open_above=80).paths(["23", "91"], [1, 1]).rows
    (('23', '20-24', '20-39', '*'), ('91', '>=80', '>=80', '*'))
    """

    widths: Annotated[
        Sequence[PositiveNumber],
        AfterValidator(tuple),
        Field(
            min_length=1,
            description="interval widths from fine to coarse, each a multiple of the one before",
            examples=[(5, 10, 20), (3, 6, 12, 24), (10, 50), (1, 5, 25), (100, 500, 1000)],
        ),
        Multiples(),
    ]
    origin: Annotated[Number, Field(description="where an interval of every width starts")] = 0
    lower: Annotated[
        Number | None, Field(description="lower end of the domain; by default the least number")
    ] = None
    upper: Annotated[
        Number | None,
        Field(description="upper end of the domain; by default the greatest number"),
    ] = None
    open_below: Annotated[
        Number | None, Field(description="numbers under this are one interval on every level")
    ] = None
    open_above: Annotated[
        Number | None, Field(description="numbers from this on are one interval on every level")
    ] = None

    name: ClassVar[str] = "intervals"
    title: ClassVar[str] = "Intervals of numbers"
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        grid = Grid.of(self)
        for width, finer, coarser in zip(
            self.widths[1:], grid.widths, grid.widths[1:], strict=False
        ):
            if coarser <= finer or coarser % finer:
                raise ParameterError(
                    f"widths must be growing multiples of each other; {width} is not a multiple of "
                    "the one before"
                )
        for parameter, bound, end in (
            ("open_below", self.open_below, grid.below),
            ("open_above", self.open_above, grid.above),
        ):
            if end is not None and (end - grid.origin) % grid.widths[-1]:
                raise ParameterError(
                    f"{parameter}={bound} must be a limit of the widest intervals: {self.origin}"
                    f" plus a multiple of {self.widths[-1]}"
                )
        if grid.below is not None and grid.above is not None and grid.below > grid.above:
            raise ParameterError("open_below must not be greater than open_above")
        if grid.lower is not None and grid.upper is not None and grid.lower >= grid.upper:
            raise ParameterError("lower must be less than upper")

    def level_name(self, level: int, top: int) -> str:
        """The width of a level."""
        return f"width {self.widths[level - 1]:,g}"

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what is neither a number nor an interval of a level is
        counted and refused.
        """
        readings = [r for r in map(read_interval, values) if r is not None]
        grid = Grid.of(self, readings)
        # Where every cell begins and ends on the axis, as far as it says.
        ends: list[Ends] = []
        for reading in readings:
            low = None
            if reading.low is not None:
                low = on_axis(reading.low, grid.digits)
            high = low
            if reading.high is not reading.low:
                high = None
                if reading.high is not None:
                    high = on_axis(reading.high, grid.digits)
            ends.append((low, high))
        own = [level for level in map(grid.level, ends) if level is not None]
        if len(own) < len(values):
            raise SchemaError(
                f"intervals: {len(values) - len(own)} of {len(values)} distinct values are neither"
                " numbers (with a decimal point) nor intervals of this hierarchy; make them"
                " missing, correct them, or use a tree or a file"
            )
        whole = not any(reading.bracket for reading in readings) and grid.can_be_whole(ends)
        rows, extents = grid.rows(values, ends, own, whole=whole)
        # The domain, given or found.
        spans = []
        for cell in ends:
            positions = [position for position in cell if position is not None]
            if positions:
                spans.append((min(positions), max(positions)))
        low = grid.lower
        high = grid.upper
        if low is None:
            low = min((first for first, _ in spans), default=None)
        if high is None:
            high = max((last for _, last in spans), default=None)
        if low is None or high is None:
            return extent_paths(rows, own, extents, None)
        outside = sum(last < low or first > high for first, last in spans)
        if outside:
            raise SchemaError(
                f"intervals: {outside} of {len(spans)} distinct values lie outside the domain"
                f" (lower={self.lower}, upper={self.upper}); widen it, leave it out, or correct the"
                " values"
            )
        return extent_paths(rows, own, extents, (low, high))

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder of very many numbers, made at once; None where they are few or one is no plain
        number.
        """
        if not has_many_values(values):
            return None
        texts = text_of(values)
        read_numbers = decimal_positions(texts, Grid.of(self).digits)
        if read_numbers is None:
            return None
        positions, digits = read_numbers
        # the axis that the positions are on
        grid = Grid.of(self, [CellReading((1, -digits), None)])
        nodes = (positions - grid.origin) // grid.widths[0]
        # An open end is one node, whatever the number: its nearest regular node stands for it.
        if grid.below is not None:
            below_node = (grid.below - grid.origin) // grid.widths[0] - 1
            nodes = np.where(positions < grid.below, below_node, nodes)
        if grid.above is not None:
            above_node = (grid.above - grid.origin) // grid.widths[0]
            nodes = np.where(positions >= grid.above, above_node, nodes)
        # The domain depends on the least and the greatest number, the form of labels on whether
        # there is a fraction.
        deciding = [int(positions.argmin()), int(positions.argmax())]
        fractions = np.flatnonzero(positions % 10**digits)
        deciding += fractions[:1].tolist()
        return ladder_by_nodes(self, texts, nodes, deciding, missing=missing)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The ends of the domain, as far as they are given."""
        return self.lower, self.upper

    def settled(self, value: str) -> str:
        """A number drawn into the domain and, where all limits are whole, cut to a whole one: its
        intervals are then written alike.
        """
        number = exact(value)
        if number is None:
            return value
        grid = Grid.of(self, [CellReading(number, number)])
        position = on_axis(number, grid.digits)
        if grid.lower is not None:
            position = max(position, grid.lower)
        if grid.upper is not None:
            position = min(position, grid.upper)
        unit = 10**grid.digits
        whole = not any(limit % unit for limit in (*grid.widths, grid.origin))
        return format_position(position // unit * unit if whole else position, grid.digits)


def intervals(
    *widths: float,
    origin: float = 0,
    lower: float | None = None,
    upper: float | None = None,
    open_below: float | None = None,
    open_above: float | None = None,
) -> Intervals:
    """Nested intervals of these widths: ``sf.intervals(5, 10, 20)``. See :class:`Intervals`."""
    return Intervals(
        widths=widths,
        origin=origin,
        lower=lower,
        upper=upper,
        open_below=open_below,
        open_above=open_above,
    )
