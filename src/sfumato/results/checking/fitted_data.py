"""Whether the data that a model was fitted to are made of the records, in a way that leaves no room
for a number of somebody's choice.

A column that was moved or stretched by a value of a person carries that value into every
coefficient and mean. So only forms without a free constant count as made of a column: itself, in
units of powers of ten, its usual functions, centred and standardised by its own mean and deviation,
bands of round width, dummies; products of two of these.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sfumato.results.checking.contributing_records import ContributingRecords
    from sfumato.results.tables.arrays import Codes, Floats

SAMPLE = 512
"""Rows that are looked at first."""
FEW_LABELS = 40
"""Values that a column may have so that two of them are taken together."""
FUNCTIONS = (
    np.abs,
    np.log,
    np.log10,
    np.log2,
    np.log1p,
    np.sqrt,
    np.exp,
    np.square,
    np.reciprocal,
)
"""The usual functions of a column."""
ROUND = (1.0, 2.0, 2.5, 5.0)
"""Widths of bands, times powers of ten."""
UNITS = (7.0, 12.0, 24.0, 52.0, 60.0, 365.0, 365.25)
"""What times and amounts are counted in besides powers of ten: days of a week, months, hours,
weeks, minutes, days of a year.
"""
CODINGS = ((0.0, 1.0), (-1.0, 1.0), (1.0, 2.0), (-0.5, 0.5))
"""How yes and no are coded."""


class SourceColumns:
    """The columns of the records, and which columns of a model are made of them: dummies, bands,
    powers, logarithms and products.
    """

    def __init__(self, records: ContributingRecords) -> None:
        self.records = records

    @cached_property
    def _label_codes(self) -> list[Codes]:
        """Columns of text with values that return, as codes."""
        records, codes = self.records, []
        for name in records.dataset.columns:
            if records.is_numeric(name) or name == records.unit:
                continue
            encoded = records.dataset.encoded(name)
            # A label that nearly every record has for itself (a name, a key) would explain any
            # column.
            if 2 * len(encoded.labels) <= len(encoded.codes):
                codes.append(encoded.codes)
        return codes

    @cached_property
    def _numbers(self) -> dict[str, Floats]:
        """Columns of numbers by name."""
        numbers = {}
        for name in self.records.dataset.columns:
            if self.records.is_numeric(name):
                numbers[name] = self.records.numbers(name)
        return numbers

    @cached_property
    def _forms(self) -> list[tuple[Floats, list[AllowedForm]]]:
        """Columns of numbers without a missing one, and the forms of each."""
        complete = [base for base in self._numbers.values() if np.isfinite(base).all()]
        return [(base, list(_allowed_forms(base))) for base in complete if np.ptp(base) > 0]

    def explains(self, column: Floats) -> bool:
        """Whether a column follows from one of the records: the same value from the same value, or
        in the same order; yes and no may follow from two.
        """
        if not len(column) or np.ptp(column) == 0:
            return True
        bases = self._numbers.values()
        if any(_is_monotone(column, base) for base in bases):
            return True
        if any(_follows(column, codes) for codes in self._label_codes):
            return True
        if any(self._follows_number(column, base) for base in bases):
            return True
        if len(np.unique(column)) != 2:
            return False
        for codes, other_codes in itertools.combinations(self._few_values, 2):
            if _follows(column, codes * FEW_LABELS + other_codes):
                return True
        return False

    @staticmethod
    def _follows_number(column: Floats, base: Floats) -> bool:
        """Whether a column follows from the values of a column of numbers, which return."""
        rows = _sample_rows(column)
        if not _follows(column[rows], _as_codes(base[rows])):
            return False
        codes = _as_codes(base)
        # Values that hardly return explain anything: each record would have its own.
        returning = 2 * (int(codes.max(initial=0)) + 1) <= len(codes)
        return returning and _follows(column, codes)

    @cached_property
    def _few_values(self) -> list[Codes]:
        """Columns with few values, as codes."""
        numbers = [
            _as_codes(base)
            for base in self._numbers.values()
            if len(np.unique(base[:SAMPLE])) < FEW_LABELS
        ]
        columns = [*self._label_codes, *numbers]
        return [codes for codes in columns if int(codes.max(initial=0)) < FEW_LABELS]

    def has_bands(self, codes: Floats) -> bool:
        """Whether labels are bands of a column of numbers: in its order, each comes once."""
        labels = len(np.unique(codes))
        for base in self._numbers.values():
            # Sorted by the numbers every band is one run of equal labels: a, a, b, b, c has 3 runs.
            ordered = codes[np.argsort(base, kind="stable")]
            if int((np.diff(ordered) != 0).sum()) + 1 == labels:
                return True
        return False

    def name_of(self, column: Floats) -> str | None:
        """The column of the records that a column is; None where it is none of them as it is."""
        for name, base in self._numbers.items():
            if np.array_equal(base, column):
                return name
        return None

    def has_form(self, column: Floats) -> bool:
        """Whether a column is one of the records in a form without a free constant, or the constant
        one.
        """
        if not len(column) or np.ptp(column) == 0:
            return bool((column == 1).all())
        rows = _sample_rows(column)
        for base, forms in self._forms:
            if _is_form(column, base, forms, rows):
                return True
        return _is_coded(column) and self.explains(column)

    def explains_groups(self, codes: Floats) -> bool:
        """Whether numbers that we gave to groups follow from a column of the records."""
        numbered = np.array_equal(np.unique(codes), np.arange(codes.max(initial=-1) + 1))
        return bool(numbered) and self.explains(codes)

    def is_proportional(self, column: Floats) -> bool:
        """Whether a column of weights is in proportion, or in inverse proportion, to one of the
        records: its scale changes nothing.
        """
        if np.ptp(column) == 0:
            return True
        for base in self._numbers.values():
            with np.errstate(all="ignore"):
                factors = [column / base, column * base]
            for factor in factors:
                constant = np.isfinite(factor).all()
                if constant and np.ptp(factor) <= 1e-9 * np.abs(factor).max():
                    return True
        return _is_coded(column) and self.explains(column)

    def count_unexplained(self, design: Floats) -> int:
        """How many columns of a design are neither made of a column of the records nor the product
        of two others that are.
        """
        explained, unexplained = [], []
        for column in design.T:
            if not self.has_form(column):
                unexplained.append(column)
            elif np.ptp(column) > 0:
                explained.append(column)
        if unexplained:
            # Only where it is needed: products are tried for every pair.
            explained += self._numbers.values()
        return sum(not _is_product(column, explained) for column in unexplained)


class AllowedForm(NamedTuple):
    """A function of a column, and what its values may be multiplied by besides one; ``in_tens``: by
    any power of ten, too.
    """

    function: Callable[[Floats], Floats]
    units: tuple[float, ...] = ()
    in_tens: bool = True


def _allowed_forms(base: Floats) -> Iterator[AllowedForm]:
    """A column in all forms that leave no constant to choose."""
    yield AllowedForm(lambda x: x, (*UNITS, *(1 / unit for unit in UNITS)))
    for function in FUNCTIONS:
        yield AllowedForm(function)
    yield AllowedForm(lambda x: x**3)
    # The mean and the deviation of the column itself leave nothing to choose, unlike any other
    # number.
    mean = float(base.mean())
    yield AllowedForm(lambda x: x - mean)
    yield AllowedForm(lambda x: (x - mean) ** 2)
    for freedom in (0, 1):
        if len(base) > freedom:
            deviation = float(base.std(ddof=freedom))
        else:
            deviation = 0.0
        if deviation > 0:
            yield AllowedForm(partial(_standardise, mean=mean, deviation=deviation))
    # Bands from a thousandth of the largest value up to its own power of ten.
    largest = max(float(np.abs(base).max(initial=0.0)), 1e-9)
    top = int(np.floor(np.log10(largest)))
    for power, digit in itertools.product(range(min(top - 3, 0), top + 1), ROUND):
        width = digit * 10.0**power
        for rounding in (np.floor, np.round):
            bands = partial(_cut_bands, width=width, rounding=rounding)
            yield AllowedForm(bands, (width,), in_tens=False)


def _standardise(x: Floats, *, mean: float, deviation: float) -> Floats:
    return (x - mean) / deviation


def _cut_bands(x: Floats, *, width: float, rounding: Callable[[Floats], Floats]) -> Floats:
    return rounding(x / width)


def _is_form(column: Floats, base: Floats, forms: list[AllowedForm], rows: Codes) -> bool:
    """Whether a column is another one in some form, in units that the form may have, and either
    sign; first in some rows, which show most that it is none.
    """
    if len(base) != len(column):
        return False
    with np.errstate(all="ignore"):
        for form in forms:
            if not _is_multiple(column[rows], form.function(base[rows]), form):
                continue
            if _is_multiple(column, form.function(base), form):
                return True
    return False


def _is_multiple(column: Floats, values: Floats, form: AllowedForm) -> bool:
    """Whether a column is a multiple of some values by a unit that the form may have."""
    # The largest entry gives the factor with the smallest error.
    largest = int(np.argmax(np.abs(column)))
    finite = bool(np.isfinite(values).all()) and bool(np.isfinite(column).all())
    if not finite or values[largest] == 0 or column[largest] == 0:
        return False
    factor = float(column[largest] / values[largest])
    power = np.log10(abs(factor))
    in_tens = form.in_tens and abs(power - round(power)) <= 1e-9
    if not in_tens:
        units = np.array([1.0, *form.units])
        if (np.abs(abs(factor) - units) > 1e-9 * units).all():
            return False
    return bool((np.abs(column - factor * values) <= 1e-9 * np.abs(column).max()).all())


def _is_coded(column: Floats) -> bool:
    """Whether a column holds codes of labels: of two values as usual, of more whole numbers one
    after the other.
    """
    values = np.unique(column)
    if len(values) == 2:
        return tuple(values.tolist()) in CODINGS
    consecutive = values[0] in (-1.0, 0.0, 1.0) and bool((np.diff(values) == 1).all())
    return consecutive and 2 * len(values) <= len(column)


def _sample_rows(column: Floats) -> Codes:
    """A few rows, of which many differ from the first: in a column of a rare level nearly all rows
    are equal.
    """
    different = np.flatnonzero(column != column[0])[: SAMPLE // 2]
    spread = np.arange(0, len(column), max(1, 2 * len(column) // SAMPLE))
    return np.concatenate([different, spread])[:SAMPLE].astype(np.int64)


def _as_codes(values: Floats) -> Codes:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _follows(column: Floats, codes: Codes) -> bool:
    """Whether the same code always goes with the same value."""
    if len(codes) > 2 * SAMPLE:  # a few rows show most that it does not
        rows = _sample_rows(column)
        if not _follows(column[rows], codes[rows]):
            return False
    # The value written last for a code; where all values of a code agree, it gives the column back.
    value = np.zeros(int(codes.max(initial=0)) + 1)
    value[codes] = column
    return bool(np.array_equal(value[codes], column))


def _is_monotone(column: Floats, base: Floats) -> bool:
    """Whether a column rises or falls with another one, and is equal where that is."""
    if np.isnan(base).any():
        return False
    if len(base) > 2 * SAMPLE:
        rows = _sample_rows(column)
        if not _is_monotone(column[rows], base[rows]):
            return False
    order = np.argsort(base, kind="stable")
    steps, apart = np.diff(column[order]), np.diff(base[order]) > 0
    # Equal numbers must go with equal values, whatever the order within them.
    if (steps[~apart] != 0).any():
        return False
    return bool((steps >= 0).all() or (steps <= 0).all())


def _is_product(column: Floats, columns: list[Floats]) -> bool:
    for factor, other_factor in itertools.combinations_with_replacement(columns, 2):
        for rows in (slice(SAMPLE), slice(None)):  # a few rows show most that it is none
            product = factor[rows] * other_factor[rows]
            if not np.allclose(product, column[rows], rtol=1e-9, atol=1e-12):
                break
        else:
            return True
    return False
