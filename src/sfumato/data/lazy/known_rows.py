"""Rows of a large table that are in memory already, as far as promises look, before they are
released.

Where hardly two rows are alike the counted combinations are the rows themselves, in the order of
the file, and the first step has recoded all of them when it was planned. Then only the other
columns are read while rows are released, and put beside what the step made.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl

from sfumato.core.encoding import is_one_record_each, relabelled
from sfumato.core.schema import Schema
from sfumato.core.table import Table

if TYPE_CHECKING:
    from sfumato.data.lazy.observed_values import Texts
    from sfumato.data.lazy.table import LazyTable


def are_known(table: LazyTable, combinations: Table) -> bool:
    """Whether counted combinations are the rows of a table in an order in which they come again.

    Only of files, whose digest says in the end that they did not change, and of engines that keep
    their order.
    """
    in_order = getattr(table.engine, "keeps_order", None)
    # All conditions together: one record a row, something left to read, and the same rows again in
    # the same order. Options of reading could read a value otherwise in a batch than in all rows.
    return (
        is_one_record_each(combinations.copies)
        and len(table.columns) > len(combinations.columns)
        and bool(table.parts)
        and table.source.digest is not None
        and not table.source.intake.options()
        and in_order is not None
        and in_order(table.frame)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class KnownRows:
    """Some columns of all rows as they are, and as the first step released them."""

    originals: Table
    recoded: Table

    def other_columns(self, table: LazyTable) -> list[str]:
        """The columns that are not in memory."""
        return [name for name in table.columns if name not in self.originals.columns]

    def show_texts(self, texts: Texts) -> None:
        """Let it be seen whether columns in memory hold free text: each of their texts once."""
        for name in self.originals.columns:
            if name in texts.cells and self.originals.dtype(name) == pl.String:
                encoded = self.originals.encoded(name)
                # Each distinct text once instead of every cell; the number of cells still counts.
                labels = pl.Series(name, encoded.labels, dtype=pl.String)
                missing = int(encoded.counts[labels.is_null().to_numpy()].sum())
                texts.see_whole(name, labels.drop_nulls(), len(self.originals) - missing)

    def original_rows(self, table: LazyTable, start: int, others: pl.DataFrame) -> pl.DataFrame:
        """All columns of the rows from ``start`` on; ``others`` are those that were read."""
        frame: pl.DataFrame = self.originals.frame.to_native()
        columns = dict[str, pl.Series]()
        for name in table.columns:
            if name in others.columns:
                columns[name] = others.get_column(name)
                continue
            column = frame.get_column(name).slice(start, others.height)
            if name in self.originals.coded:
                columns[name] = column.cast(pl.String)
            else:
                columns[name] = column
        return pl.DataFrame(columns)

    def released_rows(self, table: LazyTable, start: int, others: Table) -> Table:
        """The rows from ``start`` on after the first step, without those that it dropped."""
        first, last = start, start + len(others)
        origin = self.recoded.origin
        # origin is increasing: rows that the step dropped are gaps in it. With origin 0,2,3 the
        # rows from 2 on begin at place 1.
        if origin is not None:
            first, last = np.searchsorted(origin, [first, last]).tolist()
        if origin is not None and last - first < len(others):
            others = others.take(origin[first:last] - start)
        read: pl.DataFrame = others.frame.to_native()
        frame: pl.DataFrame = self.recoded.frame.to_native()
        columns = {
            name: (
                frame.get_column(name).slice(first, last - first)
                if name in frame.columns
                else read.get_column(name)
            )
            for name in table.columns
        }
        # The step's own attributes come last: it may have changed what a column is.
        attributes = {**table.schema.attributes, **self.recoded.schema.attributes}
        rows = Table(
            nw.from_native(pl.DataFrame(columns), eager_only=True),
            source=others.source,
            coded=self.recoded.coded | others.coded,
        ).with_schema(Schema(attributes))
        rows.known.codes.update(others.known.codes)
        for name, encoded in self.recoded.known.codes.items():
            # Codes with more labels than rows cost more to carry along than to find again.
            if name in frame.columns and len(encoded.labels) <= len(rows):
                rows.known.codes[name] = relabelled(encoded.narrow[first:last], encoded.labels)
        return rows
