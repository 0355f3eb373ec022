"""What can be asked of several tables by sums: each declared once, with its bounds, its reference
and what it reveals.

Numbers are clipped to public bounds and rounded to multiples of 2^−scale; on these everything is
exact, in whole numbers. Where squares are summed, the public middle of the bounds is
subtracted first: sums of squares of large numbers that lie close together would fill the range and
lose what matters.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Generator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field as Limit

from sfumato.core.declared import DeclaredTable, Relation, declared, require_declared
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.schema import Schema
from sfumato.errors import ParameterError
from sfumato.parties.question import JointStatistic, Magnitudes, NoisyPart, Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

Bounds = tuple[str, str]
"""The lowest and the highest value that counts, as decimals: exact, and the same on every machine.
"""
Where = Mapping[str, tuple[str, ...]]
"""Columns and the words that count; rows with others do not."""
Scale = Annotated[int, Limit(ge=0, le=40, description="binary places that are kept")]

CHANGE_ONE = "change_one"
MOST_UNITS = 10**7
"""Amounts are compared in units so coarse that a hundred times their sum can be compared in the
field.
"""


@functools.lru_cache(maxsize=256)
def _exact(bounds: Bounds) -> tuple[Fraction, Fraction]:
    try:
        low, high = (Fraction(text) for text in bounds)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            "bounds must be two decimal numbers, written as text: ['0', '120']"
        ) from None
    # 10^15 is below 2⁵³, so whole bounds are exact as floats
    if not low < high or max(abs(low), abs(high)) > 10**15:
        raise ParameterError("bounds are a lower and a higher number, up to 10^15")
    return low, high


class BoundedColumn:
    """A bounded column as whole numbers around the middle of its bounds."""

    def __init__(self, name: str, bounds: Bounds, scale: int) -> None:
        self.name, self.scale = name, scale
        self.low, self.high = _exact(bounds)
        # a whole number: the same on every machine, and exactly subtracted
        self.middle = math.floor((self.low + self.high) / 2)
        self.unit = 1 << scale

    @property
    def centre(self) -> float:
        """The middle of the bounds."""
        return float((self.low + self.high) / 2)

    @property
    def half(self) -> float:
        """Half of what lies between the bounds."""
        return float((self.high - self.low) / 2)

    @property
    def most(self) -> int:
        """The largest distance from the middle, in units."""
        return math.ceil(max(self.high - self.middle, self.middle - self.low) * self.unit)

    @property
    def largest(self) -> int:
        """The largest absolute value, in units."""
        return math.ceil(max(abs(self.low), abs(self.high)) * self.unit)

    def whole(self, values: NDArray[np.float64], low: int, high: int) -> NDArray[Any]:
        """Numbers in units, rounded; never beyond these limits, whatever floating point makes of
        the bounds.
        """
        rounded = np.rint(values * self.unit)
        # floats beyond 64 bits would be cast to nonsense
        if max(abs(low), abs(high)) >= 2**62:
            return np.array([min(max(int(number), low), high) for number in rounded], dtype=object)
        return np.clip(rounded.astype(np.int64), low, high)

    def value(self, total: int, squared: bool = False) -> Fraction:
        """A sum of these numbers, or of their squares, as a fraction."""
        return Fraction(int(total), self.unit**2 if squared else self.unit)


def public_table(
    people: Table,
    bounds: Mapping[str, Bounds],
    domains: Mapping[str, tuple[str, ...]],
    where: Where,
) -> DeclaredTable:
    """The rows of a party, read so that odd values raise no error: they are clipped, or do not
    count.
    """
    people.require([*bounds, *domains, *where])
    limits = {
        name: tuple(float(b) for b in _exact(column_bounds))
        for name, column_bounds in bounds.items()
    }
    # what the party's own schema declares is no part of the question
    declaration = declared(
        Schema({}), bounds=limits, domains={**{k: list(v) for k, v in where.items()}, **domains}
    )
    require_declared(people, declaration)
    return DeclaredTable.of(people, declaration, Relation())


def count_rows(table: DeclaredTable, where: Where) -> NDArray[np.bool_]:
    """The rows a filter leaves."""
    counts = np.ones(len(table.dataset), dtype=bool)
    for column, words in where.items():
        # the words have the codes 0, 1, …; everything else has the number after the last
        counts &= table.codes(column) < len(words)
    return counts


def centre_numbers(
    table: DeclaredTable, numeric: BoundedColumn
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Whole numbers around the middle, and per row whether there is one."""
    values, is_present = table.numbers(numeric.name)
    return numeric.whole(values - numeric.middle, -numeric.most, numeric.most), is_present


def whole_sum(values: NDArray[Any], wide: bool) -> int:
    """The sum as Python's own number where 64 bits might not do."""
    if wide and len(values):
        return int(values.astype(object).sum())
    return int(values.sum())


def whole_sums(sums: list[int], bound: int) -> Numbers:
    """Sums as an array, of Python's own numbers where 64 bits might not do."""
    return np.array(sums, dtype=np.int64 if bound < 2**62 else object)


def _sensitive_to(change: bool, low: int, high: int) -> int:
    """How far one record moves a sum of numbers from ``low`` to ``high``."""
    # a record that changes may also have had no number, which adds 0
    if change:
        return max(high, 0) - min(low, 0)
    return max(abs(low), abs(high))


def checked_where(where: Where, columns_used: tuple[str, ...]) -> None:
    """Refuse filters that say nothing, or that filter by what is asked about."""
    for column, words in where.items():
        if not words or len(set(words)) < len(words):
            raise ParameterError(f"where {column!r}: list each word once")
        if column in columns_used:
            raise ParameterError(
                f"column {column!r} is in the question and cannot filter too; filter by "
                "another column"
            )
        require_readable(column, words)


def require_readable(column: str, words: tuple[str, ...]) -> None:
    """Refuse words that mean one thing in a column of text and another in one of numbers or of yes
    and no.

    Whether a column is read as text depends on all its rows: one odd word in it must not move the
    others to other cells.
    """
    read = [_as_read(word) for word in words]
    if len(set(read)) < len(read) or any(
        isinstance(value, float) and not math.isfinite(value) for value in read
    ):
        raise ParameterError(
            f"column {column!r}: two of the words are the same number or truth value, or one is an "
            "infinite number; list each once"
        )


def _as_read(word: str) -> str | float:
    if word.lower() in ("true", "false"):
        return word.lower()
    try:
        return float(word)
    except ValueError:
        return word


class FilteredStatistic(JointStatistic):
    """A question about the rows that a filter leaves."""

    where: Where

    @property
    def filters(self) -> Where:
        """The filter."""
        return self.where

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """The rows the filter leaves."""
        return count_rows(public_table(people, {}, {}, self.where), self.where)


@parameters
class JointCount(FilteredStatistic):
    """How many records there are, or how many have certain values.

    >>> JointCount(where={"sex": ("f",)}).cells
    1
    """

    name: ClassVar[str] = "count"
    gives_away: ClassVar[str] = (
        "the number of records of all parties together; a party subtracts its own"
    )

    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        checked_where(self.where, ())

    @property
    def columns(self) -> tuple[str, ...]:
        """The filter's."""
        return tuple(sorted(self.where))

    @property
    def cells(self) -> int:
        """One."""
        return 1

    @property
    def numbers_opened(self) -> int:
        """A count is guarded itself."""
        return 0

    def bound(self, records: int) -> int:
        """Above the number of records."""
        return records + 1

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """One record counts one."""
        return (NoisyPart(1, 1, 1.0),)

    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Count."""
        total = yield self.guarded(people)
        return {"count": int(total[0])}

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """The count itself."""
        return np.array([int(self.rows(people).sum())])

    def plain(self, people: Table) -> Document:
        """Count the rows."""
        return {"count": int(self.rows(people).sum())}


@parameters
class _OfNumbers(FilteredStatistic):
    """Sums over the records that have a number in one column: some of how many, their sum, their
    squares.
    """

    powers: ClassVar[tuple[int, ...]] = (0, 1)

    column: str
    bounds: Bounds
    scale: Scale = 10
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        _exact(self.bounds)
        checked_where(self.where, (self.column,))

    @property
    def _numeric(self) -> BoundedColumn:
        return BoundedColumn(self.column, self.bounds, self.scale)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column and the filter's."""
        return (self.column, *sorted(self.where))

    @property
    def cells(self) -> int:
        """One a power."""
        return len(self.powers)

    def bound(self, records: int) -> int:
        """Every record at the farthest bound."""
        return int(records * self._numeric.most ** max(self.powers)) + 1

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """One part a power."""
        change = neighbours == CHANGE_ONE
        largest = self._numeric.most
        moves = [
            # even powers are never negative
            _sensitive_to(change, 0 if p % 2 == 0 else -(largest**p), largest**p)
            for p in self.powers
        ]
        return tuple(NoisyPart(1, move, float(move)) for move in moves)

    def _sums(self, people: Table) -> list[int]:
        table, rows = self._read(people)
        # centred, so that squares stay small (see the head of this file)
        values_kept = centre_numbers(table, self._numeric)[0][rows]
        wide = len(values_kept) * self._numeric.most ** max(self.powers) >= 2**62
        return [
            whole_sum(values_kept**p if not wide else values_kept.astype(object) ** p, wide)
            for p in self.powers
        ]

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """How many numbers there are."""
        return np.array([self._sums(people)[0]], dtype=np.int64)

    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Add up."""
        total = yield whole_sums(self._sums(people), self.bound(len(people)))
        return self._answer([int(n) for n in total])

    def magnitudes(self, people: Table, records: int) -> Magnitudes | None:
        """Absolute amounts, in units of which all records together have at most ten million.

        Also where a number may be negative: a lower bound just below zero must not lift the rule.
        """
        # so that all records at the farthest bound make MOST_UNITS
        unit = max(self._numeric.largest / self._numeric.unit * records / MOST_UNITS, 1e-300)
        amounts = np.sort(np.abs(self._values(people)))[::-1]
        # the largest are rounded up and the total down: in doubt the rule refuses
        largest = [math.ceil(amount / unit) for amount in amounts[:2]] + [0, 0]
        return Magnitudes(math.floor(math.fsum(amounts) / unit), (largest[0], largest[1]))

    @abc.abstractmethod
    def _answer(self, sums: list[int]) -> Document:
        """The answer from the sums of all."""

    def _values(self, people: Table) -> NDArray[np.float64]:
        table, rows = self._read(people)
        return table.numbers(self.column)[0][rows]

    @property
    def cuts(self) -> Mapping[str, tuple[str, ...]]:
        """Numbers are clipped at the bounds."""
        return {self.column: self.bounds}

    def _read(self, people: Table) -> tuple[DeclaredTable, NDArray[np.bool_]]:
        table = public_table(people, {self.column: self.bounds}, {}, self.where)
        return table, table.numbers(self.column)[1] & count_rows(table, self.where)

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """The rows the filter leaves that have a number: others do not count as anybody's
        contribution.
        """
        return self._read(people)[1]


@parameters
class JointSum(_OfNumbers):
    """The sum of a column over all records that have a number in it."""

    name: ClassVar[str] = "sum"
    gives_away: ClassVar[str] = (
        "the sum; where one record is far larger than all others, about that record "
        "(rule dominance)"
    )
    powers: ClassVar[tuple[int, ...]] = (1,)

    def bound(self, records: int) -> int:
        """Nothing is subtracted: how many records there are is not told."""
        return records * self._numeric.largest + 1

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """What one record adds, or changes."""
        low, high = (
            # away from zero, as rounding to units may move a bound outwards
            math.ceil(abs(b) * self._numeric.unit) * (1 if b >= 0 else -1)
            for b in _exact(self.bounds)
        )
        move = _sensitive_to(neighbours == CHANGE_ONE, low, high)
        return (NoisyPart(1, move, float(move)),)

    def _sums(self, people: Table) -> list[int]:
        values_kept = self._numeric.whole(
            self._values(people), -self._numeric.largest, self._numeric.largest
        )
        return [whole_sum(values_kept, len(values_kept) * self._numeric.largest >= 2**62)]

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """How many numbers there are."""
        return np.array([len(self._values(people))])

    def _answer(self, sums: list[int]) -> Document:
        return {"sum": float(self._numeric.value(sums[0]))}

    def plain(self, people: Table) -> Document:
        """Add the numbers."""
        return {"sum": math.fsum(self._values(people))}


@parameters
class JointMean(_OfNumbers):
    """The mean of a column, and over how many records it is taken."""

    name: ClassVar[str] = "mean"
    gives_away: ClassVar[str] = (
        "the sum and the number of records; parties that know all records but one know that one too"
    )

    def _answer(self, sums: list[int]) -> Document:
        count, total = sums
        if count < 1:
            mean = None
        else:
            mean = float(self._numeric.middle + self._numeric.value(total) / count)
        return {"count": count, "mean": mean}

    def plain(self, people: Table) -> Document:
        """The mean of the numbers."""
        values = self._values(people)
        return {
            "count": len(values),
            "mean": math.fsum(values) / len(values) if len(values) else None,
        }


@parameters
class JointVariance(_OfNumbers):
    """Mean and variance (divisor n − 1) of a column.

    In whole numbers: ``(nQ − S²) / (n(n − 1))`` with S the sum and Q the sum of squares around the
    middle of the bounds.
    """

    name: ClassVar[str] = "variance"
    gives_away: ClassVar[str] = (
        "the number of records, their sum and sum of squares: of two records both values"
    )
    powers: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def _answer(self, sums: list[int]) -> Document:
        return _moments(self._numeric, *sums)

    def plain(self, people: Table) -> Document:
        """Mean and variance of the numbers."""
        values = self._values(people)
        if not len(values):
            return {"count": 0, "mean": None, "variance": None}
        variance = None
        if len(values) > 1:
            variance = float(np.var(values, ddof=1))
        return {"count": len(values), "mean": float(values.mean()), "variance": variance}


def _moments(numeric: BoundedColumn, count: int, total: int, squares: int) -> Document:
    """Count, mean and variance; with noise they may make no sense, and are not told then."""
    if count < 1:
        return {"count": count, "mean": None, "variance": None}
    mean = float(numeric.middle + numeric.value(total) / count)
    # n Q − S² is n(n − 1) times the variance; noise may make it negative
    spread = count * squares - total**2
    variance = None
    if count > 1 and spread >= 0:
        variance = float(numeric.value(spread, squared=True) / (count * (count - 1)))
    return {"count": count, "mean": mean, "variance": variance}


@parameters
class JointMeanDifference(FilteredStatistic):
    """The difference of two groups' means, with Welch's test: t, its degrees of freedom and p.

    Reference: Welch 1947, doi:10.1093/biomet/34.1-2.28.
    """

    name: ClassVar[str] = "mean_difference"
    gives_away: ClassVar[str] = "number, sum and sum of squares of the records of each group"

    column: str
    bounds: Bounds
    by: str
    groups: tuple[str, str]
    scale: Scale = 10
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        checked_where(self.where, (self.column, self.by))
        if self.column == self.by or self.groups[0] == self.groups[1]:
            raise ParameterError(
                "mean_difference compares a column of numbers between two different values of"
                " another column"
            )

    @property
    def _group_questions(self) -> tuple[JointVariance, ...]:
        return tuple(
            JointVariance(self.column, self.bounds, self.scale, {**self.where, self.by: (group,)})
            for group in self.groups
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns and the filter's."""
        return (self.column, self.by, *sorted(self.where))

    @property
    def cells(self) -> int:
        """Three a group."""
        return 6

    def bound(self, records: int) -> int:
        """As of a variance."""
        return self._group_questions[0].bound(records)

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """Numbers, sums and squares of both groups: a record is in one of them, but may change to
        the other.
        """
        alone, changed = (
            self._group_questions[0].parts(relation) for relation in ("add_remove", CHANGE_ONE)
        )
        if neighbours != CHANGE_ONE:
            return tuple(NoisyPart(2, part.l1, part.l2) for part in alone)
        # a record leaves one group and enters the other, or stays in its group with another number
        return tuple(
            NoisyPart(2, 2 * part_alone.l1, max(math.sqrt(2) * part_alone.l2, part_changed.l2))
            for part_alone, part_changed in zip(alone, changed, strict=True)
        )

    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Six sums: numbers, sums, squares, each of both groups."""
        sums = [question._sums(people) for question in self._group_questions]
        # numbers of both groups, then sums, then squares: as parts() counts them
        total = yield whole_sums(
            [sum_value for pair in zip(*sums, strict=True) for sum_value in pair],
            self.bound(len(people)),
        )
        numeric = self._group_questions[0]._numeric
        return _welch(
            [_moments(numeric, *(int(n) for n in total[group::2])) for group in (0, 1)], self.groups
        )

    @property
    def cuts(self) -> Mapping[str, tuple[str, ...]]:
        """Numbers are clipped at the bounds."""
        return {self.column: self.bounds}

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """Those of both groups that have a number."""
        first_rows, second_rows = (question.rows(people) for question in self._group_questions)
        return first_rows | second_rows

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """The size of each group."""
        return np.concatenate([question.guarded(people) for question in self._group_questions])

    def plain(self, people: Table) -> Document:
        """Welch's test on the rows."""
        return _welch([question.plain(people) for question in self._group_questions], self.groups)


def _welch(moments: list[Document], names: tuple[str, str]) -> Document:
    groups = dict(zip(names, moments, strict=True))
    nothing: Document = {
        "groups": groups,
        "difference": None,
        "t": None,
        "df": None,
        "p": None,
    }
    if any(m["variance"] is None for m in moments):
        return nothing
    # squared standard errors of the two means
    errors = [m["variance"] / m["count"] for m in moments]
    difference = moments[0]["mean"] - moments[1]["mean"]
    # no spread in either group: t would divide by 0
    if sum(errors) == 0:
        return {**nothing, "difference": difference}
    from scipy.special import stdtr

    t = difference / math.sqrt(sum(errors))
    # degrees of freedom by Welch and Satterthwaite
    df = sum(errors) ** 2 / sum(
        e**2 / (m["count"] - 1) for e, m in zip(errors, moments, strict=True)
    )
    return {
        "groups": groups,
        "difference": difference,
        "t": t,
        "df": df,
        "p": float(2 * stdtr(df, -abs(t))),
    }
