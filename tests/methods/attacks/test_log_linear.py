"""Log-linear risk: what a model of the whole table of keys says about those who are unique in the
sample."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import examples
from sfumato.core.table import Table
from sfumato.errors import ParameterError
from sfumato.methods.attacks.log_linear import fit_log_linear, log_linear_risk


def test_the_division_by_the_sampling_fraction():
    # ALGORITHMS 10.3: λ = 2 and π = 0.1 give 0.165; plugging μ instead gives 0.835
    assert np.exp(-2 * 0.9) == pytest.approx(0.165, abs=5e-4)
    table = Table(pl.DataFrame({"a": ["x"]})).with_roles(
        quasi="a"
    )  # one cell, one record: μ = 1, λ = 10
    found = log_linear_risk(table, ("a",), 0.1)
    assert found.tau1 == pytest.approx(np.exp(-9)) and found.tau2 == pytest.approx(
        (1 - np.exp(-9)) / 9
    )


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("mn")),
        min_size=1,
        max_size=30,
    )
)
def test_the_fit_keeps_its_margins(rows):
    table = np.zeros((3, 2, 2))
    for a, b, c in rows:
        table["abc".index(a), "xy".index(b), "mn".index(c)] += 1
    fitted = fit_log_linear(table, 2)
    for axis in range(3):
        assert fitted.sum(axis=axis) == pytest.approx(
            table.sum(axis=axis), abs=1e-2
        )  # slow where the fit is on the edge
    main = fit_log_linear(table, 1)
    expected = (
        np.einsum("i,j,k->ijk", *(table.sum(axis=tuple({0, 1, 2} - {a})) for a in range(3)))
        / table.sum() ** 2
    )
    assert main == pytest.approx(expected, abs=1e-6)


@given(st.floats(0.01, 1.0))
def test_log_linear_risks_are_chances(fraction):
    table = examples.weighted_keys()
    found = log_linear_risk(table, ("region", "work", "place"), fraction, interactions=1)
    assert (found.unique <= found.inverse + 1e-12).all() and (found.inverse <= 1 + 1e-12).all()
    assert ((found.inverse > 0) == np.array([0, 0, 0, 1, 1, 1, 1, 0], dtype=bool)).all()


def test_a_census_has_certain_uniques():
    found = log_linear_risk(examples.weighted_keys(), ("region", "work", "place"), 1.0)
    assert found.tau1 == found.tau2 == 4


def test_grids_that_are_too_large_are_refused():
    wide = Table(pl.DataFrame({f"c{i}": range(300) for i in range(4)})).with_roles(
        quasi=[f"c{i}" for i in range(4)]
    )
    with pytest.raises(ParameterError, match="cells"):
        log_linear_risk(wide, wide.schema.quasi, 0.1)
    with pytest.raises(ParameterError, match="sampling fraction"):
        log_linear_risk(wide, ("c0",), 0.0)
