"""Tables without their records: judged by counts alone, which show that persons are too few, and
never that all is well."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from tests.results.checking.test_grouped_tables import rules_of


def test_without_records_counts_decide_only_downwards():
    table = pl.DataFrame({"g": ["a", "b"], "mean": [3.0, 4.0], "n": [40, 7]})
    assert rules_of(sf.check_output(table, counts="n", tells={"mean": "mean(x)"})) == {"threshold"}
    enough = table.with_columns(n=pl.Series([40, 70]))
    verdict = sf.check_output(enough, counts="n", tells={"mean": "mean(x)"})
    assert verdict.status == "review"
    assert rules_of(verdict, "review") == {"records"}
    assert sf.check_output(enough.drop("n"), tells={"mean": "mean(x)"}).status == "review"
    assert rules_of(sf.check_output(enough.drop("n"), tells={"mean": "mean(x)"}), "review") == {
        "counts"
    }
    counted = sf.check_output(enough.drop("mean"))
    assert rules_of(counted, "review") == {
        "records"
    }  # that these are counts of persons is told, and nobody can confirm it
    assert not rules_of(counted)
    assert sf.check_output(enough.drop("mean").with_columns(pl.col("n") + 0.5)).status == "review"
    flat = pl.DataFrame({"g": ["a"], "sd": [0.0]})
    assert rules_of(sf.check_output(flat, counts=[30], tells={"sd": "sd(x)"})) == {"all_equal"}
    assert rules_of(
        sf.check_output(
            pl.DataFrame({"g": ["a"], "q": [3.0]}), counts=[30], tells={"q": "quantile(x, 0.1)"}
        )
    ) == {"bands"}


def test_hostile_counts():
    table = pl.DataFrame({"g": ["a", "b"], "n": [-4, 30]})
    with pytest.raises(ParameterError, match="negative"):
        sf.check_output(table)
    with pytest.raises(ParameterError, match="negative"):
        sf.check_output(table.with_columns(x=pl.lit(1.0)), counts="n", tells={"x": "mean(x)"})
    with pytest.raises(ParameterError, match="one per row"):
        sf.check_output(table.with_columns(n=pl.lit(20)), counts=[1, 2, 3], tells={"n": "mean(x)"})
    missing = pl.DataFrame({"g": ["a", "b"], "x": [1.0, 2.0]})
    assert rules_of(
        sf.check_output(missing, counts=[float("nan"), 30.0], tells="mean"), "review"
    ) >= {"counts"}
