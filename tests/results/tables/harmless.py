"""Outputs of an honest researcher, which must never fail."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
from scipy import stats

from tests.results.tables.disguised_models import fitted, plain_design
from tests.results.tables.disguises import HARMLESS, by_region, harmless, pandas_of

__all__ = ["HARMLESS"]


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
    return (
        p.group_by("region").agg(
            pl.col("cost").mean().alias("cost_mean"), pl.col("cost").std().alias("cost_sd")
        ),
        {},
    )


@harmless
def sums_by_region(p):
    return by_region(p, pl.col("cost").sum(), "cost_sum"), {}


@harmless
def mean_of_all(p):
    return float(p["cost"].mean()), {"tells": "mean(cost)"}


@harmless
def ratio_of_sums(p):
    return by_region(p, pl.col("cost").sum() / pl.col("age").sum(), "r"), {
        "tells": {"r": "ratio(cost, age)"}
    }


@harmless
def share_of_women(p):
    some = p.with_columns(f=pl.col("sex") == "f")
    return by_region(some, pl.col("f").mean(), "share"), {
        "data": some,
        "tells": {"share": "share(f)"},
    }


@harmless
def means_logged(p):
    return by_region(p, pl.col("cost").mean().log(), "log_mean"), {}


@harmless
def mean_of_logs(p):
    some = p.with_columns(log_cost=pl.col("cost").log())
    return by_region(some, pl.col("log_cost").mean(), "log_cost_mean"), {"data": some}


@harmless
def rounded_median(p):
    return by_region(p, (pl.col("age").median() / 10).round() * 10, "v"), {
        "tells": {"v": "median(age)"}
    }


@harmless
def mean_by_age_band(p):
    some = p.with_columns(band=pl.col("age") // 20)
    return some.group_by("band").agg(pl.col("cost").mean().alias("cost_mean")), {
        "data": some,
        "by": ["band"],
    }


@harmless
def indices(p):
    table = by_region(p, pl.col("cost").mean())
    return table.with_columns(v=100 * pl.col("v") / pl.col("v").first()), {}


@harmless
def confidence_intervals(p):
    error = pl.col("cost").std() / pl.len().sqrt()
    mean = pl.col("cost").mean()
    return (
        p.group_by("region").agg(
            mean.alias("cost_mean"),
            (mean - 1.96 * error).alias("low"),
            (mean + 1.96 * error).alias("high"),
        ),
        {},
    )


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
    beta = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), p["cost"].to_numpy(), rcond=None)[
        0
    ]
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
    return stats.ttest_ind(
        *(one["cost"].to_numpy() for one in p.sort("sex").partition_by("sex"))
    ), {
        "by": ["sex"],
        "column": "cost",
    }


@harmless
def t_test_without_sizes(p):
    return (
        stats.ttest_ind(*(one["cost"].to_numpy() for one in p.sort("sex").partition_by("sex"))),
        {},
    )


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
    counted = (
        p.group_by("region", "sex").len().pivot("sex", index="region", values="len").drop("region")
    )
    return stats.chi2_contingency(counted.to_numpy()), {"by": ["region", "sex"]}


@harmless
def pearson(p):
    return stats.pearsonr(p["age"].to_numpy(), p["cost"].to_numpy()), {"features": ["age", "cost"]}


@harmless
def survival_with_enough_events(p):
    return pl.DataFrame({"time": [1, 2], "events": [12, 12], "at_risk": [100, 88]}), {"data": None}


@harmless
def roc_curve(p):
    return pl.DataFrame({"fpr": [0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0]}), {
        "data": None,
        "counts": (200, 300),
    }


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
    tree = SimpleNamespace(
        children_left=[1, -1, -1], n_node_samples=[600, 250, 350], impurity=[0.5, 0.4, 0.3]
    )
    return SimpleNamespace(tree_=tree), {"data": None}


@harmless
def weighted_mean(p):
    some = p.with_columns(w=pl.col("who") % 3 + 1.0)
    return some.select(m=(pl.col("cost") * pl.col("w")).sum() / pl.col("w").sum()), {
        "data": some,
        "weight": "w",
        "tells": {"m": "mean(cost)"},
    }
