"""A session of outputs: what is written, what is noticed, and outputs beside each other."""

from __future__ import annotations

import contextlib
import json
import stat
import threading

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, ParameterError, ReleaseRefused, SchemaError, UnreadableInput
from sfumato.results.checking.contributing_records import ContributingRecords
from sfumato.results.checking.log import OUTPUT_LOG, OutputLog
from tests.core.forged_journals import chain_again


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(11)
    return pl.DataFrame(
        {
            "who": np.arange(600) // 2,
            "region": draw.choice(["n", "s", "e", "w"], 600, p=[0.4, 0.3, 0.29, 0.01]),
            "sex": draw.choice(["f", "m"], 600),
            "age": draw.integers(20, 80, 600),
            "cost": draw.lognormal(3, 0.8, 600).round(2),
        }
    )


def rules_of(verdict, status="fail"):
    return {one.rule for one in verdict.reasons if one.status == status}


def test_what_is_written(people, tmp_path):
    with sf.output_session(tmp_path / "out", people, unit="who", researcher="Ada") as session:
        verdict = session.add(
            people.group_by("sex").agg(pl.col("cost").mean()),
            "Mean cost, by sex",
            tells="mean",
            comment="table 1",
        )
    assert verdict.passes
    log = OutputLog.at(tmp_path / "out")
    one = log.reviewed(1)
    assert (one.logged.title, one.logged.file, one.logged.comment) == (
        "Mean cost, by sex",
        "001-mean-cost-by-sex.csv",
        "table 1",
    )
    assert (one.state, one.logged.status, log.terms.researcher) == ("undecided", "pass", "Ada")
    assert pl.read_csv(tmp_path / "out" / "files" / one.logged.file).columns == ["sex", "cost"]
    modes = {
        stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }
    assert modes == {0o600}
    assert {
        stat.S_IMODE(path.stat().st_mode)
        for path in [tmp_path / "out", *(tmp_path / "out").glob("*/")]
    } == {0o700}


def test_a_session_goes_on_with_its_rules(people, tmp_path):
    rules = sf.OutputRules(threshold=5)
    with sf.output_session(tmp_path / "out", people, rules=rules) as session:
        session.count(["sex"])
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.rules == rules
        session.mean("cost", by=["sex"])
        assert len(session) == 2
    with pytest.raises(ParameterError, match="other rules"):
        sf.output_session(tmp_path / "out", people, rules=sf.OutputRules(threshold=7))
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match="not empty"):
        sf.output_session(tmp_path / "else", people)


def test_outputs_that_are_safe_by_the_way_they_are_made(people, tmp_path):
    with sf.output_session(tmp_path / "out", people, unit="who") as session:
        verdict = session.mean("cost", by=["region"])
        assert verdict.passes
        assert verdict.shown.filter(pl.col("region") == "w").row(0) == ("w", None, None)
        shown = verdict.shown.filter(pl.col("region") == "n").row(0, named=True)
        here = people.filter(pl.col("region") == "n")
        assert shown["persons"] == here["who"].n_unique()
        assert shown["mean"] == pytest.approx(here["cost"].mean())
        quarters = session.quantiles("cost", [0.25, 0.5, 0.75], by=["sex"])
        assert quarters.passes
        for row in quarters.shown.iter_rows(named=True):
            exact = people.filter(pl.col("sex") == row["sex"])["cost"]
            assert row["p50"] == pytest.approx(exact.median(), rel=0.3)
        assert session.regression("cost", ["age", "sex"]).passes
        with pytest.raises(ReleaseRefused, match="fewer than 10 persons"):
            session.mean("cost", by=["who"])
        with pytest.raises(ParameterError, match="between 0 and 1"):
            session.quantiles("cost", [25])
        with pytest.raises(SchemaError, match="no column 'costs'"):
            session.mean("costs")
        assert [one.status for one in session.log.outputs] == ["pass"] * 3


def test_records_that_differ_by_few_persons(people, tmp_path):
    with sf.output_session(tmp_path / "out", people, unit="who") as session:
        session.mean("cost", by=["sex"])
        table = people.filter(pl.col("who") > 2).group_by("sex").agg(pl.col("cost").mean())
        for said in (
            {"where": pl.col("who") > 2},
            {"data": people.filter(pl.col("who") > 2)},
            {"where": (people["who"] > 2).to_numpy()},
        ):
            verdict = session.check(table, tells="mean", **said)
            assert rules_of(verdict) == {"difference"}
        narrow = people.filter(pl.col("who") > 2).select(
            "who", "sex", "cost"
        )  # fewer columns: found by its persons
        assert rules_of(session.check(table, tells="mean", data=narrow)) == {"difference"}
        half = people.filter(pl.col("who") > 150)
        assert session.check(
            half.group_by("sex").agg(pl.col("cost").mean()), tells="mean", data=half
        ).passes
        assert session.check(people.group_by("sex").agg(pl.col("cost").mean()), tells="mean").passes
        line = session.check(_line(people.filter(pl.col("age") > 20)), where=pl.col("age") > 20)
        few = people.filter(pl.col("age") <= 20)["who"].n_unique()
        assert ("difference" in rules_of(line)) == (few < 10)


def _line(frame):
    from sfumato.results.checking.least_squares import fit_line

    return fit_line(ContributingRecords.of(frame), "cost", ["age"])[0]


def test_cells_differ_by_few_though_the_whole_does_not(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.count(["region"])
        gone = (pl.col("region") == "s") | ((pl.col("region") == "n") & (pl.col("age") > 78))
        kept = people.filter(~gone)
        assert len(people) - len(kept) > 100
        verdict = session.check(kept.group_by("region").len("n"), where=~gone)
        assert "difference" in rules_of(verdict)
        assert "in some cells" in next(
            one.sentence for one in verdict.reasons if one.rule == "difference"
        )


def test_only_sizes_are_known(tmp_path):
    with sf.output_session(tmp_path / "out") as session:
        table = pl.DataFrame({"g": ["a", "b"], "n": [40, 60]})
        session.add(table, "one")
        assert rules_of(session.check(table.with_columns(n=pl.Series([40, 63]))), "review") == {
            "difference",
            "records",
        }
        assert rules_of(session.check(table.with_columns(n=pl.Series([40, 160]))), "review") == {
            "records"
        }
        people = pl.DataFrame({"g": ["a"] * 40 + ["b"] * 160})
        given = session.check(table.with_columns(n=pl.Series([40, 160])), data=people)
        assert rules_of(given, "review") == {
            "records"
        }  # whose records these are, the session does not know
        with pytest.raises(ParameterError, match="open the session with data"):
            session.add(table, "two", where=[True, False])
        with pytest.raises(ParameterError, match="no records"):
            session.mean("cost")


def test_cells_that_follow_from_another_output(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.mean("cost", by=["region"])  # one region is left out
        verdict = session.check(
            pl.DataFrame({"cost": [people["cost"].mean()]}), tells="mean(cost)", by=[]
        )
        assert rules_of(verdict, "review") == {"linked"}
        by_sex = session.check(people.group_by("sex").len("n"))
        assert rules_of(by_sex, "review") == {
            "linked"
        }  # all persons less those of the regions told
        later = session.check(
            people.group_by("sex").agg((pl.col("age").median() / 10).round() * 10),
            tells="median(age)",
        )
        assert "linked" not in rules_of(later, "review")


def test_what_belongs_to_the_session(people, tmp_path):
    with sf.output_session(tmp_path / "out", people, unit="who") as session:
        table = people.group_by("sex").len("n")
        with pytest.raises(ParameterError, match="belong to the session"):
            session.add(table, "a", unit="age")
        with pytest.raises(ParameterError, match="title"):
            session.add(table, " ")
        with pytest.raises(SchemaError, match="lack the column 'who'"):
            session.add(table, "a", data=people.drop("who"))
        assert len(session) == 0
    with pytest.raises(ParameterError, match="give data"):
        sf.output_session(tmp_path / "b", unit="who")


def test_objects_are_never_written_whole(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        for output, suffix in (
            ({"a": 1}, ".json"),
            ("words", ".txt"),
            (object(), ".json"),
            (_line(people), ".csv"),
        ):
            session.add(output, "one of many")
            assert session.log.outputs[-1].file.endswith(suffix)
        assert "never written" in session.log.content(3).decode()
        assert pl.read_csv(session.log.content(4)).columns == [
            "term",
            "coefficient",
            "standard_error",
            "statistic",
            "p_value",
        ]


def test_changes_are_noticed(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.count(["sex"])
        session.mean("cost", by=["sex"])
    folder = tmp_path / "out"
    file = folder / "files" / "001-persons-by-sex.csv"
    file.write_text(file.read_text() + "x,1\n")
    log = OutputLog.at(folder)
    assert [one.state for one in log.all_reviewed()] == ["changed", "undecided"]
    file.unlink()
    assert log.reviewed(1).state == "missing"
    lines = (folder / "session.jsonl").read_text().splitlines()
    for changed in (
        [lines[0], lines[2]],
        [lines[0], lines[1].replace('"pass"', '"fail"'), lines[2]],
        [lines[0], "[]"],
        ["{}"],
        [],
    ):
        (folder / "session.jsonl").write_text("\n".join(changed) + "\n")
        with pytest.raises(UnreadableInput, match="was changed after it was written"):
            OutputLog.at(folder)
    (folder / "session.jsonl").write_text(
        "\n".join(lines) + "\n" + '{"output": {"numb'
    )  # died while it wrote
    assert len(OutputLog.at(folder).outputs) == 2


def test_a_line_that_was_cut_off_is_left_away_when_the_log_goes_on(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.count(["sex"])
        with (tmp_path / "out" / "session.jsonl").open("a") as file:
            file.write('{"output": {"numb')
        session.mean("cost", by=["sex"])
    assert [one.number for one in OutputLog.at(tmp_path / "out").outputs] == [1, 2]


def test_a_log_names_no_file_outside(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.count(["sex"])
        file = session.log.outputs[0].file
    path, head = tmp_path / "out" / "session.jsonl", tmp_path / "out" / "head.json"
    for name, accepted in ((file, True), ("../session.jsonl", False), ("..", False)):
        lines = [line.replace(file, name) for line in path.read_text().splitlines()]
        forged, last = chain_again(lines, OUTPUT_LOG)
        path.write_text("".join(f"{line}\n" for line in forged))
        head.write_text(json.dumps({"entries": 2, "hash": last}))
        with (
            contextlib.nullcontext()
            if accepted
            else pytest.raises(UnreadableInput, match="from line 2 on")
        ):
            OutputLog.at(tmp_path / "out")
        file = name


def test_two_who_add_at_once(people, tmp_path):
    session = sf.output_session(tmp_path / "out", people)
    others = [sf.output_session(tmp_path / "out", people) for _ in range(4)]
    threads = [
        threading.Thread(target=one.add, args=({"a": 1}, "same title"))
        for one in [session, *others]
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    log = OutputLog.at(tmp_path / "out")
    assert [one.number for one in log.outputs] == [1, 2, 3, 4, 5]
    assert log.strangers() == []


def test_one_who_was_overtaken_is_judged_again(people, tmp_path):
    first, second = (sf.output_session(tmp_path / "out", people, unit="who") for _ in range(2))
    table = people.group_by("sex").agg(pl.col("cost").mean())
    few = pl.col("who") > 2
    other = people.filter(few).group_by("sex").agg(pl.col("cost").mean())
    judge, calls = first._judge, []

    def slow(*words):
        judged = judge(*words)
        if not calls:
            second.add(other, "in between", where=few, tells="mean")
        calls.append(judged.verdict.status)
        return judged

    object.__setattr__(first, "_judge", slow)
    assert rules_of(first.add(table, "slow", tells="mean")) == {"difference"}
    assert calls == ["pass", "fail"]
    assert [one.title for one in OutputLog.at(tmp_path / "out").outputs] == ["in between", "slow"]


def test_missing_values_and_names_that_are_taken(tmp_path):
    people = pl.DataFrame(
        {
            "g": ["a", "b"] * 30,
            "x": [None, float("nan"), 1.0, 2.0, 3.0, 4.0] * 10,
            "persons": ["p", "q"] * 30,
        }
    )
    with sf.output_session(tmp_path / "out", people) as session:
        verdict = session.mean("x", by=["g"])
        assert verdict.passes
        assert verdict.shown["persons"].to_list() == [20, 20]
        with pytest.raises(ParameterError, match="called 'persons'"):
            session.count(["persons"])
