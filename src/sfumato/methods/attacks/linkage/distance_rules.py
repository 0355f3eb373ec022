"""Rules that make a distance of two records of the differences of their cells.

Per column, *x* being the intruder's value and *c* the released cell:

* a number: :math:`(z_x - z_c)^2`, standardised as asked; for a range the nearest point of it, or
the mean over it:
  :math:`(z_x - m)^2 + h^2/3` with middle *m* and half width *h*;
* an ordered value: :math:`|r_x - r_c| / (v - 1)` with ranks *r* among *v* values; for a range the
nearest, or the mean:
  :math:`((r_x-m)^2 + h^2) / 2h` within it and the distance to the middle outside;
* a category: 0 where the cell may stand for *x*, else 1; or, by the mean, :math:`1 - 1/s` for a
set of *s* values;
* a suppressed cell: 0, or the mean distance between the two files in this column;
* missing: 0 to missing; to a value 1, for numbers 2 (the mean squared difference of standardised
values); as a suppressed
  cell where the schema says that missing fits everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.methods.attacks.linkage.comparison_arrays import (
    ABSOLUTE,
    CATEGORY,
    SQUARE,
    ComparisonRule,
    arrays_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.attacks.linkage.comparable_columns import ComparedColumn
    from sfumato.methods.attacks.linkage.comparison_arrays import Arrays
    from sfumato.methods.attacks.linkage.files import Files

    Floats = NDArray[np.float64]


Standard = Literal["pooled", "released", "own"]
Ranges = Literal["nearest", "mean"]
Suppressed = Literal["zero", "mean"]


def distance_rule(
    column: ComparedColumn,
    *,
    weight: float,
    standard: Standard,
    ranges: Ranges,
    suppressed: Suppressed,
) -> ComparisonRule:
    """How one column adds to the distance."""
    if column.scale == "category":
        return _category(column, weight, ranges, suppressed)
    intruder_numbers = np.column_stack([column.places, column.places, np.zeros(len(column.places))])
    # Halved before they are added: two large ends could overflow together.
    middle = column.low / 2 + column.high / 2
    half = column.high / 2 - column.low / 2
    released_numbers = np.column_stack([column.low, column.high, np.zeros(len(half))])
    if ranges == "mean":
        released_numbers = np.column_stack([middle, middle, half])
    (shift, scale), (our_shift, our_scale) = _standards(column, middle, standard)
    intruder_numbers[:, :2] = (intruder_numbers[:, :2] - shift) / scale
    released_numbers[:, :2] = (released_numbers[:, :2] - our_shift) / our_scale
    released_numbers[:, 2] /= our_scale
    square = column.scale == "number"
    opened = 0.0
    if suppressed == "mean":
        released_middle = released_numbers[:, 0]
        sums_of_ends = released_middle + released_numbers[:, 1]
        opened = _mean_gap(column, intruder_numbers[:, 0], sums_of_ends / 2, square=square)
    # Missing against present costs what two random standardised numbers do: the squared gap has the
    # mean 2.
    apart = 2.0 if square else 1.0
    constants = np.array([weight, weight * opened, weight * apart, 0.0, 0.0, 0.0, 0.0, 0.0])
    return ComparisonRule(
        SQUARE if square else ABSOLUTE, constants, intruder_numbers, released_numbers
    )


def _category(
    column: ComparedColumn, weight: float, ranges: Ranges, suppressed: Suppressed
) -> ComparisonRule:
    other_values = (column.stands_for - 1).astype(float)
    if ranges == "mean":
        agreeing = 1 - 1 / column.stands_for
    else:
        agreeing = np.zeros(len(other_values))
    nowhere = np.full(len(column.places), -np.inf)
    intruder_numbers = np.column_stack([np.zeros((len(column.places), 2)), nowhere])
    released_numbers = np.column_stack(
        # As in the loops: no low end, the other values it may stand for, and what agreeing costs.
        [np.zeros(len(other_values)), other_values, weight * agreeing]
    )
    if suppressed == "mean":
        opened = _mean_disagreement(column, agreeing)
    else:
        opened = 0.0
    constants = np.array([weight, weight * opened, weight, 0.0, 0.0, 0.0, 0.0, 0.0])
    return ComparisonRule(CATEGORY, constants, intruder_numbers, released_numbers)


def _standards(
    column: ComparedColumn, middle: Floats, standard: Standard
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What is taken off and what is divided by, for the intruder's file and for the release."""
    if column.scale == "order":
        # Ranks are spread over 0 to 1 by their span; they have no mean worth taking off.
        return (0.0, max(1.0, column.span)), (0.0, max(1.0, column.span))
    intruder_positions = column.places[column.intruder]
    released_positions = middle[column.released]
    intruder_positions = intruder_positions[~np.isnan(intruder_positions)]
    is_closed = ~column.open_released[column.released]
    released_positions = released_positions[~np.isnan(released_positions) & is_closed]
    pooled = moments(np.concatenate([intruder_positions, released_positions]))
    if standard == "pooled":
        return pooled, pooled
    own = moments(released_positions, spare=pooled[1])
    if standard == "released":
        return (own, own)
    return (moments(intruder_positions, spare=pooled[1]), own)


def moments(values: Floats, spare: float = 1.0) -> tuple[float, float]:
    """Mean and standard deviation; a column of one value has the spare one.

    >>> import numpy as np
    >>> moments(np.array([1.0, 3.0])), moments(np.array([7.0, 7.0])), moments(np.array([]))
    ((2.0, 1.0), (7.0, 1.0), (0.0, 1.0))
    """
    size = 0.0
    if len(values):
        size = float(np.abs(values).max())
    if size == 0:
        return 0.0, spare
    # Divided by the largest first: squares of huge numbers would overflow.
    mean = size * float((values / size).mean())
    deviation = size * float((values / size).std())
    return mean, deviation if deviation > 1e-12 * size else spare


def _mean_gap(
    column: ComparedColumn,
    intruder_numbers: Floats,
    released_numbers: Floats,
    *,
    square: bool,
) -> float:
    """The mean difference between the intruder's values and the middles of released cells, over all
    pairs of rows.
    """
    is_known = ~(column.open_intruder | column.missing_intruder)[column.intruder]
    intruder_values = intruder_numbers[column.intruder[is_known]]
    is_known = ~(column.open_released | column.missing_released)[column.released]
    right = released_numbers[column.released[is_known]]
    if not len(intruder_values) or not len(right):
        return 0.0
    if square:
        return float(
            # The mean of (x − y)² over all pairs, without looking at the pairs.
            intruder_values.var() + right.var() + (intruder_values.mean() - right.mean()) ** 2
        )
    right = np.sort(right)
    sums = np.concatenate([[0.0], np.cumsum(right)])
    below = np.searchsorted(right, intruder_values)
    # The sum of |x − y| over all y: those below x count x − y, those above y − x; from running sums
    # of the sorted y.
    signed_counts = intruder_values * (2 * below - len(right))
    partial_sums = 2 * sums[below]
    apart = signed_counts + sums[-1] - partial_sums
    return float(apart.mean() / len(right))


def _mean_disagreement(column: ComparedColumn, agreeing: Floats) -> float:
    """The mean distance in a category over all pairs of rows that are not suppressed."""
    intruder_counts = (
        np.bincount(column.intruder, minlength=len(column.places)) * ~column.open_intruder
    )
    released_counts = (
        np.bincount(column.released, minlength=len(column.open_released)) * ~column.open_released
    )
    pairs = float(intruder_counts.sum()) * float(released_counts.sum())
    if not pairs:
        return 0.0
    near = sum(
        float(released_counts[label])
        * float(intruder_counts[list(values)].sum())
        * (1.0 - float(agreeing[label]))
        for label, values in enumerate(column.fitting)
        if values and released_counts[label]
    )
    return 1.0 - near / pairs


def plain_arrays(files: Files) -> Arrays:
    """The files under the distance that all columns count alike in."""
    return arrays_of(
        files,
        [
            distance_rule(
                column, weight=1.0, standard="pooled", ranges="nearest", suppressed="zero"
            )
            for column in files.columns
        ],
    )
