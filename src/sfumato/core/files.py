"""Files that are read and written with care: only plain ones, none larger than was said, and whole
or not at all.

A recipe, a hierarchy, a population or a shared folder may name a device that never ends, a pipe
that nobody writes to, or a file that fills the memory. Such a path is refused before a byte of it
is read.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from sfumato.core.portable import sync_folder
from sfumato.errors import OutputError, UnreadableInput

MEGABYTE = 1024 * 1024
KINDS = (
    (stat.S_ISDIR, "a folder; name one file in it"),
    (
        stat.S_ISFIFO,
        "a pipe, which can be read only once and may never end; save it as a file first",
    ),
    (stat.S_ISCHR, "a device, not a file"),
    (stat.S_ISBLK, "a device, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
)


def read_plain(path: str | os.PathLike[str], *, limit: int, purpose: str) -> bytes:
    """The bytes of a plain file of at most ``limit`` bytes; ``purpose`` says in the message what it
    should have been.

    Symbolic links are followed: what counts is what is opened. Opening does not wait for the writer
    of a pipe.
    """
    name = os.fspath(path)
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(name, flags)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise UnreadableInput(f"{name}: {_reason(error)}") from None
    try:
        with os.fdopen(handle, "rb") as file:
            _require_plain(os.fstat(file.fileno()), name, limit, purpose)
            data = file.read(limit + 1)
    except OSError as error:
        raise UnreadableInput(f"{name}: {_reason(error)}") from None
    if len(data) > limit:  # it grew while it was read
        raise UnreadableInput(_too_large(name, limit, purpose))
    return data


def require_plain(path: str | os.PathLike[str], *, limit: int, purpose: str) -> None:
    """Raise unless a path leads to a plain file of at most ``limit`` bytes."""
    name = os.fspath(path)
    try:
        _require_plain(Path(name).stat(), name, limit, purpose)
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{name}: {_reason(error)}") from None


def _require_plain(status: os.stat_result, name: str, limit: int, purpose: str) -> None:
    kind = next((words for is_kind, words in KINDS if is_kind(status.st_mode)), None)
    if kind is not None:
        raise UnreadableInput(f"{name}: {purpose} must be a plain file, and this is {kind}")
    if status.st_size > limit:
        raise UnreadableInput(_too_large(name, limit, purpose))


def _too_large(name: str, limit: int, purpose: str) -> str:
    return f"{name} is larger than {limit // MEGABYTE:,} MB, the limit for {purpose}"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "this file does not exist; check the path"
    if isinstance(error, IsADirectoryError):
        return "this is a folder; name one file in it"
    if isinstance(error, PermissionError):
        return "permission to read it is denied; check its owner and mode"
    return f"it cannot be read ({getattr(error, 'strerror', None) or 'not a valid path'})"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, readable by its owner only."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; the file is unchanged") from None
    finally:
        Path(name).unlink(missing_ok=True)
    sync_folder(path.parent)
