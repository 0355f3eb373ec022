"""Writing a table larger than memory: rows in an order that tells nothing, in parts of Parquet.

Rows are ordered by a keyed hash of what is released of them, so the order is a function of what is published and of a
secret: it says nothing of the old order, and does not depend on how the rows came. The top bits of the hash choose the part, so
parts can be sorted one by one. Equal rows may swap places, which nobody can see.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.randomness import Seed

ROWS = 2_000_000
"""Rows of a part, about."""
WORKERS = 2
ORDER = "sfumato order"


class Folder:
    """A temporary folder that is gone when nobody holds it any more, or the program ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sfumato-parts-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def in_parallel(
    work: Callable[[Dataset], pl.DataFrame], batches: Iterable[Dataset], workers: int = WORKERS
) -> Iterator[pl.DataFrame]:
    """The batches after the work, a few at a time and in their order."""
    waiting: deque[Future[pl.DataFrame]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for batch in batches:
            waiting.append(pool.submit(work, batch))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def write_parts(batches: Iterable[pl.DataFrame], folder: Path, *, rows: int, seed: Seed | None) -> list[Path]:
    """Write released rows as parts of Parquet into an empty folder; without a seed in the order in which they come.

    ``rows`` is about how many there are. Rows wait in a folder of buckets beside the parts, which is gone at the end.
    """
    if seed is None:
        return [_write(batch, folder, number) for number, batch in enumerate(batches)]
    count = max(1, math.ceil(rows / ROWS))
    buckets = folder / "waiting"
    buckets.mkdir()
    key = int(seed.stream("arrange").integers(2**63))
    for number, batch in enumerate(batches):
        _put(batch, buckets, number, count, key)
    made = [_write(_sorted(_taken(buckets, place)), folder, place) for place in range(count)]
    buckets.rmdir()
    return made


def _put(batch: pl.DataFrame, buckets: Path, number: int, count: int, key: int) -> None:
    """Let the rows of a batch wait in their buckets."""
    order = batch.hash_rows(key)
    place = order // -(-(2**64) // count) if count > 1 else order * 0
    marked = batch.with_columns(order.alias(ORDER), place.alias(ORDER + " place"))
    for (bucket,), rows in marked.partition_by(ORDER + " place", as_dict=True, include_key=False).items():
        rows.write_ipc(buckets / f"{bucket}-{number}.arrow", compression="lz4")


def _taken(buckets: Path, place: int) -> pl.DataFrame:
    """The rows of a bucket; what differs between batches in the width of its numbers is made alike."""
    files = sorted(buckets.glob(f"{place}-*.arrow"))
    found = pl.concat([pl.read_ipc(file) for file in files], how="vertical_relaxed") if files else pl.DataFrame()
    for file in files:
        file.unlink()
    return found


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(ORDER).drop(ORDER) if rows.height else rows


def _write(rows: pl.DataFrame, folder: Path, number: int) -> Path:
    file = folder / f"part-{number:05d}.parquet"
    rows.write_parquet(file)
    return file
