r"""Buckets of confidential values and the classes that share them out: what t-closeness leaves room
for.

N records lie in *b* buckets, :math:`b_j` in each, and in *E* classes, :math:`e_i` in each. Every
class is within the factor t of the table, in every bucket, exactly when its counts satisfy

.. math::
    \lceil e_i p_j / t \rceil \le n_{ij} \le \lfloor e_i p_j t \rfloor, \qquad
    \sum_j n_{ij} = e_i, \qquad \sum_i n_{ij} = b_j, \qquad p_j = b_j / N .

Whole counts that satisfy all this exist or not: a flow through a network tells
(:func:`whole_counts`). The rule in the paper fills each class by itself; its column sums then
differ from the sizes of the buckets, so it cannot be carried out as printed.

Reference: Domingo-Ferrer & Soria-Comas 2015, doi:10.1016/j.knosys.2014.11.011, section 6,
corrected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.model import TOLERANCE
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


def bucket_count(t: float, *, finer: bool = False) -> int:
    r"""How many buckets of equal size fit a factor t: :math:`\lfloor t \rfloor + 1`,
    or :math:`\lceil t \rceil + 1` if ``finer``.

    A class that emphasises one of *b* buckets by τ and gives σ to each other
    has :math:`τ/b + σ(1 - 1/b) = 1`. With
    :math:`b = \lfloor t \rfloor + 1` the limit σ = 1/t is reached first,
    with :math:`\lceil t \rceil + 1` the limit τ = t. For whole t both are t + 1, the only case the
    paper has.

    >>> bucket_count(2), bucket_count(2.5), bucket_count(2.5, finer=True), bucket_count(1.2)
    (3, 3, 4, 2)
    """
    require_factor(t)
    # TOLERANCE: a whole t must not be counted as slightly above or below itself.
    return (math.ceil(t - TOLERANCE) if finer else math.floor(t + TOLERANCE)) + 1


def bucket_sizes(n: int, buckets: int) -> list[int]:
    """Sizes that differ by at most one, the larger first.

    >>> bucket_sizes(100, 3)
    [34, 33, 33]
    """
    return [n // buckets + (i < n % buckets) for i in range(buckets)]


def class_sizes(n: int, classes: int) -> list[int]:
    r"""Sizes of E classes: :math:`e_i = \lceil iN/E \rceil - \lceil (i-1)N/E \rceil`.

    >>> class_sizes(7, 3)
    [3, 2, 2]
    """
    ends = [-(-i * n // classes) for i in range(classes + 1)]
    return [b - a for a, b in itertools.pairwise(ends)]


def count_bounds(sizes: Sequence[int], buckets: Sequence[int], t: float) -> tuple[Counts, Counts]:
    """The fewest and the most records of each bucket (columns) that each class (rows) may have.

    >>> [found.tolist() for found in count_bounds([6], [6, 6, 6], 2)]
    [[[1, 1, 1]], [[4, 4, 4]]]
    """
    shares = np.asarray(buckets) / sum(buckets)
    expected = np.outer(np.asarray(sizes, dtype=np.float64), shares)
    # Rounded to the inside; TOLERANCE keeps limits that are whole numbers.
    lower = np.ceil(expected / t - TOLERANCE)
    upper = np.floor(expected * t + TOLERANCE)
    return lower.astype(np.int64), upper.astype(np.int64)


def distance_of(counts: object) -> float:
    """The largest multiplicative distance of a row of counts (a class) from the sum of all rows
    (the table).

    A bucket that the table has and a class lacks makes it infinite.

    >>> (
    ...     distance_of([[2, 1, 1], [1, 2, 1], [1, 1, 2]]),
    ...     distance_of([[4, 1, 1], [1, 4, 1], [1, 1, 4]]),
    ... )
    (1.5, 2.0)
    """
    count_table = np.asarray(counts, dtype=np.float64)
    # Buckets that nobody has compare nothing.
    count_table = count_table[:, count_table.sum(axis=0) > 0]
    shares = count_table / count_table.sum(axis=1, keepdims=True)
    table = count_table.sum(axis=0) / count_table.sum()
    with np.errstate(divide="ignore"):
        return float(np.maximum(shares / table, table / shares).max(initial=1.0))


def whole_counts(
    sizes: Sequence[int], buckets: Sequence[int], low: Counts, high: Counts
) -> Counts | None:
    """Whole counts between ``low`` and ``high`` with these sums of rows and columns, or None where
    there are none.

    What lies above ``low`` is a flow from classes to buckets, as large as possible; it is whole
    because its limits are.

    >>> low, high = count_bounds(class_sizes(7, 3), bucket_sizes(7, 3), 2)
    >>> whole_counts(class_sizes(7, 3), bucket_sizes(7, 3), low, high) is None
    True
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    rows, columns = low.shape
    # Every cell gets its least count first; what is left over has to flow.
    out = np.asarray(sizes) - low.sum(axis=1)
    into = np.asarray(buckets) - low.sum(axis=0)
    if (high < low).any() or (out < 0).any() or (into < 0).any() or out.sum() != into.sum():
        return None
    source = rows + columns
    sink = rows + columns + 1
    # Nodes: classes, then buckets, then source and sink; an edge from every class to every bucket.
    i, j = np.divmod(np.arange(rows * columns), columns)
    tails = np.concatenate([np.full(rows, source), i, rows + np.arange(columns)])
    heads = np.concatenate([np.arange(rows), rows + j, np.full(columns, sink)])
    cell_room = np.minimum(high - low, out[:, None]).ravel()
    room = np.concatenate([out, cell_room, into]).astype(np.int32)
    network = csr_array((room, (tails, heads)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(network, source, sink)
    # Only if all that is left over finds a place are the sums of rows and columns met.
    if flow.flow_value != out.sum():
        return None
    filled = flow.flow[:rows, rows:source].toarray()
    return low + np.asarray(filled, dtype=np.int64)


def require_factor(t: float) -> None:
    """Refuse what is no factor above 1."""
    if not 1 < t < math.inf:
        raise ParameterError(
            "t must be a factor above 1; at 1 every class would have to be a scaled copy of the "
            "table"
        )
