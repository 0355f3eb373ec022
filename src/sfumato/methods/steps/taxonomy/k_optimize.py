"""K-Optimize: the best way to cut ordered columns into ranges, proved."""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.classes import ClassTable, Layout
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.search_kind import SearchKind
from sfumato.core.step import Fineness, Goal, Span, Step
from sfumato.errors import ParameterError
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.step_fields import SuppressionBudget
from sfumato.methods.steps.taxonomy.cut import (
    Cut,
    CutRecoding,
    Ground,
    cut_recoding,
    group_of_ranks,
    recode_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table
    from sfumato.methods.steps.local.axes import Axis


Point = tuple[int, int]
"""An axis and the rank before which it is cut."""
CutObjective = Literal["discernibility", "classification"]
Waiting = tuple[float, int, int, frozenset[Point], list[Point]]
"""What sets cost at least, their rank among equals (long heads first), the points that are in and
that may come in.
"""


# Points at which columns may be cut.


def cuts_with(axes: Sequence[Axis], points: Collection[Point]) -> list[Cut]:
    """The cuts of all columns that have these points."""
    return [(0, *sorted(rank for b, rank in points if b == a)) for a in range(len(axes))]


def points_of_all(ground: Ground, limit: int) -> tuple[list[Point], int]:
    """At most so many cut points of all columns together, and how many there could be."""
    possible = []
    for axis in ground.axes:
        inner_ranks = range(1, len(axis.labels))
        possible.append([rank for rank in inner_ranks if axis.may_cut_before(rank)])
    quotas = shares(list(map(len, possible)), limit)
    points: list[Point] = []
    for a, ranks in enumerate(possible):
        points += [(a, rank) for rank in _quantiles(ground, a, ranks, quotas[a])]
    return points, sum(map(len, possible))


def shares(demands: Sequence[int], limit: int) -> list[int]:
    """Share out ``limit`` evenly; who wants less leaves the rest to the others.

    >>> shares([1, 10, 4], 9)
    [1, 4, 4]
    """
    quotas = [0] * len(demands)
    while sum(quotas) < min(limit, sum(demands)):
        unmet = [a for a, demand in enumerate(demands) if quotas[a] < demand]
        quotas[min(unmet, key=lambda a: quotas[a])] += 1
    return quotas


def _quantiles(ground: Ground, a: int, possible: list[int], share: int) -> list[int]:
    """So many of the possible ranks that between them lie as equal numbers of records as can be;
    all where there are no more.
    """
    size = len(ground.axes[a].labels)
    if share >= len(possible):
        return possible
    records = np.bincount(ground.ranks[a], weights=ground.classes.records, minlength=size)
    # share of records before each
    before = np.cumsum(records)[np.array(possible) - 1] / max(1.0, float(records.sum()))
    quantiles: list[int] = []
    for i in range(1, share + 1):
        distance = np.abs(before - i / (share + 1))
        # Each point once.
        distance[quantiles] = np.inf
        quantiles.append(int(np.argmin(distance)))
    return [possible[at] for at in sorted(quantiles)]


# What sets of cut points cost, and what every set between two of them costs at least.


@dataclasses.dataclass(frozen=True, eq=False)
class CutClasses:
    """The classes under a set of cut points: which of them every finest class joins, and the
    records of each.

    ``table`` has what models must see besides, where that is more than the sizes.
    """

    points: frozenset[Point]
    ids: NDArray[np.int64]
    sizes: NDArray[np.int64]
    table: ClassTable | None = None


class CutCosts:
    """Costs of sets of cut points over a table.

    The classes under all points together are the finest there are; every other set merges them.
    ``budget`` is the number of records that may be suppressed; ``looked_at`` counts the sets whose
    classes were formed.
    """

    def __init__(
        self, ground: Ground, points: Collection[Point], objective: CutObjective, budget: int
    ) -> None:
        # Values between two points are never distinguished: merged once and for all.
        self.ground = ground.coarsened(cuts_with(ground.axes, points))
        self.objective = objective
        self.budget = budget
        self.looked_at = 0
        self.records = ground.classes.total
        self.each = self.records if objective == "discernibility" else 1
        """What a suppressed record costs."""
        crowds = [m.crowd for m in ground.judge.models if m.crowd is not None]
        self.k = max(crowds, default=1)
        self.only_crowds = len(crowds) == len(ground.judge.models) and ground.classes.person is None
        self._finest: CutClasses | None = None
        self._last: CutClasses | None = None

    def cost(self, points: frozenset[Point]) -> float:
        """What a set costs; infinitely much where it suppresses too much or everything."""
        grouped = self._grouped(points)
        if grouped.table is None:
            gone = grouped.sizes < self.k
        else:
            gone = self.ground.judge.failing(grouped.table)
        suppressed = int(grouped.sizes[gone].sum())
        if suppressed > self.budget or suppressed == self.records:
            return math.inf
        kept_costs = self._kept_costs(grouped)[~gone].sum()
        return float(kept_costs) + suppressed * self.each

    def bound(self, head: frozenset[Point], everything: frozenset[Point]) -> tuple[float, int]:
        """What any set costs at least that has all of ``head`` and nothing outside ``everything``;
        and the head's classes.
        """
        grouped = self._grouped(head)
        if self._finest is None or self._finest.points != everything:
            self._finest = self._grouped(everything)
        if grouped.table is None:
            gone = grouped.sizes < self.k
        else:
            gone = self._surely_gone(grouped.table)
        suppressed = int(grouped.sizes[gone].sum())
        if suppressed > self.budget or suppressed == self.records:
            return math.inf, len(grouped.sizes)
        # One finest class stands for each class under ``everything``; its head class is looked up.
        member = np.zeros(len(self._finest.sizes), dtype=np.int64)
        member[self._finest.ids] = np.arange(len(grouped.ids))
        retained = ~gone[grouped.ids[member]]
        least_costs = self._least_costs(self._finest)[retained].sum()
        cost = float(least_costs) + suppressed * self.each
        return cost, len(grouped.sizes)

    def _grouped(self, points: frozenset[Point]) -> CutClasses:
        # The search asks for the cost and then for the bound of one set.
        if self._last is None or self._last.points != points:
            self.looked_at += 1
            self._last = self._group(points)
        return self._last

    def _group(self, points: frozenset[Point]) -> CutClasses:
        ground = self.ground
        cuts = cuts_with(self.ground.axes, points)
        if not self.only_crowds:
            table, ids = ground.merged(cuts)
            return CutClasses(points, ids, table.records, table)
        layout = Layout.of([len(cut) for cut in cuts])
        keys = np.zeros((len(ground.classes), layout.length), dtype=np.uint64)
        for a, cut in enumerate(cuts):
            if len(cut) > 1:
                ranges = group_of_ranks(cut, len(ground.axes[a].labels))
                kernels.keys.pack(keys, ranges[ground.ranks[a]], layout.words[a], layout.shifts[a])
        ids, first = kernels.keys.group(keys)
        return CutClasses(points, ids, kernels.keys.add_up(ground.classes.records, ids, len(first)))

    def _surely_gone(self, table: ClassTable) -> NDArray[np.bool_]:
        """Classes that every finer cut must suppress as a whole."""
        gone: NDArray[np.bool_] = self.ground.judge.forced(table) >= table.records
        return gone

    def _kept_costs(self, grouped: CutClasses) -> NDArray[np.float64]:
        if self.objective == "classification":
            return self._minorities(grouped)
        return grouped.sizes.astype(float) ** 2

    def _least_costs(self, grouped: CutClasses) -> NDArray[np.float64]:
        """What the records of the finest classes cost at least: they end in a class no smaller, and
        no smaller than k.
        """
        if self.objective == "classification":
            return self._minorities(grouped)
        # A class that is released has at least k records, so each of its records costs at least k.
        crowd = min(self.k, self.records)
        return grouped.sizes.astype(float) * np.maximum(grouped.sizes, crowd)

    def _minorities(self, grouped: CutClasses) -> NDArray[np.float64]:
        """Per class, the records that do not have its most frequent label."""
        counts = self.ground.classes.counts[self.ground.label or ""]
        labels = max(1, len(counts.labels))
        class_numbers = np.repeat(grouped.ids, np.diff(counts.starts))
        cells = class_numbers * labels + counts.codes
        table = np.bincount(cells, weights=counts.counts, minlength=len(grouped.sizes) * labels)
        majorities = table.reshape(-1, labels).max(axis=1)
        return np.asarray(grouped.sizes - majorities)


@parameters
class KOptimize(Step):
    r"""Cut every column into ranges of neighbouring values so that the cost is the least there is.

    All columns begin uncut; an anonymization is a set of *cut points*. Classes that break a promise
    are suppressed. The cost is

    - ``discernibility``: :math:`\sum_{E\ \mathrm{kept}} |E|^2 + N \cdot |\mathrm{suppressed}|`;
    - ``classification``: records that are suppressed or do not have the most frequent ``label`` of
      their class.

    Numbers and dates are cut between cells of a ``grid`` as with :class:`Mondrian`, listed orders
    between any two values, values under a hierarchy in its depth-first order, others in that of
    their names. A range is written from its first to its last value, as the node of the hierarchy
    that it is, or as a set. Where there are more than ``cuts`` points they are thinned out, evenly
    over the columns and within a column so that equally many records lie between them; the optimum
    is that of the points left.

    The sets of cut points are enumerated best first: a head of points that are in and a tail of
    points that may come in. With :math:`E` the classes of the head and :math:`F` those of head and
    tail together, no set costs less than

    .. math:: \sum_E (\ |E| \cdot N\ \text{if suppressed, else}
        \sum_{F \subseteq E} |F| \max(|F|, k)\ )

    (for ``classification``: :math:`|E|` if suppressed, else the minorities of *F*). Heads below
    which nothing can be better than the best so far are cut off, and so is every point of a tail
    that no better set can have. ``effort`` counts the sets whose classes are formed: when it is
    spent the best so far is taken, and the owner's record tells how much less any set could cost.
    Unlike the paper the search starts from two greedy solutions.

    At most ``budget`` of the records are suppressed; the paper has no such limit. Any promise can
    be asked for; bounds are good for those that suppress no more when classes merge. Reference:
    Bayardo & Agrawal 2005, doi:10.1109/ICDE.2005.42.
    """

    objective: Annotated[
        Literal["discernibility", "classification"], Field(description="what is minimised")
    ] = "discernibility"
    label: Annotated[
        str | None,
        COLUMNS,
        Field(min_length=1, description="column to classify by, for classification"),
    ] = None
    cuts: Annotated[int, Field(ge=1, le=500, description="cut points of all columns together")] = 50
    budget: SuppressionBudget = 1.0
    effort: Annotated[int, Field(ge=1, description="sets of cut points to try")] = 20_000
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "k_optimize"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "": SearchKind("complete", "top-down", "global", "partition")
    }
    recodes_quasi: ClassVar[bool] = True
    retold: ClassVar[tuple[str, ...]] = ("grid",)
    fineness: ClassVar[Fineness] = "none"

    @property
    def coarsens(self) -> bool:
        """Cells become ranges and sets that hold them."""
        return True

    def __post_init__(self) -> None:
        if (self.objective == "classification") != (self.label is not None):
            raise ParameterError(
                "label must be given for the objective classification, and only there"
            )
        require_steps("KOptimize", self.grid)

    def plan(self, dataset: Table, goal: Goal) -> CutRecoding:
        """Search the sets of cut points."""
        ground = Ground(dataset, goal, self.name, label=self.label, trees=False, grid=self.grid)
        points, possible = points_of_all(ground, self.cuts)
        budget = math.floor(self.budget * ground.classes.total + 1e-9)
        costs = CutCosts(ground, points, self.objective, budget)
        search = Enumeration(costs, self.effort, goal.progress)
        search.run(points)
        if search.best is None:
            raise ground.refuse(("tree", "line", "set"))
        cuts = cuts_with(ground.axes, search.best)
        table, ids = ground.merged(cuts)
        return cut_recoding(
            ground.classes,
            ground.axes,
            cuts,
            ground.judge.failing(table)[ids],
            method=f"k-optimize, {self.objective}",
            notes=search.notes() | {"cut_points": len(points), "possible_cut_points": possible},
        )

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    def contradicted(
        self, told: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
        """That another grid was used."""
        return contradict_grid(self.name, told, self.grid)

    def apply(self, dataset: Table, plan: CutRecoding) -> Table:
        """Recode the columns and drop the suppressed records."""
        return recode_columns(dataset, plan)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: hierarchies do not
        know ranges.
        """
        for name in schema.quasi:
            schema = schema.replace(name, hierarchy=None)
        return schema


class Enumeration:
    """Best-first search over sets of cut points. ``lower`` is proved: no set costs less."""

    def __init__(self, costs: CutCosts, effort: int, progress: Progress) -> None:
        self.costs = costs
        self.effort = effort
        self.progress = progress
        self.best: frozenset[Point] | None = None
        self.cost = self.lower = math.inf
        self.made = 0

    def run(self, points: list[Point]) -> None:
        """Find a good set greedily, then enumerate; stop when the effort is spent."""
        self._greedy(frozenset(), points)
        self._greedy(frozenset(points), points)
        waiting: list[Waiting] = [(0.0, 0, 0, frozenset(), points)]
        # The heap's first bound is the least: once it is no better than the best set, nothing is.
        while waiting and waiting[0][0] < self.cost and self._goes_on():
            bound, _, _, head, tail = heapq.heappop(waiting)
            for child in self._look(bound, head, tail):
                heapq.heappush(waiting, child)
        # What was never looked at costs at least its bound.
        self.lower = min([self.cost, *(bound for bound, *_ in waiting)])

    def _goes_on(self) -> bool:
        self.progress(min(1.0, self.costs.looked_at / self.effort), "cutting")
        return self.costs.looked_at < self.effort

    def _greedy(self, points_in_use: frozenset[Point], points: list[Point]) -> None:
        """Put in or take out one point at a time as long as that helps most."""
        cost = self._keep(points_in_use)
        while self._goes_on():
            nearby = [(self._keep(points_in_use ^ {point}), point) for point in points]
            if not nearby or min(nearby)[0] >= cost:
                return
            cost, point = min(nearby)
            points_in_use = points_in_use ^ {point}

    def _look(self, bound: float, head: frozenset[Point], tail: list[Point]) -> Iterator[Waiting]:
        """Judge a head, and find the longer heads that may be better. Points that split many
        classes come first:

        the sets with the longest tails are then the finest, and their costs are bounded best.
        """
        self._keep(head)
        # Everything below this head costs at least the bound: cut off.
        if self.costs.bound(head, head.union(tail))[0] >= self.cost:
            return
        useful = sorted(self._useful(head, tail), key=lambda entry: (-entry[2], entry[0]))
        # Each point takes the later ones as its tail, so every set is met once.
        for i, (point, lower_bound, _) in enumerate(useful):
            self.made += 1
            yield (
                max(bound, lower_bound),
                -len(head),
                self.made,
                head | {point},
                [later for later, *_ in useful[i + 1 :]],
            )

    def _useful(self, head: frozenset[Point], tail: list[Point]) -> list[tuple[Point, float, int]]:
        """The points of a tail that some better set may have, with its least cost and the classes
        it makes of the head's.

        Without the others the bounds are higher, so they are looked at again.
        """
        # Lemma of Bayardo & Agrawal: a point whose bound is no better than the best may leave all
        # tails below.
        while True:
            everything = head.union(tail)
            bounds = [(point, *self.costs.bound(head | {point}, everything)) for point in tail]
            useful = [entry for entry in bounds if entry[1] < self.cost]
            if len(useful) == len(tail):
                return useful
            tail = [point for point, *_ in useful]

    def _keep(self, points: frozenset[Point]) -> float:
        cost = self.costs.cost(points)
        if cost < self.cost:
            self.cost = cost
            self.best = points
        return cost

    def notes(self) -> dict[str, float | bool]:
        """What the search proved."""
        return {
            "cost": self.cost,
            "lower_bound": self.lower,
            "gap": self.cost - self.lower,
            "proved_optimal": self.lower >= self.cost,
            "looked_at": self.costs.looked_at,
        }
