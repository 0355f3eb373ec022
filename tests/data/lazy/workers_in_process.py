"""An engine whose workers are functions of this process: what Spark's workers do, without Spark.

Everything that workers get is pickled and unpickled on its way, every worker sees some rows alone,
and columns have numbers for names, as in ``on_spark``. So hundreds of cases take seconds.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from sfumato.core.table import Table
from sfumato.data.lazy import on_polars, on_spark, spark_workers
from sfumato.data.lazy.digest import RowsDigest
from sfumato.data.lazy.observed_values import Handed, changed
from sfumato.data.lazy.spark_workers import KEY, PART, POSITION, WithNames, Worker
from sfumato.data.lazy.table import ENGINES, EngineFrame, Job

PARTITIONS = 3


class RowsOfWorkers(EngineFrame):
    """Rows in memory, which are given to workers a third each."""

    engine_name: ClassVar[str] = "in process"

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows

    def collect_schema(self) -> nw.Schema:
        return nw.from_native(self.rows).schema

    def collect(self) -> pl.DataFrame:
        return self.rows


def partitions(rows: pl.DataFrame) -> list[pl.DataFrame]:
    plain = rows.clone()
    plain.columns = spark_workers.numbered_names(rows.width)
    return [plain[number::PARTITIONS] for number in range(PARTITIONS)]


def mapped(pieces: Sequence[pl.DataFrame], work: Callable[[Iterator[Any]], Any]) -> pl.DataFrame:
    """What workers give of their rows; each has a copy of the work."""
    frames = list[pl.DataFrame]()
    for piece in pieces:
        copy = pickle.loads(pickle.dumps(work))
        frames += [pl.DataFrame(batch) for batch in copy(iter(piece.to_arrow().to_batches()))]
    return pl.concat(frames)


class InProcess:
    """The functions of the engine, and what its workers do."""

    name: ClassVar[str] = "in process"
    RESUMES: ClassVar[bool] = False

    @staticmethod
    def opened(parts: Sequence[Path], memory: int) -> RowsOfWorkers:
        return RowsOfWorkers(pl.read_parquet(list(parts)))

    @staticmethod
    def columns_of(frame: RowsOfWorkers) -> list[str]:
        return frame.rows.columns

    @staticmethod
    def rows_of(frame: RowsOfWorkers) -> int:
        return frame.rows.height

    @staticmethod
    def counted(frame: RowsOfWorkers, columns: Any, most: int, tick: Any) -> pl.DataFrame | None:
        name = on_polars.spare(columns)
        counts = frame.rows.group_by(list(columns)).agg(pl.len().cast(pl.Int64).alias(name))
        return None if counts.height > most else counts

    @staticmethod
    def batches(frame: RowsOfWorkers, columns: Any, tick: Any) -> Iterator[pl.DataFrame]:
        yield from frame.rows.select(columns).iter_slices(97)

    @staticmethod
    def scanned(parts: Sequence[Path], like: Any) -> RowsOfWorkers:
        return RowsOfWorkers(pl.read_parquet(list(parts)))


class Workers:
    """What workers do, put together as ``on_spark`` does."""

    def release(self, frame: RowsOfWorkers, job: Job, folder: Path) -> Handed:
        waiting = folder / "waiting"
        waiting.mkdir()
        names = frame.rows.columns
        pieces = partitions(frame.rows)
        watches = mapped(pieces, WithNames(names, spark_workers.Seen(job)))
        watch = pickle.loads(mapped([watches], spark_workers.merged)["found"][0])
        taken = Table(watch.sample.taken(), job.schema, job.source)
        released_sample = job.line.started().released(taken).to_polars()
        types = spark_workers.types_of_parts(released_sample)
        if job.line.draws:
            marked = mapped(pieces, Worker(spark_workers.WithKeys(names, job.read, job.line.keys)))
            pieces = [
                marked.filter(pl.col(KEY) % PARTITIONS == number).drop(KEY)
                for number in range(-PARTITIONS, PARTITIONS)
            ]
        release = spark_workers.Releasing(job, types, str(waiting))
        rows = mapped(pieces, WithNames(names, release)).sort(PART, POSITION).drop(POSITION)
        reports = mapped([rows], spark_workers.Writing(release))
        passage = on_spark._passed(reports, job)
        if passage.seen != on_spark._seen_by(watch):
            raise changed(job.source.name)
        parts = on_spark._move_parts(reports.drop_nulls("name"), passage.released, waiting, folder)
        if not parts:
            parts = [folder / "part-00000.parquet"]
            released_sample.clear().cast(types).write_parquet(parts[0])
        return Handed(parts, watch, passage.released)

    def digest(self, frame: RowsOfWorkers) -> RowsDigest:
        digest = RowsDigest(frame.rows.columns)
        work = WithNames(frame.rows.columns, Worker(spark_workers.summed))
        for rows, total in mapped(partitions(frame.rows), work).iter_rows():
            digest.merge(rows, int(total, 16))
        return digest

    def add_up(self, frame: RowsOfWorkers, columns: Any, sums: Any) -> None:
        work = WithNames(columns, Worker(spark_workers.AddedUp(sums)))
        for added in mapped(partitions(frame.rows.select(columns)), work)["found"]:
            sums.merge(pickle.loads(added))

    def repeats(self, frame: RowsOfWorkers, read: Any, keys: Any) -> Any:
        work = Worker(spark_workers.OnlyKeys(frame.rows.columns, read, keys))
        found = mapped(partitions(frame.rows), work)[KEY].to_numpy().view(np.uint64)
        distinct, amounts = np.unique(found, return_counts=True)
        return distinct[amounts > 1]

    def distinct(self, frame: RowsOfWorkers, columns: Any, words: Any, count: int) -> list[int]:
        work = WithNames(columns, Worker(spark_workers.WithWords(words)))
        found = mapped(partitions(frame.rows.select(columns)), work)
        assert found.width == count
        return [column.n_unique() for column in found.iter_columns()]

    def counted_by_places(
        self, frame: RowsOfWorkers, columns: Any, replaced: Any, places: Any, most: int
    ) -> pl.DataFrame | None:
        work = WithNames(columns, Worker(spark_workers.WithPlaces(places)))
        rows = mapped(partitions(frame.rows.select(columns)), work)
        assert [rows.columns[columns.index(name)] for name in replaced]
        counts = rows.group_by(rows.columns).agg(pl.len().cast(pl.Int64).alias("records"))
        counts.columns = [*columns, on_polars.spare(columns)]
        return None if counts.height > most else counts


InProcess.workers = Workers()  # type: ignore[attr-defined]


def enter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the engine known."""
    monkeypatch.setitem(ENGINES._homes, InProcess.name, InProcess)  # type: ignore[arg-type]
