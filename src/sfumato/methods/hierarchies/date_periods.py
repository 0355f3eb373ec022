"""Dates: the day, month, quarter, year and decade a date lies in."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, NamedTuple

import polars as pl
from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Ladder, Paths
from sfumato.core.labels import text_of
from sfumato.core.parameters import parameters
from sfumato.core.periods import Level, bounds, covers, read_period, write_period
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies.bulk_ladders import has_many_values, ladder_by_nodes
from sfumato.methods.hierarchies.leaf_lists import EVERYWHERE, Extent, extent_paths

USUAL: tuple[Level, ...] = ("month", "quarter", "year", "decade")
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:.+", re.ASCII)
_DAY_SECONDS = 86_400
_PLAIN_DAY = r"^[1-9]\d{3}-\d\d-\d\d$"
_PLAIN_TIME = r"^[1-9]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?$"
_EVERY = {"day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}
"""What polars calls the periods."""
_EPOCH = datetime.datetime(1970, 1, 1)


@parameters
class Dates(Hierarchy):
    r"""Level *j* is the period ``levels[j−1]`` a date lies in; the level above is ``*``.

    Without ``levels``: month, quarter, year, decade, with the day first where cells have a time of
    day. Labels: ``2024-03-15``, ``2024-W11``, ``2024-03``, ``2024-Q1``, ``2024``, ``2020s``. Weeks
    lie in no month, quarter or year, so ``week`` can only be the last level. Cells are ISO dates or
    datetimes (``2024-03-15 08:30``; a time zone is kept
    out: the date is the one that is written), or what ``format`` says in the language of
    ``strptime``; cells may hold the label of a period already and stay as they are up to the first
    level that contains it.

    The loss of a period *P* is the time it covers inside the range of the column, over that range,

    .. math:: |P \cap [\min, \max]| / (\max - \min)

    0 for a date, 1 for the top, 0 for all where the column has one date only. ``leaves`` counts the
    dates that occur.

    Reference: Iyengar 2002, doi:10.1145/775047.775089, for the loss.

    >>> Dates(["month", "year"]).paths(["2024-03-15", "2023"], [1, 1]).rows
    (('2024-03-15', '2024-03', '2024', '*'), ('2023', '2023', '2023', '*'))
    """

    levels: Annotated[
        Annotated[Sequence[Level], AfterValidator(tuple), Field(min_length=1)] | None,
        Field(
            description="periods from fine to coarse; none: month, quarter, year, decade",
            examples=[
                ("month", "year"),
                ("month", "quarter", "year", "decade"),
                ("quarter", "year"),
                ("week",),
                ("year", "decade"),
            ],
        ),
    ] = None
    format: Annotated[
        str | None, Field(description="how dates are written if not as in ISO 8601: %d.%m.%Y")
    ] = None

    name: ClassVar[str] = "dates"
    title: ClassVar[str] = "Periods of dates"
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for finer, coarser in itertools.pairwise(self.levels or ()):
            if finer == coarser or not covers(coarser, finer):
                raise ParameterError(
                    f"a {finer} does not lie within one {coarser}; levels go from fine to coarse"
                    " (day, month, quarter, year, decade), and week can only be the last one"
                )
        if self.format is not None:
            # A format that leaves out the day would make every month begin on its first: refuse
            # it
            directives = set(_directives(self.format))
            if not (
                directives & set("Yy")
                and (directives >= {"j"} or (directives & set("mbB") and "d" in directives))
            ):
                raise ParameterError(
                    "format must hold a year (%Y or %y), a month (%m, %b or %B) and a day (%d),"
                    " such as %d.%m.%Y"
                )

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; what is neither a date nor a period is counted and
        refused.
        """
        moments = [m for m in (self._read(value) for value in values) if m is not None]
        if len(moments) < len(values):
            raise SchemaError(
                f"dates: {len(values) - len(moments)} of {len(values)} distinct values are not"
                " dates; write them as 2024-03-15, give format='…' (such as %d.%m.%Y), or make"
                " them missing"
            )
        timed = any(m.period == "time" for m in moments)
        calendar = _Calendar(self.periods(timed=timed), "time" if timed else "day")
        own = [calendar.own(moment) for moment in moments]
        rows = [calendar.row(*cell) for cell in zip(values, moments, own, strict=True)]
        return extent_paths(rows, own, calendar.extents, calendar.range(moments))

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder of very many ISO dates or of times, made at once; None where they are few,
        mixed, or one is a period.
        """
        if not has_many_values(values) or self.format is not None:
            return None
        texts = text_of(values)
        # Plain values are all as long as the first, or the pattern below refuses them.
        timed = len(values[0]) > len("2024-03-15")
        if not texts.str.contains(_PLAIN_TIME if timed else _PLAIN_DAY).all():
            return None
        moments = texts.str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f" if timed else "%Y-%m-%d", strict=False, time_unit="us"
        )
        if moments.null_count():  # refused with a message, path by path
            return None
        first = self.periods(timed=timed)[0]
        if first != "decade":
            starts = moments.dt.truncate(_EVERY[first])
        else:
            starts = moments.dt.year() // 10
        nodes = starts.to_physical().cast(pl.Int64).to_numpy()
        # they decide the domain
        ends = [int(moments.arg_min()), int(moments.arg_max())]  # type: ignore[arg-type]
        return ladder_by_nodes(self, texts, nodes, ends, missing=missing)

    def periods(self, *, timed: bool) -> tuple[Level, ...]:
        """The periods of the levels below the top: those that are listed, else the usual ones, with
        the day first where cells have a time.
        """
        return tuple(self.levels or (("day", *USUAL) if timed else USUAL))

    def level_name(self, level: int, top: int) -> str:
        """The period of a level."""
        # With a day level there is one level more than usual: the height tells which it is.
        return self.periods(timed=top > len(USUAL) + 1)[level - 1]

    def of_height(self, top: int) -> Dates:
        """With the usual levels of dates, or of times of day, where that many are said."""
        usual = (self.periods(timed=timed) for timed in (False, True))
        return next(
            (
                dataclasses.replace(self, levels=periods)
                for periods in usual
                if len(periods) + 1 == top
            ),
            self,
        )

    def day_of(self, value: str) -> float | None:
        """The day of a date that is written as ``format`` says, with the part of the day where
        there is a time.
        """
        if self.format is None:
            return None
        try:
            when = datetime.datetime.strptime(value, self.format)
        except ValueError:
            return None
        return (when.replace(tzinfo=None) - _EPOCH) / datetime.timedelta(days=1)

    def _read(self, text: str) -> _Moment | None:
        if text == TOP:
            return _Moment("top", datetime.date.min, EVERYWHERE)
        if self.format is not None:
            try:
                return _moment(
                    datetime.datetime.strptime(text, self.format), timed=_has_time(self.format)
                )
            except ValueError:
                pass
        period = read_period(text)
        if period is not None:
            return _Moment(period[0], period[1], _seconds(bounds(*period)))
        return _read_time(text) if self.format is None else None


class _Moment(NamedTuple):
    """What a cell says: the kind of period, a day in it, and where it begins and ends, in
    seconds.
    """

    period: str
    day: datetime.date
    extent: Extent


def _read_time(text: str) -> _Moment | None:
    if not _DATE_AND_TIME.fullmatch(text):
        return None
    try:
        return _moment(datetime.datetime.fromisoformat(text), timed=True)
    except ValueError:
        return None


def _moment(when: datetime.datetime, *, timed: bool) -> _Moment:
    day = when.date()
    if not timed:
        return _Moment("day", day, _seconds(bounds("day", day)))
    fraction = when.microsecond / 1e6
    day_seconds = day.toordinal() * _DAY_SECONDS + when.hour * 3600
    second = day_seconds + when.minute * 60 + when.second + fraction
    return _Moment("time", day, (second, second))


def _seconds(days: tuple[int, int]) -> Extent:
    return days[0] * _DAY_SECONDS, days[1] * _DAY_SECONDS


class _Calendar:
    """The levels of a column whose finest values are days or times, and the extents of all
    labels.
    """

    def __init__(self, levels: tuple[Level, ...], finest: str) -> None:
        self.levels = levels
        self.finest = finest
        self.extents: list[dict[str, Extent]] = [{} for _ in range(len(levels) + 1)]
        self._seen: dict[tuple[Level, int, int], str] = {}

    def own(self, moment: _Moment) -> int:
        """The level of the node a cell names; a period that no level contains stays itself until
        the top.
        """
        if moment.period == self.finest:
            return 0
        containing = (
            i
            for i, level in enumerate(self.levels, 1)
            # A period that is none of the levels, a week say, is under no level that does not hold
            # it.
            if moment.period != "top" and covers(level, moment.period)
        )
        return next(containing, len(self.extents))

    def row(self, text: str, moment: _Moment, own: int) -> tuple[str, ...]:
        """The path of a cell that is a node of level ``own``."""
        for level in self.extents[:own]:
            level[text] = moment.extent
        above = [self._label(i, moment.day) for i in range(max(own, 1), len(self.extents))]
        return (*(text,) * max(own, 1), *above, TOP)

    def _label(self, index: int, day: datetime.date) -> str:
        level = self.levels[index - 1]
        # Only days and weeks change within a month: all other labels are made once a month.
        within_month = day.day if level in ("day", "week") else 0
        key = (level, day.year * 12 + day.month, within_month)
        if key not in self._seen:
            self._seen[key] = label = write_period(level, day)
            extent = _seconds(bounds(level, day))
            if level == self.finest:
                self.extents[index][label] = _point(extent)
            else:
                self.extents[index][label] = extent
        return self._seen[key]

    def range(self, moments: Sequence[_Moment]) -> Extent | None:
        """From the first to the last moment of the column."""
        ends = []
        for m in moments:
            if m.period != "top":
                if m.period == self.finest:
                    ends.append(_point(m.extent))
                else:
                    ends.append(m.extent)
        if not ends:
            return None
        return (min(e[0] for e in ends), max(e[1] for e in ends))


def _point(extent: Extent) -> Extent:
    """A finest value has no extent: nothing is lost by it."""
    return extent[0], extent[0]


def _directives(pattern: str) -> Iterator[str]:
    return (match[1] for match in re.finditer(r"%(.)", pattern, re.DOTALL))


def _has_time(pattern: str) -> bool:
    return bool(set(_directives(pattern)) & set("HI"))


def dates(*levels: Level, format: str | None = None) -> Dates:  # noqa: A002
    """Periods of the calendar: ``sf.dates()`` or ``sf.dates("month", "year")``.
    See :class:`Dates`.
    """
    return Dates(levels=levels or None, format=format)
