"""A value of a person in a constant: added to what is told, multiplied into a column, as an offset,
a penalty or a name. None of it passes; the same without it does.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.results.checking.contributing_records import ContributingRecords
from sfumato.results.checking.fitted_data import SourceColumns
from tests.results.tables.disguised_models import fitted

N = 400


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, N),
            "sex": draw.choice(["f", "m"], N),
            "hours": draw.normal(30, 6, N).round(1),
            "visits": draw.poisson(4, N),
            "cost": draw.lognormal(3, 0.6, N).round(2),
        }
    )


@pytest.fixture(scope="module")
def value(people):
    return float(people["cost"][17])


def design(people):
    return np.column_stack(
        [np.ones(N), people["age"].to_numpy(), (people["sex"] == "f").to_numpy()]
    ).astype(float)


def open_rules(verdict):
    assert verdict.status == "review", verdict
    return {one.rule for one in verdict.reasons if one.status == "review"}


def poisson(x, y, offset=0.0):
    """A Poisson regression by Newton's steps, as statsmodels keeps it."""
    beta = np.zeros(x.shape[1])
    beta[0] = np.log(y.mean() / np.exp(np.mean(offset)))
    for _ in range(60):
        mean = np.exp(x @ beta + offset)
        beta = beta + np.linalg.solve((x * mean[:, None]).T @ x, x.T @ (y - mean))
    model = SimpleNamespace(
        exog=x, endog=y, exog_names=["const", "age", "sex"], offset=np.full(len(x), offset)
    )
    return SimpleNamespace(
        params=beta, nobs=float(len(x)), df_resid=float(len(x) - x.shape[1]), model=model
    )


def ridge(x, y, penalty):
    """A ridge regression with a free constant, as scikit-learn keeps it."""
    centred, rest = x - x.mean(axis=0), y - y.mean()
    beta = np.linalg.solve(centred.T @ centred + penalty * np.eye(x.shape[1]), centred.T @ rest)
    return SimpleNamespace(
        coef_=beta,
        intercept_=float(y.mean() - x.mean(axis=0) @ beta),
        alpha=penalty,
        feature_names_in_=["age", "hours"],
    )


def test_the_same_models_without_it_pass(people):
    x, y = design(people), people["cost"].to_numpy()
    assert sf.check_output(fitted(x, y), people).passes
    assert sf.check_output(fitted(x, np.log(y)), people).passes
    assert sf.check_output(fitted(x, y / 1000), people).passes
    centred = x.copy()
    centred[:, 1] -= centred[:, 1].mean()
    assert sf.check_output(fitted(centred, y), people).passes
    assert sf.check_output(poisson(x, people["visits"].to_numpy().astype(float)), people).passes
    two = people.select("age", "hours").to_numpy().astype(float)
    assert sf.check_output(ridge(two, y, 0.5), people, column="cost").passes


def test_added_to_what_is_explained(people, value):
    assert open_rules(
        sf.check_output(fitted(design(people), people["cost"].to_numpy() + value), people)
    ) == {"records"}


def test_multiplied_into_what_is_explained(people, value):
    assert open_rules(
        sf.check_output(fitted(design(people), people["cost"].to_numpy() * value), people)
    ) == {"records"}


@pytest.mark.parametrize("column", [0, 1, 2])
def test_multiplied_into_a_column_of_the_design(people, value, column):
    x = design(people)
    x[:, column] *= value
    assert open_rules(sf.check_output(fitted(x, people["cost"].to_numpy()), people)) == {"records"}


def test_added_to_a_column_of_the_design(people, value):
    x = design(people)
    x[:, 1] += value
    assert open_rules(sf.check_output(fitted(x, people["cost"].to_numpy()), people)) == {"records"}


def test_all_columns_multiplied(people, value):
    x = design(people) * value
    assert open_rules(sf.check_output(fitted(x, people["cost"].to_numpy()), people)) == {"records"}


def test_as_an_offset(people, value):
    model = poisson(design(people), people["visits"].to_numpy().astype(float), offset=value / 100)
    assert open_rules(sf.check_output(model, people)) == {"records"}


def test_as_a_penalty(people, value):
    x = people.select("age", "hours").to_numpy().astype(float)
    verdict = sf.check_output(ridge(x, people["cost"].to_numpy(), value), people, column="cost")
    assert open_rules(verdict) == {"chosen"}


@pytest.mark.parametrize(
    "name", ["age {value}", "age_{value}", "{value}", "age[T.{whole}]", "x{whole}"]
)
def test_in_the_name_of_a_term(people, value, name):
    model = fitted(design(people), people["cost"].to_numpy())
    whole = 10_000 + int(100 * value)
    model.model.exog_names = ["const", name.format(value=value, whole=whole), "sex"]
    assert open_rules(sf.check_output(model, people)) == {"columns"}


def test_names_that_hold_numbers_of_the_data_pass(people):
    some = people.with_columns(
        band=pl.when(pl.col("age") < 40).then(pl.lit("18-39")).otherwise(pl.lit("40-89"))
    )
    x = design(people)
    x[:, 1] = (some["band"] == "40-89").to_numpy()
    model = fitted(x, people["cost"].to_numpy())
    model.model.exog_names = ["Intercept", "C(band)[T.40-89]", "sex[T.f]"]
    assert sf.check_output(model, some).passes


def test_a_model_of_nobody_does_not_pass(people):
    x = design(people)[:0]
    held = SimpleNamespace(exog=x, endog=np.zeros(0), exog_names=["const", "age", "sex"])
    model = SimpleNamespace(params=np.zeros(3), nobs=0.0, df_resid=-3.0, model=held)
    for data in (None, people, people.head(0)):
        assert not sf.check_output(model, data).passes


def test_a_model_without_records_is_for_review(people):
    assert open_rules(sf.check_output(fitted(design(people), people["cost"].to_numpy()))) == {
        "records"
    }


def test_in_the_mean_of_a_column_that_is_given_with_the_output(people, value, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        for moved in (
            pl.col("hours") + value,
            pl.col("hours") * value,
            pl.col("hours") / 7 + value,
        ):
            some = people.with_columns(shifted=moved)
            table = some.group_by("sex").agg(pl.col("shifted").mean().alias("shifted_mean"))
            assert open_rules(session.check(table, data=some)) >= {"records"}
            constant = people.with_columns(shifted=pl.lit(value))
            flat = constant.group_by("sex").agg(pl.col("shifted").mean().alias("shifted_mean"))
            assert session.check(flat, data=constant).status != "pass"
        for fine in (
            pl.col("hours") * 10,
            pl.col("hours") / 7,
            pl.col("cost").log(),
            (pl.col("hours") // 10) * 10,
            pl.col("hours") > 30,
        ):
            some = people.with_columns(made=fine)
            table = some.group_by("sex").agg(
                pl.col("made").cast(pl.Float64).mean().alias("made_mean")
            )
            assert session.check(table, data=some).passes
        same = people.with_columns(
            hours=pl.col("hours") + value
        )  # under the name of a column of the session
        table = same.group_by("sex").agg(pl.col("hours").mean().alias("hours_mean"))
        assert session.check(table, data=same).status == "review"


def test_in_the_name_of_a_column(people, value):
    table = people.group_by("sex").agg(pl.col("hours").mean().alias(f"hours of {int(value * 100)}"))
    assert open_rules(sf.check_output(table, people, tells="mean(hours)")) == {"columns"}


def test_random_constants_never_make_a_column_of_the_records(people):
    """Whatever form a column has, moved or stretched by a drawn number it is not one without a
    constant.
    """
    draw, made = np.random.default_rng(4), SourceColumns(ContributingRecords.of(people))
    hours, cost = (people[name].to_numpy() for name in ("hours", "cost"))
    for _ in range(100):
        number = float(draw.lognormal(1, 2))
        base = (hours, cost, np.log(cost), hours**2)[int(draw.integers(4))]
        for column in (
            base + number,
            base * (1 + number),
            number - base,
            base / (1 + number) + 1,
            hours * cost * number,
        ):
            assert made.count_unexplained(column[:, None]) == 1
