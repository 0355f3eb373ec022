"""The audit of a table: how far an intruder who sees it can narrow down what was suppressed."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import Unsatisfiable
from sfumato.results.tables.audit import audit
from sfumato.results.tables.exact import suppress_exactly
from sfumato.results.tables.heuristic import suppress_by_boxes
from sfumato.results.tables.problem import problem_of
from tests.results.tables.tables_of_cells import golden_a
from tests.results.tables.test_exact import hidden
from tests.results.tables.test_linear_programs import table_of


def test_a_cell_suppressed_alone_is_known():
    problem, number = golden_a({(2, 3): (7, 7)})
    seen = audit(problem, hidden(problem, number, (2, 3)))
    assert seen.interval(number[1, 2]) == (22, 22)
    assert not seen.holds


@given(st.integers(0, 2**32))
def test_an_interval_that_can_be_wide_is_made_so(number):
    """By brute force: where everything suppressed makes intervals wide enough, both searches find a
    suppression, and its audit holds.
    """
    draw = np.random.default_rng(number)
    matrix, value = table_of(draw, whole=False)
    cells = draw.permutation(np.flatnonzero(value > 0))[: int(draw.integers(1, 3))].tolist()
    needs = {int(cell): (0.1 * value[cell], 0.1 * value[cell]) for cell in cells}
    problem = problem_of(matrix, value, needs, upper=float(value.max()))
    slide = np.zeros(len(value))
    slide[cells] = draw.choice([1.5, 5.0, 9.0, 12.0]) * 0.2 * value[cells]
    problem = dataclasses.replace(problem, slide=slide)
    can = audit(problem, problem.free | problem.primary).holds
    for search in (suppress_exactly, lambda one: suppress_by_boxes(one, None)[0]):
        try:
            found = search(problem)
        except Unsatisfiable:
            assert not can
            continue
        assert can
        assert found is not None
        assert audit(problem, found.hidden).holds
