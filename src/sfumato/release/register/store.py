"""The register: what was released, of what, to whom, and which class every person has in it; one private SQLite file.

Nothing is ever changed in it. Every event (a release is planned, it was written, it was withdrawn) is a row that holds the keyed hash of the
row before, so a changed, removed or inserted one is noticed, and nobody without the key can make another that fits. A release is planned,
with all its people, before its folder stands: a process that is killed in between has registered too much, never too little. The last row
that was seen is remembered apart from the file, in the state folder of its owner, so that an older copy put in its place is noticed on the same machine.

People are keyed hashes; the key lies in a file of its own beside the register and can be kept elsewhere. With another key nobody would be
known again, and every release would seem to be the first: the register knows its key, and is not opened with another.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core import environment
from sfumato.core.files import read_plain, write_whole
from sfumato.core.keys import derived, new_key_file
from sfumato.core.portable import open_private, open_to_others, sync_folder
from sfumato.errors import OutputError, ParameterError, UnreadableInput

VERSION = 1
START = "0" * 64
HASH_BYTES = 16
BUSY_SECONDS = 60.0
APPLICATION = 0x5F0A71
"""Says that a SQLite file is a register (``application_id``)."""

State = Literal["planned", "released", "withdrawn"]
Key = NDArray[np.void]
"""Keyed hashes of persons."""

TABLES = """
CREATE TABLE register (id TEXT NOT NULL, mark TEXT NOT NULL);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    people BLOB,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);
"""
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""Version → what makes the next one of it, in one transaction; the hashes of all rows must be the same before and after."""


@dataclasses.dataclass(frozen=True)
class RegisteredRelease:
    """One release, as the register knows it. ``number`` is its row; ``people`` how many persons it shows or suppressed.

    ``table`` says how the cells of a published table add up and which are suppressed, without labels and values; None for a release of records.
    """

    number: int
    created: str
    recipient: str
    source: str
    certificate: str
    input: str
    person: tuple[str, ...]
    people: int
    records: int
    k: int | None
    classes: bool
    epsilon: float | None
    delta: float | None
    folder: str
    note: str = ""
    state: State = "planned"
    table: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; of a table how many cells it has and how many are suppressed."""
        told = {**dataclasses.asdict(self), "table": None}
        if self.table is not None:
            suppressed = len(self.table["suppressed"])
            told["table"] = {"measure": self.table["measure"], "cells": self.table["cells"], "suppressed": suppressed}
        return told


@dataclasses.dataclass(frozen=True, eq=False)
class RegisteredPeople:
    """Who is in a release, as keyed hashes in ascending order, and the class each is shown in; −1: nothing was released of that one."""

    hashes: Key
    classes: NDArray[np.int64]

    def packed(self) -> bytes:
        """The bytes that are kept."""
        return zlib.compress(self.hashes.tobytes() + self.classes.astype("<i8").tobytes(), 6)

    @classmethod
    def unpacked(cls, blob: bytes) -> RegisteredPeople:
        """The inverse of :meth:`packed`."""
        plain = zlib.decompress(blob)
        people = len(plain) // (HASH_BYTES + 8)
        hashes = np.frombuffer(plain, dtype=f"V{HASH_BYTES}", count=people)
        return cls(hashes, np.frombuffer(plain, dtype="<i8", offset=people * HASH_BYTES).astype(np.int64))


class Register:
    """A register that is open; see :func:`start_register` and :func:`open_register`."""

    def __init__(self, path: Path, key: bytes, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection
        found = connection.execute("SELECT id, mark FROM register").fetchall()
        if len(found) != 1:
            raise UnreadableInput(f"{path} is no register, or it is damaged")
        self.id = str(found[0][0])
        self._people_key = derived(key, "people of a register", self.id)
        self._rows_key = derived(key, "rows of a register", self.id)
        if not hmac.compare_digest(str(found[0][1]).encode(), mark_of(key, self.id).encode()):
            raise ParameterError(
                f"{path} was made with another key than the one given: nobody would be known again. Give the key it was made with"
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Register:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hashed(self, persons: Sequence[str]) -> Key:
        """Keyed hashes of persons, in the order given."""
        keyed = hashlib.blake2b(key=self._people_key, digest_size=HASH_BYTES)

        def one(person: str) -> bytes:
            own = keyed.copy()
            own.update(person.encode("utf-8", "surrogatepass"))
            return own.digest()

        return np.array([one(person) for person in persons], dtype=f"V{HASH_BYTES}")

    @property
    def entries(self) -> tuple[RegisteredRelease, ...]:
        """All releases in their order, each in the state it is in now."""
        known: dict[int, RegisteredRelease] = {}
        for number, body in self._connection.execute("SELECT number, body FROM events ORDER BY number"):
            told = json.loads(body)
            if "release" in told:
                known[number] = RegisteredRelease(
                    number, **{**told["release"], "person": tuple(told["release"]["person"])}
                )
            elif "state" in told:
                earlier = known[told["of"]]
                certificate = told.get("certificate", earlier.certificate)
                known[told["of"]] = dataclasses.replace(earlier, state=told["state"], certificate=certificate)
        return tuple(known.values())

    @property
    def standing(self) -> tuple[RegisteredRelease, ...]:
        """The releases that count: all that were not withdrawn."""
        return tuple(entry for entry in self.entries if entry.state != "withdrawn")

    def people(self, number: int) -> RegisteredPeople:
        """Who is in a release."""
        row = self._connection.execute("SELECT people FROM events WHERE number = ?", (number,)).fetchone()
        if row is None or row[0] is None:
            raise ParameterError(f"the register has no release {number}; sfumato register list shows them")
        return RegisteredPeople.unpacked(row[0])

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the register: others wait. What happens inside is written all or not at all."""
        with self._told():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._told():
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._remember()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in our words why a register cannot be written."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise OutputError(f"{self.path} is held by another process; try again when that is done") from None
            raise OutputError(f"cannot write {self.path}: {error}; nothing was written down") from None

    def plan(self, entry: Mapping[str, Any], people: RegisteredPeople, rows: RegisteredPeople | None = None) -> int:
        """Write a release down before it stands; only inside a turn. Returns its number.

        ``rows`` are the records of a published table, under keyed hashes, and the cell each is counted in.
        """
        number = self._append({"release": dict(entry)}, people.packed())
        if rows is not None:
            self._append({"of": number, "rows": len(rows.hashes)}, rows.packed())
        return number

    def rows(self, number: int) -> RegisteredPeople:
        """The records of a published table, and the cell each is counted in."""
        row = self._connection.execute("SELECT body, people FROM events WHERE number = ?", (number + 1,)).fetchone()
        if row is None or row[1] is None or json.loads(row[0]).get("of") != number:
            raise ParameterError(f"release {number} of the register is no published table")
        return RegisteredPeople.unpacked(row[1])

    def now_is(self, number: int, state: State, *, certificate: str | None = None) -> None:
        """Say what became of a planned release, and which certificate it has; only inside a turn."""
        entry = next((each for each in self.entries if each.number == number), None)
        if entry is None:
            raise ParameterError(f"the register has no release {number}; sfumato register list shows them")
        if entry.state == "withdrawn":
            raise ParameterError(f"release {number} was withdrawn; what was withdrawn stays so")
        known = {} if certificate is None else {"certificate": certificate}
        self._append({"of": number, "state": state, "at": environment.timestamp(), **known}, None)

    def _append(self, body: Mapping[str, Any], blob: bytes | None) -> int:
        last = self._connection.execute("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
        number, previous = (0, START) if last is None else last
        text = json.dumps(body, sort_keys=True)
        row = (number + 1, text, blob, previous, chained(self._rows_key, previous, text, blob))
        with self._told():
            self._connection.execute(
                "INSERT INTO events (number, body, people, previous, hash) VALUES (?, ?, ?, ?, ?)", row
            )
        return int(number) + 1

    @property
    def head(self) -> tuple[int, str]:
        """Number and hash of the last row."""
        row = self._connection.execute("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
        return (0, START) if row is None else (int(row[0]), str(row[1]))

    def checked(self) -> Register:
        """The same register, or an error where a row was changed, removed or inserted, or an older copy was put in its place."""
        previous, expected = START, 1
        seen = _seen(self.id)
        for number, body, people, before, own in self._connection.execute(
            "SELECT number, body, people, previous, hash FROM events ORDER BY number"
        ):
            if number != expected or before != previous or own != chained(self._rows_key, before, body, people):
                raise UnreadableInput(
                    f"{self.path} was changed by another hand: row {number} does not follow from the one before"
                )
            if seen is not None and number == seen[0] and own != seen[1]:
                raise UnreadableInput(
                    f"{self.path} is another register than the one seen here before: row {number} is not the same"
                )
            previous, expected = own, expected + 1
        if seen is not None and expected - 1 < seen[0]:
            raise UnreadableInput(
                f"{self.path} is an older copy of itself: it has {expected - 1} rows, and {seen[0]} were seen. What was released since is "
                f"missing in it; put the newer one back (if it is lost for good, delete {_state_file(self.id)} and register again what was released)"
            )
        self._remember()
        return self

    def _remember(self) -> None:
        """Keep number and hash of the last row apart from the file, where that can be written."""
        number, own = self.head
        seen = _seen(self.id)
        if seen is not None and seen[0] >= number:  # another process has seen more meanwhile
            return
        file = _state_file(self.id)
        with contextlib.suppress(OSError, OutputError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(file, json.dumps({"number": number, "hash": own}).encode())


def chained(key: bytes, previous: str, body: str, people: bytes | None) -> str:
    """The keyed hash of a row."""
    digest = hashlib.sha256(b"" if people is None else people).hexdigest()
    return hmac.digest(key, f"{previous}\n{body}\n{digest}".encode("utf-8", "surrogatepass"), "sha256").hex()


def mark_of(key: bytes, register: str) -> str:
    """What a register keeps to know its key again, from which the key cannot be found."""
    return derived(key, "mark of a register", register).hex()


def key_file(path: Path) -> Path:
    """Where the key of a register lies when nobody says otherwise."""
    return path.with_name(path.name + ".key")


def start_register(path: str | Path, *, key: str | Path | None = None) -> Register:
    """Make a new register and, where there is none yet, its key; an old register is never replaced."""
    file = Path(path)
    if file.exists():
        raise ParameterError(f"{file} is there already; a register is never replaced")
    secret = Path(key) if key is not None else key_file(file)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        if not secret.exists():
            new_key_file(secret)
        known, name = _read_key(secret), environment.fresh_salt(16)
        os.close(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        connection = sqlite3.connect(draft)
        connection.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {TABLES}")
        connection.execute("INSERT INTO register VALUES (?, ?)", (name, mark_of(known, name)))
        connection.commit()
        connection.close()
        os.link(draft, file)
        sync_folder(file.parent)
    except FileExistsError:
        raise ParameterError(f"{file} is there already; a register is never replaced") from None
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot make {file}: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return open_register(file, key=secret)


def open_register(path: str | Path, *, key: str | Path | None = None) -> Register:
    """Open a register and check all of it: who may read it, its version, the chain of its rows, and that it is no older copy."""
    file = Path(path)
    if not file.is_file():
        raise UnreadableInput(f"there is no register {file}; sfumato register start {file} makes one")
    if open_to_others(file):
        raise ParameterError(f"others may read {file}; take that away first (chmod 600)")
    secret = _read_key(Path(key) if key is not None else key_file(file))
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        _up_to_date(connection, file)
        return Register(file, secret, connection).checked()
    except sqlite3.DatabaseError:
        connection.close()
        raise UnreadableInput(f"{file} is no register, or it is damaged") from None
    except BaseException:
        connection.close()
        raise


def _read_key(file: Path) -> bytes:
    key = read_plain(file, most=4096, what="the key of a register").strip()
    if open_to_others(file):
        raise ParameterError(f"others may read {file}, the key of a register; take that away first (chmod 600)")
    if len(key) < 32:
        raise ParameterError(f"{file} is no key of a register: it is too short")
    return hashlib.sha256(key).digest()


def _up_to_date(connection: sqlite3.Connection, file: Path) -> None:
    """Bring a register of an older version up to date, step by step."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise UnreadableInput(f"{file} is no register")
    version = _version(connection)
    if version > VERSION:
        raise UnreadableInput(
            f"{file} is a register of version {version}; this sfumato reads {VERSION}. Use a newer one"
        )
    while version < VERSION:
        step = MIGRATIONS.get(version)
        if step is None:
            raise UnreadableInput(f"{file} is a register of version {version}, which this sfumato does not read")
        _migrated(connection, step, version)
        version += 1


def _migrated(connection: sqlite3.Connection, step: Callable[[sqlite3.Connection], None], version: int) -> None:
    """One step of migration, all or nothing; the hashes of all rows must be what they were."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _version(connection) != version:  # another process was faster
            connection.execute("ROLLBACK")
            return
        before = _hashes(connection)
        step(connection)
        if _hashes(connection)[: len(before)] != before:
            raise UnreadableInput("bringing the register up to date would change what it says; it is left as it is")
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _hashes(connection: sqlite3.Connection) -> list[str]:
    return [str(row[0]) for row in connection.execute("SELECT hash FROM events ORDER BY number")]


def _state_file(register: str) -> Path:
    """Where the last row of a register that was seen is remembered."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "sfumato" / "registers" / f"{register}.json"


def _seen(register: str) -> tuple[int, str] | None:
    try:
        told = json.loads(_state_file(register).read_text(encoding="utf-8"))
        return int(told["number"]), str(told["hash"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
