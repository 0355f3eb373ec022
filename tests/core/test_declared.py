"""Sensitivity: compared with everything a person can do to small totals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.declared import Relation
from sfumato.errors import ParameterError
from tests.oracles import private_queries as oracle


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("contributions", [1, 2])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-2, 2), (-1, 3), (2, 5), (-4, -1)])
def test_reach_is_what_the_worst_person_can_do(low, high, contributions, cells):
    """All contributions of up to c rows, each the lowest, the highest or a middle number; the worst
    is met exactly.
    """
    everything = oracle.all_rows({low, (low + high) // 2, high}, cells, contributions)
    unit = "patient" if contributions > 1 else "row"
    added = Relation(unit, "add_remove", contributions)
    moves = [oracle.widest_move(rows, (), cells) for rows in everything]
    assert added.reach(low, high, cells=cells)[0] == max(l1 for l1, _ in moves)
    assert added.reach(low, high, cells=cells)[1] == pytest.approx(max(l2 for _, l2 in moves))
    if len(everything) > 60:
        everything = [*everything[-60:], ()]
    changed = Relation(unit, "change_one", contributions)
    moves = [oracle.widest_move(rows, other, cells) for rows in everything for other in everything]
    l1, l2 = changed.reach(low, high, cells=cells)
    assert l1 >= max(one for one, _ in moves) and l2 >= max(two for _, two in moves) - 1e-9
    if contributions == 1:
        assert l1 == max(one for one, _ in moves) and l2 == pytest.approx(
            max(two for _, two in moves)
        )


@given(st.integers(-9, 9), st.integers(0, 9), st.integers(1, 5), st.integers(1, 5))
def test_changing_costs_at_most_twice(low, width, contributions, cells):
    unit = "patient" if contributions > 1 else "row"
    added = Relation(unit, "add_remove", contributions).reach(low, low + width, cells=cells)
    changed = Relation(unit, "change_one", contributions).reach(low, low + width, cells=cells)
    assert added[0] <= changed[0] <= 2 * added[0]
    assert added[1] <= changed[1] <= 2 * added[1] + 1e-9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("row", "replace"), "add_remove or change_one"),
        (("patient", "add_remove", 0), "contributions"),
        (("patient", "add_remove", 1.5), "contributions"),
        (("patient", "add_remove", True), "contributions"),
        (("row", "add_remove", 2), "column"),
    ],
)
def test_wrong_relations(arguments, said):
    with pytest.raises(ParameterError, match=said):
        Relation(*arguments)


def test_words():
    assert Relation().words == "the presence of one row"
    assert (
        Relation("patient", "change_one", 2).words
        == "one patient (at most 2 rows of each count) being replaced"
    )
