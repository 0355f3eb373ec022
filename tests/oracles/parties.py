"""Joint statistics by their definitions: all rows on one table, exact fractions and loops, in plain
Python.

A row is a mapping of raw values: None, numbers, booleans or text, as they stand in somebody's
table. ``where`` is columns and words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

Row = Mapping[str, Any]


def number(value: Any) -> Fraction | float | None:
    """The number a value stands for: text that reads as one does, and yes and no are 1 and 0; ±∞
    stays, anything else is missing.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return Fraction(int(value.lower() == "true"))
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else value
    return Fraction(value)


def word(value: Any, words: Sequence[str]) -> int | None:
    """The place of a value among words: by its spelling, else as the same number."""
    if isinstance(value, bool):
        value = str(value).lower()
    if isinstance(value, str) and value in words:
        return words.index(value)
    read = (
        number(value)
        if not (isinstance(value, str) and value.lower() in ("true", "false"))
        else None
    )
    for place, listed in enumerate(words):
        try:
            if read is not None and float(listed) == float(read) and math.isfinite(read):
                return place
        except ValueError:
            continue
    return None


def bounded(
    value: Any, bounds: Sequence[str], scale: int, *, around: bool = True
) -> Fraction | None:
    """A number moved into its bounds and rounded to a multiple of 2^−scale, at halves to even ones
    counted from the middle.
    """
    read = number(value)
    if read is None:
        return None
    low, high = map(Fraction, bounds)
    clipped = min(max(read, low), high)
    middle = math.floor((low + high) / 2) if around else 0
    return middle + Fraction(round((Fraction(clipped) - middle) * 2**scale), 2**scale)


def counts_in(row: Row, where: Mapping[str, Sequence[str]]) -> bool:
    return all(word(row[column], words) is not None for column, words in where.items())


def numbers(
    rows: Iterable[Row],
    column: str,
    bounds: Sequence[str],
    scale: int,
    where: Any,
    *,
    around: bool = True,
) -> list[Fraction]:
    found = [
        bounded(row[column], bounds, scale, around=around) for row in rows if counts_in(row, where)
    ]
    return [value for value in found if value is not None]


def count(rows: Iterable[Row], where: Any) -> int:
    return sum(counts_in(row, where) for row in rows)


def mean(values: Sequence[Fraction]) -> Fraction | None:
    return sum(values, Fraction(0)) / len(values) if values else None


def variance(values: Sequence[Fraction]) -> Fraction | None:
    middle = mean(values)
    if middle is None or len(values) < 2:
        return None
    return sum(((v - middle) ** 2 for v in values), Fraction(0)) / (len(values) - 1)


def welch(one: Sequence[Fraction], other: Sequence[Fraction]) -> tuple[float, float] | None:
    """Welch's t and its degrees of freedom."""
    spreads = [variance(one), variance(other)]
    if spreads[0] is None or spreads[1] is None or spreads[0] + spreads[1] == 0:
        return None
    a, b = spreads[0] / len(one), spreads[1] / len(other)
    t = float(sum(one) / len(one) - sum(other) / len(other)) / math.sqrt(a + b)
    return t, float((a + b) ** 2 / (a**2 / (len(one) - 1) + b**2 / (len(other) - 1)))


def place(value: Any, side: Mapping[str, Any]) -> int | None:
    """The cell of a value on one side of a table."""
    if side.get("domain"):
        return word(value, side["domain"])
    read, ends = number(value), [float(end) for end in side["edges"]]
    if read is None or not ends[0] <= read <= ends[-1]:
        return None
    return min(sum(read >= end for end in ends) - 1, len(ends) - 2)


def cells(
    rows: Iterable[Row], sides: Sequence[Mapping[str, Any]], where: Any
) -> dict[tuple[int, ...], int]:
    """How many rows fall into each cell that has any."""
    found: dict[tuple[int, ...], int] = {}
    for row in rows:
        where_in = tuple(place(row[side["column"]], side) for side in sides)
        if counts_in(row, where) and None not in where_in:
            found[where_in] = found.get(where_in, 0) + 1  # type: ignore[index, arg-type]
    return found


def large_cells(found: Mapping[tuple[int, ...], int], least: int) -> dict[tuple[int, ...], int]:
    return {cell: size for cell, size in found.items() if size >= least}


def chi_square(table: Sequence[Sequence[int]]) -> float | None:
    total = sum(map(sum, table))
    across, down = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    if sum(n > 0 for n in across) < 2 or sum(n > 0 for n in down) < 2:
        return None
    terms = [
        (Fraction(table[i][j]) - Fraction(across[i] * down[j], total)) ** 2
        / Fraction(across[i] * down[j], total)
        for i in range(len(across))
        for j in range(len(down))
        if across[i] and down[j]
    ]
    return float(sum(terms))


def quantile(sizes: Sequence[int], edges: Sequence[str], level: str) -> float | None:
    """``lo + w(pN − F)/h`` in the first bin up to whose end there are at least pN records, F of
    them before it.
    """
    wanted, before, ends = Fraction(level) * sum(sizes), 0, [Fraction(edge) for edge in edges]
    for i, size in enumerate(sizes):
        if size and before + size >= wanted:
            return float(ends[i] + (ends[i + 1] - ends[i]) * (wanted - before) / size)
        before += size
    return None


def joined_bins(
    sizes: Sequence[int], edges: Sequence[str], least: int
) -> tuple[list[int], list[str]]:
    """Bins by twos, fours and so on, from the left, until none holds fewer than the least; with a
    least of one all are told.
    """
    width = 1
    while True:
        starts = range(0, len(sizes), width)
        found = [sum(sizes[start : start + width]) for start in starts]
        if least <= 1 or min(found) >= least or len(found) == 1:
            return found, [*(edges[start] for start in starts), edges[-1]]
        width *= 2


def solved(matrix: list[list[Any]], right: list[Any]) -> list[Any] | None:
    """Gauss's elimination, exact on fractions; None where there is not one solution."""
    size, rows = len(right), [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        if rows[pivot][i] == 0:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(
    xs: Sequence[Sequence[Fraction]], ys: Sequence[Fraction]
) -> tuple[list[Fraction], Fraction] | None:
    """Coefficients, intercept first, and the sum of squared residuals."""
    lines = [[Fraction(1), *x] for x in xs]
    if not lines or len(lines) <= len(lines[0]):
        return None
    size = range(len(lines[0]))
    inner = [[sum((line[i] * line[j] for line in lines), Fraction(0)) for j in size] for i in size]
    beta = solved(
        inner,
        [sum((line[i] * y for line, y in zip(lines, ys, strict=True)), Fraction(0)) for i in size],
    )
    if beta is None:
        return None
    fitted = [sum((b * v for b, v in zip(beta, line, strict=True)), Fraction(0)) for line in lines]
    return beta, sum(((y - f) ** 2 for y, f in zip(ys, fitted, strict=True)), Fraction(0))


def logistic(
    xs: Sequence[Sequence[float]], ys: Sequence[int], steps: int = 60
) -> tuple[list[float], float] | None:
    """Newton's steps with halving, in plain floats: coefficients and log-likelihood, or None where
    they run away.
    """
    lines = [[1.0, *x] for x in xs]
    beta = [0.0] * (len(lines[0]) if lines else 1)

    def likelihood(at: Sequence[float]) -> float:
        linear = [sum(b * v for b, v in zip(at, line, strict=True)) for line in lines]
        return sum(
            y * z - (z + math.log1p(math.exp(-z)) if z > 0 else math.log1p(math.exp(z)))
            for y, z in zip(ys, linear, strict=True)
        )

    for _ in range(steps):
        chance = [
            1 / (1 + math.exp(-sum(b * v for b, v in zip(beta, line, strict=True))))
            for line in lines
        ]
        size = range(len(beta))
        gradient = [
            sum(line[i] * (y - p) for line, y, p in zip(lines, ys, chance, strict=True))
            for i in size
        ]
        hessian = [
            [
                sum(p * (1 - p) * line[i] * line[j] for line, p in zip(lines, chance, strict=True))
                for j in size
            ]
            for i in size
        ]
        step = solved(hessian, gradient)
        if step is None or any(not math.isfinite(s) for s in step):
            return None
        while (
            likelihood([b + s for b, s in zip(beta, step, strict=True)]) < likelihood(beta) - 1e-9
            and max(map(abs, step)) > 1e-9
        ):
            step = [s / 2 for s in step]
        beta = [b + s for b, s in zip(beta, step, strict=True)]
        if max(map(abs, beta)) > 20:
            return None
    return beta, likelihood(beta)


def dominated(parties: Sequence[Sequence[Fraction]], percent: int) -> bool:
    """Whether for two contributors u, w the rest X − u − w is below p % of u, contributors being
    parties and being records.
    """
    amounts = [[abs(value) for value in some] for some in parties]
    total = sum((sum(some, Fraction(0)) for some in amounts), Fraction(0))
    totals = [sum(some, Fraction(0)) for some in amounts]
    records = sorted((value for some in amounts for value in some), reverse=True)[:2]
    return any(
        100 * (total - u - w) < percent * u
        for group in (totals, records)
        for u, w in permutations(group, 2)
    )
