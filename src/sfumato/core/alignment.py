"""Releases that were made elsewhere: which original row each released row came from, as somebody
says.

Row order is never taken for granted: a synthetic table with as many rows as the original would be
compared row by row with people it has nothing to do with, and its copies would not be seen.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.pair import TablePair
from sfumato.core.table import NOBODY, Table
from sfumato.errors import ParameterError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

BY_ORDER, BY_NOTHING = "order", "none"
CHOICES = (
    "name a column that identifies records in both tables, 'order' if row i was made from row i "
    "of the original, or 'none' if no row belongs to a person (synthetic records)"
)


def pair_elsewhere(
    original: Table, released: Table, *, align: str | None = None, control: Table | None = None
) -> TablePair:
    """A pair of an original and a release that was made elsewhere.

    ``align`` is a column that identifies records in both tables, ``order`` or ``none``; without it,
    tables that do not say where their rows come from are refused, unless both are the same row by
    row. ``control`` are people of whom the rows were not made: rows that are nobody's are attacked
    beside them.
    """
    if control is not None and align != BY_NOTHING:
        raise ParameterError(
            "a control group only goes with synthetic rows; add align 'none', or leave "
            "the control group out"
        )
    if align is None:
        if released.origin is None and not _same_rows(original, released):
            raise ParameterError(
                f"{released.source.name} does not say which rows of {original.source.name} its "
                f"rows were made from; add align: {CHOICES}"
            )
        return TablePair.of(original, released)
    if align == BY_NOTHING:
        return _unaligned(original, released, control)
    if align == BY_ORDER:
        if len(released) != len(original):
            raise SchemaError(
                f"{released.source.name} has {len(released):,} rows and {original.source.name} has "
                f"{len(original):,}, so 'order' cannot align them; {CHOICES}"
            )
        aligned = dataclasses.replace(released, origin=np.arange(len(original), dtype=np.int64))
        return TablePair.of(original, aligned)
    rows = _by_key(original, released, align)
    return TablePair.of(original, dataclasses.replace(released.drop([align]), origin=rows))


def _same_rows(original: Table, released: Table) -> bool:
    """Whether two tables are the same in every common column, row by row: then order says nothing
    that cells do not.
    """
    if len(original) != len(released):
        return False
    common = [name for name in original.columns if name in released.columns]
    return all(
        original.column(name).equals(released.column(name), null_equal=True) for name in common
    )


def _by_key(original: Table, released: Table, key: str) -> NDArray[np.int64]:
    """The original row of every released row, by a column that identifies both."""
    texts: list[pl.Series] = []
    for table in (original, released):
        if key not in table.columns:
            hint = did_you_mean(key, table.columns)
            raise ParameterError(
                f"align: {table.source.name} has no column {key!r}.{hint} Otherwise {CHOICES}"
            )
        # As text: a key may be a number in one table and text in the other.
        column = table.column(key).cast(pl.String, strict=False)
        missing, repeated = column.null_count(), len(column) - column.n_unique()
        if missing or repeated:
            raise SchemaError(
                f"align: column {key!r} of {table.source.name} does not identify records: "
                f"{missing:,} missing and {repeated:,} repeated values; choose another column"
            )
        texts.append(column)
    positions = np.arange(len(original), dtype=np.int64)
    original_rows = pl.DataFrame({"key": texts[0], "row": positions})
    joined = pl.DataFrame({"key": texts[1]}).join(
        original_rows, on="key", how="left", maintain_order="left"
    )
    matches = joined["row"]
    if matches.null_count():
        raise SchemaError(
            f"align: {matches.null_count():,} of {len(released):,} records of "
            f"{released.source.name} have a value of {key!r} that {original.source.name} lacks; "
            "give the table they were made from"
        )
    return matches.to_numpy().astype(np.int64)


def _unaligned(original: Table, released: Table, control: Table | None) -> TablePair:
    """Rows that are nobody's, beside the people they were made of and, where there are some, people
    they were not made of.
    """
    learnt_rows = np.arange(len(original), dtype=np.int64)
    nowhere = np.full(len(released), NOBODY, dtype=np.int64)
    nobody = dataclasses.replace(released, origin=nowhere)
    if control is None:
        return TablePair.of(original, nobody, learnt_from=learnt_rows)
    missing_columns = [name for name in original.columns if name not in control.columns]
    if missing_columns:
        raise SchemaError(
            f"control: {control.source.name} lacks {len(missing_columns)} columns of"
            f" {original.source.name}: {', '.join(missing_columns[:8])}; give people with the same"
            " columns"
        )
    if not len(control):
        raise SchemaError(
            f"control: {control.source.name} has no rows; give people that the release was "
            "not made from"
        )
    # Control people stand behind the originals, so that they are known by their row numbers.
    controls = control.to_polars().select(original.columns)
    frame = pl.concat([original.to_polars(), controls], how="vertical_relaxed")
    # a polars frame becomes a narwhals one
    everyone = Table(frame, original.schema, source=original.source)  # type: ignore[arg-type]
    aside = np.arange(len(original), len(everyone), dtype=np.int64)
    return TablePair.of(everyone, nobody, learnt_from=learnt_rows, held_out=aside)
