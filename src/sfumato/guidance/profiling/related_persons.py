"""What several tables can promise about persons, and by what steps: designs are tried on some of
the people, and the strongest that is affordable is proposed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core import registry
from sfumato.core.fields import Document
from sfumato.core.randomness import Seed
from sfumato.core.relations import with_keys
from sfumato.core.schema import Role, Schema
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.core.step import Goal
from sfumato.core.words import percent
from sfumato.errors import SfumatoError
from sfumato.guidance.profiling.proposed_steps import K, attribute_of, step_for

if TYPE_CHECKING:
    from sfumato.guidance.profiling.table_relations import TableGuess

FieldView = Mapping[str, Any]

# People the designs are tried on, with all their rows; of more people some are drawn, with a fixed
# seed.
PEOPLE_TRIED = 3_000
# Shares of the people and of the rows that a design may cost to be proposed, and of the people that
# the recipe then allows.
PEOPLE_LOST, ROWS_LOST, BUDGET = 0.05, 0.5, 0.1
# How many times k persons a step in the people's table aims at: who is to share rows needs more
# company.
LARGER = (1, 5, 20)
# How many times k persons share a row before rows go to even out their numbers.
SPARE = 4
# Share of the persons who have the most frequent value, above which no crowd can be asked to have
# it in less than half.
COMMON = 1 / 3
L = 2
CHILD_MEANS: Document = {"global_recoding": {"suppress": "tuple", "budget": 0.05}}


@dataclasses.dataclass(frozen=True)
class ProposedLine:
    """A promise or a step in recipe syntax, and why it is proposed, or why not."""

    spec: FieldView
    why: str


@dataclasses.dataclass(frozen=True)
class PersonsDesign:
    """Promises and steps for several tables in their order; ``refused`` are promises that cost too
    much where they were tried.
    """

    meet: tuple[ProposedLine, ...]
    steps: tuple[ProposedLine, ...]
    refused: tuple[ProposedLine, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Cost:
    """Shares of people, rows and detail that are lost; ``refused`` says why there is no release at
    all.
    """

    people: float = 1.0
    rows: float = 1.0
    detail: float = 1.0
    refused: str | None = None

    @property
    def affordable(self) -> bool:
        return self.refused is None and self.people <= PEOPLE_LOST and self.rows <= ROWS_LOST

    @property
    def total(self) -> float:
        return self.people + self.rows + self.detail

    @property
    def words(self) -> str:
        if self.refused is not None:
            return self.refused
        return f"{percent(self.people)} of the people and {percent(self.rows)} of the rows would go"


COUNTS: FieldView = {"persons_k_anonymity": {"k": K, "knows": "counts"}}
ONE_ROW: FieldView = {"persons_k_anonymity": {"k": K, "knows": "any", "facts": 1}}
OWN: FieldView = {"persons_k_anonymity": {"k": K, "knows": "own"}}
WHY = {
    "counts": (
        "an intruder who knows the own columns and the number of rows finds 5 persons or more"
    ),
    "any": "an intruder who knows the own columns and one row finds 5 persons or more",
    "own": "an intruder who knows the own columns finds 5 persons or more",
}


def design_of(
    tables: Sequence[TableGuess],
    frames: Mapping[str, pl.DataFrame],
    owners: Mapping[str, pl.Series],
) -> PersonsDesign:
    """The strongest promises about persons that some of the people could be given at a bearable
    price, and the steps.
    """
    trial = _Trial.of(tables, frames, owners)
    if trial is None:
        return _untried(tables)
    design, refused = trial.affordable()
    design, refused_secrets = trial.with_secrets(design)
    return dataclasses.replace(trial.lines(design), refused=(*refused, *refused_secrets))


@dataclasses.dataclass(frozen=True)
class _Design:
    """Promises about persons, and how much company the people's table should give everybody."""

    persons: tuple[FieldView, ...]
    larger: int = 1
    secrets: tuple[FieldView, ...] = ()

    def knows(self, word: str) -> bool:
        return any(spec["persons_k_anonymity"]["knows"] == word for spec in self.persons)

    def sharing(self, persons: int) -> int:
        """How many persons should share a row of a table below: more than k where rows go
        afterwards, and where one that is known must be had by many of a class.
        """
        spare = SPARE * K if self.knows("counts") else K
        if self.knows("any") and self.larger > 1:
            return max(spare, -(-persons // self.larger))
        return spare


@dataclasses.dataclass(frozen=True)
class _Trial:
    """Some of the people in several tables as they are described, with what else a design needs to
    know.
    """

    guesses: tuple[TableGuess, ...]
    people: Any
    everybody: int
    own_step: FieldView
    results: dict[Any, tuple[Any, float]] = dataclasses.field(default_factory=dict)
    """What was left by all steps but the last, and the detail lost, of designs that were tried."""

    @classmethod
    def of(
        cls,
        tables: Sequence[TableGuess],
        frames: Mapping[str, pl.DataFrame],
        owners: Mapping[str, pl.Series],
    ) -> _Trial | None:
        """None where there is nobody to try anything on, or the tables cannot be read as they are
        described.
        """
        top = tables[0]
        size = frames[top.name].height
        if size < K:
            return None
        sample = np.sort(
            Seed.of(1)
            .stream("profile: people to try")
            .choice(size, min(size, PEOPLE_TRIED), replace=False)
        )
        try:
            schemas = {t.name: _schema(t) for t in tables}
            sampled_tables = {
                n: _of_people(frames[n], owners[n], sample).select(list(s.attributes))
                for n, s in schemas.items()
            }
            people: Any = registry.data_class(Shape.TABLES).from_tables(
                sampled_tables, schemas, Source()
            )
            steps = None
            if _has_quasi(top):
                steps = step_for(people.table(top.name))
        except SfumatoError:
            return None
        return cls(tuple(tables), people, size, CHILD_MEANS if steps is None else steps.step)

    @property
    def top(self) -> TableGuess:
        return self.guesses[0]

    # Which design.

    def affordable(self) -> tuple[_Design, list[ProposedLine]]:
        """The strongest that is, of two that are no stronger than each other the cheaper one, and
        what costs too much, or more.
        """
        if len(self.guesses) == 1:
            return _Design((OWN,)), []
        combined = self._cheapest((COUNTS, ONE_ROW))
        if combined[1].affordable:
            return combined[0], []
        single = sorted(
            map(self._cheapest, ((COUNTS,), (ONE_ROW,))), key=lambda trial_cost: trial_cost[1].total
        )
        bearable = [design for design, cost in single if cost.affordable]
        best = bearable[0] if bearable else _Design((OWN,))
        return best, [
            ProposedLine(design.persons[0], _instead(cost))
            for design, cost in single
            if design is not best
        ]

    def _cheapest(self, persons: tuple[FieldView, ...]) -> tuple[_Design, _Cost]:
        """The way to keep some promises that costs least."""
        sizes = LARGER if _has_quasi(self.top) else LARGER[:1]
        designs = [
            (design, self.cost(design)) for design in (_Design(persons, larger) for larger in sizes)
        ]
        return min(
            designs, key=lambda design_cost: (not design_cost[1].affordable, design_cost[1].total)
        )

    def with_secrets(self, design: _Design) -> tuple[_Design, list[ProposedLine]]:
        """The same with a promise for every sensitive column that does not cost too much, one after
        the other.
        """
        refused: list[ProposedLine] = []
        for spec in self._about_secrets(design):
            extended = dataclasses.replace(design, secrets=(*design.secrets, spec))
            cost = self.cost(extended)
            if cost.affordable:
                design = extended
            else:
                refused.append(ProposedLine(spec, cost.words))
        return design, refused

    def _about_secrets(self, design: _Design) -> Iterator[FieldView]:
        knows = "counts" if design.knows("counts") else "own"
        views = self.people.shown()
        quasi_columns = set()
        for table in self.guesses:
            for column in table.columns:
                if Role.QUASI in column.roles:
                    quasi_columns.add(f"{table.name}.{column.name}")
        for name, column in views.sensitive.items():
            # who knows a column does not learn it
            if name in quasi_columns or len(np.unique(column.code)) < L:
                continue
            person_values = np.unique(np.stack([column.person, column.code], axis=1), axis=0)
            largest_share = np.bincount(person_values[:, 1]).max() / views.persons
            kind = {} if largest_share <= COMMON else {"kind": "distinct"}
            yield {"persons_l_diversity": {"sensitive": name, "l": L, **kind, "knows": knows}}

    # What it costs.

    def cost(self, design: _Design) -> _Cost:
        """What a design loses of the people that it is tried on."""
        *steps, last = self._steps(design, self.people.people, budget=1.0)
        models = tuple(_built("models", line.spec) for line in self._meet(design))
        # promises about secrets are the last step's alone
        key = (
            str(design.persons),
            design.larger,
        )
        try:
            if key not in self.results:
                self.results[key] = _carried_out(self.people, steps, models)
            people, detail = self.results[key]
            people, _ = _carried_out(people, [last], models, first_number=len(steps))
        except SfumatoError:
            return _Cost(refused="it cannot be reached")
        before, after = self.people.counts(), people.counts()
        rows = sum(before.values()) - self.people.people
        rows_left = sum(after.values()) - people.people
        return _Cost(1 - people.people / self.people.people, 1 - rows_left / max(rows, 1), detail)

    # What is written.

    def lines(self, design: _Design) -> PersonsDesign:
        """The design as promises and steps."""
        return PersonsDesign(
            tuple(self._meet(design)), tuple(self._steps(design, self.everybody, budget=BUDGET))
        )

    def _meet(self, design: _Design) -> Iterator[ProposedLine]:
        if _has_quasi(self.top) or len(self.guesses) > 1:
            for spec in design.persons:
                yield ProposedLine(spec, WHY[spec["persons_k_anonymity"]["knows"]])
        for table in self.guesses[1:]:
            if _has_quasi(table):
                promise = {"k_anonymity": {"k": K, "table": table.name}}
                yield ProposedLine(promise, "every combination in the table is shared by 5 persons")
        for spec in design.secrets:
            fields = spec["persons_l_diversity"]
            how = "two of them share no value"
            if "kind" not in fields:
                how = "no value belongs to more than half of them"
            yield ProposedLine(spec, f"among the persons found this way, {how}")

    def _steps(self, design: _Design, persons: int, *, budget: float) -> Iterator[ProposedLine]:
        for table in self.guesses[1:]:
            if table.parent is not None and table.parent.table == self.top.name:
                cap = {"cap_rows": {"table": table.name, "at_most": table.usual_rows}}
                yield ProposedLine(
                    cap,
                    "95 % of the people have no more; the others are found by how many they have",
                )
        if _has_quasi(self.top):
            if design.larger > 1:
                aim = {"aim": [{"k_anonymity": {"k": K * design.larger}}]}
            else:
                aim = {}
            why = "the steps that lose least"
            if aim:
                why = f"so that there are {K * design.larger} persons to share rows with"
            yield ProposedLine(_placed(self.own_step, {"table": self.top.name, **aim}), why)
        for table in self.guesses[1:]:
            if _has_quasi(table):
                common = design.sharing(persons)
                aim = {"aim": [{"k_anonymity": {"k": common}}]} if common > K else {}
                why = "labels of the hierarchies, one level a column"
                if aim:
                    why = "so that rows are shared by many"
                yield ProposedLine(_placed(CHILD_MEANS, {"table": table.name, **aim}), why)
        if design.knows("any"):
            yield ProposedLine({"trim_rows": {}}, "rows that fewer than 5 persons share go")
        if design.knows("counts"):
            yield ProposedLine(
                {"even_counts": {}}, "rows go until 5 persons have the same numbers of them"
            )
        yield ProposedLine(
            {"suppress_persons": {"budget": budget}},
            "people who cannot be hidden this way are removed from all tables",
        )


def _carried_out(
    people: object, steps: Sequence[ProposedLine], models: tuple[Any, ...], first_number: int = 0
) -> tuple[Any, float]:
    """What steps leave of people, and the share of detail they lose on the average."""
    detail = [0.0]
    for number, line in enumerate(steps, start=first_number):
        step = _built("steps", line.spec)
        plan = step.plan(people, Goal(models, Seed.of(1), place=number))
        people = step.apply(people, plan)
        detail += plan.scores().values()
    return people, float(np.mean(detail))


def _instead(cost: _Cost) -> str:
    if cost.affordable:
        return f"{cost.words}; use it instead of the first promise, not in addition"
    return cost.words


def _untried(tables: Sequence[TableGuess]) -> PersonsDesign:
    """What is proposed where nothing could be tried."""
    trial = _Trial(tuple(tables), None, tables[0].proposal.rows, CHILD_MEANS)
    return trial.lines(_Design((OWN,)))


def _built(family: str, spec: FieldView) -> Any:
    return registry.build(family, dict(spec), shape=Shape.TABLES)


def _placed(step: FieldView, placing: FieldView) -> FieldView:
    """A step of ordinary tables, in recipe syntax, with the table it works in and what it aims at
    there.
    """
    ((name, fields),) = step.items()
    return {name: {**fields, **placing}}


def _has_quasi(table: TableGuess) -> bool:
    return any(Role.QUASI in column.roles for column in table.columns)


def _of_people(frame: pl.DataFrame, owner: pl.Series, sample: Any) -> pl.DataFrame:
    """The rows of some of the people."""
    return frame.filter(
        owner.is_in(pl.Series(sample, dtype=owner.dtype).implode()).fill_null(value=False)
    )


def _schema(table: TableGuess) -> Schema:
    """What is proposed of a table as a schema; what is dropped, or waits for a decision, stands
    aside.
    """
    attributes = {
        c.name: attribute_of(c) for c in table.columns if not {Role.ASK, Role.DROP} & set(c.roles)
    }
    if table.parent is None:
        parents = {}
    else:
        parents = {table.parent.table: table.parent.column}
    key = None if table.key is None else table.key.column
    return with_keys(table.name, Schema(attributes), key=key, belongs_to=parents, orphans="drop")
