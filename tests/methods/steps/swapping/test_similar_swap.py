"""Similarity-guided swapping: the nearest two exchange first."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from tests.methods.steps.exchange_tables import PLAIN, kept, plain, run


@pytest.mark.parametrize("seed", range(5))
def test_golden_incomes_and_illness(seed):
    # worked numbers G41 (S4): 100, 10000, 120 with n, n, y become y, n, n
    made = run(
        sf.SwapSimilar(["illness"], by="income"),
        plain(income=[100, 10000, 120], illness=["n", "n", "y"]),
        seed,
    )[1]
    assert made.column("illness").to_list() == ["y", "n", "n"]


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, 9, None]), st.sampled_from(["a", "b", None])), max_size=20
    )
)
def test_values_are_kept_and_missing_ones_stay(records):
    table = plain(
        by=pl.Series([r[0] for r in records], dtype=pl.Int64),
        x=pl.Series([r[1] for r in records], dtype=pl.String),
    )
    plan, made = run(sf.SwapSimilar(["x"], by="by"), table)
    after = made.column("x").to_list()
    assert [v is None for v in after] == [r[1] is None for r in records]
    assert sorted(v for v in after if v) == sorted(r[1] for r in records if r[1])
    assert made.column("by").equals(table.column("by"))
    assert kept(plan, "frequencies").exactly
    assert all(r[1] == v for r, v in zip(records, after, strict=True) if r[0] is None)


def test_only_records_at_risk_and_their_partners_change():
    schema = Schema(
        {"sex": Attribute((Role.QUASI,)), "age": Attribute((Role.KEEP,), Kind.NUMERIC), "x": PLAIN}
    )
    frame = pl.DataFrame(
        {"sex": ["f"] * 6 + ["m"], "age": [10, 20, 30, 40, 50, 60, 41], "x": range(7)}
    )
    plan, made = run(sf.SwapSimilar(["x"], by="age", k=2), Table(frame, schema))
    assert made.column("x").to_list() == [0, 1, 2, 6, 4, 5, 3]
    assert plan.owner == {"changed": 2, "at_risk": 1, "alone": 0}
    plan, made = run(sf.SwapSimilar(["x"], by="age", k=2, reach=0.5), Table(frame, schema))
    assert made.column("x").to_list() == list(range(7))
    assert "1 at risk found no partner" in plan.warnings[0]


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="another column"):
        sf.SwapSimilar(["x"], by="x")
    with pytest.raises(ParameterError, match="k should be greater than or equal to 2"):
        sf.SwapSimilar(["x"], by="y", k=1)
    with pytest.raises(SchemaError, match="no column has that role"):
        run(sf.SwapSimilar(["x"], by="y", k=2), plain(x=[1], y=[1]))
    with pytest.raises(SchemaError, match="have no order"):
        run(sf.SwapSimilar(["x"], by="y"), plain(x=[1], y=["a"]))
