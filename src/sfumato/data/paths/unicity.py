"""Attacks by a few points: who is the only one with them, also when times were shifted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.attack import Attack, Finding, NothingToAttack
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.paths.clock import minutes_of
from sfumato.data.paths.knowledge import KnownPoints, posted, visits_of, wilson
from sfumato.data.paths.time_shift import TimeShift

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.data.paths.trajectories import Trajectories

EXACT = 3_000_000
"""Sets of points up to which all are looked at instead of a sample."""


KnownNumber = Annotated[int, Field(ge=1, le=20, description="most points the intruder knows")]


@parameters
class Unicity(Attack):
    r"""The share of people who alone have ``points`` random points of their own: an intruder saw
    them there.

    .. math:: \varepsilon_p = \frac1n \sum_i P\big(T(q_i) = \{i\}\big)

    with :math:`q_i` drawn from the subsets of *p* points of person *i*; whoever has fewer is known
    by all of them. In a release the intruder knows true points and looks for what contains them;
    points that nobody in the release has are ignored. All subsets are counted where there are few,
    else the points of a draw are the beginning of one random order, so that the curve never falls
    with more points, and the interval (95 %, over people) says so. The curve for 1…``points`` is in
    the details, with how often somebody else was pointed to. A measurement, never a promise: not
    even coarser data always have a smaller mean.

    Reference: de Montjoye, Hidalgo, Verleysen & Blondel 2013, doi:10.1038/srep01376.

    >>> from sfumato import examples
    >>> from sfumato.core.attack import Scene
    >>> people = examples.small_paths()
    >>> Unicity(4).attack(Scene.of(people, people)).value
    0.875
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})

    points: KnownNumber = 5
    draws: Annotated[
        int,
        Field(ge=1, le=1000, description="chooses a person at random if not all sets are tried"),
    ] = 10

    name: ClassVar[str] = "unicity"
    title: ClassVar[str] = "Unique by a few points"
    line: ClassVar[str] = "Share of people who are unique by a few times and places"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who saw a person a few times",)

    def attack(self, scene: Scene) -> Finding:
        """Look for everybody by random points of their own."""
        known_points = KnownPoints.of(scene)
        curve, wrong, exact, hit = unicity_curve(scene, known_points, self.points, self.draws)
        people = scene.pair.original.people
        value = curve[-1]
        details: Document = {
            "curve": {
                "known": "points known",
                "points": [[p, share] for p, share in enumerate(curve, start=1)],
            },
            "intervals": [
                # Where all sets were counted there is no sampling error.
                None if sure else list(wilson(share, people))
                for share, sure in zip(curve, exact, strict=True)
            ],
            "pointed_to_another": wrong,
            "all_sets": exact,
        }
        sentence = (
            f"{percent(value)} of {people:,} people are unique in the release by {self.points} "
            "random points of their own"
        )
        return Finding(
            self.name,
            value,
            sentence,
            interval=None if exact[-1] else wilson(value, people),
            baseline=1 / people,
            # People who are singled out more often than not.
            victims=np.flatnonzero(hit > 0.5),
            details=details,
        )


def unicity_curve(
    scene: Scene, known_points: KnownPoints, largest_set: int, draws: int
) -> tuple[list[float], list[float], list[bool], NDArray[np.float64]]:
    """Per number of points: the mean share, how often another one was pointed to, whether it is
    exact; and the last shares by person.
    """
    released: Trajectories = scene.pair.released
    items, runs = known_points.items(released), posted(released)
    people = len(known_points.starts) - 1
    lengths = np.diff(known_points.starts)
    # Who has fewer than p points is known by all of them: one set.
    totals = []
    for p in range(1, largest_set + 1):
        counts = [math.comb(n, min(n, p)) for n in lengths.tolist()]
        totals.append(float(sum(counts)))
    # Decided for each size by itself: pairs may be few enough where triples are not.
    exact = [total <= EXACT for total in totals]
    shares = np.zeros((people, largest_set))
    wrong = np.zeros(largest_set)
    for p in range(1, largest_set + 1):
        if exact[p - 1]:
            column = np.zeros(people)
            wrong[p - 1] = (
                kernels.paths.measure_unicity(
                    runs, known_points.starts, items, known_points.truth, p, column
                )
                / totals[p - 1]
            )
            shares[:, p - 1] = column
    # One sample serves all sizes that are too many: its first p points are the draw of size p.
    if not all(exact):
        hits, missed = np.zeros((people, largest_set)), np.zeros(largest_set)
        # so that the draws of many people need not lie in memory
        for first in range(0, people, 10_000):
            rows = slice(first, min(people, first + 10_000))
            # The stream is named after the block, so that draws do not depend on how blocks are
            # processed.
            uniforms = scene.seed.stream(f"unicity: which points of {first}").random(
                (rows.stop - first, draws, largest_set)
            )
            part = known_points.starts[first : rows.stop + 1]
            kernels.paths.sample_unicity(
                runs, part, items, known_points.truth[rows], uniforms, hits[rows], missed
            )
        for p in range(largest_set):
            if not exact[p]:
                shares[:, p], wrong[p] = hits[:, p] / draws, missed[p] / (draws * people)
    return shares.mean(axis=0).tolist(), wrong.tolist(), exact, shares[:, -1]


@parameters
class TimeShiftAttack(Attack):
    """The share of people who alone fit a few known points when all times of a person were moved by
    an unknown shift.

    The intruder knows true points and that nobody was moved by more than ``most`` (by default what
    the step says). Every visit at the first known place within that time is an anchor: it tells the
    shift, and the other known points must be there at the same offset.

    >>> from sfumato import examples
    >>> from sfumato.core.attack import Scene
    >>> people = examples.small_paths()
    >>> finding = TimeShiftAttack(4, most="1h", draws=200).attack(Scene.of(people, people))
    >>> round(finding.details["curve"]["points"][-1][1], 2)
    0.88
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    points: KnownNumber = 5
    most: Annotated[
        str | None,
        Field(description="largest shift the intruder assumes; by default that of the step"),
    ] = None
    draws: Annotated[int, Field(ge=1, le=1000, description="draws a person")] = 10

    name: ClassVar[str] = "time_shift"
    title: ClassVar[str] = "Unique in spite of shifted times"
    line: ClassVar[str] = "Share of people who are unique by a few places and the time between them"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who saw a person a few times",)

    def __post_init__(self) -> None:
        if self.most is not None:
            minutes_of(self.most)

    def applies(self, scene: Scene) -> str | None:
        """None where times were shifted, or a shift is named."""
        # Without a shift :class:`Unicity` asks the same in a simpler way.
        if self.most is None and shift_of(scene) is None:
            return NothingToAttack("times were not shifted")
        if scene.pair.released.clock.kind == "none":
            return NothingToAttack("the release has no times")
        return None

    def attack(self, scene: Scene) -> Finding:
        """Anchor at the first known place, and test the others at the same offset."""
        released = scene.pair.released
        known_points = KnownPoints.of(scene)
        if self.most is None:
            largest_shift = shift_of(scene)
        else:
            largest_shift = released.clock.ticks(self.most)
        hits = self._hits(scene, known_points, int(largest_shift or 0))
        curve = (hits / self.draws).mean(axis=0).tolist()
        people = len(known_points.starts) - 1
        details = {
            "curve": {
                "known": "points known",
                "points": [[p, s] for p, s in enumerate(curve, start=1)],
            }
        }
        sentence = (
            f"{percent(curve[-1])} of {people:,} people are unique by {self.points} of their "
            "points, whatever the shift"
        )
        # More than half of the draws single the person out.
        victims = np.flatnonzero(hits[:, -1] > self.draws / 2)
        return Finding(
            self.name,
            curve[-1],
            sentence,
            interval=wilson(curve[-1], people),
            baseline=1 / people,
            victims=victims,
            details=details,
        )

    def _hits(
        self, scene: Scene, known_points: KnownPoints, largest_shift: int
    ) -> NDArray[np.float64]:
        released = scene.pair.released
        # Visits by place: an anchor is looked for at one place only.
        order = np.argsort(released.places, kind="stable")
        counts = np.bincount(released.places, minlength=released.table.height)
        posting = (
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            order.astype(np.int64),
            released.who,
        )
        people = len(known_points.starts) - 1
        hits = np.zeros((people, self.points))
        runs = kernels.paths.Visits(known_points.starts, known_points.ticks, known_points.places)
        points_drawn = _draw_points(scene, np.diff(known_points.starts), self.draws, self.points)
        kernels.paths.attack_shifts(
            visits_of(released),
            posting,
            runs,
            known_points.truth,
            points_drawn,
            largest_shift,
            hits,
        )
        return hits


def shift_of(scene: Scene) -> int | None:
    """By how many ticks times may have been shifted: as the release says, or the steps that made it
    where it comes from a file.
    """
    shifts_declared = [
        scene.pair.released.clock.ticks(step.most)
        for step in scene.steps
        if isinstance(step, TimeShift)
    ]
    # A release read from a file does not say; then the steps of the recipe do, added up.
    return scene.pair.released.shifted or sum(shifts_declared) or None


def _draw_points(
    scene: Scene, lengths: NDArray[np.int64], draws: int, set_size: int
) -> NDArray[np.int64]:
    """Per person and draw the places of the first few points of a random order of the person's
    points.
    """
    points_drawn = np.zeros((len(lengths), draws, set_size), dtype=np.int64)
    stream = scene.seed.stream("time shift: which points")
    for person, length in enumerate(lengths.tolist()):
        order = stream.permuted(np.tile(np.arange(length), (draws, 1)), axis=1)
        used = min(length, set_size)
        # Who has fewer points than asked leaves zeros behind; the loop stops at the number of
        # points.
        points_drawn[person, :, :used] = order[:, :used]
    return points_drawn
