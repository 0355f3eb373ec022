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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.results.checking.contributing_records import Behind

SOME = 512
"""Rows that are looked at first."""
FEW_LABELS = 40
"""Values that a column may have so that two of them are taken together."""


class MadeOf:
    """Which columns of a model are made of columns of the records: dummies, bands, powers,
    logarithms and products of them.
    """

    def __init__(self, behind: Behind) -> None:
        self.behind = behind

    @cached_property
    def _labels(self) -> list[NDArray[np.int64]]:
        """Columns of text with values that return, as codes."""
        behind = self.behind
        names = [
            name
            for name in behind.dataset.columns
            if not behind.is_numeric(name) and name != behind.unit
        ]
        encodings = [behind.dataset.encoded(name) for name in names]
        return [one.codes for one in encodings if 2 * len(one.labels) <= len(one.codes)]

    def _codes(self, column: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
        """Columns with values that return, as codes; of numbers only those that a column may follow
        from.
        """
        yield from self._labels
        for base in self._numbers:
            some = _some(column)
            if _follows(column[some], _coded(base[some])):
                codes = _coded(base)
                if 2 * (int(codes.max(initial=0)) + 1) <= len(codes):
                    yield codes

    @cached_property
    def _numbers(self) -> list[NDArray[np.float64]]:
        behind = self.behind
        names = [name for name in behind.dataset.columns if behind.is_numeric(name)]
        return [behind.numbers(name) for name in names]

    @cached_property
    def _with_forms(self) -> list[tuple[NDArray[np.float64], list[AllowedForm]]]:
        """Columns of numbers without a missing one, and the forms of each."""
        whole = [one for one in self._numbers if np.isfinite(one).all() and np.ptp(one) > 0]
        return [(one, list(_forms(one))) for one in whole]

    def explains(self, column: NDArray[np.float64]) -> bool:
        """Whether a column follows from one of the records: the same value from the same value, or
        in the same order; yes and no may follow from two.
        """
        if not len(column) or np.ptp(column) == 0:
            return True
        if any(_rises(column, base) for base in self._numbers):
            return True
        if any(_follows(column, codes) for codes in self._codes(column)):
            return True
        return len(np.unique(column)) == 2 and any(
            _follows(column, codes) for codes in self._pairs()
        )

    @cached_property
    def _few(self) -> list[NDArray[np.int64]]:
        """Columns with few values, as codes."""
        numbers = [_coded(one) for one in self._numbers if len(np.unique(one[:SOME])) < FEW_LABELS]
        return [one for one in (*self._labels, *numbers) if int(one.max(initial=0)) < FEW_LABELS]

    def _pairs(self) -> Iterator[NDArray[np.int64]]:
        """Two columns with few values as one."""
        for one, other in itertools.combinations(self._few, 2):
            yield one * FEW_LABELS + other

    def cuts(self, codes: NDArray[np.float64]) -> bool:
        """Whether labels are bands of a column of numbers: in its order, each comes once."""
        return any(
            int((np.diff(codes[np.argsort(base, kind="stable")]) != 0).sum()) + 1
            == len(np.unique(codes))
            for base in self._numbers
        )

    def name_of(self, column: NDArray[np.float64]) -> str | None:
        """The column of the records that a column is; None where it is none of them as it is."""
        names = [name for name in self.behind.dataset.columns if self.behind.is_numeric(name)]
        return next(
            (
                name
                for name, one in zip(names, self._numbers, strict=True)
                if np.array_equal(one, column)
            ),
            None,
        )

    def exactly(self, column: NDArray[np.float64]) -> bool:
        """Whether a column is one of the records in a form without a free constant, or the constant
        one.
        """
        if not len(column) or np.ptp(column) == 0:
            return bool((column == 1).all())
        at = _some(column)  # a few rows show most that it is none
        if any(_is_form(column, base, forms, at) for base, forms in self._with_forms):
            return True
        return _is_coded(column) and self.explains(column)

    def explains_groups(self, codes: NDArray[np.float64]) -> bool:
        """Whether numbers that we gave to groups follow from a column of the records."""
        return bool(
            np.array_equal(np.unique(codes), np.arange(codes.max(initial=-1) + 1))
        ) and self.explains(codes)

    def in_proportion(self, column: NDArray[np.float64]) -> bool:
        """Whether a column of weights goes in proportion with one of the records: its scale changes
        nothing.
        """
        if np.ptp(column) == 0:
            return True
        for base in self._numbers:
            with np.errstate(all="ignore"):
                ways = [column / base, column * base]
            if any(
                np.isfinite(one).all() and np.ptp(one) <= 1e-9 * np.abs(one).max() for one in ways
            ):
                return True
        return _is_coded(column) and self.explains(column)

    def unexplained(self, design: NDArray[np.float64]) -> int:
        """How many columns of a design are neither made of a column of the records nor the product
        of two others that are.
        """
        fine = [self.exactly(column) for column in design.T]
        explained = [
            column
            for column, good in zip(design.T, fine, strict=True)
            if good and np.ptp(column) > 0
        ]
        rest = [column for column, good in zip(design.T, fine, strict=True) if not good]
        explained += self._numbers if rest else []
        return sum(not _product(column, explained) for column in rest)


ROUND = (1.0, 2.0, 2.5, 5.0)
"""Widths of bands, times powers of ten."""
UNITS = (7.0, 12.0, 24.0, 52.0, 60.0, 365.0, 365.25)
"""What times and amounts are counted in besides powers of ten: days of a week, months, hours,
weeks, minutes, days of a year.
"""
CODINGS = ((0.0, 1.0), (-1.0, 1.0), (1.0, 2.0), (-0.5, 0.5))
"""How yes and no are coded."""


class AllowedForm(NamedTuple):
    """A function of a column, and what its values may be multiplied by besides one; ``in_tens``: by
    any power of ten, too.
    """

    made: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    units: tuple[float, ...] = ()
    in_tens: bool = True


def _forms(base: NDArray[np.float64]) -> Iterator[AllowedForm]:
    """A column in all forms that leave no constant to choose."""
    yield AllowedForm(lambda x: x, (*UNITS, *(1 / one for one in UNITS)))
    for function in (
        np.abs,
        np.log,
        np.log10,
        np.log2,
        np.log1p,
        np.sqrt,
        np.exp,
        np.square,
        np.reciprocal,
    ):
        yield AllowedForm(function)
    yield AllowedForm(lambda x: x**3)
    mean = float(base.mean())
    yield AllowedForm(lambda x: x - mean)
    yield AllowedForm(lambda x: (x - mean) ** 2)
    for freedom in (0, 1):
        deviation = float(base.std(ddof=freedom)) if len(base) > freedom else 0.0
        if deviation > 0:
            yield AllowedForm(partial(_standardised, mean=mean, deviation=deviation))
    top = int(np.floor(np.log10(max(float(np.abs(base).max(initial=0.0)), 1e-9))))
    for power in range(min(top - 3, 0), top + 1):
        for width in (one * 10.0**power for one in ROUND):
            yield AllowedForm(partial(_banded, width=width, cut=np.floor), (width,), in_tens=False)
            yield AllowedForm(partial(_banded, width=width, cut=np.round), (width,), in_tens=False)


def _standardised(x: NDArray[np.float64], *, mean: float, deviation: float) -> NDArray[np.float64]:
    return (x - mean) / deviation


def _banded(x: NDArray[np.float64], *, width: float, cut: Any) -> NDArray[np.float64]:
    bands: NDArray[np.float64] = cut(x / width)
    return bands


def _is_form(
    column: NDArray[np.float64],
    base: NDArray[np.float64],
    forms: list[AllowedForm],
    at: NDArray[np.int64],
) -> bool:
    """Whether a column is another one in some form, in units that the form may have, and either
    sign; first ``at`` some rows.
    """
    if len(base) != len(column):
        return False
    some, there = column[at], base[at]
    with np.errstate(all="ignore"):
        for form in forms:
            if _in_units(some, form.made(there), form) and _in_units(column, form.made(base), form):
                return True
    return False


def _in_units(column: NDArray[np.float64], values: NDArray[np.float64], form: AllowedForm) -> bool:
    place = int(np.argmax(np.abs(column)))
    if not np.isfinite(values).all() or values[place] == 0 or column[place] == 0:
        return False
    by = float(column[place] / values[place])
    power = np.log10(abs(by))
    in_tens = form.in_tens and abs(power - round(power)) <= 1e-9
    if not in_tens and not any(abs(abs(by) - one) <= 1e-9 * one for one in (1.0, *form.units)):
        return False
    return bool((np.abs(column - by * values) <= 1e-9 * np.abs(column).max()).all())


def _is_coded(column: NDArray[np.float64]) -> bool:
    """Whether a column holds codes of labels: of two values as usual, of more whole numbers one
    after the other.
    """
    values = np.unique(column)
    if len(values) == 2:
        return tuple(values.tolist()) in CODINGS
    whole = values[0] in (-1.0, 0.0, 1.0) and bool((np.diff(values) == 1).all())
    return whole and 2 * len(values) <= len(column)


def _some(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """A few rows, of which many differ from the first: of a rare level all rows look alike but
    few.
    """
    other = np.flatnonzero(column != column[0])[: SOME // 2]
    spread = np.arange(0, len(column), max(1, 2 * len(column) // SOME))
    return np.concatenate([other, spread])[:SOME].astype(np.int64)


def _coded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _follows(column: NDArray[np.float64], codes: NDArray[np.int64]) -> bool:
    if len(codes) > 2 * SOME and not _follows(
        column[some := _some(column)], codes[some]
    ):  # a few rows show it
        return False
    first = np.zeros(int(codes.max(initial=0)) + 1)
    first[codes] = column
    return bool(np.array_equal(first[codes], column))


def _rises(column: NDArray[np.float64], base: NDArray[np.float64]) -> bool:
    if np.isnan(base).any() or (
        len(base) > 2 * SOME and not _rises(column[some := _some(column)], base[some])
    ):
        return False
    order = np.argsort(base, kind="stable")
    steps, apart = np.diff(column[order]), np.diff(base[order]) > 0
    same = bool((steps[~apart] == 0).all())
    return same and bool((steps >= 0).all() or (steps <= 0).all())


def _product(column: NDArray[np.float64], columns: list[NDArray[np.float64]]) -> bool:
    for place, one in enumerate(columns):
        for other in columns[place:]:
            some = np.allclose(one[:SOME] * other[:SOME], column[:SOME], rtol=1e-9, atol=1e-12)
            if some and np.allclose(one * other, column, rtol=1e-9, atol=1e-12):
                return True
    return False
