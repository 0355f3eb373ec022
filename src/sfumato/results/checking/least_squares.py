"""Least squares for a session: small, and with all that a checker asks of a fitted model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.results.checking.contributing_records import Behind, chosen

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LEVELS = 100


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DesignOfLine:
    """The matrix and what it explains."""

    exog: NDArray[np.float64]
    endog: NDArray[np.float64]
    exog_names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FittedLine:
    r"""A line by least squares: :math:`\hat\beta = (X^\top X)^{-1} X^\top y`,
    errors :math:`\sqrt{s^2 (X^\top X)^{-1}_{jj}}` with :math:`s^2 = \mathrm{RSS}/(n - p)`.
    """

    model: DesignOfLine
    params: NDArray[np.float64]
    bse: NDArray[np.float64]
    tvalues: NDArray[np.float64]
    pvalues: NDArray[np.float64]
    nobs: int
    df_resid: int
    rsquared: float

    def __repr__(self) -> str:
        return f"FittedLine: {len(self.params)} terms, {self.df_resid:,} degrees of freedom left"


def fit_line(
    behind: Behind, answer: str, on: Sequence[str], where: Any = None
) -> tuple[FittedLine, NDArray[np.bool_]]:
    """Fit a column to others, on rows without a missing value; and which rows they were."""
    if isinstance(on, str) or not on or answer in on or len(set(on)) < len(on):
        raise ParameterError(
            "on is a list of columns, each once, without the one that is explained: on=['age',"
            " 'sex']"
        )
    dataset = behind.dataset
    dataset.require([answer, *on])
    rows = (
        np.ones(len(behind), dtype=bool)
        if where is None
        else chosen(dataset, where).to_numpy().copy()
    )
    y = behind.numbers(answer)
    rows &= ~np.isnan(y)
    for name in on:
        rows &= behind.there(name)
    if not rows.any():
        raise SchemaError("no row has all columns of the regression; nothing can be fitted")
    names, columns = ["intercept"], [np.ones(int(rows.sum()))]
    for name in on:
        for term, column in _terms(behind, name, rows):
            names.append(term)
            columns.append(column)
    return _solved(np.column_stack(columns), y[rows], tuple(names)), rows


def _terms(
    behind: Behind, name: str, rows: NDArray[np.bool_]
) -> list[tuple[str, NDArray[np.float64]]]:
    if behind.is_numeric(name):
        return [(name, behind.numbers(name)[rows])]
    encoded = behind.dataset.encoded(name)
    codes = encoded.codes[rows]
    counts = np.bincount(codes, minlength=len(encoded.labels))
    levels = np.flatnonzero(counts)
    if len(levels) > MOST_LEVELS:
        raise ParameterError(
            f"column {name!r} has {len(levels):,} values, more than {MOST_LEVELS}: make it coarser"
            " first"
        )
    base = int(np.argmax(counts))
    return [
        (f"{name}[{encoded.labels[int(one)]}]", (codes == one).astype(np.float64))
        for one in levels
        if one != base
    ]


def _solved(
    design: NDArray[np.float64], y: NDArray[np.float64], names: tuple[str, ...]
) -> FittedLine:
    from scipy import stats

    n, p = design.shape
    if n <= p or np.linalg.matrix_rank(design) < p:
        raise Unsatisfiable(
            f"{p:,} coefficients cannot be told apart with {n:,} rows: leave out columns that"
            " follow from others",
            closest={"rows": n, "coefficients": p},
        )
    beta: NDArray[np.float64] = np.linalg.lstsq(design, y, rcond=None)[0].astype(np.float64)
    rest = y - design @ beta
    rss, tss = float(rest @ rest), float(((y - y.mean()) ** 2).sum())
    error = np.sqrt(rss / (n - p) * np.diag(np.linalg.inv(design.T @ design)))
    with np.errstate(all="ignore"):
        t = beta / error
    p_values = 2 * stats.t.sf(np.abs(t), n - p)
    return FittedLine(
        DesignOfLine(design, y, names),
        beta,
        error,
        t,
        p_values,
        n,
        n - p,
        1 - rss / tss if tss else 1.0,
    )
