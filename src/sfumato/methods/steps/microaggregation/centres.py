"""What a group is released as: the mean of numbers, the median of ordered values, the mode or the
common node of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.encoding import as_column, encode
from sfumato.methods.steps.masking.category_ranks import values_at
from sfumato.methods.steps.microaggregation.embedding import (
    dates_at,
    ladder_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


def centres(
    dataset: Table, name: str, form: str, line: Array | None, groups: Labels, weights: Array
) -> pl.Series:
    """A column in which every record has what its group is released as; records in no group (−1)
    stay as they are.

    ``line`` has the column as numbers where it lies on a line. Missing values are shared by whole
    groups and stay missing.
    """
    column = dataset.column(name)
    if form == "nominal":
        return column.gather(_rows_of_modes(encode(column).codes, groups, weights))
    if form == "taxonomy" or line is None:
        return _common_nodes(dataset, name, groups)
    if form == "ordered":
        return values_at(column, line, medians(line, groups, weights))
    line_of_means = means(line, groups, weights)
    if form == "numbers":
        return as_column(name, line_of_means, column)
    return dates_at(line_of_means, column)


def means(values: Array, groups: Labels, weights: Array) -> Array:
    """The weighted mean of every record's group; the plain one where nobody of a group counts.

    >>> import numpy as np
    >>> means(np.array([1.0, 2, 6]), np.array([0, 0, 1]), np.ones(3)).tolist()
    [1.5, 1.5, 6.0]
    """
    inside = (groups >= 0) & ~np.isnan(values)
    own = values[inside]
    of = groups[inside]
    if not len(of):
        return values
    group_weights = np.bincount(of, weights[inside])
    row_weights = np.where(group_weights[of] > 0, weights[inside], 1.0)
    sums = np.bincount(of, own * row_weights)
    totals = np.bincount(of, row_weights)
    mean_of = sums / np.maximum(totals, 1e-300)
    low = np.full(len(mean_of), np.inf)
    high = np.full(len(mean_of), -np.inf)
    np.minimum.at(low, of, own)
    np.maximum.at(high, of, own)
    # equal values stay what they are to the last digit
    mean_of = np.where(low == high, low, np.clip(mean_of, low, high))
    released = values.copy()
    released[inside] = mean_of[of]
    return released


def medians(values: Array, groups: Labels, weights: Array) -> Array:
    """The lower weighted median of every record's group: the least value with half of the weight at
    or below it.

    >>> import numpy as np
    >>> medians(np.array([3.0, 1, 2, 7, 5]), np.array([0, 0, 0, 1, 1]), np.ones(5)).tolist()
    [2.0, 2.0, 2.0, 5.0, 5.0]
    """
    released = values.copy()
    order = np.lexsort((values, groups))
    order = order[groups[order] >= 0]
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(rows):
            if weights[rows].sum() > 0:
                row_weights = weights[rows]
            else:
                row_weights = np.ones(len(rows))
            below = np.cumsum(row_weights)
            half = below[-1] / 2 - 1e-12 * below[-1]
            middle = int(np.searchsorted(below, half))
            released[rows] = values[rows[middle]]
    return released


def _rows_of_modes(codes: Labels, groups: Labels, weights: Array) -> Labels:
    """For every record a record that has the most frequent value of its group (by weight, then by
    count, then the first).
    """
    rows = np.arange(len(codes))
    inside = np.flatnonzero(groups >= 0)
    code_count = int(codes.max(initial=0)) + 1
    keys = groups[inside] * code_count + codes[inside]
    pairs, first, of = np.unique(keys, return_index=True, return_inverse=True)
    weight = np.bincount(of, weights[inside])
    count = np.bincount(of)
    best = np.lexsort((pairs, -count, -weight, pairs // code_count))
    leading = best[np.unique(pairs[best] // code_count, return_index=True)[1]]
    representative = np.empty(int(groups.max(initial=0)) + 1, dtype=np.int64)
    representative[pairs[leading] // code_count] = inside[first[leading]]
    rows[inside] = representative[groups[inside]]
    return rows


def _common_nodes(dataset: Table, name: str, groups: Labels) -> pl.Series:
    """The lowest node of the hierarchy that stands above all values of the group."""
    encoded, ladder, codes = ladder_of(dataset, name)
    inside = np.flatnonzero(groups >= 0)
    count = int(groups.max(initial=-1)) + 1
    texts = np.array(encoded.labels, dtype=object)[encoded.codes]
    waiting = np.ones(count, dtype=np.bool_)
    for level in range(ladder.depth):
        nodes = ladder.climb(0, level)[codes[inside]]
        low = np.full(count, len(codes) + 1)
        high = np.full(count, -1)
        np.minimum.at(low, groups[inside], nodes)
        np.maximum.at(high, groups[inside], nodes)
        now = waiting & (low == high)
        rows_now = inside[now[groups[inside]]]
        labels = np.array(ladder.labels[level], dtype=object)
        texts[rows_now] = labels[low[groups[rows_now]]]
        waiting &= ~now
    return pl.Series(name, texts.tolist(), dtype=pl.String)
