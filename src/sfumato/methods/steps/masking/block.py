"""Columns of numbers in an order that depends on what rows say alone, with the survey's design:
what random masking computes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field

from sfumato.core.design import marks_by, strata_of, units_of, weights_of
from sfumato.core.encoding import as_column, numbers_of
from sfumato.core.parameters import COLUMNS
from sfumato.core.randomness import Marks, canonical_order, placed_back
from sfumato.core.schema import Kind
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.core.table import Table

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
    values: NDArray[np.float64]
    order: NDArray[np.int64]
    weights: NDArray[np.float64]
    weighted: bool
    strata: NDArray[np.int64]
    groups: tuple[NDArray[np.int64], ...]
    marks: tuple[Marks, ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells are not missing."""
        return ~np.isnan(self.values)

    def parts(self, groups: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        """The rows of every stratum that has any, or of other groups."""
        strata = self.strata if groups is None else groups
        rows = np.argsort(strata, kind="stable")
        return [part for part in np.split(rows, np.cumsum(np.bincount(strata))[:-1]) if len(part)]

    def back(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in the order of the block, in the order of the table."""
        return placed_back(column, self.order)


def block_of(
    dataset: Table,
    columns: Sequence[str],
    within: Sequence[str] | None = None,
    read: Callable[[Table, str], NDArray[np.float64]] = numbers_of,
    order: NDArray[np.int64] | None = None,
) -> Block:
    """The named columns as a block; ``read`` turns a column into numbers, and rows stand in
    canonical ``order`` if not said.
    """
    order = canonical_order(dataset) if order is None else order
    values = np.stack([computable(read(dataset, name)[order], name) for name in columns], axis=1)
    weights_column = weights_of(dataset)
    if weights_column is not None and not weights_column.sum() > 0:
        raise SchemaError(f"the weights of {dataset.source.name} sum to 0; somebody must count")
    weights = np.ones(len(dataset)) if weights_column is None else weights_column[order]
    strata = strata_of(dataset, within)[0][order]
    units = dict(zip(unit_kinds(dataset), units_in_order(dataset, order), strict=True))
    shared = [_shared_draws(values[:, j], units) for j in range(len(columns))]
    marks = {kind: marks_by(dataset, kind).taken(order) for kind in {kind for kind, _ in shared}}
    return Block(
        tuple(columns),
        values,
        order,
        weights,
        weights_column is not None,
        strata,
        groups=tuple(groups for _, groups in shared),
        marks=tuple(marks[kind] for kind, _ in shared),
    )


def computable(column: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """The column, unless its numbers are so large or so small that their squares cannot be told."""
    largest = float(np.fmax.reduce(np.abs(column), initial=0.0))
    if largest and not SMALLEST < largest < LARGEST:
        raise SchemaError(
            f"column {name!r} holds numbers too large or too small to compute with; write it in"
            " other units"
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
            f"{step}: {', '.join(texts[:5])} holds labels once the steps before it were taken, and"
            " no numbers; change the order of the steps"
        )


def column_like(
    name: str, values: NDArray[np.float64], like: pl.Series, *, whole: bool | None = None
) -> pl.Series:
    """Numbers as a column again; those that no whole number of 64 bits can hold stay floating-point
    numbers.
    """
    fits = bool(np.fmax.reduce(np.abs(values), initial=0.0) < 2.0**63)
    return as_column(name, values, like, whole=whole if fits else False)


def units_in_order(dataset: Table, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Households, then persons: per row in some order the number of its unit."""
    unit_codes = [units_of(dataset, kind) for kind in unit_kinds(dataset)]
    return [by_appearance(codes[order]) for codes in unit_codes if codes is not None]


def unit_kinds(dataset: Table) -> list[str]:
    """Which units a table has: households, then persons."""
    kinds = {dataset.schema[name].identifies for name in dataset.schema.units}
    return [kind for kind in ("household", "person") if kind in kinds]


def by_appearance(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups numbered in the order in which they first appear.

    >>> import numpy as np
    >>> by_appearance(np.array([7, 3, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _shared_draws(
    column: NDArray[np.float64], units: Mapping[str, NDArray[np.int64]]
) -> tuple[str, NDArray[np.int64]]:
    """The largest units within which a column has one value, and who belongs to them; rows where
    there are none.
    """
    for kind, groups in units.items():
        if groups.max(initial=-1) + 1 < len(groups) and is_constant_within(column, groups):
            return kind, groups
    return "row", np.arange(len(column))


def is_constant_within(column: NDArray[np.float64], groups: NDArray[np.int64]) -> bool:
    """Whether all known values of a group are the same, in every group.

    >>> import numpy as np
    >>> is_constant_within(np.array([1.0, 2.0, 1.0, np.nan]), np.array([0, 1, 0, 1]))
    True
    """
    rows = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    sorted_values = column[rows]
    low, high = np.fmin.reduceat(sorted_values, starts), np.fmax.reduceat(sorted_values, starts)
    return bool(((low == high) | np.isnan(low)).all())


# Fields that masking steps have in common, and the checks that go with them.


def _once(names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("names a column twice")
    return tuple(names)


Names = Annotated[Sequence[str], COLUMNS, Field(min_length=1), AfterValidator(_once)]
"""One or more columns, each once."""


def require_table(dataset: Table, step: str, columns: Sequence[str]) -> None:
    """Refuse a table without rows, and columns it lacks."""
    dataset.require(columns)
    if not len(dataset):
        raise SchemaError(f"{step}: {dataset.source.name} has no rows; there is nothing to mask")


def require_only_with(
    step: str, field: str, value: object, methods: Sequence[str], method: str
) -> None:
    """Refuse an option that the chosen method would ignore."""
    if value is not None and method not in methods:
        raise ParameterError(f"{step}: {field} is for {join_words(methods)}, not for {method}")


# Columns of categories as numbers: the rank of each value, and back.


def is_category(dataset: Table, name: str) -> bool:
    """Whether a column holds categories: its values are listed in order, or it neither holds nor is
    meant as numbers.
    """
    attribute = dataset.schema.attributes.get(name)
    if attribute is not None and attribute.order is not None:
        return True
    numeric = dataset.dtype(name).is_numeric() and dataset.dtype(name) != pl.Boolean
    return not numeric and (attribute is None or attribute.kind is not Kind.NUMERIC)


def ranks_of(dataset: Table, name: str) -> NDArray[np.float64]:
    """The rank of every value among the listed or, without a list, the sorted values; NaN where it
    is missing.
    """
    encoded = dataset.encoded(name)
    attribute = dataset.schema.attributes.get(name)
    order = attribute.order if attribute is not None else None
    rank = {
        value: float(i) for i, value in enumerate(order if order is not None else encoded.labels)
    }
    unknown = [text for text in encoded.labels if text is not None and text not in rank]
    if unknown:
        raise SchemaError(
            f"column {name!r} holds {len(unknown):,} value(s) that its order does not list"
        )
    return np.array([np.nan if text is None else rank[text] for text in encoded.labels])[
        encoded.codes
    ]


def numbers_or_ranks(dataset: Table, name: str) -> NDArray[np.float64]:
    """A column as numbers, ranks for categories."""
    return ranks_of(dataset, name) if is_category(dataset, name) else numbers_of(dataset, name)


def values_at(
    column: pl.Series, ranks: NDArray[np.float64], target_ranks: NDArray[np.float64]
) -> pl.Series:
    """Values of a column by rank, each of which some row has; a missing rank is a missing value."""
    present = np.flatnonzero(~np.isnan(ranks))
    if not len(present):
        return pl.Series(column.name, [None] * len(column), dtype=column.dtype)
    distinct, first = np.unique(ranks[present], return_index=True)
    gaps = np.isnan(target_ranks)
    rows = pl.Series(present[first])
    positions = np.searchsorted(distinct, np.where(gaps, distinct[0], target_ranks))
    return column.gather(rows.gather(positions)).set(pl.Series(gaps), None)


# Weighted means and covariances of columns with gaps, and matrices that can be drawn from.

if TYPE_CHECKING:
    Array = NDArray[np.float64]


def means_of(values: Array, weights: Array) -> Array:
    """Weighted mean per column over the known values; 0 for a column without any."""
    present = ~np.isnan(values)
    total = weights @ present
    return np.divide(
        weights @ np.where(present, values, 0.0),
        total,
        out=np.zeros(values.shape[1]),
        where=total > 0,
    )


def covariance_of(values: Array, weights: Array) -> Array:
    r"""Weighted covariance over the pairs that are known:

    .. math:: S_{jk} = \frac{n_{jk}}{n_{jk}-1}\,\frac{\sum_i w_i (x_{ij}-\bar x_j)(x_{ik}-\bar
        x_k)}{\sum_i w_i}

    with sums over the *n_jk* records that have both. 0 where fewer than two do. Columns that do not
    vary have exactly 0, whatever rounding says. With gaps the matrix may not be
    positive semidefinite: see :func:`semidefinite`.

    >>> import numpy as np
    >>> covariance_of(np.array([[1.0, 2.0], [3.0, 6.0]]), np.ones(2)).tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    present = ~np.isnan(values)
    centred = np.where(present, values - means_of(values, weights), 0.0)
    pair_weights = (present * weights[:, None]).T @ present
    counts = present.astype(np.float64).T @ present
    enough = (counts > 1) & (pair_weights > 0)
    share = np.divide(
        counts, (counts - 1) * pair_weights, out=np.zeros_like(pair_weights), where=enough
    )
    covariance: Array = (centred * weights[:, None]).T @ centred * share
    flat = [j for j in range(values.shape[1]) if not varies(values[:, j])]
    covariance[flat, :] = 0.0
    covariance[:, flat] = 0.0
    return covariance


def varies(column: Array) -> bool:
    """Whether a column has two different known values."""
    present = column[~np.isnan(column)]
    return len(present) > 0 and bool(present.min() < present.max())


def correlation_of(covariance: Array) -> Array:
    """The correlations of a covariance; columns that do not vary correlate with nothing, and with
    themselves by 1.
    """
    spread = np.sqrt(np.diag(covariance))
    spreads = np.outer(spread, spread)
    correlation: Array = np.divide(
        covariance, spreads, out=np.zeros_like(covariance), where=spreads > 0
    )
    np.fill_diagonal(correlation, 1.0)
    return correlation


def semidefinite(covariance: Array) -> tuple[Array, bool]:
    """The covariance, or one near it that has no negative eigenvalue, with the same variances; and
    whether it was mended.

    Negative eigenvalues of the correlation matrix are set to 0 and rows and columns scaled so that
    its diagonal is 1 again (the spectral method of Rebonato & Jäckel 1999). That is near, but not
    the nearest, and always works.

    >>> import numpy as np
    >>> mended, changed = semidefinite(np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]))
    >>> changed, bool(np.linalg.eigvalsh(mended).min() > -1e-9), np.diag(mended).round(12).tolist()
    (True, True, [1.0, 1.0, 1.0])
    """
    spread = np.sqrt(np.diag(covariance))
    shape = correlation_of(covariance)
    values, vectors = np.linalg.eigh(shape)
    if values[0] > -1e-9:
        return covariance, False
    shape = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diag(shape))
    return shape / np.outer(scale, scale) * np.outer(spread, spread), True


def root_of(covariance: Array) -> Array:
    """A lower triangular L with L Lᵀ = covariance, which may be singular: columns without variance
    of their own get none.

    >>> import numpy as np
    >>> root_of(np.array([[4.0, 2.0], [2.0, 1.0]])).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    size = len(covariance)
    root = np.zeros((size, size))
    for j in range(size):
        remaining = covariance[j, j] - root[j] @ root[j]
        if remaining <= 1e-12 * covariance[j, j]:
            continue
        root[j, j] = np.sqrt(remaining)
        root[j + 1 :, j] = (covariance[j + 1 :, j] - root[j + 1 :] @ root[j]) / root[j, j]
    return root
