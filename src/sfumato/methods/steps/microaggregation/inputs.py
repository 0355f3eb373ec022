"""What the methods start from, and what they hand back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.fields import Fields
from sfumato.core.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Points = NDArray[np.float64]
    Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class PointGround:
    """Records as points, in canonical order, and the parts (strata) that are grouped each by
    itself.

    Squared distances of points are what the methods make small:
    see :mod:`sfumato.methods.steps.microaggregation.inputs`.
    """

    points: Points
    parts: Sequence[Labels]
    k: int
    draw: Callable[[str], np.random.Generator]
    progress: Progress = silent


@dataclasses.dataclass(frozen=True, eq=False)
class FormedGroups:
    """The group of every record, numbered from 0 over all parts, and what the method knows
    besides.
    """

    groups: Labels
    notes: Fields = dataclasses.field(default_factory=dict)


def by_part(ground: PointGround, method: Callable[[Points, int], Labels]) -> Labels:
    """Group every part by itself and number the groups of all."""
    groups = np.empty(len(ground.points), dtype=np.int64)
    count = 0
    for parts_done, rows in enumerate(ground.parts, 1):
        part_groups = method(np.ascontiguousarray(ground.points[rows]), ground.k)
        groups[rows] = part_groups + count
        count += int(part_groups.max()) + 1
        ground.progress(parts_done / len(ground.parts), "grouping records")
    return groups


def error_of(points: Points, groups: Labels) -> float:
    """The sum of squared distances of all records from the means of their groups (SSE)."""
    if not len(groups):
        return 0.0
    return float(kernels.group_changes.sum_squared_errors(points, groups, int(groups.max()) + 1))


def total_of(points: Points) -> float:
    """The sum of squared distances of all records from their mean (SST)."""
    return error_of(points, np.zeros(len(points), dtype=np.int64))
