"""Counts of several tables: histograms, tables of two and more columns, quantiles from bins."""

from __future__ import annotations

import abc
import math
from collections.abc import Generator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field as Limit

from sfumato.core.declared import DeclaredTable, as_floats, declared, require_declared
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.parties.arithmetic import Arithmetic, at_least, none_below
from sfumato.parties.question import Meeting, NoisyPart, Numbers
from sfumato.parties.statistics import (
    CHANGE_ONE,
    FilteredStatistic,
    Where,
    checked_where,
    count_rows,
    public_table,
    require_readable,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

MOST_CELLS = 1 << 22
NO_CHI_SQUARE = (
    "χ² is withheld: some counts are too small to publish, and it depends on them; ask with fewer "
    "values or wider bins, or with noise"
)


@parameters
class TableSide:
    """One side of a table of counts: a column with the values that may occur (``domain``) or with
    the ends of bins (``edges``).

    Other values count in no cell; a number at an inner edge belongs to the bin above it, at the
    last edge to the last bin.
    """

    column: str
    domain: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.domain) == bool(self.edges):
            raise ParameterError(
                f"column {self.column!r} needs either the domain of its values or the edges of bins"
            )
        if len(set(self.domain)) < len(self.domain):
            raise ParameterError(
                f"the domain of column {self.column!r} has a value twice; list it once"
            )
        require_readable(self.column, self.domain)
        if self.edges and (len(self.edges) < 2 or any(a >= b for a, b in pairwise(self.ends))):
            raise ParameterError(
                f"the edges of column {self.column!r} must be two or more increasing numbers"
            )

    @property
    def ends(self) -> list[Fraction]:
        """The edges, exactly."""
        try:
            return [Fraction(edge) for edge in self.edges]
        except (ValueError, ZeroDivisionError):
            raise ParameterError(
                f"the edges of column {self.column!r} must be decimal numbers, written as text"
            ) from None

    @property
    def labels(self) -> tuple[str, ...]:
        """What the cells are called."""
        if self.domain:
            return self.domain
        *inner, last = pairwise(self.edges)
        return (*(f"[{a}, {b})" for a, b in inner), f"[{last[0]}, {last[1]}]")

    def codes(self, table: DeclaredTable) -> NDArray[np.int64]:
        """The cell of every row, or the number after the last."""
        if self.domain:
            return table.codes(self.column)
        ends = np.array([float(end) for end in self.ends])
        numbers = as_floats(table.dataset.column(self.column))
        # the bin whose lower end is at or below the number; edges 0,10,20: 10 → bin 1
        bin_numbers = np.searchsorted(ends, numbers, side="right") - 1
        bin_numbers = np.where(numbers == ends[-1], len(ends) - 2, bin_numbers)
        # missing values compare as False and land in no bin
        inside = (numbers >= ends[0]) & (numbers <= ends[-1])
        return np.where(inside, bin_numbers, len(ends) - 1)


class _OfCounts(FilteredStatistic):
    """Counts of records in the cells of a table with public sides."""

    @property
    @abc.abstractmethod
    def sides(self) -> tuple[TableSide, ...]:
        """The sides of the table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The sides' and the filter's."""
        return (*(axis.column for axis in self.sides), *sorted(self.where))

    def _check(self) -> None:
        names = [axis.column for axis in self.sides]
        if len(set(names)) < len(names):
            raise ParameterError("a table of counts needs different columns")
        checked_where(self.where, tuple(names))
        if self.cells > MOST_CELLS:
            raise ParameterError(
                f"a table of {self.cells} cells is too large, at most {MOST_CELLS}; use "
                "fewer values"
            )

    @property
    def cells(self) -> int:
        """All combinations."""
        return math.prod(len(axis.labels) for axis in self.sides)

    @property
    def numbers_opened(self) -> int:
        """Counts are guarded themselves."""
        return 0

    def bound(self, records: int) -> int:
        """Above the number of records."""
        return records + 1

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """A record counts in one cell; changed, it leaves one and enters another."""
        change = neighbours == CHANGE_ONE
        return (NoisyPart(self.cells, 2 if change else 1, math.sqrt(2) if change else 1.0),)

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """Every cell."""
        cell_numbers, inside = self._cell_numbers(people)
        return np.bincount(cell_numbers[inside], minlength=self.cells).astype(np.int64)

    @property
    def cuts(self) -> Mapping[str, tuple[str, ...]]:
        """The edges of bins."""
        return {axis.column: axis.edges for axis in self.sides if axis.edges}

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """The rows that count in a cell."""
        return self._cell_numbers(people)[1]

    def _cell_numbers(self, people: Table) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The cell of every row, and whether it has one."""
        domains = {axis.column: axis.domain for axis in self.sides if axis.domain}
        table = public_table(people, {}, domains, self.where)
        people.require(self.columns)
        binned = {axis.column: (axis.ends[0], axis.ends[-1]) for axis in self.sides if axis.edges}
        # bins are checked as numbers, but not clipped: what lies outside counts nowhere
        require_declared(
            people,
            declared(Schema({}), bounds={k: (float(a), float(b)) for k, (a, b) in binned.items()}),
        )
        cell_numbers, inside = np.zeros(len(people), dtype=np.int64), count_rows(table, self.where)
        for axis in self.sides:
            codes = axis.codes(table)
            inside &= codes < len(axis.labels)
            # the last side varies fastest; rows outside get some cell, and inside drops them
            cell_numbers = cell_numbers * len(axis.labels) + np.minimum(codes, len(axis.labels) - 1)
        return cell_numbers, inside

    async def compute(self, people: Table, meeting: Meeting) -> Document:
        """Count; without noise, small cells are left out: nobody adds to them, and no statistic is
        made of what is left.
        """
        if meeting.noise:
            return await super().compute(people, meeting)
        # which cells are small is opened first, so that small ones are never added
        own = self.guarded(people)
        is_kept = await at_least(self._arithmetic(meeting), own, meeting.least_records)
        total = await self._added(np.where(is_kept, own, 0), meeting)
        # of fewer than one there are none, and that is no small count
        return self._answer(
            total, ~is_kept if meeting.least_records > 1 else np.zeros_like(is_kept)
        )

    def _arithmetic(self, meeting: Meeting) -> Arithmetic:
        return Arithmetic(meeting.channel, meeting.degree, meeting.draw)

    async def _added(self, own: NDArray[np.int64], meeting: Meeting) -> NDArray[np.int64]:
        """The counts of all parties together."""
        return np.asarray(
            await meeting.total(own, self.bound(meeting.records_at_most)), dtype=np.int64
        )

    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Count."""
        total = yield self.guarded(people)
        return self._answer(np.asarray(total, dtype=np.int64), np.zeros(self.cells, dtype=bool))

    @abc.abstractmethod
    def _answer(self, counts: NDArray[np.int64], left_out: NDArray[np.bool_]) -> Document:
        """The answer from the counts of all, some of which are not told."""

    def plain(self, people: Table) -> Document:
        """Count the rows."""
        return self._answer(self.guarded(people), np.zeros(self.cells, dtype=bool))


def _hide_counts(counts: NDArray[np.int64], left_out: NDArray[np.bool_]) -> list[int | None]:
    """Counts as they are told: None where one is left out, which may be anything below the
    least.
    """
    return [
        None if hidden else count
        for count, hidden in zip(counts.tolist(), left_out.tolist(), strict=True)
    ]


@parameters
class JointHistogram(_OfCounts):
    """How many records have each value of a column, or lie in each bin. Without noise small counts
    are not told: they are None, and so are those of nobody.
    """

    name: ClassVar[str] = "histogram"
    gives_away: ClassVar[str] = "the counts that are large enough; a party subtracts its own"

    axis: TableSide
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        self._check()

    @property
    def sides(self) -> tuple[TableSide, ...]:
        """One side."""
        return (self.axis,)

    def _answer(self, counts: NDArray[np.int64], left_out: NDArray[np.bool_]) -> Document:
        return {"counts": dict(zip(self.axis.labels, _hide_counts(counts, left_out), strict=True))}


@parameters
class JointContingencyTable(_OfCounts):
    """Counts of the combinations of two or more columns; of two, also Pearson's χ² and its degrees
    of freedom.

    Without noise small counts are not told (None), and then χ² is not, either: without them it
    would be another number, and with them one more equation about them.
    """

    name: ClassVar[str] = "contingency_table"
    gives_away: ClassVar[str] = (
        "the counts that are large enough; margins may reveal a single small one"
    )

    axes: Annotated[tuple[TableSide, ...], Limit(min_length=2)]
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        self._check()

    @property
    def sides(self) -> tuple[TableSide, ...]:
        """As given."""
        return self.axes

    def _answer(self, counts: NDArray[np.int64], left_out: NDArray[np.bool_]) -> Document:
        shape = [len(axis.labels) for axis in self.sides]
        shown_counts = (
            np.array(_hide_counts(counts, left_out), dtype=object).reshape(shape).tolist()
        )
        answer: Document = {
            "labels": [list(axis.labels) for axis in self.sides],
            "counts": shown_counts,
        }
        if len(shape) != 2:
            return answer
        if left_out.any():
            return answer | {"chi_square": None, "df": None, "why": NO_CHI_SQUARE}
        return answer | _chi_square(counts.reshape(shape))


def _chi_square(table: NDArray[np.int64]) -> Document:
    """Pearson's statistic over rows and columns in which there is somebody."""
    # empty rows and columns would divide by 0; noise may make counts negative
    occupied = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if occupied.size == 0 or min(occupied.shape) < 2 or occupied.min() < 0:
        return {"chi_square": None, "df": None}
    expected = np.outer(occupied.sum(axis=1), occupied.sum(axis=0)) / occupied.sum()
    return {
        "chi_square": float(((occupied - expected) ** 2 / expected).sum()),
        "df": int((occupied.shape[0] - 1) * (occupied.shape[1] - 1)),
    }


@parameters
class JointQuantiles(_OfCounts):
    """Quantiles of a column from its counts in public bins: ``lo + w(pN − F)/h`` within the bin
    that holds the p-th record.

    Without noise no bin may be small. Where one is, neighbouring bins are taken together, all by
    twos, then by fours, and so on, until none is: ``joined`` says by how many. One bit is opened
    for each try, so that of a bin in a larger one nobody knows more than that it holds between none
    and all of it; bins that were joined one by one would tell which are small, and two of 9 that
    make 18 would be told.
    """

    name: ClassVar[str] = "quantiles"
    gives_away: ClassVar[str] = "the counts of the bins, joined until none is small"

    axis: TableSide
    levels: Annotated[tuple[str, ...], Limit(min_length=1)] = ("0.25", "0.5", "0.75")
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        self._check()
        if not self.axis.edges:
            raise ParameterError("quantiles need the edges of bins")
        try:
            inside = all(0 < Fraction(level) < 1 for level in self.levels)
        except (ValueError, ZeroDivisionError):
            inside = False
        if not inside:
            raise ParameterError(
                "levels of quantiles must be decimals between 0 and 1, written as text"
            )

    @property
    def sides(self) -> tuple[TableSide, ...]:
        """One side."""
        return (self.axis,)

    async def compute(self, people: Table, meeting: Meeting) -> Document:
        """Join bins until none is small, and count."""
        least_records = meeting.least_records
        if meeting.noise or least_records <= 1:
            return await super().compute(people, meeting)
        own, joined = self.guarded(people), 1
        arithmetic = self._arithmetic(meeting)
        while not await none_below(arithmetic, own, least_records):
            if len(own) == 1:  # fewer records than the least in all bins together
                raise ReleaseRefused(
                    "the rule 'small_cells' refuses: the answer would depend on counts of too few "
                    "records"
                )
            # neighbours in pairs, an odd bin stays: 4, 9, 2 → 13, 2
            own, joined = np.add.reduceat(own, np.arange(0, len(own), 2)), 2 * joined
        return self._in_bins(await self._added(own, meeting), joined)

    def _answer(self, counts: NDArray[np.int64], left_out: NDArray[np.bool_]) -> Document:
        return self._in_bins(counts, 1)

    def _in_bins(self, counts: NDArray[np.int64], joined: int) -> Document:
        """The answer from the counts of bins, each of which is so many of the question's."""
        # every so many edges, and the last one, which a shorter last bin ends at
        edges = (*self.axis.edges[:-1:joined], self.axis.edges[-1])
        side = TableSide(self.axis.column, edges=edges)
        # noise may make counts negative, which no cumulated share can use
        positive_counts = np.maximum(counts, 0)
        return {
            "counts": dict(zip(side.labels, counts.tolist(), strict=True)),
            "joined": joined,
            "quantiles": {
                level: _quantile(side.ends, Fraction(level), positive_counts)
                for level in self.levels
            },
        }


def _quantile(ends: list[Fraction], level: Fraction, counts: NDArray[np.int64]) -> float | None:
    """The value below which a share of the records lies, as if they were spread evenly in their
    bin.
    """
    total = int(counts.sum())
    if total == 0:
        return None
    upto = np.cumsum(counts)
    # the first bin up to which enough records lie: it is not empty
    bin_number = int(np.argmax(upto >= math.ceil(level * total)))
    before, bin_count = int(upto[bin_number] - counts[bin_number]), int(counts[bin_number])
    share = (level * total - before) / bin_count
    return float(
        ends[bin_number] + (ends[bin_number + 1] - ends[bin_number]) * max(share, Fraction(0))
    )
