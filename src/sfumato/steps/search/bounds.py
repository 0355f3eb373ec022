"""What the nodes of a lattice cost at least, without looking at them.

A prefix of decided levels has a *coarse* table, in which the columns not yet decided stand at their highest level. What
must be suppressed there must be suppressed in every node below, and the decided cells cost what they cost. The columns
not decided cost at least what they would cost alone, with all others at their highest level. To find that out is a
smaller search of the same kind; it is made for one column, then for two, and so on, each with the help of those before.

Reference: Verfaillie, Lemaître & Schiex 1996, *Russian doll search for solving constraint optimization problems*, AAAI.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from sfumato.core.objective import Tally
from sfumato.steps.search.lattice import Lattice, Node
from sfumato.steps.search.optimal import Towers

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable


class Bounds:
    """Lower bounds on the scores of a lattice.

    ``floor`` is the score if every column stood at its lowest level and nothing were suppressed; ``rest[d]`` is what the
    columns from *d* on cost above that at least. Objectives that are not separable have bounds from prefixes only.
    """

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self.rest = [0.0] * (len(lattice.columns) + 1)
        nothing = Tally(lattice.low, lattice.tops, lattice.records, 0, 1, 0.0, (), lattice.weights)
        self.floor = _score_alone(lattice, nothing, 0) if lattice.objective.bounded else -math.inf

    @property
    def of_all(self) -> float:
        """The least score of any node."""
        return self.floor + self.rest[0]

    def of_prefix(self, coarse: ClassTable, known: int) -> float | None:
        """The least score of any node with the levels of the first ``known`` columns; None where none is feasible."""
        lattice = self.lattice
        tally = lattice.tally(coarse, lattice.forced(coarse), known)
        if tally.suppressed > lattice.budget:
            return None
        if not lattice.objective.bounded:
            return -math.inf
        return max(float(lattice.objective.score(tally)), _score_alone(lattice, tally, known) + self.rest[known])

    def refine(self, share: int) -> Iterator[None]:
        """Search the last column alone, then the last two, and so on; yields once for every table that is counted.

        Where a search has counted ``share`` tables it is stopped, and the columns before it are searched without its
        columns: the costs of both add up.
        """
        end = len(self.lattice.columns)
        rest, inside = [0.0] * (end + 1), {end: 0.0}
        for first in range(end - 1, -1, -1):
            cost, complete = yield from self._least_cost(first, end, inside, share)
            rest[first] = max(cost + rest[end], rest[first + 1])
            if not complete:
                end, inside = first + 1, {first + 1: 0.0}
                cost, _ = yield from self._least_cost(first, end, inside, share)
                rest[first] = max(rest[first], cost + rest[end])
            inside[first] = cost
            self.rest[: first + 1] = [max(known, rest[first]) for known in self.rest[: first + 1]]

    def _least_cost(
        self, first: int, end: int, inside: dict[int, float], share: int
    ) -> Generator[None, None, tuple[float, bool]]:
        """What the columns from ``first`` up to ``end`` cost at least, and whether some levels of them do cost that."""
        block = _put_first(self.lattice, range(first, end))
        towers, looked = Towers(_others_at_the_top(block, end - first)), 0
        queue: list[tuple[float, Node]] = [(0.0, ())]
        while queue:
            cost, prefix = heapq.heappop(queue)
            if len(prefix) == end - first or looked >= share:
                return cost, len(prefix) == end - first
            for longer, coarse in children(block, towers, prefix):
                looked += 1
                yield
                known = len(longer)
                tally = block.tally(coarse, block.forced(coarse), known)
                if tally.suppressed <= block.budget:
                    above = _score_alone(block, tally, known) - self.floor
                    heapq.heappush(queue, (max(cost, above + inside[first + known]), longer))
        return math.inf, True


def children(lattice: Lattice, towers: Towers, prefix: Node) -> Iterator[tuple[Node, ClassTable]]:
    """The prefixes that are one column longer, each with its coarse table."""
    depth, coarse = len(prefix), towers.table(prefix)
    for level in range(lattice.low[depth], lattice.high[depth] + 1):
        coarse = coarse.roll_up({lattice.columns[depth]: level})
        yield (*prefix, level), coarse


def _score_alone(lattice: Lattice, tally: Tally, known: int) -> float:
    """The score if only the first ``known`` columns cost anything above their lowest level."""
    rest = range(known, len(lattice.columns))
    cheapest = [lattice.totals[a][lattice.low[a]] / lattice.records if lattice.records else 0.0 for a in rest]
    return float(lattice.objective.score(dataclasses.replace(tally, cells=[*tally.cells[:known], *cheapest])))


def _put_first(lattice: Lattice, chosen: range) -> Lattice:
    """The same lattice with some columns before the others."""
    order = [*chosen, *(a for a in range(len(lattice.columns)) if a not in chosen)]
    return dataclasses.replace(
        lattice,
        base=lattice.base.reordered([lattice.columns[a] for a in order]),
        low=tuple(lattice.low[a] for a in order),
        high=tuple(lattice.high[a] for a in order),
        weights=tuple(lattice.weights[a] for a in order),
    )


def _others_at_the_top(lattice: Lattice, size: int) -> Lattice:
    return dataclasses.replace(lattice, low=lattice.low[:size] + lattice.high[size:])
