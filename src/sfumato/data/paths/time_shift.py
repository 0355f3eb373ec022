"""Moving all times of a person by the same draw; and taking stays for one visit."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.data.paths.clock import minutes_of
from sfumato.data.paths.trajectories import Trajectories, require_paths
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

NO_GUARANTEE = (
    "time_shift promises nothing: gaps between points stay the same, so somebody who knows them "
    "needs no absolute times; the attack time_shift shows how many people remain unique"
)


@dataclasses.dataclass(frozen=True, eq=False)
class ShiftPlan(Plan):
    """The shift of every person in ticks, for the owner only."""

    shifts: NDArray[np.int64] = dataclasses.field(repr=False)
    most: str
    ticks: int

    def describe(self) -> Document:
        """By how much at most; not whom by how much."""
        return {"at_most": self.most, "people": len(self.shifts), "guarantee": "none"}

    @property
    def warnings(self) -> tuple[str, ...]:
        """That it promises nothing."""
        return (NO_GUARANTEE,)


@parameters
class TimeShift(Step):
    """Move all times of a person by one draw, uniform from −``most`` to ``most``; gaps between
    points stay.

    Moments move by whole minutes, dates by days, plain hours by hours, and times in buckets by
    whole buckets. It breaks the linkage by absolute times only and promises nothing: an intruder
    who knows a place, and what came how long after it, finds the person again (see the attack
    ``time_shift``).

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> people, step = examples.small_paths(), TimeShift("2h")
    >>> step.apply(people, step.plan(people, Goal(seed=Seed(1)))).counts()["points"]
    29
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    most: Annotated[str, Field(description="largest shift in either direction, like 12h or 7d")] = (
        "24h"
    )

    name: ClassVar[str] = "time_shift"

    def __post_init__(self) -> None:
        minutes_of(self.most)

    def plan(self, people: Any, goal: Goal) -> ShiftPlan:
        """Draw a shift for everybody."""
        paths = require_paths(people, self.name)
        clock = paths.clock
        if clock.kind == "none":
            raise ParameterError(f"{self.name}: the points have no times to shift")
        largest_shift = clock.ticks(self.most)
        # Whole buckets, or a shifted time would lie inside a bucket and tell part of the shift;
        # moments move by minutes at least.
        grain = max(paths.width, clock.minute)
        steps = largest_shift // grain
        if not steps:
            raise ParameterError(
                f"{self.name}: {self.most} is less than the time buckets of the data, so nothing "
                "would move; use a larger shift"
            )
        # Both ends included: from −steps to +steps.
        draws = goal.stream("shifts").integers(-steps, steps + 1, paths.people)
        return ShiftPlan(draws * grain, self.most, steps * grain)

    def apply(self, people: Any, plan: Any) -> Trajectories:
        """Move them."""
        paths = require_paths(people, self.name)
        # Two shifts add up: the attack must reckon with the largest sum.
        earlier = paths.shifted or 0
        return paths.with_points(
            paths.who,
            paths.ticks + plan.shifts[paths.who],
            paths.places,
            shifted=earlier + plan.ticks,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class CollapsePlan(Plan):
    """Which points stay."""

    kept: NDArray[np.bool_] = dataclasses.field(repr=False)

    def describe(self) -> Document:
        """How many points were taken for one with the one before."""
        return {"points_collapsed": int((~self.kept).sum())}


@parameters
class CollapseRepeats(Step):
    """Take points that follow one another at the same place for one visit, the first of them.

    Only for places and times as they are in the data: after they were made coarser, collapsing can
    break promises about visits (ab, ac, acb, cb keeps 2² of visits; with a and b taken for g and
    repeats collapsed, the way g, g is alone), so it is refused then.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> people, step = examples.small_paths(), CollapseRepeats()
    >>> step.plan(people, Goal()).describe()
    {'points_collapsed': 0}
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})
    name: ClassVar[str] = "collapse_repeats"

    def plan(self, people: Any, goal: Goal) -> CollapsePlan:
        """Find the repeats."""
        paths = require_paths(people, self.name)
        if paths.recoded:
            raise ParameterError(
                f"{self.name} must come before places or times are made coarser: afterwards it can"
                " break promises"
            )
        is_kept = np.ones(len(paths.places), dtype=np.bool_)
        # A point stays if the place changes, or if it is the first of another person.
        is_kept[1:] = (np.diff(paths.places) != 0) | (np.diff(paths.who) != 0)
        return CollapsePlan(is_kept)

    def apply(self, people: Any, plan: Any) -> Trajectories:
        """Leave them out."""
        paths = require_paths(people, self.name)
        return paths.with_points(
            paths.who[plan.kept], paths.ticks[plan.kept], paths.places[plan.kept]
        )
