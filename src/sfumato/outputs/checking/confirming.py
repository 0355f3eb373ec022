"""Whether the data that a model was fitted to are made of the records."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.outputs.checking.behind import Behind

SOME = 512
"""Rows that are looked at first."""
FEW_LABELS = 40
"""Values that a column may have so that two of them are taken together."""


class MadeOf:
    """Which columns of a model are made of columns of the records: dummies, bands, powers, logarithms and products of them."""

    def __init__(self, behind: Behind) -> None:
        self.behind = behind

    @cached_property
    def _labels(self) -> list[NDArray[np.int64]]:
        """Columns of text with values that return, as codes."""
        behind = self.behind
        names = [name for name in behind.dataset.columns if not behind.is_numeric(name) and name != behind.unit]
        found = [behind.dataset.encoded(name) for name in names]
        return [one.codes for one in found if 2 * len(one.labels) <= len(one.codes)]

    def _codes(self, column: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
        """Columns with values that return, as codes; of numbers only those that a column may follow from."""
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

    def explains(self, column: NDArray[np.float64]) -> bool:
        """Whether a column follows from one of the records: the same value from the same value, or in the same order; yes and no may follow from two."""
        if not len(column) or np.ptp(column) == 0:
            return True
        if any(_rises(column, base) for base in self._numbers):
            return True
        if any(_follows(column, codes) for codes in self._codes(column)):
            return True
        return len(np.unique(column)) == 2 and any(_follows(column, codes) for codes in self._pairs())

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
            int((np.diff(codes[np.argsort(base, kind="stable")]) != 0).sum()) + 1 == len(np.unique(codes))
            for base in self._numbers
        )

    def unexplained(self, design: NDArray[np.float64]) -> int:
        """How many columns of a design are neither made of a column of the records nor the product of two others that are."""
        fine = [self.explains(column) for column in design.T]
        known = [column for column, good in zip(design.T, fine, strict=True) if good and np.ptp(column) > 0]
        rest = [column for column, good in zip(design.T, fine, strict=True) if not good]
        known += self._numbers if rest else []
        return sum(not _product(column, known) for column in rest)

    def is_answer(self, answer: NDArray[np.float64]) -> bool:
        """Whether what is explained is a column of the records: itself, in other units, its logarithm or root, or yes and no."""
        if np.isin(answer, (0.0, 1.0)).all():
            return self.explains(answer)
        for base in self._numbers:
            with np.errstate(all="ignore"):
                ways = (base, np.log(base), np.log1p(base), np.sqrt(base), np.log10(base))
            if any(_straight(answer, one) for one in ways):
                return True
        return False


def _some(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """A few rows, of which many differ from the first: of a rare level all rows look alike but few."""
    other = np.flatnonzero(column != column[0])[: SOME // 2]
    spread = np.arange(0, len(column), max(1, 2 * len(column) // SOME))
    return np.concatenate([other, spread])[:SOME].astype(np.int64)


def _coded(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _follows(column: NDArray[np.float64], codes: NDArray[np.int64]) -> bool:
    if len(codes) > 2 * SOME and not _follows(column[some := _some(column)], codes[some]):  # a few rows show it
        return False
    first = np.zeros(int(codes.max(initial=0)) + 1)
    first[codes] = column
    return bool(np.array_equal(first[codes], column))


def _rises(column: NDArray[np.float64], base: NDArray[np.float64]) -> bool:
    if np.isnan(base).any() or (len(base) > 2 * SOME and not _rises(column[some := _some(column)], base[some])):
        return False
    order = np.argsort(base, kind="stable")
    steps, apart = np.diff(column[order]), np.diff(base[order]) > 0
    same = bool((steps[~apart] == 0).all())
    return same and bool((steps >= 0).all() or (steps <= 0).all())


def _straight(column: NDArray[np.float64], base: NDArray[np.float64]) -> bool:
    """Whether a column is another one in other units."""
    if not np.isfinite(base).all() or np.ptp(base) == 0:
        return False
    return bool(abs(np.corrcoef(column, base)[0, 1]) >= 1 - 1e-9) if np.ptp(column) > 0 else False


def _product(column: NDArray[np.float64], known: list[NDArray[np.float64]]) -> bool:
    for place, one in enumerate(known):
        for other in known[place:]:
            some = np.allclose(one[:SOME] * other[:SOME], column[:SOME], rtol=1e-9, atol=1e-12)
            if some and np.allclose(one * other, column, rtol=1e-9, atol=1e-12):
                return True
    return False
