"""The nearest record of a second table for each record of the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.schema import Schema
from sfumato.core.table import Table
from sfumato.errors import SchemaError
from sfumato.methods.steps.swapping.ordered_scores import scores_of
from sfumato.methods.steps.swapping.record_groups import combine_codes, members_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    records: Floats
    donors: Floats
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
    shared_attributes = {n: attributes[n] for n in second.columns if n in attributes}
    return dataclasses.replace(second, schema=Schema(shared_attributes))


def is_ordered(dataset: Table, name: str) -> bool:
    """Whether values of a column lie nearer to or farther from each other."""
    attribute = dataset.schema.attributes.get(name)
    dtype = dataset.column(name).dtype
    listed = attribute is not None and (attribute.order is not None or attribute.kind == "numeric")
    return listed or bool(dtype.is_numeric() or dtype.is_temporal())


def space_of(first: Table, second: Table, names: Sequence[str]) -> SwapSpace:
    """Numbers in standard deviations of our table; other columns must be equal and make blocks."""
    ordered = [name for name in names if is_ordered(first, name)]
    points = []
    for table in (first, second):
        # Without any number all are equally near: one constant column keeps the shape.
        columns = [scores_of(table, name) for name in ordered] or [np.zeros(len(table))]
        points.append(np.stack(columns, axis=1))
    first_points, second_points = points
    spread = np.array([_spread(column) for column in first_points.T])
    everyone = np.zeros(len(first) + len(second), dtype=np.int64)
    blocks = combine_codes([everyone, *_shared_codes(first, second, names, ordered)])
    our_blocks = blocks[: len(first)]
    their_blocks = blocks[len(first) :]
    # Who lacks a number is near to nobody, and is left out of every block.
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
        first_column = first.encoded(name)
        second_column = second.encoded(name)
        labels = dict.fromkeys([*first_column.labels, *second_column.labels])
        number = {value: i for i, value in enumerate(labels)}
        parts = []
        for column in (first_column, second_column):
            new_codes = np.array([number[value] for value in column.labels], dtype=np.int64)
            parts.append(new_codes[column.codes])
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
    # Block −1 becomes 0: records that lack a number, which find nobody.
    last_block = max(space.our_blocks.max(initial=-1), space.their_blocks.max(initial=-1))
    blocks = 1 + int(last_block)
    their_members = members_of(1 + space.their_blocks[donors], 1 + blocks)
    for block, seeker_numbers in enumerate(members_of(1 + space.our_blocks[seekers], 1 + blocks)):
        donor_numbers = donors[their_members[block]]
        if block and len(seeker_numbers) and len(donor_numbers):
            seeker_points = space.records[seekers[seeker_numbers]]
            donor_points = space.donors[donor_numbers]
            matched = _match_donors(seeker_points, donor_points, reach, once, stream)
            donor_rows[seeker_numbers[matched >= 0]] = donor_numbers[matched[matched >= 0]]
    return donor_rows


def _match_donors(
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

    # A hair's breadth in one more dimension puts equal distances in random order.
    seeker_points = np.column_stack([seeker_points, HAIR * stream.random(len(seeker_points))])
    donor_points = np.column_stack([donor_points, HAIR * stream.random(len(donor_points))])
    matched = np.full(len(seeker_points), -1, dtype=np.int64)
    waiting = np.arange(len(seeker_points))
    free_donors = np.arange(len(donor_points))
    neighbour_count = NEIGHBOURS
    # Twice as many neighbours a round: few seekers need more than the first ones.
    while len(waiting) and len(free_donors):
        ranks = np.arange(1, min(neighbour_count, len(free_donors)) + 1)
        tree = cKDTree(donor_points[free_donors])
        distances, neighbours = tree.query(seeker_points[waiting], k=ranks)
        is_taken = np.zeros(len(free_donors), dtype=np.bool_)
        got = kernels.swapping.assign_first_free(
            neighbours, distances, reach + 2 * HAIR, is_taken, once
        )
        matched[waiting[got >= 0]] = free_donors[got[got >= 0]]
        # Who waits on has somebody near enough whom another seeker took first.
        is_near = distances[:, 0] <= reach + 2 * HAIR
        waiting = waiting[(got < 0) & is_near]
        free_donors = free_donors[~is_taken]
        neighbour_count = min(2 * neighbour_count, MOST_NEIGHBOURS)
    return matched


def as_ours(name: str, first: pl.Series, second: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A column of both tables in one type, which is ours unless that is a list of categories."""
    if first.dtype in (pl.Categorical, pl.Enum):
        first = first.cast(pl.String)
    if second.dtype in (pl.Categorical, pl.Enum):
        second = second.cast(pl.String)
    if first.dtype.is_integer() and second.dtype.is_float():
        first = first.cast(pl.Float64)
    if second.dtype.is_float():
        second = second.fill_nan(None)
    cast = second.cast(first.dtype, strict=False)
    lost = cast.null_count() - second.null_count()
    if lost:
        raise SchemaError(
            f"{lost:,} value(s) of column {name!r} of the second table have another type than "
            "ours; convert them"
        )
    return first, cast.alias(name)
