"""The journal: what must last, in a file that only grows; every store of records that count is a
user of it.

One JSON document a line holds one entry, named by its type, and the hash of itself and of the hash
before it::

    {"Spend":{"questions":[…]},"hash":"9f86…"}

=========================================  =========================================================
what happens                               what comes of it
=========================================  =========================================================
killed or out of space while writing       the last line has no end: nobody was told that it is
                                           there, it is cut off
a line changed, moved, repeated, inserted  noticed: the hashes from there on do not fit
a line removed from the middle             noticed, likewise
lines cut off the end, an older copy       noticed where a head is remembered: a file beside the
                                           journal or in the state folder of its owner, a seal, a
                                           vault; else not, so keep the file where those who would
                                           gain from it cannot write
all of it written again                     noticed where the hashes have a key, or a head is out of
                                           reach
two processes at once                      they take turns: the file is locked from before it is
                                           read until it is written
=========================================  =========================================================

An entry is on the disk before :meth:`Journal.append` returns, so whoever appends first and acts
then never did what is not written down. A file is read again only where it is not as we left it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, ClassVar, Self, TypeVar

from sfumato.core.fields import Document
from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.portable import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    NoLocks,
    lock,
    open_private,
    sync_folder,
    unlock,
    wait_for,
)
from sfumato.errors import InternalError, MissingExtra, OutputError, SfumatoError, UnreadableInput

HASH_BYTES = 32
HASH_PART = ',"hash":"{}"}}\n'
"""How every line ends."""
END_BYTES = len(HASH_PART.format("0" * 2 * HASH_BYTES))


@dataclasses.dataclass(frozen=True)
class Entry:
    """The base of what a journal holds: a frozen dataclass of plain values, read back with exactly
    the types it declares.
    """

    __pydantic_config__: ClassVar[Document] = {"extra": "forbid", "strict": True}
    large_fields: ClassVar[tuple[str, ...]] = ()
    """Texts too large to be kept in memory: empty in :attr:`Journal.entries`, read again
    by :meth:`Journal.read_entry`.
    """


E = TypeVar("E", bound=Entry)


@dataclasses.dataclass(frozen=True)
class JournalKind:
    """What a store calls its journal, the types of its entries, and what does not happen while the
    file is in doubt.
    """

    name: str
    types: tuple[type[Entry], ...]
    consequence: str
    """Ends messages: ``nothing is answered``."""
    first: type[Entry] | None = None
    """What the journal begins with; None: it may be empty or not be there yet."""
    locked: bool = True
    """False: whoever writes holds a lock for longer than one entry, on more than this file."""
    anywhere: bool = False
    """Also on a system without file locks, where one byte is locked instead."""

    @functools.cached_property
    def readers(self) -> Document:
        """Per name of an entry type, what reads it."""
        from pydantic import TypeAdapter  # heavy: only who reads or writes a journal pays for it

        return {entry_type.__name__: TypeAdapter(entry_type) for entry_type in self.types}

    def parse(self, body: bytes) -> Entry:
        """The entry of a line without its hash; ValueError where it is none."""
        name, _, plain = body[len(b'{"') :].partition(b'":')
        reader = self.readers.get(name.decode())
        if reader is None:
            raise ValueError
        entry: Entry = reader.validate_json(plain)
        return entry


@dataclasses.dataclass(frozen=True)
class Head:
    """How far a journal went when somebody looked: the number of its entries and the hash of the
    last.
    """

    entries: int
    hash: str


class Journal:
    """The journal in a file, or, without a path, in memory. ``key`` makes hashes that nobody else
    can make.

    ``head_file`` remembers how far the journal went. ``head_beside``: it lies beside the journal
    and must be there; otherwise it is apart from it, and made where it can be.
    """

    def __init__(
        self,
        path: Path | None,
        kind: JournalKind,
        *,
        key: bytes = b"",
        head_file: Path | None = None,
        head_beside: bool = False,
    ) -> None:
        self.path, self.kind = path, kind
        self.entries: list[Entry] = []
        self.hashes: list[str] = []
        self._key = key
        self._head_file, self._head_beside = head_file, head_beside
        self._starts = [0]  # where lines start in the file, and where the next one will
        self._state: tuple[int, ...] | None = None  # of the file as we left it
        self._file: int | None = None
        self._turn = threading.Lock()

    @property
    def head(self) -> Head:
        """How far the journal goes."""
        return Head(len(self.hashes), self._last_hash)

    @property
    def _last_hash(self) -> str:
        # an empty journal of one kind is not the beginning of another
        if self.hashes:
            return self.hashes[-1]
        return f"sfumato journal 1: {self.kind.name}"

    def extends(self, head: Head) -> bool:
        """Whether the journal begins with all that a head says."""
        if head.entries == 0:
            return True
        return 1 <= head.entries <= len(self.hashes) and self.hashes[head.entries - 1] == head.hash

    def of_type(self, entry_type: type[E]) -> list[E]:
        """The entries of one type, in their order."""
        return [entry for entry in self.entries if isinstance(entry, entry_type)]

    # reading

    def read(self) -> Self:
        """Read and check all of it without a lock; a line that is being written is left out."""
        if self.path is None:
            return self
        if self.kind.first is None and not self.path.exists():
            self.forget()
            return self
        file = self._opened(os.O_RDONLY)
        try:
            self._catch_up(file, mend=False)
        finally:
            os.close(file)
        return self

    def read_entry(self, number: int) -> Entry:
        """The entry of a line (from 1), read from the file again."""
        if not self.entries[number - 1].large_fields:
            return self.entries[number - 1]
        if number > 1:
            previous = self.hashes[number - 2]
        else:
            previous = Journal(None, self.kind)._last_hash
        file = self._opened(os.O_RDONLY)
        try:
            os.lseek(file, self._starts[number - 1], os.SEEK_SET)
            line = _read_bytes(file, self._starts[number] - self._starts[number - 1])
        finally:
            os.close(file)
        if self._digest(previous, line[:-END_BYTES]) != self.hashes[number - 1]:
            raise self.damaged(number)
        return self.kind.parse(line[:-END_BYTES])

    def _opened(self, flags: int) -> int:
        path = self.path or Path()
        problem = OutputError if flags & os.O_CREAT else UnreadableInput
        try:
            file = os.open(
                path,
                flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0),
                PRIVATE_FILE,
            )
        except (OSError, ValueError) as error:
            raise problem(f"cannot open the {self.kind.name} {path}: {_reason(error)}") from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise problem(f"cannot open the {self.kind.name} {path}: it is not a plain file")
        return file

    def _catch_up(self, file: int, *, mend: bool) -> None:
        """Read the file where it is not as we left it; with ``mend`` cut off what was not written
        to its end.
        """
        if self._state is not None and _state(file) == self._state:
            return
        head = self._remembered_head()  # before the file, which may grow meanwhile
        self.entries, self.hashes, self._starts, self._state = [], [], [0], None
        with open(file, "rb", closefd=False) as content:
            content.seek(0)
            self._take_lines(content)
        if self.kind.first is not None and not (
            self.entries and isinstance(self.entries[0], self.kind.first)
        ):
            raise self.damaged(1)
        self._require_head(head)
        if mend and os.fstat(file).st_size > self._starts[-1]:
            self._cut_back(file)
        if os.fstat(file).st_size == self._starts[-1]:
            self._state = _state(file)

    def _take_lines(self, lines: IO[bytes]) -> None:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            body = line[:-END_BYTES]
            digest = self._digest(self._last_hash, body)
            try:
                if line != body + HASH_PART.format(digest).encode():
                    raise ValueError
                entry = self.kind.parse(body)
            except (ValueError, SfumatoError):
                raise self.damaged(len(self.hashes) + 1) from None
            self._take(entry, digest, len(line))

    def _take(self, entry: Entry, digest: str, size: int) -> None:
        if entry.large_fields:
            entry = dataclasses.replace(entry, **dict.fromkeys(entry.large_fields, ""))
        self.entries.append(entry)
        self.hashes.append(digest)
        self._starts.append(self._starts[-1] + size)

    def _digest(self, previous: str, body: bytes) -> str:
        return hashlib.blake2b(
            previous.encode() + body, key=self._key, digest_size=HASH_BYTES
        ).hexdigest()

    def damaged(self, line: int) -> UnreadableInput:
        """The error that names the first line that is not as it was written."""
        if line == 1:
            version_hint = ", or it is of another version of sfumato"
        else:
            version_hint = ""
        return UnreadableInput(
            f"the {self.kind.name} {self.path} was changed after it was written, from line {line} "
            f"on{version_hint}; {self.kind.consequence} until the original is restored"
        )

    # writing

    def start(self, first: Entry) -> None:
        """Make the file with its first entry in it, whole or not at all; one that is there is never
        replaced.
        """
        path = self.path or Path()
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        line, digest, entry = self._line(first)
        self._take(entry, digest, len(line))
        try:
            file = open_private(draft, os.O_WRONLY | os.O_EXCL)
            try:
                _write_through(file, line)
                # a head without a journal does no harm; a journal whose head is gone is refused
                self._remember_head()
                os.link(draft, path)  # fails where a file is already
            finally:
                os.close(file)
                draft.unlink()
            sync_folder(path.parent)
        except FileExistsError:
            raise OutputError(
                f"a {self.kind.name} {path} already exists, and it is never replaced; "
                "choose another path"
            ) from None
        except OSError as error:
            raise OutputError(
                f"cannot start the {self.kind.name} {path}: {_reason(error)}"
            ) from None

    @contextlib.contextmanager
    def turn(self) -> Iterator[Self]:
        """The journal, ours alone and up to date until the end of the block."""
        if self.path is None:
            with self._turn:
                yield self
            return
        flags = os.O_RDWR | os.O_APPEND | (0 if self.kind.first else os.O_CREAT)
        file = self._opened(flags)
        try:
            while self.kind.locked and not self._locked(file):
                os.close(file)
                file = self._opened(flags)
            self._catch_up(file, mend=True)
            self._file = file
            yield self
        finally:
            self._file = None
            # A child that was forked during the turn has the file open too: closing ours alone
            # would leave the lock with it.
            if self.kind.locked:
                unlock(file)
            os.close(file)

    def _locked(self, file: int) -> bool:
        """Wait until no other process holds the file; False where it was replaced while we
        waited.
        """
        hold_alone(file, self.kind.name, wait_for if self.kind.anywhere else lock)
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(file), (self.path or Path()).stat())
        return False

    def append(self, *entries: Entry) -> None:
        """Write entries at the end, only inside a turn; they are on the disk when this returns, or
        an error says that none is.
        """
        if self.path is None:
            self.entries += entries
            return
        if self._file is None:
            raise InternalError(f"the {self.kind.name} can only be written inside a turn")
        before = len(self.hashes), self._starts[-1]
        text = bytearray()
        for entry in entries:
            line, digest, read_back = self._line(entry)
            self._take(read_back, digest, len(line))
            text += line
        try:
            _write_through(self._file, text)
            if before[1] == 0:
                sync_folder(self.path.parent)
            self._remember_head()
        except (OSError, OutputError) as error:
            self.forget(before[0])
            with contextlib.suppress(OSError):
                self._cut_back(self._file)
            if os.fstat(self._file).st_size != self._starts[-1]:
                self._file = None  # half a line stands at the end: nothing may be put after it
            raise OutputError(
                f"the {self.kind.name} {self.path} cannot be written ({_reason(error)}), so"
                f" {self.kind.consequence}"
            ) from None
        self._state = _state(self._file)

    def add(self, entry: Entry) -> None:
        """Append an entry in a turn of its own; where there is no file yet, start it."""
        if self.kind.first is not None and self.path is not None and not self.path.exists():
            self.start(entry)
            return
        with self.turn():
            self.append(entry)

    def _line(self, entry: Entry) -> tuple[bytes, str, Entry]:
        """The line of an entry, its hash, and the entry as it is read back; what could not be is
        not written.
        """
        plain = json.dumps(dataclasses.asdict(entry), ensure_ascii=False, separators=(",", ":"))
        # a lone half of a letter (from the name of a file, say) has no UTF-8: it becomes a question
        # mark
        body = f'{{"{type(entry).__name__}":{plain}'.encode("utf-8", "replace")
        try:
            read_back = self.kind.parse(body)
        except ValueError as error:
            raise InternalError(
                f"a {type(entry).__name__} of the {self.kind.name} is not as declared"
            ) from error
        digest = self._digest(self._last_hash, body)
        return body + HASH_PART.format(digest).encode(), digest, read_back

    def forget(self, start: int = 0) -> None:
        """Let go of what was read, from an entry on; the file is read again when it is asked
        for.
        """
        del self.entries[start:], self.hashes[start:], self._starts[start + 1 :]
        self._state = None

    def _cut_back(self, file: int) -> None:
        os.ftruncate(file, self._starts[-1])
        os.fsync(file)

    # how far it went, remembered outside of the file

    def _remembered_head(self) -> Head | None:
        if self._head_file is None:
            return None
        try:
            plain = json.loads(
                read_plain(self._head_file, limit=MEGABYTE, purpose="the head of a journal")
            )
            head = Head(int(plain["entries"]), str(plain["hash"]))
        except (
            UnreadableInput,
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            RecursionError,
        ):
            head = None
        if self._head_beside and (head is None or head.entries < 1):
            raise UnreadableInput(
                f"{self._head_file} is missing or damaged, so entries may have been cut off the "
                f"end of the {self.kind.name} {self.path}; {self.kind.consequence} until it is "
                "restored"
            )
        return head

    def _require_head(self, head: Head | None) -> None:
        """Refuse a journal that was longer, or other, when it was last seen."""
        if head is None or self.extends(head):
            if not self._head_beside:
                self._remember_head()
            return
        raise UnreadableInput(
            f"the {self.kind.name} {self.path} is an older copy, lost entries at its end, or is "
            f"another one: it has {len(self.hashes):,} entries, and {self._head_file} remembers "
            f"{head.entries:,}; {self.kind.consequence} until the original is restored"
        )

    def _remember_head(self) -> None:
        file = self._head_file
        if file is None or not self.hashes:
            return
        content = json.dumps(dataclasses.asdict(self.head)).encode() + b"\n"
        if self._head_beside:
            write_whole(file, content)
            return
        # a state folder that cannot be written remembers nothing
        with contextlib.suppress(OSError, UnreadableInput):
            head = self._remembered_head()
            # else another process has seen more meanwhile
            if head is None or head.entries < len(self.hashes):
                file.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
                write_whole(file, content)


def hold_alone(file: int, name: str, wait: Callable[[int], object] = lock) -> None:
    """Wait until no other process holds an open file; closing it, or dying, lets it go.

    Without locks two processes could spend the same budget, say, so nothing is written then.
    """
    try:
        wait(file)
    except NoLocks:
        raise MissingExtra(
            f"a {name} needs a system and a disk with file locks (Linux, macOS, BSD); use none here"
        ) from None
    except OSError as error:
        raise OutputError(
            f"the {name} is held by another process ({_reason(error)}); try again later"
        ) from None


def _write_through(file: int, text: bytes | bytearray) -> None:
    """Write all of a text and come back when the disk has it: a disk that is nearly full takes a
    part and says nothing.
    """
    remaining = memoryview(text)
    while remaining:
        remaining = remaining[os.write(file, remaining) :]
    os.fsync(file)


def _read_bytes(file: int, size: int) -> bytes:
    """So many bytes from where a file stands; fewer where it ends before."""
    with open(file, "rb", closefd=False) as content:
        return content.read(size)


def _state(file: int) -> tuple[int, ...]:
    """What changes when somebody else writes to a file, or puts another in its place."""
    status = os.fstat(file)
    # anybody can set st_mtime back; st_ctime is the kernel's
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
