"""Which columns of a project the owner has looked at: their roles are no guesses any more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.interfaces.web.project import Project

NAME = "checked.json"


def checked(project: Project) -> frozenset[str]:
    """The columns that were looked at; a file that cannot be read says none, so that guesses are
    asked about once more.
    """
    path = project.folder / NAME
    try:
        names = json.loads(
            read_plain(path, limit=MEGABYTE * 16, purpose="the columns that were examined")
        )
        return frozenset(str(name) for name in names)
    except (SfumatoError, OSError, ValueError, TypeError):
        return frozenset()


def check(project: Project, columns: Iterable[str]) -> None:
    """Mark columns as looked at."""
    names = sorted(checked(project) | set(columns))
    write_whole(project.folder / NAME, json.dumps(names, ensure_ascii=False).encode())


def forget(project: Project) -> None:
    """Another table: everything is a guess again."""
    (project.folder / NAME).unlink(missing_ok=True)
