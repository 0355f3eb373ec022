"""Where projects are: one a table, in the user's own data folder, and a list of those that were
open last."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.interfaces.web.folders import forget_recent, project_of, recent, remember
from sfumato.interfaces.web.project import Project


def test_a_table_has_its_project_and_the_last_ones_are_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    one, other = project_of(Path("/a/visits.csv")), project_of(Path("/b/visits.csv"))
    assert one == project_of(Path("/a/visits.csv")) != other and one.name.startswith("visits-")
    assert project_of(Path("/a/a b\"'<.csv")).name.startswith("a-b-") and project_of(
        Path("/a/….csv")
    ).name.startswith("table-")
    held = Project.open(project_of(None))
    assert (
        held.folder.name == "untitled-1" and project_of(None).name == "untitled-2"
    )  # somebody is about to use the first
    held.close()
    assert project_of(None).name == "untitled-1"
    for folder in (one, other):
        folder.mkdir(parents=True)
        (folder / "project.json").write_text("{}")
        remember(folder, "visits.csv", 7)
    remember(one, "visits.csv", 8)
    assert [(entry["folder"], entry["records"]) for entry in recent()] == [
        (str(one), 8),
        (str(other), 7),
    ]
    (one / "project.json").unlink()
    assert [(entry["folder"], entry["there"]) for entry in recent()] == [
        (str(one), False),
        (str(other), True),
    ]
    forget_recent(str(one))
    assert [entry["folder"] for entry in recent()] == [str(other)] and not recent(besides=other)
    (tmp_path / "sfumato" / "recent.json").write_text('[1, {"folder": 3}]')
    assert recent() == []
