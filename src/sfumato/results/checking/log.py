"""The folder of a session: every output as a file, and a journal of what was found and what was
decided.

``session.jsonl`` is the journal, and ``head.json`` beside it says how far it goes; who rewrites
both is noticed by a seal that the output checker keeps (see ``seals.py``). ``files/`` holds the
outputs, each with its digest in the log: one that was changed after it was checked is noticed too.
``samples/`` holds which records each output, and each of its cells, is about, as numbers of records
of the session, and per record the number of its person, for comparing outputs with each other; it
holds no value, and never leaves. All of it is for its owner alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from sfumato.core import environment
from sfumato.core.fields import Document, Fields
from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.journal import Entry, Journal, JournalKind, hold_alone
from sfumato.core.portable import PRIVATE_FOLDER, open_private, sync_folder
from sfumato.errors import OutputError, ParameterError, UnreadableInput

LOG, FILES, SAMPLES, HEAD = "session.jsonl", "files", "samples", "head.json"
PEOPLE = "people.bits"
"""Beside the samples: per record the number of its person."""
MOST_BYTES = 256 * MEGABYTE
Choice = Literal["approved", "refused"]
STATUSES = ("pass", "review", "fail")
State = Literal["approved", "refused", "undecided", "changed", "missing"]


@dataclasses.dataclass(frozen=True)
class SessionTerms(Entry):
    """What a session begins with: who makes the outputs, by which rules, and how the persons of its
    records are distinguished.
    """

    researcher: str
    started: str
    rules: Fields
    unit: str | None
    persons: int | None
    universe: str | None
    versions: Fields
    people: str | None = None
    """SHA-256 of the file that says whose the records are."""


@dataclasses.dataclass(frozen=True)
class LoggedOutput(Entry):
    """An output as it was added: its file with the digest, what the checker found, and what the
    researcher says.
    """

    number: int
    title: str
    file: str
    sha256: str
    verdict: Fields
    at: str
    comment: str = ""
    exception: str = ""
    sample: str | None = None
    """SHA-256 of the file that says whose records it is about; None where only their number is
    known.
    """
    cells: str | None = None
    """SHA-256 of the file that says which records are in which of its cells; None where that is not
    known.
    """

    @property
    def status(self) -> str:
        """Pass, review or fail."""
        return str(self.verdict["status"])


@dataclasses.dataclass(frozen=True)
class OutputDecision(Entry):
    """What the output checker decided of an output, about which bytes, who, when and why."""

    number: int
    decision: Choice
    by: str
    because: str
    sha256: str
    at: str


OUTPUT_LOG = JournalKind(
    "log of outputs",
    (SessionTerms, LoggedOutput, OutputDecision),
    "decisions and releases are blocked",
    first=SessionTerms,
)


@dataclasses.dataclass(frozen=True)
class ReviewedOutput:
    """An output as it is now: what was logged, the file as it is found, and the decision that is
    valid for it.
    """

    logged: LoggedOutput
    digest: str | None
    decision: OutputDecision | None
    """The last one, whether it is about these bytes or others."""

    @property
    def as_checked(self) -> bool:
        """Whether the file is the one that was checked."""
        return self.digest == self.logged.sha256

    @property
    def state(self) -> State:
        """Where it stands; a decision is about certain bytes, and others need a new one."""
        if self.digest is None:
            return "missing"
        # A decision about other bytes than the file holds now does not count.
        if self.decision is not None and self.decision.sha256 == self.digest:
            return self.decision.decision
        if self.as_checked and self.decision is None:
            return "undecided"
        return "changed"

    def to_dict(self) -> Document:
        """Plain data."""
        return {
            "number": self.logged.number,
            "title": self.logged.title,
            "file": self.logged.file,
            "status": self.logged.status,
            "state": self.state,
            "as_checked": self.as_checked,
            "kind": self.logged.verdict["kind"],
            "persons": self.logged.verdict["persons"],
            "reasons": self.logged.verdict["reasons"],
            "comment": self.logged.comment,
            "exception": self.logged.exception,
            "at": self.logged.at,
            "decision": None if self.decision is None else dataclasses.asdict(self.decision),
        }


class Overtaken(Exception):
    """Somebody else added an output after this one was judged."""


class OutputLog:
    """A session's folder: read whole and checked, added to an entry at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = Journal(folder / LOG, OUTPUT_LOG, head_file=folder / HEAD, head_beside=True)
        self.own: set[int] = set()  # the numbers of entries that were written here
        self.outputs: list[LoggedOutput] = []
        self.decisions: list[OutputDecision] = []

    def _index(self) -> None:
        """Sort the entries, which must go with each other."""
        self.outputs = self.journal.of_type(LoggedOutput)
        self.decisions = self.journal.of_type(OutputDecision)
        for number, output in enumerate(self.outputs, start=1):
            # A name with a folder in it could point outside of the session.
            in_folder = Path(output.file).name == output.file and output.file not in ("", ".", "..")
            if (
                output.number != number
                or not in_folder
                or output.verdict.get("status") not in STATUSES
            ):
                raise self.journal.damaged(self.journal.entries.index(output) + 1)

    @property
    def terms(self) -> SessionTerms:
        """What the session began with."""
        return self.journal.of_type(SessionTerms)[0]

    @property
    def decided_at(self) -> list[int]:
        """The numbers of the entries that are decisions."""
        entries = enumerate(self.journal.entries, start=1)
        return [number for number, entry in entries if isinstance(entry, OutputDecision)]

    @classmethod
    def start(cls, folder: Path, terms: SessionTerms, people: bytes | None = None) -> OutputLog:
        """A new session in a new or empty folder, or in one where the beginning of a session came
        to no end; the log is written last, so that one that is there was begun whole.

        ``people`` says whose the records of the session are.
        """
        if people is not None:
            terms = dataclasses.replace(terms, people=_digest(people))
        log = cls(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
            # Nothing of anybody else's is taken over or overwritten.
            if not all(_is_unfinished(path) for path in folder.iterdir()):
                raise OutputError(
                    f"{folder} is not empty and holds no session; choose another folder"
                )
            folder.chmod(PRIVATE_FOLDER)
            with _beginning(folder):
                for name in (FILES, SAMPLES):
                    (folder / name).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
                if people is not None:
                    write_whole(folder / SAMPLES / PEOPLE, people)
                log.journal.start(terms)
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror or error}") from None
        return log

    @classmethod
    def at(cls, folder: Path) -> OutputLog:
        """The session of a folder; every entry of its log is checked."""
        if not (folder / LOG).is_file():
            raise UnreadableInput(
                f"{folder} holds no {LOG}; name the folder of a session of outputs"
            )
        log = cls(folder)
        log.journal.read()
        log._index()
        return log

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """The log, ours alone and up to date until the end of the block."""
        with self.journal.turn():
            self._index()
            yield

    def _append(self, entry: Entry) -> None:
        self.journal.append(entry)
        # Which decisions were made here is needed when the log is sealed.
        self.own.add(len(self.journal.entries))
        self._index()

    def refresh(self) -> None:
        """Read what others may have added meanwhile."""
        with self._turn():
            pass

    def add(
        self,
        title: str,
        content: bytes,
        suffix: str,
        verdict: Fields,
        *,
        comment: str = "",
        exception: str = "",
        sample: bytes | None = None,
        cells: bytes | None = None,
        after: int,
    ) -> LoggedOutput:
        """Write an output and its line; the line comes last, so that what it names is there.

        ``after`` is how many outputs it was compared with: where there are more by now, nothing is
        written.
        """
        with self._turn():
            # The verdict does not know outputs that came meanwhile: it must be made again.
            if len(self.outputs) != after:
                raise Overtaken
            number = after + 1
            name = f"{number:03d}-{slug(title)}{suffix}"
            write_whole(self.folder / FILES / name, content)
            if sample is not None:
                write_whole(self.folder / SAMPLES / f"{number:03d}.bits", sample)
            if cells is not None:
                write_whole(self.folder / SAMPLES / f"{number:03d}.cells", cells)
            entry = LoggedOutput(
                number,
                title,
                name,
                _digest(content),
                dict(verdict),
                environment.timestamp(),
                comment,
                exception,
                None if sample is None else _digest(sample),
                None if cells is None else _digest(cells),
            )
            self._append(entry)
        return entry

    def decide(self, number: int, decision: Choice, *, by: str, because: str) -> OutputDecision:
        """Write down what was decided of an output, about the bytes that its file holds now."""
        for option, text, question in (("by", by, "who made it"), ("because", because, "why")):
            if not text.strip():
                raise ParameterError(f"a decision needs {question}: give --{option}")
        with self._turn():
            digest = self.reviewed(number).digest
            if digest is None:
                raise ParameterError(
                    f"the file of output {number} is missing, so it cannot be decided; restore it"
                )
            entry = OutputDecision(
                number, decision, by.strip(), because.strip(), digest, environment.timestamp()
            )
            self._append(entry)
        return entry

    def refused_before(self, number: int) -> set[int]:
        """The outputs that were refused when an output was added, so that it was not compared with
        them.
        """
        refused: set[int] = set()
        # In the order of the log: a refusal may have been taken back before the output came.
        for entry in self.journal.entries:
            if isinstance(entry, LoggedOutput) and entry.number == number:
                break
            if isinstance(entry, OutputDecision) and entry.decision == "refused":
                refused.add(entry.number)
            elif isinstance(entry, OutputDecision):
                refused.discard(entry.number)
        return refused

    def reviewed(self, number: int) -> ReviewedOutput:
        """One output as it is now."""
        if not 1 <= number <= len(self.outputs):
            raise ParameterError(f"output {number} does not exist; there are {len(self.outputs):,}")
        logged = self.outputs[number - 1]
        last = None
        for decision in self.decisions:
            if decision.number == number:
                # The last decision is the valid one.
                last = decision
        return ReviewedOutput(logged, self._current_digest(logged), last)

    def all_reviewed(self) -> list[ReviewedOutput]:
        """All outputs as they are now."""
        return [self.reviewed(output.number) for output in self.outputs]

    def content(self, number: int) -> bytes:
        """The bytes of an output as its file holds them now."""
        # Refuses numbers that do not exist.
        self.reviewed(number)
        return read_plain(
            self.folder / FILES / self.outputs[number - 1].file,
            limit=MOST_BYTES,
            purpose="an output",
        )

    def _current_digest(self, logged: LoggedOutput) -> str | None:
        try:
            return _digest(
                read_plain(self.folder / FILES / logged.file, limit=MOST_BYTES, purpose="an output")
            )
        except UnreadableInput:
            return None

    def strangers(self) -> list[str]:
        """Files beside the outputs that no line of the log names."""
        names = {path.name for path in (self.folder / FILES).iterdir()}
        return sorted(names - {output.file for output in self.outputs})

    def sample(self, logged: LoggedOutput) -> bytes | None:
        """Whose records an output is about; refused when it is not as it was written."""
        return self._read_sample(f"{logged.number:03d}.bits", logged.sample)

    def cells(self, logged: LoggedOutput) -> bytes | None:
        """Which records are in which cell of an output; refused when it is not as it was
        written.
        """
        return self._read_sample(f"{logged.number:03d}.cells", logged.cells)

    def people(self) -> bytes | None:
        """Whose the records of the session are; None where that was not kept."""
        return self._read_sample(PEOPLE, self.terms.people)

    def _read_sample(self, name: str, digest: str | None) -> bytes | None:
        if digest is None:
            return None
        content = read_plain(self.folder / SAMPLES / name, limit=MOST_BYTES, purpose="a sample")
        if _digest(content) != digest:
            raise UnreadableInput(
                f"{self.folder / SAMPLES / name} was changed after it was written; "
                f"{OUTPUT_LOG.consequence} until the original is restored"
            )
        return content

    def sync(self) -> None:
        """Let what was written last."""
        try:
            for folder in (self.folder / FILES, self.folder / SAMPLES, self.folder):
                sync_folder(folder)
        except OSError as error:
            words = "open the session in its current folder: earlier outputs are there"
            raise OutputError(f"cannot write {self.folder}: {error.strerror}; {words}") from None


DRAFTS = (f".{LOG}.", f".{HEAD}-")
"""Names of files that were being written when a process died begin so."""
BEGINNING = ".beginning"
"""Held while a session is begun."""


def _is_unfinished(path: Path) -> bool:
    """Whether something in a folder is of a session that was being begun."""
    if path.name not in (FILES, SAMPLES):
        return path.name in (HEAD, BEGINNING) or path.name.startswith(DRAFTS)
    if not path.is_dir():
        return False
    # The owners of the records are written before the log; a draft of them begins with a dot.
    for file in path.iterdir():
        of_owners = file.name == PEOPLE or file.name.startswith(f".{PEOPLE}-")
        if path.name == FILES or not of_owners:
            return False
    return True


@contextlib.contextmanager
def _beginning(folder: Path) -> Iterator[None]:
    """A folder in which nobody else begins a session until the end of the block, without what one
    that came to no end left.
    """
    lock = folder / BEGINNING
    file = open_private(lock, os.O_RDWR)
    try:
        hold_alone(file, OUTPUT_LOG.name)
        # Looked at again under the lock: another process may have been faster.
        if (folder / LOG).exists():
            raise OutputError(f"somebody else just started a session in {folder}; open it again")
        for path in folder.iterdir():
            if path.name.startswith(DRAFTS):
                path.unlink()
        for path in (folder / SAMPLES).glob(f".{PEOPLE}-*"):
            path.unlink()
        yield
        lock.unlink(missing_ok=True)
    finally:
        os.close(file)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def slug(title: str) -> str:
    """A title as a part of a file name.

    >>> slug("Mean cost, by region / 2020")
    'mean-cost-by-region-2020'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "output"
