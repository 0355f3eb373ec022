"""Tests of hypotheses: enough persons in every group that is compared, and a statistic that is that
of the records."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ParameterError
from tests.results.checking.test_fitted_models import rules_of
from tests.results.tables.own_records import check


def test_groups_of_a_test():
    from scipy import stats

    draw = np.random.default_rng(2)
    people = pl.DataFrame(
        {
            "who": np.arange(120),
            "sex": ["f", "m"] * 60,
            "ward": ["x"] * 4 + ["y"] * 116,
            "x": draw.normal(size=120),
            "z": draw.normal(size=120),
        }
    )
    f, m = (people.filter(pl.col("sex") == one)["x"].to_numpy() for one in "fm")
    few, many = (people.filter(pl.col("ward") == one)["x"].to_numpy() for one in "xy")
    said = {"by": ["sex"], "column": "x"}
    for test in (
        stats.ttest_ind,
        stats.mannwhitneyu,
        stats.ks_2samp,
        stats.ranksums,
        stats.f_oneway,
        stats.kruskal,
        stats.levene,
    ):
        assert check(test(f, m), people, **said).passes
        assert check(test(m, f), people, **said).passes
        assert "groups" in rules_of(check(test(few, many), people, by=["ward"], column="x"))
        assert (
            check(test(few, many), people, **said).status == "review"
        )  # another test than is said
        assert check(test(few, many)).status in ("review", "fail")
    one_sided = stats.ttest_ind(f, m, equal_var=False, alternative="greater")
    assert check(one_sided, people, **said).passes
    for test in (
        stats.pearsonr,
        stats.spearmanr,
        stats.kendalltau,
        stats.ttest_rel,
        stats.wilcoxon,
    ):
        assert check(test(people["x"], people["z"]), people, features=["x", "z"]).passes
    persons = people.with_columns(who=pl.col("who") % 4)
    assert "groups" in rules_of(check(stats.ttest_ind(f, m), persons, unit="who", **said))
    real = stats.ttest_ind(f, m)
    assert check(real).shown.columns == ["statistic", "pvalue", "df"]
    assert rules_of(check(real), "review") == {"groups"}
    assert rules_of(check(real, counts=[60, 60]), "review") == {"groups"}  # told, and not counted
    assert "groups" in rules_of(check(real, counts=[4, 116]))
    assert rules_of(check(real, counts=[30, 30])) == {
        "residual_df"
    }  # 118 degrees of freedom of sixty persons
    assert rules_of(check(real, people, counts=[59, 61], **said)) == {"counts"}
    assert check(real, people, counts=[60, 60], **said).passes


def test_cross_tables_of_a_test():
    from scipy import stats

    people = pl.DataFrame(
        {"a": ["u"] * 50 + ["v"] * 50, "b": (["p"] * 30 + ["q"] * 20) + (["p"] * 15 + ["q"] * 35)}
    )
    told = stats.chi2_contingency([[30, 20], [15, 35]])
    assert check(told, people, by=["a", "b"]).passes
    assert check(told, people).status == "review"
    assert check(told).status == "review"
    assert rules_of(check(told, counts=[90, 10])) == {
        "counts"
    }  # the test itself tells other groups
    assert check(stats.fisher_exact([[30, 20], [15, 35]]), people, by=["a", "b"]).passes
    small = stats.chi2_contingency([[3, 2], [40, 55]])
    assert rules_of(check(small)) == {"groups"}  # by what it expects
    corner = people.with_columns(b=pl.Series(["p"] * 48 + ["q"] * 2 + ["p"] * 15 + ["q"] * 35))
    cells = check(stats.chi2_contingency([[48, 2], [15, 35]]), corner, by=["a", "b"])
    assert rules_of(cells, "review") == {"groups"}


def test_words_about_a_test_that_do_not_fit():
    people = pl.DataFrame({"g": ["a", "b"] * 30, "x": np.arange(60.0)})
    test = SimpleNamespace(statistic=1.0, pvalue=0.5)
    for said, data in (
        ({"by": ["g"]}, people),
        ({"by": ["g"], "features": ["x", "x"]}, people),
        ({"features": ["x"]}, people),
        ({"by": ["g"], "column": "x"}, None),
        ({"counts": [3.5, 2]}, None),
        ({"counts": "many"}, None),
    ):
        with pytest.raises(ParameterError):
            check(test, data, **said)
