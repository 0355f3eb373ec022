"""Columns of numbers before and after, record by record."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.core.encoding import Encoded, numbers_of, tallied
from sfumato.core.metric import ColumnUtility
from sfumato.core.narrow_numbers import narrowed
from sfumato.core.schema import Kind
from sfumato.core.sums import PART, sum_in_parts
from sfumato.errors import SchemaError
from sfumato.methods.utility.cell_averages import gone, records_of
from sfumato.methods.utility.columns import EMPTY, numeric_of, quasi_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Joint

    Floats = NDArray[np.float64]


FEW = "two columns of numbers are needed"
Coded = tuple[Encoded, "NDArray[np.float64]"]


@dataclasses.dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers: ``before`` per original row, ``after`` per released row; NaN where there
    is none.

    A released range stands for its middle. Dates are days, ordered values their ranks.
    """

    before: Floats
    after: Floats


def numbers(pair: TablePair, name: str) -> Numbers:
    """A column as numbers, read once; :class:`SchemaError` where the original holds none."""
    if ("numbers", name) not in pair.memo:
        pair.memo["numbers", name] = _numbers(pair, name)
    column: Numbers = pair.memo["numbers", name]
    return column


def _numbers(pair: TablePair, name: str) -> Numbers:
    if name not in pair.released.columns:
        return Numbers(_original_numbers(pair, name), np.full(len(pair.released), np.nan))
    coded = coded_numbers(pair, name)
    if coded is None:
        return Numbers(numbers_of(pair.original, name), numbers_of(pair.released, name))
    return Numbers(
        # A number a code first, then one a row by looking it up.
        *(NumberColumn(side.narrow, values_of_codes).whole for side, values_of_codes in coded)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class NumberColumn:
    """One side of a column as numbers (NaN: none): ``values`` themselves, or codes whose numbers
    are ``places``.

    >>> NumberColumn(np.array([1, 0, 1]), np.array([20.0, 30.0])).part(slice(0, 2)).tolist()
    [30.0, 20.0]
    """

    values: NDArray[Any]
    places: Floats | None = None

    def __len__(self) -> int:
        return len(self.values)

    def part(self, rows: slice) -> Floats:
        """The numbers of some rows."""
        values: NDArray[Any] = self.values[rows]
        if self.places is None:
            return values
        # A column without values has no codes either.
        if len(self.places):
            return np.asarray(self.places[values])
        return np.zeros(0)

    @property
    def whole(self) -> Floats:
        """The numbers of all rows."""
        return self.part(slice(None))

    def any_number(self, parts: Sequence[slice]) -> bool:
        """Whether there is a number in some of these parts."""
        return any(not np.isnan(self.part(rows)).all() for rows in parts)


def number_columns(pair: TablePair, name: str) -> tuple[NumberColumn, NumberColumn]:
    """Both sides of a column as numbers; codes stay codes, so that nothing is made for every
    row.
    """
    coded = coded_numbers(pair, name)
    if coded is None:
        values = numbers(pair, name)
        return NumberColumn(values.before), NumberColumn(values.after)
    (before, values_of_codes), (after, middle) = coded
    return NumberColumn(before.narrow, values_of_codes), NumberColumn(after.narrow, middle)


def coded_numbers(pair: TablePair, name: str) -> tuple[Coded, Coded] | None:
    """Both sides of a column as codes and the number of every code; None where it is held as
    numbers.

    :class:`SchemaError` where the original holds none.
    """
    if name not in pair.released.columns or plainly_numeric(pair, name):
        return None
    reading = pair.reading(name)
    if reading.scale == "category":
        raise _no_numbers(pair, name)
    # A suppressed cell fits everything and has no middle worth taking.
    middle = np.where(reading.everything, np.nan, reading.middle)
    return (reading.before, reading.places), (reading.after, middle)


def plainly_numeric(pair: TablePair, name: str) -> bool:
    """Whether both sides of a column hold numbers, not labels: then there may be too many to look
    at each.
    """
    attribute = pair.original.schema[name]
    if (
        attribute.kind is not Kind.NUMERIC
        or attribute.order is not None
        or name not in pair.released.columns
    ):
        return False
    return pair.original.dtype(name).is_numeric() and pair.released.dtype(name).is_numeric()


def _original_numbers(pair: TablePair, name: str) -> Floats:
    if pair.original.schema[name].kind is not Kind.NUMERIC:
        raise _no_numbers(pair, name)
    return numbers_of(pair.original, name)


def _no_numbers(pair: TablePair, name: str) -> SchemaError:
    return SchemaError(
        f"column {name!r} of {pair.original.source.name} does not hold numbers, dates or ordered"
        " values; leave it out or give it kind numeric"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Amounts:
    """Numbers, each of them ``counts`` times (None: once); ``part`` makes those of a slice.

    Of a large table there is one for every row: what is only added up is never there as a whole.
    """

    size: int
    part: Callable[[slice], Floats]
    counts: NDArray[np.integer] | None = None

    @classmethod
    def of(cls, values: Floats, counts: NDArray[np.integer] | None = None) -> Amounts:
        """Numbers that are there as a whole."""
        return cls(len(values), values.__getitem__, counts)

    @classmethod
    def looked_up(
        cls, values: Floats, codes: NDArray[np.integer], counts: NDArray[np.integer] | None = None
    ) -> Amounts:
        """The numbers ``values[codes[i]]``, looked up part by part.

        >>> Amounts.looked_up(np.array([5.0, 7.0]), np.array([1, 1, 0])).total()
        19.0
        """
        return cls(len(codes), lambda rows: values[codes[rows]], counts)

    @functools.cached_property
    def values(self) -> Floats:
        """All numbers, made once."""
        return self.part(slice(0, self.size))

    @np.errstate(over="ignore", invalid="ignore")  # squares of very large numbers are infinite
    def total(self, of: Callable[[Floats], Floats] | None = None) -> float:
        """The sum of the numbers, or of what is made ``of`` each of them.

        >>> amounts = Amounts.of(np.array([1.0, 2.0]), np.array([3, 1]))
        >>> amounts.total(), amounts.total(np.square)
        (5.0, 7.0)
        """

        def parts(rows: slice) -> tuple[NDArray[Any]]:
            numbers = self.part(rows)
            if of is not None:
                numbers = of(numbers)
            # A cell that is there several times adds its amount as often.
            return (numbers if self.counts is None else numbers * self.counts[rows],)

        return sum_in_parts(self.size, parts)[0]

    def total_square(self, centre: float = 0.0, unit: float = 1.0) -> float:
        """The sum of ((number − centre) / unit)²."""
        return self.total(lambda numbers: ((numbers - centre) / unit) ** 2)

    @property
    def known(self) -> Amounts:
        """Those that are numbers."""
        is_known = ~np.isnan(self.values)
        if is_known.all():
            return self
        return Amounts.of(
            self.values[is_known], None if self.counts is None else self.counts[is_known]
        )

    def count_known(self) -> int:
        """How many of them are numbers; nothing is made for all of them at once.

        >>> Amounts.of(np.array([1.0, np.nan]), np.array([3, 1])).count_known()
        3
        """
        count = 0
        for start in range(0, self.size, PART):
            rows = slice(start, min(self.size, start + PART))
            is_known = ~np.isnan(self.part(rows))
            if self.counts is None:
                count += int(is_known.sum())
            else:
                count += int(self.counts[rows][is_known].sum())
        return count

    def __len__(self) -> int:
        if self.counts is None:
            return self.size
        return int(self.counts.sum())


@dataclasses.dataclass(frozen=True, eq=False)
class Errors:
    """How far released numbers are from the original ones, cells that were missing before left out
    (0, not ``known``).

    ``released`` are those of released rows, ``suppressed`` of records of which nothing was
    released; a suppressed cell stands at the mean. ``top`` are the errors of all original records
    if everything were suppressed. Each is there once for every row, or, where a column is known by
    its codes, once for every distinct cell: ``joint`` then tells that of every released row.
    ``truth`` and ``after`` are the numbers that the released errors lie between.
    """

    released: Amounts
    suppressed: Amounts
    top: Amounts
    truth: Amounts
    after: Amounts
    joint: Joint | None
    known: int
    deviation: float
    span: float

    def per_row(self, of: NDArray[Any]) -> Floats:
        """What was made of each of the ``released`` errors, for every released row."""
        return of if self.joint is None else of[self.joint.which]

    def missing(self, rows: slice) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of the released numbers were missing before, and which are now."""
        return np.isnan(self.truth.part(rows)), np.isnan(self.after.part(rows))


def errors(pair: TablePair, name: str) -> Errors:
    """The errors of a column, worked out once."""
    if ("errors", name) not in pair.memo:
        pair.memo["errors", name] = _errors(pair, name)
    error: Errors = pair.memo["errors", name]
    return error


def _errors(pair: TablePair, name: str) -> Errors:
    coded = coded_numbers(pair, name)
    if coded is None:
        values = numbers(pair, name)
        before = Amounts.of(values.before)
        lost = Amounts.of(values.before[gone(pair)])
        truth = Amounts.of(values.before[pair.rows])
        return _errors_of(before, lost, truth, Amounts.of(values.after), None)
    joint, (old, values_of_codes), (_, middle) = pair.joint(name), *coded
    # Suppressed records by code: how many had each value.
    suppressed = narrowed(tallied(old.narrow[gone(pair)], len(old.labels), None))
    truth = Amounts.looked_up(values_of_codes, joint.narrow_value, joint.narrow_count)
    before = Amounts.of(values_of_codes, old.counts)
    lost = Amounts.of(values_of_codes, suppressed)
    after = Amounts.looked_up(middle, joint.narrow_label)
    return _errors_of(before, lost, truth, after, joint)


@np.errstate(over="ignore", invalid="ignore")  # squares of very large numbers are infinite
def _errors_of(
    before: Amounts,
    lost: Amounts,
    truth: Amounts,
    after: Amounts,
    joint: Joint | None,
) -> Errors:
    """The errors of ``after`` beside its ``truth``; ``lost`` are the numbers of suppressed records,
    ``before`` all there were.
    """
    known_amounts = before.known
    mean = 0.0
    if len(known_amounts):
        mean = known_amounts.total() / len(known_amounts)
    spread = 0.0
    if len(known_amounts) > 1:
        # Over n − 1, as a sample's variance is estimated.
        spread = known_amounts.total_square(mean) / (len(known_amounts) - 1)

    def released(rows: slice) -> Floats:
        released_values = after.part(rows)
        return _or_none(
            # Who gets no number takes the mean for it, as one would without the release.
            np.where(np.isnan(released_values), mean, released_values) - truth.part(rows)
        )

    return Errors(
        Amounts(truth.size, released, truth.counts),
        Amounts(lost.size, lambda rows: _or_none(mean - lost.part(rows)), lost.counts),
        Amounts(before.size, lambda rows: _or_none(mean - before.part(rows)), before.counts),
        truth,
        after,
        joint,
        truth.count_known() + lost.count_known(),
        math.sqrt(spread),
        float(known_amounts.values.max() - known_amounts.values.min())
        if len(known_amounts)
        else 0.0,
    )


def _or_none(errors: Floats) -> Floats:
    """The errors; none where there was no number."""
    return np.where(np.isnan(errors), 0.0, errors)


def why_no_numbers(
    pair: TablePair, columns: Sequence[str], requested: Sequence[str] | None
) -> str | None:
    """The reason a metric of numbers does not apply, or None; columns asked for by name must hold
    numbers.
    """
    if not records_of(pair):
        return EMPTY
    if not columns:
        return "no column holds numbers; name the columns to compare"
    if requested is not None:
        for name in quasi_of(pair, requested):
            numbers(pair, name)
    return None


class OfNumbers(ColumnUtility):
    """A utility of columns of numbers, of ``fewest`` columns at least."""

    fewest: ClassVar[int] = 1

    def applies(self, pair: TablePair) -> str | None:
        """None where there are numbers in columns enough."""
        names = numeric_of(pair, self.columns)
        return why_no_numbers(pair, names, self.columns) or (
            FEW if len(names) < self.fewest else None
        )
