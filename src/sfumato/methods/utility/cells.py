"""What the released cells of a column still say, per distinct pair of original value and released
label.

Everything the metrics of generalization need is a function of these pairs, of which there are few,
not of rows.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.encoding import encode_column, missing_in, positions_in
from sfumato.core.hierarchy import Ladder, bind_column
from sfumato.core.narrow_numbers import narrowed, repeated
from sfumato.core.reading import Joint, Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.pair import TablePair

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class CellFigures:
    """What a cell says, by node of a hierarchy or by pair: Iyengar's ``loss``, how many ``leaves``
    the label may stand for and how many original ``records`` have one of them.
    """

    loss: Floats
    leaves: Floats
    records: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """One column, original and released.

    ``value`` and ``label`` are the codes of each distinct pair, ``which`` the pair of every
    released row and ``rows`` how many records have it. Per pair: ``level`` is the level of the
    hierarchy the label is the value's node of (−1: of none); ``height`` that level over the
    highest, or that of the lowest node above everything the label may mean; ``loss`` is Iyengar's;
    ``leaves`` counts the values the label may stand for, ``records`` the original records that have
    one of them; ``fits`` tells whether the value is among them, ``lost`` whether nothing is left of
    the cell. ``column_level`` is the one level that explains every cell (None: there is none, as
    after local recoding); ``figures`` are then those of the nodes of that level, and ``node`` says
    which of them each pair has. ``counts`` says how often each value occurs and ``all_leaves`` how
    many there are; a missing value is one more that the top may stand for.
    """

    reading: Reading
    ladder: Ladder
    counts: Ints
    joint: Joint
    level: Ints
    height: Floats
    figures: CellFigures
    node: NDArray[np.integer] | None
    fits: Flags
    lost: Flags
    column_level: int | None
    all_leaves: float

    @property
    def value(self) -> Ints:
        """The code of the original value of every pair."""
        return self.joint.value

    @property
    def label(self) -> Ints:
        """The code of the released label of every pair."""
        return self.joint.label

    @property
    def rows(self) -> Ints:
        """How many released records have each pair."""
        return self.joint.count

    @property
    def which(self) -> NDArray[np.integer]:
        """The pair of every released row."""
        return self.joint.which

    @property
    def loss(self) -> Floats:
        """Iyengar's loss of every pair."""
        return self._of_pairs(self.figures.loss)

    @property
    def leaves(self) -> Floats:
        """How many values the label of every pair may stand for."""
        return self._of_pairs(self.figures.leaves)

    @property
    def records(self) -> Floats:
        """How many original records have one of these values."""
        return self._of_pairs(self.figures.records)

    def _of_pairs(self, figures: Floats) -> Floats:
        """What is held by node, of every pair: where hardly two rows are alike there are as many
        pairs as rows, and few nodes.
        """
        return figures if self.node is None else figures[self.node]

    def total(self, costs: NDArray[Any]) -> float:
        """The sum over released rows of a cost per pair."""
        return float((self.rows * costs).sum())


def cells_of(pair: TablePair, name: str) -> Cells | None:
    """The cells of a column, worked out once; None when the column was not released."""
    if name not in pair.released.columns:
        pair.original.require([name])
        return None
    if ("cells", name) not in pair.memo:
        pair.memo["cells", name] = _cells(pair, name)
    cells: Cells = pair.memo["cells", name]
    return cells


def _cells(pair: TablePair, name: str) -> Cells:
    reading = pair.reading(name)
    ladder = bind_column(pair.original.schema[name].hierarchy, reading.before)
    joint = pair.joint(name)
    label = joint.label
    leaf = ladder.codes_of(reading.values)[joint.value]
    level, column_level = _levels(ladder, reading, leaf, label, pair.as_it_was(name))
    blank = missing_in(reading.labels)[label]
    missing = missing_in(reading.values)[joint.value]
    # A blank loses something only where there was a value.
    lost = reading.everything[label] | (blank & ~missing)
    meanings = _Meant(reading, reading.before.counts, ladder)
    node: NDArray[np.integer] | None = None
    if column_level is not None:  # the nodes of that level say everything
        figures = _figures_of_nodes(ladder, meanings, column_level)
        node = narrowed(ladder.climb(0, column_level)[leaf])
        height = repeated(column_level / max(1, ladder.top), len(leaf))
    else:
        loss = np.where(blank & missing, 0.0, reading.loss[label])
        figures = _figures_of_pairs(ladder, meanings, (leaf, label, level), loss)
        # What is suppressed and no node may be any value and any record.
        nowhere = lost & (level < 0)
        figures.leaves[nowhere] = meanings.all_leaves
        figures.records[nowhere] = float(reading.before.counts.sum())
        height = _heights(ladder, meanings, leaf, label, level, lost)
    fits = (level >= 0) | lost
    open_cells = np.flatnonzero(~fits)
    fits[open_cells] = meanings.fit(joint.value[open_cells], label[open_cells])
    return Cells(
        reading=reading,
        ladder=ladder,
        counts=reading.before.counts,
        joint=joint,
        level=level,
        height=height,
        figures=CellFigures(
            figures.loss, np.maximum(1.0, figures.leaves), np.maximum(1.0, figures.records)
        ),
        node=node,
        fits=fits,
        lost=lost,
        column_level=column_level,
        all_leaves=meanings.all_leaves,
    )


def _figures_of_nodes(ladder: Ladder, meanings: _Meant, level: int) -> CellFigures:
    """The figures of the nodes of a level: the hierarchy knows their leaves, occurring or not, and
    their loss.
    """
    more_leaves = meanings.missing if level == ladder.top > 0 else 0
    records: Floats = np.bincount(
        ladder.climb(0, level), weights=meanings.by_leaf, minlength=len(ladder.labels[level])
    ).astype(np.float64, copy=False)
    return CellFigures(ladder.loss[level], ladder.leaves[level] + more_leaves, records)


def _figures_of_pairs(
    ladder: Ladder, meanings: _Meant, pairs: tuple[Ints, Ints, Ints], loss: Floats
) -> CellFigures:
    """The figures of every pair (its leaf, label and level), where labels differ in width, as after
    local recoding; ``loss`` is that of the labels.
    """
    leaf, label, level = pairs
    # Values and records of each label are counted by its run.
    order, starts, ends = meanings.ranges
    upto = np.concatenate([[0.0], np.cumsum(meanings.counts[order])])
    leaves = np.maximum(1.0, (ends - starts).astype(np.float64))[label]
    records = (upto[ends] - upto[starts])[label]
    # Where a label is a node, its figures are those of the node.
    for upper_level in np.unique(level[level >= 0]).tolist():
        at = level == upper_level
        node = ladder.climb(0, upper_level)[leaf[at]]
        nodes = _figures_of_nodes(ladder, meanings, upper_level)
        loss[at] = nodes.loss[node]
        leaves[at] = nodes.leaves[node]
        records[at] = nodes.records[node]
    return CellFigures(loss, leaves, records)


def _levels(
    ladder: Ladder,
    reading: Reading,
    leaf: Ints,
    label: Ints,
    unchanged: Flags,
) -> tuple[Ints, int | None]:
    """Per pair the lowest level on which the label is the value's node, and the lowest that
    explains all of them.

    The level that the column was read at goes before all others. ``unchanged`` says of which pairs
    the label is the value itself, as it is on the lowest level.
    """
    level = np.full(len(leaf), -1, dtype=np.int64)
    known_levels = [] if reading.level is None else [reading.level]
    # The level that the column is known to have is tried first: labels of several levels may look
    # alike.
    for upper_level in (*known_levels, *range(ladder.depth)):
        if upper_level == 0:
            is_same = unchanged
        else:
            label_of_node = positions_in(reading.labels, ladder.labels[upper_level])
            is_same = label_of_node[ladder.climb(0, upper_level)[leaf]] == label
        if len(leaf) and is_same.all():
            # one number that stands for all of them and takes no room
            return np.broadcast_to(np.int64(upper_level), len(leaf)), upper_level
        level[is_same & (level < 0)] = upper_level
    return level, None


class _Meant:
    """What every released label may stand for: how many values, how many records, which leaves of
    the hierarchy.
    """

    def __init__(self, reading: Reading, counts: Ints, ladder: Ladder) -> None:
        self.reading = reading
        self.counts = counts
        present = ~missing_in(reading.values)
        self.missing = int(not present.all())
        tops = ladder.leaves[-1]
        self.all_leaves = (
            float(tops.max() if ladder.top and len(tops) else present.sum()) + self.missing
        )
        self.leaf_of = ladder.codes_of(reading.values)
        self.by_leaf = np.zeros(len(ladder.labels[0]))
        self.by_leaf[self.leaf_of] = counts
        self.slack = 1e-9 * max(1.0, abs(reading.span))

    @functools.cached_property
    def ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The values in an order in which those of a label lie side by side, and where those of
        each label begin and end.
        """
        reading = self.reading
        if reading.scale == "category":
            return reading.members, reading.starts[:-1], reading.starts[1:]
        line = reading.places[reading.line]
        starts = np.searchsorted(line, reading.low - self.slack, "left")
        ends = np.searchsorted(line, reading.high + self.slack, "right")
        # A label that has no place stands for no value on the line.
        ends = np.where(np.isnan(reading.low), starts, np.maximum(starts, ends))
        return reading.line, starts, ends

    def fit(self, value: Ints, label: Ints) -> Flags:
        """Whether each label may stand for its value."""
        reading = self.reading
        if reading.scale == "category":
            return reading.among_members(value, label)
        position = reading.places[value]
        return (reading.low[label] - self.slack <= position) & (
            position <= reading.high[label] + self.slack
        )

    def outermost(self, label: int) -> tuple[int, int] | None:
        """The first and the last leaf of the hierarchy that a label may stand for, or None."""
        order, starts, ends = self.ranges
        leaves = self.leaf_of[order[starts[label] : ends[label]]]
        if not len(leaves):
            return None
        return (int(leaves.min()), int(leaves.max()))


def _heights(
    ladder: Ladder,
    meanings: _Meant,
    leaf: Ints,
    label: Ints,
    level: Ints,
    lost: Flags,
) -> Floats:
    """Level over highest level; for a label of no level, that of the lowest node above the value
    and all it may mean.

    Nodes hold neighbouring leaves, so the lowest node above some leaves is that of the first and
    the last of them.
    """
    height = np.where(level >= 0, level / max(1, ladder.top), 1.0)
    odd = np.flatnonzero((level < 0) & ~lost)
    if not ladder.top or not len(odd):
        return height
    ends = {code: meanings.outermost(code) for code in np.unique(label[odd]).tolist()}
    ranged = odd[[ends[code] is not None for code in label[odd].tolist()]]
    pairs = np.array([ends[code] for code in label[ranged].tolist()], dtype=np.int64).reshape(-1, 2)
    first = np.minimum(pairs[:, 0], leaf[ranged])
    last = np.maximum(pairs[:, 1], leaf[ranged])
    # From the top down: the lowest level that joins both ends is written last and stays.
    for upper_level in range(ladder.top, -1, -1):
        climb = ladder.climb(0, upper_level)
        height[ranged[climb[first] == climb[last]]] = upper_level / ladder.top
    return height


# How many different values a column can have, whatever was released of it.


def log_leaves(pair: TablePair, name: str) -> float:
    """The logarithm of the number of values of a column: leaves of its hierarchy or values that
    occur, missing included.
    """
    cells = cells_of(pair, name)
    if cells is not None:
        return math.log(max(1.0, cells.all_leaves))
    encoded = encode_column(pair.original, name)
    ladder = bind_column(pair.original.schema[name].hierarchy, encoded)
    missing = int(None in encoded.labels)
    if ladder.top and len(ladder.leaves[-1]):
        leaves = float(ladder.leaves[-1].max())
    else:
        leaves = len(encoded.labels) - missing
    return math.log(max(1.0, leaves + missing))
