"""The register: what was released, of what, to whom, and which class every person has in it; one
private journal.

Every event (a release is planned, it was written, it was withdrawn) is an entry, under hashes with
a key, so nobody without the key can make another that fits. A release is planned, with all its
people, before its folder stands: a process that is killed in between has registered too much, never
too little. How far the journal went is remembered apart from the file, in the state folder of its
owner, so that an older copy put in its place is noticed on the same machine.

People are keyed hashes; the key lies in a file of its own beside the register and can be kept
elsewhere. With another key nobody would be known again, and every release would seem to be
the first: the register knows its key, and is not opened with another.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import hmac
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core import environment
from sfumato.core.fields import Document, Fields
from sfumato.core.files import read_plain
from sfumato.core.journal import END_BYTES, Entry, Journal, JournalKind
from sfumato.core.keys import derived, new_key_file
from sfumato.core.options import CommandOption
from sfumato.core.portable import open_to_others
from sfumato.errors import OutputError, ParameterError, UnreadableInput

HASH_BYTES = 16
MOST_OF_START = 4096
"""Bytes of the first line of a register, at most."""

State = Literal["planned", "released", "withdrawn"]
Key = NDArray[np.void]
"""Keyed hashes of persons."""


@dataclasses.dataclass(frozen=True)
class RegisterStart(Entry):
    """Which register this is, and what it knows its key by."""

    id: str
    mark: str


@dataclasses.dataclass(frozen=True)
class ReleaseFacts:
    """What is said of a release for good: before it stands, and as the register knows it.

    ``people`` is how many persons it shows or suppressed. ``table`` says how the cells of a
    published table add up and which are suppressed, without labels and values; None for a release
    of records.
    """

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
    note: str
    table: Fields | None


@dataclasses.dataclass(frozen=True)
class PlannedRelease(ReleaseFacts, Entry):
    """A release, before it stands: ``hashes`` are its people, ``rows`` the records of a published
    table (see :class:`RegisteredPeople`).
    """

    large_fields: ClassVar[tuple[str, ...]] = ("hashes", "rows")

    hashes: str
    rows: str


@dataclasses.dataclass(frozen=True)
class ReleaseState(Entry):
    """What became of a planned release, and which certificate it has."""

    of: int
    state: State
    at: str
    certificate: str | None


REGISTER = JournalKind(
    "register",
    (RegisterStart, PlannedRelease, ReleaseState),
    "nothing is released",
    first=RegisterStart,
    anywhere=True,
)


@dataclasses.dataclass(frozen=True)
class RegisteredRelease(ReleaseFacts):
    """One release, as the register knows it; ``number`` is its row."""

    number: int
    state: State = "planned"

    def to_dict(self) -> Document:
        """Plain data; of a table how many cells it has and how many are suppressed."""
        fields = {"number": self.number, **dataclasses.asdict(self)}
        # The cells of a table stay in the register; what is told of them comes last.
        del fields["table"]
        fields["table"] = None
        if self.table is not None:
            suppressed = len(self.table["suppressed"])
            fields["table"] = {
                "measure": self.table["measure"],
                "cells": self.table["cells"],
                "suppressed": suppressed,
            }
        return fields


@dataclasses.dataclass(frozen=True, eq=False)
class RegisteredPeople:
    """Who is in a release, as keyed hashes in ascending order, and the class each is shown in; −1:
    nothing was released of that one.
    """

    hashes: Key
    classes: NDArray[np.int64]

    def packed(self) -> str:
        """The text that is kept."""
        plain = self.hashes.tobytes() + self.classes.astype("<i8").tobytes()
        return base64.b64encode(zlib.compress(plain, 6)).decode("ascii")

    @classmethod
    def unpacked(cls, text: str) -> RegisteredPeople:
        """The inverse of :meth:`packed`."""
        plain = zlib.decompress(base64.b64decode(text))
        people = len(plain) // (HASH_BYTES + 8)
        hashes = np.frombuffer(plain, dtype=f"V{HASH_BYTES}", count=people)
        return cls(
            hashes, np.frombuffer(plain, dtype="<i8", offset=people * HASH_BYTES).astype(np.int64)
        )


class Register:
    """A register that is open; see :func:`start_register` and :func:`open_register`."""

    def __init__(self, path: Path, key: bytes, register_id: str) -> None:
        self.path, self.id = path, register_id
        self._people_key = derived(key, "people of a register", register_id)
        rows_key = derived(key, "rows of a register", register_id)
        self.journal = Journal(path, REGISTER, key=rows_key, head_file=_state_file(register_id))
        self._pending: list[Entry] = []

    def close(self) -> None:
        """Let go of what was read."""
        self.journal.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hashed(self, persons: Sequence[str]) -> Key:
        """Keyed hashes of persons, in the order given."""
        keyed = hashlib.blake2b(key=self._people_key, digest_size=HASH_BYTES)

        def hash_person(person: str) -> bytes:
            own = keyed.copy()
            own.update(person.encode("utf-8", "surrogatepass"))
            return own.digest()

        return np.array([hash_person(person) for person in persons], dtype=f"V{HASH_BYTES}")

    @property
    def entries(self) -> tuple[RegisteredRelease, ...]:
        """All releases in their order, each in the state it is in now."""
        releases: dict[int, RegisteredRelease] = {}
        for number, entry in enumerate([*self.journal.read().entries, *self._pending]):
            if isinstance(entry, PlannedRelease):
                fields = dataclasses.asdict(entry)
                # people are large, and read only when somebody asks for them
                del fields["hashes"], fields["rows"]
                releases[number] = RegisteredRelease(number=number, **fields)
            elif isinstance(entry, ReleaseState):
                earlier = releases[entry.of]
                if entry.certificate is None:
                    certificate = earlier.certificate
                else:
                    certificate = entry.certificate
                releases[entry.of] = dataclasses.replace(
                    earlier, state=entry.state, certificate=certificate
                )
        return tuple(releases.values())

    @property
    def standing(self) -> tuple[RegisteredRelease, ...]:
        """The releases that count: all that were not withdrawn."""
        return tuple(entry for entry in self.entries if entry.state != "withdrawn")

    def people(self, number: int) -> RegisteredPeople:
        """Who is in a release."""
        return RegisteredPeople.unpacked(self._planned_release(number).hashes)

    def rows(self, number: int) -> RegisteredPeople:
        """The records of a published table, and the cell each is counted in."""
        rows = self._planned_release(number).rows
        if not rows:
            raise ParameterError(f"release {number} of the register is not a published table")
        return RegisteredPeople.unpacked(rows)

    def _planned_release(self, number: int) -> PlannedRelease:
        # the number of a release is that of its entry, after the one that starts the register
        entry_count = len(self.journal.read().entries)
        entry: Entry | None = None
        if 1 <= number < entry_count:
            entry = self.journal.read_entry(number + 1)
        elif entry_count <= number < entry_count + len(self._pending):
            entry = self._pending[number - entry_count]
        if not isinstance(entry, PlannedRelease):
            raise ParameterError(
                f"the register has no release {number}; sfumato register list shows all"
            )
        return entry

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the register: others wait. What happens inside is written when it ends well, and
        else not at all.
        """
        with self.journal.turn():
            try:
                yield
                self.journal.append(*self._pending)
            finally:
                self._pending = []

    def plan(
        self,
        entry: Fields,
        people: RegisteredPeople,
        rows: RegisteredPeople | None = None,
    ) -> int:
        """Write a release down before it stands; only inside a turn. Returns its number.

        ``rows`` are the records of a published table, under keyed hashes, and the cell each is
        counted in.
        """
        fields = {"table": None, **entry, "person": tuple(entry["person"])}
        packed_rows = "" if rows is None else rows.packed()
        self._pending.append(PlannedRelease(**fields, hashes=people.packed(), rows=packed_rows))
        return self.journal.head.entries + len(self._pending) - 1

    def now_is(self, number: int, state: State, *, certificate: str | None = None) -> None:
        """Say what became of a planned release, and which certificate it has; only inside a
        turn.
        """
        entry = next(
            (registered for registered in self.entries if registered.number == number), None
        )
        if entry is None:
            raise ParameterError(
                f"the register has no release {number}; sfumato register list shows all"
            )
        if entry.state == "withdrawn":
            raise ParameterError(f"release {number} was already withdrawn, which is final")
        self._pending.append(ReleaseState(number, state, environment.timestamp(), certificate))


def mark_of(key: bytes, register: str) -> str:
    """What a register keeps to know its key again, from which the key cannot be found."""
    return derived(key, "mark of a register", register).hex()


def key_file(path: Path) -> Path:
    """Where the key of a register lies when nobody says otherwise."""
    return path.with_name(path.name + ".key")


RegisterKey = Annotated[
    str | Path | None,
    CommandOption("file with its key, if it is not beside it", typed=Path),
]


def start_register(path: str | Path, *, key: RegisterKey = None) -> Register:
    """Make a new register and, where there is none yet, its key; an old register is never
    replaced.
    """
    file = Path(path)
    if os.path.lexists(file):
        raise ParameterError(
            f"{file} already exists, and a register is never replaced; choose another path"
        )
    secret = Path(key) if key is not None else key_file(file)
    try:
        if not secret.exists():
            new_key_file(secret)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot make {secret}: {error.strerror}") from None
    content = _read_key(secret)
    register = Register(file, content, environment.fresh_salt(16))
    register.journal.start(RegisterStart(register.id, mark_of(content, register.id)))
    return register


def open_register(path: str | Path, *, key: RegisterKey = None) -> Register:
    """Open a register and check all of it: who may read it, its key, its entries, and that it is no
    older copy.
    """
    file = Path(path)
    if not file.is_file():
        raise UnreadableInput(
            f"register {file} does not exist; create it with sfumato register start {file}"
        )
    if open_to_others(file):
        raise ParameterError(f"others may read {file}; restrict it first (chmod 600)")
    secret = _read_key(Path(key) if key is not None else key_file(file))
    start = _read_start(file)
    # with another key nobody would be known again
    if not hmac.compare_digest(start.mark.encode(), mark_of(secret, start.id).encode()):
        raise ParameterError(
            f"{file} was made with another key than the given one, so nobody would be recognised. "
            "Give the key it was made with"
        )
    register = Register(file, secret, start.id)
    register.journal.read()
    return register


def _read_start(file: Path) -> RegisterStart:
    """What the first line says, before it is checked: the hashes need its id."""
    with file.open("rb") as lines:
        line = lines.readline(MOST_OF_START)
    try:
        start = REGISTER.parse(line[:-END_BYTES])
    except ValueError:
        start = None
    if not isinstance(start, RegisterStart):
        raise UnreadableInput(
            f"{file} is not a register, or it is damaged, or of another version of sfumato"
        )
    return start


def _read_key(file: Path) -> bytes:
    key = read_plain(file, limit=4096, purpose="the key of a register").strip()
    if open_to_others(file):
        raise ParameterError(
            f"others may read {file}, the key of a register; restrict it first (chmod 600)"
        )
    if len(key) < 32:
        raise ParameterError(f"{file} is not a key of a register: it is too short")
    return hashlib.sha256(key).digest()


def _state_file(register: str) -> Path:
    """Where it is remembered how far a register went."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "sfumato" / "registers" / f"{register}.json"
