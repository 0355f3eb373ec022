"""Registering a release: who is in it, what it tells together with earlier ones, and what is
written down.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core import environment
from sfumato.core.attack import Memory
from sfumato.core.fields import Document, Fields
from sfumato.release.register.joint_disclosure import Together, together
from sfumato.release.register.released_classes import (
    BY_CONTENT,
    people_of,
    person_columns,
    persons_of,
    recoded,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair
    from sfumato.core.recipe import Kept
    from sfumato.release.register.store import Register, RegisteredPeople


@dataclasses.dataclass(frozen=True, eq=False)
class Newcomer:
    """A release that is about to be made, or was made: its people, and what it tells together with
    those registered before.
    """

    register: Register
    people: RegisteredPeople
    person: tuple[str, ...]
    classes: bool
    records: int
    epsilon: float | None
    delta: float | None
    source: str
    sensitive: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(
        cls,
        register: Register,
        pair: TablePair,
        *,
        person: Sequence[str] = (),
        private: Fields | None = None,
    ) -> Newcomer:
        """From an original and what is released of it; ``private`` is what its certificate says of
        differential privacy.
        """
        columns = person_columns(pair.original, person)
        spent = private if private and private.get("certified") else {}
        return cls(
            register,
            people_of(register, pair, columns),
            columns or BY_CONTENT,
            recoded(pair),
            pair.kept,
            spent.get("epsilon"),
            spent.get("delta"),
            pair.original.source.name,
            _secrets(register, pair, columns),
        )

    def together(self, besides: Sequence[int] = ()) -> Together:
        """What it tells with all releases that stand in the register."""
        return together(
            self.register,
            self.people,
            person=self.person,
            classes=self.classes,
            epsilon=self.epsilon,
            delta=self.delta,
            sensitive=self.sensitive,
            besides=besides,
        )

    def entry(
        self,
        *,
        recipient: str,
        folder: Path,
        certificate: str,
        digest: str,
        k: int | None,
        note: str = "",
    ) -> Document:
        """What is written down of it."""
        return {
            "created": environment.timestamp(),
            "recipient": recipient,
            "source": self.source,
            "certificate": certificate,
            "input": digest,
            "person": list(self.person),
            "people": len(self.people.hashes),
            "records": self.records,
            "k": k,
            "classes": self.classes,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "folder": str(folder.resolve()),
            "note": note,
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Remembered(Memory):
    """A register that answers for what was released of the same people before."""

    register: Register
    person: tuple[str, ...] = ()

    def kept(self, limit: float, pair: TablePair) -> Kept:
        """The share of people who are unique in all releases together, compared with a limit; what
        is not known does not keep it.
        """
        return Newcomer.of(self.register, pair, person=self.person).together().kept(limit)


def _secrets(
    register: Register, pair: TablePair, columns: Sequence[str]
) -> dict[str, NDArray[np.int64]]:
    """Per sensitive column the code of every person, in the order of their hashes; persons with
    several rows have none.
    """
    hashes = register.hashed(persons_of(pair.original, columns))
    distinct, first = np.unique(hashes, return_index=True)
    if len(distinct) < len(hashes):
        return {}
    return {
        name: pair.original.encoded(name).codes[first].astype(np.int64)
        for name in pair.original.schema.sensitive
    }
