"""Four parties in four processes over TCP and TLS: the worked example, and one of them killed,
rambling, repeating, a stranger, late.
"""

from __future__ import annotations

import datetime
import json
import multiprocessing
import subprocess
import sys

import pytest

from sfumato.parties.attempt import Attempt, State
from sfumato.parties.channel import Phase
from sfumato.parties.keys import new_keys
from sfumato.parties.study import read_study
from tests.parties.party_process import KILLED, party
from tests.parties.studies import AGES, NAMES, document, keys_in, spent, statuses, written

pytestmark = pytest.mark.slow

NOISY = {
    "question": {"mean": {"column": "age", "bounds": ["0", "120"], "scale": 0}},
    "noise": {"epsilon": "0.5", "colluders": 1},
}
PATIENCE = 120


@pytest.fixture(scope="module")
def processes():
    """Where processes come from: one that has loaded everything and is copied."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            "tests.parties.party_process",
            "scipy.stats",
            "ruamel.yaml",
            "cryptography.hazmat.primitives.asymmetric.ed25519",
        ]
    )
    return context


@pytest.fixture
def folder(tmp_path):
    """Keys and a signed study with noise."""
    written(tmp_path, document(tmp_path, **NOISY))
    return tmp_path


def run(processes, folder, *, odd=None, studies=None, absent=()):
    """How it ended at every party that came and was not killed."""
    started = {}
    for number in range(4):
        report = folder / f"report{number}.json"
        report.unlink(missing_ok=True)
        if number in absent:
            continue
        study = (studies or {}).get(number, "study.yaml")
        behaviour = (odd or {}).get(number, ("", 0))
        args = (str(folder / study), str(folder), number, str(report), behaviour)
        started[number] = processes.Process(target=party, args=args)
        started[number].start()
    for number, process in started.items():
        process.join(PATIENCE)
        if process.exitcode is None:
            process.kill()
        assert process.exitcode == (
            KILLED if (odd or {}).get(number, ("",))[0].startswith("kill") else 0
        )
    reports = {number: folder / f"report{number}.json" for number in started}
    return {
        number: json.loads(path.read_text()) for number, path in reports.items() if path.exists()
    }


def attempts(folder):
    study = read_study(folder / "study.yaml")
    return [Attempt.load(folder / name / f"{study.id}.{name}.attempt") for name in NAMES]


def errors(reports):
    return {number: report.get("error") for number, report in reports.items()}


def require_same_answer_again(processes, folder):
    """All come back: one answer, the noise that was drawn, one loss; what was known before is the
    same.
    """
    before = attempts(folder)
    ended = run(processes, folder)
    study = read_study(folder / "study.yaml")
    for number in range(4):
        assert ended[number]["result"]["study"]["answer"] == ended[0]["result"]["study"]["answer"]
        assert statuses(ended[number]["result"], study) == {"holds"}
    for old, new in zip(before, attempts(folder), strict=True):
        assert new.state is State.CONFIRMED
        assert old is None or old.noise == new.noise
        assert old is None or old.answer in (None, new.answer)
    assert [spent(folder, name) for name in NAMES] == [(0.5, 1)] * 4


def test_the_worked_example_from_the_command_line(tmp_path):
    plain = document(tmp_path, question={"mean": {"column": "age", "bounds": ["0", "120"]}})
    path = written(tmp_path, plain)
    for name, ages in zip(NAMES, AGES, strict=True):
        (tmp_path / f"{name}.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
    command = [sys.executable, "-m", "sfumato", "party", str(path)]
    commands = [
        [
            *command,
            str(tmp_path / f"{name}.csv"),
            "--as",
            name,
            "--json",
            "-q",
            "--keys",
            str(tmp_path / name),
        ]
        for name in NAMES
    ]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    ended = [process.communicate(timeout=PATIENCE) for process in started]
    assert [process.returncode for process in started] == [0] * 4, ended
    assert all(
        json.loads(out)["study"]["answer"] == {"count": 10, "mean": 67.1} for out, _ in ended
    )
    results = [json.loads((tmp_path / f"study.{name}.json").read_text()) for name in NAMES]
    assert len({result["study"]["public_digest"] for result in results}) == 1


@pytest.mark.parametrize("how", ["kill", "kill amid"])
@pytest.mark.parametrize(
    "phase", [Phase.HELLO, Phase.GATES, Phase.SHARE, Phase.OPEN, Phase.CONFIRM]
)
def test_one_is_killed(processes, folder, phase, how):
    ended = run(processes, folder, odd={1: (how, int(phase))})
    study = read_study(folder / "study.yaml")
    if (how, phase) == (
        "kill amid",
        Phase.CONFIRM,
    ):  # one has heard all signatures: nothing is missing there
        assert statuses(ended.pop(0)["result"], study) == {"holds"}
    assert set(errors(ended).values()) <= {"PartyLeft", "PartyMissing"}
    assert all("result" not in report for report in ended.values())
    require_same_answer_again(processes, folder)


@pytest.mark.parametrize("how", ["garbage", "replay", "session"])
def test_one_sends_what_does_not_fit(processes, folder, how):
    ended = run(processes, folder, odd={2: (how, int(Phase.SHARE))})
    survivors = {number: error for number, error in errors(ended).items() if number != 2}
    assert set(survivors.values()) <= {"WrongMessage", "PartyLeft"}
    assert "WrongMessage" in survivors.values()
    assert all("result" not in report for report in ended.values())
    require_same_answer_again(processes, folder)


def test_one_reads_another_study(processes, folder):
    other = document(folder, **NOISY, records_at_most=999, id="f" * 32)
    other["parties"] = read_study(folder / "study.yaml").document["parties"]
    written(folder, other, name="other.yaml")
    ended = run(processes, folder, studies={3: "other.yaml"})
    assert set(errors(ended).values()) <= {"WrongStudy", "PartyLeft"}
    assert "WrongStudy" in errors(ended).values()
    assert all(attempt is None or attempt.state is State.PLANNED for attempt in attempts(folder))


def test_one_has_an_expired_certificate(processes, tmp_path):
    new_keys(
        tmp_path / NAMES[2],
        NAMES[2],
        days=1,
        now=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    )
    keys_in(tmp_path)
    plain = document(tmp_path, **NOISY)
    plain["limits"]["connect"] = 8
    written(tmp_path, plain)
    ended = run(processes, tmp_path, odd={0: ("patient", 0)})
    assert set(errors(ended).values()) <= {"WrongCertificate", "PartyMissing", "PartyLeft"}
    assert errors(ended)[0] == "WrongCertificate"
    assert all(attempt.state is State.PLANNED for attempt in attempts(tmp_path))
    assert [spent(tmp_path, name) for name in NAMES] == [(0.5, 1)] * 4


def test_one_does_not_come(processes, folder):
    plain = document(folder, **NOISY)
    plain["limits"]["connect"] = 4
    written(folder, plain)
    ended = run(processes, folder, absent={1})
    assert set(errors(ended).values()) == {"PartyMissing"}
    assert [attempt is None for attempt in attempts(folder)] == [False, True, False, False]
