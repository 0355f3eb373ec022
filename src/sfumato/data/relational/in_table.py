"""Promises, means and metrics of ordinary tables, for one of several tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.classes import count_rows
from sfumato.core.data import DataEvidence, DataPair
from sfumato.core.evidence import gather, judge_all, needed
from sfumato.core.metric import Measure, Utility
from sfumato.core.model import Facts, Model, Needs, Verdict
from sfumato.core.pair import Pair
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Preserved, Step
from sfumato.data.relational import summaries
from sfumato.data.relational.promises import PersonsPromise, require_tables
from sfumato.errors import ParameterError, SchemaError, SfumatoError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Evidence
    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal
    from sfumato.data.relational.rows import TableRows
    from sfumato.data.relational.tables import Tables

TABLE = Field(description="the table, by its name in the recipe")


def _require(given: Any, kind: type, what: str) -> None:
    if isinstance(given, type) or not isinstance(given, kind):
        raise ParameterError(f"in_table: {what}")


@parameters
class PromiseInTable(PersonsPromise):
    """A promise about one table by itself, any that there is for ordinary tables.

    Below the people every row counts for the person at the top: a class is as large as its distinct persons, and a person with
    twenty visits is one. The distribution that a promise compares with is that of the released table. Missing values are a category unless the
    column says otherwise.

    >>> from sfumato import examples
    >>> from sfumato.core import registry
    >>> from sfumato.core.shape import Shape
    >>> promise = registry.build("models", {"in_table": {"table": "visits", "promise": {"k_anonymity": 2}}}, shape=Shape.TABLES)
    >>> promise.promise, promise.judge(DataEvidence(examples.clinic())).attained
    ('2-anonymity in visits', 1)
    """

    name: ClassVar[str] = "in_table"
    facts: ClassVar[Facts] = Facts(against="both")
    nested: ClassVar[Mapping[str, str]] = {"promise": "models"}

    table: Annotated[str, TABLE]
    promised: Annotated[Any, Field(alias="promise", description="a promise of ordinary tables, {k_anonymity: {k: 5}}")]

    def __post_init__(self) -> None:
        _require(self.promised, Model, "promise must be one of ordinary tables, like {k_anonymity: {k: 5}}")

    @property
    def promise(self) -> str:
        """The promise in a few words, and the table."""
        return f"{self.promised.promise} in {self.table}"

    def judge(self, evidence: DataEvidence) -> Verdict:
        """Judge the table by itself, persons counted."""
        people = evidence.data
        dataset = require_tables(people, self.promise).dataset(self.table)
        (found,) = judge_all(self._evidence(dataset), [self.promised])
        return dataclasses.replace(found, model=self.name, promise=self.promise)

    def broken(self, people: Tables) -> NDArray[np.bool_]:
        """Who has a row in a class that breaks it."""
        rows = people[self.table]
        evidence = self._evidence(rows.dataset)
        failing = self.promised.failing(evidence)[count_rows(rows.dataset)[1]]
        found = np.zeros(people.people, dtype=bool)
        found[rows.owner[failing]] = True
        return found

    def _evidence(self, dataset: Dataset) -> Evidence:
        needs = needed([self.promised], dataset.schema)
        if needs.population or needs.pairs or needs.posteriors:
            raise SchemaError(
                f"{self.promise} compares with a second table or with the original records, which is not done for one of several tables"
            )
        return gather(dataset, [self.promised])


@dataclasses.dataclass(frozen=True)
class OwnCrowd(Model):
    """What a promise about persons asks of the people's table by itself: k persons to every combination. A step aims at it; nothing is judged by it."""

    k: int
    name: ClassVar[str] = "own_crowd"
    facts: ClassVar[Facts] = Facts(against="identity")
    monotone: ClassVar[bool] = True
    shrinking: ClassVar[bool] = True
    scope: ClassVar[Literal["class", "table"]] = "class"

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k} persons to every combination"

    def needs(self, schema: Schema) -> Needs:
        """Nothing but the classes."""
        if not schema.quasi:
            raise SchemaError("the people's table has no column with role quasi, so that nothing is left to generalise")
        return Needs()

    def failing(self, evidence: Evidence) -> NDArray[np.bool_]:
        """Classes smaller than k."""
        return evidence.frequencies < self.k

    def judge(self, evidence: Evidence) -> Verdict:
        """The smallest class."""
        sizes = evidence.frequencies
        failing = np.flatnonzero(sizes < self.k)
        least = int(sizes.min(initial=self.k))
        told = f"the smallest class holds {least:,} persons"
        gone = evidence.classes.sizes[failing]
        return Verdict(
            self.name, self.promise, not len(failing), least, self.k, told, sizes, failing, gone, int(gone.sum())
        )

    def implies(self, other: Model) -> bool:
        """Whether another one of its kind asks for no more."""
        return other.crowd is not None and other.crowd <= self.k

    @property
    def crowd(self) -> int | None:
        """The k."""
        return self.k

    @property
    def enough_k(self) -> int | None:
        """The k: whatever makes classes of so many persons keeps it."""
        return self.k


@dataclasses.dataclass(frozen=True, eq=False)
class PlanInTable(Plan):
    """What a step of ordinary tables decided about one of several."""

    table: str
    means: str
    inner: Plan
    rows: NDArray[np.int64] | None
    """The rows that stay; None: all."""
    changed: Dataset = dataclasses.field(repr=False)
    lost: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def preserved(self) -> tuple[Preserved, ...]:
        """What the step keeps."""
        return self.inner.preserved

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the step warns of, and in which table."""
        return tuple(f"{self.table}: {warning}" for warning in self.inner.warnings)

    @property
    def after_writing(self) -> Callable[[], None] | None:
        """What the step must store."""
        return self.inner.after_writing

    def describe(self) -> dict[str, Any]:
        """What was decided, and in which table."""
        return {"table": self.table, "means": self.means, **self.inner.describe(), **self.lost}

    def effort(self) -> dict[str, Any]:
        """How it was found."""
        return self.inner.effort()

    def scores(self) -> dict[str, float]:
        """What it came to."""
        return {f"{name} in {self.table}": score for name, score in self.inner.scores().items()}


@parameters
class StepInTable(Step):
    """A step of ordinary tables, any that keeps rows as somebody's, carried out in one table.

    It is planned on that table alone, with the promises that are about it (``in_table`` under ``meet``) and those of ``aim``, which it should
    reach without their being promised. Below the people every row has its person as unit. Rows that it drops go with all that belongs to
    them; ``drop: people`` leaves out, everywhere, whoever loses a row. Direct identifiers were dropped when the tables were read.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "in_table"
    nested: ClassVar[Mapping[str, str]] = {"step": "steps", "aim": "models"}

    table: Annotated[str, TABLE]
    step: Annotated[
        Any, Field(description="a step of ordinary tables, like {global_recoding: {suppress: tuple, budget: 0.05}}")
    ]
    aim: Annotated[
        tuple[Any, ...], Field(description="promises of ordinary tables to reach here, besides those under meet")
    ] = ()
    drop: Annotated[
        Literal["rows", "people"], Field(description="what goes where a row goes: it alone, or its person")
    ] = "rows"

    def __post_init__(self) -> None:
        _require(self.step, Step, "step must be one of ordinary tables, like {mondrian: {}}")
        for one in self.aim:
            _require(one, Model, "aim lists promises of ordinary tables, like [{k_anonymity: {k: 5}}]")
        if self.step.draws_anew:
            raise ParameterError(
                f"in_table: {self.step.name} draws rows that are nobody's, and the rows of other tables would belong to nobody"
            )
        if self.step.claims:
            raise ParameterError(
                f"in_table: {self.step.name} works on direct identifiers, and these are dropped when several tables are read; keys have key_pseudonyms"
            )

    @property
    def tells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The table and the step, and what that one tells."""
        return ("table", "means", *self.step.tells)

    @property
    def replayable(self) -> bool:  # type: ignore[override]
        """Whether the same seed makes the same release again."""
        found: bool = self.step.replayable
        return found

    def plan(self, people: Any, goal: Goal) -> PlanInTable:
        """Let the step plan on the table by itself."""
        tables = require_tables(people, self.name)
        rows = tables[self.table]
        models = self._aims(rows, goal)
        try:
            plan = self.step.plan(rows.dataset, dataclasses.replace(goal, models=models))
            changed = self.step.apply(rows.dataset, plan)
        except SfumatoError as error:
            raise self._here(error, models) from None
        return self._kept(rows, plan, changed)

    def _aims(self, rows: TableRows, goal: Goal) -> tuple[Model, ...]:
        """The promises about the table by itself, what promises about persons ask of the people's, and what the step should reach besides."""
        meant: tuple[Any, ...] = goal.models
        about = [one.promised for one in meant if isinstance(one, PromiseInTable) and one.table == self.table]
        persons = [one.crowd for one in meant if rows.is_people and isinstance(one, PersonsPromise)]
        crowds = [OwnCrowd(k) for k in persons if k is not None]
        return tuple(dict.fromkeys((*about, *crowds, *self.aim)))

    def _here(self, error: SfumatoError, models: Sequence[Model]) -> SfumatoError:
        """The same error, with the table it is about."""
        where = f"in_table, table {self.table!r}"
        if isinstance(error, Unsatisfiable):
            return Unsatisfiable(f"{where}: {error}", closest=error.closest)
        if isinstance(error, SchemaError):
            return SchemaError([f"{where}: {problem}" for problem in error.problems])
        if isinstance(error, ParameterError):
            hint = (
                f" (in_table: {{table: {self.table}, promise: …}}), or under 'aim' of this step" if not models else ""
            )
            return ParameterError(f"{where}: {error}{hint}")
        return error

    def _kept(self, rows: TableRows, plan: Plan, changed: Dataset) -> PlanInTable:
        """The plan with the rows that stay, in the order they have."""
        kept = np.arange(len(rows), dtype=np.int64) if changed.origin is None else changed.origin
        if len(kept) and (kept.min() < 0 or np.bincount(kept).max() > 1):
            raise ParameterError(
                f"in_table: {self.step.name} drew rows anew or twice, and the rows of other tables would belong to nobody"
            )
        if self.drop == "people" and len(kept) < len(rows):
            whole = np.ones(int(rows.owner.max()) + 1, dtype=bool)
            whole[np.delete(rows.owner, kept)] = False
            changed = changed.take(np.flatnonzero(whole[rows.owner[kept]]))
            kept = np.arange(len(rows), dtype=np.int64) if changed.origin is None else changed.origin
        if (kept[1:] < kept[:-1]).any():
            order = np.argsort(kept, kind="stable")
            changed, kept = changed.take(order), kept[order]
        lost = {"rows_dropped": len(rows) - len(kept)} if len(kept) < len(rows) else {}
        return PlanInTable(self.table, self.step.name, plan, kept if lost else None, changed, lost)

    def apply(self, people: Any, plan: Any) -> Any:
        """Put in what the step made of the table; what belongs to rows that are gone goes too."""
        tables = require_tables(people, self.name)
        if plan.rows is not None:
            rows = tables[self.table]
            stays = np.zeros(len(rows), dtype=bool)
            stays[plan.rows] = True
            gone = {self.table: stays}
            if self.drop == "people":
                missing = np.zeros(tables.people, dtype=bool)
                missing[rows.owner[~stays]] = True
                gone = {tables.parts[0].name: ~missing} if not rows.is_people else gone
            tables = tables.kept(gone)
        return tables.with_rows(tables[self.table].with_dataset(plan.changed))

    @classmethod
    def story(cls, told: Mapping[str, Any]) -> str:
        """What was done, in a sentence."""
        return summaries.in_table(told)

    def locked(self, plan: Any) -> Step:
        """The same with what time or a file decided written down."""
        return dataclasses.replace(self, step=self.step.locked(plan.inner))


@parameters
class MetricInTable(Utility):
    """A utility metric of ordinary tables, measured on one table: rows that are gone are lost as they are there."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "in_table"
    title: ClassVar[str] = "A metric of one table"
    better: ClassVar[Literal["lower", "higher"]] = "lower"
    nested: ClassVar[Mapping[str, str]] = {"metric": "utility"}

    table: Annotated[str, TABLE]
    metric: Annotated[Any, Field(description="a metric of ordinary tables, like {means: {columns: [cost]}}")]

    def __post_init__(self) -> None:
        _require(self.metric, Utility, "metric must be one of ordinary tables, like loss")

    @property
    def words(self) -> str:
        """The metric, its columns and the table in a sentence."""
        of = f" of {', '.join(self.metric.about)}" if self.metric.about else ""
        return f"{self.metric.words}{of} in {self.table}"

    def applies(self, pair: DataPair) -> str | None:
        """Where the metric applies to the table."""
        original, released = pair.original, pair.released
        reason: str | None = self.metric.out_of_place(self._pair(original, released))
        return reason

    def measure(self, pair: DataPair) -> Measure:
        """Measure the table, row beside row."""
        original, released = pair.original, pair.released
        found: Measure = self.metric.measure(self._pair(original, released))
        return dataclasses.replace(
            found, name=f"{found.name}_in_{self.table}", meaning=f"{self.table}: {found.meaning}"
        )

    def _pair(self, original: Any, released: Any) -> Pair:
        before, after = require_tables(original, self.name)[self.table], require_tables(released, self.name)[self.table]
        origin = np.arange(len(after), dtype=np.int64) if after.origin is None else after.origin
        unit = () if before.is_people else before.link.columns
        return Pair.of(before.dataset.drop(unit), dataclasses.replace(after.dataset.drop(unit), origin=origin))
