"""The nearest record of a second table for each record of ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.dataset import Dataset
from sfumato.core.encoding import encode
from sfumato.core.schema import Schema
from sfumato.errors import SchemaError
from sfumato.steps.exchange.groups import combined, members_of
from sfumato.steps.exchange.scores import scores_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

NEIGHBOURS = 8
MOST_NEIGHBOURS = 256
HAIR = 1e-6
"""By how much, in standard deviations, records are moved at random in a dimension of their own: chance decides between equals."""


@dataclasses.dataclass(frozen=True, eq=False)
class Space:
    """Records of two tables as points, in blocks of equal nominal values; −1 is the block of those that lack a number."""

    ours: Floats
    theirs: Floats
    our_blocks: Codes
    their_blocks: Codes


def described_alike(second: Dataset, ours: Dataset, names: Sequence[str]) -> Dataset:
    """The second table with the columns it needs, described as ours are."""
    missing = [name for name in names if name not in second.columns]
    if missing:
        raise SchemaError(f"the second table, {second.source.name}, lacks the column(s) {', '.join(missing)}")
    known = ours.schema.attributes
    return dataclasses.replace(second, schema=Schema({n: known[n] for n in second.columns if n in known}))


def is_ordered(dataset: Dataset, name: str) -> bool:
    """Whether values of a column lie nearer to or farther from each other."""
    attribute = dataset.schema.attributes.get(name)
    dtype = dataset.column(name).dtype
    listed = attribute is not None and (attribute.order is not None or attribute.kind == "numeric")
    return listed or bool(dtype.is_numeric() or dtype.is_temporal())


def space_of(ours: Dataset, theirs: Dataset, names: Sequence[str]) -> Space:
    """Numbers in standard deviations of our table; other columns must be equal and make blocks."""
    import numpy as np

    ordered = [name for name in names if is_ordered(ours, name)]
    left = np.stack([scores_of(ours, name) for name in ordered] or [np.zeros(len(ours))], axis=1)
    right = np.stack([scores_of(theirs, name) for name in ordered] or [np.zeros(len(theirs))], axis=1)
    spread = np.array([_spread(column) for column in left.T])
    blocks = combined([np.zeros(len(ours) + len(theirs), dtype=np.int64), *_shared_codes(ours, theirs, names, ordered)])
    our_blocks, their_blocks = blocks[: len(ours)], blocks[len(ours) :]
    our_blocks[np.isnan(left).any(axis=1)] = -1
    their_blocks[np.isnan(right).any(axis=1)] = -1
    return Space(left / spread, right / spread, our_blocks, their_blocks)


def _spread(column: Floats) -> float:
    """The standard deviation; sums are over sorted values, so that the order of rows decides not even the last digit."""
    import numpy as np

    known = np.sort(column[~np.isnan(column)])
    return (float(known.std()) if len(known) else 0.0) or 1.0


def _shared_codes(ours: Dataset, theirs: Dataset, names: Sequence[str], ordered: Sequence[str]) -> list[Codes]:
    """Nominal columns of both tables, one below the other, under the same codes."""
    import numpy as np

    found = []
    for name in names:
        if name in ordered:
            continue
        left, right = encode(ours.column(name)), encode(theirs.column(name))
        number = {value: i for i, value in enumerate(dict.fromkeys([*left.labels, *right.labels]))}
        parts = [np.array([number[v] for v in one.labels], dtype=np.int64)[one.codes] for one in (left, right)]
        found.append(np.concatenate(parts))
    return found


def nearest_donors(
    space: Space, seekers: Codes, donors: Codes, reach: float, once: bool, stream: np.random.Generator
) -> Codes:
    """For each seeker, in turn, the nearest free donor of its block, or −1."""
    import numpy as np

    found = np.full(len(seekers), -1, dtype=np.int64)
    blocks = 1 + int(max(space.our_blocks.max(initial=-1), space.their_blocks.max(initial=-1)))
    their_members = members_of(1 + space.their_blocks[donors], 1 + blocks)
    for block, ours in enumerate(members_of(1 + space.our_blocks[seekers], 1 + blocks)):
        theirs = donors[their_members[block]]
        if block and len(ours) and len(theirs):
            matched = _matched(space.ours[seekers[ours]], space.theirs[theirs], reach, once, stream)
            found[ours[matched >= 0]] = theirs[matched[matched >= 0]]
    return found


def _matched(ours: Floats, theirs: Floats, reach: float, once: bool, stream: np.random.Generator) -> Codes:
    """Ask for more neighbours among the donors that are left, until every seeker has one or has none within reach."""
    import numpy as np
    from scipy.spatial import cKDTree

    from sfumato.kernels.exchange import first_free

    ours = np.column_stack([ours, HAIR * stream.random(len(ours))])
    theirs = np.column_stack([theirs, HAIR * stream.random(len(theirs))])
    found = np.full(len(ours), -1, dtype=np.int64)
    waiting, left, many = np.arange(len(ours)), np.arange(len(theirs)), NEIGHBOURS
    while len(waiting) and len(left):
        distances, neighbours = cKDTree(theirs[left]).query(ours[waiting], k=np.arange(1, min(many, len(left)) + 1))
        taken = np.zeros(len(left), dtype=np.bool_)
        got = first_free(neighbours, distances, reach + 2 * HAIR, taken, once)
        found[waiting[got >= 0]] = left[got[got >= 0]]
        waiting = waiting[(got < 0) & (distances[:, 0] <= reach + 2 * HAIR)]
        left, many = left[~taken], min(2 * many, MOST_NEIGHBOURS)
    return found


def as_ours(name: str, ours: pl.Series, theirs: pl.Series) -> tuple[pl.Series, pl.Series]:
    """A column of both tables in one type, which is ours unless that is a list of categories."""
    import polars as pl

    if ours.dtype in (pl.Categorical, pl.Enum):
        ours = ours.cast(pl.String)
    if theirs.dtype in (pl.Categorical, pl.Enum):
        theirs = theirs.cast(pl.String)
    if ours.dtype.is_integer() and theirs.dtype.is_float():
        ours = ours.cast(pl.Float64)
    cast = (
        theirs.fill_nan(None).cast(ours.dtype, strict=False)
        if theirs.dtype.is_float()
        else theirs.cast(ours.dtype, strict=False)
    )
    lost = cast.null_count() - (theirs.fill_nan(None) if theirs.dtype.is_float() else theirs).null_count()
    if lost:
        raise SchemaError(f"{lost:,} value(s) of column {name!r} of the second table are not of the type ours are of")
    return ours, cast.alias(name)
