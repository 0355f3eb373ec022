"""The data that a release is made of, whatever their shape: one protocol for tables, baskets, paths, graphs and related tables."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from sfumato.core.progress import Progress, silent
from sfumato.core.shape import DATA, PEOPLE, Shape
from sfumato.core.step import Goal
from sfumato.errors import InternalError, ParameterError, ReleaseRefused, SchemaError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from typing_extensions import TypeIs

    from sfumato.core.dataset import Dataset
    from sfumato.core.mechanism import Mechanism
    from sfumato.core.model import Model
    from sfumato.core.pair import Pair
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.source import Source
    from sfumato.core.step import Plan


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """Everything that a run takes besides data and recipe.

    ``format`` is the one the release will be written in, by default that of the source: values it cannot tell apart are one value
    from the start, and what it cannot hold is refused. ``population`` is the table of everyone that models may compare with, where
    they do not name a file themselves. ``memory`` answers for earlier releases of the same people, where the recipe limits what
    all of them tell together. ``workspace`` is the folder that the release will be written to: parts of a table that an
    engine holds are made beside it. With ``refuse=False`` what breaks a promise is made all the same, to be looked at and
    compared; it cannot be written. Without ``implied`` a column that undoes the release does not refuse it; the caller must ask.
    """

    seed: Seed
    shuffle: bool = True
    format: str | None = None
    population: Any = None
    memory: Any = None
    workspace: Path | None = None
    refuse: bool = True
    implied: bool = True
    progress: Progress = silent


@dataclasses.dataclass(frozen=True, eq=False)
class StepsResult:
    """Outcome of the steps: the released data, ready to be written, and what was decided.

    ``learnt_from`` and ``held_out`` are original rows that synthetic rows were learnt from, and such as were set aside before;
    None: no row is synthetic. ``mechanisms`` says by which random rule columns were released, where a promise is about that.
    """

    released: Any
    plans: tuple[tuple[str, Plan], ...]
    learnt_from: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None
    mechanisms: Mapping[str, Mechanism] = dataclasses.field(default_factory=dict)
    discard: Callable[[], object] = bool
    """Removes what the steps wrote, where no release comes of it."""


@runtime_checkable
class Data(Protocol):
    """People described by more than a row. Immutable: every change gives a new object (a frozen dataclass that inherits this class).

    ``schema`` describes the columns of the first file, ``beside`` those of a second one, where the people's own columns stand
    apart; ``people`` is the number of persons. ``origin`` holds, per person, the number of the person of the original data;
    None: the original ones in their order. ``notes`` tell in counts what reading merged or put right; no data values.
    What is written and read back is the same people in the same order.
    """

    shape: ClassVar[Shape]
    schema: Schema
    beside: Schema | None
    source: Source
    origin: NDArray[np.int64] | None
    notes: tuple[str, ...]
    units: ClassVar[str] = "people"
    """What ``size`` counts, in sentences."""
    release_kind: ClassVar[str] = "people"
    """What kind of release is made of the data; ``table`` and ``lazy`` know more than others."""
    drawn: ClassVar[bool] = False
    """Whether some records are synthetic and nobody's; only rows of a table can be."""
    named_tables: ClassVar[bool] = False
    """Whether a recipe gives each table a name, a file and keys (``tables:``)."""
    attacked_by_run: ClassVar[bool] = True
    """Whether ``run`` attacks and measures each release."""
    options: ClassVar[frozenset[str]] = frozenset()
    """The options of a run that only some data know: ``population`` and ``memory``."""

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

    def to_tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables to write by name, the first one first, as :meth:`from_tables` reads them."""
        ...

    def input_digest(self) -> str:
        """The digest that a certificate commits to: of the files that were read, else of what would be written."""
        return self.source.digest or joint_digest([digest_of_frame(frame) for frame in self.to_tables().values()])

    # A run, in this order; see release/make.py.

    def refuse_option(self, words: str) -> None:
        """Refuse an option of a run that these data do not know."""
        raise ParameterError(f"{words} is not known for data of shape {self.shape}; leave it out")

    def require_content(self) -> None:
        """Refuse data without anybody in it."""
        if not self.size:
            raise SchemaError(f"{self.source.name} holds nobody; there is nothing to release")

    def prepare(self, recipe: Recipe, context: Context) -> Self:
        """The data that the steps work on; of people who are no table all was put right when they were read."""
        return self

    def run_steps(self, recipe: Recipe, context: Context) -> StepsResult:
        """Plan and apply all steps one after the other, then shuffle and seal what came out."""
        released: Any = self
        plans = []
        for place, step in enumerate(recipe.steps):
            plan = step.plan(released, Goal(recipe.meet, context.seed, context.progress, None, place))
            released = step.apply(released, plan)
            plans.append((step.name, plan))
        if not released.size:
            raise ReleaseRefused("the steps left nobody, so there is nothing to release; allow more, or promise less")
        released = released.finish(context.seed, shuffle=context.shuffle)
        require_alignment(self, released)
        return StepsResult(released, tuple(plans))

    def evidence(self, models: Sequence[Model], *, original: Any = None, **known: Any) -> DataEvidence:
        """What the models judge; one that compares with the original is not judged without it."""
        blind = [model.promise for model in models if model.compares and original is None]
        if blind:
            raise ParameterError(
                f"{' and '.join(blind)} compares the release with the original; give that too (--original, original=)"
            )
        return DataEvidence(self, original)

    def compare(self, original: Any, steps: StepsResult) -> DataPair:
        """Original and release side by side, for attacks and metrics."""
        return DataPair(original, self)

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


@runtime_checkable
class SupportsTables(Protocol):
    """What data of several tables can do with one of them.

    Methods with ``table:`` ask for it (:mod:`sfumato.core.placed`).
    """

    def table(self, name: str) -> Dataset:
        """One table by itself; below the people each row has its person as unit."""
        ...

    def owners(self, name: str) -> NDArray[np.int64]:
        """Per row of a table the number of the person at the top."""
        ...

    def with_table(self, name: str, changed: Dataset, *, drop: Literal["rows", "people"]) -> Any:
        """Put a changed table back; rows below those that are gone go too.

        ``changed.origin`` says which rows stay, in their order (None: all of them).
        ``drop="people"`` leaves out, everywhere, whoever lost a row.
        """
        ...

    def compare_table(self, name: str, original: Any) -> Pair:
        """One table of this release beside the original one, without the numbers of persons."""
        ...

    def table_goals(self, name: str, models: Sequence[Model]) -> tuple[Model, ...]:
        """What promises about the data as a whole ask of one table by itself."""
        ...


def is_shaped(data: Any) -> TypeIs[Data]:
    """Whether something is data of another shape than a table: what inherits :class:`Data`; frames of others are not asked for members."""
    return Data in type(data).__mro__


@dataclasses.dataclass(frozen=True, eq=False)
class DataPair:
    """An original and what was released of it, side by side; person *i* of the release is person ``truth[i]`` of the original."""

    original: Any
    released: Any
    has_intruders: ClassVar[bool] = False
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


def require_alignment(original: Data, released: Data) -> None:
    """Raise where it is not known who is who: scores would be wrong without a word."""
    origin = released.origin
    if origin is None:
        if released.size != original.size:
            raise InternalError("a step left people out without saying whom")
    elif len(origin) != released.size or (len(origin) and not -1 <= origin.min() <= origin.max() < original.size):
        raise InternalError("a step says of other people than there are who they were")


def joint_digest(digests: Sequence[str]) -> str:
    """One digest of several files, in their order; that of the file itself where there is one, or all are the same."""
    if len(set(digests)) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def digest_of_frame(frame: pl.DataFrame) -> str:
    """SHA-256 of a frame, written as JSON lines."""
    return hashlib.sha256(frame.write_ndjson().encode()).hexdigest()
