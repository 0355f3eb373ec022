"""Cuts of an item hierarchy, and the search for a cheap one that keeps k^m-anonymity.

A cut gives every item the node that stands for it: the item itself, or a node above it, which then
all items below that node have.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.progress import Progress, silent
from sfumato.data.baskets.taxonomy import Taxonomy
from sfumato.methods.formulas import itemsets
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.formulas.itemsets import Violations


def cost(cut: NDArray[np.int64], occurrences: NDArray[np.int64], taxonomy: Taxonomy) -> float:
    """NCP of a cut: the mean loss of the node over all items that people have."""
    return float(taxonomy.loss[cut] @ occurrences) / max(float(occurrences.sum()), 1.0)


def number_of_cuts(taxonomy: Taxonomy, limit: int) -> int:
    """How many cuts there are, counted up to a limit: a node stands itself, or all its children
    have cuts.

    A group of a single item is no choice of its own: it is released as the item.
    """
    counts = [1] * len(taxonomy.labels)
    # Inner nodes are numbered by rising level, so the children of a node are already counted.
    for node in range(taxonomy.items, len(taxonomy.labels)):
        below = 1
        for child in taxonomy.children[node]:
            below = min(below * counts[child], limit + 1)
        counts[node] = min(int(taxonomy.lowest[node] == node) + below, limit + 1)
    return counts[taxonomy.root]


def all_cuts(taxonomy: Taxonomy) -> Iterator[NDArray[np.int64]]:
    """Every cut."""
    for nodes in _below(taxonomy, taxonomy.root):
        cut = np.empty(taxonomy.items, dtype=np.int64)
        for node in nodes:
            cut[taxonomy.under(node)] = node
        yield cut


def _below(taxonomy: Taxonomy, node: int) -> Iterator[tuple[int, ...]]:
    # A group that stands for the same leaves as a node below it would give the same release again
    # under another name.
    if taxonomy.lowest[node] == node:
        yield (node,)
    if node >= taxonomy.items:
        for parts in product(
            *(tuple(_below(taxonomy, child)) for child in taxonomy.children[node])
        ):
            yield tuple(lower_node for part in parts for lower_node in part)


@dataclasses.dataclass(eq=False)
class AprioriSearch:
    """The search of Terrovitis et al.: sets of one item first, then two, … up to m; a set with too
    few carriers makes nodes of it climb.

    ``cut`` is where it stands. Violating sets are taken by rising support, then name; for each that
    no climb of this round has touched yet, nodes climb to ancestors with which enough people carry
    it, the cheapest way by the added loss. After a round only sets with a node that is new are
    counted
    again: all others have the carriers they had.
    """

    sets: ItemSets
    taxonomy: Taxonomy
    k: int
    m: int
    progress: Progress = silent
    start: NDArray[np.int64] | None = None
    rounds: int = 0
    climbs: list[tuple[tuple[int, ...], tuple[int, ...]]] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        if self.start is None:
            self.cut = np.arange(self.taxonomy.items, dtype=np.int64)
        else:
            self.cut = self.start.copy()
        self.occurrences = self.sets.supports

    @cached_property
    def _laid_out(self) -> object:
        """The sets with items from left to right, so that what is below a node is a span."""
        # From the number of an item to its place from left to right.
        image = np.empty(self.taxonomy.items, dtype=np.int64)
        image[self.taxonomy.order] = np.arange(self.taxonomy.items)
        return self.sets.mapped(image, self.taxonomy.items).kernel()

    def run(self) -> NDArray[np.int64]:
        """The cut under which every set of at most m items has k carriers; there are at least k
        people with items.
        """
        # Small sets first: a rare single item must climb anyway, and larger sets that hold it
        # change with it before they are looked at.
        for size in range(1, self.m + 1):
            new: NDArray[np.bool_] | None = None
            while (violations := self._violating(size, new)) is not None:
                new = self._climbed(violations)
                self.rounds += 1
        # A climb may end at a group of a single item; the item itself loses nothing and says the
        # same.
        self.cut = self.taxonomy.lowest[self.cut]
        return self.cut

    def _violating(self, size: int, new: NDArray[np.bool_] | None) -> Violations | None:
        sets = self.sets.mapped(self.cut, len(self.taxonomy.labels))
        # All carriers of a set with a new node carry that node, so nobody else need be counted.
        if new is not None:
            concerned = np.zeros(len(sets), dtype=bool)
            concerned[sets.owners[new[sets.items]]] = True
            sets = sets.taken(np.flatnonzero(concerned))
        violations = itemsets.violating(sets, size, self.k, new=new)
        return violations if len(violations) else None

    def _climbed(self, violations: Violations) -> NDArray[np.bool_]:
        """Let nodes climb until no set of this round is as it was; the nodes that are new."""
        taxonomy = self.taxonomy
        touched = np.zeros(len(taxonomy.labels), dtype=np.bool_)
        new = np.zeros(len(taxonomy.labels), dtype=np.bool_)
        order = _by_support(violations, taxonomy)
        position = 0
        # A set with a touched node is no longer what was counted. It waits for the next round.
        while (
            position := int(
                kernels.baskets.find_untouched_set(violations.members, order, touched, position)
            )
        ) < len(order):
            row = violations.members[order[position]]
            nodes = tuple(row[row >= 0].tolist())
            targets = self._climb_for(nodes)
            for target in targets:
                under = taxonomy.under(target)
                # What stood below the target is no node of the cut any more, even if it was new in
                # this round; only the target is left to be counted.
                touched[self.cut[under]] = True
                new[self.cut[under]] = False
                touched[target] = new[target] = True
                self.cut[under] = target
            self.climbs.append((nodes, targets))
        return new

    def _climb_for(self, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """Where nodes of a set must go so that enough people carry what becomes of the set: the
        cheapest way, best first.

        Climbing higher never costs less, so the first way that is enough, by rising cost, is the
        cheapest; ties are settled by name.
        """
        # Per node all it may become: itself, its parent, …, the root. A way is one height for each.
        chains = [(node, *self.taxonomy.above(node)) for node in nodes]
        # The search goes from no climb at all, by rising cost; ``visited`` keeps out ways that can
        # be reached in several orders (first a then b, or first b then a).
        start = (0,) * len(nodes)
        waiting: list[tuple[float, tuple[str, ...], tuple[int, ...]]] = [(0.0, (), start)]
        visited = {start}
        while waiting:
            _, _, heights = heapq.heappop(waiting)
            image = self._outermost(
                [chain[height] for chain, height in zip(chains, heights, strict=True)]
            )
            # No climb at all is the violating set itself, which has too few carriers.
            if any(heights) and self._carried(image):
                return tuple(node for node in image if node not in nodes)
            for number, chain in enumerate(chains):
                higher = (*heights[:number], heights[number] + 1, *heights[number + 1 :])
                if higher[number] < len(chain) and higher not in visited:
                    visited.add(higher)
                    heapq.heappush(waiting, (*self._price(chains, higher), higher))
        return (self.taxonomy.root,)

    def _price(
        self, chains: list[tuple[int, ...]], heights: tuple[int, ...]
    ) -> tuple[float, tuple[str, ...]]:
        image = self._outermost(
            [chain[height] for chain, height in zip(chains, heights, strict=True)]
        )
        # Rounded, so that equal costs tie in spite of the order of additions.
        return round(sum(map(self._added, image)), 9), tuple(
            sorted(self.taxonomy.labels[node] for node in image)
        )

    def _outermost(self, nodes: list[int]) -> tuple[int, ...]:
        """Nodes without those that stand below another one."""
        spans = self.taxonomy.spans
        free = dict.fromkeys(nodes)
        for node in nodes:
            # Two nodes may have the same span: a group with a single item below it. Then the level
            # says which of them is above, and only the lower one goes.
            over = [
                o
                for o in free
                if o != node and spans[o, 0] <= spans[node, 0] and spans[node, 1] <= spans[o, 1]
            ]
            if any(self.taxonomy.level[o] > self.taxonomy.level[node] for o in over):
                free.pop(node, None)
        return tuple(free)

    def _added(self, target: int) -> float:
        """What is lost more when everything below a node becomes this node."""
        under = self.taxonomy.under(target)
        losses = self.taxonomy.loss[target] - self.taxonomy.loss[self.cut[under]]
        return float(losses @ self.occurrences[under])

    def _carried(self, nodes: tuple[int, ...]) -> bool:
        """Whether enough people carry a set of nodes, none of which is below another."""
        support: int = kernels.baskets.count_span_carriers(
            self._laid_out, self.taxonomy.spans[list(nodes)], self.k
        )
        return support >= self.k


def _by_support(violations: Violations, taxonomy: Taxonomy) -> NDArray[np.int64]:
    """Violating sets by rising support, then by the names of their nodes."""
    # Sets differ in size; behind the last node of a smaller one stands −1, which sorts first.
    ranks = np.where(
        violations.members >= 0, taxonomy.by_name[np.maximum(violations.members, 0)], -1
    )
    ranks.sort(axis=1)
    base = len(taxonomy.labels) + 1
    # One number for support and names sorts faster than several columns, where it fits 62 bits.
    if float(base) ** ranks.shape[1] * float(violations.supports.max() + 1) < 2.0**62:
        keys = violations.supports.astype(np.int64)
        for column in range(ranks.shape[1]):
            # One more than the rank, so that −1 is a digit too.
            keys = keys * base + ranks[:, column] + 1
        return np.argsort(keys, kind="stable").astype(np.int64)
    # The last key counts most here, so the columns are given in reverse.
    columns = [ranks[:, column] for column in range(ranks.shape[1])][::-1]
    return np.lexsort((*columns, violations.supports)).astype(np.int64)
