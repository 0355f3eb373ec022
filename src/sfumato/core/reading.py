"""One column as it was and as it is released, in the same terms: what every released cell may stand
for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.encoding import Encoded, code_type, encode, tallied
from sfumato.core.groups import group_starts
from sfumato.core.hierarchy import TOP, Ladder, bind_column
from sfumato.core.labels import Labels, missing_in, positions_in, text_of, where_equal
from sfumato.core.narrow_numbers import narrowed, widened
from sfumato.core.nodes import Nodes, NodesOfLevel, OwnNodes
from sfumato.core.ranges import Range, day, number, range_in_order, range_of_days, range_of_numbers
from sfumato.core.schema import Attribute, Kind
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray


# A released cell is a point, a range, a set of values or a node of the column's hierarchy. Attacks
# and utility metrics ask the same questions of it: which original values fit, where it lies on the
# number line, and how much it leaves open.
#
# Several levels of a hierarchy may write the same label (``other`` of a hierarchy by frequency) for
# different values. Where the level of a column is known (one level for the whole column, as the
# plan of a recoding says), labels are read there; otherwise a label may stand for everything that
# any level writes it for.

Scale = Literal["number", "order", "category"]


@dataclasses.dataclass(frozen=True)
class ColumnLevel:
    """The level of its hierarchy that a whole column was released at, of so many (``top`` is the
    highest).
    """

    level: int
    top: int

    def on(self, ladder: Ladder) -> int | None:
        """The same level of a ladder; None where the ladder has other levels than the one that was
        climbed.

        A column that is kept or lost as a whole stands on the lowest or the highest level of any
        ladder.
        """
        if self.level in (0, self.top):
            return 0 if self.level == 0 else ladder.top
        return self.level if self.top == ladder.top else None


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """A column, original and released.

    ``values`` are the distinct original values and ``places`` where each lies on the line (the
    number, the day of a date, the rank of an ordered value; NaN for categories and missing).
    ``labels`` are the distinct released labels; label *i* stands for places from ``low[i]`` to
    ``high[i]`` (NaN where it is no place: categories, missing, labels that mean nothing here), and,
    on the scale ``category``, for the values ``members[starts[i]:starts[i+1]]``. ``everything``
    marks labels that fit every value. ``loss`` is Iyengar's: 0 for a point, 1 for everything, the
    share of the range or of the other values in between; a missing label has loss 1
    (see :meth:`TablePair.losses` for cells that were missing before). ``before`` and ``after`` are
    the column as codes. ``span`` is the width of all places, of the listed order, or the number of
    values less one. ``level`` is the level of the hierarchy that the labels were read at (None: at
    any). ``unplaced`` has, by label, the values that lie nowhere on a line and that it may
    stand for: codes that a listed order leaves out.
    """

    name: str
    scale: Scale
    values: Labels
    places: NDArray[np.float64]
    labels: Labels
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    everything: NDArray[np.bool_]
    loss: NDArray[np.float64]
    before: Encoded
    after: Encoded
    span: float
    level: int | None = None
    unplaced: Mapping[int, frozenset[int]] = dataclasses.field(default_factory=dict)

    @property
    def original(self) -> NDArray[np.int64]:
        """The code of every original row, widened again at every call."""
        return self.before.codes

    @property
    def released(self) -> NDArray[np.int64]:
        """The code of every released row, widened again at every call."""
        return self.after.codes

    @property
    def middle(self) -> NDArray[np.float64]:
        """Per label the middle of what it stands for; everything lies in the middle of the
        column.
        """
        return self.low / 2 + self.high / 2  # the sum of two large ends may be infinite

    @functools.cached_property
    def line(self) -> NDArray[np.int64]:
        """The original values that have a place, by code, in the order of the line; sorted once."""
        count = len(self.places) - int(np.isnan(self.places).sum())
        order = np.argsort(self.places)[:count]  # five times as quick as a stable sort
        line = self.places[order]
        if (line[1:] == line[:-1]).any():
            order = np.argsort(self.places, kind="stable")[:count]
        return order

    def fits(self, value: int, label: int) -> bool:
        """Whether a released label may stand for an original value, both given by code."""
        if self.everything[label]:
            return True
        if self.values[value] is None or self.labels[label] is None:
            return self.values[value] is None and self.labels[label] is None
        if self.scale == "category":
            return value in self.members[self.starts[label] : self.starts[label + 1]]
        if value in self.unplaced.get(label, ()):
            return True
        slack = 1e-9 * max(1.0, abs(self.span))
        low_end = self.low[label] - slack
        return bool(low_end <= self.places[value] <= self.high[label] + slack)

    def held_by(self, label: int) -> NDArray[np.bool_]:
        """Per original value whether a released label may stand for it."""
        if self.everything[label]:
            return np.ones(len(self.values), dtype=bool)
        if self.labels[label] is None:
            return missing_in(self.values)
        if self.scale == "category":
            is_held = np.zeros(len(self.values), dtype=bool)
            is_held[self.members[self.starts[label] : self.starts[label + 1]]] = True
            return is_held
        slack = 1e-9 * max(1.0, abs(self.span))
        is_above = self.places >= self.low[label] - slack
        is_below = self.places <= self.high[label] + slack
        inside: NDArray[np.bool_] = is_above & is_below
        inside[list(self.unplaced.get(label, ()))] = True
        return inside

    def widened(self) -> Reading:
        """The same, where labels that are no values themselves may stand for every value that was
        not released as itself.

        A hierarchy made from the data puts together what is rare there: in other rows than these,
        other values are.
        """
        if self.scale != "category":
            return self
        labels_present = set(self.labels)
        free = []
        for code, value in enumerate(self.values):
            if value is not None and value not in labels_present:
                free.append(code)
        sets = []
        for start, end in itertools.pairwise(self.starts.tolist()):
            sets.append(self.members[start:end].tolist())
        for code, label in enumerate(self.labels):
            if len(sets[code]) > 0 and label not in self.values and not self.everything[code]:
                sets[code] = sorted(
                    {*sets[code], *free}
                    - {v for v in sets[code] if self.values[v] in labels_present}
                )
        shares = [(len(members) - 1) / self.span if self.span > 0 else 0.0 for members in sets]
        return dataclasses.replace(
            self,
            starts=group_starts([len(members) for members in sets]),
            members=np.array([value for members in sets for value in members], dtype=np.int64),
            loss=np.maximum(self.loss, np.minimum(1.0, shares)),
            level=None,
        )

    def of_released(self, after: Encoded) -> Reading:
        """The same column where only some of the released rows are looked at: ``after`` has their
        codes.

        What a label stands for does not depend on the other labels, so nothing is read again.
        """
        positions = positions_in(self.labels, after.labels)
        inside = np.zeros(len(self.labels), dtype=bool)
        inside[positions] = True
        sizes = np.diff(self.starts)
        positions_of_new = enumerate(positions.tolist()) if self.unplaced else ()
        unplaced = {n: self.unplaced[old] for n, old in positions_of_new if old in self.unplaced}
        reading = dataclasses.replace(
            self,
            labels=after.labels,
            low=self.low[positions],
            high=self.high[positions],
            starts=group_starts(sizes[positions]),
            members=self.members[np.repeat(inside, sizes)],
            everything=self.everything[positions],
            loss=self.loss[positions],
            after=after,
            unplaced=unplaced,
        )
        if "line" in self.__dict__:  # sorted before
            reading.__dict__["line"] = self.line
        return reading

    def truthful(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Per released row whether its cell may stand for its original, or says nothing of it."""
        joint = Joint.of(self.before, self.after, rows)
        is_truthful: NDArray[np.bool_] = self.true_pairs(joint)[joint.which]
        return is_truthful

    def true_pairs(self, joint: Joint) -> NDArray[np.bool_]:
        """Per distinct pair of value and label whether the label may stand for the value, or says
        nothing at all of it.
        """
        blank, missing = missing_in(self.labels)[joint.label], missing_in(self.values)[joint.value]
        return blank | self.everything[joint.label] | (~missing & self._inside(joint))

    def _inside(self, joint: Joint) -> NDArray[np.bool_]:
        """Per pair whether the value is among the members of the label, or its place in the label's
        range.
        """
        value, label = joint.value, joint.label
        if self.scale != "category":
            slack, positions = 1e-9 * max(1.0, abs(self.span)), self.places[value]
            is_above = self.low[label] - slack <= positions
            is_below = positions <= self.high[label] + slack
            inside: NDArray[np.bool_] = is_above & is_below
            for index in np.flatnonzero(np.isnan(positions)) if self.unplaced else ():
                inside[index] = int(value[index]) in self.unplaced.get(int(label[index]), ())
            return inside
        return self.among_members(value, label)

    def among_members(
        self, value: NDArray[np.int64], label: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Per pair of a column of categories whether the value is among the members of the
        label.
        """
        sizes = np.diff(self.starts)
        if sizes.max(initial=0) <= 1:  # nothing but values
            only = np.full(len(self.labels), -1, dtype=np.int64)
            only[sizes == 1] = self.members
            is_only_member: NDArray[np.bool_] = only[label] == value
            return is_only_member
        width = max(1, len(self.values))
        holders = np.repeat(np.arange(len(self.labels)), sizes)
        is_member: NDArray[np.bool_] = np.isin(
            label * width + value, holders * width + self.members
        )
        return is_member


DENSE = 1 << 22
"""Pairs of codes up to this number are distinguished by a table, not by sorting."""


@dataclasses.dataclass(frozen=True, eq=False)
class Joint:
    """The distinct pairs of an original value and the label it was released as, in order of their
    codes.

    ``value`` and ``label`` are the codes of each pair, ``count`` says how many released records
    have it and ``which`` is the pair of every released row, in the narrowest type that holds it.
    What depends on a cell alone depends on these pairs. Where hardly two rows are alike they are
    as many as rows, so the first three are kept in narrow types and widened at every call.
    """

    narrow_value: NDArray[np.integer]
    narrow_label: NDArray[np.integer]
    narrow_count: NDArray[np.integer]
    codes: NDArray[np.integer]
    pair_of_code: NDArray[np.integer] | None = None
    """The pair of every code, where ``codes`` are not the pairs themselves."""

    @property
    def value(self) -> NDArray[np.int64]:
        """The code of the original value of every pair, widened again at every call."""
        return widened(self.narrow_value)

    @property
    def label(self) -> NDArray[np.int64]:
        """The code of the released label of every pair, widened again at every call."""
        return widened(self.narrow_label)

    @property
    def count(self) -> NDArray[np.int64]:
        """How many released records have each pair, widened again at every call."""
        return widened(self.narrow_count)

    @property
    def which(self) -> NDArray[np.integer]:
        """The pair of every released row, looked up at every call; sums do without it."""
        if self.pair_of_code is None:
            return self.codes
        return kernels.keys.map_codes(self.codes, self.pair_of_code)

    @classmethod
    def of(
        cls,
        before: Encoded,
        after: Encoded,
        rows: NDArray[np.int64],
        copies: NDArray[np.int64] | None = None,
    ) -> Joint:
        """The pairs of a column; released row *i*, ``copies[i]`` records, came from ``rows[i]``."""
        width, size = max(1, len(after.labels)), len(before.labels) * max(1, len(after.labels))
        if size > DENSE and (joint := cls._of_function(before, after, rows, copies)) is not None:
            return joint
        codes = before.narrow.take(rows).astype(np.min_scalar_type(size), copy=False)
        codes *= codes.dtype.type(width)
        codes += after.narrow.astype(codes.dtype, copy=False)
        if size > DENSE:
            used, which = np.unique(codes, return_inverse=True)
            return cls(*_parted(used, width), narrowed(tallied(which, len(used), copies)), which)
        amounts = tallied(codes, size, copies)
        used = np.flatnonzero(amounts)
        position = np.zeros(size, dtype=code_type(len(used)))
        position[used] = np.arange(len(used))
        return cls(*_parted(used, width), narrowed(amounts[used]), codes, position)

    @classmethod
    def _of_function(
        cls,
        before: Encoded,
        after: Encoded,
        rows: NDArray[np.int64],
        copies: NDArray[np.int64] | None,
    ) -> Joint | None:
        """The same where every value was released as one label: nothing has to be sorted. None
        where one was released as several.
        """
        values = before.narrow.take(rows)
        label = np.zeros(len(before.labels), dtype=after.narrow.dtype)
        label[values] = after.narrow
        if not (label[values] == after.narrow).all():
            return None
        amounts = tallied(values, len(before.labels), copies)
        used = np.flatnonzero(amounts)
        position = np.zeros(len(before.labels), dtype=code_type(len(used)))
        position[used] = np.arange(len(used))
        return cls(narrowed(used), label[used], narrowed(amounts[used]), values, position)


def _parted(pairs: NDArray[Any], width: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """The two codes of every pair."""
    wide = pairs.astype(np.int64)
    return narrowed(wide // width), narrowed(wide % width)


def read_column(
    name: str,
    attribute: Attribute,
    original: pl.Series,
    released: pl.Series,
    column_level: ColumnLevel | None = None,
) -> Reading:
    """Read a released column in terms of the original one; the two need not be of the same length.

    ``column_level`` is the level that the whole column was released at, where one is known.
    """
    return read_codes(
        name,
        attribute,
        (encode(original), encode(released)),
        (original.dtype, released.dtype),
        column_level,
    )


def read_codes(
    name: str,
    attribute: Attribute,
    encoded: tuple[Encoded, Encoded],
    types: tuple[pl.DataType, pl.DataType],
    column_level: ColumnLevel | None = None,
) -> Reading:
    """Read a released column in terms of the original one, both as codes;
    see :func:`read_column`.
    """
    before, after = encoded
    scale, positions = _positions_of(attribute, before, types[0])
    nodes, losses, level = _tree(attribute, before, after, scale, column_level)
    placed_positions = positions[~np.isnan(positions)]
    ends = (math.nan, math.nan)
    if placed_positions.size:
        ends = float(placed_positions.min()), float(placed_positions.max())
    low, high = _ranges(
        attribute, before, after, released=types[1], scale=scale, around=(positions, nodes, ends)
    )
    sizes, members = np.zeros(len(after.labels), dtype=np.int64), np.zeros(0, dtype=np.int64)
    if scale == "category":
        sizes, members = _sets(before.labels, after.labels, nodes)
    present_values = int((~missing_in(before.labels)).sum())
    span = _span(scale, attribute, ends, present_values)
    everything = where_equal(after.labels, TOP)
    return Reading(
        name,
        scale,
        values=before.labels,
        places=positions,
        labels=after.labels,
        low=low,
        high=high,
        starts=group_starts(sizes),
        members=members,
        everything=everything,
        loss=_loss_of_labels(losses, sizes, (low, high), span),
        before=before,
        after=after,
        span=span,
        level=level,
        unplaced={}
        if scale == "category"
        else _unplaced(before.labels, positions, after.labels, nodes),
    )


def _unplaced(
    values: Labels, positions: NDArray[np.float64], labels: Labels, nodes: Nodes
) -> dict[int, frozenset[int]]:
    """By label the values without a place that it may stand for: those below its node, or the one
    that is written so.
    """
    is_unplaced = np.isnan(positions) & ~missing_in(values)
    nowhere = set(np.flatnonzero(is_unplaced).tolist())
    if not nowhere:
        return {}
    alone = {values[i]: (i,) for i in nowhere}
    members_of = {}
    for code, label in enumerate(labels):
        members_of_label = nodes.get(label, alone.get(label, ()))
        members_of[code] = nowhere.intersection(
            np.asarray(members_of_label, dtype=np.int64).tolist()
        )
    return {code: frozenset(members) for code, members in members_of.items() if members}


def _tree(
    attribute: Attribute,
    before: Encoded,
    after: Encoded,
    scale: Scale,
    column_level: ColumnLevel | None,
) -> tuple[Nodes, NDArray[np.float64], int | None]:
    """The values below every label of the hierarchy, the loss of every released label (NaN: the
    hierarchy does not know it), and the level they are read at (None: any).

    Without a hierarchy each value is its own.

    A hierarchy that does not know the values of its own column says nothing about them: no step has
    used it.
    """
    if attribute.hierarchy is not None:
        with contextlib.suppress(SchemaError):
            ladder = bind_column(attribute.hierarchy, before)
            level = None if column_level is None else column_level.on(ladder)
            if level is not None and _all_on_level(after.labels, ladder, level):
                # Numbers released as they are lie where they lay: no node is looked up.
                unchanged = level == 0 and scale == "number"
                nodes = {} if unchanged else NodesOfLevel(ladder, level, before.labels)
                return nodes, _losses_of_level(ladder, level, after.labels), level
            below = _below(ladder, before.labels)
            return (
                _nodes(below, level),
                _known_losses(after.labels, _losses(ladder, below, level)),
                level,
            )
    if scale == "number":
        return {}, _known_losses(after.labels, {None: 1.0, TOP: 1.0}), None
    losses = np.where(positions_in(before.labels, after.labels) >= 0, 0.0, np.nan)
    return OwnNodes(before.labels), _with_all_lost(losses, after.labels), None


def _sets(
    values: Labels, labels: Labels, nodes: Nodes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many values each category stands for, and which, one category after the other."""
    if isinstance(nodes, OwnNodes):
        own = positions_in(values, labels)
    else:
        own = np.full(len(labels), -1)
    if (own >= 0).all():  # nothing but values
        return np.ones(len(labels), dtype=np.int64), own
    sets: list[Sequence[int] | NDArray[np.int64]] = []
    for position, label in zip(own.tolist(), labels, strict=True):
        if position >= 0:
            sets.append((position,))
        else:
            sets.append(_members(label, nodes))
    sizes = np.array([len(members) for members in sets], dtype=np.int64)
    arrays = [np.asarray(members, dtype=np.int64) for members in sets]
    return sizes, np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


def _all_on_level(labels: Labels, ladder: Ladder, level: int) -> bool:
    """Whether released labels, but for missing and suppressed cells, are all labels of one level:
    then no other is looked at.
    """
    odd = positions_in(ladder.labels[level], labels) < 0
    odd_labels = odd & ~missing_in(labels) & ~where_equal(labels, TOP)
    return not odd_labels.any()


def _losses_of_level(ladder: Ladder, level: int, labels: Labels) -> NDArray[np.float64]:
    """The loss of every released label that one level has."""
    positions = positions_in(ladder.labels[level], labels)
    losses = np.full(len(labels), np.nan)
    losses[positions >= 0] = ladder.loss[level][positions[positions >= 0]]
    return _with_all_lost(losses, labels)


def _known_losses(labels: Labels, losses: Mapping[str | None, float]) -> NDArray[np.float64]:
    """The loss of every released label that is known."""
    return np.array([losses.get(label, math.nan) for label in labels], dtype=np.float64)


def _with_all_lost(losses: NDArray[np.float64], labels: Labels) -> NDArray[np.float64]:
    """The losses, where a missing and a suppressed cell lose everything."""
    losses[missing_in(labels) | where_equal(labels, TOP)] = 1.0
    return losses


DAY_LENGTH = len("2024-03-15")


def _ranges(
    attribute: Attribute,
    before: Encoded,
    after: Encoded,
    released: pl.DataType,
    scale: Scale,
    around: tuple[NDArray[np.float64], Nodes, Range],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """From where to where every released label reaches; numbers are points, read without parsing
    their text.
    """
    if scale == "number" and attribute.kind is Kind.NUMERIC:
        points = _numbers_of_labels(after, released)
    else:
        points = None
    if points is not None:
        return points, points.copy()
    if scale == "category":
        return np.full(len(after.labels), np.nan), np.full(len(after.labels), np.nan)
    positions, nodes, ends = around
    timed = attribute.kind is Kind.DATE and bool((positions % 1 > 0).any())
    low, high = np.full(len(after.labels), np.nan), np.full(len(after.labels), np.nan)
    if scale == "number":
        own = positions_in(before.labels, after.labels)
    else:
        own = np.full(len(after.labels), -1)
    # A label that is an original value lies where the value lay. Where values have a time, a day
    # stands for all of its times.
    value = own >= 0
    if timed:
        value &= np.array(
            [label is not None and len(label) > DAY_LENGTH for label in after.labels], dtype=bool
        )
    low[value] = high[value] = positions[own[value]]
    for code in np.flatnonzero(~value).tolist():
        low[code], high[code] = _range(
            after.labels[code], attribute, positions, nodes, ends, timed=timed
        )
    return low, high


def _numbers_of_labels(encoded: Encoded, dtype: pl.DataType) -> NDArray[np.float64] | None:
    """The number of every label of a column of numbers, whose labels are written so that nothing is
    lost; None for others.
    """
    if not dtype.is_numeric():
        return None
    read = text_of(encoded.labels).cast(pl.Float64, strict=False)
    numbers = np.array(read.to_numpy(), dtype=np.float64)
    # decimals may be written as polars does not read them
    if read.null_count() != int(missing_in(encoded.labels).sum()):
        numbers = np.array(
            [math.nan if name is None else float(name) for name in encoded.labels], dtype=np.float64
        )
    return None if np.isinf(numbers).any() else numbers  # infinite values lie on no line


def _positions_of(
    attribute: Attribute, before: Encoded, dtype: pl.DataType
) -> tuple[Scale, NDArray[np.float64]]:
    """Where values lie on the line, and what kind of line it is."""
    values = before.labels
    if attribute.kind is Kind.NUMERIC and attribute.order is None:
        numbers = _numbers_of_labels(before, dtype)
        if numbers is not None:
            return "number", numbers
    if attribute.order is not None:
        ranks = {label: float(rank) for rank, label in enumerate(attribute.order)}
        return "order", np.array(
            [math.nan if v is None else ranks.get(v, math.nan) for v in values]
        )
    if attribute.kind is Kind.DATE and dtype == pl.Date:
        days = _days_of_labels(attribute, values)
        if days is not None:
            return "number", days
    locate: Callable[[str], float | None] | None = {
        Kind.NUMERIC: number,
        Kind.DATE: _day_in(attribute),
    }.get(attribute.kind)
    if locate is not None:
        positions = [None if v is None else locate(v) for v in values]
        if all(f is not None or v is None for f, v in zip(positions, values, strict=True)):
            return "number", np.array([math.nan if f is None else f for f in positions])
    return "category", np.full(len(values), np.nan)


def _days_of_labels(attribute: Attribute, values: Labels) -> NDArray[np.float64] | None:
    """The day of every label of a column of dates, read at once; None where the hierarchy reads one
    otherwise, or one is no date of ISO 8601.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is not None and any(
        hierarchy.day_of(value) is not None for value in values if value is not None
    ):
        return None
    days = text_of(values).str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
    if days.null_count() != int(missing_in(values).sum()):
        return None
    return np.array(days.to_numpy(), dtype=np.float64)


def _day_in(attribute: Attribute) -> Callable[[str], float | None]:
    """How dates of a column are read: as its hierarchy says that they are written, else as in ISO
    8601.
    """
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return day

    def read(value: str) -> float | None:
        own_day = hierarchy.day_of(value)
        return day(value) if own_day is None else own_day

    return read


def _below(ladder: Ladder, values: Labels) -> list[dict[str | None, frozenset[int]]]:
    """Per level and label of a hierarchy, the codes of the values below it."""
    code = {value: i for i, value in enumerate(values)}
    levels: list[dict[str | None, frozenset[int]]] = []
    for level, labels in enumerate(ladder.labels):
        below: dict[str | None, set[int]] = {}
        for leaf, node in enumerate(ladder.climb(0, level).tolist()):
            below.setdefault(labels[node], set()).add(code[ladder.labels[0][leaf]])
        levels.append({label: frozenset(codes) for label, codes in below.items()})
    return levels


def _nodes(
    below: Sequence[Mapping[str | None, frozenset[int]]], planned_level: int | None
) -> Nodes:
    """Per label the codes of the values below it: on the level that is known, else on any that has
    it.
    """
    nodes: dict[str | None, frozenset[int]] = {}
    for level in below:
        for label, codes in level.items():
            nodes[label] = nodes.get(label, codes) | codes
    nodes_of_labels = {
        **nodes,
        **({} if planned_level is None else below[planned_level]),
    }
    return {label: sorted(codes) for label, codes in nodes_of_labels.items()}


def _range(
    label: str | None,
    attribute: Attribute,
    positions: NDArray[np.float64],
    nodes: Nodes,
    ends: Range,
    *,
    timed: bool,
) -> Range:
    """What places a label stands for: everything, what its text says, or what its node holds.

    In a column of dates with times (``timed``) a day is a node, whose last moments its text may not
    say.
    """
    if label is None:
        return math.nan, math.nan
    if label == TOP:
        return ends
    spelled = _spelled_range(label, attribute, timed=timed)
    members = np.zeros(0)
    if spelled is None or timed:
        members = positions[np.asarray(nodes.get(label, ()), dtype=np.int64)]
        members = members[~np.isnan(members)]
    if spelled is not None:
        low, high = (
            (ends[0] if spelled[0] == -math.inf else spelled[0]),
            (ends[1] if spelled[1] == math.inf else spelled[1]),
        )
        if members.size:
            return (low, max(high, float(members.max())))
        return (low, high)
    if members.size:
        return (float(members.min()), float(members.max()))
    return (math.nan, math.nan)


def _spelled_range(label: str, attribute: Attribute, *, timed: bool) -> Range | None:
    if attribute.order is None:
        if attribute.kind is Kind.DATE:
            return range_of_days(label, timed=timed)
        return range_of_numbers(label)
    return range_in_order(label, {value: float(rank) for rank, value in enumerate(attribute.order)})


def _members(label: str | None, nodes: Nodes) -> Sequence[int] | NDArray[np.int64]:
    """The values a category stands for: its own, those below its node, or those of a set written
    with commas.
    """
    if label in nodes or label is None:
        return nodes.get(label, ())
    if label == TOP:
        return sorted({code for codes in nodes.values() for code in codes})
    parts = [part.strip() for part in label.strip("{}").split(",")]
    if len(parts) > 1 and all(part in nodes for part in parts):
        return sorted({code for part in parts for code in nodes[part]})
    return ()


def _span(scale: Scale, attribute: Attribute, ends: Range, values: int) -> float:
    if scale == "order" and attribute.order is not None:
        return float(len(attribute.order) - 1)
    if scale == "number":
        if math.isnan(ends[0]):
            return 0.0
        return ends[1] - ends[0]
    return float(values - 1)


def _losses(
    ladder: Ladder, below: Sequence[Mapping[str | None, frozenset[int]]], planned_level: int | None
) -> dict[str | None, float]:
    """The loss of every label: that of its node on the level that is known, else of the worst node
    it may stand for.

    A label that levels write for different values leaves all of them open: it loses no less than
    their share of the values.
    """
    other_values = max(1, len(ladder.labels[0]) - (None in ladder.labels[0]) - 1)
    losses: dict[str | None, float] = {}
    codes_of: dict[str | None, frozenset[int]] = {}
    for level, labels in enumerate(ladder.labels):
        for label, loss in zip(labels, ladder.loss[level].tolist(), strict=True):
            codes = below[level][label]
            every = codes_of.setdefault(label, codes) | codes
            if not every == codes_of[label] == codes:
                open_to = min(1.0, (len(every) - 1) / other_values)
            else:
                open_to = 0.0
            losses[label], codes_of[label] = max(losses.get(label, 0.0), loss, open_to), every
    if planned_level is None:
        at = {}
    else:
        losses_of_level = ladder.loss[planned_level].tolist()
        at = dict(zip(ladder.labels[planned_level], losses_of_level, strict=True))
    return {**losses, **at, None: 1.0, TOP: 1.0}


def _loss_of_labels(
    known_losses: NDArray[np.float64],
    members: NDArray[np.int64],
    ends: tuple[NDArray[np.float64], NDArray[np.float64]],
    span: float,
) -> NDArray[np.float64]:
    """The loss of every label: as the hierarchy says, or the share of the range or of the other
    values it leaves open.

    A label only the release has stands for itself.
    """
    losses = np.zeros(len(known_losses))
    if span > 0:
        # a span near zero: the quotient is infinite, and 1 the most it counts
        with np.errstate(over="ignore"):
            losses = np.where(members > 0, np.minimum(1.0, (members - 1.0) / span), 0.0)
        spans_of_labels = (ends[1] - ends[0]) / span
        losses = np.where(np.isnan(ends[0]), losses, np.minimum(1.0, spans_of_labels))
    return np.where(np.isnan(known_losses), losses, known_losses)
