"""Columns of every kind as points whose squared distances add up.

=========  ==========================================  ======================================
column     points                                      squared distance of two values
=========  ==========================================  ======================================
numbers    z-scores (population standard deviation)    (x - y)² / s²
dates      z-scores of the time                        as numbers
ordered    z-scores of the ranks                       as numbers, of ranks
nominal    one dimension a value, 1/√2                 0 where equal, 1 where not
taxonomy   one dimension a node, 1/√(2h)               levels up to the lowest common node / h
=========  ==========================================  ======================================

with *h* the height of the hierarchy. Means of such points are no values, but the squared error of
a group is what it should be: the variance of numbers, the Gini impurity of nominal values. So
every method works on columns of every kind. A missing value is the origin in all its dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from sfumato.core.calendar import dates_of
from sfumato.core.encoding import Encoded, numbers_of
from sfumato.core.hierarchy import Ladder, bind
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError
from sfumato.methods.steps.masking.category_ranks import ranks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]

Form = Literal["numbers", "dates", "ordered", "nominal", "taxonomy"]
ON_A_LINE = ("numbers", "dates", "ordered")
MOST_DIMENSIONS = 2_000
DAY = 86_400_000_000
"""Microseconds."""


def form_of(dataset: Table, name: str, nominal: str) -> Form:
    """How a column is taken: by the kind that the schema says, without one by the type of its
    values.
    """
    dtype = dataset.dtype(name)
    attribute = dataset.schema.attributes.get(name)
    # Without a role in the schema only the type of its values says what a column is.
    if attribute is None:
        if dtype.is_numeric():
            return "numbers"
        if dtype.is_temporal():
            return "dates"
        return "nominal"
    if attribute.kind is Kind.DATE or (attribute.kind is Kind.NUMERIC and dtype.is_temporal()):
        if not (dtype.is_temporal() or _days_as_text(dataset.column(name))):
            raise SchemaError(
                f"column {name!r} must hold dates to be averaged, or text like YYYY-MM-DD, but it "
                f"holds {dtype}; read it as dates first"
            )
        return "dates"
    if attribute.kind is Kind.NUMERIC:
        return "numbers"
    if attribute.kind is Kind.ORDINAL:
        return "ordered"
    if nominal == "taxonomy" and attribute.hierarchy is not None:
        return "taxonomy"
    return "nominal"


def line_of(dataset: Table, name: str, form: str) -> Array:
    """A column that lies on a line as numbers: values, times or ranks; NaN is missing."""
    if form == "numbers":
        return numbers_of(dataset, name)
    if form == "dates":
        ticks = _same_ticks(dataset.column(name)).to_physical().cast(pl.Float64)
        return np.array(ticks.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    attribute = dataset.schema.attributes.get(name)
    if dataset.dtype(name).is_numeric() and (attribute is None or attribute.order is None):
        values = numbers_of(dataset, name)
        present = ~np.isnan(values)
        # Numbers without a listed order: their ranks.
        values[present] = np.unique(values[present], return_inverse=True)[1]
        return values
    return ranks_of(dataset, name)


def _days_as_text(column: pl.Series) -> bool:
    """Whether a column is text that says days without times, as files that know no dates do."""
    return column.dtype == pl.Null or (
        column.dtype == pl.String and bool((column.str.len_chars() == 10).all())
    )


def _same_ticks(column: pl.Series) -> pl.Series:
    """Dates and times in microseconds, whatever the frame counts in: so that rounding is the
    same.
    """
    if column.dtype in (pl.String, pl.Null):
        column = dates_of(column, "the table")
    # Days counted in days and in microseconds round differently.
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.cast_time_unit("us")
    return column


def dates_at(ticks: Array, column: pl.Series) -> pl.Series:
    """Ticks as dates again: whole days where all dates are."""
    own = _same_ticks(column)
    moments = own.drop_nulls().to_physical().to_numpy()
    if isinstance(own.dtype, pl.Datetime) and not (moments % DAY).any():
        unit = DAY
    else:
        unit = 1
    whole_units = np.rint(ticks / unit) * unit
    rounded = pl.Series(column.name, whole_units).fill_nan(None).cast(pl.Int64)
    dates = rounded.cast(own.to_physical().dtype).cast(own.dtype)
    if column.dtype == pl.String:
        return dates.dt.strftime("%Y-%m-%d")
    return dates.cast(column.dtype)


def ladder_of(dataset: Table, name: str) -> tuple[Encoded, Ladder, NDArray[np.int64]]:
    """A column under its hierarchy: its codes, the ladder, and the ladder's code of every row at
    level 0.
    """
    encoded = dataset.encoded(name)
    ladder = bind(dataset.schema[name].hierarchy, encoded.labels, encoded.counts.tolist())
    label_codes = {label: code for code, label in enumerate(ladder.labels[0])}
    codes = np.array([label_codes[label] for label in encoded.labels], dtype=np.int64)
    return encoded, ladder, codes[encoded.codes]


def embed_columns(
    dataset: Table, forms: Mapping[str, Form], lines: Mapping[str, Array], *, standardize: bool
) -> Array:
    """The columns as points, one row a record, in the order of the table."""
    parts: list[Array] = []
    for name, form in forms.items():
        if form in ON_A_LINE:
            parts.append(_scale_columns(lines[name], standardize=standardize)[:, None])
        elif form == "nominal":
            encoded = dataset.encoded(name)
            parts.append(_indicators(encoded.codes, encoded.labels, 2.0))
        else:
            parts += _levels(dataset, name)
        if sum(part.shape[1] for part in parts) > MOST_DIMENSIONS:
            raise SchemaError(
                f"column {name!r} has too many different values to compare one by one; recode it "
                f"first, or leave it out (more than {MOST_DIMENSIONS:,} in all)"
            )
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _scale_columns(values: Array, *, standardize: bool) -> Array:
    """z-scores of the known values; a column that does not vary says nothing. Missing is 0."""
    present = ~np.isnan(values)
    scores = np.zeros(len(values))
    if present.any():
        centred = values[present] - values[present].mean()
        if standardize:
            spread = float(values[present].std())
        else:
            spread = 1.0
        # Equal numbers may have a spread of 1e-17 by rounding: compare them instead.
        if np.ptp(values[present]) > 0 and spread > 0:
            scores[present] = centred / spread
    return scores


def _indicators(codes: NDArray[np.int64], labels: Sequence[str | None], shares: float) -> Array:
    """A dimension for every code whose label is not missing: √(1/shares) for the records that have
    it.
    """
    present = np.flatnonzero([label is not None for label in labels])
    if len(present) > MOST_DIMENSIONS:
        return np.empty((0, len(present)))
    indicators: Array = (codes[:, None] == present[None, :]) / np.sqrt(shares)
    return indicators


def _levels(dataset: Table, name: str) -> list[Array]:
    """Indicators of the nodes above every value, on every level but the top, where all are one."""
    _, ladder, codes = ladder_of(dataset, name)
    # Without levels the column is nominal: values are equal or not.
    if ladder.top == 0:
        return [_indicators(codes, ladder.labels[0], 2.0)]
    levels = []
    for level in range(ladder.top):
        nodes = ladder.climb(0, level)[codes]
        levels.append(_indicators(nodes, ladder.labels[level], 2.0 * ladder.top))
    return levels
