"""Suppression at the least cost, by boxes, and the audit from the intruder's side."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import Unsatisfiable
from sfumato.results.tables.audit import audit
from sfumato.results.tables.exact import suppress_exactly
from sfumato.results.tables.heuristic import suppress_by_boxes
from sfumato.results.tables.problem import problem_of
from tests.results.tables.tables_of_cells import golden_a, naive_suppression, with_margins


def hidden(problem, number, *cells):
    found = np.zeros(problem.size, dtype=bool)
    for row, column in cells:
        found[number[row - 1, column - 1]] = True
    return found


# Golden A: a table of three by three, computed by brute force.


@pytest.mark.parametrize("columns", [3000, 1])
def test_the_least_suppression(columns):
    problem, number = golden_a({(2, 3): (7, 7)})
    found = suppress_exactly(problem, columns=columns)
    assert (found.cost, found.gap) == (59, pytest.approx(0, abs=1e-5))
    assert set(np.flatnonzero(found.hidden)) == {
        number[1, 2],
        number[1, 0],
        number[2, 0],
        number[2, 2],
    }
    assert audit(problem, found.hidden).interval(number[1, 2]) == (5, 30)


@pytest.mark.parametrize("columns", [3000, 1])
def test_the_least_suppression_of_two(columns):
    problem, number = golden_a({(2, 3): (7, 7), (1, 1): (5, 5)})
    found = suppress_exactly(problem, columns=columns)
    assert found.cost == 60
    assert set(np.flatnonzero(found.hidden)) == {
        number[0, 0],
        number[0, 2],
        number[1, 0],
        number[1, 2],
    }


def test_one_who_is_alone_in_a_cell_knows_it():
    problem, number = golden_a({(2, 3): (7, 7)}, owner={4: 77})  # row 2, column 1
    seen = audit(problem, hidden(problem, number, (2, 3), (2, 1), (3, 1), (3, 3)))
    assert [(one.cell, one.owner, one.low, one.high) for one in seen.exposed] == [
        (number[1, 2], 77, 22, 22)
    ]
    found = suppress_exactly(problem)
    assert audit(problem, found.hidden).holds
    assert found.cost == 85  # 22 + 19 + 12 + 32: the box without that cell


# Golden B: a tree T = {A = {a1, a2}, B = {b1, b2}} by u, v.

ROWS = ["a1", "a2", "b1", "b2", "A", "B", "T"]
B = {name: at for at, name in enumerate(itertools.product(ROWS, "uvS"))}


def golden_b(needs):
    leaves = {"a1": (3, 40), "a2": (12, 25), "b1": (30, 9), "b2": (21, 33)}
    value = {}
    for row in ROWS:
        below = {"A": ("a1", "a2"), "B": ("b1", "b2"), "T": tuple(leaves)}.get(row, (row,))
        u, v = (sum(leaves[one][at] for one in below) for at in (0, 1))
        value |= {(row, "u"): u, (row, "v"): v, (row, "S"): u + v}
    equations = [[(row, "u"), (row, "v"), (row, "S")] for row in ROWS]
    for column in "uvS":
        for whole, parts in (("A", ("a1", "a2")), ("B", ("b1", "b2")), ("T", ("A", "B"))):
            equations.append([*((one, column) for one in parts), (whole, column)])
    matrix = np.zeros((len(equations), len(B)))
    for at, cells in enumerate(equations):
        matrix[at, [B[one] for one in cells[:-1]]], matrix[at, B[cells[-1]]] = 1, -1
    return problem_of(
        matrix, [value[name] for name in B], {B[name]: need for name, need in needs.items()}
    )


@pytest.mark.parametrize("columns", [3000, 1])
def test_the_least_suppression_in_a_tree(columns):
    problem = golden_b({("a1", "u"): (3, 3)})
    found = suppress_exactly(problem, columns=columns)
    assert found.cost == 80
    assert audit(problem, found.hidden).interval(B["a1", "u"]) == (0, 15)


@pytest.mark.parametrize("columns", [3000, 1])
def test_a_margin_of_a_tree_needs_cells_below_it(columns):
    problem = golden_b({("a1", "u"): (3, 3), ("B", "u"): (5, 5)})
    found = suppress_exactly(problem, columns=columns)
    assert found.cost == 292
    assert audit(problem, found.hidden).interval(B["B", "u"]) == (21, 60)


# Naive definitions.


@given(st.lists(st.integers(1, 9), min_size=6, max_size=6), st.integers(0, 5), st.integers(1, 4))
@settings(max_examples=6, deadline=None)
def test_the_least_suppression_is_what_trying_all_sets_finds(inside, cell, need):
    equations, table, number = with_margins(np.array(inside).reshape(2, 3))
    at = int(number[cell // 3, cell % 3])
    problem = problem_of(equations, table.ravel(), {at: (min(need, table.ravel()[at]), need)})
    try:
        found = suppress_exactly(problem).cost
    except Unsatisfiable:
        found = None
    assert found == naive_suppression(problem)


# The parts.


def test_what_cannot_be_protected_is_said():
    equations, table, _ = with_margins(np.array([[5, 0], [0, 6]]))
    problem = problem_of(equations, table.ravel(), {0: (50, 50)})
    with pytest.raises(Unsatisfiable, match="1 of 1 sensitive cells"):
        suppress_exactly(problem)
    with pytest.raises(Unsatisfiable):
        suppress_by_boxes(problem, None)
