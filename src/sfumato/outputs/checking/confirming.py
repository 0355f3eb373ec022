"""Whether a model is what it says: coefficients that solve the equations of a fit to its own data, and data that are made of the records."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.outputs.checking.peeking import number_of, peek, vector_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.outputs.checking.behind import Behind

SLACK = 0.03
"""How far a coefficient may be from the one that solves the equations, in its standard errors."""
ERRORS = 20.0
"""How many times a standard error may be that of least squares, whatever it is robust to."""


def solves(output: Any, design: NDArray[np.float64], answer: NDArray[np.float64]) -> bool:
    r"""Whether coefficients solve the equations of a line, a logistic or a Poisson regression: :math:`X^\top W (y - \mu) = \lambda \beta`.

    :math:`\mu` is :math:`X\beta`, its logistic or its exponential; :math:`W` are weights that the model says it has, and :math:`\lambda` its penalty (``alpha``, ``1/C``), never on the
    constant (McCullagh and Nelder 1989, *Generalized linear models*, 2.5). Other fits are not confirmed.

    >>> from types import SimpleNamespace
    >>> x, y = np.column_stack([np.ones(4), [0.0, 1.0, 2.0, 3.0]]), np.array([1.0, 3.0, 4.0, 8.0])
    >>> solves(SimpleNamespace(params=[0.7, 2.2]), x, y), solves(SimpleNamespace(params=[0.7, 8.0]), x, y)
    (True, False)
    """
    ways = (np.ones(len(design)), weights_of(output, len(design)))
    return any(_solves(output, design, answer, one) for one in ways)


def used_weights(output: Any, design: NDArray[np.float64], answer: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The weights that a model was fitted with: none, where its coefficients solve the equations without; else those that it says."""
    even = np.ones(len(design))
    if answer is not None and _solves(output, design, answer, even):
        return even
    return weights_of(output, len(design))


def _solves(output: Any, design: NDArray[np.float64], answer: NDArray[np.float64], weight: NDArray[np.float64]) -> bool:
    found = _coefficients(output, design.shape[1])
    if found is None:
        return False
    beta, columns = found
    x = design[:, columns]
    penalty = _penalty(output) * beta
    penalty[np.ptp(x, axis=0) == 0] = 0.0
    with np.errstate(all="ignore"):
        near = 1e-9 * float(np.abs(answer).max(initial=0.0)) * np.abs(x).sum(axis=0)
        return any(_solved(x, weight * (answer - mean), penalty, near) for mean in _means(x @ beta, answer))


def weights_of(output: Any, rows: int) -> NDArray[np.float64]:
    """What a model says that its rows were weighted by, one on average; ones where it says nothing, or nothing that could be."""
    found = vector_of(peek(output, "model.weights"))
    if found is None or len(found) != rows or not np.isfinite(found).all() or (found < 0).any() or found.sum() <= 0:
        return np.ones(rows)
    weights: NDArray[np.float64] = found.astype(np.float64) / found.mean()
    return weights


def _means(line: NDArray[np.float64], answer: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    yield line
    if np.isin(answer, (0.0, 1.0)).all():
        yield 1 / (1 + np.exp(-line))
    if (answer >= 0).all():
        yield np.exp(line)


def _solved(
    x: NDArray[np.float64], rest: NDArray[np.float64], penalty: NDArray[np.float64], near: NDArray[np.float64]
) -> bool:
    """Whether what is left is at right angles to every column, but for the penalty."""
    size = np.sqrt((x**2).sum(axis=0) * (rest @ rest))
    if not np.isfinite(size).all():
        return False
    slack = min(1e-3, SLACK / np.sqrt(len(x)))
    return bool((np.abs(rest @ x - penalty) <= slack * size + near).all())


def _penalty(output: Any) -> float:
    c, alpha = number_of(peek(output, "C")), number_of(peek(output, "alpha"))
    return max(0.0, 1 / c if c else alpha or 0.0)


def _coefficients(output: Any, columns: int) -> tuple[NDArray[np.float64], slice] | None:
    """One coefficient a column, and which columns they are of; None where there are others."""
    values = vector_of(peek(output, "params"))
    if values is not None:
        return (values.astype(float), slice(None)) if len(values) == columns else None
    found = vector_of(peek(output, "coef_"))
    constant = vector_of(peek(output, "intercept_"))
    if found is None or len(found) != columns - 1:
        return None
    if constant is None or len(constant) != 1:
        return found.astype(float), slice(1, None)
    if constant[0] == 0 and peek(output, "fit_intercept") is not True:
        return found.astype(float), slice(1, None)
    return np.r_[constant, found].astype(float), slice(None)


def errors_fit(output: Any, design: NDArray[np.float64], answer: NDArray[np.float64]) -> bool:
    """Whether standard errors, statistics and p values told beside coefficients can be theirs."""
    beta, error = vector_of(peek(output, "params")), vector_of(peek(output, "bse"))
    if beta is None:
        return True
    statistic, p = vector_of(peek(output, "tvalues")), vector_of(peek(output, "pvalues"))
    if error is None:
        return statistic is None and p is None
    if len(error) != len(beta) or not (np.nan_to_num(error, nan=1.0) >= 0).all():
        return False
    with np.errstate(all="ignore"):
        own = beta / error
        if statistic is not None and not np.allclose(statistic, own, rtol=1e-4, atol=1e-8, equal_nan=True):
            return False
        if p is not None and not _are_p_values(p, own, len(design) - design.shape[1]):
            return False
        return _near_usual(error, design, answer, beta)


def _are_p_values(p: NDArray[np.float64], statistic: NDArray[np.float64], left: int) -> bool:
    from scipy import stats

    ways = [2 * stats.norm.sf(np.abs(statistic)), 2 * stats.t.sf(np.abs(statistic), max(1, left))]
    return any(np.allclose(p, one, rtol=1e-3, atol=1e-6, equal_nan=True) for one in ways)


def _near_usual(
    error: NDArray[np.float64], design: NDArray[np.float64], answer: NDArray[np.float64], beta: NDArray[np.float64]
) -> bool:
    """Whether errors are about as large as those of one of the fits in use."""
    line = design @ beta
    spreads = [np.full(len(answer), float(((answer - line) ** 2).mean()))]
    if np.isin(answer, (0.0, 1.0)).all():
        share = 1 / (1 + np.exp(-line))
        spreads.append(1 / np.maximum(1e-12, share * (1 - share)))
    if (answer >= 0).all():
        spreads.append(1 / np.maximum(1e-12, np.exp(np.minimum(line, 50))))
    for spread in spreads:
        usual = np.sqrt(np.abs(np.diag(np.linalg.pinv((design / spread[:, None]).T @ design))))
        if ((error <= ERRORS * usual + 1e-12) & (error * ERRORS >= usual - 1e-12)).all():
            return True
    return False


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
