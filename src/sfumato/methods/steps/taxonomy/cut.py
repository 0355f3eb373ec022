"""Cuts of a column: ranges of values that are released as one, the same all over the table.

Values stand in an order (see :mod:`sfumato.methods.steps.local.axes`): numbers, dates and listed
orders in their own, values under a hierarchy so that every node is a range. A *cut* is the tuple of
the ranks at which its ranges begin: all single values are ``(0, 1, …)``, everything as one is
``(0,)``. Values of one column may stand at different levels of its hierarchy.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.classes import ClassTable, Layout, Placement, pack_rows, remap_to
from sfumato.core.evidence import needed
from sfumato.core.fields import Document, Fields
from sfumato.core.hierarchy import Ladder
from sfumato.core.objective import objective_named
from sfumato.core.population import count_needed
from sfumato.core.schema import UNITS, Kind, Role, Schema
from sfumato.core.step import Plan
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.steps.local.axes import Axis, axes_of
from sfumato.methods.steps.local.grid import describe_grids
from sfumato.methods.steps.local.regions import RegionCells, cells_of, written_alike
from sfumato.methods.steps.recoding.lattice import Lattice, seen_by_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.core.table import Table
    from sfumato.methods.steps.local.axes import Axis

    Ints = NDArray[np.int64]


Cut = tuple[int, ...]
MOST_LABELS = 200
"""A class label with more values than this is no class label."""


@dataclasses.dataclass(frozen=True, eq=False)
class CutRecoding(Plan):
    """What was decided: the released label of every value, and the classes to drop.

    ``cells[column][code]`` is a code into ``labels[column]`` and ``losses[column][code]`` the loss
    of that cell, for the codes of level 0 under ``placement``; ``ranges`` counts what is told
    apart. Columns in ``changed`` are written again, those in ``unhung`` with labels their hierarchy
    does not know. ``dropped`` holds the packed keys of suppressed classes.
    """

    columns: tuple[str, ...]
    placement: Placement
    cells: Mapping[str, Ints]
    labels: Mapping[str, tuple[str | None, ...]]
    losses: Mapping[str, NDArray[np.float64]]
    changed: tuple[str, ...]
    unhung: tuple[str, ...]
    dropped: NDArray[np.uint64]
    records: int
    suppressed: int
    score: float
    method: str
    notes: Fields = dataclasses.field(default_factory=dict)
    grid: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)

    objective = "loss"

    def describe(self) -> Document:
        """The plan as plain data: no data values."""
        columns = {}
        for c in self.columns:
            columns[c] = {"values": len(self.cells[c]), "released": len(self.labels[c])}
        return {
            "kind": "cut recoding",
            "method": self.method,
            "columns": columns,
            **(
                {"grid": {name: dict(axis) for name, axis in self.grid.items()}}
                if self.grid
                else {}
            ),
            "suppressed_records": self.suppressed,
            "suppressed_classes": len(self.dropped),
        }

    def scores(self) -> dict[str, float]:
        """The objective and what it came to."""
        return {self.objective: self.score}

    def effort(self) -> Document:
        """How the plan was found, for the owner."""
        return {"objective": self.objective, "score": self.score, **self.notes}


def recode_columns(dataset: Table, plan: CutRecoding) -> Table:
    """Release a table as its cuts say."""
    if len(plan.dropped):
        keys, _ = pack_rows(dataset, plan.columns, plan.placement)
        dataset = dataset.take(np.flatnonzero(kernels.keys.lie_outside(plan.dropped, keys)))
    for name, ladder in zip(plan.columns, plan.placement.ladders, strict=True):
        encoded = dataset.encoded(name)
        # refuses values that were not planned for, in columns that stay as well
        codes = remap_to(ladder, encoded)
        if name not in plan.changed:
            dataset = written_alike(dataset, name)
            continue
        labels = pl.Series(name, plan.labels[name], dtype=pl.String)
        released = labels.gather(plan.cells[name][codes[encoded.codes]])
        dataset = dataset.with_columns({name: released}).with_schema(
            _schema_after(dataset.schema, name, plan)
        )
    return dataset


def _schema_after(schema: Schema, name: str, plan: CutRecoding) -> Schema:
    attribute = schema[name]
    ordered = attribute.kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
    labels = tuple(label for label in plan.labels[name] if label is not None)
    if ordered:
        kind = Kind.ORDINAL
    else:
        kind = Kind.NOMINAL
    if name in plan.unhung:
        hierarchy = None
    else:
        hierarchy = attribute.hierarchy
    if attribute.order is not None:
        order = labels
    else:
        order = None
    return schema.replace(name, kind=kind, hierarchy=hierarchy, order=order)


def group_of_ranks(cut: Cut, ranks: int) -> Ints:
    """The range that every rank lies in.

    >>> group_of_ranks((0, 2), 4).tolist()
    [0, 0, 1, 1]
    """
    return np.searchsorted(np.array(cut), np.arange(ranks), side="right") - 1


def cells_of_cut(axis: Axis, cut: Cut) -> RegionCells:
    """What the ranges of a cut are released as; a tree whose ranges are not all nodes is written as
    sets.
    """
    ends = np.array([*cut[1:], len(axis.labels)], dtype=np.int64)
    if axis.form == "tree" and not _all_nodes(axis, cut, ends):
        axis = dataclasses.replace(axis, form="set")
    return cells_of(axis, np.arange(len(axis.labels)), ends)


def _all_nodes(axis: Axis, cut: Cut, ends: Ints) -> bool:
    """Whether every range of a tree is all that is below some node."""
    ladder = axis.ladder
    size = len(axis.labels)
    for start, end in zip(cut, ends.tolist(), strict=True):
        climbs = (ladder.climb(0, level) for level in range(ladder.depth))
        above = next((c for c in climbs if c[start] == c[end - 1]), None)
        if (
            above is None
            or (start > 0 and above[start - 1] == above[start])
            or (end < size and above[end] == above[start])
        ):
            return False
    return True


def cut_recoding(
    classes: ClassTable,
    axes: Sequence[Axis],
    cuts: Sequence[Cut],
    gone: NDArray[np.bool_],
    *,
    method: str,
    notes: Fields,
) -> CutRecoding:
    """The plan that releases these cuts without the classes that must go."""
    cells = {axis.column: cells_of_cut(axis, cut) for axis, cut in zip(axes, cuts, strict=True)}
    groups = {}
    for a, cut in zip(axes, cuts, strict=True):
        groups[a.column] = group_of_ranks(cut, len(a.labels))[a.ranks]
    changed = tuple(name for name, cell in cells.items() if cell.changed)
    losses = {name: cell.losses[groups[name]] for name, cell in cells.items()}
    is_present = classes.records > 0
    return CutRecoding(
        columns=classes.columns,
        placement=Placement(classes.ladders, classes.levels, classes.layout),
        cells={name: cell.codes[groups[name]] for name, cell in cells.items()},
        labels={name: cell.labels for name, cell in cells.items()},
        losses=losses,
        changed=changed,
        unhung=tuple(
            axis.column
            for axis in axes
            if axis.column in changed and _foreign(axis, cells[axis.column])
        ),
        dropped=classes.keys[gone & is_present],
        records=classes.total,
        suppressed=int(classes.records[gone].sum()),
        score=_mean_loss(classes, losses, gone),
        method=method,
        notes=notes,
        grid=describe_grids(axes, changed),
    )


def _foreign(axis: Axis, cells: RegionCells) -> bool:
    """Whether a label is none of the column's hierarchy."""
    labels = set(chain.from_iterable(axis.ladder.labels))
    return axis.ladder.depth > 1 and not labels.issuperset(cells.labels)


def _mean_loss(
    classes: ClassTable, losses: Mapping[str, NDArray[np.float64]], gone: NDArray[np.bool_]
) -> float:
    """Mean loss of a cell; those of suppressed records count 1."""
    retained_records = classes.records * ~gone
    lost = sum(float(retained_records @ loss[classes.codes(name)]) for name, loss in losses.items())
    cells = classes.total * len(classes.columns)
    if not cells:
        return 0.0
    lost_cells = int(classes.records[gone].sum())
    return (lost + lost_cells * len(classes.columns)) / cells


# Full-subtree recoding: the ranges of a column that are nodes of its hierarchy, and their children.


def topmost(axis: Axis) -> Cut:
    """The coarsest cut: one range, or all single values where there is neither hierarchy nor
    order.
    """
    if axis.form == "set":
        return bottommost(axis)
    return (0,)


def bottommost(axis: Axis) -> Cut:
    """The finest cut: all single values."""
    return tuple(range(max(1, len(axis.labels))))


def children_of(axis: Axis, low: int, high: int) -> tuple[int, ...]:
    """Where the children of a tree's node begin, without the first; nothing for a leaf.

    A node is the range of leaves from ``low`` up to ``high``; one with a single child is the same
    range as that child.
    """
    if axis.form != "tree" or high - low < 2:
        return ()
    climbs = [axis.ladder.climb(0, level) for level in range(axis.ladder.depth)]
    meeting = next(level for level, climb in enumerate(climbs) if climb[low] == climb[high - 1])
    below = climbs[meeting - 1][low:high]
    return tuple((low + 1 + np.flatnonzero(np.diff(below))).tolist())


def nodes_of(axis: Axis) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """All nodes of a tree that have children: first and last leaf, and where the children begin."""
    waiting = [(0, len(axis.labels))]
    while waiting:
        low, high = waiting.pop()
        starts = children_of(axis, low, high)
        if starts:
            yield low, high, starts
            waiting += itertools.pairwise([low, *starts, high])


# What ranges of a column tell about a class label, in bits.


def entropy(counts: Ints) -> NDArray[np.float64]:
    r"""Entropy of a label in some sets of records, :math:`I(R) = -\sum_c p_c \log_2 p_c`; 0 where
    there are no records.

    ``counts`` has one row a set and one column a label.

    >>> import numpy as np
    >>> entropy(np.array([[1, 1], [4, 0]])).tolist()
    [1.0, 0.0]
    """
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    shares = counts / total
    log_shares = np.log2(np.where(counts > 0, shares, 1.0))
    bits = -(shares * log_shares).sum(axis=-1)
    return np.asarray(bits + 0.0)


def gain(sums: Ints, borders: list[int]) -> float:
    r"""Information that splitting a range gains, :math:`I(R) - \sum_c \frac{|R_c|}{|R|} I(R_c)`.

    ``sums`` are counts by label, summed up over ranks; the parts lie between neighbouring
    ``borders``.
    """
    parts = np.diff(sums[borders], axis=0)
    whole = parts.sum(axis=0)
    records = whole.sum()
    if not records:
        return 0.0
    within = (parts.sum(axis=1) / records) @ entropy(parts)
    return max(0.0, float(entropy(whole) - within))


def best_split(sums: Ints, low: int, high: int, first: Ints | None = None) -> int | None:
    """The rank at which splitting the range from ``low`` up to ``high`` in two gains most; the
    first of equal ones.

    Ranks without records do not part anything: a split is made before the first rank of what is on
    the right. ``first`` has the first rank of every rank's cell: no cell is split. None where that
    leaves no split.
    """
    left_counts = sums[low + 1 : high] - sums[low]
    right = sums[high] - sums[low + 1 : high]
    sizes = np.stack([left_counts.sum(axis=1), right.sum(axis=1)])
    entropies = np.stack([entropy(left_counts), entropy(right)])
    within = (sizes * entropies).sum(axis=0)
    within = np.where((sizes > 0).all(axis=0), within, np.inf)
    if first is not None:
        is_first = first[low + 1 : high] == np.arange(low + 1, high)
        within = np.where(is_first, within, np.inf)
        if not np.isfinite(within).any():
            return None
    return low + 1 + int(np.argmin(np.round(within, 9)))


# The ground on which columns are cut: the classes of a table by their ranks, and what the models
# say of them.


class Ground:
    """The classes of a table, one axis a quasi-identifier, and the models that what is released
    must keep.

    ``ranks[a]`` are the ranks of all classes on axis *a*; ``label`` names the column whose values
    are counted per class.
    """

    def __init__(
        self,
        dataset: Table,
        goal: Goal,
        step: str,
        *,
        label: str | None = None,
        trees: bool = True,
        grid: Mapping[str, int | float | str] | None = None,
    ) -> None:
        if not goal.models:
            raise ParameterError(f"{step} needs a promise to reach; add one under 'meet'")
        if not len(dataset):
            raise SchemaError(f"{dataset.source.name} has no rows; there is nothing to release")
        if label is not None:
            _require_label(dataset, label)
        needs = needed(goal.models, dataset.schema)
        counts = (
            *needs.counts,
            *([label] if label is not None and label not in needs.counts else []),
        )
        self.step = step
        self.label = label
        self.classes: ClassTable = count_needed(
            dataset, dataclasses.replace(needs, counts=counts), goal.population
        )
        self.axes: tuple[Axis, ...] = axes_of(
            self.classes,
            _as_trees(dataset.schema, grid or {}) if trees else dataset.schema,
            steps=grid,
        )
        self.ranks: list[Ints] = [axis.ranks[self.classes.codes(axis.column)] for axis in self.axes]
        self.judge = _judge(self.classes, dataset.schema, goal, needs.counts)
        self._cells: dict[tuple[int, Cut], RegionCells] = {}

    def cells(self, a: int, cut: Cut) -> RegionCells:
        """What the ranges of a cut are released as."""
        if (a, cut) not in self._cells:
            self._cells[a, cut] = cells_of_cut(self.axes[a], cut)
        return self._cells[a, cut]

    def merged(self, cuts: Sequence[Cut]) -> tuple[ClassTable, Ints]:
        """The classes that are released under some cuts, and which of them each class of the table
        joins.
        """
        cells = [self.cells(a, cut) for a, cut in enumerate(cuts)]
        layout = Layout.of([len(column.labels) for column in cells])
        keys = np.zeros((len(self.classes), layout.length), dtype=np.uint64)
        for a, (cut, column) in enumerate(zip(cuts, cells, strict=True)):
            rank_count = len(self.axes[a].labels)
            codes = column.codes[group_of_ranks(cut, rank_count)]
            own_codes = codes[self.ranks[a]]
            kernels.keys.pack(keys, own_codes, layout.words[a], layout.shifts[a])
        ids, first = kernels.keys.group(keys)
        old = self.classes
        size = len(first)
        ladders = []
        for column in cells:
            ladders.append(_ladder(column))
        table = dataclasses.replace(
            old,
            ladders=tuple(ladders),
            levels=(0,) * len(cells),
            layout=layout,
            keys=keys[first],
            records=kernels.keys.add_up(old.records, ids, size),
            counts={name: c.merged(ids, size) for name, c in old.counts.items()},
            weights=None if old.weights is None else kernels.keys.add_up(old.weights, ids, size),
            population=(
                None if old.population is None else kernels.keys.add_up(old.population, ids, size)
            ),
        )
        return table, ids

    def coarsened(self, cuts: Sequence[Cut]) -> Ground:
        """The ground of the classes under some cuts, for cuts that are coarser still."""
        table, ids = self.merged(cuts)
        member = np.zeros(len(table), dtype=np.int64)
        member[ids] = np.arange(len(ids))
        ground = copy.copy(self)
        ground.classes, ground.ranks = table, [ranks[member] for ranks in self.ranks]
        return ground

    def holds(self, cuts: Sequence[Cut]) -> bool:
        """Whether every class keeps every promise, and nothing must be suppressed."""
        table, _ = self.merged(cuts)
        return not (self.judge.failing(table) & (table.records > 0)).any()

    def label_counts(self, a: int) -> Ints:
        """Records by rank and label, summed up from below: row *r* counts the ranks before *r*."""
        counts = self.classes.counts[self.label or ""]
        rank_count = len(self.axes[a].labels)
        label_count = max(1, len(counts.labels))
        shape = (rank_count + 1, label_count)
        sums = np.zeros(shape, dtype=np.int64)
        rows = np.repeat(self.ranks[a] + 1, np.diff(counts.starts))
        np.add.at(sums, (rows, counts.codes), counts.counts)
        return sums.cumsum(axis=0)

    def refuse(self, forms: Sequence[str] = ("tree", "line")) -> Unsatisfiable:
        """The error to raise when not even the coarsest cuts hold; axes of other ``forms`` cannot
        be cut.
        """
        promises = join_words(m.promise for m in self.judge.models)
        fixed = [axis.column for axis in self.axes if axis.form not in forms]
        problem = ""
        if fixed:
            problem = (
                " Column(s) that it cannot generalise:"
                f" {', '.join(fixed[:8])}{', …' if fixed[8:] else ''}."
            )
        return Unsatisfiable(
            f"{self.step}: even the coarsest values of every column do not reach {promises}; lower "
            f"the promise.{problem}"
        )


def _as_trees(schema: Schema, grid: Fields) -> Schema:
    """Columns with a hierarchy are cut along it, even numbers, unless the recipe declares a grid
    for them.
    """
    for name, attribute in schema.attributes.items():
        if attribute.hierarchy is not None and name not in grid:
            schema = schema.replace(name, kind=Kind.NOMINAL)
    return schema


def _judge(
    classes: ClassTable, schema: Schema, goal: Goal, counts: Sequence[str | tuple[str, ...]]
) -> Lattice:
    """The lattice of the table: it knows which classes must go, and which must go however the rest
    is cut.
    """
    tops = tuple(ladder.top for ladder in classes.ladders)
    models = seen_by_classes(goal.models, schema)
    reference = {name: classes.counts[name].total() for name in counts}
    return Lattice(
        base=classes,
        schema=schema,
        models=models,
        objective=objective_named("loss"),
        low=(0,) * len(tops),
        high=tops,
        budget=classes.total,
        weights=(1.0 / max(1, len(tops)),) * len(tops),
        reference=reference,
    )


def _ladder(cells: RegionCells) -> Ladder:
    """Released labels as a hierarchy of one level."""
    leaf_counts = np.ones(len(cells.labels))
    losses = np.zeros(len(cells.labels))
    return Ladder((cells.labels,), (), (leaf_counts,), (losses,))


def _require_label(dataset: Table, label: str) -> None:
    """A class label is a column of the table that is no quasi-identifier and has a few values."""
    dataset.require([label])
    attribute = dataset.schema.attributes.get(label)
    if attribute is not None and any(
        attribute.has(role) for role in (Role.QUASI, Role.DROP, *UNITS)
    ):
        raise SchemaError(
            f"the class label {label!r} is a column with role {join_words(attribute.roles)}; "
            "choose one that is released unchanged"
        )
    values = len(dataset.encoded(label).labels)
    if values < 2 or values > MOST_LABELS:
        raise SchemaError(
            f"the class label {label!r} has {values:,} different value(s), but classification "
            f"needs 2 to {MOST_LABELS:,}; choose another"
        )
