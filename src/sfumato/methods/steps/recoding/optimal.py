"""The optimal node of a generalization lattice, by depth-first branch and bound.

Columns are decided one after the other. For a prefix of decided levels the *coarse* table, in which
the columns not yet decided stand at their highest level, bounds every node below: a record that
must be suppressed there must be suppressed in all of them (for models that shrink, see
``Model.shrinking``). So a subtree is cut off when its coarse table already suppresses too much, or
when its cells already cost more than the best node found.

Coarse tables of a few columns are small. Each is rolled up from the table of the same columns under
a shorter prefix, and only when a walk gets that deep: tables of many columns, which are large, are
seldom touched.

With suppression the optimum need not be k-minimal (a coarser node may lose fewer records than it
costs), so nothing is cut off merely because a finer node is feasible.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from sfumato.core.fields import Document, Fields
from sfumato.core.objective import Tally
from sfumato.core.progress import Progress, silent
from sfumato.methods.steps.recoding.lattice import JudgedNode, Lattice, Node
from sfumato.methods.steps.recoding.node_counts import NodeCounts, counts_directly
from sfumato.methods.steps.recoding.rollup_cache import (
    Peaks,
    Prices,
    Towers,
    raise_lowest_levels,
    smallest_class,
)

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable

WORDS = "searching the lattice"
OFTEN = 64
"""After how many looks it is told how far the search is."""
SLACK = 1e-12
"""Scores closer than this are equal; the node with the smaller sum of levels wins, then the smaller
tuple.
"""


@dataclasses.dataclass
class Search:
    """One walk over a lattice. ``best`` is the optimum so far, ``closest`` the infeasible node that
    lacks least.
    """

    lattice: Lattice
    progress: Progress = silent
    best: JudgedNode | None = None
    closest: JudgedNode | None = None
    looked_at: int = 0
    decided: int = 0
    feasible: list[JudgedNode] = dataclasses.field(default_factory=list)
    # nodes that share the levels of the columns up to one
    _below: list[int] = dataclasses.field(default_factory=list)

    def run(self) -> Search:
        """Walk the whole lattice."""
        lattice = self.lattice
        k = smallest_class(self.lattice)
        self.progress(0.0, WORDS)
        looks: Looks | None = None
        if lattice.columns:
            # Under k-anonymity alone the loops count; any other model judges class tables.
            if k is None or not lattice.records:
                looks = RolledUp(lattice)
            else:
                looks = ClassSizeSearch(raise_lowest_levels(lattice, k), k)
        # The top is judged first: it is the incumbent that prunes from the start, or shows how much
        # is lacking where no node is feasible.
        self._keep(lattice.judge(lattice.at(lattice.high)))
        if looks is not None:
            ground = looks.lattice
            levels = [high - low + 1 for low, high in zip(ground.low, ground.high, strict=True)]
            # ``_below[d]``: how many nodes share a prefix of d + 1 columns. With 3, 4 and 5 levels:
            # 20, 5 and 1.
            self._below = [math.prod(levels[depth + 1 :]) for depth in range(len(levels))]
            # Levels that ``raised`` cut off break the promise in every node: they are decided
            # without a look.
            self._settle(lattice.size - ground.size)
            # Nothing is decided before the first column with a choice.
            first = next((a for a, several in enumerate(levels) if several > 1), len(levels) - 1)
            self._visit(ground.low[:first], looks)
        if lattice.objective.minimal:
            self._choose_minimal()
        if self.best is not None and k is not None:  # the loop adds up in another order
            self.best = lattice.judge(lattice.at(self.best.node))
        return self

    def _visit(self, prefix: Node, looks: Looks) -> None:
        """Decide the next column, the most promising level first."""
        below = self._below[len(prefix)]
        # The levels of the next column that may lead to something, each with the least score below
        # it.
        branches: list[tuple[float, int]] = []
        for level, bound, node in looks.after(prefix):
            self.looked_at += 1
            if self.looked_at % OFTEN == 0:
                self.progress(
                    self.decided / self.lattice.size, f"{WORDS}, {self.looked_at:,} looked at"
                )
            if node is not None:
                self._keep(node)
            # No bound: every node below suppresses more than the budget (monotonicity, see
            # ``Crowded``).
            if bound is None:
                self._settle(below)
            else:
                branches.append((bound, level))
        # Depth first branch and bound (Land & Doig 1960): the least bound first, so that a good
        # incumbent comes early and prunes what follows. All branches are read before the first is
        # entered; bounds are checked again since the incumbent may have improved meanwhile.
        for bound, level in sorted(branches):
            # No node below scores less than its bound, so none can beat the incumbent. The slack
            # keeps nodes of equal score: among them the sum of levels decides. Samarati's minimal
            # nodes need every feasible node, so nothing is pruned by score for them.
            if (
                self.best is not None
                and not self.lattice.objective.minimal
                and bound > self.best.score + SLACK
            ):
                self._settle(below)
            else:
                self._visit((*prefix, level), looks)

    def _keep(self, candidate: JudgedNode) -> None:
        # Where nothing is feasible, an error names the node that lacks least.
        if not candidate.feasible:
            if self.closest is None or candidate.tally.suppressed < self.closest.tally.suppressed:
                self.closest = candidate
            return
        if self.lattice.objective.minimal:
            self.feasible.append(candidate)
        elif self.best is None or better(candidate, self.best):
            self.best = candidate

    def _settle(self, nodes: int) -> None:
        before = self.decided
        self.decided += nodes
        # Progress is told once a percent of the lattice.
        if before * 100 // self.lattice.size != self.decided * 100 // self.lattice.size:
            self.progress(self.decided / self.lattice.size, WORDS)

    def _choose_minimal(self) -> None:
        self.best = prefer_minimal(k_minimal(self.feasible))


class Looks(Protocol):
    """What a search sees: by level of the column after a prefix, the least score below and, of a
    node, what it is.

    The least score is None where no node below can be feasible; a node is None where it is
    infeasible and lacks more than one that is known. Nodes come with the last column only, and
    bounds without it. ``lattice`` has all nodes that may be feasible.
    """

    lattice: Lattice

    def after(  # noqa: D102
        self, prefix: Node
    ) -> Iterable[tuple[int, float | None, JudgedNode | None]]: ...


class RolledUp:
    """Looks under any model: every coarse table is rolled up and judged."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self._towers = Towers(lattice)

    def after(self, prefix: Node) -> Iterator[tuple[int, float | None, JudgedNode | None]]:
        """One table after the other, each rolled up from the one before."""
        lattice = self.lattice
        depth = len(prefix)
        name = lattice.columns[depth]
        last = depth == len(lattice.columns) - 1
        # Columns after the next one are at their highest level. By the subset property of Incognito
        # (LeFevre et al. 2005) what these columns alone must suppress, any node below must.
        coarse = self._towers.table(prefix)
        for level in range(lattice.low[depth], lattice.high[depth] + 1):
            coarse = coarse.roll_up({name: level})
            if last:
                yield level, None, lattice.judge(coarse)
            else:
                yield level, self._bound(coarse, depth + 1), None

    def _bound(self, coarse: ClassTable, fixed: int) -> float | None:
        """Least score of any node below, or None when none can be feasible."""
        lattice = self.lattice
        tally = lattice.tally(coarse, lattice.forced(coarse), fixed)
        # Forced suppression only grows on the way down, so all nodes below are infeasible.
        if tally.suppressed > lattice.budget:
            return None
        if lattice.objective.bounded:
            return lattice.objective.score(tally)
        return -math.inf


class ClassSizeSearch:
    """Looks under k-anonymity alone: one loop tallies all levels of a column at once.

    Whoever is suppressed at a node is suppressed at every finer one, so what a coarse table
    suppresses bounds what is below it, and no infeasible node lacks less than the highest one.
    """

    def __init__(self, lattice: Lattice, k: int) -> None:
        self.lattice = lattice
        self.prices = Prices.of_lattice(lattice)
        # Lowest levels that pairs of columns allow; empty where they are not looked at.
        self._beside: list[list[Node]] = []
        if counts_directly(lattice):
            self._peaks: NodeCounts | Peaks = NodeCounts(lattice, k, self.prices)
        else:
            self._peaks = Peaks(lattice, k, self.prices)
            self._beside = self._peaks.least_beside

    def after(self, prefix: Node) -> Iterator[tuple[int, float | None, JudgedNode | None]]:
        """All levels in one pass."""
        lattice = self.lattice
        depth = len(prefix)
        last = depth == len(lattice.columns) - 1
        low = lattice.low[depth]
        # One pass gives every level of the next column: roll-up (LeFevre et al. 2005) within the
        # loop.
        whole, lost = self._peaks.at(prefix)
        for i, ((gone, classes, _, squares), missed) in enumerate(zip(whole, lost, strict=True)):
            # A class below k splits into classes below k (generalization property, Samarati 2001),
            # so finer nodes suppress no less. A node without any class kept releases nothing.
            if gone > lattice.budget or (last and not classes):
                yield low + i, None, None
                continue
            levels = (*prefix, low + i)
            # The lowest levels that feasible nodes below the prefix may have. A pair of columns
            # that suppresses too much by itself does so in every node: if ``zip`` on level 0 needs
            # ``age`` on level 2 at least, no node with that ``zip`` has a lower level of ``age``.
            # Each decided column says what it needs of all later ones; the highest demand counts.
            lowest = lattice.low
            if not last and self._beside:
                rows = [self._beside[a][level - lattice.low[a]] for a, level in enumerate(levels)]
                if len(rows) > 1:
                    lowest = tuple(map(max, *rows))
                else:
                    lowest = rows[0]
            if self.prices.mean:
                tally = Tally(
                    levels,
                    lattice.tops,
                    records=lattice.records,
                    suppressed=gone,
                    classes=classes,
                    squares=float(squares),
                    cells=(),
                    weights=lattice.weights,
                )
                # The weighted mean cost of a cell: as decided, and of the columns that are not at
                # least.
                totals, weights = lattice.totals, lattice.weights
                costs = [weights[a] * (totals[a][level] + gone) for a, level in enumerate(levels)]
                undecided = range(len(levels), len(weights))
                least = [weights[a] * lattice.least_cost(a, gone, lowest[a]) for a in undecided]
                kept_costs = sum(costs) - missed[0] - missed[1]
                score = (kept_costs + sum(least)) / lattice.records
            else:
                # The loop gives the last column first, the lattice expects it last.
                sums = [*missed[1 : len(levels)], missed[0]]
                tally = lattice.tally_of(levels, gone, classes, float(squares), sums, lowest=lowest)
                score = lattice.objective.score(tally)
            if last:
                yield low + i, None, JudgedNode(levels, tally, score, feasible=True)
            else:
                yield low + i, score if lattice.objective.bounded else -math.inf, None


def better(node: JudgedNode, rival: JudgedNode) -> bool:
    """Whether a node is to be preferred: smaller score, then fewer levels in all, then the smaller
    tuple.
    """
    # Relative to the score: sums of n terms differ by rounding in proportion to their size.
    if abs(node.score - rival.score) > SLACK * max(1.0, abs(rival.score)):
        return node.score < rival.score
    return (sum(node.node), node.node) < (sum(rival.node), rival.node)


def k_minimal(feasible: list[JudgedNode]) -> list[JudgedNode]:
    """The feasible nodes that have no feasible node strictly below them: Samarati's antichain."""
    minimal: dict[Node, JudgedNode] = {}
    # By rising height: whatever lies below a node comes before it, so one look back is enough.
    # Quadratic in the number of minimal nodes, which are few.
    for candidate in sorted(feasible, key=lambda j: (sum(j.node), j.node)):
        if not any(_below(node, candidate.node) for node in minimal):
            minimal[candidate.node] = candidate
    return list(minimal.values())


def prefer_minimal(minimal: list[JudgedNode]) -> JudgedNode | None:
    """The k-minimal node of the least score; equal ones go by Samarati's four preferences, then the
    smaller tuple.
    """
    return min(minimal, key=lambda j: (j.score, *_preferences(j), j.node), default=None)


def _below(node: Node, upper: Node) -> bool:
    return all(a <= b for a, b in zip(node, upper, strict=True))


def _preferences(node: JudgedNode) -> tuple[float, float, float, float]:
    """Samarati's four preferences in their order, to break ties."""
    t = node.tally
    relative = sum(level / max(1, top) for level, top in zip(t.levels, t.tops, strict=True))
    return float(sum(t.levels)), relative, -float(t.classes), float(t.suppressed)


# What a search of the lattice ends with, whatever the algorithm.


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The node that was chosen, or None and the infeasible node that lacks least.

    ``looked_at`` counts the nodes whose classes were counted; ``notes`` say what the algorithm
    knows besides, as plain data. ``algorithm`` names the one that was taken where that was left
    open.
    """

    best: JudgedNode | None
    closest: JudgedNode | None
    looked_at: int
    notes: Fields = dataclasses.field(default_factory=dict)
    algorithm: str | None = None


class Algorithm(Protocol):
    """A way to search a lattice."""

    def __call__(self, lattice: Lattice, progress: Progress) -> Outcome:  # noqa: D102
        ...


def best_of(lattice: Lattice, nodes: Iterable[JudgedNode]) -> JudgedNode | None:
    """The feasible node that the objective prefers; Samarati's preferences choose among the
    k-minimal ones.
    """
    feasible = (j for j in nodes if j.feasible)
    if lattice.objective.minimal:
        return prefer_minimal(k_minimal(list(feasible)))
    best: JudgedNode | None = None
    # Ties go by the sum of levels, then the tuple: the order of the nodes does not matter.
    for node in feasible:
        if best is None or better(node, best):
            best = node
    return best


def closest_of(nodes: Iterable[JudgedNode]) -> JudgedNode | None:
    """The infeasible node that would suppress least."""
    return min(
        (j for j in nodes if not j.feasible),
        key=lambda j: (j.tally.suppressed, j.node),
        default=None,
    )


def tell(progress: Progress, steps: int, work: int, words: str) -> None:
    """Say how much is done whenever that is one percent more."""
    if steps * 100 // work != (steps - 1) * 100 // work:
        progress(min(1.0, steps / work), words)


def minimal_notes(lattice: Lattice, minimal: Iterable[JudgedNode]) -> Document:
    """How many k-minimal nodes there are, and every one of them: its levels, what it suppresses,
    and its score.

    The least score first; nodes of equal score in the order of their levels.
    """
    listed = sorted(minimal, key=lambda j: (j.score, sum(j.node), j.node))
    listed_nodes = [
        {
            "levels": dict(zip(lattice.columns, j.node, strict=True)),
            "suppressed_records": j.tally.suppressed,
            "score": j.score,
        }
        for j in listed
    ]
    return {
        "k_minimal_nodes": len(listed),
        "k_minimal": listed_nodes,
    }
