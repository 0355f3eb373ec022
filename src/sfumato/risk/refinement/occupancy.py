"""How many records of a class can lie in each part of its cells, if the class could not have been released finer."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.core.extras import require

MOST_CASES = 5_000
"""Ways to fill the parts up to which all are looked at; beyond, a solver is asked."""
MOST_COMBINATIONS = 4_096
"""Combinations of parts up to which columns are taken together."""
SECONDS_A_QUESTION = 2.0

Combination = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Per column and part the least and the greatest number of records; ``together`` if columns were solved jointly."""

    least: tuple[tuple[int, ...], ...]
    most: tuple[tuple[int, ...], ...]
    together: bool = False

    def determined(self, column: int) -> bool:
        """Whether the number of records in every part of a column is certain."""
        return self.least[column] == self.most[column]


def column_bounds(size: int, parts: int, most: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Bounds of ``size`` records over ``parts`` parts of at most ``most`` each; None where they do not fit.

    >>> column_bounds(6, 3, 2)
    ((2, 2, 2), (2, 2, 2))
    >>> column_bounds(3, 2, 2)
    ((1, 1), (2, 2))
    >>> column_bounds(6, 2, 2) is None
    True
    """
    if parts * most < size:
        return None
    return (max(0, size - most * (parts - 1)),) * parts, (min(most, size),) * parts


def joint_bounds(
    size: int, parts: Sequence[int], most: int, allowed: Sequence[Combination], seconds: float
) -> Bounds | None:
    """Bounds when only some combinations of parts are allowed; None where nothing fits.

    Exact by enumeration where there are few cases, by CP-SAT otherwise; where its time runs out, its proved bounds.

    >>> joint_bounds(2, [2, 2], 1, [(0, 1), (1, 0), (1, 1)], 1.0)
    Bounds(least=((1, 1), (1, 1)), most=((1, 1), (1, 1)), together=True)
    """
    if not allowed:
        return None
    if math.comb(len(allowed) + size - 1, size) <= MOST_CASES:
        return _enumerated(size, parts, most, allowed)
    return _solved(size, parts, most, allowed, seconds)


def occupancies(size: int, most: int, allowed: Sequence[Combination]) -> Iterator[Mapping[tuple[int, int], int]]:
    """Every way to give ``size`` records allowed combinations with at most ``most`` records in a part: counts by (column, part)."""
    for chosen in itertools.combinations_with_replacement(allowed, size):
        counts: dict[tuple[int, int], int] = {}
        for combination in chosen:
            for place in enumerate(combination):
                counts[place] = counts.get(place, 0) + 1
        if max(counts.values(), default=0) <= most:
            yield counts


def _enumerated(size: int, parts: Sequence[int], most: int, allowed: Sequence[Combination]) -> Bounds | None:
    places = [(c, p) for c, n in enumerate(parts) for p in range(n)]
    least, greatest = dict.fromkeys(places, size + 1), dict.fromkeys(places, -1)
    for counts in occupancies(size, most, allowed):
        for place in places:
            least[place] = min(least[place], counts.get(place, 0))
            greatest[place] = max(greatest[place], counts.get(place, 0))
    return None if greatest[places[0]] < 0 else _bounds(parts, least, greatest)


def _solved(
    size: int, parts: Sequence[int], most: int, allowed: Sequence[Combination], seconds: float
) -> Bounds | None:
    """Ask CP-SAT for the least and the greatest number in every part."""
    cp = require("ortools.sat.python.cp_model", extra="solvers", to="take several columns of large classes together")
    model = cp.CpModel()
    amounts = [model.new_int_var(0, size, f"combination {i}") for i in range(len(allowed))]
    model.add(sum(amounts) == size)
    every = [(c, p) for c, n in enumerate(parts) for p in range(n)]
    sums = {(c, p): _sum(amounts, allowed, c, p) for c, p in every if any(a[c] == p for a in allowed)}
    for total in sums.values():
        model.add(total <= most)
    least, greatest = dict.fromkeys(every, 0), dict.fromkeys(every, 0)
    for place, total in sums.items():
        low = _extreme(cp, model, total, seconds, least=True)
        if low is None:
            return None
        high = _extreme(cp, model, total, seconds, least=False)
        least[place], greatest[place] = low, size if high is None else high
    return _bounds(parts, least, greatest)


def _sum(amounts: Sequence[Any], allowed: Sequence[Combination], column: int, part: int) -> Any:
    return sum(amount for amount, combination in zip(amounts, allowed, strict=True) if combination[column] == part)


def _extreme(cp: Any, model: Any, total: Any, seconds: float, *, least: bool) -> int | None:
    """The least or greatest value, or the bound proved for it in time; None if there is no way to fill the parts, or nothing is proved."""
    (model.minimize if least else model.maximize)(total)
    solver = cp.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = max(0.01, min(seconds, SECONDS_A_QUESTION))
    status = solver.solve(model)
    if status == cp.INFEASIBLE or (not least and status not in (cp.OPTIMAL, cp.FEASIBLE)):
        return None
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return 0  # out of time before anything was proved
    bound = float(solver.best_objective_bound)
    return max(0, math.ceil(bound - 1e-6)) if least else math.floor(bound + 1e-6)


def _bounds(parts: Sequence[int], least: Mapping[tuple[int, int], int], most: Mapping[tuple[int, int], int]) -> Bounds:
    def rows(table: Mapping[tuple[int, int], int]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(table[c, p] for p in range(n)) for c, n in enumerate(parts))

    return Bounds(rows(least), rows(most), together=True)
