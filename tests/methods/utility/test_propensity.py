"""Can a model tell released from original records: closed forms, exchange, the fits themselves."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import kernels
from sfumato.core.pair import TablePair
from sfumato.methods.utility.predictive import (
    expected_between_samples,
    expected_for_synthetic_data,
    propensity_test,
)


def table(columns):
    return sf.read(pl.DataFrame(columns)).with_roles(keep=list(columns))


def test_expectations():
    # G44: k = 4 parameters, 600 rows, half of them released
    assert expected_between_samples(4, 600, 0.5) == pytest.approx(0.00125)
    assert expected_for_synthetic_data(4, 600, 0.5) == pytest.approx(0.000625)


def test_exchanging_records_of_two_independent_samples_is_the_same_null():
    draw = np.random.default_rng(9)
    before, after = draw.normal(size=(2, 300, 3))
    pair = TablePair.of(
        table(dict(zip("abc", before.T, strict=True))),
        table(dict(zip("abc", after.T, strict=True))),
    )
    found = propensity_test(pair, sf.Propensity(permutations=200))
    assert found.parameters == 4
    assert found.null_mean == pytest.approx(expected_between_samples(4, 600, 0.5), rel=0.29)
    assert abs(found.standardised) < 5
    assert found.ratio == pytest.approx(found.pmse / found.null_mean)


def test_masked_data_have_a_smaller_null_than_samples():
    draw = np.random.default_rng(10)
    values = draw.normal(size=500)
    pair = TablePair.of(table({"x": values}), table({"x": values + draw.normal(0, 0.1, 500)}))
    found = propensity_test(pair, sf.Propensity(permutations=100))
    assert found.null_mean < expected_between_samples(2, 1000, 0.5) / 10
    assert abs(found.standardised) < 5
    shifted = propensity_test(
        TablePair.of(table({"x": values}), table({"x": values + 0.2})),
        sf.Propensity(permutations=50),
    )
    assert shifted.standardised > 10


def test_the_same_table_cannot_be_told_apart():
    people = sf.examples.survey()
    found = propensity_test(TablePair.of(people, people))
    assert (found.pmse, found.ratio, found.standardised) == (0, 1, 0)


def test_what_can_always_be_told_apart():
    pair = TablePair.of(table({"x": np.arange(50.0)}), table({"x": np.arange(50.0) + 1000}))
    assert sf.Propensity(permutations=0).measure(pair).value > 0.99
    names = ["a", "b"] * 25
    other = TablePair.of(table({"x": names}), table({"x": ["c"] * 50}))
    assert sf.Propensity(permutations=0).measure(other).value > 0.99


def test_parts_per_column_and_record():
    values = np.arange(40.0)
    pair = TablePair.of(
        table({"x": values, "y": values % 7}), table({"x": values + 500, "y": values % 7})
    )
    found = sf.Propensity(permutations=0).measure(pair)
    assert found.per_column["y"] == pytest.approx(0, abs=1e-9)
    assert found.per_column["x"] > 0.99
    assert (found.per_record > 0.9).all()


def test_a_sample_of_a_large_table():
    people = sf.examples.survey()
    found = sf.Propensity(records=50, permutations=3).measure(TablePair.of(people, people))
    assert found.value == 0
    assert found.per_record is None


def test_suppressed_records_stay_on_their_side():
    values = np.arange(100.0)
    people = table({"x": values})
    kept = TablePair.of(people, people.take(np.arange(50)))
    found = propensity_test(kept, sf.Propensity(permutations=20))
    assert found.share == pytest.approx(1 / 3)
    assert found.pmse > 0.02


@pytest.mark.parametrize(
    "wrong", [{"permutations": -1}, {"records": 1}, {"seed": -1}, {"columns": []}]
)
def test_wrong_parameters(wrong):
    with pytest.raises(sf.errors.ParameterError, match=next(iter(wrong))):
        sf.Propensity(**wrong)


def test_nothing_to_compare():
    people = sf.examples.illnesses()
    hidden = people.with_columns({name: pl.Series(["*"] * 4) for name in people.columns})
    assert sf.Propensity().measure(TablePair.of(people, hidden)).value == 1


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.9]))
def test_products_of_a_design_are_those_of_matrices(seed, empty):
    draw = np.random.default_rng(seed)
    rows, columns, models = draw.integers(1, 20), draw.integers(1, 8), draw.integers(1, 5)
    design = draw.normal(size=(rows, columns)) * (draw.random((rows, columns)) >= empty)
    coefficients, values = draw.normal(size=(columns, models)), draw.normal(size=(rows, models))
    loops = kernels.designs
    assert loops.multiply(design, coefficients) == pytest.approx(design @ coefficients, abs=1e-12)
    assert loops.multiply_transposed(design, values) == pytest.approx(design.T @ values, abs=1e-12)
    weights = draw.random(rows)
    squares = loops.compute_gram(design, weights)
    assert squares == pytest.approx((design * weights[:, None]).T @ design, abs=1e-12)
    full = squares + np.eye(columns)
    right = draw.normal(size=(columns, models))
    assert loops.solve_cholesky(np.linalg.cholesky(full), right) == pytest.approx(
        np.linalg.solve(full, right), abs=1e-9
    )
