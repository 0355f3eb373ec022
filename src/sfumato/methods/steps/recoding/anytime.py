"""A search that may be stopped at any time: the best node so far, and how much better any node
could be.

For lattices too large to decide. A *hunt* for good nodes and a *proof* that none is much better
take turns. The hunt goes best first from node to neighbouring node, as Lightning does; the proof
goes best first over prefixes of levels, whose bounds are sharpened in rounds. When the proof ends,
the best node is the optimum.

Reference: Prasser, Bild, Eicher, Spengler & Kuhn 2016, *Lightning: utility-driven anonymization of
high-dimensional data*, Transactions on Data Privacy 9(2).
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
import time
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.core.fields import Document
from sfumato.core.objective import Tally
from sfumato.core.progress import Progress, silent
from sfumato.methods.steps.recoding.crowd_bound import CrowdBound
from sfumato.methods.steps.recoding.lattice import JudgedNode, Lattice, Node
from sfumato.methods.steps.recoding.optimal import SLACK, Outcome, better, tell
from sfumato.methods.steps.recoding.predictive_tagging import History
from sfumato.methods.steps.recoding.rollup_cache import Towers

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable


# What the nodes of a lattice cost at least, without looking at them.
#
# A prefix of decided levels has a *coarse* table, in which the columns not yet decided stand at
# their highest level. What must be suppressed there must be suppressed in every node below, and the
# decided cells cost what they cost. The columns not decided cost at least what they would cost
# alone, with all others at their highest level. To find that out is a smaller search of the same
# kind; it is made for one column, then for two, and so on, each with the help of those before.
#
# Reference: Verfaillie, Lemaître & Schiex 1996, *Russian doll search for solving constraint
# optimization problems*, AAAI.


class Bounds:
    """Lower bounds on the scores of a lattice.

    ``floor`` is the score if every column stood at its lowest level and nothing were suppressed;
    ``rest[d]`` is what the columns from *d* on cost above that at least. Objectives that are not
    separable have bounds from prefixes only.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.rest = [0.0] * (len(lattice.columns) + 1)
        # Nothing suppressed, every column at its lowest level: no node costs less.
        nothing = Tally(
            lattice.low,
            lattice.tops,
            records=lattice.records,
            suppressed=0,
            classes=1,
            squares=0.0,
            cells=(),
            weights=lattice.weights,
        )
        if lattice.objective.bounded:
            self.floor = _score_alone(lattice, nothing, 0)
        else:
            self.floor = -math.inf

    @property
    def of_all(self) -> float:
        """The least score of any node."""
        return self.floor + self.rest[0]

    def of_prefix(self, coarse: ClassTable, decided: int) -> float | None:
        """The least score of any node with the levels of the first ``decided`` columns; None where
        none is feasible.
        """
        lattice = self.lattice
        tally = lattice.tally(coarse, lattice.forced(coarse), decided)
        # Forced suppression grows on the way down: no node with this prefix is feasible.
        if tally.suppressed > lattice.budget:
            return None
        if not lattice.objective.bounded:
            return -math.inf
        # Two lower bounds, each proved; the larger one holds. The second adds what the other
        # columns cost whatever the prefix: legal where the objective is a sum over columns.
        least_score = float(lattice.objective.score(tally))
        own_score = _score_alone(lattice, tally, decided) + self.rest[decided]
        return max(least_score, own_score)

    def refine(self, share: int) -> Iterator[None]:
        """Search the last column alone, then the last two, and so on; yields once for every table
        that is counted.

        Where a search has counted ``share`` tables it is stopped, and the columns before it are
        searched without its
        columns: the costs of both add up.
        """
        end = len(self.lattice.columns)
        suffix_costs = [0.0] * (end + 1)
        inside = {end: 0.0}
        # Dynamic programming from the last column on: bounds of shorter suffixes serve as heuristic
        # of the longer ones.
        for first in range(end - 1, -1, -1):
            cost, complete = yield from self._least_cost(first, end, inside, share)
            suffix_costs[first] = max(cost + suffix_costs[end], suffix_costs[first + 1])
            # The search was stopped: start a new block with this column alone, and add its cost.
            if not complete:
                end = first + 1
                inside = {first + 1: 0.0}
                cost, _ = yield from self._least_cost(first, end, inside, share)
                suffix_costs[first] = max(suffix_costs[first], cost + suffix_costs[end])
            inside[first] = cost
            self.rest[: first + 1] = [
                max(cost_so_far, suffix_costs[first]) for cost_so_far in self.rest[: first + 1]
            ]

    def _least_cost(
        self, first: int, end: int, inside: dict[int, float], share: int
    ) -> Generator[None, None, tuple[float, bool]]:
        """What the columns from ``first`` up to ``end`` cost at least, and whether some levels of
        them do cost that.
        """
        block = _put_first(self.lattice, range(first, end))
        towers = Towers(_others_at_the_top(block, end - first))
        tables = 0
        queue: list[tuple[float, Node]] = [(0.0, ())]
        # A* (Hart, Nilsson & Raphael 1968): ``inside`` never overestimates what the columns to come
        # cost, so the first complete prefix is the cheapest, and a search that is stopped has a
        # proved bound at the head of its queue.
        while queue:
            cost, prefix = heapq.heappop(queue)
            if len(prefix) == end - first or tables >= share:
                return cost, len(prefix) == end - first
            for longer, coarse in children(block, towers, prefix):
                tables += 1
                yield
                decided = len(longer)
                tally = block.tally(coarse, block.forced(coarse), decided)
                # Forced suppression grows on the way down (generalization property): prune beyond
                # the budget.
                if tally.suppressed <= block.budget:
                    above = _score_alone(block, tally, decided) - self.floor
                    least = max(cost, above + inside[first + decided])
                    heapq.heappush(queue, (least, longer))
        return math.inf, True


def children(lattice: Lattice, towers: Towers, prefix: Node) -> Iterator[tuple[Node, ClassTable]]:
    """The prefixes that are one column longer, each with its coarse table."""
    depth = len(prefix)
    coarse = towers.table(prefix)
    # Levels from low to high: each table is rolled up from the one before (roll-up property).
    for level in range(lattice.low[depth], lattice.high[depth] + 1):
        coarse = coarse.roll_up({lattice.columns[depth]: level})
        yield (*prefix, level), coarse


def _score_alone(lattice: Lattice, tally: Tally, decided: int) -> float:
    """The score if only the first ``decided`` columns cost anything above their lowest level."""
    open_columns = range(decided, len(lattice.columns))
    # Undecided columns at the cost of their lowest level: what cancels against ``floor``.
    cheapest = []
    for a in open_columns:
        if lattice.records:
            lowest_total = lattice.totals[a][lattice.low[a]]
            cheapest.append(lowest_total / lattice.records)
        else:
            cheapest.append(0.0)
    cheapest_tally = dataclasses.replace(tally, cells=[*tally.cells[:decided], *cheapest])
    return float(lattice.objective.score(cheapest_tally))


def _put_first(lattice: Lattice, leading: range) -> Lattice:
    """The same lattice with some columns before the others."""
    remaining = []
    for a in range(len(lattice.columns)):
        if a not in leading:
            remaining.append(a)
    order = [*leading, *remaining]
    return dataclasses.replace(
        lattice,
        base=lattice.base.reordered([lattice.columns[a] for a in order]),
        low=tuple(lattice.low[a] for a in order),
        high=tuple(lattice.high[a] for a in order),
        weights=tuple(lattice.weights[a] for a in order),
    )


def _others_at_the_top(lattice: Lattice, size: int) -> Lattice:
    return dataclasses.replace(lattice, low=lattice.low[:size] + lattice.high[size:])


EFFORT = 20_000
"""Nodes looked at where nothing else is said."""

HUNT, PRICES, PROOF = 32, 128, 32
"""Looks in one turn of each. Of lattices too large to decide, prices of crowds say most, where
there are any.
"""

FIRST_SHARE = 125
"""Looks that a bound of some columns may take in the first round; four times as many in each round
after that.
"""


def anytime(
    lattice: Lattice,
    progress: Progress = silent,
    *,
    effort: int | None = None,
    seconds: float | None = None,
) -> Outcome:
    """The best node that was found, with a proved lower bound on the score of the optimum.

    ``effort`` is the number of nodes, and of coarse tables of several nodes, that are looked at;
    ``seconds`` stops earlier, and the effort reached until then gives the same result again.
    Objectives without bounds have no lower bound until the whole lattice is decided.
    """
    search = Anytime(lattice)
    return search.run(progress, EFFORT if effort is None else effort, seconds)


class Anytime:
    """One search. ``lower`` is proved: no node scores less."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.bounds = Bounds(lattice)
        self.crowds = CrowdBound(lattice)
        self.lower = self.bounds.floor
        self.best: JudgedNode | None = None
        self.closest: JudgedNode | None = None
        self.looked_at = 0
        self.decided = False

    def run(self, progress: Progress, effort: int, seconds: float | None) -> Outcome:
        """Let hunt and proof take turns until all is decided or the effort is spent."""
        if seconds is None:
            deadline = math.inf
        else:
            deadline = time.monotonic() + seconds
        # Effort is counted, time only checked: the effort reached reproduces the result.
        for _ in self._turns():
            self.looked_at += 1
            tell(progress, self.looked_at, effort, "searching the lattice")
            if self.looked_at >= effort or time.monotonic() > deadline:
                break
        stopped = None
        if not self.decided:
            stopped = "effort" if self.looked_at >= effort else "seconds"
        return Outcome(self.best, self.closest, self.looked_at, self._notes(stopped))

    def _turns(self) -> Iterator[None]:
        hunt = self._hunt()
        proof = self._prove()
        prices = self._price()
        # Round robin: incumbent and bound improve together, and no part can starve the others.
        while not self.decided:
            yield from itertools.islice(hunt, HUNT)
            yield from itertools.islice(prices, PRICES)
            yield from itertools.islice(proof, PROOF)

    def _hunt(self) -> Iterator[None]:
        """Dive from the top several times, then go best first over nodes: look at all neighbours of
        the best one.
        """
        tables = History(self.lattice)
        judged_nodes: dict[Node, JudgedNode] = {}

        def judge(node: Node) -> JudgedNode:
            judged_nodes[node] = self.lattice.judge(tables.table(node))
            self._keep(judged_nodes[node])
            return judged_nodes[node]

        judge(self.lattice.high)
        yield
        queue = [(-math.inf, self.lattice.high)]
        # Greedy descent; it ends where no finer feasible node gains anything.
        for thrift in DIVES:
            node = self.lattice.high
            while True:
                # Children of a dive are kept in the queue for the best-first search after it.
                children = []
                for child in _finer_nodes(self.lattice, node):
                    if child not in judged_nodes:
                        judge(child)
                        heapq.heappush(queue, (_promise(self.lattice, judged_nodes[child]), child))
                        yield
                    children.append(judged_nodes[child])
                next_node = _thriftiest(judged_nodes[node], children, thrift)
                if next_node is None:
                    break
                node = next_node.node
        expanded = set()
        # Best first local search over neighbours; it visits every node in the end.
        while queue:
            _, node = heapq.heappop(queue)
            if node in expanded:
                continue
            expanded.add(node)
            for neighbour in _neighbours(self.lattice, node):
                if neighbour not in judged_nodes:
                    heapq.heappush(queue, (_promise(self.lattice, judge(neighbour)), neighbour))
                    yield

    def _price(self) -> Iterator[None]:
        """What it costs that somebody is in a crowd, where that bounds anything."""
        if self.crowds.usable:
            yield from self.crowds.prove(
                lambda: math.inf if self.best is None else float(self.best.score)
            )

    def _prove(self) -> Iterator[None]:
        """Sharpen the bounds, walk over the prefixes for a while, and again with four times the
        effort.
        """
        share = FIRST_SHARE
        # Iterative deepening: a round costs four times the one before, so all before cost a third
        # of it.
        while not self.decided:
            if self.lattice.objective.separable:
                yield from self.bounds.refine(share)
            yield from itertools.islice(self._walk(), share * max(1, len(self.lattice.columns)))
            share *= 4

    def _walk(self) -> Iterator[None]:
        """Best first over prefixes. What stands first in the queue bounds all nodes that are not
        decided.
        """
        lattice = self.lattice
        towers = Towers(self.lattice)
        if lattice.columns:
            queue: list[tuple[float, Node]] = [(self.bounds.of_all, ())]
        else:
            queue = []
        # Best first branch and bound: the head of the queue bounds every node that is not decided.
        while queue and not self._hopeless(queue[0][0]):
            bound, prefix = heapq.heappop(queue)
            self.lower = max(self.lower, bound)
            for longer, coarse in children(lattice, towers, prefix):
                yield
                # A complete prefix is a node: it is judged, not bounded.
                if len(longer) == len(lattice.columns):
                    self._keep(lattice.judge(coarse))
                    continue
                lowest = self.bounds.of_prefix(coarse, len(longer))
                # Cut off: infeasible by monotonicity, or not better than the incumbent.
                if lowest is not None and not self._hopeless(lowest):
                    heapq.heappush(queue, (max(bound, lowest), longer))
        self.decided = True

    def _hopeless(self, bound: float) -> bool:
        # The slack keeps nodes of equal score: among them the sum of levels decides.
        return bound == math.inf or (self.best is not None and bound > self.best.score + SLACK)

    def _keep(self, candidate: JudgedNode) -> None:
        if candidate.feasible and (self.best is None or better(candidate, self.best)):
            self.best = candidate
        lacks = candidate.tally.suppressed
        if not candidate.feasible and (
            self.closest is None or lacks < self.closest.tally.suppressed
        ):
            self.closest = candidate

    def _notes(self, stopped: str | None) -> Document:
        notes: Document = {"proved_optimal": self.decided, "stopped_by": stopped}
        if self.best is not None:
            score = float(self.best.score)
            lower = score
            if not self.decided:
                # A bound is never above the score it bounds, whatever rounding says.
                lower = min(score, max(self.lower, self.bounds.of_all, self.crowds.lower))
            if lower > -math.inf:
                notes |= {"lower_bound": lower, "gap": score - lower}
        return notes


DIVES = (-1.0, 0.0, 1.0)
"""How much each dive minds that classes become smaller, beside what it gains."""


def _finer_nodes(lattice: Lattice, node: Node) -> Iterator[Node]:
    """The nodes with one column one level lower."""
    for a, level in enumerate(node):
        if level > lattice.low[a]:
            yield (*node[:a], level - 1, *node[a + 1 :])


def _thriftiest(node: JudgedNode, finer: Sequence[JudgedNode], thrift: float) -> JudgedNode | None:
    """The feasible finer node that gains most score for each bit by which classes become smaller.

    Records agree by chance with probability ``squares / records²``; its logarithm is what a dive
    spends. Columns that follow from others cost nearly nothing: a dive takes them together, where a
    search by score alone sees no difference between them and others.
    """
    best, best_value = None, 0.0
    for child in finer:
        gain = node.score - child.score
        if not child.feasible or gain <= SLACK:
            continue
        spent = math.log(max(1.0, node.tally.squares) / max(1.0, child.tally.squares))
        value = gain / max(spent, SMALLEST_SPENT) ** thrift
        if value > best_value:
            best = child
            best_value = value
    return best


SMALLEST_SPENT = 1e-6
"""Less than this counts as nothing."""


def _neighbours(lattice: Lattice, node: Node) -> Iterator[Node]:
    """The nodes that differ by one level of one column."""
    for a, level in enumerate(node):
        for neighbour in (level - 1, level + 1):
            if lattice.low[a] <= neighbour <= lattice.high[a]:
                yield (*node[:a], neighbour, *node[a + 1 :])


def _promise(lattice: Lattice, node: JudgedNode) -> float:
    """What a node promises: its score, and a penalty for what it would suppress beyond the
    budget.
    """
    beyond = max(0, node.tally.suppressed - lattice.budget)
    excess_share = beyond / max(1, lattice.records)
    return node.score * (1 + excess_share) + excess_share
