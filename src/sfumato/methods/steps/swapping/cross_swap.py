"""Swapping with a second table: values are taken from its most similar records."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato import kernels
from sfumato.core.encoding import encode
from sfumato.core.parameters import parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import Schema
from sfumato.core.step import ColumnStep, Goal, Masked, Preserved
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps.preserved_moments import table_shift
from sfumato.methods.steps.swapping.carriers import (
    Columns,
    carriers_of,
    codes_of,
    combined,
    members_of,
    require_apart,
    require_columns,
    scores_of,
    share_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The nearest record of a second table for each record of ours.

if TYPE_CHECKING:
    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

NEIGHBOURS = 8
MOST_NEIGHBOURS = 256
HAIR = 1e-6
"""By how much, in standard deviations, records are moved at random in a dimension of their own:
chance decides between equals.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class SwapSpace:
    """Records of two tables as points, in blocks of equal nominal values; −1 is the block of those
    that lack a number.
    """

    ours: Floats
    theirs: Floats
    our_blocks: Codes
    their_blocks: Codes


def described_alike(second: Table, first: Table, names: Sequence[str]) -> Table:
    """The second table with the columns it needs, described as ours are."""
    missing = [name for name in names if name not in second.columns]
    if missing:
        raise SchemaError(
            f"the second table, {second.source.name}, lacks the column(s) {', '.join(missing)}"
        )
    attributes = first.schema.attributes
    return dataclasses.replace(
        second, schema=Schema({n: attributes[n] for n in second.columns if n in attributes})
    )


def is_ordered(dataset: Table, name: str) -> bool:
    """Whether values of a column lie nearer to or farther from each other."""
    attribute = dataset.schema.attributes.get(name)
    dtype = dataset.column(name).dtype
    listed = attribute is not None and (attribute.order is not None or attribute.kind == "numeric")
    return listed or bool(dtype.is_numeric() or dtype.is_temporal())


def space_of(first: Table, second: Table, names: Sequence[str]) -> SwapSpace:
    """Numbers in standard deviations of our table; other columns must be equal and make blocks."""
    ordered = [name for name in names if is_ordered(first, name)]
    first_points = np.stack(
        [scores_of(first, name) for name in ordered] or [np.zeros(len(first))], axis=1
    )
    second_points = np.stack(
        [scores_of(second, name) for name in ordered] or [np.zeros(len(second))], axis=1
    )
    spread = np.array([_spread(column) for column in first_points.T])
    blocks = combined(
        [
            np.zeros(len(first) + len(second), dtype=np.int64),
            *_shared_codes(first, second, names, ordered),
        ]
    )
    our_blocks, their_blocks = blocks[: len(first)], blocks[len(first) :]
    our_blocks[np.isnan(first_points).any(axis=1)] = -1
    their_blocks[np.isnan(second_points).any(axis=1)] = -1
    return SwapSpace(first_points / spread, second_points / spread, our_blocks, their_blocks)


def _spread(column: Floats) -> float:
    """The standard deviation; sums are over sorted values, so that the order of rows decides not
    even the last digit.
    """
    present = np.sort(column[~np.isnan(column)])
    return (float(present.std()) if len(present) else 0.0) or 1.0


def _shared_codes(
    first: Table, second: Table, names: Sequence[str], ordered: Sequence[str]
) -> list[Codes]:
    """Nominal columns of both tables, one below the other, under the same codes."""
    codes = []
    for name in names:
        if name in ordered:
            continue
        first_column, second_column = first.encoded(name), second.encoded(name)
        number = {
            value: i
            for i, value in enumerate(dict.fromkeys([*first_column.labels, *second_column.labels]))
        }
        parts = [
            np.array([number[v] for v in column.labels], dtype=np.int64)[column.codes]
            for column in (first_column, second_column)
        ]
        codes.append(np.concatenate(parts))
    return codes


def nearest_donors(
    space: SwapSpace,
    seekers: Codes,
    donors: Codes,
    reach: float,
    once: bool,
    stream: np.random.Generator,
) -> Codes:
    """For each seeker, in turn, the nearest free donor of its block, or −1."""
    donor_rows = np.full(len(seekers), -1, dtype=np.int64)
    blocks = 1 + int(max(space.our_blocks.max(initial=-1), space.their_blocks.max(initial=-1)))
    their_members = members_of(1 + space.their_blocks[donors], 1 + blocks)
    for block, seeker_numbers in enumerate(members_of(1 + space.our_blocks[seekers], 1 + blocks)):
        donor_numbers = donors[their_members[block]]
        if block and len(seeker_numbers) and len(donor_numbers):
            matched = _matched(
                space.ours[seekers[seeker_numbers]],
                space.theirs[donor_numbers],
                reach,
                once,
                stream,
            )
            donor_rows[seeker_numbers[matched >= 0]] = donor_numbers[matched[matched >= 0]]
    return donor_rows


def _matched(
    seeker_points: Floats,
    donor_points: Floats,
    reach: float,
    once: bool,
    stream: np.random.Generator,
) -> Codes:
    """Ask for more neighbours among the donors that are left, until every seeker has one or has
    none within reach.
    """
    from scipy.spatial import cKDTree

    seeker_points = np.column_stack([seeker_points, HAIR * stream.random(len(seeker_points))])
    donor_points = np.column_stack([donor_points, HAIR * stream.random(len(donor_points))])
    matched = np.full(len(seeker_points), -1, dtype=np.int64)
    waiting, free_donors, neighbour_count = (
        np.arange(len(seeker_points)),
        np.arange(len(donor_points)),
        NEIGHBOURS,
    )
    while len(waiting) and len(free_donors):
        distances, neighbours = cKDTree(donor_points[free_donors]).query(
            seeker_points[waiting], k=np.arange(1, min(neighbour_count, len(free_donors)) + 1)
        )
        is_taken = np.zeros(len(free_donors), dtype=np.bool_)
        got = kernels.swapping.assign_first_free(
            neighbours, distances, reach + 2 * HAIR, is_taken, once
        )
        matched[waiting[got >= 0]] = free_donors[got[got >= 0]]
        waiting = waiting[(got < 0) & (distances[:, 0] <= reach + 2 * HAIR)]
        free_donors, neighbour_count = (
            free_donors[~is_taken],
            min(2 * neighbour_count, MOST_NEIGHBOURS),
        )
    return matched


def as_ours(name: str, first: pl.Series, second: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A column of both tables in one type, which is ours unless that is a list of categories."""
    if first.dtype in (pl.Categorical, pl.Enum):
        first = first.cast(pl.String)
    if second.dtype in (pl.Categorical, pl.Enum):
        second = second.cast(pl.String)
    if first.dtype.is_integer() and second.dtype.is_float():
        first = first.cast(pl.Float64)
    cast = (
        second.fill_nan(None).cast(first.dtype, strict=False)
        if second.dtype.is_float()
        else second.cast(first.dtype, strict=False)
    )
    lost = (
        cast.null_count()
        - (second.fill_nan(None) if second.dtype.is_float() else second).null_count()
    )
    if lost:
        raise SchemaError(
            f"{lost:,} value(s) of column {name!r} of the second table are not of the type ours"
            " are of"
        )
    return first, cast.alias(name)


RELEASED = (
    "swap_across: the release holds values of the second table; its people must be protected and"
    " agree, or be synthetic"
)


@parameters
class SwapAcross(ColumnStep):
    """Replace values by those of the most similar records of a second table, real or synthetic.

    The second table is the one given as ``population``
    (``sf.AnonymizeOptions(population=sf.read("other.csv"))``); it has the columns of ``columns``
    and ``match``. A share ``rate`` of our records is chosen at random; each gets all of ``columns``
    from the record nearest in ``match``: Euclidean distance of numbers, dates and listed orders,
    each in standard deviations of our table, among records that are equal in all other columns of
    ``match``. ``reach`` is the largest distance; ``once`` gives every donor to one record only, in
    random order of our records; among equally near donors chance decides. What we give in exchange
    goes nowhere: the second table is not released.

    Nothing is kept exactly. How far each distribution moved is measured: the largest difference of
    cumulative shares (Kolmogorov–Smirnov) where values have an order, else half the sum of the
    differences of shares. Missing values stay missing; donors lack nothing; records that lack a
    number in ``match`` find no donor and stay as they are. Where ``columns`` and ``match`` are
    constant within persons or households, these take the place of records.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.randomness import Seed
    >>> ours = Table(pl.DataFrame({"age": [20, 70], "cost": [100, 900]}))
    >>> theirs = Table(pl.DataFrame({"age": [71, 22, 40], "cost": [850, 120, 300]}))
    >>> step = SwapAcross(["cost"], match=["age"])
    >>> step.apply(ours, step.plan(ours, Goal(seed=Seed(1), population=theirs))).column(
    ...     "cost"
    ... ).to_list()
    [120, 850]
    """

    columns: Annotated[
        Columns,
        Field(description="columns whose values are taken from one record of the second table"),
    ]
    match: Annotated[
        Columns, Field(description="columns in which records of the two tables are similar")
    ]
    rate: Annotated[
        float, Field(ge=0, le=1, description="share of the records that get other values")
    ] = 1.0
    reach: Annotated[
        float | None, Field(ge=0, description="largest distance, in standard deviations")
    ] = None
    once: Annotated[
        bool, Field(description="take every record of the second table once at most")
    ] = True

    name: ClassVar[str] = "swap_across"
    secret: ClassVar[tuple[str, ...]] = ("rate",)

    def __post_init__(self) -> None:
        require_apart(columns=self.columns, match=self.match)

    @property
    def second_source(self) -> str:
        """The table that values are taken from."""
        return "a second table, whose values it releases"

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the nearest record of the second table for each record that was chosen."""
        require_columns(dataset, self.columns, self.name)
        dataset.require(self.match)
        second = self._second(dataset, goal)
        donor, is_seeker = self._donors(dataset, second, goal)
        alone = int((is_seeker & (donor < 0)).sum())
        columns = {name: _take_values(name, dataset, second, donor) for name in self.columns}
        shortage_warnings = (
            (f"swap_across: {alone:,} record(s) found no donor and keep their values",)
            if alone
            else ()
        )
        return Masked(
            actions=dict.fromkeys(
                self.columns, "replaced by values of similar records of a second table"
            ),
            columns=columns,
            preserved=tuple(
                _shift(dataset, dataset.with_columns(columns), name) for name in self.columns
            ),
            warnings=(RELEASED, *shortage_warnings),
            owner={"replaced": int((donor >= 0).sum()), "without_donor": alone},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Put the taken values in place."""
        return plan.applied(dataset)

    def _second(self, dataset: Table, goal: Goal) -> Table:
        if goal.population is None:
            raise SchemaError(
                "swap_across takes values from a second table, but there is none; give one with"
                " population="
            )
        return described_alike(goal.population, dataset, [*self.columns, *self.match])

    def _donors(self, dataset: Table, second: Table, goal: Goal) -> tuple[Codes, NDArray[np.bool_]]:
        """Per row the row of the second table that gives its values (−1: none), and which rows were
        chosen.
        """
        donors = np.flatnonzero(codes_of(second, self.columns)[1])
        if not len(donors):
            raise SchemaError(
                f"the second table, {second.source.name}, has no record that knows all columns to"
                " be taken"
            )
        order = canonical_order(second)
        donors = order[np.isin(order, donors)]
        carriers = carriers_of(dataset, [*self.columns, *self.match])
        stream = goal.stream("swap across")
        seekers = stream.permutation(len(carriers))[: share_of(self.rate, len(carriers))]
        space = space_of(dataset, second, self.match)
        reach = math.inf if self.reach is None else self.reach
        nearest = nearest_donors(space, carriers.rows[seekers], donors, reach, self.once, stream)
        donor = np.full(len(carriers), -1, dtype=np.int64)
        donor[seekers] = nearest
        marked = np.zeros(len(carriers), dtype=np.bool_)
        marked[seekers] = True
        return donor[carriers.of], marked[carriers.of]


def _take_values(name: str, dataset: Table, second: Table, donor: Codes) -> pl.Series:
    """A column in which rows with a donor have its value; missing stays missing."""
    first, theirs = as_ours(name, dataset.column(name), second.column(name))
    missing = (
        first.is_null()
        if not first.dtype.is_float()
        else first.is_null() | first.is_nan().fill_null(value=True)
    )
    from_donor = (donor >= 0) & ~missing.to_numpy()
    column = pl.concat([first, theirs]).gather(
        np.where(from_donor, len(first) + donor, np.arange(len(first)))
    )
    return column.fill_nan(None) if column.dtype.is_float() else column


def _shift(before: Table, after: Table, name: str) -> Preserved:
    """How far the distribution of a column moved."""
    off = _steps(before, after, name) if is_ordered(before, name) else _shares(before, after, name)
    return Preserved("distribution", (name,), False, off)


def _steps(before: Table, after: Table, name: str) -> float:
    """The largest difference between two cumulative distributions."""
    old, new = (
        np.sort(scores[~np.isnan(scores)])
        for scores in (scores_of(before, name), scores_of(after, name))
    )
    if not len(old) or not len(new):
        return 0.0
    at = np.concatenate([old, new])
    share_before = np.searchsorted(old, at, side="right") / len(old)
    share_after = np.searchsorted(new, at, side="right") / len(new)
    return float(np.abs(share_before - share_after).max())


def _shares(before: Table, after: Table, name: str) -> float:
    """Half the sum of the differences of shares."""
    texts = pl.concat([before.column(name).cast(pl.String), after.column(name).cast(pl.String)])
    codes = combined([encode(texts).codes])
    return table_shift([codes[: len(before)]], [codes[len(before) :]])
