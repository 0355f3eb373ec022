"""K-Optimize: the best way to cut ordered columns into ranges, proved."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from sfumato.steps.cuts.costs import CutCosts
from sfumato.steps.cuts.cut import CutRecoding, cut_recoding, recode_columns
from sfumato.steps.cuts.ground import Ground
from sfumato.steps.cuts.points import Point, cuts_with, points_of_all

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.progress import Progress
    from sfumato.core.schema import Schema


Waiting = tuple[float, int, int, frozenset[Point], list[Point]]
"""What sets cost at least, their rank among equals (long heads first), the points that are in and that may come in."""


@parameters
class KOptimize:
    r"""Cut every column into ranges of neighbouring values so that the cost is the least there is.

    All columns begin uncut; an anonymization is a set of *cut points*. Classes that break a promise are suppressed. The cost is

    - ``discernibility``: :math:`\sum_{E\ \mathrm{kept}} |E|^2 + N \cdot |\mathrm{suppressed}|`;
    - ``classification``: records that are suppressed or do not have the most frequent ``label`` of their class.

    Numbers, dates and listed orders are cut between any two values, values under a hierarchy in its depth-first order,
    others in that of their names. A range is written from its first to its last value, as the node of the hierarchy
    that it is, or as a set. Where there are more than ``cuts`` points they are thinned out, evenly over the columns and
    within a column so that equally many records lie between them; the optimum is that of the points left.

    The sets of cut points are enumerated best first: a head of points that are in and a tail of points that may come in.
    With :math:`E` the classes of the head and :math:`F` those of head and tail together, no set costs less than

    .. math:: \sum_E (\ |E| \cdot N\ \text{if suppressed, else}\ \sum_{F \subseteq E} |F| \max(|F|, k)\ )

    (for ``classification``: :math:`|E|` if suppressed, else the minorities of *F*). Heads below which nothing can be better
    than the best so far are cut off, and so is every point of a tail that no better set can have. ``effort`` counts the sets
    whose classes are formed: when it is spent the best so far is taken, and the owner's record tells how much less any
    set could cost. Unlike the paper the search starts from two greedy solutions.

    At most ``budget`` of the records are suppressed; the paper has no such limit. Any promise can be asked for; bounds
    are good for those that suppress no more when classes merge. Reference: Bayardo & Agrawal 2005,
    doi:10.1109/ICDE.2005.42.
    """

    objective: Annotated[Literal["discernibility", "classification"], Field(description="what is made small")] = (
        "discernibility"
    )
    label: Annotated[str | None, Field(min_length=1, description="column to classify by, for classification")] = None
    cuts: Annotated[int, Field(ge=1, le=500, description="cut points of all columns together")] = 50
    budget: Annotated[float, Field(ge=0, le=1, description="share of records that may be suppressed")] = 1.0
    effort: Annotated[int, Field(ge=1, description="sets of cut points that are looked at")] = 20_000

    name: ClassVar[str] = "k_optimize"

    def __post_init__(self) -> None:
        if (self.objective == "classification") != (self.label is not None):
            raise ParameterError("label must be given for the objective classification, and only there")

    def plan(self, dataset: Dataset, goal: Goal) -> CutRecoding:
        """Search the sets of cut points."""
        ground = Ground(dataset, goal, self.name, label=self.label, trees=False)
        points, possible = points_of_all(ground, self.cuts)
        costs = CutCosts(ground, points, self.objective, math.floor(self.budget * ground.classes.total + 1e-9))
        search = Enumeration(costs, self.effort, goal.progress)
        search.run(points)
        if search.best is None:
            raise ground.refuse(("tree", "line", "set"))
        found = cuts_with(ground.axes, search.best)
        table, ids = ground.merged(found)
        return cut_recoding(
            ground.classes,
            ground.axes,
            found,
            ground.judge.failing(table)[ids],
            method=f"k-optimize, {self.objective}",
            notes=search.notes() | {"cut_points": len(points), "possible_cut_points": possible},
        )

    def apply(self, dataset: Dataset, plan: CutRecoding) -> Dataset:
        """Recode the columns and drop the suppressed records."""
        return recode_columns(dataset, plan)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is: hierarchies do not know ranges."""
        for name in schema.quasi:
            schema = schema.replace(name, hierarchy=None)
        return schema


class Enumeration:
    """Best-first search over sets of cut points. ``lower`` is proved: no set costs less."""

    def __init__(self, costs: CutCosts, effort: int, progress: Progress) -> None:
        self.costs, self.effort, self.progress = costs, effort, progress
        self.best: frozenset[Point] | None = None
        self.cost = self.lower = math.inf
        self.made = 0

    def run(self, points: list[Point]) -> None:
        """Find a good set greedily, then enumerate; stop when the effort is spent."""
        self._greedy(frozenset(), points)
        self._greedy(frozenset(points), points)
        waiting: list[Waiting] = [(0.0, 0, 0, frozenset(), points)]
        while waiting and waiting[0][0] < self.cost and self._goes_on():
            bound, _, _, head, tail = heapq.heappop(waiting)
            for child in self._look(bound, head, tail):
                heapq.heappush(waiting, child)
        self.lower = min([self.cost, *(bound for bound, *_ in waiting)])

    def _goes_on(self) -> bool:
        self.progress(min(1.0, self.costs.looked_at / self.effort), "cutting")
        return self.costs.looked_at < self.effort

    def _greedy(self, chosen: frozenset[Point], points: list[Point]) -> None:
        """Put in or take out one point at a time as long as that helps most."""
        cost = self._keep(chosen)
        while self._goes_on():
            nearby = [(self._keep(chosen ^ {point}), point) for point in points]
            if not nearby or min(nearby)[0] >= cost:
                return
            cost, point = min(nearby)
            chosen = chosen ^ {point}

    def _look(self, bound: float, head: frozenset[Point], tail: list[Point]) -> Iterator[Waiting]:
        """Judge a head, and find the longer heads that may be better. Points that split many classes come first:

        the sets with the longest tails are then the finest, and their costs are bounded best.
        """
        self._keep(head)
        if self.costs.bound(head, head.union(tail))[0] >= self.cost:
            return
        useful = sorted(self._useful(head, tail), key=lambda entry: (-entry[2], entry[0]))
        for i, (point, least, _) in enumerate(useful):
            self.made += 1
            yield max(bound, least), -len(head), self.made, head | {point}, [later for later, *_ in useful[i + 1 :]]

    def _useful(self, head: frozenset[Point], tail: list[Point]) -> list[tuple[Point, float, int]]:
        """The points of a tail that some better set may have, with its least cost and the classes it makes of the head's.

        Without the others the bounds are higher, so they are looked at again.
        """
        while True:
            everything = head.union(tail)
            looked = [(point, *self.costs.bound(head | {point}, everything)) for point in tail]
            useful = [entry for entry in looked if entry[1] < self.cost]
            if len(useful) == len(tail):
                return useful
            tail = [point for point, *_ in useful]

    def _keep(self, points: frozenset[Point]) -> float:
        cost = self.costs.cost(points)
        if cost < self.cost:
            self.cost, self.best = cost, points
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
