"""Outputs of a weekly routine as people write them: they are recognised, and what cannot be judged
says what to give instead.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ReleaseRefused

pd = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture(scope="module")
def visits():
    draw = np.random.default_rng(11)
    count = 3000
    return pd.DataFrame(
        {
            "who": np.arange(count) // 3,
            "site": draw.choice(["north", "south", "east"], count),
            "sex": draw.choice(["f", "m"], count),
            "month": draw.integers(1, 13, count),
            "cost": draw.lognormal(3, 0.6, count).round(2),
            "days": np.where(draw.random(count) < 0.1, np.nan, draw.integers(1, 60, count)),
        }
    )


def test_counts_of_rows_are_compared_with_rows_and_judged_by_persons(visits):
    verdict = sf.check_output(visits[["cost"]].describe(), visits, unit="who")
    assert not [one for one in verdict.reasons if one.rule == "recomputed"]
    counted = visits.groupby("site").agg({"days": ["mean", "count"]})
    assert sf.check_output(counted, visits, unit="who").tells == ("mean(days)", "count(days)")
    forged = counted.copy()
    forged.iloc[0, 1] += 1
    assert not sf.check_output(forged, visits, unit="who").passes
    few = pd.DataFrame({"who": [1] * 30 + list(range(2, 40)), "site": ["a"] * 30 + ["b"] * 38})
    assert (
        sf.check_output(few.site.value_counts(), few, unit="who").status == "fail"
    )  # thirty rows of one person


def test_percentiles_in_rows(visits):
    for output in (
        visits.groupby("site").cost.quantile([0.25, 0.5]),
        visits.cost.quantile([0.25, 0.5]),
    ):
        exact = sf.check_output(output, visits)
        assert exact.tells == ("quantile(cost, 0.25)", "quantile(cost, 0.5)")
        assert [one.rule for one in exact.reasons if one.status == "fail"] == ["exact"]
        assert sf.check_output(output.round(0), visits).passes
    ends = sf.check_output(visits.groupby("site").cost.quantile([0, 1]), visits)
    assert ends.tells == ("min(cost)", "max(cost)")
    assert ends.status == "fail"


def test_names_of_ones_own(visits):
    made = visits.groupby(["site", "sex"]).agg(
        people=("who", "nunique"), m=("cost", "mean"), spread=("cost", "std")
    )
    verdict = sf.check_output(made, visits, unit="who")
    assert verdict.passes
    assert verdict.tells == ("count", "mean(cost)", "sd(cost)")
    forged = made.assign(m=made.m * 1.001)
    assert sf.check_output(forged, visits, unit="who").status == "review"
    highest = visits.groupby("site").agg(m=("cost", "max"))
    assert sf.check_output(highest, visits, unit="who").status == "fail"
    vague = pd.DataFrame({"site": ["north", "south"], "v": [1, 2]}).set_index("site")
    assert sf.check_output(vague, visits).status == "review"  # too few digits to say what they are


def test_pivot_tables(visits):
    one = visits.pivot_table(
        index="site", columns="sex", values="cost", aggfunc="mean", margins=True
    )
    assert sf.check_output(one, visits, unit="who").tells == ("mean(cost)",)
    assert sf.check_output(one, visits, unit="who", tells="mean").passes
    several = visits.pivot_table(
        index="site", columns="sex", values=["cost", "days"], aggfunc=["mean", "count"]
    )
    assert sf.check_output(several, visits, unit="who").passes
    theirs = pl.from_pandas(visits)
    wide = theirs.pivot("sex", index="site", values="cost", aggregate_function="mean")
    assert sf.check_output(wide, theirs, unit="who").tells == ("mean(cost)",)
    with pytest.raises(sf.errors.ParameterError, match="name the column"):
        sf.check_output(one * 1.1, visits, tells="mean")


@pytest.mark.parametrize("way", ["index", "columns", "all"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_shares_of_a_cross_table(visits, way, unit):
    table = pd.crosstab(visits.site, visits.sex, normalize=way)
    assert sf.check_output(table, visits, tells="share", unit=unit).passes
    assert sf.check_output(100 * table, visits, tells="percent", unit=unit).passes
    other = table.copy()
    other.iloc[0] = other.iloc[0].to_numpy()[::-1] + 0.01
    assert sf.check_output(other, visits, tells="share", unit=unit).status == "review"


def test_means_of_several_columns(visits):
    assert sf.check_output(visits[["cost", "days"]].mean(), visits).tells == (
        "mean(cost)",
        "mean(days)",
    )
    assert sf.check_output(visits[["cost", "days"]].max(), visits).status == "fail"


def test_columns_are_called_by_their_names_unless_these_are_values(visits):
    unknown = visits.groupby("site").agg(odd=("cost", lambda x: x.iloc[0] * 7))
    assert "'odd'" in repr(sf.check_output(unknown, visits))
    values = unknown.rename(columns={"odd": "north"})
    assert "'north'" not in repr(sf.check_output(values, visits))


LIVES = st.lists(
    st.tuples(st.integers(1, 12), st.booleans(), st.integers(0, 80)), min_size=50, max_size=120
)


@given(LIVES)
def test_a_curve_that_is_suggested_passes(lives):
    people = pl.DataFrame(
        {name: [one[at] for one in lives] for at, name in enumerate(("t", "e", "who"))},
        strict=False,
    ).with_columns(pl.col("e").cast(pl.Int64))
    times = sorted(set(people["t"]))
    table = pl.DataFrame(
        {
            "time": [0, *times],
            "events": [
                0,
                *(people.filter((pl.col("t") == one) & (pl.col("e") == 1)).height for one in times),
            ],
            "at_risk": [
                people.height,
                *(people.filter(pl.col("t") >= one).height for one in times),
            ],
        }
    )
    for unit in (None, "who"):
        made = sf.check_output(table, people, unit=unit, features=["t", "e"]).suggestion
        if made is not None:
            assert sf.check_output(made, people, unit=unit, features=["t", "e"]).passes


def test_means_by_time_are_no_curve():
    people = pl.DataFrame(
        {"time": [1, 2] * 50, "survival": [1, 0] * 20 + [1, 1] * 20 + [0, 0] * 10}
    )
    means = people.group_by("time").agg(pl.col("survival").mean()).sort("time")
    assert sf.check_output(means, people).kind == "table: mean"
    assert (
        sf.check_output(means, people.rename({"survival": "x"}), tells={"survival": "mean(x)"}).kind
        == "table: mean"
    )


def test_counts_of_a_session_beside_those_before(tmp_path):
    people = pl.DataFrame(
        {"site": ["a"] * 40 + ["b"] * 40, "plan": ["p"] * 20 + ["q"] * 20 + ["p"] * 37 + ["q"] * 3}
    )
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.count(by=["site"]).passes
        with pytest.raises(
            ReleaseRefused, match=r"output 1 are about fewer than 10 persons.*protect them together"
        ):
            session.count(by=["site", "plan"])  # the cell that is left out follows from the sites
        assert len(session) == 1


def test_numbers_stand_in_the_order_of_numbers(tmp_path):
    months = [f"{one}" for one in range(1, 13)]
    people = pl.DataFrame(
        {"month": [int(one) for one in months for _ in range(20)], "sex": ["f", "m"] * 120}
    )
    table = sf.tabulate(people, ["month", "sex"]).protect([sf.Threshold(3)])
    assert list(dict.fromkeys(table.to_polars()["month"])) == ["Total", *months]
    table.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").holds
