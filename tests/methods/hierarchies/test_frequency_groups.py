from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.hierarchies import Frequency, frequency
from tests.methods.hierarchies.contract import (
    keeps_the_contract,
    loses_nothing_at_first_and_all_at_the_top,
    understands_its_own_labels,
)


def test_the_rare_values_go_first():
    paths = frequency(2, 1).paths(["a", "b", "c", "d"], [5, 9, 1, 2])
    assert paths.rows == (
        ("a", "a", "other", "*"),
        ("b", "b", "b", "*"),
        ("c", "other", "other", "*"),
        ("d", "other", "other", "*"),
    )
    assert paths.loss[1] == {"a": 0.0, "b": 0.0, "other": 1 / 3}
    assert paths.loss[2] == {"b": 0.0, "other": 2 / 3}


def test_ties_go_by_label_not_by_order():
    assert frequency(1).paths(["b", "a"], [3, 3]).rows == (("b", "other", "*"), ("a", "a", "*"))


def test_halves_without_numbers():
    values = [str(i) for i in range(10, 19)]
    paths = frequency().paths(values, list(range(9, 0, -1)))
    kept = [sum(row[level] != "other" for row in paths.rows) for level in range(1, 4)]
    assert (len(paths.leaves), kept) == (5, [4, 2, 1])
    assert frequency().paths(["f", "m"], [1, 1]).rows == (("f", "*"), ("m", "*"))


def test_other_and_top_are_no_values_to_rank():
    paths = keeps_the_contract(frequency(1), ["a", "b", "other", "*"], [1, 2, 99, 99])
    assert paths.rows == (
        ("a", "other", "*"),
        ("b", "b", "*"),
        ("other", "other", "*"),
        ("*", "*", "*"),
    )


def test_another_name_for_the_rest():
    assert frequency(1, other="rare").paths(["a", "b"], [1, 2]).rows[0] == ("a", "rare", "*")


def test_a_wide_level_keeps_all():
    assert frequency(10, 1).paths(["a", "b"], [1, 2]).rows[0] == ("a", "a", "other", "*")


@pytest.mark.parametrize("wrong", [{"keep": (2, 4)}, {"keep": (0,)}, {"other": "*"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        Frequency(**wrong)


columns = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2), st.integers(1, 5), min_size=1, max_size=12
)


@given(columns, st.sampled_from([(), (8, 4, 2), (3,), (5, 5, 1)]))
def test_contract(column, keep):
    values, counts = list(column), list(column.values())
    paths = keeps_the_contract(frequency(*keep), values, counts)
    if len(values) > 1:
        loses_nothing_at_first_and_all_at_the_top(paths)
    backwards = frequency(*keep).paths(values[::-1], counts[::-1])
    assert backwards.rows == paths.rows[::-1]
    if keep:
        understands_its_own_labels(frequency(*keep), values, counts)


@given(columns, st.integers(1, 6))
def test_agrees_with_the_definition(column, keep):
    """What is kept is never rarer than what is not, and no more is kept than asked for."""
    rows = frequency(keep).paths(list(column), list(column.values())).rows
    kept = {row[0] for row in rows if row[1] != "other"}
    assert len(kept) == min(keep, len(column))
    assert all(column[a] >= column[b] for a in kept for b in column.keys() - kept)
