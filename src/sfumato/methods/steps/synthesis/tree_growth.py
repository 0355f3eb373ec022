"""Trees that say which records a value may be taken from, and draws from their leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.groups import group_starts
from sfumato.methods.formulas import trees
from sfumato.methods.steps.synthesis.material import SKEWED, VALUE, ColumnForm, Material, rounded_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.synthesis.material import Floats, Rows
    from sfumato.methods.steps.synthesis.rules import Clause

    Mask = NDArray[np.bool_]

NOBODY = -1


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Predictor:
    """A column that others are predicted from: what is learnt from, and how drawn values are shown
    to a tree.

    Numbers are shown as bins; categories without an order as codes, because the order of their
    levels depends on what is predicted.
    """

    form: ColumnForm
    levels: int
    shown: NDArray[Any]
    cuts: Floats

    @classmethod
    def of(cls, material: Material) -> Predictor:
        """The column that others are predicted from."""
        if material.form is ColumnForm.CATEGORIES:
            return cls(material.form, material.levels, material.codes, np.zeros(0))
        # Numbers are cut once; categories are ordered again for every target.
        cuts = trees.cuts_of(material.values)
        return cls(material.form, 0, trees.bin_numbers(material.values, cuts), cuts)

    def show(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Drawn codes or values as a tree is shown them."""
        if self.form is ColumnForm.CATEGORIES:
            return raw
        return trees.bin_numbers(raw, self.cuts)

    def levels_for(
        self, rows: Rows | None, target: NDArray[Any], classes: int | None
    ) -> NDArray[np.uint8] | None:
        """The bins of its levels that suit a target; None: it is shown as bins already."""
        if self.form is not ColumnForm.CATEGORIES:
            return None
        return trees.level_order(self.of_rows(rows), self.levels, target, classes)

    def of_rows(self, rows: Rows | None) -> NDArray[Any]:
        """What is shown of some records; None: of all."""
        if rows is None:
            return self.shown
        return self.shown[rows]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Grown:
    """A tree for one target, grown on some of the records (``rows``; None: all), and how its
    predictors are shown to it.
    """

    tree: trees.DecisionTree
    keys: tuple[Any, ...]
    levels: tuple[NDArray[np.uint8] | None, ...]
    rows: Rows | None

    @classmethod
    def on(
        cls,
        predictors: Mapping[Any, Predictor],
        target: NDArray[Any],
        classes: int | None,
        rows: Rows | None,
        min_leaf: int,
    ) -> Grown:
        """Grow it; the target is given for the rows it is grown on."""
        if classes is not None:
            # Rare classes are joined for growing only; cells are drawn from records, not from
            # classes.
            target, classes = trees.fewer_classes(target, classes)
        levels = tuple(p.levels_for(rows, target, classes) for p in predictors.values())
        bins = np.empty((len(predictors), len(target)), dtype=np.uint8)
        for number, (predictor, order) in enumerate(zip(predictors.values(), levels, strict=True)):
            values = predictor.of_rows(rows)
            bins[number] = values if order is None else order[values]
        tree = trees.grow(bins, target, classes=classes, min_leaf=min_leaf)
        return cls(tree, tuple(predictors), levels, rows)

    def leaves(self, predictor_values: Mapping[Any, NDArray[Any]], size: int) -> Rows:
        """The leaves that drawn records fall into."""
        bins = np.empty((len(self.keys), size), dtype=np.uint8)
        for number, (key, order) in enumerate(zip(self.keys, self.levels, strict=True)):
            values = predictor_values[key]
            bins[number] = values if order is None else order[values]
        return trees.route(self.tree, bins)

    def within(self, mask: Mask) -> Mask:
        """A mask of all records for those it was grown on."""
        if self.rows is None:
            return mask
        return mask[self.rows]

    def records(self, positions: Rows) -> Rows:
        """Records by their places among those it was grown on; nobody stays nobody."""
        if self.rows is None:
            return positions
        return np.where(positions >= 0, self.rows[np.maximum(positions, 0)], NOBODY)

    def own(self, records: Rows | None) -> Rows | None:
        """The places of records among those it was grown on; −1 for those it was not grown on."""
        if records is None or self.rows is None:
            return records
        last_row = max(int(self.rows.max(initial=-1)), int(records.max(initial=-1)))
        size = 1 + last_row
        # Inverse of rows: where each record stands among those the tree was grown on.
        positions = np.full(size, NOBODY)
        positions[self.rows] = np.arange(len(self.rows))
        return np.where(records >= 0, positions[np.maximum(records, 0)], NOBODY)


def pick_records(
    tree: trees.DecisionTree,
    leaves: Rows,
    uniforms: Floats,
    allowed: Mask | None = None,
    own: Rows | None = None,
) -> Rows:
    """One record of each leaf, all equally likely: of those ``allowed``, and not the ``own`` one.

    A leaf without any hands over to the node above it; −1 where there is none in the whole tree.
    """
    if allowed is None and own is None:
        sizes = tree.hi[leaves] - tree.lo[leaves]
        # Records of a leaf lie side by side: a uniform number picks one of them.
        return tree.order[tree.lo[leaves] + (uniforms * sizes).astype(np.int64)]
    if allowed is None:
        open_ = np.ones(len(tree.order), dtype=np.bool_)
    else:
        open_ = allowed
    # before[p] allowed records stand before position p: differences count within any node.
    before = group_starts(open_[tree.order])
    positions, self_open = _own_positions(tree, own, open_, len(leaves))
    node = leaves.copy()
    todo = np.arange(len(leaves))
    counts = np.zeros(len(leaves), dtype=np.int64)
    inside = np.zeros(len(leaves), dtype=np.bool_)
    # Leaves without a donor climb to their parent, at most as often as the tree is deep.
    while len(todo):
        lo = tree.lo[node[todo]]
        hi = tree.hi[node[todo]]
        is_behind = positions[todo] >= lo
        is_before = positions[todo] < hi
        inside[todo] = self_open[todo] & is_behind & is_before
        counts[todo] = before[hi] - before[lo] - inside[todo]
        todo = todo[(counts[todo] == 0) & (node[todo] > 0)]
        node[todo] = tree.parent[node[todo]]
    rank = before[tree.lo[node]] + (uniforms * counts).astype(np.int64)
    # The own record is skipped: ranks from its position on move up by one.
    rank += inside & (rank >= before[np.maximum(positions, 0)])
    selected = np.searchsorted(before, rank, side="right") - 1
    positions_taken = np.minimum(selected, len(tree.order) - 1)
    return np.where(counts > 0, tree.order[positions_taken], NOBODY)


def _own_positions(
    tree: trees.DecisionTree, own: Rows | None, open_: Mask, size: int
) -> tuple[Rows, Mask]:
    """Where in the order of the tree the own record of each is, and whether it could be picked."""
    if own is None:
        return np.full(size, NOBODY), np.zeros(size, dtype=np.bool_)
    inverse = np.empty(len(tree.order), dtype=np.int64)
    inverse[tree.order] = np.arange(len(tree.order))
    has_own = own >= 0
    some_record = np.maximum(own, 0)
    return np.where(has_own, inverse[some_record], NOBODY), has_own & open_[some_record]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AllowedValues:
    """Drawn records (by their places) that rules allow some values only: the records whose value
    they may have, and what is asked.
    """

    places: Rows
    allowed: Mask
    conditions: tuple[Clause, ...]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DrawnColumn:
    """What was drawn for a column: the record each cell is taken from, and numbers where they were
    smoothed.
    """

    donors: Rows
    values: Floats | None

    def raw(self, training: Material) -> NDArray[Any]:
        """What rules compare, and what others are predicted from."""
        if self.values is None:
            return training.raw[self.donors]
        return self.values


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Learnt:
    """What was learnt of one column: a tree for its state (numbers with missing values or special
    codes), one for its values.
    """

    material: Material
    state: Grown | None
    value: Grown | None

    @classmethod
    def of(
        cls,
        material: Material,
        predictors: Mapping[Any, Predictor],
        min_leaf: int,
        open_: Mask | None = None,
    ) -> Learnt:
        """Learn from the records that no rule fixes (``open_``; None: all)."""
        rows = None
        if not (open_ is None or open_.all() or not open_.any()):
            rows = np.flatnonzero(open_)
        open_rows = slice(None) if rows is None else rows
        if material.by_class:
            codes = material.codes[open_rows]
            return cls(material, None, Grown.on(predictors, codes, material.levels, rows, min_leaf))
        state = material.state[open_rows]
        # Missing and special codes are states of their own, drawn before the number.
        is_value = state == VALUE
        if is_value.all():
            return cls(material, None, cls._values(material, predictors, min_leaf, rows))
        by_state = Grown.on(predictors, state, int(material.state.max()) + 1, rows, min_leaf)
        value_rows = np.flatnonzero(is_value)
        if rows is not None:
            value_rows = rows[is_value]
        by_value = None
        if len(value_rows):
            by_value = cls._values(material, predictors, min_leaf, value_rows)
        return cls(material, by_state, by_value)

    @staticmethod
    def _values(
        material: Material, predictors: Mapping[Any, Predictor], min_leaf: int, rows: Rows | None
    ) -> Grown:
        if rows is None:
            values = material.values
        else:
            values = material.values[rows]
        return Grown.on(predictors, _unskew(values), None, rows, min_leaf)

    def draw(
        self,
        predictor_values: Mapping[Any, NDArray[Any]],
        size: int,
        stream: np.random.Generator,
        limits: Sequence[AllowedValues] = (),
        own: Rows | None = None,
    ) -> DrawnColumn:
        """A value for every drawn record; a donor of −1 where the rules leave none."""
        donors = np.zeros(size, dtype=np.int64)
        is_value = np.ones(size, dtype=np.bool_)
        if self.state is not None:
            donors, _ = self._drawn_by(self.state, predictor_values, size, stream, limits, own)
            state_of_donor = self.material.state[np.maximum(donors, 0)]
            is_value = (donors >= 0) & (state_of_donor == VALUE)
        if self.value is None:
            return DrawnColumn(donors, None)
        value_donors, leaves = self._drawn_by(
            self.value, predictor_values, size, stream, limits, own
        )
        donors = np.where(is_value, value_donors, donors)
        if not self.material.smooth:
            return DrawnColumn(donors, None)
        values = self.material.values[np.maximum(donors, 0)]
        smoothed = self._smoothed(self.value, leaves, values, is_value & (donors >= 0), stream)
        return DrawnColumn(donors, smoothed)

    def _drawn_by(
        self,
        grown: Grown,
        predictor_values: Mapping[Any, NDArray[Any]],
        size: int,
        stream: np.random.Generator,
        limits: Sequence[AllowedValues],
        own: Rows | None,
    ) -> tuple[Rows, Rows]:
        leaves = grown.leaves(predictor_values, size)
        # One draw for all: records that rules limit reuse theirs on fewer donors.
        uniforms = stream.random(size)
        positions = pick_records(grown.tree, leaves, uniforms, own=grown.own(own))
        for limited in limits:
            at = limited.places
            own_rows = None
            if own is not None:
                own_rows = grown.own(own[at])
            open_records = grown.within(limited.allowed)
            positions[at] = pick_records(
                grown.tree, leaves[at], uniforms[at], open_records, own_rows
            )
        return grown.records(positions), leaves

    def _smoothed(
        self,
        grown: Grown,
        leaves: Rows,
        values: Floats,
        is_value: Mask,
        stream: np.random.Generator,
    ) -> Floats:
        """Values moved by normal noise as wide as their leaf says, reflected at the bounds of the
        column, and rounded.
        """
        widths = _widths(grown, self.material)[leaves]
        noisy_values = values + widths * stream.standard_normal(len(values))
        low, high = self.material.bounds
        # Mirrored at the bounds: no pile of records on the bound itself.
        noisy_values = np.where(noisy_values < low, 2 * low - noisy_values, noisy_values)
        noisy_values = np.where(noisy_values > high, 2 * high - noisy_values, noisy_values)
        noisy_values = rounded_to(np.clip(noisy_values, low, high), self.material.step)
        return np.where(is_value & (widths > 0), noisy_values, values)


def _unskew(values: Floats) -> Floats:
    """The values, or their ranks where they are so skewed that a few of them would decide every
    split.
    """
    spread = values.std() if len(values) else 0.0
    if not spread > 0:
        return values
    if abs((((values - values.mean()) / spread) ** 3).mean()) <= SKEWED:
        return values
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    # Equal values share the mean of their ranks: counts 2, 1 → 1.5, 1.5, 3.
    ranks: Floats = (ends - (counts - 1) / 2)[inverse]
    return ranks


def bandwidths(values: Floats, starts: Rows, ends: Rows) -> Floats:
    r"""The width of kernels for stretches of values that ascend
    within each: :math:`0.9 \min(s, IQR/1.34)\, m^{-1/5}`.

    Reference: B. W. Silverman, Density Estimation for Statistics and Data Analysis (1986), equation
    3.31.

    >>> bandwidths(np.array([1.0, 2.0, 3.0, 4.0, 7.0]), np.array([0]), np.array([5])).round(
    ...     6
    ... ).tolist()
    [0.973585]
    """
    sizes = ends - starts
    # Around the mean of all: squares of large numbers would lose the spread within leaves.
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean() if len(values) else values)])
    squares = np.concatenate(
        [[0.0], np.cumsum((values - values.mean()) ** 2 if len(values) else values)]
    )
    total = sums[ends] - sums[starts]
    square = squares[ends] - squares[starts]
    variance = square - total**2 / np.maximum(sizes, 1)
    spread = np.sqrt(np.maximum(variance, 0) / np.maximum(sizes - 1, 1))

    def quantile(share: float) -> Floats:
        positions = starts + share * (sizes - 1)
        low = np.floor(positions).astype(np.int64)
        part = positions - low
        next_positions = np.minimum(low + 1, ends - 1)
        quantiles: Floats = values[low] * (1 - part) + values[next_positions] * part
        return quantiles

    narrow = np.minimum(spread, (quantile(0.75) - quantile(0.25)) / 1.34)
    widths: Floats = 0.9 * narrow * sizes**-0.2
    return widths


def _widths(grown: Grown, material: Material) -> Floats:
    """The width of the kernel in every leaf, by the number of the node; 0 for other nodes."""
    tree = grown.tree
    leaves = grown.tree.leaves
    records = grown.records(tree.order)
    leaf_of = np.repeat(np.arange(len(leaves)), tree.hi[leaves] - tree.lo[leaves])
    values = material.values[records]
    ascending = values[np.lexsort((values, leaf_of))]
    widths = np.zeros(tree.nodes.shape[1])
    widths[leaves] = bandwidths(ascending, tree.lo[leaves], tree.hi[leaves])
    return widths
