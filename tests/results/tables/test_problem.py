"""A table as equations: what an intruder who sees it can solve, and what must stay unknown."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.results.tables.audit import audit, components_of
from sfumato.results.tables.problem import problem_of
from tests.results.tables.tables_of_cells import with_margins
from tests.results.tables.test_changed_cells import state  # noqa: F401 - a fixture
from tests.results.tables.test_exact import hidden


def naive_bounds(problem, hidden_cells):
    """Least and most of suppressed counts of a small table, by trying all whole numbers."""
    cells = np.flatnonzero(hidden_cells)
    ranges = [range(int(problem.upper[cell]) + 1) for cell in cells]
    found = []
    for values in itertools.product(*ranges):
        table = problem.value.copy()
        table[cells] = values
        if not (problem.matrix @ table).any():
            found.append(values)
    return np.min(found, axis=0), np.max(found, axis=0)


@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.sets(st.integers(0, 8), min_size=1, max_size=5),
)
@settings(max_examples=15, deadline=None)
def test_the_audit_is_what_trying_all_tables_finds(inside, chosen):
    equations, table, _ = with_margins(np.array(inside).reshape(2, 2))
    problem = problem_of(equations, table.ravel(), {}, whole=True)
    cells = np.zeros(9, dtype=bool)
    cells[list(chosen)] = True
    seen = audit(problem, cells)
    low, high = naive_bounds(problem, cells)
    assert (seen.low.tolist(), seen.high.tolist()) == (low.tolist(), high.tolist())


def test_components_are_cells_that_stand_in_equations_together():
    equations, table, number = with_margins(np.ones((4, 4)))
    problem = problem_of(equations, table.ravel(), {})
    cells = hidden(problem, number, (1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (4, 4))
    assert sorted(len(one) for one in components_of(problem, cells)) == [1, 1, 4]


def test_who_is_alone_in_a_difference_does_not_believe_in_less_than_that_in_another():
    # two atoms, the difference that is the first of them, and the one that is both
    problem = problem_of(
        [[1, 0, -1, 0], [1, 1, 0, -1]], [32, 2, 32, 34], {3: (3.2, 3.2)}, owner={2: 7}
    )
    assert problem.need(3, -1) == 3.2
    assert problem.need(3, -1, 7) == 2


def test_a_lone_respondent_is_not_asked_to_believe_in_less_than_the_own_contribution():
    """One of 147 and one of 5 in a cell, each alone in a part of it: the first knows that the cell
    holds 147, and cannot be made to doubt it.
    """
    equations, table, number = with_margins(
        np.array([[147.0, 5.0, 60.0], [200.0, 150.0, 90.0], [80.0, 70.0, 50.0]])
    )
    cell, own = int(number[0, 3]), int(number[0, 0])
    problem = problem_of(equations, table.ravel(), {cell: (80, 80)}, owner={own: 1})
    assert problem.need(cell, -1) == 80
    assert problem.need(cell, -1, 1) == 65  # 147 + 5 + 60 − 147
    assert problem.need(cell, 1, 1) == 80
