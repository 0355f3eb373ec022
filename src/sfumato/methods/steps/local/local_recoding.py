"""Local recoding: every record is told as precisely as its neighbours allow."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.core.hierarchy import all_or_nothing, ends_of
from sfumato.core.parameters import parameters
from sfumato.core.search_kind import SearchKind
from sfumato.core.step import Goal, Span, Step, over_budget
from sfumato.errors import ParameterError
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.local.k_member import plan_k_member
from sfumato.methods.steps.local.mondrian import plan_mondrian
from sfumato.methods.steps.local.regions import (
    ClassRecoding,
    recode_classes,
    release_regions,
    written_alike,
)
from sfumato.methods.steps.local.respecialise import respecialise
from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
from sfumato.methods.steps.recoding.search_choice import auto
from sfumato.methods.steps.step_fields import ColumnWeights, LevelBounds, SuppressionBudget

if TYPE_CHECKING:
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table
    from sfumato.methods.steps.recoding.lattice import Lattice


# What local recoding may suppress: cells of columns without a hierarchy, and whole columns.


def with_suppressible_cells(
    lattice: Lattice, levels: Mapping[str, int | tuple[int, int]]
) -> Lattice:
    """The same lattice, but a column without a hierarchy has one step: to ``*``, which loses
    everything.
    """
    ladders = list(lattice.base.ladders)
    high = list(lattice.high)
    for a, name in enumerate(lattice.columns):
        if ladders[a].top > 0:
            continue
        ladders[a] = all_or_nothing(ladders[a])
        if name not in levels:
            high[a] = 1
    base = dataclasses.replace(lattice.base, ladders=tuple(ladders))
    return dataclasses.replace(lattice, base=base, high=tuple(high))


def with_attributes_dropped(lattice: Lattice) -> Lattice:
    """The same lattice with some columns held at their top: those that the best table of whole
    columns drops.

    That table keeps a column as it is or drops it, and may suppress records, which count as lost;
    the models and the weights decide which columns are worth it. Columns whose levels are bounded
    below the top are never dropped.
    """
    search = auto(_two_levels(lattice))
    if search.best is None:
        return lattice
    low = list(lattice.low)
    for a, level in enumerate(search.best.node):
        if level > 0:  # dropped: from now on it is at its top
            low[a] = lattice.tops[a]
    return dataclasses.replace(lattice, low=tuple(low))


def _two_levels(lattice: Lattice) -> Lattice:
    ladders = tuple(ends_of(ladder) for ladder in lattice.base.ladders)
    droppable = [h == top > 0 for h, top in zip(lattice.high, lattice.tops, strict=True)]
    base = dataclasses.replace(lattice.base, ladders=ladders)
    return dataclasses.replace(
        lattice,
        base=base,
        low=(0,) * len(ladders),
        high=tuple(int(yes) for yes in droppable),
        budget=lattice.records,
    )


@parameters
class LocalRecoding(Step):
    """Generalise cell by cell: equal values may be told more or less precisely in different
    records.

    ``respecialise`` starts from the optimal global recoding and ends below it: the cells of all
    nodes of the lattice are opened in the order of their cost, as soon as the records that no
    cheaper cell has taken keep the promises there; what is left joins the region that it widens
    least; each region is narrowed to what it holds. The loss is never above that of the global
    optimum. With promises of size only, a cell may borrow records from regions that have more than
    k, so that equal records part ways; records with equal quasi-identifiers and different sensitive
    values may do so too. Lattices of more than 20,000 nodes (fewer for very large tables) are
    thinned out, and where the global optimum is out of reach (see :class:`GlobalRecoding`) the best
    global recoding that is found is the start, with a warning. Promises that need a population or
    survey weights get the global optimum, narrowed where they allow it, and so do promises about
    the whole table that the local recoding breaks. ``mondrian`` and ``k_member`` cut and cluster
    instead; see :class:`Mondrian` and
    :class:`KMember`.

    ``suppress`` says what may be lost besides: ``tuple`` drops up to ``floor(budget·N)`` records,
    first those that fit nowhere, then outliers without which the others of their region gain more
    than is lost; ``attribute`` first drops the columns that the best table of whole and dropped
    columns would drop; ``cell`` lets columns without a hierarchy suppress cells (where all have
    one, whose top says nothing, it equals ``none``). A dropped record counts 1 in all its cells.
    ``weights`` and ``levels`` are those of global recoding, ``grid`` that of :class:`Mondrian`.

    Reference for the losses to beat: ARX's local transformation, Prasser, Eicher, Spengler, Bild &
    Kuhn 2020, doi:10.1002/spe.2812.
    """

    method: Annotated[
        Literal["respecialise", "mondrian", "k_member"], Field(description="how regions are found")
    ] = "respecialise"
    suppress: Annotated[
        Literal["tuple", "attribute", "cell", "none"],
        Field(description="what may be suppressed in addition"),
    ] = "none"
    budget: SuppressionBudget = 0.0
    weights: ColumnWeights = Field(default_factory=dict)
    levels: LevelBounds = Field(default_factory=dict)
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "local_recoding"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "respecialise": SearchKind("greedy", "top-down", "local", "hierarchy"),
        "mondrian": SearchKind("greedy", "top-down", "local", "hierarchy or partition"),
        "k_member": SearchKind("greedy", "bottom-up", "local", "hierarchy or partition"),
    }
    recodes_quasi: ClassVar[bool] = True
    tells: ClassVar[tuple[str, ...]] = ("method",)
    retold: ClassVar[tuple[str, ...]] = ("method", "grid")

    @property
    def coarsens(self) -> bool:
        """Cells stand under nodes of their own hierarchy."""
        return True

    def __post_init__(self) -> None:
        if self.budget and self.suppress != "tuple":
            raise ParameterError("LocalRecoding: a budget of records needs suppress='tuple'")
        if self.method == "k_member" and self.suppress == "tuple":
            raise ParameterError(
                "LocalRecoding: k_member suppresses no records; use respecialise or mondrian"
            )
        if self.method != "respecialise" and (self.levels or self.suppress == "attribute"):
            raise ParameterError(
                f"LocalRecoding: {self.method} has no levels and suppresses no columns; "
                "use respecialise"
            )
        if self.method == "respecialise" and self.grid:
            raise ParameterError(
                "LocalRecoding: respecialise follows the hierarchies and has no grid; leave it out"
            )
        require_steps("LocalRecoding", self.grid)

    def plan(self, dataset: Table, goal: Goal) -> ClassRecoding:
        """Find the regions."""
        if not goal.models:
            raise ParameterError("local recoding needs a promise to reach; add one under 'meet'")
        if self.method == "mondrian":
            return plan_mondrian(
                dataset, goal, weights=self.weights, budget=self.budget, grid=self.grid
            )
        if self.method == "k_member":
            return plan_k_member(dataset, goal, weights=self.weights, grid=self.grid)
        goal.progress(0.0, "counting the classes")
        return respecialise(dataset, goal, self.lattice(dataset, goal), self.weights)

    def lattice(self, dataset: Table, goal: Goal) -> Lattice:
        """The lattice whose cells are used."""
        lattice = GlobalRecoding(
            budget=self.budget, weights=self.weights, levels=self.levels
        ).lattice(dataset, goal)
        if self.suppress in ("cell", "attribute"):
            lattice = with_suppressible_cells(lattice, self.levels)
        return with_attributes_dropped(lattice) if self.suppress == "attribute" else lattice

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    def contradicted(
        self, plan_section: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
        """That regions were found by another method or on another grid, or that more is suppressed
        than its budget allows.
        """
        if not str(plan_section["method"]).replace("-", "_").startswith(self.method):
            return f"the plan of {self.name} names another method than {self.method}"
        return over_budget(plan_section, self.budget, schema, records) or contradict_grid(
            self.name, plan_section, self.grid
        )

    def apply(self, dataset: Table, plan: ClassRecoding) -> Table:
        """Recode the cells and drop the suppressed records."""
        if self.method != "respecialise":
            return release_regions(dataset, plan)
        recoded = recode_classes(dataset, plan)
        for name in plan.losses:
            if name not in plan.cells:
                recoded = written_alike(recoded, name)
        return recoded
