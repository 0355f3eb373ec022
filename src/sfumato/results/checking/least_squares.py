"""Least squares for a session, with all that a checker asks of a fitted model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.results.checking.contributing_records import ContributingRecords, row_mask

if TYPE_CHECKING:
    from sfumato.results.tables.arrays import Floats, Mask

MOST_LEVELS = 100
"""Values of a column of text that become dummies at most."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DesignOfLine:
    """The matrix of a line and what it explains, under the names of statsmodels."""

    exog: Floats
    endog: Floats
    exog_names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FittedLine:
    r"""A line by least squares: :math:`\hat\beta = (X^\top X)^{-1} X^\top y`,
    errors :math:`\sqrt{s^2 (X^\top X)^{-1}_{jj}}` with :math:`s^2 = \mathrm{RSS}/(n - p)`.
    """

    model: DesignOfLine
    params: Floats
    bse: Floats
    tvalues: Floats
    pvalues: Floats
    nobs: int
    df_resid: int
    rsquared: float

    def __repr__(self) -> str:
        return f"FittedLine: {len(self.params)} terms, {self.df_resid:,} degrees of freedom left"


def fit_line(
    records: ContributingRecords, answer: str, on: Sequence[str], where: object = None
) -> tuple[FittedLine, Mask]:
    """Fit a column to others, on rows without a missing value; and which rows they were."""
    if isinstance(on, str) or not on or answer in on or len(set(on)) < len(on):
        raise ParameterError(
            "on must be a list of columns, each once, without the explained column: on=['age', "
            "'sex']"
        )
    dataset = records.dataset
    dataset.require([answer, *on])
    rows = np.ones(len(records), dtype=bool)
    if where is not None:
        rows = row_mask(dataset, where).to_numpy().copy()
    y = records.numbers(answer)
    for name in (answer, *on):
        # A row with a gap in any of the columns cannot enter the equations.
        rows &= records.has_value(name)
    if not rows.any():
        raise SchemaError(
            "no row has values in all columns of the regression, so nothing can be fitted; "
            "leave columns out"
        )
    names, columns = ["intercept"], [np.ones(int(rows.sum()))]
    for name in on:
        for term, column in _terms(records, name, rows):
            names.append(term)
            columns.append(column)
    return _solve(np.column_stack(columns), y[rows], tuple(names)), rows


def _terms(records: ContributingRecords, name: str, rows: Mask) -> list[tuple[str, Floats]]:
    if records.is_numeric(name):
        return [(name, records.numbers(name)[rows])]
    encoded = records.dataset.encoded(name)
    codes = encoded.codes[rows]
    counts = np.bincount(codes, minlength=len(encoded.labels))
    # A label that no row here has would be a column of zeros.
    levels = np.flatnonzero(counts)
    if len(levels) > MOST_LEVELS:
        raise ParameterError(
            f"column {name!r} has {len(levels):,} values, more than {MOST_LEVELS}: make it coarser"
            " first"
        )
    base = int(np.argmax(counts))  # others are compared with the commonest value
    terms = []
    for level in levels:
        if level != base:
            dummy = (codes == level).astype(np.float64)
            terms.append((f"{name}[{encoded.labels[int(level)]}]", dummy))
    return terms


def _solve(design: Floats, y: Floats, names: tuple[str, ...]) -> FittedLine:
    from scipy import stats

    rows, terms = design.shape
    degrees = rows - terms
    # Without full rank coefficients are not determined, and without degrees left no error is.
    if degrees <= 0 or np.linalg.matrix_rank(design) < terms:
        raise Unsatisfiable(
            f"{terms:,} coefficients cannot be identified with {rows:,} rows; leave out columns "
            "that follow from others",
            closest={"rows": rows, "coefficients": terms},
        )
    beta: Floats = np.linalg.lstsq(design, y, rcond=None)[0].astype(np.float64)
    residuals = y - design @ beta
    residual_squares = float(residuals @ residuals)
    squares = float(((y - y.mean()) ** 2).sum())
    variance = residual_squares / degrees * np.diag(np.linalg.inv(design.T @ design))
    error = np.sqrt(variance)
    # An error of zero gives an infinite statistic, which needs no warning.
    with np.errstate(all="ignore"):
        statistic = beta / error
    return FittedLine(
        DesignOfLine(design, y, names),
        params=beta,
        bse=error,
        tvalues=statistic,
        pvalues=2 * stats.t.sf(np.abs(statistic), degrees),
        nobs=rows,
        df_resid=degrees,
        rsquared=1 - residual_squares / squares if squares else 1.0,
    )
