"""``sfumato party``: keys, draft, signatures, what is told beforehand, refusals, and checking a
result.
"""

from __future__ import annotations

import json

import pytest

from sfumato.parties.study import read_study
from tests.parties.studies import AGES, NAMES, document, free_ports, written
from tests.parties.test_conduct import run

QUESTION = '{mean: {column: age, bounds: ["0", "120"]}}'


@pytest.fixture
def place(tmp_path, sfumato):
    """Entries of three parties, a draft, and the table of one of them."""
    for name, port in zip("abc", free_ports(3), strict=True):
        told = sfumato(
            *("key", "party", "--name", name, "-o", tmp_path / name),
            *("--address", f"127.0.0.1:{port}", "--dataset", f"patients of {name}", "-q"),
        )
        assert told.code == 0
        (tmp_path / f"{name}.yaml").write_text(told.out)
    entries = [tmp_path / f"{name}.yaml" for name in "abc"]
    assert (
        sfumato(
            "party", "draft", *entries, "--question", QUESTION, "-o", tmp_path / "study.yaml"
        ).code
        == 0
    )
    (tmp_path / "a.csv").write_text("age\n" + "".join(f"{age}\n" for age in AGES[0]))
    return tmp_path


def test_a_draft_is_a_study_and_is_not_overwritten(place, sfumato):
    assert [party.number for party in read_study(place / "study.yaml").parties] == [0, 1, 2]
    again = sfumato(
        "party", "draft", place / "a.yaml", "--question", QUESTION, "-o", place / "study.yaml"
    )
    assert again.code == 2 and "never overwritten" in again.err
    few = sfumato(
        "party",
        "draft",
        place / "a.yaml",
        place / "b.yaml",
        "--question",
        QUESTION,
        "-o",
        place / "few.yaml",
    )
    assert few.code == 2 and "two_parties" in few.err
    assert not (place / "few.yaml").exists()


def test_keys_are_not_overwritten_and_what_is_secret_is_not_printed(place, sfumato):
    again = sfumato("key", "party", "--name", "a", "-o", place / "a")
    assert again.code == 2 and "never overwritten" in again.err
    printed = (place / "a.yaml").read_text()
    assert "PRIVATE" not in printed
    assert (place / "a" / "a.secret").read_text().strip() not in printed


def test_signing_goes_round(place, sfumato):
    study = place / "study.yaml"
    told = [
        sfumato("party", "sign", study, "--key", place / name / f"{name}.signing.pem")
        for name in "abc"
    ]
    assert [one.code for one in told] == [0, 0, 0]
    assert "not yet signed by b, c" in told[0].err
    assert "all have signed" in told[2].err


def test_check_tells_what_is_learned_and_does_nothing(place, sfumato):
    told = sfumato("party", place / "study.yaml", "--check", "--json")
    assert told.code == 0
    said = json.loads(told.out)
    assert said["unsigned"] == ["a", "b", "c"]
    assert said["cost"]["bytes_sent"] > 0
    assert any("could learn" in line for line in said["learned"])
    assert "learned" in sfumato("party", place / "study.yaml", "--check").out


def test_an_unsigned_study_is_not_run(place, sfumato):
    _hurried(place)
    told = sfumato(
        "party", place / "study.yaml", place / "a.csv", "--as", "a", "--keys", place / "a"
    )
    assert told.code == 2 and "did not sign" in told.err
    assert not list(place.glob("study.*.json"))


def test_without_the_others_there_is_no_answer(place, sfumato):
    _hurried(place)
    for name in "abc":
        sfumato(
            "party", "sign", place / "study.yaml", "--key", place / name / f"{name}.signing.pem"
        )
    told = sfumato(
        "party", place / "study.yaml", place / "a.csv", "--as", "a", "--keys", place / "a"
    )
    assert told.code == 6 and "did not connect" in told.err
    assert not list(place.glob("study.*.json"))


def _hurried(place):
    study = place / "study.yaml"
    study.write_text(study.read_text().replace("connect: 60", "connect: 1"))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere.yaml", "a.csv", "--as", "a"), 5, "does not exist"),
        (("study.yaml",), 2, "--as"),
        (("study.yaml", "a.csv", "--as", "d"), 2, "no party 'd'"),
        (("study.yaml", "a.csv", "--az", "a"), 2, "does not exist"),
        (("sgin", "study.yaml"), 2, "Did you mean 'sign'?"),
        (("study.yaml", "a.csv", "--as", "a", "--keys", "b"), 5, "lacks a.crt, a.key"),
        (("study.yaml", "a.csv", "--as", "a", "--keys", "a", "-o", "b"), 2, "is a folder"),
        (
            ("study.yaml", "a.csv", "--as", "a", "--keys", "a", "-o", "nowhere/x.json"),
            2,
            "cannot write to the folder",
        ),
        (
            ("study.yaml", "a.csv", "--as", "a", "--keys", "a", "-o", "a.yaml"),
            2,
            "not a result of this study",
        ),
        (
            ("study.yaml", "a.csv", "--as", "a", "--keys", "a", "--release", "t.csv"),
            2,
            "asks for mean",
        ),
    ],
)
def test_wrong_words_are_said_to_be_wrong(place, sfumato, monkeypatch, words, code, said):
    monkeypatch.chdir(place)
    told = sfumato("party", *words)
    assert told.code == code and said in told.err
    assert not list(place.rglob("*.attempt*"))  # said before anything is begun


def test_a_released_table_replaces_no_file(tmp_path):
    from sfumato.errors import OutputError
    from sfumato.interfaces.cli.party import _require_targets

    release = {"release": {"attributes": {"age": {"role": "quasi", "between": [20, 69]}}, "k": 2}}
    study = read_study(written(tmp_path, document(tmp_path, question=release)))
    (tmp_path / "patients.csv").write_text("age\n30\n")
    with pytest.raises(OutputError, match="never overwritten"):
        _require_targets(study, tmp_path / "result.json", tmp_path / "patients.csv")
    _require_targets(study, tmp_path / "result.json", tmp_path / "table.csv")


def test_a_draft_takes_roles_and_noise(place, sfumato):
    entries = [place / f"{name}.yaml" for name in "abc"]
    roles = "{name: encrypted, server: a, key_holder: b}"
    told = sfumato(
        "party",
        "draft",
        *entries,
        "--question",
        QUESTION,
        "--protocol",
        roles,
        "-o",
        place / "encrypted.yaml",
    )
    assert told.code == 0 and read_study(place / "encrypted.yaml").protocol.key_holder == "b"
    told = sfumato(
        "party",
        "draft",
        *entries,
        "--question",
        QUESTION,
        "--protocol",
        "encrypted",
        "-o",
        place / "x.yaml",
    )
    assert told.code == 2 and "needs a server" in told.err and "None" not in told.err
    told = sfumato(
        *("party", "draft", *entries, "--question", QUESTION, "-o", place / "x.yaml"),
        *("--noise", '{epsilon: "0.5", colluders: 1}'),
    )
    assert told.code == 2 and "ledger_id" in told.err  # of entries without one


def test_a_study_that_was_changed_after_signing_says_so(place, sfumato):
    study = place / "study.yaml"
    sfumato("party", "sign", study, "--key", place / "a" / "a.signing.pem")
    study.write_text(study.read_text().replace('"120"', '"110"'))
    told = sfumato("party", study, "--check").out
    assert "b, c did not sign" in told and "signed another text" in told


def test_a_result_is_verified(tmp_path, sfumato):
    path = written(tmp_path, document(tmp_path))
    result = run(tmp_path, read_study(path))[0].certificate
    (tmp_path / "result.json").write_text(json.dumps(result))
    told = sfumato("party", "verify", tmp_path / "result.json", "--study", path)
    assert told.code == 0 and all(name in told.out for name in NAMES)
    (tmp_path / "result.json").write_text(
        json.dumps({**result, "study": {**result["study"], "answer": {"count": 10, "mean": 68.0}}})
    )
    told = sfumato("party", "verify", tmp_path / "result.json", "--study", path, "--json")
    assert told.code == 1 and json.loads(told.out)["holds"] is False
    (tmp_path / "result.json").write_text("{}")
    assert sfumato("party", "verify", tmp_path / "result.json", "--study", path).code == 5


def test_a_result_of_another_study_is_not_replaced(place, sfumato, tmp_path):
    (tmp_path / "other.json").write_text(json.dumps({"certificate": {"study": "another"}}))
    from sfumato.errors import OutputError
    from sfumato.interfaces.cli.party import _write_result
    from sfumato.parties.conduct import StudyResult

    with pytest.raises(OutputError, match="not a result of this study"):
        _write_result(tmp_path / "other.json", StudyResult({"study": {"digest": "ours"}}))


def test_a_joint_release_is_written_as_a_table(tmp_path):
    from sfumato.errors import ParameterError
    from sfumato.interfaces.cli.party import _write_table
    from sfumato.parties.conduct import StudyResult

    answer = {
        "columns": ["age", "sex"],
        "combinations": [["20-29", "x"], ["40-49", "y"]],
        "counts": [2, 1],
    }
    _write_table(tmp_path / "release.csv", StudyResult({"study": {"answer": answer}}))
    assert (tmp_path / "release.csv").read_text() == "age,sex\n20-29,x\n20-29,x\n40-49,y\n"
    with pytest.raises(
        ParameterError,
        match="--release: this answer contains no table, or it is with the collector",
    ):
        _write_table(tmp_path / "none.csv", StudyResult({"study": {"answer": {"mean": 1.0}}}))
