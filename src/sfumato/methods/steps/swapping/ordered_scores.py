"""Columns whose values have an order, as numbers to sort by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.encoding import numbers_of
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


def scores_of(dataset: Table, name: str) -> NDArray[np.float64]:
    """Numbers that sort like the values of a column; missing is NaN.

    Numbers are themselves; dates and times count from their epoch; ordinal values are their place
    in the ``order`` that the schema lists. Other text has no order and is refused.
    """
    attribute = dataset.schema.attributes.get(name)
    # A listed order goes before the type: codes such as 1, 2, 9 may be ordered otherwise.
    if attribute is not None and attribute.order is not None:
        return _positions(dataset, name, attribute.order)
    column = dataset.column(name)
    if column.dtype == pl.Boolean or column.dtype.is_temporal():
        return column.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    if (
        column.dtype.is_numeric()
        or column.dtype == pl.Null
        or (attribute is not None and attribute.kind is Kind.NUMERIC)
    ):
        return numbers_of(dataset, name)
    raise SchemaError(
        f"the values of column {name!r} have no order; give kind: ordinal and order: [...], low to "
        "high"
    )


def _positions(dataset: Table, name: str, order: tuple[str, ...]) -> NDArray[np.float64]:
    """The place of each value in a listed order."""
    encoded = dataset.encoded(name)
    rank_of_value: dict[str | None, float] = {value: float(i) for i, value in enumerate(order)}
    unknown = sum(1 for value in encoded.labels if value is not None and value not in rank_of_value)
    if unknown:
        raise SchemaError(
            f"column {name!r} has {unknown:,} value(s) that its order does not list; add them"
        )
    # Only a missing value is not in the order: all others were refused above.
    positions = [rank_of_value.get(value, math.nan) for value in encoded.labels]
    return np.array(positions, dtype=np.float64)[encoded.codes]


def is_measured(dataset: Table, name: str) -> bool:
    """Whether means of a column make sense: it holds numbers and no listed order."""
    attribute = dataset.schema.attributes.get(name)
    ordered = attribute is not None and attribute.order is not None
    return not ordered and bool(dataset.dtype(name).is_numeric())
