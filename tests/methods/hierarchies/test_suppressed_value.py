from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.hierarchies import suppress
from tests.methods.hierarchies.contract import (
    keeps_the_contract,
    loses_nothing_at_first_and_all_at_the_top,
)


def test_a_value_or_the_top():
    paths = suppress().paths(["f", "m", "*"], [2, 3, 1])
    assert paths.rows == (("f", "*"), ("m", "*"), ("*", "*"))
    assert paths.loss == ({"f": 0.0, "m": 0.0, "*": 1.0}, {"*": 1.0})
    assert paths.leaves[1] == {"*": 2}


def test_a_single_value_loses_nothing():
    assert suppress().paths(["f"], [2]).loss == ({"f": 0.0}, {"*": 0.0})


def test_a_column_of_suppressed_cells_has_lost_all():
    assert suppress().paths(["*"], [2]).loss == ({"*": 1.0}, {"*": 1.0})


@given(st.lists(st.text(), max_size=8, unique=True))
def test_contract(values):
    paths = keeps_the_contract(suppress(), values)
    if len(values) > 1 and "*" not in values:
        loses_nothing_at_first_and_all_at_the_top(paths)
