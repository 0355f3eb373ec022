"""Trees on predictors in bins: how values become bins, how a tree is grown, and where a record ends
in it.

A predictor is an array of bytes (see ``kernels/trees.py``): numbers are cut into at most 254 bins
between values that occur, and what is missing has a bin of its own, 0; categories without an order
are put into one that suits the target, by
:func:`level_order`. Growing looks at counts alone and takes, of equally good splits, the first
predictor and the lowest cut: where the target is one of classes, the order of the records does not
matter for the splits.

>>> import numpy as np
>>> smoker, ill = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 0])
>>> tree = grow(np.array([smoker], dtype=np.uint8), ill, classes=2, min_leaf=3)
>>> tree.feature.tolist(), tree.cut.tolist(), tree.order.tolist()
([0, -1, -1], [0, -1, -1], [0, 1, 2, 3, 4, 5])
>>> tree.canonical()
'(0,0)..'
>>> route(tree, np.array([[1, 0]], dtype=np.uint8)).tolist()
[2, 1]
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import kernels
from sfumato.errors import InternalError

COMPLEXITY = 1e-8
"""The share of the root's impurity that a split must gain at least (rpart calls it cp)."""
MOST_BINS = 254
"""Bins of values; 0 is kept for missing ones, 255 for what did not occur when a tree was grown."""
UNSEEN = 255
MOST_CLASSES = 64
"""Classes that a tree distinguishes; the rarest of more are one class to it."""
ENDLESS = 1 << 40


@dataclasses.dataclass(frozen=True, eq=False)
class DecisionTree:
    """A tree, its nodes in preorder; a leaf has −1 for feature, cut, left and right.

    ``order`` holds the records so that node *i* is the stretch from ``lo[i]`` to ``hi[i]`` of it. A
    record goes left when its bin in predictor ``feature[i]`` is at most ``cut[i]``.
    """

    nodes: NDArray[np.int64]
    order: NDArray[np.int64]

    def _row(self, number: int) -> NDArray[np.int64]:
        row: NDArray[np.int64] = self.nodes[number]
        return row

    @property
    def feature(self) -> NDArray[np.int64]:
        """The predictor of every split."""
        return self._row(0)

    @property
    def cut(self) -> NDArray[np.int64]:
        """The last bin that goes left."""
        return self._row(1)

    @property
    def left(self) -> NDArray[np.int64]:
        """Where records with a bin up to the cut go."""
        return self._row(2)

    @property
    def right(self) -> NDArray[np.int64]:
        """Where the others go."""
        return self._row(3)

    @property
    def parent(self) -> NDArray[np.int64]:
        """The node above; −1 above the root."""
        return self._row(4)

    @property
    def lo(self) -> NDArray[np.int64]:
        """Where the records of a node begin in ``order``."""
        return self._row(5)

    @property
    def hi(self) -> NDArray[np.int64]:
        """Where they end."""
        return self._row(6)

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The leaves, from left to right."""
        return np.flatnonzero(self.feature < 0)

    def records(self, node: int) -> NDArray[np.int64]:
        """The records the tree was grown on that fall into a node."""
        return self.order[self.lo[node] : self.hi[node]]

    def majority(self, target: NDArray[Any], classes: int) -> NDArray[np.int64]:
        """The most frequent class of every leaf, from left to right; of equally frequent ones the
        lowest.
        """
        parts = (
            np.bincount(target[self.records(leaf)], minlength=classes)
            for leaf in self.leaves.tolist()
        )
        return np.array([counts.argmax() for counts in parts], dtype=np.int64)

    def canonical(self) -> str:
        """The splits as text, in preorder: ``(feature,cut)`` for a split and ``.`` for a leaf.
        Equal texts, equal trees.
        """
        pairs = zip(self.feature.tolist(), self.cut.tolist(), strict=True)
        return "".join("." if feature < 0 else f"({feature},{cut})" for feature, cut in pairs)


def grow(
    bins: NDArray[np.uint8],
    target: NDArray[Any],
    *,
    classes: int | None,
    min_leaf: int,
    complexity: float = COMPLEXITY,
    depth: int | None = None,
) -> DecisionTree:
    """Grow a tree for a target on the predictors ``bins[f, record]``.

    Classes (codes below ``classes``) are split by Gini impurity: of all cuts of all predictors that
    leave ``min_leaf`` records on both sides the one that makes Σ_k L_k²/n_L + Σ_k R_k²/n_R largest,
    where L_k and R_k records of class k go left and right. Numbers (``classes=None``) are split
    by variance: S_L²/n_L + S_R²/n_R for the sums of the target on both sides. A node stays a leaf
    when it has fewer than 2·``min_leaf`` records, when it is pure, at ``depth``, or when no split
    gains ``complexity`` times the impurity of the root.

    Reference: L. Breiman et al., Classification and Regression Trees (1984), DOI
    10.1201/9781315139470.
    """
    bins = np.ascontiguousarray(bins, dtype=np.uint8)
    if bins.ndim != 2 or bins.shape[1] != len(target) or min_leaf < 1:
        raise InternalError(
            "a tree needs predictors × records as bins, a target for every record, and leaves of "
            "at least 1"
        )
    # Without a limit the number of records ends the tree.
    deepest = ENDLESS if depth is None else depth
    if classes is None:
        numbers = np.asarray(target, dtype=np.float64)
        # Around the mean: squares of large numbers would lose the differences.
        centred = numbers - (numbers.mean() if len(numbers) else 0.0)
        nodes, order = kernels.trees.grow_number_tree(
            bins, centred, min_leaf, float(complexity), deepest
        )
    else:
        if classes > UNSEEN:
            raise InternalError("a tree distinguishes at most 255 classes; join the rare ones")
        widths = bins.max(axis=1, initial=0).astype(np.int64) + 1
        codes = np.ascontiguousarray(target, dtype=np.uint8)
        nodes, order = kernels.trees.grow_class_tree(
            bins, widths, codes, classes, min_leaf, float(complexity), deepest
        )
    return DecisionTree(nodes, order.astype(np.int64))


def route(tree: DecisionTree, bins: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The leaf, as a number of a node, that each of some records falls into; ``UNSEEN`` bins go
    where more records went.
    """
    leaves: NDArray[np.int64] = kernels.trees.route_records(
        tree.nodes, np.ascontiguousarray(bins, dtype=np.uint8)
    )
    return leaves


def cuts_of(values: NDArray[np.float64], max_bins: int = MOST_BINS) -> NDArray[np.float64]:
    """Where numbers are cut into bins: half way between values that occur, into at most
    ``max_bins`` bins of about equal size.

    Missing values (NaN) do not count.

    >>> (
    ...     cuts_of(np.array([1.0, 1.0, 2.0, 4.0])).tolist(),
    ...     cuts_of(np.array([1.0, 2.0, 3.0, 4.0]), max_bins=2).tolist(),
    ... )
    ([1.5, 3.0], [2.5])
    """
    present_values = values[~np.isnan(values)]
    distinct, counts = np.unique(present_values, return_counts=True)
    if len(distinct) < 2:
        return np.zeros(0)
    gaps = distinct[1:] - distinct[:-1]
    middles: NDArray[np.float64] = distinct[:-1] + gaps / 2
    if len(distinct) <= max_bins:
        return middles
    # Cuts where the records below come nearest to equal shares; a frequent value may take several.
    below = np.cumsum(counts)[:-1]
    target_counts = np.arange(1, max_bins) * (counts.sum() / max_bins)
    cut_numbers = np.unique(np.minimum(np.searchsorted(below, target_counts), len(middles) - 1))
    return middles.take(cut_numbers)


def bin_numbers(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The bins of numbers: 0 for missing ones, 1 up to the first cut, and so on.

    >>> bin_numbers(np.array([np.nan, 1.0, 3.5]), np.array([1.5, 3.0])).tolist()
    [0, 1, 3]
    """
    bins = np.searchsorted(cuts, values) + 1
    return np.where(np.isnan(values), 0, bins).astype(np.uint8)


def fewer_classes(
    codes: NDArray[Any], classes: int, max_classes: int = MOST_CLASSES
) -> tuple[NDArray[np.uint8], int]:
    """Codes with at most ``max_classes`` classes: the most frequent ones keep theirs apart, all
    others are one class.

    >>> fewer_classes(np.array([0, 1, 1, 2, 2, 3]), 4, max_classes=3)
    (array([0, 1, 1, 2, 2, 0], dtype=uint8), 3)
    """
    if classes <= max_classes:
        return codes.astype(np.uint8), classes
    counts = np.bincount(codes, minlength=classes)
    # One class is kept for all that are not frequent.
    frequent = np.argsort(-counts, kind="stable")[: max_classes - 1]
    new_codes = np.zeros(classes, dtype=np.uint8)
    new_codes[np.sort(frequent)] = np.arange(1, max_classes)
    return new_codes[codes], max_classes


def level_order(
    levels: NDArray[Any],
    n_levels: int,
    target: NDArray[Any],
    classes: int | None,
    max_levels: int = UNSEEN,
) -> NDArray[np.uint8]:
    """The bin of every level of a category without an order, so that similar levels are neighbours.

    For numbers a level's score is its mean of the target. For classes it is (P(y | level) −
    P(y))·v, where v is the first right singular vector of the rows (P(y | level) − P(y))·√n_level:
    with two classes the best cut of that order is the best of all ways to part the levels in two.
    Levels that do not occur are ``UNSEEN``; where there are more than ``max_levels``, neighbours
    share a bin.

    Reference: D. Coppersmith, S. J. Hong and J. R. M. Hosking, Partitioning nominal attributes in
    decision trees, Data Mining and Knowledge Discovery 3 (1999), DOI 10.1023/A:1009869804967.

    >>> level_order(np.array([0, 0, 1, 1, 2, 2]), 4, np.array([1, 1, 0, 0, 1, 0]), 2).tolist()
    [2, 0, 1, 255]
    """
    counts = np.bincount(levels, minlength=n_levels)
    present = np.flatnonzero(counts)
    if classes is None:
        scores = np.bincount(levels, weights=target, minlength=n_levels)[present] / counts[present]
    else:
        scores = _class_scores(levels, n_levels, target, classes)[present]
    ranked = present[np.lexsort((present, scores))]
    bins = np.full(n_levels, UNSEEN, dtype=np.uint8)
    ranks = np.arange(len(ranked))
    if len(ranked) > max_levels:
        # Neighbours share bins by their share of the records, not by their number.
        before = np.cumsum(counts[ranked]) - counts[ranked]
        ranks = np.minimum(before * max_levels // counts.sum(), max_levels - 1)
    bins[ranked] = ranks
    return bins


def _class_scores(
    levels: NDArray[Any], n_levels: int, target: NDArray[Any], classes: int
) -> NDArray[np.float64]:
    """The scores of levels for a target of classes; rounded, so that what is equal but for the last
    digits is equal.
    """
    cells = levels.astype(np.int64) * classes + target
    joint = np.bincount(cells, minlength=n_levels * classes)
    table = joint.reshape(n_levels, classes).astype(np.float64)
    sizes = table.sum(axis=1)
    shares = table / np.maximum(sizes, 1)[:, None]
    apart = shares - table.sum(axis=0) / sizes.sum()
    apart[sizes == 0] = 0
    weighted = apart * np.sqrt(sizes)[:, None]
    direction = np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
    # The sign of a singular vector is arbitrary: a fixed one keeps trees the same everywhere.
    heaviest = np.flatnonzero(np.abs(direction) > np.abs(direction).max() / 2)
    direction *= np.sign(direction[heaviest[-1]])
    scores: NDArray[np.float64] = np.round(apart @ direction, 12)
    return scores
