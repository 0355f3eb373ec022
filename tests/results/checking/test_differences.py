"""Outputs of one session against each other: what sums and differences of their cells tell of few
persons, by whatever name the cells go.
"""

from __future__ import annotations

import json
import stat
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.errors import ReleaseRefused
from sfumato.interfaces.cli.app import build_app
from sfumato.release.verify import verify
from sfumato.results.checking.differences import (
    OutputSets,
    RecordOwners,
    find_joint_disclosures,
)
from sfumato.results.checking.log import OutputLog
from sfumato.results.checking.record_sets import RecordSet
from sfumato.results.checking.reviews import release_outputs, review
from tests.results.tables.session_oracle import random_output, random_people, told_of_few


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(1)
    age = draw.integers(20, 90, 400)
    age[age == 61] = 60
    age[7] = 61
    return pl.DataFrame(
        {
            "age": age,
            "sex": draw.choice(["f", "m"], 400),
            "income": draw.lognormal(3, 0.5, 400).round(2),
            "old": np.where(age < 61, "no", "yes"),
            "pensioner": np.where(age < 62, "not yet", "already"),
        }
    )


def told(verdict, status="fail"):
    return [
        one.sentence for one in verdict.reasons if one.rule == "difference" and one.status == status
    ]


def banded(frame, cut, name):
    return frame.with_columns(
        pl.when(pl.col("age") < cut).then(pl.lit("a")).otherwise(pl.lit("b")).alias(name)
    )


def test_means_by_bands_that_differ_by_one_person(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        one, two = banded(people, 61, "band"), banded(people, 62, "group")
        mean = pl.col("income").mean().alias("income_mean")
        assert session.add(one.group_by("band").agg(mean), "One", data=one).passes
        verdict = session.add(two.group_by("group").agg(mean), "Two", data=two)
        assert told(verdict) == [
            (
                "sums and differences of its cells and those of output 1 are about fewer than 10"
                " persons"
            )
        ]
        later = banded(people, 50, "half")
        assert session.add(
            later.group_by("half").agg(mean), "Three", data=later
        ).passes  # tells nothing new of few


def test_two_columns_of_the_session_that_differ_for_one_person(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.mean("income", by=["old"]).passes
        with pytest.raises(ReleaseRefused, match="fewer than 10 persons"):
            session.mean("income", by=["pensioner"])
        assert session.count(["sex"]).passes
        assert len(session) == 2


def test_histograms_whose_edges_differ_by_one_person(people, tmp_path):
    said = {"kind": "histogram", "column": "age"}
    ages = people["age"].to_numpy()
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.add(np.histogram(ages, [0, 40, 61, 120]), "One", **said).passes
        assert told(session.check(np.histogram(ages, [0, 40, 62, 120]), **said))
        assert session.check(np.histogram(ages, [0, 40, 120]), **said).passes
        assert told(
            session.check(people.group_by("pensioner").len("n"))
        )  # a table of counts, beside a histogram


def test_a_later_process_compares_with_what_is_kept(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.mean("income", by=["old"])
    again = sf.output_session(tmp_path / "out", people)
    table = people.group_by("pensioner").agg(pl.col("income").mean().alias("income_mean"))
    assert told(again.check(table))
    kept = tmp_path / "out" / "samples"
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept.iterdir()} == {0o600}
    for file in kept.iterdir():  # numbers of records, and no values
        assert b"61" not in file.read_bytes() or file.suffix in (".bits", ".cells")
    (kept / "001.cells").write_bytes((kept / "001.cells").read_bytes()[:-2] + b"xx")
    with pytest.raises(sf.errors.UnreadableInput, match="was changed after it was written"):
        again.check(table)


def test_other_records_than_those_the_session_was_started_with(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.count(["sex"])
    with sf.output_session(tmp_path / "out", people.head(390)) as session:
        verdict = session.count(["old"])
        assert verdict.status == "review"
        assert session.log.outputs[-1].cells is None
        assert session.log.outputs[-1].sample is None


def test_a_survival_table_beside_a_count(tmp_path):
    draw = np.random.default_rng(5)
    days = np.r_[np.repeat([10, 20, 30], 40), 21]
    lives = pl.DataFrame(
        {"days": days, "died": np.ones(121, dtype=int), "x": draw.normal(size=121)}
    )
    long = lives.with_columns(
        late=pl.when(pl.col("days") > 20).then(pl.lit("y")).otherwise(pl.lit("n"))
    )
    with sf.output_session(tmp_path / "out", long) as session:
        assert session.count(["late"]).passes
        steps = pl.DataFrame(
            {"time": [10, 20, 30], "events": [40, 40, 40], "at_risk": [121, 81, 40]}
        )
        assert told(session.check(steps, features=["days", "died"]))


def test_cells_that_nearly_agree_are_for_review_whatever_they_tell(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.mean("income", by=["old"]).passes
        rounded = people.group_by("pensioner").agg((pl.col("age").median() / 10).round() * 10)
        verdict = session.check(rounded, tells={"age": "median(age)"})
        assert told(verdict, "review") == [
            "a cell of it and one of output 1 have the same records except for fewer than 10 persons"
        ]
        line = session.regression("income", ["age"], where=pl.col("age") < 62)
        assert line.status == "review"


def test_means_in_leaves_of_trees_are_sums_as_those_of_tables(people, tmp_path):
    """A tree cut at 60 and a table of sums by sex cut at 61: the sexes add up, and what is left is
    the income of those aged 61, although no cell of the table is near a leaf.
    """
    low = int((people["age"] <= 60).sum())
    young = people.filter(pl.col("age") <= 60)["income"].mean()
    old = people.filter(pl.col("age") > 60)["income"].mean()
    everybody = people["income"].mean()
    inner = SimpleNamespace(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -2, -2],
        threshold=[60.5, -2.0, -2.0],
        n_node_samples=[400, low, 400 - low],
        impurity=[0.5, 0.4, 0.3],
        value=np.array([everybody, young, old]).reshape(3, 1, 1),
    )
    tree = SimpleNamespace(tree_=inner, feature_names_in_=["age"])
    by_pension = people.group_by("pensioner", "sex").agg(pl.col("income").sum().alias("income_sum"))
    with sf.output_session(tmp_path / "out", people) as session:
        assert session.add(tree, "Tree", column="income").passes
        assert told(session.check(by_pension, tells={"income_sum": "sum(income)"}))
        by_age = people.group_by("old", "sex").agg(pl.col("income").sum().alias("income_sum"))
        assert session.check(by_age, tells={"income_sum": "sum(income)"}).passes


# Counts that are known to be small


def test_counts_that_bound_a_group_without_telling_any_sum_of_few(tmp_path):
    """Of five groups one and its neighbours are counted: 2a + p + r follows, which is 14, so a is
    at most 7; and no sum of fewer than 10 follows.
    """
    for others, fails in ((6, True), (9, False)):
        sizes = {"a": 1, "p": others, "q": 20, "r": others, "s": 20}
        frame = pl.DataFrame({"g": [name for name, size in sizes.items() for _ in range(size)]})
        with sf.output_session(tmp_path / str(others), frame) as session:
            for names in ("apq", "ars"):
                where = pl.col("g").is_in(list(names))
                assert session.count([], where=where).passes
            verdict = session.check(
                pl.DataFrame({"n": [40]}), where=pl.col("g").is_in(["q", "s"]), tells="count", by=[]
            )
            words = "the counts of its cells and those of outputs 1, 2 together reveal a group of fewer than 10 persons"
            assert told(verdict) == ([words] if fails else [])


def test_three_tables_of_two_columns_tell_of_a_cell_of_all_three(tmp_path):
    for few, fails in ((5, True), (25, False)):
        counts = np.array([[[1, 20], [20, 20]], [[20, 20], [20, few]]])
        rows = [
            (f"a{a}", f"b{b}", f"c{c}")
            for (a, b, c), count in np.ndenumerate(counts)
            for _ in range(count)
        ]
        frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
        with sf.output_session(tmp_path / str(few), frame) as session:
            assert session.count(["a", "b"]).passes
            assert session.count(["b", "c"]).passes
            assert bool(told(session.check(frame.group_by("a", "c").len("n")))) is fails


# A refused output that is approved after all


def refused_and_then_not(people, folder):
    with sf.output_session(folder, people) as session:
        session.mean("income", by=["old"])
        session.log.decide(1, "refused", by="Bo", because="not yet")
        assert session.mean("income", by=["pensioner"]).passes  # nobody sees the first one
    log = OutputLog.at(folder)
    for number in (1, 2):
        log.decide(number, "approved", by="Bo", because="fine")
    return log


def test_an_output_that_was_refused_is_compared_when_it_shall_leave_after_all(people, tmp_path):
    log = refused_and_then_not(people, tmp_path / "out")
    seen = review(log)
    assert (seen["together"], seen["settled"]) == ([[1, 2]], False)
    words = ["outputs", "review", str(tmp_path / "out")]
    shown = CliRunner().invoke(build_app(["outputs"]), [*words, "--json"])
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["together"] == [[1, 2]]
    assert (
        "describe few persons together" in CliRunner().invoke(build_app(["outputs"]), words).output
    )
    with pytest.raises(ReleaseRefused, match="was not known when they were checked"):
        release_outputs(log, tmp_path / "released")
    assert not (tmp_path / "released").exists()
    log.decide(1, "refused", by="Bo", because="it tells of few beside the other")
    assert review(log)["together"] == []
    release_outputs(log, tmp_path / "released")
    claims = {
        one.name: one.status for one in verify(tmp_path / "released", owner=tmp_path / "out").claims
    }
    assert claims["together"] == "holds"
    assert {one.name: one.status for one in verify(tmp_path / "released").claims}[
        "together"
    ] == "needs original"


def test_verify_says_what_review_says(people, tmp_path):
    """A folder that was released from a log in which both were approved."""
    log = refused_and_then_not(people, tmp_path / "out")
    log.decide(1, "refused", by="Bo", because="one of both")
    release_outputs(log, tmp_path / "released")
    manifest = json.loads((tmp_path / "released" / "certificate.json").read_text())
    manifest["outputs"]["released"].append({**manifest["outputs"]["released"][0], "number": 1})
    (tmp_path / "released" / "certificate.json").write_text(json.dumps(manifest))
    claims = {one.name: one for one in verify(tmp_path / "released", owner=tmp_path / "out").claims}
    assert claims["together"].status == "fails"
    assert "1, 2" in claims["together"].detail


def test_what_a_failing_output_told_is_not_taken_as_told(people, tmp_path):
    """The second fails and is refused later: the third tells the same, and must not pass because
    the second told it.
    """
    table = people.group_by("pensioner").agg(pl.col("income").mean().alias("income_mean"))
    with sf.output_session(tmp_path / "out", people) as session:
        session.mean("income", by=["old"])
        assert told(session.add(table, "Two"))
        assert told(session.add(table, "Three"))


def test_an_output_is_compared_again_when_one_that_told_the_same_is_refused(people, tmp_path):
    """The third tells nothing that the first and second do not tell already; without the first it
    does.
    """
    with sf.output_session(tmp_path / "out", people) as session:
        session.mean("income", by=["pensioner"])
        session.log.decide(1, "refused", by="Bo", because="not yet")
        assert session.mean("income", by=["old"]).passes
        session.log.decide(1, "approved", by="Bo", because="fine after all")
        table = people.group_by("pensioner").agg(pl.col("income").mean().alias("income_mean"))
        assert session.add(table, "Three").passes
    log = OutputLog.at(tmp_path / "out")
    assert review(log)["together"] == [[1, 2]]
    log.decide(1, "refused", by="Bo", because="it tells of few beside the second")
    assert review(log)["together"] == [[2, 3]]
    with pytest.raises(ReleaseRefused, match="2, 3"):
        release_outputs(log, tmp_path / "released", accept_passes=True)
    log.decide(3, "refused", by="Bo", because="it tells of few beside the second")
    assert review(log)["together"] == []
    release_outputs(log, tmp_path / "released", accept_passes=True)


def test_decided_in_sight_of_it_both_leave(people, tmp_path):
    with sf.output_session(tmp_path / "out", people) as session:
        session.mean("income", by=["old"])
        table = people.group_by("pensioner").agg(pl.col("income").mean().alias("income_mean"))
        assert session.add(table, "Two", exception="the one person agreed").status == "fail"
    log = OutputLog.at(tmp_path / "out")
    for number in (1, 2):
        log.decide(number, "approved", by="Bo", because="the one person agreed")
    assert review(log)["settled"]
    release_outputs(log, tmp_path / "released")


# More than all sums can be looked at


def test_what_was_told_before_is_not_told_again():
    people = RecordOwners(np.arange(60))
    old = OutputSets(
        1, [RecordSet(("sum x",), np.arange(30)), RecordSet(("sum x",), np.arange(31))]
    )
    same = OutputSets(2, [RecordSet(("sum x",), np.arange(30, 60))])
    assert find_joint_disclosures([old], [same], people, 10) == []
    more = OutputSets(2, [RecordSet(("sum x",), np.arange(32))])
    assert find_joint_disclosures([old], [more], people, 10)[0].kind == "sum"
    other = OutputSets(2, [RecordSet(("sum y",), np.arange(32))])
    assert find_joint_disclosures([old], [other], people, 10) == []


def test_persons_with_several_records_are_counted_once():
    """Two atoms of the same nine persons are nine persons, not eighteen."""
    people = RecordOwners(np.r_[np.arange(40), np.arange(9)])
    first = OutputSets(1, [RecordSet(("sum x",), np.arange(9, 40))])
    second = OutputSets(2, [RecordSet(("sum x",), np.arange(49))])
    assert find_joint_disclosures([first], [second], people, 10)[0].kind == "sum"
    assert find_joint_disclosures([first], [second], people, 9) == []


# Random sessions


@pytest.mark.parametrize("number", range(40))
def test_random_sessions_tell_of_nobody(number, tmp_path):
    draw = np.random.default_rng(10_000 + number)
    several = bool(draw.random() < 0.4)
    people = random_people(draw, several=several, missing=bool(draw.random() < 0.3))
    threshold = int(draw.integers(2, 5))
    rules = sf.OutputRules(
        threshold=threshold, residual_df=1, dominant=1, share=100, p=1e-9, zeros=False
    )
    approved = []
    with sf.output_session(
        tmp_path / "out", people, unit="who" if several else None, rules=rules
    ) as session:
        for step in range(int(draw.integers(3, 6))):
            output, said, cells = random_output(draw, people, step)
            verdict = session.add(output, f"output {step}", **said)
            seen = told_of_few([*approved, cells], people, threshold)
            if verdict.passes:
                approved.append(cells)
                assert seen == ""
                continue
            alone = [
                one
                for one in told(verdict)
                if one.startswith(("sums and differences", "the counts"))
            ]
            assert seen or not alone  # and no false alarm
            session.log.decide(len(session), "refused", by="Bo", because="it does not pass")


@pytest.mark.parametrize("number", range(12))
def test_what_is_released_of_random_sessions_tells_of_nobody(number, tmp_path):
    """Outputs that pass, refused and approved at random in between: what leaves without an
    exception tells of nobody, and review, release and verify say the same.
    """
    draw = np.random.default_rng(20_000 + number)
    people = random_people(draw, several=bool(draw.random() < 0.3), missing=False)
    threshold = int(draw.integers(2, 5))
    rules = sf.OutputRules(
        threshold=threshold, residual_df=1, dominant=1, share=100, p=1e-9, zeros=False
    )
    cells = {}
    unit = None if people["who"].n_unique() == people.height else "who"
    with sf.output_session(tmp_path / "out", people, unit=unit, rules=rules) as session:
        for step in range(int(draw.integers(3, 7))):
            output, said, cells[step + 1] = random_output(draw, people, step)
            session.add(output, f"output {step}", **said)
            for one in session.log.outputs:
                if draw.random() < 0.3 and one.status == "pass":
                    word = "refused" if draw.random() < 0.6 else "approved"
                    session.log.decide(one.number, word, by="Bo", because="so")
    log = OutputLog.at(tmp_path / "out")
    for one in log.outputs:
        if one.status != "pass":
            log.decide(one.number, "refused", by="Bo", because="it does not pass")
    leaving = [one.logged.number for one in log.all_reviewed() if one.state != "refused"]
    unseen = review(log)["together"]
    if not leaving or unseen:
        with pytest.raises(ReleaseRefused):
            release_outputs(log, tmp_path / "released", accept_passes=True)
        return
    release_outputs(log, tmp_path / "released", accept_passes=True)
    assert told_of_few([cells[one] for one in leaving], people, threshold) == ""
    claims = {
        one.name: one.status for one in verify(tmp_path / "released", owner=tmp_path / "out").claims
    }
    assert claims["together"] == "holds"


@pytest.mark.parametrize(
    ("other", "status"),
    [("thousands", "fail"), ("below", "fail"), ("shifted", "fail"), ("logarithm", "pass")],
)
def test_columns_on_a_line_are_one(tmp_path, other, status):
    # Regions 1 and 2 are sides u and v but for one person: no cell of one output is nearly one of
    # the other, their sums are.
    draw = np.random.default_rng(5)
    region = draw.integers(1, 5, 400)
    side = np.where(region <= 2, np.where(draw.integers(0, 2, 400) == 0, "u", "v"), "w")
    side[np.flatnonzero(region == 1)[0]] = "w"
    cost = (draw.lognormal(3, 0.4, 400) + 10).round(2)
    data = pl.DataFrame(
        {"id": np.arange(400), "region": region.astype(str), "side": side, "cost": cost}
    )
    data = data.with_columns(
        thousands=pl.col("cost") / 1000,
        below=2000 - pl.col("cost"),
        shifted=pl.col("cost") + 5,
        logarithm=pl.col("cost").log(),
    )
    with sf.output_session(tmp_path / "outputs", data, unit="id") as session:
        first = session.add(
            data.group_by("region").agg(pl.col("cost").mean().alias("cost_mean")), "Cost by region"
        )
    with sf.output_session(tmp_path / "outputs", data, unit="id") as session:
        second = session.add(
            data.group_by("side").agg(pl.col(other).mean().alias(f"{other}_mean")), "By side"
        )
    assert (first.status, second.status) == ("pass", status)
