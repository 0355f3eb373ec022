"""The ledger: it never counts too little, whoever dies, races, edits or runs out of disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import BudgetExceeded, OutputError, ParameterError, UnreadableInput
from sfumato.results.queries import Budget, Ledger, SessionOptions

pytest.importorskip("fcntl")

PEOPLE = pl.DataFrame({"age": [30.0, 40.0, 50.0]})


def asking(path, frame=PEOPLE, budget=1.0, neighbours=None, **options):
    return sf.dp.session(
        sf.read(frame),
        budget=budget,
        ledger=path,
        options=SessionOptions(name="people", neighbours=neighbours),
        bounds={"age": (0, 100)},
        **options,
    )


@pytest.fixture(scope="module")
def crashes(tmp_path_factory):
    script = Path(__file__).with_name("crashing_askers.py")
    folder = tmp_path_factory.mktemp("crashes")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_killed_at_every_point_nothing_is_under_counted(crashes):
    points = crashes["asking"]
    assert len(points) > 12 and all(p["killed"] for p in points[:-1]) and not points[-1]["killed"]
    for point in points:
        if "drawn" in point["said"]:
            assert point["spent"] == 0.25, (
                "noise was drawn for a question that is not in the ledger"
            )
        assert point["spent"] in (0, 0.25)
        # whoever asks afterwards is answered, from the ledger or by paying
        assert point["spent_at_the_end"] == point["spent"] + (0 if point["repeated"] else 0.25)
        if "released" in point["said"]:
            assert point["repeated"] and point["again"] == float(
                point["said"].split("released ")[1]
            )
    assert {p["spent"] for p in points} == {0, 0.25}
    assert any(p["spent"] and not p["repeated"] for p in points), (
        "some die between spending and answering"
    )


def test_killed_while_starting_there_is_a_whole_ledger_or_none(crashes):
    points = crashes["starting"]
    assert len(points) > 6 and {p["there"] for p in points} == {True, False} and points[-1]["there"]


def test_ten_racing_processes_spend_the_budget_and_no_more(crashes):
    race = crashes["different"]
    answers = [said for process in race["said"] for said in process if said != "refused"]
    assert race["paid"] == len(answers) == 20 and race["spent"] == 2.0
    assert sum(process.count("refused") for process in race["said"]) == 30


def test_ten_racing_processes_share_the_answers_to_the_same_questions(crashes):
    race = crashes["same"]
    assert race["paid"] == 5 and race["spent"] == 0.5
    assert all(process == race["said"][0] and len(process) == 5 for process in race["said"])


def test_a_ledger_outlives_the_session_and_the_data(tmp_path):
    path = tmp_path / "people.ledger"
    first = asking(path).count(epsilon=0.6)
    edited = PEOPLE.with_columns(age=pl.Series([30.0, 40.0, 51.0]))
    again = asking(path, edited, budget=None)
    assert again.spent == 0.6 and again.count(epsilon=0.6).values == first.values
    with pytest.raises(BudgetExceeded):
        again.mean("age", epsilon=0.5)
    assert again.spent == 0.6


def test_what_contradicts_a_ledger_is_refused(tmp_path):
    path = tmp_path / "people.ledger"
    asking(path)
    for options, said in (
        ({"budget": 2.0}, "budget is ε = 1, not ε = 2"),
        ({"budget": Budget(1.0, delta=1e-6)}, "budget is"),
        ({"neighbours": "change_one"}, "neighbours is add_remove"),
        ({"contributions": 3}, "contributions is 1"),
    ):
        with pytest.raises(ParameterError, match=said):
            asking(path, **options)
    with pytest.raises(ParameterError, match="name is people, not others"):
        sf.dp.session(sf.read(PEOPLE), ledger=path, options=SessionOptions(name="others"))


def test_a_ledger_is_not_started_twice(tmp_path):
    path = tmp_path / "people.ledger"
    terms = asking(path).ledger.terms
    with pytest.raises(OutputError, match="already"):
        Ledger.start(path, terms)
    with pytest.raises(OutputError, match="cannot start"):
        Ledger.start(tmp_path / "nowhere" / "people.ledger", terms)
    assert [p.name for p in tmp_path.iterdir()] == ["people.ledger"], "no drafts are left"
    assert (path.stat().st_mode & 0o777) == 0o600


def test_somebody_else_may_have_just_started_it(tmp_path, monkeypatch):
    path = tmp_path / "people.ledger"
    asking(path).count(epsilon=0.25)
    seen = iter([False, True])
    monkeypatch.setattr(Path, "exists", lambda self: next(seen))
    late = asking(path)
    monkeypatch.undo()
    assert late.spent == 0.25


def test_a_dataset_is_called_by_its_file(tmp_path):
    for file, name in (("visits.csv", "visits"), ("visits 2024.csv", "people")):
        (tmp_path / file).write_text("age\n30\n")
        assert sf.dp.session(sf.read(tmp_path / file), budget=1.0).ledger.terms.dataset == name
    assert sf.dp.session(sf.read(PEOPLE), budget=1.0).ledger.terms.dataset == "people"


def test_a_budget_is_needed_to_start_one(tmp_path):
    with pytest.raises(ParameterError, match=r"no ledger .* yet"):
        asking(tmp_path / "people.ledger", budget=None)
    assert not list(tmp_path.iterdir())
    with pytest.raises(sf.errors.SchemaError):
        sf.dp.session(
            sf.read(PEOPLE), budget=1.0, ledger=tmp_path / "x.ledger", bounds={"nothing": (0, 1)}
        )
    assert not list(tmp_path.iterdir()), "a session that cannot be opened starts no ledger"


def written(tmp_path):
    path = tmp_path / "people.ledger"
    session = asking(path)
    for epsilon in (0.1, 0.2, 0.3):
        session.count(epsilon=epsilon)
    return path


@pytest.mark.parametrize("line", range(7))
def test_a_changed_line_is_noticed(tmp_path, line):
    path = written(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 7
    for change in (
        lambda text: text.replace("1", "2", 1),
        lambda text: "",
        lambda text: text + text,
        lambda text: "{}\n",
        lambda text: "[1]\n",
        lambda text: "\0" * len(text) + "\n",
    ):
        changed = [*lines[:line], change(lines[line]), *lines[line + 1 :]]
        if "".join(changed) == "".join(lines[:-1]):
            continue  # an older copy of itself: what no ledger can notice, and the docs say so
        path.write_text("".join(changed))
        with pytest.raises(UnreadableInput, match=r"from line \d on"):
            Ledger.at(path)
    path.write_text("".join(lines))
    assert asking(path).spent == pytest.approx(0.6)


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    return written(tmp_path_factory.mktemp("whole")).read_bytes()


@given(st.integers(0, 300))
@example(1)
@example(0)
def test_a_torn_last_line_counts_or_was_never_answered(complete, tmp_path_factory, lost):
    whole = complete
    path = tmp_path_factory.mktemp("torn") / "people.ledger"
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    cut = max(start, len(whole) - lost)
    path.write_bytes(whole[:cut])
    session = asking(path)
    assert session.spent == pytest.approx(
        0.6
    )  # the last line is an answer; its spending is before it
    assert path.read_bytes() in (whole, whole[:start])
    assert session.count(epsilon=0.3).repeated == (cut == len(whole))


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"{}", b"not a ledger\n", b'{"ledger": 1}\n', b"\xff\xfe\n"]
)
def test_what_is_no_ledger_is_refused(tmp_path, content):
    path = tmp_path / "people.ledger"
    path.write_bytes(content)
    with pytest.raises(UnreadableInput, match="was changed after it was written"):
        Ledger.at(path)


def test_a_ledger_that_cannot_be_opened(tmp_path):
    with pytest.raises(UnreadableInput, match="cannot open the ledger"):
        Ledger.at(tmp_path)
    path = written(tmp_path)
    session = asking(path)
    path.unlink()
    with pytest.raises(UnreadableInput, match="cannot open the ledger"):
        session.count(epsilon=0.01)


def test_a_ledger_replaced_by_another_is_refused(tmp_path):
    session = asking(tmp_path / "a.ledger")
    asking(tmp_path / "b.ledger", budget=5.0)
    os.replace(tmp_path / "b.ledger", tmp_path / "a.ledger")
    with pytest.raises(ParameterError, match="replaced"):
        session.count(epsilon=0.1)


def test_a_full_disk_answers_nothing(tmp_path, monkeypatch):
    path = written(tmp_path)
    session = asking(path)
    computed = []
    monkeypatch.setattr(sf.dp.Session, "_computed", lambda self, plans: computed.append(plans))
    monkeypatch.setattr(
        os,
        "write",
        lambda file, data: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    with pytest.raises(OutputError, match="nothing is answered"):
        session.count(epsilon=0.05)
    assert not computed


def test_hashes_bind_every_line_to_all_before(tmp_path):
    path = written(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[3], lines[4], lines[1], lines[2], *lines[5:]]))
    with pytest.raises(UnreadableInput, match="from line 2 on"):
        Ledger.at(path)


def test_threads_take_turns():
    from concurrent.futures import ThreadPoolExecutor

    session = sf.dp.session(sf.read(PEOPLE), budget=1.0, bounds={"age": (0, 100)})

    def ask(number):
        try:
            return session.where("age", "<", float(number)).count(epsilon=0.1).value
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(1, 31)))
    assert sum(value is not None for value in found) == 10 and session.spent == 1.0
