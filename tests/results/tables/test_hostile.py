"""A hostile researcher, and an honest one: of all disguises (``disguises.py``,
``disguised_models.py``) none passes, and nothing harmless (``harmless.py``) fails.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from tests.results.tables.disguised_models import fitted, plain_design
from tests.results.tables.disguises import UNSAFE, made_up
from tests.results.tables.harmless import HARMLESS

pytest.importorskip("pandas", reason="pandas is not installed")

MUST_FAIL = {
    "counts_as_a_series",
    "cross_table_of_few",
    "cross_table_stacked",
    "percent_of_few",
    "highest_value",
    "exact_quartiles",
    "mean_of_few",
    "mean_of_few_with_a_lie_about_counts",
    "mean_of_few_by_a_made_up_column",
    "mean_dominated_by_one",
    "sum_dominated_by_one",
    "margins_that_tell_the_cell_left_out",
    "leave_one_out_means",
    "z_scores_of_everybody",
    "records_without_names",
    "dummy_of_few",
    "saturated_model",
    "fit_without_error",
    "model_of_few_that_says_many",
    "model_with_freedom_it_has_not",
    "tree_with_small_leaves",
    "comparing_of_few_against_many_with_sizes",
    "comparing_by_ward",
    "chi_square_by_ward",
    "roc_of_few_who_are_ill",
    "description_of_names",
    "description_of_a_rare_rest",
    "description_by_polars",
    "description_of_everything",
    "description_of_text_by_group",
    "means_with_and_without_one",
    "centres_as_an_object",
    "bars_of_few",
    "correlation_with_one_persons_wealth",
    "regression_of_one_persons_wealth",
    "weights_of_one_person_in_a_model",
}
"""Where the rule that is broken can be named; the others may be for review."""
MUST_PASS = {
    "counts_by_region",
    "counts_by_region_and_sex",
    "mean_of_logs",
    "cross_table",
    "cross_table_with_margins",
    "cross_table_in_percent",
    "value_counts",
    "means_by_region",
    "means_rounded",
    "means_and_deviations",
    "sums_by_region",
    "mean_of_all",
    "ratio_of_sums",
    "share_of_women",
    "rounded_median",
    "mean_by_age_band",
    "histogram_with_round_edges",
    "regression",
    "regression_with_regions",
    "regression_with_a_square",
    "line_of_other_software",
    "correlations",
    "correlations_rounded",
    "t_test",
    "welch_test",
    "analysis_of_variance",
    "kruskal_wallis",
    "mann_whitney",
    "chi_square",
    "pearson",
    "description_of_regions",
    "weighted_mean",
    "counts_transposed_and_harmless",
}


@pytest.fixture(scope="module")
def people():
    return made_up()


def judged(case, people):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tests of scipy warn of groups of one
        output, said = case(people)
    data = dict(said).pop("data", people)
    return sf.check_output(
        output, data, **{name: word for name, word in said.items() if name != "data"}
    )


@pytest.mark.parametrize("name", UNSAFE)
def test_nothing_unsafe_passes(people, name):
    verdict = judged(UNSAFE[name], people)
    assert verdict.status == ("fail" if name in MUST_FAIL else verdict.status)
    assert not verdict.passes
    assert all(one.sentence for one in verdict.reasons)


@pytest.mark.parametrize("name", HARMLESS)
def test_nothing_harmless_fails(people, name):
    verdict = judged(HARMLESS[name], people)
    assert verdict.status == ("pass" if name in MUST_PASS else "review")
    assert verdict.passes or verdict.next_steps


def test_there_are_enough_of_them():
    assert len(UNSAFE) >= 120
    assert len(HARMLESS) >= 45
    assert set(UNSAFE) >= MUST_FAIL
    assert set(HARMLESS) >= MUST_PASS


def test_a_protected_table_that_was_opened_again(people):
    table = sf.tabulate(people, ["ward", "sex"]).protect([sf.Threshold(10)])
    assert sf.check_output(table).passes
    for forged in (
        dataclasses.replace(table, published=table.problem.value.copy()),
        dataclasses.replace(table, suppression=None),
        dataclasses.replace(
            table, published=np.where(table.problem.primary, table.problem.value, table.published)
        ),
    ):
        assert sf.check_output(forged).status == "fail"


def test_words_that_would_not_be_listened_to(people):
    table = people.group_by("region").len("n")
    for said in ({"features": ["age"]}, {"column": "age"}):
        with pytest.raises(sf.errors.ParameterError, match="models, tests and curves"):
            sf.check_output(table, people, **said)
    with pytest.raises(sf.errors.ParameterError, match="cross tables"):
        sf.check_output({"auc": 0.7}, people, across="sex")


# One after the other, in a session


def means(frame, **more):
    return (
        frame.group_by("region")
        .agg(pl.col("cost").mean().alias("cost_mean"), **more)
        .sort("region")
    )


@pytest.fixture
def session(people, tmp_path):
    with sf.output_session(tmp_path / "s", people, unit="who") as opened:
        yield opened


def test_means_with_and_without_one_person(people, session):
    assert session.add(means(people), "One").passes
    less = people.filter(pl.col("who") != 17)
    assert session.check(means(less), where=pl.col("who") != 17).status == "fail"
    assert session.check(means(less), data=less).status == "fail"
    assert (
        session.check(means(less)).status == "review"
    )  # not said: these are no means of the records


def test_two_regressions_that_differ_by_one_person(people, session):
    assert session.add(fitted(plain_design(people), people["cost"]), "All").passes
    less = people.filter(pl.col("who") != 17)
    other = fitted(plain_design(less), less["cost"])
    assert session.check(other, where=pl.col("who") != 17).status == "fail"
    assert session.check(other, data=less).status == "fail"
    assert session.check(other).status == "review"


def test_a_protected_table_of_other_records(people, session):
    assert session.check(sf.tabulate(people, ["region"]).protect([sf.Threshold(10)])).passes
    other = people.filter(pl.col("ward") != "a")
    assert (
        session.check(sf.tabulate(other, ["region"]).protect([sf.Threshold(10)])).status == "review"
    )


@pytest.mark.parametrize(
    "way", ["other people", "other values", "other labels", "a column of nowhere", "no person"]
)
def test_records_that_were_made_up(people, session, way):
    draw = np.random.default_rng(1)
    made = {
        "other people": people.with_columns(who=pl.col("who") + 10_000),
        "other values": people.with_columns(cost=pl.Series(draw.lognormal(9, 1, 600))),
        "other labels": people.with_columns(region=pl.Series(draw.choice(["n", "s", "e"], 600))),
        "a column of nowhere": people.with_columns(region=pl.col("region"), cost=pl.col("cost")),
        "no person": people.with_columns(who=pl.lit(1)),
    }[way]
    if way == "a column of nowhere":
        made = made.with_columns(value=pl.Series(draw.lognormal(9, 1, 600)))
        table = made.group_by("region").agg(pl.col("value").mean().alias("value_mean"))
    else:
        table = means(made)
    assert not session.check(table, data=made).passes


def test_columns_that_were_made_of_those_of_the_session(people, session):
    made = people.with_columns(
        band=pl.col("age") // 20,
        old=pl.col("age") > 50,
        costly=pl.when(pl.col("cost") > 20).then(pl.lit("yes")).otherwise(pl.lit("no")),
        log_cost=pl.col("cost").log(),
    )
    for by in ("band", "old", "costly"):
        table = made.group_by(by).agg(pl.col("cost").mean().alias("cost_mean"))
        assert session.check(table, data=made, by=[by]).passes
    assert session.check(
        made.group_by("region").agg(pl.col("log_cost").mean().alias("log_cost_mean")), data=made
    ).passes


def test_rules_belong_to_the_session(people, session):
    for said in ({"rules": sf.OutputRules(threshold=2)}, {"unit": "age"}):
        with pytest.raises(sf.errors.ParameterError, match="belong to the session"):
            session.check(means(people), **said)
    with pytest.raises(sf.errors.ParameterError, match="other rules"):
        sf.output_session(session.folder, people, rules=sf.OutputRules(threshold=3))
