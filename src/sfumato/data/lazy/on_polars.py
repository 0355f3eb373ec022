"""What lazy polars frames do for us: count, and give rows in batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from sfumato.core.table import Table
from sfumato.data.lazy.codes import Coder, counted_in_pieces
from sfumato.errors import UnreadableInput

if TYPE_CHECKING:
    from sfumato.data.lazy.constant_columns import ConstantColumns
    from sfumato.data.lazy.table import Tick

name = "polars"
RESUMES = True
workers = None
"""All rows come to us, in batches."""
BATCH = 500_000
"""Rows that are in memory at once, several times."""
NEARLY_ALL = 0.9
FIRST_ROWS = 1 << 16
"""Share of the first rows of a batch that must be distinct for merging to be in vain, and how many
are looked at.
"""


def opened(parts: Sequence[Path], memory: int) -> pl.LazyFrame:
    """Parts of Parquet as a lazy frame."""
    return pl.scan_parquet(list(parts), glob=False, hive_partitioning=False)


def opened_with_constants(
    parts: Sequence[Path], memory: int, constants: ConstantColumns
) -> pl.LazyFrame:
    """The same, with columns that stand outside of the files."""
    return pl.concat(
        opened(files, memory).with_columns(
            pl.lit(value, dtype).alias(name)
            for (name, dtype), value in zip(constants.types.items(), values, strict=True)
        )
        for values, files in constants.groups().items()
    )


def columns_of(frame: nw.LazyFrame[Any]) -> list[str]:
    """Names of the columns."""
    return list(frame.collect_schema().names())


def rows_of(frame: nw.LazyFrame[Any]) -> int:
    """Number of rows."""
    with guarded():
        return int(frame.to_native().select(pl.len()).collect(engine="streaming").item())


def keeps_order(frame: object) -> bool:
    """Whether rows come in the same order every time."""
    return True


def counted(
    frame: nw.LazyFrame[Any], columns: Sequence[str], max_combinations: int, tick: Tick
) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are
    more than ``max_combinations``.

    Batches are counted one by one. Where hardly two rows of the first batch are alike, merging
    counts would find nothing: then polars groups all rows at once, if they are no more than
    ``max_combinations``.
    """
    name, coder = spare(columns), Coder()
    rows = batches(frame, columns, tick)
    first = next(rows)
    # Grouping at once holds all groups, so it is safe only if even all rows are few enough.
    if hardly_repeats(first) and rows_of(frame) <= max_combinations:
        return _grouped_at_once(frame, columns, name, tick)
    pieces = (
        coder.coded(Table(batch))  # type: ignore[arg-type]
        for batch in itertools.chain([first], rows)
    )
    counts = counted_in_pieces(pieces, columns, name, max_combinations, coder)
    if counts is None:
        return None
    return coder.decoded(counts, columns)


def hardly_repeats(batch: pl.DataFrame) -> bool:
    """Whether nearly all of the first rows of a batch are distinct, and there may be many batches
    more.
    """
    head = batch.head(FIRST_ROWS)
    # A batch that is far from full is likely the whole table, so there is little to merge.
    return batch.height >= BATCH // 4 and head.n_unique() > NEARLY_ALL * head.height


def _grouped_at_once(
    frame: nw.LazyFrame[Any], columns: Sequence[str], name: str, tick: Tick
) -> pl.DataFrame:
    with guarded():
        keys = [pl.col(column) for column in columns]
        counts: pl.DataFrame = (
            frame.to_native()
            .group_by(keys)
            .agg(pl.len().cast(pl.Int64).alias(name))
            .collect(engine="streaming")
        )
    tick(int(counts[name].sum()))
    return counts


def batches(frame: nw.LazyFrame[Any], columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows in their order, a million at a time; of an empty table one batch without rows."""
    rows_seen = 0
    with guarded():
        selected = frame.to_native().select(pl.col(list(columns)))
        for batch in selected.collect_batches(chunk_size=BATCH, maintain_order=True):
            if not batch.height:
                continue
            rows_seen += batch.height
            tick(rows_seen)
            yield batch
        # Whoever reads batches learns the columns and types from the first one.
        if not rows_seen:
            yield selected.head(0).collect()


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet as a frame of this engine; ``like`` is a frame that it stands beside."""
    return nw.from_native(pl.scan_parquet(list(parts), glob=False)).lazy()


def spare(columns: Sequence[str]) -> str:
    """A name that no column has."""
    name = "records"
    while name in columns:
        name += "_"
    return name


class guarded:  # noqa: N801 - reads as a word
    """Errors of an engine may show values of the table: they are told without their text."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: Any
    ) -> None:
        if isinstance(error, pl.exceptions.PolarsError | OSError):
            raise UnreadableInput(
                f"{name} could not read the table ({type(error).__name__}): a part is damaged or "
                "missing, parts differ in their columns, or the query behind the frame fails; "
                "collect it by hand to see why"
            ) from None
