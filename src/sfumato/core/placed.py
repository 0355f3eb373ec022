"""A method of ordinary tables and the table it applies to, where the data are several tables.

A recipe of several tables names a promise, step or metric of ordinary tables with ``table:`` beside
its fields::

    meet: [{k_anonymity: {k: 5, table: visits}}]
    steps: [{global_recoding: {budget: 0.02, table: visits, aim: [{k_anonymity: 4}], drop: people}}]
    contract: [{means: {columns: [cost], table: visits, at_most: 0.1}}]

Here each of them is a class around the method, since a plug-in has no such fields. There are three
classes because promises, steps and metrics answer to three contracts. What they ask of the data is
:class:`~sfumato.core.data.SupportsTables`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from sfumato.core.classes import count_rows
from sfumato.core.data import SupportsTables
from sfumato.core.fields import Document, Fields
from sfumato.core.limits import limits_of
from sfumato.core.metric import Measure, Utility
from sfumato.core.model import Facts, Model, Verdict
from sfumato.core.parameters import plain_data, values_of
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Preserved, Step
from sfumato.core.words import count_of, inflect, join_words
from sfumato.errors import (
    ParameterError,
    SchemaError,
    SfumatoError,
    Unsatisfiable,
    did_you_mean,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.data import Data, Evidence, Pair
    from sfumato.core.model import ClassEvidence
    from sfumato.core.pair import TablePair
    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal
    from sfumato.core.table import Table

DROPS = ("rows", "people")


@dataclasses.dataclass(frozen=True)
class Placed:
    """A method of ordinary tables, and the name of the table it applies to."""

    method: Any
    table: str

    family: ClassVar[type]
    """What the method must be."""
    family_name: ClassVar[str]
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})

    def __post_init__(self) -> None:
        if self.family not in type(self.method).__mro__:
            wrapper = type(self).__name__
            raise ParameterError(
                f"{wrapper}: the method must be a {self.family_name} of ordinary tables"
            )
        if type(self.table) is not str:
            raise ParameterError(f"{self.name}: table should be the name of a table")

    @property
    def name(self) -> str:
        """The name of the method."""
        name: str = self.method.name
        return name

    @property
    def secret(self) -> tuple[str, ...]:
        """Fields of the method that a certificate does not show."""
        fields: tuple[str, ...] = self.method.secret
        return fields

    def fields(self) -> Document:
        """What a recipe writes beside the name: the fields of the method, and the table."""
        return {**values_of(self.method), "table": self.table}


def _require_tables(data: object, method: str) -> SupportsTables:
    if not isinstance(data, SupportsTables):
        raise ParameterError(f"{method}: these data are not several tables, so leave 'table' out")
    return data


@dataclasses.dataclass(frozen=True)
class PlacedModel(Placed, Model):  # type: ignore[override]  # name, secret: those of the method
    """A promise about one table by itself, any that there is for ordinary tables.

    Below the people every row counts for the person at the top: a class is as large as its distinct
    persons, and a person with twenty visits is one. The distribution that a promise compares with
    is that of the released table. Missing values are a category unless the column says otherwise.

    >>> from sfumato import examples
    >>> from sfumato.core.data import Evidence
    >>> from sfumato.methods.models import KAnonymity
    >>> promise = PlacedModel(KAnonymity(2), "visits")
    >>> promise.promise, promise.judge(Evidence(examples.clinic())).attained
    ('2-anonymity in visits', 1)
    """

    family: ClassVar[type] = Model
    family_name: ClassVar[str] = "promise"

    @property
    def facts(self) -> Facts:  # type: ignore[override]
        """What kind of promise it is."""
        facts: Facts = self.method.facts
        return facts

    @property
    def promise(self) -> str:
        """The promise in a few words, and the table."""
        return f"{self.method.promise} in {self.table}"

    def judge(self, evidence: Evidence) -> Verdict:
        """Judge the table by itself, persons counted."""
        from sfumato.core.evidence import judge_all  # reading a recipe does not wait for it

        table = _require_tables(evidence.data, self.name).table(self.table)
        (verdict,) = judge_all(self._evidence(table), [self.method])
        return dataclasses.replace(verdict, promise=self.promise)

    def broken(self, data: Data) -> NDArray[np.bool_]:
        """Per person whether they have a row in a class that breaks it."""
        tables = _require_tables(data, self.name)
        table = tables.table(self.table)
        _, class_of_row = count_rows(table)
        failing_rows = self.method.failing(self._evidence(table))[class_of_row]
        # One row in a failing class is enough: it shows the person among too few others.
        persons = np.zeros(data.size, dtype=np.bool_)
        persons[tables.owners(self.table)[failing_rows]] = True
        return persons

    def _evidence(self, table: Table) -> ClassEvidence:
        from sfumato.core.evidence import gather, needed

        needs = needed([self.method], table.schema)
        if needs.population or needs.pairs or needs.posteriors:
            raise SchemaError(
                f"{self.promise} compares with a second table or with the original records, which "
                "is not available for one of several tables; choose another promise"
            )
        return gather(table, [self.method])


@dataclasses.dataclass(frozen=True, eq=False)
class PlacedPlan(Plan):
    """What a step of ordinary tables decided about one of several.

    ``changed`` is what it made of the table; its ``origin`` says which rows stay, in their order
    (None: all).
    """

    table: str
    inner: Plan
    changed: Table = dataclasses.field(repr=False)
    rows_dropped: int = 0

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

    def describe(self) -> Document:
        """What was decided, and in which table."""
        description = {"table": self.table, **self.inner.describe()}
        if self.rows_dropped:
            description["rows_dropped"] = self.rows_dropped
        return description

    def effort(self) -> Document:
        """How it was found."""
        return self.inner.effort()

    def scores(self) -> dict[str, float]:
        """What it came to."""
        scores = self.inner.scores()
        return {f"{name} in {self.table}": score for name, score in scores.items()}


@dataclasses.dataclass(frozen=True)
class PlacedStep(Placed, Step):  # type: ignore[override]  # name, secret: those of the method
    """A step of ordinary tables, any that keeps rows as somebody's, carried out in one table.

    It is planned on that table alone, with the promises that are about it (those with the same
    ``table``) and those of ``aim``, which it should reach without their being promised. Below the
    people every row has its person as unit. Rows that it drops go with all that belongs to them;
    ``drop: people`` leaves out, everywhere, whoever loses a row. Direct identifiers were dropped
    when the tables were read.
    """

    aim: tuple[Model, ...] = ()
    drop: Literal["rows", "people"] = "rows"

    family: ClassVar[type] = Step
    family_name: ClassVar[str] = "step"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.drop not in DROPS:
            raise ParameterError(f"{self.name}: drop should be 'rows' or 'people'")
        if any(Model not in type(model).__mro__ for model in self.aim):
            raise ParameterError(
                f"{self.name}: aim lists promises of ordinary tables, like [{{k_anonymity: {{k:"
                " 5}}]"
            )
        if self.method.draws_anew:
            raise ParameterError(
                f"{self.name}: it makes synthetic rows, and the rows of other tables would belong "
                "to nobody; choose another step"
            )
        if self.method.claims:
            raise ParameterError(
                f"{self.name}: it works on direct identifiers, and these are dropped when several "
                "tables are read; for keys use key_pseudonyms"
            )

    def fields(self) -> Document:
        """What a recipe writes beside the name: fields of the method, table, aim and what goes."""
        fields = super().fields()
        if self.aim:
            fields["aim"] = plain_data(self.aim)
        if self.drop != "rows":
            fields["drop"] = self.drop
        return fields

    @property
    def tells(self) -> tuple[str, ...]:  # type: ignore[override]
        """The table, and what the method tells."""
        return ("table", *self.method.tells)

    @property
    def retold(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a plan of the method tells in another way."""
        fields: tuple[str, ...] = self.method.retold
        return fields

    def contradicted(self, told: Fields, schema: Schema, records: int | None) -> str | None:
        """What the method says of its plan; ``schema`` is that of the table. How many rows it had
        is not told.
        """
        contradiction: str | None = self.method.contradicted(told, schema, None)
        return contradiction

    @property
    def replayable(self) -> bool:  # type: ignore[override]
        """Whether the same seed makes the same release again."""
        replayable: bool = self.method.replayable
        return replayable

    def plan(self, data: Any, goal: Goal) -> PlacedPlan:
        """Let the step plan on the table by itself."""
        tables = _require_tables(data, self.name)
        table = tables.table(self.table)
        models = self._models(tables, goal)
        try:
            plan = self.method.plan(table, dataclasses.replace(goal, models=models))
            changed = self.method.apply(table, plan)
        except SfumatoError as error:
            raise self._located(error, models) from None
        changed = self._in_row_order(changed, tables.owners(self.table))
        return PlacedPlan(self.table, plan, changed, rows_dropped=len(table) - len(changed))

    def _models(self, tables: SupportsTables, goal: Goal) -> tuple[Model, ...]:
        """The promises about the table, what those about all tables ask of it, and the aim."""
        own_models: list[Model] = []
        about_all: list[Model] = []
        for model in goal.models:
            if not isinstance(model, PlacedModel):
                about_all.append(model)
            elif model.table == self.table:
                own_models.append(model.method)
        all_models = (*own_models, *tables.table_goals(self.table, about_all), *self.aim)
        return tuple(dict.fromkeys(all_models))

    def _located(self, error: SfumatoError, models: Sequence[Model]) -> SfumatoError:
        """The same error, with the table it is about."""
        where = f"{self.name}, table {self.table!r}"
        if isinstance(error, Unsatisfiable):
            return Unsatisfiable(f"{where}: {error}", closest=error.closest)
        if isinstance(error, SchemaError):
            return SchemaError([f"{where}: {problem}" for problem in error.problems])
        if isinstance(error, ParameterError):
            hint = ""
            if not models:
                hint = f" (k_anonymity: {{k: 5, table: {self.table}}}), or under 'aim' of this step"
            return ParameterError(f"{where}: {error}{hint}")
        return error

    def _in_row_order(self, changed: Table, owners: NDArray[np.int64]) -> Table:
        """The rows that stay, in their order; ``drop: people``: those of persons who lost none."""
        rows = _rows_of(changed, len(owners))
        if len(rows) and (rows.min() < 0 or np.bincount(rows).max() > 1):
            raise ParameterError(
                f"{self.name}: it synthesised or repeated rows, and the rows of other tables would "
                "belong to nobody; choose another step"
            )
        # Whoever loses one row of twenty loses the other nineteen here too, before they are
        # counted.
        if self.drop == "people" and len(rows) < len(owners):
            lost_nothing = np.ones(int(owners.max()) + 1, dtype=np.bool_)
            lost_nothing[np.delete(owners, rows)] = False
            changed = changed.take(np.flatnonzero(lost_nothing[owners[rows]]))
            rows = _rows_of(changed, len(owners))
        # A step may shuffle; rows of other tables are found by the place that a row had.
        if (rows[1:] < rows[:-1]).any():
            changed = changed.take(np.argsort(rows, kind="stable"))
        return changed

    def apply(self, data: Any, plan: Any) -> Any:
        """Put in what the step made of the table; what belongs to rows that are gone goes too."""
        return _require_tables(data, self.name).with_table(self.table, plan.changed, drop=self.drop)

    @classmethod
    def story(cls, told: Fields) -> str:
        """What was done, in a sentence.

        >>> ward, day, age = ({"level": n, "top": top} for n, top in ((0, 1), (2, 4), (3, 3)))
        >>> PlacedStep.story({"table": "visits", "levels": {"ward": ward, "day": day, "age": age}})
        'It generalised day to level 2 of 4, fully suppressed age and kept ward exact; all rows
        stayed.'
        >>> PlacedStep.story({"table": "people", "regions": 586, "rows_dropped": 1})
        'It was applied (regions: 586); 1 row was dropped.'
        """
        dropped = told.get("rows_dropped", 0)
        rows = "all rows stayed"
        if dropped:
            rows = f"{count_of(dropped, 'row')} {inflect(dropped, 'was', 'were')} dropped"
        if told.get("levels"):
            return f"It {_levels_in_words(told['levels'])}; {rows}."
        facts = []
        for field, value in told.items():
            if field in TOLD_ELSEWHERE or not isinstance(value, str | int | float):
                continue
            if isinstance(value, int):
                number = f"{value:,}"
            else:
                number = str(value)
            facts.append(f"{field.replace('_', ' ')}: {number}")
        single = f" ({'; '.join(facts)})" if facts else ""
        return f"It was applied{single}; {rows}."

    def locked(self, plan: Any) -> Step:
        """The same with what time or a file decided written down."""
        return dataclasses.replace(self, method=self.method.locked(plan.inner))


TOLD_ELSEWHERE = (
    "step",
    "table",
    "kind",
    "levels",
    "rows_dropped",
    "suppressed_records",
    "suppressed_classes",
    "preserved",
    "warning",
)
"""What the sentence about a placed step tells itself, or leaves to other places."""


def _rows_of(table: Table, size: int) -> NDArray[np.int64]:
    """Per row of a changed table the number of the row it was."""
    if table.origin is None:
        return np.arange(size, dtype=np.int64)
    return table.origin


def _levels_in_words(levels: Mapping[str, Mapping[str, int]]) -> str:
    """What became of columns that have a level each."""
    exact = [column for column, entry in levels.items() if entry["level"] == 0]
    nothing = [column for column, entry in levels.items() if entry["level"] == entry["top"] > 0]
    between = []
    for column, entry in levels.items():
        if 0 < entry["level"] < entry["top"]:
            between.append(f"{column} to level {entry['level']} of {entry['top']}")
    parts = []
    if between:
        parts.append(f"generalised {join_words(between)}")
    if nothing:
        parts.append(f"fully suppressed {join_words(nothing, 'or')}")
    if exact:
        parts.append(f"kept {join_words(exact)} exact")
    return join_words(parts)


@dataclasses.dataclass(frozen=True)
class PlacedMetric(Placed, Utility):  # type: ignore[override]  # name, secret: those of the method
    """A utility metric of ordinary tables on one table: rows that are gone are lost as they are
    there.
    """

    family: ClassVar[type] = Utility
    family_name: ClassVar[str] = "metric"

    @property
    def better(self) -> Literal["lower", "higher"]:  # type: ignore[override]
        """Which way is better."""
        better: Literal["lower", "higher"] = self.method.better
        return better

    @property
    def title(self) -> str:  # type: ignore[override]
        """What it is called on pages."""
        return f"{self.method.title} in {self.table}"

    @property
    def line(self) -> str:  # type: ignore[override]
        """What it tells."""
        line: str = self.method.line
        return line

    @property
    def words(self) -> str:
        """The metric, its columns and the table in a sentence."""
        if self.method.about:
            of = f" of {', '.join(self.method.about)}"
        else:
            of = ""
        return f"{self.method.words}{of} in {self.table}"

    def applies(self, pair: Pair) -> str | None:
        """Where the metric applies to the table."""
        reason: str | None = self.method.out_of_place(self._pair(pair))
        return reason

    def measure(self, pair: Pair) -> Measure:
        """Measure the table, row beside row."""
        measure: Measure = self.method.measure(self._pair(pair))
        name = f"{measure.name}_in_{self.table}"
        return dataclasses.replace(measure, name=name, meaning=f"{self.table}: {measure.meaning}")

    def _pair(self, pair: Pair) -> TablePair:
        original = _require_tables(pair.original, self.name)
        return _require_tables(pair.released, self.name).compare_table(self.table, original)


PLACED: Mapping[str, type[Placed]] = {
    "models": PlacedModel,
    "steps": PlacedStep,
    "utility": PlacedMetric,
}
"""The class around a method of each family; members of other families are not placed."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "models": ("table",),
    "steps": ("table", "aim", "drop"),
    "utility": ("table",),
}
"""What a recipe writes beside the fields of a placed method."""


def table_problems(
    sections: Mapping[str, Iterable[Model | Step | Utility]],
    limits: Fields,
    table_names: Collection[str],
) -> list[str]:
    """What in a recipe names a table that is not there: methods, by their section, and limits."""
    named_tables: list[tuple[str, str, object]] = []
    for section, methods in sections.items():
        for method in methods:
            named_tables.append((section, method.name, getattr(method, "table", None)))
    for limit in limits_of(limits):
        named_tables.append(("limits", limit.name, limit.parameters.get("table")))
    problems = []
    for section, name, table in named_tables:
        if isinstance(table, str) and table not in table_names:
            problems.append(
                f"{section}: {name} names a table {table!r}, which does not "
                f"exist.{did_you_mean(table, table_names)}"
            )
    return problems
