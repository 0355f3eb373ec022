"""Data shuffling: values kept exactly, rank correlations nearly, and nothing left of a record's own
value.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.swapping.normal_scores import (
    average_ranks,
    normal_scores,
    positive,
    rank_correlations,
    root,
)
from tests.methods.steps.exchange_tables import PLAIN, kept, plain, run
from tests.oracles import exchange as oracle


def correlated(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    s, t, u, v = rng.normal(size=(4, n))
    return plain(
        s=s,
        t=t,
        x=np.exp(s + 0.5 * u),
        y=-0.7 * s + 0.5 * t + 0.4 * u + 0.3 * v,
        g=rng.integers(0, 2, n),
    )


def spearman(table, a, b):
    return stats.spearmanr(table.column(a).to_numpy(), table.column(b).to_numpy()).statistic


def test_values_exactly_and_rank_correlations_nearly():
    table = correlated(40_000)
    plan, made = run(sf.ShuffleValues(["x", "y"], predictors=["s", "t"]), table)
    for name in "xy":
        assert sorted(made.column(name)) == sorted(table.column(name))
        assert (made.column(name) != table.column(name)).mean() > 0.99
    changes = []
    for pair in ("xs", "xt", "ys", "yt", "xy"):
        rho = spearman(table, *pair)
        changes.append(abs(spearman(made, *pair) - rho))
        # a rank correlation of n records has a standard error of about 1.1 (1 − ρ²) / √n; 5
        # of them: 6e-7
        assert changes[-1] <= 5 * 1.1 * (1 - rho**2) / math.sqrt(len(table))
    assert kept(plan, "rank correlations").off_by == pytest.approx(max(changes), abs=1e-9)
    assert made.column("s").equals(table.column("s"))


def test_given_the_predictors_the_result_does_not_depend_on_the_own_value():
    # partial rank correlation of released and original x given s is zero but for sampling error
    table = correlated(8000)
    made = run(sf.ShuffleValues(["x"], predictors=["s"]), table)[1]
    s, old, new = (
        stats.rankdata(c) for c in (table.column("s"), table.column("x"), made.column("x"))
    )
    z = [stats.norm.ppf((r - 0.5) / len(r)) for r in (s, old, new)]
    rest = [v - np.polyval(np.polyfit(z[0], v, 1), z[0]) for v in z[1:]]
    assert abs(np.corrcoef(*rest)[0, 1]) <= 5 / math.sqrt(8000)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, 3, None]),
            st.sampled_from([1.0, 5.0, None]),
            st.sampled_from("ab"),
        ),
        max_size=20,
    )
)
def test_any_table_keeps_its_values(records):
    types = {"x": pl.Int64, "s": pl.Float64, "g": pl.String}
    table = plain(
        **{n: pl.Series([r[i] for r in records], dtype=d) for i, (n, d) in enumerate(types.items())}
    )
    plan, made = run(sf.ShuffleValues(["x"], predictors=["s"], within=["g"]), table)
    after = made.column("x").to_list()
    assert [v is None for v in after] == [r[0] is None for r in records]
    for group in "ab":
        old = sorted(r[0] for r in records if r[0] is not None and r[2] == group)
        assert old == sorted(
            v for v, r in zip(after, records, strict=True) if v is not None and r[2] == group
        )
    assert kept(plan, "frequencies").exactly


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, -3.0]), min_size=1, max_size=12))
def test_ranks_of_ties_are_averages(values):
    assert average_ranks(np.array(values)).tolist() == oracle.average_ranks(values)


def test_normal_scores_and_rank_correlations():
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 5, (2, 200)).astype(float)
    b[:100] = a[:100]
    found = rank_correlations([average_ranks(a), average_ranks(b), np.full(200, 100.5)])
    assert found[0, 1] == pytest.approx(stats.spearmanr(a, b).statistic)
    assert found[2].tolist() == [0, 0, 1]
    assert normal_scores(average_ranks(a)) == pytest.approx(
        stats.norm.ppf((stats.rankdata(a) - 0.5) / 200)
    )


def test_matrices_that_are_not_positive_are_mended():
    broken = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    mended = positive(broken)
    assert np.linalg.eigvalsh(mended).min() >= -1e-12
    assert np.diag(mended) == pytest.approx(np.ones(3))
    assert root(mended) @ root(mended) == pytest.approx(mended)
    sound = np.array([[1, 0.5], [0.5, 1]])
    assert positive(sound).tolist() == sound.tolist()


def test_a_predictor_that_tells_all_leaves_all_in_place():
    table = plain(x=np.arange(50) ** 2, s=np.arange(50))
    made = run(sf.ShuffleValues(["x"], predictors=["s"]), table)[1]
    assert made.column("x").equals(table.column("x"))


def test_ordinal_columns_constant_columns_and_persons():
    schema = Schema(
        {
            "who": Attribute((Role.PERSON,)),
            "grade": Attribute((Role.KEEP,), Kind.ORDINAL, order=("low", "mid", "high")),
            "age": PLAIN,
            "one": PLAIN,
        }
    )
    rng = np.random.default_rng(4)
    grade = np.repeat(rng.choice(["low", "mid", "high"], 80), 2)
    frame = pl.DataFrame(
        {
            "who": np.repeat(np.arange(80), 2),
            "grade": grade,
            "age": np.repeat(rng.integers(0, 9, 80), 2),
        }
    )
    table = Table(frame.with_columns(one=1), schema)
    made = run(sf.ShuffleValues(["grade", "one"], predictors=["age"]), table)[1]
    assert sorted(made.column("grade")) == sorted(grade)
    assert made.to_polars().group_by("who").agg(pl.col("grade").n_unique())["grade"].max() == 1
    assert (made.column("grade") != table.column("grade")).mean() > 0.4


def test_small_strata_are_told():
    plan, _ = run(
        sf.ShuffleValues(["x"], predictors=["s"], within=["g"]),
        plain(x=range(9), s=range(9), g=[1] * 7 + [2, 2]),
    )
    assert "2 record(s) are in strata too small" in plan.warnings[0]


def test_wrong_input():
    with pytest.raises(ParameterError, match=r"predictors.*at least 1 entry"):
        sf.ShuffleValues(["x"], predictors=[])
    with pytest.raises(ParameterError, match="cannot be in columns and in predictors"):
        sf.ShuffleValues(["x"], predictors=["x"])
    with pytest.raises(SchemaError, match="have no order"):
        run(sf.ShuffleValues(["x"], predictors=["s"]), plain(x=[1, 2], s=["a", "b"]))
    with pytest.raises(SchemaError, match="no column 'z'"):
        run(sf.ShuffleValues(["z"], predictors=["s"]), plain(s=[1, 2]))
