"""Item suppression: items whose sets break a promise are deleted, for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.core.parameters import parameters
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.models import BasketModel
from sfumato.data.baskets.plans import BasketPlan, BasketStep, aims, require_reached
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal


@parameters
class SuppressItems(BasketStep):
    """Deletes items everywhere until no minimal set that breaks a promise (a *mole*) is left.

    Next goes the item with the most moles for each person who loses it: (moles that hold it)/(its
    support); ties by name. Deleting an item from all baskets changes the carriers of no set without
    it, so no new mole comes up. A step for k^m-anonymity, coherence (public items go) and
    ρ-uncertainty (sensitive ones may go too).

    Reference: Xu, Wang, Fu & Yu 2008, doi:10.1145/1401890.1401982.

    >>> from sfumato import examples
    >>> from sfumato.data.baskets.models import HkpCoherence
    >>> from sfumato.core.step import Goal
    >>> people, step = examples.baskets(), SuppressItems()
    >>> step.plan(people, Goal(models=(HkpCoherence(0.5, 2, 2, ["c1", "c2"]),))).describe()
    {'items_deleted': 1, 'occurrences_deleted': 4, 'people_emptied': 0}
    """

    name: ClassVar[str] = "suppress_items"
    tells: ClassVar[tuple[str, ...]] = ("items_deleted", "occurrences_deleted", "people_emptied")

    def plan(self, people: Any, goal: Goal) -> BasketPlan:
        """Choose the items that go."""
        fits = "k^m-anonymity among all people, coherence and ρ-uncertainty"
        models = aims(self.name, people, goal, lambda model: model.deletes, fits)
        deleted: list[int] = []
        remaining = people
        while deletable := _next_to_go(models, remaining):
            # The items left are renumbered each time; their labels lead back to the first
            # numbers.
            deleted += people.codes_of(tuple(remaining.labels[item] for item in deletable)).tolist()
            # Always from the original, so that the numbers of what is deleted keep their meaning.
            remaining = people.with_sets(
                people.sets.mapped(_image(people, deleted), people.sets.size), people.labels
            )
        if not remaining.filled:
            raise Unsatisfiable(
                "suppress_items: the promises hold only without any items; ask for a smaller k, "
                "or use item_recoding",
                closest={"items_deleted": len(deleted)},
            )
        # Where sets are too many to list, a promise may return none and still be broken.
        require_reached(self.name, models, remaining, "use item_recoding or basket_partition")
        sets = people.sets.mapped(_image(people, deleted), people.sets.size)
        facts = {
            "items_deleted": len(deleted),
            "occurrences_deleted": len(people.sets.items) - len(sets.items),
            "people_emptied": int(((sets.lengths == 0) & (people.sets.lengths > 0)).sum()),
        }
        return BasketPlan(sets, people.labels, facts, warned=_warned(facts["people_emptied"]))


def _warned(emptied: int) -> tuple[str, ...]:
    if not emptied:
        return ()
    return (f"{emptied:,} people lost all their items; no promise covers them",)


def _image(people: Baskets, deleted: list[int]) -> NDArray[np.int64]:
    image = np.arange(people.sets.size, dtype=np.int64)
    image[deleted] = -1
    return image


def _next_to_go(models: list[BasketModel], people: Baskets) -> list[int]:
    """Items that go now: of every mole of every promise one. Beyond what can be listed there may be
    more moles, found next time.
    """
    if not people.filled:
        return []
    mole_lists = [moles for model in models if len(moles := model.moles(people))]
    # Promises give rows of different widths; they are made equal to be put into one table.
    width = max((moles.shape[1] for moles in mole_lists), default=1)
    rows = [
        np.pad(moles, ((0, 0), (0, width - moles.shape[1])), constant_values=-1)
        for moles in mole_lists
    ]
    if not rows:
        return []
    return chosen(np.concatenate(rows), people.sets.supports)


def chosen(moles: NDArray[np.int32], supports: NDArray[np.int64]) -> list[int]:
    """Items of which every mole (a row, −1 behind the last item) holds one: the most moles left for
    each carrier first, ties in order.

    >>> chosen(np.array([[0, -1], [2, -1]], dtype=np.int32), np.array([4, 9, 2]))
    [2, 0]
    """
    # The moles of each item as spans of one array: moles [0,2],[2] → item 0: mole 0; item 2: 0, 1.
    lengths = (moles >= 0).sum(axis=1)
    flat = moles[moles >= 0]
    owner = np.repeat(np.arange(len(moles)), lengths)
    by_item = np.argsort(flat, kind="stable")
    first = np.searchsorted(flat[by_item], np.arange(len(supports) + 1))
    counts = np.bincount(flat, minlength=len(supports)).astype(np.float64)
    alive = np.ones(len(moles), dtype=bool)
    items_chosen: list[int] = []
    while counts.any():
        # Rounded, so that equal ratios tie and the first item goes.
        item = int(np.argmax(np.round(counts / np.maximum(supports, 1), 12)))
        items_chosen.append(item)
        holding = owner[by_item[first[item] : first[item + 1]]]
        # Only moles that were still alive: the others have already left the counts of their items.
        dead = moles[holding[alive[holding]]]
        counts -= np.bincount(dead[dead >= 0], minlength=len(supports))
        alive[holding] = False
    return items_chosen
