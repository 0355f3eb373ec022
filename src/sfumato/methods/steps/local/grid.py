"""The grid on which numbers and dates are cut and labelled, so that no range ends at the value of a
person.

A *cell* of the grid is a half-open interval. Values of one cell are never cut apart, and a range is
a union of neighbouring
cells: it is written by the limits of its first and last cell, whatever values lie inside. Where the
cells come from, in this order: a step that the recipe declares, level 1 of the column's hierarchy,
or a round step that the spread of the values suggests.

The *default step* of numbers is the least of 1, 2, 5, 10, 20, … (times a power of ten) that is at
least a tenth of the interquartile range of the different values, and at least 1 for whole numbers.
That of dates and times is the shortest period of :data:`PERIODS` that is at least as long. It
depends on the data, but only through the order of magnitude of their spread, and the plan states
it.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from sfumato.core.fields import Fields
from sfumato.core.hierarchy import TOP, Ladder
from sfumato.core.parameters import COLUMNS
from sfumato.core.periods import bounds, read_period
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.local.axes import Axis

    Floats = NDArray[np.float64]


SECOND = 10**9
"""Moments are counted in nanoseconds since the year 1."""
DAY = 86_400 * SECOND
MIDNIGHT = " 00:00:00"
"""How a time ends that says no more than its day."""
SHARE_OF_SPREAD = 10
"""The default step is at least the interquartile range over this: some twenty cells for values that
are spread evenly.
"""
PERIODS: dict[str, int] = {
    "second": SECOND,
    "10 seconds": 10 * SECOND,
    "minute": 60 * SECOND,
    "10 minutes": 600 * SECOND,
    "hour": 3_600 * SECOND,
    "6 hours": 21_600 * SECOND,
    "day": DAY,
    "week": 7 * DAY,
    "month": 31 * DAY,
    "quarter": 92 * DAY,
    "year": 366 * DAY,
    "5 years": 1_827 * DAY,
    "decade": 3_653 * DAY,
}
"""The steps of dates and times, and how long each is at most."""
Steps = Annotated[
    dict[str, int | float | str],
    COLUMNS,
    Field(
        description=(
            "step at which numbers (5) or dates (month) are cut; by default level 1 of the "
            "hierarchy, else a round step"
        )
    ),
]
"""The field of every step that writes ranges."""
Source = Literal["recipe", "hierarchy", "default", "order"]
_WHOLE = re.compile(r"(\d{1,300})(?:-(\d{1,300}))?|\[(\d{1,300})-(\d{1,300})\]", re.ASCII)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HALF_OPEN = re.compile(rf"\[({_NUMBER}), ({_NUMBER})\)", re.ASCII)
_OPEN = re.compile(rf"(<|>=)({_NUMBER})", re.ASCII)
CellLimits = tuple[Sequence[float], Sequence[float]]


@dataclasses.dataclass(frozen=True)
class LineGrid:
    """The cells of one line, by rank: rank *r* lies in a cell with the ranks ``first[r]`` to
    ``last[r]``.

    ``starts[r]`` and ``ends[r]`` are the limits of that cell as a label states them, on the scale
    of the line; ``write(low, high)`` is the label of all cells from that of rank ``low`` to that of
    rank ``high``. ``step`` says what the cells are.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    starts: Floats
    ends: Floats
    write: Callable[[int, int], str]
    step: str
    source: Source

    def describe(self) -> dict[str, str]:
        """The grid as plain data: it holds no value of a person."""
        return {"step": self.step, "source": self.source}


def require_steps(owner: str, steps: Mapping[str, int | float | str]) -> None:
    """Refuse steps that are neither positive numbers nor periods."""
    for name, step in steps.items():
        if isinstance(step, str):
            if step not in PERIODS:
                raise ParameterError(
                    f"{owner}: grid of {name!r} must be a positive number or one of"
                    f" {', '.join(PERIODS)}"
                )
        elif isinstance(step, bool) or not (math.isfinite(step) and step > 0):
            raise ParameterError(
                f"{owner}: grid of {name!r} must be a positive number or a period such as month"
            )


def describe_grids(axes: Iterable[Axis], columns: Collection[str]) -> dict[str, dict[str, str]]:
    """The grids of those columns that are numbers or dates, as plain data."""
    lines = {axis.column: axis.grid for axis in axes if axis.column in columns}
    return {
        name: grid.describe()
        for name, grid in lines.items()
        if grid is not None and grid.source != "order"
    }


def contradict_grid(
    step: str, plan_section: Fields, steps: Mapping[str, int | float | str]
) -> str | None:
    """That a plan tells of other grids than the recipe declares; None where it does not."""
    grids = plan_section.get("grid", {})
    problem = f"the plan of {step} names other grids than the recipe declares"
    if not isinstance(grids, Mapping):
        return problem
    for name, grid in grids.items():
        declared = steps.get(name)
        stated = None
        if declared is not None:
            stated = {"step": _written_step(declared), "source": "recipe"}
        if stated is not None and grid != stated:
            return problem
        if stated is None and (
            not isinstance(grid, Mapping) or grid.get("source") not in ("hierarchy", "default")
        ):
            return problem
    return None


def _written_step(step: int | float | str) -> str:
    if isinstance(step, str):
        return step
    return DecimalStep.of(step).times(1)


def ordered_grid(positions: Floats, labels: Sequence[str]) -> LineGrid:
    """Every value of a listed order is a cell of its own."""
    ranks = np.arange(len(labels))
    return LineGrid(
        ranks,
        ranks,
        starts=positions,
        ends=positions,
        write=lambda low, high: f"{labels[low]}..{labels[high]}",
        step="value",
        source="order",
    )


# Numbers.


class DecimalStep(NamedTuple):
    """The number mantissa · 10^exponent, exactly."""

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, number: float) -> DecimalStep:
        """A declared number, as it is written."""
        # repr() gives the shortest decimals that read back as the number: 0.1 is 1 · 10⁻¹.
        _, digits, exponent = Decimal(repr(number)).as_tuple()
        return cls(int("".join(map(str, digits))), int(exponent))

    @property
    def fraction(self) -> Fraction:
        """The same as a fraction."""
        return Fraction(self.mantissa) * Fraction(10) ** self.exponent

    def times(self, count: int) -> str:
        """A multiple of the step, as a plain decimal number.

        >>> DecimalStep(2, -1).times(-592), DecimalStep(5, 0).times(4), DecimalStep(1, 3).times(2)
        ('-118.4', '20', '2000')
        """
        product = count * self.mantissa
        exact = Decimal(
            (int(product < 0), tuple(int(digit) for digit in str(abs(product))), self.exponent)
        )
        if abs(self.exponent) > 30:
            return str(exact)
        text = format(exact, "f")
        if "." not in text:
            return text
        return text.rstrip("0").rstrip(".")


def default_step(values: Floats, *, whole: bool) -> DecimalStep:
    """The step that the spread of different values suggests.

    >>> (
    ...     default_step(np.arange(17.0, 91.0), whole=True),
    ...     default_step(np.array([0.25, 3.0, 3.5]), whole=False),
    ... )
    (DecimalStep(mantissa=5, exponent=0), DecimalStep(mantissa=2, exponent=-1))
    """
    target = _tenth_of_spread(values)
    if not target > 0:
        return DecimalStep(1, 0)
    if whole and target <= 1:
        return DecimalStep(1, 0)
    exponent = math.floor(math.log10(target))
    leading = Fraction(target) / Fraction(10) ** exponent
    # The next of 1, 2, 5 · 10ⁿ above: people read these at a glance.
    mantissa = next(m for m in (1, 2, 5, 10, 20) if m >= leading)
    return DecimalStep(mantissa, exponent)


def _tenth_of_spread(values: Floats) -> float:
    if len(values) < 2:
        return 0.0
    lower, upper = np.quantile(values / SHARE_OF_SPREAD, [0.25, 0.75])
    return float(upper - lower)


def number_grid(
    keys: Sequence[int | float], scale: float, declared: int | float | None
) -> LineGrid:
    """The grid of different numbers, ascending; the line has them at ``scale`` times their
    value.
    """
    whole = all(isinstance(key, int) for key in keys)
    if declared is None:
        step = default_step(np.array([float(key) for key in keys]), whole=whole)
    else:
        step = DecimalStep.of(declared)
    counts = _cell_numbers(keys, step.fraction)
    size = step.fraction
    cells = list(dict.fromkeys(counts))
    limits: list[tuple[Any, Any]]
    # Whole numbers: ranges are written with both ends inside, as 20-24.
    if whole and size.denominator == 1:
        width = int(size)
        negative = bool(counts) and counts[0] < 0

        def write(low: int, high: int) -> str:
            start = counts[low] * width
            end = (counts[high] + 1) * width - 1
            if start == end:
                return str(start)
            if negative:
                return f"[{start}, {end}]"
            return f"{start}-{end}"

        limits = [(count * width, (count + 1) * width - 1) for count in cells]
    else:

        def write(low: int, high: int) -> str:
            return f"[{step.times(counts[low])}, {step.times(counts[high] + 1)})"

        limits = [(count * size, (count + 1) * size) for count in cells]
    source: Source = "default" if declared is None else "recipe"
    lows, highs = (dict(zip(cells, ends, strict=True)) for ends in _scale_limits(limits, scale))
    of_ranks = [lows[count] for count in counts], [highs[count] for count in counts]
    return _from_cells(counts, of_ranks, write, step.times(1), source)


def _cell_numbers(keys: Sequence[int | float], step: Fraction) -> list[int]:
    """The cell of every number: the whole part of number / step, without rounding."""
    if all(isinstance(key, int) for key in keys):
        return [int(key) * step.denominator // step.numerator for key in keys]
    # Floats are divided fast; where the quotient may be off by one, exactly.
    width = float(step)
    if width < 1e-290 or math.isinf(width):
        return [_exact_cell(key, step) for key in keys]
    with np.errstate(over="ignore"):
        quotients = np.array([float(key) for key in keys]) / width
    nearest = np.rint(quotients)
    cells: list[int] = []
    # a quotient this near to a whole number may have been rounded across it
    tolerance = 1e-9 * np.maximum(1.0, np.abs(quotients))
    is_apart = np.abs(quotients - nearest) > tolerance
    unsure = ~is_apart | (np.abs(quotients) > 2.0**50)
    for key, quotient, is_unsure in zip(keys, quotients.tolist(), unsure.tolist(), strict=True):
        cells.append(_exact_cell(key, step) if is_unsure else math.floor(quotient))
    return cells


def _exact_cell(key: int | float, step: Fraction) -> int:
    return Fraction(repr(key)) // step


def _scale_limits(
    limits: Sequence[tuple[Any, Any]], scale: float
) -> tuple[list[float], list[float]]:
    """The limits of cells on the line."""
    if scale == 1.0:
        lows = [float(low) for low, _ in limits]
        highs = [float(high) for _, high in limits]
        return lows, highs
    factor = Fraction(scale)
    return [float(low * factor) for low, _ in limits], [float(high * factor) for _, high in limits]


def _from_cells(
    cells: Sequence[int],
    limits: tuple[Sequence[float], Sequence[float]],
    write: Callable[[int, int], str],
    step: str,
    source: Source,
) -> LineGrid:
    """A grid from the number of the cell of every rank, ascending."""
    # Cells 0 0 1 3 3 begin at ranks 0, 2 and 3.
    borders = [rank for rank in range(1, len(cells)) if cells[rank] != cells[rank - 1]]
    begins = np.array([0, *borders], dtype=np.int64)
    lengths: NDArray[np.int64] = np.array([*borders, len(cells)], dtype=np.int64) - begins
    first = np.repeat(begins, lengths)
    last = np.repeat(begins + lengths - 1, lengths)
    starts, ends = (np.array(limit, dtype=np.float64) for limit in limits)
    return LineGrid(first, last, starts=starts, ends=ends, write=write, step=step, source=source)


# Dates and times.


def moment(text: str) -> int | None:
    """Nanoseconds since the year 1 of a date, a time with a date, or a time of the day; times with
    a zone in UTC.
    """
    read = _read_moment(text)
    if read is None:
        return None
    when, extra = read
    start = datetime.datetime.min.replace(tzinfo=datetime.UTC if when.tzinfo else None)
    return (when - start) // datetime.timedelta(microseconds=1) * 1000 + extra


def _read_moment(text: str) -> tuple[datetime.datetime, int] | None:
    date_text, _, finer = text.partition(" +")
    try:
        when = datetime.datetime.fromisoformat(date_text)
    except ValueError:
        try:
            when = datetime.datetime.combine(
                datetime.date.min, datetime.time.fromisoformat(date_text)
            )
        except ValueError:
            return None
    nanoseconds = finer.removesuffix(" ns")
    return when, int(nanoseconds) if nanoseconds.isdigit() else 0


@dataclasses.dataclass(frozen=True)
class ColumnClock:
    """How the moments of a column are written: as days, as times of the day, or as both; and how
    finely they are counted.

    ``shift`` leads from UTC to the time that cells show, which ends with ``zone``.
    """

    form: Literal["days", "times", "moments"]
    resolution: int
    shift: int = 0
    zone: str = ""

    @classmethod
    def of(cls, texts: Sequence[str], keys: Sequence[int]) -> ColumnClock:
        """The clock of a column, from its different values."""
        midnights = all(text.endswith(MIDNIGHT) for text in texts)
        if midnights or (
            all(":" not in text for text in texts) and all(key % DAY == 0 for key in keys)
        ):
            return cls("days", DAY)
        resolution = next(
            unit for unit in (SECOND, 10**6, 10**3, 1) if all(key % unit == 0 for key in keys)
        )
        if all(key < DAY for key in keys):
            return cls("times", resolution)
        zones = {read[0].utcoffset() for read in map(_read_moment, texts) if read is not None}
        if zones == {None}:
            return cls("moments", resolution)
        shift = zones.pop() if len(zones) == 1 else None
        offset = shift or datetime.timedelta(0)
        zone = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone(offset)).isoformat()[19:]
        return cls("moments", resolution, offset // datetime.timedelta(microseconds=1) * 1000, zone)

    def write(self, start: int, end: int) -> str:
        """The range of all moments from ``start`` on and before ``end``."""
        return f"{self._text(start)}..{self._text(end - self.resolution)}"

    def _text(self, key: int) -> str:
        when = datetime.datetime.min + datetime.timedelta(microseconds=max(0, key) // 1000)
        if self.form == "days":
            return when.date().isoformat()
        finer = f" +{key % 1000} ns" if key % 1000 else ""
        if self.form == "times":
            text = when.time().isoformat()
        else:
            text = when.isoformat(" ")
        return f"{text}{self.zone}{finer}"


def date_grid(
    keys: Sequence[int], texts: Sequence[str], scale: float, declared: str | None
) -> LineGrid:
    """The grid of different moments, ascending."""
    clock = ColumnClock.of(texts, keys)
    if declared is not None:
        period = declared
    else:
        period = default_period(keys, clock)
    cells = [_period_around(key + clock.shift, period) for key in keys]

    def write(low: int, high: int) -> str:
        return clock.write(cells[low][0], cells[high][1])

    limits = []
    for start, end in cells:
        first = (start - clock.shift) * scale
        last = (end - clock.resolution - clock.shift) * scale
        limits.append((first, last))
    source: Source = "default" if declared is None else "recipe"
    numbers = [start for start, _ in cells]
    lows = [low for low, _ in limits]
    highs = [high for _, high in limits]
    return _from_cells(numbers, (lows, highs), write, period, source)


def default_period(keys: Sequence[int], clock: ColumnClock) -> str:
    """The period that the spread of different moments suggests."""
    target = _tenth_of_spread(np.array(keys, dtype=np.float64)) * (1 - 1e-9)
    periods = [name for name, length in PERIODS.items() if clock.form != "days" or length >= DAY]
    if clock.form == "times":
        periods = [name for name in periods if PERIODS[name] <= DAY]
    return next((name for name in periods if PERIODS[name] >= target), periods[-1])


def _period_around(key: int, period: str) -> tuple[int, int]:
    """The first moment of the period a moment lies in, and the first one after it."""
    length = PERIODS[period]
    if length < DAY:
        start = key // length * length
        return start, start + length
    ordinal = min(max(1, key // DAY + 1), datetime.date.max.toordinal())
    day = datetime.date.fromordinal(ordinal)
    if period == "5 years":
        year = day.year // 5 * 5
        years = []
        for offset in (0, 4):
            first_year = min(max(1, year + offset), datetime.MAXYEAR)
            years.append(datetime.date(first_year, 1, 1))
        low = bounds("year", years[0])[0]
        high = bounds("year", years[1])[1]
    else:
        low, high = bounds(period, day)  # type: ignore[arg-type]  # a period of a day or more
    first_moment = (max(1, low) - 1) * DAY
    end_day = min(high, datetime.date.max.toordinal() + 1)
    last_moment = (end_day - 1) * DAY
    return first_moment, last_moment


# Level 1 of a hierarchy.


class LabelExtent(NamedTuple):
    """What a label of a hierarchy covers, from ``low`` on and before ``high``; None is an open
    end.
    """

    low: Fraction | None
    high: Fraction | None
    low_text: str = ""
    high_text: str = ""
    whole: bool = False
    wrapped: bool = False

    def holds(self, key: int | float) -> bool:
        """Whether a number lies inside."""
        number = Fraction(repr(key))
        return (self.low is None or self.low <= number) and (
            self.high is None or number < self.high
        )


def _read_extent(label: str) -> LabelExtent | None:
    if match := _WHOLE.fullmatch(label):
        wrapped = match[1] is None
        low = int(match[1] or match[3])
        high = int(match[4] or match[2] or match[1]) + 1
        if not (low < high):
            return None
        return LabelExtent(
            Fraction(low),
            Fraction(high),
            low_text=str(low),
            high_text=str(high),
            whole=True,
            wrapped=wrapped,
        )
    if match := _HALF_OPEN.fullmatch(label):
        return LabelExtent(Fraction(match[1]), Fraction(match[2]), match[1], match[2])
    if match := _OPEN.fullmatch(label):
        end = Fraction(match[2])
        if match[1] == "<":
            return LabelExtent(None, end, "", match[2])
        return LabelExtent(end, None, match[2], "")
    return None


def _written_extent(first: LabelExtent, last: LabelExtent) -> str:
    if first.low is None and last.high is None:
        return TOP
    if first.low is None:
        return f"<{last.high_text}"
    if last.high is None:
        return f">={first.low_text}"
    if first.whole and last.whole:
        text = f"{first.low_text}-{int(last.high_text) - 1}"
        if first.wrapped and last.wrapped:
            return f"[{text}]"
        return text
    return f"[{first.low_text}, {last.high_text})"


def hierarchy_grid(
    ladder: Ladder, codes: Sequence[int], keys: Sequence[Any], texts: Sequence[str] | None
) -> LineGrid | None:
    """The cells that level 1 of a hierarchy makes of a line; None where its labels are no
    neighbouring intervals.

    ``codes`` are the codes of the values, ascending by ``keys``; ``texts`` are the values of dates,
    None for numbers.
    """
    nodes = ladder.climb(0, 1)[np.array(codes, dtype=np.int64)].tolist()
    labels = [ladder.labels[1][node] or "" for node in nodes]
    if len(set(nodes)) != 1 + sum(first != second for first, second in itertools.pairwise(nodes)):
        return None
    if texts is None:
        cells = _number_cells(labels, keys)
    else:
        cells = _period_cells(labels, keys, texts)
    if cells is None:
        return None
    limits, join = cells

    def write(low: int, high: int) -> str:
        if nodes[low] == nodes[high]:
            return labels[low]
        return join(low, high)

    return _from_cells(nodes, limits, write, "level 1 of the hierarchy", "hierarchy")


def _number_cells(
    labels: Sequence[str], keys: Sequence[Any]
) -> tuple[CellLimits, Callable[[int, int], str]] | None:
    readings = {label: _read_extent(label) for label in set(labels)}
    extents: list[LabelExtent] = []
    for label, key in zip(labels, keys, strict=True):
        extent = readings[label]
        if extent is None or not extent.holds(key):
            return None
        extents.append(extent)
    for before, after in itertools.pairwise(extents):
        if before != after and (
            before.high is None or after.low is None or before.high > after.low
        ):
            return None
    lows = [float(keys[0] if e.low is None else e.low) for e in extents]
    highs = []
    for e in extents:
        highs.append(float(keys[-1] if e.high is None else e.high - int(e.whole)))
    return (lows, highs), lambda low, high: _written_extent(extents[low], extents[high])


def _period_cells(
    labels: Sequence[str], keys: Sequence[int], texts: Sequence[str]
) -> tuple[CellLimits, Callable[[int, int], str]] | None:
    clock = ColumnClock.of(texts, keys)
    periods = {label: read_period(label) for label in set(labels)}
    cells: list[tuple[int, int]] = []
    for label, key in zip(labels, keys, strict=True):
        period = periods[label]
        if period is None or clock.form == "times":
            return None
        cell = _period_around((period[1].toordinal() - 1) * DAY, period[0])
        if not cell[0] <= key + clock.shift < cell[1]:
            return None
        cells.append(cell)
    lows = [float(start - clock.shift) for start, _ in cells]
    highs = [float(end - clock.resolution - clock.shift) for _, end in cells]
    return (lows, highs), lambda low, high: clock.write(cells[low][0], cells[high][1])
