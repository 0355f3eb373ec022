"""The rows a profile looks at: every column in full, one after the other, and all columns together
in a sample of a large table.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from sfumato.core.randomness import Seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows up to which all columns are looked at together; of a larger table so many are drawn.
MOST_ROWS = 200_000


class ColumnSource(Protocol):
    """A table that gives one column at a time, always with its rows in the same order."""

    @property
    def columns(self) -> list[str]: ...  # noqa: D102
    @property
    def height(self) -> int: ...  # noqa: D102
    def column(self, name: str) -> pl.Series: ...  # noqa: D102


@dataclasses.dataclass(frozen=True, repr=False)
class FrameColumns:
    """The columns of a table in memory."""

    frame: pl.DataFrame

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.frame.columns

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.frame.height

    def column(self, name: str) -> pl.Series:
        """One column in full."""
        return self.frame.get_column(name)


def as_source(table: pl.DataFrame | ColumnSource) -> ColumnSource:
    """A table that gives its columns one by one."""
    if isinstance(table, pl.DataFrame):
        return FrameColumns(table)
    return table


def drawn_positions(height: int, bound: int) -> NDArray[np.int64] | None:
    """The rows of the sample, ascending, the same for every table of this height; None: all rows
    are few enough.

    >>> drawn_positions(5, bound=5) is None, len(drawn_positions(1000, bound=10))
    (True, 10)
    """
    if height <= bound:
        return None
    positions = Seed.of(1).stream("profile: rows to look at").choice(height, bound, replace=False)
    return np.sort(positions).astype(np.int64)
