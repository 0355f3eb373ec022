"""Tables published together are margins of one joint table: audits and protection against oracles
that look at all of it.
"""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.release.register.store import start_register
from sfumato.results.tables import joint_table, protected_table
from sfumato.results.tables.exact import suppress_exactly, without_needless
from sfumato.results.tables.joint_table import circles_of, with_joint_table
from tests.results.tables.joint_auditor import Asked, wrong_of, wrong_of_rounded
from tests.results.tables.linked_oracle import lines_of, tables_of, whole_intervals, wrong_sums

TRIANGLE = [["a", "b"], ["b", "c"], ["a", "c"]]
RULES = [("threshold", {"t": 4})]


def people(seed, least=12, most=60):
    """Records of three columns with two or three values each."""
    draw = np.random.default_rng(seed)
    sizes = [int(size) for size in draw.integers(2, 4, 3)]
    count = int(draw.integers(least, most))
    return pl.DataFrame(
        {
            name: draw.choice(list("uvw")[:size], count, p=draw.dirichlet(np.ones(size) * 1.5))
            for name, size in zip("abc", sizes, strict=True)
        }
    )


TOLD = [308, 182, 283]
"""Tables of which a suppression that is safe by the sums of each table tells a count below 4 to be
below 4.
"""


@pytest.mark.parametrize("seed", TOLD)
def test_sums_of_every_table_are_not_enough(seed):
    judged = sf.tabulate(people(seed), TRIANGLE).sensitive(sf.Threshold(4))
    problem = judged.problem()
    alone = without_needless(problem, suppress_exactly(problem))
    joint = with_joint_table(judged.table, problem)
    seen = joint.audit(alone.hidden)
    assert not seen.holds and all(one.high < 4 for one in seen.exposed)
    assert (seen.scope, seen.bounds) == ("all tables together", "whole-number")
    made = judged.protect("exact")
    assert made.suppression.cost >= alone.cost and made.audit().holds
    assert made.sentences()[0].endswith("proved the least")
    assert "(all tables together, whole-number bounds)" in made.sentences()[1]


@pytest.mark.parametrize("method", ["exact", "heuristic"])
@pytest.mark.parametrize("seed", TOLD)
def test_the_written_folder_holds_for_an_auditor_of_the_joint_table(seed, method, tmp_path):
    frame = people(seed)
    made = sf.tabulate(frame, TRIANGLE).sensitive(sf.Threshold(4)).protect(method)
    made.write(tmp_path / "out")
    assert wrong_of(frame.to_dicts(), [Asked(tmp_path / "out" / "share", RULES)], list("abc")) == []
    claims = {
        one.name: one
        for one in sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").claims
    }
    assert (
        claims["audit"].status == "holds"
        and "all tables together, whole-number bounds" in claims["audit"].detail
    )
    said = json.loads((tmp_path / "out" / "share" / "certificate.json").read_text())
    assert said["aggregates"]["audit"] == {"scope": "all tables together", "bounds": "whole-number"}


def as_written_before(judged, folder, monkeypatch):
    """A folder as a version wrote it that looked at the sums of every table only."""

    def by_sums(table, problem, values=None):
        return joint_table.JointTable(problem, problem, "all tables together")

    with monkeypatch.context() as before:
        before.setattr(protected_table, "with_joint_table", by_sums)
        judged.protect("exact").write(folder)
    lock = json.loads((folder / "owner" / "lock.json").read_text())
    for name in ("joint", "open"):
        lock.pop(name)
    (folder / "owner" / "lock.json").write_text(json.dumps(lock))


def test_verify_finds_what_an_earlier_version_told(tmp_path, monkeypatch):
    judged = sf.tabulate(people(308), TRIANGLE).sensitive(sf.Threshold(4))
    as_written_before(judged, tmp_path / "out", monkeypatch)
    [claim] = [
        one
        for one in sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").claims
        if one.name == "audit"
    ]
    assert (
        claim.status == "fails"
        and "can be estimated too closely (all tables together)" in claim.detail
    )


def test_a_lock_whose_joint_table_was_changed_is_noticed(tmp_path):
    sf.tabulate(people(308), TRIANGLE).sensitive(sf.Threshold(4)).protect().write(tmp_path / "out")
    file = tmp_path / "out" / "owner" / "lock.json"
    lock = json.loads(file.read_text())
    for change in (
        {"values": [0.0] * len(lock["joint"][0]["values"])},
        {"cells": [10**6], "values": [1.0]},
    ):
        file.write_text(json.dumps({**lock, "joint": [{**lock["joint"][0], **change}]}))
        claims = sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").claims
        assert next(one for one in claims if one.name == "audit").status == "fails"


def test_beyond_the_stated_size_each_table_is_audited_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(joint_table, "MOST_JOINT", 5)
    made = sf.tabulate(people(308), TRIANGLE).sensitive(sf.Threshold(4)).protect("exact")
    words = " ".join(made.sentences())
    assert made.audited.scope == "each table by itself" and made.summary()["gap"] is None
    assert (
        "proved the least" not in words
        and "the distance to the minimum for all tables together is unknown" in words
    )
    assert (
        "(each table by itself, whole-number bounds)" in words
        and "whether the tables hold together is unknown" in words
    )
    made.write(tmp_path / "out")
    assert "is unknown" in (tmp_path / "out" / "share" / "report.html").read_text()
    verified = sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner")
    claims = {one.name: one for one in verified.claims}
    assert "each table by itself" in claims["audit"].detail
    assert (
        claims["tables together"].status == "needs original"
        and "unknown" in claims["tables together"].detail
    )


def test_a_certificate_that_says_more_than_the_audit_looked_at_fails(tmp_path, monkeypatch):
    made = sf.tabulate(people(308), TRIANGLE).sensitive(sf.Threshold(4)).protect()
    made.write(tmp_path / "out")
    monkeypatch.setattr(joint_table, "MOST_JOINT", 5)
    claims = sf.verify(tmp_path / "out" / "share", owner=tmp_path / "out" / "owner").claims
    [claim] = [one for one in claims if one.name == "audit"]
    assert claim.status == "fails" and "the certificate says otherwise" in claim.detail


GROUPS = [TRIANGLE, [["a", "b"], ["b", "c"]], [["a", "b"], ["c"]], [*TRIANGLE, ["a"]]]


@pytest.mark.parametrize("seed", range(40))
def test_intervals_are_those_of_all_joint_tables_one_by_one(seed):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(6, 12))
    frame = pl.DataFrame({name: draw.choice(["u", "v"], count) for name in "abc"})
    groups, small = GROUPS[seed % len(GROUPS)], int(draw.integers(2, 5))
    zeros, method = str(draw.choice(["known", "free"])), str(draw.choice(["exact", "heuristic"]))
    try:
        made = (
            sf.tabulate(frame, groups)
            .sensitive(sf.Threshold(small))
            .protect(method, options=sf.ProtectOptions(zeros=zeros))
        )
    except SfumatoError:
        return
    _, lines = lines_of(tables_of(made, groups, "count"), frame.to_dicts(), list("abc"))
    intervals = whole_intervals(lines, count)
    for _, own, low, high in intervals:
        assert len(own) >= small or not own or (low <= len(own) - 1 and high >= small)
    seen = made.audit()
    assert seen.exact
    assert sorted(zip(seen.low, seen.high, strict=True)) == sorted(
        (low, high) for *_, low, high in intervals
    )


@pytest.mark.parametrize("seed", range(15))
def test_sums_hold_for_everybody_and_for_lone_respondents_who_know_all_their_values(seed):
    draw = np.random.default_rng(seed)
    count, groups = int(draw.integers(10, 40)), GROUPS[seed % len(GROUPS)]
    frame = pl.DataFrame(
        {
            **{name: draw.choice(list("uvw")[: int(draw.integers(2, 4))], count) for name in "abc"},
            "x": draw.lognormal(2, 1, count).round(0) + 1,
            "id": np.arange(count),
        }
    )
    rules = (sf.Threshold(3), sf.PPercent(10))
    try:
        made = sf.tabulate(frame, groups, "sum(x)").sensitive(*rules).protect()
    except SfumatoError:
        return
    assert (made.audited.scope, made.audited.bounds) == ("all tables together", "linear")
    wrong, _ = wrong_sums(tables_of(made, groups, "sum(x)"), frame.to_dicts(), list("abc"), 3, 10)
    assert wrong == []


@pytest.mark.parametrize("method", ["rounding", "perturb"])
@pytest.mark.parametrize("seed", [1, 308, 283])
def test_rounded_tables_are_margins_of_one_too(seed, method, tmp_path):
    frame = people(seed)
    try:
        made = (
            sf.tabulate(frame, TRIANGLE)
            .sensitive(sf.Threshold(4))
            .protect(method, base=3, seed="ab")
        )
    except SfumatoError:
        return  # nothing is published
    made.write(tmp_path / "out")
    asked = Asked(tmp_path / "out" / "share", RULES)
    assert wrong_of_rounded(frame.to_dicts(), asked, list("abc"), base=3) == []


@pytest.mark.parametrize("seed", [1, 182, 308])
def test_adjusted_tables_come_from_one_joint_table(seed):
    """Who sees margins that no joint table has knows that they are not the true ones."""
    frame = people(seed)
    made = sf.tabulate(frame, TRIANGLE).sensitive(sf.Threshold(4)).protect("cta", seed="ab")
    _, lines = lines_of(tables_of(made, TRIANGLE, "count"), frame.to_dicts(), list("abc"))
    total = next(int(text) for line, text, _ in lines if line.all())
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.array([line for line, _, _ in lines], dtype=float)
    right = np.array([float(text) for _, text, _ in lines])
    count = rows.shape[1]
    found = milp(
        np.zeros(count),
        constraints=LinearConstraint(rows, right, right),
        bounds=Bounds(0, total),
        integrality=np.ones(count),
    )
    assert found.status == 0 and made.audit().holds
    broken = made.published.copy()
    inner = int(made.judged.table.variables[0][-1])
    broken[inner] += 1
    assert not protected_table._audit_changed(
        made.judged, "cta", made.joint, broken, made.options
    ).holds


@pytest.mark.parametrize("seed", TOLD)
@pytest.mark.parametrize("steps", [[[0], [1], [2]], [[0, 1], [2]], [[0], [1, 2]]], ids=str)
def test_margins_published_one_after_the_other(seed, steps, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    frame = people(seed).with_row_index("id")
    start_register(tmp_path / "r.db")
    asked = []
    for number, step in enumerate(steps):
        table = sf.tabulate(frame, [TRIANGLE[at] for at in step], register=tmp_path / "r.db")
        try:
            table.sensitive(sf.Threshold(4)).protect().write(tmp_path / str(number), to="the press")
        except SfumatoError:
            continue
        asked.append(Asked(tmp_path / str(number) / "share", RULES))
    assert wrong_of(frame.to_dicts(), asked, list("abc")) == []


def test_a_lone_respondent_knows_that_nobody_else_is_in_the_own_cells():
    """Of empty combinations in a cell of one's own, too: those could hold somebody for all that
    others know.
    """
    frame = pl.DataFrame({"a": ["u"] + ["v"] * 9, "b": ["x"] * 5 + ["y"] * 5, "x": [5.0] * 10})
    judged = sf.tabulate(frame, ["a", "b"], "sum(x)").sensitive(sf.Threshold(2))
    problem = judged.problem(zeros="free")
    [owner] = problem.owned
    empty = np.flatnonzero(problem.value == 0)
    assert len(empty) and problem.known_to(owner)[empty].all() and problem.knowers(empty) == {owner}


def test_which_tables_need_a_joint_one():
    assert circles_of([(0, 1), (1, 2), (2, 3), (3, 0)]) == [(0, 1, 2, 3)]
    assert circles_of([(0, 1, 3), (1, 2), (0, 2)]) == [(0, 1, 2)]
    assert circles_of([(0, 1), (1, 2), (0, 2), (0, 1, 2)]) == []
    assert circles_of([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]) == [(0, 1, 2), (3, 4, 5)]
    table = sf.tabulate(people(1), [["a", "b"], ["b", "c"]])
    judged = table.sensitive(sf.Threshold(4))
    problem = judged.problem()
    assert (
        with_joint_table(table, problem).problem is problem
    )  # what goes round in no circle costs nothing
    one = sf.tabulate(people(1), ["a", "b", "c"])
    assert with_joint_table(one, one.sensitive().problem()).scope == "one table"


def test_an_output_check_leaves_it_open_whether_large_tables_hold_together(monkeypatch):
    frame = people(308)
    made = sf.tabulate(frame, TRIANGLE).sensitive(sf.Threshold(10)).protect()
    assert sf.check_output(made).status == "pass"
    monkeypatch.setattr(joint_table, "MOST_JOINT", 5)
    by_itself = sf.tabulate(frame, TRIANGLE).sensitive(sf.Threshold(10)).protect()
    verdict = sf.check_output(by_itself)
    assert verdict.status == "review" and "linked" in {one.rule for one in verdict.reasons}
