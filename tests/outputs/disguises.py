"""Outputs as a hostile researcher would bring them, and as an honest one would: cases for the checker, on any table with the columns of :func:`made_up`.

``UNSAFE`` must never pass, ``HARMLESS`` must never fail. A case is a function of the records that gives the output, and what is said of it.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
from scipy import stats

UNSAFE: dict[str, object] = {}
HARMLESS: dict[str, object] = {}


def made_up(count: int = 600, seed: int = 3) -> pl.DataFrame:
    """People of three regions and four wards, one of which has three; somebody owns nearly all of a region, three of each region are ill."""
    draw = np.random.default_rng(seed)
    place = np.arange(count)
    region = np.array(["n", "s", "e"])[place % 3]
    return finished(
        pl.DataFrame(
            {
                "region": region,
                "ward": np.where(place < 3, "x", np.array(["a", "b", "c"])[(place // 3) % 3]),
                "sex": draw.choice(["f", "m"], count),
                "age": draw.integers(18, 90, count),
                "cost": draw.lognormal(3, 0.6, count).round(2),
            }
        ),
        seed,
    )


def finished(frame: pl.DataFrame, seed: int = 3) -> pl.DataFrame:
    """Records with the columns that cases need besides: who, wealth, ill, score, days and died."""
    draw = np.random.default_rng(seed + 1)
    count, place = frame.height, np.arange(frame.height)
    wealth = draw.lognormal(2, 0.5, count)
    wealth[0] = 40 * wealth.sum()
    return frame.with_columns(
        who=pl.Series(place),
        wealth=pl.Series(wealth.round(2)),
        ill=pl.Series((place < 9).astype(int)),
        score=pl.Series(np.where(place == 5, 100, draw.integers(40, 80, count))),
        days=pl.Series(draw.integers(1, 400, count)),
        died=pl.Series(draw.integers(0, 2, count)),
    )


def unsafe(case):
    UNSAFE[case.__name__] = case
    return case


def harmless(case):
    HARMLESS[case.__name__] = case
    return case


def pandas_of(p):
    import pandas as pd

    return pd.DataFrame(p.to_dict(as_series=False))


def by_ward(p, how, name="v"):
    return p.group_by("ward").agg(how.alias(name)).sort("ward")


def by_region(p, how, name="v"):
    return p.group_by("region").agg(how.alias(name)).sort("region")


# Counts of few, under other names and shapes


@unsafe
def counts_called_otherwise(p):
    return by_ward(p, pl.len(), "index_value"), {}


@unsafe
def counts_as_floats_plus_a_bit(p):
    return by_ward(p, pl.len() + 0.25, "weighted n"), {}


@unsafe
def counts_said_to_be_a_mean(p):
    return by_ward(p, pl.len(), "v"), {"tells": {"v": "mean(cost)"}}


@unsafe
def counts_transposed(p):
    table = by_ward(p, pl.len())
    return table.select("v").transpose(column_names=table["ward"].to_list()), {}


@unsafe
def counts_wide_with_a_label(p):
    table = by_ward(p, pl.len())
    wide = table.select("v").transpose(column_names=table["ward"].to_list())
    return wide.with_columns(what=pl.lit("persons")), {}


@unsafe
def counts_as_a_series(p):
    return pandas_of(p)["ward"].value_counts(), {}


@unsafe
def counts_as_a_dict(p):
    return dict(zip(*by_ward(p, pl.len()).to_dict(as_series=False).values(), strict=True)), {}


@unsafe
def counts_as_an_array(p):
    return by_ward(p, pl.len())["v"].to_numpy(), {}


@unsafe
def counts_as_text(p):
    return by_ward(p, pl.len().cast(pl.String)), {}


@unsafe
def counts_in_the_labels(p):
    table = by_ward(p, pl.len())
    return table.select(ward=pl.format("{} (n={})", "ward", "v"), share=pl.lit(1.0)), {}


@unsafe
def counts_squared(p):
    return by_ward(p, pl.len() ** 2), {}


@unsafe
def counts_as_logarithms(p):
    return by_ward(p, pl.len().log()), {}


@unsafe
def counts_as_ranks_and_logs(p):
    return by_ward(p, pl.len()).with_columns(v=pl.col("v").log(), place=pl.col("v").rank()), {}


@unsafe
def counts_rounded_to_tens(p):
    return by_ward(p, ((pl.len() / 10).round() * 10).cast(pl.Int64), "n"), {}


@unsafe
def counts_cumulated(p):
    return by_ward(p, pl.len()).with_columns(v=pl.col("v").cum_sum()), {}


@unsafe
def counts_cumulated_and_said_to_be_counts(p):
    return by_ward(p, pl.len(), "n").with_columns(n=pl.col("n").cum_sum()), {"tells": {"n": "count"}}


@unsafe
def counts_less_those_of_the_others(p):
    return by_ward(p, pl.len()).with_columns(v=pl.lit(p.height) - pl.col("v")), {}


@unsafe
def percent_of_few(p):
    return by_ward(p, 100 * pl.len() / p.height, "percent"), {}


@unsafe
def share_with_a_known_whole(p):
    return by_ward(p, pl.len() / p.height, "x"), {}


@unsafe
def odds_instead_of_shares(p):
    return by_region(p, pl.col("ill").mean() / (1 - pl.col("ill").mean()), "odds"), {}


@unsafe
def cross_table_of_few(p):
    q = pandas_of(p)
    import pandas as pd

    return pd.crosstab(q.ward, q.sex), {}


@unsafe
def cross_table_with_rows_normalised(p):
    q = pandas_of(p)
    import pandas as pd

    return pd.crosstab(q.ward, q.sex, normalize="index"), {}


@unsafe
def cross_table_that_lost_its_names(p):
    q = pandas_of(p)
    import pandas as pd

    return pd.crosstab(q.ward, q.sex).rename_axis(columns=None, index=None), {}


@unsafe
def cross_table_stacked(p):
    q = pandas_of(p)
    return q.groupby(["ward", "sex"]).size(), {}


@unsafe
def columns_with_two_levels(p):
    q = pandas_of(p)
    return q.pivot_table(index="region", columns=["ward", "sex"], values="cost", aggfunc="count"), {}


@unsafe
def heat_map_of_means(p):
    q = pandas_of(p)
    return q.pivot_table(index="ward", columns="region", values="cost", aggfunc="mean"), {}


@unsafe
def styled_frame(p):
    q = pandas_of(p)
    return SimpleNamespace(data=q.groupby("ward").size(), index=None, columns=None), {}


@unsafe
def labels_that_hide_the_ward(p):
    table = by_ward(p, pl.len(), "n").with_columns(ward=pl.Series(["g1", "g2", "g3", "g4"]))
    return table, {}


@unsafe
def shares_of_few_who_are_ill(p):
    return by_region(p.filter(pl.int_range(pl.len()) < 60), pl.col("ill").mean(), "rate"), {}


@unsafe
def sums_of_few_who_are_ill(p):
    return by_region(p, pl.col("ill").sum(), "cases"), {"tells": {"cases": "sum(ill)"}}


@unsafe
def healthy_instead_of_ill(p):
    return by_region(p, (1 - pl.col("ill")).sum(), "healthy"), {}


@unsafe
def rates_per_hundred_thousand(p):
    return by_region(p, 100_000 * pl.col("ill").mean(), "rate"), {}


@unsafe
def nobody_in_a_cell(p):
    some = p.filter((pl.col("ward") != "a") | (pl.col("sex") != "f"))
    return some.group_by("ward", "sex").len("n").filter(pl.col("ward") != "x"), {"data": some}


@unsafe
def value_in_the_name_of_a_column(p):
    name = f"up to {p['cost'].max()}"
    return by_region(p, pl.len(), name), {"tells": {name: "count"}}


@unsafe
def is_anybody_ill(p):
    return by_region(p, (pl.col("ill") == 1).any()), {}


# Values of one person


@unsafe
def highest_value(p):
    return by_region(p, pl.col("cost").max(), "cost"), {}


@unsafe
def highest_value_said_to_be_a_percentile(p):
    return by_region(p, pl.col("cost").max(), "v"), {"tells": {"v": "quantile(cost, 0.999)"}}


@unsafe
def second_highest_value(p):
    return by_region(p, pl.col("cost").sort().gather(pl.len() - 2).first()), {}


@unsafe
def range_and_lowest(p):
    return by_region(p, pl.col("cost").max() - pl.col("cost").min(), "range"), {}


@unsafe
def highest_value_as_a_logarithm(p):
    return by_region(p, pl.col("cost").max().log(), "log_cost"), {}


@unsafe
def highest_value_as_a_z_score(p):
    return by_region(p, (pl.col("cost").max() - pl.col("cost").mean()) / pl.col("cost").std(), "z"), {}


@unsafe
def highest_value_as_a_share_of_the_sum(p):
    return by_region(p, pl.col("cost").max() / pl.col("cost").sum(), "concentration"), {}


@unsafe
def highest_value_beside_its_mean(p):
    return p.select(mean=pl.col("score").mean(), spread=pl.col("score").max() - pl.col("score").mean()), {}


@unsafe
def first_value_of_every_group(p):
    return by_region(p, pl.col("cost").first()), {}


@unsafe
def top_ten_list(p):
    return p.top_k(10, by="cost").select("region", "cost"), {}


@unsafe
def top_ten_values_alone(p):
    return p.top_k(10, by="cost").select("cost"), {}


@unsafe
def top_ten_values_with_ranks(p):
    return p.top_k(10, by="cost").select(rank=pl.int_range(1, 11), value=pl.col("cost")), {}


@unsafe
def exact_quartiles(p):
    return p.select(q1=pl.col("cost").quantile(0.25), q2=pl.col("cost").median(), q3=pl.col("cost").quantile(0.75)), {
        "tells": {"q1": "quantile(cost, 0.25)", "q2": "median(cost)", "q3": "quantile(cost, 0.75)"}
    }


@unsafe
def every_percentile(p):
    levels = np.arange(1, 100) / 100
    some = p.head(300)
    return pl.DataFrame({"level": levels, "cost": np.quantile(some["cost"].to_numpy(), levels)}), {"data": some}


@unsafe
def box_plot(p):
    x = p["cost"].to_numpy()
    q1, q2, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    top = x[x <= q3 + 1.5 * (q3 - q1)].max()
    return pl.DataFrame({"q1": [q1], "median": [q2], "q3": [q3], "whisker": [top]}), {
        "tells": {"q1": "quantile(cost, 0.25)", "median": "median(cost)", "q3": "quantile(cost, 0.75)"}
    }


@unsafe
def box_plot_outliers(p):
    x = np.sort(p["cost"].to_numpy())
    return pl.DataFrame({"flier": x[-7:]}), {}


@unsafe
def lorenz_points(p):
    x = np.sort(p["wealth"].to_numpy())
    return pl.DataFrame({"people": np.arange(1, len(x) + 1) / len(x), "wealth": np.cumsum(x) / x.sum()}), {}


@unsafe
def gini_of_a_dominated_column(p):
    x = np.sort(p["wealth"].to_numpy())
    n = len(x)
    gini = 2 * (np.arange(1, n + 1) * x).sum() / (n * x.sum()) - (n + 1) / n
    return pl.DataFrame({"gini": [gini]}), {}


@unsafe
def distribution_function(p):
    x = np.sort(p["cost"].to_numpy())
    return pl.DataFrame({"cost": x, "share": np.arange(1, len(x) + 1) / len(x)}), {}


@unsafe
def density_of_few(p):
    x = p.filter(pl.col("ward") == "x")["cost"].to_numpy()
    grid = np.linspace(x.min(), x.max(), 50)
    return pl.DataFrame({"x": grid, "density": stats.gaussian_kde(x)(grid)}), {}


@unsafe
def mode_of_a_column_without_one(p):
    return p.select(mode=pl.col("cost").mode().first()), {"tells": {"mode": "mode(cost)"}}


@unsafe
def one_number_that_is_somebodys(p):
    return float(p["cost"].max()), {}


@unsafe
def one_number_said_to_be_a_mean(p):
    return float(p["cost"].max()), {"tells": "mean(cost)"}


# Means and sums of few, or dominated


@unsafe
def mean_of_few(p):
    return by_ward(p, pl.col("cost").mean(), "cost_mean"), {}


@unsafe
def mean_of_few_called_otherwise(p):
    return by_ward(p, pl.col("cost").mean(), "typical"), {}


@unsafe
def mean_of_few_with_a_lie_about_counts(p):
    return by_ward(p, pl.col("cost").mean(), "cost_mean"), {"counts": [200, 200, 190, 150]}


@unsafe
def mean_of_few_by_a_made_up_column(p):
    return by_ward(p, pl.col("cost").mean(), "v").with_columns(n=pl.Series([200, 200, 190, 150])), {"counts": "n"}


@unsafe
def median_of_few(p):
    return by_ward(p, pl.col("cost").median(), "v"), {"tells": {"v": "median(cost)"}}


@unsafe
def mean_dominated_by_one(p):
    return by_region(p, pl.col("wealth").mean(), "wealth_mean"), {}


@unsafe
def sum_dominated_by_one(p):
    return by_region(p, pl.col("wealth").sum(), "wealth"), {}


@unsafe
def mean_dominated_and_logged(p):
    return by_region(p, pl.col("wealth").mean().log(), "v"), {}


@unsafe
def mean_in_thousands(p):
    return by_region(p, pl.col("wealth").sum() / 1000, "thousands"), {}


@unsafe
def deviation_dominated_by_one(p):
    return by_region(p, pl.col("wealth").std(), "sd"), {"tells": {"sd": "sd(wealth)"}}


@unsafe
def skewness_and_kurtosis(p):
    return p.select(skew=pl.col("wealth").skew(), kurtosis=pl.col("wealth").kurtosis()), {}


@unsafe
def ratio_with_a_dominated_side(p):
    return by_region(p, pl.col("wealth").sum() / pl.col("cost").sum(), "r"), {"tells": {"r": "ratio(wealth, cost)"}}


@unsafe
def shares_of_a_total(p):
    return by_region(p, pl.col("wealth").sum() / p["wealth"].sum(), "share_of_wealth"), {}


@unsafe
def difference_of_two_means(p):
    means = by_ward(p, pl.col("cost").mean())
    return means.with_columns(v=pl.col("v") - p["cost"].mean()), {}


@unsafe
def means_with_and_without_one(p):
    both = pl.concat(
        [p.with_columns(sample=pl.lit("all")), p.filter(pl.col("who") != 5).with_columns(sample=pl.lit("less"))]
    )
    return both.group_by("sample").agg(pl.col("score").mean().alias("score_mean")), {"data": both, "unit": "who"}


@unsafe
def leave_one_out_means(p):
    n, total = p.height, p["cost"].sum()
    return p.select(jackknife=(total - pl.col("cost")) / (n - 1)), {}


@unsafe
def running_mean_over_persons(p):
    return p.select("who", v=pl.col("cost").cum_sum() / pl.int_range(1, pl.len() + 1)), {}


@unsafe
def margins_that_tell_the_cell_left_out(p):
    table = by_ward(p, pl.len().cast(pl.Int64), "n").with_columns(
        n=pl.when(pl.col("ward") == "x").then(None).otherwise(pl.col("n"))
    )
    return pl.concat([table, pl.DataFrame({"ward": ["Total"], "n": [p.height]})]), {}


@unsafe
def weights_that_leave_one_person(p):
    some = p.with_columns(w=pl.when(pl.col("who") == 5).then(1.0).otherwise(1e-9))
    mean = some.select(m=(pl.col("cost") * pl.col("w")).sum() / pl.col("w").sum())
    return mean, {"data": some, "weight": "w", "tells": {"m": "mean(cost)"}}


@unsafe
def persons_counted_as_rows(p):
    some = pl.concat([p.filter(pl.col("ward") == "x")] * 20).select("who", "ward", "cost")
    return by_ward(some, pl.col("cost").mean(), "cost_mean"), {"data": some, "unit": "who"}


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
        **{"params": params, "nobs": float(len(design)), "df_resid": float(left), "model": held, **more}
    )


def plain_design(p):
    return np.column_stack([np.ones(p.height), p["age"].to_numpy(), (p["sex"] == "f").to_numpy()])


@unsafe
def dummy_of_few(p):
    return fitted(np.column_stack([plain_design(p), (p["ward"] == "x").to_numpy()]), p["cost"]), {}


@unsafe
def dummy_of_few_in_other_units(p):
    return fitted(np.column_stack([plain_design(p), 7 - 3.5 * (p["ward"] == "x").to_numpy()]), p["cost"]), {}


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
    return fitted(np.column_stack([np.ones(12), draw.normal(size=(12, 9))]), few["cost"]), {"data": few}


@unsafe
def constant_of_a_dominated_column(p):
    return fitted(np.ones((p.height, 1)), p["wealth"]), {}


@unsafe
def coefficients_that_are_values(p):
    values = np.array([p["cost"].max(), p["cost"].min(), p["age"].max()])
    return fitted(plain_design(p), p["cost"], params=values), {}


@unsafe
def coefficients_that_are_values_of_other_software(p):
    line = SimpleNamespace(coef_=p["cost"].to_numpy()[:2], intercept_=0.0, feature_names_in_=["age", "score"])
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
    return SimpleNamespace(tree_=SimpleNamespace(children_left=[1, -1, -1], n_node_samples=[600, 597, 3])), {}


@unsafe
def rules_of_a_tree_as_a_table(p):
    rules = ["wealth <= 1", "wealth > 1"]
    return pl.DataFrame({"rule": rules, "value": [1.0, float(p["wealth"].max())], "n": [p.height - 1, 1]}), {}


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
    return pl.DataFrame({"age": [p["age"].max() / 1000], "cost": [p["cost"].max() / 1000]}), {"kind": "correlation"}


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
        coef_=np.array([beta]), intercept_=0.0, feature_names_in_=["age"], alpha=float(x @ (y - beta * x)) / beta
    )
    return line, {"column": "cost"}


class TwoFaced:
    """A model whose coefficients are other ones after the first looks."""

    def __init__(self, p, looks):
        true = fitted(plain_design(p), p["cost"])
        self.model, self.nobs, self.df_resid = true.model, true.nobs, true.df_resid
        self._true, self._false, self._looks = true.params, np.array([p["cost"].max(), 1.0, 2.0]), looks

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
    counted = p.group_by("ward", "sex").len().pivot("sex", index="ward", values="len").drop("ward").fill_null(0)
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
    return by_ward(p, pl.col("cost").sum()), {"data": None, "counts": [99, 99, 99, 99], "tells": {"v": "sum(cost)"}}


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
    return pl.DataFrame({"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0]}), {"data": None, "counts": (5000, 5000)}


@unsafe
def roc_of_few_who_are_ill(p):
    return pl.DataFrame({"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 5 / 9, 1.0]}), {"column": "ill", "counts": (500, 500)}


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
    some = p.with_columns(kind=pl.when(pl.col("who") < 4).then(pl.lit("odd")).otherwise(pl.lit("usual")))
    return pandas_of(some)[["kind"]].describe(), {"data": some}


@unsafe
def description_of_text_by_group(p):
    some = p.with_columns(name=pl.format("Person {}", "who"))
    return pandas_of(some).groupby("region")["name"].describe(), {"data": some}


@unsafe
def description_without_records(p):
    return pandas_of(p)[["region"]].describe(), {"data": None}


# Harmless


@harmless
def counts_by_region(p):
    return by_region(p, pl.len(), "n"), {}


@harmless
def counts_by_region_and_sex(p):
    return p.group_by("region", "sex").len("n"), {}


@harmless
def cross_table(p):
    import pandas as pd

    q = pandas_of(p)
    return pd.crosstab(q.region, q.sex), {}


@harmless
def cross_table_with_margins(p):
    import pandas as pd

    q = pandas_of(p)
    return pd.crosstab(q.region, q.sex, margins=True), {}


@harmless
def cross_table_in_percent(p):
    import pandas as pd

    q = pandas_of(p)
    return pd.crosstab(q.region, q.sex, normalize="index"), {}


@harmless
def value_counts(p):
    return pandas_of(p)["sex"].value_counts(normalize=True), {}


@harmless
def counts_transposed_and_harmless(p):
    table = by_region(p, pl.len())
    return table.select("v").transpose(column_names=table["region"].to_list()), {}


@harmless
def means_by_region(p):
    return by_region(p, pl.col("cost").mean(), "cost_mean"), {}


@harmless
def means_rounded(p):
    return by_region(p, pl.col("cost").mean().round(1), "cost_mean"), {}


@harmless
def means_and_deviations(p):
    return p.group_by("region").agg(pl.col("cost").mean().alias("cost_mean"), pl.col("cost").std().alias("cost_sd")), {}


@harmless
def sums_by_region(p):
    return by_region(p, pl.col("cost").sum(), "cost_sum"), {}


@harmless
def mean_of_all(p):
    return float(p["cost"].mean()), {"tells": "mean(cost)"}


@harmless
def ratio_of_sums(p):
    return by_region(p, pl.col("cost").sum() / pl.col("age").sum(), "r"), {"tells": {"r": "ratio(cost, age)"}}


@harmless
def share_of_women(p):
    some = p.with_columns(f=pl.col("sex") == "f")
    return by_region(some, pl.col("f").mean(), "share"), {"data": some, "tells": {"share": "share(f)"}}


@harmless
def means_logged(p):
    return by_region(p, pl.col("cost").mean().log(), "log_mean"), {}


@harmless
def mean_of_logs(p):
    some = p.with_columns(log_cost=pl.col("cost").log())
    return by_region(some, pl.col("log_cost").mean(), "log_cost_mean"), {"data": some}


@harmless
def rounded_median(p):
    return by_region(p, (pl.col("age").median() / 10).round() * 10, "v"), {"tells": {"v": "median(age)"}}


@harmless
def mean_by_age_band(p):
    some = p.with_columns(band=pl.col("age") // 20)
    return some.group_by("band").agg(pl.col("cost").mean().alias("cost_mean")), {"data": some, "by": ["band"]}


@harmless
def indices(p):
    table = by_region(p, pl.col("cost").mean())
    return table.with_columns(v=100 * pl.col("v") / pl.col("v").first()), {}


@harmless
def confidence_intervals(p):
    error = pl.col("cost").std() / pl.len().sqrt()
    mean = pl.col("cost").mean()
    return p.group_by("region").agg(
        mean.alias("cost_mean"), (mean - 1.96 * error).alias("low"), (mean + 1.96 * error).alias("high")
    ), {}


@harmless
def histogram_with_round_edges(p):
    edges = [0.0, 30.0, 45.0, 60.0, 75.0, 120.0]
    return np.histogram(p["age"].to_numpy(), edges), {"kind": "histogram", "column": "age"}


@harmless
def regression(p):
    return fitted(plain_design(p), p["cost"]), {}


@harmless
def regression_with_regions(p):
    dummies = [(p["region"] == one).to_numpy() for one in p["region"].unique().sort().to_list()[1:]]
    return fitted(np.column_stack([plain_design(p), *dummies]), p["cost"]), {}


@harmless
def regression_with_a_square(p):
    x = p["age"].to_numpy()
    return fitted(np.column_stack([np.ones(p.height), x, x**2]), p["cost"]), {}


@harmless
def line_of_other_software(p):
    x = p.select("age", "score").to_numpy().astype(float)
    beta = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), p["cost"].to_numpy(), rcond=None)[0]
    line = SimpleNamespace(coef_=beta[1:], intercept_=beta[0], feature_names_in_=["age", "score"])
    return line, {"column": "cost", "counts": p.height}


@harmless
def correlations(p):
    return p.select("age", "cost", "score").corr(), {}


@harmless
def correlations_rounded(p):
    return p.select("age", "cost", "score").corr().with_columns(pl.all().round(2)), {}


@harmless
def t_test(p):
    return stats.ttest_ind(*(one["cost"].to_numpy() for one in p.sort("sex").partition_by("sex"))), {
        "by": ["sex"],
        "column": "cost",
    }


@harmless
def t_test_without_sizes(p):
    return stats.ttest_ind(*(one["cost"].to_numpy() for one in p.sort("sex").partition_by("sex"))), {}


@harmless
def welch_test(p):
    both = (one["cost"].to_numpy() for one in p.sort("sex").partition_by("sex"))
    return stats.ttest_ind(*both, equal_var=False), {"by": ["sex"], "column": "cost"}


@harmless
def analysis_of_variance(p):
    return stats.f_oneway(*(one["cost"].to_numpy() for one in p.partition_by("region"))), {
        "by": ["region"],
        "column": "cost",
    }


@harmless
def kruskal_wallis(p):
    return stats.kruskal(*(one["cost"].to_numpy() for one in p.partition_by("region"))), {
        "by": ["region"],
        "column": "cost",
    }


@harmless
def mann_whitney(p):
    both = (one["cost"].to_numpy() for one in p.sort("sex").partition_by("sex"))
    return stats.mannwhitneyu(*both), {"by": ["sex"], "column": "cost"}


@harmless
def chi_square(p):
    counted = p.group_by("region", "sex").len().pivot("sex", index="region", values="len").drop("region")
    return stats.chi2_contingency(counted.to_numpy()), {"by": ["region", "sex"]}


@harmless
def pearson(p):
    return stats.pearsonr(p["age"].to_numpy(), p["cost"].to_numpy()), {"features": ["age", "cost"]}


@harmless
def survival_with_enough_events(p):
    return pl.DataFrame({"time": [1, 2], "events": [12, 12], "at_risk": [100, 88]}), {"data": None}


@harmless
def roc_curve(p):
    return pl.DataFrame({"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0]}), {"data": None, "counts": (200, 300)}


@harmless
def description_of_regions(p):
    return pandas_of(p)[["region", "sex"]].describe(), {}


@harmless
def counts_without_records(p):
    return by_region(p, pl.len(), "n"), {"data": None}


@harmless
def means_without_records(p):
    return p.group_by("region").agg(pl.len().alias("n"), pl.col("cost").mean().alias("m")), {
        "data": None,
        "counts": "n",
    }


@harmless
def a_sentence(p):
    return "The mean cost was higher in the north.", {}


@harmless
def a_dictionary(p):
    return {"auc": 0.71}, {}


@harmless
def an_accuracy(p):
    return 0.83, {}


@harmless
def tree_with_large_leaves(p):
    tree = SimpleNamespace(children_left=[1, -1, -1], n_node_samples=[600, 250, 350], impurity=[0.5, 0.4, 0.3])
    return SimpleNamespace(tree_=tree), {"data": None}


@harmless
def weighted_mean(p):
    some = p.with_columns(w=pl.col("who") % 3 + 1.0)
    return some.select(m=(pl.col("cost") * pl.col("w")).sum() / pl.col("w").sum()), {
        "data": some,
        "weight": "w",
        "tells": {"m": "mean(cost)"},
    }
