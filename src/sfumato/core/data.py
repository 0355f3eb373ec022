"""The data that a release is made of, whatever their shape: one protocol for tables, baskets,
paths, graphs and related tables.
"""

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
from sfumato.core.words import join_words
from sfumato.errors import InternalError, ParameterError, ReleaseRefused, SchemaError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from typing_extensions import TypeIs

    from sfumato.core.attack import Memory
    from sfumato.core.described import Described
    from sfumato.core.mechanism import Mechanism
    from sfumato.core.model import ClassEvidence, Model
    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.source import Source
    from sfumato.core.step import Plan
    from sfumato.core.table import Table


@dataclasses.dataclass(frozen=True, eq=False)
class Context:
    """Everything that a run takes besides data and recipe.

    ``format`` is the one the release will be written in, by default that of the source: values it
    cannot distinguish are one value from the start, and what it cannot hold is refused.
    ``population`` is the table of everyone that models may compare with, where they do not name a
    file themselves. ``memory`` answers for earlier releases of the same people, where the recipe
    limits what all of them tell together. ``workspace`` is the folder that the release will be
    written to: parts of a table that an engine holds are made beside it. With ``refuse=False`` what
    breaks a promise is made all the same, to be looked at and compared; it cannot be written.
    Without ``implied`` a column that undoes the release does not refuse it; the caller must ask.
    """

    seed: Seed
    shuffle: bool = True
    format: str | None = None
    population: Table | None = None
    memory: Memory | None = None
    workspace: Path | None = None
    refuse: bool = True
    implied: bool = True
    progress: Progress = silent


@dataclasses.dataclass(frozen=True, eq=False)
class StepsResult:
    """Outcome of the steps: the released data, ready to be written, and what was decided.

    ``learnt_from`` and ``held_out`` are original rows that synthetic rows were learnt from, and
    such as were set aside before;
    None: no row is synthetic. ``mechanisms`` says by which random rule columns were released, where
    a promise is about that.
    """

    released: Data
    plans: tuple[tuple[str, Plan], ...]
    learnt_from: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None
    mechanisms: Mapping[str, Mechanism] = dataclasses.field(default_factory=dict)
    discard: Callable[[], object] = bool
    """Removes what the steps wrote, where no release comes of it."""


class Data(Protocol):
    """What a release is made of, whatever its shape. Immutable: every change gives a new object.

    Classes of data inherit this one, and are frozen dataclasses. ``schema`` describes the columns
    of the first table. What some data cannot do, such as giving one table, they refuse by
    name here: nobody asks which shape they have.
    """

    shape: ClassVar[Shape]
    schema: Schema
    source: Source
    units: ClassVar[str] = "people"
    """What ``size`` counts, in sentences."""
    release_home: ClassVar[str] = "sfumato.release.release:Release"
    """The class of releases that are made of the data, and its module."""
    attacked_by_run: ClassVar[bool] = True
    """Whether ``run`` attacks and measures each release."""
    options: ClassVar[frozenset[str]] = frozenset({"people", "seconds"})
    """The options of verbs that such data know, of those that only some data do."""

    @property
    def origin(self) -> NDArray[np.int64] | None:
        """Per unit its number in the original; -1: nobody's. None: the original ones in their
        order.
        """
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading merged or put right, in counts; no data values."""
        return ()

    @property
    def drawn(self) -> bool:
        """Whether some records are synthetic and nobody's; only rows of a table can be."""
        return False

    @property
    def size(self) -> int:
        """Number of units: verdicts, alignment and suppression count these."""
        ...

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The columns of each table, by its name."""
        return {DATA: self.schema}

    def counts(self) -> dict[str, int]:
        """Sizes for certificates and the first line of a report: people, items, points, edges."""
        ...

    # Files.

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source
    ) -> Self:
        """Read the data from tables as files hold them: ``data``, and ``people`` where their own
        columns stand apart.

        This is also how a written release is read back, so it must take
        whatever :meth:`to_tables` gives: labels of inner nodes are items like any other. Everything
        wrong is a named error, without a data value.
        """
        ...

    def to_tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables to write by name, the first one first, as :meth:`from_tables` reads them."""
        ...

    @classmethod
    def released_schemas(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, Schema]:
        """The schemas of released tables: those of the original, unless a step writes other columns
        than it was given.
        """
        return schemas

    @classmethod
    def fixed_form(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, pl.DataFrame]:
        """The tables in a form that no single row decides about, where a step accounts for an ε;
        most are so already.
        """
        return tables

    @classmethod
    def read_own_format(cls, path: Path) -> Mapping[str, pl.DataFrame] | None:
        """The tables of a file in a format that only data of this shape has; None: the file is in
        another format.
        """
        return None

    def input_digest(self) -> str:
        """The digest that a certificate commits to: of the files that were read, else of what would
        be written.
        """
        return self.source.digest or joint_digest(
            [digest_of_frame(frame) for frame in self.to_tables().values()]
        )

    def proven(self) -> Mapping[str, str]:
        """What is true of these data because they could be read: the name of a claim, and its
        words.
        """
        return {}

    def doubts(self) -> Mapping[str, str]:
        """What is in a released file that none of ours holds: the name of a claim that fails, and
        its words.
        """
        return {}

    def described_further(self, schemas: Mapping[str, Schema]) -> Self:
        """The same data with orders and hierarchies of sensitive columns, which released files do
        not tell.
        """
        return self

    def alignment(self) -> Mapping[str, pl.DataFrame]:
        """What else the owner keeps of who is who besides ``origin``: per table, one row for each
        of its rows.
        """
        return {}

    def with_alignment(self, tables: Mapping[str, pl.DataFrame]) -> Self:
        """The same data with what the owner kept of who is who."""
        return self

    def same(self, other: Self) -> bool:
        """Whether others are these data in this order, value for value."""
        own_tables, other_tables = self.to_tables(), other.to_tables()
        return list(own_tables) == list(other_tables) and all(
            own_tables[name].equals(other_tables[name], null_equal=True) for name in own_tables
        )

    # What verbs ask before they start.

    @classmethod
    def require_options(cls, options: Mapping[str, object]) -> None:
        """Refuse, by name, options of a verb that such data do not know; what is None or empty was
        not said.

        Names of the command line are known by their words: ``--into-table`` is the option
        ``into_table``.
        """
        unknown = []
        for name, value in options.items():
            # A frame compared with "" is compared cell by cell, so ask for text first.
            is_said = value is not None and not (isinstance(value, str) and not value)
            if is_said and name.removeprefix("--").replace("-", "_") not in cls.options:
                unknown.append(name)
        if unknown:
            if len(unknown) == 1:
                verb, pronoun = "is", "it"
            else:
                verb, pronoun = "are", "them"
            raise ParameterError(
                f"{join_words(unknown)} {verb} not available for data of shape {cls.shape}; leave "
                f"{pronoun} out"
            )

    @classmethod
    def may_be_held(cls) -> bool:
        """Whether an engine may hold such data: then they are one table, opened where it is."""
        return "engine" in cls.options

    def with_roles(self, **roles: str | Sequence[str]) -> Self:
        """The same data with roles of columns; of most data they are said when the files are
        read.
        """
        raise ParameterError("roles are given when the data are read; leave them out here")

    def require_roles(self, purpose: str) -> None:
        """Refuse data whose columns have no roles; those that are described when they are read
        always have.
        """
        return

    def one_table(self) -> Described:
        """The table that the data are, in memory or held by an engine; data of other shapes are
        refused.
        """
        raise ParameterError(
            f"{self.source.name} is data of shape {self.shape}; this takes one table only"
        )

    def pair_with(
        self, released: Data, *, align: str | None, control: Data | None, purpose: str
    ) -> Pair | TablePair:
        """The data as the original of others, wherever those were made; ``align`` and ``control``
        are about tables.
        """
        ...

    def described_by(self, recipe: Recipe) -> Data:
        """The data as a recipe describes them; of most data that was done when they were read."""
        return self

    def collected(self) -> Data:
        """The data in memory, where they are."""
        return self

    def require_content(self) -> None:
        """Refuse data without anybody in it."""
        if not self.size:
            raise SchemaError(
                f"{self.source.name} contains no persons; there is nothing to release"
            )

    # A run, in this order; see release/make.py.

    def prepare(self, recipe: Recipe, context: Context) -> Data:
        """The data that the steps work on; of people who are no table all was put right when they
        were read.
        """
        return self

    def run_steps(self, recipe: Recipe, context: Context) -> StepsResult:
        """Plan and apply all steps; what comes out is ready to be written."""
        ...

    def evidence(
        self, models: Sequence[Model], *, original: object = None, **known: Any
    ) -> Evidence | ClassEvidence:
        """What the models judge; one that compares with the original is not judged without it."""
        ...

    def compare(self, original: Any, steps: StepsResult) -> Pair | TablePair:
        """Original and release side by side, for attacks and metrics."""
        ...


class PeopleData(Data, Protocol):
    """People described by more than a row: what baskets, paths, graphs and related tables have in
    common.

    ``beside`` describes the columns of a second file, where the people's own columns stand apart;
    ``people`` is the number of persons. What is written and read back is the same people in the
    same order.
    """

    beside: Schema | None

    @property
    def people(self) -> int:
        """Number of persons."""
        ...

    @property
    def size(self) -> int:
        """Number of units, which are persons."""
        return self.people

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """The columns of each table, by its name."""
        if self.beside is None:
            return {DATA: self.schema}
        return {DATA: self.schema, PEOPLE: self.beside}

    def run_steps(self, recipe: Recipe, context: Context) -> StepsResult:
        """Plan and apply all steps one after the other, then shuffle and seal what came out."""
        released: Any = self
        plans = []
        for index, step in enumerate(recipe.steps):
            # No population: it belongs to tables.
            goal = Goal(
                recipe.meet, context.seed, progress=context.progress, population=None, place=index
            )
            plan = step.plan(released, goal)
            released = step.apply(released, plan)
            plans.append((step.name, plan))
        if not released.size:
            raise ReleaseRefused(
                "the steps left no persons, so there is nothing to release; allow "
                "larger budgets, or lower the promises"
            )
        released = released.finish(context.seed, shuffle=context.shuffle)
        require_alignment(self, released)
        return StepsResult(released, tuple(plans))

    def evidence(
        self, models: Sequence[Model], *, original: object = None, **known: Any
    ) -> Evidence:
        """What the models judge; one that compares with the original is not judged without it."""
        blind = [model.promise for model in models if model.compares and original is None]
        if blind:
            raise ParameterError(
                f"{join_words(blind)} compares the release with the original; give that too"
                " (--original, original=)"
            )
        return Evidence(self, original)

    def compare(self, original: Any, steps: StepsResult) -> Pair:
        """Original and release side by side, for attacks and metrics."""
        return Pair(original, self)

    def pair_with(
        self, released: Data, *, align: str | None, control: Data | None, purpose: str
    ) -> Pair:
        """The people beside others; who is who is known by ``origin``."""
        self.require_options({"align": align, "control": control})
        return Pair(self, released)

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same people in a random order under new numbers; ``origin`` goes along."""
        ...

    def sealed(self, seed: Seed) -> Self:
        """The same people as they may be released, once all steps are done: what nobody else may
        see is replaced by now.
        """
        return self

    def finish(self, seed: Seed, *, shuffle: bool) -> Self:
        """The same people as they may be released, in a random order where ``shuffle`` says so."""
        if shuffle:
            data = self.shuffled(seed.stream("shuffle"))
        else:
            data = self
        return data.sealed(seed)


def is_data(value: object) -> TypeIs[Data]:
    """Whether a value is data of ours: an instance of a class that inherits :class:`Data`.

    ``isinstance`` asks a protocol for its members, and a frame of Spark Connect has a column of any
    name.
    """
    return Data in type(value).__mro__


@runtime_checkable
class SupportsTables(Protocol):
    """What data of several tables can do with one of them.

    Methods with ``table:`` ask for it (:mod:`sfumato.core.placed`).
    """

    def table(self, name: str) -> Table:
        """One table by itself; below the people each row has its person as unit."""
        ...

    def owners(self, name: str) -> NDArray[np.int64]:
        """Per row of a table the number of the person at the top."""
        ...

    def with_table(self, name: str, changed: Table, *, drop: Literal["rows", "people"]) -> Any:
        """Put a changed table back; rows below those that are gone go too.

        ``changed.origin`` says which rows stay, in their order (None: all of them).
        ``drop="people"`` leaves out, everywhere, whoever lost a row.
        """
        ...

    def compare_table(self, name: str, original: object) -> TablePair:
        """One table of this release beside the original one, without the numbers of persons."""
        ...

    def table_goals(self, name: str, models: Sequence[Model]) -> tuple[Model, ...]:
        """What promises about the data as a whole ask of one table by itself."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """An original and what was released of it, side by side; person *i* of the release is person
    ``truth[i]`` of the original.
    """

    original: Any
    released: Any
    has_intruders: ClassVar[bool] = False
    aligned: ClassVar[bool] = True
    counted: ClassVar[None] = None
    of_a_sample: ClassVar[str] = ""

    @property
    def as_other(self) -> Any:
        """What attacks on another release take it for: the released people."""
        return self.released

    @property
    def truth(self) -> NDArray[np.int64]:
        """Per released person the number of the original one."""
        origin: NDArray[np.int64] | None = self.released.origin
        if origin is None:
            return np.arange(self.released.size, dtype=np.int64)
        return origin


@dataclasses.dataclass(frozen=True, eq=False)
class Evidence:
    """What a model judges: the data as released, and the original where the model compares with
    it.
    """

    data: Any
    original: Any = None
    drawn: ClassVar[bool] = False
    mechanisms: ClassVar[Mapping[str, Mechanism]] = {}


def require_alignment(original: Data, released: Data) -> None:
    """Raise where it is not known who is who: scores would be wrong without a word."""
    origin = released.origin
    # None says that all are there, in their order.
    if origin is None:
        if released.size != original.size:
            raise InternalError(
                "a step removed people without reporting whom; report this as a bug of that step"
            )
    elif len(origin) != released.size or (
        len(origin) and not -1 <= origin.min() <= origin.max() < original.size
    ):
        raise InternalError(
            "a step reported the origins of another number of people than it kept; report "
            "this as a bug of that step"
        )


def joint_digest(digests: Sequence[str]) -> str:
    """One digest of several files, in their order; that of the file itself where there is one, or
    all are the same.
    """
    if len(set(digests)) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def digest_of_frame(frame: pl.DataFrame) -> str:
    """SHA-256 of a frame, written as JSON lines."""
    return hashlib.sha256(frame.write_ndjson().encode()).hexdigest()
