"""Curves and pictures: every mark stands for enough persons, or marks are joined until they do."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.checking.curve_points import join_neighbours, survival_frame

# Remission of leukaemia, 6-mercaptopurine (Freireich et al. 1963, doi:10.1182/blood.V21.6.699.699):
# times, events and at risk of the 21 patients as Kaplan–Meier tables of textbooks give them; S(6) =
# 0.857, S(10) = 0.753, S(23) = 0.448.
REMISSION = pl.DataFrame(
    {
        "time": [6, 7, 10, 13, 16, 22, 23],
        "events": [3, 1, 1, 1, 1, 1, 1],
        "at_risk": [21, 17, 15, 12, 11, 7, 6],
    }
)


def rules_of(verdict, status="fail"):
    return {one.rule for one in verdict.reasons if one.status == status}


def only_told(verdict):
    """Whether nothing is wrong but that nobody confirms the numbers: there are no records."""
    return verdict.status == "review" and rules_of(verdict, "review") == {"records"}


def test_steps_of_few_events_are_joined():
    verdict = sf.check_output(REMISSION, rules=sf.OutputRules(threshold=3))
    assert verdict.kind == "survival curve"
    assert rules_of(verdict) == {"marks"}
    assert verdict.suggestion.to_dict(as_series=False) == {
        "time": [6.0, 13.0, 23.0],
        "survival": [0.857, 0.69, 0.448],
    }
    assert sf.check_output(REMISSION).suggestion is None  # nine events in all: no step of ten


def test_the_end_of_a_curve_is_not_told_of_few():
    steps = pl.DataFrame({"time": [1, 2], "events": [10, 10], "at_risk": [25, 15]})
    assert rules_of(sf.check_output(steps)) == {"marks"}  # five are left
    assert sf.check_output(steps).suggestion["time"].to_list() == [1.0]
    assert only_told(sf.check_output(steps.with_columns(at_risk=pl.Series([40, 30]))))
    assert only_told(
        sf.check_output(steps.with_columns(at_risk=pl.Series([20, 10])))
    )  # nobody is left


def test_fitters_like_those_of_others():
    table = pl.DataFrame(
        {
            "event_at": [0.0, 6.0, 7.0],
            "removed": [0, 3, 1],
            "observed": [0, 3, 1],
            "censored": [0, 0, 12],
            "entrance": [21, 0, 0],
            "at_risk": [21, 21, 18],
        }
    )
    verdict = sf.check_output(SimpleNamespace(event_table=table))
    assert verdict.kind == "survival curve"
    assert verdict.persons == 21
    assert rules_of(verdict) == {"marks"}
    result = SimpleNamespace(
        surv_times=[6, 7], n_events=[30, 20], n_risk=[90, 60], surv_prob=[0.67, 0.44]
    )
    assert only_told(sf.check_output(result))
    assert sf.check_output(SimpleNamespace(event_table=3)).status == "review"
    few = table.with_columns(
        observed=pl.Series([0, 12, 12]),
        censored=pl.Series([0, 0, 3]),
        at_risk=pl.Series([60, 60, 48]),
    )
    assert rules_of(sf.check_output(SimpleNamespace(event_table=few))) == {"marks"}


def test_fitters_of_lifelines():
    lifelines = pytest.importorskip("lifelines", reason="lifelines is not installed")
    draw = np.random.default_rng(1)
    lives = pl.DataFrame({"days": draw.integers(1, 5, 400), "died": draw.random(400) < 0.9})
    fitter = lifelines.KaplanMeierFitter().fit(lives["days"].to_numpy(), lives["died"].to_numpy())
    assert sf.check_output(fitter, lives).kind == "survival curve"
    assert "records" not in rules_of(
        sf.check_output(fitter, lives), "review"
    )  # it keeps what it was fitted to
    assert "records" in rules_of(sf.check_output(fitter), "review")


def test_survival_tables_that_cannot_be():
    with pytest.raises(ParameterError, match="no more than are at risk"):
        sf.check_output(REMISSION.with_columns(events=pl.lit(30)))
    with pytest.raises(ParameterError, match="numbers of persons"):
        sf.check_output(REMISSION.with_columns(events=pl.lit(-1)))
    assert (
        sf.check_output(
            REMISSION.with_columns(events=pl.lit(None, dtype=pl.Int64)), kind="survival"
        ).status
        == "review"
    )
    assert sf.check_output(pl.DataFrame({"time": [1]}), kind="survival").status == "review"
    assert survival_frame(pl.DataFrame({"a": [1]})) is None


@given(st.lists(st.integers(0, 20), max_size=30), st.integers(1, 15))
def test_joined_marks_are_neighbours_and_large_enough(counts, least):
    groups = join_neighbours(counts, least)
    assert all(sum(counts[start:end]) >= least for start, end in groups)
    assert (sum(counts) >= least) == bool(groups)
    if groups:
        assert [start for start, _ in groups] == [0, *[end for _, end in groups[:-1]]]
        assert groups[-1][1] == len(counts)


def test_points_of_a_roc_curve():
    fpr, tpr = np.array([0.0, 0.1, 0.5, 1.0]), np.array([0.0, 0.5, 0.9, 1.0])
    # steps of 0.5·40 + 0.1·60 = 26, 0.4·40 + 0.4·60 = 40 and 0.1·40 + 0.5·60 = 34 persons
    assert only_told(sf.check_output(pl.DataFrame({"fpr": fpr, "tpr": tpr}), counts=(40, 60)))
    assert only_told(sf.check_output((fpr, tpr), kind="roc", counts={"with": 40, "without": 60}))
    assert sf.check_output((fpr, tpr), kind="roc").status == "review"
    verdict = sf.check_output(
        (fpr, tpr), kind="roc", counts=(40, 60), rules=sf.OutputRules(threshold=30)
    )
    assert rules_of(verdict) == {"marks"}
    assert verdict.suggestion.to_dict(as_series=False) == {
        "fpr": [0.0, 0.5, 1.0],
        "tpr": [0.0, 0.9, 1.0],
    }
    assert only_told(
        sf.check_output((fpr, tpr), kind="roc", counts=(40, 60), rules=sf.OutputRules(threshold=26))
    )
    assert rules_of(sf.check_output((fpr, tpr), kind="roc", counts=(4, 600))) >= {"threshold"}
    for wrong, words in (((4,), "two numbers"), ((-4, 6), "negative")):
        with pytest.raises(ParameterError, match=words):
            sf.check_output((fpr, tpr), kind="roc", counts=wrong)
    with pytest.raises(SchemaError, match="between 0 and 1"):
        sf.check_output((fpr * 3, tpr), kind="roc", counts=(40, 60))
    with pytest.raises(SchemaError, match="fpr and tpr"):
        sf.check_output(3, kind="roc")


def test_bars_of_a_histogram():
    draw = np.random.default_rng(2)
    people = pl.DataFrame({"x": draw.normal(50, 10, 300).round(2)})
    own = np.histogram(people["x"].to_numpy(), bins=12)
    verdict = sf.check_output(own, people, kind="histogram", column="x")
    assert rules_of(verdict) == {"extreme", "marks"}
    edges = np.r_[0.0, np.arange(30.0, 80.0, 10.0), 100.0]
    round_ones = np.histogram(people["x"].to_numpy(), bins=edges)
    found = sf.check_output(round_ones, people, kind="histogram", column="x")
    few = bool((round_ones[0] < 10).any())
    assert found.status == ("fail" if few else "pass")
    tail = (np.array([100, 3, 80]), np.array([0.0, 10.0, 20.0, 30.0]))
    people = pl.DataFrame({"x": [5.0] * 100 + [15.0] * 3 + [25.0] * 80})
    verdict = sf.check_output(tail, people, kind="histogram", column="x")
    assert rules_of(verdict) == {"marks"}
    assert verdict.suggestion.to_dict(as_series=False) == {
        "from": [0.0, 10.0],
        "to": [10.0, 30.0],
        "count": [100.0, 83.0],
    }
    assert sf.check_output(tail, kind="histogram").status == "fail"
    assert (
        sf.check_output((np.array([100, 80]), np.array([0.0, 1.0, 2.0])), kind="histogram").status
        == "review"
    )
    for wrong in (
        (np.array([0.4, 0.6]), np.array([0.0, 1.0, 2.0])),
        (np.array([-1, 6]), np.array([0.0, 1.0, 2.0])),
    ):
        with pytest.raises(ParameterError, match="count persons"):
            sf.check_output(wrong, kind="histogram")
    with pytest.raises(SchemaError, match="one edge more"):
        sf.check_output((np.array([1]), np.array([0.0])), kind="histogram")


def test_bars_count_persons():
    visits = pl.DataFrame({"who": [1] * 20 + list(range(2, 22)), "x": [1.0] * 20 + [11.0] * 20})
    bars = (np.array([20, 20]), np.array([0.0, 10.0, 20.0]))
    assert sf.check_output(bars, visits, kind="histogram", column="x").passes
    assert rules_of(sf.check_output(bars, visits, unit="who", kind="histogram", column="x")) == {
        "marks"
    }


def test_dots_become_counts_on_a_grid():
    draw = np.random.default_rng(3)
    dots = pl.DataFrame({"x": draw.normal(size=2000), "y": draw.normal(size=2000)})
    verdict = sf.check_output(dots, kind="scatter")
    assert rules_of(verdict) == {"marks"}
    assert verdict.suggestion["count"].min() >= 10
    x, x_to, y, y_to, n = verdict.suggestion.row(0)
    inside = dots.filter(
        pl.col("x").is_between(x, x_to, closed="left")
        & pl.col("y").is_between(y, y_to, closed="left")
    )
    assert inside.height == n
    assert sf.check_output(dots.head(5), kind="scatter").suggestion is None
    with pytest.raises(SchemaError, match="two columns of numbers"):
        sf.check_output(pl.DataFrame({"x": [1.0]}), kind="scatter")


@pytest.mark.parametrize("kind", ["survival", "roc", "histogram", "scatter"])
def test_weights_of_marks_are_refused_not_ignored(kind):
    people = pl.DataFrame({"x": [1.0, 2.0], "w": [1.0, 3.0]})
    with pytest.raises(ParameterError, match="weight is for tables"):
        sf.check_output(REMISSION, people, kind=kind, weight="w")
