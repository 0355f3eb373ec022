"""Full-subtree recoding: the ranges of a column that are nodes of its hierarchy, and their children."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.steps.cuts.cut import Cut

if TYPE_CHECKING:
    from sfumato.steps.partition.axes import Axis


def topmost(axis: Axis) -> Cut:
    """The coarsest cut: one range, or all single values where there is neither hierarchy nor order."""
    return bottommost(axis) if axis.form == "set" else (0,)


def bottommost(axis: Axis) -> Cut:
    """The finest cut: all single values."""
    return tuple(range(max(1, len(axis.labels))))


def children_of(axis: Axis, low: int, high: int) -> tuple[int, ...]:
    """Where the children of a tree's node begin, without the first; nothing for a leaf.

    A node is the range of leaves from ``low`` up to ``high``; one with a single child is the same range as that child.
    """
    import numpy as np

    if axis.form != "tree" or high - low < 2:
        return ()
    climbs = [axis.ladder.climb(0, level) for level in range(axis.ladder.depth)]
    meeting = next(level for level, climb in enumerate(climbs) if climb[low] == climb[high - 1])
    below = climbs[meeting - 1][low:high]
    return tuple((low + 1 + np.flatnonzero(np.diff(below))).tolist())


def nodes_of(axis: Axis) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """All nodes of a tree that have children: first and last leaf, and where the children begin."""
    waiting = [(0, len(axis.labels))]
    while waiting:
        low, high = waiting.pop()
        starts = children_of(axis, low, high)
        if starts:
            yield low, high, starts
            waiting += itertools.pairwise([low, *starts, high])
