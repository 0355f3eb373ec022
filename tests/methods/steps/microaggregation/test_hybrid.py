"""Groups redrawn with the same means and covariances."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.microaggregation.hybrid import orthonormal, redrawn, redrawn_groups

X = np.array([[1.0, 10], [2, 14], [4, 13], [7, 19]])
Z = np.array([[0.0, 1], [1, 0], [2, 5], [4, 2]])


def regular(values, draws):
    """Y = x̄ + (Z − z̄) K⁻ᵀ Lᵀ with S = LLᵀ, T = KKᵀ: the regular case of Domingo-Ferrer &
    González-Nicolás 2010.
    """
    lower, other = np.linalg.cholesky(np.cov(values.T)), np.linalg.cholesky(np.cov(draws.T))
    return values.mean(axis=0) + (draws - draws.mean(axis=0)) @ np.linalg.inv(other).T @ lower.T


def test_worked_example():
    """By Cholesky, computed by hand from the formula; orthonormal draws are the same draws in other
    clothes.
    """
    golden = [
        [0.788912, 10.359578],
        [2.338105, 11.224025],
        [3.887298, 16.730595],
        [6.985685, 17.685803],
    ]
    assert regular(X, Z) == pytest.approx(np.array(golden), abs=1e-6)
    lower = np.linalg.cholesky(np.cov(X.T))
    assert X.mean(axis=0) + np.sqrt(3) * orthonormal(Z) @ lower.T == pytest.approx(
        np.array(golden), abs=1e-6
    )
    made = redrawn(X, Z)
    assert np.cov(made.T) == pytest.approx(np.array([[7, 9], [9, 14]])) and made.mean(
        axis=0
    ).tolist() == [3.5, 14.0]
    assert not np.allclose(made, X)


def test_two_records_only_change_places():
    for seed in range(5):
        made = redrawn(X[:2], np.random.default_rng(seed).standard_normal((2, 1)))
        assert np.allclose(made, X[:2]) or np.allclose(made, X[1::-1])


@given(st.integers(3, 40), st.integers(1, 4), st.integers(0, 10**6))
def test_every_group_keeps_means_and_covariances(rows, columns, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, columns)) * rng.choice([1, 0, 3], columns)
    if columns > 1:
        values[:, -1] = 2 * values[:, 0] - 1  # collinear
    groups = rng.permutation(np.arange(rows) // 3 % max(1, rows // 3))
    made = redrawn_groups(values, groups, rng)
    for group in np.unique(groups):
        old, new = values[groups == group], made[groups == group]
        assert new.mean(axis=0) == pytest.approx(old.mean(axis=0), abs=1e-9)
        assert np.cov(new.T) == pytest.approx(np.cov(old.T), abs=1e-9)
    if columns > 1:
        assert made[:, -1] == pytest.approx(2 * made[:, 0] - 1, abs=1e-6)


def table(rows=120, seed=1):
    rng = np.random.default_rng(seed)
    base = rng.standard_normal(rows)
    return sf.Table(
        pl.DataFrame(
            {
                "tiny": base * 1e-6,
                "huge": (base + rng.standard_normal(rows)) * 1e6,
                "whole": rng.integers(0, 90, rows),
                "same": np.full(rows, 3.25),
                "town": np.array(["a", "b"])[rng.integers(0, 2, rows)],
            }
        )
    )


NUMBERS = ["tiny", "huge", "whole", "same"]


@pytest.mark.parametrize("method", ["mdav", "partitioned", "principal_component"])
def test_tables_of_any_scale_keep_what_is_told(method):
    data = table()
    step = sf.HybridMicrodata(NUMBERS, k=8, method=method)
    plan = step.plan(data, Goal(seed=Seed(1)))
    made = step.apply(data, plan)
    assert [kept.exactly for kept in plan.preserved] == [True, True]
    assert max(kept.off_by for kept in plan.preserved) <= 1e-9
    before, after = data.to_polars(), made.to_polars()
    for name in NUMBERS:
        spread = before[name].std() or 1.0
        assert after[name].mean() == pytest.approx(before[name].mean(), abs=1e-9 * spread)
        assert (after[name].std() or 0) == pytest.approx(before[name].std(), rel=1e-9)
    scaled = [np.corrcoef(t["tiny"], t["huge"])[0, 1] for t in (before, after)]
    assert scaled[0] == pytest.approx(scaled[1], abs=1e-9)
    assert (after["same"] == 3.25).all() and not (after["huge"] == before["huge"]).any()
    assert after["town"].equals(before["town"]) and made.origin is data.origin


def test_rows_in_another_order_get_the_same_values():
    data = table()
    order = np.random.default_rng(3).permutation(len(data))
    step = sf.HybridMicrodata(NUMBERS, k=6)
    one = step.apply(data, step.plan(data, Goal(seed=Seed(4)))).to_polars()[order]
    mixed = sf.Table(data.to_polars()[order])
    assert step.apply(mixed, step.plan(mixed, Goal(seed=Seed(4)))).to_polars().equals(one)


def test_rounding_and_cutting_off_end_exactness_and_are_told():
    data = table()
    rounded = sf.HybridMicrodata(["whole", "huge"], k=6, keep_integers=True).plan(
        data, Goal(seed=Seed(1))
    )
    assert rounded.columns["whole"].dtype == pl.Int64 and not rounded.preserved[0].exactly
    assert 0 < rounded.preserved[0].off_by < 0.1
    known = dataclasses.replace(
        data, schema=sf.Schema({"whole": sf.Attribute(("quasi",), kind="numeric", bounds=(10, 80))})
    )
    cut = sf.HybridMicrodata(["whole"], k=6, clip=True).plan(known, Goal(seed=Seed(1)))
    assert cut.columns["whole"].is_between(10, 80).all() and any(
        "cut off" in note for note in cut.warnings
    )
    with pytest.raises(SchemaError, match="bounds"):
        sf.HybridMicrodata(["whole"], k=6, clip=True).plan(data, Goal(seed=Seed(1)))


def test_small_groups_are_refused_or_warned_of():
    with pytest.raises(ParameterError, match="greater than or equal to 3"):
        sf.HybridMicrodata(["whole"], k=2)
    plan = sf.HybridMicrodata(["tiny", "huge", "whole"], k=3).plan(table(), Goal(seed=Seed(1)))
    assert any("fewer than 5 records" in warning for warning in plan.warnings)
    with pytest.raises(SchemaError, match="as many records"):
        sf.HybridMicrodata(["whole"], k=3).plan(table(2), Goal(seed=Seed(1)))


def test_missing_values_and_words():
    data = table()
    gaps = sf.Table(
        data.to_polars().with_columns(pl.when(pl.int_range(120) > 3).then("huge").alias("huge"))
    )
    with pytest.raises(SchemaError, match="lack a value"):
        sf.HybridMicrodata(["huge", "whole"], k=6).plan(gaps, Goal(seed=Seed(1)))
    plan = sf.HybridMicrodata(["huge", "whole"], k=6, missing="leave").plan(
        gaps, Goal(seed=Seed(1))
    )
    assert plan.columns["huge"].null_count() == 4 and any(
        "are unchanged" in warning for warning in plan.warnings
    )
    with pytest.raises(SchemaError, match="columns of numbers"):
        sf.HybridMicrodata(["town"], k=6).plan(data, Goal(seed=Seed(1)))
