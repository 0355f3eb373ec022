"""Predicting from a release, and the overlap of regressions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

import sfumato as sf
from sfumato.core.pair import TablePair
from tests.methods.utility.pairs_of_tables import itself
from tests.oracles import utility_metrics


def workers(rows=300, seed=4):
    draw = np.random.default_rng(seed)
    age, sex = draw.integers(20, 60, rows), draw.choice(["f", "m"], rows)
    town = draw.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    wage = 1000 + 30.0 * age + 200 * (sex == "m") + draw.normal(0, 150, rows)
    rich = np.where(wage > np.median(wage), "yes", "no")
    frame = pl.DataFrame({"age": age, "sex": sex, "town": town, "wage": wage, "rich": rich})
    return sf.read(frame).with_roles(keep=frame.columns)


def test_accuracy_learned_from_original_release_and_majority():
    people = workers()
    same = sf.PredictiveAccuracy("rich", ["age", "sex"]).measure(itself(people))
    assert same.value == 0
    assert same.raw > 0.75
    blind = TablePair.of(
        people, people.with_columns({"age": pl.Series(["*"] * 300), "sex": pl.Series(["*"] * 300)})
    )
    lost = sf.PredictiveAccuracy("rich", ["age", "sex"]).measure(blind)
    assert lost.value > 0.8
    assert "by majority" in lost.meaning
    wrong = people.with_columns(
        {"rich": pl.Series(["no" if r == "yes" else "yes" for r in people.column("rich")])}
    )
    assert (
        sf.PredictiveAccuracy("rich", ["age", "sex"]).measure(TablePair.of(people, wrong)).value
        == 1
    )


def test_generalised_predictors_still_predict():
    people = workers()
    ages = pl.Series([f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in people.column("age")])
    found = sf.PredictiveAccuracy("rich", ["age", "sex"]).measure(
        TablePair.of(people, people.with_columns({"age": ages}))
    )
    assert found.value < 0.5
    assert found.raw > 0.7


def test_what_cannot_be_learned_is_not_lost():
    people = workers()
    coin = np.random.default_rng(5).choice(["yes", "no"], 300)
    people = people.with_columns({"rich": pl.Series(coin)})
    metric = sf.PredictiveAccuracy("rich", ["town"])
    assert metric.measure(itself(people)).value == 0


def test_labels_that_are_none():
    people = workers()
    assert "more than 100 different values" in sf.PredictiveAccuracy("wage").applies(itself(people))
    assert (
        sf.PredictiveAccuracy("rich").measure(TablePair.of(people, people.drop(["rich"]))).value
        == 1
    )
    assert (
        sf.PredictiveAccuracy("rich", ["rich"]).applies(itself(people))
        == "no released column is left to predict from"
    )
    few = people.take(np.array([0]))
    assert (
        sf.PredictiveAccuracy("rich").applies(itself(few))
        == "there are too few records to set some aside"
    )


def test_seeded():
    people = workers()
    noisy = people.with_columns(
        {"age": people.column("age") + pl.Series(np.random.default_rng(1).integers(-25, 25, 300))}
    )
    pair = TablePair.of(people, noisy)
    one, same, *others = (
        sf.PredictiveAccuracy("rich", ["age"], seed=s).measure(pair).raw for s in (1, 1, 2, 3, 4)
    )
    assert one == same
    assert set(others) - {one}


def interval(x, y, level=0.95):
    """The textbook's confidence interval of the slope of one predictor."""
    n = len(x)
    slope = utility_metrics.covariance(x, y) / utility_metrics.covariance(x, x)
    start = sum(y) / n - slope * sum(x) / n
    residual = sum((b - start - slope * a) ** 2 for a, b in zip(x, y, strict=True)) / (n - 2)
    width = (
        t.ppf(0.5 + level / 2, n - 2)
        * (residual / (utility_metrics.covariance(x, x) * (n - 1))) ** 0.5
    )
    return slope - width, slope + width


def test_overlap_of_one_slope():
    draw = np.random.default_rng(6)
    x = draw.normal(size=40)
    y = 2 * x + draw.normal(size=40)
    moved = y + draw.normal(0, 0.5, 40)
    people = sf.read(pl.DataFrame({"x": x, "y": y})).with_roles(keep=["x", "y"])
    pair = TablePair.of(people, people.with_columns({"y": pl.Series(moved)}))
    expected = utility_metrics.interval_overlap(interval(x, y), interval(x, moved))
    assert 0.2 < expected < 1
    assert sf.RegressionOverlap("y", ["x"]).measure(pair).raw == pytest.approx(expected)
    wide = utility_metrics.interval_overlap(interval(x, y, 0.5), interval(x, moved, 0.5))
    assert sf.RegressionOverlap("y", ["x"], level=0.5).measure(pair).raw == pytest.approx(wide)


def test_overlap_of_several_predictors():
    people = workers()
    metric = sf.RegressionOverlap("wage", ["age", "sex", "town"])
    assert metric.measure(itself(people)).raw == pytest.approx(1)
    shuffled = people.with_columns({"age": people.column("age").shuffle(seed=1)})
    found = metric.measure(TablePair.of(people, shuffled))
    assert found.per_column["age"] == 1
    assert found.per_column["town"] < 0.6
    constant = people.with_columns({"age": pl.Series([40] * 300)})
    assert metric.measure(TablePair.of(people, constant)).per_column["age"] == 1
    assert metric.measure(TablePair.of(people, people.drop(["age"]))).per_column["age"] == 1


def test_overlap_of_a_logistic_regression():
    people = workers()
    metric = sf.RegressionOverlap("rich", ["age", "sex"])
    assert metric.measure(itself(people)).raw == pytest.approx(1)
    assert metric.measure(TablePair.of(people, people.take(np.arange(0, 300, 2)))).value < 0.5
    turned = people.with_columns(
        {"rich": pl.Series(["no" if r == "yes" else "yes" for r in people.column("rich")])}
    )
    assert metric.measure(TablePair.of(people, turned)).per_column["age"] == 1


def test_regressions_that_make_no_sense():
    people = workers()
    assert (
        sf.RegressionOverlap("town", ["age"]).applies(itself(people))
        == "town holds neither numbers nor exactly two values"
    )
    with pytest.raises(sf.errors.SchemaError, match="cannot explain itself"):
        sf.RegressionOverlap("wage", ["wage"]).measure(itself(people))
    with pytest.raises(sf.errors.SchemaError, match="no column 'wages'"):
        sf.RegressionOverlap("wages", ["age"]).measure(itself(people))
    with pytest.raises(sf.errors.ParameterError, match="predictors"):
        sf.RegressionOverlap("wage", [])
    two = people.take(np.array([0, 1]))
    assert (
        sf.RegressionOverlap("wage", ["age"]).measure(itself(two)).raw == 1
    )  # nothing can be estimated on either side
