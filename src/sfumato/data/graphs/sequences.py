"""Degree sequences: the cheapest k-anonymous one, whether there is such a graph, and what noise
leaves of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.data.graphs.graph import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]


def anonymous_degrees(degrees: Whole, k: int, *, by_median: bool = False) -> Whole:
    r"""Degrees of which each stands for at least k people, at
    least cost: :math:`\sum |\hat d(v) - d(v)|`.

    A dynamic program over the descending degrees in O(nk): groups of k to 2k − 1 are raised to
    their largest degree, or moved to their median. Of equal degrees it does not matter who is in
    which group.

    Reference: Liu & Terzi 2008, doi:10.1145/1376616.1376629.

    >>> import numpy as np
    >>> anonymous_degrees(np.array([5, 5, 3, 3, 2, 2, 2, 1]), 2).tolist()
    [5, 5, 3, 3, 2, 2, 2, 2]
    """
    order = np.argsort(-degrees, kind="stable")
    ordered = degrees[order].astype(np.int64)
    ends, _ = kernels.degrees.find_cheapest_groups(ordered, k, by_median)
    levels = np.empty_like(ordered)
    end = len(ordered)
    # From the end backwards: the program says for each end where its last group begins.
    while end > 0:
        start = int(ends[end])
        if by_median:
            levels[start:end] = ordered[(start + end) // 2]
        else:
            # Descending order: the first of a group is its largest.
            levels[start:end] = ordered[start]
        end = start
    degrees_of_levels = np.empty_like(levels)
    degrees_of_levels[order] = levels
    return degrees_of_levels


def anonymous_within(degrees: Whole, classes: Whole, k: int, *, by_median: bool = False) -> Whole:
    """The same for every class of people by itself; each has at least k."""
    # One class only needs no splitting.
    if not classes.any():
        return anonymous_degrees(degrees, k, by_median=by_median)
    order = np.argsort(classes, kind="stable")
    targets = np.empty_like(degrees)
    for part in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1):
        targets[part] = anonymous_degrees(degrees[part], k, by_median=by_median)
    return targets


def is_graphical(degrees: Whole) -> bool:
    """Whether some graph has these degrees (Erdős & Gallai).

    >>> import numpy as np
    >>> is_graphical(np.array([4, 4, 4, 2, 2, 2])), is_graphical(np.array([5, 5, 4, 4, 2, 2]))
    (True, False)
    """
    return bool(kernels.degrees.is_graphical(np.sort(degrees.astype(np.int64))[::-1].copy()))


def joined_demands(rows: Rows, demands: Whole) -> tuple[Whole, Whole, Whole]:
    """New edges between people who want more, as far as these can be met: low ends, high ends, and
    what is left of the demands.
    """
    want = demands.astype(np.int64).copy()
    # A tie meets two demands; one place more, as the sum may be odd.
    room = int(want.sum()) // 2 + 1
    low = np.empty(room, dtype=np.int64)
    high = np.empty(room, dtype=np.int64)
    ties = kernels.degrees.join_demands(*rows, want, low, high)
    return low[:ties], high[:ties], want


def nothing(people: int) -> Rows:
    """Rows of people without a tie."""
    return Rows(np.zeros(people + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))


def isotonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ascending numbers nearest to some, by least squares (pool adjacent violators).

    >>> import numpy as np
    >>> isotonic(np.array([1.0, 3, 2, 2, 9, 7])).round(4).tolist()
    [1.0, 2.3333, 2.3333, 2.3333, 8.0, 8.0]
    """
    from scipy.optimize import isotonic_regression

    fitted: NDArray[np.float64] = np.asarray(isotonic_regression(values).x, dtype=np.float64)
    return fitted


def made_graphical(degrees: Whole) -> Whole:
    """Degrees of a graph: the largest is lowered, again and again, until there is one (ascending
    in, ascending out).
    """
    ordered = np.sort(degrees)[::-1].astype(np.int64).copy()
    # Lowering the largest keeps the others as they are; it ends, as degrees of 0 are always a
    # graph.
    while not kernels.degrees.is_graphical(ordered):
        level = ordered[0]
        # the last of the largest: the order stays
        last = int(np.searchsorted(-ordered, -level, side="right")) - 1
        ordered[last] -= 1
    return ordered[::-1].copy()
