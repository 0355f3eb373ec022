"""Columns as cells that are known without looking at the data, and values for cells again."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.methods.steps.synthesis.cells import NumberCells, Public, cells_of, code_rows
from tests.oracles.private_synthesis import cell_of_number


@given(st.floats(-5, 45, width=32), st.integers(1, 12), st.integers(0, 1), st.integers(1, 30))
def test_numbers_fall_into_runs_of_the_grid(value, bins, decimals, high):
    if abs(value * 10**decimals % 1 - 0.5) < 1e-6:
        return  # halves may go either way
    one = NumberCells("x", 0.0, float(high), bins, decimals)
    known = code_rows(sf.Table(pl.DataFrame({"x": [value]})), {"x": one}, np.ones(1, dtype=bool))
    assert known["x"].tolist() == [cell_of_number(value, 0, high, bins, decimals)]
    rng = np.random.default_rng(1)
    drawn = one.values(np.repeat(known["x"], 20), rng)
    again = code_rows(sf.Table(pl.DataFrame({"x": drawn})), {"x": one}, np.ones(20, dtype=bool))
    assert set(again["x"].tolist()) == set(known["x"].tolist()) and drawn.is_between(0, high).all()


def test_hierarchies_that_list_their_leaves_can_be_the_domain():
    schema = sf.Schema(
        {"town": sf.Attribute(("quasi",), hierarchy=sf.tree({"*": {"x": ["a", "b"], "y": ["c"]}}))}
    )
    public = Public({}, 4, {}, {}, ["town"])
    assert cells_of(schema, ["town"], public, "s")["town"].domain == ("a", "b", "c")
    with pytest.raises(SchemaError, match="leaves"):
        cells_of(schema, ["town"], dataclasses.replace(public, leaves=()), "s")
    masked = sf.Schema({"town": sf.Attribute(("quasi",), hierarchy=sf.mask_right(3))})
    with pytest.raises(SchemaError, match="lists its values"):
        cells_of(masked, ["town"], public, "s")
