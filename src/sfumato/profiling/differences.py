"""Columns that are the difference or the sum of two others: released as they are, they undo the recoding of both.

A length of stay beside the days of admission and discharge, a survival time beside first and last visit: whoever knows one of the
dates, and reads the difference, knows the other one to the day, however coarse it is written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.schema import Kind
from sfumato.profiling.columns import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 10_000
"""Rows looked at, evenly spread."""

FEWEST = 30
"""Records in which all three values are known, from which equality in all of them is no accident."""

SEVERAL = 5
"""Distinct values each of the three columns needs."""

MOST_KNOWN, MOST_OTHERS = 60, 120
SCREEN = 64
"""Records looked at first: what differs there is not compared in full."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """Column ``name`` is ``one`` − ``other`` in every record, or their sum; days where these are dates."""

    name: str
    one: str
    other: str
    minus: bool

    def __str__(self) -> str:
        return f"{self.one} {'−' if self.minus else '+'} {self.other}"


def differences(known: Sequence[Column], others: Sequence[Column]) -> tuple[Difference, ...]:
    """The first pair of known columns for each other column that is exactly their difference or sum."""
    lines = {c.card.name: line for c in known[:MOST_KNOWN] if (line := _line(c)) is not None}
    if len(lines) < 2:
        return ()
    wanted = ((c.card.name, _line(c)) for c in others[:MOST_OTHERS])
    found = (next(_made_of(name, line, lines), None) for name, line in wanted if line is not None)
    return tuple(one for one in found if one is not None)


def _line(column: Column) -> NDArray[np.float64] | None:
    """The column as numbers, dates as days, missing as NaN; None for anything else and for columns of a few values."""
    if column.card.distinct < SEVERAL or column.card.rows < FEWEST:
        return None
    values = column.values.gather_every(-(-column.values.len() // ROWS))
    if values.dtype == pl.String and column.card.kind is Kind.DATE:
        values = values.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    if values.dtype in (pl.Date, pl.Datetime):
        values = values.dt.date().to_physical()
    if not values.dtype.is_numeric():
        return None
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _made_of(name: str, line: NDArray[np.float64], lines: dict[str, NDArray[np.float64]]) -> Iterator[Difference]:
    """The pairs of columns whose difference or sum a column is."""
    names = list(lines)
    first = np.flatnonzero(~np.isnan(line))[:SCREEN]
    table = np.stack([one[first] for one in lines.values()])
    for place, one in enumerate(names):
        left = table[place] - line[first]  # one − other = name: what is left is the other
        for minus, rest in ((True, left), (False, -left)):
            near = ((table == rest) | np.isnan(table) | np.isnan(rest)).all(axis=1)
            for other in (names[at] for at in np.flatnonzero(near).tolist() if names[at] != one):
                if _equal(line, lines[one], lines[other], minus=minus):
                    yield Difference(name, one, other, minus)


def _equal(line: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64], *, minus: bool) -> bool:
    """Whether it holds in all records that know the three, and these are most of those that know the column."""
    apart = (one - other if minus else one + other) - line
    known = ~np.isnan(apart)
    enough = known.sum() >= max(FEWEST, (~np.isnan(line)).sum() / 2)
    return bool(enough and (apart[known] == 0).all())
