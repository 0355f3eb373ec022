"""A card for every column: its kind and how far it tells records apart. No values, only counts and
shares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.schema import Kind
from sfumato.core.source import Code
from sfumato.guidance.profiling.detection import TextSample, sample_of
from sfumato.guidance.profiling.kinds import guess_kind
from sfumato.guidance.profiling.missing_codes import codes_in
from sfumato.guidance.profiling.quasi import comparable, separation, uniqueness
from sfumato.guidance.profiling.words import Match, find_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows that are kept of a column to compare it with others, evenly spread.
SPREAD = 10_000

# Distinct values up to which all of them are kept, so that a proposed hierarchy is checked against
# every one.
MOST_COUNTED = 200_000

# Rows from which polars counts texts in parts.
_STREAMED = 1_000_000

# Types whose values numpy compares as polars does.
_SORTED = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Date, pl.Datetime),
)


@dataclasses.dataclass(frozen=True)
class Card:
    """What a steward sees of a column.

    ``distinct`` counts different values, missing not among them; ``uniqueness`` is the share of
    records that are alone with their value, ``separation`` the share of pairs of records the column
    distinguishes (formulas in
    :mod:`sfumato.guidance.profiling.quasi`; missing equals missing). All are exact.
    """

    name: str
    kind: Kind
    reason: str
    rows: int
    missing_share: float
    distinct: int
    uniqueness: float
    separation: float

    @property
    def constant(self) -> bool:
        """Whether all records that have a value have the same one; also where none has."""
        return self.distinct <= 1

    @property
    def rows_per_value(self) -> float:
        """Mean number of records that share a value; 0 without values."""
        if self.distinct:
            return self.rows * (1 - self.missing_share) / self.distinct
        return 0.0


@dataclasses.dataclass(frozen=True, repr=False)
class ValueCounts:
    """The distinct values of a column, missing not among them, and how many records have each."""

    values: pl.Series
    counts: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, repr=False)
class ProfiledColumn:
    """A card with what it was made from: the values, bounded looks at them, the terms in the name.

    ``load`` gives all values again: those of a large table are not kept. ``spread``
    has :data:`SPREAD` of its rows at most, evenly spread; ``counts`` every distinct value, where
    there are few enough; ``missing_codes`` are common codes in it that may stand for a missing
    value.
    """

    card: Card
    load: Callable[[], pl.Series]
    spread: pl.Series
    counts: ValueCounts | None
    sample: TextSample
    matches: tuple[Match, ...]
    missing_codes: tuple[Code, ...] = ()

    @property
    def values(self) -> pl.Series:
        """All values; of a large table they are read again."""
        return comparable(self.load())

    @property
    def dtype(self) -> pl.DataType:
        """The type of the values."""
        return self.spread.dtype

    @property
    def match(self) -> Match | None:
        """The term that says most."""
        return self.matches[0] if self.matches else None


def describe(name: str, values: pl.Series) -> Card:
    """The card of a column.

    >>> import polars as pl
    >>> card = describe("age", pl.Series([20, 30, 40, 20, 40]))
    >>> str(card.kind), card.distinct, card.uniqueness, card.separation
    ('numeric', 3, 0.2, 0.8)
    """
    return look_at(name, values).card


def look_at(
    name: str, values: pl.Series, *, prefix: str = "", load: Callable[[], pl.Series] | None = None
) -> ProfiledColumn:
    """A column with its card, its sample and the terms in its name, also without a prefix all
    columns share.

    With ``load``, which reads the values again, they are not kept.
    """
    original, values = values, comparable(values)
    matches = tuple(find_all(name) or find_all(name.removeprefix(prefix)))
    sample = sample_of(values)
    guess = guess_kind(values, sample, matches[0] if matches else None)
    missing = values.null_count()
    counts = count_values(values.drop_nulls() if missing else values)
    sizes = np.append(counts.counts, missing) if missing else counts.counts
    card = Card(
        name=name,
        kind=guess.kind,
        reason=guess.reason,
        rows=values.len(),
        missing_share=missing / values.len() if values.len() else 0.0,
        distinct=len(counts.counts),
        uniqueness=uniqueness(sizes),
        separation=separation(sizes),
    )
    spread = values.gather_every(max(1, -(-values.len() // SPREAD)))
    small_counts = counts if card.distinct <= MOST_COUNTED else None
    codes = codes_in(counts.values, counts.counts)
    return ProfiledColumn(
        card, load or (lambda: original), spread, small_counts, sample, matches, codes
    )


def count_values(present: pl.Series) -> ValueCounts:
    """Every distinct value of a column without missing ones, exactly; numbers by sorting, anything
    else by hashing.

    >>> import polars as pl
    >>> found = count_values(pl.Series([2.0, -0.0, 0.0, 2.0]))
    >>> found.values.len(), sorted(found.counts.tolist())
    (2, [2, 2])
    """
    if present.dtype in _SORTED and present.len():
        ordered = present.sort()
        numbers = ordered.to_physical().to_numpy()
        first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
        return ValueCounts(ordered.gather(first), np.diff(np.append(first, len(numbers))))
    if present.dtype == pl.String:
        rows = (
            present.alias("value")
            .to_frame()
            .lazy()
            .group_by("value")
            .agg(pl.len().alias("records"))
        )
        # in memory the groups of a large column are partitioned first, which takes three times as
        # long
        table = rows.collect(engine="streaming" if present.len() > _STREAMED else "in-memory")
        return ValueCounts(
            table.get_column("value"), table.get_column("records").to_numpy().astype(np.int64)
        )
    return ValueCounts(
        present.unique(maintain_order=True), present.unique_counts().to_numpy().astype(np.int64)
    )
