"""Tables that researchers grouped themselves: goldens of section 18, naive counts, and what nobody
knows.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError

LOOSE = {"threshold": 2, "share": 100.0, "dominant": 1}


def rules_of(verdict, status="fail"):
    return {one.rule for one in verdict.reasons if one.status == status}


def people_of(contributions):
    """Persons of two cells: the ones that are judged, and thirty who are always safe."""
    safe = [10.0 + i % 5 for i in range(30)]
    cells = ["judged"] * len(contributions) + ["safe"] * len(safe)
    return pl.DataFrame({"cell": cells, "x": [*map(float, contributions), *safe]})


# Goldens of 18.2: contributions → what the rules (1, 75 %), p 10 % and (2, 85 %) find.
GOLDENS = {
    "(90,6,3,1)": (
        (90, 6, 3, 1),
        {"dominance", "p_percent"},
        {"dominant": 1, "share": 75.0, "p": 10.0},
    ),
    "(600,350,40,10)": (
        (600, 350, 40, 10),
        {"p_percent"},
        {"dominant": 1, "share": 75.0, "p": 10.0},
    ),
    "(500,480,20)": ((500, 480, 20), {"p_percent"}, {"dominant": 1, "share": 75.0, "p": 10.0}),
    "(50,30,10,5,5)": ((50, 30, 10, 5, 5), set(), {"dominant": 1, "share": 75.0, "p": 10.0}),
    "(60,30,5,3,2)": ((60, 30, 5, 3, 2), {"dominance"}, {"dominant": 2, "share": 85.0, "p": 10.0}),
}


@pytest.mark.parametrize("statistic", ["mean", "sum", "sd"])
@pytest.mark.parametrize(("contributions", "broken", "said"), GOLDENS.values(), ids=GOLDENS.keys())
def test_magnitude_goldens(contributions, broken, said, statistic):
    people = people_of(contributions)
    how = {"mean": pl.col("x").mean(), "sum": pl.col("x").sum(), "sd": pl.col("x").std()}[statistic]
    table = people.group_by("cell").agg(how.alias("x"))
    verdict = sf.check_output(table, people, rules=sf.OutputRules(threshold=3, **said))
    assert rules_of(verdict) == broken
    assert verdict.tells == (f"{statistic}(x)",)


def test_threshold_counts_persons_and_not_rows():
    visits = pl.DataFrame({"who": [1, 1, 2, 2, 3, 3] * 2, "ward": ["a"] * 6 + ["b"] * 6})
    table = visits.group_by("ward").len("n")
    rules = sf.OutputRules(threshold=5)
    assert sf.check_output(table, visits, rules=rules).passes
    assert rules_of(sf.check_output(table, visits, unit="who", rules=rules)) == {"threshold"}


def test_weights_do_not_count_persons():
    people = pl.DataFrame(
        {
            "ward": ["a"] * 4 + ["b"] * 20,
            "w": [100.0] * 4 + [1.0] * 20,
            "x": [float(i) for i in range(1, 25)],
        }
    )
    table = people.group_by("ward").agg((pl.col("x") * pl.col("w")).sum() / pl.col("w").sum())
    verdict = sf.check_output(table, people, weight="w", tells={"x": "mean(x)"})
    assert "threshold" in rules_of(verdict)
    assert not rules_of(verdict, "review")


def test_zeros_are_disclosive_also_when_they_are_left_out():
    people = pl.DataFrame({"a": ["x"] * 30 + ["y"] * 30, "b": (["u", "v"] * 15) + ["u"] * 30})
    table = people.group_by("a", "b").len("n")
    assert rules_of(sf.check_output(table, people)) == {"zeros"}
    assert sf.check_output(table, people, rules=sf.OutputRules(zeros=False)).passes
    # a combination that is left out and held by somebody hides the empty one
    some = people.vstack(pl.DataFrame({"a": ["z"], "b": ["v"]}))
    rest = table.vstack(pl.DataFrame({"a": ["z"], "b": ["u"], "n": [0]}, schema=table.schema))
    assert rules_of(sf.check_output(rest, some)) == {"threshold"}


def test_all_equal_and_nothing_at_all():
    people = pl.DataFrame(
        {
            "g": ["a"] * 20 + ["b"] * 20 + ["c"] * 20,
            "x": [5.0] * 20 + [0.0] * 20 + [float(i) for i in range(20)],
        }
    )
    table = people.group_by("g").agg(pl.col("x").mean())
    both = sf.check_output(
        table, people
    )  # here the mean is the median too, and nobody says which is meant
    assert both.tells == ("median(x)", "mean(x)")
    assert rules_of(both) >= {"all_equal", "exact"}
    verdict = sf.check_output(table, people, tells="mean")
    assert rules_of(verdict) >= {"all_equal", "dominance"}
    assert verdict.suggestion is not None
    assert verdict.suggestion.filter(pl.col("x").is_not_null())["g"].to_list() == ["c"]
    again = sf.check_output(verdict.suggestion, people, tells="mean")
    assert again.passes
    assert again.hidden == 2


def test_shares_look_at_both_sides():
    people = pl.DataFrame(
        {
            "g": ["a"] * 40 + ["b"] * 40,
            "yes": [True] * 20 + [False] * 20 + [True] * 37 + [False] * 3,
        }
    )
    verdict = sf.check_output(people.group_by("g").agg(pl.col("yes").mean()), people)
    assert rules_of(verdict) == {"share"}
    assert "1 of 2 cells" in next(one.sentence for one in verdict.reasons if one.rule == "share")


def test_percentages_look_at_numerator_denominator_and_complement():
    people = pl.DataFrame(
        {"g": ["a"] * 50 + ["b"] * 50, "d": ["u"] * 45 + ["v"] * 5 + ["u"] * 25 + ["v"] * 25}
    )
    table = (
        people.group_by("g", "d")
        .len("n")
        .with_columns((100 * pl.col("n") / pl.col("n").sum().over("g")).alias("pct"))
        .drop("n")
    )
    verdict = sf.check_output(table, people)
    assert verdict.tells == ("percent(g)",)
    assert rules_of(verdict) == {"threshold", "share"}
    assert "2 of 4 cells" in next(
        one.sentence for one in verdict.reasons if one.rule == "share"
    )  # 5 of 50, and its complement


def test_the_whole_is_a_hundred_percent_and_tells_nothing():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"g": ["a", "b"] * 40, "s": ["u", "u", "v", "v"] * 20})
    for how in ("all", "index", "columns"):
        assert sf.check_output(
            pd.crosstab(frame.g, frame.s, margins=True, normalize=how), frame
        ).passes
    one = frame.assign(s="u")  # everybody is of one kind: that is told of both groups
    assert rules_of(sf.check_output(pd.crosstab(one.g, one.s, normalize="index"), one)) == {"share"}


@pytest.mark.parametrize(("sharing", "status"), [(9, "fail"), (10, "pass")])
def test_ten_persons_are_enough_to_share_a_value(sharing, status):
    people = pl.DataFrame({"x": [99.0] * sharing + [float(i % 40) for i in range(80)]})
    assert sf.check_output(99.0, people, tells="max(x)").status == status
    assert sf.check_output(99.0, people, tells="mode(x)").status == status


@pytest.mark.parametrize("statistic", ["min", "max"])
def test_extremes_are_refused_unless_enough_share_them(statistic):
    people = pl.DataFrame(
        {"g": ["a"] * 30 + ["b"] * 30, "x": [1.0] * 15 + [9.0] * 15 + [float(i) for i in range(30)]}
    )
    table = people.group_by("g").agg(getattr(pl.col("x"), statistic)())
    verdict = sf.check_output(table, people)
    assert rules_of(verdict) == {"extreme"}
    assert "1 of 2 cells" in next(one.sentence for one in verdict.reasons if one.rule == "extreme")
    assert rules_of(sf.check_output(table, counts=[30, 30], tells=statistic)) == {"extreme"}


def test_percentiles_leave_enough_persons_in_every_band():
    # 40 values 1 … 40: quartiles 10.75, 20.5, 30.25 leave ten in every band; the 10th percentile,
    # 4.9, only four below
    people = pl.DataFrame({"g": ["a"] * 40, "x": [float(i) for i in range(1, 41)]})
    quarters = pl.DataFrame({"g": ["a"], "p25": [10.75], "p50": [20.5], "p75": [30.25]})
    tells = {"p25": "quantile(x, 0.25)", "p50": "median(x)", "p75": "quantile(x, 0.75)"}
    assert rules_of(sf.check_output(quarters, people, by=["g"], tells=tells)) == {"exact"}
    rounded = pl.DataFrame({"g": ["a"], "p25": [10.0], "p50": [20.0], "p75": [30.0]})
    assert sf.check_output(rounded, people, by=["g"], tells=tells, rules=sf.OutputRules()).passes
    tail = pl.DataFrame({"g": ["a"], "p10": [4.9]})
    assert rules_of(sf.check_output(tail, people, by=["g"], tells={"p10": "quantile(x, 0.1)"})) == {
        "bands"
    }


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("uv"), st.integers(0, 9), st.integers(0, 8)
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(2, 6),
)
def test_threshold_like_counting_by_hand(rows, t):
    people = pl.DataFrame(rows, schema=["a", "b", "who", "x"], orient="row")
    table = people.group_by("a", "b").agg(pl.len().alias("rows"))
    verdict = sf.check_output(
        table,
        people,
        unit="who",
        by=["a", "b"],
        tells={"rows": "rows"},
        rules=sf.OutputRules(threshold=t, zeros=False),
    )
    held: dict[tuple[str, str], set[int]] = {}
    for a, b, who, _ in rows:
        held.setdefault((a, b), set()).add(who)
    assert ("threshold" in rules_of(verdict)) == any(len(one) < t for one in held.values())


def test_margins_and_cells_that_are_left_out():
    people = pl.DataFrame({"g": ["a"] * 3 + ["b"] * 30 + ["c"] * 30})
    table = pl.DataFrame({"g": ["a", "b", "c", "All"], "n": [None, 30, 30, 63]})
    assert rules_of(sf.check_output(table, people)) == {"margins"}
    two = pl.DataFrame({"g": ["a", "b", "c", "All"], "n": [None, None, 30, 63]})
    verdict = sf.check_output(two, people)
    assert verdict.status == "review"
    assert rules_of(verdict, "review") == {"margins"}
    assert sf.check_output(table.head(3), people).passes
    absent = sf.check_output(
        table.filter(pl.col("g") != "a"), people
    )  # a row that is not there is left out too
    assert rules_of(absent) == {"margins"}
    assert sf.check_output(table.filter(pl.col("g").is_in(["b", "c"])), people).hidden == 1
    wide = people.with_columns(s=pl.Series(["u", "v", "u"] + ["u", "v"] * 30))
    full = pl.DataFrame(
        {
            "g": ["b", "b", "b", "c", "c", "c", "All", "All", "All"],
            "s": ["u", "v", "All"] * 3,
            "n": [15, 15, 30, 15, 15, 30, 32, 31, 63],
        }
    )
    assert rules_of(sf.check_output(full, wide)) == {"margins"}
    assert (
        rules_of(sf.check_output(full.head(6), wide)) == set()
    )  # margins along s only, and no cell of s is left out


def test_what_is_told_is_computed_again():
    people = pl.DataFrame({"g": ["a", "b"] * 20, "x": [float(i) for i in range(40)]})
    table = people.group_by("g").agg(pl.col("x").mean().alias("mean"))
    other = people.with_columns(pl.col("x") * 3)
    verdict = sf.check_output(table, other, tells={"mean": "mean(x)"})
    assert verdict.status == "review"
    assert rules_of(verdict, "review") == {"recomputed"}
    assert sf.check_output(
        table.with_columns(pl.col("mean").round(0)), people, tells={"mean": "mean(x)"}
    ).passes
    assert sf.check_output(table.rename({"mean": "score"}), people).status == "review"


def test_what_people_mean_by_a_statistic():
    people = pl.DataFrame(
        {
            "g": ["a", "b"] * 20,
            "x": [float(i % 13) for i in range(40)],
            "yes": [i % 3 == 0 for i in range(40)],
        }
    )
    groups = people.group_by("g")
    for how, tells in [
        (pl.col("x").std(ddof=0), "sd(x)"),
        (pl.col("x").var(ddof=0), "var(x)"),
        (pl.col("x").quantile(0.3, "lower"), "quantile(x, 0.3)"),
        (pl.col("x").quantile(0.3, "higher"), "quantile(x, 0.3)"),
        (100 * pl.col("yes").mean(), "share(yes)"),
    ]:
        verdict = sf.check_output(groups.agg(how.alias("told")), people, tells={"told": tells})
        assert "recomputed" not in rules_of(verdict, "review")
        other = sf.check_output(
            groups.agg((1 + 2 * how).alias("told")), people, tells={"told": tells}
        )
        assert "recomputed" in rules_of(other, "review")


def test_labels_that_the_data_do_not_have():
    people = pl.DataFrame({"g": ["a", "b"] * 20})
    table = pl.DataFrame({"g": ["a", "b", "other"], "n": [20, 20, 12]})
    assert rules_of(sf.check_output(table, people), "review") == {"labels"}


def test_where_chooses_the_records():
    people = pl.DataFrame({"g": ["a", "b"] * 20, "age": list(range(40))})
    old = people.filter(pl.col("age") >= 20)
    table = old.group_by("g").len("n")
    assert sf.check_output(table, people, where=pl.col("age") >= 20, tells={"n": "count"}).passes
    assert sf.check_output(table, people, where=np.arange(40) >= 20, tells={"n": "count"}).passes
    assert sf.check_output(table, people, tells={"n": "count"}).status == "review"
    with pytest.raises(ParameterError, match="true or false for each"):
        sf.check_output(table, people, where=[True])
    with pytest.raises(ParameterError, match="does not match"):
        sf.check_output(table, people, where=pl.col("nothing") > 1)


def test_bad_words_are_named():
    people = pl.DataFrame({"g": ["a"] * 20, "x": list(range(20))})
    table = pl.DataFrame({"g": ["a"], "x": [9.5]})
    for said, error, words in [
        ({"by": ["G"]}, SchemaError, "no column 'G'"),
        ({"by": "g"}, ParameterError, "list of columns"),
        ({"tells": {"x": "meen(x)"}}, ParameterError, "shows one of"),
        ({"tells": {"y": "mean(x)"}}, ParameterError, "no column 'y'"),
        ({"tells": {"x": "mean(y)"}}, SchemaError, "no column 'y'"),
        ({"tells": {"x": "quantile(x, 2)"}}, ParameterError, "between 0 and 1"),
        ({"kind": "tabel"}, ParameterError, "kind of output 'tabel' does not exist"),
        ({"rules": 10}, ParameterError, "OutputRules"),
        ({"unit": "person"}, SchemaError, "person"),
    ]:
        with pytest.raises(error, match=words):
            sf.check_output(table, people, **said)
    with pytest.raises(ParameterError, match="give data"):
        sf.check_output(table, unit="g")
    with pytest.raises(ParameterError, match="collect"):
        sf.check_output(table.lazy(), people)
    with pytest.raises(SchemaError, match="missing in some rows"):
        sf.check_output(table, people.with_columns(who=pl.lit(None, dtype=pl.Int64)), unit="who")
    with pytest.raises(ParameterError, match="greater than or equal to 2"):
        sf.OutputRules(threshold=1)


def test_no_message_holds_a_value():
    secret = "Aurelia-4711"
    people = pl.DataFrame(
        {"name": [secret] + ["b"] * 30, "x": [123456.0] + [float(i) for i in range(30)]}
    )
    outputs = [
        people.group_by("name").agg(
            pl.col("x").mean(), pl.col("x").max().alias("x_max"), pl.len().alias("n")
        ),
        pl.DataFrame({secret: [1.0], "b": [2.0]}),
        people,
        pl.DataFrame({"name": [secret, "somebody else"], "n": [1, 2]}),
    ]
    for output in outputs:
        for data in (people, None):
            text = repr(sf.check_output(output, data)) + str(
                sf.check_output(output, data).to_dict()
            )
            assert secret not in text
            assert "123456" not in text
            assert "somebody else" not in text


def test_per_record_figures_are_refused():
    people = pl.DataFrame({"x": [float(i) for i in range(30)]})
    assert sf.check_output(people["x"].to_numpy() - 3, people).status == "fail"
    assert "per record" in rules_of(sf.check_output(pl.DataFrame({"resid": [1.0, 2.0]})))
    assert "per record" in rules_of(
        sf.check_output(pl.DataFrame({"x": people["x"], "cooks_d": people["x"]}), people)
    )
    assert sf.check_output([1.0, 2.0], kind="residuals").status == "fail"


@pytest.mark.parametrize(
    "output",
    [None, "a text", b"bytes", {"mean": 3}, (1, 2), [1.0, 2.0], 3.2, object(), np.eye(3), True],
)
def test_what_is_not_known_is_for_review(output):
    people = pl.DataFrame({"x": [float(i) for i in range(30)]})
    for data in (None, people):
        verdict = sf.check_output(output, data)
        assert verdict.status == "review"
        assert verdict.next_steps


def test_rows_of_the_data_are_no_result():
    people = pl.DataFrame({"g": ["a", "b"] * 30, "id": [f"p{i}" for i in range(60)]})
    for output in (people, people.head(5), people.select("id")):
        assert rules_of(sf.check_output(output, people)) == {"per record"}
    assert sf.check_output(people.select("g").unique(), people).status == "review"


def test_names_of_statistics_without_a_column():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "g": draw.choice(["a", "b"], 400),
            "x": draw.lognormal(1, 0.5, 400).round(3),
            "y": draw.normal(size=400),
        }
    )
    described = sf.check_output(frame.groupby("g")["x"].describe(), frame)
    assert described.tells[1:] == (
        "mean(x)",
        "sd(x)",
        "min(x)",
        "quantile(x, 0.25)",
        "quantile(x, 0.5)",
        "quantile(x, 0.75)",
        "max(x)",
    )
    assert rules_of(described) == {"extreme", "exact"}
    assert sf.check_output(frame.groupby("g")["y"].agg(["mean", "std"]), frame).tells == (
        "mean(y)",
        "sd(y)",
    )
    assert sf.check_output(frame.g.value_counts(normalize=True), frame).passes
    assert sf.check_output(
        pd.crosstab(frame.g, frame.x > 2.5, normalize="all").stack().rename("share").reset_index(),
        frame.assign(x=frame.x > 2.5),
    ).tells == ("percent",)


@pytest.mark.parametrize(
    ("common", "rest", "broken"),
    [
        (30, 10, set()),
        (10, 9 * 5, set()),
        (9, 8 * 5, {"extreme", "share"}),
        (31, 9, {"share"}),
        (40, 0, {"share", "all_equal"}),
    ],
)
def test_descriptions_of_text(common, rest, broken):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    others = [f"v{place % (5 if rest > 10 else 1)}" for place in range(rest)]
    frame = pd.DataFrame({"t": ["top"] * common + others, "x": np.arange(common + rest) % 7 + 1.0})
    for told in (
        frame[["t"]].describe(),
        frame["t"].describe(),
        frame.describe(include="all")[["t"]],
    ):
        verdict = sf.check_output(told, frame)
        assert rules_of(verdict) == broken
        assert verdict.passes == (not broken)
        assert sf.check_output(told).status == ("fail" if common < 10 else "review")
    grouped = frame.assign(g="a").groupby("g")["t"].describe()
    assert rules_of(sf.check_output(grouped, frame.assign(g="a"))) == broken
    wrong = frame[["t"]].describe()
    wrong.loc["freq", "t"] = common + 3
    assert "recomputed" in rules_of(sf.check_output(wrong, frame), "review")
    everything = frame.describe(include="all")
    assert (
        sf.check_output(everything, frame).status == "fail"
    )  # the lowest and highest number of few


def test_descriptions_by_polars():
    people = pl.DataFrame(
        {"t": ["a"] * 20 + ["b"] * 20, "name": [f"p{place:02d}" for place in range(40)]}
    )
    verdict = sf.check_output(people.select("t").describe(), people)
    assert not rules_of(verdict)
    assert rules_of(verdict, "review") == {
        "columns"
    }  # how many are missing is told of nobody by name
    assert rules_of(sf.check_output(people.describe(), people)) == {"extreme"}
    assert (
        sf.check_output(people["name"].describe(), people).status == "review"
    )  # of which column, it does not say


def test_counts_beside_records_must_be_theirs():
    people = pl.DataFrame(
        {"g": ["a"] * 30 + ["b"] * 4, "x": [float(place % 5 + 1) for place in range(34)]}
    )
    table = people.group_by("g").agg(pl.col("x").mean()).sort("g").head(1)
    assert sf.check_output(table, people, tells="mean", counts=[30]).passes
    assert sf.check_output(table, people, tells="mean", counts=34).passes  # all of them
    assert rules_of(sf.check_output(table, people, tells="mean", counts=[31])) == {"counts"}
    with_n = table.with_columns(n=pl.lit(300))
    assert rules_of(sf.check_output(with_n, people, tells={"x": "mean(x)"}, counts="n")) == {
        "counts"
    }


def test_one_number_can_be_judged_when_it_is_said():
    people = pl.DataFrame({"x": [float(i) for i in range(30)]})
    assert sf.check_output(people["x"].mean(), people, tells="mean(x)").passes
    assert sf.check_output(people["x"].max(), people, tells="max(x)").status == "fail"


def test_pandas_and_arrow_tables():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    draw = np.random.default_rng(3)
    people = pl.DataFrame(
        {
            "g": draw.choice(["a", "b"], 400),
            "s": draw.choice(["u", "v"], 400),
            "x": draw.lognormal(1, 0.5, 400).round(3),
        }
    )
    frame = people.to_pandas()
    assert sf.check_output(
        frame.groupby(["g", "s"])["x"].agg(["mean", "count"]), frame, tells={"mean": "mean(x)"}
    ).passes
    nested = sf.check_output(frame.groupby("g")[["x"]].agg(["mean", "sum"]), frame)
    assert nested.tells == ("mean(x)", "sum(x)")
    assert nested.passes
    cross = sf.check_output(pd.crosstab(frame.g, frame.s, margins=True), frame)
    assert (cross.by, cross.tells, cross.status) == (("g", "s"), ("count",), "pass")
    assert sf.check_output(frame.g.value_counts(), frame).passes
    assert rules_of(sf.check_output(frame.describe(), frame)) >= {"extreme"}
    assert sf.check_output(people.group_by("g").len("n").to_arrow(), people.to_arrow()).passes
    flat = pd.crosstab(frame.g, frame.s)
    assert sf.check_output(
        flat.reset_index().rename_axis(columns=None), frame
    ).passes  # columns are values of one column
    assert sf.check_output(flat.reset_index().rename_axis(columns=None), frame, across="s").passes


def test_our_own_tables():
    draw = np.random.default_rng(5)
    people = pl.DataFrame(
        {
            "g": draw.choice(["a", "b", "c"], 90, p=[0.6, 0.35, 0.05]),
            "s": draw.choice(["u", "v"], 90),
        }
    )
    table = sf.tabulate(people, ["g", "s"])
    assert sf.check_output(table).status == "fail"
    assert sf.check_output(table.protect([sf.Threshold(10)])).passes
    assert sf.check_output(table.protect([sf.Threshold(3)])).status == "fail"


def test_years_make_cells_and_ages_are_told():
    people = pl.DataFrame({"year": [2019, 2020] * 40, "age": [20 + i % 40 for i in range(80)]})
    table = people.group_by("year").agg(pl.col("age").max())
    verdict = sf.check_output(table, people)
    assert verdict.by == ("year",)
    assert verdict.tells == ("max(age)",)
    assert rules_of(verdict) == {"extreme"}


def test_a_huge_frame_is_no_result():
    with pytest.raises(SchemaError, match="too many for a table of results"):
        sf.check_output(pl.DataFrame({"x": np.zeros(2_000_001)}))


def test_a_gap_that_shows_how_few_there_are():
    people = pl.DataFrame(
        {
            "region": ["north"] * 40 + ["south"] * 60 + ["island"],
            "cost": [float(i % 17) for i in range(101)],
        }
    )
    spread = people.group_by("region").agg(pl.col("cost").std()).sort("region")
    assert spread["cost"].null_count() == 1  # one record has no standard deviation
    verdict = sf.check_output(spread, people, tells={"cost": "sd(cost)"})
    assert rules_of(verdict) == {"threshold"}
    assert sf.check_output(verdict.suggestion, people, tells={"cost": "sd(cost)"}).status == "pass"

    # A cell that was left out although it has a number hides why the others are empty.
    hidden = spread.with_columns(
        pl.when(pl.col("region") == "south").then(None).otherwise(pl.col("cost")).alias("cost")
    )
    assert sf.check_output(hidden, people, tells={"cost": "sd(cost)"}).status == "pass"
