"""What microaggregation preserved, measured on its result."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.steps.microaggregation.test_microaggregation import (
    GOAL,
    METHODS,
    points,
    step,
    table,
)

AT_MOST = {
    "single_axis",
    "z_score_sum",
    "principal_component",
    "projected_optimal",
    "mdav",
    "partitioned",
    "k_ward",
}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(rows=points, k=st.integers(2, 4))
def test_groups_are_large_enough_and_means_stay(method, rows, k):
    a, b = np.array(rows).T
    plan = step(method, k).plan(table(a=a, b=b), GOAL)
    assert plan.owner["smallest_group"] >= k
    assert method not in AT_MOST or plan.owner["largest_group"] <= 2 * k - 1
    for name, old in (("a", a), ("b", b)):
        assert math.isclose(plan.columns[name].mean(), old.mean(), rel_tol=1e-9, abs_tol=1e-9)
    assert (
        plan.preserved[0].what == "means"
        and plan.preserved[0].exactly
        and plan.preserved[0].off_by < 1e-9
    )
    assert 0 <= plan.owner["sse_over_sst"] <= 1 + 1e-9
    together = plan.columns["a"].to_frame().with_columns(plan.columns["b"]).group_by("a", "b").len()
    assert together["len"].min() >= k


def test_groups_stay_within_strata_and_keep_their_means():
    rng = np.random.default_rng(2)
    sample = table(a=rng.normal(size=60), b=rng.normal(size=60), s=["x", "y", "z"] * 20)
    for method in ("mdav", "best", "genetic", "k_ward", "partitioned"):
        plan = step(method, 4, within=["s"]).plan(sample, GOAL)
        both = sample.to_polars().with_columns(new=plan.columns["a"])
        kept = both.group_by("s").agg(pl.col("a").mean(), pl.col("new").mean())
        assert np.allclose(kept["a"], kept["new"])
        assert both.group_by("new").agg(pl.col("s").n_unique())["s"].max() == 1
