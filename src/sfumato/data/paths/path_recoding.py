"""Coarser places and times for everybody alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.core.words import percent
from sfumato.data.paths.clock import ALL, EVERYTHING, USUAL, Clock, require_nested
from sfumato.data.paths.places import PlaceLevels, tower_of
from sfumato.data.paths.point_suppression import needless_points
from sfumato.data.paths.promises import PathModel, promises_of
from sfumato.data.paths.trajectories import Trajectories, require_paths
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal


@dataclasses.dataclass(frozen=True, eq=False)
class PathPlan(Plan):
    """The level of place, the width of time buckets in ticks, and what they cost."""

    place_level: int
    width: int
    words: tuple[str, str]
    loss: float
    tried: int = 0
    levels: tuple[int, int] = (1, 1)

    def describe(self) -> Document:
        """The levels in words, and what they cost; no data values."""
        places, times = self.words
        return {
            "places": places,
            "place_level": self.place_level,
            # A width of 1 or 0 has no buckets whose starts could be written.
            "times": f"starts of buckets of {times}" if self.width > 1 else times,
            "time_width": times,
            "loss": round(self.loss, 6),
        }

    def effort(self) -> Document:
        """How many levels there are and how many were tried."""
        return {"place_levels": self.levels[0], "time_levels": self.levels[1], "tried": self.tried}

    def scores(self) -> dict[str, float]:
        """The loss that was made small."""
        return {"loss": self.loss}


@parameters
class PathRecoding(Step):
    r"""Make places and times coarser, for everybody alike, as little as the promises allow.

    Places climb the levels of their hierarchy; coordinates fall into cells that double from level
    to level (``cell``, or ``bits`` of longitude and latitude,
    see :mod:`sfumato.data.paths.places`). Times become the starts of buckets (``widths``). Of all
    pairs of levels the one of least loss that keeps all promises is taken:

    .. math:: (1-w)\,\frac1N\sum_i \text{loss of place } i +
        w\,\frac{\text{width}}{\text{span of all times}}

    with *w* = ``time_weight``; the loss of a place is that of its hierarchy node, or the diagonal
    of its cell over that of the area. A level below one that breaks a promise is skipped only where
    the promise is kept by coarsening. Levels given as ``place_level`` and ``time_width`` are taken
    as they are. With a ``budget``, levels will do at which suppressing at most this share of the
    points would keep the promises about sets of points: ``point_suppression`` must follow.

    Points that become equal are one. When even the coarsest levels do not
    do, :class:`Unsatisfiable` says what they miss.

    Reference: Terrovitis, Poulis, Mamoulis & Skiadopoulos 2017, doi:10.1109/TKDE.2017.2675420, for
    recoding of paths in general.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> from sfumato.data.paths.lkc import LkcPrivacy
    >>> people = examples.small_paths()
    >>> step = PathRecoding()
    >>> plan = step.plan(people, Goal(models=(LkcPrivacy(2, l=1),)))
    >>> plan.words, step.apply(people, plan).counts()["points"]
    (('as in the data', '1d'), 23)
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.PATHS})

    widths: Annotated[
        tuple[str, ...] | None,
        Field(
            description=(
                "time buckets that may be used, like [1h, 4h, 24h, all]; each a multiple of the one"
                " before"
            )
        ),
    ] = None
    place_level: Annotated[
        int | None,
        Field(ge=0, description="use this level of places; by default it is searched"),
    ] = None
    time_width: Annotated[
        str | None, Field(description="use this width of buckets; by default it is searched")
    ] = None
    cell: Annotated[
        float | None,
        Field(gt=0, description="side of the finest cell of coordinates, in their unit"),
    ] = None
    bits: Annotated[
        int, Field(ge=2, le=60, description="bits of the finest cell of longitude and latitude")
    ] = 36
    time_weight: Annotated[float, Field(ge=0, le=1, description="weight of the loss of times")] = (
        0.5
    )
    budget: Annotated[
        float, Field(ge=0, lt=1, description="share of points that a later suppression may delete")
    ] = 0.0

    name: ClassVar[str] = "path_recoding"
    tells: ClassVar[tuple[str, ...]] = ("places", "place_level", "times", "time_width", "loss")
    retold: ClassVar[tuple[str, ...]] = ("time_width",)

    def __post_init__(self) -> None:
        if self.widths is not None:
            require_nested(self.widths)
        if self.time_width is not None:
            require_nested([self.time_width])

    def plan(self, people: Any, goal: Goal) -> PathPlan:
        """Search the levels of place and time for the least loss that keeps the promises."""
        paths = require_paths(people, self.name)
        lattice = PathLattice.of(paths, self)
        # Both levels are given: nothing is left to search for, so no promise is needed.
        if self.place_level is not None and self.time_width is not None:
            return lattice.planned(self.place_level, 0, nodes_tried=0)
        models = promises_of(goal.models)
        if not models:
            raise ParameterError(
                f"{self.name} has no promise to reach; add one, or give both place_level "
                "and time_width"
            )
        # Fewer people than a promise asks for: no level could help, so the search need not start.
        for model in models:
            paths.require_people(model.k, model.promise)
        return _searched(lattice, models, self.budget)

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That places stand at another level than the recipe takes, or times are told in two
        ways.
        """
        if self.place_level is not None and plan_section["place_level"] != self.place_level:
            return f"recipe and plan of {self.name} differ in place_level"
        if not str(plan_section["times"]).endswith(str(plan_section["time_width"])):
            return f"the plan of {self.name} names two widths of times"
        return None

    def apply(self, people: Any, plan: Any) -> Trajectories:
        """Recode every point; points that become equal are one."""
        paths = require_paths(people, self.name)
        tower = tower_of(paths, cell=self.cell, bits=self.bits)
        return recoded(paths, tower, plan.place_level, plan.width)


def recoded(people: Trajectories, tower: PlaceLevels, level: int, width: int) -> Trajectories:
    """The same people at a level of places and a width of time buckets; levels that change nothing
    leave them as they are.
    """
    # The same object, so that what was computed of it is not computed again.
    if level == 0 and width in (1, people.width):
        return people
    clock = Clock("none") if width == EVERYTHING else people.clock
    return people.with_points(
        people.who,
        # Width 1 means times as they are, which may already be buckets of ``people.width``.
        people.ticks if width == 1 else people.clock.floor(people.ticks, width),
        tower.codes[level][people.places],
        table=tower.tables[level],
        clock=clock,
        width=people.width if width == 1 else width,
        recoded=True,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class PathLattice:
    """All pairs of a place level and a time width, and what each costs."""

    people: Trajectories
    tower: PlaceLevels
    place_levels: tuple[int, ...]
    widths: tuple[int, ...]
    loss: Any

    @classmethod
    def of(cls, people: Trajectories, step: PathRecoding) -> PathLattice:
        """The levels a step may use."""
        tower = tower_of(people, cell=step.cell, bits=step.bits)
        if step.place_level is not None and step.place_level > tower.top:
            raise ParameterError(
                f"{step.name}: place level {step.place_level} does not exist; the highest is "
                f"{tower.top}"
            )
        if step.place_level is None:
            levels = tuple(range(tower.top + 1))
        else:
            levels = (step.place_level,)
        widths = _widths(people, step)
        places = np.array([tower.loss[level][people.places].mean() for level in levels])
        # From the start of the first to the end of the last bucket.
        if len(people.ticks):
            span = float(np.ptp(people.ticks)) + people.width
        else:
            span = 1.0
        # No times at all lose everything, times as they are nothing.
        windows = np.array(widths, dtype=np.float64)
        times = np.minimum(1.0, windows / span)
        times[windows == 1] = 0.0
        times[windows == EVERYTHING] = 1.0
        weight = step.time_weight
        return cls(
            people, tower, levels, widths, (1 - weight) * places[:, None] + weight * times[None, :]
        )

    def at(self, place_number: int, time: int) -> Trajectories:
        """The people at a node."""
        return recoded(self.people, self.tower, self.place_levels[place_number], self.widths[time])

    def planned(self, level: int, time: int, *, nodes_tried: int) -> PathPlan:
        """The plan that takes a level of places and the time level of a number."""
        width = self.widths[time]
        place_number = self.place_levels.index(level)
        words = (self.tower.called(level), self.people.clock.width_shown(width))
        size = (len(self.place_levels), len(self.widths))
        return PathPlan(
            level, width, words, float(self.loss[place_number, time]), nodes_tried, size
        )


def _widths(people: Trajectories, step: PathRecoding) -> tuple[int, ...]:
    """The widths of time buckets that a step may use, in ticks, the finest first; 1: times as they
    are.
    """
    clock = people.clock
    if step.time_width is not None:
        width_names: Sequence[str] = (step.time_width,)
    elif step.widths is None:
        width_names = (*USUAL[clock.kind], ALL)
    else:
        width_names = step.widths
    if clock.kind != "none":
        widths = [clock.ticks(width) for width in width_names]
    else:
        widths = []
    # Buckets can only be joined to whole multiples; 1h cannot be had from 4h.
    fine = [width for width in widths if width != EVERYTHING and width % people.width]
    # Usual widths that do not fit are left out in silence, those that somebody asked for are not.
    if fine and (step.widths or step.time_width):
        raise ParameterError(
            f"{step.name}: times are in coarser buckets already, which {len(fine)} of the widths "
            "do not fit; use wider ones"
        )
    usable = [width for width in widths if width == EVERYTHING or not width % people.width]
    # Times as they are belong to the search, unless a width is fixed.
    start = [] if step.time_width is not None else [1]
    return tuple(dict.fromkeys([*start, *usable])) or (1,)


def _searched(lattice: PathLattice, models: Sequence[PathModel], budget: float) -> PathPlan:
    """The node of least loss that keeps all promises; ties: the finer places, then the finer
    times.
    """
    places, times = len(lattice.place_levels), len(lattice.widths)
    nodes = sorted(
        ((place, time) for place in range(places) for time in range(times)),
        key=lambda node: (lattice.loss[node], *node),
    )
    # Nodes that break a promise which coarsening keeps: all finer ones break it as well.
    broken_at: list[tuple[int, int]] = []
    nodes_tried = 0
    # With a budget a broken node may still do after suppression, so nothing follows from it.
    if not budget:
        nodes_tried = _staircase(lattice, models, broken_at)
    for node in nodes:
        # Finer in both directions than a node that is known to be broken.
        if any(node[0] <= place and node[1] <= time for place, time in broken_at):
            continue
        nodes_tried += 1
        people = lattice.at(*node)
        bad = next((model for model in models if _misses(people, model, budget)), None)
        if bad is None:
            return lattice.planned(lattice.place_levels[node[0]], node[1], nodes_tried=nodes_tried)
        if not budget and bad.kept_by_coarsening(people):
            broken_at.append(node)
    # For the message: what the coarsest levels still miss is the nearest miss.
    people = lattice.at(places - 1, times - 1)
    verdicts = [model.judge(Evidence(people)) for model in models]
    missed = next((verdict for verdict in verdicts if not verdict.holds), verdicts[0])
    raise Unsatisfiable(
        f"path_recoding: even the coarsest levels do not reach {missed.promise}: "
        f"{missed.sentence}; {_ways_out(lattice, budget)}",
        closest=lattice.planned(
            lattice.place_levels[-1], times - 1, nodes_tried=nodes_tried
        ).describe(),
    )


def _ways_out(lattice: PathLattice, budget: float) -> str:
    """What somebody can do whose levels do not suffice."""
    if budget:
        advice = f"let suppression delete more than {percent(budget)} of the points (budget)"
    else:
        advice = "let point_suppression follow, with a budget here"
    ways = [advice, "promise less"]
    if lattice.tower.top == 0:
        ways.insert(0, "give the place a hierarchy, without which it cannot become coarser")
    return ", or ".join(ways)


def _staircase(
    lattice: PathLattice, models: Sequence[PathModel], broken_at: list[tuple[int, int]]
) -> int:
    """Find out where the promises that coarsening keeps begin to hold, along the border alone;
    returns how many nodes it took.

    With finer times the coarsest place level that breaks them can only rise, so one walk from the
    coarsest times finds it for all.
    """
    # Time levels from coarse to fine; the place level never goes down again, so at most places plus
    # times nodes are looked at instead of their product.
    nodes_tried, place_number = 0, 0
    for time in range(len(lattice.widths) - 1, -1, -1):
        while place_number < len(lattice.place_levels):
            nodes_tried += 1
            people = lattice.at(place_number, time)
            steady = [model for model in models if model.kept_by_coarsening(people)]
            if not any(model.broken(people) for model in steady):
                break
            # All finer places at this time break too; they follow from this node and are not
            # listed.
            broken_at.append((place_number, time))
            place_number += 1
    return nodes_tried


def _misses(people: Trajectories, model: PathModel, budget: float) -> bool:
    """Whether a promise is broken by more than suppression within the budget would mend."""
    if not model.broken(people):
        return False
    return not budget or needless_points(people, model, budget) is None
