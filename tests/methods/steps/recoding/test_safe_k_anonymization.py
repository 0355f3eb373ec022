from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.methods.steps.recoding.safe_k_anonymization import delta_of, needed_k, usual_beta
from tests.oracles import closeness_and_privacy as oracle

# G40: Li, Qardaji & Su 2012, Theorem 2, evaluated for β = 1 − e^−ε
TABLE = [
    (0.1, 0.09516, (38, 49, 60)),
    (0.5, 0.39347, (39, 51, 63)),
    (math.log(2), 0.5, (41, 53, 66)),
    (1, 0.63212, (47, 61, 74)),
    (math.log(3), 0.66667, (50, 62, 77)),
    (1.5, 0.77687, (62, 80, 99)),
    (2, 0.86466, (81, 113, 131)),
]


@pytest.mark.parametrize(("epsilon", "beta", "ks"), TABLE)
def test_g40_smallest_k(epsilon, beta, ks):
    assert usual_beta(epsilon) == pytest.approx(beta, abs=5e-6)
    assert (
        tuple(needed_k(delta, usual_beta(epsilon), epsilon) for delta in (1e-4, 1e-5, 1e-6)) == ks
    )


def test_g40_single_values():
    assert delta_of(10, 0.1, 1) == pytest.approx(6.84e-8, rel=1e-3)
    assert delta_of(20, 0.1, 1) == pytest.approx(4.07e-14, rel=2e-3)


@pytest.mark.slow
@given(st.integers(1, 25), st.floats(0.05, 2), st.floats(0.2, 1))
def test_is_what_the_formula_says(k, epsilon, part):
    beta = usual_beta(epsilon) * part
    assert delta_of(k, beta, epsilon) == pytest.approx(oracle.delta_of(k, beta, epsilon), rel=1e-6)


@given(st.integers(1, 40), st.floats(0.1, 2), st.floats(0.2, 1))
def test_falls_with_k(k, epsilon, part):
    beta = usual_beta(epsilon) * part
    assert delta_of(k + 1, beta, epsilon) <= delta_of(k, beta, epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: usual_beta(0),
        lambda: usual_beta(math.nan),
        lambda: delta_of(0, 0.1, 1),
        lambda: delta_of(5, 0.9, 1),
        lambda: delta_of(5, 1.0, 40),
        lambda: needed_k(0, 0.1, 1),
        lambda: needed_k(1, 0.1, 1),
    ],
)
def test_out_of_range(wrong):
    with pytest.raises(ParameterError):
        wrong()
