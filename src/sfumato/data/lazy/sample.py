"""Some rows of a table that an engine holds, in memory: to look at, where not all of them fit."""

from __future__ import annotations

import dataclasses
import hashlib
import json

from sfumato.core.table import Table
from sfumato.data.lazy.observed_values import SampledRows
from sfumato.data.lazy.table import LazyTable, Tick, unheard

ROWS = 200_000
"""Rows that are drawn: as many as a profile looks at together."""


def sampled(table: LazyTable, rows: int | None = None, tick: Tick = unheard) -> Table:
    """About so many rows of a table, or all where there are no more; a note says of how many.

    Rows with the lowest hashes are taken: the same ones whoever holds the table, in whatever order
    rows come.
    """
    size = ROWS if rows is None else rows
    names = json.dumps(sorted(table.columns)).encode()
    key = int.from_bytes(hashlib.blake2b(names, digest_size=7).digest())
    sample, seen = SampledRows(size, key), 0
    for batch in table.batches(tick):
        seen += len(batch)
        sample.see(batch.to_polars())
    frame = sample.taken()
    source = dataclasses.replace(table.source, notes=())
    drawn = Table(frame, source=source).with_schema(table.schema)  # type: ignore[arg-type]
    if seen <= size:
        return drawn
    note = (
        f"looked at {len(drawn):,} of {seen:,} rows, drawn at random: classes of all rows are "
        "larger, and figures about single records are estimates"
    )
    return drawn.with_source(dataclasses.replace(source, notes=(note,)))
