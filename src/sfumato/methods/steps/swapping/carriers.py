"""Who carries a value: the row, or the person or household whose rows all have it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field

from sfumato import kernels
from sfumato.core.design import strata_of, units_of
from sfumato.core.encoding import numbers_of
from sfumato.core.parameters import COLUMNS
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Kind, Role
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


@dataclasses.dataclass(frozen=True, eq=False)
class Carriers:
    """Carriers in canonical order: the row that stands for each, and per row the carrier it belongs
    to.

    ``unit`` says what carries: row, person or household.
    """

    rows: NDArray[np.int64]
    of: NDArray[np.int64]
    unit: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def once(self) -> str:
        """How counts are to be read."""
        return "" if self.unit == "row" else f", counted once a {self.unit}"

    def carry(self, codes: NDArray[np.int64]) -> bool:
        """Whether an encoded column is constant within every carrier."""
        return bool((codes == codes[self.rows][self.of]).all())

    def sources(self, carriers: NDArray[np.int64], partner: NDArray[np.int64]) -> NDArray[np.int64]:
        """Per row the row whose value it gets, when each of some carriers gets that of its partner
        among them.
        """
        donors = np.arange(len(self.rows))
        donors[carriers] = carriers[partner]
        if self.unit == "row":
            sources = np.empty_like(donors)
            sources[self.rows] = self.rows[donors]
            return sources
        is_swapped = donors != np.arange(len(donors))
        return np.where(is_swapped[self.of], self.rows[donors][self.of], np.arange(len(self.of)))


def carriers_of(dataset: Table, names: Sequence[str], *extra_codes: NDArray[np.int64]) -> Carriers:
    """The largest units within which some columns, and more that are encoded, are constant:
    households, persons, or rows.
    """
    codes: list[NDArray[np.int64]] | None = None
    for unit in ("household", "person"):
        units = units_of(dataset, unit)
        if units is None:
            continue
        carriers = carriers_by(dataset, units, unit)
        codes = (
            [*(dataset.encoded(name).codes for name in names), *extra_codes]
            if codes is None
            else codes
        )
        if len(carriers) < len(dataset) and all(carriers.carry(code) for code in codes):
            return carriers
    order = canonical_order(dataset)
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.arange(len(order))
    return Carriers(order, of, "row")


def carrier_of(dataset: Table, names: Sequence[str], *extra_codes: NDArray[np.int64]) -> str:
    """The largest unit within which some columns, and more that are encoded, are constant:
    household, person or row.
    """
    return carriers_of(dataset, names, *extra_codes).unit if dataset.schema.units else "row"


def carriers_by(dataset: Table, units: NDArray[np.int64], unit: str) -> Carriers:
    """Units in the order in which they first occur in canonical order, so that the names they have
    decide little.
    """
    order = canonical_order(dataset)
    _, first, of = np.unique(units[order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    by_first = np.argsort(first)
    rank[by_first] = np.arange(len(first))
    rows = np.empty(len(order), dtype=np.int64)
    rows[order] = rank[of]
    return Carriers(order[first[by_first]], rows, unit)


# The columns a step works on: named once each, there, and of a role that may be masked.


def _once_each(names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("names a column twice")
    return tuple(names)


Columns = Annotated[Sequence[str], COLUMNS, Field(min_length=1), AfterValidator(_once_each)]
"""One column or more."""

Within = Annotated[Sequence[str], COLUMNS, AfterValidator(_once_each)]
"""Columns that make strata; an empty list for the whole table."""


def require_columns(dataset: Table, names: Sequence[str], step: str) -> None:
    """Raise one error for all columns that are not there, or that the survey's design needs as they
    are.
    """
    dataset.require(names)
    design = [n for n in names if n in dataset.schema.attributes and _is_design(dataset, n)]
    if design:
        raise SchemaError(
            f"{step} must leave the columns of persons, households and weights as they are; it"
            f" names {', '.join(design)}"
        )


def _is_design(dataset: Table, name: str) -> bool:
    attribute = dataset.schema[name]
    return attribute.identifies is not None or attribute.has(Role.WEIGHT)


def require_apart(**lists: Sequence[str]) -> None:
    """Raise when a column is named in two lists that exclude each other."""
    field_of_column: dict[str, str] = {}
    for field, names in lists.items():
        for name in names:
            if name in field_of_column:
                raise ParameterError(
                    f"column {name!r} cannot be in {field_of_column[name]} and in {field}"
                )
            field_of_column[name] = field


# Records that belong together.

if TYPE_CHECKING:
    Codes = NDArray[np.int64]


def combined(codes: Sequence[Codes]) -> Codes:
    """One code for each combination of codes, numbered without gaps in the order of the codes."""
    combinations = np.zeros(len(codes[0]) if codes else 0, dtype=np.int64)
    for code in codes:  # numbered anew after each: the product of all may not fit a word
        joint = combinations * (int(code.max(initial=0)) + 1) + code
        size = int(joint.max(initial=-1)) + 1
        if size <= 4 * len(joint) + 1024:
            used = np.bincount(joint, minlength=size) > 0
            combinations = (np.cumsum(used) - 1)[joint]
        else:
            combinations = np.unique(joint, return_inverse=True)[1].astype(np.int64)
    return combinations


def strata_apart(
    dataset: Table, within: Sequence[str] | None, columns: Sequence[str]
) -> tuple[Codes, int]:
    """The strata of a step: as said, or the columns with that role, without those that the step
    itself changes.
    """
    return strata_of(dataset, within_apart(dataset, within, columns))


def within_apart(
    dataset: Table, within: Sequence[str] | None, columns: Sequence[str]
) -> Sequence[str]:
    """The columns that make the strata of a step."""
    if within is not None:
        return within
    return [name for name in dataset.schema.columns(Role.STRATUM) if name not in columns]


def members_of(groups: Codes, count: int) -> list[Codes]:
    """Per group the places of its members, ascending."""
    if count == 1:
        return [np.arange(len(groups))]
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.searchsorted(groups[order], np.arange(1, count)))


def paired_at_random(cells: Codes, rate: float, stream: np.random.Generator) -> Codes:
    """Per record a partner of the same cell, or itself.

    Of a cell's n records a share ``rate`` finds a partner: n · rate / 2 pairs, a fraction rounded
    up or down at random so that the share is right on average.
    """
    mixed = stream.permutation(len(cells))
    order = mixed[np.argsort(cells[mixed], kind="stable")]
    count = int(cells.max(initial=-1)) + 1
    sizes = np.bincount(cells, minlength=count)
    pairs = np.minimum(rounded(rate * sizes / 2, stream), sizes // 2)
    starts = np.cumsum(sizes) - sizes
    position = np.arange(len(order)) - starts[cells[order]]
    is_paired = position < 2 * pairs[cells[order]]
    mate = np.where(is_paired, starts[cells[order]] + (position ^ 1), np.arange(len(order)))
    partner = np.empty(len(order), dtype=np.int64)
    partner[order] = order[mate]
    return partner


def rounded(numbers: NDArray[np.float64], stream: np.random.Generator) -> Codes:
    """Whole numbers that are right on average: a fraction is the probability to round up."""
    low = np.floor(numbers + 1e-9)
    return (low + (stream.random(len(numbers)) < numbers - low)).astype(np.int64)


def codes_of(dataset: Table, names: Sequence[str]) -> tuple[Codes, NDArray[np.bool_]]:
    """One code a row for the values of some columns together, and which rows lack none of them."""
    encoded = [dataset.encoded(name) for name in names]
    present = np.ones(len(dataset), dtype=np.bool_)
    for column in encoded:
        if None in column.labels:
            present &= column.codes != column.labels.index(None)
    return combined([column.codes for column in encoded]), present


# Records sorted by one column, stratum by stratum, and the partner each exchanges its value with.

if TYPE_CHECKING:
    Floats = NDArray[np.float64]

Variant = Literal["interval", "p_distribution", "p_buckets"]


def share_of(share: float, count: int) -> int:
    """The whole number of records that a share of them is, rounded down; 0.29 of 100 is 29.

    >>> share_of(0.29, 100), share_of(0.5, 5)
    (29, 2)
    """
    return math.floor(share * count + 1e-9)


def sorted_within(
    scores: Floats, strata: Codes, carriers: Codes, stream: np.random.Generator
) -> tuple[Codes, Codes]:
    """The chosen carriers by stratum and score, and where each stratum starts.

    Equal scores are put in random order: any other would tie the swap to what the canonical order
    sorts by.
    """
    mixed = stream.permutation(carriers)
    order = mixed[np.argsort(scores[mixed], kind="stable")]
    count = int(strata.max(initial=0)) + 1
    if count > 1:
        order = order[np.argsort(strata[order], kind="stable")]
    starts = (
        np.searchsorted(strata[order], np.arange(count + 1))
        if count > 1
        else np.array([0, len(order)])
    )
    return order, starts.astype(np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Ranking:
    """Carriers that may exchange values, sorted, with the random numbers that decide who does it
    with whom.

    The numbers are drawn once, so that a narrower swap is a narrower version of the same one.
    """

    order: Codes
    starts: Codes
    variant: Variant
    first: Floats
    second: Floats

    @classmethod
    def of(
        cls,
        scores: Floats,
        strata: Codes,
        carriers: Codes,
        variant: Variant,
        stream: np.random.Generator,
    ) -> Ranking:
        """Sort the chosen carriers and draw."""
        order, starts = sorted_within(scores, strata, carriers, stream)
        normal = variant == "p_distribution"
        first = stream.standard_normal(len(order)) if normal else stream.random(len(order))
        second = stream.random(len(order)) if variant == "p_buckets" else first[:0]
        return cls(order, starts, variant, first, second)

    def limits(self, p: float) -> Codes:
        """The limit m = floor(p · N) of every stratum."""
        return np.array(
            [share_of(p, size) for size in np.diff(self.starts).tolist()], dtype=np.int64
        )

    def partners(self, p: float) -> Codes:
        """Per place in the order the place it exchanges with; its own inverse."""
        limits = self.limits(p)
        if self.variant == "interval":
            partners = kernels.swapping.pair_in_windows(self.starts, limits, self.first)
        elif self.variant == "p_distribution":
            partners = kernels.swapping.pair_at_distances(self.starts, limits, self.first)
        else:
            partners = kernels.swapping.pair_in_buckets(
                self.starts, limits, self.first, self.second
            )
        return partners  # type: ignore[no-any-return]

    def idle(self, p: float) -> int:
        """How many carriers are in strata too small for any exchange."""
        sizes = np.diff(self.starts)
        return int(sizes[self.limits(p) == 0].sum())


# Columns whose values have an order, as numbers to sort by.


def scores_of(dataset: Table, name: str) -> NDArray[np.float64]:
    """Numbers that sort like the values of a column; missing is NaN.

    Numbers are themselves; dates and times count from their epoch; ordinal values are their place
    in the ``order`` that the schema lists. Other text has no order and is refused.
    """
    attribute = dataset.schema.attributes.get(name)
    if attribute is not None and attribute.order is not None:
        return _positions(dataset, name, attribute.order)
    column = dataset.column(name)
    if column.dtype == pl.Boolean or column.dtype.is_temporal():
        return column.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    if (
        column.dtype.is_numeric()
        or column.dtype == pl.Null
        or (attribute is not None and attribute.kind is Kind.NUMERIC)
    ):
        return numbers_of(dataset, name)
    raise SchemaError(
        f"the values of column {name!r} have no order; say which with kind: ordinal and order:"
        " [...], low to high"
    )


def _positions(dataset: Table, name: str, order: tuple[str, ...]) -> NDArray[np.float64]:
    """The place of each value in a listed order."""
    encoded = dataset.encoded(name)
    rank_of_value = {value: float(i) for i, value in enumerate(order)}
    unknown = sum(1 for value in encoded.labels if value is not None and value not in rank_of_value)
    if unknown:
        raise SchemaError(
            f"column {name!r} has {unknown:,} value(s) that its order does not list; add them"
        )
    return np.array(
        [float("nan") if v is None else rank_of_value[v] for v in encoded.labels], dtype=np.float64
    )[encoded.codes]


def is_measured(dataset: Table, name: str) -> bool:
    """Whether means of a column make sense: it holds numbers and no listed order."""
    attribute = dataset.schema.attributes.get(name)
    ordered = attribute is not None and attribute.order is not None
    return not ordered and bool(dataset.dtype(name).is_numeric())
