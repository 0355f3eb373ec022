"""A released column as nodes of its hierarchy: which values each label stands for, and into what
these divide one step below.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.attack import BLOCK_BYTES
from sfumato.core.hierarchy import TOP, Ladder, bind
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class NodeColumn:
    """A released column as nodes of its hierarchy.

    ``released`` and ``original`` are codes per released row. Label *i* stands for the values
    ``holds[i]`` (a mask); its parts one step below are ``children[i]`` (masks; none for a single
    value and for labels that are no nodes, ``known[i]`` false; a label that several levels write
    for different values is no node unless the column's level is known). Steps on which nothing
    divides are passed over. ``below[i, j]`` says that label *i* is label *j* or lies below it.
    """

    name: str
    released: Ints
    original: Ints
    holds: Flags
    known: Flags
    children: tuple[Sequence[Flags], ...]
    below: Flags

    @classmethod
    def of(cls, pair: TablePair, name: str) -> NodeColumn:
        """Read a column of a release in terms of the values that occur in the original."""
        reading = pair.reading(name)
        counts = np.bincount(reading.original, minlength=len(reading.values)).tolist()
        ladder = bind(pair.original.schema[name].hierarchy, reading.values, counts)
        levels = _levels(ladder, tuple(reading.values))
        if len(reading.labels) * max(len(reading.labels), len(reading.values)) > BLOCK_BYTES:
            raise ParameterError(
                f"{name} has {len(reading.values):,} values under {len(reading.labels):,} labels,"
                " too many to audit its classes; generalise it further, or leave it out"
            )
        nodes = [_node(ladder, levels, label, reading.level) for label in reading.labels]
        masks = [mask for mask, _ in nodes]
        holds = np.array(masks, dtype=bool).reshape(len(nodes), len(reading.values))
        is_node: Flags = holds.sum(axis=1) > 0
        # Per two labels whether all values of the first are values of the second; few labels
        # hold any one value, so few pairs have any in common
        from scipy.sparse import csr_array

        table = csr_array(holds.astype(np.int64))
        shared: Ints = (table @ table.T).toarray()
        inside: Flags = shared == holds.sum(axis=1)[:, None]
        are_nodes = is_node[:, None] & is_node[None, :]
        below = (inside & are_nodes) | np.eye(len(nodes), dtype=bool)
        parts = tuple(parts for _, parts in nodes)
        return cls(
            name, reading.released, reading.original[pair.rows], holds, is_node, parts, below
        )


class NodeParts(Sequence["NDArray[np.bool_]"]):
    """The parts of a label, as masks over the values; a mask is made when it is asked for, as a
    label may have very many.
    """

    def __init__(self, mask: Flags, nodes: Ints) -> None:
        self._held = mask
        self._nodes = nodes
        self._parts = np.unique(nodes[mask])

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: Any) -> Any:
        mask: Flags = self._held & (self._nodes == self._parts[number])
        return mask

    @property
    def cells(self) -> int:
        """Cells of all masks together."""
        return len(self._parts) * len(self._held)


def _levels(ladder: Ladder, values: tuple[str | None, ...]) -> list[Ints]:
    """Per level the node of each original value."""
    leaf = {label: code for code, label in enumerate(ladder.labels[0])}
    start = np.array([leaf[value] for value in values], dtype=np.int64)
    return [ladder.climb(0, level)[start] for level in range(ladder.depth)]


def _node(
    ladder: Ladder, levels: list[Ints], label: str | None, known_level: int | None
) -> tuple[Flags, Sequence[Flags]]:
    """The values below a label, and how they divide one step below; nothing for a label that is no
    node.
    """
    having = [level for level, labels in enumerate(ladder.labels) if label in labels]
    if having:
        level = known_level if known_level in having else having[0]
        masks = [
            levels[level_number] == ladder.labels[level_number].index(label)
            for level_number in having
        ]
        if level != known_level and any((mask != masks[0]).any() for mask in masks):
            return np.zeros(len(levels[0]), dtype=bool), ()
        return masks[having.index(level)], _divide_node(levels[:level], masks[having.index(level)])
    everything = np.full(len(levels[0]), label == TOP, dtype=bool)
    lower = levels[: max(1, ladder.top)]  # a cell suppressed in a column that has no such node
    return everything, _divide_node(lower, everything)


def _divide_node(lower: list[Ints], mask: Flags) -> Sequence[Flags]:
    """The parts into which values fall on the next level where they do fall apart."""
    for nodes in reversed(lower):
        parts = NodeParts(mask, nodes)
        if len(parts) > 1:
            return parts
    return ()
