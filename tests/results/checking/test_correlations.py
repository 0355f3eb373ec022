"""Correlations: enough persons, no two columns that are nearly one, and numbers that are those of
the records."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl

from tests.results.checking.test_fitted_models import rules_of
from tests.results.tables.own_records import check


def test_tests_and_correlations():
    test = SimpleNamespace(statistic=2.1, pvalue=0.03)
    assert check(test).status == "review"
    assert check(test, counts=30).status == "review"  # of which groups, nobody says
    assert check(test, counts=11).status == "fail"
    assert check(SimpleNamespace(statistic=2.1, pvalue=0.03, df=8.0)).status == "fail"
    assert (
        check(SimpleNamespace(test_statistic=2.1, p_value=0.03)).kind == "test"
    )  # as lifelines says it
    draw = np.random.default_rng(2)
    people = pl.DataFrame({"a": draw.normal(size=50), "b": draw.normal(size=50)})
    people = people.with_columns(c=2 * pl.col("a"), rare=pl.Series([1.0] * 2 + [0.0] * 48))
    assert check(people.select("a", "b").corr(), people).passes
    assert check(people.select("a", "b").corr()).status == "review"
    assert rules_of(check(people.select("a", "c").corr(), people)) == {"fit"}
    assert rules_of(check(people.select("a", "rare").corr(), people)) == {"levels"}
    assert "residual_df" in rules_of(check(people.select("a", "b").corr(), people.head(11)))
    assert rules_of(check(people.select("a", "b").corr(), people, counts=500)) == {"counts"}
