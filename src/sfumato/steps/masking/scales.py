"""Columns of categories as numbers: the rank of each value, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.encoding import encode
from sfumato.core.numbers import numbers_of
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset


def is_category(dataset: Dataset, name: str) -> bool:
    """Whether a column holds categories: its values are listed in order, or it neither holds nor is meant as numbers."""
    import polars as pl

    attribute = dataset.schema.attributes.get(name)
    if attribute is not None and attribute.order is not None:
        return True
    numeric = dataset.column(name).dtype.is_numeric() and dataset.column(name).dtype != pl.Boolean
    return not numeric and (attribute is None or attribute.kind is not Kind.NUMERIC)


def ranks_of(dataset: Dataset, name: str) -> NDArray[np.float64]:
    """The rank of every value among the listed or, without a list, the sorted values; NaN where it is missing."""
    import numpy as np

    encoded = encode(dataset.column(name))
    attribute = dataset.schema.attributes.get(name)
    order = attribute.order if attribute is not None else None
    rank = {value: float(i) for i, value in enumerate(order if order is not None else encoded.labels)}
    unknown = [text for text in encoded.labels if text is not None and text not in rank]
    if unknown:
        raise SchemaError(f"column {name!r} holds {len(unknown):,} value(s) that its order does not list")
    return np.array([np.nan if text is None else rank[text] for text in encoded.labels])[encoded.codes]


def numbers_or_ranks(dataset: Dataset, name: str) -> NDArray[np.float64]:
    """A column as numbers, ranks for categories."""
    return ranks_of(dataset, name) if is_category(dataset, name) else numbers_of(dataset, name)


def values_at(column: pl.Series, ranks: NDArray[np.float64], wanted: NDArray[np.float64]) -> pl.Series:
    """Values of a column by rank, each of which some row has; a missing rank is a missing value."""
    import numpy as np
    import polars as pl

    known = np.flatnonzero(~np.isnan(ranks))
    if not len(known):
        return pl.Series(column.name, [None] * len(column), dtype=column.dtype)
    distinct, first = np.unique(ranks[known], return_index=True)
    gaps = np.isnan(wanted)
    rows = pl.Series(known[first])
    places = np.searchsorted(distinct, np.where(gaps, distinct[0], wanted))
    return column.gather(rows.gather(places)).set(pl.Series(gaps), None)
