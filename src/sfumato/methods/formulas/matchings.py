"""Perfect matchings of small bipartite graphs, counted exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 20
"""Rows of a graph whose matchings are counted: the work doubles with every row."""


def matchings_with(joined: NDArray[np.bool_]) -> tuple[int, NDArray[np.int64]]:
    r"""The number of perfect matchings, and per pair in how many of them it is: permanents of the
    graph and of its minors.

    Row *i* may be matched to column *j* where ``joined[i, j]``. With :math:`f(M)` the ways to match
    the first :math:`|M|` rows to the columns *M*, and
    :math:`g` the same for the last rows, pair (i, j) is
    in :math:`\sum_{|M| = i,\, j \notin M} f(M)\, g(\overline{M \cup j})` of them. Work and memory
    grow as
    :math:`n 2^n`.

    >>> import numpy as np
    >>> count, pairs = matchings_with(np.array([[1, 1], [0, 1]], dtype=bool))
    >>> count, pairs.tolist()
    (1, [[1, 0], [0, 1]])
    """
    size = len(joined)
    if size > MOST:
        raise ParameterError(
            f"matchings of at most {MOST} records are counted exactly, but there are {size}"
        )
    first = _ways(joined)
    # The same count from the other end: the last rows, as many as there are columns in a set.
    last = _ways(joined[::-1])
    full = (1 << size) - 1
    sizes = _bits(size)
    counts = np.zeros((size, size), dtype=np.int64)
    for row in range(size):
        before = np.flatnonzero((sizes == row) & (first > 0))
        for column in np.flatnonzero(joined[row]).tolist():
            # The row takes a free column, rows before it have the set, rows behind it all the rest.
            free = before[(before >> column & 1) == 0]
            ways = (first[free] * last[full ^ free ^ (1 << column)]).sum()
            counts[row, column] = int(ways)
    return int(first[full]), counts


def _bits(size: int) -> NDArray[np.int64]:
    """How many columns each set has."""
    counts = np.zeros(1, dtype=np.int64)
    for _ in range(size):
        counts = np.concatenate([counts, counts + 1])
    return counts


def _ways(joined: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Per set of columns, in how many ways the first rows, as many as there are columns in it, are
    matched to it.
    """
    size = len(joined)
    ways = np.zeros(1 << size, dtype=np.int64)  # at most 20! < 2⁶³
    ways[0] = 1
    sizes = _bits(size)
    # Row by row: sets of r columns are extended by one column that row r may take.
    for row in range(size):
        sets = np.flatnonzero((sizes == row) & (ways > 0))
        for column in np.flatnonzero(joined[row]).tolist():
            free = sets[(sets >> column & 1) == 0]
            ways[free | (1 << column)] += ways[free]
    return ways
