"""What a release of paths is still worth: points, places, hours, ways, and how far people went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import Scene
from sfumato.core.data import Pair
from sfumato.core.metric import Measure, Utility
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.paths.clock import EVERYTHING
from sfumato.data.paths.knowledge import KnownPoints, hours_of, released_width, visits_of
from sfumato.data.paths.places import Images, ends_of_labels, images, images_with_loss, numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.paths.trajectories import Trajectories


def kept_points(original: Trajectories, released: Trajectories) -> NDArray[np.bool_]:
    """Per point of the original whether its person still has what contains it; where times were
    shifted, whether at any time.
    """
    known_points = KnownPoints.of(Scene.of(original, released))
    # After a shift, times say nothing about who kept what, so only places are compared.
    if released.shifted is None:
        items, released_items, kinds = (
            known_points.items(released),
            released.points.items,
            released.points.kinds + 1,
        )
    else:
        items, released_items, kinds = (
            known_points.places,
            released.places,
            released.table.height + 1,
        )
    # One number for (released person, point). Each person has one spare number, so that point −1
    # (none) meets no key of the person before.
    released_keys = np.unique(released.who * kinds + released_items)
    person = known_points.truth[original.who]
    original_keys = person * kinds + items
    # A number behind the last one is moved inside; the comparison below then fails.
    at = np.minimum(np.searchsorted(released_keys, original_keys), max(0, len(released_keys) - 1))
    is_kept: NDArray[np.bool_] = (
        (person >= 0)
        & (items >= 0)
        & (released_keys[at] == original_keys if len(released_keys) else False)
    )
    return is_kept


def apart(first_shares: NDArray[np.float64], second_shares: NDArray[np.float64]) -> float:
    """Total variation: half the sum of the differences of two distributions; what is missing of
    either counts.
    """
    # Shares that do not add up to 1 (points that are lost) would otherwise look closer than they
    # are.
    missing_mass = abs(first_shares.sum() - second_shares.sum())
    return float(min(1.0, (np.abs(first_shares - second_shares).sum() + missing_mass) / 2))


@parameters
class PointsKept(Utility):
    """Share of the points whose person still has what contains them.

    >>> from sfumato import examples
    >>> people = examples.small_paths()
    >>> PointsKept().measure(Pair(people, people)).value
    1.0
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "points_kept"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, pair: Pair) -> Measure:
        """Look every point up."""
        original, released = pair.original, pair.released
        is_kept = kept_points(original, released)
        meaning = "share of the points that remain, exact or coarser"
        return Measure(
            self.name, float(is_kept.mean()), self.better, meaning, raw=float(is_kept.sum())
        )


@parameters
class PathLoss(Utility):
    r"""How coarse the points are on average: 0 as in the data, 1 nothing is told (NCP).

    .. math:: \frac1N \sum_i \tfrac12\Big(\text{loss of place } i +
        \frac{\text{bucket width}}{\text{span of all times}}\Big)

    The loss of a place is that of its hierarchy node, or the diameter of its cell over that of the
    area; a point that is gone counts 1. ``per_column`` has places and times by themselves.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "path_loss"
    title: ClassVar[str] = "Coarseness of places and times"

    def measure(self, pair: Pair) -> Measure:
        """Average over the points of the original."""
        original, released = pair.original, pair.released
        is_kept = kept_points(original, released)
        image = images_with_loss(original, released)
        # A point that is gone has lost place and time entirely.
        place_loss = np.where(is_kept, image.loss[original.places], 1.0)
        time = np.where(is_kept, time_loss(original, released), 1.0)
        value = float((place_loss + time).mean() / 2)
        parts = {"place": float(place_loss.mean()), "time": float(time.mean())}
        return Measure(
            self.name,
            value,
            self.better,
            "mean coarseness of places and times of all points",
            per_column=parts,
            raw=_mean_diameter(image, original),
        )


def time_loss(original: Trajectories, released: Trajectories) -> float:
    """The width of the buckets as a share of the span of all times."""
    if released.clock.kind == "none":
        return 0.0 if original.clock.kind == "none" else 1.0
    width = released_width(original, released)
    # Nothing lost: the buckets were that wide before.
    if width in (original.width, EVERYTHING):
        return 0.0
    return min(1.0, width / (float(np.ptp(original.ticks)) + original.width))


def _mean_diameter(image: Images, original: Trajectories) -> float | None:
    """The mean diameter of the cells the points are in; None without a grid."""
    if image.diameters is None:
        return None
    return float(image.diameters[original.places].mean())


@parameters
class PlaceHistogram(Utility):
    """How far the shares of points by place are from the true ones: total variation, 0 to 1.

    A coarser place counts evenly for all places of the data that it contains; what no place of the
    data lies in is lost.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "place_histogram"
    title: ClassVar[str] = "Where the points are"

    def measure(self, pair: Pair) -> Measure:
        """Compare the shares place by place."""
        original, released = pair.original, pair.released
        image = images(original, released)
        true = np.bincount(original.places, minlength=original.table.height) / max(
            1, len(original.places)
        )
        released_shares = np.bincount(released.places, minlength=released.table.height) / max(
            1, len(released.places)
        )
        # How many places of the data each released place contains; its share is divided among them.
        shared = np.bincount(image[image >= 0], minlength=released.table.height)
        spread = np.where(image >= 0, released_shares[image] / np.maximum(1, shared[image]), 0.0)
        return Measure(
            self.name,
            apart(true, spread),
            self.better,
            "distance between the shares of points by place",
        )


@parameters
class HourHistogram(Utility):
    """How far the shares of points by hour of the day are from the true ones: total variation, 0 to
    1; a bucket counts evenly for its hours.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "hour_histogram"
    title: ClassVar[str] = "When the points are"

    def applies(self, pair: Pair) -> str | None:
        """None where the data tell the hour."""
        original = pair.original
        if hours_of(original) is not None:
            return None
        return "the data do not give the hour of the day"

    def measure(self, pair: Pair) -> Measure:
        """Compare the shares hour by hour."""
        original, released = pair.original, pair.released
        true = np.bincount(_hours(original), minlength=24) / max(1, len(original.ticks))
        hour = released.clock.hour
        # Without hours a point may be at any of the 24; a bucket of 4h counts a quarter for each
        # hour.
        if hour is None:
            width = 24
        else:
            width = min(24, max(1, released_width(original, released) // hour))
        if hour is None:
            starts = np.zeros(len(released.ticks), dtype=np.int64)
        else:
            starts = _hours(released)
        share = np.zeros(24)
        for step in range(width):
            share += np.bincount((starts + step) % 24, minlength=24)
        return Measure(
            self.name,
            apart(true, share / max(1, width * len(released.ticks))),
            self.better,
            "distance between the shares of points by hour of the day",
        )


def _hours(people: Trajectories) -> NDArray[np.int64]:
    hours: NDArray[np.int64] = people.ticks // (people.clock.hour or 1) % 24
    return hours


@parameters
class OriginDestination(Utility):
    """How far the shares of people by where they begin and end are from the true ones, at the level
    of places released (total variation, 0 to 1).

    People who were left out are missing.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "origin_destination"
    title: ClassVar[str] = "Where people begin and end"

    def measure(self, pair: Pair) -> Measure:
        """Compare the shares of pairs."""
        original, released = pair.original, pair.released
        image = images(original, released)
        kinds = released.table.height + 1
        first, last = (
            original.places[original.starts[:-1]],
            original.places[original.starts[1:] - 1],
        )
        # One number for the pair (first, last). One is added, so that a lost place (−1) becomes 0.
        true = (image[first] + 1) * kinds + image[last] + 1
        released_trips = (
            (released.places[released.starts[:-1]] + 1) * kinds
            + released.places[released.starts[1:] - 1]
            + 1
        )
        keys, codes = np.unique(np.concatenate([true, released_trips]), return_inverse=True)
        counts = [
            np.bincount(part, minlength=len(keys))
            # Both files were coded together, so that equal pairs have equal codes; here they part
            # again.
            for part in np.split(codes.reshape(-1), [len(true)])
        ]
        # Of the original's people in both, so that people who were left out count as a difference.
        people = max(1, original.people)
        return Measure(
            self.name,
            apart(counts[0] / people, counts[1] / people),
            self.better,
            "distance between the shares of people by first and last place",
        )


@parameters
class FrequentSequences(Utility):
    """Share of the frequent pairs of places, visited in this order, that are still there under
    their own names and frequent.

    Frequent is what at least ``share`` of the people did. Pairs of places that were made coarser do
    not survive; ``per_column`` has how many do at the level of places released, and which share of
    the release's frequent pairs are none of the data (ghosts), at that level too.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    share: Annotated[
        float, Field(gt=0, le=1, description="share of people from which a pair is frequent")
    ] = 0.05

    name: ClassVar[str] = "frequent_sequences"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, pair: Pair) -> Measure:
        """Count pairs of visits in both files."""
        original, released = pair.original, pair.released
        # A share such as 0.05 is not exact: without the margin 0.05 · 100 could be rounded up to 6.
        smallest_support = max(1, int(np.ceil(self.share * original.people - 1e-9)))
        image = images(original, released)
        own = _frequent_pairs(original, smallest_support)
        after = set(map(tuple, _frequent_pairs(released, smallest_support).tolist()))
        has_same_label = _same_labels(original, released, image)
        # A pair survives under its own name only if both places were released unchanged.
        stay = [
            (int(image[x]), int(image[y])) in after
            for x, y in own.tolist()
            if has_same_label[x] and has_same_label[y]
        ]
        has_image = image[original.places] >= 0
        # The original with places as coarse as in the release, to compare like with like.
        coarse = original.with_points(
            original.who[has_image],
            original.ticks[has_image],
            image[original.places[has_image]],
            table=released.table,
        )
        level = set(map(tuple, _frequent_pairs(coarse, smallest_support).tolist()))
        parts = {
            "at_the_released_level": len(level & after) / len(level) if level else 1.0,
            "ghosts": len(after - level) / len(after) if after else 0.0,
        }
        value = sum(stay) / len(own) if len(own) else 1.0
        return Measure(
            self.name,
            value,
            self.better,
            "share of frequent pairs of visits that survive",
            per_column=parts,
            raw=float(sum(stay)),
        )


def _same_labels(
    original: Trajectories, released: Trajectories, image: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Per place of the original whether it is released under its own name."""
    # Numbers became intervals: nothing has its own name any more.
    if original.table.dtypes != released.table.dtypes:
        return np.zeros(original.table.height, dtype=np.bool_)
    # −1 must not look up the last place; such places are taken out in the end.
    image_codes = np.maximum(image, 0)
    equal = [
        (original.table[a] == released.table[b].gather(image_codes)).to_numpy()
        for a, b in zip(original.table.columns, released.table.columns, strict=True)
    ]
    has_same_label: NDArray[np.bool_] = np.logical_and.reduce([image >= 0, *equal])
    return has_same_label


def _frequent_pairs(people: Trajectories, smallest_support: int) -> NDArray[np.int64]:
    """Pairs of places that at least so many people visited in this order."""
    size = max(1, people.table.height)
    visits = visits_of(people)
    # The first call only counts, so that the room can be made; the second one fills it.
    room = np.empty(kernels.paths.list_pairs(visits, size, np.empty(0, np.int64)), dtype=np.int64)
    if not len(room):
        return np.zeros((0, 2), dtype=np.int64)
    kernels.paths.list_pairs(visits, size, room)
    keys, counts = np.unique(room, return_counts=True)
    often = keys[counts >= smallest_support]
    return np.stack([often // size, often % size], axis=1)


def centres(people: Trajectories, original: Trajectories) -> NDArray[np.float64]:
    """The coordinates of every place, the middle of a cell; of the top the middle of the area."""
    columns = []
    for name, original_name in zip(people.table.columns, original.table.columns, strict=True):
        if numeric(people.table):
            columns.append(people.table[name].to_numpy())
            continue
        low, high = ends_of_labels(people.table[name])
        area = original.table[original_name].to_numpy()
        # The top has no finite ends; the middle of the area stands for it.
        middle = np.where(
            np.isfinite(low),
            (np.where(np.isfinite(low), low, 0) + np.where(np.isfinite(high), high, 0)) / 2,
            (area.min() + area.max()) / 2,
        )
        columns.append(middle)
    return np.stack(columns, axis=1)


def lengths(people: Trajectories, where: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far everybody went from point to point."""
    at = where[people.places]
    steps = np.zeros(len(at))
    # The step from the last point of one person to the first of the next is no step.
    steps[1:] = np.where(np.diff(people.who) == 0, np.hypot(*np.diff(at, axis=0).T), 0.0)
    return np.bincount(people.who, weights=steps, minlength=people.people).astype(np.float64)


def gyration(people: Trajectories, where: NDArray[np.float64]) -> NDArray[np.float64]:
    """The radius of gyration: the root of the mean squared distance of a person's points from their
    centre.
    """
    at, counts = where[people.places], np.maximum(1, np.diff(people.starts))
    squares = np.zeros(people.people)
    for axis in range(2):
        # First the centre of every person, then the squared distances, one axis at a time.
        mean = np.bincount(people.who, weights=at[:, axis], minlength=people.people) / counts
        squares += np.bincount(
            people.who, weights=(at[:, axis] - mean[people.who]) ** 2, minlength=people.people
        )
    return np.sqrt(squares / counts)


def _relative_error(
    metric: Utility, original: Any, released: Any, quantity: Any, quantity_name: str
) -> Measure:
    """The mean difference of a quantity of people who are in both files, as a share of its mean."""
    # Only people who are in both files; the release says which original person each is.
    if released.origin is None:
        origins = np.arange(released.people)
    else:
        origins = released.origin
    true = quantity(original, centres(original, original))[origins]
    released_values = quantity(released, centres(released, original))
    scale = float(true.mean()) if len(true) else 0.0
    if len(true):
        off = float(np.abs(released_values - true).mean())
    else:
        off = 0.0
    # A mean of 0 has no share: any difference counts as all.
    if scale:
        value = off / scale
    elif not off:
        value = 0.0
    else:
        value = 1.0
    return Measure(
        metric.name,
        value,
        metric.better,
        f"mean error of the {quantity_name} of people's paths, as a share of its mean",
        raw=off,
    )


class _OfCoordinates(Utility):
    """A utility of places by coordinates."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})

    def applies(self, pair: Pair) -> str | None:
        """None where the data have coordinates."""
        original = pair.original
        if original.coordinates and numeric(original.table):
            return None
        return "places are not coordinates"


@parameters
class PathLength(_OfCoordinates):
    """How far off the lengths of people's paths are, on average, as a share of the mean length;
    cells count by their middle.
    """

    name: ClassVar[str] = "path_length"

    def measure(self, pair: Pair) -> Measure:
        """Compare person by person."""
        original, released = pair.original, pair.released
        return _relative_error(self, original, released, lengths, "length")


@parameters
class RadiusOfGyration(_OfCoordinates):
    """How far off the radius of gyration of people's paths is, on average, as a share of the mean
    radius; cells count by their middle.

    Reference: González, Hidalgo & Barabási 2008, doi:10.1038/nature06958.
    """

    name: ClassVar[str] = "radius_of_gyration"

    def measure(self, pair: Pair) -> Measure:
        """Compare person by person."""
        original, released = pair.original, pair.released
        return _relative_error(self, original, released, gyration, "radius of gyration")
