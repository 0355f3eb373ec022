"""Global recoding: one level a column for the whole table, chosen optimally, and some records
suppressed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.classes import Placement, pack_rows, remap_to
from sfumato.core.encoding import code_type
from sfumato.core.evidence import needed
from sfumato.core.objective import OBJECTIVES, objective_named
from sfumato.core.parameters import COLUMNS, Naming, parameters
from sfumato.core.population import count_needed
from sfumato.core.schema import Kind
from sfumato.core.search_kind import SearchKind
from sfumato.core.step import Fineness, Goal, Learner, Plan, Span, Step, over_budget
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.steps.recoding.classical import AlgorithmName, choose
from sfumato.methods.steps.recoding.lattice import (
    JudgedNode,
    Lattice,
    level_bounds,
    normalised_weights,
    seen_by_classes,
)
from sfumato.methods.steps.recoding.optimal import Outcome
from sfumato.methods.steps.recoding.search_choice import warnings_of
from sfumato.methods.steps.recoding.whole_lattice import survey
from sfumato.methods.steps.step_fields import ColumnWeights, LevelBounds, SuppressionBudget

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.hierarchy import Ladder
    from sfumato.core.objective import Landscape
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table
    from sfumato.methods.steps.suppression.cell_plan import RecodedCells

NAMED = 8
"""Columns that a message spells out."""
CLIMBING = {
    "datafly": "the number of values of the columns",
    "argus": "the unsafe combinations of the columns",
}
HIGHEST = 1 << 30
"""A level that no hierarchy reaches."""
LEAST = 1e-6
"""What a suppressed cell costs at least."""


@dataclasses.dataclass(frozen=True, eq=False)
class Recoding(Plan):
    """What global recoding decided: a level for every quasi-identifier and the classes to drop.

    ``dropped`` holds the packed keys, at the released levels, of the classes whose records are
    suppressed.
    """

    levels: dict[str, int]
    tops: dict[str, int]
    placement: Placement
    dropped: NDArray[np.uint64]
    suppressed: int
    records: int
    score: float
    objective: str
    lattice_nodes: int
    looked_at: int
    algorithm: str = "optimal"
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """The plan as plain data: no data values."""
        levels = {c: {"level": level, "top": self.tops[c]} for c, level in self.levels.items()}
        return {
            "kind": "column recoding",
            "algorithm": self.algorithm,
            "levels": levels,
            "suppressed_records": self.suppressed,
            "suppressed_classes": len(self.dropped),
            **({"warning": self.warnings[0]} if self.warnings else {}),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """That the lattice was too large to decide."""
        return warnings_of(self.notes)

    @property
    def bound_levels(self) -> Mapping[str, tuple[Ladder, int]]:
        """The ladder and the level of every quasi-identifier."""
        ladders = self.placement.ladders
        return {
            name: (ladder, self.levels[name])
            for name, ladder in zip(self.levels, ladders, strict=True)
        }

    def with_ladders(self, ladders: Mapping[str, Ladder]) -> Recoding:
        """The same plan with other ladders for some columns, which differ in their lowest level
        alone.
        """
        own = zip(self.levels, self.placement.ladders, strict=True)
        changed = tuple(ladders.get(name, ladder) for name, ladder in own)
        return dataclasses.replace(
            self, placement=dataclasses.replace(self.placement, ladders=changed)
        )

    def warning_of(self, message: str) -> Recoding:
        """The same plan that warns of something more."""
        return dataclasses.replace(
            self, notes={**self.notes, "warning": "; ".join([*self.warnings, message])}
        )

    def scores(self) -> dict[str, float]:
        """The objective and what it came to."""
        return {self.objective: self.score}

    def effort(self) -> dict[str, Any]:
        """How the plan was found, for the owner."""
        return {
            "algorithm": self.algorithm,
            "objective": self.objective,
            "score": self.score,
            "lattice_nodes": self.lattice_nodes,
            "nodes_looked_at": self.looked_at,
            **self.notes,
        }


@parameters
class GlobalRecoding(Step):
    """Give each quasi-identifier one level of its hierarchy so that the promises hold at the least
    cost.

    The result is the optimum of ``objective`` over the whole lattice of levels, subject to the
    models and to a ``budget`` of suppressed records (a share, 0–1: at most ``floor(budget·N)``
    records, those of failing classes; promises about the whole table drop the riskiest classes, the
    fewest records that will do). ``weights`` make columns more or less precious (default 1 each);
    ``levels`` bounds the levels of a column: ``{"age": [1, 3]}`` or just the highest,
    ``{"zip": 2}``. Columns without a hierarchy stay as they are.

    ``suppress`` says what may be lost besides: ``tuple`` drops the records of failing classes;
    ``cell`` suppresses cells of them instead (see ``suppression``; k-anonymity only), at the levels
    that would be best if they were dropped, and ``budget`` bounds the records with suppressed
    cells; ``attribute`` keeps a column as it is or generalises it to the top, without any level
    between; ``none`` suppresses nothing. The last two have no budget.

    ``algorithm`` says how the lattice is searched. ``auto`` counts it first: up to 10¹¹ nodes times
    classes (and 20,000) it is ``optimal``, beyond that ``anytime`` for an effort that the size of
    the table gives, with a warning in the plan that says how far from the optimum the result can
    be. ``optimal``, ``mingen`` (every node) and ``incognito`` (all admissible nodes) find the same
    optimum; ``ola`` the best k-minimal node; ``samarati`` the best node of the least height, or
    with one of her preferences as objective the best k-minimal one; ``datafly`` some node in one
    climb, and so does ``argus``, which recodes the column that is in most unsafe combinations: with
    ``suppress: cell`` that is the way of µ-Argus; ``anytime`` the best node it meets within an
    ``effort`` of so many nodes looked at, with a proved lower bound for large lattices (``seconds``
    stops it earlier).

    Missing values are planned as a category of their own, which is never weaker than counting them
    as wildcards. Equal scores: the node with the smaller sum of levels wins, then the smaller tuple
    of levels.

    Follows Samarati 2001 for what a node is, ARX (Prasser & Kohlmayer 2015) for when it is
    feasible.
    """

    suppress: Annotated[
        Literal["tuple", "attribute", "cell", "none"], Field(description="what may be suppressed")
    ] = "tuple"
    budget: SuppressionBudget = 0.02
    objective: Annotated[
        str,
        Naming("words", words=tuple(o.name for o in OBJECTIVES)),
        Field(description="what is minimised: " + ", ".join(o.name for o in OBJECTIVES)),
    ] = "loss"
    label: Annotated[
        str | None,
        COLUMNS,
        Field(min_length=1, description="objective classification: what is predicted"),
    ] = None
    weights: ColumnWeights = Field(default_factory=dict)
    levels: LevelBounds = Field(default_factory=dict)
    algorithm: Annotated[
        AlgorithmName, Field(description="how the lattice of levels is searched")
    ] = "auto"
    effort: Annotated[
        int | None, Field(ge=1, description="nodes that the algorithm anytime looks at")
    ] = None
    seconds: Annotated[
        float | None, Field(gt=0, description="time after which the algorithm anytime stops")
    ] = None

    name: ClassVar[str] = "global_recoding"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "optimal": SearchKind("complete", "top-down", "global", "hierarchy"),
        "samarati": SearchKind("complete", "bottom-up", "global", "hierarchy"),
        "mingen": SearchKind("complete", "bottom-up", "global", "hierarchy"),
        "datafly": SearchKind("greedy", "bottom-up", "global", "hierarchy"),
        "argus": SearchKind("greedy", "bottom-up", "global", "hierarchy"),
        "incognito": SearchKind("complete", "bottom-up", "global", "hierarchy"),
        "ola": SearchKind("complete", "both ways", "global", "hierarchy"),
        "anytime": SearchKind("greedy", "both ways", "global", "hierarchy"),
    }
    recodes_quasi: ClassVar[bool] = True
    tells: ClassVar[tuple[str, ...]] = ("kind", "levels", "suppressed_records")
    retold: ClassVar[tuple[str, ...]] = ("levels",)
    fineness: ClassVar[Fineness] = "table"
    surveys: ClassVar[bool] = True

    @property
    def coarsens(self) -> bool:
        """Cells stand under nodes of their own hierarchy."""
        return True

    def __post_init__(self) -> None:
        objective = objective_named(self.objective)
        choose(self.algorithm, effort=self.effort, seconds=self.seconds)
        if objective.labelled != (self.label is not None):
            raise ParameterError(
                "label belongs to the objective classification, which requires it; the objective "
                f"is {self.objective}"
            )
        if self.algorithm in CLIMBING and (self.weights or self.objective != "loss"):
            raise ParameterError(
                f"{self.algorithm} follows {CLIMBING[self.algorithm]}, so it has no objective and "
                "no weights; leave them out"
            )
        if self.algorithm == "anytime" and objective.minimal:
            raise ParameterError(
                f"anytime cannot tell which nodes are k-minimal, as {self.objective} requires; use "
                "optimal"
            )

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    @property
    def keeps_classes_whole(self) -> bool:
        """Whole classes are recoded or dropped, unless single cells are suppressed."""
        return self.suppress != "cell"

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """The quasi-identifiers, and the label that the objective counts."""
        if self.label is None:
            return schema.quasi
        return (*schema.quasi, self.label)

    def begun_at(self, levels: Mapping[str, int]) -> GlobalRecoding | None:
        """The same step with these levels as lower bounds; None where one is above what ``levels``
        allows, or only ends are.
        """
        bounds = dict.fromkeys(levels, (0, HIGHEST)) | self._bounds
        if self.suppress == "attribute" or any(level > bounds[c][1] for c, level in levels.items()):
            return None
        # Levels that a caller knows to be infeasible are cut off; they are merged with the
        # recipe's.
        raised = {c: (max(level, bounds[c][0]), bounds[c][1]) for c, level in levels.items()}
        return dataclasses.replace(self, levels={**self.levels, **raised})

    def as_before(self, described: Mapping[str, Any]) -> GlobalRecoding:
        """The same step at the levels that were chosen: what fails there is suppressed within the
        budget, nothing is searched.
        """
        levels: dict[str, int | tuple[int, int]] = {}
        for column, entry in described["levels"].items():
            levels[column] = (int(entry["level"]), int(entry["level"]))
        return dataclasses.replace(self, levels=levels, algorithm="auto", effort=None, seconds=None)

    def plan(self, dataset: Table, goal: Goal) -> Recoding | RecodedCells:
        """Search the lattice for the best levels."""
        if not goal.models:
            raise ParameterError("global recoding needs a promise to reach; add one under 'meet'")
        if self.suppress == "cell":
            from sfumato.methods.steps.suppression.cells import demands_of

            demands_of(goal.models, dataset.schema.quasi, None)
        goal.progress(0.0, "counting the classes")
        lattice = self.lattice(dataset, goal)
        # Kept for a survey: cell costs of all levels are known by then.
        dataset.known.lattices[:] = [(self, goal, lattice)]
        outcome = choose(self.algorithm, effort=self.effort, seconds=self.seconds)(
            lattice, goal.progress
        )
        if outcome.best is None:
            raise Unsatisfiable(_why_not(lattice, outcome), closest=outcome.closest)
        recoding = _recoding(lattice, outcome.best, outcome, outcome.algorithm or self.algorithm)
        if self.suppress == "cell":
            return self._with_cells(dataset, goal, recoding)
        return recoding

    def _with_cells(self, dataset: Table, goal: Goal, recoding: Recoding) -> RecodedCells:
        """Suppress cells of the records that would be dropped."""
        from sfumato.methods.steps.suppression.cell_plan import CellSuppression, RecodedCells

        whole = dataclasses.replace(recoding, dropped=recoding.dropped[:0], suppressed=0)
        precious = {name: max(weight, LEAST) for name, weight in self.weights.items()}
        cells = CellSuppression(self.budget, precious).plan(self.apply(dataset, whole), goal)
        return RecodedCells(whole, cells)

    def lattice(self, dataset: Table, goal: Goal) -> Lattice:
        """The lattice of a table under this step's bounds; columns that cannot climb come first,
        then those with few values.
        """
        needs = needed(goal.models, dataset.schema)
        if self.label is not None:  # the objective counts it
            self._require_label(dataset)
            needs = dataclasses.replace(
                needs, counts=tuple(dict.fromkeys((*needs.counts, self.label)))
            )
        classes = count_needed(dataset, needs, goal.population)
        ladders = dict(zip(classes.columns, classes.ladders, strict=True))
        # Columns without levels first, then few values: coarse tables stay small and bounds rise
        # early.
        order = sorted(
            classes.columns, key=lambda c: (ladders[c].top > 0, len(ladders[c].labels[0]), c)
        )
        classes = classes.reordered(order)
        tops = [ladder.top for ladder in classes.ladders]
        low, high = level_bounds(classes.columns, tops, self._bounds)
        lattice = Lattice(
            base=classes,
            schema=dataset.schema,
            models=seen_by_classes(goal.models, dataset.schema),
            objective=objective_named(self.objective),
            low=low,
            high=high,
            # The small term keeps budget · N from falling below a whole number by rounding.
            budget=math.floor(self._share * classes.total + 1e-9),
            weights=normalised_weights(classes.columns, self.weights),
            reference={c: classes.counts[c].total() for c in needs.counts},
            label=self.label,
        )
        if self.suppress != "attribute":
            return lattice
        from sfumato.methods.steps.suppression.suppression import ends_only

        return ends_only(lattice)

    def _require_label(self, dataset: Table) -> None:
        """Refuse a label that is no column, or one of those that shall tell it."""
        dataset.require([str(self.label)])
        if self.label in dataset.schema.quasi:
            raise SchemaError(
                f"global_recoding: the label {self.label!r} is a quasi-identifier and would "
                "predict itself; choose another label"
            )

    def survey(
        self,
        dataset: Table,
        goal: Goal,
        plan: Recoding | RecodedCells,
        *,
        most_nodes: int,
        most_effort: float,
    ) -> Landscape:
        """What the other nodes of the lattice would keep, cost and risk; the neighbours only when
        it is too large.
        """
        lattice = self._searched_lattice(dataset, goal)
        node = tuple(plan.levels[name] for name in lattice.columns)
        return survey(lattice, node, most_nodes=most_nodes, most_effort=most_effort)

    def _searched_lattice(self, dataset: Table, goal: Goal) -> Lattice:
        """The lattice that the plan was searched in, where the table remembers it: it knows the
        cost of every value.
        """
        for step, past, lattice in dataset.known.lattices:
            alike = past.models == goal.models and past.population is goal.population
            if step == self and alike and lattice.schema is dataset.schema:
                searched: Lattice = lattice
                return searched
        return self.lattice(dataset, goal)

    def dealer(self, plan: Recoding | RecodedCells) -> Learner | None:
        """Learns in the recoded table who parts ways where cells are suppressed."""
        if isinstance(plan, Recoding):
            return None
        inner = plan.cells.learner()
        if inner is None:
            return None
        return _CellsDealt(self, plan, inner)

    def apply(self, dataset: Table, plan: Recoding | RecodedCells) -> Table:
        """Recode the columns and drop the suppressed records, or suppress their cells."""
        if not isinstance(plan, Recoding):
            from sfumato.methods.steps.local.regions import recode_classes

            return recode_classes(self.apply(dataset, plan.recoding), plan.cells)
        names = list(plan.levels)
        rows = None
        # Rows of suppressed classes are found before any column is recoded, by their packed keys.
        if len(plan.dropped):
            keys, _ = pack_rows(dataset, names, plan.placement)
            rows = np.flatnonzero(kernels.keys.lie_outside(plan.dropped, keys))
            del keys
        for name, ladder in zip(names, plan.placement.ladders, strict=True):
            level = plan.levels[name]
            if level == 0 and dataset.dtype(name).is_float():
                from sfumato.methods.steps.local.regions import written_alike

                dataset = written_alike(dataset, name)
            if level == 0:
                continue
            encoded = dataset.encoded(name)
            # A map from codes to codes of the level, as narrow as the labels allow.
            table = remap_to(ladder, encoded, level)
            narrow = table.astype(code_type(len(ladder.labels[level])))
            dataset = dataset.recoded(
                name, ladder.labels[level], kernels.keys.map_codes(encoded.narrow, narrow)
            )
            # Intervals of numbers and dates still have an order, and other labels none.
            ordered = dataset.schema[name].kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
            kind = Kind.ORDINAL if ordered else Kind.NOMINAL
            dataset = dataset.with_schema(dataset.schema.replace(name, kind=kind))
        # Rows last: of a recoded column few labels remain.
        if rows is None:
            return dataset
        return dataset.take(rows)

    def locked(self, plan: Recoding | RecodedCells) -> GlobalRecoding:
        """The step that makes the same plan again: with the effort that was reached where time ran
        out.
        """
        effort = plan.effort()
        if effort.get("stopped_by") != "seconds":
            return self
        return dataclasses.replace(self, effort=effort["nodes_looked_at"], seconds=None)

    def contradicted(
        self, told: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
        """That a quasi-identifier has no level or one out of bounds, that more is suppressed than
        allowed, or in no class.
        """
        without_level = [name for name in schema.quasi if name not in told["levels"]]
        if without_level:
            return f"the plan of {self.name} names no level of {', '.join(without_level)}"
        beyond = []
        for c, (low, high) in self._bounds.items():
            if c in told["levels"] and not low <= told["levels"][c]["level"] <= high:
                beyond.append(c)
        if beyond:
            return f"the level of {', '.join(beyond)} is not allowed by the recipe"
        gone = told["suppressed_records"]
        classes = told.get("suppressed_classes", told["suppressed_records"])
        # Suppressed records and classes go together, and each class has a record.
        if bool(gone) != bool(classes) or classes > gone:
            return f"{gone:,} records in {classes:,} classes cannot be suppressed"
        return over_budget(told, self._share, schema, records)

    @property
    def _bounds(self) -> dict[str, tuple[int, int]]:
        """The lowest and the highest level that columns may have."""
        return {
            column: (0, bound) if isinstance(bound, int) else bound
            for column, bound in self.levels.items()
        }

    @property
    def _share(self) -> float:
        """The share of the records that may be suppressed."""
        if self.suppress in ("tuple", "cell"):
            return self.budget
        return 0.0

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is."""
        if self.suppress != "cell":
            return schema
        from sfumato.methods.steps.suppression.cells import with_wildcards

        return with_wildcards(schema)


def _recoding(lattice: Lattice, best: JudgedNode, outcome: Outcome, algorithm: str) -> Recoding:
    classes = lattice.at(best.node)
    levels = dict(zip(lattice.columns, best.node, strict=True))
    tops = dict(zip(lattice.columns, lattice.tops, strict=True))
    placement = Placement(lattice.base.ladders, best.node, lattice.base.layout)
    is_failing = lattice.failing(classes)
    return Recoding(
        levels=levels,
        tops=tops,
        placement=placement,
        dropped=classes.keys[is_failing & (classes.records > 0)],
        suppressed=best.tally.suppressed,
        records=lattice.records,
        score=best.score,
        objective=lattice.objective.name,
        lattice_nodes=lattice.size,
        looked_at=outcome.looked_at,
        algorithm=algorithm,
        notes=outcome.notes,
    )


def _why_not(lattice: Lattice, outcome: Outcome) -> str:
    promises = join_words(m.promise for m in lattice.models)
    fixed = [c for c, top in zip(lattice.columns, lattice.tops, strict=True) if top == 0]
    near = ""
    if outcome.closest is not None:
        t = outcome.closest.tally
        near = (
            f" The nearest miss would suppress {t.suppressed:,} of {t.records:,} records; the"
            f" budget allows {lattice.budget:,}."
        )
    advice = " Raise the budget, lower the promise, or allow higher levels."
    if fixed:
        listed = ", ".join(fixed[:NAMED])
        names = listed + (f" and {len(fixed) - NAMED} more" if len(fixed) > NAMED else "")
        advice += f" Column(s) without a hierarchy cannot be generalised: {names}."
    stopped = outcome.notes.get("stopped_by")
    if stopped:
        beginning = f"no generalization was found before the {stopped} ran out that"
    else:
        beginning = "no generalization"
    return (
        f"{beginning} keeps {promises} within the suppression"
        f" budget.{near}{lattice.hopeless()}{lattice.caveat()}{advice}"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _CellsDealt:
    """Learns who parts ways in the recoded table."""

    step: GlobalRecoding
    plan: RecodedCells
    inner: Learner

    def see(self, rows: Table) -> None:
        """Recode some rows and look at them."""
        self.inner.see(self.step.apply(rows, self.plan.recoding))

    def learnt(self) -> RecodedCells:
        """The plan that knows who goes where."""
        return dataclasses.replace(self.plan, cells=self.inner.learnt())
