"""The data that a release is made of, whatever their shape: one protocol for tables, baskets, paths, graphs and related tables."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from sfumato.core.shape import DATA, PEOPLE, Shape

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from typing_extensions import TypeIs

    from sfumato.core.mechanism import Mechanism
    from sfumato.core.model import Model
    from sfumato.core.randomness import Seed
    from sfumato.core.schema import Schema
    from sfumato.core.source import Source


@runtime_checkable
class Data(Protocol):
    """People described by more than a row. Immutable: every change gives a new object (a frozen dataclass that inherits this class).

    ``schema`` describes the columns of the first file, ``beside`` those of a second one, where the people's own columns stand
    apart; ``people`` is the number of persons. ``origin`` holds, per person, the number of the person of the original data;
    None: the original ones in their order. ``notes`` tell in counts what reading merged or put right; no data values.
    What is written and read back is the same people in the same order.
    """

    shape: ClassVar[Shape]
    units: ClassVar[str] = "people"
    """What its size counts, in words."""
    schema: Schema
    beside: Schema | None
    source: Source
    origin: NDArray[np.int64] | None
    notes: tuple[str, ...]

    @classmethod
    def from_tables(cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source) -> Self:
        """Read the people from tables as files hold them: ``data``, and ``people`` where their own columns stand apart.

        This is also how a written release is read back, so it must take whatever :meth:`to_tables` gives: labels of inner nodes
        are items like any other. Everything wrong is a named error, without a data value.
        """
        ...

    @classmethod
    def released_schemas(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, Schema]:
        """The schemas of released tables: those of the original, unless a step writes other columns than it was given."""
        return schemas

    @classmethod
    def read_own_format(cls, path: Path) -> Mapping[str, pl.DataFrame] | None:
        """The tables of a file in a format that only data of this shape has; None: the file is in another format."""
        return None

    @property
    def people(self) -> int:
        """Number of persons."""
        ...

    @property
    def size(self) -> int:
        """Number of units: verdicts, alignment and suppression count these."""
        return self.people

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The columns of each table, by its name."""
        return {DATA: self.schema} if self.beside is None else {DATA: self.schema, PEOPLE: self.beside}

    def input_digest(self) -> str:
        """The digest that a release of these data commits to: of the files they were read from.

        Data that came otherwise are taken as they would be written.
        """
        if self.source.digest is not None:
            return self.source.digest
        return digest_of_all([digest_of_frame(frame) for frame in self.to_tables().values()])

    def evidence(self, models: Sequence[Model], original: Self | None = None, population: Any = None) -> Any:
        """What models need to judge these data, and the original where they compare with it; there is no population of them."""
        return DataEvidence(self, original)

    def to_tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables to write by name, the first one first, as :meth:`from_tables` reads them."""
        ...

    def sealed(self, seed: Seed) -> Self:
        """The same people as they may be released, once all steps are done: what nobody else may see is replaced by now."""
        return self

    def finish(self, seed: Seed, *, shuffle: bool) -> Self:
        """The same people as they may be released, in a random order where ``shuffle`` says so."""
        data = self.shuffled(seed.stream("shuffle")) if shuffle else self
        return data.sealed(seed)

    def same(self, other: Self) -> bool:
        """Whether others are these people in this order, value for value."""
        mine, theirs = self.to_tables(), other.to_tables()
        return list(mine) == list(theirs) and all(mine[name].equals(theirs[name], null_equal=True) for name in mine)

    def proven(self) -> Mapping[str, str]:
        """What is true of these people because they could be read: the name of a claim, and its words."""
        return {}

    def described_further(self, schemas: Mapping[str, Schema]) -> Self:
        """The same people with orders and hierarchies of their sensitive columns, which released files do not tell; all else stays."""
        return self

    def doubts(self) -> Mapping[str, str]:
        """What is in a released file that none of ours holds: the name of a claim that fails, and its words."""
        return {}

    def collected(self) -> Self:
        """The data in memory, where they are."""
        return self

    def alignment(self) -> Mapping[str, pl.DataFrame]:
        """What else the owner keeps of who is who besides ``origin``: per table, one row for each of its rows."""
        return {}

    def with_alignment(self, tables: Mapping[str, pl.DataFrame]) -> Self:
        """The same people with what the owner kept of who is who."""
        return self

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same people in a random order under new numbers; ``origin`` goes along."""
        ...

    def counts(self) -> dict[str, int]:
        """Sizes for certificates and the first line of a report: people, items, points, edges."""
        ...


def digest_of_frame(frame: pl.DataFrame) -> str:
    """SHA-256 of a table as JSON lines."""
    return hashlib.sha256(frame.write_ndjson().encode()).hexdigest()


def digest_of_all(digests: Sequence[str]) -> str:
    """One digest for several tables: of their digests in order, or the one that all of them have."""
    if len(set(digests)) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def is_shaped(data: Any) -> TypeIs[Data]:
    """Whether something is data of another shape than a table: what inherits :class:`Data`; frames of others are not asked for members."""
    return Data in type(data).__mro__


@dataclasses.dataclass(frozen=True, eq=False)
class DataPair:
    """An original and what was released of it, side by side; person *i* of the release is person ``truth[i]`` of the original."""

    original: Any
    released: Any
    aligned: ClassVar[bool] = True
    counted: ClassVar[None] = None
    of_a_sample: ClassVar[str] = ""

    @property
    def truth(self) -> NDArray[np.int64]:
        """Per released person the number of the original one."""
        origin: NDArray[np.int64] | None = self.released.origin
        return np.arange(self.released.size, dtype=np.int64) if origin is None else origin


@dataclasses.dataclass(frozen=True, eq=False)
class DataEvidence:
    """What a model judges: the data as released, and the original where the model compares with it."""

    data: Any
    original: Any = None
    drawn: ClassVar[bool] = False
    mechanisms: ClassVar[Mapping[str, Mechanism]] = {}
