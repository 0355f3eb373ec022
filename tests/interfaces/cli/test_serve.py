"""``sfumato serve`` where it cannot start: what is wrong is named, with the exit code that goes
with it, and nothing is left.
"""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.interfaces.web import login_links
from sfumato.interfaces.web.project import Project
from tests.interfaces.web.pem import self_signed

needs_web = pytest.mark.skipif(
    importlib.util.find_spec("nicegui") is None, reason="needs the extra web"
)


@pytest.fixture
def serve(
    sfumato: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return lambda *words: sfumato("serve", "--no-browser", *words)


@pytest.fixture
def pem(tmp_path: Path) -> tuple[Path, Path]:
    return self_signed(tmp_path)


@needs_web
def test_what_cannot_be_read_is_named_before_anything_is_made(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    missing = serve(tmp_path / "none.csv")
    assert missing.code == 5 and "none.csv: this file does not exist" in missing.err
    folder = serve(tmp_path)
    assert (
        folder.code == 5
        and "sfumato profile" in folder.err
        and "Tables that belong together are handled in a terminal: sfumato profile" in folder.err
    )
    recipe = serve("-r", tmp_path / "none.yaml")
    assert recipe.code == 2 and "cannot read the recipe" in recipe.err
    (tmp_path / "bad.yaml").write_text("meet: [k_anonimity: {k: 5}]\nsteps: [nonsense: {}]")
    bad = serve("-r", tmp_path / "bad.yaml")
    assert (
        bad.code == 2 and "k_anonimity" in bad.err and "nonsense" in bad.err
    )  # all errors at once
    reading = serve("--delimiter", ";")
    assert reading.code == 2 and "options need a table" in reading.err
    assert not (tmp_path / "home").exists()


@needs_web
def test_a_project_that_is_open_damaged_or_no_project_is_refused(
    serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_links, "PATIENCE", 0.0)  # nobody is there to answer
    project = Project.open(tmp_path / "project")
    locked = serve("--project", tmp_path / "project")
    assert locked.code == 2 and "open in another workbench" in locked.err
    project.close()
    (tmp_path / "project" / "project.json").write_text("{")
    damaged = serve("--project", tmp_path / "project")
    assert damaged.code == 5 and "damaged" in damaged.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").write_text("mine")
    other = serve("--project", tmp_path / "mine")
    assert other.code == 2 and "contains other files" in other.err


@needs_web
def test_a_port_that_is_taken_is_named_and_the_project_let_go(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = serve("--project", tmp_path / "project", "--port", port)
    assert refused.code == 2 and f"port {port}: address already in use" in " ".join(
        refused.err.split()
    )
    Project.open(tmp_path / "project").close()
    assert serve("--port", 70000).code == 2


@needs_web
def test_others_are_let_in_only_when_it_is_meant_and_encrypted(
    serve: Callable[..., Any], tmp_path: Path, pem: tuple[Path, Path]
) -> None:
    own, key = pem
    for words, code, says in [
        (("--host", "192.0.2.1"), 2, "if you want that, add --to-others"),
        (
            ("--host", "192.0.2.1", "--certificate", own, "--key", key),
            2,
            "if you want that, add --to-others",
        ),
        (("--host", "192.0.2.1", "--to-others"), 2, "must be encrypted"),
        (("--host", "192.0.2.1", "--to-others", "--certificate", own), 2, "must be encrypted"),
        (
            ("--host", "0.0.0.0", "--to-others", "--certificate", own, "--key", key),
            2,
            "not all of them at once",
        ),
        (
            ("--host", "::", "--to-others", "--certificate", own, "--key", key),
            2,
            "not all of them at once",
        ),
        (
            ("--host", "192.0.2.1", "--to-others", "--certificate", own, "--key", own),
            5,
            "not a certificate with its key",
        ),
        (
            (
                "--host",
                "192.0.2.1",
                "--to-others",
                "--certificate",
                own,
                "--key",
                tmp_path / "locked.pem",
            ),
            5,
            "password",
        ),
        (
            ("--host", "192.0.2.1", "--to-others", "--certificate", own, "--key", tmp_path / "no"),
            5,
            "this file does not exist",
        ),
        (
            ("--host", "192.0.2.1", "--to-others", "--certificate", own, "--key", key),
            2,
            "cannot listen",
        ),
        (("--certificate", own, "--key", key), 2, "belong to --host"),
        (("--host", "localhost", "--to-others"), 2, "belong to --host"),
    ]:
        refused = serve("--project", tmp_path / "project", *words)
        assert refused.code == code and says in " ".join(refused.err.split()), words


def test_a_missing_extra_is_named(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "nicegui", None)
    missing = serve()
    assert missing.code == 2 and "pip install 'sfumato[web]'" in missing.err
    assert not (tmp_path / "home").exists()
