"""Regressions of several tables: linear from sums of products, logistic by Newton's steps on opened
gradients.

Predictors and outcome are bounded and centred at the public middle of their bounds before they are
multiplied; coefficients are told in the units of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field as Limit

from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.parties.question import NoisyPart, Numbers
from sfumato.parties.statistics import (
    CHANGE_ONE,
    BoundedColumn,
    Bounds,
    FilteredStatistic,
    Scale,
    Where,
    centre_numbers,
    checked_where,
    count_rows,
    public_table,
    require_readable,
    whole_sum,
    whole_sums,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.declared import DeclaredTable
    from sfumato.core.table import Table

MOST_PREDICTORS = 50
INTERCEPT = "(intercept)"


class _Regression(FilteredStatistic):
    """What both regressions have: predictors with bounds, records that have all of them."""

    predictors: Mapping[str, Bounds]
    scale: int
    outcome: str

    def _check(self) -> None:
        if not 0 < len(self.predictors) <= MOST_PREDICTORS or self.outcome in self.predictors:
            raise ParameterError(
                f"a regression needs 1 to {MOST_PREDICTORS} predictors, none of them its outcome"
            )
        checked_where(self.where, (*self.predictors, self.outcome))

    @property
    def cuts(self) -> Mapping[str, tuple[str, ...]]:
        """Numbers are clipped at the bounds."""
        return dict(self.predictors)

    @property
    def _bounded(self) -> list[BoundedColumn]:
        return [BoundedColumn(name, bounds, self.scale) for name, bounds in self.predictors.items()]

    @property
    def columns(self) -> tuple[str, ...]:
        """Predictors, outcome and the filter's."""
        return (*self.predictors, self.outcome, *sorted(self.where))

    @property
    def names(self) -> list[str]:
        """What coefficients are called."""
        return [INTERCEPT, *self.predictors]


@parameters
class LinearRegression(_Regression):
    """Least squares of a column on others, with standard errors, from sums of products.

    With *X* the predictors around their middles and a column of ones: ``β = (XᵀX)⁻¹Xᵀy``,
    ``RSS = yᵀy − βᵀXᵀy``, and the variance of β is ``RSS/(n − p) (XᵀX)⁻¹``.
    """

    name: ClassVar[str] = "linear_regression"
    gives_away: ClassVar[str] = (
        "number of records, means, variances and covariances of all columns; of columns with two"
        " values the table of counts"
    )

    outcome: str
    outcome_bounds: Bounds
    predictors: Mapping[str, Bounds]
    scale: Scale = 10
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        self._check()
        _ = self._all_columns

    @property
    def cuts(self) -> Mapping[str, tuple[str, ...]]:
        """Numbers are clipped at the bounds, those of the outcome too."""
        return {**self.predictors, self.outcome: self.outcome_bounds}

    @property
    def _all_columns(self) -> list[BoundedColumn]:
        return [*self._bounded, BoundedColumn(self.outcome, self.outcome_bounds, self.scale)]

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """Which columns are multiplied; 0 stands for one."""
        # one predictor: (0,0) the records, (0,1) (0,2) sums, (1,1) (1,2) (2,2) products
        return list(combinations_with_replacement(range(len(self._all_columns) + 1), 2))

    @property
    def cells(self) -> int:
        """Half a matrix."""
        return len(self._pairs)

    def bound(self, records: int) -> int:
        """The largest product, so often."""
        return records * max(column.most for column in self._all_columns) ** 2 + 1

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """Every sum has a size of its own, and noise of its own."""
        largest_values = [1, *(column.most for column in self._all_columns)]
        # changed, a product may go from one sign to the other; squares and the number of
        # records have one sign, so that they move no farther than by adding a record
        moves = [
            largest_values[i]
            * largest_values[j]
            * (2 if neighbours == CHANGE_ONE and i != j else 1)
            for i, j in self._pairs
        ]
        return tuple(NoisyPart(1, move, float(move)) for move in moves)

    def _rows(self, people: Table) -> list[NDArray[np.int64]]:
        """A column of ones and all columns as whole numbers, of the records that have all of
        them.
        """
        bounds = {**self.predictors, self.outcome: self.outcome_bounds}
        table = public_table(people, bounds, {}, self.where)
        is_complete = self._complete_rows(table)
        columns = [centre_numbers(table, column)[0][is_complete] for column in self._all_columns]
        return [np.ones(int(is_complete.sum()), dtype=np.int64), *columns]

    def _complete_rows(self, table: DeclaredTable) -> NDArray[np.bool_]:
        is_complete = count_rows(table, self.where)
        for name in (*self.predictors, self.outcome):
            is_complete &= table.numbers(name)[1]
        return is_complete

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """The rows that have all numbers."""
        bounds = {**self.predictors, self.outcome: self.outcome_bounds}
        return self._complete_rows(public_table(people, bounds, {}, self.where))

    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Sums of products."""
        rows = self._rows(people)
        wide = self.bound(len(people)) >= 2**62
        # products of two 64-bit columns may need Python's own numbers
        if wide:
            wider = [row.astype(object) for row in rows]
        else:
            wider = rows
        own = [whole_sum(wider[i] * wider[j], wide) for i, j in self._pairs]
        total = yield whole_sums(own, self.bound(len(people)))
        return self._answer([int(n) for n in total])

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """The number of records."""
        return np.array([len(self._rows(people)[0])])

    def _answer(self, sums: list[int]) -> Document:
        size = len(self._all_columns) + 1
        units = np.array([1.0, *(float(column.unit) for column in self._all_columns)])
        moments = np.zeros((size, size))
        for (i, j), total in zip(self._pairs, sums, strict=True):
            # both factors were counted in units of their own
            moments[i, j] = moments[j, i] = total / (units[i] * units[j])
        middles = np.array([float(column.middle) for column in self._all_columns])
        return least_squares(moments, middles, self.names)

    def plain(self, people: Table) -> Document:
        """Least squares on the rows."""
        bounds = {**self.predictors, self.outcome: self.outcome_bounds}
        table = public_table(people, bounds, {}, self.where)
        is_complete = self._complete_rows(table)
        columns = [table.numbers(name)[0][is_complete] for name in (*self.predictors, self.outcome)]
        rows = np.column_stack([np.ones(int(is_complete.sum())), *columns])
        # here nothing was subtracted: all middles are 0
        return least_squares(rows.T @ rows, np.zeros(len(self.predictors) + 1), self.names)


def least_squares(
    moments: NDArray[np.float64], middles: NDArray[np.float64], names: list[str]
) -> Document:
    """Coefficients from the moments of (1, predictors, outcome) around given middles; nothing where
    they are not determined.
    """
    count, p = float(moments[0, 0]), len(names)
    # XᵀX and Xᵀy; the outcome is the last row and column
    inner, right = moments[:p, :p], moments[:p, p]
    nothing: Document = {
        "count": round(count),
        "coefficients": None,
        "standard_errors": None,
        "rss": None,
    }
    # as many coefficients as records leave nothing to estimate errors from
    if count <= p or not is_determined(inner):
        return nothing
    beta = np.linalg.solve(inner, right)
    rss = float(moments[p, p] - beta @ right)
    # from coefficients around the middles to those of the columns as they are
    back = np.eye(p)
    back[0, 1:] = -middles[: p - 1]  # the intercept at zero of every predictor
    covariance = back @ np.linalg.inv(inner) @ back.T * max(rss, 0.0) / (count - p)
    estimates = back @ beta
    # the outcome was centred too
    estimates[0] += middles[p - 1]
    return {
        "count": round(count),
        "coefficients": dict(zip(names, estimates.tolist(), strict=True)),
        "standard_errors": (
            dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True))
            if rss >= 0
            else None
        ),
        "rss": rss,
    }


def is_determined(matrix: NDArray[np.float64]) -> bool:
    """Whether a symmetric matrix is positive definite beyond rounding."""
    # to a unit diagonal, so that the units of columns do not decide
    scale = np.sqrt(np.maximum(np.diag(matrix), 0))
    if not (scale > 0).all():
        return False
    return bool(np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] > 1e-10)


FARTHEST = 20.0
"""Coefficients of predictors within ±1 beyond which the two outcomes are taken for separated."""
ENOUGH = 1e-7


@parameters
class LogisticRegression(_Regression):
    """Logistic regression of a column with two values, by Newton's steps: each opens gradient,
    Hessian and log-likelihood at a known β.

    Predictors are brought to ±1 by their bounds. A step that lowers the likelihood is halved, which
    costs a round too. Outcomes that are separated have no maximum and are refused.
    """

    name: ClassVar[str] = "logistic_regression"
    gives_away: ClassVar[str] = (
        "gradient, Hessian and log-likelihood at every step; a party of one record loses it to all"
        " others together"
    )
    rounds: ClassVar[int] = 8

    outcome: str
    values: tuple[str, str]
    predictors: Mapping[str, Bounds]
    scale: Annotated[int, Limit(ge=8, le=40, description="binary places that are kept")] = 24
    where: Where = Limit(default_factory=dict)

    def __post_init__(self) -> None:
        self._check()
        _ = self._bounded
        require_readable(self.outcome, self.values)
        if self.values[0] == self.values[1]:
            raise ParameterError(
                "values are the two different outcomes, first the one that counts 0"
            )

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations_with_replacement(range(len(self.predictors) + 1), 2))

    @property
    def cells(self) -> int:
        """Number of records, gradient, half the Hessian, log-likelihood."""
        return 1 + len(self.predictors) + 1 + len(self._pairs) + 1

    def bound(self, records: int) -> int:
        """The log-likelihood is the largest: no record's is below −(20(p + 1) + 1)."""
        return math.ceil(records * (FARTHEST * (len(self.predictors) + 1) + 1)) << self.scale

    def parts(self, neighbours: str) -> tuple[NoisyPart, ...]:
        """No noise is offered: eight rounds would leave nothing but noise."""
        raise ParameterError(
            "noise inside is not offered for logistic_regression; ask for linear_regression or a"
            " table"
        )

    def _rows(self, people: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predictors within ±1 beside a column of ones, and outcomes 0 or 1."""
        table, is_complete = self._read_rows(people)
        scaled = [
            (table.numbers(column.name)[0][is_complete] - column.centre) / column.half
            for column in self._bounded
        ]
        outcome = table.codes(self.outcome)[is_complete].astype(np.float64)
        return np.column_stack([np.ones(int(is_complete.sum())), *scaled]), outcome

    def _read_rows(self, people: Table) -> tuple[DeclaredTable, NDArray[np.bool_]]:
        table = public_table(people, self.predictors, {self.outcome: self.values}, self.where)
        present_flags = [table.numbers(name)[1] for name in self.predictors]
        return table, np.logical_and.reduce(
            [count_rows(table, self.where), table.codes(self.outcome) < 2, *present_flags]
        )

    def rows(self, people: Table) -> NDArray[np.bool_]:
        """The rows that have all predictors and one of the two outcomes."""
        return self._read_rows(people)[1]

    def guarded(self, people: Table) -> NDArray[np.int64]:
        """The records of each outcome."""
        outcome = self._rows(people)[1]
        return np.bincount(outcome.astype(np.int64), minlength=2).astype(np.int64)

    def ask(self, people: Table) -> Generator[Numbers, Numbers, Document]:
        """Newton's steps, the same at every party."""
        x, y = self._rows(people)
        beta: NDArray[np.float64] = np.zeros(x.shape[1])
        # the best coefficients whose sums were opened, and Newton's step from there
        best_beta, newton_step = beta, beta
        step = newton_step
        best = -math.inf
        for number in range(1, self.rounds + 1):
            total = yield whole_sums(self._at(x, y, beta), self.bound(len(people)))
            opened_count, gradient, opened_hessian, opened_likelihood = self._read(total)
            # a little lower may be rounding alone
            if opened_likelihood < best - ENOUGH * max(1.0, abs(best)):
                step = step / 2
                beta = best_beta + step
                continue
            # the answer must hold figures of one and the same β, also when a later step overshoots
            # in the last round
            best, best_beta = opened_likelihood, beta
            count, hessian, likelihood = opened_count, opened_hessian, opened_likelihood
            if not is_determined(hessian):
                raise ReleaseRefused(
                    "logistic_regression: the records do not determine the coefficients; leave out"
                    " a predictor"
                )
            newton_step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            step = newton_step
            if np.abs(step).max() <= ENOUGH:
                break
            beta = best_beta + step
            # coefficients that run away: the likelihood grows without end
            if np.abs(beta).max() > FARTHEST and number < self.rounds:
                raise ReleaseRefused(
                    "logistic_regression: the outcomes are separated, so there is no "
                    "best answer; remove a predictor"
                )
        return self._answer(
            count, best_beta, hessian, likelihood, number, bool(np.abs(newton_step).max() <= 1e-3)
        )

    def _at(
        self, x: NDArray[np.float64], y: NDArray[np.float64], beta: NDArray[np.float64]
    ) -> list[int]:
        """This party's sums at β, each record rounded to the scale."""
        linear = x @ beta
        p = 1 / (1 + np.exp(-linear))
        terms = [x[:, j] * (y - p) for j in range(x.shape[1])]
        terms += [x[:, i] * x[:, j] * p * (1 - p) for i, j in self._pairs]
        # log(1 + exp) that does not overflow
        terms.append(y * linear - np.logaddexp(0.0, linear))
        unit = float(1 << self.scale)
        wide = self.bound(len(y)) >= 2**62
        # the count is scaled as well, so that all sums share one unit
        return [
            len(y) << self.scale,
            *(whole_sum(np.rint(term * unit).astype(np.int64), wide) for term in terms),
        ]

    def _read(self, total: Numbers) -> tuple[int, NDArray[np.float64], NDArray[np.float64], float]:
        size, unit = len(self.predictors) + 1, float(1 << self.scale)
        values = np.array([float(n) for n in total]) / unit
        hessian = np.zeros((size, size))
        # as _at() lists them: count, gradient, half the Hessian, log-likelihood
        for (i, j), value in zip(self._pairs, values[1 + size : -1], strict=True):
            hessian[i, j] = hessian[j, i] = value
        return round(values[0]), values[1 : 1 + size], hessian, float(values[-1])

    def _answer(
        self,
        count: int,
        beta: NDArray[np.float64],
        hessian: NDArray[np.float64],
        likelihood: float,
        steps: int,
        converged: bool,
    ) -> Document:
        # from predictors within ±1 back to the units of the columns
        back = np.diag([1.0, *(1 / column.half for column in self._bounded)])
        back[0, 1:] = [-column.centre / column.half for column in self._bounded]
        errors = np.sqrt(np.diag(back @ np.linalg.inv(hessian) @ back.T))
        return {
            "count": count,
            "coefficients": dict(zip(self.names, (back @ beta).tolist(), strict=True)),
            "standard_errors": dict(zip(self.names, errors.tolist(), strict=True)),
            "log_likelihood": likelihood,
            "rounds": steps,
            "converged": converged,
        }

    def plain(self, people: Table) -> Document:
        """The maximum of the likelihood on the rows, found by another road: damped steps in
        floating point until nothing moves.
        """
        x, y = self._rows(people)
        beta = np.zeros(x.shape[1])
        for _ in range(200):
            p = 1 / (1 + np.exp(-(x @ beta)))
            hessian = x.T @ (x * (p * (1 - p))[:, None])
            beta = beta + 0.7 * np.linalg.solve(hessian, x.T @ (y - p))
        likelihood = float((y * (x @ beta) - np.logaddexp(0.0, x @ beta)).sum())
        return self._answer(len(y), beta, hessian, likelihood, 0, converged=True)
