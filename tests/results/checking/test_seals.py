"""The log of a session: cut, moved, repeated, changed or replayed lines are noticed, and what is
not noticed is said.
"""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.interfaces.cli.app import build_app
from sfumato.release.signatures import new_key
from sfumato.release.verify import verify
from sfumato.results.checking.log import OUTPUT_LOG, OutputLog
from tests.core.forged_journals import chain_again

PEOPLE = pl.DataFrame({"region": ["n", "s"] * 40, "cost": [float(i % 9 + 1) for i in range(80)]})


def call(*words):
    result = CliRunner().invoke(build_app(["outputs"]), ["outputs", *map(str, words)])
    if isinstance(result.exception, SfumatoError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    for name in ("key.pem", "other.pem"):
        new_key(place / name)
    with sf.output_session(place / "s", PEOPLE, researcher="Ada") as session:
        session.count(["region"])
        session.mean("cost")
        session.mean("cost", by=["region"])
    log = OutputLog.at(place / "s")
    for number in (1, 2):
        log.decide(number, "approved", by="Cy", because="rules hold")
    log.decide(3, "refused", by="Cy", because="not asked for")
    return place


@pytest.fixture
def place(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copy")


def lines_of(place):
    return (place / "s" / "session.jsonl").read_text().splitlines()


def write(place, lines):
    (place / "s" / "session.jsonl").write_text("".join(f"{line}\n" for line in lines))


def forge(place, lines):
    """Write a log anew, with its head."""
    forged, last = chain_again(lines, OUTPUT_LOG)
    write(place, forged)
    (place / "s" / "head.json").write_text(
        json.dumps({"entries": len(forged), "hash": last}) + "\n"
    )


EDITS = {
    "the last line is cut": lambda lines: lines[:-1],
    "all decisions are cut": lambda lines: lines[:4],
    "all but the first is cut": lambda lines: lines[:1],
    "a line in the middle is taken out": lambda lines: [*lines[:2], *lines[3:]],
    "two lines change places": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "a line is repeated": lambda lines: [*lines, lines[-1]],
    "an earlier decision is replayed": lambda lines: [*lines, lines[4]],
    "a word is changed": lambda lines: [*lines[:-1], lines[-1].replace("refused", "approved")],
    "the rules are changed": lambda lines: [
        lines[0].replace('"rules":{}', '"rules":{"threshold":2}'),
        *lines[1:],
    ],
    "nothing is left": lambda lines: [],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_edits_are_noticed(place, edit):
    changed = edit(lines_of(place))
    assert changed != lines_of(place)
    write(place, changed)
    with pytest.raises(UnreadableInput, match=r"changed after it was written|at its end"):
        OutputLog.at(place / "s")
    for words in (("review", place / "s"), ("release", place / "s", "-o", place / "out")):
        assert call(*words)[0] == 5
    with pytest.raises(UnreadableInput):
        sf.output_session(place / "s", PEOPLE)
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{}",
        "[]",
        '{"entries": "6", "hash": 1}',
        '{"entries": 99, "hash": "0"}',
        '{"entries": 0, "hash": "0"}',
    ],
)
def test_a_head_that_is_gone_or_none(place, text):
    head = place / "s" / "head.json"
    head.unlink() if text is None else head.write_text(text)
    with pytest.raises(UnreadableInput, match=r"cut off|lost entries at its end"):
        OutputLog.at(place / "s")


def test_a_process_that_died_between_the_line_and_the_head(place):
    head = (place / "s" / "head.json").read_text()
    log = OutputLog.at(place / "s")
    log.decide(3, "refused", by="Cy", because="still")
    (place / "s" / "head.json").write_text(head)  # one line behind
    assert len(OutputLog.at(place / "s").decisions) == 4
    OutputLog.at(place / "s").decide(3, "refused", by="Cy", because="and again")
    assert json.loads((place / "s" / "head.json").read_text())["entries"] == len(lines_of(place))


# Seals: what somebody cannot forge who can write the folder


FORGERIES = {
    "decisions are cut": lambda lines: lines[:4],
    "a refusal becomes an approval": lambda lines: [
        *lines[:-1],
        lines[-1].replace("refused", "approved"),
    ],
    "laxer rules": lambda lines: [
        lines[0].replace('"rules":{}', '"rules":{"threshold":2}'),
        *lines[1:],
    ],
    "another order": lambda lines: [*lines[:4], lines[6], lines[5], lines[4]],
    "a fail becomes a pass": lambda lines: [
        line.replace("rules hold", "rules held") for line in lines
    ],
}


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES.keys())
@pytest.mark.parametrize("way", ["signed", "apart"])
def test_a_log_that_was_written_anew_is_noticed_by_its_seal(place, edit, way):
    made, kept = {
        "signed": (("--sign", place / "key.pem"), ("--key", place / "key.pub.pem")),
        "apart": (("--seal", place / "mine.json"), ("--seal", place / "mine.json")),
    }[way]
    assert call("review", place / "s", *made)[0] == 1
    assert call("review", place / "s", *kept)[0] == 1
    forge(place, edit(lines_of(place)))
    OutputLog.at(place / "s")  # nothing in the folder itself tells
    code, text = call("review", place / "s", *kept)
    assert (code, "not the sealed one" in text) == (5, True)
    assert call("release", place / "s", "-o", place / "out", *kept)[0] == 5
    assert not (place / "out").exists()


def test_seals_that_are_gone_forged_or_of_another_key(place):
    key, public = place / "key.pem", place / "key.pub.pem"
    code, text = call("review", place / "s", "--key", public)
    assert (code, "was not sealed" in text) == (5, True)
    call("review", place / "s", "--sign", key)
    seal = place / "s" / "seal.jsonl"
    good = seal.read_text()
    assert call("review", place / "s", "--key", place / "other.pub.pem")[0] == 5
    for wrong in (good.replace('"entries":7', '"entries":4'), "{}", "no"):
        seal.write_text(wrong)
        assert call("review", place / "s", "--key", public)[0] == 5
        assert call("review", place / "s")[0] == 5  # changed after it was signed, whoever signed it
    seal.write_text(good)
    assert (
        call("review", place / "s", "--seal", seal)[0] == 2
    )  # a signed seal is not replaced by one that is not
    seal.unlink()
    assert call("release", place / "s", "-o", place / "out", "--key", public)[0] == 5


def test_a_decision_after_the_seal_is_nobodys(place):
    key, public = place / "key.pem", place / "key.pub.pem"
    call("review", place / "s", "--sign", key)
    OutputLog.at(place / "s").decide(3, "approved", by="Cy", because="so says the researcher")
    code, text = call("release", place / "s", "-o", place / "out", "--key", public)
    assert (code, "after the log was sealed" in text) == (1, True)
    assert (
        call("release", place / "s", "-o", place / "loose")[0] == 0
    )  # without a key nobody can tell
    with sf.output_session(place / "s", PEOPLE) as session:
        session.count(["region"], title="One more")
    again = (
        "review",
        place / "s",
        "--because",
        "again",
        "--by",
        "Cy",
        "--sign",
        key,
        "--key",
        public,
    )
    code, text = call(*again, "--refuse", 4)
    assert (code, "decide outputs" in text) == (
        2,
        True,
    )  # who signs says nothing that somebody else wrote
    assert call(*again, "--refuse", "3,4")[0] == 1
    assert call("release", place / "s", "-o", place / "out", "--key", public)[0] == 0


def test_what_can_be_noticed_is_said(place):
    folder = place / "s"
    assert "rewritten folder" in call("review", folder)[1]
    assert json.loads(
        CliRunner()
        .invoke(build_app(["outputs"]), ["outputs", "review", str(folder), "--json"])
        .output
    )["noticed"]
    call("review", folder, "--sign", place / "key.pem")
    assert "that anybody may have written: give the key" in call("review", folder)[1]
    assert (
        "older copy of the whole folder"
        in call("review", folder, "--key", place / "key.pub.pem")[1]
    )
    apart = call("review", folder, "--seal", place / "mine.json", "--sign", place / "key.pem")[1]
    assert "later lines may be from anybody" in apart


def test_a_release_tells_how_far_the_log_went(place):
    out = place / "out"
    assert call("release", place / "s", "-o", out, "--sign", place / "key.pem")[0] == 0
    kept = json.loads((out / "certificate.json").read_text())["outputs"]["log"]
    assert (kept["entries"], kept["outputs"], kept["decisions"]) == (7, 3, 3)
    assert kept["head"] == json.loads(lines_of(place)[-1])["hash"]
    said = {one.name: one for one in verify(out).claims}
    assert said["log"].status == "needs original"
    assert "not noticed" in said["log"].detail
    assert call("verify", out)[0] == 7
    assert {one.name: one.status for one in verify(out, owner=place / "s").claims}["log"] == "holds"
    with sf.output_session(place / "s", PEOPLE) as session:
        session.count(["region"], title="Later")
    code, text = call("verify", out, "--session", place / "s", "--key", place / "key.pub.pem")
    assert (code, "all 7 lines of the release are there, and 1 since" in text) == (0, True)


@pytest.mark.parametrize("edit", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_log_that_is_another_one_after_the_release(place, edit):
    out = place / "out"
    call("release", place / "s", "-o", out)
    forge(place, edit(lines_of(place)))
    code, text = call("verify", out, "--session", place / "s")
    assert (code, "rewritten" in text) == (1, True)
    write(place, lines_of(place)[:-1])
    assert call("verify", out, "--session", place / "s")[0] == 1


def test_a_folder_that_nobody_signed_says_so(place):
    call("release", place / "s", "-o", place / "out")
    code, text = call("verify", place / "out")
    assert code == 7 and "1 of 1 promise needs the original" in text
    assert "none: anybody who can write here" in text
    manifest = json.loads((place / "out" / "certificate.json").read_text())
    manifest["outputs"]["log"]["entries"] = 3
    (place / "out" / "certificate.json").write_text(json.dumps(manifest))
    assert call("verify", place / "out")[0] == 1  # its digest is of all of it
