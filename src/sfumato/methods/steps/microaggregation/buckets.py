"""Buckets of equal size: values that lie side by side, or records that lie close together in
several columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.methods.formulas.bucket_counts import bucket_sizes
from sfumato.methods.steps.masking.block import computable
from sfumato.methods.steps.microaggregation.embedding import (
    ON_A_LINE,
    embed_columns,
    form_of,
    ladder_of,
    line_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]


def points_of(dataset: Table, columns: Sequence[str]) -> Points:
    """Columns of any kind as points: see :mod:`sfumato.methods.steps.microaggregation.inputs`."""
    forms = {name: form_of(dataset, name, "taxonomy") for name in columns}
    lines = {}
    for name, form in forms.items():
        if form in ON_A_LINE:
            lines[name] = computable(line_of(dataset, name, form), name)
    return embed_columns(dataset, forms, lines, standardize=True)


def buckets_of(dataset: Table, columns: Sequence[str], count: int) -> Labels:
    """The bucket of every record; sizes differ by at most one. Rows must be in canonical order.

    One column: its values in order are cut into runs, numbers and dates from low to high, ordered
    values as listed, others in the order of their hierarchy, where values under one node are
    neighbours. Equal values may fall into two buckets. Missing values come last. Several columns:
    see :func:`clusters`.
    """
    sizes = bucket_sizes(len(dataset), count)
    if len(columns) > 1:
        return clusters(points_of(dataset, columns), sizes)
    bucket_of = np.empty(len(dataset), dtype=np.int64)
    bucket_of[np.argsort(_positions(dataset, columns[0]), kind="stable")] = np.repeat(
        np.arange(count), sizes
    )
    return bucket_of


def _positions(dataset: Table, name: str) -> Points:
    form = form_of(dataset, name, "taxonomy")
    if form in ON_A_LINE:
        return line_of(dataset, name, form)  # argsort puts NaN, which is missing, last
    return np.asarray(ladder_of(dataset, name)[2], dtype=np.float64)


def clusters(points: Points, sizes: Sequence[int]) -> Labels:
    """Clusters of given sizes: each time the record farthest from the mean of those left and the
    records nearest to it.

    >>> import numpy as np
    >>> clusters(np.array([[0.0], [9], [1], [8], [5]]), [2, 3]).tolist()
    [0, 1, 0, 1, 1]
    """
    cluster_of = np.empty(len(points), dtype=np.int64)
    remaining = np.arange(len(points))
    for number, size in enumerate(sizes):
        remaining_points = points[remaining]
        distances = _square(remaining_points - remaining_points.mean(axis=0))
        seed = remaining_points[int(distances.argmax())]
        nearest = np.argsort(_square(remaining_points - seed), kind="stable")[:size]
        cluster_of[remaining[nearest]] = number
        remaining = np.delete(remaining, nearest)
    return cluster_of


def _square(differences: Points) -> Points:
    return np.asarray((differences**2).sum(axis=1))
