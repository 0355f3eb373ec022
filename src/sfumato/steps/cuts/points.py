"""Points at which columns may be cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sfumato.steps.cuts.cut import Cut
from sfumato.steps.cuts.ground import Ground

if TYPE_CHECKING:
    from sfumato.steps.partition.axes import Axis

Point = tuple[int, int]
"""An axis and the rank before which it is cut."""


def cuts_with(axes: Sequence[Axis], points: Collection[Point]) -> list[Cut]:
    """The cuts of all columns that have these points."""
    return [(0, *sorted(rank for b, rank in points if b == a)) for a in range(len(axes))]


def points_of_all(ground: Ground, most: int) -> tuple[list[Point], int]:
    """At most so many cut points of all columns together, and how many there could be."""
    possible = [max(0, len(axis.labels) - 1) for axis in ground.axes]
    points = [(a, rank) for a, share in enumerate(shares(possible, most)) for rank in _quantiles(ground, a, share)]
    return points, sum(possible)


def shares(wanted: Sequence[int], most: int) -> list[int]:
    """Share out ``most`` evenly; who wants less leaves the rest to the others.

    >>> shares([1, 10, 4], 9)
    [1, 4, 4]
    """
    given = [0] * len(wanted)
    while sum(given) < min(most, sum(wanted)):
        least = min(g for g, w in zip(given, wanted, strict=True) if g < w)
        first = next(a for a, (g, w) in enumerate(zip(given, wanted, strict=True)) if g < w and g == least)
        given[first] += 1
    return given


def _quantiles(ground: Ground, a: int, share: int) -> list[int]:
    """So many ranks of an axis that between them lie as equal numbers of records as can be; all where there are no more."""
    import numpy as np

    size = len(ground.axes[a].labels)
    if share >= size - 1:
        return list(range(1, size))
    records = np.bincount(ground.ranks[a], weights=ground.classes.records, minlength=size)
    before = np.cumsum(records)[:-1] / max(1.0, float(records.sum()))  # share of records before rank 1, 2, …
    chosen: list[int] = []
    for i in range(1, share + 1):
        distance = np.abs(before - i / (share + 1))
        distance[chosen] = np.inf
        chosen.append(int(np.argmin(distance)))
    return [rank + 1 for rank in sorted(chosen)]
