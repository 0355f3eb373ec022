"""What an intruder has: columns of the original itself, or a file of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.attack import NOT_IN_FILE, Intruder
from sfumato.core.encoding import encode, require_same_codes
from sfumato.core.schema import Schema
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.pair import Pair
    from sfumato.core.randomness import Seed


def intruder_from(pair: Pair, knows: Sequence[str], *, sample: int, seed: Seed) -> Intruder:
    """An intruder who took the columns from the original itself: the most anyone can know of them."""
    pair.original.require(knows)
    rows = np.arange(len(pair.original), dtype=np.int64)
    some = len(rows) > sample
    if some:
        rows = np.sort(seed.stream("attack: whom to look for").choice(rows, sample, replace=False))
    return Intruder(pair.original.take(rows), tuple(knows), rows, sampled=some)


def intruder_with(pair: Pair, file: Dataset, knows: Sequence[str] | None, *, by: str | None = None) -> Intruder:
    """An intruder with a file of its own, and which original row each of its rows describes.

    ``by`` names a column that identifies people in both tables; without it a row of the file describes the only original row
    that agrees with it on every column both have, and nobody where there is none or are several.
    """
    common = [c for c in file.columns if c in pair.original.columns]
    known = tuple(knows or [c for c in common if c in pair.released.columns and c != by])
    file.require([*known, *([by] if by else [])])
    if not len(file):
        raise SchemaError(f"{file.source.name} has no rows: this intruder knows nobody")
    if not [c for c in known if c in pair.released.columns]:
        raise SchemaError(f"{file.source.name} and the release have no column in common that the intruder knows")
    on = [by] if by else common
    pair.original.require(on)
    for name in on:
        theirs_of, ours_of = (encode(table.column(name)).labels for table in (file, pair.original))
        require_same_codes(theirs_of, ours_of, name, between="the intruder's file and the table")
    places = [str(place) for place in range(len(on))]
    theirs, ours = _as_labels(file, on), _as_labels(pair.original, on).with_row_index("row")
    alone = ours.group_by(places).agg(pl.col("row").first(), pl.len().alias("rows")).filter(pl.col("rows") == 1)
    joined = theirs.join(alone, on=places, how="left", nulls_equal=True, maintain_order="left")
    truth = joined["row"].cast(pl.Int64).fill_null(NOT_IN_FILE).to_numpy()
    schema = Schema({c: pair.original.schema[c] for c in common})
    return Intruder(file.with_schema(schema), known, np.asarray(truth, dtype=np.int64))


def renamed(file: Dataset, names: Mapping[str, str]) -> Dataset:
    """An intruder's file with columns called as in the original: ``names`` maps its names to ours."""
    file.require(names)
    taken = [ours for ours in names.values() if ours in file.columns and ours not in names]
    if taken or len(set(names.values())) < len(names):
        raise SchemaError(f"{file.source.name}: two columns would be called the same; rename one of them otherwise")
    return dataclasses.replace(file, frame=file.frame.rename(dict(names)), schema=Schema({}))


def _as_labels(table: Dataset, columns: Sequence[str]) -> pl.DataFrame:
    """Columns as the labels values are known by, numbered: 33 and 33.0 are the same, and no name is in the way."""
    encoded = [encode(table.column(column)) for column in columns]
    labels = [pl.Series(e.labels, dtype=pl.String).gather(e.codes) for e in encoded]
    return pl.DataFrame({str(place): series for place, series in enumerate(labels)})
