"""Where projects are: one a table, in the user's own data folder, and a list of those that were
open last.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from pathlib import Path

from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.portable import PRIVATE_FOLDER, NoLocks, lock, open_private
from sfumato.errors import SfumatoError
from sfumato.interfaces.web.fields import Fields

MOST_RECENT = 12
UNTITLED = "untitled"
PROJECTS = "projects"


def home() -> Path:
    """The folder of ours among the user's data: ``$XDG_DATA_HOME/sfumato``, or what the system has
    in its place.
    """
    if base := os.environ.get("XDG_DATA_HOME"):
        return Path(base) / "sfumato"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "sfumato"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "sfumato"
    return Path.home() / ".local" / "share" / "sfumato"


def project_of(data: Path | None) -> Path:
    """The folder of the project of a table: the same for the same path. Without a table: the first
    one that nobody began to use.

    >>> project_of(Path("/data/visits.csv")).name.startswith("visits-")
    True
    """
    if data is not None:
        path = str(data.absolute())
        stem = re.sub(r"[^\w.-]+", "-", data.stem).strip("-.")[:40] or "table"
        return (
            home()
            / PROJECTS
            / f"{stem}-{hashlib.sha256(path.encode(errors='replace')).hexdigest()[:6]}"
        )
    number = 1
    while not _unused(home() / PROJECTS / f"{UNTITLED}-{number}"):
        number += 1
    return home() / PROJECTS / f"{UNTITLED}-{number}"


def _unused(folder: Path) -> bool:
    """Whether nobody made anything there, nor is about to."""
    if (folder / "project.json").exists():
        return False
    if not (folder / "lock").exists():
        return True
    handle = open_private(folder / "lock", os.O_RDWR)
    try:
        return lock(handle, wait=False)
    except NoLocks:
        return True
    finally:
        os.close(handle)


def recent(*, besides: Path | None = None) -> list[Fields]:
    """Projects that were open, the last one first: ``folder``, ``name`` of the table, ``records``
    (or None), and whether it is still ``there``.
    """
    try:
        listed = json.loads(
            read_plain(home() / "recent.json", limit=MEGABYTE, purpose="the list of projects")
        )
    except (SfumatoError, ValueError):
        return []
    projects = []
    if isinstance(listed, list):
        projects = [
            project
            for project in listed
            if isinstance(project, dict) and isinstance(project.get("folder"), str)
        ]
    other_projects = [project for project in projects if project["folder"] != str(besides)][
        :MOST_RECENT
    ]
    return [
        {**project, "there": (Path(project["folder"]) / "project.json").is_file()}
        for project in other_projects
    ]


def remember(folder: Path, name: str, records: int | None) -> None:
    """Put a project at the head of the list; a home that cannot be written to is left as it is."""
    entry: Fields = {"folder": str(folder), "name": name, "records": records}
    _keep([entry, *recent(besides=folder)])


def forget_recent(folder: str) -> None:
    """Take a project off the list; the project itself stays as it is."""
    _keep(recent(besides=Path(folder)))


def _keep(listed: list[Fields]) -> None:
    plain = [
        {name: project[name] for name in ("folder", "name", "records") if name in project}
        for project in listed
    ]
    with contextlib.suppress(SfumatoError, OSError):
        home().mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        write_whole(
            home() / "recent.json", json.dumps(plain[:MOST_RECENT], ensure_ascii=False).encode()
        )
