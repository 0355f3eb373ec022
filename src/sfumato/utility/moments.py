"""What statistics of numbers survive: means, covariances, correlations, quantiles, eigenvalues."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.design import weights_of
from sfumato.core.metric import Measure
from sfumato.core.parameters import parameters
from sfumato.utility.columns import NumericColumns, numeric_of, require_sense
from sfumato.utility.numeric import numbers, why_no_numbers
from sfumato.utility.statistics import Sample, Term, relative_errors

if TYPE_CHECKING:
    from sfumato.core.pair import Pair

FEW = "two columns of numbers are needed"


def _samples(pair: Pair, names: Sequence[str]) -> tuple[Sample, Sample]:
    """The columns of both sides with the survey weights, where both tables have them."""
    import numpy as np

    columns = [numbers(pair, name) for name in names]
    before, after = weights_of(pair.original), weights_of(pair.released)
    if before is None or after is None:
        before = after = None
    return (
        Sample(np.stack([c.before for c in columns], axis=1), before),
        Sample(np.stack([c.after for c in columns], axis=1), after),
    )


def _measure(name: str, terms: Sequence[Term], pair: Pair, meaning: str) -> Measure:
    """Relative errors of some statistics, together and per column; each counts for at most 1 in the value."""
    raw, value, columns = relative_errors(terms)
    if not len(pair.rows):
        value, columns = 1.0, dict.fromkeys(columns, 1.0)
    return Measure(name, value, "lower", meaning, raw=raw if len(pair.rows) else None, per_column=columns)


@parameters
class Means:
    r"""The relative error of the means of columns of numbers.

    .. math:: \frac1A\sum_a \frac{|\bar x_a-\bar x'_a|}{|\bar x_a|}

    A mean that is 0 is compared in standard deviations. Means are weighted where both tables have survey weights. Missing and
    suppressed cells are left out, as an analyst would; a range stands for its middle. In ``value`` each error
    counts for at most 1; a column or table that was not released counts 1.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3]})).with_roles(plain="x")
    >>> after = sf.read(pl.DataFrame({"x": [1, 2, 6]})).with_roles(plain="x")
    >>> Means().measure(Pair.of(before, after)).value
    0.5
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "means"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers."""
        return why_no_numbers(pair, numeric_of(pair, self.columns), self.columns)

    def measure(self, pair: Pair) -> Measure:
        """The mean relative error of the means."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = _samples(pair, names)
        scale = before.deviations()
        terms = [
            Term((name,), b, a, s) for name, b, a, s in zip(names, before.means(), after.means(), scale, strict=True)
        ]
        return _measure(self.name, terms, pair, "mean relative error of the means")


@parameters
class Quantiles:
    """The relative error of quantiles of columns of numbers; errors and missing cells as in :class:`Means`.

    ``shares`` says which: by default the deciles at both ends, the quartiles and the median. A quantile that is 0 is compared in
    standard deviations. Without weights neighbouring values are interpolated; with survey weights the least value that the
    wanted share of the weight does not exceed is taken.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 4]})).with_roles(plain="x")
    >>> after = sf.read(pl.DataFrame({"x": [1, 3, 4]})).with_roles(plain="x")
    >>> Quantiles(shares=[0.5]).measure(Pair.of(before, after)).raw
    0.5
    """

    columns: NumericColumns = None
    shares: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=1, description="which quantiles, 0–1")
    ] = (0.1, 0.25, 0.5, 0.75, 0.9)

    name: ClassVar[str] = "quantiles"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers."""
        return why_no_numbers(pair, numeric_of(pair, self.columns), self.columns)

    def measure(self, pair: Pair) -> Measure:
        """The mean relative error of the quantiles."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = _samples(pair, names)
        scale = before.deviations()
        old, new = before.quantiles(self.shares), after.quantiles(self.shares)
        terms = [
            Term((name,), b, a, scale[j]) for j, name in enumerate(names) for b, a in zip(old[j], new[j], strict=True)
        ]
        return _measure(self.name, terms, pair, "mean relative error of the quantiles")


@parameters
class Covariances:
    r"""The relative error of variances and covariances; over records complete in all columns.

    .. math:: \frac{2}{A(A+1)}\sum_{a\le b} \frac{|s_{ab}-s'_{ab}|}{|s_{ab}|}

    A covariance that is 0 is compared in products of standard deviations. Otherwise as :class:`Means`.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3]})).with_roles(plain="x")
    >>> after = sf.read(pl.DataFrame({"x": [2, 2, 2]})).with_roles(plain="x")
    >>> Covariances().measure(Pair.of(before, after)).value
    1.0
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "covariances"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers."""
        return why_no_numbers(pair, numeric_of(pair, self.columns), self.columns)

    def measure(self, pair: Pair) -> Measure:
        """The mean relative error of the covariances."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = (sample.covariances() for sample in _samples(pair, names))
        scale = before.diagonal() ** 0.5
        terms = [
            Term((names[a], names[b]) if a < b else (names[a],), before[a, b], after[a, b], scale[a] * scale[b])
            for a in range(len(names))
            for b in range(a, len(names))
        ]
        return _measure(self.name, terms, pair, "mean relative error of variances and covariances")


@parameters
class Correlations:
    r"""The mean absolute error of the correlations of columns of numbers; over records complete in all columns.

    .. math:: \frac{2}{A(A-1)}\sum_{a<b} |r_{ab}-r'_{ab}|

    Absolute, not relative: a correlation of 0.001 that becomes 0.002 has not doubled in meaning. A column with one
    single value correlates with nothing. sdcMicro's ``IL_correl`` compares other quantities under a similar name.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]})).with_roles(plain=["x", "y"])
    >>> after = sf.read(pl.DataFrame({"x": [1, 2, 3], "y": [1, 1, 1]})).with_roles(plain=["x", "y"])
    >>> round(Correlations().measure(Pair.of(before, after)).value, 6)
    1.0
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "correlations"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers in two columns."""
        names = numeric_of(pair, self.columns)
        return why_no_numbers(pair, names, self.columns) or (FEW if len(names) < 2 else None)

    def measure(self, pair: Pair) -> Measure:
        """The mean absolute error of the correlations."""
        require_sense(self, pair)
        names = numeric_of(pair, self.columns)
        before, after = (sample.correlations() for sample in _samples(pair, names))
        terms = [
            Term((names[a], names[b]), before[a, b], after[a, b], 1.0, relative=False)
            for a in range(len(names))
            for b in range(a + 1, len(names))
        ]
        return _measure(self.name, terms, pair, "mean absolute error of the correlations")


@parameters
class Eigenvalues:
    r"""The relative error of the eigenvalues of the correlation matrix; over records complete in all columns.

    .. math:: \frac1A\sum_a \frac{|\lambda_a-\lambda'_a|}{\lambda_a}

    Eigenvalues are taken in falling order; one that is 0 (columns depend on each other) is compared with 1, the mean of all.
    sdcMicro's ``dUtility(method = "eigen")`` gives the sum instead of the mean, and divides by eigenvalues that are 0 up to
    rounding: its results of ±10¹⁵ for dependent columns are ours without these terms.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import Pair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]})).with_roles(plain=["x", "y"])
    >>> round(Eigenvalues().measure(Pair.of(before, before)).value, 6)
    0.0
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "eigenvalues"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """None where there are numbers in two columns."""
        names = numeric_of(pair, self.columns)
        return why_no_numbers(pair, names, self.columns) or (FEW if len(names) < 2 else None)

    def measure(self, pair: Pair) -> Measure:
        """The mean relative error of the eigenvalues."""
        import numpy as np

        require_sense(self, pair)
        old, new = (sample.correlations() for sample in _samples(pair, numeric_of(pair, self.columns)))
        there = np.flatnonzero(~np.isnan(old.diagonal()))  # columns without numbers have no correlations to lose
        old, new = (matrix[np.ix_(there, there)] for matrix in (old, new))
        before = np.linalg.eigvalsh(old)[::-1]
        after = np.linalg.eigvalsh(new)[::-1] if not np.isnan(new).any() else np.full(len(before), np.nan)
        terms = [Term((), b, a, 1.0) for b, a in zip(before, after, strict=True)]
        return dataclasses.replace(
            _measure(self.name, terms, pair, "mean relative error of the eigenvalues of the correlation matrix"),
            per_column={},
        )
