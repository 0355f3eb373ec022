"""What statistics of numbers survive: means, covariances, correlations, quantiles, eigenvalues."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.design import weights_of
from sfumato.core.encoding import tallied
from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.core.sums import PART, sum_in_parts
from sfumato.methods.utility.columns import NumericColumns, numeric_of, require_sense
from sfumato.methods.utility.numeric import (
    Coded,
    NumberColumn,
    OfNumbers,
    coded_numbers,
    number_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Floats = NDArray[np.float64]


NEGLIGIBLE = 1e-9
"""A statistic smaller than this share of its natural scale counts as 0."""
MOST_CELLS = 1 << 20
"""Columns known by their codes are counted where there are no more combinations of codes than this.
"""


# Statistics of a table of numbers, weighted or not, and how far two of them are apart.


@dataclasses.dataclass(frozen=True)
class Term:
    """One statistic of some columns before and after; ``scale`` is the unit for those that may be
    0.
    """

    columns: tuple[str, ...]
    before: float
    after: float
    scale: float
    relative: bool = True

    @property
    def error(self) -> float:
        """The difference over the size before; 1 where there is nothing to compare with any
        more.
        """
        # What had no value before has nothing to lose.
        if math.isnan(self.before):
            return 0.0
        if math.isnan(self.after):
            return 1.0
        size = abs(float(self.before))
        if self.relative and size > NEGLIGIBLE * self.scale:
            unit = size
        else:
            unit = self.scale
        difference = abs(float(self.after) - float(self.before))
        if unit > 0:
            return difference / float(unit)
        return float(difference > 0)


def relative_errors(terms: Sequence[Term]) -> tuple[float, float, dict[str, float]]:
    """The mean error, the mean with each error counting for at most 1, and the latter per
    column.
    """
    if not terms:
        return 0.0, 0.0, {}
    names = list(dict.fromkeys(name for term in terms for name in term.columns))
    capped = [min(1.0, term.error) for term in terms]
    columns = {}
    for name in names:
        own = [error for term, error in zip(terms, capped, strict=True) if name in term.columns]
        columns[name] = sum(own) / len(own)
    return sum(term.error for term in terms) / len(terms), sum(capped) / len(capped), columns


@dataclasses.dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of numbers (NaN: none) and their weights, or None; rows that are alike may be there
    once, with their ``copies``.
    """

    columns: Sequence[NumberColumn]
    weights: Floats | None
    copies: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        if not self.columns:
            return 0
        return len(self.columns[0])

    def _amounts(self, rows: slice) -> Floats:
        """How much each of some rows counts."""
        if self.weights is not None:
            return self.weights[rows]
        if self.copies is None:
            return np.ones(len(range(len(self))[rows]))
        return self.copies[rows].astype(np.float64)

    @property
    def _counts_once(self) -> bool:
        """Whether every row counts once."""
        return self.weights is None and self.copies is None

    @functools.cached_property
    def means(self) -> list[float]:
        """The mean of every column over the rows that have it; NaN where none does."""
        return [self._mean(column, 0.0, 1) for column in self.columns]

    @np.errstate(over="ignore", invalid="ignore")  # squares of very large numbers are infinite
    def _mean(self, column: NumberColumn, centre: float, power: int) -> float:
        """The mean of (number − centre) to the power 1 or 2."""

        def parts(rows: slice) -> tuple[NDArray[Any], Floats]:
            numbers = column.part(rows)
            if power > 1:
                # The mean itself needs no centre: subtracting 0 would copy every part for nothing.
                numbers = (numbers - centre) ** power
            present = ~np.isnan(numbers)
            known_numbers = numbers if present.all() else np.where(present, numbers, 0.0)
            # Rows that count once each are counted, not weighed: two arrays less a part.
            if self._counts_once:
                return present, known_numbers
            weight = np.where(present, self._amounts(rows), 0.0)
            return weight, weight * known_numbers

        total, weighted = sum_in_parts(len(column), parts)
        if total > 0:
            return weighted / total
        return math.nan

    def deviations(self) -> list[float]:
        """The standard deviation of every column; 0 where there are no numbers."""
        squares = []
        for column, mean in zip(self.columns, self.means, strict=True):
            squares.append(self._mean(column, mean, 2))
        return [0.0 if math.isnan(square) else math.sqrt(square) for square in squares]

    def quantiles(self, shares: Sequence[float]) -> list[list[float]]:
        """Quantiles of every column."""
        return [self._quantiles(column.whole, shares) for column in self.columns]

    def _quantiles(self, column: Floats, shares: Sequence[float]) -> list[float]:
        present = ~np.isnan(column)
        if self.weights is not None:
            present &= self.weights > 0
        if not present.any():
            return [math.nan] * len(shares)
        if self.copies is not None:
            return _quantiles_of_copies(column[present], self.copies[present], shares)
        if self.weights is None:
            return [float(q) for q in np.quantile(column[present], shares)]
        order = np.argsort(column[present], kind="stable")
        upto = np.cumsum(self.weights[present][order])
        # 1e-12: a share that ends exactly at a value must not step over it by rounding.
        sought = np.asarray(shares) * upto[-1] * (1 - 1e-12)
        positions = np.searchsorted(upto, sought, side="left")
        sorted_values = column[present][order]
        return [float(v) for v in sorted_values[np.minimum(positions, len(order) - 1)]]

    @np.errstate(over="ignore", invalid="ignore")  # squares of very large numbers are infinite
    def covariances(self) -> Floats:
        """The covariance matrix of the rows that are complete; NaN for columns without numbers.

        Rows are added up part by part: no table of all columns is made.
        """
        width = len(self.columns)
        matrix = np.full((width, width), np.nan)
        parts = [slice(start, start + PART) for start in range(0, len(self), PART)]
        used_columns = np.array(
            [a for a, column in enumerate(self.columns) if column.any_number(parts)], dtype=np.int64
        )
        if not len(used_columns):
            return matrix
        total = 0.0
        sums = np.zeros(len(used_columns))
        for part in parts:
            rows, weights = self._complete(part, used_columns)
            total += float(weights.sum())
            # Rows that count once each need no product.
            weighted_rows = rows if self._counts_once else weights[:, None] * rows
            sums += weighted_rows.sum(axis=0)
        if total <= 0:
            return matrix
        products = np.zeros((len(used_columns), len(used_columns)))
        # In a second pass, around the means: from sums of squares alone, large numbers with a small
        # spread would lose all digits.
        for part in parts:
            rows, weights = self._complete(part, used_columns)
            centred = rows - sums / total
            products += (centred * weights[:, None]).T @ centred
        # more or fewer rows must not change weighted results: they are divided by the total, others
        # by one less
        if self.weights is not None:
            divisor = total
        else:
            divisor = max(1.0, total - 1)
        matrix[np.ix_(used_columns, used_columns)] = products / divisor
        return matrix

    def _complete(self, part: slice, used_columns: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Those rows of a part that have a number in the columns ``used_columns``, and how much
        each counts.
        """
        numbers = [self.columns[a].part(part) for a in used_columns]
        complete = np.ones(len(numbers[0]), dtype=bool)
        for column in numbers:
            complete &= ~np.isnan(column)
        amounts = self._amounts(part)
        # Mostly all rows are complete: then nothing is picked out.
        if not complete.all():
            numbers = [column[complete] for column in numbers]
            amounts = amounts[complete]
        # Column by column in memory, as they are read; seen from the side they are rows.
        return np.stack(numbers).T, amounts

    def correlations(self) -> Floats:
        """The correlation matrix; a constant column correlates with nothing but itself."""
        return correlations_of(self.covariances())


def correlations_of(matrix: Floats) -> Floats:
    """The correlations of a matrix of covariances; a constant column correlates with nothing but
    itself.
    """
    deviations = np.sqrt(matrix.diagonal())
    # Division by 0 is avoided; what it would give is set to 0 below.
    constant = deviations <= 0
    scale = np.where(constant, 1.0, deviations)
    # infinite covariances say nothing of correlations: NaN
    with np.errstate(over="ignore", invalid="ignore"):
        correlations = matrix / np.outer(scale, scale)
    correlations[constant, :] = 0.0
    correlations[:, constant] = 0.0
    np.fill_diagonal(correlations, np.where(np.isnan(deviations), np.nan, 1.0))
    return np.asarray(np.clip(correlations, -1.0, 1.0), dtype=np.float64)


def _covariances(pair: TablePair, names: Sequence[str]) -> tuple[Floats, Floats]:
    """The covariances of some columns of both sides; counted once for a pair."""
    key = ("covariances", *names)
    if key not in pair.memo:
        pair.memo[key] = tuple(sample.covariances() for sample in _samples(pair, names))
    before, after = pair.memo[key]
    return before, after


def _quantiles_of_copies(
    values: Floats, copies: NDArray[np.int64], shares: Sequence[float]
) -> list[float]:
    """Quantiles of values that are each there so many times, neighbouring ones interpolated.

    >>> _quantiles_of_copies(np.array([4.0, 1.0]), np.array([1, 3]), [0.5, 0.9])
    [1.0, 3.1000000000000005]
    """
    order = np.argsort(values, kind="stable")
    line = values[order]
    upto = np.cumsum(copies[order])
    # Between n values lie n − 1 steps; where a share falls between two they are interpolated.
    positions = np.asarray(shares) * (upto[-1] - 1)
    below = np.floor(positions)
    lower_values, upper_values = (
        line[np.searchsorted(upto, np.minimum(at, upto[-1] - 1), side="right")]
        for at in (below, below + 1)
    )
    share = positions - below  # from the nearer end, as numpy does: then both ends are exact
    quantiles = np.where(
        share < 0.5,
        lower_values + (upper_values - lower_values) * share,
        upper_values - (upper_values - lower_values) * (1 - share),
    )
    return [float(q) for q in quantiles]


def _samples(pair: TablePair, names: Sequence[str]) -> tuple[WeightedRows, WeightedRows]:
    """The columns of both sides with the survey weights, where both tables have them."""
    before = weights_of(pair.original)
    after = weights_of(pair.released)
    # Weights on one side only would compare a sample with a population.
    if before is None or after is None:
        coded = [coded_numbers(pair, name) for name in names]
        sides = []
        for side in (0, 1):
            sides.append(
                _count_rows([both_sides[side] for both_sides in coded if both_sides is not None])
            )
        if None not in coded and sides[0] is not None and sides[1] is not None:
            return sides[0], sides[1]
        before = after = None
    columns = [number_columns(pair, name) for name in names]
    return WeightedRows([old for old, _ in columns], before), WeightedRows(
        [new for _, new in columns], after
    )


def _count_rows(columns: Sequence[Coded]) -> WeightedRows | None:
    """The different rows of some columns and how often each is there; None where there may be too
    many.
    """
    sizes = [max(1, len(values_of_codes)) for _, values_of_codes in columns]
    if not columns or math.prod(sizes) > MOST_CELLS:
        return None
    codes = columns[0][0].narrow
    for (encoded, _), size in zip(columns[1:], sizes[1:], strict=True):
        # MOST_CELLS keeps the codes of whole rows within 32 bits.
        codes = codes.astype(np.uint32) * np.uint32(size) + encoded.narrow
    counts = tallied(codes, math.prod(sizes), None)
    occurring = np.flatnonzero(counts)
    parts = np.unravel_index(occurring, sizes)
    rows = [
        NumberColumn(part, values_of_codes)
        for (_, values_of_codes), part in zip(columns, parts, strict=True)
    ]
    return WeightedRows(rows, None, counts[occurring])


def _measure(name: str, terms: Sequence[Term], pair: TablePair, meaning: str) -> Measure:
    """Relative errors of some statistics, together and per column; each counts for at most 1 in the
    value.
    """
    raw, value, columns = relative_errors(terms)
    if not len(pair.released):
        value = 1.0
        columns = dict.fromkeys(columns, 1.0)
    return Measure(
        name, value, "lower", meaning, raw=raw if len(pair.released) else None, per_column=columns
    )


@parameters
class Means(OfNumbers):
    r"""The relative error of the means of columns of numbers.

    .. math:: \frac1A\sum_a \frac{|\bar x_a-\bar x'_a|}{|\bar x_a|}

    A mean that is 0 is compared in standard deviations. Means are weighted where both tables have
    survey weights. Missing and suppressed cells are left out, as an analyst would; a range stands
    for its middle. In ``value`` each error counts for at most 1; a column or table that was not
    released counts 1.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3]})).with_roles(keep="x")
    >>> after = sf.read(pl.DataFrame({"x": [1, 2, 6]})).with_roles(keep="x")
    >>> Means().measure(TablePair.of(before, after)).value
    0.5
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "means"
    line: ClassVar[str] = "relative error of the means of numbers"

    def measure(self, pair: TablePair) -> Measure:
        """The mean relative error of the means."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = _samples(pair, names)
        scale = before.deviations()
        terms = []
        for name, b, a, s in zip(names, before.means, after.means, scale, strict=True):
            terms.append(Term((name,), b, a, s))
        return _measure(self.name, terms, pair, "mean relative error of the means")


@parameters
class Quantiles(OfNumbers):
    """The relative error of quantiles of columns of numbers; errors and missing cells as
    in :class:`Means`.

    ``shares`` says which: by default the deciles at both ends, the quartiles and the median. A
    quantile that is 0 is compared in standard deviations. Without weights neighbouring values are
    interpolated; with survey weights the least value that the wanted share of the weight does not
    exceed is taken.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 4]})).with_roles(keep="x")
    >>> after = sf.read(pl.DataFrame({"x": [1, 3, 4]})).with_roles(keep="x")
    >>> Quantiles(shares=[0.5]).measure(TablePair.of(before, after)).raw
    0.5
    """

    columns: NumericColumns = None
    shares: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...],
        Field(min_length=1, description="which quantiles, 0–1"),
    ] = (0.1, 0.25, 0.5, 0.75, 0.9)

    name: ClassVar[str] = "quantiles"
    line: ClassVar[str] = "relative error of the quantiles of numbers"

    def measure(self, pair: TablePair) -> Measure:
        """The mean relative error of the quantiles."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = _samples(pair, names)
        scale = before.deviations()
        old = before.quantiles(self.shares)
        new = after.quantiles(self.shares)
        terms = []
        for j, name in enumerate(names):
            for b, a in zip(old[j], new[j], strict=True):
                terms.append(Term((name,), b, a, scale[j]))
        return _measure(self.name, terms, pair, "mean relative error of the quantiles")


@parameters
class Covariances(OfNumbers):
    r"""The relative error of variances and covariances; over records complete in all columns.

    .. math:: \frac{2}{A(A+1)}\sum_{a\le b} \frac{|s_{ab}-s'_{ab}|}{|s_{ab}|}

    A covariance that is 0 is compared in products of standard deviations. Otherwise
    as :class:`Means`.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3]})).with_roles(keep="x")
    >>> after = sf.read(pl.DataFrame({"x": [2, 2, 2]})).with_roles(keep="x")
    >>> Covariances().measure(TablePair.of(before, after)).value
    1.0
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "covariances"
    line: ClassVar[str] = "relative error of variances and covariances"

    def measure(self, pair: TablePair) -> Measure:
        """The mean relative error of the covariances."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = _covariances(pair, names)
        scale = before.diagonal() ** 0.5
        terms = [
            Term(
                # On the diagonal stands a variance, which concerns one column.
                (names[a], names[b]) if a < b else (names[a],),
                before[a, b],
                after[a, b],
                scale[a] * scale[b],
            )
            for a in range(len(names))
            for b in range(a, len(names))
        ]
        return _measure(self.name, terms, pair, "mean relative error of variances and covariances")


@parameters
class Correlations(OfNumbers):
    r"""The mean absolute error of the correlations of columns of numbers; over records complete in
    all columns.

    .. math:: \frac{2}{A(A-1)}\sum_{a<b} |r_{ab}-r'_{ab}|

    Absolute, not relative: a correlation of 0.001 that becomes 0.002 has not doubled in meaning. A
    column with one single value correlates with nothing. sdcMicro's ``IL_correl`` compares other
    quantities under a similar name.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]})).with_roles(
    ...     keep=["x", "y"]
    ... )
    >>> after = sf.read(pl.DataFrame({"x": [1, 2, 3], "y": [1, 1, 1]})).with_roles(keep=["x", "y"])
    >>> round(Correlations().measure(TablePair.of(before, after)).value, 6)
    1.0
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "correlations"
    line: ClassVar[str] = "mean absolute error of the correlations of numbers"
    fewest: ClassVar[int] = 2

    def measure(self, pair: TablePair) -> Measure:
        """The mean absolute error of the correlations."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = map(correlations_of, _covariances(pair, names))
        terms = []
        for a in range(len(names)):
            for b in range(a + 1, len(names)):
                terms.append(
                    Term((names[a], names[b]), before[a, b], after[a, b], 1.0, relative=False)
                )
        return _measure(self.name, terms, pair, "mean absolute error of the correlations")


@parameters
class Eigenvalues(OfNumbers):
    r"""The relative error of the eigenvalues of the correlation matrix; over records complete in
    all columns.

    .. math:: \frac1A\sum_a \frac{|\lambda_a-\lambda'_a|}{\lambda_a}

    Eigenvalues are taken in falling order; one that is 0 (columns depend on each other) is compared
    with 1, the mean of all. sdcMicro's ``dUtility(method = "eigen")`` gives the sum instead of the
    mean, and divides by eigenvalues that are 0 up to
    rounding: its results of ±10¹⁵ for dependent columns are ours without these terms.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]})).with_roles(
    ...     keep=["x", "y"]
    ... )
    >>> round(Eigenvalues().measure(TablePair.of(before, before)).value, 6)
    0.0
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "eigenvalues"
    line: ClassVar[str] = "relative error of the eigenvalues of the correlation matrix"
    fewest: ClassVar[int] = 2

    def measure(self, pair: TablePair) -> Measure:
        """The mean relative error of the eigenvalues."""
        require_sense(self, pair)
        old, new = map(correlations_of, _covariances(pair, numeric_of(pair, self.columns)))
        # columns without numbers have no correlations to lose
        used_columns = np.flatnonzero(~np.isnan(old.diagonal()))
        old, new = (matrix[np.ix_(used_columns, used_columns)] for matrix in (old, new))
        terms = [Term((), b, a, 1.0) for b, a in zip(_spectrum(old), _spectrum(new), strict=True)]
        return dataclasses.replace(
            _measure(
                self.name,
                terms,
                pair,
                "mean relative error of the eigenvalues of the correlation matrix",
            ),
            per_column={},
        )


def _spectrum(correlations: Floats) -> Floats:
    """The eigenvalues from the largest down; unknown where a correlation is, as of numbers whose
    squares no decimal holds.
    """
    if np.isnan(correlations).any():
        return np.full(len(correlations), np.nan)
    return np.asarray(np.linalg.eigvalsh(correlations)[::-1])
