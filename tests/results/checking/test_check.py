"""What is suggested instead of an output that fails is held against its own check, for every kind
of output; and disguises that tables, bars and tests had.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sfumato as sf


def rules_of(verdict, status="fail"):
    return {one.rule for one in verdict.reasons if one.status == status}


def people(seed, n=700):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": np.arange(n) // 2,
            "town": draw.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "job": draw.choice(["x", "y", "z"], n, p=[0.6, 0.38, 0.02]),
            "age": draw.integers(18, 90, n),
            "cost": draw.lognormal(3, 1, n),
            "score": draw.normal(size=n),
            "ill": draw.integers(0, 2, n),
            "days": draw.integers(1, 40, n),
        }
    )


def test_bars_that_leave_few_out_and_edges_that_tell_extremes():
    p = people(1)
    cost = p["cost"].to_numpy()
    most = float(np.sort(cost)[-4])
    round_ones = np.array([0.0, 20.0, 40.0, np.floor(most)])
    verdict = sf.check_output(
        np.histogram(cost, bins=round_ones), p, kind="histogram", column="cost"
    )
    assert "beyond" in rules_of(verdict)
    width = cost.max() / 40
    wide = np.array(
        [0.0, 3 * width, 6 * width, 1000.0]
    )  # a fortieth of the highest value, told by its multiples
    assert "extreme" in rules_of(
        sf.check_output(np.histogram(cost, bins=wide), p, kind="histogram", column="cost")
    )
    tenths = np.r_[0.0, np.quantile(cost, [0.25, 0.5, 0.75], method="nearest"), 1000.0]
    assert "extreme" in rules_of(
        sf.check_output(np.histogram(cost, bins=tenths), p, kind="histogram", column="cost")
    )
    fine = np.array([0.0, 10.0, 20.0, 40.0, 1000.0])
    assert sf.check_output(np.histogram(cost, bins=fine), p, kind="histogram", column="cost").passes


def test_percentages_that_leave_few_out():
    p = people(2)
    table = (
        p.group_by("town")
        .agg((100 * pl.len() / p.height).alias("percent"))
        .filter(pl.col("town") != "d")
    )
    assert rules_of(sf.check_output(table, p)) == {"margins"}
    assert sf.check_output(table.filter(pl.col("town") != "c"), p).passes


def test_a_test_of_what_few_persons_differ_in():
    p = people(3).with_columns(
        one=(pl.int_range(pl.len()) == 5).cast(pl.Float64),
        half=pl.Series(np.arange(700) % 2),
        near=pl.when(pl.int_range(pl.len()) < 3).then(pl.col("cost") + 9).otherwise(pl.col("cost")),
    )
    cost, one, near, half = (p[name].to_numpy() for name in ("cost", "one", "near", "half"))
    for test, said in (
        (stats.pearsonr(cost, one), {"features": ["cost", "one"]}),
        (stats.spearmanr(cost, one), {"features": ["cost", "one"]}),
        (stats.ttest_rel(cost, near), {"features": ["cost", "near"]}),
        (stats.ttest_ind(one[half == 0], one[half == 1]), {"by": ["half"], "column": "one"}),
    ):
        assert "levels" in rules_of(sf.check_output(test, p, **said))
    assert sf.check_output(
        stats.ttest_ind(cost[half == 0], cost[half == 1]), p, by=["half"], column="cost"
    ).passes
    matrix = pl.DataFrame(np.corrcoef(np.stack([cost, near])), schema=["cost", "near"])
    assert rules_of(sf.check_output(matrix, p, kind="correlation")) == {"difference"}


def test_tables_that_were_turned_and_values_that_were_counted():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    p = people(4)
    q = p.filter(pl.col("town") != "d").to_pandas()
    turned = q.groupby("town").agg(n=("age", "size"), m=("age", "mean")).T
    assert sf.check_output(turned, q).passes
    assert sf.check_output(q.groupby("town")["age"].mean().to_frame().T, q).passes
    whole = p.to_pandas()
    assert (
        sf.check_output(
            whole.groupby("town").agg(n=("age", "size"), m=("age", "mean")).T, whole
        ).status
        == "fail"
    )
    assert sf.check_output((100 * q.groupby("town")["ill"].mean()).round(1), q).passes
    halves = pl.DataFrame({"x": np.repeat([0.5, 1.5, 2.5], [30, 20, 4])})
    assert sf.check_output(halves.to_pandas()["x"].value_counts(), halves).status == "fail"
    some = halves.filter(pl.col("x") < 2)
    assert sf.check_output(some.to_pandas()["x"].value_counts(), some).passes
    told = pd.crosstab(whole["ill"], whole["town"], normalize=True).map("{:.1%}".format)
    assert sf.check_output(told, whole).status != "pass"  # and nothing is raised


def test_numbers_by_label_are_a_table():
    p = people(5)
    means = dict(
        p.filter(pl.col("town") != "d").group_by("town").agg(pl.col("age").mean()).iter_rows()
    )
    some = p.filter(pl.col("town") != "d")
    assert sf.check_output(means, some).passes
    assert sf.check_output(means, some, by=["town"], tells="mean(age)").passes
    assert (
        sf.check_output(dict(p.group_by("town").agg(pl.col("age").mean()).iter_rows()), p).status
        == "fail"
    )
    assert sf.check_output(means).status == "review"
    assert sf.check_output({"a": SimpleNamespace()}, p).status == "review"
    assert sf.check_output({"a": 1.0, ("b", 2): 3.0}, p).status == "review"
