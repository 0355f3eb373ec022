"""Boxes of cells that can be shifted together: along each column a move takes from one value what
it gives to another."""

from __future__ import annotations

import numpy as np

from sfumato.results.tables.audit import Move, audit
from tests.results.tables.tables_of_cells import golden_a
from tests.results.tables.test_exact import hidden


def test_a_box_leaves_an_interval():
    problem, number = golden_a({(2, 3): (7, 7)})
    seen = audit(problem, hidden(problem, number, (2, 3), (2, 1), (1, 3), (1, 1)))
    assert seen.interval(number[1, 2]) == (2, 30)
    assert seen.holds


def test_a_move_that_is_no_proof_does_not_count():
    problem, number = golden_a({(2, 3): (7, 7)})
    cells = hidden(problem, number, (2, 3), (2, 1))
    wrong = Move(np.flatnonzero(cells), np.array([-1.0, 1.0]), 7.0, 7.0)
    assert not audit(problem, cells, exact=False, moves={int(number[1, 2]): [wrong]}).holds
