"""Writing a table larger than memory: rows in an order that tells nothing, in parts of Parquet.

Rows are ordered by a keyed hash of what is released of them, so the order is a function of what is
published and of a
secret: it says nothing of the old order, and does not depend on how the rows came. The top bits of
the hash choose the part, so parts can be sorted one by one. Equal rows may swap places, which
nobody can see.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from sfumato.data.lazy.codes import Coder

if TYPE_CHECKING:
    from sfumato.core.randomness import Seed
    from sfumato.core.table import Table

ROWS = 2_000_000
"""Rows of a part, about."""
WORKERS = 2
ORDER = "sfumato order"

T = TypeVar("T")
R = TypeVar("R")


def unheard(rows_written: int, parts: int) -> None:
    """Tell nobody."""


def in_parallel(work: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """The items after the work, a few at a time and in their order."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            # No more than the workers and one: otherwise all batches would wait in memory.
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def write_parts(
    batches: Iterable[Table],
    folder: Path,
    *,
    rows: int,
    seed: Seed | None,
    tick: Callable[[int, int], None] = unheard,
) -> list[Path]:
    """Write released rows as parts of Parquet into an empty folder; without a seed in the order in
    which they come.

    ``rows`` is about how many there are; ``tick`` is called with the number of parts written and of
    all. Rows wait in a folder of buckets beside the parts, which is gone at the end; text that
    repeats waits as numbers.
    """
    if seed is None:
        return [_write(batch.to_polars(), folder, number) for number, batch in enumerate(batches)]
    count = parts_for(rows)
    waiting, coder, nothing = folder / "waiting", Coder(), pl.DataFrame()
    waiting.mkdir()
    key = order_key(seed)
    for number, batch in enumerate(batches):
        coded = coder.coded(batch)
        nothing = coder.decoded(coded.head(0))
        _put_rows(coded, waiting, number, count, lambda rows: coder.hashes(rows, key))
    part_files = list[Path]()
    # rows that are alike lie together, so that some places may have none
    filled = [
        part_number for part_number in range(count) if any(waiting.glob(f"{part_number}-*.arrow"))
    ]
    for part in in_parallel(
        lambda part_number: _write(_read_part(waiting, part_number, coder), folder, part_number),
        filled,
    ):
        part_files.append(part)
        tick(len(part_files), len(filled))
    waiting.rmdir()
    return part_files or [_write(nothing, folder, 0)]


def parts_for(rows: int) -> int:
    """How many parts so many rows make."""
    return max(1, math.ceil(rows / ROWS))


def order_key(seed: Seed) -> int:
    """The secret by which the rows of a release are ordered."""
    return int(seed.stream("arrange").integers(2**63))


def places_of(order: pl.Series, count: int) -> pl.Series:
    """The part of every row, of so many: the top bits of its hash."""
    # The divisor is 2⁶⁴ / count rounded up, so the largest hash still falls into the last part.
    if count > 1:
        return order // -(-(2**64) // count)
    return order * 0


def _put_rows(
    batch: pl.DataFrame,
    waiting: Path,
    number: int,
    count: int,
    hashes: Callable[[pl.DataFrame], pl.Series],
) -> None:
    """Let the rows of a batch wait in their buckets."""
    order = hashes(batch)
    part_numbers = places_of(order, count)
    name = _unused(batch.columns)
    marked = batch.with_columns(order.alias(name), part_numbers.alias(name + " place"))
    for (bucket,), rows in marked.partition_by(
        name + " place", as_dict=True, include_key=False
    ).items():
        rows.write_ipc(waiting / f"{bucket}-{number}.arrow")


def _read_part(waiting: Path, part_number: int, coder: Coder) -> pl.DataFrame:
    """The rows of a bucket in their order, as text again."""
    files = sorted(waiting.glob(f"{part_number}-*.arrow"))
    rows = coder.together([pl.read_ipc(file) for file in files])
    for file in files:
        file.unlink()
    *columns, order = rows.columns
    # numpy sorts numbers of 64 bits in a third of the time that a frame takes
    return coder.decoded(rows.select(columns)[np.argsort(rows[order].to_numpy())])


def _unused(columns: Sequence[str]) -> str:
    """A name that no column has, nor begins with.

    >>> _unused(["age", "sfumato order"])
    'sfumato order.'
    """
    name = ORDER
    while any(column.startswith(name) for column in columns):
        name += "."
    return name


def _write(rows: pl.DataFrame, folder: Path, number: int) -> Path:
    file = folder / f"part-{number:05d}.parquet"
    rows.write_parquet(file)
    return file
