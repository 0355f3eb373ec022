"""Groups around the records that lie farthest out: MDAV, V-MDAV, and MDAV on blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.steps.microaggregation.inputs import FormedGroups, by_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.microaggregation.inputs import PointGround

    Points = NDArray[np.float64]
    Labels = NDArray[np.int64]

BLOCK = 20_000
"""The most records of a block of ``partitioned``."""
FEW_DIMENSIONS = 4
"""The most dimensions in which a tree of boxes finds records far out sooner than a look at all of
them.
"""
SCANNED = 5000
"""Times 2 for every dimension: the records from which a tree pays."""


def mdav(ground: PointGround) -> FormedGroups:
    """Domingo-Ferrer & Torra's MDAV, part by part."""
    return FormedGroups(by_part(ground, mdav_of))


def mdav_of(points: Points, k: int) -> Labels:
    """The groups that MDAV makes of some points; of many points in few dimensions a tree finds the
    same ones sooner.

    >>> import numpy as np
    >>> mdav_of(np.array([[2.0], [12], [16], [25], [29], [45]]), 2).tolist()
    [1, 1, 2, 2, 0, 0]
    """
    groups = np.empty(len(points), dtype=np.int64)
    dimensions = points.shape[1]
    # Scanning costs n²/k; a tree costs more a look, and the more the more dimensions there are.
    use_tree = dimensions <= FEW_DIMENSIONS and len(points) >= SCANNED << dimensions
    loops = kernels.mdav_tree if use_tree else kernels.microaggregation
    loops.build_mdav_groups(np.array(points.T, order="C"), k, groups)
    return groups


def v_mdav(ground: PointGround, gamma: float) -> FormedGroups:
    """Solanas & Martínez-Ballesté's V-MDAV: groups of k to 2k − 1 records."""

    def of_part(points: Points, k: int) -> Labels:
        groups = np.empty(len(points), dtype=np.int64)
        kernels.microaggregation.build_v_mdav_groups(points, k, gamma, groups)
        return groups

    return FormedGroups(by_part(ground, of_part))


def group_by_blocks(ground: PointGround, block: int) -> FormedGroups:
    """Cut every part into blocks and group each by MDAV."""
    blocks: list[Labels] = []
    for rows in ground.parts:
        blocks += [rows[inside] for inside in blocks_of(ground.points[rows], ground.k, block)]
    groups = np.empty(len(ground.points), dtype=np.int64)
    count = 0
    for blocks_done, rows in enumerate(blocks, 1):
        part_groups = mdav_of(ground.points[rows], ground.k)
        groups[rows] = part_groups + count
        count += int(part_groups.max()) + 1
        ground.progress(blocks_done / len(blocks), "grouping records")
    return FormedGroups(groups, {"blocks": len(blocks), "largest_block": max(map(len, blocks))})


def blocks_of(points: Points, k: int, block_size: int) -> list[Labels]:
    """Cut points at the middle of the dimension with the largest variance until no block has more
    than ``block_size``.

    Blocks on the left have a multiple of k records, so that at most one group of a part has more
    than k because of the rest.
    """
    waiting = [np.arange(len(points))]
    blocks = []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= max(block_size, 2 * k - 1):
            blocks.append(rows)
            continue
        axis = int(points[rows].var(axis=0).argmax())
        ordered = rows[np.argsort(points[rows, axis], kind="stable")]
        # Half of the rows, rounded down to a multiple of k.
        middle = max(k, len(rows) // (2 * k) * k)
        # Sorted again, so that ties within a block go by the order of the rows.
        waiting += [np.sort(ordered[middle:]), np.sort(ordered[:middle])]
    return blocks
