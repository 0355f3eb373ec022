"""Groups around the records that lie farthest out: MDAV, V-MDAV, and MDAV on blocks of large tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.steps.aggregation.ground import Found, Ground, by_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Points = NDArray[np.float64]
    Labels = NDArray[np.int64]

BLOCK = 20_000
"""The most records of a block of ``partitioned``."""


def mdav(ground: Ground) -> Found:
    """Domingo-Ferrer & Torra's MDAV, part by part."""
    return Found(by_part(ground, mdav_of))


def mdav_of(points: Points, k: int) -> Labels:
    """The groups that MDAV makes of some points.

    >>> import numpy as np
    >>> mdav_of(np.array([[2.0], [12], [16], [25], [29], [45]]), 2).tolist()
    [1, 1, 2, 2, 0, 0]
    """
    import numpy as np

    from sfumato.kernels.mdav import mdav as loop

    groups = np.empty(len(points), dtype=np.int64)
    loop(np.array(points.T, order="C"), k, groups)
    return groups


def v_mdav(ground: Ground, gamma: float) -> Found:
    """Solanas & Martínez-Ballesté's V-MDAV: groups of k to 2k − 1 records."""
    import numpy as np

    from sfumato.kernels.mdav import v_mdav as loop

    def of_part(points: Points, k: int) -> Labels:
        groups = np.empty(len(points), dtype=np.int64)
        loop(points, k, gamma, groups)
        return groups

    return Found(by_part(ground, of_part))


def partitioned(ground: Ground, block: int) -> Found:
    """Cut every part into blocks and group each by MDAV."""
    import numpy as np

    blocks = [rows[inside] for rows in ground.parts for inside in blocks_of(ground.points[rows], ground.k, block)]
    groups, made = np.empty(len(ground.points), dtype=np.int64), 0
    for done, rows in enumerate(blocks, 1):
        found = mdav_of(ground.points[rows], ground.k)
        groups[rows] = found + made
        made += int(found.max()) + 1
        ground.progress(done / len(blocks), "grouping records")
    return Found(groups, {"blocks": len(blocks), "largest_block": max(map(len, blocks))})


def blocks_of(points: Points, k: int, most: int) -> list[Labels]:
    """Cut points at the middle of the dimension with the largest variance until no block has more than ``most``.

    Blocks on the left have a multiple of k records, so that at most one group of a part has more than k because of the rest.
    """
    import numpy as np

    waiting, done = [np.arange(len(points))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= max(most, 2 * k - 1):
            done.append(rows)
            continue
        axis = int(points[rows].var(axis=0).argmax())
        ordered = rows[np.argsort(points[rows, axis], kind="stable")]
        middle = max(k, len(rows) // (2 * k) * k)
        waiting += [np.sort(ordered[middle:]), np.sort(ordered[:middle])]
    return done
