"""Classes that are close to the table by the earth mover's distance: three ways, and the merging that makes sure."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.model import TOLERANCE
from sfumato.core.rank_closeness import distance_bounds, needed_size
from sfumato.errors import InternalError
from sfumato.steps.aggregation.distance import mdav_of
from sfumato.steps.buckets.assigning import Limits, greedy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Labels = NDArray[np.int64]
    Points = NDArray[np.float64]

Method = Literal["merge", "k_anonymity_first", "t_closeness_first"]


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """Records on a line: ``ranks`` by record, and the sums that distances are made of (see the kernel)."""

    ranks: Labels
    reach: Points
    moved: Points

    @classmethod
    def of(cls, places: Points) -> Line:
        """Records that lie at these places; ties are ranked by the order of records."""
        import numpy as np

        n = len(places)
        order = np.argsort(places, kind="stable")
        ranks = np.empty(n, dtype=np.int64)
        ranks[order] = np.arange(n)
        span = float(places[order[-1]] - places[order[0]])
        gaps = np.diff(places[order]) / span if span > 0 else np.zeros(n - 1)
        moved = np.cumsum(gaps * np.arange(1, n)) / n
        return cls(ranks, np.append(0.0, np.cumsum(gaps)), np.append(0.0, moved))

    def distances(self, groups: Labels) -> Points:
        """The distance of every class to the table."""
        import numpy as np

        from sfumato.kernels.moving_earth import distances

        members = self.ranks[np.lexsort((self.ranks, groups))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)
        found = distances(starts, members, self.reach, self.moved)
        return np.asarray(np.maximum(found, 0.0))


def close_classes(points: Points, line: Line, *, k: int, t: float, method: Method) -> tuple[Labels, dict[str, Any]]:
    """Classes of at least k that are within t of the table, and how they were found."""
    import numpy as np

    n = len(points)
    if method == "t_closeness_first":
        size = needed_size(n, t, k)
        start, told = _one_of_each(points, line, size), {"class_size": size}
    elif method == "k_anonymity_first" and distance_bounds(n, k)[0] <= t:
        start, told = _swapped(points, line, k, t), {}
    else:  # no class of k could be within t whatever it swaps: they must be merged
        start, told = mdav_of(points, k), {}
    groups = merged(points, line, start, t)
    made = int(start.max()) + 1
    if float(line.distances(groups).max()) > t + TOLERANCE or int(np.bincount(groups).min()) < k:
        raise InternalError("classes were made that do not keep k and t")
    return groups, {**told, "merged": made - int(groups.max()) - 1}


def _swapped(points: Points, line: Line, k: int, t: float) -> Labels:
    import numpy as np

    from sfumato.kernels.moving_earth import near_and_close

    groups = np.empty(len(points), dtype=np.int64)
    columns = np.array(points.T, order="C")
    near_and_close(columns, line.ranks, k, t + TOLERANCE, line.reach, line.moved, groups)
    return groups


def _one_of_each(points: Points, line: Line, size: int) -> Labels:
    """Classes with one record of each of so many parts of the line; what is left over stands in the middle parts."""
    import numpy as np

    n = len(points)
    classes = n // size
    left = n - classes * size
    parts = np.full(size, classes, dtype=np.int64)
    counts = np.ones((classes, size), dtype=np.int64)
    middle = (size // 2,) if size % 2 else (size // 2 - 1, size // 2)
    for extra in range(left):
        at = middle[extra % len(middle)]
        parts[at] += 1
        counts[extra, at] += 1
    part_of = np.repeat(np.arange(size), parts)[line.ranks]
    return greedy(points, part_of, Limits(counts.sum(axis=1), counts, counts))[0]


def merged(points: Points, line: Line, groups: Labels, t: float) -> Labels:
    """Join the class that is farthest from the table with the one whose centre is nearest, until all are within t.

    It ends: a single class is the table.
    """
    import numpy as np

    state = _Merging(points, line, groups)
    while len(state.alive) > 1:
        worst = state.alive[int(state.distances[state.alive].argmax())]
        if state.distances[worst] <= t + TOLERANCE:
            break
        state.join(int(worst))
    return np.unique(state.groups(), return_inverse=True)[1].astype(np.int64)


class _Merging:
    """Classes with their members, centres and distances; a class that was joined is no longer alive."""

    def __init__(self, points: Points, line: Line, groups: Labels) -> None:
        import numpy as np

        self.line, self.n = line, len(points)
        count = int(groups.max()) + 1
        order = np.argsort(groups, kind="stable")
        self.members = np.split(order, np.cumsum(np.bincount(groups))[:-1])
        self.sizes = np.bincount(groups).astype(np.float64)
        self.sums = np.stack([np.bincount(groups, column, count) for column in points.T], axis=1)
        self.distances = line.distances(groups)
        self.alive = np.arange(count)

    def join(self, one: int) -> None:
        """Join a class with the nearest other one; it keeps its number."""
        import numpy as np

        from sfumato.kernels.moving_earth import distances

        others = self.alive[self.alive != one]
        centres = self.sums[others] / self.sizes[others, None]
        away = ((centres - self.sums[one] / self.sizes[one]) ** 2).sum(axis=1)
        other = int(others[int(away.argmin())])
        self.members[one] = np.concatenate([self.members[one], self.members[other]])
        self.sizes[one] += self.sizes[other]
        self.sums[one] += self.sums[other]
        ranks = np.sort(self.line.ranks[self.members[one]])
        starts = np.array([0, len(ranks)], dtype=np.int64)
        self.distances[one] = distances(starts, ranks, self.line.reach, self.line.moved)[0]
        self.alive = self.alive[self.alive != other]

    def groups(self) -> Labels:
        """The class of every record."""
        import numpy as np

        found = np.empty(self.n, dtype=np.int64)
        for number in self.alive.tolist():
            found[self.members[number]] = number
        return found
