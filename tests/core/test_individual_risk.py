from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas.uniqueness import MANY, individual_risk
from tests.oracles.definitions import mean_of_one_over_population


def test_francdat():
    # G30 (sdcMicro's francdat): f and F of eight respondents
    f = [2, 2, 2, 1, 1, 1, 1, 2]
    total = [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    expected = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]
    assert individual_risk(f, total) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("f", "p", "expected"), [(3, 0.1, 0.0463684), (5, 0.1, 0.0242350), (3, 0.5, 0.1931472)]
)
def test_more_worked_numbers(f, p, expected):
    assert float(individual_risk(f, f / p)) == pytest.approx(expected, abs=5e-8)


@given(st.integers(1, 30), st.floats(0.02, 1))
def test_is_the_mean_of_one_over_the_population(f, p):
    assert float(individual_risk(f, f / p)) == pytest.approx(
        mean_of_one_over_population(f, f / p), rel=1e-6
    )


@pytest.mark.parametrize("p", [1.0, 0.9, 0.3, 0.05, 0.02])
def test_large_classes_go_on_where_small_ones_end(p):
    # f·r is smooth in f: the two ways of computing it meet
    before, after = (f * individual_risk(f, f / p) for f in (MANY - 1e-9, MANY))
    assert float(before) == pytest.approx(float(after), rel=1e-8)
    for f in (MANY, 100, 200):  # scipy's hypergeometric function breaks down at 100
        assert float(individual_risk(f, f / p)) == pytest.approx(
            mean_of_one_over_population(f, f / p), rel=1e-6
        )


def test_everybody_sampled():
    assert individual_risk([4, 4, 1], [4, 2, 0]).tolist() == [0.25, 0.25, 1.0]


@given(*[st.integers(1, 8)] * 2, *[st.floats(1, 50)] * 2)
def test_merging_never_raises_the_expected_number(f1, f2, more1, more2):
    apart = f1 * individual_risk(f1, f1 * more1) + f2 * individual_risk(f2, f2 * more2)
    together = (f1 + f2) * individual_risk(f1 + f2, f1 * more1 + f2 * more2)
    assert float(together) <= float(apart) + 1e-12
    assert np.isfinite(together)
