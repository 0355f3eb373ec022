"""The output checker: a table of outputs, decisions about certain bytes, and only what is approved
leaves.
"""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.interfaces.cli import outputs as command
from sfumato.interfaces.cli.app import build_app
from sfumato.results.checking.log import OutputLog


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    draw = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "region": draw.choice(["n", "s", "e"], 200, p=[0.6, 0.38, 0.02]),
            "cost": draw.lognormal(3, 0.5, 200).round(2),
        }
    )
    folder = tmp_path_factory.mktemp("made") / "outputs"
    with sf.output_session(folder, people, researcher="Ada <b>") as session:
        session.mean("cost", by=["region"], title="Mean <i>cost</i> by region")
        session.add(
            people.group_by("region").len("n"),
            "Persons by region",
            exception="regions are public",
            comment="annex",
        )
        session.add({"auc": 0.7}, "AUC")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "outputs")


def call(*words):
    result = CliRunner().invoke(build_app(["outputs"]), ["outputs", *map(str, words)])
    if isinstance(result.exception, SfumatoError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


def decide(folder, how, numbers, because="looked at", by="Cy"):
    return call("review", folder, f"--{how}", numbers, "--because", because, "--by", by)


def test_the_table_of_outputs(folder):
    code, text = call("review", folder)
    assert code == 1
    assert re.search(r"1 +Mean <i>cost</i> by +200 +✓ pass +undecided", text)
    assert "✗ fail" in text
    assert "exception asked" in re.sub(r"\s+", " ", text)
    code, text = call("review", folder, "--json")
    told = json.loads(text)
    assert (code, told["settled"], told["counts"]) == (1, False, {"undecided": 3})
    assert [one["status"] for one in told["outputs"]] == ["pass", "fail", "review"]


def test_one_output_is_opened(folder):
    code, text = call("review", folder, "--show", 2)
    assert code == 1
    for words in ("fewer than 10 persons", "comment: annex", "regions are public", "region,n"):
        assert words in text
    assert json.loads(call("review", folder, "--show", 3, "--json")[1])["content"].startswith("{")
    assert call("review", folder, "--show", 9) == (2, "output 9 does not exist; there are 3")


def test_decisions_are_kept_with_who_when_and_why(folder):
    code, _ = decide(folder, "approve", "1,3", because="rules hold")
    assert code == 1
    code, _ = decide(folder, "refuse", "2", because="three persons")
    assert code == 1  # all is decided, and one is refused
    decisions = OutputLog.at(folder).decisions
    assert [(one.number, one.decision, one.by, one.because) for one in decisions] == [
        (1, "approved", "Cy", "rules hold"),
        (3, "approved", "Cy", "rules hold"),
        (2, "refused", "Cy", "three persons"),
    ]
    assert decide(folder, "approve", "1-3", because="an exception")[0] == 0
    assert "approved by Cy" in call("review", folder, "--show", 2)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--approve", "1"), "a reason: give --because"),
        (("--approve", "1", "--because", "x"), "a name: give --by"),
        (("--approve", "1", "--because", " ", "--by", "Cy"), "a reason"),
        (("--because", "x"), "goes with --approve or --refuse"),
        (("--approve", "one", "--because", "x", "--by", "Cy"), "by their numbers"),
        (("--approve", "1-9", "--because", "x", "--by", "Cy"), "output 4 does not exist"),
        (("--approve", "1-2", "--refuse", "2", "--because", "x", "--by", "Cy"), "not both"),
    ],
)
def test_wrong_usage_decides_nothing(folder, words, said):
    code, text = call("review", folder, *words)
    assert code == 2
    assert said in text
    assert OutputLog.at(folder).decisions == []


def test_all_that_pass_at_once(folder):
    decide(folder, "approve", "passes")
    assert [one.state for one in OutputLog.at(folder).all_reviewed()] == [
        "approved",
        "undecided",
        "undecided",
    ]


def test_a_changed_file_needs_a_new_decision(folder, tmp_path):
    decide(folder, "approve", "1-3")
    file = next((folder / "files").glob("001-*"))
    file.write_text(file.read_text().replace("n", "N"))
    assert [one.state for one in OutputLog.at(folder).all_reviewed()] == [
        "changed",
        "approved",
        "approved",
    ]
    assert call("review", folder)[0] == 1
    code, text = call("release", folder, "-o", tmp_path / "out")
    assert code == 1
    assert "changed or missing: 1" in text
    assert not (tmp_path / "out").exists()
    assert "changed after it was checked" in call("review", folder, "--show", 1)[1]
    assert decide(folder, "approve", "1")[0] == 0
    assert call("release", folder, "-o", tmp_path / "out")[0] == 0
    manifest = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert manifest["outputs"]["released"][0]["checked"] == "changed after the check"


def test_only_what_is_approved_leaves(folder, tmp_path):
    out = tmp_path / "out"
    assert call("release", folder, "-o", out)[0] == 1
    decide(folder, "approve", "1")
    decide(folder, "refuse", "3")
    code, text = call("release", folder, "-o", out)
    assert (code, "2" in text, out.exists()) == (1, True, False)
    code, text = call("release", folder, "-o", out, "--partly")
    assert (code, text.strip().startswith("1 of 3 outputs released")) == (0, True)
    assert sorted(path.name for path in out.iterdir()) == [
        "001-mean-i-cost-i-by-region.csv",
        "certificate.json",
    ]
    assert (out / "001-mean-i-cost-i-by-region.csv").read_bytes() == next(
        (folder / "files").glob("001-*")
    ).read_bytes()
    assert call("release", folder, "-o", out, "--partly")[0] == 2  # nothing is replaced


def test_passes_need_approval_unless_they_are_accepted(folder, tmp_path):
    decide(folder, "refuse", "2-3")
    assert call("release", folder, "-o", tmp_path / "a")[0] == 1
    code, text = call("release", folder, "-o", tmp_path / "b", "--accept-passes", "--json")
    assert code == 0
    assert [
        (one["number"], one["released"]) for one in json.loads(text)["outputs"]["released"]
    ] == [(1, "passes")]
    file = next((folder / "files").glob("001-*"))
    file.write_text(file.read_text() + "z,1,2\n")
    assert call("release", folder, "-o", tmp_path / "c", "--accept-passes")[0] == 1


def test_what_is_refused_stays_though_it_passes(folder, tmp_path):
    decide(folder, "refuse", "1")
    decide(folder, "approve", "2-3")
    assert call("release", folder, "-o", tmp_path / "out", "--accept-passes")[0] == 0
    assert not list((tmp_path / "out").glob("001-*"))


def test_nothing_approved_is_nothing_released(folder, tmp_path):
    decide(folder, "refuse", "1-3")
    assert call("release", folder, "-o", tmp_path / "out") == (
        1,
        "no output is approved, so there is nothing to release; approve some first",
    )


def test_the_manifest_tells_no_secret(folder, tmp_path):
    decide(folder, "approve", "1-3", because="my reasons 4711")
    out = tmp_path / "out"
    assert call("release", folder, "-o", out)[0] == 0
    text = (out / "certificate.json").read_text()
    manifest = json.loads(text)
    assert manifest["outputs"]["rules"] == {"threshold": 10, "residual_df": 10, "zeros": True}
    for secret in (
        "dominant",
        '"share"',
        '"p"',
        "4711",
        "regions are public",
        "universe",
        "sample",
    ):
        assert secret not in text


def test_folders_that_are_no_sessions(tmp_path):
    for words in (("review", tmp_path), ("release", tmp_path, "-o", tmp_path / "out")):
        code, text = call(*words)
        assert code == 5
        assert "name the folder of a session" in text


def test_the_page(folder, tmp_path):
    decide(folder, "refuse", "2", because="<script>alert(1)</script>")
    page = tmp_path / "page.html"
    code, _ = call("review", folder, "--html", page)
    assert code == 1
    text = page.read_text()
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text
    assert "Mean &lt;i&gt;cost&lt;/i&gt; by region" in text
    assert "Ada &lt;b&gt;" in text
    assert "regions are public" in text
    assert "fewer than 10 persons" in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text


def test_on_a_terminal_one_after_the_other(folder, monkeypatch):
    monkeypatch.setattr(command, "_is_terminal", lambda: True)
    answers = "x\na\nCy\nrules hold\nr\nthree persons\nq\n"
    result = CliRunner().invoke(
        build_app(["outputs"]), ["outputs", "review", str(folder)], input=answers
    )
    assert result.exit_code == 1
    decided = [
        (one.number, one.decision, one.by, one.because) for one in OutputLog.at(folder).decisions
    ]
    assert decided == [(1, "approved", "Cy", "rules hold"), (2, "refused", "Cy", "three persons")]


def test_a_session_without_outputs(tmp_path):
    sf.output_session(tmp_path / "empty")
    code, text = call("review", tmp_path / "empty")
    assert code == 1
    assert "no outputs yet; add some" in text
