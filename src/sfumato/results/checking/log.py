"""The folder of a session: every output as a file, and a log that only grows, of what was found and what was decided.

``session.jsonl`` holds one JSON document a line, each with the hash of all before it, so that a changed, removed, moved, repeated or inserted line is noticed. ``head.json`` holds how many
lines there are and the hash of the last, so that lines that were cut off the end are noticed too; who rewrites both is noticed by a seal that the output checker keeps (see ``seals.py``). ``files/`` holds the
outputs, each with its digest in the log: one that was changed after it was checked is noticed too. ``samples/`` holds which records each output, and each of its cells, is about, as numbers of records of the
session, and per record the number of its person, for comparing outputs with each other; it holds no value, and never leaves. All of it is for its owner alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sfumato.core import environment
from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.ledger import START, checked_lines, hold_alone, mended, sealed, write_through
from sfumato.core.portable import PRIVATE_FOLDER, sync_folder
from sfumato.errors import OutputError, ParameterError, UnreadableInput

VERSION = 1
LOG, FILES, SAMPLES, HEAD = "session.jsonl", "files", "samples", "head.json"
PEOPLE = "people.bits"
"""Beside the samples: per record the number of its person."""
HEADED = "headed"
"""Said by the first line of a log whose length is kept beside it."""
MOST_BYTES = 256 * MEGABYTE
Choice = Literal["approved", "refused"]
State = Literal["approved", "refused", "undecided", "changed", "missing"]


@dataclasses.dataclass(frozen=True)
class LoggedOutput:
    """An output as it was added: its file with the digest, what the checker found, and what the researcher says."""

    number: int
    title: str
    file: str
    sha256: str
    verdict: Mapping[str, Any]
    at: str
    comment: str = ""
    exception: str = ""
    sample: str | None = None
    """SHA-256 of the file that says whose records it is about; None where only their number is known."""
    cells: str | None = None
    """SHA-256 of the file that says which records are in which of its cells; None where that is not known."""

    @property
    def status(self) -> str:
        """Pass, review or fail."""
        return str(self.verdict["status"])


@dataclasses.dataclass(frozen=True)
class OutputDecision:
    """What the output checker decided of an output, about which bytes, who, when and why."""

    number: int
    decision: Choice
    by: str
    because: str
    sha256: str
    at: str


@dataclasses.dataclass(frozen=True)
class ReviewedOutput:
    """An output as it is now: what was logged, the file as it is found, and the decision that is valid for it."""

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
        if self.decision is not None and self.decision.sha256 == self.digest:
            return self.decision.decision
        return "undecided" if self.as_checked and self.decision is None else "changed"

    def to_dict(self) -> dict[str, Any]:
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
    """A session's folder: read whole and checked, added to a line at a time."""

    def __init__(self, folder: Path, lines: list[dict[str, Any]], head: Mapping[str, Any] | None) -> None:
        self.folder = folder
        self.own: set[int] = set()  # the places of lines that were written here
        self._take(lines, head)

    def _take(self, lines: list[dict[str, Any]], head: Mapping[str, Any] | None) -> None:
        self.hashes = tuple(str(line["hash"]) for line in lines)
        try:
            if lines[0].get(HEADED) and not extends(self.hashes, head):
                raise UnreadableInput(
                    f"{self.folder / LOG} is shorter than it was, or another one: lines were cut off its end; nothing is decided or released until the true one is back"
                )
            self.decided_at = tuple(place for place, one in enumerate(lines, start=1) if "decided" in one)
            self.terms = {key: value for key, value in lines[0].items() if key != "hash"}
            if self.terms["sfumato_outputs"] != VERSION:
                raise UnreadableInput(f"{self.folder / LOG} was written by another version of sfumato")
            self.outputs = [_made(LoggedOutput, one["output"]) for one in lines[1:] if "output" in one]
            self.decisions = [_made(OutputDecision, one["decided"]) for one in lines[1:] if "decided" in one]
            self._told = [one.get("output", one.get("decided", {})) for one in lines[1:]]
            numbers = [one.number for one in self.outputs]
            whole = numbers == list(range(1, len(numbers) + 1)) and all(_own(one.file) for one in self.outputs)
            sound = whole and all(one.verdict["status"] in ("pass", "review", "fail") for one in self.outputs)
        except (KeyError, TypeError, ValueError, AttributeError):
            sound = False
        if not sound:
            raise _damaged(self.folder / LOG)

    @classmethod
    def start(cls, folder: Path, terms: Mapping[str, Any], people: bytes | None = None) -> OutputLog:
        """A new session in a new or empty folder, or in one where the beginning of a session came to no end; the log is written last, so that one that is there was begun whole.

        ``people`` says whose the records of the session are.
        """
        if people is not None:
            terms = {**terms, "people": _digest(people)}
        first = sealed({"sfumato_outputs": VERSION, **terms, HEADED: True}, START)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
            if not all(_left_by_a_beginning(path) for path in folder.iterdir()):
                raise OutputError(f"{folder} is not empty and holds no session; choose another folder")
            folder.chmod(PRIVATE_FOLDER)
            with _beginning(folder):
                for name in (FILES, SAMPLES):
                    (folder / name).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
                if people is not None:
                    write_whole(folder / SAMPLES / PEOPLE, people)
                write_whole(folder / HEAD, _head(1, first["hash"]))
                write_whole(folder / LOG, json.dumps(first).encode() + b"\n")
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror or error}") from None
        return cls(folder, [first], json.loads(_head(1, first["hash"])))

    @classmethod
    def at(cls, folder: Path) -> OutputLog:
        """The session of a folder; every line of its log is checked."""
        if not (folder / LOG).is_file():
            raise UnreadableInput(f"{folder} holds no {LOG}; name the folder of a session of outputs")
        head = _read_head(folder)  # before the log, which may grow meanwhile
        lines = _lines(read_plain(folder / LOG, most=MOST_BYTES, what="a log of outputs"), folder / LOG)
        return cls(folder, lines, head)

    @property
    def researcher(self) -> str:
        """Who made the outputs."""
        return str(self.terms.get("researcher", ""))

    @contextlib.contextmanager
    def _turn(self) -> Iterator[int]:
        """The log, ours alone and up to date until the end of the block."""
        path = self.folder / LOG
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise UnreadableInput(f"cannot open {path}: {error.strerror}") from None
        try:
            hold_alone(file)
            lines = _lines(mended(file), path)
            self._take(lines, _read_head(self.folder))
            self._last = lines[-1]["hash"]
            yield file
        finally:
            os.close(file)

    def _append(self, file: int, entry: Mapping[str, Any]) -> None:
        line = sealed(entry, self._last)
        write_through(file, json.dumps(line).encode() + b"\n")
        self._last = line["hash"]
        self.hashes += (self._last,)
        self._told.append(entry.get("output", entry.get("decided", {})))
        self.own.add(len(self.hashes))
        if "decided" in entry:
            self.decided_at += (len(self.hashes),)
        if self.terms.get(HEADED):
            write_whole(self.folder / HEAD, _head(len(self.hashes), self._last))

    def refresh(self) -> None:
        """Read what others may have added meanwhile."""
        with self._turn():
            pass

    def add(
        self,
        title: str,
        content: bytes,
        suffix: str,
        verdict: Mapping[str, Any],
        *,
        comment: str = "",
        exception: str = "",
        sample: bytes | None = None,
        cells: bytes | None = None,
        after: int,
    ) -> LoggedOutput:
        """Write an output and its line; the line comes last, so that what it names is there.

        ``after`` is how many outputs it was compared with: where there are more by now, nothing is written.
        """
        with self._turn() as file:
            if len(self.outputs) != after:
                raise Overtaken
            number = after + 1
            name = f"{number:03d}-{slug(title)}{suffix}"
            write_whole(self.folder / FILES / name, content)
            if sample is not None:
                write_whole(self.folder / SAMPLES / f"{number:03d}.bits", sample)
            if cells is not None:
                write_whole(self.folder / SAMPLES / f"{number:03d}.cells", cells)
            made = LoggedOutput(
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
            self._append(file, {"output": dataclasses.asdict(made)})
            self.outputs.append(made)
        return made

    def decide(self, number: int, decision: Choice, *, by: str, because: str) -> OutputDecision:
        """Write down what was decided of an output, about the bytes that its file holds now."""
        for word, text in (("by", by), ("because", because)):
            if not text.strip():
                raise ParameterError(f"a decision says {'who made it' if word == 'by' else 'why'}: give --{word}")
        with self._turn() as file:
            one = self.reviewed(number)
            if one.digest is None:
                raise ParameterError(f"the file of output {number} is missing; nothing can be decided of it")
            made = OutputDecision(number, decision, by.strip(), because.strip(), one.digest, environment.timestamp())
            self._append(file, {"decided": dataclasses.asdict(made)})
            self.decisions.append(made)
        return made

    def refused_before(self, number: int) -> set[int]:
        """The outputs that were refused when an output was added, so that it was not compared with them."""
        refused: set[int] = set()
        for one in self._told:
            if "decision" not in one and one["number"] == number:
                break
            if one.get("decision") == "refused":
                refused.add(one["number"])
            elif "decision" in one:
                refused.discard(one["number"])
        return refused

    def reviewed(self, number: int) -> ReviewedOutput:
        """One output as it is now."""
        if not 1 <= number <= len(self.outputs):
            raise ParameterError(f"there is no output {number}; there are {len(self.outputs):,}")
        logged = self.outputs[number - 1]
        last = [one for one in self.decisions if one.number == number]
        return ReviewedOutput(logged, self._digest_now(logged), last[-1] if last else None)

    def all_reviewed(self) -> list[ReviewedOutput]:
        """All outputs as they are now."""
        return [self.reviewed(one.number) for one in self.outputs]

    def content(self, number: int) -> bytes:
        """The bytes of an output as its file holds them now."""
        self.reviewed(number)
        return read_plain(self.folder / FILES / self.outputs[number - 1].file, most=MOST_BYTES, what="an output")

    def _digest_now(self, logged: LoggedOutput) -> str | None:
        try:
            return _digest(read_plain(self.folder / FILES / logged.file, most=MOST_BYTES, what="an output"))
        except UnreadableInput:
            return None

    def strangers(self) -> list[str]:
        """Files beside the outputs that no line of the log names."""
        known = {one.file for one in self.outputs}
        return sorted(path.name for path in (self.folder / FILES).iterdir() if path.name not in known)

    def sample(self, logged: LoggedOutput) -> bytes | None:
        """Whose records an output is about; refused when it is not as it was written."""
        return self._kept(f"{logged.number:03d}.bits", logged.sample)

    def cells(self, logged: LoggedOutput) -> bytes | None:
        """Which records are in which cell of an output; refused when it is not as it was written."""
        return self._kept(f"{logged.number:03d}.cells", logged.cells)

    def people(self) -> bytes | None:
        """Whose the records of the session are; None where that was not kept."""
        return self._kept(PEOPLE, self.terms.get("people"))

    def _kept(self, name: str, digest: str | None) -> bytes | None:
        if digest is None:
            return None
        found = read_plain(self.folder / SAMPLES / name, most=MOST_BYTES, what="a sample")
        if _digest(found) != digest:
            raise _damaged(self.folder / SAMPLES)
        return found

    def sync(self) -> None:
        """Let what was written last."""
        try:
            for place in (self.folder / FILES, self.folder / SAMPLES, self.folder):
                sync_folder(place)
        except OSError as error:
            words = "open the session where its folder is now: what was added before is there"
            raise OutputError(f"cannot write {self.folder}: {error.strerror}; {words}") from None


BEGINNING = ".beginning"
"""Held while a session is begun."""


def _left_by_a_beginning(path: Path) -> bool:
    """Whether something in a folder is of a session that was being begun."""
    if path.name in (FILES, SAMPLES):
        return path.is_dir() and all(path.name == SAMPLES and _of_people(one) for one in path.iterdir())
    return path.name in (HEAD, BEGINNING) or path.name.startswith((f".{LOG}-", f".{HEAD}-"))


def _of_people(path: Path) -> bool:
    """Whether a file says whose the records of a session are, or was being written to."""
    return path.name == PEOPLE or path.name.startswith(f".{PEOPLE}-")


@contextlib.contextmanager
def _beginning(folder: Path) -> Iterator[None]:
    """A folder in which nobody else begins a session until the end of the block, without what one that came to no end left."""
    place = folder / BEGINNING
    file = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        hold_alone(file)
        if (folder / LOG).exists():
            raise OutputError(f"somebody else began a session in {folder} just now; open it again")
        for path in folder.iterdir():
            if path.name.startswith((f".{LOG}-", f".{HEAD}-")):
                path.unlink()
        for path in (folder / SAMPLES).glob(f".{PEOPLE}-*"):
            path.unlink()
        yield
        place.unlink(missing_ok=True)
    finally:
        os.close(file)


def _lines(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last one without its end was being written when the process died, and nothing was said of it."""
    try:
        return checked_lines(content[: content.rfind(b"\n") + 1], path)
    except UnreadableInput:
        raise _damaged(path) from None


def _head(entries: int, last: str) -> bytes:
    return (json.dumps({"entries": entries, "head": last}) + "\n").encode()


def _read_head(folder: Path) -> Mapping[str, Any] | None:
    """How long the log was and how it ended when it was last written to; None where that is not there or no such thing."""
    try:
        found = json.loads(read_plain(folder / HEAD, most=MEGABYTE, what="the head of a log"))
    except (UnreadableInput, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def extends(hashes: Sequence[str], head: Mapping[str, Any] | None) -> bool:
    """Whether a log begins with all that a head says: as many lines, and that one the last of them.

    >>> extends(["a", "b", "c"], {"entries": 2, "head": "b"}), extends(["a"], {"entries": 2, "head": "b"}), extends(["a"], None)
    (True, False, False)
    """
    entries = None if head is None else head.get("entries")
    if head is None or type(entries) is not int or not 1 <= entries <= len(hashes):
        return False
    return bool(hashes[entries - 1] == head.get("head"))


def _damaged(path: Path) -> UnreadableInput:
    return UnreadableInput(
        f"{path} is not as it was written; nothing is decided or released until the true one is back"
    )


def _made(cls: Any, plain: Mapping[str, Any]) -> Any:
    return cls(**plain)


def _own(name: str) -> bool:
    """Whether a name is one of a file of its own folder."""
    return Path(name).name == name and name not in ("", ".", "..")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def slug(title: str) -> str:
    """A title as a part of a file name.

    >>> slug("Mean cost, by region / 2020")
    'mean-cost-by-region-2020'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "output"
