"""What an intruder knows of people, as it looks in a release: true points, and what contains
them.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.data.paths.clock import USUAL, Clock
from sfumato.data.paths.places import images
from sfumato.data.paths.trajectories import Trajectories
from sfumato.data.paths.windows import posted_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene

Z95 = 1.959963984540054
"""The quantile of 95 % intervals."""


@dataclasses.dataclass(frozen=True, eq=False)
class KnownPoints:
    """The points of people of the original, as they look in the release: ``ticks`` of its buckets,
    ``places`` of its table (−1: none).

    ``truth`` is the released person of every original one, or −1 who was left out.
    """

    starts: NDArray[np.int64]
    ticks: NDArray[np.int64]
    places: NDArray[np.int64]
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, scene: Scene) -> KnownPoints:
        """What is true of everybody in a scene, in the words of the release."""
        original, released = scene.pair.original, scene.pair.released
        truth = np.full(original.people, -1, dtype=np.int64)
        # The inverse: released person 0 was original 4 → truth[4] = 0. Who is not released stays
        # −1.
        truth[scene.pair.truth] = np.arange(released.people)
        places = images(original, released)[original.places]
        ticks = released_ticks(original, released)
        return cls(original.starts, ticks, places, truth)

    def items(self, released: Trajectories) -> NDArray[np.int64]:
        """The number of every known point among the released ones, or −1 where nobody has such a
        point.
        """
        points = released.points
        # One more than there are places: place −1 (none) then meets no key of the moment before.
        kinds = released.table.height + 1
        moments = np.unique(points.ticks)
        # Points are numbered in the order of time and place, so these keys ascend and can be
        # searched.
        keys = np.searchsorted(moments, points.ticks) * kinds + points.places
        # A number behind the last one is moved inside; the comparison below then fails, as it
        # should.
        at = np.minimum(np.searchsorted(moments, self.ticks), max(0, len(moments) - 1))
        if len(moments):
            is_known = (moments[at] == self.ticks) & (self.places >= 0)
        else:
            is_known = np.zeros(len(self.ticks), bool)
        point_keys = at * kinds + self.places
        positions = np.minimum(np.searchsorted(keys, point_keys), max(0, len(keys) - 1))
        hit = is_known & (keys[positions] == point_keys)
        return np.where(hit, positions, -1).astype(np.int64)


def released_ticks(original: Trajectories, released: Trajectories) -> NDArray[np.int64]:
    """The times of the original in the buckets of a release."""
    # Without times a release has one moment for all points.
    if released.clock.kind == "none":
        return np.zeros_like(original.ticks)
    return original.clock.floor(original.ticks, released_width(original, released))


def released_width(original: Trajectories, released: Trajectories) -> int:
    """The width of the buckets of a release: as it says, or the widest usual one that all its times
    begin, or that of the original.

    A release that was read from a file does not say. Where by chance a wider one than the true one
    is found, every true time of a released point still falls into the bucket it is released in.
    """
    # Made in this run, so the width is known; only a file that was read must be asked.
    if not released.as_read or released is original:
        return released.width
    clock = released.clock
    # The widest that all times fit: 00:00, 04:00 and 08:00 fit 1h, 2h and 4h, so 4h.
    usual = [clock.ticks(width) for width in USUAL[clock.kind]]
    fitting = [
        width
        for width in usual
        if bool(np.all(clock.floor(released.ticks, width) == released.ticks))
    ]
    return max(fitting, default=1)


def posted(released: Trajectories) -> Any:
    """The release as the loops take it."""
    return posted_points(released)


def visits_of(people: Trajectories) -> Any:
    """Runs of visits as the loops take them."""
    return kernels.paths.Visits(people.starts, people.ticks, people.places)


def wilson(mean: float, people: int) -> tuple[float, float]:
    """A 95 % interval for a mean share over people, as if each of them were hit or not: never too
    narrow.

    >>> [round(end, 3) for end in wilson(0.5, 10)]
    [0.237, 0.763]
    """
    if not people:
        return 0.0, 1.0
    # The weight that the interval gives to one half: large for few people.
    weight = Z95**2 / people
    centre = (mean + weight / 2) / (1 + weight)
    half = Z95 * math.sqrt(mean * (1 - mean) / people + weight / (4 * people)) / (1 + weight)
    # Rounding must not put the mean outside its own interval.
    return max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))


def hours_of(people: Trajectories) -> NDArray[np.int64] | None:
    """The hour of the day of every point; None where times do not tell it."""
    clock: Clock = people.clock
    hour = clock.hour
    # Buckets wider than eight hours hold both a night and a day, or cannot tell them apart.
    if hour is None or people.width > 8 * hour:
        return None
    hours: NDArray[np.int64] = people.ticks // hour % 24
    return hours
