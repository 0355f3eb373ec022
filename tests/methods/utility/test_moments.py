"""What statistics of numbers survive: means, covariances, correlations, quantiles, eigenvalues."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.methods.utility.moments import _quantiles_of_copies
from tests.methods.utility.pairs_of_tables import of_numbers
from tests.methods.utility.test_squared_error import SMALL
from tests.oracles import utility_metrics


@given(rows=SMALL, noise=st.lists(st.integers(-5, 5), min_size=12, max_size=12))
def test_moments(rows, noise):
    x, y = [float(a) + 100 for a, _ in rows], [float(b) + 100 for _, b in rows]
    moved = [a + e for a, e in zip(x, noise, strict=False)]
    pair = of_numbers({"x": x, "y": y}, {"x": moved, "y": y})
    mean = sum(x) / len(x)
    assert sf.Means().measure(pair).raw == pytest.approx(abs(sum(moved) / len(x) - mean) / mean / 2)
    old, new = np.quantile(x, [0.5, 0.9]), np.quantile(moved, [0.5, 0.9])
    assert sf.Quantiles(["x"], shares=[0.5, 0.9]).measure(pair).raw == pytest.approx(
        np.mean(abs(new - old) / old)
    )
    cov = utility_metrics.covariance
    assume(min(abs(cov(x, x)), abs(cov(x, y)), abs(cov(y, y)), abs(cov(moved, moved))) > 1e-3)
    terms = [abs(cov(moved, moved) / cov(x, x) - 1), abs(cov(moved, y) / cov(x, y) - 1), 0]
    assert sf.Covariances().measure(pair).raw == pytest.approx(sum(terms) / 3)
    was = cov(x, y) / math.sqrt(cov(x, x) * cov(y, y))
    now = cov(moved, y) / math.sqrt(cov(moved, moved) * cov(y, y))
    assert sf.Correlations().measure(pair).raw == pytest.approx(abs(was - now), abs=1e-9)
    # two columns that correlate by r have the eigenvalues 1 ± |r|
    assume(abs(was) < 0.999)
    off = abs(abs(was) - abs(now))
    expected = (off / (1 + abs(was)) + off / (1 - abs(was))) / 2
    assert sf.Eigenvalues().measure(pair).raw == pytest.approx(expected, abs=1e-6)


def test_weights_of_a_survey():
    people = {"x": [1.0, 5.0], "w": [3.0, 1.0]}
    pair = of_numbers(people, {"w": [1.0, 3.0]}, keep="x", weight="w")
    assert sf.Means().measure(pair).raw == pytest.approx(1.0)  # 2 becomes 4
    assert sf.Quantiles(shares=[0.5]).measure(pair).raw == pytest.approx(4.0)  # 1 becomes 5


@given(
    values=st.lists(st.integers(-50, 50), min_size=1, max_size=12, unique=True),
    data=st.data(),
)
def test_quantiles_of_values_that_are_counted(values, data):
    copies = data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)))
    shares = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=5))
    found = _quantiles_of_copies(np.array(values, dtype=float), np.array(copies), shares)
    assert found == pytest.approx(np.quantile(np.repeat(values, copies), shares).tolist(), abs=1e-9)
