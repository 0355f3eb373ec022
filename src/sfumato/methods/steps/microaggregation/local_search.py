"""Groups that a search makes better: downhill from MDAV, or by annealing as long as it may take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.fields import Document
from sfumato.methods.steps.microaggregation.inputs import FormedGroups, PointGround, error_of
from sfumato.methods.steps.microaggregation.mdav import mdav

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.kernels.group_changes import Groups

    Array = NDArray[np.float64]
    Labels = NDArray[np.int64]

EFFORT = 30_000_000
"""Changes tried where neither effort nor seconds are given: about ten seconds."""
NEIGHBOURS = 30
ROUNDS = 50
TRIES = 20
"""Changes tried at one temperature, by active record."""
LEAST_TRIES = 0.5
"""No temperature has fewer tries than with such a part of all records active: the few outliers
weigh most, and are decided with care.
"""
AT_ONCE = 200_000
"""Changes tried before it is asked whether to go on."""
STEPS = 60
"""Temperatures of an anneal; twice as many after every ``ALIKE`` anneals: crossed, many fast ones
beat a slow one.
"""
ALIKE = 8
COLD, HOT = 0.1, 300.0
"""Records are active at a temperature T when their scale lies between COLD·T and HOT·T."""
FEW = 10
LOCAL_SHARE = 0.3
LOCAL_STEPS = 60
LOCAL_RECORDS = 100
SMALLEST = 1e-12
PER_CHANGE, PER_CELL = 2.5e-7, 4.5e-9
"""Seconds that trying a change takes on a usual core, and more for every record of a group and
dimension.
"""
HOPELESS = 1.2
"""Groups with so many times the least error are still hot when the search is stopped: going
downhill would be in vain.
"""


def refine_groups(ground: PointGround) -> FormedGroups:
    """MDAV, then records moved and swapped, groups dissolved and created, as long as each lowers
    the error.
    """
    start = mdav(ground).groups
    groups = build_groups(ground, start)
    changes = descend(groups, ground.k, np.arange(len(start)), error_of(ground.points, start))
    notes = {"start_error": error_of(ground.points, start), "changes": changes}
    return FormedGroups(number_groups(groups.groups), notes)


def best(ground: PointGround, *, effort: int | None, seconds: float | None) -> FormedGroups:
    """The best groups that annealing meets; see :class:`AnnealingSearch`."""
    if effort is None and seconds is None:
        effort = EFFORT
    return AnnealingSearch(ground).run(effort, seconds)


class AnnealingSearch:
    """Simulated annealing of all records, again and again and more slowly by and by, and of regions
    in between.

    At temperature T a change that adds x to the squared error is made with probability exp(−x/T).
    Only those records are active whose *scale*, the squared distance to the (k − 1)-th neighbour,
    is of the order of T: farther ones are settled already, and nearer ones would only be stirred.
    So outliers are decided first, dense regions last, and nothing is spent where nothing can be
    won. After each anneal smaller regions of the best groups so far are annealed, with preference
    for those with a large error. Every anneal goes downhill to its end, and is then crossed with
    the best so far (:func:`cross_groupings`): each part of the table where the two differ is
    taken from the better one. So what one anneal decides well is never lost to what it decides
    badly elsewhere, and the best only gets better.

    What is counted is work, never time: the same seed and effort give the same groups on any
    machine, however busy it is.
    """

    def __init__(self, ground: PointGround) -> None:
        self.began = time.process_time()
        self.ground = ground
        self.k = ground.k
        self.random = ground.draw("annealing")
        # The state of the kernel's own generator of random words.
        self.draws = self.random.integers(1, 2**63, size=1, dtype=np.uint64)
        start = mdav(ground).groups
        self.made = build_groups(ground, start)
        self.everyone = np.arange(len(start))
        self.start_error = error_of(ground.points, start)
        descend(self.made, self.k, self.everyone, self.start_error)
        self.least = self._error(self.made.groups)
        self.groups = self.made.groups.copy()
        self.scales = scales_of(self.made, self.k)
        self.tried = 0

    def run(self, effort: int | None, seconds: float | None) -> FormedGroups:
        """Search until the effort is spent, or what stands for the seconds."""
        allowed = math.inf
        if seconds is not None:
            allowed = math.ceil(seconds * self.pace)
        limit = allowed if effort is None else min(effort, allowed)
        stopped = None
        for tries in self._anneals():
            self.tried += tries
            self.ground.progress(min(1.0, self.tried / limit), "searching better groups")
            if self.tried >= limit:
                stopped = "seconds" if limit == allowed else "effort"
                break
        # What is under way when the effort is spent goes downhill once more, if it is near the
        # best.
        if self._error(self.made.groups) < HOPELESS * self.least:
            descend(self.made, self.k, self.everyone, self.least)
            self._keep()
        return FormedGroups(
            number_groups(self.groups), self._notes(stopped, time.process_time() - self.began)
        )

    @property
    def pace(self) -> float:
        """Changes that a second stands for: what one core tries in it, which falls with group size
        and dimensions.
        """
        cell_work = PER_CELL * self.k * int(self.made.points.shape[1])
        return 1.0 / (PER_CHANGE + cell_work)

    def _notes(self, stopped: str | None, spent: float) -> Document:
        return {
            "start_error": self.start_error,
            "effort": self.tried,
            "stopped_by": stopped,
            "seconds": round(spent, 3),
        }

    def _anneals(self) -> Iterator[int]:
        if self.least <= SMALLEST * self.start_error or len(self.made.sizes) < 2:
            return
        order = np.argsort(self.scales, kind="stable")
        # A thousandth of the mean error a record: below it no change matters.
        last = 1e-3 * self.start_error / len(order)
        # Hot enough to move the third farthest record; the farthest may be alone.
        small_scale = self.scales[order[-min(3, len(order))]]
        first = max(0.3 * small_scale, 10 * last)
        steps, before = STEPS, 0
        for turn in range(10**9):
            before = self.tried
            yield from self._anneal(order, first, last, steps)
            self._keep()
            whole = self.tried - before
            # LOCAL_SHARE of the work of the whole anneal goes into regions.
            while self.tried - before < (1 + LOCAL_SHARE) * whole:
                yield from self._anneal_region(last)
                self._keep()
            # Twice as slow every ALIKE rounds: slow anneals end better, quick ones try more
            # starts.
            steps *= 2 if turn % ALIKE == ALIKE - 1 else 1

    def _anneal(self, order: Labels, first: float, last: float, steps: int) -> Iterator[int]:
        """Cool from one temperature to another; ``order`` has records by their scale. Yields the
        changes tried.
        """
        scales = self.scales[order]
        for temperature in np.geomspace(first, last, steps):
            # Records by scale: those between COLD and HOT times the temperature are a slice.
            low, high = np.searchsorted(scales, (COLD * temperature, HOT * temperature))
            if high - low < FEW:
                high = min(len(order), low + FEW)
                low = max(0, high - FEW)
            least_tries = int(LEAST_TRIES * len(order))
            waiting = TRIES * max(int(high - low), least_tries)
            while waiting:
                tries = min(waiting, AT_ONCE)
                kernels.microaggregation.anneal(
                    self.made, self.k, self.draws, temperature, tries, order[low:high]
                )
                waiting -= tries
                yield tries
        descend(self.made, self.k, order, self.least)

    def _anneal_region(self, last: float) -> Iterator[int]:
        """Anneal the records around one of the best groups so far."""
        self.made.groups[:] = self.groups
        kernels.group_changes.fill_groups(self.made)
        centre = self._centre()
        differences = self.made.points - self.made.points[centre]
        away = (differences**2).sum(axis=1)
        # Between a third of and eight times LOCAL_RECORDS.
        local_count = LOCAL_RECORDS * 2 ** self.random.uniform(-1.5, 3.0)
        count = min(len(away), int(local_count))
        region = np.sort(np.argpartition(away, count - 1)[:count])
        order = region[np.argsort(self.scales[region], kind="stable")]
        # Nine in ten records of the region have a smaller scale.
        large_scale = self.scales[order[int(0.9 * (count - 1))]]
        typical = max(float(large_scale), 2 * last)
        high = typical * 10 ** self.random.uniform(-1, 0.5)
        low = max(min(last, high / 2), high * 1e-3)
        yield from self._anneal(order, high, low, LOCAL_STEPS)

    def _centre(self) -> int:
        """A random record; more often one that lies far from the mean of its group."""
        if self.random.random() < 0.3:
            return int(self.random.integers(len(self.everyone)))
        groups = self.made
        errors = errors_of(groups.points, groups.groups)
        # Drawn in proportion to its error: the place of a random number on the running sum.
        shares = errors.cumsum()
        position = shares.searchsorted(self.random.random() * shares[-1])
        return min(int(position), len(errors) - 1)

    def _keep(self) -> None:
        """Cross the groups with the best so far, and remember what comes of it when it is
        better.
        """
        groups = cross_groupings(self.made.points, self.groups, self.made.groups)
        error = self._error(groups)
        if error < self.least:
            self.least = error
            self.groups = groups

    def _error(self, groups: Labels) -> float:
        count = len(self.made.sizes)
        return float(kernels.group_changes.sum_squared_errors(self.made.points, groups, count))


def build_groups(ground: PointGround, groups: Labels) -> kernels.group_changes.Groups:
    """Groups with all that the loops keep about them."""
    n, d = ground.points.shape
    # Padded with zeros to a multiple of four columns: vector instructions take four at a time.
    padded_width = -(-max(d, 1) // 4) * 4
    points = np.zeros((n, padded_width))
    points[:, :d] = ground.points
    count = max(n // ground.k, int(groups.max()) + 1)
    # A group may grow to 3k while it is changed, and one row more for a record on its way.
    largest_group = int(np.bincount(groups).max())
    room = max(3 * ground.k, largest_group) + 1
    groups_at_work = kernels.group_changes.Groups(
        points=points,
        near=neighbours(ground),
        groups=groups.copy(),
        slots=np.zeros(n, dtype=np.int64),
        members=np.zeros((count, room), dtype=np.int64),
        sizes=np.zeros(count, dtype=np.int64),
        sums=np.zeros((count, points.shape[1])),
        free=np.zeros(count + 1, dtype=np.int64),
    )
    kernels.group_changes.fill_groups(groups_at_work)
    return groups_at_work


def neighbours(ground: PointGround) -> NDArray[np.int32]:
    """The nearest records of each record in its part; where a part has too few, they are
    repeated.
    """
    from scipy.spatial import KDTree

    largest = max(map(len, ground.parts))
    width = max(1, min(max(NEIGHBOURS, 3 * ground.k), largest - 1))
    near = np.empty((len(ground.points), width), dtype=np.int32)
    for rows in ground.parts:
        points = ground.points[rows]
        neighbour_count = min(width, len(rows) - 1)
        if not neighbour_count:
            near[rows] = rows[0]
            continue
        nearest = KDTree(points).query(points, k=neighbour_count + 1)[1]
        own = nearest == np.arange(len(rows))[:, None]
        # Copies of a record may push it out of its own list; then the last one is left out
        # instead.
        own[~own.any(axis=1), -1] = True
        others = rows[nearest[~own].reshape(len(rows), neighbour_count)]
        near[rows] = others[:, np.arange(width) % neighbour_count]
    return near


def cross_groupings(points: Array, first_labels: Labels, second_labels: Labels) -> Labels:
    """The best of two ways to group records, part by part; the same groups as the first where the
    two are equally good.

    Records belong to one part when they share a group in either way, or are linked by others that
    do. So every part is a union of whole groups in both, and parts can be chosen independently: no
    group of the result is new, and the error is the least of all choices.

    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]])
    >>> first, second = np.array([0, 0, 1, 1, 2, 3, 2, 3]), np.array([0, 1, 0, 1, 2, 2, 3, 3])
    >>> number_groups(cross_groupings(points, first, second)).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = number_groups(first_labels)
    second = number_groups(second_labels)
    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    # Groups are nodes, records the edges between the two groups they belong to.
    entries = np.ones(len(first)), (first, second + size)
    links = coo_array(entries, shape=(nodes, nodes))
    part = connected_components(links, directed=False)[1][first]
    errors = [np.bincount(part, weights=errors_of(points, groups)) for groups in (first, second)]
    # Groups of the second way get numbers that no group of the first has.
    is_better = (errors[1] < errors[0])[part]
    return number_groups(np.where(is_better, second + size, first))


def errors_of(points: Array, groups: Labels) -> Array:
    """Per record its squared distance from the mean of its group."""
    sizes = np.bincount(groups)
    class_means = [
        np.bincount(groups, weights=column) / np.maximum(sizes, 1) for column in points.T
    ]
    means = np.stack(class_means, axis=1)
    errors: Array = ((points - means[groups]) ** 2).sum(axis=1)
    return errors


def scales_of(groups: Groups, k: int) -> Array:
    """How far the records of a group around each record would lie apart: the (k − 1)-th neighbour,
    or the first that differs.
    """
    squared = []
    for column in groups.near.T:
        differences = groups.points - groups.points[column]
        squared.append((differences**2).sum(axis=1))
    away = np.stack(squared, axis=1)
    # Neighbours before the (k − 1)-th do not count; the first positive distance from there on
    # does.
    away[:, : min(k - 2, away.shape[1] - 1)] = 0.0
    first = np.argmax(away > 0.0, axis=1)
    scales: Array = away[np.arange(len(away)), first]
    return scales


def descend(groups: Groups, k: int, active: Labels, error: float) -> int:
    """Go downhill until nothing lowers the error; returns the number of changes."""
    least_gain = SMALLEST * max(error, SMALLEST)
    return int(kernels.microaggregation.descend(groups, k, active, least_gain, ROUNDS))


def number_groups(groups: Labels) -> Labels:
    """The same groups numbered from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
