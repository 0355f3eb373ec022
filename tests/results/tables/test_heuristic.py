"""Cell suppression in large tables: every sensitive cell gets a box of cells that can be shifted
together, and is so proved to be safe."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sfumato.errors import Unsatisfiable
from sfumato.results.tables.audit import audit
from sfumato.results.tables.exact import suppress_exactly
from sfumato.results.tables.heuristic import BoxSearch, cheapest_change, suppress_by_boxes
from sfumato.results.tables.problem import problem_of
from tests.results.tables.tables_of_cells import golden_a


def test_the_cheapest_change_is_a_table_that_looks_alike():
    problem, number = golden_a({(2, 3): (7, 7)})
    at = int(number[1, 2])
    move = cheapest_change(problem, at, 1, problem.primary, problem.free, problem.need(at, 1))
    assert not (problem.by_cell[:, move.cells] @ move.signs).round(9).any()
    assert (problem.value[move.cells] + 7 * move.signs >= 0).all()
    assert move.signs[move.cells == at] == [1]


def test_without_boxes_the_heuristic_holds_too():
    problem, _ = golden_a({(2, 3): (7, 7), (1, 1): (5, 5)}, owner={4: 77})
    found, _, seen = suppress_by_boxes(problem, None)
    assert seen.holds
    assert audit(problem, found.hidden).holds


def test_a_cell_that_can_only_go_down_slides():
    """A total of 10 with parts 9 and 1: the 9 can be 10 at most, and 0 at least; an interval of 8
    lies below.
    """
    problem = problem_of(
        np.array([[-1.0, 1.0, 1.0]]), [10.0, 9.0, 1.0], {1: (1.0, 1.0)}, upper=10.0
    )
    problem = dataclasses.replace(problem, slide=np.array([0.0, 8.0, 0.0]))
    for hidden in (suppress_exactly(problem).hidden, suppress_by_boxes(problem, None)[0].hidden):
        assert hidden.tolist() == [False, True, True]


def large_table():
    """A table of 12 by 6 of some hundred thousand each, in which one cell must stay unknown within
    a few hundred, and an intruder knows next to nothing before.
    """
    draw = np.random.default_rng(5)
    inner = draw.integers(50_000, 900_000, (12, 6)).astype(float)
    inner = np.concatenate([inner.sum(axis=0, keepdims=True), inner])
    inner = np.concatenate([inner.sum(axis=1, keepdims=True), inner], axis=1)
    number = np.arange(inner.size).reshape(inner.shape)
    matrix = np.zeros((sum(inner.shape), inner.size))
    for row, line in enumerate([*number, *number.T]):
        matrix[row, line] = np.where(line == line[0], -1.0, 1.0)
    problem = problem_of(matrix, inner.reshape(-1), {int(number[3, 2]): (400.0, 400.0)}, upper=2e8)
    return dataclasses.replace(problem, lower=np.full(problem.size, -2e8))


@pytest.mark.parametrize("weight", ["value", "one", "log"])
def test_what_is_asked_for_is_small_beside_the_table_and_few_cells_go(weight):
    problem = large_table()
    costs = {"value": problem.value, "one": np.ones(problem.size), "log": np.log1p(problem.value)}
    found, _, seen = suppress_by_boxes(dataclasses.replace(problem, weight=costs[weight]), None)
    assert seen.holds
    assert found.hidden.sum() == 4  # a box


def test_a_search_that_fails_decides_nothing(monkeypatch):
    """Whether a table can be published is said by the audit of everything suppressed, not by what
    the search finds.
    """
    problem = large_table()
    monkeypatch.setattr(BoxSearch, "protect", lambda *_: False)
    found, _, seen = suppress_by_boxes(problem, None)
    assert seen.holds
    assert audit(problem, found.hidden).holds
    assert found.hidden.sum() < problem.size / 2
    with pytest.raises(Unsatisfiable, match="1 of 1 sensitive cells can be computed"):
        suppress_by_boxes(
            dataclasses.replace(problem, free=np.zeros(problem.size, dtype=bool)), None
        )
