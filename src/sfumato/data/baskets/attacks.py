"""Attacks on baskets: by a few known items, by the rarest ones, and what finding somebody costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding, Scene
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import inflect, percent
from sfumato.data.baskets.knowledge import Sight, cannot_be_tried, sampled, wilson
from sfumato.methods.formulas import itemsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = 4
"""Items up to which all sets of them are looked at."""


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 6) for value in values]


def _of_a_sample(looked_at: int, all_people: int) -> str:
    if looked_at >= all_people:
        return ""
    return " (a random sample)"


def _curve(shares: object) -> Document:
    # A point says how many items are known and how often that was enough: 1 item, 2 items, …
    points = [[size, share] for size, share in enumerate(_rounded(shares), start=1)]
    return {"known": "items known", "points": points}


LookedUp = Annotated[
    int,
    Field(
        ge=20,
        description="people to attack at most; more are sampled at random",
    ),
]
KnownNumber = Annotated[int, Field(ge=1, le=20, description="items known")]


@parameters
class KnownItems(Attack):
    r"""Somebody who knows m items of a person looks for the only basket that has them.

    For every person the share of the sets of m own items that fit nobody else,

    .. math:: \frac{|\{q\subseteq t,\ |q|=m,\ T(q)=\{t\}\}|}{\binom{|t|}{m}}

    averaged over people; who has fewer than m items is known by all of them. A released group fits
    every item it stands for; items that were deleted everywhere reveal nothing. Up to m = 4 all
    sets are looked at; beyond, ``draws`` random orders of a person's items whose first 1, 2, … are
    known (so the curve never falls). Where people must be looked up one by one, at most ``people``
    of them are, a random sample with a Wilson interval; fewer if time runs out.

    Reference: de Montjoye et al. 2013, doi:10.1038/srep01376, for the measure; Terrovitis et al.
    2008, doi:10.14778/1453856.1453874, for the intruder.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})

    m: KnownNumber = 4
    draws: Annotated[
        int, Field(ge=1, description="random orders of each person's items if m is above 4")
    ] = 20
    people: LookedUp = 5000

    name: ClassVar[str] = "known_items"
    line: ClassVar[str] = "how often a few items of a person fit nobody else"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows a few items of a person",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever people still have baskets."""
        return cannot_be_tried(scene)

    def attack(self, scene: Scene) -> Finding:
        """Count, or look people up one by one."""
        sight = Sight.of(scene)
        # A release with the very same items can be counted as a whole, once for all people. A
        # changed one must be asked person by person: what a known item matches depends on what
        # became of it.
        if self.m <= EXACT and sight.unchanged:
            people, means = sight.targets, self._count_sets(sight)
        else:
            people, means = self._looked_up(sight, scene)
        return _describe_finding(self, sight, people, means, self.m)

    def _count_sets(self, sight: Sight) -> NDArray[np.float64]:
        """Per size, person and (alone, chance): counted in one walk over all sets."""
        # Targets are numbered as in the original; the counts below have one row a released person.
        rows = sight.where[sight.targets]
        known_sets_by_size = [
            itemsets.known_sets(sight.released.sets, size) for size in range(1, self.m + 1)
        ]
        return np.stack(
            [
                np.stack([known_sets.alone[rows], known_sets.chance[rows]], axis=1)
                for known_sets in known_sets_by_size
            ]
        )

    def _looked_up(
        self, sight: Sight, scene: Scene
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        stream = scene.seed.stream("known items: which are known")
        people, rows = [], []
        for person in sampled(scene, sight.targets, self.name, self.people):
            people.append(person)
            exact = self.m <= EXACT
            rows.append(
                sight.subsets(person, self.m)[:, :2]
                if exact
                else self._draw_sets(sight, person, stream)
            )
        return np.array(people, dtype=np.int64), np.stack(rows, axis=1)

    def _draw_sets(
        self, sight: Sight, person: int, stream: np.random.Generator
    ) -> NDArray[np.float64]:
        own = sight.original.sets[person].astype(np.int64)
        means = np.zeros((self.m, 2))
        for _ in range(self.draws):
            counts, right = sight.narrowed(person, stream.permutation(own)[: self.m])
            # Who has fewer than m items is known by all of them, so the last count is repeated.
            # With two items and m of 4 the counts 0, 1, 1, 1 are used.
            sizes = np.minimum(np.arange(self.m), len(counts) - 1)
            candidate_counts, is_candidate = counts[sizes], right[sizes]
            means += np.stack(
                [
                    (candidate_counts == 1) & is_candidate,
                    # The intruder guesses among those who are left. Where the true person is not
                    # among them (the release changed an item), the guess is never right.
                    np.where(is_candidate, 1.0 / np.maximum(candidate_counts, 1), 0.0),
                ],
                axis=1,
            )
        return means / self.draws


def _describe_finding(
    attack: Attack, sight: Sight, people: NDArray[np.int64], means: NDArray[np.float64], m: int
) -> Finding:
    """The finding of an attack by known items from ``means[size − 1, person, (alone, chance)]``."""
    every = len(people) == len(sight.targets)
    shares, chances = means[:, :, 0].mean(axis=1), means[:, :, 1].mean(axis=1)
    share = float(shares[-1])
    # People with at least one telling set, not only the mean: a mean hides a few who always stand
    # out.
    people_with_one = (means[:, :, 0] > 0).sum(axis=1)
    sentence = (
        f"{m} known {inflect(m, 'item')} fit the right person alone in {percent(share)} of cases; "
        f"of {len(people):,} people tried, {int(people_with_one[-1]):,} have such "
        f"items{_of_a_sample(len(people), len(sight.targets))}"
    )
    return Finding(
        attack.name,
        share,
        sentence,
        # Without a sample there is no sampling error, so no interval.
        interval=None if every else wilson(share, len(people)),
        baseline=1.0 / max(sight.released.people, 1),
        victims=np.sort(people[means[-1, :, 0] > 0]),
        details={
            "curve": _curve(shares),
            "mean_chance": _rounded(chances),
            "people_with_one": [int(count) for count in people_with_one],
        },
        trials=None if every else len(people),
    )


@parameters
class RareItems(Attack):
    """Somebody who knows the m rarest items of a person looks for the only basket that has them.

    Rare is what the release shows to be rare. The most telling single items need not be the most
    telling set, so this is a lower bound of what m items can do.

    Reference: Narayanan & Shmatikov 2008, doi:10.1109/SP.2008.33, for rare items in sparse data.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})
    m: KnownNumber = 3
    people: LookedUp = 5000

    name: ClassVar[str] = "rare_items"
    line: ClassVar[str] = "how many people are unique by their rarest items"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody who knows what is unusual about a person",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever people still have baskets."""
        return cannot_be_tried(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look people up one by one."""
        sight = Sight.of(scene)
        people, rows = [], []
        for person in sampled(scene, sight.targets, self.name, self.people):
            counts, right = sight.narrowed(person, sight.rarest_first(person)[: self.m])
            # As for random items: who has fewer repeats the last count.
            sizes = np.minimum(np.arange(self.m), len(counts) - 1)
            candidate_counts, is_candidate = counts[sizes], right[sizes]
            people.append(person)
            rows.append(
                np.stack(
                    [
                        (candidate_counts == 1) & is_candidate,
                        np.where(is_candidate, 1.0 / np.maximum(candidate_counts, 1), 0.0),
                    ],
                    axis=1,
                )
            )
        return _describe_finding(
            self,
            sight,
            np.array(people, dtype=np.int64),
            np.stack(rows, axis=1).astype(np.float64),
            self.m,
        )


@parameters
class ItemAttackCost(Attack):
    r"""What it costs an intruder to narrow people down item by item: how many are left for how much
    work.

    One unit of work tests one known item on one person who is still possible. Facts are used one
    after the other, the rarest first or in random
    order (the mean over all orders up to 4 items, over ``draws`` beyond): work grows by the people
    left, then those without the item go. Reported are the means and quartiles of the people left,
    the share of people found, the work for each of them, and the work until half of all people hide
    among at most ``among``; none where that never happens. A measurement of ours: what is costly
    today may be cheap tomorrow.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})

    order: Annotated[Literal["rarest", "random"], Field(description="which item is used first")] = (
        "rarest"
    )
    m: Annotated[int, Field(ge=1, le=20, description="most items the intruder knows")] = 4
    among: Annotated[int, Field(ge=1, description="people among whom half of all must hide")] = 5
    draws: Annotated[int, Field(ge=1, description="random orders if m is above 4")] = 20
    people: LookedUp = 5000

    name: ClassVar[str] = "item_attack_cost"
    line: ClassVar[str] = "how much work narrows people down, and to how few"
    tried_by: ClassVar[tuple[str, ...]] = ("somebody with time who knows a few items of a person",)

    def applies(self, scene: Scene) -> str | None:
        """Wherever people still have baskets."""
        return cannot_be_tried(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look people up one by one and count the tests."""
        sight = Sight.of(scene)
        stream = scene.seed.stream("item attack cost: in what order")
        people, rows = [], []
        for person in sampled(scene, sight.targets, self.name, self.people):
            people.append(person)
            rows.append(self._narrowed(sight, person, stream))
        candidates_left, alone, truth_stays = np.stack(rows, axis=2)  # per step and person
        lengths = np.minimum(sight.original.sets.lengths[people], self.m)
        # The first item is tested on everybody, each later one only on those still left.
        tests = np.vstack(
            [np.full(len(people), float(sight.released.people)), candidates_left[:-1]]
        )
        # Whoever has no further item causes no further work; without this the repeated last count
        # would be added for steps that never happen.
        tests[np.arange(self.m)[:, None] >= lengths[None, :]] = 0.0
        return self._finding(
            sight,
            np.array(people, dtype=np.int64),
            candidates_left,
            alone,
            truth_stays,
            np.cumsum(tests, axis=0),
        )

    def _narrowed(
        self, sight: Sight, person: int, stream: np.random.Generator
    ) -> NDArray[np.float64]:
        """(people left, alone, truth among them) after each step; who has fewer items stays as
        found.
        """
        # Few items: the mean over all orders is the mean over all sets, which need not be drawn.
        if self.order == "random" and self.m <= EXACT:
            means = sight.subsets(person, self.m)
            return np.stack([means[:, 2], means[:, 0], (means[:, 1] > 0).astype(np.float64)])
        own = sight.rarest_first(person)
        if self.order == "rarest":
            orders = [own]
        else:
            orders = [stream.permutation(own) for _ in range(self.draws)]
        sums = np.zeros((3, self.m))
        for known_items in orders:
            counts, right = sight.narrowed(person, known_items[: self.m])
            sizes = np.minimum(np.arange(self.m), len(counts) - 1)
            sums += np.stack([counts[sizes], (counts[sizes] == 1) & right[sizes], right[sizes]])
        return sums / len(orders)

    def _finding(
        self,
        sight: Sight,
        people: NDArray[np.int64],
        candidates_left: NDArray[np.float64],
        alone: NDArray[np.float64],
        truth_stays: NDArray[np.float64],
        work: NDArray[np.float64],
    ) -> Finding:
        every = len(people) == len(sight.targets)
        share, spent = float(alone[-1].mean()), float(work[-1].mean())
        # The first step at which half of the people looked at hide among few enough.
        half = np.flatnonzero(np.median(candidates_left, axis=1) <= self.among)
        until = None
        if len(half):
            until = round(float(work[half[0]].mean()), 4)
        work_per_person = spent / share if share else None
        sentence = (
            f"{spent:,.4g} tests per person leave {float(candidates_left[-1].mean()):,.4g} people "
            f"on average, and {percent(share)} "
            f"alone{_of_a_sample(len(people), len(sight.targets))}; this is a measurement, not a "
            "promise"
        )
        return Finding(
            self.name,
            share,
            sentence,
            interval=None if every else wilson(share, len(people)),
            baseline=1.0 / max(sight.released.people, 1),
            victims=np.sort(people[alone[-1] > 0]),
            details={
                "curve": _curve(alone.mean(axis=1)),
                "work": _rounded(work.mean(axis=1)),
                "people_left": _rounded(candidates_left.mean(axis=1)),
                "quartiles": [
                    _rounded(row)
                    for row in np.quantile(candidates_left, [0.25, 0.5, 0.75], axis=1).T
                ],
                "work_for_each_found": None
                if work_per_person is None
                else round(work_per_person, 4),
                "work_until_half_hide_among": {str(self.among): until},
                "truth_stays": bool((truth_stays == 1).all()),
            },
            trials=None if every else len(people),
        )
