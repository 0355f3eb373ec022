"""The hierarchy above the items of baskets: a tree whose leaves are the items that occur."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.hierarchy import Ladder, bind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Hierarchy


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Taxonomy:
    """Nodes above items. Node *i* below ``items`` is item *i*; inner nodes follow, the root is the
    last one.

    ``parent`` is −1 for the root, ``leaves`` counts what the whole hierarchy has below a node,
    whether it occurs or not; ``level`` is the height at which a node stands (0: items). An item
    that is itself an inner node of the hierarchy stands below that node, under the same label.
    """

    labels: tuple[str, ...]
    parent: NDArray[np.int64]
    leaves: NDArray[np.float64]
    level: NDArray[np.int64]
    items: int

    @classmethod
    def of(cls, hierarchy: Hierarchy, labels: Sequence[str], column: str) -> Taxonomy:
        """The hierarchy of a column, bound to the labels of the items."""
        ladder = bind(hierarchy, list(labels), [1] * len(labels))
        if ladder.depth < 2:
            raise SchemaError(
                f"the hierarchy of {column!r} has no level above the items; add groups of items"
            )
        return _grown(ladder, labels, column)

    def __repr__(self) -> str:
        return f"Taxonomy({self.items:,} items, {len(self.labels) - self.items:,} nodes above them)"

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.labels) - 1

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """What a node costs: leaves/all leaves, 0 for a single leaf (NCP)."""
        return np.where(self.leaves > 1, self.leaves / self.leaves[self.root], 0.0)

    @cached_property
    def by_name(self) -> NDArray[np.int64]:
        """The rank of every node in the order of labels; an inner node comes after an item of the
        same label.
        """
        rank = np.empty(len(self.labels), dtype=np.int64)
        rank[sorted(range(len(self.labels)), key=lambda node: (self.labels[node], node))] = (
            np.arange(len(self.labels))
        )
        return rank

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes below each node, in the order of their labels."""
        below: list[list[int]] = [[] for _ in self.labels]
        # In the order of names, so that every list of children is in that order as well.
        for node in np.argsort(self.by_name).tolist():
            if self.parent[node] >= 0:
                below[self.parent[node]].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def lowest(self) -> NDArray[np.int64]:
        """Per node the lowest one that stands for the same leaves: a group of a single item says
        what the item says, under another name.
        """
        lowest = np.arange(len(self.labels), dtype=np.int64)
        # From the bottom up: what a child is reduced to is already known.
        for node in np.argsort(self.level, kind="stable").tolist():
            if (
                len(self.children[node]) == 1
                and self.leaves[self.children[node][0]] == self.leaves[node]
            ):
                lowest[node] = lowest[self.children[node][0]]
        return lowest

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The items from left to right: those below one node are neighbours."""
        nodes: list[int] = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node < self.items:
                nodes.append(node)
            else:
                # Reversed, since the last one pushed is the first one popped: left to right.
                stack.extend(reversed(self.children[node]))
        return np.array(nodes, dtype=np.int64)

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """Per node the first place below it in :attr:`order`, and the place behind the last."""
        spans = np.empty((len(self.labels), 2), dtype=np.int64)
        # First empty (begin behind the end), so that the first child sets both ends.
        spans[:, 0], spans[:, 1] = self.items, 0
        spans[self.order, 0] = np.arange(self.items)
        spans[self.order, 1] = np.arange(self.items) + 1
        # From the bottom up: the span of a node is complete before its parent takes it over.
        for node in np.argsort(self.level, kind="stable").tolist():
            above = self.parent[node]
            if above >= 0:
                spans[above, 0] = min(spans[above, 0], spans[node, 0])
                spans[above, 1] = max(spans[above, 1], spans[node, 1])
        return spans

    def above(self, node: int) -> tuple[int, ...]:
        """The ancestors of a node, the nearest first."""
        nodes = []
        while (node := int(self.parent[node])) >= 0:
            nodes.append(node)
        return tuple(nodes)

    def under(self, node: int) -> NDArray[np.int64]:
        """The items below a node, or the item itself."""
        first, last = self.spans[node]
        return self.order[first:last]

    def at_level(self, level: int) -> NDArray[np.int64]:
        """Per item the highest node above it that stands no higher than a level."""
        nodes = np.arange(self.items, dtype=np.int64)
        while True:
            # The root has no parent and stays where it is.
            above = np.where(self.parent[nodes] >= 0, self.parent[nodes], nodes)
            climbing = (self.level[above] <= level) & (above != nodes)
            if not climbing.any():
                return nodes
            nodes = np.where(climbing, above, nodes)

    @cached_property
    def height(self) -> int:
        """The level of the root."""
        return int(self.level[self.root])


def _grown(ladder: Ladder, labels: Sequence[str], column: str) -> Taxonomy:
    """Nodes from levels: a label that stands above itself, and above nothing else, is the same
    node.
    """
    label_codes = {label: code for code, label in enumerate(ladder.labels[0])}
    numbers: dict[tuple[int, int], int] = {}  # (level, code) → inner node
    # Per level how many codes of the level below stand under each code.
    below_it = [np.bincount(up) for up in ladder.up]
    names, parent, leaves, level_of = (
        list(labels),
        [-1] * len(labels),
        [0.0] * len(labels),
        [0] * len(labels),
    )

    def numbered(level: int, code: int) -> int:
        if (level, code) not in numbers:
            numbers[level, code] = len(names)
            names.append(str(ladder.labels[level][code]))
            parent.append(-1)
            leaves.append(float(ladder.leaves[level][code]))
            level_of.append(level)
        return numbers[level, code]

    for item, label in enumerate(labels):
        code, below = label_codes[label], item
        leaves[item] = float(ladder.leaves[0][code])
        for level in range(1, ladder.depth):
            stood = ladder.labels[level - 1][code]
            code = int(ladder.up[level - 1][code])
            # A label repeated on the next level with nothing else below it is a short branch of the
            # tree drawn out to full depth; it is one node. The top is kept: there must be a root.
            alone = ladder.labels[level][code] == stood and below_it[level - 1][code] == 1
            if alone and level < ladder.top:
                continue
            node = numbered(level, code)
            # The chain above a shared node was linked by the first item that reached it.
            if parent[below] < 0:
                parent[below] = node
            below = node
    return _checked(_root_last(names, parent, leaves, level_of, len(labels)), column)


def _root_last(
    names: list[str], parent: list[int], leaves: list[float], levels: list[int], items: int
) -> Taxonomy:
    # By level, so that parents have larger numbers than children and the root is the last.
    inner = sorted(range(items, len(names)), key=lambda node: (levels[node], names[node]))
    order = [*range(items), *inner]
    number = np.empty(len(names), dtype=np.int64)
    number[order] = np.arange(len(names))
    above = np.array(parent, dtype=np.int64)[order]
    return Taxonomy(
        tuple(names[node] for node in order),
        # Where there is no parent, −1 looks up the last entry; that value is not used.
        np.where(above >= 0, number[above], -1),
        np.array(leaves)[order],
        np.array(levels, dtype=np.int64)[order],
        items,
    )


def _checked(taxonomy: Taxonomy, column: str) -> Taxonomy:
    """Refuse a label that stands for two nodes: a release names nodes by nothing else."""
    inner = taxonomy.labels[taxonomy.items :]
    twice = len(inner) - len(set(inner))
    if twice:
        raise SchemaError(
            f"the hierarchy of {column!r} gives {twice} label(s) to more than one group; a release "
            "names groups by their labels, so give each its own name"
        )
    # An item may have the label of its own parent (it is that group itself), but of no other group.
    inner_codes = {label: taxonomy.items + number for number, label in enumerate(inner)}
    wrong = [
        item
        for item in range(taxonomy.items)
        if inner_codes.get(taxonomy.labels[item], taxonomy.parent[item]) != taxonomy.parent[item]
    ]
    if wrong:
        raise SchemaError(
            f"the hierarchy of {column!r} has {len(wrong)} item(s) with the label of another "
            "group; rename these groups"
        )
    return taxonomy
