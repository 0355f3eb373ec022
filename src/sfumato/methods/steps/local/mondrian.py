"""Mondrian: cut the table's space into boxes, each around a crowd."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.search_kind import SearchKind
from sfumato.core.step import Goal, Span, Step, over_budget
from sfumato.errors import ParameterError
from sfumato.methods.steps.local.axes import axes_of, points_of, space_of
from sfumato.methods.steps.local.grid import Steps, contradict_grid, require_steps
from sfumato.methods.steps.local.mondrian_cuts import cut_by_crowd, cut_by_promises
from sfumato.methods.steps.local.promises import Promises, without_outliers
from sfumato.methods.steps.local.regions import ClassRecoding, Regions, recoding, release_regions
from sfumato.methods.steps.recoding.lattice import normalised_weights
from sfumato.methods.steps.step_fields import ColumnWeights, SuppressionBudget
from sfumato.methods.steps.taxonomy.cut import (
    Cut,
    CutRecoding,
    Ground,
    children_of,
    cut_recoding,
    recode_columns,
    topmost,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema
    from sfumato.core.table import Table


Range = tuple[int, int, int]
"""An axis and the ranks from which and up to which its values are released as one."""
Mode = Literal["strict", "relaxed"]
Modes = Literal["strict", "relaxed", "single"]


# Single-dimensional Mondrian: columns are cut at medians, each cut going through the whole table.
#
# Columns with neither an order nor a hierarchy stay as they are.


def plan_medians(
    dataset: Table,
    goal: Goal,
    *,
    weights: Mapping[str, float],
    order: Sequence[str] | None,
    grid: Mapping[str, int | float | str],
) -> CutRecoding:
    """Cut ranges of columns in two, the one that loses most first, as long as every class keeps
    every promise.
    """
    ground = Ground(dataset, goal, "mondrian", trees=False, grid=grid)
    column_names = [axis.column for axis in axes_of(ground.classes, dataset.schema, order, grid)]
    # Ties are cut in the order that was asked for, not in that of the axes.
    turn = [column_names.index(axis.column) for axis in ground.axes]
    cutting = Medians(ground, [float(weights.get(axis.column, 1.0)) for axis in ground.axes], turn)
    if not ground.holds(cutting.cuts):
        raise ground.refuse()
    for progress in cutting.run():
        goal.progress(progress, "cutting")
    nobody: NDArray[np.bool_] = np.zeros(len(ground.classes), dtype=np.bool_)
    return cut_recoding(
        ground.classes,
        ground.axes,
        cutting.cuts,
        nobody,
        method="mondrian, single",
        notes={"cuts": cutting.made},
    )


@dataclasses.dataclass
class Medians:
    """The cuts so far, and the ranges that may still be cut."""

    ground: Ground
    weights: Sequence[float]
    turn: Sequence[int]
    made: int = 0

    def __post_init__(self) -> None:
        self.cuts: list[Cut] = [topmost(axis) for axis in self.ground.axes]
        self.monotone = all(model.monotone for model in self.ground.judge.models)
        self.waiting = {
            interval for a, cut in enumerate(self.cuts) for interval in self._ranges(a, cut)
        }

    def run(self) -> Iterator[float]:
        """Make one cut after the other; yields how much of all values is distinguished."""
        values = sum(len(axis.labels) for axis in self.ground.axes)
        while (waiting := self._next()) is not None:
            interval, starts = waiting
            self.made += 1
            self.waiting.remove(interval)
            self.cuts = self._after(interval, starts)
            a, low, high = interval
            self.waiting |= {
                (a, *part)
                for part in itertools.pairwise([low, *starts, high])
                if part[1] - part[0] > 1
            }
            yield sum(map(len, self.cuts)) / values

    def _next(self) -> tuple[Range, tuple[int, ...]] | None:
        """The range that loses most and has a cut that is allowed; under monotone models one that
        has none never will.
        """
        for interval in sorted(self.waiting, key=self._rank):
            for starts in self._proposed(interval):
                if self.ground.holds(self._after(interval, starts)):
                    return interval, starts
            # A cut that fails now also fails after more cuts: under monotone models classes only
            # shrink.
            if self.monotone:
                self.waiting.discard(interval)
        return None

    def _rank(self, interval: Range) -> tuple[float, int, int]:
        """Most is lost first; equal ones in the order of columns, then of values."""
        a, low, _ = interval
        cut = self.cuts[a]
        losses = self.ground.cells(a, cut).losses
        # Rounded, so that sums in another order do not decide a tie.
        loss = float(losses[cut.index(low)])
        rounded_loss = round(self.weights[a] * loss, 12)
        return -rounded_loss, self.turn[a], low

    def _proposed(self, interval: Range) -> Iterator[tuple[int, ...]]:
        """On a line both cuts at the cell of the median; in a tree the children of the node."""
        a, low, high = interval
        axis = self.ground.axes[a]
        if axis.form != "line":
            starts = children_of(axis, low, high)
            if starts:
                yield starts
            return
        if int(axis.first[low]) == int(axis.first[high - 1]) and axis.labels[high - 1] is not None:
            # values of one cell: each by itself, so that ranges do not overlap
            yield tuple(range(low + 1, high))
            return
        middle = self._median(a, low, high)
        # First behind the median's cell, then before it: both, or the bound on sizes fails.
        for start in dict.fromkeys((int(axis.last[middle]) + 1, int(axis.first[middle]))):
            if low < start < high:
                yield (start,)

    def _median(self, a: int, low: int, high: int) -> int:
        """The smallest rank of a range with half of its records at or below it."""
        ranks = self.ground.ranks[a]
        records = self.ground.classes.records
        length = len(self.ground.axes[a].labels)
        counts = np.bincount(ranks, weights=records, minlength=length)[low:high]
        half = np.searchsorted(np.cumsum(counts), counts.sum() / 2)
        return low + int(half)

    def _after(self, interval: Range, starts: tuple[int, ...]) -> list[Cut]:
        starts_of_cut = {*self.cuts[interval[0]], *starts}
        cut = tuple(sorted(starts_of_cut))
        after_interval = self.cuts[interval[0] + 1 :]
        return [*self.cuts[: interval[0]], cut, *after_interval]

    def _ranges(self, a: int, cut: Cut) -> Iterator[Range]:
        ends = (*cut[1:], len(self.ground.axes[a].labels))
        yield from ((a, low, high) for low, high in zip(cut, ends, strict=True) if high - low > 1)


@parameters
class Mondrian(Step):
    r"""Cut the space of the quasi-identifiers along one column after the other, as long as both
    sides keep the promises.

    A region is cut along the column with the greatest :math:`w_a \ell_a`, where :math:`\ell_a` is
    the loss of its cell there (width over the width of the table; leaves − 1 over all leaves − 1)
    and :math:`w_a` its weight; equal ones in the given ``order``, then in that of the table. On a
    line the cut is at the median *s*, the first cell of the grid with half of the records in or
    below it: first :math:`\{\le s\} \mid \{> s\}`, then :math:`\{< s\} \mid \{\ge s\}`. In a tree
    one child of the node above all values is cut off first, the one nearest to half of the records
    (with models beside k-anonymity the three nearest are tried), then the median in depth-first
    order as on a line. Where neither side-by-side cut is allowed the next column is tried; where
    none is, the region is released: see :mod:`sfumato.methods.steps.local.regions` for how it is
    written.

    **The grid.** Numbers and dates are cut and labelled on a grid, so that no range ends at the
    value of a person: ``grid: {age: 5, birth: month}`` declares its steps; otherwise its cells are
    those of level 1 of the column's hierarchy; without either, a round step that the spread of the
    values suggests (:mod:`sfumato.methods.steps.local.grid`). A range is a union of neighbouring
    cells. Records of a region that share one value are released with it: a value of a cell is cut
    off where half of the region have it, or where no cut between cells is allowed (``single`` parts
    all values of a cell or none). The plan states the grid.

    ``strict`` keeps values of one cell together; with k-anonymity alone no region has more than
    :math:`2d(k-1) + m` records (*d* columns, *m* the most records whose cells are equal).
    ``relaxed`` lets records that equal the median, or share its cell, go to either side, so that
    the halves are as equal as can be: regions of records that are not all equal have at
    most :math:`2k - 1`. With other models than k-anonymity, or where persons are counted, records
    with equal quasi-identifiers stay together even so.

    ``single`` is the single-dimensional kind: every cut goes through the whole table, so that a
    column has one set of ranges for all records. The range that loses most, :math:`w_a \ell_a`, is
    cut first, at its median as above or, in a tree, into the children of its node, as long as every
    class of the whole table keeps every promise. It loses more and is easier to use: ranges do not
    overlap. Columns with neither an order nor a hierarchy stay as they are, and there is no
    ``budget``.

    Models that judge all classes together (an average risk, k-anonymity on subsets) are reached by
    taking back the last cuts of the regions that fail, or by cutting into larger crowds, whichever
    loses less. ``budget`` is the share of records that may be suppressed: outliers whose region
    becomes so much tighter without them that less is lost in all. Numbers and dates are cut as
    such; where labels of level 1 of their hierarchy are no intervals, or the column is made
    nominal, they are recoded along the hierarchy.

    Unlike the paper both median cuts are tried: without the second the bound above does not hold
    (values 1, 1, 1, 2, 2, 2, 2, 2, 2 and k = 2).

    Reference: LeFevre, DeWitt & Ramakrishnan 2006, doi:10.1109/ICDE.2006.101.

    >>> from sfumato import examples
    >>> from sfumato.methods.models.k_anonymity import KAnonymity
    >>> people, step = examples.patients(), Mondrian(order=("zip", "age", "sex"), grid={"age": 1})
    >>> released = step.apply(people, step.plan(people, Goal((KAnonymity(2),))))
    >>> released.column("age").to_list()
    ['25-26', '25-27', '25-26', '27-28', '25-27', '27-28']
    """

    mode: Annotated[
        Modes,
        Field(
            description=(
                "strict keeps equal values together, relaxed makes equal halves, single cuts all"
                " over"
            )
        ),
    ] = "strict"
    weights: ColumnWeights = Field(default_factory=dict)
    budget: SuppressionBudget = 0.0
    order: Annotated[
        tuple[str, ...] | None,
        COLUMNS,
        Field(description="columns in the order in which ties are cut"),
    ] = None
    grid: Steps = Field(default_factory=dict)

    name: ClassVar[str] = "mondrian"
    search_kinds: ClassVar[Mapping[str, SearchKind]] = {
        "strict": SearchKind("greedy", "top-down", "local", "hierarchy or partition"),
        "relaxed": SearchKind("greedy", "top-down", "local", "hierarchy or partition"),
        "single": SearchKind("greedy", "top-down", "global", "hierarchy or partition"),
    }
    recodes_quasi: ClassVar[bool] = True
    retold: ClassVar[tuple[str, ...]] = ("grid",)

    @property
    def coarsens(self) -> bool:
        """Cells become ranges and sets that hold them."""
        return True

    def __post_init__(self) -> None:
        require_steps("Mondrian", self.grid)
        if self.mode == "single" and self.budget:
            raise ParameterError("Mondrian: mode single suppresses nothing; leave budget out")

    def plan(self, dataset: Table, goal: Goal) -> ClassRecoding | CutRecoding:
        """Cut the classes of a table into regions, or its columns into ranges."""
        if self.mode == "single":
            normalised_weights(dataset.schema.quasi, self.weights)
            return plan_medians(
                dataset, goal, weights=self.weights, order=self.order, grid=self.grid
            )
        return plan_mondrian(
            dataset,
            goal,
            mode=self.mode,
            weights=self.weights,
            budget=self.budget,
            order=self.order,
            grid=self.grid,
        )

    @property
    def span(self) -> Span:
        """It decides from counted combinations."""
        return Span.CLASSES

    def contradicted(
        self, plan_section: Mapping[str, Any], schema: Schema, records: int | None
    ) -> str | None:
        """That more records are suppressed than its budget allows, or that another grid was
        used.
        """
        return over_budget(plan_section, self.budget, schema, records) or contradict_grid(
            self.name, plan_section, self.grid
        )

    def apply(self, dataset: Table, plan: ClassRecoding | CutRecoding) -> Table:
        """Release the regions."""
        if isinstance(plan, CutRecoding):
            return recode_columns(dataset, plan)
        return release_regions(dataset, plan)


def plan_mondrian(
    dataset: Table,
    goal: Goal,
    *,
    mode: Mode = "strict",
    weights: Mapping[str, float] | None = None,
    budget: float = 0.0,
    order: Sequence[str] | None = None,
    grid: Mapping[str, int | float | str] | None = None,
) -> ClassRecoding:
    """The regions that :class:`Mondrian` finds, as a plan for :func:`release_regions`."""
    promises = Promises.of(dataset, goal, "mondrian")
    classes = promises.classes
    axes = axes_of(classes, dataset.schema, order, grid)
    promises = promises.on(axes)
    normalised_weights(classes.columns, weights or {})
    space = space_of(axes, [float((weights or {}).get(axis.column, 1.0)) for axis in axes])
    relaxed = mode == "relaxed"
    # k-anonymity alone is a count: one kernel cuts to the end without asking models.
    if promises.only_crowds and classes.total:
        points = points_of(classes, axes)
        if classes.total < promises.crowd:
            raise promises.refuse(points, "mondrian")
        regions = cut_by_crowd(
            points, space, promises.crowd, relaxed=relaxed, progress=goal.progress
        )
    elif classes.total:
        regions = cut_by_promises(promises, axes, space, relaxed=relaxed, progress=goal.progress)
    else:
        regions = Regions.of(classes.records - 1, classes.records)
    # 1e-9 since 0.29 × 100 is 28.999….
    allowed = math.floor(budget * classes.total + 1e-9)
    if allowed and classes.total:
        regions = without_outliers(regions, promises, axes, space, allowed)
    return recoding(
        classes,
        axes,
        regions,
        method=f"mondrian, {mode}",
        notes={"allowed": allowed},
        weights=weights,
    )
