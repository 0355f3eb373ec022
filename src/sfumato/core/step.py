"""Means: how a promise is reached."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from sfumato.core.fields import Document, Fields
from sfumato.core.progress import Progress, silent
from sfumato.core.search_kind import SearchKind
from sfumato.core.shape import Shape
from sfumato.errors import InternalError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Ladder
    from sfumato.core.mechanism import Mechanism
    from sfumato.core.model import Model
    from sfumato.core.objective import Landscape
    from sfumato.core.randomness import Keyed, Seed
    from sfumato.core.schema import Attribute, Schema
    from sfumato.core.table import Table


class Effect(StrEnum):
    """What a step does to an ε that a recipe certifies.

    ``data_independent``: what becomes of a record depends on that record and the recipe alone, and
    no record comes or goes. ``accounted``: the step says itself what its output tells of a record.
    ``looks``: it looks at the other records; before an accounted step nothing can be certified
    then, after one it is post-processing.
    """

    DATA_INDEPENDENT = "data_independent"
    ACCOUNTED = "accounted"
    LOOKS = "looks"


@dataclasses.dataclass(frozen=True)
class Declaration:
    """What a class of steps may do to a certified ε, at best, and when it does."""

    effect: Effect
    when: str


LOOKS = Declaration(Effect.LOOKS, "always")
"""What holds of a step that declares nothing."""


ONE_RECORD = "one record"
"""The unit of privacy of a step that says nothing else."""
VALUES = "values"
"""Neighbours that agree in everything but the columns of the step in one record."""


@dataclasses.dataclass(frozen=True)
class Account:
    """What one step, as it is written in a recipe, does to a certified ε.

    ``why`` says why it looks. An accounted step covers ``columns`` (None: the whole table) at ε and
    δ for ``neighbours`` (``add_remove``: one record more or less, the number of records being
    secret; ``replace``: one record is another, the number being public; ``values``: one record has
    other values in these columns, and all other columns are taken as known); ``replaced`` is its
    (ε, δ) for ``replace`` where that is not the same. ``unit`` says whose records they are where
    that is more than one record. ``sources`` are the columns by which a step that looks at nobody
    else's record decides what other columns of a record become.
    """

    effect: Effect = Effect.LOOKS
    why: str = ""
    columns: tuple[str, ...] | None = None
    epsilon: float = 0.0
    delta: float = 0.0
    neighbours: str = "replace"
    replaced: tuple[float, float] | None = None
    unit: str = ONE_RECORD
    sources: tuple[str, ...] = ()


def declaration_of(step: type[Step]) -> Declaration:
    """What a class of steps declares; one that declares nothing looks at the data."""
    return step.accounting


def accounts(steps: Iterable[Step], schema: Schema) -> bool:
    """Whether some step accounts for an ε, so that nothing may be decided by looking at the whole
    table.
    """
    return any(step.account(schema).effect is Effect.ACCOUNTED for step in steps)


def coarsened_columns(steps: Iterable[Step]) -> frozenset[str]:
    """The columns that steps made coarser and that no step changed in another way; none where a
    step that changes values does not say which.
    """
    coarser: set[str] = set()
    changed: set[str] = set()
    for step in steps:
        if step.coarsens:
            coarser |= set(step.masks)
        elif step.masks:
            changed |= set(step.masks)
        else:
            return frozenset()
    return frozenset(coarser - changed)


def changed_columns(steps: Iterable[Step]) -> frozenset[str]:
    """The columns that steps were told to mask otherwise than by making them coarser."""
    changed: set[str] = set()
    for step in steps:
        if not step.coarsens:
            changed |= set(step.masks)
    return frozenset(changed)


@dataclasses.dataclass(frozen=True)
class Goal:
    """What the whole run must reach, and what a step may draw from: promises, seed, progress, a
    population table.

    ``place`` is the number of the step in the recipe. ``fixed``: some step accounts for an ε, so
    that types, labels and errors must follow from the recipe, and no record may decide them.
    ``facts`` is what the step learnt of the whole table before it is given some of its
    records; None: what it is given is the whole table.
    """

    models: tuple[Model, ...] = ()
    seed: Seed | None = None
    progress: Progress = silent
    population: Table | None = None
    place: int = 0
    facts: Any = None
    fixed: bool = False

    def stream(self, purpose: str) -> np.random.Generator:
        """The random stream of one purpose of this step: the same step twice in a recipe draws
        differently.
        """
        return self._seed.stream(f"step {self.place}: {purpose}")

    def keyed(self, purpose: str) -> Keyed:
        """The draws of one purpose of this step for records by their marks."""
        return self._seed.keyed(f"step {self.place}: {purpose}")

    @property
    def _seed(self) -> Seed:
        if self.seed is None:
            raise InternalError("this step draws at random, but was given no seed")
        return self.seed


# What an intruder learns from knowing a step and its parameters.

Fineness = Literal["table", "release", "none"]


@dataclasses.dataclass(frozen=True, eq=False)
class Transition:
    """``matrix[i, j]`` is the probability that ``labels[i]`` is released as ``labels[j]``, in one
    stratum.

    Labels are tuples, one part for each of ``columns``. They are data values: this is for the
    owner.
    """

    columns: tuple[str, ...]
    stratum: int
    labels: tuple[tuple[str, ...], ...]
    matrix: NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Clue:
    """What the workings of a step, once known, tell about the columns it masked.

    By itself it says that there is something to learn that nobody has worked out. ``within``: the
    step works within strata that it names itself.
    """

    within: bool = False


@dataclasses.dataclass(frozen=True)
class RankWindow(Clue):
    """A released rank is at most this share of all records away from the original one, in every
    column of numbers.
    """

    share: float = 1.0


@dataclasses.dataclass(frozen=True)
class Runs(Clue):
    """In every column by itself, neighbours in the order of values were given their centre."""


@dataclasses.dataclass(frozen=True)
class Centres(Clue):
    """Groups of records that are near each other in all masked columns were given their centre."""


@dataclasses.dataclass(frozen=True)
class NoiseAdded(Clue):
    """Noise of ``alpha`` times the covariance of the columns was added; not ``correlated``: of
    their variances.
    """

    alpha: float = 0.0
    correlated: bool = True


@dataclasses.dataclass(frozen=True)
class Randomised(Clue):
    """Values were drawn by the matrices of :meth:`Step.transitions`, column by column."""


class Span(StrEnum):
    """How much of a table a step must see at once.

    ``cells``: what becomes of a cell depends on that cell and the recipe alone. ``classes``: it
    decides from the distinct combinations of the columns it reads and how many records have each,
    and then works on any rows. ``records``: it draws for each record by the record's own key, from
    facts such as frequencies or variances that it learns of all records first. ``table``: all
    records.
    """

    CELLS = "cells"
    CLASSES = "classes"
    RECORDS = "records"
    TABLE = "table"


class Learner(Protocol):
    """Learns something of a table that comes in pieces: the same, whatever the pieces and their
    order.
    """

    def see(self, rows: Table) -> None:
        """Look at some rows; every row is seen once."""
        ...

    def learnt(self) -> Any:
        """What was learnt, once all rows were seen."""
        ...


def learnt_by(learner: Learner, pieces: Iterable[Table]) -> Any:
    """What there is to learn from a table in pieces."""
    for rows in pieces:
        learner.see(rows)
    return learner.learnt()


class Plan(Protocol):
    """What a step decided: small, pure data.

    Plans inherit this class, and with it what is true of a plan that says nothing more. A hook that
    a plan may have as a required field is a method or has a name of its own: a field would take the
    inherited member for its default.
    """

    recoded_cells: ClassVar[bool] = False
    """Whether single cells are suppressed besides the recoding of whole columns."""

    @property
    def deals(self) -> bool:
        """Whether records that are alike in all it looks at part ways: then it must learn first who
        goes where.
        """
        return False

    def learner(self) -> Learner | None:
        """Learns which records part ways, and gives the plan that knows it; None: there is nothing
        to learn.
        """
        return None

    @property
    def preserved(self) -> tuple[Preserved, ...]:
        """What masking keeps of the original, and how far it is off."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know about this plan; no data values."""
        return ()

    @property
    def after_writing(self) -> Callable[[], None] | None:
        """What must be stored once the release is written, and before it stands; None: nothing."""
        return None

    @property
    def held_out(self) -> NDArray[np.int64] | None:
        """Original rows that were set aside before anything was learnt of the table, for attacks to
        compare with; None: none.
        """
        return None

    @property
    def bound_levels(self) -> Mapping[str, tuple[Ladder, int]]:
        """The ladder and the level of columns that are recoded as a whole, first of all that the
        step does; empty: none.
        """
        return {}

    def with_ladders(self, ladders: Mapping[str, Ladder]) -> Plan:
        """The same plan for rows that hold fewer values: the levels above the lowest are those of
        ``bound_levels``.
        """
        raise InternalError("this plan has no sequence of levels")

    def warning_of(self, what: str) -> Plan:
        """The same plan that warns of something more; only of steps that can be ``begun_at``
        levels.
        """
        raise InternalError("this plan accepts no warnings")

    def describe(self) -> Document:
        """The plan as plain data, fit for a certificate: no data values, no seeds."""
        ...

    def effort(self) -> Document:
        """How the plan was found, for the owner's report; empty: there is nothing to tell."""
        return {}

    def scores(self) -> dict[str, float]:
        """The objective that was made small → what it came to; empty for a plan that was not
        searched for.
        """
        return {}


@runtime_checkable
class Step(Protocol):
    """A method that changes the data. Frozen, validated, written in a recipe under its ``name``.

    Steps inherit this class: ``plan`` and ``apply`` are theirs to write, everything else has a
    default that is true of a step that says nothing more.
    """

    name: ClassVar[str]
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLE})
    """The shapes of data that it can change."""
    secret: ClassVar[tuple[str, ...]] = ()
    """Fields that a certificate does not show: they list data values, or must not be known."""
    replayable: ClassVar[bool] = True
    """Whether the same seed makes the same release again; False where draws come from the system
    and are not kept.
    """
    accounting: ClassVar[Declaration] = LOOKS
    """What the class may do to a certified ε, at best."""
    keeps_quasi: ClassVar[bool] = False
    """Whether it changes nothing that promises look at: quasi-identifiers, sensitive values and
    records stay as they are.
    """
    recodes_quasi: ClassVar[bool] = False
    """Whether it changes quasi-identifiers only, besides leaving out records."""
    fineness: ClassVar[Fineness] = "release"
    """Where its release is as fine as the promises allow: as a recoding of whole columns, class by
    class, or not surely.
    """
    search_kinds: ClassVar[Mapping[str, SearchKind]] = MappingProxyType({})
    """What kind of search each of its algorithms is, by the word that chooses it; where there is
    one only, under ``""``. Steps that search no recoding have none.
    """
    pseudonyms: ClassVar[bool] = False
    """Whether what it puts in the place of a direct identifier is a pseudonym, which may be
    released.
    """
    surveys: ClassVar[bool] = False
    """Whether it chooses from a lattice whose other nodes :meth:`survey` can show."""
    tells: ClassVar[tuple[str, ...]] = ()
    """What a description of its plan never lacks; one that does was edited."""
    retold: ClassVar[tuple[str, ...]] = ()
    """Fields that a description of its plan tells in another way under the same name: in words, or
    as what came of them.
    """

    def plan(self, data: Any, goal: Goal) -> Any:
        """Decide what to do; looks at the data, changes nothing. ``goal.models`` are the promises
        to reach.
        """
        ...

    def apply(self, data: Any, plan: Any) -> Any:
        """Do it."""
        ...

    @classmethod
    def story(cls, told: Fields) -> str | None:
        """What was done, in a sentence, from the description of a plan; None where there is none
        but the single facts.
        """
        return None

    def contradicted_by(self, released: object) -> str | None:
        """What in released data other than a table shows that the step cannot have been run, in
        words; None: nothing does.
        """
        return None

    @property
    def claims(self) -> tuple[str, ...]:
        """Direct identifiers it works on: they are dropped after the steps, not before them."""
        return ()

    @property
    def masks(self) -> tuple[str, ...]:
        """The columns it is told to mask, one value or record at a time; none for steps that recode
        what a promise asks for.
        """
        return ()

    @property
    def coarsens(self) -> bool:
        """Whether the cells it makes are the true ones, only coarser, or missing: 523 becomes 500
        for everybody who had it, and nobody's value is put in the place of another's.
        """
        return False

    @property
    def keeps_classes_whole(self) -> bool:
        """Whether all records of a class surely fare alike: rows with the same values need not be
        merged to be planned.
        """
        return False

    @property
    def draws_anew(self) -> bool:
        """Whether the rows it makes are nobody's: drawn from what it learnt of the table, not
        changed from row to row.
        """
        return False

    @property
    def span(self) -> Span:
        """How much of the table it must see at once: tables that do not fit into memory are given
        to it in pieces.
        """
        return Span.TABLE

    def span_in(self, schema: Schema) -> Span:
        """The same in a table of this kind: where rows belong to persons or households, draws may
        be shared between their rows.
        """
        shared = self.span is Span.RECORDS and schema.units
        return Span.TABLE if shared else self.span

    def learner(self, goal: Goal, facts: object) -> Learner | None:
        """Learns facts about all records, given those it learnt before; None: it knows enough to
        work on any of them.

        A step that works cell by cell learns from counts alone: which values of the columns it
        masks occur, and how often.
        """
        return None

    def dealer(self, plan: Any) -> Learner | None:
        """Learns who goes where by a plan that lets equal records part ways, and gives the plan
        that knows it; None: none do.
        """
        learner: Learner | None = plan.learner()
        return learner

    def facts(self, dataset: Table, goal: Goal) -> Any:
        """What it knows of the whole table: what it was given, or what it learns from the table at
        hand.
        """
        facts = goal.facts
        # Facts that were given are complete; only without any are they learnt here.
        while goal.facts is None and (learner := self.learner(goal, facts)) is not None:
            facts = learnt_by(learner, [dataset])
        return facts

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """The columns that its plan looks at, where it decides from counts."""
        return schema.quasi

    def limited_to(self, columns: Sequence[str]) -> Step | None:
        """The part of it that works on a table with these columns only; None: it has nothing to do
        there.
        """
        return self

    def begun_at(self, levels: Mapping[str, int]) -> Step | None:
        """The same step for a table whose columns already are at these levels of their
        hierarchies; None: it cannot work on that.
        """
        return None

    @property
    def clue(self) -> Clue | None:
        """What it leaves for an intruder who knows the method and its parameters; None: nothing."""
        return None

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """Columns that it releases by a random rule that is fixed in the recipe, every value by
        itself, and the rule.
        """
        return {}

    def transitions(self, dataset: Table) -> tuple[Transition, ...]:
        """The matrices by which it randomises the columns of the original, by columns and
        stratum.
        """
        return ()

    def account(self, schema: Schema) -> Account:
        """What the step does to ε, from its fields and the schema alone."""
        return Account()

    @property
    def second_source(self) -> str | None:
        """What it reads besides the table it is given, in a few words; None: nothing. Then it never
        is post-processing.
        """
        return None

    def numbers(self, schema: Schema) -> tuple[str, ...]:
        """Columns that it computes with, and so reads as numbers whatever their kind."""
        return ()

    def as_before(self, described: Fields) -> Step | None:
        """The step that does to other rows what a plan described so did; None: it can only decide
        again.

        What becomes of a cell may depend on the cell and the recipe alone: then it is the step
        itself.
        """
        return self if self.span is Span.CELLS else None

    def locked(self, plan: Any) -> Step:
        """The step that makes the same plan again, with what time or a file decided written down;
        for the lock file.
        """
        return self

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is, when ``schema`` says what the original
        is.
        """
        return schema

    def contradicted(self, told: Fields, schema: Schema, records: int | None) -> str | None:
        """What in the description of a plan shows that the step cannot have made it, in
        words; None: nothing.

        ``schema`` is what the columns were, ``records`` how many there were; None: that is kept
        secret, or the rows are nobody's.
        """
        return None

    def survey(
        self, dataset: Table, goal: Goal, plan: Any, *, most_nodes: int, most_effort: float
    ) -> Landscape:
        """What the other nodes of its lattice would keep, cost and risk; only of a step that
        ``surveys``.
        """
        raise InternalError(f"{self.name} does not choose from a lattice")


def over_budget(
    description: Fields, share: float, schema: Schema, records: int | None
) -> str | None:
    """That a plan suppresses more than a share of the records, in words; where persons are counted
    that is not asked.
    """
    gone = description.get("suppressed_records", 0)
    # 1e-9 forgives rounding: a share of records that is whole must allow that many.
    if records is None or schema.units or 0 <= gone <= math.floor(share * records + 1e-9):
        return None
    return (
        f"{gone:,} of {records:,} records would be suppressed, but its budget allows "
        f"{math.floor(share * records + 1e-09):,}; raise the budget, or allow higher levels"
    )


class ColumnStep(Step, Protocol):
    """A step that masks the columns it is told to."""

    columns: Any

    @property
    def masks(self) -> tuple[str, ...]:
        """The columns it is told to mask."""
        return tuple(self.columns or ())

    def limited_to(self, columns: Sequence[str]) -> Step | None:
        """The same step for those of its columns that are there."""
        remaining = [name for name in self.masks if name in columns]
        if len(remaining) == len(self.masks):
            return self
        if not remaining:
            return None
        return dataclasses.replace(self, columns=remaining)  # type: ignore[type-var]


# What a masking step decided: new values for some columns, and what they still have of the old
# ones.


@dataclasses.dataclass(frozen=True)
class Preserved:
    """A quantity that masking keeps: exactly, or approximately.

    ``off_by`` says how far the released value is from the original one, as a share of it (of the
    spread, for quantities that may be zero); it is measured after masking and is for the owner's
    eyes. ``measured`` says in words what the numbers are where that is another thing.
    """

    what: str
    columns: tuple[str, ...]
    exactly: bool
    off_by: float
    measured: str = ""

    @property
    def told(self) -> str:
        """The numbers in words."""
        return self.measured or f"off by {self.off_by:.2g}"

    def __str__(self) -> str:
        names = ", ".join(self.columns[:4]) + ("…" if len(self.columns) > 4 else "")
        degree = "exactly" if self.exactly else "approximately"
        return f"{self.what} of {names}: kept {degree}, {self.told}"


@dataclasses.dataclass(frozen=True, eq=False)
class Masked(Plan):
    """New values of some columns, in the order of the rows; the rows that are kept; columns that
    become something else.

    ``actions`` says in a few words what happened to each column (``noise added``). ``public`` may
    go into a certificate; ``owner`` is for the owner. Neither holds data values. ``warnings`` are
    for whoever runs the recipe. ``attributes`` describes columns that are new, or that play another
    role once masked.
    """

    actions: Mapping[str, str]
    columns: Mapping[str, pl.Series] = dataclasses.field(default_factory=dict)
    rows: NDArray[np.int64] | None = None
    attributes: Mapping[str, Attribute] = dataclasses.field(default_factory=dict)
    preserved: tuple[Preserved, ...] = ()
    warnings: tuple[str, ...] = ()
    public: Fields = dataclasses.field(default_factory=dict)
    owner: Fields = dataclasses.field(default_factory=dict)

    def describe(self) -> Document:
        """The plan as plain data, fit for a certificate."""
        preserved = [
            {"what": p.what, "columns": list(p.columns), "exactly": p.exactly}
            for p in self.preserved
        ]
        return {"masked": dict(self.actions), "preserved": preserved, **self.public}

    def effort(self) -> Document:
        """What the owner may know besides: how far every preserved quantity is off."""
        preserved = [dataclasses.asdict(p) for p in self.preserved]
        return {"preserved": preserved, "warnings": list(self.warnings), **self.owner}

    def applied(self, dataset: Table) -> Table:
        """The dataset with the new values in place."""
        # Columns first: new values stand for all rows of the table, also for those that go.
        if self.columns:
            masked = dataset.with_columns(dict(self.columns))
        else:
            masked = dataset
        for name, attribute in self.attributes.items():
            masked = masked.with_attribute(name, attribute)
        if self.rows is None:
            return masked
        return masked.take(self.rows)


@dataclasses.dataclass(frozen=True, eq=False)
class Synthetic(Masked):
    """A table whose rows were drawn: ``table`` holds all columns, ``origin`` per row the row it
    stands for, or −1 for nobody's.

    ``held_out`` are the rows, by their place in the table that was given, that were set aside
    before anything was learnt.
    """

    table: pl.DataFrame | None = None
    origin: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None

    def applied(self, dataset: Table) -> Table:
        """The drawn rows in the place of all others."""
        if self.table is None or self.origin is None:
            raise InternalError("a synthetic plan keeps the rows it made")
        synthetic = dataset.drawn_anew(self.table, self.origin)
        for name, attribute in self.attributes.items():
            synthetic = synthetic.with_attribute(name, attribute)
        return synthetic
