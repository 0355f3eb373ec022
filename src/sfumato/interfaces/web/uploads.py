"""Files that came through the browser, and folders that are looked at on the way to a path.

Uploads are kept in ``uploads`` of the project, readable by its owner only. They go there directly,
part by part: nothing of them is ever in the temporary folder of the system.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shutil
import stat
import unicodedata
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from urllib.parse import unquote

from sfumato.core.portable import open_private
from sfumato.data.table.formats import table_suffixes
from sfumato.errors import OutputError, ParameterError, UnreadableInput

FOLDER = "uploads"
# What ARX calls its projects.
ARX = ".deid"
# Suffixes of what can be opened: tables, databases of one file, and projects of ARX.
SUFFIXES = frozenset((*table_suffixes(), ".db", ".sqlite", ".sqlite3", ".duckdb", ARX))
# Larger tables are opened by their path: they need not be copied.
MOST_BYTES = 2 * 1024**3
MOST_ENTRIES = 1000
LONGEST_TOLD = 200
LONGEST_NAME = 120
# Bytes of the name of a file, and of its suffix: file systems count bytes, and take 255.
LONGEST_SUFFIX = 20


class TooLarge(OutputError):
    """More was sent than is taken."""


def folder_of(project: Path, name: str = FOLDER) -> Path:
    """A folder of the project that only its owner can look into."""
    folder = project / name
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    return folder


def clean(name: str) -> str:
    r"""A file name without folders, control characters and leading dots; something is left of every
    name.

    >>> clean("../../etc/pass\nwd"), clean("..\\visits 1.csv"), clean("...")
    ('passwd', 'visits 1.csv', 'file')
    """
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    cleaned = "".join(c for c in last if unicodedata.category(c)[0] != "C").strip().lstrip(".")
    if len(cleaned.encode()) > LONGEST_NAME:
        stem, dot, suffix = cleaned.rpartition(".")
        end = dot + _cut(suffix, LONGEST_SUFFIX)
        cleaned = _cut(stem, LONGEST_NAME - len(end.encode())) + end
    return cleaned or "file"


def _cut(words: str, limit: int) -> str:
    """The beginning of a text that has at most so many bytes."""
    return words.encode()[:limit].decode(errors="ignore")


def fresh(folder: Path, name: str) -> Path:
    """A path of this name that is not taken: ``visits.csv``, then ``visits-2.csv``."""
    requested = Path(clean(name))
    path, number = folder / requested, 2
    while path.exists():
        path, number = folder / f"{requested.stem}-{number}{requested.suffix}", number + 1
    return path


async def take(
    project: Path, header: str, parts: AsyncIterator[bytes], *, limit: int = MOST_BYTES
) -> str:
    """Keep what is sent; the name it is kept under. What breaks off or grows too large leaves
    nothing.
    """
    folder = folder_of(project)
    # what is sent must not fill the disk
    limit = min(limit, max(0, shutil.disk_usage(folder).free // 2))
    partial = folder / f".{secrets.token_hex(8)}.part"  # two files of one name may come at once
    received = 0
    try:
        with os.fdopen(open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            async for part in parts:
                received += len(part)
                if received > limit:
                    raise TooLarge(
                        f"files of more than {limit:,} bytes cannot be uploaded; give "
                        "the path instead"
                    )
                file.write(part)
        path = fresh(folder, unquote(header, errors="replace"))
        partial.replace(path)
    except TooLarge:
        raise
    except OSError as error:
        raise OutputError(
            f"the file cannot be kept: {error.strerror or 'the connection broke off'}"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return path.name


def uploaded_file(project: Path, name: str) -> Path:
    """The file that is kept under a name."""
    path = project / FOLDER / clean(name)
    if not path.is_file():
        raise ParameterError("no file of that name was sent")
    return path


def remove_unopened(project: Path, opened: Collection[str]) -> None:
    """Remove what was sent and never opened, or broke off; ``opened`` are the names that were."""
    folder = project / FOLDER
    if not folder.is_dir():
        return
    for file in folder.iterdir():
        if file.name not in opened and file.is_file() and not file.is_symlink():
            file.unlink(missing_ok=True)


# Looking for a file by its folder.


def at_home(path: str) -> Path:
    """A path as it was typed; ``~`` is the home of the user. A home that nobody has is left as
    it stands: nothing is there.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _status_of(entry: os.DirEntry[str]) -> os.stat_result | None:
    """What stands behind a name in a folder; None: a link to nothing, or to itself, which is no
    reason to show nothing at all.
    """
    try:
        return entry.stat()
    except OSError:
        return None


def _short(path: str | None) -> str:
    """A path in a message: the end of a long one tells more than its beginning."""
    words = "this folder"
    if path is not None:
        words = path.replace("\0", "")
    if len(words) <= LONGEST_TOLD:
        return words
    return f"… {words[-LONGEST_TOLD:]}"


@dataclasses.dataclass(frozen=True)
class Listing:
    """A folder as a browser shows it: the folder above it, those in it, and the files that could be
    a table with their bytes.
    """

    path: str
    above: str | None
    folders: tuple[str, ...]
    files: tuple[tuple[str, int], ...]
    omitted: int = 0


def listing(path: str | None, *, suffixes: frozenset[str] = SUFFIXES) -> Listing:
    """What is in a folder; of a file, of the folder it lies in. Hidden things, and files of other
    kinds, are left out.
    """
    start = at_home(path) if path else Path.cwd()
    folders, files = [], []
    try:
        folder = start if start.is_dir() else start.parent
        for entry in sorted(os.scandir(folder), key=lambda e: e.name.casefold()):
            if entry.name.startswith(".") or (status := _status_of(entry)) is None:
                continue
            if stat.S_ISDIR(status.st_mode):
                folders.append(entry.name)
            elif stat.S_ISREG(status.st_mode) and Path(entry.name).suffix.lower() in suffixes:
                files.append((entry.name, status.st_size))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or "not a valid path"
        raise UnreadableInput(f"{_short(path)} cannot be opened: {why}") from None
    full = Path(os.path.abspath(folder))
    above = None if full.parent == full else str(full.parent)
    omitted = max(0, len(folders) - MOST_ENTRIES) + max(0, len(files) - MOST_ENTRIES)
    return Listing(
        str(full), above, tuple(folders[:MOST_ENTRIES]), tuple(files[:MOST_ENTRIES]), omitted
    )
