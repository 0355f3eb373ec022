"""The generalization lattice of a table: its nodes, what a node keeps, and whether it is good
enough.

A node gives every quasi-identifier a level. All searches share this file: they differ only in which
nodes they look at, and in what order.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.model import ClassEvidence, Model
from sfumato.core.objective import Objective, Spread, Tally, all_values
from sfumato.core.schema import Missing
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.methods.steps.recoding.joint_suppression import fewest_together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.encoding import Column
    from sfumato.core.schema import Schema

Node = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class JudgedNode:
    """A node that was looked at: what it keeps, its score, and whether it may be released."""

    node: Node
    tally: Tally
    score: float
    feasible: bool


@dataclasses.dataclass(frozen=True)
class Lattice:
    """All nodes between two levels per column, over the classes of one table.

    ``budget`` is the number of records that may be suppressed; ``models`` decide which classes are.
    """

    base: ClassTable
    schema: Schema
    models: tuple[Model, ...]
    objective: Objective
    low: Node
    high: Node
    budget: int
    weights: tuple[float, ...]
    reference: Mapping[Column, NDArray[np.int64]]
    label: str | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of node tuples."""
        return self.base.columns

    @cached_property
    def records(self) -> int:
        """Number of records of the table."""
        return self.base.total

    @cached_property
    def size(self) -> int:
        """Number of nodes."""
        return math.prod(h - lo + 1 for lo, h in zip(self.low, self.high, strict=True))

    @cached_property
    def tops(self) -> Node:
        """The highest level of each hierarchy."""
        return tuple(ladder.top for ladder in self.base.ladders)

    @cached_property
    def totals(self) -> tuple[tuple[float, ...], ...]:
        """Per column and level, the summed cell cost of all records when nothing is suppressed.

        Summed by numpy, not by BLAS, whose order of adding depends on the number of threads.
        """
        sums = []
        for a in range(len(self.columns)):
            per_code = self.records_per_code[a]
            ladder = self.base.ladders[a]
            # Σ over codes of records · cost of the cell at the level.
            sums.append(
                tuple(
                    float((per_code * self.cell_costs[a][level][ladder.climb(0, level)]).sum())
                    for level in range(ladder.depth)
                )
            )
        if sums:
            return tuple(sums)
        return tuple(np.zeros((0, 0)))

    @cached_property
    def records_per_code(self) -> list[NDArray[np.int64]]:
        """Per column, how many records have each code, at the level the table was counted at."""
        base = self.base
        counts = []
        for a, ladder in enumerate(base.ladders):
            size = len(ladder.labels[base.levels[a]])
            counts.append(base.records_in([a])[:size])
        return counts

    @cached_property
    def cell_costs(self) -> list[list[NDArray[np.float64]]]:
        """Per column and level, what the objective says a cell with each code costs."""
        costs = []
        for a, ladder in enumerate(self.base.ladders):
            levels = self.objective.costs(ladder, self.records_per_code[a])
            # loops take them; a number that all codes of a level share may be there only once
            costs.append([np.ascontiguousarray(level) for level in levels])
        return costs

    @cached_property
    def _flat_costs(self) -> tuple[NDArray[np.float64], list[list[int]]]:
        """All cell costs in one array, and where each column's level begins."""
        flat = []
        offsets = []
        position = 0
        for levels in self.cell_costs:
            starts = []
            for costs in levels:
                starts.append(position)
                flat.append(costs)
                position += len(costs)
            offsets.append(starts)
        return (np.concatenate(flat) if flat else np.zeros(1)), offsets

    def from_level(self, low: Node) -> Lattice:
        """The same lattice with other lowest levels: what is known of the table, which whoever
        searches either of them asks for, is found out once.
        """
        other = dataclasses.replace(self, low=low)
        for name in ("records", "tops", "records_per_code", "cell_costs", "totals"):
            other.__dict__[name] = getattr(self, name)
        other.__dict__["_latest"] = self._latest
        return other

    def at(self, node: Node, base: ClassTable | None = None) -> ClassTable:
        """The classes of a node, rolled up from a finer table."""
        levels = dict(zip(self.columns, node, strict=True))
        if base is not None:
            return base.roll_up(levels)
        if node in self._latest:  # the node that a search ends with is asked for again
            return self._latest[node]
        base = self.base
        finer = base
        if not base.counts and base.weights is None:
            # The table asked for last is smaller than the base, and its classes come in the same
            # order where it is finer than the node. Counts of other columns may not, so with them
            # the base serves.
            for before, table in self._latest.items():
                if all(low <= level for low, level in zip(before, node, strict=True)):
                    finer = table
        sizes = [
            len(ladder.labels[level]) for ladder, level in zip(base.ladders, node, strict=True)
        ]
        bare = not base.counts and base.weights is None and base.population is None
        if bare and len(base) and all(size == 1 for size in sizes):
            # Every column has but one label at its level: no class is looked at for the class of
            # all records.
            keys = np.zeros((1, base.keys.shape[1]), dtype=np.uint64)
            table = dataclasses.replace(
                base, levels=node, keys=keys, records=np.array([base.total])
            )
        else:
            table = finer.roll_up(levels)
        self._latest.clear()
        self._latest[node] = table
        return table

    @cached_property
    def _latest(self) -> dict[Node, ClassTable]:
        """The node that was asked for last, and its classes."""
        return {}

    def failing(
        self, classes: ClassTable, models: Sequence[Model] | None = None
    ) -> NDArray[np.bool_]:
        """Which classes must be suppressed for the models (all of them by default) to hold on the
        rest.

        Classes that only a population has hold no records: no model sees them, and they count as
        failing.
        """
        if models is None:
            models = self.models
        if classes.population is None:
            return self._failing(classes, models, 0)
        failing: NDArray[np.bool_] = classes.records == 0
        passing = classes.take(~failing)
        population = int(classes.population.sum())
        failing[~failing] = self._failing(passing, models, population)
        return failing

    def _failing(
        self, classes: ClassTable, models: Sequence[Model], population: int
    ) -> NDArray[np.bool_]:
        evidence = self._evidence(classes, population)
        failing = np.zeros(len(classes), dtype=np.bool_)
        for model in models:
            if model.scope == "class":
                failing |= model.failing(evidence)
        relative = [m for m in models if m.scope == "table"]
        if not relative:
            return failing
        return failing | self._failing_together(classes, relative, failing, population)

    def _failing_together(
        self,
        classes: ClassTable,
        relative: Sequence[Model],
        failing: NDArray[np.bool_],
        population: int,
    ) -> NDArray[np.bool_]:
        """What promises about the whole table drop besides: each what it needs, or fewer where all
        are sums.
        """
        gone = failing.copy()
        minimum = 0
        # Dropping for one promise may break another: repeat until none asks for more. Each round
        # drops a class, so this ends.
        while relative and not gone.all():
            remaining = classes.take(~gone)
            demands = [m.failing(self._evidence(remaining, population)) for m in relative]
            minimum = minimum or max(int(remaining.records[demand].sum()) for demand in demands)
            if not np.logical_or.reduce(demands).any():
                break
            gone[np.flatnonzero(~gone)[np.logical_or.reduce(demands)]] = True
        # Together fewer may do, but never fewer than the most demanding promise alone.
        if len(relative) > 1 and classes.records[gone & ~failing].sum() > minimum:
            return self._fewest_together(classes, relative, failing, gone, population)
        return gone

    def _fewest_together(
        self,
        classes: ClassTable,
        relative: Sequence[Model],
        failing: NDArray[np.bool_],
        gone: NDArray[np.bool_],
        population: int,
    ) -> NDArray[np.bool_]:
        """The fewest records for promises that are all sums over the classes that are kept
        (``excess``).
        """
        remaining = classes.take(~failing)
        evidence = self._evidence(remaining, population)
        sums = [excess for model in relative if (excess := model.excess(evidence)) is not None]
        if len(sums) == len(relative):
            gone[~failing] = fewest_together(remaining, sums, gone[~failing])
        return gone

    def forced(self, classes: ClassTable) -> NDArray[np.int64]:
        """Per class, how many of its records every finer node must suppress."""
        if classes.population is None:
            return self._forced(classes, 0)
        inside = classes.records > 0
        forced = np.zeros(len(classes), dtype=np.int64)
        forced[inside] = self._forced(classes.take(inside), int(classes.population.sum()))
        return forced

    def _forced(self, classes: ClassTable, population: int) -> NDArray[np.int64]:
        evidence = self._evidence(classes, population)
        forced = np.zeros(len(classes), dtype=np.int64)
        # Every model forces its own records; of one class the largest demand holds.
        for model in self.models:
            np.maximum(forced, forced_by(model, evidence, self.budget), out=forced)
        return forced

    def _evidence(self, classes: ClassTable, population: int) -> ClassEvidence:
        if classes.population is None:
            absent = 0
        else:
            absent = population - int(classes.population.sum())
        return ClassEvidence(classes, self.schema, self.reference, absent=absent)

    def tally(
        self, classes: ClassTable, gone: NDArray[np.int64], fixed: int | None = None
    ) -> Tally:
        """What remains when so many records of each class go.

        With ``fixed``, only the first so many columns of the node are decided and the others stand
        at their highest level: the tally is then a lower bound for every node below.
        """
        layout = classes.layout
        n = self.records
        decided = len(self.columns) if fixed is None else fixed
        flat, starts = self._flat_costs
        # Undecided columns are not priced here; :meth:`tally_of` adds their lower bound.
        offsets = np.array([starts[a][classes.levels[a]] for a in range(decided)], dtype=np.int64)
        lost = np.zeros(decided)
        costed_columns = kernels.lattice.CostedColumns(
            layout.words[:decided],
            layout.shifts[:decided],
            layout.widths[:decided],
            flat,
            offsets,
        )
        kept_classes, kept_records, squares = kernels.lattice.tally(
            classes.keys,
            classes.records,
            gone,
            costed_columns,
            lost,
        )
        own = 0.0
        if self.objective.own and fixed is None:
            own = self.objective.own(self._spread(classes, gone))
        return self.tally_of(
            classes.levels[:decided], n - kept_records, kept_classes, squares, lost, own
        )

    def tally_of(
        self,
        levels: Node,
        gone: int,
        classes: int,
        squares: float,
        lost: Sequence[float] | NDArray[np.float64],
        own: float = 0.0,
        lowest: Node | None = None,
    ) -> Tally:
        """The tally of sums over the classes of a node, or of the first columns of nodes where
        fewer levels are given.

        ``lost`` is, per column, what the cells of the ``gone`` records would have cost; ``lowest``
        the levels below which no column stands.
        """
        n = self.records
        decided = len(levels)
        if lowest is None:
            lowest = self.low
        # Mean cost per record: kept cells cost what the level says, suppressed ones 1.
        cells = []
        for a in range(decided):
            if n:
                lost_costs = self.totals[a][levels[a]] - lost[a] + gone
                cells.append(lost_costs / n)
            else:
                cells.append(0.0)
        open_columns = range(decided, len(self.columns))
        cells += [self.least_cost(a, gone, lowest[a]) / n if n else 0.0 for a in open_columns]
        return Tally(
            levels + lowest[decided:],
            self.tops,
            records=n,
            suppressed=gone,
            classes=classes,
            squares=squares,
            cells=cells,
            weights=self.weights,
            own=own,
        )

    def _spread(self, classes: ClassTable, gone: NDArray[np.int64]) -> Spread:
        """The classes of a node one by one, for objectives that sums do not give."""
        costs = np.zeros(len(classes))
        for a, name in enumerate(self.columns):
            costs += self.cell_costs[a][classes.levels[a]][classes.codes(name)]
        all_leaves = sum(all_values(ladder) for ladder in self.base.ladders)
        if self.label is None:
            labels = None
        else:
            labels = classes.counts[self.label]
        if labels is None:
            majority = None
        else:
            majority = np.zeros(len(classes), dtype=np.int64)
        if labels is not None and majority is not None:
            class_of_count = np.arange(len(classes))
            np.maximum.at(
                majority, np.repeat(class_of_count, np.diff(labels.starts)), labels.counts
            )
        kept_records = classes.records - gone
        return Spread(
            costs,
            classes.records,
            kept=kept_records,
            most=all_leaves,
            finest=self.base.records,
            majority=majority,
            spanned=self._spanned,
        )

    @cached_property
    def _spanned(self) -> float:
        """The mean over records of the logarithm of how many combinations a counted one stands for:
        0 where none was generalised.
        """
        total = 0.0
        for ladder, records in zip(self.base.ladders, self.records_per_code, strict=True):
            if not ladder.counted_at:
                continue
            leaves = ladder.leaves[ladder.counted_at][ladder.climb(0, ladder.counted_at)]
            logarithms = np.log(np.maximum(1.0, leaves))
            if None in ladder.labels[0]:  # missing values are counted apart, at the top as well
                logarithms[list(ladder.labels[0]).index(None)] = 0.0
            total += float((records * logarithms).sum())
        return total / max(1, self.records)

    def least_cost(self, a: int, gone: int, lowest: int) -> float:
        """What a column not yet decided costs at least on a level or above when so many records are
        suppressed.
        """
        # Two lower bounds: suppressed cells cost 1 and kept ones at least the cheapest; and no
        # level from the lowest on costs less in all than the least total.
        least_loss = (self.records - gone) * self.cheapest[a]
        return max(gone + least_loss, self.least_totals[a][lowest])

    @cached_property
    def least_totals(self) -> tuple[tuple[float, ...], ...]:
        """Per column and level, the least of ``totals`` from there up to the highest level of the
        lattice.

        A bound on a column that may rise further holds so even where a level costs less than the
        one below it.
        """
        minima = []
        for sums, high in zip(self.totals, self.high, strict=True):
            # Running minimum from the highest level down.
            within = np.array(sums[: high + 1])
            suffix_minima = np.minimum.accumulate(within[::-1])[::-1].tolist()
            minima.append(tuple(suffix_minima))
        return tuple(minima)

    @cached_property
    def cheapest(self) -> tuple[float, ...]:
        """Per column, the least cost of a kept cell: below zero where the objective rewards rare
        values (entropy).
        """
        cells = [costs[low] for costs, low in zip(self.cell_costs, self.low, strict=True)]
        return tuple(min(0.0, float(c.min())) if c.size else 0.0 for c in cells)

    @property
    def missing_apart(self) -> tuple[str, ...]:
        """The columns with missing values that would match everything, and that a search counts as
        a category of their own.
        """
        names = []
        for name, ladder in zip(self.columns, self.base.ladders, strict=True):
            if self.schema[name].missing is Missing.WILDCARD and None in ladder.labels[0]:
                names.append(name)
        return tuple(names)

    def caveat(self) -> str:
        """That records who only missing values hide were not counted as hidden; empty where there
        are none.
        """
        if not self.missing_apart:
            return ""
        return (
            f" Missing values of {', '.join(self.missing_apart)} counted as a category of their "
            "own, although they may match everything; the step that suppresses cells counts them "
            "so."
        )

    def hopeless(self) -> str:
        """What promises about other columns say that every class breaks even at the highest levels;
        empty where none is.

        How large classes are follows from the levels; what a column holds does not, and no level
        mends it.
        """
        classes = self.at(self.high)
        inside = classes.take(classes.records > 0)
        if classes.population is None:
            people = 0
        else:
            people = int(classes.population.sum())
        counting = [model for model in self.models if model.needs(self.schema).counts]
        verdicts = [model.judge(self._evidence(inside, people)) for model in counting]
        sentences = []
        for v in verdicts:
            if not v.holds and v.records == self.records:
                sentences.append(f"{v.promise}: {v.sentence}")
        if sentences:
            return f" Even at the highest levels, {'; '.join(sentences)}."
        return ""

    def judge(self, classes: ClassTable) -> JudgedNode:
        """Judge a node by its classes."""
        tally = self.tally(classes, classes.records * self.failing(classes))
        # A node that keeps no class releases nothing, and is no answer.
        feasible = tally.suppressed <= self.budget and (tally.classes > 0 or self.records == 0)
        return JudgedNode(classes.levels, tally, self.objective.score(tally), feasible)


def seen_by_classes(models: Sequence[Model], schema: Schema) -> tuple[Model, ...]:
    """The models a search must mind: promises about pairs of records, which classes do not show,
    are left out where another promise implies them.
    """
    about_pairs = [model for model in models if model.needs(schema).pairs]
    about_classes = [model for model in models if model not in about_pairs]
    implied = []
    for model in about_pairs:
        if any(model_of_classes.implies(model) for model_of_classes in about_classes):
            implied.append(model)
    return tuple(model for model in models if model not in implied)


def forced_by(model: Model, evidence: ClassEvidence, budget: int) -> NDArray[np.int64]:
    """Per class, how many of its records a model makes every finer node suppress.

    A model may know (``forced``). Otherwise all records of a failing class when the model shrinks;
    one record of it when it is monotone, for then part of the class must fail too; and nothing when
    neither is sure.
    """
    if (forced := model.forced(evidence)) is not None:
        return forced
    if not model.shrinking and not (model.monotone and (model.scope == "class" or budget == 0)):
        return np.zeros(len(evidence.classes), dtype=np.int64)
    # A shrinking model fails on every part of a failing class, a monotone one on some part of it.
    if model.shrinking:
        records = evidence.classes.records
    else:
        records = np.minimum(evidence.classes.records, 1)
    return records * model.failing(evidence)


def level_bounds(
    columns: Sequence[str], tops: Sequence[int], bounds: Mapping[str, tuple[int, int]]
) -> tuple[Node, Node]:
    """The lowest and highest level of each column, from the caps of a recipe."""
    problems = []
    for name in bounds:
        if name not in columns:
            problems.append(
                f"level bounds name a column {name!r} that is no"
                f" quasi-identifier.{did_you_mean(name, columns)}"
            )
    low = []
    high = []
    for name, top in zip(columns, tops, strict=True):
        first, last = bounds.get(name, (0, top))
        if not 0 <= first <= last:
            problems.append(
                f"level bounds of {name!r} must be 0 ≤ lowest ≤ highest; got {first} and {last}"
            )
        elif first > top:
            problems.append(
                f"level bounds of {name!r} start at {first}, but its hierarchy ends at level {top}"
            )
        low.append(first)
        high.append(min(last, top))
    if problems:
        raise SchemaError(problems)
    return tuple(low), tuple(high)


def normalised_weights(columns: Sequence[str], weights: Mapping[str, float]) -> tuple[float, ...]:
    """Importance of each column, summing to 1; columns not named weigh 1 before that."""
    unknown = [name for name in weights if name not in columns]
    if unknown:
        raise SchemaError(
            [
                f"weights name a column {n!r} that is not a "
                f"quasi-identifier.{did_you_mean(n, columns)}"
                for n in unknown
            ]
        )
    raw = [float(weights.get(name, 1.0)) for name in columns]
    if any(w < 0 or not math.isfinite(w) for w in raw) or (raw and sum(raw) <= 0):
        raise ParameterError("weights must be zero or more, finite, and not all zero")
    return tuple(w / sum(raw) for w in raw)
