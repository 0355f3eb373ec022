from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.formulas.closeness import distance_bounds, needed_size
from tests.oracles.closeness_and_privacy import earth_movers

# G12: Soria-Comas et al. 2015, section on bounds, recomputed


def test_g12_bounds():
    low, high = distance_bounds(20, 4)
    assert (low, high) == (pytest.approx(0.063158, abs=5e-7), pytest.approx(0.105263, abs=5e-7))


@pytest.mark.parametrize(
    ("n", "t", "k", "size"),
    [
        (1000, 0.05, 1, 10),
        (1000, 0.1, 5, 5),
        (1000, 0.2, 2, 3),
        (1080, 0.01, 1, 49),
        (1080, 0.05, 1, 10),
    ],
)
def test_g12_needed_size(n, t, k, size):
    assert needed_size(n, t, k) == size


@pytest.mark.parametrize(("n", "k"), [(6, 2), (6, 3), (9, 3), (8, 4), (10, 2)])
def test_bounds_hold_and_the_upper_one_is_reached(n, k):
    low, high = distance_bounds(n, k)
    ranks = list(range(n))
    assert min(earth_movers(ranks, c) for c in itertools.combinations(range(n), k)) >= low - 1e-12
    part = n // k
    of_each = itertools.product(*(range(part * j, part * (j + 1)) for j in range(k)))
    assert max(earth_movers(ranks, c) for c in of_each) == pytest.approx(high)


def test_the_lower_bound_is_reached_where_parts_are_odd():
    middles = [1, 4, 7]
    assert earth_movers(list(range(9)), middles) == pytest.approx(distance_bounds(9, 3)[0])


def test_g12_the_upper_bound_fails_where_k_does_not_divide_n():
    """Ten records in parts of three, four and three: some class with one record of each is farther
    than the bound.
    """
    parts = [range(3), range(3, 7), range(7, 10)]
    distances = [earth_movers(list(range(10)), c) for c in itertools.product(*parts)]
    assert distance_bounds(10, 3)[1] == pytest.approx(0.1296, abs=5e-5)
    assert max(distances) == pytest.approx(0.1444, abs=5e-5)


@given(st.integers(1, 3000), st.floats(0, 1), st.data())
def test_what_is_left_over_fits_the_classes(n, t, data):
    size = needed_size(n, t, data.draw(st.integers(1, n)))
    assert size <= n
    assert n - size * (n // size) < max(1, n // size)


@pytest.mark.parametrize(
    "wrong",
    [lambda: distance_bounds(3, 4), lambda: needed_size(10, 1.5), lambda: needed_size(0, 0.1)],
)
def test_out_of_range(wrong):
    with pytest.raises(ParameterError):
        wrong()
