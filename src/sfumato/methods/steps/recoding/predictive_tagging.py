"""What is known of the nodes of a lattice: those looked at, and those that need no look.

*Predictive tagging*: what a node keeps, every coarser one keeps; what it breaks, every finer one
breaks. With suppression that is true only of models that shrink, without it of all monotone ones
(see ``Model``). Nothing is tagged where it is not sure, so that an algorithm that looks at what has
no tag is right under any model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.errors import ParameterError
from sfumato.methods.steps.recoding.lattice import JudgedNode, Lattice, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

# Tags of nodes, one byte each; a tag is never taken back.
UNKNOWN, FEASIBLE, INFEASIBLE = 0, 1, 2
LARGEST = 1_000_000
"""Algorithms that decide every node on its own take no larger lattice."""

Box = tuple[slice, ...]


class Tags:
    """A lattice and what is known of its nodes.

    ``marks`` has one axis for each column with more than one level and one entry a node.
    ``decisive`` tells that feasibility rises with the levels, so that every look tags nodes.
    """

    def __init__(self, lattice: Lattice, progress: Progress = silent) -> None:
        require_small(lattice)
        self.lattice = lattice
        self.progress = progress
        # Columns without a choice get no axis: numpy allows 64 axes, and a lattice has often fewer
        # free columns than columns.
        self.free = [
            a
            for a, (low, high) in enumerate(zip(lattice.low, lattice.high, strict=True))
            if high > low
        ]
        steps = [np.arange(lattice.high[a] - lattice.low[a] + 1, dtype=np.int16) for a in self.free]
        self.heights: NDArray[np.int16] = np.zeros((), dtype=np.int16)
        # Height of a node: the sum of its levels above the lowest node.
        for step in steps:
            self.heights = np.add.outer(self.heights, step)
        self.marks: NDArray[np.uint8] = np.zeros(self.heights.shape, dtype=np.uint8)
        self.judged: dict[Node, JudgedNode] = {}
        # Predictive tagging (El Emam et al. 2009) needs feasibility to rise with the levels. It
        # does where models survive merging and suppression (shrinking); without a budget nothing is
        # suppressed, and surviving merging (monotone) is enough.
        self.decisive = _all_models(lattice, shrinking=True) or (
            lattice.budget == 0 and _all_models(lattice, shrinking=False)
        )
        self._history = History(lattice)

    @property
    def looked_at(self) -> int:
        """Number of nodes whose classes were counted."""
        return len(self.judged)

    def is_feasible(self, node: Node) -> bool:
        """Whether a node may be released, by its tag or by a look."""
        # 0 is UNKNOWN: only then are classes counted.
        mark = self.marks[self.position(node)]
        if mark:
            return bool(mark == FEASIBLE)
        return self.judge(node).feasible

    def judge(self, node: Node) -> JudgedNode:
        """Look at a node, and tag what follows from it."""
        if node not in self.judged:
            classes = self._history.table(node)
            self.judged[node] = self.lattice.judge(classes)
            self._tag(self.judged[node], classes)
            # Counting all tags takes one pass over the lattice: not at every look.
            if len(self.judged) % 256 == 0:
                self.progress(float((self.marks != UNKNOWN).mean()), "searching the lattice")
        return self.judged[node]

    def _tag(self, node: JudgedNode, classes: ClassTable) -> None:
        position = self.position(node.node)
        self.marks[position] = FEASIBLE if node.feasible else INFEASIBLE
        # Generalization property (Samarati 2001): all nodes above a feasible one are feasible. They
        # are the box from its place to the end of every axis.
        if node.feasible and (self.decisive or self._holds_above(node)):
            self.marks[tuple(slice(i, None) for i in position)] = FEASIBLE
        # Its converse: all nodes below an infeasible one are infeasible.
        elif not node.feasible and (self.decisive or self._fails_below(classes)):
            self.marks[tuple(slice(i + 1) for i in position)] = INFEASIBLE

    def _holds_above(self, node: JudgedNode) -> bool:
        """A node that needs no suppression keeps monotone models on the way up, whatever the
        budget.
        """
        return node.tally.suppressed == 0 and _all_models(self.lattice, shrinking=False)

    def _fails_below(self, classes: ClassTable) -> bool:
        """Some models say how much every finer node must suppress."""
        return int(self.lattice.forced(classes).sum()) > self.lattice.budget

    def nodes(
        self, *, height: int | None = None, mark: int | None = None, box: Box | None = None
    ) -> list[Node]:
        """Nodes of a height (counted from the lowest node of the lattice), with a mark, inside a
        box.
        """
        box = box or tuple(slice(0, size) for size in self.marks.shape)
        selected = np.ones(self.marks[box].shape, dtype=np.bool_)
        if height is not None:
            selected &= self.heights[box] == height
        if mark is not None:
            selected &= self.marks[box] == mark
        # Positions inside the box are counted from its corner.
        start = np.array([part.start for part in box], dtype=np.int64)
        return [self._node(position) for position in (np.argwhere(selected) + start).tolist()]

    def undecided(self, box: Box) -> bool:
        """Whether nothing is known of some node of a box."""
        return bool((self.marks[box] == UNKNOWN).any())

    def box(self, bottom: Node, top: Node) -> Box:
        """All nodes between two."""
        return tuple(
            slice(i, j + 1) for i, j in zip(self.position(bottom), self.position(top), strict=True)
        )

    def minimal(self) -> list[Node]:
        """The feasible nodes without a feasible one directly below them; all nodes must be
        decided.
        """
        feasible = self.marks == FEASIBLE
        above = np.zeros_like(feasible)
        # A feasible node is not minimal when a step down along some axis is feasible. Direct
        # neighbours are enough where feasibility rises with the levels.
        for axis in range(feasible.ndim):
            upper = tuple(
                slice(1, None) if b == axis else slice(None) for b in range(feasible.ndim)
            )
            lower = tuple(
                slice(None, -1) if b == axis else slice(None) for b in range(feasible.ndim)
            )
            above[upper] |= feasible[lower]
        positions = np.argwhere(feasible & ~above).tolist()
        return [self._node(position) for position in positions]

    def position(self, node: Node) -> Node:
        """Where a node stands in ``marks``."""
        # A list inside: a generator is slower here, and this runs for every look.
        return tuple([node[a] - self.lattice.low[a] for a in self.free])

    def _node(self, position: list[int]) -> Node:
        node = list(self.lattice.low)
        for a, step in zip(self.free, position, strict=True):
            node[a] += step
        return tuple(node)


def require_small(lattice: Lattice) -> None:
    """Refuse a lattice that could not be decided node by node."""
    if lattice.size > LARGEST:
        raise ParameterError(
            f"the lattice has {lattice.size:,} nodes, and an algorithm that decides them one by "
            f"one allows {LARGEST:,}; use the algorithm optimal or anytime, or bound the levels"
        )


def _all_models(lattice: Lattice, *, shrinking: bool) -> bool:
    return all(m.shrinking or (not shrinking and m.monotone) for m in lattice.models)


class History:
    """Tables counted before, to roll up from: the smallest that is finer than a node. Flash keeps
    some as well.

    Reference: Kohlmayer, Prasser, Eckert, Kemper & Kuhn 2012, doi:10.1109/SocialCom-PASSAT.2012.52.
    """

    # So many tables are searched for a finer one in some microseconds; so many classes take at most
    # 300 MB with keys of one word.
    MOST_TABLES = 200
    MOST_CLASSES = 20_000_000

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        finest = lattice.at(lattice.low)
        affordable_tables = self.MOST_CLASSES // max(1, len(finest))
        room = max(2, min(self.MOST_TABLES, affordable_tables))
        self._tables: list[ClassTable] = [finest]
        shape = room, len(lattice.columns)
        self._levels = np.full(shape, np.iinfo(np.int64).max, dtype=np.int64)
        self._sizes = np.full(room, len(finest), dtype=np.int64)
        self._levels[0] = lattice.low
        self._next = self._slots(room)

    @staticmethod
    def _slots(room: int) -> Iterator[int]:
        """Where tables go, one after the other; the finest one stays."""
        # First in, first out: a search comes back to what it counted lately.
        while True:
            yield from range(1, room)

    def table(self, node: Node) -> ClassTable:
        """The classes of a node."""
        # Roll-up property (LeFevre et al. 2005): a node may be counted from any finer table; the
        # cost is the size of that table. Empty slots have levels above all nodes and never fit.
        finer = np.flatnonzero((self._levels <= node).all(axis=1))
        smallest = finer[np.argmin(self._sizes[finer])]
        start = self._tables[int(smallest)]
        classes = self.lattice.at(node, start)
        if classes is not start:
            self._remember(classes)
        return classes

    def _remember(self, classes: ClassTable) -> None:
        slot = next(self._next)
        self._tables[slot : slot + 1] = [classes]
        self._levels[slot] = classes.levels
        self._sizes[slot] = len(classes)
