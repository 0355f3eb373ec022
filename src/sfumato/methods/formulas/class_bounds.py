"""How many classes a promise allows, by how often each sensitive value occurs: before any search.

Each bound holds for every grouping of the records, and of those that are left when some are
suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.model import TOLERANCE
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST_WORK = 20_000_000
"""Sizes of classes times values that are tried, a second or so; what is not tried is not excluded,
so the bound only gets weaker.
"""


def most_classes(counts: Sequence[int], values: int, size: int = 1) -> int:
    r"""The largest number of classes of at least ``size`` records and ``values`` different values.

    .. math:: \min\Bigl(\bigl\lfloor N/k \bigr\rfloor,\;
        \min_{i=1}^{p} \bigl\lfloor (N - cf_{p-i})/i \bigr\rfloor\Bigr)

    ``counts`` says how often each sensitive value occurs, :math:`N` is their sum and :math:`cf_j`
    the sum of the *j* largest: each class needs *i* values other than the :math:`p-i` most frequent
    ones. So many classes can always be formed. Fewer than p values: no class.

    Reference: Truta & Vinay 2006, doi:10.1109/ICDEW.2006.116.

    >>> most_classes([995, 5], values=2), most_classes([9900, 100], values=2)
    (5, 100)
    """
    if values < 1 or size < 1:
        raise ParameterError("most_classes: values and size must be at least 1")
    # Values that do not occur make no class more diverse.
    largest = sorted((count for count in counts if count > 0), reverse=True)
    total = sum(largest)
    if len(largest) < values:
        return 0
    by_values = [(total - sum(largest[: values - i])) // i for i in range(1, values + 1)]
    return min(total // size, *by_values)


def least_recursive_size(l: int, c: float) -> int:  # noqa: E741
    r"""The fewest records of a recursive (c, l)-diverse class: :math:`l + \lfloor 1/c \rfloor`.

    Different values once each have the least head, 1; the tail must be larger than 1/c, and l − 1
    values come before it.

    >>> least_recursive_size(3, 2), least_recursive_size(2, 0.5)
    (3, 4)
    """
    if l == 1:
        return 1
    tail = 1
    while 1 / tail >= c - TOLERANCE:
        tail += 1
    return l - 1 + tail


# t-closeness: shares in a class of m records are multiples of 1/m, so small classes cannot be near.


def least_size_for_shares(reference: Ints, t: float) -> int:
    """The fewest records of a class whose shares of values are within ``t`` of those of a table, by
    total variation.

    Shares are rounded down and the largest remainders up: no class of that size is nearer.

    >>> least_size_for_shares(np.array([50, 50]), 0.0), least_size_for_shares(np.array([9, 1]), 0.1)
    (2, 1)
    """
    shares = reference / max(1, reference.sum())

    def distance(size: int) -> float:
        exact = size * shares
        below = np.floor(exact + TOLERANCE)
        up = round(size - float(below.sum()))
        remainders = exact - below
        if up:
            below[np.argsort(-remainders, kind="stable")[:up]] += 1
        return float(np.abs(below - exact).sum()) / (2 * size)

    return _least_size(distance, t, reference)


def least_size_on_line(reference: Ints, gaps: Floats, t: float) -> int:
    """The same for values on a line, in order; ``gaps`` are the distances between neighbours,
    which sum to 1.

    A class of m records has cumulative shares that are multiples of 1/m: the nearest ones never
    fall, so a class has them.
    """
    cumulative = np.cumsum(reference)[:-1] / max(1, reference.sum())

    def distance(size: int) -> float:
        exact = size * cumulative
        return float((np.abs(np.round(exact) - exact) * gaps).sum()) / size

    return _least_size(distance, t, reference)


def least_size_in_tree(reference: Ints, nodes: Ints, count: int, t: float) -> int:
    """The same under a hierarchy: ``nodes[i]`` are the nodes above value *i*, of so many.

    Every node by itself is taken to be as near as can be: a bound that no class is below.
    """
    height = max(1, int(nodes.shape[1]))
    weights = np.repeat(reference, nodes.shape[1])
    shares = np.bincount(nodes.ravel(), weights=weights, minlength=count) / max(1, reference.sum())

    def distance(size: int) -> float:
        exact = size * shares
        return float(np.abs(np.round(exact) - exact).sum()) / (2 * height * size)

    return _least_size(distance, t, reference)


def least_size_for_factor(reference: Ints, t: float) -> int:
    """The same where no share may differ by more than a factor ``t``, up or down: every class has
    every value.

    >>> least_size_for_factor(np.array([3, 1]), 1.0), least_size_for_factor(np.array([3, 1]), 2.0)
    (4, 2)
    """
    shares = reference[reference > 0] / max(1, reference.sum())

    def distance(size: int) -> float:
        fewest = np.maximum(1, np.ceil(size * shares / t - TOLERANCE))
        most = np.floor(size * shares * t + TOLERANCE)
        if (fewest > most).any() or not fewest.sum() <= size <= most.sum():
            return math.inf
        return 0.0

    return _least_size(distance, 0.0, reference)


def _least_size(distance: Callable[[int], float], t: float, reference: Ints) -> int:
    """The first size whose least distance is within ``t``; the whole table is one at the latest."""
    total = int(reference.sum())
    tried = min(total, max(1, MOST_WORK // max(1, len(reference))))
    for size in range(1, tried):
        if distance(size) <= t + TOLERANCE:
            return size
    return max(1, tried)
