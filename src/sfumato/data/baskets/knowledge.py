"""What somebody who knows items of a person finds in a release: an item matches itself, or a group
that it belongs to.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels
from sfumato.core.attack import AT_LEAST, NothingToAttack
from sfumato.data.baskets.baskets import Baskets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene


def cannot_be_tried(scene: Scene) -> str | None:
    """Why an attack by known items says nothing here, or None."""
    if not isinstance(scene.pair.released, Baskets):
        return (
            "the baskets were disassociated; an attack would have to guess first which parts "
            "belong together, and no such attack is known"
        )
    if not scene.pair.original.filled or not scene.pair.released.filled:
        return NothingToAttack("nobody has an item")
    return None


@dataclasses.dataclass(frozen=True, eq=False)
class Sight:
    """What the items of the original mean in a release.

    ``codes[i]`` are the released items that item *i* may have become: itself and the groups above
    it, as far as the release has them. An item that the release has nowhere, not even in a group,
    tells an intruder nothing (it was deleted everywhere).
    """

    original: Baskets
    released: Baskets
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, scene: Scene) -> Sight:
        """What can be seen in a scene."""
        return cls(scene.pair.original, scene.pair.released, scene.pair.truth)

    @cached_property
    def where(self) -> NDArray[np.int64]:
        """Per original person the number of the released one, −1: not released."""
        row_of_person = np.full(self.original.people, -1, dtype=np.int64)
        is_known = self.truth >= 0
        # The inverse of ``truth``: released row 0 is person 4 → person 4 is in row 0.
        row_of_person[self.truth[is_known]] = np.flatnonzero(is_known)
        return row_of_person

    @cached_property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """Per original item the numbers of the released ones it may have become."""
        label_codes = {label: code for code, label in enumerate(self.released.labels)}
        if not self.original.has_taxonomy:
            return tuple(
                (label_codes[label],) if label in label_codes else ()
                for label in self.original.labels
            )
        taxonomy = self.original.taxonomy
        chains = ((item, *taxonomy.above(item)) for item in range(taxonomy.items))
        # A label once: an item that is itself a group stands below a node of the same label.
        names = (dict.fromkeys(taxonomy.labels[node] for node in chain) for chain in chains)
        return tuple(
            tuple(label_codes[label] for label in chain if label in label_codes) for chain in names
        )

    @cached_property
    def unchanged(self) -> bool:
        """Whether everybody was released with the very same items, so that the release can be
        counted by itself.
        """
        first, then = self.original, self.released
        if (
            first.labels != then.labels
            or len(first.sets) != len(then.sets)
            or (self.truth < 0).any()
        ):
            return False
        sets = first.sets.taken(self.truth)
        return np.array_equal(sets.pointers, then.sets.pointers) and np.array_equal(
            sets.items, then.sets.items
        )

    @cached_property
    def postings(self) -> Any:
        """Per original item who of the released people may have it."""
        # Items that may have become the same released ones share one list; after generalisation
        # these are many.
        lists: dict[tuple[int, ...], NDArray[np.int32]] = {}
        for codes in self.codes:
            if codes not in lists:
                carrier_lists = [self.released.sets.carriers(code) for code in codes]
                lists[codes] = (
                    # Where parts were recoded by themselves, people may carry both an item and a
                    # group above it.
                    np.unique(np.concatenate(carrier_lists))
                    if len(carrier_lists) > 1
                    else np.concatenate([np.zeros(0, np.int32), *carrier_lists])
                )
        lengths = [len(lists[codes]) for codes in self.codes]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        people = np.concatenate(
            [np.zeros(0, np.int32), *(lists[codes] for codes in self.codes)]
        ).astype(np.int32)
        # Deleted everywhere: no carriers, but also no reason to exclude anybody.
        free = np.array([not codes for codes in self.codes], dtype=np.bool_)
        return kernels.baskets.Postings(starts, people, free)

    @cached_property
    def crowds(self) -> NDArray[np.int64]:
        """Per original item how many released people may have it; everybody where it tells
        nothing.
        """
        lengths = np.diff(self.postings.starts)
        return np.where(self.postings.free, self.released.people, lengths)

    @cached_property
    def targets(self) -> NDArray[np.int64]:
        """Original people of whom something can be known and who were released."""
        return np.flatnonzero((self.original.sets.lengths > 0) & (self.where >= 0))

    def rarest_first(self, person: int) -> NDArray[np.int64]:
        """The items of an original person, those that leave the fewest people first; ties in the
        order of labels.
        """
        own = self.original.sets[person].astype(np.int64)
        return own[np.argsort(self.crowds[own], kind="stable")]

    def narrowed(
        self, person: int, known_items: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """How many are left after each known item, and whether the person is among them."""
        counts, right = (
            np.zeros(len(known_items), dtype=np.int64),
            np.zeros(len(known_items), dtype=np.bool_),
        )
        kernels.baskets.narrow_candidates(
            self.postings, self.released.people, known_items, int(self.where[person]), counts, right
        )
        return counts, right

    def subsets(self, person: int, m: int) -> NDArray[np.float64]:
        """Per size 1 … m the means over the person's sets of that size: alone, chance to be named,
        people left.

        Who has fewer items is known by all of them.
        """
        items_known = self.rarest_first(person)
        largest = min(m, len(items_known))
        sums = np.zeros((largest, 3))
        kernels.baskets.sum_over_subsets(
            self.postings, self.released.people, items_known, int(self.where[person]), largest, sums
        )
        # The sums run over all sets of a size; their number is the binomial coefficient.
        means = sums / np.array(
            [[math.comb(len(items_known), size)] for size in range(1, largest + 1)]
        )
        # Who has fewer than m items: the last size stands for all larger ones.
        return np.concatenate([means, np.repeat(means[-1:], m - largest, axis=0)])


def sampled(
    scene: Scene, targets: NDArray[np.int64], purpose: str, limit: int | None = None
) -> Any:
    """People in a random order for as long as there is time, at least the first few of them."""
    order = scene.seed.stream(f"{purpose}: in what order").permutation(len(targets))
    for position, number in enumerate(order.tolist()):
        # A few people are looked up even when time is over, so that there is a share to report.
        if (position >= AT_LEAST and not scene.left) or (limit is not None and position >= limit):
            return
        yield int(targets[number])


def wilson(share: float, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share that was found on some of the people; of a mean of shares it is
    never too narrow.

    >>> tuple(round(end, 3) for end in wilson(0.5, 100))
    (0.404, 0.596)
    """
    # Nothing tried, nothing known: any share is possible.
    if not trials:
        return 0.0, 1.0
    # The 97.5 % quantile of the standard normal distribution.
    z = 1.959963984540054
    centre = share + z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, (centre - half) / (1 + z * z / trials)), min(
        1.0, (centre + half) / (1 + z * z / trials)
    )
