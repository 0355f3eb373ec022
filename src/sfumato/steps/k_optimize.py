"""K-Optimize: the best way to cut ordered columns into ranges, proved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from sfumato.steps.cut_costs import CutCosts
from sfumato.steps.cut_ground import Ground
from sfumato.steps.cut_points import Point, cuts_with, points_of_all
from sfumato.steps.cuts import CutRecoding, cut_recoding, recode_columns

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.progress import Progress


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

    The sets of cut points are enumerated depth first: a head of points that are in and a tail of points that may come in.
    With :math:`E` the classes of the head and :math:`F` those of head and tail together, no set costs less than

    .. math:: \sum_E (\ |E| \cdot N\ \text{if suppressed, else}\ \sum_{F \subseteq E} |F| \max(|F|, k)\ )

    (for ``classification``: :math:`|E|` if suppressed, else the minorities of *F*). A set that cannot be better than the best so far is
    cut off, and so is every point of the tail that none can use; those that split few classes come first. ``effort`` counts the sets that are
    looked at: when it is spent, the best so far is taken, and the owner's record tells how much less any set could cost.

    At most ``budget`` of the records are suppressed; the paper has no such limit. Any promise can be asked for; bounds
    are good for those that suppress no more when classes merge. Reference: Bayardo & Agrawal 2005,
    doi:10.1109/ICDE.2005.42.
    """

    objective: Annotated[
        Literal["discernibility", "classification"], Field(description="what is made small")
    ] = "discernibility"
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
            floats=ground.floats,
            method=f"k-optimize, {self.objective}",
            notes=search.notes() | {"cut_points": len(points), "possible_cut_points": possible},
        )

    def apply(self, dataset: Dataset, plan: CutRecoding) -> Dataset:
        """Recode the columns and drop the suppressed records."""
        return recode_columns(dataset, plan)


class Enumeration:
    """Depth-first search over sets of cut points. ``lower`` is proved: no set costs less."""

    def __init__(self, costs: CutCosts, effort: int, progress: Progress) -> None:
        self.costs, self.effort, self.progress = costs, effort, progress
        self.best: frozenset[Point] | None = None
        self.cost = self.lower = math.inf

    def run(self, points: list[Point]) -> None:
        """Look at the sets, most promising first; stop when the effort is spent."""
        waiting = [(-math.inf, frozenset[Point](), points)]
        while waiting and self.costs.looked_at < self.effort:
            bound, head, tail = waiting.pop()
            if bound < self.cost:
                waiting += self._look(bound, head, tail)
                self.progress(min(1.0, self.costs.looked_at / self.effort), "cutting")
        self.lower = min([self.cost, *(bound for bound, *_ in waiting)])

    def _look(
        self, bound: float, head: frozenset[Point], tail: list[Point]
    ) -> list[tuple[float, frozenset[Point], list[Point]]]:
        """Judge a head; return the longer heads that may be better, the most promising last."""
        cost = self.costs.cost(head)
        if cost < self.cost:
            self.cost, self.best = cost, head
        useful = self._useful(head, tail)
        longer = [
            (max(bound, least), head | {point}, [later for later, *_ in useful[i + 1 :]])
            for i, (point, least, _) in enumerate(useful)
        ]
        return longer[::-1]

    def _useful(self, head: frozenset[Point], tail: list[Point]) -> list[tuple[Point, float, int]]:
        """The points of a tail that some better set may have, with its least cost and the classes it leaves."""
        while True:
            everything = head.union(tail)
            looked = [(point, *self.costs.bound(head | {point}, everything)) for point in tail]
            useful = [entry for entry in looked if entry[1] < self.cost]
            if len(useful) == len(tail):
                return sorted(useful, key=lambda entry: (entry[2], entry[0]))
            tail = [point for point, *_ in useful]

    def notes(self) -> dict[str, float | bool]:
        """What the search proved."""
        return {
            "cost": self.cost,
            "lower_bound": self.lower,
            "gap": self.cost - self.lower,
            "proved_optimal": self.lower >= self.cost,
            "looked_at": self.costs.looked_at,
        }
