"""What lies in a shared folder: every file with its size and digest, so that none is added, taken
away or exchanged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from sfumato.core.fields import Document, Fields
from sfumato.errors import UnreadableInput

FILE = "certificate.json"
VERSION = 3
"""The version of certificates: the first that is promised to stay verifiable."""
AGGREGATES = "aggregates"
"""What the certificate of a table of results says in place of the shape of records."""
STUDY = "study"
"""The same for the result of a study of several parties, which is unique, without a folder."""

# One thing a certificate says, and whether it is so.

NEAR = 1e-9
Status = Literal["holds", "fails", "needs original", "vouched"]
"""``vouched``: it needs the original, and a trusted key signed it."""

REPORT, PICTURES = "report.html", "pictures"
"""The page for people, and the folder of its pictures."""
DESCRIPTIONS = "descriptions.txt"
"""What the pictures of a report show, in words, beside them in their folder."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """One thing a certificate says, and whether it is so."""

    name: str
    status: Status
    detail: str
    promise: bool = False
    """Whether it is a promise or limit of the recipe: what a release is made for."""
    section: str = ""
    """The section of the certificate that it is about; ``verify`` fills in that of the check."""


def near(value: Any, expected: Any) -> bool:
    """Whether two claimed values are the same number."""
    if value is None or expected is None:
        return value is expected
    try:
        return abs(float(value) - float(expected)) <= NEAR * max(1.0, abs(float(expected)))
    except (TypeError, ValueError):  # an edited certificate may hold anything
        return False


def agree(value: object, expected: object) -> bool:
    """Whether two parts of a document say the same, numbers up to rounding."""
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            agree(value[key], expected[key]) for key in value
        )
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(agree, value, expected))
    if isinstance(value, float) or isinstance(expected, float):
        return near(value, expected)
    return bool(value == expected)


MOST_NAMED = 5


def manifest_of(share: Path) -> dict[str, Document]:
    """Every file of a shared folder but the certificate itself: path (with ``/``) → SHA-256 and
    size.
    """
    files = sorted(path for path in share.rglob("*") if path.is_file())
    return {
        path.relative_to(share).as_posix(): {
            "sha256": sha256_of(path),
            "bytes": path.stat().st_size,
        }
        for path in files
        if path.relative_to(share).as_posix() != FILE
    }


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's bytes."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


DATA = "data"
"""The folder of a released table that was written in parts."""


def sha256_of_parts(folder: Path) -> str:
    """SHA-256 of the names and digests of all parts of a table, in the order of their names."""
    with ThreadPoolExecutor() as pool:
        # sorted: the order in which a disk lists files says nothing
        files = sorted(folder.iterdir())
        lines = [
            f"{file.name} {digest}\n"
            for file, digest in zip(files, pool.map(sha256_of, files), strict=True)
        ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def folder_claim(certificate: Fields, share: Path) -> Claim:
    """Whether the folder holds the files the certificate lists, as they were, and nothing else."""
    name = "folder"
    listed: Fields = certificate["files"]
    if share.is_file():  # a document that is unique
        if listed:
            return Claim(name, "fails", "a document that stands alone lists files")
        return Claim(name, "holds", "the document stands alone")
    entries = dict(_entries(share))
    # links and devices first: reading them could lead anywhere, or never end
    odd = [path for path, plain in entries.items() if not plain]
    if odd:
        return Claim(
            name,
            "fails",
            f"{named_paths(odd)}: a symbolic link, device or pipe, which a release never contains",
        )
    extra = [path for path in entries if path not in listed and path != FILE]
    gone = [path for path in listed if path not in entries]
    changed = [
        path for path in listed if path in entries and not _as_listed(share / path, listed[path])
    ]
    problems = [
        f"{named_paths(paths)} {words}"
        for paths, words in ((extra, "not listed"), (gone, "missing"), (changed, "changed"))
        if paths
    ]
    if problems:
        return Claim(name, "fails", "; ".join(problems))
    return Claim(name, "holds", f"{len(listed)} files as listed, and no others")


def own_file(data: Fields) -> str:
    """The name of a file that a section of a certificate describes; refused when it leads out of
    the folder.
    """
    name: str = data["file"]
    if Path(name).name != name or name == FILE:
        raise UnreadableInput("the certificate does not name a data file of its own folder")
    return name


def require_plain_file(share: Path, name: str) -> Path:
    """The path of a file in a shared folder; refused when it is not there, or is a device or a
    pipe.
    """
    file = share / name
    try:
        plain = stat.S_ISREG(file.stat().st_mode)
    except (OSError, ValueError):
        raise UnreadableInput(f"{file} is missing or cannot be read") from None
    if not plain:
        raise UnreadableInput(f"{file} is not a plain file")
    return file


def _entries(share: Path) -> Iterator[tuple[str, bool]]:
    """Every path in a folder that is no folder itself, and whether it is a plain file and no
    link.
    """
    for path in sorted(share.rglob("*")):
        # lstat: a link is not followed
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode):
            yield path.relative_to(share).as_posix(), stat.S_ISREG(mode)


def _as_listed(file: Path, listed: Fields) -> bool:
    try:
        return bool(file.stat().st_size == listed["bytes"] and sha256_of(file) == listed["sha256"])
    except OSError:
        return False


def named_paths(paths: list[str]) -> str:
    """A few paths in a sentence, as Python writes them: names may hold anything."""
    if len(paths) > MOST_NAMED:
        remainder = f" and {len(paths) - MOST_NAMED:,} more"
    else:
        remainder = ""
    return ", ".join(repr(path) for path in paths[:MOST_NAMED]) + remainder
