"""Fitted models, with stand-ins for the classes of others; the real ones are tried where they are
installed.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.results.checking.contributing_records import ContributingRecords
from sfumato.results.checking.fitted_data import SourceColumns
from sfumato.results.checking.model_equations import find_fit
from tests.results.tables.own_records import check


def solves(model, design, answer):
    return find_fit(model, design, answer) is not None


def rules_of(verdict, status="fail"):
    return {one.rule for one in verdict.reasons if one.status == status}


class Wrapped:
    """A result like those of statsmodels: what it was fitted to is kept inside."""

    def __init__(self, exog, endog, names=None, nobs=None):
        exog, endog = np.asarray(exog, dtype=float), np.asarray(endog, dtype=float)
        self.params = np.linalg.pinv(exog) @ endog
        self.bse = np.ones(len(self.params))
        self.nobs = float(len(endog)) if nobs is None else nobs
        self.df_resid = self.nobs - exog.shape[1]
        self.resid = endog - exog @ self.params
        self.model = SimpleNamespace(
            exog=exog, endog=endog, exog_names=names or [f"x{i}" for i in range(exog.shape[1])]
        )


def drawn(n=200, seed=1):
    draw = np.random.default_rng(seed)
    return np.column_stack([np.ones(n), draw.normal(size=n), draw.integers(0, 2, n)]), draw.normal(
        size=n
    )


def test_a_plain_regression_passes_and_only_coefficients_are_shown():
    exog, endog = drawn()
    verdict = check(Wrapped(exog, endog, ["const", "age", "sex"]))
    assert verdict.passes
    assert verdict.persons == 200
    assert verdict.shown.columns == ["term", "coefficient", "standard_error"]
    assert verdict.shown["term"].to_list() == ["const", "age", "sex"]


@pytest.mark.parametrize(("n", "status"), [(12, "fail"), (13, "pass")])
def test_residual_degrees_of_freedom(n, status):
    # n − p ≥ 10 with p = 3: 13 persons are just enough
    draw = np.random.default_rng(4)
    exog = np.column_stack([np.ones(n), draw.normal(size=(n, 2))])
    assert check(Wrapped(exog, draw.normal(size=n))).status == status


def test_degrees_of_freedom_count_persons():
    exog, endog = drawn(60)
    people = pl.DataFrame({"who": np.repeat(np.arange(6), 10)})
    verdict = check(Wrapped(exog, endog), people, unit="who")
    assert "residual_df" in rules_of(verdict)
    short = check(Wrapped(exog, endog), people.head(50), unit="who")
    assert "records" in rules_of(short, "review")


def test_frequency_weights_do_not_count_persons():
    exog, endog = drawn(12)
    result = Wrapped(exog, endog, nobs=5000.0)
    assert rules_of(check(result)) >= {
        "residual_df",
        "counts",
    }  # it says more rows than its design has
    result.model.freq_weights = np.full(12, 5000 / 12)
    verdict = check(result)
    assert "residual_df" in rules_of(verdict)
    assert "counts" in rules_of(verdict, "review")


def test_a_rare_level_and_a_rare_base():
    exog, endog = drawn()
    rare = np.zeros(200)
    rare[:4] = 1
    assert "levels" in rules_of(check(Wrapped(np.column_stack([exog, rare]), endog)))
    common = np.r_[np.ones(97), np.zeros(103)]
    other = np.r_[
        np.zeros(97), np.ones(97), np.zeros(6)
    ]  # six persons are left for the level that both are compared with
    design, names = (
        np.column_stack([exog[:, :2], common, other]),
        ["const", "age", "C(ward)[T.b]", "C(ward)[T.c]"],
    )
    assert "levels" in rules_of(check(Wrapped(design, endog, names)))
    called_otherwise = check(Wrapped(design, endog, ["const", "age", "pill", "shot"]))
    assert called_otherwise.status == "review"  # the same numbers tell the same of the six


def test_an_interaction_that_is_about_few():
    exog, endog = drawn()
    few = np.where(np.arange(200) < 5, exog[:, 1], 0.0)
    assert "levels" in rules_of(check(Wrapped(np.column_stack([exog, few]), endog)))


def test_a_saturated_model_is_a_table_of_means():
    group = np.repeat([0, 1, 2], 30)
    exog = np.column_stack([np.ones(90), group == 1, group == 2]).astype(float)
    even = np.tile(np.arange(1.0, 31.0), 3)
    verdict = check(Wrapped(exog, even))
    assert verdict.passes
    assert "saturated" in rules_of(verdict, "pass")
    dominated = even.copy()
    dominated[0] = 90_000.0
    assert rules_of(check(Wrapped(exog, dominated))) == {"saturated"}
    equal = even.copy()
    equal[30:60] = 7.0
    assert rules_of(check(Wrapped(exog, equal))) == {"saturated"}


def test_a_saturated_model_of_yes_and_no_looks_at_both_sides():
    group = np.repeat([0, 1], 40)
    exog = np.column_stack([np.ones(80), group == 1]).astype(float)
    even = np.tile(np.r_[np.ones(20), np.zeros(20)], 2)
    assert check(Wrapped(exog, even)).passes
    rare = np.r_[np.ones(3), np.zeros(37), np.ones(20), np.zeros(20)]
    assert rules_of(check(Wrapped(exog, rare))) == {"saturated"}


def test_a_model_that_fits_without_error():
    exog, _ = drawn()
    result = Wrapped(exog, exog @ [1.0, 2.0, 3.0])
    result.rsquared = 1.0
    assert "fit" in rules_of(check(result))


def test_somebody_who_decides_a_coefficient_alone():
    exog, endog = drawn(60)
    column = exog[:, 2] + np.where(
        np.arange(60) == 0, 0.5, 0.0
    )  # like the dummy, but for one person
    verdict = check(Wrapped(np.column_stack([exog, column]), endog))
    assert rules_of(verdict) == {"leverage"}


def test_models_like_those_of_scikit_learn():
    draw = np.random.default_rng(2)
    people = pl.DataFrame(
        {
            "age": draw.normal(size=80),
            "sex": draw.integers(0, 2, 80),
            "rare": [1.0] * 3 + [0.0] * 77,
        }
    )
    people = people.with_columns(cost=1 + 2 * pl.col("age") + pl.Series(draw.normal(size=80)))

    def line(names, shift=0.0):
        design = np.column_stack([np.ones(80), people.select(names).to_numpy()])
        beta = np.linalg.lstsq(design, people["cost"].to_numpy(), rcond=None)[0] + shift
        return SimpleNamespace(coef_=beta[1:], intercept_=beta[0], feature_names_in_=names)

    plain = line(["age", "sex"])
    assert check(plain).status == "review"
    assert check(plain, counts=80).status == "review"
    assert (
        check(plain, people).status == "review"
    )  # nobody knows what it explains, and how many it was fitted to
    assert check(plain, people, counts=80).status == "review"
    assert check(plain, people, column="cost").passes
    assert rules_of(check(plain, people, column="cost", counts=81)) == {"counts"}
    assert "recomputed" in rules_of(
        check(plain, people, column="rare"), "review"
    )  # it solves no equation of that
    assert check(line(["age", "sex"], 0.5), people, column="cost").status == "review"
    assert check(plain, people).shown["term"].to_list() == ["intercept", "age", "sex"]
    rare = SimpleNamespace(coef_=np.array([1.0, 2.0]), intercept_=0.5)
    assert rules_of(check(rare, people, features=["age", "rare"])) == {"levels"}
    unknown = SimpleNamespace(coef_=np.array([1.0]), intercept_=0.5, feature_names_in_=["size"])
    assert check(unknown, people).status == "review"


def test_coefficients_solve_the_equations_of_their_fit():
    # y = 1, 3, 4, 8 at x = 0, 1, 2, 3: slope Σ(x−1.5)(y−4)/5 = 11/5, intercept 4 − 1.5 · 2.2 = 0.7
    exog, endog = np.column_stack([np.ones(4), np.arange(4.0)]), np.array([1.0, 3.0, 4.0, 8.0])
    assert solves(SimpleNamespace(params=[0.7, 2.2]), exog, endog)
    assert not solves(SimpleNamespace(params=[0.7, 2.3]), exog, endog)
    # 3 of 10 and 6 of 10: the logistic coefficients are log(3/7) and log(6/4) − log(3/7)
    group = np.repeat([0.0, 1.0], 10)
    yes = np.r_[np.ones(3), np.zeros(7), np.ones(6), np.zeros(4)]
    odds = np.log([3 / 7, (6 / 4) / (3 / 7)])
    assert solves(SimpleNamespace(params=odds), np.column_stack([np.ones(20), group]), yes)
    assert not solves(
        SimpleNamespace(params=odds + 0.2), np.column_stack([np.ones(20), group]), yes
    )
    # means 2 and 6 of counts: log 2 and log 3
    counts = np.r_[np.tile([1.0, 3.0], 5), np.tile([5.0, 7.0], 5)]
    assert solves(
        SimpleNamespace(params=np.log([2.0, 3.0])), np.column_stack([np.ones(20), group]), counts
    )
    # ridge, one column without a constant: β = Σxy / (Σx² + λ) = 35 / (14 + 7)
    ridge = SimpleNamespace(coef_=np.array([35 / 21]), intercept_=0.0, alpha=7.0)
    assert solves(ridge, exog, endog)
    assert not solves(
        SimpleNamespace(coef_=np.array([35 / 21]), intercept_=0.0, alpha=0.0), exog, endog
    )


@given(st.integers(0, 10**6))
def test_least_squares_solves_its_equations_and_nothing_else_does(seed):
    draw = np.random.default_rng(seed)
    exog, endog = np.column_stack([np.ones(40), draw.normal(size=(40, 2))]), draw.normal(size=40)
    beta = np.linalg.lstsq(exog, endog, rcond=None)[0]
    assert solves(SimpleNamespace(params=beta), exog, endog)
    error = np.sqrt(np.diag(np.linalg.inv(exog.T @ exog)))
    for place in range(3):
        moved = beta + np.eye(3)[place] * error[place]
        assert not solves(SimpleNamespace(params=moved), exog, endog)


def test_weights_that_leave_few_persons_in_a_model():
    exog, endog = drawn(60)
    for few, status in ((1, "fail"), (8, "fail"), (60, "pass")):
        weights = np.where(np.arange(60) < few, 1.0, 1e-9)
        root = np.sqrt(weights)[:, None]
        result = Wrapped(exog, endog)
        result.params = np.linalg.lstsq(exog * root, endog * root[:, 0], rcond=None)[0]
        result.model.weights = weights
        del result.bse
        assert check(result).status == status


def test_what_a_model_says_of_itself_is_held_against_its_design_and_the_records():
    exog, endog = drawn(60)
    people = pl.DataFrame({"a": exog[:, 1], "b": exog[:, 2], "y": endog})

    def said(**more):
        result = Wrapped(exog, endog)
        del result.bse
        for name, value in more.items():
            setattr(result, name, value)
        return check(result, people)

    assert said().passes
    assert rules_of(said(nobs=61.0)) == {"counts"}
    assert rules_of(said(df_resid=58.0)) == {"residual_df"}
    assert said(df_resid=50.0).passes
    assert rules_of(said(params=np.array([1.0, 2.0, 3.0])), "review") == {"recomputed"}
    assert rules_of(said(bse=np.array([900.0, 2.0, 3.0])), "review") == {"recomputed"}
    assert rules_of(said(pvalues=np.array([0.1, 0.2, 0.3])), "review") == {"recomputed"}
    result = Wrapped(exog, endog)
    del result.bse
    assert rules_of(check(result, people.head(50))) == {
        "records"
    }  # more rows than there are records
    strange = people.with_columns(a=pl.Series(np.random.default_rng(8).normal(size=60)))
    assert rules_of(check(result, strange), "review") == {"records"}
    assert rules_of(check(result, people, counts=100)) == {"counts"}


def test_columns_that_are_made_of_the_records():
    draw = np.random.default_rng(4)
    people = pl.DataFrame(
        {
            "age": draw.integers(18, 90, 300),
            "cost": draw.lognormal(3, 1, 300),
            "sex": ["f", "m"] * 150,
        }
    )
    made = SourceColumns(ContributingRecords.of(people))
    age, cost, woman = (
        people["age"].to_numpy(),
        people["cost"].to_numpy(),
        (people["sex"] == "f").to_numpy().astype(float),
    )
    for column in (
        np.ones(300),
        age,
        age**2.0,
        np.log(cost),
        woman,
        (age > 40) * 1.0,
        -cost,
        (cost > 20) * 1.0,
    ):
        assert made.explains(column)
    assert made.count_unexplained(np.column_stack([age, woman, age * woman, np.log(cost)])) == 0
    assert made.count_unexplained(np.column_stack([age, draw.normal(size=300)])) == 1
    for column in (
        np.log(cost),
        1000 * cost,
        -cost,
        cost - cost.mean(),
        age // 10,
        np.sqrt(cost),
        age**2.0,
        np.ones(300),
    ):
        assert made.has_form(column)
    for column in (
        cost + draw.normal(size=300),
        cost + 57.31,
        57.31 * cost,
        np.full(300, 57.31),
        7 - 3.5 * woman,
        age // 7,
    ):
        assert not made.has_form(column)
    assert made.has_bands(np.searchsorted([10.0, 30.0], cost) * 1.0)
    assert not made.has_bands(draw.integers(0, 3, 300) * 1.0)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["params", "model.endog", "model.exog"])
def test_numbers_that_are_none_solve_no_equation(part, number):
    """What is no number is no further from a solution than allowed, and from no other either."""
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"x": draw.normal(size=200), "y": draw.normal(size=200)})
    answer = frame["y"].to_numpy().copy()
    model = Wrapped(np.column_stack([np.ones(200), frame["x"]]), answer, ["const", "x"])
    model.bse = np.sqrt(
        np.diag(np.linalg.inv(model.model.exog.T @ model.model.exog)) * (model.resid**2).sum() / 198
    )
    assert check(model, frame).passes
    array = model.params if part == "params" else getattr(model.model, part.partition(".")[2])
    array.reshape(-1)[-1] = number
    verdict = check(model, frame)
    assert not verdict.passes and verdict.status in ("review", "fail")


@pytest.mark.parametrize(
    "name", ["hat_matrix_diag", "cooks_distance", "support_vectors_", "_fit_X"]
)
def test_what_holds_figures_per_record_is_refused(name):
    assert rules_of(check(SimpleNamespace(**{name: np.ones(9)}))) == {"per record"}


def test_a_design_with_nothing_known_is_not_judged():
    exog, endog = drawn()
    result = Wrapped(exog, endog)
    result.model.exog[3, 1] = np.nan
    assert check(result).status == "review"


# Least squares of our own


def test_results_of_statsmodels():
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    exog, endog = drawn()
    assert check(api.OLS(endog, exog).fit()).passes
    assert rules_of(check(api.OLS(endog, exog).fit().get_influence())) == {"per record"}
    assert check(api.Logit((endog > 0).astype(float), exog).fit(disp=0)).passes
    rare = np.column_stack([exog, (np.arange(200) < 4).astype(float)])
    assert "levels" in rules_of(check(api.OLS(endog, rare).fit()))


def test_models_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    tree = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    exog, endog = drawn()
    people = pl.DataFrame({"age": exog[:, 1], "sex": exog[:, 2]})
    line = linear.LinearRegression().fit(exog[:, 1:], endog)
    whole = people.with_columns(y=pl.Series(endog))
    assert check(line, whole, features=["age", "sex"], column="y").passes
    for model, column, answer in (
        (linear.Ridge(2.0), "y", endog),
        (linear.LogisticRegression(), "yes", (endog > 0).astype(float)),
    ):
        some = whole.with_columns(pl.Series(column, answer))
        fit = model.fit(some.select("age", "sex").to_numpy(), answer)
        assert check(fit, some, features=["age", "sex"], column=column).passes
    names = {"features": ["age", "sex"], "column": "y"}
    leaves = tree.DecisionTreeRegressor(min_samples_leaf=40).fit(exog[:, 1:], np.exp(endog / 9))
    assert check(leaves, whole.with_columns(y=pl.Series(np.exp(endog / 9))), **names).passes
    assert check(leaves).status == "review"
    assert check(tree.DecisionTreeRegressor().fit(exog, endog)).status == "fail"
