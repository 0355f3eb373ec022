"""Record linkage by its definitions, record by record."""

from __future__ import annotations

import math

import numpy as np

ORDER = ("low", "middle", "high", "top")


def cell_ends(cell):
    """The least and the greatest number a released cell stands for."""
    if isinstance(cell, str) and ".." in cell:
        low, high = cell.split("..")
        return float(low), float(high)
    return float(cell), float(cell)


def number_distance(x, cell, deviation, *, mean):
    low, high = cell_ends(cell)
    x, low, high = x / deviation, low / deviation, high / deviation
    if mean:
        return (x - (low + high) / 2) ** 2 + (high - low) ** 2 / 12
    return max(0.0, low - x, x - high) ** 2


def rank_distance(x, cell, *, mean):
    first, _, last = cell.partition("..")
    low, high = ORDER.index(first), ORDER.index(last or first)
    rank = ORDER.index(x)
    if not mean:
        return max(0, low - rank, rank - high) / (len(ORDER) - 1)
    if high == low:
        return abs(rank - low) / (len(ORDER) - 1)
    # the mean of |x - u| over u between the ends, by the integral of each side
    left, right = rank - low, high - rank
    area = (abs(left) * left + abs(right) * right) / 2
    return area / (high - low) / (len(ORDER) - 1)


def category_distance(x, cell, *, mean):
    members = [part.strip() for part in cell.strip("{}").split(",")]
    if x not in members:
        return 1.0
    return 1 - 1 / len(members) if mean else 0.0


def deviation(register, released):
    """Standard deviation of the intruder's numbers and the middles of released cells together."""
    values = [float(v) for v in register if v is not None]
    values += [sum(cell_ends(c)) / 2 for c in released if c not in (None, "*")]
    spread = float(np.std(values)) if values else 0.0
    return spread if spread > 1e-12 * max(map(abs, values), default=0.0) else 1.0


def cell_distance(name, x, cell, spread, *, mean):
    """The distance in one column; a suppressed cell is at distance 0."""
    if cell == "*":
        return 0.0
    if x is None or cell is None:
        return 0.0 if x is cell else (2.0 if name[0] == "n" else 1.0)
    if name[0] == "n":
        return number_distance(float(x), cell, spread, mean=mean)
    return (
        rank_distance(x, cell, mean=mean)
        if name[0] == "o"
        else category_distance(x, cell, mean=mean)
    )


def distance_table(register, released, *, mean=False, weights=None):
    """Distances of all rows of the register (mapping of columns) to all released rows."""
    total = 0.0
    for name, theirs in register.items():
        ours = released[name]
        spread = deviation(theirs, ours) if name[0] == "n" else 1.0
        part = np.array(
            [[cell_distance(name, x, cell, spread, mean=mean) for cell in ours] for x in theirs]
        )
        total = total + (weights or {}).get(name, 1.0) * part
    return total


def credit(table, truth, rows):
    """Mean credit of the register's people, and of the released records of people in the
    register.
    """

    def mean(values):
        return sum(values) / len(values) if values else 0.0

    def share(distances, own):
        least = min(distances)
        near = [math.isclose(d, least, rel_tol=1e-9, abs_tol=1e-9) for d in distances]
        return sum(n and o for n, o in zip(near, own, strict=True)) / sum(near)

    forwards = [share(table[i], [r == t for r in rows]) for i, t in enumerate(truth) if t >= 0]
    backwards = [
        share(table[:, j], [t == r for t in truth])
        for j, r in enumerate(rows)
        if any(t == r for t in truth)
    ]
    return mean(forwards), mean(backwards)


def strict_links(table, own):
    """How many rows have their own column strictly nearer than every other."""
    return sum(
        all(table[i, own[i]] < table[i, j] for j in range(table.shape[1]) if j != own[i])
        for i in range(len(table))
    )
