"""Squared error by normalised distances of cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.encoding import missing_in
from sfumato.core.metric import ColumnUtility, Measure
from sfumato.core.parameters import parameters
from sfumato.methods.utility.cell_averages import normalise, records_of, suppressed_of
from sfumato.methods.utility.cells import Cells, cells_of
from sfumato.methods.utility.columns import (
    EMPTY,
    AllColumns,
    NumericColumns,
    data_of,
    numeric_of,
    require_sense,
)
from sfumato.methods.utility.logistic_regression import is_number
from sfumato.methods.utility.numeric import Amounts, OfNumbers, errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.reading import Joint

    Floats = NDArray[np.float64]

Parts = tuple[Amounts, float, float]


@parameters
class SquaredError(ColumnUtility):
    r"""The mean squared normalised distance of a cell from its original.

    .. math:: \frac1N\sum_i\frac1A\sum_a NED(a_i, a'_i)^2

    NED of numbers, dates and ordered values is :math:`|a-a'|` over the range of the column; of
    categories it is the height of the lowest node above both, over the height of the hierarchy
    (``categories="hierarchy"``), or 0 when equal and 1 when not (``"equal"``, and for columns
    without a hierarchy). A released range stands for its middle and a suppressed number for the
    mean of its column; a suppressed category is at distance 1, and so is anything from what was
    missing before; a missing number costs only where it was filled. ``value`` is the share of what
    suppressing everything costs, at most 1. Unlike the loss metrics it also applies where values
    were changed, and by default looks at all columns of data. It is a mean, although the literature
    calls it a sum (SSE).

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of
    Passau, 2021/22.

    >>> from sfumato import examples
    >>> from sfumato.core.pair import TablePair
    >>> pair = TablePair.of(examples.patients(), examples.patients(release="single"))
    >>> round(SquaredError(["age"]).measure(pair).raw, 6)  # (4 · 0.5² + 2 · (1/6)²…) / 6
    0.138889
    """

    columns: AllColumns = None
    categories: Annotated[
        Literal["hierarchy", "equal"],
        Field(description="distance of categories: by their hierarchy, or 0 and 1"),
    ] = "hierarchy"

    name: ClassVar[str] = "squared_error"
    follows_rows: ClassVar[bool] = True
    title: ClassVar[str] = "Squared error of cells"
    line: ClassVar[str] = "mean squared distance of a cell from its original"

    def applies(self, pair: TablePair) -> str | None:
        """None where there is anything to compare."""
        names = data_of(pair, self.columns)
        if not records_of(pair):
            return EMPTY
        if names:
            return None
        return "there is no column to compare; name some"

    def measure(self, pair: TablePair) -> Measure:
        """The mean squared distance of a cell."""
        require_sense(self, pair)
        names = data_of(pair, self.columns)
        count = max(1, records_of(pair))
        columns, total, largest = {}, 0.0, 0.0
        for name in names:
            squares, gone, top = self._parts(pair, name)
            column_error = squares.total() + gone
            columns[name] = column_error / count
            total = total + column_error
            largest = largest + top
        raw = total / len(names) / count
        largest_mean = largest / len(names)
        value = normalise(raw, largest_mean / max(1, len(pair.original)), pair)
        meaning = "mean squared distance of a cell from its original, over the range of its column"
        parts = partial(self._records, pair, names)
        return Measure(
            self.name, value, self.better, meaning, raw=raw, per_column=columns, parts=parts
        )

    def _records(self, pair: TablePair, names: Sequence[str]) -> Floats:
        """The mean squared distance of the cells of every released record."""
        records = np.zeros(len(pair.released))
        for name in names:
            squares, joint = self._squares(pair, name)
            own = squares.values
            if joint is not None:
                own = own[joint.which]
            records += own / len(names)
        return records

    def _parts(self, pair: TablePair, name: str) -> Parts:
        """Squared distances of released cells, their sum over suppressed records, and over all if
        all were suppressed.
        """
        squares = self._squares(pair, name)[0]
        # Categories have no mean to stand at: a suppressed one is at distance 1.
        if name not in pair.released.columns or not is_number(pair, name):
            return squares, float(suppressed_of(pair)), float(len(pair.original))
        error = errors(pair, name)
        # A constant column has no range; its errors are 0 unless values were changed.
        unit = error.span or 1.0
        return squares, error.suppressed.total_square(unit=unit), error.top.total_square(unit=unit)

    def _squares(self, pair: TablePair, name: str) -> tuple[Amounts, Joint | None]:
        """The squared distances of distinct cells, and the pairs that tell which each released row
        has (None: each has its own).
        """
        if name not in pair.released.columns:
            return Amounts.of(np.ones(len(pair.released))), None
        cells = None if is_number(pair, name) else cells_of(pair, name)
        if cells is not None:
            return Amounts.of(self._distances(pair, cells) ** 2, cells.rows), cells.joint
        error = errors(pair, name)

        def squares(rows: slice) -> Floats:
            before, after = error.missing(rows)
            return np.where(
                # A number where there was none is as far off as can be.
                before & ~after,
                1.0,
                (error.released.part(rows) / (error.span or 1.0)) ** 2,
            )

        return Amounts(error.released.size, squares, error.released.counts), error.joint

    def _distances(self, pair: TablePair, cells: Cells) -> Floats:
        if self.categories == "hierarchy" and cells.ladder.top:
            missing = missing_in(cells.reading.values)[cells.value]
            blank = missing_in(cells.reading.labels)[cells.label]
            return np.where(cells.lost, 1.0, np.where(missing, ~blank, cells.height))
        return (~pair.as_it_was(cells.reading.name)).astype(np.float64)


# Record-level squared error.


@parameters
class RecordSquaredError(OfNumbers):
    r"""The mean squared distance of a record from its original, over columns of numbers made
    comparable.

    .. math:: \frac1N\sum_i \lVert x_i - x'_i\rVert^2

    Columns are divided by their range or their standard deviation (over *N* − 1); those with a
    single value are left out. ``root`` takes the square root of the mean. A released range stands
    for its middle, a suppressed cell for the mean. ``value`` is the share of what suppressing
    everything costs, at most 1.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [0, 2, 4], "y": [0, 1, 1]})).with_roles(
    ...     keep=["x", "y"]
    ... )
    >>> after = sf.read(pl.DataFrame({"x": [0, 4, 4], "y": [1, 1, 1]})).with_roles(keep=["x", "y"])
    >>> round(
    ...     RecordSquaredError(scale="range").measure(TablePair.of(before, after)).raw, 4
    ... )  # (1 + 1/4 + 0) / 3
    0.4167
    """

    columns: NumericColumns = None
    scale: Annotated[
        Literal["deviation", "range"], Field(description="what columns are divided by")
    ] = "deviation"
    root: Annotated[bool, Field(description="whether the square root of the mean is taken")] = False

    name: ClassVar[str] = "record_squared_error"
    follows_rows: ClassVar[bool] = True
    title: ClassVar[str] = "Squared error of records"
    line: ClassVar[str] = "mean squared distance of a record from its original"

    def measure(self, pair: TablePair) -> Measure:
        """The mean squared distance of a record."""
        require_sense(self, pair)
        columns, total, largest = {}, 0.0, 0.0
        count = max(1, records_of(pair))
        units = {name: self._unit(pair, name) for name in numeric_of(pair, self.columns)}
        units = {name: unit for name, unit in units.items() if unit > 0}
        for name, unit in units.items():
            error = errors(pair, name)
            column_error = error.released.total_square(unit=unit) + error.suppressed.total_square(
                unit=unit
            )
            columns[name] = column_error / count
            total = total + column_error
            largest = largest + error.top.total_square(unit=unit)
        raw = total / count
        top = largest / max(1, len(pair.original))
        if self.root:
            raw = math.sqrt(raw)
            top = math.sqrt(top)
        return Measure(
            self.name,
            normalise(raw, top, pair),
            self.better,
            f"{'root of the ' * self.root}mean squared distance of a record from its original",
            raw=raw,
            per_column=columns,
            parts=partial(_rows_squared, pair, units),
        )

    def _unit(self, pair: TablePair, name: str) -> float:
        error = errors(pair, name)
        if self.scale == "range":
            return error.span
        return error.deviation


def _rows_squared(pair: TablePair, units: Mapping[str, float]) -> Floats:
    """Squared errors in units of their columns, added up per released record."""
    records = np.zeros(len(pair.released))
    for name, unit in units.items():
        error = errors(pair, name)
        records += error.per_row((error.released.values / unit) ** 2)
    return records


# Information loss of microaggregation: SSE over SST.


@parameters
class SumOfSquares(OfNumbers):
    r"""The variation that was lost: the within-group sum of squares over the total one (SSE/SST).

    .. math:: L = \frac{\sum_i \lVert x_i - x'_i\rVert^2}{\sum_i \lVert x_i - \bar x\rVert^2}

    For microaggregated data SSE + SSA = SST, where SSA is the sum of squares between groups.
    ``standardise`` divides every column by its standard deviation first, so that none drowns the
    others (the default; literature on microaggregation does so too). A released range stands for
    its middle, a suppressed cell for the mean: suppressing everything gives 1. ``value`` is at most
    1; ``raw`` may exceed it after swapping or strong noise.

    Reference: J. Domingo-Ferrer and J. M. Mateo-Sanz, IEEE TKDE 14(1), 2002,
    https://doi.org/10.1109/69.979982.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [2, 12, 16, 25, 29, 45]})).with_roles(keep="x")
    >>> after = sf.read(pl.DataFrame({"x": [10, 10, 10, 27, 27, 45]})).with_roles(keep="x")
    >>> round(SumOfSquares().measure(TablePair.of(before, after)).raw, 5)  # 112 / 1121.5
    0.09987
    """

    columns: NumericColumns = None
    standardise: Annotated[
        bool, Field(description="whether columns are divided by their standard deviations")
    ] = True

    name: ClassVar[str] = "sse_over_sst"
    follows_rows: ClassVar[bool] = True
    title: ClassVar[str] = "Variation lost (SSE/SST)"
    line: ClassVar[str] = "share of the variation of the numbers that is lost"

    def measure(self, pair: TablePair) -> Measure:
        """The share of the variation that is lost."""
        require_sense(self, pair)
        columns, units = {}, {}
        within = total = 0.0
        for name in numeric_of(pair, self.columns):
            error = errors(pair, name)
            every = error.top.total_square()
            if every <= 0:
                continue
            # In units of its own total every column counts 1, whatever its numbers are.
            unit = every if self.standardise else 1.0
            column_error = error.released.total_square() + error.suppressed.total_square()
            # Roots, as the errors are squared after they were divided.
            columns[name], units[name] = column_error / every, math.sqrt(unit)
            within = within + column_error / unit
            total = total + every / unit
        raw = within / total if total > 0 else 0.0
        return Measure(
            self.name,
            normalise(raw, 1.0, pair),
            self.better,
            "share of the variation of the numbers that is lost",
            raw=raw,
            per_column=columns,
            parts=lambda: _rows_squared(pair, units) / (total or 1.0),
        )


# Standardised absolute error IL1s.


@parameters
class StandardisedError(OfNumbers):
    r"""The mean absolute error of numbers, in units of √2 standard deviations of their columns
    (IL1s).

    .. math:: \frac1{NA}\sum_i\sum_a \frac{|x_{ia}-x'_{ia}|}{\sqrt2\,S_a}

    :math:`S_a` is the standard deviation of the original column (over *N* − 1). A released range
    stands for its middle, a suppressed cell for the mean; cells that were missing before are left
    out, and so are columns with one single value. ``value`` is the share of what suppressing
    everything costs, at most 1. sdcMicro's ``dUtility(method = "IL1s")`` gives the sum over cells
    instead of the mean.

    Reference: W. E. Yancey, W. E. Winkler and R. H. Creecy, 2002; J. M. Mateo-Sanz, F. Sebé and J.
    Domingo-Ferrer, 2004.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> from sfumato.core.pair import TablePair
    >>> before = sf.read(pl.DataFrame({"x": [1, 2, 3]})).with_roles(keep="x")
    >>> after = sf.read(pl.DataFrame({"x": [2, 2, 2]})).with_roles(keep="x")
    >>> round(StandardisedError().measure(TablePair.of(before, after)).raw, 4)
    0.4714
    """

    columns: NumericColumns = None

    name: ClassVar[str] = "il1s"
    follows_rows: ClassVar[bool] = True
    title: ClassVar[str] = "Absolute error (IL1s)"
    line: ClassVar[str] = "mean absolute error of a number, in standard deviations"

    def measure(self, pair: TablePair) -> Measure:
        """The mean standardised error."""
        require_sense(self, pair)
        columns, units = {}, {}
        total = largest = cells = 0.0
        for name in numeric_of(pair, self.columns):
            error = errors(pair, name)
            if error.deviation <= 0:
                continue
            # √2 · S is the standard deviation of the difference of two independent values.
            unit = math.sqrt(2) * error.deviation
            column_error = (_absolute(error.released) + _absolute(error.suppressed)) / unit
            columns[name], units[name] = column_error / max(1, error.known), unit
            total = total + column_error
            largest = largest + _absolute(error.top) / unit
            cells = cells + error.known
        raw = total / max(1.0, cells)
        top = largest / max(1.0, cells)
        meaning = "mean absolute error of a number in units of √2 standard deviations"
        return Measure(
            self.name,
            normalise(raw, top, pair),
            self.better,
            meaning,
            raw=raw,
            per_column=columns,
            parts=partial(_rows_absolute, pair, units),
        )


def _absolute(errors: Amounts) -> float:
    """The sum of absolute errors."""
    return errors.total(np.abs)


def _rows_absolute(pair: TablePair, units: Mapping[str, float]) -> Floats:
    """The mean absolute error of every released record, in units of the columns."""
    records = np.zeros(len(pair.released))
    for name, unit in units.items():
        error = errors(pair, name)
        records += error.per_row(np.abs(error.released.values) / unit)
    return records / max(1, len(units))
