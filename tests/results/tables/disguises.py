"""Outputs as a hostile researcher would bring them, and as an honest one would: cases for the
checker, on any table with the columns of :func:`made_up`.

``UNSAFE`` must never pass, ``HARMLESS`` must never fail. A case is a function of the records that
gives the output, and what is said of it.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
from scipy import stats

UNSAFE: dict[str, object] = {}
HARMLESS: dict[str, object] = {}


def made_up(count: int = 600, seed: int = 3) -> pl.DataFrame:
    """People of three regions and four wards, one of which has three; somebody owns nearly all of a
    region, three of each region are ill.
    """
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
    return by_ward(p, pl.len(), "n").with_columns(n=pl.col("n").cum_sum()), {
        "tells": {"n": "count"}
    }


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
    return (
        q.pivot_table(index="region", columns=["ward", "sex"], values="cost", aggfunc="count"),
        {},
    )


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
    return (
        by_region(p, (pl.col("cost").max() - pl.col("cost").mean()) / pl.col("cost").std(), "z"),
        {},
    )


@unsafe
def highest_value_as_a_share_of_the_sum(p):
    return by_region(p, pl.col("cost").max() / pl.col("cost").sum(), "concentration"), {}


@unsafe
def highest_value_beside_its_mean(p):
    return (
        p.select(
            mean=pl.col("score").mean(), spread=pl.col("score").max() - pl.col("score").mean()
        ),
        {},
    )


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
    return p.select(
        q1=pl.col("cost").quantile(0.25),
        q2=pl.col("cost").median(),
        q3=pl.col("cost").quantile(0.75),
    ), {"tells": {"q1": "quantile(cost, 0.25)", "q2": "median(cost)", "q3": "quantile(cost, 0.75)"}}


@unsafe
def every_percentile(p):
    levels = np.arange(1, 100) / 100
    some = p.head(300)
    return pl.DataFrame({"level": levels, "cost": np.quantile(some["cost"].to_numpy(), levels)}), {
        "data": some
    }


@unsafe
def box_plot(p):
    x = p["cost"].to_numpy()
    q1, q2, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    top = x[x <= q3 + 1.5 * (q3 - q1)].max()
    return pl.DataFrame({"q1": [q1], "median": [q2], "q3": [q3], "whisker": [top]}), {
        "tells": {
            "q1": "quantile(cost, 0.25)",
            "median": "median(cost)",
            "q3": "quantile(cost, 0.75)",
        }
    }


@unsafe
def box_plot_outliers(p):
    x = np.sort(p["cost"].to_numpy())
    return pl.DataFrame({"flier": x[-7:]}), {}


@unsafe
def lorenz_points(p):
    x = np.sort(p["wealth"].to_numpy())
    return (
        pl.DataFrame(
            {"people": np.arange(1, len(x) + 1) / len(x), "wealth": np.cumsum(x) / x.sum()}
        ),
        {},
    )


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
    return by_ward(p, pl.col("cost").mean(), "v").with_columns(n=pl.Series([200, 200, 190, 150])), {
        "counts": "n"
    }


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
    return by_region(p, pl.col("wealth").sum() / pl.col("cost").sum(), "r"), {
        "tells": {"r": "ratio(wealth, cost)"}
    }


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
        [
            p.with_columns(sample=pl.lit("all")),
            p.filter(pl.col("who") != 5).with_columns(sample=pl.lit("less")),
        ]
    )
    return both.group_by("sample").agg(pl.col("score").mean().alias("score_mean")), {
        "data": both,
        "unit": "who",
    }


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
