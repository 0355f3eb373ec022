from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.hierarchies import Order, order
from tests.methods.hierarchies.contract import keeps_the_contract, understands_its_own_labels

PAIN = ["none", "light", "medium", "strong", "worst"]


def test_neighbours_are_joined():
    assert order(PAIN, 2, 4).paths(PAIN, [1] * 5).rows == (
        ("none", "none..light", "none..strong", "*"),
        ("light", "none..light", "none..strong", "*"),
        ("medium", "medium..strong", "none..strong", "*"),
        ("strong", "medium..strong", "none..strong", "*"),
        ("worst", "worst", "worst", "*"),
    )


def test_loss_counts_all_listed_values():
    paths = order(PAIN, 2, 4).paths(["none"], [1])
    assert paths.loss[1]["none..light"] == 1 / 4
    assert paths.loss[2]["none..strong"] == 3 / 4
    assert paths.loss[3] == {"*": 1.0}


def test_without_sizes_there_is_only_the_top():
    assert order(PAIN).paths(["none"], [1]).rows == (("none", "*"),)


def test_values_that_are_not_listed_are_counted():
    with pytest.raises(SchemaError, match="order: 1 of 2 distinct values are not covered"):
        order(PAIN, 2).paths(["none", "sharp"], [1, 1])


@pytest.mark.parametrize(
    ("values", "sizes", "said"),
    [
        (PAIN, (2, 3), "3 is not a multiple of 2"),
        (PAIN, (4, 2), "growing multiples"),
        (PAIN, (1,), "greater than or equal to 2"),
        ([], (2,), "at least 1 entry"),
        (["a", "b", "a"], (2,), "1 value.* listed twice"),
        (["a", "b", "a..b"], (2,), "same label"),
    ],
)
def test_wrong_parameters_are_refused(values, sizes, said):
    with pytest.raises(ParameterError, match=said):
        Order(values, sizes)


@given(st.integers(1, 20), st.sampled_from([(), (2,), (2, 4), (3, 6, 12)]))
def test_contract(length, sizes):
    values = [str(i) for i in range(length)]
    paths = keeps_the_contract(order(values, *sizes), values)
    understands_its_own_labels(order(values, *sizes), values)
    for level, size in enumerate(sizes, 1):
        for i, one in enumerate(paths.rows):
            for j, other in enumerate(paths.rows):
                assert (one[level] == other[level]) == (i // size == j // size)
