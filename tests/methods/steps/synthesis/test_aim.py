"""AIM: the marginal that the model gets most wrong is measured next, as long as the budget lasts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.synthesis import aim, mst
from sfumato.methods.steps.synthesis.noisy_counts import PrivateTable
from tests.methods.steps.synthesis.test_private_synthesis import private
from tests.oracles.private_synthesis import WholeTable


def test_noise_of_mst_and_aim():
    """σ and ε for nine columns at ρ = .01497306, computed from the formulas of the papers."""
    rho = Fraction("0.01497306")
    each, choice, pair = mst.thirds(rho, 9)
    table = private({"a": [0]})
    assert table.sigma(each) == pytest.approx(30.02698, abs=1e-5)
    assert table.sigma(pair) == pytest.approx(28.30971, abs=1e-5)
    assert math.sqrt(8 * choice) == pytest.approx(0.0706471, abs=1e-7)
    assert 9 * each + 8 * choice + 8 * pair == rho
    pace = aim.Pace.over(rho, 16 * 9)
    assert table.sigma(pace.counts) == pytest.approx(73.095, abs=1e-3)
    assert math.sqrt(8 * pace.choice) == pytest.approx(0.0091205, abs=1e-7)
    last = aim.Pace.over(rho)
    assert table.sigma(last.counts) == pytest.approx(math.sqrt(1 / (1.8 * rho)))
    assert math.sqrt(8 * last.choice) == pytest.approx(math.sqrt(0.8 * rho))


def test_aim_measures_what_the_model_gets_most_wrong():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 3000)
    codes = {"a": a, "b": rng.integers(0, 3, 3000), "c": (a + (rng.random(3000) < 0.1)) % 3}
    table = PrivateTable(codes, dict.fromkeys("abc", 3), rho=Fraction(1), rows=1, draws=Draws())
    fitter = WholeTable(table.sizes)
    found = aim.choose_and_measure(
        table,
        fitter,
        workload=aim.workload_of("abc", 2),
        rounds=6,
        model_mb=8,
        progress=lambda *_: None,
    )
    assert found.measured[3].clique == ("a", "c") and found.rounds == len(found.measured) - 3
    expected = np.bincount(codes["a"] * 3 + codes["c"], minlength=9)
    assert np.abs(fitter.marginals([("a", "c")])[0] - expected).sum() < 0.02 * 3000
    assert table.left == 0
    assert aim.closure_of([("a", "b"), ("b", "c")])[("b",)] == 2
    with pytest.raises(ParameterError, match="workload"):
        aim.closure_of(aim.workload_of([str(i) for i in range(40)], 6))
