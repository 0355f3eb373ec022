"""What the methods start from, and what they hand back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.calendar import dates_of
from sfumato.core.encoding import Encoded, numbers_of
from sfumato.core.hierarchy import Ladder, bind
from sfumato.core.progress import Progress, silent
from sfumato.core.schema import Kind
from sfumato.errors import SchemaError
from sfumato.methods.steps.masking.block import ranks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

if TYPE_CHECKING:
    Points = NDArray[np.float64]
    Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class PointGround:
    """Records as points, in canonical order, and the parts (strata) that are grouped each by
    itself.

    Squared distances of points are what the methods make small:
    see :mod:`sfumato.methods.steps.microaggregation.inputs`.
    """

    points: Points
    parts: Sequence[Labels]
    k: int
    draw: Callable[[str], np.random.Generator]
    progress: Progress = silent


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """The group of every record, numbered from 0 over all parts, and what the method knows
    besides.
    """

    groups: Labels
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def by_part(ground: PointGround, method: Callable[[Points, int], Labels]) -> Labels:
    """Group every part by itself and number the groups of all."""
    groups = np.empty(len(ground.points), dtype=np.int64)
    count = 0
    for parts_done, rows in enumerate(ground.parts, 1):
        part_groups = method(np.ascontiguousarray(ground.points[rows]), ground.k)
        groups[rows] = part_groups + count
        count += int(part_groups.max()) + 1
        ground.progress(parts_done / len(ground.parts), "grouping records")
    return groups


def error_of(points: Points, groups: Labels) -> float:
    """The sum of squared distances of all records from the means of their groups (SSE)."""
    return (
        float(kernels.group_changes.sum_squared_errors(points, groups, int(groups.max()) + 1))
        if len(groups)
        else 0.0
    )


def total_of(points: Points) -> float:
    """The sum of squared distances of all records from their mean (SST)."""
    return error_of(points, np.zeros(len(points), dtype=np.int64))


# Groups around the records that lie farthest out: MDAV, V-MDAV, and MDAV on blocks of large tables.

BLOCK = 20_000
"""The most records of a block of ``partitioned``."""
FEW_DIMENSIONS = 4
"""The most dimensions in which a tree of boxes finds records far out sooner than a look at all of
them.
"""
SCANNED = 5000
"""Times 2 for every dimension: the records from which a tree pays."""


def mdav(ground: PointGround) -> Found:
    """Domingo-Ferrer & Torra's MDAV, part by part."""
    return Found(by_part(ground, mdav_of))


def mdav_of(points: Points, k: int) -> Labels:
    """The groups that MDAV makes of some points; of many points in few dimensions a tree finds the
    same ones sooner.

    >>> import numpy as np
    >>> mdav_of(np.array([[2.0], [12], [16], [25], [29], [45]]), 2).tolist()
    [1, 1, 2, 2, 0, 0]
    """
    groups = np.empty(len(points), dtype=np.int64)
    dimensions = points.shape[1]
    use_tree = dimensions <= FEW_DIMENSIONS and len(points) >= SCANNED << dimensions
    loops = kernels.mdav_tree if use_tree else kernels.microaggregation
    loops.build_mdav_groups(np.array(points.T, order="C"), k, groups)
    return groups


def v_mdav(ground: PointGround, gamma: float) -> Found:
    """Solanas & Martínez-Ballesté's V-MDAV: groups of k to 2k − 1 records."""

    def of_part(points: Points, k: int) -> Labels:
        groups = np.empty(len(points), dtype=np.int64)
        kernels.microaggregation.build_v_mdav_groups(points, k, gamma, groups)
        return groups

    return Found(by_part(ground, of_part))


def partitioned(ground: PointGround, block: int) -> Found:
    """Cut every part into blocks and group each by MDAV."""
    blocks = [
        rows[inside]
        for rows in ground.parts
        for inside in blocks_of(ground.points[rows], ground.k, block)
    ]
    groups, count = np.empty(len(ground.points), dtype=np.int64), 0
    for blocks_done, rows in enumerate(blocks, 1):
        part_groups = mdav_of(ground.points[rows], ground.k)
        groups[rows] = part_groups + count
        count += int(part_groups.max()) + 1
        ground.progress(blocks_done / len(blocks), "grouping records")
    return Found(groups, {"blocks": len(blocks), "largest_block": max(map(len, blocks))})


def blocks_of(points: Points, k: int, block_size: int) -> list[Labels]:
    """Cut points at the middle of the dimension with the largest variance until no block has more
    than ``block_size``.

    Blocks on the left have a multiple of k records, so that at most one group of a part has more
    than k because of the rest.
    """
    waiting, blocks = [np.arange(len(points))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= max(block_size, 2 * k - 1):
            blocks.append(rows)
            continue
        axis = int(points[rows].var(axis=0).argmax())
        ordered = rows[np.argsort(points[rows, axis], kind="stable")]
        middle = max(k, len(rows) // (2 * k) * k)
        waiting += [np.sort(ordered[middle:]), np.sort(ordered[:middle])]
    return blocks


# Columns of every kind as points whose squared distances add up.
#
# =========  ==========================================  ======================================
# column     points                                      squared distance of two values
# =========  ==========================================  ======================================
# numbers    z-scores (population standard deviation)    (x - y)² / s²
# dates      z-scores of the time                        as numbers
# ordered    z-scores of the ranks                       as numbers, of ranks
# nominal    one dimension a value, 1/√2                 0 where equal, 1 where not
# taxonomy   one dimension a node, 1/√(2h)               levels up to the lowest common node / h
# =========  ==========================================  ======================================
#
# with *h* the height of the hierarchy. Means of such points are no values, but the squared error of
# a group is what it should be: the variance of numbers, the Gini impurity of nominal values. So
# every method works on columns of every kind. A missing value is the origin in all its dimensions.

if TYPE_CHECKING:
    Array = NDArray[np.float64]

Form = Literal["numbers", "dates", "ordered", "nominal", "taxonomy"]
ON_A_LINE = ("numbers", "dates", "ordered")
MOST_DIMENSIONS = 2_000
DAY = 86_400_000_000
"""Microseconds."""


def form_of(dataset: Table, name: str, nominal: str) -> Form:
    """How a column is taken: by the kind that the schema says, without one by the type of its
    values.
    """
    dtype = dataset.dtype(name)
    attribute = dataset.schema.attributes.get(name)
    if attribute is None:
        return "numbers" if dtype.is_numeric() else "dates" if dtype.is_temporal() else "nominal"
    if attribute.kind is Kind.DATE or (attribute.kind is Kind.NUMERIC and dtype.is_temporal()):
        if not (dtype.is_temporal() or _days_as_text(dataset.column(name))):
            raise SchemaError(
                f"column {name!r} must hold dates to be averaged, or text like YYYY-MM-DD; it is"
                f" {dtype}: read it as dates first"
            )
        return "dates"
    if attribute.kind is Kind.NUMERIC:
        return "numbers"
    if attribute.kind is Kind.ORDINAL:
        return "ordered"
    return "taxonomy" if nominal == "taxonomy" and attribute.hierarchy is not None else "nominal"


def line_of(dataset: Table, name: str, form: str) -> Array:
    """A column that lies on a line as numbers: values, times or ranks; NaN is missing."""
    if form == "numbers":
        return numbers_of(dataset, name)
    if form == "dates":
        ticks = _same_ticks(dataset.column(name)).to_physical().cast(pl.Float64)
        return np.array(ticks.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    attribute = dataset.schema.attributes.get(name)
    if dataset.dtype(name).is_numeric() and (attribute is None or attribute.order is None):
        values = numbers_of(dataset, name)
        present = ~np.isnan(values)
        values[present] = np.unique(values[present], return_inverse=True)[1]
        return values
    return ranks_of(dataset, name)


def _days_as_text(column: pl.Series) -> bool:
    """Whether a column is text that says days without times, as files that know no dates do."""
    return column.dtype == pl.Null or (
        column.dtype == pl.String and bool((column.str.len_chars() == 10).all())
    )


def _same_ticks(column: pl.Series) -> pl.Series:
    """Dates and times in microseconds, whatever the frame counts in: so that rounding is the
    same.
    """
    if column.dtype in (pl.String, pl.Null):
        column = dates_of(column, "the table")
    if column.dtype == pl.Date:
        return column.cast(pl.Datetime("us"))
    return column.dt.cast_time_unit("us") if isinstance(column.dtype, pl.Datetime) else column


def dates_at(ticks: Array, column: pl.Series) -> pl.Series:
    """Ticks as dates again: whole days where all dates are."""
    own = _same_ticks(column)
    moments = own.drop_nulls().to_physical().to_numpy()
    unit = DAY if isinstance(own.dtype, pl.Datetime) and not (moments % DAY).any() else 1
    rounded = pl.Series(column.name, np.rint(ticks / unit) * unit).fill_nan(None).cast(pl.Int64)
    dates = rounded.cast(own.to_physical().dtype).cast(own.dtype)
    return dates.dt.strftime("%Y-%m-%d") if column.dtype == pl.String else dates.cast(column.dtype)


def ladder_of(dataset: Table, name: str) -> tuple[Encoded, Ladder, NDArray[np.int64]]:
    """A column under its hierarchy: its codes, the ladder, and the ladder's code of every row at
    level 0.
    """
    encoded = dataset.encoded(name)
    ladder = bind(dataset.schema[name].hierarchy, encoded.labels, encoded.counts.tolist())
    label_codes = {label: code for code, label in enumerate(ladder.labels[0])}
    return (
        encoded,
        ladder,
        np.array([label_codes[label] for label in encoded.labels], dtype=np.int64)[encoded.codes],
    )


def embedded(
    dataset: Table, forms: Mapping[str, Form], lines: Mapping[str, Array], *, standardize: bool
) -> Array:
    """The columns as points, one row a record, in the order of the table."""
    parts: list[Array] = []
    for name, form in forms.items():
        if form in ON_A_LINE:
            parts.append(_scaled(lines[name], standardize=standardize)[:, None])
        elif form == "nominal":
            encoded = dataset.encoded(name)
            parts.append(
                _indicators(encoded.codes, [label is None for label in encoded.labels], 2.0)
            )
        else:
            parts += _levels(dataset, name)
        if sum(part.shape[1] for part in parts) > MOST_DIMENSIONS:
            raise SchemaError(
                f"column {name!r} has too many different values to be compared one by one; recode"
                f" it first, or leave it out (more than {MOST_DIMENSIONS:,} in all)"
            )
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _scaled(values: Array, *, standardize: bool) -> Array:
    """z-scores of the known values; a column that does not vary says nothing. Missing is 0."""
    present = ~np.isnan(values)
    scores = np.zeros(len(values))
    if present.any():
        centred = values[present] - values[present].mean()
        spread = float(values[present].std()) if standardize else 1.0
        if np.ptp(values[present]) > 0 and spread > 0:
            scores[present] = centred / spread
    return scores


def _indicators(codes: NDArray[np.int64], absent: Sequence[bool], shares: float) -> Array:
    """A dimension for every code that is not absent: √(1/shares) for the records that have it."""
    present = np.flatnonzero(~np.array(absent, dtype=np.bool_))
    if len(present) > MOST_DIMENSIONS:
        return np.empty((0, len(present)))
    indicators: Array = (codes[:, None] == present[None, :]) / np.sqrt(shares)
    return indicators


def _levels(dataset: Table, name: str) -> list[Array]:
    """Indicators of the nodes above every value, on every level but the top, where all are one."""
    _, ladder, codes = ladder_of(dataset, name)
    if ladder.top == 0:
        return [_indicators(codes, [label is None for label in ladder.labels[0]], 2.0)]
    return [
        _indicators(
            ladder.climb(0, level)[codes],
            [label is None for label in ladder.labels[level]],
            2.0 * ladder.top,
        )
        for level in range(ladder.top)
    ]
