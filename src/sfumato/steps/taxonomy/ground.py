"""The ground on which columns are cut: the classes of a table by their ranks, and what the models say of them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.classes import ClassTable, Layout
from sfumato.core.encoding import encode
from sfumato.core.evidence import needed
from sfumato.core.hierarchy import Ladder
from sfumato.core.objective import objective_named
from sfumato.core.population import count_needed
from sfumato.core.schema import Kind, Role, Schema
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.steps.local.axes import Axis, axes_of
from sfumato.steps.local.regions import RegionCells
from sfumato.steps.recoding.lattice import Lattice, seen_by_classes
from sfumato.steps.taxonomy.cut import Cut, cells_of_cut, group_of_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset
    from sfumato.core.step import Goal

MOST_LABELS = 200
"""A class label with more values than this is no class label."""


class Ground:
    """The classes of a table, one axis a quasi-identifier, and the models that what is released must keep.

    ``ranks[a]`` are the ranks of all classes on axis *a*; ``label`` names the column whose values are counted per class.
    """

    def __init__(
        self, dataset: Dataset, goal: Goal, step: str, *, label: str | None = None, trees: bool = True
    ) -> None:
        if not goal.models:
            raise ParameterError(f"{step} needs a promise to reach; add one under 'meet'")
        if not len(dataset):
            raise SchemaError(f"{dataset.source.name} has no rows; there is nothing to release")
        if label is not None:
            _require_label(dataset, label)
        needs = needed(goal.models, dataset.schema)
        counts = (*needs.counts, *([label] if label is not None and label not in needs.counts else []))
        self.step, self.label = step, label
        self.classes: ClassTable = count_needed(dataset, dataclasses.replace(needs, counts=counts), goal.population)
        self.axes: tuple[Axis, ...] = axes_of(self.classes, _as_trees(dataset.schema) if trees else dataset.schema)
        self.ranks: list[NDArray[np.int64]] = [axis.ranks[self.classes.codes(axis.column)] for axis in self.axes]
        self.judge = _judge(self.classes, dataset.schema, goal, needs.counts)
        self._cells: dict[tuple[int, Cut], RegionCells] = {}

    def cells(self, a: int, cut: Cut) -> RegionCells:
        """What the ranges of a cut are released as."""
        if (a, cut) not in self._cells:
            self._cells[a, cut] = cells_of_cut(self.axes[a], cut)
        return self._cells[a, cut]

    def merged(self, cuts: Sequence[Cut]) -> tuple[ClassTable, NDArray[np.int64]]:
        """The classes that are released under some cuts, and which of them each class of the table joins."""
        cells = [self.cells(a, cut) for a, cut in enumerate(cuts)]
        layout = Layout.of([len(column.labels) for column in cells])
        keys = np.zeros((len(self.classes), layout.length), dtype=np.uint64)
        for a, (cut, column) in enumerate(zip(cuts, cells, strict=True)):
            codes = column.codes[group_of_ranks(cut, len(self.axes[a].labels))]
            kernels.keys.pack(keys, codes[self.ranks[a]], layout.words[a], layout.shifts[a])
        ids, first = kernels.keys.group(keys)
        old, size = self.classes, len(first)
        table = dataclasses.replace(
            old,
            ladders=tuple(_ladder(column) for column in cells),
            levels=(0,) * len(cells),
            layout=layout,
            keys=keys[first],
            records=kernels.keys.add_up(old.records, ids, size),
            counts={name: c.merged(ids, size) for name, c in old.counts.items()},
            weights=None if old.weights is None else kernels.keys.add_up(old.weights, ids, size),
            population=None if old.population is None else kernels.keys.add_up(old.population, ids, size),
        )
        return table, ids

    def coarsened(self, cuts: Sequence[Cut]) -> Ground:
        """The ground of the classes under some cuts, for cuts that are coarser still."""
        table, ids = self.merged(cuts)
        member = np.zeros(len(table), dtype=np.int64)
        member[ids] = np.arange(len(ids))
        other = copy.copy(self)
        other.classes, other.ranks = table, [ranks[member] for ranks in self.ranks]
        return other

    def holds(self, cuts: Sequence[Cut]) -> bool:
        """Whether every class keeps every promise, and nothing must be suppressed."""
        table, _ = self.merged(cuts)
        return not (self.judge.failing(table) & (table.records > 0)).any()

    def label_counts(self, a: int) -> NDArray[np.int64]:
        """Records by rank and label, summed up from below: row *r* counts the ranks before *r*."""
        counts = self.classes.counts[self.label or ""]
        shape = (len(self.axes[a].labels) + 1, max(1, len(counts.labels)))
        sums = np.zeros(shape, dtype=np.int64)
        rows = np.repeat(self.ranks[a] + 1, np.diff(counts.starts))
        np.add.at(sums, (rows, counts.codes), counts.counts)
        return sums.cumsum(axis=0)

    def refuse(self, forms: Sequence[str] = ("tree", "line")) -> Unsatisfiable:
        """The error to raise when not even the coarsest cuts hold; axes of other ``forms`` cannot be cut."""
        promises = " and ".join(m.promise for m in self.judge.models)
        fixed = [axis.column for axis in self.axes if axis.form not in forms]
        told = (
            f" Column(s) that it cannot generalise: {', '.join(fixed[:8])}{', …' if fixed[8:] else ''}."
            if fixed
            else ""
        )
        return Unsatisfiable(
            f"{self.step}: even with every column as coarse as it gets the table does not keep {promises}; "
            f"lower the promise.{told}"
        )


def _as_trees(schema: Schema) -> Schema:
    """Columns with a hierarchy are cut along it, even numbers."""
    for name, attribute in schema.attributes.items():
        if attribute.hierarchy is not None:
            schema = schema.replace(name, kind=Kind.NOMINAL)
    return schema


def _judge(classes: ClassTable, schema: Schema, goal: Goal, counts: Sequence[str | tuple[str, ...]]) -> Lattice:
    """The lattice of the table: it knows which classes must go, and which must go however the rest is cut."""
    tops = tuple(ladder.top for ladder in classes.ladders)
    return Lattice(
        base=classes,
        schema=schema,
        models=seen_by_classes(goal.models, schema),
        objective=objective_named("loss"),
        low=(0,) * len(tops),
        high=tops,
        budget=classes.total,
        weights=(1.0 / max(1, len(tops)),) * len(tops),
        reference={name: classes.counts[name].total() for name in counts},
    )


def _ladder(cells: RegionCells) -> Ladder:
    """Released labels as a hierarchy of one level."""
    return Ladder((cells.labels,), (), (np.ones(len(cells.labels)),), (np.zeros(len(cells.labels)),))


def _require_label(dataset: Dataset, label: str) -> None:
    """A class label is a column of the table that is no quasi-identifier and has a few values."""
    dataset.require([label])
    attribute = dataset.schema.attributes.get(label)
    if attribute is not None and any(attribute.has(role) for role in (Role.QUASI, Role.DIRECT, Role.UNIT)):
        raise SchemaError(
            f"the class label {label!r} is a column with role {' and '.join(attribute.roles)}; "
            "take one that is released as it is"
        )
    values = len(encode(dataset.column(label)).labels)
    if values < 2 or values > MOST_LABELS:
        raise SchemaError(
            f"the class label {label!r} has {values:,} different value(s); it takes 2 to {MOST_LABELS:,} to classify by"
        )
