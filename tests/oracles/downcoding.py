"""Minimality by its definition: try every finer release."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence

Node = str
Record = tuple[str, ...]
Ladders = Sequence[dict[str, tuple[str, ...]]]
"""Per column and value its path: itself, the node above it, …, the top."""


def options(record: Record, ladders: Ladders) -> list[Record]:
    """Every way to write a record: a node above each of its values."""
    return list(
        itertools.product(*(ladder[value] for value, ladder in zip(record, ladders, strict=True)))
    )


def not_coarser(one: Record, other: Record, record: Record, ladders: Ladders) -> bool:
    """Whether one way to write a record lies at or below another in every column."""
    paths = [ladder[value] for value, ladder in zip(record, ladders, strict=True)]
    return all(path.index(a) <= path.index(b) for path, a, b in zip(paths, one, other, strict=True))


def finer_releases(records: Sequence[Record], released: Sequence[Record], ladders: Ladders):
    """Per record all ways to write it that are not coarser than now."""
    return [
        [way for way in options(record, ladders) if not_coarser(way, now, record, ladders)]
        for record, now in zip(records, released, strict=True)
    ]


def is_minimal(
    records: Sequence[Record],
    released: Sequence[Record],
    k: int,
    ladders: Ladders,
    others: Counter[Record] | None = None,
) -> bool:
    """Whether no release that is finer somewhere and coarser nowhere keeps k; ``others`` are
    records that stay as they are.
    """
    others = others or Counter()
    for finer in itertools.product(*finer_releases(records, released, ladders)):
        sizes = others + Counter(finer)
        if finer != tuple(released) and min(sizes.values()) >= k:
            return False
    return True


def minimal_release(records: Sequence[Record], k: int, ladders: Ladders, seed: int) -> list[Record]:
    """Some release that keeps k and that no other one refines: from the top, finer and finer, at
    random.
    """
    draws = random.Random(seed)
    released = [
        tuple(ladder[value][-1] for value, ladder in zip(r, ladders, strict=True)) for r in records
    ]
    while True:
        found = [
            list(finer)
            for finer in itertools.product(*finer_releases(records, released, ladders))
            if list(finer) != released and min(Counter(finer).values()) >= k
        ]
        if not found:
            return released
        released = draws.choice(found)


def occupancy_bounds(
    key: Record, size: int, k: int, ladders: Ladders, others: Counter[Record]
) -> tuple[dict[str, tuple[int, int]], ...] | None:
    """Per column and child of a class's node the least and greatest number of its records, over all
    fillings that are minimal.
    """
    below = [
        [value for value, path in ladder.items() if node in path]
        for node, ladder in zip(key, ladders, strict=True)
    ]
    kept = [
        filling
        for filling in itertools.combinations_with_replacement(
            list(itertools.product(*below)), size
        )
        if is_minimal(filling, [key] * size, k, ladders, others)
    ]
    if not kept:
        return None
    bounds = []
    for c, (node, ladder) in enumerate(zip(key, ladders, strict=True)):
        child = {value: ladder[value][max(0, ladder[value].index(node) - 1)] for value in below[c]}
        counts = [Counter(child[record[c]] for record in filling) for filling in kept]
        bounds.append(
            {w: (min(n[w] for n in counts), max(n[w] for n in counts)) for w in set(child.values())}
        )
    return tuple(bounds)
