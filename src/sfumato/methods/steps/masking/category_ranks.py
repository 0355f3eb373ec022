"""Columns of categories as numbers: the rank of each value, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.encoding import numbers_of
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Floats = NDArray[np.float64]


def is_category(dataset: Table, name: str) -> bool:
    """Whether a column holds categories: its values are listed in order, or it neither holds nor is
    meant as numbers.
    """
    attribute = dataset.schema.attributes.get(name)
    if attribute is not None and attribute.order is not None:
        return True
    numeric = dataset.dtype(name).is_numeric() and dataset.dtype(name) != pl.Boolean
    return not numeric and (attribute is None or attribute.kind is not Kind.NUMERIC)


def ranks_of(dataset: Table, name: str) -> Floats:
    """The rank of every value among the listed or, without a list, the sorted values; NaN where it
    is missing.
    """
    encoded = dataset.encoded(name)
    attribute = dataset.schema.attributes.get(name)
    order = attribute.order if attribute is not None else None
    rank = {}
    for i, value in enumerate(order if order is not None else encoded.labels):
        rank[value] = float(i)
    unknown = [text for text in encoded.labels if text is not None and text not in rank]
    if unknown:
        raise SchemaError(
            f"column {name!r} holds {len(unknown):,} value(s) that its order does not "
            "list; add them"
        )
    ranks = [np.nan if text is None else rank[text] for text in encoded.labels]
    return np.array(ranks)[encoded.codes]


def numbers_or_ranks(dataset: Table, name: str) -> Floats:
    """A column as numbers, ranks for categories."""
    if is_category(dataset, name):
        return ranks_of(dataset, name)
    return numbers_of(dataset, name)


def values_at(column: pl.Series, ranks: Floats, target_ranks: Floats) -> pl.Series:
    """Values of a column by rank, each of which some row has; a missing rank is a missing value."""
    present = np.flatnonzero(~np.isnan(ranks))
    if not len(present):
        return pl.Series(column.name, [None] * len(column), dtype=column.dtype)
    distinct, first = np.unique(ranks[present], return_index=True)
    gaps = np.isnan(target_ranks)
    rows = pl.Series(present[first])
    positions = np.searchsorted(distinct, np.where(gaps, distinct[0], target_ranks))
    return column.gather(rows.gather(positions)).set(pl.Series(gaps), None)
