"""Groups of records that follow one another in some order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.steps.microaggregation.inputs import FormedGroups, PointGround, by_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


def runs_of(scores: Array, k: int) -> Labels:
    """Groups of k consecutive records by score; the last group takes the remainder. Ties stay in
    order.

    >>> import numpy as np
    >>> runs_of(np.array([5.0, 1, 4, 2, 3]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    groups = np.empty(len(scores), dtype=np.int64)
    # With 5 records and k = 2: 0 0 1 1 1.
    run_numbers = np.arange(len(scores)) // k
    runs = np.minimum(run_numbers, len(scores) // k - 1)
    groups[np.argsort(scores, kind="stable")] = runs
    return groups


def by_score(ground: PointGround, score: Callable[[Array], Array]) -> FormedGroups:
    """Runs of k records by a score of their points, part by part."""
    return FormedGroups(by_part(ground, lambda points, k: runs_of(score(points), k)))


def best_runs(ground: PointGround, score: Callable[[Array], Array]) -> FormedGroups:
    """The runs with the least squared error among all runs of records in the order of a score."""

    def of_part(points: Array, k: int) -> Labels:
        # Optimal groups on a line are runs of its order (Hansen & Mukherjee 2003), found by
        # shortest paths.
        order = np.argsort(score(points), kind="stable")
        runs = np.empty(len(points), dtype=np.int64)
        kernels.microaggregation.cut_best_runs(points[order], k, runs)
        groups = np.empty_like(runs)
        groups[order] = runs
        return groups

    return FormedGroups(by_part(ground, of_part))


def first_component(points: Array) -> Array:
    """The scores of points on their first principal component; its largest loading is positive.

    >>> import numpy as np
    >>> first_component(np.array([[0.0, 0.0], [1.0, 1.0]])).round(3).tolist()
    [-0.707, 0.707]
    """
    centred = points - points.mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    # The sign of an eigenvector is arbitrary; fixed, so that all machines agree.
    largest_entry = np.abs(axis).argmax()
    scores: Array = centred @ axis * np.sign(axis[largest_entry])
    return scores


def sum_of_scores(points: Array) -> Array:
    """The sum over all dimensions."""
    total: Array = points.sum(axis=1)
    return total


def first_dimension(points: Array) -> Array:
    """The first dimension alone."""
    return points[:, 0]
