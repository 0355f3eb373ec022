"""The dimensions along which local methods cut and join classes.

Numbers and dates lie on a line, and so do the values of a column with an order; values under a hierarchy hang in a tree;
all others are a set. Missing values come last in every order.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato import kernels
from sfumato.core.hierarchy import Ladder
from sfumato.core.schema import Attribute, Kind, Schema
from sfumato.errors import SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable

Form = Literal["line", "tree", "set"]
HUGE = 1e150
"""Numbers beyond this are scaled down, so that their differences stay finite."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """One dimension. ``ranks[code]`` is the place of a code in the order and ``labels[rank]`` its value.

    ``places`` and ``span`` say where the ranks of a line lie and how wide its domain is; ``join`` writes a range.
    """

    column: str
    form: Form
    ranks: NDArray[np.int64]
    labels: tuple[str | None, ...]
    places: NDArray[np.float64]
    span: float
    ladder: Ladder
    join: Callable[[str, str], str] = "{}..{}".format

    @property
    def missing(self) -> int:
        """The rank of missing values, −1 where there are none."""
        return len(self.labels) - 1 if self.labels and self.labels[-1] is None else -1


MIDNIGHT = " 00:00:00"
"""How a time ends that says no more than its day."""


def axes_of(classes: ClassTable, schema: Schema, order: Sequence[str] | None = None) -> tuple[Axis, ...]:
    """The dimensions of a table: first the columns that ``order`` names, then the others as they stand."""
    unknown = [name for name in order or () if name not in classes.columns]
    if unknown:
        raise SchemaError(
            [
                f"order names a column {n!r} that is no quasi-identifier.{did_you_mean(n, classes.columns)}"
                for n in unknown
            ]
        )
    names = dict.fromkeys([*(order or ()), *classes.columns])
    problems: list[str] = []
    axes = []
    for name in names:
        try:
            axes.append(_axis(name, schema[name], classes.ladders[classes.columns.index(name)]))
        except SchemaError as error:
            problems += error.problems
    if problems:
        raise SchemaError(problems)
    return tuple(axes)


def _axis(column: str, attribute: Attribute, ladder: Ladder) -> Axis:
    """A line where values can be put in order, else a tree where there is a hierarchy, else a set."""
    kind, hanging = attribute.kind, ladder.depth > 1
    if kind in (Kind.NUMERIC, Kind.DATE):
        keys = _keys(ladder, _number if kind is Kind.NUMERIC else _moment)
        if None not in keys.values():
            return _line(column, ladder, keys, _join_for(ladder, kind))
        if not hanging:
            wrong = sum(key is None for key in keys.values())
            raise SchemaError(
                f"column {column!r} is of kind {kind}, but {wrong} of its values cannot be read as such; "
                "correct them, give it a hierarchy, or make it nominal"
            )
    elif attribute.order is not None and (kind is Kind.ORDINAL or not hanging):
        return _ordered(column, ladder, attribute.order)
    return _plain(column, ladder, "tree" if hanging else "set")


def _keys(ladder: Ladder, read: Callable[[str], Any]) -> dict[str, Any]:
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


def _moment(text: str) -> int | None:
    """Nanoseconds since the year 1 of a date, a time with a date, or a time of the day."""
    written, _, finer = text.partition(" +")
    try:
        moment = datetime.datetime.fromisoformat(written)
    except ValueError:
        try:
            moment = datetime.datetime.combine(datetime.date.min, datetime.time.fromisoformat(written))
        except ValueError:
            return None
    start = datetime.datetime.min.replace(tzinfo=datetime.UTC if moment.tzinfo else None)
    nanoseconds = finer.removesuffix(" ns")
    extra = int(nanoseconds) if nanoseconds.isdigit() else 0
    return (moment - start) // datetime.timedelta(microseconds=1) * 1000 + extra


def _days(first: str, last: str) -> str:
    """A range of times that are all midnight, as the days they stand for."""
    return f"{first[: -len(MIDNIGHT)]}..{last[: -len(MIDNIGHT)]}"


def _join_for(ladder: Ladder, kind: Kind) -> Callable[[str, str], str]:
    if kind is Kind.DATE:
        midnights = all(label.endswith(MIDNIGHT) for label in ladder.labels[0] if label is not None)
        return _days if midnights else "{}..{}".format
    whole = all(label.isdecimal() for label in ladder.labels[0] if label is not None)
    return "{}-{}".format if whole else "[{}, {}]".format


def _line(column: str, ladder: Ladder, keys: Mapping[str, Any], join: Callable[[str, str], str]) -> Axis:
    ordered: list[str | None] = [*sorted(keys, key=lambda label: (keys[label], label))]
    largest = max((abs(key) for key in keys.values()), default=0)
    scale = 1.0 if largest < HUGE else 1 / largest
    places = np.array([keys[label] * scale for label in ordered if label is not None], dtype=np.float64)
    span = float(places[-1] - places[0]) if len(places) else 0.0
    return _along(column, ladder, ordered, places, span, join)


def _ordered(column: str, ladder: Ladder, order: Sequence[str]) -> Axis:
    rank = {label: i for i, label in enumerate(order)}
    unlisted = sum(label not in rank for label in ladder.labels[0] if label is not None)
    if unlisted:
        raise SchemaError(f"column {column!r} has {unlisted} values that its order does not list; add them")
    ordered: list[str | None] = [*sorted((v for v in ladder.labels[0] if v is not None), key=rank.__getitem__)]
    places = np.array([rank[label] for label in ordered if label is not None], dtype=np.float64)
    return _along(column, ladder, ordered, places, len(order) - 1.0, "{}..{}".format)


def _along(
    column: str,
    ladder: Ladder,
    ordered: list[str | None],
    places: NDArray[np.float64],
    span: float,
    join: Callable[[str, str], str],
) -> Axis:
    if None in ladder.labels[0]:
        ordered.append(None)
        places = np.append(places, 0.0)
    rank = {label: i for i, label in enumerate(ordered)}
    ranks = np.array([rank[label] for label in ladder.labels[0]], dtype=np.int64)
    return Axis(column, "line", ranks, tuple(ordered), places, span, ladder, join)


def _plain(column: str, ladder: Ladder, form: Form) -> Axis:
    """A tree or a set: the codes of the ladder are in the right order already."""
    labels = ladder.labels[0]
    present = len(labels) - (None in labels)
    return Axis(column, form, np.arange(len(labels)), labels, np.zeros(len(labels)), present - 1.0, ladder)


def space_of(axes: Sequence[Axis], weights: Sequence[float]) -> kernels.space.Space:
    """The dimensions as arrays, for the loops."""
    sizes = [len(axis.labels) for axis in axes]
    trees = [_tree(axis) for axis in axes]
    forms = {"line": kernels.space.LINE, "tree": kernels.space.TREE, "set": kernels.space.SET}
    begins = np.cumsum([0, *sizes[:-1]])
    tree_begins = np.cumsum([0, *(len(nodes) for nodes, _ in trees[:-1])])
    rows = [[forms[axis.form] for axis in axes], sizes, [axis.missing for axis in axes], begins, tree_begins]
    return kernels.space.Space(
        dims=np.array(rows, dtype=np.int64),
        scales=np.array([list(weights), [axis.span for axis in axes]], dtype=np.float64),
        places=np.concatenate([axis.places for axis in axes]),
        nodes=np.concatenate([nodes for nodes, _ in trees]),
        losses=np.concatenate([losses for _, losses in trees]),
    )


def _tree(axis: Axis) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Per level and rank the node above and its loss; nothing where there is no tree."""
    if axis.form != "tree":
        return np.empty(0, dtype=np.int64), np.empty(0)
    climbs = [axis.ladder.climb(0, level) for level in range(axis.ladder.depth)]
    losses = [loss[climb] for loss, climb in zip(axis.ladder.loss, climbs, strict=True)]
    return np.concatenate(climbs), np.concatenate(losses)


def points_of(classes: ClassTable, axes: Sequence[Axis], room: int = 0) -> NDArray[np.int32]:
    """One row a class: its ranks, its records, its number; and some rows of room."""
    n, d = len(classes), len(axes)
    points = np.zeros((n + room, d + 2), dtype=np.int32)
    for a, axis in enumerate(axes):
        points[:n, a] = axis.ranks[classes.codes(axis.column)] if n else 0
    points[:n, d] = classes.records
    points[:n, d + 1] = np.arange(n)
    return points
