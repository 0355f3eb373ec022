"""What the methods start from, and what they hand back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Points = NDArray[np.float64]
    Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Ground:
    """Records as points, in canonical order, and the parts (strata) that are grouped each by itself.

    Squared distances of points are what the methods make small: see :mod:`sfumato.steps.aggregation.embedding`.
    """

    points: Points
    parts: Sequence[Labels]
    k: int
    draw: Callable[[str], np.random.Generator]
    progress: Progress = silent


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """The group of every record, numbered from 0 over all parts, and what the method knows besides."""

    groups: Labels
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def by_part(ground: Ground, method: Callable[[Points, int], Labels]) -> Labels:
    """Group every part by itself and number the groups of all."""
    import numpy as np

    groups = np.empty(len(ground.points), dtype=np.int64)
    made = 0
    for done, rows in enumerate(ground.parts, 1):
        found = method(np.ascontiguousarray(ground.points[rows]), ground.k)
        groups[rows] = found + made
        made += int(found.max()) + 1
        ground.progress(done / len(ground.parts), "grouping records")
    return groups


def error_of(points: Points, groups: Labels) -> float:
    """The sum of squared distances of all records from the means of their groups (SSE)."""
    from sfumato.kernels.regrouping import squared_error

    return float(squared_error(points, groups, int(groups.max()) + 1)) if len(groups) else 0.0


def total_of(points: Points) -> float:
    """The sum of squared distances of all records from their mean (SST)."""
    import numpy as np

    return error_of(points, np.zeros(len(points), dtype=np.int64))
