"""What is left of the original after values were exchanged, measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from tests.methods.steps.exchange_tables import kept, plain, run
from tests.methods.steps.swapping.test_rank_swap import correlated


def test_correlation_is_kept_as_far_as_asked():
    table = correlated()
    free, tight = (
        sf.RankSwap(["x", "y"], p=0.5),
        sf.RankSwap(["x", "y"], p=0.5, keep_correlation=0.95),
    )
    before = np.corrcoef(table.column("x"), table.column("y"))[0, 1]
    plan, made = run(free, table)
    assert np.corrcoef(made.column("x"), made.column("y"))[0, 1] < 0.8 * before
    plan, made = run(tight, table)
    after = np.corrcoef(made.column("x"), made.column("y"))[0, 1]
    assert after >= 0.95 * before
    assert kept(plan, "correlations").off_by == pytest.approx(abs(after - before))
    assert 0 < plan.owner["p_used"] < 0.5
    assert any("fewer ranks were swapped" in told for told in plan.warnings)
    assert made.column("x").to_list() != table.column("x").to_list()


def test_negative_correlation_is_kept_too():
    table = correlated().with_columns({"y": -correlated().column("y")})
    made = run(sf.RankSwap(["x", "y"], p=0.5, keep_correlation=0.9), table)[1]
    before, after = (np.corrcoef(t.column("x"), t.column("y"))[0, 1] for t in (table, made))
    assert after <= 0.9 * before < 0


def test_means_of_subsets_are_kept_as_far_as_asked():
    rng = np.random.default_rng(7)
    g = rng.integers(0, 3, 3000)
    table = plain(x=rng.normal(size=3000) + 2 * g, g=g)
    step = sf.RankSwap(["x"], p=0.6, keep_mean=1.0, subsets=["g"])
    plan, made = run(step, table)
    assert plan.owner["p_used"] < 0.6
    for group in range(3):
        old, new = (t.column("x").filter(table.column("g") == group) for t in (table, made))
        assert abs(new.mean() - old.mean()) <= 2 * old.std() / math.sqrt(len(old)) + 1e-12
