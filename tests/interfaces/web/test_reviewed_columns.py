"""Which columns of a project the owner has looked at: their roles are no guesses any more."""

from __future__ import annotations

from pathlib import Path

from sfumato.interfaces.web.project import Project
from sfumato.interfaces.web.reviewed_columns import check, checked, forget


def test_columns_that_were_looked_at_are_remembered(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "project")
    try:
        assert checked(project) == frozenset()
        check(project, ["age", 'we"ird <b>'])
        check(project, ["job"])
        assert checked(project) == {"age", "job", 'we"ird <b>'}
        (project.folder / "checked.json").write_text("{", "utf-8")
        assert checked(project) == frozenset()
        forget(project)
        assert not (project.folder / "checked.json").exists()
    finally:
        project.close()
