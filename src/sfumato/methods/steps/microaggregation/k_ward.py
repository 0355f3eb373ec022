"""Groups that grow by joining: k-Ward, and its generalization with a mixability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.steps.microaggregation.inputs import FormedGroups, PointGround, by_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


def k_ward(ground: PointGround, mixability: float = 1.0) -> FormedGroups:
    """Ward's joining of groups until all have k records; two groups with ⌈t·k⌉ records each are
    never joined.

    Mixability t = 1 is k-Ward.
    """
    return FormedGroups(
        by_part(ground, lambda points, k: k_ward_of(points, k, math.ceil(mixability * k)))
    )


def k_ward_of(points: Array, k: int, enough: int) -> Labels:
    """The groups of k-Ward: groups of 2k or more are grouped again, as long as that parts them.

    >>> import numpy as np
    >>> k_ward_of(np.array([[2.0], [12], [16], [25], [29], [45]]), 3, 3).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    groups = np.empty(len(points), dtype=np.int64)
    count = 0
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop(0)
        # Fewer than 2k records cannot be parted into two groups of k.
        if len(rows) >= 2 * k:
            parts = _parts(points[rows], k, enough)
        else:
            parts = [np.arange(len(rows))]
        if len(parts) > 1:
            waiting += [rows[part] for part in parts]
            continue
        groups[rows] = count
        count += 1
    return groups


def _parts(points: Array, k: int, enough: int) -> list[Labels]:
    """One round: the two farthest records with their k − 1 nearest each are groups from the start,
    all others are alone.
    """
    first_end, second_end = kernels.microaggregation.find_farthest_pair(points)
    groups = np.arange(len(points))
    first = _nearest(points, first_end, k)
    remaining = np.setdiff1d(groups, first)
    # the second end may already be with the first: then any record that remains begins
    seed = 0
    if second_end in remaining:
        seed = int(np.flatnonzero(remaining == second_end)[0])
    second = remaining[_nearest(points[remaining], seed, k)]
    # A group is named by its first record; all others are groups of one.
    groups[first] = first.min()
    groups[second] = second.min()
    kernels.microaggregation.join_groups(points, groups, k, enough)
    return _with_leftovers(points, [np.flatnonzero(groups == g) for g in np.unique(groups)], k)


def _nearest(points: Array, seed: int, k: int) -> Labels:
    """The seed and the k − 1 records nearest to it, ascending."""
    away = ((points - points[seed]) ** 2).sum(axis=1)
    away[seed] = -1.0
    return np.sort(np.argsort(away, kind="stable")[:k])


def _with_leftovers(points: Array, parts: list[Labels], k: int) -> list[Labels]:
    """Groups that stayed too small join the group with the nearest mean, the smallest first."""
    while len(parts) > 1 and min(map(len, parts)) < k:
        # The smallest first, the first of equals: each join makes one group less.
        small = min(range(len(parts)), key=lambda g: (len(parts[g]), int(parts[g][0])))
        gone = parts.pop(small)
        means = np.array([points[part].mean(axis=0) for part in parts])
        distances = ((means - points[gone].mean(axis=0)) ** 2).sum(axis=1)
        near = int(distances.argmin())
        parts[near] = np.sort(np.concatenate([parts[near], gone]))
    return parts
