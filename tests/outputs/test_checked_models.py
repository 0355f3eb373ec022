"""Fitted models, with stand-ins for the classes of others; the real ones are tried where they are installed."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.outputs.checking.behind import Behind
from sfumato.outputs.checking.fitted import cells_of_design, deciding, rare_bases, rare_columns
from sfumato.outputs.checking.least_squares import fit_line


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
    return np.column_stack([np.ones(n), draw.normal(size=n), draw.integers(0, 2, n)]), draw.normal(size=n)


def test_a_plain_regression_passes_and_only_coefficients_are_shown():
    exog, endog = drawn()
    verdict = sf.check_output(Wrapped(exog, endog, ["const", "age", "sex"]))
    assert verdict.passes
    assert verdict.persons == 200
    assert verdict.shown.columns == ["term", "coefficient", "standard_error"]
    assert verdict.shown["term"].to_list() == ["const", "age", "sex"]


@pytest.mark.parametrize(("n", "status"), [(12, "fail"), (13, "pass")])
def test_residual_degrees_of_freedom(n, status):
    # n − p ≥ 10 with p = 3: 13 persons are just enough
    draw = np.random.default_rng(4)
    exog = np.column_stack([np.ones(n), draw.normal(size=(n, 2))])
    assert sf.check_output(Wrapped(exog, draw.normal(size=n))).status == status


def test_degrees_of_freedom_count_persons():
    exog, endog = drawn(60)
    people = pl.DataFrame({"who": np.repeat(np.arange(6), 10)})
    verdict = sf.check_output(Wrapped(exog, endog), people, unit="who")
    assert "residual_df" in rules_of(verdict)
    short = sf.check_output(Wrapped(exog, endog), people.head(50), unit="who")
    assert "records" in rules_of(short, "review")


def test_frequency_weights_do_not_count_persons():
    exog, endog = drawn(12)
    verdict = sf.check_output(Wrapped(exog, endog, nobs=5000.0))
    assert "residual_df" in rules_of(verdict)
    assert "counts" in rules_of(verdict, "review")


def test_a_rare_level_and_a_rare_base():
    exog, endog = drawn()
    rare = np.zeros(200)
    rare[:4] = 1
    assert "levels" in rules_of(sf.check_output(Wrapped(np.column_stack([exog, rare]), endog)))
    common = np.r_[np.ones(97), np.zeros(103)]
    other = np.r_[
        np.zeros(97), np.ones(97), np.zeros(6)
    ]  # six persons are left for the level that both are compared with
    design, names = np.column_stack([exog[:, :2], common, other]), ["const", "age", "C(ward)[T.b]", "C(ward)[T.c]"]
    assert "levels" in rules_of(sf.check_output(Wrapped(design, endog, names)))
    called_otherwise = sf.check_output(Wrapped(design, endog, ["const", "age", "pill", "shot"]))
    assert called_otherwise.status == "review"  # the same numbers tell the same of the six


def test_an_interaction_that_is_about_few():
    exog, endog = drawn()
    few = np.where(np.arange(200) < 5, exog[:, 1], 0.0)
    assert "levels" in rules_of(sf.check_output(Wrapped(np.column_stack([exog, few]), endog)))


def test_a_saturated_model_is_a_table_of_means():
    group = np.repeat([0, 1, 2], 30)
    exog = np.column_stack([np.ones(90), group == 1, group == 2]).astype(float)
    even = np.tile(np.arange(1.0, 31.0), 3)
    verdict = sf.check_output(Wrapped(exog, even))
    assert verdict.passes
    assert "saturated" in rules_of(verdict, "pass")
    dominated = even.copy()
    dominated[0] = 90_000.0
    assert rules_of(sf.check_output(Wrapped(exog, dominated))) == {"saturated"}
    equal = even.copy()
    equal[30:60] = 7.0
    assert rules_of(sf.check_output(Wrapped(exog, equal))) == {"saturated"}


def test_a_saturated_model_of_yes_and_no_looks_at_both_sides():
    group = np.repeat([0, 1], 40)
    exog = np.column_stack([np.ones(80), group == 1]).astype(float)
    even = np.tile(np.r_[np.ones(20), np.zeros(20)], 2)
    assert sf.check_output(Wrapped(exog, even)).passes
    rare = np.r_[np.ones(3), np.zeros(37), np.ones(20), np.zeros(20)]
    assert rules_of(sf.check_output(Wrapped(exog, rare))) == {"saturated"}


def test_a_model_that_fits_without_error():
    exog, _ = drawn()
    result = Wrapped(exog, exog @ [1.0, 2.0, 3.0])
    result.rsquared = 1.0
    assert "fit" in rules_of(sf.check_output(result))


def test_somebody_who_decides_a_coefficient_alone():
    exog, endog = drawn(60)
    column = exog[:, 2] + np.where(np.arange(60) == 0, 0.5, 0.0)  # like the dummy, but for one person
    verdict = sf.check_output(Wrapped(np.column_stack([exog, column]), endog))
    assert rules_of(verdict) == {"leverage"}


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=4, max_size=14))
def test_leverage_and_saturation_like_their_definitions(rows):
    design = np.column_stack([np.ones(len(rows)), np.array(rows, dtype=float)])
    hat = design @ np.linalg.pinv(design)
    assert deciding(design) == int((np.diag(hat) >= 1 - 1e-7).sum())
    combinations = list(dict.fromkeys(map(tuple, design)))
    cell = cells_of_design(design, len(design))
    assert len(set(cell.tolist())) == len(combinations)
    for one, other in itertools.combinations(range(len(rows)), 2):
        assert (cell[one] == cell[other]) == (tuple(design[one]) == tuple(design[other]))
    assert cells_of_design(design, len(combinations) - 1) is None


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40),
    st.integers(1, 6),
)
def test_rare_columns_like_counting_by_hand(rows, least):
    design, who = np.array([row[:2] for row in rows], dtype=float), np.array([row[2] for row in rows])
    naive = []
    for place in (0, 1):
        column = [row[place] for row in rows]
        common = max(sorted(set(column)), key=column.count)
        others = {row[2] for row in rows if row[place] != common}
        same = {row[2] for row in rows if row[place] == common}
        rare = len(set(column)) > 1 and (len(others) < least or (len(set(column)) == 2 and len(same) < least))
        naive += [place] if rare else []
    assert rare_columns(design, who, least) == naive


def test_bases_of_dummies_by_their_names():
    who = np.arange(40)
    one, two = (who < 18).astype(float), ((who >= 18) & (who < 36)).astype(float)
    design = np.column_stack([one, two])
    assert rare_bases(design, who, 10, ["ward_b", "ward_c"]) == 1
    assert rare_bases(design, who, 4, ["ward_b", "ward_c"]) == 0
    assert rare_bases(design, who, 10, ["b", "c"]) == 0


def test_models_like_those_of_scikit_learn():
    draw = np.random.default_rng(2)
    people = pl.DataFrame({"age": draw.normal(size=80), "sex": draw.integers(0, 2, 80), "rare": [1.0] * 3 + [0.0] * 77})
    line = SimpleNamespace(coef_=np.array([1.0, 2.0]), intercept_=0.5, feature_names_in_=["age", "sex"])
    assert sf.check_output(line).status == "review"
    assert sf.check_output(line, counts=80).status == "review"
    assert sf.check_output(line, people).status == "review"  # nobody knows how many it was fitted to
    assert sf.check_output(line, people, counts=80).passes
    assert sf.check_output(line, people, counts=40).status == "review"
    assert sf.check_output(line, people).shown["term"].to_list() == ["intercept", "age", "sex"]
    rare = SimpleNamespace(coef_=np.array([1.0, 2.0]), intercept_=0.5)
    assert rules_of(sf.check_output(rare, people, features=["age", "rare"])) == {"levels"}
    unknown = SimpleNamespace(coef_=np.array([1.0]), intercept_=0.5, feature_names_in_=["size"])
    assert sf.check_output(unknown, people).status == "review"


@pytest.mark.parametrize("name", ["hat_matrix_diag", "cooks_distance", "support_vectors_", "_fit_X"])
def test_what_holds_figures_per_record_is_refused(name):
    assert rules_of(sf.check_output(SimpleNamespace(**{name: np.ones(9)}))) == {"per record"}


def test_leaves_of_a_tree():
    def tree(counts, impurity):
        left = [1, -1, -1]
        return SimpleNamespace(tree_=SimpleNamespace(children_left=left, n_node_samples=counts, impurity=impurity))

    assert sf.check_output(tree([40, 25, 15], [0.5, 0.4, 0.3])).passes
    assert rules_of(sf.check_output(tree([40, 35, 5], [0.5, 0.4, 0.3]))) == {"marks"}
    assert rules_of(sf.check_output(tree([40, 25, 15], [0.5, 0.0, 0.3]))) == {"all_equal"}
    people = pl.DataFrame({"who": [1, 1, 2] * 14})
    assert sf.check_output(tree([42, 25, 17], [0.5, 0.4, 0.3]), people, unit="who").status == "review"


def test_tests_and_correlations():
    test = SimpleNamespace(statistic=2.1, pvalue=0.03)
    assert sf.check_output(test).status == "review"
    assert sf.check_output(test, counts=30).passes
    assert sf.check_output(test, counts=11).status == "fail"
    assert sf.check_output(SimpleNamespace(statistic=2.1, pvalue=0.03, df=8.0)).status == "fail"
    from scipy import stats

    real = stats.ttest_ind(np.arange(20.0), np.arange(20.0) ** 1.5)
    assert sf.check_output(real).passes  # it says its degrees of freedom
    assert sf.check_output(real).shown.columns == ["statistic", "pvalue", "df"]
    draw = np.random.default_rng(2)
    people = pl.DataFrame({"a": draw.normal(size=50), "b": draw.normal(size=50)})
    people = people.with_columns(c=2 * pl.col("a"), rare=pl.Series([1.0] * 2 + [0.0] * 48))
    assert sf.check_output(people.select("a", "b").corr(), people).passes
    assert sf.check_output(people.select("a", "b").corr()).status == "review"
    assert rules_of(sf.check_output(people.select("a", "c").corr(), people)) == {"fit"}
    assert rules_of(sf.check_output(people.select("a", "rare").corr(), people)) == {"levels"}
    assert "residual_df" in rules_of(sf.check_output(people.select("a", "b").corr(), people.head(11)))


class Raising:
    """An object whose every attribute raises."""

    def __getattr__(self, name):
        raise RuntimeError("no")

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no")

    def __bool__(self):
        raise RuntimeError("no")


class Half:
    """A model whose inside cannot be had."""

    params = np.array([1.0, 2.0])
    nobs = 500

    @property
    def model(self):
        raise MemoryError("too large")

    @property
    def df_resid(self):
        raise ValueError("not fitted")


HOSTILE = {
    "raising": Raising,
    "half": Half,
    "strange": lambda: SimpleNamespace(params="none", nobs="many", df_resid=object()),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_objects_are_for_review(make):
    output = make()
    assert sf.check_output(output).status == "review"
    assert sf.check_output(output, pl.DataFrame({"x": [1.0, 2.0]})).status in ("review", "fail")


def test_a_design_with_nothing_known_is_not_judged():
    exog, endog = drawn()
    result = Wrapped(exog, endog)
    result.model.exog[3, 1] = np.nan
    assert sf.check_output(result).status == "review"


# Least squares of our own


def test_least_squares_of_a_session():
    # five points by hand: x = 1 … 5, y = 2, 4, 5, 4, 5: slope 0.6, intercept 2.2, R² 0.6 (the textbook's line)
    people = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [2.0, 4.0, 5.0, 4.0, 5.0]})
    line, rows = fit_line(Behind.of(people), "y", ["x"])
    assert line.params == pytest.approx([2.2, 0.6])
    assert line.rsquared == pytest.approx(0.6)
    assert line.bse == pytest.approx([0.938083, 0.282843], abs=1e-6)  # s² = 0.8, Sxx = 10
    assert line.df_resid == 3
    assert rows.all()


def test_dummies_beside_the_commonest_value_and_missing_rows():
    people = pl.DataFrame({"g": ["a"] * 30 + ["b"] * 20 + [None], "y": [1.0] * 30 + [3.0] * 20 + [9.0]})
    line, rows = fit_line(Behind.of(people), "y", ["g"])
    assert line.model.exog_names == ("intercept", "g[b]")
    assert line.params == pytest.approx([1.0, 2.0])
    assert int(rows.sum()) == 50


def test_lines_that_cannot_be_fitted(tmp_path):
    people = pl.DataFrame(
        {
            "x": [float(i) for i in range(30)],
            "z": [2.0 * i for i in range(30)],
            "y": [float(i % 7) for i in range(30)],
            "t": [str(i) for i in range(30)],
        }
    )
    behind = Behind.of(people)
    with pytest.raises(Unsatisfiable, match="follow from others"):
        fit_line(behind, "y", ["x", "z"])
    with pytest.raises(ParameterError, match="list of columns"):
        fit_line(behind, "y", "x")
    with pytest.raises(SchemaError, match="holds no numbers"):
        fit_line(behind, "t", ["x"])
    with pytest.raises(SchemaError, match="no row has all columns"):
        fit_line(behind, "y", ["x"], pl.col("x") > 99)
    with sf.output_session(tmp_path / "out", people.with_columns(rare=pl.col("x") < 3)) as session:
        with pytest.raises(ReleaseRefused, match="fewer than 10 persons"):
            session.regression("y", ["x", "rare"])
        assert len(session) == 0
        assert session.regression("y", ["x"]).passes


def test_results_of_statsmodels():
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    exog, endog = drawn()
    assert sf.check_output(api.OLS(endog, exog).fit()).passes
    assert rules_of(sf.check_output(api.OLS(endog, exog).fit().get_influence())) == {"per record"}
    assert sf.check_output(api.Logit((endog > 0).astype(float), exog).fit(disp=0)).passes
    rare = np.column_stack([exog, (np.arange(200) < 4).astype(float)])
    assert "levels" in rules_of(sf.check_output(api.OLS(endog, rare).fit()))


def test_models_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    tree = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    exog, endog = drawn()
    people = pl.DataFrame({"age": exog[:, 1], "sex": exog[:, 2]})
    line = linear.LinearRegression().fit(exog[:, 1:], endog)
    assert sf.check_output(line, people, features=["age", "sex"], counts=200).passes
    assert sf.check_output(tree.DecisionTreeRegressor(min_samples_leaf=20).fit(exog, endog)).passes
    assert sf.check_output(tree.DecisionTreeRegressor().fit(exog, endog)).status == "fail"
