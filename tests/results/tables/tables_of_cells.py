"""Tables as plain equations, for worked examples and naive searches."""

from __future__ import annotations

import itertools

import numpy as np

from sfumato.results.tables.audit import audit
from sfumato.results.tables.problem import problem_of

INSIDE = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])


def with_margins(inside):
    """A table of two columns with its sums; cells are numbered row by row."""
    rows, columns = inside.shape
    table = np.zeros((rows + 1, columns + 1))
    table[:rows, :columns] = inside
    table[rows, :columns], table[:rows, columns], table[rows, columns] = (
        inside.sum(0),
        inside.sum(1),
        inside.sum(),
    )
    number = np.arange(table.size).reshape(table.shape)
    equations = []
    for line in [*number, *number.T]:
        equation = np.zeros(table.size)
        equation[line[:-1]], equation[line[-1]] = 1, -1
        equations.append(equation)
    return np.array(equations), table, number


def golden_a(needs, **options):
    """The table of three by three with needs by row and column from 1."""
    equations, table, number = with_margins(INSIDE)
    named = {int(number[r - 1, c - 1]): need for (r, c), need in needs.items()}
    return problem_of(equations, table.ravel(), named, **options), number


def naive_suppression(problem):
    """The least weight of cells whose suppression holds, by trying all sets."""
    others = [
        cell for cell in range(problem.size) if problem.free[cell] and not problem.primary[cell]
    ]
    best = None
    for count in range(len(others) + 1):
        for chosen in itertools.combinations(others, count):
            hidden = problem.primary.copy()
            hidden[list(chosen)] = True
            cost = float(problem.weight[hidden].sum())
            if (best is None or cost < best) and audit(problem, hidden, exact=False).holds:
                best = cost
    return best
