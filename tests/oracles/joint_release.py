"""The joint release by its definition: everybody's rows on one table, every node looked at, in
plain Python.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

Paths = dict[str, dict[str, tuple[str, ...]]]
"""By quasi-identifier and value its path: itself, …, the top."""


def tops(paths: Paths) -> dict[str, int]:
    return {name: len(next(iter(column.values()))) - 1 for name, column in paths.items()}


def ordered_nodes(paths: Paths) -> list[dict[str, int]]:
    """All nodes by mean relative level, sum of levels, levels; columns that cannot climb first,
    then those with few values.
    """
    top = tops(paths)
    names = sorted(paths, key=lambda c: (top[c] > 0, len(paths[c]), c))
    nodes = list(itertools.product(*(range(top[c] + 1) for c in names)))
    nodes.sort(
        key=lambda n: (
            sum(Fraction(v, max(1, top[c])) for c, v in zip(names, n, strict=True)),
            sum(n),
            n,
        )
    )
    return [dict(zip(names, node, strict=True)) for node in nodes]


def recoded(row: dict[str, str], node: dict[str, int], paths: Paths) -> tuple[str, ...]:
    return tuple(paths[c][row[c]][level] for c, level in sorted(node.items()))


def holding(parties, node, paths, k, sensitive=(), diversity=0, insiders=False):
    """The classes that keep all promises."""
    classes: dict[tuple[str, ...], list[tuple[int, dict[str, str]]]] = {}
    for i, rows in enumerate(parties):
        for row in rows:
            classes.setdefault(recoded(row, node, paths), []).append((i, row))
    kept = set()
    for key, members in classes.items():
        mine = Counter(i for i, _ in members)
        crowd = len(members) - (max(mine.values()) if insiders else 0)
        diverse = all(len({row[s] for _, row in members}) >= diversity for s in sensitive)
        if crowd >= k and diverse:
            kept.add(key)
    return kept


def dropped(parties, node, paths, k, **promises):
    kept = holding(parties, node, paths, k, **promises)
    return sum(recoded(row, node, paths) not in kept for rows in parties for row in rows)


def release(parties, paths, k, budget, **promises):
    """The rank of the first node within the budget, the node, and the kept rows; None where there
    is none.
    """
    records = sum(map(len, parties))
    allowed = min(math.floor(Fraction(budget) * records), records - 1)
    for rank, node in enumerate(ordered_nodes(paths)):
        if dropped(parties, node, paths, k, **promises) <= allowed:
            kept = holding(parties, node, paths, k, **promises)
            rows = [row for party in parties for row in party if recoded(row, node, paths) in kept]
            written = [
                {**row, **{c: paths[c][row[c]][level] for c, level in node.items()}} for row in rows
            ]
            return rank, node, Counter(tuple(sorted(row.items())) for row in written)
    return None


def random_paths(draw: random.Random, columns: int) -> Paths:
    """Random hierarchies: each level joins some nodes of the level below, up to one top."""
    paths: Paths = {}
    for c in range(columns):
        size = draw.randint(2, 6) + c  # different numbers of values, mostly
        rows = [(f"{c}v{v}",) for v in range(size)]
        width = size
        for level in range(draw.randint(0, 2)):
            width = draw.randint(1, width)
            above = {label: draw.randrange(width) for label in sorted({row[-1] for row in rows})}
            rows = [(*row, f"{c}l{level}n{above[row[-1]]}") for row in rows]
        if draw.random() < 0.9:
            rows = [(*row, "*") for row in rows]
        elif len({row[-1] for row in rows}) > 1 and len(rows[0]) > 1:
            rows = [row[:1] for row in rows]  # a hierarchy has one top, or there is none
        paths[f"q{c}"] = {row[0]: row for row in rows}
    return paths


def random_tables(draw: random.Random, parties: int, paths: Paths) -> list[list[dict[str, str]]]:
    """Rows of all parties; every value of every domain occurs somewhere, and values are not equally
    frequent.
    """
    count = draw.randint(10, 60)
    rows = []
    for i in range(count):
        row = {}
        for c, column in paths.items():
            values = sorted(column)
            row[c] = values[i] if i < len(values) else values[int(len(values) * draw.random() ** 2)]
        rows.append({**row, "s": draw.choice(["a", "b", "c"])})
    owners = [draw.randrange(parties) for _ in rows]
    return [
        [row for row, owner in zip(rows, owners, strict=True) if owner == i] for i in range(parties)
    ]
