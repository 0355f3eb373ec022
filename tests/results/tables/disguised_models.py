"""More outputs of a hostile researcher: figures per record, models, tests, numbers without records,
summaries of text.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
from scipy import stats

from tests.results.tables.disguises import by_region, by_ward, pandas_of, unsafe

# Figures per record


@unsafe
def records_without_names(p):
    return p.select("age", "sex", "cost").sample(20, seed=1), {}


@unsafe
def residuals_called_otherwise(p):
    x, y = p["age"].to_numpy(), p["cost"].to_numpy()
    return pl.DataFrame({"noise": y - np.polyval(np.polyfit(x, y, 1), x)}), {}


@unsafe
def predictions(p):
    x, y = p["age"].to_numpy(), p["cost"].to_numpy()
    return np.polyval(np.polyfit(x, y, 1), x), {}


@unsafe
def ranks_of_everybody(p):
    return p.select("region", rank=pl.col("cost").rank()), {}


@unsafe
def z_scores_of_everybody(p):
    return p.select(z=(pl.col("cost") - pl.col("cost").mean()) / pl.col("cost").std()), {}


@unsafe
def principal_components(p):
    x = p.select("age", "cost", "score").to_numpy().astype(float)
    x = x - x.mean(axis=0)
    return x @ np.linalg.svd(x, full_matrices=False)[2][:2].T, {}


@unsafe
def distances_between_people(p):
    x = p.head(30).select("age", "cost").to_numpy().astype(float)
    return np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2)), {}


@unsafe
def scatter(p):
    return p.select("age", "cost"), {"kind": "scatter"}


@unsafe
def centres_of_clusters_with_one_member(p):
    x = p.select("age", "cost").to_numpy().astype(float)
    centres = np.vstack([x[[int(x[:, 1].argmax())]], x.mean(axis=0)[None]])
    return pl.DataFrame({"cluster": [1, 2], "age": centres[:, 0], "cost": centres[:, 1]}), {}


@unsafe
def centres_as_an_object(p):
    x = p.select("age", "cost").to_numpy().astype(float)
    labels = (np.arange(len(x)) > 0).astype(int)
    centres = np.vstack([x[:1], x[1:].mean(axis=0)])
    return SimpleNamespace(cluster_centers_=centres, labels_=labels, n_features_in_=2), {}


# Models


def fitted(design, answer, **more):
    design, answer = np.asarray(design, dtype=float), np.asarray(answer, dtype=float)
    params = np.linalg.lstsq(design, answer, rcond=None)[0]
    names = [f"v{number}" for number in range(design.shape[1])]
    held = SimpleNamespace(exog=design, endog=answer, exog_names=names)
    left = len(design) - np.linalg.matrix_rank(design)
    return SimpleNamespace(
        **{
            "params": params,
            "nobs": float(len(design)),
            "df_resid": float(left),
            "model": held,
            **more,
        }
    )


def plain_design(p):
    return np.column_stack([np.ones(p.height), p["age"].to_numpy(), (p["sex"] == "f").to_numpy()])


@unsafe
def dummy_of_few(p):
    return fitted(np.column_stack([plain_design(p), (p["ward"] == "x").to_numpy()]), p["cost"]), {}


@unsafe
def dummy_of_few_in_other_units(p):
    return (
        fitted(
            np.column_stack([plain_design(p), 7 - 3.5 * (p["ward"] == "x").to_numpy()]), p["cost"]
        ),
        {},
    )


@unsafe
def everybody_but_few(p):
    return fitted(np.column_stack([plain_design(p), (p["ward"] != "x").to_numpy()]), p["cost"]), {}


@unsafe
def saturated_model(p):
    cells = p.select(pl.format("{}{}", "ward", "sex").alias("c"))["c"].to_dummies().to_numpy()
    return fitted(cells, p["cost"]), {}


@unsafe
def only_a_constant_of_few(p):
    few = p.filter(pl.col("ward") == "x")
    return fitted(np.ones((few.height, 1)), few["cost"]), {"data": few}


@unsafe
def as_many_terms_as_people(p):
    few = p.head(12)
    draw = np.random.default_rng(1)
    return fitted(np.column_stack([np.ones(12), draw.normal(size=(12, 9))]), few["cost"]), {
        "data": few
    }


@unsafe
def constant_of_a_dominated_column(p):
    return fitted(np.ones((p.height, 1)), p["wealth"]), {}


@unsafe
def coefficients_that_are_values(p):
    values = np.array([p["cost"].max(), p["cost"].min(), p["age"].max()])
    return fitted(plain_design(p), p["cost"], params=values), {}


@unsafe
def coefficients_that_are_values_of_other_software(p):
    line = SimpleNamespace(
        coef_=p["cost"].to_numpy()[:2], intercept_=0.0, feature_names_in_=["age", "score"]
    )
    return line, {"counts": p.height}


@unsafe
def errors_that_are_values(p):
    return fitted(plain_design(p), p["cost"], bse=p["cost"].to_numpy()[:3]), {}


@unsafe
def fit_without_error(p):
    x = plain_design(p)
    return fitted(x, x @ [1.0, 2.0, 3.0]), {}


@unsafe
def model_of_few_that_says_many(p):
    few = p.head(9)
    return fitted(plain_design(few), few["cost"], nobs=5000.0, df_resid=4997.0), {}


@unsafe
def model_with_freedom_it_has_not(p):
    few = p.head(11)
    return fitted(plain_design(few), few["cost"], df_resid=300.0), {"data": few}


@unsafe
def model_without_its_data(p):
    return SimpleNamespace(params=np.array([1.0, 2.0]), nobs=500.0, df_resid=498.0), {}


@unsafe
def model_without_anything(p):
    return SimpleNamespace(params=np.array([1.0, 2.0]), model=SimpleNamespace()), {}


@unsafe
def coefficients_only(p):
    return SimpleNamespace(coef_=np.array([1.0, 2.0]), intercept_=1.0), {"counts": 500}


@unsafe
def tree_with_small_leaves(p):
    return (
        SimpleNamespace(
            tree_=SimpleNamespace(children_left=[1, -1, -1], n_node_samples=[600, 597, 3])
        ),
        {},
    )


@unsafe
def rules_of_a_tree_as_a_table(p):
    rules = ["wealth <= 1", "wealth > 1"]
    return (
        pl.DataFrame(
            {"rule": rules, "value": [1.0, float(p["wealth"].max())], "n": [p.height - 1, 1]}
        ),
        {},
    )


@unsafe
def rules_of_a_tree_as_text(p):
    return f"|--- wealth > 1\n|   |--- value: {p['wealth'].max()}", {}


@unsafe
def correlation_of_few(p):
    few = p.filter(pl.col("ward") == "x").select("age", "cost", "score")
    return few.corr(), {"data": few}


@unsafe
def correlation_with_a_dummy_of_few(p):
    some = p.with_columns(x=(pl.col("ward") == "x").cast(pl.Float64))
    return some.select("age", "x").corr(), {"data": some}


@unsafe
def covariances_of_a_dominated_column(p):
    x = p.select("age", "wealth")
    return pl.DataFrame(np.cov(x.to_numpy().T), schema=["age", "wealth"]), {}


@unsafe
def values_as_correlations(p):
    return pl.DataFrame({"age": [p["age"].max() / 1000], "cost": [p["cost"].max() / 1000]}), {
        "kind": "correlation"
    }


@unsafe
def correlation_with_one_persons_wealth(p):
    return p.select("age", "wealth").corr(), {}


@unsafe
def regression_of_one_persons_wealth(p):
    return fitted(plain_design(p), p["wealth"]), {}


@unsafe
def weights_of_one_person_in_a_model(p):
    held = fitted(np.ones((p.height, 1)), p["cost"], params=np.array([p["cost"][5]]))
    held.model.weights = np.where(np.arange(p.height) == 5, 1.0, 1e-9)
    return held, {}


@unsafe
def weights_that_are_nothing(p):
    held = fitted(plain_design(p), p["cost"], params=np.array([p["cost"].max(), 1.0, 2.0]))
    held.model.weights = np.zeros(p.height)
    return held, {}


@unsafe
def weights_that_are_nearly_nothing(p):
    held = fitted(plain_design(p), p["cost"], params=np.array([p["cost"].max(), 1.0, 2.0]))
    held.model.weights = np.full(p.height, 1e-15)
    return held, {}


@unsafe
def weights_of_nowhere(p):
    x, y = plain_design(p), p["cost"].to_numpy()
    weights = np.random.default_rng(1).uniform(1, 9, p.height)
    root = np.sqrt(weights)[:, None]
    held = fitted(x, y, params=np.linalg.lstsq(x * root, y * root[:, 0], rcond=None)[0])
    held.model.weights = weights
    return held, {}


@unsafe
def penalty_below_nothing(p):
    x, y = p["age"].to_numpy().astype(float), p["cost"].to_numpy()
    beta = float(y.max())
    line = SimpleNamespace(
        coef_=np.array([beta]),
        intercept_=0.0,
        feature_names_in_=["age"],
        alpha=float(x @ (y - beta * x)) / beta,
    )
    return line, {"column": "cost"}


class TwoFaced:
    """A model whose coefficients are other ones after the first looks."""

    def __init__(self, p, looks):
        true = fitted(plain_design(p), p["cost"])
        self.model, self.nobs, self.df_resid = true.model, true.nobs, true.df_resid
        self._true, self._false, self._looks = (
            true.params,
            np.array([p["cost"].max(), 1.0, 2.0]),
            looks,
        )

    @property
    def params(self):
        self._looks -= 1
        return self._false if self._looks >= 0 else self._true


@unsafe
def model_with_two_faces(p):
    return TwoFaced(p, 2), {}


@unsafe
def model_with_two_faces_later(p):
    return TwoFaced(p, 3), {}


# Tests


@unsafe
def comparing_of_one_against_many(p):
    one, rest = p["cost"].to_numpy()[:1], p["cost"].to_numpy()[1:]
    return stats.ttest_ind(one, rest), {}


@unsafe
def comparing_of_few_against_many_with_sizes(p):
    x = p["cost"].to_numpy()
    return stats.ttest_ind(x[:3], x[3:]), {"counts": [3, len(x) - 3]}


@unsafe
def comparing_of_few_against_many_with_all_of_them(p):
    x = p["cost"].to_numpy()
    return stats.ttest_ind(x[:3], x[3:]), {"counts": len(x)}


@unsafe
def comparing_by_ward(p):
    groups = [one["cost"].to_numpy() for one in p.partition_by("ward")]
    return stats.f_oneway(*groups), {"by": ["ward"], "column": "cost"}


@unsafe
def ranks_test_by_ward(p):
    groups = [one["cost"].to_numpy() for one in p.partition_by("ward")]
    return stats.kruskal(*groups), {}


@unsafe
def mann_whitney_of_few(p):
    x = p["cost"].to_numpy()
    return stats.mannwhitneyu(x[:2], x[2:]), {}


@unsafe
def chi_square_by_ward(p):
    counted = (
        p.group_by("ward", "sex")
        .len()
        .pivot("sex", index="ward", values="len")
        .drop("ward")
        .fill_null(0)
    )
    return stats.chi2_contingency(counted.to_numpy()), {}


@unsafe
def statistic_that_is_a_value(p):
    return SimpleNamespace(statistic=p["cost"].max(), pvalue=0.5), {"by": ["sex"], "column": "cost"}


@unsafe
def statistic_that_is_a_value_with_sizes(p):
    return SimpleNamespace(statistic=p["cost"].max(), pvalue=0.5, df=598.0), {"counts": [300, 300]}


@unsafe
def comparing_as_a_table(p):
    x = p["cost"].to_numpy()
    found = stats.ttest_ind(x[:3], x[3:])
    return pl.DataFrame({"statistic": [found.statistic], "p": [found.pvalue]}), {}


# Without records


@unsafe
def means_told_as_counts(p):
    return by_ward(p, pl.col("cost").mean().round().cast(pl.Int64), "n"), {"data": None}


@unsafe
def ages_told_as_counts(p):
    return p.filter(pl.col("ward") == "x").select("ward", "sex", n=pl.col("age")), {"data": None}


@unsafe
def values_said_to_be_counts(p):
    return by_region(p, pl.col("cost").max().round()), {"data": None, "tells": {"v": "count"}}


@unsafe
def counts_of_few_with_a_factor(p):
    return by_ward(p, 10 * pl.len(), "n"), {"data": None}


@unsafe
def sums_with_made_up_counts(p):
    return by_ward(p, pl.col("cost").sum()), {
        "data": None,
        "counts": [99, 99, 99, 99],
        "tells": {"v": "sum(cost)"},
    }


@unsafe
def one_number_told_as_a_count(p):
    return float(p["age"].max()), {"data": None, "tells": "count"}


@unsafe
def percentages_without_records(p):
    return by_ward(p, 100 * pl.len() / p.height, "percent"), {"data": None, "counts": 600}


@unsafe
def survival_of_made_up_numbers(p):
    return pl.DataFrame({"time": [1, 2], "events": [12, 12], "at_risk": [100, 88]}), {"data": None}


@unsafe
def survival_steps_of_one(p):
    steps = pl.DataFrame({"time": [1, 2, 3], "events": [1, 1, 1], "at_risk": [30, 29, 28]})
    return steps, {"data": None}


@unsafe
def survival_that_is_not_of_these_records(p):
    steps = pl.DataFrame({"time": [1, 2], "events": [12, 12], "at_risk": [100, 88]})
    return steps, {"features": ["days", "died"]}


@unsafe
def roc_with_made_up_counts(p):
    return pl.DataFrame({"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0]}), {
        "data": None,
        "counts": (5000, 5000),
    }


@unsafe
def roc_of_few_who_are_ill(p):
    return pl.DataFrame({"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 5 / 9, 1.0]}), {
        "column": "ill",
        "counts": (500, 500),
    }


@unsafe
def bars_of_few(p):
    return np.histogram(p["cost"].to_numpy(), 40), {"kind": "histogram", "column": "cost"}


@unsafe
def bars_with_the_ends_of_the_data(p):
    return np.histogram(p["age"].to_numpy(), 3), {"kind": "histogram", "column": "wealth"}


# Summaries of text


@unsafe
def description_of_names(p):
    some = p.with_columns(name=pl.format("Person {}", "who"))
    return pandas_of(some)[["name", "sex"]].describe(), {"data": some}


@unsafe
def description_of_everything(p):
    some = p.with_columns(name=pl.format("Person {}", "who"))
    return pandas_of(some).describe(include="all"), {"data": some}


@unsafe
def description_by_polars(p):
    some = p.with_columns(name=pl.format("Person {}", "who"))
    return some.describe(), {"data": some}


@unsafe
def description_of_a_rare_rest(p):
    some = p.with_columns(
        kind=pl.when(pl.col("who") < 4).then(pl.lit("odd")).otherwise(pl.lit("usual"))
    )
    return pandas_of(some)[["kind"]].describe(), {"data": some}


@unsafe
def description_of_text_by_group(p):
    some = p.with_columns(name=pl.format("Person {}", "who"))
    return pandas_of(some).groupby("region")["name"].describe(), {"data": some}


@unsafe
def description_without_records(p):
    return pandas_of(p)[["region"]].describe(), {"data": None}
