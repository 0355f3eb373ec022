"""Counting leaves and loss for hierarchies that are rules: only the values that occur are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from sfumato.core.hierarchy import TOP, Paths

Extent = tuple[float, float]
"""Where a node begins and ends on the axis of its column; a leaf begins where it ends."""

EVERYWHERE: Extent = (float("-inf"), float("inf"))
"""The extent of the top."""


def category_paths(rows: Sequence[tuple[str, ...]], own: Sequence[int], depth: int) -> Paths:
    """Paths with the loss of categories, ``(leaves−1)/(all leaves−1)``, from the values that occur.

    ``own[i]`` is the level of the node that value *i* is: 0 for an original value. A column without values has
    the depth of the rule and its top, and nothing else.
    """
    if not rows:
        empty: tuple[dict[str, float], ...] = tuple({} for _ in range(depth - 1))
        return Paths((), (*empty, {TOP: 1.0}), (*empty, {TOP: 1.0}))
    return Paths.from_leaf_rows(rows, leaf_rows(rows, own))


def extent_paths(
    rows: Sequence[tuple[str, ...]],
    own: Sequence[int],
    extents: Sequence[Mapping[str, Extent]],
    domain: Extent | None,
) -> Paths:
    """Paths with the loss of numbers and dates: the extent inside the domain over the width of the domain.

    ``extents[level]`` has the extent of every label below the top that is not a leaf; a leaf has none and loses
    nothing. The top has loss 1, unless the domain is a single point: then nothing can be lost. ``None`` for a
    domain: no value says where it lies.
    """
    loss = [{label: _share(extent, domain) for label, extent in level.items()} for level in extents]
    loss.append({TOP: _share(EVERYWHERE, domain)})
    for row in rows:
        loss[0].setdefault(row[0], 0.0)
    return dataclasses.replace(category_paths(rows, own, len(loss)), loss=tuple(loss), measured=True)


def _share(span: Extent, domain: Extent | None) -> float:
    if domain is None:
        return 1.0
    low, high = domain
    inside = min(span[1], high) - max(span[0], low)
    return max(0.0, inside / (high - low)) if high > low else 0.0


def leaf_rows(rows: Sequence[tuple[str, ...]], own: Sequence[int]) -> list[tuple[str, ...]]:
    """The rows of values with nothing finer below them; an inner node alone is as fine as the column gets.

    >>> leaf_rows([("53711", "5371*", "*"), ("5371*", "5371*", "*"), ("5399*", "5399*", "*")], [0, 1, 1])
    [('53711', '5371*', '*'), ('5399*', '5399*', '*')]
    """
    pairs = list(zip(rows, own, strict=True))
    top = len(rows[0]) - 1 if rows else 0
    finer = {level: {row[level] for row, lower in pairs if lower < level} for level in set(own) if 0 < level < top}
    return [row for row, level in pairs if not level or (level < top and row[level] not in finer[level])]
