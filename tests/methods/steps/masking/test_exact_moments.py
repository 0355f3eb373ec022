"""Moments of a table that comes in pieces: exact sums, so that neither the pieces nor their order
change a digit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.table import Table
from sfumato.methods.steps.masking.weighted_moments import covariance_of, root_of, semidefinite
from tests.methods.steps.masking.test_noise import noisy
from tests.methods.steps.masking_contract import people, run


def test_kim_keeps_weighted_means_of_every_stratum_exactly():
    table = people(300)
    plan, made = run(sf.AddNoise(["income", "rent"], 2.0, method="kim"), table)
    both = pl.concat([t.to_polars().with_columns(t=pl.lit(i)) for i, t in enumerate((table, made))])
    weighted = (
        both.filter(pl.col("income").is_not_null())
        .group_by("region", "t")
        .agg((pl.col("income") * pl.col("weight")).sum() / pl.col("weight").sum())
    )
    for _, region in weighted.group_by("region"):
        assert region["income"].max() == pytest.approx(region["income"].min(), rel=1e-12)
    assert plan.preserved[0].exactly and plan.preserved[0].off_by < 1e-12


def test_correlations_that_gaps_made_impossible_are_mended():
    a, b, c = (
        [1.0, 2, 3, None, None, None, 1, 2, 3],
        [1.0, 2, 3, 1, 2, 3, None, None, None],
        [None] * 3 + [1.0, 2, 3, 3, 2, 1],
    )
    frame = pl.DataFrame({"a": a, "b": b, "c": c}, schema=dict.fromkeys("abc", pl.Float64))
    assert np.linalg.eigvalsh(covariance_of(frame.to_numpy(), np.ones(9))).min() < -0.1
    for method in ("correlated", "kim", "sullivan"):
        plan, made = noisy(Table(frame), method, columns="abc")
        assert any("were corrected" in words for words in plan.warnings), method
        assert made.column("a").null_count() == 3


@given(seed=st.integers(0, 10_000), size=st.integers(1, 6))
def test_roots_of_singular_matrices(seed, size):
    rng = np.random.default_rng(seed)
    part = rng.normal(size=(size, max(1, size - rng.integers(0, 3))))
    full = part @ part.T
    assert root_of(full) @ root_of(full).T == pytest.approx(
        full, abs=1e-6 * max(1, np.abs(full).max())
    )
    broken = rng.uniform(-1, 1, (size, size))
    broken = (broken + broken.T) / 2
    np.fill_diagonal(broken, 1)
    mended, _ = semidefinite(broken)
    assert np.linalg.eigvalsh(mended).min() > -1e-8
    assert np.diag(mended) == pytest.approx(np.ones(size))
