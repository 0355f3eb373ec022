"""Attacks by what everybody's neighbours know: where somebody lives and works; and by another file
of paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.attack import AT_LEAST, Attack, Finding, NothingToAttack, Scene, stopped_short
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.paths.knowledge import KnownPoints, hours_of, posted, released_ticks, wilson
from sfumato.data.paths.places import images
from sfumato.data.paths.trajectories import Trajectories

if TYPE_CHECKING:
    from numpy.typing import NDArray

NIGHT = (20, 7)
DAY = (9, 17)


@parameters
class HomeAndWork(Attack):
    """The share of people who alone have their home and place of work.

    Home is the place a person was at most often by night (from 20 to 7), work by day (from 9 to
    17); who was seen at no such hour, and all where times do not tell the hour, are known by the
    two places visited most. The intruder knows the true pair and looks for released people for whom
    the same rule gives what contains it. Ties go to the first place in order.

    Reference: Golle & Partridge 2009, doi:10.1007/978-3-642-01516-8_26.

    >>> from sfumato import examples
    >>> from sfumato.core.attack import Scene
    >>> people = examples.small_paths()
    >>> HomeAndWork().attack(Scene.of(people, people)).sentence
    '4 of 8 people are unique by their home and place of work; the others have 4.0 candidates on
    average'
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "home_and_work"
    line: ClassVar[str] = "Home and place of work identify a person"
    tried_by: ClassVar[tuple[str, ...]] = ("a neighbour or colleague",)

    def attack(self, scene: Scene) -> Finding:
        """Look for everybody by the two places."""
        original, released = scene.pair.original, scene.pair.released
        known_points = KnownPoints.of(scene)
        # Both sides must follow the same rule, or the true pair would be compared with another one.
        by_hour = hours_of(original) is not None and hours_of(released) is not None
        # One more entry at the end, so that place −1 (none) leads to −1.
        image = np.append(images(original, released), -1)
        true_home, true_work = (image[place] for place in home_and_work(original, by_hour=by_hour))
        home, work = home_and_work(released, by_hour=by_hour)
        # One number for the pair of places, so that people with the same pair can be counted.
        kinds = released.table.height + 1
        keys, counts = np.unique(home * kinds + work, return_counts=True)
        true_pairs = np.where((true_home < 0) | (true_work < 0), -1, true_home * kinds + true_work)
        at = np.minimum(np.searchsorted(keys, true_pairs), len(keys) - 1)
        # How many released people have the true pair. None where the release has no such pair.
        candidates = np.where(keys[at] == true_pairs, counts[at], 0)
        is_released = known_points.truth >= 0
        right = np.zeros(original.people, dtype=np.bool_)
        # A release may move somebody's home; then even a single candidate is the wrong person.
        right[is_released] = (home * kinds + work)[known_points.truth[is_released]] == true_pairs[
            is_released
        ]
        alone = right & (candidates == 1)
        other_candidates = candidates[right & ~alone]
        if len(other_candidates):
            average = float(other_candidates.mean())
        else:
            average = 0.0
        sentence = (
            f"{int(alone.sum()):,} of {original.people:,} people are unique by their home and "
            "place of work"
        )
        sentence += (
            f"; the others have {average:.1f} candidates on average"
            if len(other_candidates)
            else ""
        )
        details: Document = {
            "by_hour": by_hour,
            "found": int(right.sum()),
            "mean_candidates": float(candidates[right].mean()) if right.any() else 0.0,
        }
        value = float(alone.mean())
        return Finding(
            self.name,
            value,
            sentence,
            baseline=1 / original.people,
            victims=np.flatnonzero(alone),
            details=details,
        )


def home_and_work(
    people: Trajectories, *, by_hour: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per person the place of the night and that of the day, or the two visited most."""
    everything = np.ones(len(people.places), dtype=np.bool_)
    most_visited_places = most_visited(people, everything)
    hours = hours_of(people) if by_hour else None
    if hours is None:
        # Where the hour is not known, the two places visited most stand for home and work.
        second_places = most_visited(people, people.places != most_visited_places[people.who])
        # Who was at one place only has it for both.
        return most_visited_places, np.where(second_places < 0, most_visited_places, second_places)
    home = most_visited(people, (hours >= NIGHT[0]) | (hours < NIGHT[1]))
    home = np.where(home < 0, most_visited_places, home)
    work = most_visited(people, (hours >= DAY[0]) & (hours < DAY[1]))
    # Second to home, not to the place visited most: work should differ from home where it can.
    second_places = most_visited(people, people.places != home[people.who])
    return home, np.where(work >= 0, work, np.where(second_places < 0, home, second_places))


def most_visited(people: Trajectories, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Per person the place with the most of some points, the first of several; −1 without any."""
    kinds = people.table.height + 1
    # Visits per person and place, as one sorted number.
    keys, counts = np.unique(people.who[which] * kinds + people.places[which], return_counts=True)
    owner, place = keys // kinds, keys % kinds
    # The first row of every person is then the place with the most points, ties by the number.
    order = np.lexsort((place, -counts, owner))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = np.diff(owner[order]) != 0
    places_found = np.full(people.people, -1, dtype=np.int64)
    places_found[owner[order][first]] = place[order][first]
    return places_found


@parameters
class PathLinkage(Attack):
    r"""The share of people of another file of paths who are found in the release by the points they
    have in common.

    .. math:: S(r) = \sum_{q \in \text{aux} \cap r} \frac{1}{\ln \max(2, |T(q)|)}

    The best is claimed where it stands out: its score is at least ``eccentricity`` standard
    deviations of all scores above the next. The value is the share of right claims among the people
    of the other file who are in the data (recall); precision and wrong claims are in the details,
    and so is how often somebody who is not in the release is claimed. Who is who is told by what
    the two files call people, and used for the score only.

    Reference: Narayanan & Shmatikov 2008, doi:10.1109/SP.2008.33.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})

    eccentricity: Annotated[
        float, Field(ge=0, description="how far the best match must stand out")
    ] = 1.5
    people: Annotated[int, Field(ge=20, description="most people of the other file to try")] = 1000

    name: ClassVar[str] = "path_linkage"
    line: ClassVar[str] = "People of another file of paths are recognised"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody with another file of paths",)

    def applies(self, scene: Scene) -> str | None:
        """None where there is another file of paths that calls people as the data do."""
        if not scene.others:
            return NothingToAttack("there is no other file of paths")
        if not isinstance(scene.others[0], Trajectories):
            return "the other file does not hold paths"
        if scene.pair.original.names is None or scene.others[0].names is None:
            return "who is who in the two files is unknown"
        # Ticks of different kinds (days, microseconds) would never meet, or meet by chance.
        auxiliary_clock, own_clock = scene.others[0].clock, scene.pair.original.clock
        if (auxiliary_clock.kind, auxiliary_clock.plain) != (own_clock.kind, own_clock.plain):
            return "the two files write times in different ways"
        return None

    def attack(self, scene: Scene) -> Finding:
        """Score everybody of the release for some people of the other file."""
        auxiliary: Trajectories = scene.others[0]
        # Other people's points in the places and buckets of the release, as the intruder must
        # compare.
        places = images(auxiliary, scene.pair.released)[auxiliary.places]
        known_points = KnownPoints(
            auxiliary.starts,
            released_ticks(auxiliary, scene.pair.released),
            places,
            np.zeros(0, dtype=np.int64),
        )
        items, runs = known_points.items(scene.pair.released), posted(scene.pair.released)
        truth = self._truth(scene, auxiliary)
        order = scene.seed.stream("path linkage: whom").permutation(auxiliary.people)[: self.people]
        right = wrong = stranger = attempts = present = 0
        for number, person in enumerate(order.tolist()):
            # A few people are always tried, so that there is a share to report when time is short.
            if number >= AT_LEAST and not scene.left:
                break
            claimed = self._claimed(
                items[auxiliary.starts[person] : auxiliary.starts[person + 1]],
                runs,
                scene.pair.released.people,
            )
            attempts, present = attempts + 1, present + int(truth[person] >= 0)
            right += int(claimed >= 0 and claimed == truth[person])
            wrong += int(claimed >= 0 and claimed != truth[person])
            # Claims about people who are not in the release are wrong by themselves; distinguished
            # because they show how far the intruder can trust a claim.
            stranger += int(claimed >= 0 and truth[person] < 0)
        value = right / present if present else 0.0
        details = {
            "tried": attempts,
            "in_the_release": present,
            "right": right,
            "wrong": wrong,
            "strangers_claimed": stranger,
            "precision": right / (right + wrong) if right + wrong else None,
        }
        sentence = (
            f"{right:,} of {present:,} people of the other file are "
            f"recognised{stopped_short(attempts, len(order))}; {wrong:,} claims are wrong"
        )
        return Finding(
            self.name,
            value,
            sentence,
            interval=wilson(value, present),
            baseline=1 / scene.pair.released.people,
            details=details,
            trials=attempts,
        )

    def _truth(self, scene: Scene, auxiliary: Trajectories) -> NDArray[np.int64]:
        """Per person of the other file the released one, or −1."""
        names = scene.pair.original.names.to_list()
        released = {
            names[original]: number for number, original in enumerate(scene.pair.truth.tolist())
        }
        auxiliary_names = auxiliary.names.to_list()  # type: ignore[union-attr]
        return np.array([released.get(name, -1) for name in auxiliary_names], dtype=np.int64)

    def _claimed(self, items: NDArray[np.int64], runs: Any, people: int) -> int:
        """The released person who stands out for some known points, or −1."""
        scores = np.zeros(people)
        # A point counts once, however often it is known; points that nobody has count for nobody.
        for item in np.unique(items[items >= 0]).tolist():
            carriers = runs.people[runs.post_starts[item] : runs.post_starts[item + 1]]
            # Rare points tell more. At least 2, since ln 1 is 0.
            scores[carriers] += 1 / np.log(max(2, len(carriers)))
        spread = float(scores.std())
        # Nobody stands out where all scores are equal.
        if people < 2 or spread == 0:
            return -1
        second, best = np.partition(scores, people - 2)[-2:]
        if (best - second) / spread >= self.eccentricity:
            return int(scores.argmax())
        return -1
