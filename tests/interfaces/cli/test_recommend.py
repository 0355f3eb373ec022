"""``sfumato recommend``: never blocks without a terminal, says what it assumed, and leaves a
release that verifies.
"""

from __future__ import annotations

import json

import pytest

from sfumato import examples
from sfumato.guidance.profiling.questions import undecided_question
from sfumato.interfaces.cli import recommend as command
from tests.guidance.recommendation.test_recommend import masked_only, with_race


@pytest.fixture
def visits(tmp_path):
    file = tmp_path / "visits.csv"
    examples.visits(rows=2000).to_polars().head(400).write_csv(file)
    return file


def test_one_command_from_a_file_to_a_release_that_verifies(sfumato, visits, tmp_path):
    where = ["-o", tmp_path / "rec", "--run", tmp_path / "out", "--workers", 1]
    answers = [
        "--recipient",
        "internal",
        "--contract",
        "yes",
        "--sensitivity",
        "low",
        "--keep",
        "sex,fee",
    ]
    done = sfumato("recommend", visits, *where, *answers, "--decide", "patient=person")
    assert done.code == 0, done.err
    assert "population is unknown" in done.err and "counts as small" in done.err
    assert (
        "5-anonymity" in done.out and "Why not the others" in done.out and "Not known" in done.out
    )
    assert "complian" not in done.out.lower()
    assert (
        sfumato("verify", tmp_path / "out" / "share").code == 7
    )  # its limit on an attack needs the original
    assert sfumato("verify", tmp_path / "out" / "share", "--original", visits).code == 0
    again = sfumato(
        "check", tmp_path / "out" / "share" / "data.csv", "-r", tmp_path / "rec" / "recipe.yaml"
    )
    assert again.code == 0, again.err
    assert (
        sfumato("recommend", visits, *where).code == 2
    )  # nothing is replaced without being told to


def test_open_decisions_stop_it_before_anything_is_written(sfumato, tmp_path):
    file = tmp_path / "visits.csv"
    examples.visits(rows=5000).to_polars().rename({"patient": "zq"}).write_csv(file)
    stopped = sfumato("recommend", file, "-o", tmp_path / "rec")
    assert stopped.code == 2
    assert "--decide zq=ROLE" in stopped.err
    assert not (tmp_path / "rec").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--recipient", "everyone"),
        ("--population", "many"),
        ("--decide", "patient"),
        ("--keep", "nothing_of_the_kind"),
        ("--answers", "nowhere.yaml"),
    ],
)
def test_wrong_answers_end_with_code_2(sfumato, visits, tmp_path, wrong):
    done = sfumato("recommend", visits, "-o", tmp_path / "rec", *wrong)
    assert done.code == 2 and done.err
    assert not (tmp_path / "rec").exists()


def test_a_terminal_is_asked_and_wrong_answers_again(sfumato, visits, tmp_path, monkeypatch):
    given = iter(["everyone", "internal", "yes", "low", "1000000", "", "boss", "person"])
    monkeypatch.setattr(command.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(command.typer, "prompt", lambda *_, **__: next(given))
    monkeypatch.setattr(
        "sfumato.guidance.recommendation.inspection.open_decisions",
        lambda *_: (undecided_question(["patient"]),),
    )
    done = sfumato("recommend", visits, "-o", tmp_path / "rec", "--workers", 1)
    assert done.code == 0, done.err
    told = json.loads((tmp_path / "rec" / "recommendation.json").read_text("utf-8"))
    assert told["answers"]["recipient"] == "internal" and told["answers"]["population"] == 1_000_000
    assert told["answers"]["decide"] == {"patient": "person"} and told["assumed"] == {}


def test_json_has_everything(sfumato, visits, tmp_path):
    answers = tmp_path / "answers.yaml"
    answers.write_text(
        "recipient: trusted\ncontract: yes\nsensitivity: low\ndecide: {patient: person}\n", "utf-8"
    )
    done = sfumato(
        "recommend",
        visits,
        "-o",
        tmp_path / "rec",
        "--answers",
        answers,
        "--json",
        "-q",
        "--workers",
        1,
    )
    told = json.loads(done.out)
    assert told["best"]["holds"] and told["comparison"]["candidates"]
    assert told["promises"][0] == {"k_anonymity": {"k": 3}}
    assert set(told["assumed"]) == {"population"}


def test_the_command_ends_with_one_and_makes_no_release_unless_accepted(
    sfumato, tmp_path, monkeypatch
):
    masked_only(monkeypatch)
    table = tmp_path / "few.csv"
    with_race(60).to_polars().write_csv(table)
    decided = [
        f"--decide={each}"
        for each in ("age=quasi", "race=quasi+sensitive", "job=quasi", "ill=sensitive")
    ]
    asked = ("recommend", table, *decided, "--workers", 1, "--run", tmp_path / "out")
    refused = sfumato(*asked, "-o", tmp_path / "rec")
    assert refused.code == 1 and "Fallback for" in refused.out and "--accept-limits" in refused.err
    assert (tmp_path / "rec" / "recipe.yaml").is_file() and not (tmp_path / "out").exists()
    taken = sfumato(*asked, "-o", tmp_path / "rec2", "--accept-limits")
    assert taken.code == 0 and "Fallback for" in taken.out and (tmp_path / "out" / "share").is_dir()
