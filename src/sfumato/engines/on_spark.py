"""What Spark frames do for us, classic and through Connect: count, give rows in batches, and release rows where they are.

Nothing here relies on the process of the driver: workers get a pickled :class:`~sfumato.engines.table.Job` and import sfumato
themselves. Columns are always named in backticks, for a dot in a name means something to Spark.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import logging
import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from sfumato import errors
from sfumato.core.dataset import Dataset
from sfumato.engines import on_polars
from sfumato.engines.codes import Coder
from sfumato.engines.digest import RowsDigest
from sfumato.engines.parts import places_of
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnreadableInput, require

if TYPE_CHECKING:
    from sfumato.engines.seen import Watch
    from sfumato.engines.table import Job, Tick

NAME = "spark"
BATCH = 200_000
"""Rows that a worker looks at together."""
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
FAILED = "sfumato on a worker: "
SAID = re.compile(FAILED + r"(\w+)\((.*)\)$", re.MULTILINE)
SIGNED: dict[Any, pl.DataType] = {
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
    pl.Null: pl.String(),
}
"""Types that Spark lacks, and what holds their values there."""


def columns_of(frame: nw.LazyFrame[Any]) -> list[str]:
    """Names of the columns."""
    with guarded():
        return list(frame.to_native().columns)


def rows_of(frame: nw.LazyFrame[Any]) -> int:
    """Number of rows."""
    with guarded():
        return int(frame.to_native().count())


def counted(frame: nw.LazyFrame[Any], columns: Sequence[str], most: int, tick: Tick) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are more than ``most``."""
    name = spare(columns)
    native = _chosen(frame, columns)
    grouped = native.groupBy(*(_quoted(column) for column in columns)).count().toDF(*columns, name)
    with guarded():
        found = pl.DataFrame(grouped.limit(most + 1).toArrow())
    tick(int(found[name].sum()))
    return None if found.height > most else found


def batches(frame: nw.LazyFrame[Any], columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows, some at a time and partition after partition, in any order.

    Spark gives rows one by one to a driver that will not hold all of them: a row here is a whole batch, as bytes.
    """
    seen = 0
    with guarded():
        for row in _chosen(frame, columns).mapInArrow(_as_bytes, "found binary").toLocalIterator():
            batch = pl.read_ipc_stream(bytes(row[0]))
            seen += batch.height
            tick(seen)
            yield batch


def small(rows: pl.DataFrame, like: Any) -> None:
    """Nothing of ours is put beside tables of a cluster."""


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet as a frame of the session of ``like``."""
    made: nw.LazyFrame[Any] = nw.from_native(_parquet(like.to_native().sparkSession, parts)).lazy()
    return made


def opened(parts: Sequence[Path], memory: int) -> Any:
    """Parts of Parquet as a Spark frame: of the session that is active, else of one that is made here."""
    require("pyspark", extra="spark", to="let Spark read")
    with guarded():
        return _parquet(_session(memory), parts)


def _parquet(session: Any, parts: Sequence[Path]) -> Any:
    """Files, and nothing that the names of their folders might say."""
    with guarded():
        reader = session.read.option("recursiveFileLookup", "true")
        return reader.parquet(*(f"file://{part.absolute()}" for part in parts))


def _session(memory: int) -> Any:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if {"SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"} & set(os.environ):  # somebody said where Spark is
        return SparkSession.builder.getOrCreate()
    return _local_session(memory)


def _local_session(memory: int) -> Any:
    """A session of this machine: a worker a core, tasks tried again, no pages, no progress on the terminal, times in UTC.

    Its log is off, for messages of the Java machine may show values.
    """
    from pyspark.sql import SparkSession

    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise ParameterError(
            "engine spark: there is no Java here; install Java 17 or newer, or let SPARK_REMOTE name a Spark Connect server"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sfumato").master("local[*,4]")
    settings = {
        "driver.memory": f"{max(1024, memory // 2**22)}m",
        "driver.maxResultSize": "0",
        "driver.bindAddress": "127.0.0.1",
        "driver.host": "127.0.0.1",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "sql.session.timeZone": "UTC",
        "sql.caseSensitive": "true",
    }
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def spare(columns: Iterable[str]) -> str:
    """A name that no column has, in capitals or not: many sessions make no difference."""
    return on_polars.spare([column.lower() for column in columns])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _chosen(frame: nw.LazyFrame[Any], columns: Iterable[str]) -> Any:
    return frame.to_native().select(*(_quoted(column) for column in columns))


# Releasing rows where they are.


class Executors:
    """The workers of Spark, wherever they are.

    A worker that dies is replaced by Spark. What is made of a row depends on the row alone, and so does its place in the
    parts; where equal rows are told apart they come to one worker, and it does not matter which is which. So trying again
    changes nothing.
    """

    def release(self, frame: nw.LazyFrame[Any], job: Job, folder: Path) -> tuple[list[Path], Watch]:
        """Release all rows into parts in an empty folder; gives the parts and what was seen of the rows."""
        waiting, here = folder / "waiting", folder / "here"
        here.touch()
        with guarded():
            native = frame.to_native()
            watch = _watched(native, job)
            some: Any = watch.sample.taken()
            made = job.line.started().released(Dataset(some, job.schema, job.source)).to_polars()
            types = {name: SIGNED.get(dtype.base_type(), dtype) for name, dtype in made.schema.items()}
            _write(_gathered(native, job), _Release(job, types, str(here)), waiting)
        parts = _moved(waiting, folder)
        here.unlink()
        if not parts:
            parts = [folder / "part-00000.parquet"]
            made.clear().cast(types).write_parquet(parts[0])  # type: ignore[arg-type]
        return parts, watch

    def digest(self, frame: nw.LazyFrame[Any]) -> RowsDigest:
        """The digest of all rows, added up from those of batches."""
        found = RowsDigest(columns_of(frame))
        with guarded():
            native = frame.to_native()
            sums = pl.DataFrame(native.mapInArrow(_Worker(_summed), "rows long, total string").toArrow())
        for rows, total in sums.iter_rows():
            found.merge(rows, int(total, 16))
        return found


workers = Executors()


def _watched(native: Any, job: Job) -> Watch:
    """What workers see of the rows that each has, put together."""
    found = job.watch
    for row in native.mapInArrow(_Seen(job), "found binary").toLocalIterator():
        found.merge(pickle.loads(bytes(row[0])))  # noqa: S301 - made by our own workers
    return found


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What a worker sees of all its rows, as bytes."""

    job: Job

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        watch = copy.deepcopy(self.job.watch)
        for rows in _together(batches):
            _told(lambda rows: _looked(watch, self.job, rows), rows)
        yield from _bytes(pickle.dumps(watch))


def _looked(watch: Watch, job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    watch.see(job.read(rows).to_polars())
    return rows


def _bytes(found: bytes) -> Iterator[Any]:
    yield from pl.DataFrame({"found": [found]}).to_arrow().to_batches()


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    digest = RowsDigest(rows.columns)
    digest.add(rows)
    return pl.DataFrame({"rows": [digest.rows], "total": [f"{digest.total:x}"]})


def _gathered(native: Any, job: Job) -> Any:
    """The rows, those that equal each other with one worker where the job tells them apart."""
    if not job.line.draws:
        return native
    from pyspark.sql.types import LongType, StructField, StructType

    name = spare(native.columns)
    schema = StructType([*native.schema.fields, StructField(name, LongType())])
    keyed = native.mapInArrow(_Worker(_Keyed(job, name)), schema)
    return keyed.repartition(name).drop(name)


@dataclasses.dataclass(frozen=True)
class _Keyed:
    """Rows with a number that equal ones share."""

    job: Job
    name: str

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(pl.Series(self.name, self.job.line.keys(self.job.read(rows)).view(np.int64)))


def _write(native: Any, release: _Release, folder: Path) -> None:
    """Release, order and write the rows: those of a part lie with one worker, which writes them as one file."""
    part, place = release.marks
    rows = native.mapInArrow(release, release.schema_in_spark())
    if release.job.order is None:
        writer = rows.write
    else:
        rows = rows.repartition(release.job.parts, part).sortWithinPartitions(part, place)
        writer = rows.drop(place).write.partitionBy(part)
    with _setting(native.sparkSession, "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"):
        writer.option("compression", "zstd").parquet(f"file://{folder.absolute()}")


def _moved(waiting: Path, folder: Path) -> list[Path]:
    """Parts under names that tell nothing, without what Spark leaves beside them."""
    found = sorted(waiting.rglob("*.parquet"), key=lambda file: (_place(file.parent.name), file.name))
    parts = [file.rename(folder / f"part-{number:05d}.parquet") for number, file in enumerate(found)]
    shutil.rmtree(waiting)
    return parts


def _place(name: str) -> int:
    """The number of a part, which the name of its folder ends with."""
    return int(name.rpartition("=")[2]) if "=" in name else 0


@contextlib.contextmanager
def _setting(session: Any, name: str, value: str) -> Iterator[None]:
    """A setting of the user's session, for a while."""
    before = session.conf.get(name)
    session.conf.set(name, value)
    try:
        yield
    finally:
        session.conf.set(name, before)


class _Worker:
    """A function of rows as Spark wants it: of Arrow batches, which are put together to be worth the work."""

    def __init__(self, work: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        self.work = work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return _each(self.work, batches)


def _each(work: Callable[[pl.DataFrame], pl.DataFrame], batches: Iterator[Any]) -> Iterator[Any]:
    for rows in _together(batches):
        yield from _told(work, rows).to_arrow().to_batches()


def _told(work: Callable[[pl.DataFrame], pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """The work done; what goes wrong is told without values, for Spark writes it to its log."""
    try:
        return work(rows)
    except SfumatoError as error:
        raise RuntimeError(f"{FAILED}{type(error).__name__}({error})") from None
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may show values
        raise RuntimeError(f"{FAILED}{type(error).__name__}()") from None


def _together(batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
    waiting = list[pl.DataFrame]()
    for batch in batches:
        waiting.append(pl.DataFrame(batch))
        if sum(rows.height for rows in waiting) >= BATCH:
            yield pl.concat(waiting)
            waiting = []
    if waiting:
        yield pl.concat(waiting)


def _as_bytes(batches: Iterator[Any]) -> Iterator[Any]:
    for rows in _together(batches):
        sink = io.BytesIO()
        rows.write_ipc_stream(sink)
        yield from _bytes(sink.getvalue())


@dataclasses.dataclass(frozen=True)
class _Release:
    """Rows as they are written, with the part that each goes to and where in it."""

    job: Job
    types: dict[str, pl.DataType]
    here: str

    @property
    def marks(self) -> tuple[str, str]:
        """Names of two columns more: the part of a row, and its place in it."""
        part = spare(self.types)
        return part, spare([*self.types, part])

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        job = self.job.started()
        return _each(lambda rows: self.marked(self.made(job, rows)), batches)

    def made(self, job: Job, rows: pl.DataFrame) -> Dataset:
        """What is released of some rows, if it can be written here."""
        if not Path(self.here).exists():
            raise ParameterError(
                "the workers of Spark have other disks than this machine; let TMPDIR name a folder that both see"
            )
        made = job.released(rows)
        return made if len(made) else self.none()  # steps stop where nothing is left, so its columns may be others

    def none(self) -> Dataset:
        """No rows, as they are released."""
        empty: Any = pl.DataFrame(schema=self.types)
        return Dataset(empty)

    def marked(self, made: Dataset) -> pl.DataFrame:
        """Released rows in types that Spark has, with their places where they are to be ordered."""
        plain = self.typed(made.to_polars())
        if self.job.order is None:
            return plain
        coder = Coder()
        order = coder.hashes(coder.coded(made), self.job.order)
        part, place = self.marks
        # Spark has no unsigned numbers: with the first bit turned over, signed ones have the same order
        signed = order.reinterpret(signed=True) ^ pl.Series([-(2**63)])
        return plain.with_columns(places_of(order, self.job.parts).cast(pl.Int32).alias(part), signed.alias(place))

    def typed(self, made: pl.DataFrame) -> pl.DataFrame:
        """Every column in its one type, which must hold what it is given."""
        both = pl.concat([pl.DataFrame(schema=self.types), made.clear()], how="vertical_relaxed").schema
        wide = [name for name, dtype in both.items() if dtype != self.types[name]]
        if wide:
            raise SchemaError(f"{', '.join(wide)} have other types in some rows than in others; give them one before")
        return made.cast(self.types)  # type: ignore[arg-type]

    def schema_in_spark(self) -> Any:
        """The columns of what it gives, as Spark names them."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.marked(self.none()).to_arrow().schema)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Errors of an engine may show values of the table: they are told without their text, and not logged."""
    import pyarrow as pa
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with _unlogged():
            yield
    except (PySparkException, Py4JError, pa.ArrowException, OSError) as error:
        raise _named(error) from None


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """No messages of the loggers to which pyspark tells every error of a query, in full."""
    logs = [logging.getLogger(name) for name in LOGGERS]
    before = [log.disabled for log in logs]
    try:
        for log in logs:
            log.disabled = True
        yield
    finally:
        for log, disabled in zip(logs, before, strict=True):
            log.disabled = disabled


def _named(error: Exception) -> SfumatoError:
    """What went wrong, in our words: a worker tells its own errors by name."""
    text = str(error)
    if "No module named 'sfumato" in text:
        return ParameterError("the workers of Spark have no sfumato: install the same version there as here")
    said = SAID.search(text)
    kind = getattr(errors, said[1], None) if said else None
    if said and isinstance(kind, type) and issubclass(kind, SfumatoError):
        return kind(said[2])
    return UnreadableInput(
        f"{NAME} could not read the table ({said[1] if said else type(error).__name__}): a part is damaged or gone, a worker died too "
        "often, or the query behind the frame fails; count it by hand to see why"
    )
