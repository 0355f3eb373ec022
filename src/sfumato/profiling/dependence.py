r"""Columns that tell each other: codes beside their labels, groups beside what they group, the same column twice.

Column *a* tells column *b* as well as guessing *b* from *a* beats guessing it from nothing (Goodman and Kruskal's λ):

.. math::

    \lambda(b \mid a) = \frac{\sum_x \max_y n_{xy} - \max_y n_{\cdot y}}{n - \max_y n_{\cdot y}}

Recoding one of two such columns is undone by releasing the other, so a proposal must not leave one of them as it is.

Reference: Goodman and Kruskal 1954, Measures of association for cross classifications.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.profiling.quasi import Codes, codes_of

if TYPE_CHECKING:
    import polars as pl

    from sfumato.profiling.columns import Column

ROWS = 10_000
"""Rows looked at, evenly spread."""

MOST_COLUMNS = 120
FEWEST_ROWS = 30
TELLS = 0.9
"""λ from which one column tells another, where that has :data:`SEVERAL` values; with fewer only λ = 1 counts."""

SAME = 0.98
"""λ in both directions from which two columns say the same."""

SEVERAL = 5
ROWS_A_VALUE = 4
"""Mean records a value needs before what it goes with says anything."""


@dataclasses.dataclass(frozen=True)
class Telling:
    """Column ``one`` tells column ``other``; ``mutual``: and the other way round."""

    one: str
    other: str
    mutual: bool


def tellings(known: Sequence[Column], others: Sequence[Column]) -> tuple[Telling, ...]:
    """Which of the columns an outsider may know tell which column, or are told by it.

    Looks at 10,000 rows at most and at 120 columns at most. Columns with nearly as many values as records say nothing,
    unless they are the same column twice.
    """
    columns = [*known, *others][:MOST_COLUMNS]
    if not columns or columns[0].card.rows < FEWEST_ROWS:
        return ()
    coded = [_Coded.of(column) for column in columns]
    found: list[Telling] = []
    for i, one in enumerate(coded[: len(known)]):
        for other in coded[i + 1 :]:
            found.extend(_between(one, other))
    return tuple(found)


def _between(one: _Coded, other: _Coded) -> Iterator[Telling]:
    if one.same_as(other):
        yield Telling(one.name, other.name, mutual=True)
        return
    there, back = one.tells(other), other.tells(one)
    if min(there, back) >= SAME:
        yield Telling(one.name, other.name, mutual=True)
    elif max(there, back) >= TELLS:
        teller, told = (one, other) if there >= back else (other, one)
        yield Telling(teller.name, told.name, mutual=False)


@dataclasses.dataclass(frozen=True, repr=False)
class _Coded:
    """A column as codes of the rows looked at."""

    name: str
    values: pl.Series
    codes: Codes
    distinct: int
    commonest: int

    @classmethod
    def of(cls, column: Column) -> _Coded:
        step = -(-column.values.len() // ROWS)
        values = column.values.gather_every(step)
        codes = codes_of(values).dense()
        counts = codes.counts()
        return cls(column.card.name, column.values, codes, codes.many, int(counts.max()))

    def same_as(self, other: _Coded) -> bool:
        """Whether the two are one column, value by value."""
        alike = self.distinct == other.distinct > 1 and self.values.dtype == other.values.dtype
        return alike and self.values.equals(other.values, check_names=False)

    def tells(self, other: _Coded) -> float:
        """λ, where there is enough to say so; 0 otherwise."""
        rows = len(self.codes.of)
        if self.distinct * ROWS_A_VALUE > rows or not 1 < other.distinct <= 2 * self.distinct:
            return 0.0
        right = _right_guesses(self.codes, other.codes)
        if right == rows:
            return 1.0
        return (right - other.commonest) / (rows - other.commonest) if other.distinct >= SEVERAL else 0.0


def _right_guesses(given: Codes, guessed: Codes) -> int:
    """Records whose code in one column is the commonest among those with their code in the other."""
    import numpy as np

    joint = Codes(given.of * guessed.many + guessed.of, given.many * guessed.many)
    if joint.compact:
        return int(joint.counts().reshape(given.many, guessed.many).max(axis=1).sum())
    pairs, counts = np.unique(joint.of, return_counts=True)
    best = np.zeros(given.many, dtype=np.int64)
    np.maximum.at(best, pairs // guessed.many, counts)
    return int(best.sum())
