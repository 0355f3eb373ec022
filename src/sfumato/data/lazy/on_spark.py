"""What Spark frames do for us, classic and through Connect: count, give rows in batches, and
release rows where they are.

Nothing here relies on the process of the driver: workers get a
pickled :class:`~sfumato.data.lazy.table.Job` and import sfumato themselves. Spark sees columns by
their number alone (``column0``): dots, backticks and capitals in a name mean something to it.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from sfumato import errors
from sfumato.core.table import Table
from sfumato.data.lazy.digest import RowsDigest
from sfumato.data.lazy.file_types import require_names
from sfumato.data.lazy.observed_values import Handed, changed
from sfumato.data.lazy.on_polars import spare
from sfumato.data.lazy.spark_workers import (
    FAILED,
    KEY,
    PART,
    PIECES,
    POSITION,
    REPORT,
    AddedUp,
    OnlyKeys,
    Passage,
    Releasing,
    Seen,
    WithKeys,
    WithNames,
    WithPlaces,
    WithWords,
    Worker,
    Writing,
    as_bytes,
    merged,
    numbered_names,
    summed,
    types_of_parts,
)
from sfumato.errors import OutputError, ParameterError, SfumatoError, UnreadableInput, require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.lazy.observed_values import Fingerprint, Watch
    from sfumato.data.lazy.table import Job, Tick

name = "spark"
RESUMES = False
GROUPS = 8
"""Workers that put together what all saw, before one does."""
ROUGHLY = 0.01
SURELY = 5
"""Relative standard deviation of an estimate of combinations, and of how many of them it must lie
above a bound to be believed without counting.
"""
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
MISSING_MODULE = re.compile("No module named '(sfumato|polars|pyarrow|narwhals|numpy)")
SAID = re.compile(FAILED + r"(\w+)\((.*)\)$", re.MULTILINE)


def types_of(frame: Any) -> pl.Schema:
    """The types that columns have when they come to us."""
    from pyspark.sql.pandas.types import to_arrow_schema

    with guarded():
        arrow_schema = to_arrow_schema(frame.schema, timezone="UTC")
        return pl.DataFrame(arrow_schema.empty_table()).schema


def columns_of(frame: nw.LazyFrame[Any]) -> list[str]:
    """Names of the columns."""
    with guarded():
        return list(frame.to_native().columns)


def rows_of(frame: nw.LazyFrame[Any]) -> int:
    """Number of rows."""
    with guarded():
        return int(frame.to_native().count())


def counted(
    frame: nw.LazyFrame[Any], columns: Sequence[str], max_combinations: int, tick: Tick
) -> pl.DataFrame | None:
    """Distinct combinations of some columns and, last, how many rows have each; None: there are
    more than ``max_combinations``.
    """
    with guarded():
        counts = _grouped(_numbered(frame, columns), max_combinations)
    if counts is None:
        return None
    counts.columns = [*columns, spare(columns)]
    tick(int(counts.to_series(counts.width - 1).sum()))
    return counts


def _grouped(plain: Any, max_combinations: int) -> pl.DataFrame | None:
    """The distinct rows of a frame and, last, how many there are of each; None: there are more than
    ``max_combinations``.
    """
    from pyspark.sql import functions

    # Combinations that do not fit are estimated first, where there may be that many: shipping
    # twenty million rows to learn that they are too many takes longer.
    if plain.count() > max_combinations:
        words = functions.xxhash64(*(functions.col(name) for name in plain.columns))
        about = functions.approx_count_distinct(words, ROUGHLY)
        if plain.agg(about).first()[0] > (1 + SURELY * ROUGHLY) * max_combinations:
            return None
    grouped = plain.groupBy(*plain.columns).agg(functions.count("*").alias("records"))
    # The estimate may be too low, so no more than one row too many is ever collected.
    counts = pl.DataFrame(grouped.limit(max_combinations + 1).toArrow())
    return None if counts.height > max_combinations else counts


def batches(frame: nw.LazyFrame[Any], columns: Sequence[str], tick: Tick) -> Iterator[pl.DataFrame]:
    """The rows, some at a time and partition after partition, in any order.

    Spark gives rows one by one to a driver that will not hold all of them: a row here is a whole
    batch, as bytes.
    """
    rows_seen = 0
    with guarded():
        for row in _numbered(frame, columns).mapInArrow(as_bytes, "found binary").toLocalIterator():
            batch = pl.read_ipc_stream(bytes(row[0]))
            batch.columns = list(columns)
            rows_seen += batch.height
            tick(rows_seen)
            yield batch


def scanned(parts: Sequence[Path], like: Any) -> nw.LazyFrame[Any]:
    """Parts of Parquet as a frame of the session of ``like``."""
    scanned_frame: nw.LazyFrame[Any] = nw.from_native(
        _parquet(like.to_native().sparkSession, parts)
    ).lazy()
    return scanned_frame


def opened(parts: Sequence[Path], memory: int) -> Any:
    """Parts of Parquet as a Spark frame: of the session that is active, else of one that is made
    here.
    """
    require("pyspark", extra="spark", to="let Spark read")
    with guarded():
        return _parquet(_session(memory), parts)


def _parquet(session: Any, parts: Sequence[Path]) -> Any:
    """Files, and nothing that the names of their folders might say."""
    types = pl.read_parquet_schema(parts[0])
    names = list(types)
    for number, dtype in enumerate(types.values(), start=1):
        if isinstance(dtype, pl.Datetime) and dtype.time_unit == "ns":
            raise UnreadableInput(
                f"column number {number} holds nanoseconds, which {name} does not read: write "
                "microseconds, or use --engine polars or duckdb"
            )
        if dtype == pl.Time:
            raise UnreadableInput(
                f"column number {number} holds times of day, which {name} does not read: write "
                "them as text, or use --engine polars or duckdb"
            )
    if session.conf.get("spark.sql.caseSensitive") != "true":
        require_names(name, [""] * len(names), names)
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
    """A session of this machine: a worker a core, tasks tried again, no pages, no progress on the
    terminal, times in UTC.

    Its log is off, for messages of the Java machine may show values.
    """
    from pyspark.sql import SparkSession

    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise ParameterError(
            "engine spark: Java is missing here; install Java 17 or newer, or let SPARK_REMOTE "
            "name a Spark Connect server"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sfumato").master("local[*,4]")
    settings = {
        # A quarter of the machine's memory in megabytes, at least one gigabyte.
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
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _numbered(frame: nw.LazyFrame[Any], columns: Sequence[str] | None = None) -> Any:
    """Some columns or all, in that order, under names that Spark takes for nothing else; text by
    its bytes, for a collation would count two values as one.
    """
    from pyspark.sql import functions

    native = frame.to_native()
    positions = {name: number for number, name in enumerate(native.columns)}
    plain = native.toDF(*numbered_names(len(positions)))
    fields = [plain.schema.fields[positions[name]] for name in columns or positions]
    return plain.select(
        *(
            functions.collate(field.name, "UTF8_BINARY").alias(field.name)
            if getattr(field.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY"
            else functions.col(field.name)
            for field in fields
        )
    ).toDF(*numbered_names(len(fields)))


# Releasing rows where they are.


class Executors:
    """The workers of Spark, wherever they are.

    A worker that dies is replaced by Spark. What is made of a row depends on the row alone, and so
    does its place in the parts; where equal rows are told apart they come to one worker, and it
    does not matter which is which. So trying again changes nothing.
    """

    def release(self, frame: nw.LazyFrame[Any], job: Job, folder: Path) -> Handed:
        """Release all rows into parts in an empty folder; what workers say they wrote is compared
        with what is there.
        """
        # Workers write here first; only files that a report names are moved out and become parts.
        waiting = folder / "waiting"
        waiting.mkdir()
        with guarded():
            native = _numbered(frame)
            names = columns_of(frame)
            watch = _watched(native, names, job)
            # The sample, released once here, tells the types that all workers must write.
            sample: Any = watch.sample.taken()
            released_sample = (
                job.line.started().released(Table(sample, job.schema, job.source)).to_polars()
            )
            types = types_of_parts(released_sample)
            worker_reports = _write(
                _gathered(native, names, job), names, Releasing(job, types, str(waiting))
            )
        passage = _passed(worker_reports, job)
        # Two passes must have seen the same rows, else the sample is of another table than the
        # release.
        if passage.seen != _seen_by(watch):
            raise changed(job.source.name)
        parts = _move_parts(worker_reports.drop_nulls("name"), passage.released, waiting, folder)
        # Nothing was released: one empty part still says which columns there are.
        if not parts:
            parts = [folder / "part-00000.parquet"]
            released_sample.clear().cast(types).write_parquet(parts[0])  # type: ignore[arg-type]
        return Handed(parts, watch, passage.released)

    def digest(self, frame: nw.LazyFrame[Any]) -> RowsDigest:
        """The digest of all rows, added up from those of batches."""
        digest_columns = columns_of(frame)
        digest = RowsDigest(digest_columns)
        with guarded():
            adding = WithNames(digest_columns, Worker(summed))
            sums = pl.DataFrame(
                _numbered(frame).mapInArrow(adding, "rows long, total string").toArrow()
            )
        for rows, total in sums.iter_rows():
            digest.merge(rows, int(total, 16))
        return digest

    def add_up(self, frame: nw.LazyFrame[Any], columns: Sequence[str], sums: Fingerprint) -> None:
        """Add what some columns of all rows hold to their sums."""
        adding = WithNames(columns, Worker(AddedUp(sums)))
        with guarded():
            rows = _numbered(frame, columns).mapInArrow(adding, "found binary")
            for added in pl.DataFrame(rows.toArrow())["found"]:
                sums.merge(pickle.loads(added))  # noqa: S301 - made by our own workers

    def repeats(
        self,
        frame: nw.LazyFrame[Any],
        read: Callable[[pl.DataFrame], Table],
        keys: Callable[[Table], NDArray[np.uint64]],
    ) -> NDArray[np.uint64]:
        """The keys that several rows share, sorted."""
        from pyspark.sql import functions

        keyed = Worker(OnlyKeys(columns_of(frame), read, keys))
        with guarded():
            counts = _numbered(frame).mapInArrow(keyed, f"{KEY} long").groupBy(KEY)
            again = counts.agg(functions.count("*").alias("records")).where("records > 1")
            shared = pl.DataFrame(again.select(KEY).toArrow())
        return np.unique(shared[KEY].to_numpy().view(np.uint64))

    def distinct(
        self,
        frame: nw.LazyFrame[Any],
        columns: Sequence[str],
        words: Callable[[pl.DataFrame], Sequence[NDArray[np.uint64]]],
        count: int,
    ) -> list[int]:
        """About how many different words there are, for each of so many words of a row
        (HyperLogLog++ of Spark).
        """
        from pyspark.sql import functions

        named = WithNames(columns, Worker(WithWords(words)))
        names = numbered_names(count)
        about = [functions.approx_count_distinct(name, ROUGHLY).alias(name) for name in names]
        with guarded():
            types = ", ".join(f"{name} long" for name in names)
            row = _numbered(frame, columns).mapInArrow(named, types).agg(*about).first()
        return [int(number) for number in row]

    def counted_by_places(
        self,
        frame: nw.LazyFrame[Any],
        columns: Sequence[str],
        replaced: Sequence[str],
        places: Callable[[pl.DataFrame], dict[str, pl.Series]],
        max_combinations: int,
    ) -> pl.DataFrame | None:
        """The distinct combinations of some columns and, last, how many rows have each, where
        places stand for the values of some of them; None: there are too many.
        """
        from pyspark.sql.types import LongType, StructField, StructType

        with guarded():
            plain = _numbered(frame, columns)
            fields = [
                StructField(field.name, LongType()) if name in replaced else field
                for name, field in zip(columns, plain.schema.fields, strict=True)
            ]
            named = WithNames(columns, Worker(WithPlaces(places)))
            counts = _grouped(plain.mapInArrow(named, StructType(fields)), max_combinations)
        if counts is not None:
            counts.columns = [*columns, spare(columns)]
        return counts


workers = Executors()


def _watched(native: Any, names: Sequence[str], job: Job) -> Watch:
    """What workers see of the rows that each has, put together by them: whatever the number of
    partitions, one comes to the driver.
    """
    pieces = native.mapInArrow(WithNames(names, Seen(job)), PIECES)
    # Merging in two rounds keeps any one worker from unpickling what all partitions saw.
    fewer = pieces.repartition(GROUPS, "place").mapInArrow(merged, PIECES)
    watch = copy.deepcopy(job.watch)
    for worker_watch in _collected(fewer.repartition(1).mapInArrow(merged, PIECES))["found"]:
        watch.merge(pickle.loads(worker_watch))  # noqa: S301 - made by our own workers
    return watch


def _seen_by(watch: Watch) -> tuple[int, str | None]:
    """How many rows were seen, and what they add up to where that is asked."""
    return watch.rows, None if watch.sums is None else watch.sums.text


def _collected(frame: Any) -> pl.DataFrame:
    """What workers saw, at the driver: one row."""
    return pl.DataFrame(frame.toArrow())


def _gathered(native: Any, names: Sequence[str], job: Job) -> Any:
    """The rows, those that equal each other with one worker where the job tells them apart."""
    if not job.line.draws:
        return native
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([*native.schema.fields, StructField(KEY, LongType())])
    keyed = native.mapInArrow(Worker(WithKeys(names, job.read, job.line.keys)), schema)
    # Equal rows have equal keys and so one partition, whose worker numbers the copies.
    return keyed.repartition(KEY).drop(KEY)


def _write(native: Any, names: Sequence[str], release: Releasing) -> pl.DataFrame:
    """Release, order and write the rows, those of a part by one worker; gives what workers tell of
    it.
    """
    rows = native.mapInArrow(WithNames(names, release), release.schema_in_spark())
    if release.job.order is not None:
        rows = rows.repartition(release.job.parts, PART).sortWithinPartitions(PART, POSITION)
    return pl.DataFrame(rows.drop(POSITION).mapInArrow(Writing(release), REPORT).toArrow())


def _passed(worker_reports: pl.DataFrame, job: Job) -> Passage:
    """The pass in which rows were released, put together from what every worker tells of its
    own.
    """
    passage = Passage(copy.deepcopy(job.watch.sums))
    for worker_passage in worker_reports["told"].drop_nulls():
        passage.merge(pickle.loads(worker_passage))  # noqa: S301 - made by our own workers
    return passage


def _move_parts(
    worker_reports: pl.DataFrame, released: int, waiting: Path, folder: Path
) -> list[Path]:
    """Parts under names that tell nothing, each with the rows that its worker says it wrote; what
    else lies there is left behind.
    """
    # Two checks: reports against the pass that released, and each file against its report.
    if worker_reports["rows"].sum() != released or any(
        rows != _rows_in(waiting / name) for _, name, rows, _ in worker_reports.iter_rows()
    ):
        raise OutputError(
            "a part that a Spark worker wrote is missing from the release, or has other rows: "
            "workers use other disks than this machine, or the part was lost. Let TMPDIR name a "
            "folder that all of them see; nothing was written"
        )
    names = worker_reports.sort("place")["name"]
    parts = [
        (waiting / name).rename(folder / f"part-{number:05d}.parquet")
        for number, name in enumerate(names)
    ]
    shutil.rmtree(waiting)
    return parts


def _rows_in(part: Path) -> int | None:
    """How many rows a file holds; None: it is not there, or not whole."""
    try:
        return int(pl.scan_parquet(part, glob=False).select(pl.len()).collect().item())
    except (OSError, pl.exceptions.PolarsError):
        return None


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Errors of an engine may show values of the table: they are told without their text, and not
    logged.
    """
    import pyarrow as pa
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with _unlogged():
            yield
    except (PySparkException, Py4JError, pa.ArrowException, OSError) as error:
        raise _translate_error(error) from None


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


def _translate_error(error: Exception) -> SfumatoError:
    """What went wrong, in our words: a worker tells its own errors by name."""
    text = str(error)
    if "PYTHON_VERSION_MISMATCH" in text or MISSING_MODULE.search(text):
        return ParameterError(
            "the Spark workers run a Python without this version of sfumato: let PYSPARK_PYTHON "
            f"(of spark-submit: --conf spark.pyspark.python) be {sys.executable} before the "
            "session begins, or install the same version on every machine"
        )
    match = SAID.search(text)
    # Only names of our own errors are believed; any other text may come from values.
    kind = getattr(errors, match[1], None) if match else None
    if match and isinstance(kind, type) and issubclass(kind, SfumatoError):
        return kind(match[2])
    return UnreadableInput(
        f"{name} could not read the table ({match[1] if match else type(error).__name__}): a part "
        "is damaged or missing, a worker failed too often, or the query behind the frame fails; "
        "count it by hand to see why"
    )
