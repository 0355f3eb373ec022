"""Columns to learn from: as codes of categories or as numbers, in the canonical order of the
records.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.encoding import as_column, numbers_of
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError
from sfumato.methods.formulas.trees import MOST_CLASSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

RARE = 3
"""A category that fewer people have is told of when it is drawn."""
MOSTLY_DISTINCT = 0.9
"""Numbers of which more than this share is distinct are smoothed unless told otherwise: each stands
for somebody.
"""
SKEWED = 2.0
"""Numbers whose skewness is beyond this are learnt by their ranks."""
MOST_DECIMALS = 9
VALUE, MISSING = 0, 1
"""States of a cell of numbers; special codes follow."""
MOST_WHOLE = 2**53
"""Whole numbers up to here are floating-point numbers too."""
DAY = 86_400_000_000
UNITS_OF_TIME = (DAY, DAY // 24, DAY // 1440, 1_000_000, 1000)
"""Days, hours, minutes, seconds and milliseconds in microseconds."""


class ColumnForm(StrEnum):
    """How a column is learnt: categories without an order, categories with one, numbers (dates are
    days).
    """

    CATEGORIES = "categories"
    ORDERED = "ordered"
    NUMBERS = "numbers"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Material:
    """A column to learn from.

    ``codes`` number the labels (numbers: the distinct values, the missing one last); ``values`` are
    numbers, or places in a listed order, NaN where missing. ``state`` says of numbers whether a
    cell holds a value, nothing, or which special code. ``step`` is what numbers are multiples of
    (None: of nothing), ``bounds`` what they lie between. ``order`` is the listed order;
    ``temporal`` is what dates and times count (``day``, ``microsecond``; empty: they are no dates).
    """

    name: str
    form: ColumnForm
    codes: Codes
    levels: int
    labels: tuple[str | None, ...]
    values: Floats
    state: NDArray[np.uint8]
    bounds: tuple[float, float] = (0.0, 0.0)
    step: float | None = None
    smooth: bool = False
    order: tuple[str, ...] = ()
    temporal: str = ""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def raw(self) -> NDArray[Any]:
        """What rules compare: codes of categories without an order, values of everything else."""
        if self.form is ColumnForm.CATEGORIES:
            return self.codes
        return self.values

    @property
    def by_class(self) -> bool:
        """Whether it is learnt by classes: categories, and whole numbers of which there are few."""
        whole = self.step is not None and self.step >= 1
        return self.form is not ColumnForm.NUMBERS or (
            whole and not self.smooth and self.levels <= MOST_CLASSES
        )

    @property
    def present(self) -> int:
        """How many levels its own records have; those of records that were set aside do not
        count.
        """
        return len(np.unique(self.codes))

    @property
    def constant(self) -> bool:
        """Whether all records have the same."""
        return self.present < 2

    def taken(self, rows: Rows) -> Material:
        """The column of some records; its levels keep their numbers."""
        return dataclasses.replace(
            self, codes=self.codes[rows], values=self.values[rows], state=self.state[rows]
        )

    def written(self, value: float) -> str:
        """A value as a rule would write it."""
        if not self.temporal:
            return repr(float(value))
        since = {"day": "days", "microsecond": "microseconds"}[self.temporal]
        return (
            datetime.datetime(1970, 1, 1) + datetime.timedelta(**{since: float(value)})
        ).isoformat()

    def rare(self, donors: Rows, training: Material) -> int:
        """How many of the drawn cells hold a category that fewer than three people have."""
        if self.form is ColumnForm.NUMBERS:
            return 0
        is_rare = np.bincount(training.codes, minlength=self.levels) < RARE
        return int(is_rare[self.codes[donors]].sum())


def materials_of(
    dataset: Table,
    names: Sequence[str],
    order: Rows,
    special: dict[str, tuple[float, ...]],
    smoothing: str,
    among: Rows | None = None,
) -> dict[str, Material]:
    """The columns of a table in an order of its records; ``among`` are the places in it that may be
    learnt from, all by default.
    """
    return {
        name: material_of(
            dataset, name, order, special=special.get(name, ()), smoothing=smoothing, among=among
        )
        for name in names
    }


def material_of(
    dataset: Table,
    name: str,
    order: Rows,
    special: Sequence[float] = (),
    smoothing: str = "auto",
    among: Rows | None = None,
) -> Material:
    """One column in an order of the records; bounds, steps and whether it is smoothed are those of
    the records ``among``.
    """
    attribute = dataset.schema.attributes.get(name)
    if attribute is not None and attribute.order is not None:
        return _ordered_material(dataset, name, attribute.order, order)
    column = dataset.column(name)
    if attribute is not None and attribute.kind is Kind.DATE:
        column = _read_as_days(column)
    temporal = column.dtype.is_temporal()
    if temporal or (
        # True and false are categories, even where they are called numeric.
        attribute is not None and attribute.kind is Kind.NUMERIC and column.dtype != pl.Boolean
    ):
        values = _instants(column) if temporal else numbers_of(dataset, name)
        # Refuse whole numbers beyond 2⁵³, which floating-point numbers mix up
        if column.dtype.is_integer() and (column.cast(pl.Int128).abs() > MOST_WHOLE).any():
            raise SchemaError(
                f"column {name!r} of {dataset.source.name} holds whole numbers beyond 2^53, too "
                "large to be synthesised as numbers; if they identify people give the column the "
                "role drop, else the kind nominal"
            )
        bounds = None if attribute is None or temporal else attribute.bounds
        if among is None:
            training_rows = np.arange(len(order))
        else:
            training_rows = among
        material = _numbers(
            name,
            values[order],
            special,
            smoothing=smoothing,
            bounds=bounds,
            training_rows=training_rows,
        )
        counts = {pl.Date: "day", pl.Datetime: "microsecond"}.get(column.dtype.base_type(), "")
        if not temporal:
            return material
        return dataclasses.replace(
            material,
            step=_unit_of_time(values[order][training_rows], column.dtype),
            temporal=counts,
        )
    encoded = dataset.encoded(name)
    codes = encoded.codes[order].astype(np.int32)
    return _build_material(
        name, ColumnForm.CATEGORIES, codes, tuple(encoded.labels), codes.astype(np.float64)
    )


def _build_material(
    name: str, form: ColumnForm, codes: Codes, labels: tuple[str | None, ...], values: Floats
) -> Material:
    return Material(
        name,
        form,
        codes=codes,
        levels=len(labels),
        labels=labels,
        values=values,
        state=np.zeros(len(codes), dtype=np.uint8),
    )


def _ordered_material(dataset: Table, name: str, listed: tuple[str, ...], order: Rows) -> Material:
    encoded = dataset.encoded(name)
    label_codes = {label: i for i, label in enumerate(listed)}
    unknown = sum(1 for label in encoded.labels if label is not None and label not in label_codes)
    if unknown:
        raise SchemaError(
            f"column {name!r} has {unknown:,} value(s) that its order does not list; add them"
        )
    positions_of_labels = []
    for label in encoded.labels:
        if label is None:
            positions_of_labels.append(len(listed))
        else:
            positions_of_labels.append(label_codes[label])
    positions = np.array(positions_of_labels, dtype=np.int32)
    codes = positions[encoded.codes[order]]
    present = np.unique(codes)
    labels = (*listed, None)
    values = np.where(codes == len(listed), np.nan, codes)
    # Numbers without gaps: an order may list values that nobody has.
    dense = np.searchsorted(present, codes).astype(np.int32)
    present_labels = tuple(labels[p] for p in present.tolist())
    material = _build_material(name, ColumnForm.ORDERED, dense, present_labels, values)
    return dataclasses.replace(material, order=tuple(listed))


def _read_as_days(column: pl.Series) -> pl.Series:
    """Text of the form 2024-02-28 as days; any other column as it is."""
    if column.dtype != pl.String:
        return column
    days = column.str.to_date("%Y-%m-%d", strict=False)
    # All or nothing: text that is no date in one cell is learnt as categories.
    if days.null_count() == column.null_count():
        return days
    return column


def _instants(column: pl.Series) -> Floats:
    """Dates as days, moments as microseconds, times of day as nanoseconds."""
    if column.dtype == pl.Datetime:
        plain = column.dt.cast_time_unit("us")
    else:
        plain = column
    ticks = plain.to_physical().cast(pl.Float64).fill_null(float("nan"))
    return np.array(ticks.to_numpy(), dtype=np.float64)


def _numbers(
    name: str,
    values: Floats,
    special: Sequence[float],
    smoothing: str,
    bounds: tuple[float, float] | None,
    training_rows: Rows,
) -> Material:
    values = values + 0.0  # −0 becomes 0
    distinct, codes = np.unique(values, return_inverse=True)
    # Missing is a state, and so is every special code: they are drawn before any number.
    state = np.where(np.isnan(values), MISSING, VALUE).astype(np.uint8)
    for number, code in enumerate(special, start=MISSING + 1):
        state[values == code] = number
    present_values = values[training_rows][state[training_rows] == VALUE]
    different = len(np.unique(present_values))
    smooth = smoothing == "kernel" or (
        smoothing == "auto" and different > MOSTLY_DISTINCT * max(1, len(present_values))
    )
    if len(present_values):
        lowest = present_values.min()
        highest = present_values.max()
    else:
        lowest, highest = (0.0, 0.0)
    # The least and greatest value may be one person's.
    # declared bounds say more than the data: what is reflected at them shows nobody's value
    if bounds is not None:
        lowest = min(bounds[0], lowest)
        highest = max(bounds[1], highest)
    return Material(
        name,
        ColumnForm.NUMBERS,
        codes=codes.astype(np.int32),
        levels=len(distinct),
        labels=(),
        values=values,
        state=state,
        bounds=(float(lowest), float(highest)),
        step=step_of(present_values),
        smooth=smooth and different > 1,
    )


def step_of(values: Floats) -> float | None:
    """The largest of 10⁹, …, 10, 1, 0.1, …, 10⁻⁹ that all values are multiples of; None: of none.

    >>> (
    ...     step_of(np.array([1200.0, 700.0])),
    ...     step_of(np.array([1.25, 3.0])),
    ...     step_of(np.array([1 / 3])),
    ... )
    (100.0, 0.01, None)
    """
    if not len(values):
        return None
    # From the coarsest step down: 1200 and 700 are multiples of 100 before they are of 10.
    for exponent in range(MOST_DECIMALS, 0, -1):
        if not (values % 10**exponent).any():
            return float(10**exponent)
    for decimals in range(MOST_DECIMALS + 1):
        if (np.round(values, decimals) == values).all():
            return float(10.0**-decimals)
    return None


def _unit_of_time(values: Floats, dtype: pl.DataType) -> float:
    """The longest unit of time that all moments are multiples of, as the column counts them: a day
    for dates; up to a day for moments, times of day and durations.
    """
    if dtype == pl.Date:
        return 1.0
    # Moments are counted in microseconds, times of day in nanoseconds.
    ticks = 1000.0 if dtype == pl.Time else 1.0
    if isinstance(dtype, pl.Duration):
        ticks = {"ms": 0.001, "us": 1.0, "ns": 1000.0}[dtype.time_unit]
    present_values = values[~np.isnan(values)]
    if not len(present_values):
        return 1.0
    for unit in UNITS_OF_TIME:
        if not (present_values % (unit * ticks)).any():
            return unit * ticks
    return 1.0


def rounded_to(values: Floats, step: float | None) -> Floats:
    """Numbers as multiples of a step.

    >>> (
    ...     rounded_to(np.array([1.234, 5.0]), 0.01).tolist(),
    ...     rounded_to(np.array([1234.0]), 100.0).tolist(),
    ... )
    ([1.23, 5.0], [1200.0])
    """
    if step is None:
        return values
    if step > 1:
        rounded_values: Floats = np.rint(values / step) * step
    else:
        # As decimals, not as a multiple of 0.1, which is no floating-point number.
        rounded_values = np.round(values, round(-np.log10(step)))
    return rounded_values


def written_back(column: pl.Series, donors: Rows, values: Floats | None) -> pl.Series:
    """The drawn cells as a column of the kind it was: those of the donors, or numbers where they
    were smoothed.
    """
    copied = column.gather(donors)
    if values is None:
        return copied
    if column.dtype == pl.String and (days := _read_as_days(column)).dtype == pl.Date:
        return written_back(days, donors, values).cast(pl.String)
    if not column.dtype.is_temporal():
        return as_column(column.name, values, column)
    # NaN is no whole number: it is put in as null afterwards.
    whole_numbers = np.where(np.isnan(values), 0, values)
    whole = pl.Series(column.name, whole_numbers.astype(np.int64))
    whole = whole.set(pl.Series(np.isnan(values)), None)
    if column.dtype == pl.Datetime:
        zone: Any = column.dtype
        # Numbers count UTC; the zone of the column is put back on.
        moments = whole.cast(pl.Datetime("us")).dt.cast_time_unit(zone.time_unit)
        if not zone.time_zone:
            return moments
        return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(zone.time_zone)
    if column.dtype == pl.Date:
        return whole.cast(pl.Int32).cast(pl.Date)
    return whole.cast(column.dtype)
