"""Checks of a folder that outputs were released to: it holds what was approved, as the session's
log says."""

from __future__ import annotations

import json
import re

from typer.testing import CliRunner

from sfumato.release.signatures import digest_of
from sfumato.release.verify import verify
from tests.results.checking.test_reviews import (
    call,
    decide,
    folder,  # noqa: F401 - a fixture
    made,  # noqa: F401 - a fixture
)


def test_a_released_folder_is_verified(folder, tmp_path):  # noqa: F811
    decide(folder, "approve", "1-3")
    out = tmp_path / "out"
    call("release", folder, "-o", out)
    assert call("verify", out)[0] == 7  # nothing shows that anybody approved them
    assert call("verify", out, "--session", folder)[0] == 0
    (out / "more.csv").write_text("a\n")
    assert call("verify", out)[0] == 1
    (out / "more.csv").unlink()
    file = next(out.glob("002-*"))
    file.write_text("changed")
    assert {one.name for one in verify(out).claims if one.status == "fails"} == {"folder"}
    manifest = json.loads((out / "certificate.json").read_text())
    manifest["outputs"]["rules"]["threshold"] = 3
    (out / "certificate.json").write_text(json.dumps(manifest))
    assert "certificate unedited" in {
        one.name for one in verify(out).claims if one.status == "fails"
    }
    manifest["outputs"]["released"][0]["file"] = "../session.jsonl"
    (out / "certificate.json").write_text(json.dumps({**manifest, "digest": digest_of(manifest)}))
    assert {one.name for one in verify(out).claims if one.status == "fails"} == {
        "folder",
        "outputs listed",
    }
    assert call("verify", tmp_path)[0] == 5


def test_a_signed_manifest(folder, tmp_path):  # noqa: F811
    from sfumato.interfaces.cli.app import build_app as app

    assert (
        CliRunner().invoke(app(["key"]), ["key", "sign", str(tmp_path / "key.pem")]).exit_code == 0
    )
    decide(folder, "approve", "1-3")
    out = tmp_path / "out"
    assert call("release", folder, "-o", out, "--sign", tmp_path / "key.pem")[0] == 0
    public = next(tmp_path.glob("*.pub.pem"))
    assert call("verify", out, "--key", public)[0] == 0
    CliRunner().invoke(app(["key"]), ["key", "sign", str(tmp_path / "other.pem")])
    assert call("verify", out, "--key", tmp_path / "other.pub.pem")[0] == 1


def test_strangers_are_told_and_never_released(folder, tmp_path):  # noqa: F811
    (folder / "files" / "999-mine.csv").write_text("a\n")
    assert "files beside them are not in the log and are never released" in re.sub(
        r"\s+", " ", call("review", folder)[1]
    )
    decide(folder, "approve", "1-3")
    call("release", folder, "-o", tmp_path / "out")
    assert not list((tmp_path / "out").glob("999*"))
