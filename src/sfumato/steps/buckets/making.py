"""Buckets of equal size: values that lie side by side, or records that lie close together in several columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.buckets import bucket_sizes
from sfumato.steps.aggregation.embedding import ON_A_LINE, embedded, form_of, ladder_of, line_of
from sfumato.steps.masking.block import computable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]


def points_of(dataset: Dataset, columns: Sequence[str]) -> Points:
    """Columns of any kind as points: see :mod:`sfumato.steps.aggregation.embedding`."""
    forms = {name: form_of(dataset, name, "taxonomy") for name in columns}
    lines = {name: computable(line_of(dataset, name, form), name) for name, form in forms.items() if form in ON_A_LINE}
    return embedded(dataset, forms, lines, standardize=True)


def buckets_of(dataset: Dataset, columns: Sequence[str], count: int) -> Labels:
    """The bucket of every record; sizes differ by at most one. Rows must be in canonical order.

    One column: its values in order are cut into runs, numbers and dates from low to high, ordered values as listed, others in
    the order of their hierarchy, where values under one node are neighbours. Equal values may fall into two buckets.
    Missing values come last. Several columns: see :func:`clusters`.
    """
    import numpy as np

    sizes = bucket_sizes(len(dataset), count)
    if len(columns) > 1:
        return clusters(points_of(dataset, columns), sizes)
    found = np.empty(len(dataset), dtype=np.int64)
    found[np.argsort(_places(dataset, columns[0]), kind="stable")] = np.repeat(np.arange(count), sizes)
    return found


def _places(dataset: Dataset, name: str) -> Points:
    import numpy as np

    form = form_of(dataset, name, "taxonomy")
    if form in ON_A_LINE:
        return line_of(dataset, name, form)  # argsort puts NaN, which is missing, last
    return np.asarray(ladder_of(dataset, name)[2], dtype=np.float64)


def clusters(points: Points, sizes: Sequence[int]) -> Labels:
    """Clusters of given sizes: each time the record farthest from the mean of those left and the records nearest to it.

    >>> import numpy as np
    >>> clusters(np.array([[0.0], [9], [1], [8], [5]]), [2, 3]).tolist()
    [0, 1, 0, 1, 1]
    """
    import numpy as np

    found = np.empty(len(points), dtype=np.int64)
    left = np.arange(len(points))
    for number, size in enumerate(sizes):
        here = points[left]
        seed = here[int(_squared(here - here.mean(axis=0)).argmax())]
        taken = np.argsort(_squared(here - seed), kind="stable")[:size]
        found[left[taken]] = number
        left = np.delete(left, taken)
    return found


def _squared(differences: Points) -> Points:
    import numpy as np

    return np.asarray((differences**2).sum(axis=1))
