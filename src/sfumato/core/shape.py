"""Data about people that is not one row a person: baskets, paths, graphs and several tables, and what promises, means and attacks are there.

The nouns are those of tables: a promise is judged, a means reaches it, attacks try it, a release carries a certificate. What differs
is what they look at: the people themselves (:class:`Shaped`) instead of the classes of a table.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from sfumato.core.attack import Learns, now
from sfumato.core.limits import plain_limits
from sfumato.core.metric import Metric
from sfumato.core.model import Verdict
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Kept, MetricBound
from sfumato.core.schema import Schema
from sfumato.core.source import Intake
from sfumato.core.step import LOOKS, Account, Declaration

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray
    from typing_extensions import TypeIs

    from sfumato.core.attack import Finding
    from sfumato.core.metric import Measure
    from sfumato.core.model import Facts
    from sfumato.core.source import Source
    from sfumato.core.step import Goal, Plan


class Shape(StrEnum):
    """How a file describes people: one row each, a set of items, points in time, ties between them, or rows of several tables."""

    TABLE = "table"
    BASKETS = "baskets"
    PATHS = "paths"
    GRAPH = "graph"
    TABLES = "tables"


DATA, PEOPLE = "data", "people"
"""The tables of shapes that have one or two: what describes the people, and the people's own columns where they stand apart."""


@runtime_checkable
class Shaped(Protocol):
    """People described by more than a row. Immutable: every change gives a new one (a frozen dataclass that inherits this class).

    ``schema`` says what the columns of the file are, ``beside`` what those of a second table are, where the people's own columns stand
    apart; ``people`` how many persons there are. ``origin`` holds, per person, the number of
    the person of the data it was derived from; None: the original ones in their order. ``notes`` tell in counts what reading merged or put
    right; no data values. What is written and read back is the same people in the same order.
    """

    shape: ClassVar[Shape]
    schema: Schema
    beside: Schema | None
    source: Source
    origin: NDArray[np.int64] | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema], source: Source) -> Self:
        """Read the people from tables as a file holds them: ``data``, and ``people`` where their own columns stand apart.

        This is also how a written release is read back, so it must take whatever :meth:`written` gives: labels of inner nodes
        are items like any other. Everything wrong is a named error, without a data value.
        """
        ...

    @classmethod
    def released_schemas(
        cls, tables: Mapping[str, pl.DataFrame], schemas: Mapping[str, Schema]
    ) -> Mapping[str, Schema]:
        """What the columns of released tables are; as was said of the original, unless a step writes other columns than it was given."""
        return schemas

    @classmethod
    def reads(cls, path: Path) -> Mapping[str, pl.DataFrame] | None:
        """The tables of a file in a format that only data of this shape has; None: it is none of these."""
        return None

    @property
    def people(self) -> int:
        """Number of persons."""
        ...

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """What the columns of each table are, by its name."""
        return {DATA: self.schema} if self.beside is None else {DATA: self.schema, PEOPLE: self.beside}

    def written(self) -> Mapping[str, pl.DataFrame]:
        """The tables to write by name, the first one first, as :meth:`of` reads them."""
        ...

    def sealed(self, seed: Seed) -> Self:
        """The same people as they may be released, once all steps are done: what nobody else may see is replaced by now."""
        return self

    def same(self, other: Self) -> bool:
        """Whether others are these people in this order, value for value."""
        mine, theirs = self.written(), other.written()
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

    def alignment(self) -> Mapping[str, pl.DataFrame]:
        """What else the owner keeps of who is who besides ``origin``: per table, one row for each of its rows."""
        return {}

    def aligned(self, kept: Mapping[str, pl.DataFrame]) -> Self:
        """The same people with what the owner kept of who is who."""
        return self

    def shuffled(self, stream: np.random.Generator) -> Self:
        """The same people in a random order under new numbers; ``origin`` goes along."""
        ...

    def counted(self) -> dict[str, int]:
        """What there is, in counts: people, items, points, edges; for certificates and the first line of a report."""
        ...


def is_shaped(data: Any) -> TypeIs[Shaped]:
    """Whether something is people of another shape than a table: what inherits :class:`Shaped`; frames of others are not asked for members."""
    return Shaped in type(data).__mro__


@runtime_checkable
class ShapedModel(Protocol):
    """A promise about people who are no table. Frozen, validated, written in a recipe under its ``name``."""

    name: ClassVar[str]
    facts: ClassVar[Facts]
    secret: ClassVar[tuple[str, ...]] = ()
    """Fields that a certificate does not show: they list data values."""
    compares: ClassVar[bool] = False
    """Whether it needs the original besides the release."""
    nested: ClassVar[Mapping[str, str]] = {}
    """Fields that are members of a family for tables themselves: the field, and the family."""

    @property
    def promise(self) -> str:
        """The promise in a few words: ``5²-anonymity``."""
        ...

    def lacking(self, people: Any) -> str | None:
        """What it needs and released files do not tell, in words; None where nothing is lacking."""
        return None

    def judge(self, people: Any, original: Any = None) -> Verdict:
        """Judge the people as released and say by how much it holds; ``original`` only where it ``compares``."""
        ...


def verdict(
    model: ShapedModel,
    *,
    holds: bool,
    attained: float | None,
    required: float | None,
    sentence: str,
    broken: int = 0,
    people: int = 0,
    crowd: int | None = None,
) -> Verdict:
    """What a promise says: ``broken`` is how many sets, windows or vertices break it, ``people`` how many persons these concern."""
    none = np.zeros(0, dtype=np.int64)
    return Verdict(
        model=model.name,
        promise=model.promise,
        holds=holds,
        attained=attained,
        required=required,
        sentence=sentence,
        per_class=none,
        failing=np.arange(broken, dtype=np.int64),
        failing_sizes=none,
        records=people,
        crowd=crowd,
    )


@runtime_checkable
class ShapedStep(Protocol):
    """A means. Frozen, validated, written in a recipe under its ``name``."""

    name: ClassVar[str]
    secret: ClassVar[tuple[str, ...]] = ()
    """Fields that a certificate does not show: they list data values, or must not be known."""
    replayable: ClassVar[bool] = True
    """Whether the same seed makes the same release again; False where draws come from the system and are not kept."""
    accounting: ClassVar[Declaration] = LOOKS
    """What the class may do to a certified ε, at best."""
    nested: ClassVar[Mapping[str, str]] = {}
    """Fields that are members of a family for tables themselves: the field, and the family."""
    tells: ClassVar[tuple[str, ...]] = ()
    """What a description of its plan never lacks; one that does was edited."""
    retold: ClassVar[tuple[str, ...]] = ()
    """Fields that a description of its plan tells in another way under the same name: in words, or as what came of them."""

    def plan(self, people: Any, goal: Goal) -> Plan:
        """Decide what to do; looks at the data, changes nothing. ``goal.models`` are the promises to reach."""
        ...

    def apply(self, people: Any, plan: Any) -> Any:
        """Do it."""
        ...

    def account(self, schema: Schema) -> Account:
        """What the step does to ε, from its fields and the schema alone."""
        return Account()

    @classmethod
    def story(cls, told: Mapping[str, Any]) -> str | None:
        """What was done, in a sentence, from the description of a plan; None where there is none but the single facts."""
        return None

    def contradicted(self, released: Any) -> str | None:
        """What in the released people shows that the step cannot have been run, in words; None where nothing does."""
        return None

    def locked(self, plan: Any) -> ShapedStep:
        """The step that makes the same plan again, with what time or a file decided written down; for the lock file."""
        return self


@dataclasses.dataclass(frozen=True, eq=False)
class ShapedScene:
    """Where an attack takes place: the people as they are, what was released of them, and how long it may compute.

    Person *i* of ``released`` is person ``truth[i]`` of ``original``; only the score is computed from it. ``steps`` and ``models`` are those
    that made the release. ``others`` are further files of people that the intruder has, where the attack links two files.
    """

    original: Any
    released: Any
    steps: tuple[ShapedStep, ...] = ()
    models: tuple[ShapedModel, ...] = ()
    others: tuple[Any, ...] = ()
    seed: Seed = dataclasses.field(default_factory=lambda: Seed(0))
    seconds: float = 60.0
    progress: Progress = silent
    started: float = dataclasses.field(default_factory=now)

    @property
    def truth(self) -> NDArray[np.int64]:
        """Per released person the number of the original one."""
        origin: NDArray[np.int64] | None = self.released.origin
        return np.arange(self.released.people, dtype=np.int64) if origin is None else origin

    @property
    def left(self) -> float:
        """Seconds of the budget that are left, never negative."""
        return max(0.0, self.seconds - (now() - self.started))


class ShapedAttack(Metric):
    """An attack on people who are no table; ``applies`` says why it cannot be run in a scene, or None (see :class:`core.attack.Attack`).

    A finding may draw a curve: ``details["curve"] = {"known": "items known", "points": [[1, 0.02], [2, 0.31]]}``, how many facts the intruder has
    and the share of people who are then alone; pages show it before and after.
    """

    tried_by: ClassVar[str] = "somebody who knows a little of a person"
    learns: ClassVar[Learns] = "identity"
    by_default: ClassVar[bool] = True
    """Whether it is tried when nobody asks for it by name."""
    nested: ClassVar[Mapping[str, str]] = {}

    def applies(self, scene: ShapedScene) -> str | None:
        """None when the attack makes sense here (it always does, unless it says so), else the reason it does not."""
        return None

    @abc.abstractmethod
    def attack(self, scene: ShapedScene) -> Finding:
        """Carry it out."""


class ShapedUtility(Metric):
    """What a release of people who are no table is still worth, seen beside the original."""

    by_default: ClassVar[bool] = True
    """Whether it is measured when nobody asks for it by name."""
    nested: ClassVar[Mapping[str, str]] = {}
    """Fields that are members of a family for tables themselves: the field, and the family."""

    @property
    def about(self) -> tuple[str, ...]:
        """The columns it is asked about; none: all that it can look at."""
        return ()

    def applies(self, original: Any, released: Any) -> str | None:
        """None when the metric makes sense here, else the reason it does not."""
        return None

    @abc.abstractmethod
    def measure(self, original: Any, released: Any) -> Measure:
        """Compare a release with its original; ``released.origin`` says who is who."""


@dataclasses.dataclass(frozen=True)
class TableSaid:
    """What a recipe says of one more table: what its columns are, and the file it is in, if the recipe names it."""

    schema: Schema
    file: str | None = None


@dataclasses.dataclass(frozen=True)
class ShapedRecipe:
    """A recipe about people who are no table: the same sections, and the ``shape``.

    ``schema`` says what the columns of the first table are, ``others`` the same of further ones by name, with their file. ``first`` is the
    name of the first table, ``file`` where it is, if the recipe names it.
    """

    shape: Shape
    schema: Schema
    meet: tuple[ShapedModel, ...] = ()
    steps: tuple[ShapedStep, ...] = ()
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    contract: tuple[ShapedAgreement, ...] = ()
    others: Mapping[str, TableSaid] = dataclasses.field(default_factory=dict)
    first: str = DATA
    file: str | None = None
    intake: Intake = dataclasses.field(default_factory=Intake)
    base: Path = dataclasses.field(default=Path(), compare=False)
    proposed_from: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", plain_limits(self.limits))

    @property
    def tables(self) -> dict[str, TableSaid]:
        """Every table by the name it has in :meth:`Shaped.of`, the first one first."""
        return {self.first: TableSaid(self.schema, self.file), **self.others}

    @property
    def schemas(self) -> dict[str, Schema]:
        """What the columns of each table are."""
        return {name: table.schema for name, table in self.tables.items()}

    @classmethod
    def about(cls, shape: Shape, schemas: Mapping[str, Schema], **parts: Any) -> ShapedRecipe:
        """A recipe for tables whose columns are known; ``parts`` are promises, steps, limits and contract."""
        (first, schema), *others = schemas.items()
        return cls(shape, schema, others={name: TableSaid(one) for name, one in others}, first=first, **parts)


def columns_said(recipe: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What a recipe, as plain data, says of the columns of each table; keys of several tables stand among them.

    >>> columns_said({"tables": {"visits": {"belongs_to": {"people": "who"}, "columns": {"day": {"role": "quasi"}}}}})
    {'visits': {'who': {'role': 'key', 'of': 'people'}, 'day': {'role': 'quasi'}}}
    """
    if "tables" not in recipe:
        people = (recipe.get(PEOPLE) or {}).get("columns", {})
        return {DATA: recipe["columns"], **({PEOPLE: people} if people else {})}
    return {name: {**_keys_said(name, said), **said.get("columns", {})} for name, said in recipe["tables"].items()}


def _keys_said(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    own = {said["key"]: {"role": "key", "of": name}} if "key" in said else {}
    return own | {column: {"role": "key", "of": other} for other, column in (said.get("belongs_to") or {}).items()}


@dataclasses.dataclass(frozen=True)
class ShapedAgreement(MetricBound):
    """One line of a contract: a utility metric with its parameters, and what it may be at most or at least."""

    metric: ShapedUtility

    def judge(self, original: Any, released: Any) -> Kept:
        """Measure the metric and hold it against the bound; what cannot be measured does not survive."""
        reason = self.metric.applies(original, released)
        return self.held(self.metric.measure(original, released).value if reason is None else reason)


def of_shape(shapes: Sequence[Shape]) -> str:
    """Shapes in words: ``baskets and paths``."""
    return " and ".join(str(shape) for shape in shapes)
