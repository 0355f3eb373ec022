"""Deleting points until no few of them tell who somebody is."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.core.words import percent
from sfumato.data.paths.promises import MOST_SETS, PathModel, SetDemand, point_sets, set_promises
from sfumato.data.paths.trajectories import Trajectories, require_paths
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.methods.formulas.itemsets import ItemSets, frequent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal

MOST_WEIGHED = 4_000
"""Violating sets up to which each is weighed against all others, as local suppression does."""
MOST_FREQUENT = 3_000_000
FIRST_LOOK = 1_000_000
"""Violating sets that are listed at first, to see how much must go at least."""

ROUNDED = 1e-6
"""Shares of points are told with six digits."""

Items = tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class SuppressionPlan(Plan):
    """Which points go; for the owner only. ``everywhere`` is how many different points nobody
    keeps.
    """

    dropped: NDArray[np.bool_] = dataclasses.field(repr=False)
    how: str
    everywhere: int
    people_gone: int

    def describe(self) -> Document:
        """How much is deleted; not which."""
        return {
            "how": self.how,
            "points_deleted": int(self.dropped.sum()),
            "share_deleted": round(float(self.dropped.mean()), 6) if len(self.dropped) else 0.0,
            "deleted_everywhere": self.everywhere,
            "people_left_out": self.people_gone,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """That people are missing, where nothing is left of them."""
        if not self.people_gone:
            return ()
        return (
            (
                f"point_suppression deletes all points of {self.people_gone:,} people, who are not "
                "in the release"
            ),
        )


@parameters
class PointSuppression(Step):
    r"""Delete points (time and place) until every promise about sets of points holds.

    A *minimal violating set* breaks a promise while none of its parts does; where there is none,
    nothing is broken.

    ``global`` deletes a point from everybody: the one with the largest

    .. math:: \frac{\text{minimal violating sets with it}}{1 + \text{maximal frequent sets with it}}

    until none is left, ties by time, then place. Frequent are sets of at most as many points as the
    promise speaks of that ``frequent`` people have. What is deleted everywhere leaves the carriers
    of all other sets alone, so nothing new breaks.

    ``local`` deletes a point of a violating set from the carriers of that set only, where no other
    set with it begins to break: what removes the most violating sets per deleted point, then what
    deletes fewer, then in the order of the sets (shorter first, by time and place). Where nothing
    local is possible one global step is taken. It keeps more and takes much longer.

    People of whom nothing is left are left out. Other promises (windows, visits) are not its
    business.

    Reference: Chen, Fung, Mohammed, Desai & Wang 2013, doi:10.1016/j.ins.2011.07.035.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> from sfumato.data.paths.lkc import LkcPrivacy
    >>> people, goal = examples.small_paths(), Goal(models=(LkcPrivacy(2, l=2),))
    >>> [
    ...     len(step.apply(people, step.plan(people, goal)).ticks)
    ...     for step in (PointSuppression(), PointSuppression("local"))
    ... ]
    [12, 17]
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})

    how: Annotated[
        Literal["global", "local"],
        Field(description="delete from everybody (global), or only where needed (local)"),
    ] = "global"
    frequent: Annotated[
        int | None,
        Field(
            ge=1,
            description=(
                "people from whom a set is worth keeping; by default one more than the promise asks"
            ),
        ),
    ] = None
    budget: Annotated[
        float, Field(gt=0, le=1, description="share of the points that may be deleted")
    ] = 1.0

    name: ClassVar[str] = "point_suppression"
    tells: ClassVar[tuple[str, ...]] = (
        "how",
        "points_deleted",
        "share_deleted",
        "deleted_everywhere",
        "people_left_out",
    )

    def plan(self, people: Any, goal: Goal) -> SuppressionPlan:
        """Choose the points to delete."""
        paths = require_paths(people, self.name)
        models = set_promises(goal.models)
        if not models:
            raise ParameterError(
                f"{self.name} reaches promises about sets of points (lkc_privacy, km_anonymity);"
                " the recipe has none"
            )
        for model in models:
            paths.require_people(model.k, model.promise)
        demands = [model.asked(paths) for model in models]
        # By default just above what is asked: a set that is worth keeping should not be near
        # breaking.
        frequent_support = self.frequent or max(demand.k for demand in demands) + 1
        if self.how == "local":
            dropped = _locally(paths, demands, frequent_support)
        else:
            dropped = _globally(point_sets(paths), demands, frequent_support)
        self._require_enough(paths, dropped, max(demand.k for demand in demands))
        points_kept = np.bincount(paths.who[~dropped], minlength=paths.people)
        items = paths.points.items
        # Points that nobody has any more.
        gone = np.bincount(items[~dropped], minlength=paths.points.kinds) == 0
        return SuppressionPlan(dropped, self.how, int(gone.sum()), int((points_kept == 0).sum()))

    def _require_enough(self, people: Trajectories, dropped: NDArray[np.bool_], k: int) -> None:
        """Raise where more goes than may, or too few people are left."""
        share = float(dropped.mean()) if len(dropped) else 0.0
        people_left = len(np.unique(people.who[~dropped]))
        closest = {"share_deleted": round(share, 6), "people_left": people_left}
        if share > self.budget:
            raise Unsatisfiable(
                f"{self.name} would delete {percent(share)} of the points, more than its budget of "
                f"{percent(self.budget)}; recode places and times before it, or lower the promise",
                closest=closest,
            )
        if people_left < k:
            raise Unsatisfiable(
                f"{self.name} would leave points of {people_left:,} people only, fewer than {k:,}; "
                "recode places and times before it, or lower the promise",
                closest=closest,
            )

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That points were deleted in another way than the recipe says, or more of them than its
        budget allows.
        """
        if plan_section["how"] != self.how:
            return f"recipe and plan of {self.name} differ in how"
        # The plan tells the share rounded; the budget must not be missed by that alone.
        if plan_section["share_deleted"] > self.budget + ROUNDED:
            return f"{self.name} deleted more of the points than its budget allows"
        if plan_section["share_deleted"] and not plan_section["points_deleted"]:
            return f"the plan of {self.name} deletes a share of the points but lists none"
        return None

    def apply(self, people: Any, plan: Any) -> Trajectories:
        """Delete them."""
        paths = require_paths(people, self.name)
        is_kept = ~plan.dropped
        return paths.with_points(paths.who[is_kept], paths.ticks[is_kept], paths.places[is_kept])


def needless_points(
    people: Trajectories, model: PathModel, budget: float
) -> NDArray[np.bool_] | None:
    """The points that global suppression would delete for a promise; None where that is none about
    sets, or takes more than the budget.

    Most levels are told to be too fine by a lower bound. Where more sets break the promise than can
    be weighed, it takes more too.
    """
    promises = set_promises([model])
    if not promises:
        return None
    sets, (demand,) = point_sets(people), [promise.asked(people) for promise in promises]
    # single points that must go anyway
    if (
        # Points with fewer than k carriers go in any case: the cheapest lower bound comes first.
        float(np.mean(sets.supports[sets.items] < demand.k)) > budget
    ):
        return None
    allowed = int(budget * len(sets.items))
    # some of the sets are enough to tell that too much must go
    for limit in (
        FIRST_LOOK,
        MOST_SETS,
    ):
        # A part of the violating sets gives a bound already. Most levels end here.
        violations = demand.violations(sets, limit=limit)
        if kernels.paths.bound_hitting_weight(violations.members, sets.supports, allowed) > allowed:
            return None
        if violations.complete:
            break
    # Reached only if even the long list is not complete.
    else:
        return None
    dropped = _globally(sets, [demand], demand.k + 1)
    if float(dropped.mean()) <= budget:
        return dropped
    return None


def minimal_sets(sets: ItemSets, demands: Iterable[SetDemand]) -> list[Items]:
    """The minimal violating sets of some promises, shorter ones first, then in order."""
    item_sets: set[Items] = set()
    for demand in demands:
        violations = demand.violations(sets)
        if not violations.complete:
            raise Unsatisfiable(
                f"{violations.count:,} sets of points break the promise, too many to compare; "
                "recode places and times before suppression"
            )
        item_sets.update(violations.sets())
    return sorted(item_sets, key=lambda items: (len(items), items))


def maximal_frequent(sets: ItemSets, m: int, smallest_support: int) -> list[Items]:
    """Sets of at most ``m`` points that ``smallest_support`` people have and no larger such set
    holds.

    >>> maximal_frequent(ItemSets.of([[0, 1], [0, 1], [0, 2]]), 2, 2)
    [(0, 1)]
    """
    frequent_sets = frequent(sets, m, smallest_support, limit=MOST_FREQUENT)
    # A frequent set is maximal if it is no part of one that is larger by one; all parts of a
    # frequent set are frequent, so looking one step up is enough.
    covered = {
        part for items in frequent_sets for part in itertools.combinations(items, len(items) - 1)
    }
    return [items for items in frequent_sets if items not in covered]


def _globally(
    sets: ItemSets, demands: Sequence[SetDemand], smallest_support: int
) -> NDArray[np.bool_]:
    """Per point whether it goes: deleted from everybody, the best first."""
    gone = np.zeros(sets.size, dtype=np.bool_)
    violating = minimal_sets(sets, demands)
    if violating:
        # Sets worth keeping are listed only if something must go.
        keep = maximal_frequent(sets, max(demand.m for demand in demands), smallest_support)
        for item in _greedy(violating, keep):
            gone[item] = True
    return gone[sets.items]


def _greedy(violating: Sequence[Items], keep: Sequence[Items]) -> list[int]:
    """The points to delete, in order. Scores that changed are entered again, and old entries are
    passed over.
    """
    # Per point the numbers of the sets that hold it: sets (0,2),(2,) → 0: [0], 2: [0, 1].
    moles, worth = _memberships(violating), _memberships(keep)
    alive, is_alive = [True] * len(violating), [True] * len(keep)
    count = {item: len(set_numbers) for item, set_numbers in moles.items()}
    # Points in no violating set are never deleted, so their worth is not asked.
    value = {item: len(worth.get(item, ())) for item in moles}
    queue = [(-count[item] / (1 + value[item]), item) for item in count]
    heapq.heapify(queue)
    order = []
    while queue:
        score, item = heapq.heappop(queue)
        # An entry is old where the count or the worth has changed since; the present one is in the
        # queue.
        if not count.get(item) or score != -count[item] / (1 + value[item]):
            continue
        order.append(item)
        # Deleting a point ends its violating sets, and also the frequent sets that speak for
        # others.
        changed = _removed(moles[item], violating, alive, count) | _removed(
            worth.get(item, []), keep, is_alive, value
        )
        for changed_item in changed:
            if count.get(changed_item):
                heapq.heappush(
                    queue, (-count[changed_item] / (1 + value[changed_item]), changed_item)
                )
    return order


def _memberships(sets: Sequence[Items]) -> dict[int, list[int]]:
    set_numbers: dict[int, list[int]] = {}
    for set_number, items in enumerate(sets):
        for item in items:
            set_numbers.setdefault(item, []).append(set_number)
    return set_numbers


def _removed(
    set_numbers: Iterable[int], sets: Sequence[Items], alive: list[bool], tally: dict[int, int]
) -> set[int]:
    """Take some sets away; returns the points whose tally changed."""
    changed = set()
    for set_number in set_numbers:
        if alive[set_number]:
            alive[set_number] = False
            for item in sets[set_number]:
                # Worth is kept only for points that may be deleted.
                if item in tally:
                    tally[item] -= 1
                    changed.add(item)
    return changed


# Local suppression.


class _Local:
    """People whose points are deleted one by one: who has what, as sets of people."""

    def __init__(self, sets: ItemSets, demands: Sequence[SetDemand]) -> None:
        self.asked = demands
        self.size = sets.size
        self.points = [set(sets[person].tolist()) for person in range(len(sets))]
        self.people: list[set[int]] = [
            set(sets.carriers(item).tolist()) for item in range(sets.size)
        ]

    def carriers(self, items: Items) -> set[int]:
        """Who has all of some points."""
        # Smallest first: the intersection never grows, so this is the cheapest order.
        return set.intersection(*sorted((self.people[item] for item in items), key=len))

    def breaks(self, carriers: set[int], length: int) -> bool:
        """Whether a set of this length with these carriers breaks a promise."""
        # Sorted, as the sets of people have no order of their own.
        persons = np.fromiter(sorted(carriers), dtype=np.int64, count=len(carriers))
        return any(demand.breaks(persons) for demand in self.asked if length <= demand.m)

    def may_lose(self, item: int, losers: set[int]) -> bool:
        """Whether no set with a point begins to break when some people lose the point."""
        largest_m = max(demand.m for demand in self.asked)
        looked_at: set[Items] = set()
        for person in losers:
            # A set that begins to break holds the point and was carried by a loser; so the
            # companions to try are the losers' other points, and no others.
            other_items = sorted(self.points[person] - {item})
            for length in range(largest_m):
                for companions in itertools.combinations(other_items, length):
                    if companions in looked_at:
                        continue
                    looked_at.add(companions)
                    before = self.carriers((item, *companions))
                    # Sets that were broken before do not count against it: they are on the list
                    # anyway.
                    if self.breaks(before - losers, length + 1) and not self.breaks(
                        before, length + 1
                    ):
                        return False
        return True

    def removed(self, violating: Sequence[Items], item: int, losers: set[int]) -> int:
        """How many violating sets would break nothing any more."""
        return sum(
            not self.breaks(self.carriers(items) - losers, len(items))
            for items in violating
            if item in items
        )

    def lose(self, item: int, losers: set[int]) -> None:
        """Delete a point from some people."""
        self.people[item] -= losers
        for person in losers:
            self.points[person].discard(item)

    def sets(self) -> ItemSets:
        """The people as they are now."""
        return ItemSets.of([sorted(points) for points in self.points], size=self.size)


def _locally(
    people: Trajectories, demands: Sequence[SetDemand], smallest_support: int
) -> NDArray[np.bool_]:
    """Per point whether it goes: deleted only from carriers of a violating set where that breaks
    nothing else.
    """
    state = _Local(point_sets(people), demands)
    # Minimal sets are listed again each time: with fewer carriers others may have become minimal.
    while violating := minimal_sets(state.sets(), demands):
        if len(violating) > MOST_WEIGHED:
            raise ParameterError(
                f"{len(violating):,} sets of points break the promise, more than the "
                f"{MOST_WEIGHED:,} that local suppression can compare; recode places and times "
                "before it, or use how: global"
            )
        best = _best_local(state, violating)
        if best is None:
            # No local deletion is safe. One point goes everywhere, which never breaks anything new,
            # so the loop always comes to an end.
            keep = maximal_frequent(
                state.sets(), max(demand.m for demand in demands), smallest_support
            )
            item = _greedy(violating, keep)[0]
            best = (item, set(state.people[item]))
        state.lose(*best)
    items, persons = people.points.items, people.who
    return np.array(
        [
            item not in state.points[person]
            for item, person in zip(items.tolist(), persons.tolist(), strict=True)
        ]
    )


def _best_local(state: _Local, violating: Sequence[Items]) -> tuple[int, set[int]] | None:
    """The deletion that removes the most violating sets per deleted point; None where none is
    possible without breaking others.
    """
    best: tuple[float, int] | None = None
    best_choice: tuple[int, set[int]] | None = None
    for items in violating:
        losers = state.carriers(items)
        for item in items:
            # Ties: fewer deleted points, then the first in the order of the sets, as only less
            # replaces.
            score = (-state.removed(violating, item, losers) / len(losers), len(losers))
            # The expensive test comes last, and only for what would be the best.
            if (best is None or score < best) and state.may_lose(item, losers):
                best, best_choice = score, (item, losers)
    return best_choice
