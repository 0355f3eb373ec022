"""Classes that are close to the table by the earth mover's distance: three ways, and the merging
that makes sure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.fields import Document
from sfumato.core.groups import group_starts
from sfumato.core.model import TOLERANCE
from sfumato.errors import InternalError
from sfumato.methods.formulas.closeness import distance_bounds, needed_size
from sfumato.methods.steps.microaggregation.bucket_classes import Limits, greedy
from sfumato.methods.steps.microaggregation.mdav import mdav_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]

Method = Literal["merge", "k_anonymity_first", "t_closeness_first"]


@dataclasses.dataclass(frozen=True, eq=False)
class RecordLine:
    """Records on a line: ``ranks`` by record, and the sums that distances are made of (see the
    kernel).
    """

    ranks: Labels
    reach: Points
    moved: Points

    @classmethod
    def of(cls, positions: Points) -> RecordLine:
        """Records that lie at these places; ties are ranked by the order of records."""
        n = len(positions)
        order = np.argsort(positions, kind="stable")
        ranks = np.empty(n, dtype=np.int64)
        ranks[order] = np.arange(n)
        span = float(positions[order[-1]] - positions[order[0]])
        if span > 0:
            gaps = np.diff(positions[order]) / span
        else:
            gaps = np.zeros(n - 1)
        # Prefix sums of gap × share below it: the earth that crosses each gap.
        earth_moved = np.cumsum(gaps * np.arange(1, n)) / n
        return cls(ranks, np.append(0.0, np.cumsum(gaps)), np.append(0.0, earth_moved))

    def distances(self, groups: Labels) -> Points:
        """The distance of every class to the table."""
        members = self.ranks[np.lexsort((self.ranks, groups))]
        starts = group_starts(np.bincount(groups))
        distances = kernels.buckets.measure_classes(starts, members, self.reach, self.moved)
        return np.asarray(np.maximum(distances, 0.0))


def close_classes(
    points: Points, line: RecordLine, *, k: int, t: float, method: Method
) -> tuple[Labels, Document]:
    """Classes of at least k that are within t of the table, and how they were found."""
    n = len(points)
    if method == "t_closeness_first":
        size = needed_size(n, t, k)
        start = _one_of_each(points, line, size)
        notes = {"class_size": size}
    elif method == "k_anonymity_first" and distance_bounds(n, k)[0] <= t:
        start = _swap_until_close(points, line, k, t)
        notes = {}
    else:  # no class of k could be within t whatever it swaps: they must be merged
        start = mdav_of(points, k)
        notes = {}
    groups = merge_until_close(points, line, start, t)
    classes = int(start.max()) + 1
    if float(line.distances(groups).max()) > t + TOLERANCE or int(np.bincount(groups).min()) < k:
        raise InternalError("some classes do not hold k and t; report this as a bug")
    return groups, {**notes, "merged": classes - int(groups.max()) - 1}


def _swap_until_close(points: Points, line: RecordLine, k: int, t: float) -> Labels:
    groups = np.empty(len(points), dtype=np.int64)
    columns = np.array(points.T, order="C")
    kernels.buckets.build_close_classes(
        columns, line.ranks, k, t + TOLERANCE, line.reach, line.moved, groups
    )
    return groups


def _one_of_each(points: Points, line: RecordLine, size: int) -> Labels:
    """Classes with one record of each of so many parts of the line; what is left over stands in the
    middle parts.
    """
    n = len(points)
    classes = n // size
    leftover_count = n - classes * size
    parts = np.full(size, classes, dtype=np.int64)
    counts = np.ones((classes, size), dtype=np.int64)
    if size % 2:
        middle = [size // 2]
    else:
        middle = [size // 2 - 1, size // 2]
    # Left over records stand in the middle parts, where they move the distance least.
    for extra in range(leftover_count):
        at = middle[extra % len(middle)]
        parts[at] += 1
        counts[extra, at] += 1
    part_of = np.repeat(np.arange(size), parts)[line.ranks]
    return greedy(points, part_of, Limits(counts.sum(axis=1), counts, counts))[0]


def merge_until_close(points: Points, line: RecordLine, groups: Labels, t: float) -> Labels:
    """Join the class that is farthest from the table with the one whose centre is nearest, until
    all are within t.

    It ends: a single class is the table.
    """
    state = _Merging(points, line, groups)
    while len(state.alive) > 1:
        worst = state.alive[int(state.distances[state.alive].argmax())]
        if state.distances[worst] <= t + TOLERANCE:
            break
        state.join(int(worst))
    return np.unique(state.groups(), return_inverse=True)[1].astype(np.int64)


class _Merging:
    """Classes with their members, centres and distances; a class that was joined is no longer
    alive.
    """

    def __init__(self, points: Points, line: RecordLine, groups: Labels) -> None:
        self.line = line
        self.n = len(points)
        count = int(groups.max()) + 1
        order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups))
        self.members = np.split(order, ends[:-1])
        self.sizes = np.bincount(groups).astype(np.float64)
        self.sums = np.stack([np.bincount(groups, column, count) for column in points.T], axis=1)
        self.distances = line.distances(groups)
        self.alive = np.arange(count)

    def join(self, class_number: int) -> None:
        """Join a class with the nearest other one; it keeps its number."""
        candidates = self.alive[self.alive != class_number]
        # Sums and sizes make the centre of a joined class without looking at its records.
        centres = self.sums[candidates] / self.sizes[candidates, None]
        class_means = self.sums[class_number] / self.sizes[class_number]
        away = ((centres - class_means) ** 2).sum(axis=1)
        partner = int(candidates[int(away.argmin())])
        members = np.concatenate([self.members[class_number], self.members[partner]])
        self.members[class_number] = members
        self.sizes[class_number] += self.sizes[partner]
        self.sums[class_number] += self.sums[partner]
        ranks = np.sort(self.line.ranks[members])
        starts = np.array([0, len(ranks)], dtype=np.int64)
        distance = kernels.buckets.measure_classes(starts, ranks, self.line.reach, self.line.moved)[
            0
        ]
        self.distances[class_number] = distance
        self.alive = self.alive[self.alive != partner]

    def groups(self) -> Labels:
        """The class of every record."""
        group_of = np.empty(self.n, dtype=np.int64)
        for number in self.alive.tolist():
            group_of[self.members[number]] = number
        return group_of
