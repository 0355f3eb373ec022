"""A hierarchy as its owner looks at it: levels, nodes, and how many records stand under each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.core.fields import Document
from sfumato.core.hierarchy import Hierarchy, Ladder, bind
from sfumato.errors import SchemaError
from sfumato.methods.hierarchies.by_example import Like


@dataclasses.dataclass(frozen=True, repr=False)
class NodeView:
    """A node of a level: its label, the records under it and the distinct values they have."""

    label: str | None
    records: int
    values: int


@dataclasses.dataclass(frozen=True, repr=False)
class LevelView:
    """A level: its nodes, and the smallest, median and largest number of records of one; zeros
    without any.
    """

    level: int
    nodes: tuple[NodeView, ...]

    @property
    def spread(self) -> tuple[int, float, int]:
        """Records of the smallest, the median and the largest node."""
        records = [node.records for node in self.nodes] or [0]
        return min(records), float(np.median(records)), max(records)

    def to_dict(self) -> Document:
        """Plain data."""
        smallest, median, largest = self.spread
        figures = {
            "nodes": len(self.nodes),
            "smallest": smallest,
            "median": median,
            "largest": largest,
        }
        return {
            "level": self.level,
            **figures,
            "labels": [dataclasses.asdict(node) for node in self.nodes],
        }


@dataclasses.dataclass(frozen=True, repr=False)
class HierarchyView:
    """All levels of a hierarchy on a column; values it does not cover are counted and left out.
    Labels are data: the owner's eyes only.
    """

    ladder: Ladder
    levels: tuple[LevelView, ...]
    words: tuple[str, ...]
    uncovered_values: int
    uncovered_records: int

    @property
    def covered(self) -> list[str]:
        """The values that have a path."""
        return [value for value in self.ladder.labels[0] if value is not None]

    def to_dict(self) -> Document:
        """Plain data, with all labels."""
        levels = [level.to_dict() for level in self.levels]
        uncovered = {"values": self.uncovered_values, "records": self.uncovered_records}
        return {
            "rule": list(self.words),
            "levels": levels,
            "uncovered": uncovered,
        }


def view_hierarchy(
    hierarchy: Hierarchy, values: Sequence[str | None], counts: Sequence[int]
) -> HierarchyView:
    """Look at a hierarchy on the distinct values of a column, which occur so often (None: missing).

    >>> from sfumato.methods.hierarchies import mask_right
    >>> view = view_hierarchy(mask_right(2), ["11", "12", "999", None], [3, 1, 4, 1])
    >>> [level.spread for level in view.levels], view.uncovered_values, view.uncovered_records
    ([(1, 1.0, 3), (1, 2.5, 4), (5, 5.0, 5)], 1, 4)
    """
    covered = [True] * len(values)
    ladder = None
    try:
        ladder = bind(hierarchy, values, counts)
    except SchemaError:
        # Together they were refused; which values are to blame is found one by one.
        covered = [value is None or covers(hierarchy, value) for value in values]
        if all(covered):  # each alone, and not together: the rule says itself what is wrong
            raise
    pairs = []
    for value, count, is_covered in zip(values, counts, covered, strict=True):
        if is_covered:
            pairs.append((value, count))
    ladder = ladder or bind(hierarchy, [value for value, _ in pairs], [count for _, count in pairs])
    records = dict(pairs)
    # Records in the order of the ladder, which is not that of the values.
    amounts = np.array([records[value] for value in ladder.labels[0]], dtype=np.int64)
    present = np.array([value is not None for value in ladder.labels[0]], dtype=np.int64)
    return HierarchyView(
        ladder,
        tuple(_level(ladder, level, amounts, present) for level in range(ladder.depth)),
        words=hierarchy.rule.words if isinstance(hierarchy, Like) else (),
        uncovered_values=sum(not is_covered for is_covered in covered),
        uncovered_records=sum(
            count for count, is_covered in zip(counts, covered, strict=True) if not is_covered
        ),
    )


def covers(hierarchy: Hierarchy, value: str) -> bool:
    """Whether a hierarchy has a path for a value by itself."""
    try:
        hierarchy.paths([value], [1])
    except SchemaError:
        return False
    return True


def _level(ladder: Ladder, level: int, amounts: Any, present: Any) -> LevelView:
    codes = ladder.climb(0, level)
    size = len(ladder.labels[level])
    records = np.bincount(codes, weights=amounts, minlength=size).astype(int)
    # Missing values are records of a node but no value of it.
    values = np.bincount(codes, weights=present, minlength=size).astype(int)
    nodes = zip(ladder.labels[level], records.tolist(), values.tolist(), strict=True)
    return LevelView(level, tuple(NodeView(*node) for node in nodes))
