"""Unsafe outputs in disguise: coded otherwise, called otherwise, told by what stands beside them.
None of them passes.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from tests.results.tables.own_records import check

COUNT = 600


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(3)
    regions = np.repeat(["n", "s", "e"], COUNT // 3)
    few = np.arange(COUNT) % (COUNT // 3)
    return pl.DataFrame(
        {
            "region": regions,
            "ill": (few < 3).astype(int),
            "code": np.where(few == 5, 2, 1),
            "age": draw.integers(18, 90, COUNT),
            "cost": draw.lognormal(3, 0.8, COUNT).round(2),
            "score": np.where(few == 0, 100, draw.integers(40, 80, COUNT)),
        }
    )


def rules_of(verdict):
    return {one.rule for one in verdict.reasons if one.status != "pass"}


@pytest.mark.parametrize("column", ["ill", "code"])
@pytest.mark.parametrize("kind", ["mean", "sum", "std", "var"])
def test_a_share_however_it_is_coded_and_told(people, column, kind):
    table = people.group_by("region").agg(getattr(pl.col(column), kind)())
    assert "share" in rules_of(sf.check_output(table, people))


def test_a_ratio_of_two_shares(people):
    table = people.group_by("region").agg((pl.col("ill").sum() / pl.col("code").sum()).alias("r"))
    assert "share" in rules_of(sf.check_output(table, people, tells={"r": "ratio(ill, code)"}))


def test_two_values_of_many_persons_each_pass(people):
    some = people.with_columns(code=pl.int_range(pl.len()) % 2 + 1)
    assert sf.check_output(some.group_by("region").agg(pl.col("code").std()), some).passes


@pytest.mark.parametrize("said", [{"tells": {"score_mean": "mean(score)"}}, {}])
def test_a_highest_value_is_no_mean_that_was_rounded(people, said):
    table = people.select(pl.col("score").max().alias("score_mean"))
    assert sf.check_output(table, people, **said).status == "review"
    rounded = people.select(pl.col("score").mean().round(0).alias("score_mean"))
    assert sf.check_output(rounded, people, **said).passes


def test_a_hundred_percent_is_no_rounded_half(people):
    half = people.with_columns(
        sex=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("f")).otherwise(pl.lit("m"))
    )
    assert not sf.check_output(pl.DataFrame({"sex": ["f", "m"], "percent": [100, 0]}), half).passes
    assert sf.check_output(pl.DataFrame({"sex": ["f", "m"], "percent": [50, 50]}), half).passes


@pytest.mark.parametrize("many", [0.0, 1e-9])
def test_persons_without_weight_hide_nobody(people, many):
    some = people.with_columns(w=pl.Series(np.where(np.arange(COUNT) < 8, 1.0, many)))
    mean = some.select(((pl.col("cost") * pl.col("w")).sum() / pl.col("w").sum()).alias("m"))
    assert "dominance" in rules_of(
        sf.check_output(mean, some, weight="w", tells={"m": "mean(cost)"})
    )
    rows = some.select(pl.col("w").sum().alias("rows"))
    assert "dominance" in rules_of(sf.check_output(rows, some, weight="w", tells={"rows": "rows"}))
    usual = people.with_columns(w=pl.Series(np.arange(COUNT) % 3 + 1.0))
    mean = usual.select(((pl.col("cost") * pl.col("w")).sum() / pl.col("w").sum()).alias("m"))
    assert sf.check_output(mean, usual, weight="w", tells={"m": "mean(cost)"}).passes


# Counts without records


def test_what_is_left_out_beside_totals_follows():
    left_out = pl.DataFrame({"region": ["n", "s", "e", "Total"], "n": [100, None, 50, 153]})
    assert sf.check_output(left_out).status == "fail"
    assert sf.check_output(left_out.filter(pl.col("region") != "s")).status == "fail"
    assert rules_of(sf.check_output(left_out.with_columns(n=pl.Series([100, None, 50, 190])))) == {
        "margins",
        "records",
    }
    assert rules_of(sf.check_output(left_out.with_columns(n=pl.Series([100, 40, 50, 190])))) == {
        "records"
    }
    square = pl.DataFrame(
        {
            "a": ["x", "x", "y", "y", "All", "All"],
            "b": ["u", "v"] * 3,
            "n": [50, 60, 30, None, 80, 64],
        }
    )
    assert sf.check_output(square).status == "fail"


# Marks


def test_the_first_and_last_step_of_a_roc_curve():
    assert (
        sf.check_output(
            pl.DataFrame({"fpr": [0.01, 1.0], "tpr": [0.01, 1.0]}), counts=(100, 100)
        ).status
        == "fail"
    )
    last = sf.check_output(
        pl.DataFrame({"fpr": [0.0, 0.5, 0.99], "tpr": [0.0, 0.7, 0.99]}), counts=(100, 100)
    )
    assert last.status == "fail"
    assert rules_of(sf.check_output(last.suggestion, counts=(100, 100))) == {"records"}


def test_points_of_a_roc_curve_of_the_records():
    draw = np.random.default_rng(5)
    some = pl.DataFrame({"ill": draw.integers(0, 2, 200), "score": draw.integers(0, 10, 200)})
    ill, score = some["ill"].to_numpy(), some["score"].to_numpy()
    points = [(score[ill == side] >= cut).mean() for side in (0, 1) for cut in (10, 7, 4, 0)]
    curve = pl.DataFrame({"fpr": points[:4], "tpr": points[4:]})
    said = {"column": "ill", "features": ["score"]}
    assert sf.check_output(curve, some, **said).passes
    assert sf.check_output(curve.with_columns(pl.all().round(3)), some, **said).passes
    assert rules_of(sf.check_output(curve, some, column="ill")) == {"records"}
    assert rules_of(sf.check_output(curve.with_columns(tpr=pl.col("tpr") ** 2), some, **said)) == {
        "recomputed"
    }
    told = (int(ill.sum()), int(200 - ill.sum()))
    assert sf.check_output(curve, some, counts=told, **said).passes
    assert rules_of(sf.check_output(curve, some, counts=(5000, 5000), **said)) == {"counts"}
    with pytest.raises(sf.errors.ParameterError, match="yes and no"):
        sf.check_output(curve, some, column="score")


def test_censored_persons_follow_from_those_at_risk():
    curve = pl.DataFrame({"time": [1, 2], "events": [12, 12], "at_risk": [100, 87]})
    assert sf.check_output(curve).status == "fail"
    for left in (88, 70):  # enough, and nobody confirms them
        assert rules_of(sf.check_output(curve.with_columns(at_risk=pl.Series([100, left])))) == {
            "records"
        }


def test_steps_are_counted_again():
    lives = pl.DataFrame(
        {
            "who": np.arange(100),
            "days": [1] * 30 + [2] * 30 + [3] * 40,
            "died": [1] * 15 + [0] * 15 + [1] * 70,
        }
    )
    curve = pl.DataFrame({"time": [1, 2, 3], "events": [15, 30, 40], "at_risk": [100, 70, 40]})
    said = {"features": ["days", "died"]}
    assert sf.check_output(curve, lives, **said).passes
    other = curve.with_columns(events=pl.Series([15, 30, 39]))
    assert "recomputed" in rules_of(sf.check_output(other, lives, **said))
    same = lives.with_columns(who=pl.col("who") % 7)
    assert rules_of(sf.check_output(curve, same, unit="who", **said)) == {"marks"}
    kept = SimpleNamespace(
        event_table=curve,
        durations=lives["days"].to_numpy(),
        event_observed=lives["died"].to_numpy(),
    )
    assert sf.check_output(kept, lives).passes
    assert rules_of(sf.check_output(kept)) == {
        "records"
    }  # whether they are those of anybody is not known
    moved = SimpleNamespace(
        event_table=curve.with_columns(pl.col("time") + 57.31),
        durations=kept.durations + 57.31,
        event_observed=kept.event_observed,
    )
    assert rules_of(sf.check_output(moved, lives)) == {"records"}
    kept.event_observed = 1 - kept.event_observed
    assert "recomputed" in rules_of(sf.check_output(kept, lives))
    with pytest.raises(sf.errors.ParameterError, match="the duration"):
        sf.check_output(curve, lives, features=["days"])


def test_a_survival_that_is_another_number():
    curve = pl.DataFrame(
        {"time": [1, 2], "events": [12, 12], "at_risk": [100, 88], "survival": [0.88, 0.76]}
    )
    assert rules_of(sf.check_output(curve)) == {"records"}
    other = curve.with_columns(survival=pl.Series([0.12, 0.99]))
    assert rules_of(sf.check_output(other)) == {"records", "recomputed"}


def test_bars_and_edges_are_of_persons(people):
    values = np.r_[np.full(12, 100.0), np.linspace(1, 90, 100)]
    some = pl.DataFrame({"p": np.r_[np.zeros(12, dtype=int), np.arange(1, 101)], "x": values})
    edge = sf.check_output(([55, 57], [0, 50, 100]), some, kind="histogram", column="x", unit="p")
    assert "extreme" in rules_of(edge)
    other = sf.check_output(
        ([4711, 1234], [0, 50, 101]), some, kind="histogram", column="x", unit="p"
    )
    assert rules_of(other) == {"recomputed"}
    counts, edges = np.histogram(values, [0.0, 50.0, 101.0])
    assert sf.check_output((counts, edges), some, kind="histogram", column="x", unit="p").passes


def test_a_tree_of_numbers_that_are_none():
    tree = SimpleNamespace(
        tree_=SimpleNamespace(children_left=[1, -1, -1], n_node_samples=[30, float("nan"), 15])
    )
    assert sf.check_output(tree).status == "review"


def test_correlations_of_other_records_or_with_a_note(people):
    names = ["age", "cost", "score"]
    told = people.select(names).corr()
    assert sf.check_output(told, people).passes
    assert sf.check_output(told.with_columns(pl.all().round(2)), people).passes
    ranks = people.select(pl.col(names).rank()).corr()
    assert sf.check_output(ranks, people).passes
    assert rules_of(sf.check_output(people.head(5).select(names).corr(), people)) == {"recomputed"}
    assert sf.check_output(told.with_columns(column=pl.Series(names)), people).passes
    assert (
        sf.check_output(told.with_columns(note=pl.Series(["Ada", "Bo", "Cy"])), people).status
        == "review"
    )


def test_a_table_of_sums_is_protected_by_rules_about_contributions():
    firms = pl.DataFrame(
        {"r": ["a"] * 30 + ["b"] * 30 + ["c"] * 40, "x": [1e6, *np.arange(1.0, 100.0)]}
    )
    table = sf.tabulate(firms, ["r"], "sum(x)")
    by_number = table.sensitive(sf.Threshold(10)).protect("exact")
    assert rules_of(sf.check_output(by_number)) == {"contributions"}
    whole = table.sensitive(sf.Threshold(10), sf.Dominance(2, 90), sf.PPercent(10)).protect(
        "exact", options=sf.ProtectOptions(zeros="free")
    )
    assert sf.check_output(whole).passes


# Models


def model(design, answer, **more):
    params = np.linalg.lstsq(design, answer, rcond=None)[0]
    names = [f"v{number}" for number in range(design.shape[1])]
    held = SimpleNamespace(exog=design, endog=answer, exog_names=names)
    left = len(design) - design.shape[1]
    return SimpleNamespace(
        **{"params": params, "nobs": len(design), "df_resid": left, "model": held, **more}
    )


@pytest.mark.parametrize(
    ("persons", "status"), [(1, "fail"), (2, "fail"), (3, "review"), (9, "review"), (60, "pass")]
)
@pytest.mark.parametrize("way", ["jitter", "added"])
def test_a_term_for_few_persons_however_it_is_coded(people, persons, status, way):
    draw = np.random.default_rng(persons)
    age, answer = people["age"].to_numpy().astype(float), people["cost"].to_numpy()
    dummy = (np.arange(COUNT) < persons).astype(float)
    columns = {
        "jitter": [dummy + 1e-3 * draw.normal(size=COUNT)],
        "added": [age + 100 * dummy],
    }[way]
    design = np.column_stack([np.ones(COUNT), age, *columns])
    assert (
        check(model(design, answer)).status == status
    )  # with the records that have it as a column
    found = sf.check_output(
        model(design, answer), people
    ).status  # such a column is none of the records
    assert found == ("fail" if status == "fail" else "review")


def test_more_coefficients_than_columns(people):
    design = np.column_stack([np.ones(COUNT), people["age"].to_numpy()])
    answer = people["cost"].to_numpy()
    assert sf.check_output(model(design, answer), people).passes
    assert (
        sf.check_output(model(design, answer, params=np.array([1.0, 2.0, 3.0])), people).status
        == "review"
    )
    lines = SimpleNamespace(coef_=np.ones((3, 4)), intercept_=np.ones(3))
    assert sf.check_output(lines, people, counts=COUNT, features=["age", "cost"]).status == "review"


# One after the other


@pytest.fixture
def rows(people):
    return people.with_columns(who=pl.int_range(pl.len()))


def means(frame):
    return frame.group_by("region").agg(pl.col("cost").mean().alias("cost_mean")).sort("region")


@pytest.mark.parametrize("value", [0.0, None])
def test_a_value_changed_for_few_persons(rows, tmp_path, value):
    changed = rows.with_columns(
        cost=pl.when(pl.col("who") == 0).then(value).otherwise(pl.col("cost"))
    )
    banded = rows.with_columns(age=pl.col("age") // 10)
    with sf.output_session(tmp_path / "s", rows, unit="who") as session:
        assert session.add(means(rows), "One").passes
        assert session.add(means(changed), "Two", data=changed).status == (
            "fail" if value is None else "review"
        )
        assert session.add(means(banded), "Three", data=banded).passes


def test_the_only_cell_left_out_follows_from_any_other_table(rows, tmp_path):
    island = rows.with_columns(
        region=pl.when(pl.col("who") < 4).then(pl.lit("i")).otherwise(pl.col("region")),
        half=pl.col("who") % 2 == 0,
    )
    with sf.output_session(tmp_path / "s", island, unit="who") as session:
        assert session.count(["region"]).passes
        with pytest.raises(sf.errors.ReleaseRefused, match="fewer than 10 persons"):
            session.count(["half"])
    with sf.output_session(tmp_path / "t", island, unit="who") as session:
        assert session.count(["half"]).passes
        with pytest.raises(sf.errors.ReleaseRefused, match="fewer than 10 persons"):
            session.count(["region"])


def test_persons_are_told_apart_as_they_were_when_a_session_goes_on(rows, tmp_path):
    with sf.output_session(tmp_path / "s", rows, unit="who"):
        pass
    assert sf.output_session(tmp_path / "s", rows).records.unit == "who"
    with pytest.raises(sf.errors.ParameterError, match="another column"):
        sf.output_session(tmp_path / "s", rows, unit="region")
