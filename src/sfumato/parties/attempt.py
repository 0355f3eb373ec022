"""What a party remembers of a study while it runs, so that trying again asks nothing new.

A file for the owner alone, on the disk before the first share leaves. It holds the noise that was drawn: a second attempt adds the same
noise to the same rows, under fresh shares, so that only the same answer can come out and the budget is spent once. Who comes back with
other rows, or without the file, is another attempt: it spends again, and once anything was opened the others refuse it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.portable import NoLocks, lock, open_private
from sfumato.errors import OutputError, UnreadableInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
MAX_BYTES = 1024 * MEGABYTE


class State(enum.IntEnum):
    """How far an attempt has come; it goes back only to be signed anew."""

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


@dataclasses.dataclass
class Attempt:
    """One party's part in one study. ``name`` is drawn anew when rows change; ``marks`` are what the parties brought (see ``hello``)."""

    path: Path
    study: str
    question: str
    input: str
    name: str = dataclasses.field(default_factory=lambda: secrets.token_hex(16))
    noise: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    state: State = State.PLANNED
    number: int = 0
    marks: dict[str, str] = dataclasses.field(default_factory=dict)
    answer: dict[str, Any] | None = None
    session: str = ""
    transcript: str = ""
    public: str = ""
    signatures: dict[str, str] = dataclasses.field(default_factory=dict)
    cost: dict[str, Any] = dataclasses.field(default_factory=dict)

    def save(self) -> None:
        """Write all of it, whole or not at all, and come back when the disk has it."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "path"}
        write_whole(self.path, json.dumps({"attempt": VERSION, **plain, "state": int(self.state)}).encode())

    def reached(self, state: State, **known: Any) -> None:
        """Note on the disk how far this is, and what is known now."""
        changed = state > self.state or any(getattr(self, name) != value for name, value in known.items())
        for name, value in known.items():
            setattr(self, name, value)
        self.state = max(self.state, state)
        if changed:
            self.save()

    def opened(self, **known: Any) -> None:
        """Note the answer, before anybody has signed it; signatures of an earlier session do not fit this one."""
        for name, value in {**known, "signatures": {}}.items():
            setattr(self, name, value)
        self.state = State.OPENED
        self.save()

    @property
    def noise_by_round(self) -> dict[int, NDArray[np.int64]]:
        """The drawn noise as the meeting takes it."""
        return {int(number): np.array(drawn, dtype=np.int64) for number, drawn in self.noise.items()}

    @classmethod
    def load(cls, path: Path) -> Attempt | None:
        """The attempt in a file, or None where there is none."""
        if not path.exists():
            return None
        try:
            plain = json.loads(read_plain(path, most=MAX_BYTES, what="an attempt"))
            if plain.pop("attempt") != VERSION:
                raise UnreadableInput(f"{path} is of another version of sfumato")
            return cls(path=path, **{**plain, "state": State(plain["state"])})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UnreadableInput(
                f"{path} is not as it was written; without it nothing is asked again: put back the true one"
            ) from None


def noise_as_text(noise: Mapping[int, NDArray[np.int64]]) -> dict[str, list[int]]:
    """Drawn noise as it is kept."""
    return {str(number): [int(one) for one in drawn] for number, drawn in noise.items()}


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep a second run of the same study at the same party away, for as long as this one lasts."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = open_private(path.with_name(path.name + ".lock"), os.O_RDWR)
    except OSError as error:
        raise OutputError(f"cannot write to {path.parent}: {error.strerror}") from None
    try:
        try:
            free = lock(handle, wait=False)
        except NoLocks:
            raise OutputError(
                f"the disk of {path.parent} has no file locks, so two runs could ask twice; keep it on a local disk"
            ) from None
        if not free:
            raise OutputError("this study is being run here already; wait for the other run")
        yield
    finally:
        os.close(handle)
