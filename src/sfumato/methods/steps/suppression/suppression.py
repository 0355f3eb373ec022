"""Suppression alone: records, columns or cells are left out, and what is left stays as it is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.classes import Placement
from sfumato.core.evidence import needed
from sfumato.core.fields import Document, Fields
from sfumato.core.hierarchy import Ladder, all_or_nothing, ends_of
from sfumato.core.objective import Objective, Tally, objective_named
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.population import count_needed
from sfumato.core.step import Goal, Plan, Span, Step, over_budget
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.steps.local.regions import (
    SUPPRESSED,
    ClassRecoding,
    recode_classes,
    whole_classes,
    written_alike,
)
from sfumato.methods.steps.recoding.lattice import Lattice, normalised_weights
from sfumato.methods.steps.recoding.optimal import Search
from sfumato.methods.steps.suppression.cell_plan import EFFORT, CellSuppression, Method
from sfumato.methods.steps.suppression.cells import with_wildcards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table


Combination = Annotated[Sequence[str], COLUMNS, Field(min_length=1), AfterValidator(tuple)]
Named = Annotated[Sequence[Combination], Field(min_length=1), AfterValidator(tuple)]


# Attribute suppression: columns are kept whole or dropped, nothing between.


@dataclasses.dataclass(frozen=True)
class DroppedColumns(Plan):
    """Which quasi-identifiers are dropped; ``score`` is their share of all importance."""

    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    score: float
    looked_at: int

    objective = "importance_dropped"

    def describe(self) -> Document:
        """The plan as plain data: no data values."""
        return {
            "kind": "attribute suppression",
            "columns": list(self.dropped),
            "suppressed_records": 0,
        }

    def scores(self) -> dict[str, float]:
        """The objective and what it came to."""
        return {self.objective: self.score}

    def effort(self) -> Document:
        """How the plan was found, for the owner."""
        return {"objective": self.objective, "score": self.score, "nodes_looked_at": self.looked_at}


def least_important_columns(
    dataset: Table, goal: Goal, importance: Mapping[str, float], budget: float
) -> DroppedColumns:
    """The columns of least total importance without which the promises hold; at most a share of all
    columns.

    The lattice has two levels a column. Equal sets: fewer columns win, then those with many values
    are dropped.
    """
    classes = _count_quasi(dataset, goal)
    allowed = math.floor(budget * len(classes.columns) + 1e-9)
    weights = normalised_weights(classes.columns, importance)
    base = dataclasses.replace(
        classes, ladders=tuple(all_or_nothing(ladder) for ladder in classes.ladders)
    )
    reference = {c: classes.counts[c].total() for c in needed(goal.models, dataset.schema).counts}
    lattice = Lattice(
        base=base,
        schema=dataset.schema,
        models=goal.models,
        objective=_importance(dataset, goal, classes.columns, allowed),
        low=(0,) * len(weights),
        high=(1,) * len(weights),
        budget=0,
        weights=weights,
        reference=reference,
    )
    search = Search(lattice, goal.progress).run()
    if search.best is None or search.best.score > 1:
        promises = join_words(m.promise for m in goal.models)
        raise Unsatisfiable(
            f"no set of at most {allowed} dropped columns reaches {promises} and leaves a table to "
            "judge; raise the budget, lower the promise, or generalise or suppress records "
            "instead",
            closest=search.closest,
        )
    gone = {name for name, level in zip(lattice.columns, search.best.node, strict=True) if level}
    quasi = dataset.schema.quasi
    dropped = tuple(name for name in quasi if name in gone)
    kept_columns = tuple(name for name in quasi if name not in gone)
    return DroppedColumns(
        dropped=dropped,
        kept=kept_columns,
        score=search.best.score,
        looked_at=search.looked_at,
    )


def _count_quasi(dataset: Table, goal: Goal) -> ClassTable:
    classes = count_needed(dataset, needed(goal.models, dataset.schema), goal.population)
    values = {
        name: len(ladder.labels[0])
        for name, ladder in zip(classes.columns, classes.ladders, strict=True)
    }
    return classes.reordered(sorted(classes.columns, key=lambda name: (values[name], name)))


def _importance(dataset: Table, goal: Goal, columns: tuple[str, ...], allowed: int) -> Objective:
    """Share of importance that is dropped; more than 1 where too much is dropped, or what the
    promises speak of.
    """

    def dropped(tally: Tally) -> float:
        gone = [name for name, level in zip(columns, tally.levels, strict=True) if level]
        if len(gone) > allowed or not _judgeable(dataset, goal, gone):
            return 2.0 + len(gone)
        return math.fsum(w for w, level in zip(tally.weights, tally.levels, strict=True) if level)

    return Objective("importance_dropped", "importance of the dropped columns", _no_cost, dropped)


def _judgeable(dataset: Table, goal: Goal, gone: list[str]) -> bool:
    try:
        needed(goal.models, dataset.schema.without(gone))
    except SchemaError:
        return False
    return True


def _no_cost(ladder: Ladder, counts: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    return [np.zeros(len(labels)) for labels in ladder.labels]


def ends_only(lattice: Lattice) -> Lattice:
    """The same lattice with nothing between the lowest and the highest level of a hierarchy.

    A column without a hierarchy stays as it is, and so does one whose levels are bounded below the
    top.
    """
    neither = []
    for name, low, high, top in zip(
        lattice.columns, lattice.low, lattice.high, lattice.tops, strict=True
    ):
        if 0 < low <= high < top:
            neither.append(name)
    if neither:
        raise ParameterError(
            "attribute suppression keeps a column or suppresses all of it; the level bounds of "
            f"{', '.join(neither)} allow neither"
        )
    return dataclasses.replace(
        lattice,
        base=dataclasses.replace(
            lattice.base, ladders=tuple(ends_of(ladder) for ladder in lattice.base.ladders)
        ),
        low=tuple(int(low > 0) for low in lattice.low),
        high=tuple(
            int(high == top > 0) for high, top in zip(lattice.high, lattice.tops, strict=True)
        ),
    )


@parameters
class Suppress(Step):
    r"""Leave out records, columns or cells until the promises hold; nothing is generalised.

    ``tuple`` drops the records of all classes that fail, and again of those that fail then, under
    any model. Classes are distinguished by all quasi-identifiers; a missing value is a category of
    its own, which is never weaker than a wildcard.

    ``attribute`` drops the quasi-identifiers of least total ``importance`` (1 each unless said
    otherwise) without which the promises hold, under any model. The search is exact; it may take
    long from some twenty columns on.

    ``cell`` suppresses single cells: they are released as missing, match everything, and make
    missing values of their column count as wildcards. It reaches k-anonymity and k-anonymity on
    subsets of columns, where every record *x* has
    :math:`f(x) \ge k` compatible records, as µ-Argus and sdcMicro count. A cell costs the
    ``importance`` of its column; among columns of one price those with most values are suppressed
    first. (sdcMicro ranks the other way round: 1 is most precious.) ``combinations`` asks for k on
    all combinations of so many columns, or on those that are named, instead of what the models say.
    ``method`` ``greedy`` takes tables of any size, ``exact`` finds the fewest cells of small ones
    and tells the gap to a proved bound when ``effort`` (nodes of a branch and bound) does not
    suffice, ``auto`` is exact where it can. Equal records may part ways.

    :math:`f` is about what is released. Who knows the true value of a suppressed cell may find the
    record all the same; the plan counts such records. And k − 1 records without any cell left
    satisfy the letter of the promise for a whole table: ``exact`` finds just that where it is
    cheapest, ``greedy`` suppresses in each group of similar records instead.

    ``budget`` is the share of records (``tuple``: dropped, ``cell``: with a suppressed cell) or of
    quasi-identifiers (``attribute``) that may be hit.

    References: Hundepool et al. 2012, *Statistical Disclosure Control*, doi:10.1002/9781118348239
    (µ-Argus); Templ, Kowarik & Meindl 2015, doi:10.18637/jss.v067.i04 (sdcMicro); Meyerson &
    Williams 2004, doi:10.1145/1055558.1055591 (the fewest cells are hard to find).

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> from sfumato.methods.models import KAnonymity
    >>> plan = Suppress("cell").plan(examples.regions(), Goal(models=(KAnonymity(3),)))
    >>> plan.suppressed_cells
    {'education': 1}
    """

    what: Annotated[Literal["tuple", "attribute", "cell"], Field(description="what is suppressed")]
    budget: Annotated[
        float, Field(ge=0, le=1, description="share of records or columns that may be affected")
    ] = 1.0
    importance: Annotated[
        dict[str, float], COLUMNS, Field(description="importance of columns; 1 by default")
    ] = Field(default_factory=dict)
    combinations: Annotated[
        Annotated[int, Field(ge=1)] | Named | None,
        Field(description="k on so many columns, or on named ones; cell only"),
    ] = None
    method: Annotated[Method, Field(description="how cells are chosen")] = "greedy"
    effort: Annotated[
        int | None, Field(ge=1, description="most nodes of branch and bound; exact and auto only")
    ] = None

    name: ClassVar[str] = "suppression"
    retold: ClassVar[tuple[str, ...]] = ("method",)

    @property
    def coarsens(self) -> bool:
        """Cells and records are left out."""
        return True

    def __post_init__(self) -> None:
        if self.what == "tuple" and self.importance:
            raise ParameterError(
                "Suppress: records have no importance; it is for attribute and cell, so "
                "leave it out"
            )
        if self.what != "cell" and (self.combinations is not None or self.method != "greedy"):
            raise ParameterError(
                f"Suppress: combinations and method are for cell, not for {self.what}"
            )
        if self.effort is not None and self.method == "greedy":
            raise ParameterError("Suppress: effort is for the methods exact and auto")

    def plan(self, dataset: Table, goal: Goal) -> ClassRecoding | DroppedColumns:
        """Choose what is left out."""
        if not goal.models:
            raise ParameterError("suppression needs a promise to reach; add one under 'meet'")
        if self.what == "attribute":
            return least_important_columns(dataset, goal, self.importance, self.budget)
        if self.what == "cell":
            how = CellSuppression(
                self.budget,
                self.importance,
                combinations=self.combinations,
                method=self.method,
                effort=self.effort or EFFORT,
            )
            return how.plan(dataset, goal)
        return failing_records(dataset, goal, self.budget)

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    def apply(self, dataset: Table, plan: Any) -> Table:
        """Leave it out."""
        dropped = isinstance(plan, DroppedColumns)
        if dropped:
            dataset = dataset.drop(plan.dropped)
        else:
            dataset = recode_classes(dataset, plan)
        for name in plan.kept if dropped else plan.columns:
            dataset = written_alike(dataset, name)
        return dataset

    def contradicted(self, plan_section: Fields, schema: Schema, records: int | None) -> str | None:
        """That cells were chosen by another method, or that more records are suppressed than its
        budget allows.
        """
        if self.what == "cell" and self.method not in (
            "auto",
            str(plan_section["method"]).partition(" ")[0],
        ):
            return f"the plan of {self.name} names another method than {self.method}"
        return over_budget(
            plan_section, self.budget if self.what == "tuple" else 0.0, schema, records
        )

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table with these columns is, when ``schema`` says what the original
        is.
        """
        if self.what == "attribute":
            return schema.without([name for name in schema.quasi if name not in columns])
        if self.what != "cell":
            return schema
        return with_wildcards(schema)


def failing_records(dataset: Table, goal: Goal, budget: float) -> ClassRecoding:
    """Drop the records of every class that fails, until none does: the fewest, where models judge
    class by class.
    """
    needs = needed(goal.models, dataset.schema)
    classes = count_needed(dataset, needs, goal.population)
    floor = (0,) * len(classes.columns)
    budget_in_records = budget * classes.total + 1e-9
    reference = {c: classes.counts[c].total() for c in needs.counts}
    lattice = Lattice(
        base=classes,
        schema=dataset.schema,
        models=goal.models,
        objective=objective_named("loss"),
        low=floor,
        high=floor,
        budget=math.floor(budget_in_records),
        weights=normalised_weights(classes.columns, {}),
        reference=reference,
    )
    judgement = lattice.judge(classes)
    if not judgement.feasible:
        gone = judgement.tally.suppressed
        promises = join_words(m.promise for m in goal.models)
        raise Unsatisfiable(
            f"{promises} would suppress {gone:,} of {classes.total:,} records; the budget allows "
            f"{lattice.budget:,}{' and some must remain' if gone == classes.total else ''}."
            f"{lattice.caveat()} Raise the budget, lower the promise, or generalise",
            closest=judgement,
        )
    inside = classes.records > 0
    regions = np.where(lattice.failing(classes), SUPPRESSED, 0)
    parts = whole_classes(regions[inside], classes.records[inside])
    return ClassRecoding(
        columns=classes.columns,
        placement=Placement(classes.ladders, classes.levels, classes.layout),
        keys=classes.keys[inside],
        starts=parts["starts"],
        amounts=parts["amounts"],
        regions=parts["regions"],
        cells={},
        labels={},
        losses={},
        method="tuple suppression",
    )
