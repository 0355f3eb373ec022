"""What a party remembers of a study while it runs, so that trying again asks nothing new.

A journal for the owner alone, on the disk before the first share leaves. It holds the noise that
was drawn: a second attempt adds the same noise to the same rows, under fresh shares, so that only
the same answer can come out and the budget is spent once. Who comes back with other rows, or
without the file, is another attempt: it spends again, and once anything was opened the others
refuse it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.fields import Fields
from sfumato.core.journal import Entry, Journal, JournalKind
from sfumato.core.portable import NoLocks, lock, open_private
from sfumato.errors import OutputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class State(enum.IntEnum):
    """How far an attempt has come; it goes back only to be signed again."""

    PLANNED = 1
    """The loss is spent and the noise is drawn."""
    SHARED = 2
    """Shares may have left."""
    OPENING = 3
    """Others may know the answer."""
    OPENED = 4
    """The answer is known and not confirmed by all."""
    CONFIRMED = 5
    """All have signed the same answer."""


@dataclasses.dataclass(frozen=True)
class NewAttempt(Entry):
    """A party begins a study with certain rows. ``name`` is redrawn when rows change; per round,
    the noise that was drawn.
    """

    study: str
    question: str
    input: str
    name: str
    noise: Mapping[str, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class AttemptMeeting(Entry):
    """The parties met: the number of the session, and what each of them brought (see ``hello``)."""

    number: int
    marks: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class AttemptState(Entry):
    """How far the attempt is from now on."""

    state: State


@dataclasses.dataclass(frozen=True)
class OpenedAnswer(Entry):
    """The answer, before anybody has signed it."""

    answer: Fields
    session: str
    transcript: str
    public: str


@dataclasses.dataclass(frozen=True)
class Confirmation(Entry):
    """All have signed the same answer; what it took to get it."""

    signatures: Mapping[str, str]
    cost: Fields


ATTEMPT = JournalKind(
    "attempt",
    (NewAttempt, AttemptMeeting, AttemptState, OpenedAnswer, Confirmation),
    "nothing is asked again",
    first=NewAttempt,
    locked=False,
)
"""Whoever writes it holds the lock of :func:`alone`."""


class Attempt:
    """One party's part in one study, as its journal tells it; what is noted is on the disk before
    anything is done.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        # the state is what the entries make of it, in their order
        for entry in journal.entries:
            self._take(entry)

    @classmethod
    def begin(
        cls,
        path: Path,
        study: str,
        question: str,
        digest: str,
        noise: Mapping[int, NDArray[np.int64]],
    ) -> Attempt:
        """A new attempt, also where one with other rows was begun before."""
        journal = Journal(path, ATTEMPT)
        noise_drawn = {
            str(number): tuple(int(value) for value in values) for number, values in noise.items()
        }
        journal.add(NewAttempt(study, question, digest, secrets.token_hex(16), noise_drawn))
        return cls(journal)

    @classmethod
    def load(cls, path: Path) -> Attempt | None:
        """The attempt in a file, or None where there is none."""
        if not path.exists():
            return None
        return cls(Journal(path, ATTEMPT).read())

    def note(self, entry: Entry) -> None:
        """Write down how far this is, and what is known now."""
        self._journal.add(entry)
        self._take(entry)

    def reach(self, state: State) -> None:
        """Note how far this is, where it has not been so far before."""
        # a second attempt passes early states again, and must not forget the later one
        if state > self.state:
            self.note(AttemptState(state))

    def _take(self, entry: Entry) -> None:
        # everything begins again: an earlier attempt had other rows
        if isinstance(entry, NewAttempt):
            self.study, self.question, self.input = entry.study, entry.question, entry.input
            self.name, self.noise = entry.name, entry.noise
            self.state, self.number = State.PLANNED, 0
            self.marks: Mapping[str, str] = {}
            self.answer: Fields | None = None
            self.session = self.transcript = self.public = ""
            self.signatures: Mapping[str, str] = {}
            self.cost: Fields = {}
        elif isinstance(entry, AttemptMeeting):
            self.number, self.marks = entry.number, entry.marks
        elif isinstance(entry, AttemptState):
            self.state = entry.state
        elif isinstance(entry, OpenedAnswer):
            self.state, self.answer, self.session = State.OPENED, entry.answer, entry.session
            self.transcript, self.public = entry.transcript, entry.public
            self.signatures = {}  # those of an earlier session do not fit this one
        elif isinstance(entry, Confirmation):
            self.state, self.signatures, self.cost = State.CONFIRMED, entry.signatures, entry.cost

    @property
    def noise_by_round(self) -> dict[int, NDArray[np.int64]]:
        """The drawn noise as the meeting takes it."""
        return {
            int(number): np.array(noise_drawn, dtype=np.int64)
            for number, noise_drawn in self.noise.items()
        }


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep a second run of the same study at the same party away, for as long as this one lasts."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open_private(path.with_name(path.name + ".lock"), os.O_RDWR)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        # not waiting: the other run may take as long as a study
        try:
            free = lock(handle, wait=False)
        except NoLocks:
            raise OutputError(
                f"the disk of {path.parent} has no file locks, so two runs could ask twice; use a "
                "local disk"
            ) from None
        if not free:
            raise OutputError("this study is already running here; wait for the other run")
        yield
    finally:
        os.close(handle)
