"""Regions of a table: which classes are released together, and the recoding that follows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.classes import ClassTable, Placement, pack_rows
from sfumato.core.encoding import as_text
from sfumato.core.groups import group_starts
from sfumato.core.hierarchy import TOP
from sfumato.core.randomness import Marks
from sfumato.core.schema import Kind, Missing
from sfumato.core.step import Learner, Plan, learnt_by
from sfumato.errors import InternalError
from sfumato.methods.steps.local.grid import describe_grids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.methods.steps.local.axes import Axis

    Ints = NDArray[np.int64]


SUPPRESSED = -1
"""The region of records that are dropped."""
WORST = 5
"""Regions that are told about because they lose most."""
Cell = tuple[str | None, float]
"""A released label and its loss."""


# Class recodings: the plan of every local method.
#
# The classes of a table are cut into *regions*; all records of a region are released with the same
# cells. Equal records may part ways: a class can be split over several regions, then its rows are
# dealt out by their marks (what they say in all columns, see ``core/randomness.py``), so that
# neither their order nor the pieces they come in matter.


@dataclasses.dataclass(frozen=True, eq=False)
class ClassRecoding(Plan):
    """What a local method decided.

    Class *i* has the packed key ``keys[i]`` under ``placement`` (level 0) and the parts
    ``starts[i]…starts[i+1]``: part *p* holds ``amounts[p]`` of its records and goes to
    ``regions[p]``, or nowhere when that is ``SUPPRESSED``. ``cells[column][region]`` is a code into
    ``labels[column]`` (a label None releases a missing value); ``losses[column][region]`` is the
    loss of that cell, 0–1. Columns that no region changes need not be listed.
    ``hidden[column][region]`` says that the cell is suppressed: it is released as missing and
    matches everything, so missing values of the column count as wildcards from then on; cells that
    are not suppressed keep their values. ``weights`` are the importance of columns in the score;
    those not named weigh 1. ``borders`` say who goes where in classes that are split; None: that is
    found out when the whole table is released at once. ``grid`` says on what grid numbers and dates
    were cut.
    """

    columns: tuple[str, ...]
    placement: Placement
    keys: NDArray[np.uint64]
    starts: Ints
    amounts: Ints
    regions: Ints
    cells: Mapping[str, Ints]
    labels: Mapping[str, tuple[str | None, ...]]
    losses: Mapping[str, NDArray[np.float64]]
    method: str
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hidden: Mapping[str, NDArray[np.bool_]] = dataclasses.field(default_factory=dict)
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    borders: Borders | None = None
    grid: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)

    objective = "loss"

    @property
    def records(self) -> int:
        """Number of records planned for."""
        return int(self.amounts.sum())

    @property
    def suppressed(self) -> int:
        """Number of records that are dropped."""
        return int(self.amounts[self.regions == SUPPRESSED].sum())

    @property
    def score(self) -> float:
        """Mean loss of a cell over all quasi-identifiers, by their weights; the cells of dropped
        records count 1.
        """
        if not self.records:
            return 0.0
        lost = sum(self.weights.get(name, 1.0) * total for name, total in self._lost().items())
        whole = sum(self.weights.get(name, 1.0) for name in self.columns)
        return (lost + self.suppressed * whole) / (self.records * whole)

    def _lost(self) -> dict[str, float]:
        """Per column the sum of the losses of the records that are released."""
        amounts, regions = self._released()
        return {name: float(amounts @ loss[regions]) for name, loss in self.losses.items()}

    @property
    def suppressed_cells(self) -> dict[str, int]:
        """Number of suppressed cells per column."""
        amounts, regions = self._released()
        return {name: int(amounts[cells[regions]].sum()) for name, cells in self.hidden.items()}

    @property
    def deals(self) -> bool:
        """Whether a class is split."""
        return len(self.regions) > len(self.keys)

    def learner(self) -> Learner | None:
        """Learns the borders in split classes."""
        if self.deals and self.borders is None:
            return Dealing(self)
        return None

    @property
    def split(self) -> NDArray[np.bool_]:
        """Which classes are split."""
        return np.diff(self.starts) > 1

    def classes_of(self, dataset: Table) -> Ints:
        """The class of every row."""
        packed, _ = pack_rows(dataset, self.columns, self.placement)
        classes: Ints = kernels.keys.look_up(self.keys, packed)
        return classes

    def describe(self) -> dict[str, Any]:
        """The plan as plain data: no data values."""
        changed = {**self.cells, **self.hidden}
        regions = len(next(iter(changed.values()), ()))
        return {
            "kind": "class recoding",
            "method": self.method,
            "columns": [name for name in self.columns if name in changed],
            "regions": regions,
            **(
                {"grid": {name: dict(grid_fields) for name, grid_fields in self.grid.items()}}
                if self.grid
                else {}
            ),
            "suppressed_records": self.suppressed,
            **({"suppressed_cells": self.suppressed_cells} if self.hidden else {}),
        }

    def scores(self) -> dict[str, float]:
        """The objective and what it came to."""
        return {self.objective: self.score}

    def effort(self) -> dict[str, Any]:
        """How the plan was found, for the owner."""
        facts = {"objective": self.objective, "score": self.score, **self.notes}
        if not self.records:
            return facts
        return {**facts, "cells": self._cell_facts(), "worst": self._worst()}

    def _cell_facts(self) -> dict[str, dict[str, float]]:
        """Per column, over the released records: the mean loss of a cell, and the shares told
        exactly and not at all.
        """
        amounts, regions = self._released()
        total = max(1, int(amounts.sum()))
        return {
            name: {
                "loss": float(amounts @ loss[regions]) / total,
                "exact": int(amounts[loss[regions] <= 0].sum()) / total,
                "nothing": int(amounts[loss[regions] >= 1].sum()) / total,
            }
            for name, loss in self.losses.items()
        }

    def _worst(self) -> list[dict[str, float]]:
        """The regions whose cells lose most, by the weights of the columns: how many records they
        hold, and the loss.
        """
        amounts, regions = self._released()
        if not self.losses or not len(regions):
            return []
        records = np.bincount(regions, weights=amounts)
        weights = [self.weights.get(name, 1.0) for name in self.losses]
        losses = np.stack(list(self.losses.values()))
        lost = np.average(losses, axis=0, weights=weights if any(weights) else None)
        worst_first = np.lexsort((-records, -lost[: len(records)]))
        order = [r for r in worst_first.tolist() if records[r]]
        return [{"records": int(records[r]), "loss": float(lost[r])} for r in order[:WORST]]

    def _released(self) -> tuple[Ints, Ints]:
        """Amounts and regions of the parts that are released."""
        is_released = self.regions != SUPPRESSED
        return self.amounts[is_released], self.regions[is_released]


def whole_classes(regions: Ints, records: Ints) -> dict[str, Ints]:
    """The parts of a recoding that splits no class: ``starts, amounts, regions``."""
    return {"starts": np.arange(len(regions) + 1), "amounts": records, "regions": regions}


def recode_classes(dataset: Table, plan: ClassRecoding) -> Table:
    """Release a table as a class recoding says."""
    if plan.deals and dataset.copies is not None:
        dataset, regions = _part_classes(dataset, plan)
    else:
        regions = regions_of_rows(dataset, plan)
    retained_rows = np.flatnonzero(regions != SUPPRESSED)
    if len(retained_rows) < len(dataset):
        dataset = dataset.take(retained_rows)
        regions = regions[retained_rows]
    fresh = {}
    for name, codes in plan.cells.items():
        labels = pl.Series(name, plan.labels[name], dtype=pl.String)
        fresh[name] = labels.gather(codes[regions])
    fresh = {
        name: labels
        for name, labels in fresh.items()
        if not _as_it_was(dataset.column(name), labels)
    }
    for name in fresh:
        kind = dataset.schema[name].kind
        ordered = kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
        dataset = dataset.with_schema(
            dataset.schema.replace(name, kind=Kind.ORDINAL if ordered else Kind.NOMINAL)
        )
    dataset = dataset.with_columns(fresh)
    for name, cells in plan.hidden.items():
        # Suppress the cells of a column in some rows; what was missing before cannot be told
        # from it
        rows = cells[regions]
        column = dataset.column(name)
        if column.dtype.is_float():
            column = column.fill_nan(None)
        blanked = pl.when(pl.Series(rows)).then(None).otherwise(column)
        blank = pl.select(blanked).to_series().alias(name)
        schema = dataset.schema.replace(name, missing=Missing.WILDCARD)
        dataset = dataset.with_columns({name: blank}).with_schema(schema)
    return dataset


def _as_it_was(column: pl.Series, labels: pl.Series) -> bool:
    """Whether a column is released cell by cell as it was: then it keeps its type, too."""
    return bool(as_text(column).equals(labels, null_equal=True))


def regions_of_rows(dataset: Table, plan: ClassRecoding) -> Ints:
    """The region of every row; the rows of a split class are dealt out by their marks."""
    classes = plan.classes_of(dataset)
    parts = plan.starts[:-1][classes]
    if plan.deals:
        borders: Borders = plan.borders or learnt_by(Dealing(plan), [dataset]).borders
        rows = np.flatnonzero(plan.split[classes])
        parts[rows] += borders.passed(classes[rows], Marks.of(dataset).taken(rows))
    return plan.regions[parts]


@dataclasses.dataclass(frozen=True, eq=False)
class Borders:
    """The marks of the last row of every part of a split class but the last, sorted by class and
    mark.
    """

    classes: Ints
    keys: NDArray[np.uint64]
    numbers: NDArray[np.uint64]

    def passed(self, classes: Ints, marks: Marks) -> Ints:
        """Per row how many borders of its class lie below its mark: the number of its part."""
        is_border = np.repeat([0, 1], [len(classes), len(self.classes)])
        coordinates = []
        for pair in ((marks.numbers, self.numbers), (marks.keys, self.keys)):
            coordinates.append(np.concatenate(pair))
        class_numbers = np.concatenate([classes, self.classes])
        order = np.lexsort((is_border, *coordinates, class_numbers))
        below = np.empty(len(order), dtype=np.int64)
        below[order] = np.cumsum(is_border[order])
        return below[: len(classes)] - np.searchsorted(self.classes, classes)


class Dealing:
    """Learns the borders of a plan: rows of split classes only are kept, three words each."""

    def __init__(self, plan: ClassRecoding) -> None:
        self.plan = plan
        self.seen: list[tuple[Ints, NDArray[np.uint64], NDArray[np.uint64]]] = []

    def see(self, rows: Table) -> None:
        """Note the marks of rows in split classes."""
        classes = self.plan.classes_of(rows)
        split = np.flatnonzero(self.plan.split[classes])
        marks = Marks.of(rows).taken(split)
        self.seen.append((classes[split], marks.keys, marks.numbers))

    def learnt(self) -> ClassRecoding:
        """The plan with its borders."""
        plan = self.plan
        classes, keys, numbers = (np.concatenate(column) for column in zip(*self.seen, strict=True))
        order = np.lexsort((numbers, keys, classes))
        inside = np.repeat(plan.split, np.diff(plan.starts))
        amounts = plan.amounts[inside]
        if int(amounts.sum()) != len(order) or (amounts < 1).any():
            raise InternalError(
                "the rows of split classes are not those that the plan was made for"
            )
        region_numbers = np.repeat(np.arange(len(plan.keys)), np.diff(plan.starts))
        of = region_numbers[inside]
        inner = np.append(of[1:] == of[:-1], False)  # the last part of a class has no border
        last = order[np.cumsum(amounts)[inner] - 1]
        return dataclasses.replace(plan, borders=Borders(of[inner], keys[last], numbers[last]))


def _part_classes(dataset: Table, plan: ClassRecoding) -> tuple[Table, Ints]:
    """Counted combinations cut where a class is split, and their regions.

    Which records part ways is not known from counts: this shows what the release looks like, and
    every class in its regions.
    """
    classes = plan.classes_of(dataset)
    copies = dataset.copies
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.asarray(copies)[order])
    parts = np.cumsum(plan.amounts)
    cuts = np.union1d(ends, parts)
    starts = np.concatenate([[0], cuts[:-1]])
    rows = order[np.searchsorted(ends, starts, side="right")]
    parted = dataclasses.replace(dataset.take(rows), copies=cuts - starts)
    return parted, plan.regions[np.searchsorted(parts, starts, side="right")]


# What a region releases for the values it holds, column by column.
#
# - a line: the one value, or the range of grid cells around the values: ``25-29`` (whole numbers
# from zero on), ``[-10, -6]``
#   (whole numbers of both signs), ``[-1.5, 2)`` (other numbers), ``low..mid`` (ordered values),
#   ``2024-01-01..2024-02-29`` (dates);
# - a tree: the lowest node above all values;
# - a set: the value, or all values that occur, sorted: ``{A, B}``; ``*`` when these are all the
# column has.
#
# A region with missing and other values releases the top of the tree, or ``*``, and loses
# everything; one with missing values only releases a missing value and loses nothing.
#
# The loss of a cell is Iyengar's: the width of a range as it is written over the width of the
# column's values (of its listed order), at most 1; ``(leaves−1)/(all leaves−1)`` of a node as the
# hierarchy counts them, ``(values−1)/(all values−1)`` of a set.
# Reference: Iyengar 2002, doi:10.1145/775047.775089.


@dataclasses.dataclass(frozen=True)
class RegionCells:
    """What regions release in one column: ``labels[codes[region]]``, with the loss of each region's
    cell.

    ``changed``: some region holds more than one value.
    """

    codes: Ints
    labels: tuple[str | None, ...]
    losses: NDArray[np.float64]
    changed: bool

    @classmethod
    def of(cls, kinds: Iterable[Cell], which: Ints, *, changed: bool) -> RegionCells:
        """Region *i* has the cell number ``which[i]``; cells with the same label share a code."""
        codes: dict[str | None, int] = {}
        pairs = [(codes.setdefault(label, len(codes)), loss) for label, loss in kinds]
        losses = np.array([loss for _, loss in pairs], dtype=np.float64)
        ranges = np.array([code for code, _ in pairs], dtype=np.int64)
        return cls(ranges[which], tuple(codes), losses[which], changed)


def cells_of(axis: Axis, ranks: Ints, ends: Ints) -> RegionCells:
    """The cells of one column: region *r* holds ``ranks[ends[r−1]:ends[r]]``, never nothing."""
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    if axis.form == "set":
        return _set_cells(axis, ranks, np.diff(np.concatenate([[0], ends])))
    lows = np.minimum.reduceat(ranks, starts)
    highs = np.maximum.reduceat(ranks, starts)
    pairs, which = np.unique(lows << 32 | highs, return_inverse=True)
    write = _tree_cell if axis.form == "tree" else _line_cell
    written_cells = [write(axis, pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
    return RegionCells.of(written_cells, which, changed=bool((lows < highs).any()))


def _line_cell(axis: Axis, low: int, high: int) -> Cell:
    first = axis.labels[low]
    last = axis.labels[high]
    if low == high:
        return first, 0.0
    if first is None or last is None:
        return TOP, 1.0
    if axis.grid is None:
        raise InternalError("a line has no grid")
    label = axis.grid.write(low, high)
    if label in axis.node_losses:
        return label, axis.node_losses[label]
    width = float(axis.grid.ends[high] - axis.grid.starts[low])
    return label, min(1.0, width / axis.span) if axis.span > 0 else 0.0


def _tree_cell(axis: Axis, low: int, high: int) -> Cell:
    ladder, level = axis.ladder, 0
    while ladder.climb(0, level)[low] != ladder.climb(0, level)[high]:
        level += 1
    node = int(ladder.climb(0, level)[low])
    loss = float(ladder.loss[level][node])
    return ladder.labels[level][node], loss


def _set_cells(axis: Axis, ranks: Ints, lengths: Ints) -> RegionCells:
    pairs = np.unique(np.repeat(np.arange(len(lengths)), lengths) << 32 | ranks)
    own_ranks = pairs & 0xFFFFFFFF
    first_pairs = np.arange(len(lengths) + 1) << 32
    borders = np.searchsorted(pairs, first_pairs).tolist()
    set_numbers: dict[bytes, int] = {}
    sets: list[list[int]] = []
    which = np.empty(len(lengths), dtype=np.int64)
    for region in range(len(lengths)):
        members = own_ranks[borders[region] : borders[region + 1]]
        which[region] = set_numbers.setdefault(members.tobytes(), len(set_numbers))
        if len(set_numbers) > len(sets):
            sets.append(members.tolist())
    set_cells = [_set_cell(axis, members) for members in sets]
    return RegionCells.of(set_cells, which, changed=any(len(members) > 1 for members in sets))


def _set_cell(axis: Axis, ranks: Sequence[int]) -> Cell:
    names = [axis.labels[rank] for rank in ranks]
    if len(names) == 1:
        return names[0], 0.0
    if None in names or len(names) == len(axis.labels):
        return TOP, 1.0
    listed = ", ".join(str(name) for name in names)
    return "{" + listed + "}", (len(names) - 1.0) / axis.span


# What counts as equal must look equal.


def written_alike(dataset: Table, name: str) -> Table:
    """Write the numbers of one class alike: NaN beside missing and minus zero beside zero tell its
    rows apart.
    """
    if not dataset.dtype(name).is_float():
        return dataset
    column = dataset.column(name)
    numbers = column.fill_null(0.0).to_numpy()
    two_zeros = bool((np.signbit(numbers) & (numbers == 0)).any())
    two_missing = bool(column.null_count() and column.is_nan().any())
    if not two_zeros and not two_missing:
        return dataset
    column = column.fill_nan(None)
    zero = pl.lit(0.0, dtype=column.dtype)
    cleaned = pl.select(pl.when(column == 0).then(zero).otherwise(column))
    return dataset.with_columns({name: cleaned.to_series()})


@dataclasses.dataclass(frozen=True)
class Regions:
    """Classes region after region: region *r* holds ``members[ends[r−1]:ends[r]]``, ``amounts``
    records of each.

    What comes after the last end is suppressed. A class may occur several times, with some of its
    records each.
    """

    members: Ints
    amounts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def of(cls, groups: Ints, amounts: Ints) -> Regions:
        """Class *i* goes to region ``groups[i]``, counted from 0 without gaps; below 0 it is
        suppressed.
        """
        keys = np.where(groups < 0, np.iinfo(np.int64).max, groups)
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.bincount(groups[groups >= 0]))
        return cls(order, amounts[order], ends.astype(np.int64))

    def numbers(self) -> Ints:
        """The region of every member."""
        if len(self.ends):
            retained = int(self.ends[-1])
        else:
            retained = 0
        numbers = np.full(len(self.members), SUPPRESSED, dtype=np.int64)
        sizes = np.diff(self.ends, prepend=0)
        numbers[:retained] = np.repeat(np.arange(len(self.ends)), sizes)
        return numbers

    def loss(self, axes: Sequence[Axis], classes: ClassTable) -> float:
        """The loss of all cells of all records that are released."""
        starts = np.concatenate([[0], self.ends[:-1]]).astype(np.int64)
        records = np.add.reduceat(self.amounts, starts)
        return float(sum(records @ self.cells(axis, classes).losses for axis in axes))

    def cells(self, axis: Axis, classes: ClassTable) -> RegionCells:
        """What each region releases in one column."""
        retained = self.members[: int(self.ends[-1])]
        codes = classes.codes(axis.column)[retained]
        return cells_of(axis, axis.ranks[codes], self.ends)


def recoding(
    classes: ClassTable,
    axes: Sequence[Axis],
    regions: Regions,
    *,
    method: str,
    notes: Mapping[str, Any],
    weights: Mapping[str, float] | None = None,
) -> ClassRecoding:
    """The plan that releases these regions. Columns that no region changes are left alone."""
    if len(regions):
        cells = {axis.column: regions.cells(axis, classes) for axis in axes}
    else:
        cells = {}
    whole = classes.records > 0
    starts, amounts, numbers = _by_class(regions, classes)
    changed_columns = [name for name, column in cells.items() if column.changed]
    placement = Placement(classes.ladders, classes.levels, classes.layout)
    codes = {name: cells[name].codes for name in changed_columns}
    labels = {name: cells[name].labels for name in changed_columns}
    return ClassRecoding(
        columns=classes.columns,
        placement=placement,
        keys=classes.keys[whole],
        starts=starts,
        amounts=amounts,
        regions=numbers,
        cells=codes,
        labels=labels,
        losses={name: column.losses for name, column in cells.items()},
        method=method,
        notes={"regions": len(regions), **notes},
        weights=weights or {},
        grid=describe_grids(axes, changed_columns),
    )


def _by_class(regions: Regions, classes: ClassTable) -> tuple[Ints, Ints, Ints]:
    """Starts, amounts and regions of the parts, class after class; classes that only a population
    has are left out.
    """
    order = np.argsort(regions.members, kind="stable")
    order = order[classes.records[regions.members[order]] > 0]
    per_class = np.bincount(regions.members[order], minlength=len(classes))[classes.records > 0]
    starts = group_starts(per_class)
    return starts, regions.amounts[order], regions.numbers()[order]


def release_regions(dataset: Table, plan: ClassRecoding) -> Table:
    """Release the regions of a plan; what it leaves alone is written alike where it counts as
    equal.

    Ranges and sets are no nodes of a column's hierarchy and not listed in its order: such a column
    has neither any more.
    """
    released = recode_classes(dataset, plan)
    for name in plan.columns:
        if name not in plan.cells:
            released = written_alike(released, name)
    schema = released.schema
    for name in plan.cells:
        ladder = plan.placement.ladders[plan.columns.index(name)]
        listed = {TOP, None}.union(*ladder.labels)
        if not listed.issuperset(plan.labels[name]):
            schema = schema.replace(name, hierarchy=None, order=None)
    return released.with_schema(schema)
