"""What several tables are still worth: rows that are left, how many of them people have, and values
that are as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from sfumato.core.data import Pair
from sfumato.core.metric import Measure, Utility
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.words import percent
from sfumato.data.relational.promises import require_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.relational.rows import TableRows
    from sfumato.data.relational.tables import RelatedTables


def _require_both(
    original: object, released: object, metric: str
) -> tuple[RelatedTables, RelatedTables]:
    return require_tables(original, metric), require_tables(released, metric)


@parameters
class RowsKept(Utility):
    """The share of rows that are still there; the table that lost most counts, and all are told."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "rows_kept"
    title: ClassVar[str] = "Rows kept"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, pair: Pair) -> Measure:
        """Rows after over rows before, by table."""
        original, released = pair.original, pair.released
        before, after = _require_both(original, released, self.name)
        shares = {rows.name: len(after[rows.name]) / max(1, len(rows)) for rows in before.parts}
        shares_text = ", ".join(f"{percent(share)} of {name}" for name, share in shares.items())
        return Measure(
            self.name,
            min(shares.values()),
            self.better,
            f"rows that remain: {shares_text}",
            per_column=shares,
        )


@parameters
class RowsPerPerson(Utility):
    r"""How far the numbers of rows that people have are from what they were.

    .. math:: \max_T \tfrac12 \sum_c |p_T(c) - q_T(c)|

    *p* and *q* are the shares of people with *c* rows of table *T*, before and after (total
    variation): 0 when as many people as before have each number of rows, 1 when no number is left
    that anybody had. Where tables do not join with the people any more, people without a row are
    counted nowhere.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "rows_per_person"
    title: ClassVar[str] = "Rows per person (distance)"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, pair: Pair) -> str | None:
        """Wherever there is a table below the people."""
        original = pair.original
        if require_tables(original, self.name).below:
            return None
        return "there is no table below the people"

    def measure(self, pair: Pair) -> Measure:
        """The largest distance of all tables."""
        original, released = pair.original, pair.released
        before, after = _require_both(original, released, self.name)
        distances = {}
        for rows in before.below:
            counts_before = _counts(before, rows.name, after.split)
            counts_after = _counts(after, rows.name, after.split)
            distances[rows.name] = _distance(counts_before, counts_after)
        distances_text = ", ".join(
            f"{distance:.3f} in {name}" for name, distance in distances.items()
        )
        meaning = (
            f"distance between the numbers of rows per person, before and after: {distances_text}"
        )
        return Measure(
            self.name, max(distances.values()), self.better, meaning, per_column=distances
        )


def _counts(tables: RelatedTables, name: str, split: bool) -> NDArray[np.int64]:
    # After a split persons without a row are not seen in the table, so they are left out before
    # too.
    counts = tables.per_person(name)
    return counts[counts > 0] if split else counts


def _distance(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    # As many places as the largest number of rows in either file.
    size = int(max(before.max(initial=0), after.max(initial=0))) + 1
    shares = [
        np.bincount(counts, minlength=size) / max(1, len(counts)) for counts in (before, after)
    ]
    # Half, since what is missing at one number is too much at another.
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


@parameters
class CellsUnchanged(Utility):
    """The share of the cells that were there which are released as they were; what was dropped is
    lost. The worst table counts.
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLES})
    name: ClassVar[str] = "cells_unchanged"
    title: ClassVar[str] = "Cells unchanged"
    better: ClassVar[Literal["lower", "higher"]] = "higher"

    def measure(self, pair: Pair) -> Measure:
        """Cells that are as they were over all that there were, by table."""
        original, released = pair.original, pair.released
        before, after = _require_both(original, released, self.name)
        shares = {
            rows.name: _unchanged(rows, after[rows.name])
            for rows in before.parts
            if rows.frame.width
        }
        shares_text = ", ".join(f"{percent(share)} of {name}" for name, share in shares.items())
        return Measure(
            self.name,
            min(shares.values(), default=1.0),
            self.better,
            f"unchanged cells: {shares_text}",
            per_column=shares,
        )


def _unchanged(before: TableRows, after: TableRows) -> float:
    """The share of cells; values are compared as they are written."""
    # Without origins all rows are there in their order.
    if after.origin is None:
        origin = np.arange(len(after), dtype=np.int64)
    else:
        origin = after.origin
    same_cells = 0
    for name in before.frame.columns:
        if name in after.frame.columns:
            was, now = before.frame[name].gather(origin), after.frame[name]
            # A recoded column may have another type; then the written forms are compared.
            if was.dtype != now.dtype:
                was, now = (was.cast(pl.String), now.cast(pl.String))
            same_cells += int(was.eq_missing(now).sum())
    # Of all cells there were: rows and columns that are gone count as changed.
    return same_cells / max(1, len(before) * before.frame.width)
