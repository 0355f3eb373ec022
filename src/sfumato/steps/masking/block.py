"""Columns of numbers in canonical order, with the survey's design: what random masking computes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sfumato.core.canonical import canonical_order, placed_back
from sfumato.core.design import strata_of, units_of, weights_of
from sfumato.core.numbers import as_column, numbers_of
from sfumato.core.schema import Role
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.dataset import Dataset

LARGEST, SMALLEST = 1e100, 1e-100
"""Numbers must lie between, so that their squares and products do."""


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Numbers by row and column, rows in canonical order; NaN is missing.

    ``weights`` are the survey weights, 1 without any. ``strata`` numbers the stratum of each row, ``parts`` lists the rows
    of each stratum. ``groups[j]`` says which rows share one draw for column *j*: those of a person or household where the
    column has one value a person or household, otherwise each row is alone.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    order: NDArray[np.int64]
    weights: NDArray[np.float64]
    weighted: bool
    strata: NDArray[np.int64]
    groups: tuple[NDArray[np.int64], ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells are not missing."""
        import numpy as np

        return ~np.isnan(self.values)

    def parts(self) -> list[NDArray[np.int64]]:
        """The rows of every stratum that has any."""
        import numpy as np

        rows = np.argsort(self.strata, kind="stable")
        return [part for part in np.split(rows, np.cumsum(np.bincount(self.strata))[:-1]) if len(part)]

    def back(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in canonical order, in the order of the table."""
        return placed_back(column, self.order)


def block_of(
    dataset: Dataset,
    columns: Sequence[str],
    within: Sequence[str] | None = None,
    read: Callable[[Dataset, str], NDArray[np.float64]] = numbers_of,
) -> Block:
    """The named columns as a block; ``read`` turns a column into numbers."""
    import numpy as np

    order = canonical_order(dataset)
    values = np.stack([computable(read(dataset, name)[order], name) for name in columns], axis=1)
    given = weights_of(dataset)
    if given is not None and not given.sum() > 0:
        raise SchemaError(f"the weights of {dataset.source.name} sum to 0; somebody must count")
    weights = np.ones(len(dataset)) if given is None else given[order]
    strata = strata_of(dataset, within)[0][order]
    units = units_in_order(dataset, order)
    groups = tuple(_shared_draws(values[:, j], units) for j in range(len(columns)))
    return Block(tuple(columns), values, order, weights, given is not None, strata, groups)


def computable(column: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """The column, unless its numbers are so large or so small that their squares cannot be told."""
    import numpy as np

    largest = float(np.fmax.reduce(np.abs(column), initial=0.0))
    if largest and not SMALLEST < largest < LARGEST:
        raise SchemaError(
            f"column {name!r} holds numbers too large or too small to compute with; write it in other units"
        )
    return column


def column_like(name: str, values: NDArray[np.float64], like: pl.Series, *, whole: bool | None = None) -> pl.Series:
    """Numbers as a column again; those that no whole number of 64 bits can hold stay floating-point numbers."""
    import numpy as np

    fits = bool(np.fmax.reduce(np.abs(values), initial=0.0) < 2.0**63)
    return as_column(name, values, like, whole=whole if fits else False)


def units_in_order(dataset: Dataset, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Households, then persons: per row in canonical order the number of its unit."""
    kinds = {dataset.schema[name].unit for name in dataset.schema.columns(Role.UNIT)}
    found = [units_of(dataset, kind) for kind in ("household", "person") if kind in kinds]
    return [by_appearance(codes[order]) for codes in found if codes is not None]


def by_appearance(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups numbered in the order in which they first appear.

    >>> import numpy as np
    >>> by_appearance(np.array([7, 3, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    import numpy as np

    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _shared_draws(column: NDArray[np.float64], units: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The largest units within which a column has one value; rows where there are none."""
    import numpy as np

    for groups in units:
        if groups.max(initial=-1) + 1 < len(groups) and is_constant_within(column, groups):
            return groups
    return np.arange(len(column))


def is_constant_within(column: NDArray[np.float64], groups: NDArray[np.int64]) -> bool:
    """Whether all known values of a group are the same, in every group.

    >>> import numpy as np
    >>> is_constant_within(np.array([1.0, 2.0, 1.0, np.nan]), np.array([0, 1, 0, 1]))
    True
    """
    import numpy as np

    rows = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    sorted_values = column[rows]
    low, high = np.fmin.reduceat(sorted_values, starts), np.fmax.reduceat(sorted_values, starts)
    return bool(((low == high) | np.isnan(low)).all())
