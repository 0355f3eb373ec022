"""A table that is looked at through noise only, and what was measured of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.steps.synthesis.noisy_counts import (
    FINE,
    NoisyMarginal,
    OpenMarginal,
    PrivateTable,
    noisy_total,
    on_simplex,
)
from tests.methods.steps.synthesis.test_private_synthesis import PLENTY
from tests.oracles.private_synthesis import nearest_counts

CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=12)


@given(
    CODES,
    st.tuples(st.integers(0, 2), st.integers(0, 3)),
    st.lists(st.floats(0, 9), min_size=12, max_size=12),
    st.integers(1, 4),
)
def test_one_row_moves_one_count_and_a_score_by_its_weight(rows, more, expected, weight):
    sizes = {"a": 3, "b": 4}
    tables = []
    for people in (rows, [*rows, more]):
        codes = {
            name: np.array([row[i] for row in people], dtype=np.int64)
            for i, name in enumerate("ab")
        }
        tables.append(PrivateTable(codes, sizes, rho=PLENTY, rows=1, draws=Draws()))
    for clique in (("a",), ("b",), ("a", "b")):
        assert np.abs(tables[0]._count_cells(clique) - tables[1]._count_cells(clique)).sum() == 1
    one = OpenMarginal(("a", "b"), np.array(expected), weight, 1.7)
    assert abs(tables[0]._score(one) - tables[1]._score(one)) <= FINE * weight


COUNTS = st.lists(st.floats(-50, 200), min_size=1, max_size=6)


@given(COUNTS, st.floats(1, 500), st.lists(st.integers(1, 5), min_size=6, max_size=6))
def test_projection_on_counts_that_are_possible(counts, total, many):
    variances = np.array(many[: len(counts)], dtype=float)
    found = on_simplex(np.array(counts), total, variances)
    assert found == pytest.approx(nearest_counts(counts, total, variances), abs=1e-5)
    assert found.sum() == pytest.approx(total) and found.min() >= 0


def test_noisy_total_is_the_mean_with_least_variance():
    singles = [
        NoisyMarginal(("a",), np.array([10.0, 20.0]), 1.0),
        NoisyMarginal(("b",), np.array([9.0] * 4), 1.0),
    ]
    assert noisy_total(singles) == pytest.approx((30 / 2 + 36 / 4) / (1 / 2 + 1 / 4))
    assert noisy_total([NoisyMarginal(("a",), np.array([-5.0]), 1.0)]) == 1.0
