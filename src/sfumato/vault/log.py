"""Who looked into a vault, when and why: a log that only grows, and in which every change shows.

Each line holds the hash of the line before. The vault holds the number of lines and the hash of the last, encrypted, so a
line that was edited, taken out or cut off at the end is noticed by whoever has the key. Never a name or a pseudonym.
"""

from __future__ import annotations

import dataclasses
import datetime
import getpass
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError, ParameterError, UnreadableInput
from sfumato.vault.store import Vault

LONGEST_REASON = 1000


@dataclasses.dataclass(frozen=True)
class Entry:
    """One act: how many pseudonyms were asked for, how many were found, and why."""

    when: str
    who: str
    act: str
    reason: str
    domain: str
    asked: int
    found: int


def log_of(vault: Path) -> Path:
    """Where the log of a vault is: beside it."""
    return vault.with_name(vault.name + ".log")


def entry(act: str, reason: str, *, domain: str = "", asked: int = 0, found: int = 0) -> Entry:
    """An entry about what is done now, by the user of this process."""
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise ParameterError(
            f"say why, in at most {LONGEST_REASON:,} characters: the reason is kept in the vault's log"
        )
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Entry(now, _user(), act, reason.strip(), domain, asked, found)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def read_log(vault: str | Path) -> tuple[Entry, ...]:
    """The entries of a vault's log, without asking whether they are complete."""
    return tuple(Entry(**{k: v for k, v in line.items() if k != "before"}) for line in _lines(log_of(Path(vault))))


def _lines(file: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    except OSError as error:
        raise UnreadableInput(f"cannot read the log {file}: {error.strerror}") from None
    except ValueError:
        raise UnreadableInput(f"the log {file} was changed: a line is not what was written") from None


def checked_head(path: Path, vault: Vault) -> tuple[int, str]:
    """Number of lines and hash of the last; raises where the log is not the one the vault knows."""
    file = log_of(path)
    heads = [""]
    for line in _lines(file):
        if line.get("before") != heads[-1]:
            raise UnreadableInput(f"the log {file} was changed: line {len(heads)} does not follow from the one before")
        heads.append(_hash(line))
    if len(heads) <= vault.log_entries or heads[vault.log_entries] != vault.log_head:
        raise UnreadableInput(
            f"the log {file} was changed or cut: the vault knows of {vault.log_entries:,} entries. Restore it from a copy"
        )
    return len(heads) - 1, heads[-1]


def append(path: Path, vault: Vault, new: Entry) -> Vault:
    """Write an entry behind the others and make it last; the vault that knows of it is still to be written."""
    count, head = checked_head(path, vault)
    line = {**dataclasses.asdict(new), "before": head}
    try:
        handle = os.open(log_of(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(_text(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"cannot write the log {log_of(path)}: {error.strerror}; nothing was done") from None
    return dataclasses.replace(vault, log_entries=count + 1, log_head=_hash(line))


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=True, sort_keys=True)


def _hash(line: dict[str, Any]) -> str:
    return hashlib.sha256(_text(line).encode()).hexdigest()
