"""The ledger: what was spent on a dataset, in a file that only grows.

One JSON document a line. The first says what the budget is for; then, for every question, a line *spend* that is on the
disk before the noise is drawn, and a line *answer* once there is one. A process that is killed in between has spent and
not answered: the ledger never counts too little. Every line holds the hash of the line before it, so a changed, removed
or inserted line is noticed; what a ledger cannot notice is being replaced by an older copy of itself, so keep it where
those who ask cannot write.

The ledger belongs to a declared dataset, not to the bytes of a file: when the data change, what was spent stays spent.
The file is locked from before a question is looked up until its answer is written; processes take turns.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core.budget import NOTHING, Budget, PrivacyLoss
from sfumato.core.declared import Relation
from sfumato.core.portable import NoLocks, lock, open_private, sync_folder
from sfumato.errors import BudgetExceeded, MissingExtra, OutputError, ParameterError, UnreadableInput

VERSION = 1
START = "0" * 64


@dataclasses.dataclass(frozen=True)
class Terms:
    """What a budget is for: the dataset, the total, and whom it protects."""

    dataset: str
    budget: Budget
    relation: Relation

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the first line."""
        relation = dataclasses.asdict(self.relation)
        return {"ledger": VERSION, "dataset": self.dataset, "budget": self.budget.to_dict(), "relation": relation}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Terms:
        """The inverse of :meth:`to_dict`."""
        return cls(plain["dataset"], Budget(**plain["budget"]), Relation(**plain["relation"]))


class Book:
    """A ledger while it is held: what was asked, spent and answered, and the only way to add to it."""

    def __init__(self, terms: Terms, lines: Sequence[Mapping[str, Any]] = (), *, file: int | None = None) -> None:
        self.terms = terms
        self.losses: list[PrivacyLoss] = []
        self.spending = NOTHING
        self.answers: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.spent_on: set[str] = set()
        self._file = file
        self._last = START
        for line in lines:
            self._take(line)

    def spend(self, questions: Mapping[str, tuple[str, PrivacyLoss]]) -> None:
        """Write down what these questions (key → text, loss) cost, all or none, before anything is computed."""
        wanted = [loss for _, loss in questions.values()]
        if not self.terms.budget.affords(self.spending.plus(wanted)):
            raise BudgetExceeded(self._refusal(wanted))
        self._write([{"spend": key, "asked": text, "loss": loss.to_dict()} for key, (text, loss) in questions.items()])

    def record(self, answers: Mapping[str, dict[str, Any]]) -> None:
        """Keep answers, so that the same questions get them again."""
        self._write([{"answer": key, "values": answer} for key, answer in answers.items()])

    def _refusal(self, wanted: Sequence[PrivacyLoss]) -> str:
        budget = self.terms.budget
        asked = " + ".join(str(loss) for loss in wanted[:4]) + (" + …" if len(wanted) > 4 else "")
        return (
            f"the budget of {self.terms.dataset!r} is {budget}; {budget.spent(self.spending):g} of it is spent on "
            f"{self.spending.answers} answer(s), and {asked} more would exceed it. One answer may still cost up to "
            f"ε = {budget.largest_epsilon(self.spending):g}; questions already answered cost nothing"
        )

    def _write(self, entries: Sequence[Mapping[str, Any]]) -> None:
        text = b""
        for entry in entries:
            line = sealed(entry, self._last)
            self._take(line)
            text += json.dumps(line).encode() + b"\n"
        if self._file is not None and text:
            write_through(self._file, text)

    def _take(self, line: Mapping[str, Any]) -> None:
        if "spend" in line:
            loss = PrivacyLoss.from_dict(line["loss"])
            self.losses.append(loss)
            self.spending = self.spending.plus([loss])
            self.asked.append(line["asked"])
            self.spent_on.add(line["spend"])
        elif "answer" in line:
            self.answers[line["answer"]] = line["values"]
        self._last = line["hash"]


class Ledger:
    """Where a session writes down what it spends: in memory, or in a file that survives it and is shared."""

    def __init__(self, terms: Terms, path: Path | None = None) -> None:
        self.terms = terms
        self.path = path
        self._memory = Book(terms) if path is None else None
        self._turn = threading.Lock()

    @classmethod
    def at(cls, path: str | Path) -> Ledger:
        """The ledger in a file; everything in it is checked."""
        with held(Path(path)) as book:
            return cls(book.terms, Path(path))

    @classmethod
    def start(cls, path: str | Path, terms: Terms) -> Ledger:
        """A new ledger file; an old one is never replaced."""
        file = Path(path)
        line = sealed(terms.to_dict(), START)
        draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        try:
            handle = open_private(draft, os.O_WRONLY | os.O_EXCL)
            try:
                write_through(handle, json.dumps(line).encode() + b"\n")
                os.link(draft, file)  # fails where a ledger is already: nobody's spending is forgotten
            finally:
                os.close(handle)
                draft.unlink()
            sync_folder(file.parent)
        except OutputError:
            raise
        except FileExistsError:
            raise OutputError(f"there is a ledger {file} already; a budget is not started anew") from None
        except OSError as error:
            raise OutputError(f"cannot start the ledger {file}: {error.strerror}") from None
        return cls(terms, file)

    @contextlib.contextmanager
    def hold(self) -> Iterator[Book]:
        """The ledger, ours alone until the end of the block."""
        if self._memory is not None:
            with self._turn:
                yield self._memory
            return
        with held(self.path or Path()) as book:
            if book.terms != self.terms:
                raise ParameterError(f"the ledger {self.path} was replaced by one with other terms")
            yield book


@contextlib.contextmanager
def held(path: Path) -> Iterator[Book]:
    """Lock a ledger file, read and check all of it, and give the book that can write to it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as error:
        raise UnreadableInput(f"cannot open the ledger {path}: {error.strerror}") from None
    try:
        hold_alone(file)
        lines = checked_lines(mended(file), path)
        try:
            book = Book(Terms.from_dict(lines[0]), lines, file=file)
        except (KeyError, TypeError, ValueError):
            raise _damaged(path, 1) from None
        yield book
    finally:
        os.close(file)


def hold_alone(file: int) -> None:
    """Wait until no other process holds the file; closing it, or dying, lets it go.

    Without locks two processes could spend the same budget, so nothing is answered then.
    """
    try:
        lock(file)
    except NoLocks:
        raise MissingExtra(
            "a ledger file needs a system and a disk with file locks (Linux, macOS, BSD); here, use none"
        ) from None


def mended(file: int) -> bytes:
    """All of a ledger file. A last line without its end was being written when the process died.

    If it is whole it counts. If it is not, it had not reached the disk, so nothing was answered for it: it is cut off.
    """
    content = _all_of(file)
    whole, _, rest = content.rpartition(b"\n")
    if not rest:
        return content
    try:
        json.loads(rest)
    except ValueError:
        kept = whole + b"\n" if whole else b""
        os.ftruncate(file, len(kept))
        os.fsync(file)
        return kept
    write_through(file, b"\n")
    return content + b"\n"


def checked_lines(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The lines of a ledger, or an error that names the first one that is not as it was written."""
    lines: list[dict[str, Any]] = []
    last = START
    for number, raw in enumerate(content.splitlines(), start=1):
        try:
            line = json.loads(raw)
            sound = sealed({k: v for k, v in line.items() if k != "hash"}, last)["hash"] == line["hash"]
        except (ValueError, KeyError, AttributeError, TypeError):
            sound = False
        if not sound:
            raise _damaged(path, number)
        last = line["hash"]
        lines.append(line)
    if not lines:
        raise _damaged(path, 1)
    return lines


def sealed(entry: Mapping[str, Any], last: str) -> dict[str, Any]:
    """An entry with the hash of itself and of all before it."""
    text = json.dumps(entry, sort_keys=True)
    return {**entry, "hash": hashlib.sha256(f"{last}\n{text}".encode()).hexdigest()}


def write_through(file: int, text: bytes) -> None:
    """Write all of a text and come back when the disk has it; when it has not, nothing may be answered."""
    rest = memoryview(text)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError as error:
        raise OutputError(f"the ledger cannot be written ({error.strerror}), so nothing is answered") from None


def _all_of(file: int) -> bytes:
    parts = []
    os.lseek(file, 0, os.SEEK_SET)
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _damaged(path: Path, line: int) -> UnreadableInput:
    return UnreadableInput(
        f"the ledger {path} is not as it was written, from line {line} on; nothing is answered until its owner has put "
        "back the true one"
    )
