"""Groups that grow by joining: k-Ward, and its generalization with a mixability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.steps.aggregation.ground import Found, Ground, by_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]


def k_ward(ground: Ground, mixability: float = 1.0) -> Found:
    """Ward's joining of groups until all have k records; two groups with ⌈t·k⌉ records each are never joined.

    Mixability t = 1 is k-Ward.
    """
    return Found(by_part(ground, lambda points, k: k_ward_of(points, k, math.ceil(mixability * k))))


def k_ward_of(points: Array, k: int, enough: int) -> Labels:
    """The groups of k-Ward: groups of 2k or more are grouped again, as long as that parts them.

    >>> import numpy as np
    >>> k_ward_of(np.array([[2.0], [12], [16], [25], [29], [45]]), 3, 3).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    import numpy as np

    groups, made = np.empty(len(points), dtype=np.int64), 0
    waiting = [np.arange(len(points))]
    while waiting:
        rows = waiting.pop(0)
        parts = _parts(points[rows], k, enough) if len(rows) >= 2 * k else [np.arange(len(rows))]
        if len(parts) > 1:
            waiting += [rows[part] for part in parts]
            continue
        groups[rows] = made
        made += 1
    return groups


def _parts(points: Array, k: int, enough: int) -> list[Labels]:
    """One round: the two farthest records with their k − 1 nearest each are groups from the start, all others are alone."""
    import numpy as np

    from sfumato.kernels.ward import farthest_pair, join_until

    one, two = farthest_pair(points)
    groups = np.arange(len(points))
    first = _nearest(points, one, groups, k)
    rest = np.setdiff1d(groups, first)
    second = (
        rest[_nearest(points[rest], int(np.flatnonzero(rest == two)[0]), np.arange(len(rest)), k)]
        if two in rest
        else (rest[_nearest(points[rest], 0, np.arange(len(rest)), k)])
    )
    groups[first], groups[second] = first.min(), second.min()
    join_until(points, groups, k, enough)
    return _with_leftovers(points, [np.flatnonzero(groups == g) for g in np.unique(groups)], k)


def _nearest(points: Array, seed: int, records: Labels, k: int) -> Labels:
    import numpy as np

    away = ((points - points[seed]) ** 2).sum(axis=1)
    away[seed] = -1.0
    return np.sort(records[np.argsort(away, kind="stable")[:k]])


def _with_leftovers(points: Array, parts: list[Labels], k: int) -> list[Labels]:
    """Groups that stayed too small join the group with the nearest mean, the smallest first."""
    import numpy as np

    while len(parts) > 1 and min(map(len, parts)) < k:
        small = min(range(len(parts)), key=lambda g: (len(parts[g]), int(parts[g][0])))
        gone = parts.pop(small)
        means = np.array([points[part].mean(axis=0) for part in parts])
        near = int(((means - points[gone].mean(axis=0)) ** 2).sum(axis=1).argmin())
        parts[near] = np.sort(np.concatenate([parts[near], gone]))
    return parts
