from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.bridge import (
    implied_epsilon,
    implied_t,
    implied_t_of,
    needed_epsilon,
    needed_t,
)


@pytest.mark.parametrize(
    ("epsilon", "n", "smallest", "t"),
    [(math.log(2), 100, 5, 1.95), (1, 1000, 10, 2.70110), (0.5, 12, 4, 1.43248), (3, 7, 7, 1)],
)
def test_g09_corrected_proposition_1(epsilon, n, smallest, t):
    assert implied_t(epsilon, n, smallest) == pytest.approx(t, abs=5e-6)


def test_g09_of_class_sizes():
    assert implied_t_of(math.log(2), [5, 45, 50]) == pytest.approx(1.95)
    assert implied_t_of(3, [7]) == 1
    with pytest.raises(ParameterError, match="class_sizes is empty"):
        implied_t_of(1, [])


def test_g09_the_printed_formula_is_smaller_and_unsafe():
    """(n/N)(1 + (N − n − 1)/n · e^ε), as printed: 1.93 for 1.95, and below 1 for a single class."""

    def printed(epsilon, n, size):
        return size / n * (1 + (n - size - 1) / size * math.exp(epsilon))

    assert printed(math.log(2), 100, 5) == pytest.approx(1.93)
    assert printed(1, 7, 7) < 1 <= implied_t(1, 7, 7)


def test_g09_inverse():
    assert needed_epsilon(2, 100, 5) == pytest.approx(0.71912, abs=5e-6)
    assert needed_epsilon(2, 4, 4) == math.inf


@given(st.floats(0, 5), st.integers(2, 500), st.data())
def test_inverse_of_each_other(epsilon, n, data):
    smallest = data.draw(st.integers(1, n - 1))
    assert needed_epsilon(implied_t(epsilon, n, smallest), n, smallest) == pytest.approx(
        epsilon, abs=1e-9
    )


@given(st.floats(0, 4), st.integers(1, 60), st.data())
def test_is_attained_by_randomised_response(epsilon, n, data):
    """k-ary values: everyone of the smallest class has one value, all others another; nothing
    smaller would hold.
    """
    smallest = data.draw(st.integers(1, n))
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    inside = 1 - keep  # a class without the value shows it with the smaller chance
    table = (smallest * inside + (n - smallest) * keep) / n
    assert table / inside == pytest.approx(implied_t(epsilon, n, smallest))


@pytest.mark.parametrize(("t", "epsilon"), [(1.5, 0.81093), (2, 1.38629), (math.e, 2)])
def test_g10_conditional_epsilon(t, epsilon):
    found = implied_epsilon(t)
    assert found.value == pytest.approx(epsilon, abs=5e-6)
    assert found.conditional
    assert "budget" in str(found)
    assert needed_t(found.value).value == pytest.approx(t)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: implied_t(-0.1, 10, 2),
        lambda: implied_t(1, 10, 11),
        lambda: implied_t(1, 10, 0),
        lambda: needed_epsilon(0.9, 10, 2),
        lambda: implied_epsilon(0.5),
        lambda: needed_t(-1),
        lambda: implied_t(float("nan"), 10, 2),
    ],
)
def test_out_of_range(wrong):
    with pytest.raises(ParameterError):
        wrong()
