"""A card for every column: its kind and how far it tells records apart. No values, only counts and shares."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.schema import Kind
from sfumato.profiling.finding import TextSample, sample_of
from sfumato.profiling.kinds import guess_kind
from sfumato.profiling.quasi import comparable, separation, uniqueness
from sfumato.profiling.words import Match, find_all

if TYPE_CHECKING:
    import polars as pl


@dataclasses.dataclass(frozen=True)
class Card:
    """What a steward sees of a column.

    ``distinct`` counts different values, missing not among them; ``uniqueness`` is the share of records that are
    alone with their value, ``separation`` the share of pairs of records the column tells apart (formulas in
    :mod:`sfumato.profiling.quasi`; missing equals missing). All are exact.
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
        return self.rows * (1 - self.missing_share) / self.distinct if self.distinct else 0.0


@dataclasses.dataclass(frozen=True, repr=False)
class ProfiledColumn:
    """A card with what it was made from: the values, the bounded look at them, the terms in the name."""

    card: Card
    values: pl.Series
    sample: TextSample
    matches: tuple[Match, ...]

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


def look_at(name: str, values: pl.Series, *, prefix: str = "") -> ProfiledColumn:
    """A column with its card, its sample and the terms in its name, also without a prefix all columns share."""
    values = comparable(values)
    matches = tuple(find_all(name) or find_all(name.removeprefix(prefix)))
    sample = sample_of(values)
    guess = guess_kind(values, sample, matches[0] if matches else None)
    missing = values.null_count()
    sizes = values.unique_counts().to_numpy().astype(np.int64)
    card = Card(
        name=name,
        kind=guess.kind,
        reason=guess.reason,
        rows=values.len(),
        missing_share=missing / values.len() if values.len() else 0.0,
        distinct=len(sizes) - (missing > 0),
        uniqueness=uniqueness(sizes),
        separation=separation(sizes),
    )
    return ProfiledColumn(card, values, sample, matches)
