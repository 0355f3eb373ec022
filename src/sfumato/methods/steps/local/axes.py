"""The dimensions along which local methods cut and join classes.

Numbers and dates lie on a line, and so do the values of a column with an order; values under a
hierarchy hang in a tree; all others are a set. Missing values come last in every order. Numbers and
dates are cut and labelled on a grid, see
:mod:`sfumato.methods.steps.local.grid`; where their hierarchy has no intervals on level 1 they hang
in a tree, too.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.fields import Document, Fields
from sfumato.core.hierarchy import Ladder
from sfumato.core.schema import Attribute, Kind, Schema
from sfumato.errors import SchemaError, did_you_mean
from sfumato.methods.steps.local.grid import (
    LineGrid,
    date_grid,
    hierarchy_grid,
    moment,
    number_grid,
    ordered_grid,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

Form = Literal["line", "tree", "set"]
HUGE = 1e150
"""Numbers beyond this are scaled down, so that their differences stay finite."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """One dimension. ``ranks[code]`` is the place of a code in the order and ``labels[rank]`` its
    value.

    ``places`` and ``span`` say where the ranks of a line lie and how wide its domain is; ``grid``
    has its cells, for all ranks but that of missing values (None: no line).
    """

    column: str
    form: Form
    ranks: Ints
    labels: tuple[str | None, ...]
    places: Floats
    span: float
    ladder: Ladder
    grid: LineGrid | None = None

    @property
    def missing(self) -> int:
        """The rank of missing values, −1 where there are none."""
        if self.labels and self.labels[-1] is None:
            return len(self.labels) - 1
        return -1

    @property
    def first(self) -> Ints:
        """Per rank the first rank of its cell: a line is cut before such ranks only."""
        return self._per_rank("first")

    @property
    def last(self) -> Ints:
        """Per rank the last rank of its cell."""
        return self._per_rank("last")

    def _per_rank(self, field: Literal["first", "last"]) -> Ints:
        ranks = np.arange(len(self.labels))
        if self.grid is not None:
            cells: Ints = getattr(self.grid, field)
            ranks[: len(cells)] = cells
        return ranks

    @functools.cached_property
    def node_losses(self) -> dict[str, float]:
        """What a range loses that is a node of the hierarchy its cells come from: as the hierarchy
        says.
        """
        if self.grid is None or self.grid.source != "hierarchy":
            return {}
        largest_losses: dict[str, float] = {}
        for labels, losses in zip(self.ladder.labels[1:], self.ladder.loss[1:], strict=True):
            for label, loss in zip(labels, losses.tolist(), strict=True):
                if label is not None:
                    largest_losses[label] = max(largest_losses.get(label, 0.0), loss)
        return largest_losses

    def may_cut_before(self, rank: int) -> bool:
        """Whether a cell begins at a rank."""
        return (
            self.grid is None or rank >= len(self.grid.first) or int(self.grid.first[rank]) == rank
        )

    def limits(self) -> tuple[Floats, Floats]:
        """Per rank where its cell begins and ends, as a label states it."""
        if self.grid is None:
            return self.places, self.places
        missing = self.places[len(self.grid.starts) :]
        return np.append(self.grid.starts, missing), np.append(self.grid.ends, missing)


def axes_of(
    classes: ClassTable,
    schema: Schema,
    order: Sequence[str] | None = None,
    steps: Mapping[str, int | float | str] | None = None,
) -> tuple[Axis, ...]:
    """The dimensions of a table: first the columns that ``order`` names, then the others as they
    stand.

    ``steps`` are the grids that the recipe declares.
    """
    unknown = [name for name in order or () if name not in classes.columns]
    if unknown:
        raise SchemaError(
            [
                f"order names a column {n!r} that is not a "
                f"quasi-identifier.{did_you_mean(n, classes.columns)}"
                for n in unknown
            ]
        )
    names = dict.fromkeys([*(order or ()), *classes.columns])
    problems = []
    for n in steps or ():
        if n not in classes.columns:
            hint = did_you_mean(n, classes.columns)
            problems.append(f"grid names a column {n!r} that is no quasi-identifier.{hint}")
    axes = []
    for name in names:
        try:
            ladder = classes.ladders[classes.columns.index(name)]
            axes.append(_axis(name, schema[name], ladder, (steps or {}).get(name)))
        except SchemaError as error:
            problems += error.problems
    if problems:
        raise SchemaError(problems)
    return tuple(axes)


def _axis(
    column: str, attribute: Attribute, ladder: Ladder, step: int | float | str | None
) -> Axis:
    """A line where values can be put in order, else a tree where there is a hierarchy, else a
    set.
    """
    kind = attribute.kind
    hanging = ladder.depth > 1
    if kind in (Kind.NUMERIC, Kind.DATE):
        keys = _keys(ladder, _number if kind is Kind.NUMERIC else moment)
        if None not in keys.values():
            line = _line(column, kind, ladder, keys, step)
            if line is not None:
                return line
            return _plain_axis(column, ladder, "tree")
        if not hanging:
            wrong = sum(key is None for key in keys.values())
            raise SchemaError(
                f"column {column!r} is of kind {kind}, but {wrong} of its values cannot be read as"
                " such; correct them, give it a hierarchy, or make it nominal"
            )
    if step is not None:
        raise SchemaError(
            f"grid names column {column!r}, which holds neither numbers nor dates; remove it there"
        )
    if attribute.order is not None and (kind is Kind.ORDINAL or not hanging):
        return _ordered_axis(column, ladder, attribute.order)
    return _plain_axis(column, ladder, "tree" if hanging else "set")


def _keys(ladder: Ladder, read: Callable[[str], Any]) -> Document:
    return {label: read(label) for label in ladder.labels[0] if label is not None}


def _number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _line(
    column: str, kind: Kind, ladder: Ladder, keys: Fields, step: int | float | str | None
) -> Axis | None:
    """Numbers or dates on their grid; None where the hierarchy that should make the cells has no
    intervals.
    """
    # Equal numbers may be written in two ways, 1 and 1.0: then by their text.
    ordered = sorted(keys, key=lambda label: (keys[label], label))
    largest = max((abs(key) for key in keys.values()), default=0)
    # Very large numbers are scaled by the largest, so that products of them stay finite.
    scale = 1.0 if largest < HUGE else 1 / largest
    positions = np.array([keys[label] * scale for label in ordered], dtype=np.float64)
    span = 0.0
    if len(positions):
        span = float(positions[-1] - positions[0])
    values = [keys[label] for label in ordered]
    dates = kind is Kind.DATE
    if step is not None and dates != isinstance(step, str):
        expected = "a period such as month" if dates else "a number"
        raise SchemaError(f"grid of column {column!r}, which is of kind {kind}, must be {expected}")
    if step is None and _has_levels(ladder) and scale == 1.0:
        code = {label: i for i, label in enumerate(ladder.labels[0])}
        grid = hierarchy_grid(
            ladder, [code[label] for label in ordered], values, ordered if dates else None
        )
        if grid is None:
            return None
    elif dates:
        grid = date_grid(values, ordered, scale, None if step is None else str(step))
    else:
        grid = number_grid(values, scale, None if step is None or isinstance(step, str) else step)
    return _along(column, ladder, ordered, positions=positions, span=span, grid=grid)


def _has_levels(ladder: Ladder) -> bool:
    """Whether a hierarchy has more above its values than one node for all of them."""
    return ladder.depth > 1 and len({label for label in ladder.labels[1] if label is not None}) > 1


def _ordered_axis(column: str, ladder: Ladder, order: Sequence[str]) -> Axis:
    rank = {label: i for i, label in enumerate(order)}
    unlisted = sum(label not in rank for label in ladder.labels[0] if label is not None)
    if unlisted:
        raise SchemaError(
            f"column {column!r} has {unlisted} values that its order does not list; add them"
        )
    ordered = sorted((v for v in ladder.labels[0] if v is not None), key=rank.__getitem__)
    positions = np.array([rank[label] for label in ordered], dtype=np.float64)
    return _along(
        column,
        ladder,
        ordered,
        positions=positions,
        span=len(order) - 1.0,
        grid=ordered_grid(positions, ordered),
    )


def _along(
    column: str,
    ladder: Ladder,
    ordered: Sequence[str],
    positions: Floats,
    span: float,
    grid: LineGrid,
) -> Axis:
    labels: tuple[str | None, ...] = tuple(ordered)
    # Missing is the last rank, at no place on the line.
    if None in ladder.labels[0]:
        labels = (*labels, None)
        positions = np.append(positions, 0.0)
    rank = {label: i for i, label in enumerate(labels)}
    ranks = np.array([rank[label] for label in ladder.labels[0]], dtype=np.int64)
    return Axis(
        column,
        "line",
        ranks=ranks,
        labels=labels,
        places=positions,
        span=span,
        ladder=ladder,
        grid=grid,
    )


def _plain_axis(column: str, ladder: Ladder, form: Form) -> Axis:
    """A tree or a set: the codes of the ladder are in the right order already."""
    labels = tuple(ladder.labels[0])
    present = len(labels) - (None in labels)
    return Axis(
        column,
        form,
        ranks=np.arange(len(labels)),
        labels=labels,
        places=np.zeros(len(labels)),
        span=present - 1.0,
        ladder=ladder,
    )


def space_of(axes: Sequence[Axis], weights: Sequence[float]) -> kernels.points.Space:
    """The dimensions as arrays, for the loops."""
    sizes = [len(axis.labels) for axis in axes]
    trees = [_tree(axis) for axis in axes]
    forms = {"line": kernels.points.LINE, "tree": kernels.points.TREE, "set": kernels.points.SET}
    begins = np.cumsum([0, *sizes[:-1]])
    tree_begins = np.cumsum([0, *(len(nodes) for nodes, _ in trees[:-1])])
    # Order of the rows as in kernels.points: form, size, missing, where ranks and nodes begin.
    rows = [
        [forms[axis.form] for axis in axes],
        sizes,
        [axis.missing for axis in axes],
        begins,
        tree_begins,
    ]
    limits = [axis.limits() for axis in axes]
    node_rows = np.concatenate([nodes for nodes, _ in trees])
    node_losses = np.concatenate([losses for _, losses in trees])
    return kernels.points.Space(
        dims=np.array(rows, dtype=np.int64),
        scales=np.array([list(weights), [axis.span for axis in axes]], dtype=np.float64),
        limits=np.concatenate([np.stack(pair) for pair in limits], axis=1),
        cells=np.concatenate([np.stack([axis.first, axis.last]) for axis in axes], axis=1),
        nodes=node_rows,
        losses=node_losses,
    )


def _tree(axis: Axis) -> tuple[Ints, Floats]:
    """Per level and rank the node above and its loss; nothing where there is no tree."""
    if axis.form != "tree":
        return np.empty(0, dtype=np.int64), np.empty(0)
    climbs = [axis.ladder.climb(0, level) for level in range(axis.ladder.depth)]
    losses = [loss[climb] for loss, climb in zip(axis.ladder.loss, climbs, strict=True)]
    return np.concatenate(climbs), np.concatenate(losses)


def points_of(classes: ClassTable, axes: Sequence[Axis], room: int = 0) -> NDArray[np.int32]:
    """One row a class: its ranks, its records, its number; and some rows of room."""
    n = len(classes)
    d = len(axes)
    points = np.zeros((n + room, d + 2), dtype=np.int32)
    for a, axis in enumerate(axes):
        if n:
            points[:n, a] = axis.ranks[classes.codes(axis.column)]
    points[:n, d] = classes.records
    points[:n, d + 1] = np.arange(n)
    return points
