"""Columns of numbers in an order that depends on what rows say alone, with the survey's design:
what random masking computes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.design import marks_by, strata_of, units_of, weights_of
from sfumato.core.encoding import as_column, numbers_of
from sfumato.core.randomness import Marks, canonical_order, placed_back
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.core.table import Table

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


LARGEST, SMALLEST = 1e100, 1e-100
"""Numbers must lie between, so that their squares and products do."""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Numbers by row and column, rows in an order that depends on what they say alone; NaN is
    missing.

    ``weights`` are the survey weights, 1 without any. ``strata`` numbers the stratum of each row,
    ``parts`` lists the rows of each stratum. ``groups[j]`` says which rows share one draw for
    column *j*: those of a person or household where the column has one value a person or household,
    otherwise each row is alone; ``marks[j]`` is what their draws are keyed by.
    """

    names: tuple[str, ...]
    values: Floats
    order: Ints
    weights: Floats
    weighted: bool
    strata: Ints
    groups: tuple[Ints, ...]
    marks: tuple[Marks, ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells are not missing."""
        return ~np.isnan(self.values)

    def parts(self, groups: Ints | None = None) -> list[Ints]:
        """The rows of every stratum that has any, or of other groups."""
        strata = self.strata if groups is None else groups
        rows = np.argsort(strata, kind="stable")
        return [part for part in np.split(rows, np.cumsum(np.bincount(strata))[:-1]) if len(part)]

    def back(self, column: Floats) -> Floats:
        """Values in the order of the block, in the order of the table."""
        return placed_back(column, self.order)


def block_of(
    dataset: Table,
    columns: Sequence[str],
    within: Sequence[str] | None = None,
    read: Callable[[Table, str], Floats] = numbers_of,
    order: Ints | None = None,
) -> Block:
    """The named columns as a block; ``read`` turns a column into numbers, and rows stand in
    canonical ``order`` if not said.
    """
    if order is None:
        order = canonical_order(dataset)
    values = np.stack([computable(read(dataset, name)[order], name) for name in columns], axis=1)
    weights_column = weights_of(dataset)
    if weights_column is None:
        weights = np.ones(len(dataset))
    elif weights_column.sum() > 0:
        weights = weights_column[order]
    else:
        raise SchemaError(
            f"the weights of {dataset.source.name} sum to 0; at least one must be positive"
        )
    strata = strata_of(dataset, within)[0][order]
    units = dict(zip(unit_kinds(dataset), units_in_order(dataset, order), strict=True))
    # Rows of a person with one value share its draw; otherwise their noise would average out.
    shared = [_shared_draws(values[:, j], units) for j in range(len(columns))]
    kinds = {kind for kind, _ in shared}
    marks = {kind: marks_by(dataset, kind).taken(order) for kind in kinds}
    return Block(
        tuple(columns),
        values,
        order=order,
        weights=weights,
        weighted=weights_column is not None,
        strata=strata,
        groups=tuple(groups for _, groups in shared),
        marks=tuple(marks[kind] for kind, _ in shared),
    )


def computable(column: Floats, name: str) -> Floats:
    """The column, unless its numbers are so large or so small that their squares cannot be told."""
    largest = float(np.fmax.reduce(np.abs(column), initial=0.0))
    if largest and not SMALLEST < largest < LARGEST:
        raise SchemaError(
            f"column {name!r} holds numbers too large or too small to compute with; use other units"
        )
    return column


def require_numbers(dataset: Table, columns: Sequence[str], goal: Goal, step: str) -> None:
    """Refuse to compute with columns of labels where no record may decide whether that works: by
    their type, not by their cells.
    """
    if not goal.fixed:
        return
    texts = [name for name in columns if not dataset.dtype(name).is_numeric()]
    if texts:
        raise SchemaError(
            f"{step}: after the steps before it, {', '.join(texts[:5])} holds labels instead of "
            "numbers; change the order of the steps"
        )


def column_like(
    name: str, values: Floats, like: pl.Series, *, whole: bool | None = None
) -> pl.Series:
    """Numbers as a column again; those that no whole number of 64 bits can hold stay floating-point
    numbers.
    """
    fits = bool(np.fmax.reduce(np.abs(values), initial=0.0) < 2.0**63)
    return as_column(name, values, like, whole=whole if fits else False)


def units_in_order(dataset: Table, order: Ints) -> list[Ints]:
    """Households, then persons: per row in some order the number of its unit."""
    unit_codes = [units_of(dataset, kind) for kind in unit_kinds(dataset)]
    return [by_appearance(codes[order]) for codes in unit_codes if codes is not None]


def unit_kinds(dataset: Table) -> list[str]:
    """Which units a table has: households, then persons."""
    kinds = {dataset.schema[name].identifies for name in dataset.schema.units}
    return [kind for kind in ("household", "person") if kind in kinds]


def by_appearance(codes: Ints) -> Ints:
    """Groups numbered in the order in which they first appear.

    >>> import numpy as np
    >>> by_appearance(np.array([7, 3, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    # first[c] is where group c first appears; its rank among these is its new number.
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _shared_draws(column: Floats, units: Mapping[str, Ints]) -> tuple[str, Ints]:
    """The largest units within which a column has one value, and who belongs to them; rows where
    there are none.
    """
    for kind, groups in units.items():
        # Units of one row each are no units: drawing by row is the same.
        if groups.max(initial=-1) + 1 < len(groups) and is_constant_within(column, groups):
            return kind, groups
    return "row", np.arange(len(column))


def is_constant_within(column: Floats, groups: Ints) -> bool:
    """Whether all known values of a group are the same, in every group.

    >>> import numpy as np
    >>> is_constant_within(np.array([1.0, 2.0, 1.0, np.nan]), np.array([0, 1, 0, 1]))
    True
    """
    rows = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    sorted_values = column[rows]
    # fmin and fmax skip NaN: a group of gaps alone has NaN and counts as constant.
    low = np.fmin.reduceat(sorted_values, starts)
    high = np.fmax.reduceat(sorted_values, starts)
    return bool(((low == high) | np.isnan(low)).all())
