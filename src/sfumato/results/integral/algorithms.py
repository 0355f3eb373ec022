"""Algorithms whose results are made canonical, so that they can recur: means, regressions, stumps
and trees.
"""

from __future__ import annotations

import abc
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from sfumato.core.encoding import numbers_of
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.formulas.trees import MOST_BINS, DecisionTree, grow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

Grid = Annotated[
    float | None,
    Field(gt=0, allow_inf_nan=False, description="results are multiples of this; None: exact"),
]
Predictors = Annotated[
    Sequence[str], Field(min_length=1), AfterValidator(lambda names: tuple(dict.fromkeys(names)))
]


def exact(value: float) -> Fraction:
    """A number as it is written: 0.1 is 1/10.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    # repr gives the shortest decimal that names the double. Fraction(0.1) would be the double
    # itself, with a denominator of 2**55, and sums of such numbers would hardly ever be equal.
    return Fraction(repr(float(value)))


def on_grid(value: Fraction, grid: float | None) -> Fraction:
    """The nearest multiple of the grid; half way, the even one.

    >>> on_grid(Fraction(3, 2), 1.0), on_grid(Fraction(3, 2), None)
    (Fraction(2, 1), Fraction(3, 2))
    """
    if grid is None:
        return value
    step = exact(grid)
    # round() of a Fraction is exact, so equal values always fall on the same multiple
    return round(value / step) * step


class PreparedAlgorithm(abc.ABC):
    """An algorithm bound to a table: what a set of its records gives, in canonical form, and what
    that is worth.
    """

    @property
    def recurs(self) -> bool:
        """Whether results of sampled sets can be equal at all: in floating point without a grid
        they cannot.
        """
        return True

    @abc.abstractmethod
    def form(self, rows: NDArray[np.int64], *, exactly: bool) -> Hashable | None:
        """The result of a set of records; None where there is none."""

    @abc.abstractmethod
    def utility(self, form: Any) -> float:
        """How good a result is for all records; more is better."""

    @abc.abstractmethod
    def told(self, form: Any) -> Any:
        """The result as it is published, as plain data."""


class IntegralAlgorithm(abc.ABC):
    """Something that is computed from records. Frozen, validated, named."""

    name: ClassVar[str]

    @property
    @abc.abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""

    @abc.abstractmethod
    def on(self, dataset: Table) -> PreparedAlgorithm:
        """The algorithm bound to a table."""


def complete_numbers(dataset: Table, name: str) -> NDArray[np.float64]:
    """A column of numbers of which none is missing."""
    values = numbers_of(dataset, name)
    gaps = int(np.isnan(values).sum())
    if gaps:
        raise SchemaError(
            f"column {name!r} has {gaps:,} missing value(s), but a result needs all values; remove "
            "these records first"
        )
    return values


@parameters
class MeanOf(IntegralAlgorithm):
    """The mean of a column of numbers, as a multiple of ``grid``.

    >>> MeanOf("cost", grid=100).columns
    ('cost',)
    """

    column: Annotated[str, Field(description="the column of numbers")]
    grid: Grid = None

    name: ClassVar[str] = "mean"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def on(self, dataset: Table) -> MeanRuns:
        """The numbers of a table."""
        return MeanRuns(complete_numbers(dataset, self.column), self.grid)


class MeanRuns(PreparedAlgorithm):
    """Means of records, in exact fractions: ``scaled[i] / scale + lowest`` is the value of record
    *i*, ``scaled`` whole and not negative.
    """

    def __init__(self, values: NDArray[np.float64], grid: float | None) -> None:
        fractions = [exact(value) for value in values.tolist()]
        self.grid = grid
        # counted from the lowest value all numbers are non-negative, which the recurrence over sums
        # needs, and sums stay as small as they can
        self.lowest = min(fractions, default=Fraction(0))
        self.scale = int(
            # an array of objects: Python's whole numbers do not overflow
            np.lcm.reduce(
                np.array([(f - self.lowest).denominator for f in fractions] or [1], dtype=object)
            )
        )
        self.scaled = [int((f - self.lowest) * self.scale) for f in fractions]
        self.mean = sum(fractions, Fraction(0)) / max(1, len(fractions))

    def of_sum(self, total: int, size: int) -> Fraction:
        """The result of ``size`` records whose scaled values have a sum."""
        return on_grid(Fraction(total, size * self.scale) + self.lowest, self.grid)

    def form(self, rows: NDArray[np.int64], *, exactly: bool) -> Fraction:
        """The mean of some records."""
        return self.of_sum(sum(self.scaled[row] for row in rows.tolist()), len(rows))

    def utility(self, form: Fraction) -> float:
        """Nearness to the mean of all records."""
        return -float(abs(form - self.mean))

    def told(self, form: Fraction) -> float:
        """The mean as a number."""
        return float(form)


@parameters
class RegressionOf(IntegralAlgorithm):
    """The least-squares line of a column by others: intercept and coefficients, each a multiple of
    ``grid``.

    Sets of records that do not determine it give no result. All sets together are computed in exact
    fractions, samples in floating point, which needs a grid.

    >>> RegressionOf("cost", by=["age"], grid=0.5).columns
    ('cost', 'age')
    """

    target: Annotated[str, Field(description="the column that is explained")]
    by: Annotated[Predictors, Field(description="the columns it is explained by")]
    grid: Grid = None

    name: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        if self.target in self.by:
            raise ParameterError(
                "RegressionOf: a column cannot explain itself; remove it from the predictors"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The target, then the predictors."""
        return (self.target, *self.by)

    def on(self, dataset: Table) -> RegressionRuns:
        """The numbers of a table."""
        return RegressionRuns(
            [complete_numbers(dataset, name) for name in self.columns], self.by, self.grid
        )


class RegressionRuns(PreparedAlgorithm):
    """Lines through records."""

    def __init__(
        self, columns: Sequence[NDArray[np.float64]], names: Sequence[str], grid: float | None
    ) -> None:
        self.outcome, self.names, self.grid = columns[0], names, grid
        self.design = np.column_stack([np.ones(len(columns[0])), *columns[1:]])

    @property
    def recurs(self) -> bool:
        """Only with a grid."""
        return self.grid is not None

    def form(self, rows: NDArray[np.int64], *, exactly: bool) -> tuple[Fraction, ...] | None:
        """Intercept and coefficients of some records; None where several lines are equally good."""
        design, outcome = self.design[rows], self.outcome[rows]
        # where all sets are tried a result can be disproved, so equality must not depend on
        # rounding
        if exactly:
            solved = _solve_exactly(
                [[exact(v) for v in row] for row in design.tolist()],
                [exact(v) for v in outcome.tolist()],
            )
            if solved is None:
                return None
            return tuple(on_grid(value, self.grid) for value in solved)
        # too few or collinear records: lstsq would still return one of many solutions
        if len(rows) < design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
            return None
        coefficients = np.linalg.lstsq(design, outcome, rcond=None)[0]
        step = exact(self.grid or 1.0)
        # a whole number of exact steps: as floats, equal multiples could differ in the last digit
        return tuple(round(float(value)) * step for value in np.rint(coefficients / float(step)))

    def utility(self, form: tuple[Fraction, ...]) -> float:
        """Minus the mean squared error over all records."""
        fitted = self.design @ np.array([float(value) for value in form])
        return -float(((self.outcome - fitted) ** 2).mean())

    def told(self, form: tuple[Fraction, ...]) -> dict[str, float]:
        """Intercept and coefficients by name."""
        return dict(zip(("intercept", *self.names), (float(value) for value in form), strict=True))


def _solve_exactly(design: list[list[Fraction]], outcome: list[Fraction]) -> list[Fraction] | None:
    """The solution of the normal equations in exact fractions; None where they have several."""
    width = len(design[0])
    rows = [
        [sum((row[i] * row[j] for row in design), Fraction(0)) for j in range(width)]
        + [sum((row[i] * y for row, y in zip(design, outcome, strict=True)), Fraction(0))]
        for i in range(width)
    ]
    # Gauss-Jordan elimination. Fractions are exact, so any pivot that is not zero is good enough.
    for pivot in range(width):
        pivot_row = next((i for i in range(pivot, width) if rows[i][pivot]), None)
        if pivot_row is None:
            return None
        rows[pivot], rows[pivot_row] = rows[pivot_row], rows[pivot]
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for row_number in range(width):
            if row_number != pivot and rows[row_number][pivot]:
                factor = rows[row_number][pivot]
                rows[row_number] = [
                    a - factor * b for a, b in zip(rows[row_number], rows[pivot], strict=True)
                ]
    return [row[width] for row in rows]


def classes_of(dataset: Table, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """A column of categories none of which is missing: codes, and labels in order."""
    encoded = dataset.encoded(name)
    if None in encoded.labels:
        gaps = int(encoded.counts[encoded.labels.index(None)])
        raise SchemaError(
            f"column {name!r} has {gaps:,} missing value(s), but a result needs all values; remove "
            "these records first"
        )
    return encoded.codes, tuple(text for text in encoded.labels if text is not None)


@parameters
class StumpOf(IntegralAlgorithm):
    """One threshold of a column of numbers that tells two classes apart with the fewest errors, and
    the class below it.

    Thresholds are midpoints between neighbouring values of the set; of equally good ones the
    smallest, then the lower class on the left. ``grid`` puts thresholds into bins of that width,
    which are then what is published. Sets with one value only give no result.

    >>> StumpOf("ill", by="age", grid=10).columns
    ('ill', 'age')
    """

    target: Annotated[str, Field(description="the column of two classes")]
    by: Annotated[str, Field(description="the column of numbers")]
    grid: Grid = None

    name: ClassVar[str] = "stump"

    @property
    def columns(self) -> tuple[str, ...]:
        """The target, then the predictor."""
        return (self.target, self.by)

    def on(self, dataset: Table) -> StumpRuns:
        """The two columns of a table."""
        codes, labels = classes_of(dataset, self.target)
        if len(labels) != 2:
            raise SchemaError(
                f"a stump separates two classes, but column {self.target!r} has "
                f"{len(labels)}; choose another column"
            )
        return StumpRuns(complete_numbers(dataset, self.by), codes, labels, self)


class StumpRuns(PreparedAlgorithm):
    """Stumps of records."""

    def __init__(
        self,
        values: NDArray[np.float64],
        classes: NDArray[np.int64],
        labels: tuple[str, ...],
        stump: StumpOf,
    ) -> None:
        self.values, self.classes, self.labels, self.asked = values, classes, labels, stump

    def form(self, rows: NDArray[np.int64], *, exactly: bool) -> tuple[Fraction, int] | None:
        """The threshold (or the lower end of its bin) and the class below it."""
        order = rows[np.lexsort((rows, self.values[rows]))]
        values, is_one = self.values[order], self.classes[order]
        # a cut is the place of the first value on its right, between different values only: values
        # 1, 1, 3 → cut 2
        cuts = np.flatnonzero(np.diff(values) > 0) + 1
        if not len(cuts):
            return None
        ones_left = np.cumsum(is_one)[cuts - 1]
        zeros_right = (len(is_one) - cuts) - (is_one.sum() - ones_left)
        # first row: errors if the class on the left is 0; second row: if it is 1
        errors = np.stack([ones_left + zeros_right, len(is_one) - ones_left - zeros_right])
        # argmin takes the first of equal ones, which is the smallest threshold
        best_cut = int(np.argmin(errors.min(axis=0)))
        left_class = int(errors[1, best_cut] < errors[0, best_cut])
        threshold = (exact(values[cuts[best_cut] - 1]) + exact(values[cuts[best_cut]])) / 2
        if self.asked.grid is None:
            return threshold, left_class
        step = exact(self.asked.grid)
        return (threshold // step) * step, left_class

    def utility(self, form: tuple[Fraction, int]) -> float:
        """Share of all records that it classifies rightly; of a bin, by its middle."""
        threshold = float(form[0]) + (self.asked.grid or 0.0) / 2
        below = self.values < threshold
        return float((np.where(below, form[1], 1 - form[1]) == self.classes).mean())

    def told(self, form: tuple[Fraction, int]) -> Document:
        """The threshold or its bin, and the classes on either side."""
        low = float(form[0])
        at: Any = low if self.asked.grid is None else [low, low + self.asked.grid]
        return {"threshold": at, "below": self.labels[form[1]], "above": self.labels[1 - form[1]]}


@parameters
class TreeOf(IntegralAlgorithm):
    """A decision tree: splits in preorder, each a column and a threshold of the grid, and the
    majority class of every leaf; nothing else.

    Numbers are put into bins of width ``grid`` (at most 254 of them), categories into one bin each,
    in the order of their names. Splits are by Gini impurity; of equally good ones the first column
    and the lowest threshold is taken, of equally frequent classes the first, so that equal sets
    give equal trees whatever their order.

    Reference: Breiman et al. 1984, *Classification and Regression Trees*,
    doi:10.1201/9781315139470.

    >>> TreeOf("ill", by=["age", "sex"], grid=10).columns
    ('ill', 'age', 'sex')
    """

    target: Annotated[str, Field(description="the column of classes")]
    by: Annotated[Predictors, Field(description="the columns it is predicted by")]
    grid: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="width of the bins of numbers")
    ] = 1.0
    depth: Annotated[
        int, Field(ge=1, le=20, description="splits from the root to a leaf, at most")
    ] = 3
    min_leaf: Annotated[int, Field(ge=1, description="records of a leaf, at least")] = 5

    name: ClassVar[str] = "tree"

    def __post_init__(self) -> None:
        if self.target in self.by:
            raise ParameterError(
                "TreeOf: a column cannot predict itself; remove it from the predictors"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The target, then the predictors."""
        return (self.target, *self.by)

    def on(self, dataset: Table) -> TreeRuns:
        """The columns of a table, in bins."""
        codes, labels = classes_of(dataset, self.target)
        if len(labels) > MOST_BINS:
            raise SchemaError(
                f"a tree separates at most {MOST_BINS} classes, but column {self.target!r} has "
                f"{len(labels)}; join rare ones"
            )
        return TreeRuns([_bins(dataset, name, self.grid) for name in self.by], codes, labels, self)


def _bins(dataset: Table, name: str, grid: float) -> tuple[NDArray[np.uint8], list[str]]:
    """A predictor in bins, and what a split behind each bin says of it."""
    if dataset.dtype(name).is_numeric():
        bin_numbers = np.floor(complete_numbers(dataset, name) / grid)
        # Bins begin at the least value: years around 2000 are few bins, not two thousand.
        low = float(bin_numbers.min()) if len(bin_numbers) else 0.0
        width = int(bin_numbers.max(initial=low) - low) + 1
        ends = [f"{name} < {(low + at + 1) * grid:g}" for at in range(min(width, MOST_BINS))]
        codes = (bin_numbers - low).astype(np.int64)
    else:
        codes, labels = classes_of(dataset, name)
        width, ends = len(labels), [f"{name} <= {text}" for text in labels]
    if width > MOST_BINS:
        raise SchemaError(
            f"column {name!r} has {width:,} bins, but a tree allows {MOST_BINS}; use a wider grid"
        )
    return codes.astype(np.uint8), ends


class TreeRuns(PreparedAlgorithm):
    """Trees of records."""

    def __init__(
        self,
        predictors: Sequence[tuple[NDArray[np.uint8], list[str]]],
        classes: NDArray[np.int64],
        labels: tuple[str, ...],
        tree: TreeOf,
    ) -> None:
        self.bins = np.stack([bins for bins, _ in predictors])
        self.ends = [ends for _, ends in predictors]
        self.classes, self.labels, self.asked = classes, labels, tree

    def form(self, rows: NDArray[np.int64], *, exactly: bool) -> tuple[tuple[int, int], ...]:
        """The nodes in preorder: (column, last bin on the left) of a split, (−1, class) of a
        leaf.
        """
        tree = self._grown(rows)
        # majority has an entry per leaf only, in the order of the nodes
        majority = iter(tree.majority(self.classes[rows], len(self.labels)).tolist())
        nodes = zip(tree.feature.tolist(), tree.cut.tolist(), strict=True)
        return _prune(
            tuple((-1, next(majority)) if feature < 0 else (feature, cut) for feature, cut in nodes)
        )

    def _grown(self, rows: NDArray[np.int64]) -> DecisionTree:
        return grow(
            self.bins[:, rows],
            self.classes[rows],
            classes=len(self.labels),
            min_leaf=self.asked.min_leaf,
            depth=self.asked.depth,
        )

    def utility(self, form: tuple[tuple[int, int], ...]) -> float:
        """Share of all records that it classifies rightly."""
        predictions = np.empty(len(self.classes), dtype=np.int64)
        _send_down(form, 0, self.bins, np.arange(len(predictions)), predictions)
        return float((predictions == self.classes).mean())

    def told(self, form: tuple[tuple[int, int], ...]) -> str:
        """The tree in preorder: a split, what is below when it is so, what is below when it is
        not.
        """
        return self._words(form, 0)[0]

    def _words(self, form: tuple[tuple[int, int], ...], at: int) -> tuple[str, int]:
        feature, cut = form[at]
        if feature < 0:
            return self.labels[cut], at + 1
        left_words, behind = self._words(form, at + 1)
        right, end = self._words(form, behind)
        return f"({self.ends[feature][cut]}: {left_words} else {right})", end


def _prune(form: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The same tree without splits whose two leaves say the same: they change no answer, and need
    not recur.
    """

    def below(at: int) -> tuple[tuple[tuple[int, int], ...], int]:
        if form[at][0] < 0:
            return (form[at],), at + 1
        left_tree, behind = below(at + 1)
        right, end = below(behind)
        return (
            (left_tree, end)
            # a single node is a leaf. Children come first, so equal leaves are merged all the way
            # up.
            if left_tree == right and len(left_tree) == 1
            else ((form[at], *left_tree, *right), end)
        )

    return below(0)[0]


def _send_down(
    form: tuple[tuple[int, int], ...],
    at: int,
    bins: NDArray[np.uint8],
    rows: NDArray[np.int64],
    predictions: NDArray[np.int64],
) -> int:
    """Write the class of every row below a node; returns where the next node stands."""
    feature, cut = form[at]
    if feature < 0:
        predictions[rows] = cut
        return at + 1
    below = bins[feature, rows] <= cut
    behind = _send_down(form, at + 1, bins, rows[below], predictions)
    return _send_down(form, behind, bins, rows[~below], predictions)
