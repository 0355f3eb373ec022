"""What workers of Spark do with the rows that each has: look at them, release them, write them, and
tell what they did.

All of it is pickled by its name: workers import sfumato themselves, and nothing relies on the
process of the driver.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import os
import pickle
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.table import Table
from sfumato.data.lazy.codes import Coder
from sfumato.data.lazy.digest import RowsDigest
from sfumato.data.lazy.parts import places_of
from sfumato.errors import OutputError, ParameterError, SchemaError, SfumatoError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.lazy.observed_values import Fingerprint, Watch
    from sfumato.data.lazy.table import Job

BATCH = 200_000
"""Rows that a worker looks at together."""
FAILED = "sfumato on a worker: "
PIECES = "place int, found binary"
"""What was seen, with the number of the partition it was seen in."""
REPORT = "place long, name string, rows long, told binary"
"""A part that was written and how many rows it has; or, without a name, what a worker tells of its
pass.
"""


KEY, PART, POSITION, TOLD = "key", "part", "position", "told"
"""Names of columns beside those with numbers: what equal rows share, the part of a released row,
its place there, and what a worker tells.
"""


ON_THE_WAY: dict[Any, pl.DataType] = {
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Decimal(20, 0),
    pl.Duration: pl.Duration("us"),
}
"""Types that Spark lacks, and what holds their values while rows go from worker to worker."""


def types_of_parts(rows: pl.DataFrame) -> dict[str, pl.DataType]:
    """The types of columns as parts hold them: one without any value is text."""
    return {name: pl.String() if t == pl.Null else t for name, t in rows.schema.items()}


def as_spark_holds(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in types that Spark has; the types of parts hold the same values."""
    types = {}
    for name, dtype in rows.schema.items():
        types[name] = ON_THE_WAY.get(dtype.base_type(), dtype)
        if isinstance(dtype, pl.Datetime):
            # Spark has moments, but no zone of a column.
            types[name] = pl.Datetime("us", "UTC" if dtype.time_zone else None)
    return rows.cast(types)  # type: ignore[arg-type]


def numbered_names(count: int) -> list[str]:
    """Names of so many columns, as Spark sees them.

    >>> numbered_names(2)
    ['column0', 'column1']
    """
    return [f"column{number}" for number in range(count)]


class WithNames:
    """What a worker does with columns under their own names; Spark sees their numbers alone."""

    def __init__(
        self, names: Sequence[str], work: Callable[[Iterator[Any]], Iterator[Any]]
    ) -> None:
        self.names, self.work = list(names), work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What comes of the batches."""
        return self.work(batch.rename_columns(self.names) for batch in batches)


class Worker:
    """A function of rows as Spark wants it: of Arrow batches, which are put together to be worth
    the work.
    """

    def __init__(self, work: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        self.work = work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches after the work."""
        return _map_batches(self.work, batches)


def _map_batches(
    work: Callable[[pl.DataFrame], pl.DataFrame], batches: Iterator[Any]
) -> Iterator[Any]:
    # Arrow batches of Spark are small; one call per 200,000 rows makes the work worth its start.
    for rows in _together(batches):
        yield from _report_error(work, rows).to_arrow().to_batches()


def _report_error(work: Callable[[pl.DataFrame], pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """The work done; what goes wrong is told without values, for Spark writes it to its log."""
    try:
        return work(rows)
    except SfumatoError as error:
        # The class name travels in the text, so that the driver can raise the same error again.
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


def as_bytes(batches: Iterator[Any]) -> Iterator[Any]:
    """Rows as bytes of Arrow, many in one."""
    for rows in _together(batches):
        sink = io.BytesIO()
        rows.write_ipc_stream(sink)
        yield from _bytes(sink.getvalue())


def _bytes(content: bytes) -> Iterator[Any]:
    yield from pl.DataFrame({"found": [content]}).to_arrow().to_batches()


def _partition() -> int:
    """The number of the partition that this worker has."""
    from pyspark import TaskContext

    running = TaskContext.get()
    return 0 if running is None else running.partitionId()


def summed(rows: pl.DataFrame) -> pl.DataFrame:
    """How many rows there are, and the sum of their digests."""
    digest = RowsDigest(rows.columns)
    digest.add(rows)
    # The sum has 256 bits, more than any number of Spark: it goes as hexadecimal text.
    return pl.DataFrame({"rows": [digest.rows], "total": [f"{digest.total:x}"]})


@dataclasses.dataclass(frozen=True)
class WithKeys:
    """Rows with a number that equal ones share; ``names`` are those of their columns."""

    names: Sequence[str]
    read: Callable[[pl.DataFrame], Table]
    keys: Callable[[Table], NDArray[np.uint64]]

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows and their numbers."""
        named = rows.rename(dict(zip(rows.columns, self.names, strict=True)))
        # Spark has no unsigned numbers; the same bits as signed ones are still equal for equal
        # rows.
        return rows.with_columns(pl.Series(KEY, self.keys(self.read(named)).view(np.int64)))


class OnlyKeys(WithKeys):
    """The number that equal rows share, alone."""

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The numbers."""
        return super().__call__(rows).select(KEY)


@dataclasses.dataclass(frozen=True)
class WithWords:
    """Words of 64 bits for every row, one a column; ``words`` gives them of rows as they came."""

    words: Callable[[pl.DataFrame], Sequence[NDArray[np.uint64]]]

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The words alone, as signed numbers: Spark has no others."""
        columns = [words.view(np.int64) for words in self.words(rows)]
        return pl.DataFrame(dict(zip(numbered_names(len(columns)), columns, strict=True)))


@dataclasses.dataclass(frozen=True)
class WithPlaces:
    """Rows of which some columns are places of what stands for their values."""

    places: Callable[[pl.DataFrame], dict[str, pl.Series]]

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows, under the numbers of their columns."""
        places = self.places(rows)
        replaced = rows.with_columns(
            column.cast(pl.Int64).alias(name) for name, column in places.items()
        )
        replaced.columns = numbered_names(rows.width)
        return replaced


def _watch_rows(watch: Watch, job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    watch.see(job.read(rows).to_polars())
    watch.see_as_held(rows)
    return rows


@dataclasses.dataclass(frozen=True)
class AddedUp:
    """What the rows of a worker add up to, as bytes."""

    sums: Fingerprint

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The sums of these rows alone."""
        sums = copy.deepcopy(self.sums)
        sums.see(rows)
        return pl.DataFrame({"found": [pickle.dumps(sums)]})


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a worker sees of all its rows, as bytes."""

    job: Job

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What was seen of all of them, once."""
        # A watch of its own for this partition: that of the job stays empty.
        watch = copy.deepcopy(self.job.watch)
        for rows in _together(batches):
            _report_error(lambda rows: _watch_rows(watch, self.job, rows), rows)
        yield from _piece(watch)


def merged(batches: Iterator[Any]) -> Iterator[Any]:
    """What several workers saw, as one."""
    watches: list[Watch] = []
    for batch in batches:
        _report_error(lambda rows: _taken_in(watches, rows), pl.DataFrame(batch))
    for watch in watches:
        yield from _piece(watch)


def _taken_in(watches: list[Watch], rows: pl.DataFrame) -> pl.DataFrame:
    for pickled_watch in rows["found"]:
        watch: Watch = pickle.loads(pickled_watch)  # noqa: S301 - made by our own workers
        if watches:
            watches[0].merge(watch)
        else:
            watches.append(watch)
    return rows


def _piece(watch: Watch) -> Iterator[Any]:
    piece = pl.DataFrame(
        {"place": [_partition()], "found": [pickle.dumps(watch)]},
        schema_overrides={"place": pl.Int32},
    )
    yield from piece.to_arrow().to_batches()


@dataclasses.dataclass
class Passage:
    """What one pass over the rows came to: how many were seen and released, and what they add up to
    where that is asked.
    """

    sums: Fingerprint | None
    rows: int = 0
    released: int = 0

    def merge(self, second: Passage) -> None:
        """Add the rows of another one."""
        self.rows += second.rows
        self.released += second.released
        if self.sums is not None and second.sums is not None:
            self.sums.merge(second.sums)

    @property
    def seen(self) -> tuple[int, str | None]:
        """The rows that were seen; the same in every pass over a table that nobody changes."""
        return self.rows, None if self.sums is None else self.sums.text


@dataclasses.dataclass(frozen=True)
class Releasing:
    """Rows as they are written, with the part that each goes to and where in it.

    A last row without values tells what its worker did: rows are what Spark is sure to bring home
    from tasks that succeeded, and from no others.
    """

    job: Job
    types: dict[str, pl.DataType]
    folder: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows as they are written, then what was done."""
        job, passage = self.job.started(), Passage(copy.deepcopy(self.job.watch.sums))
        yield from _map_batches(lambda rows: self.marked(self.made(job, rows, passage)), batches)
        # Part -1 is no part: the row only brings the report home.
        report = {PART: [-1], TOLD: [pickle.dumps(passage)]}
        last = pl.concat([self.marked(self.none()), pl.DataFrame(report)], how="diagonal_relaxed")
        yield from last.cast(self.marked(self.none()).schema).to_arrow().to_batches()

    def made(self, job: Job, rows: pl.DataFrame, passage: Passage) -> Table:
        """What is released of some rows, if it can be written here."""
        _require_folder(self.folder)
        read = job.read(rows)
        if passage.sums is not None:
            passage.sums.see(rows)
        released_rows = job.line.released(read.with_text_coded())
        passage.rows += rows.height
        passage.released += len(released_rows)
        return (
            released_rows if len(released_rows) else self.none()
        )  # steps stop where nothing is left, so its columns may be others

    def none(self) -> Table:
        """No rows, as they are released."""
        empty: Any = pl.DataFrame(schema=self.types)
        return Table(empty)

    def marked(self, released_rows: Table) -> pl.DataFrame:
        """Released rows in types that Spark has, with their places; without an order they stay with
        the worker that has them.
        """
        plain = as_spark_holds(self.typed(released_rows.to_polars()))
        plain.columns = numbered_names(plain.width)
        if self.job.order is None:
            marks = [
                pl.lit(_partition(), pl.Int32).alias(PART),
                pl.lit(0, pl.Int64).alias(POSITION),
            ]
            return plain.with_columns(*marks, pl.lit(None, pl.Binary).alias(TOLD))
        coder = Coder()
        order = coder.hashes(coder.coded(released_rows), self.job.order)
        # Spark has no unsigned numbers: with the first bit turned over, signed ones have the same
        # order
        signed = order.reinterpret(signed=True) ^ pl.Series([-(2**63)])
        parts = places_of(order, self.job.parts).cast(pl.Int32).alias(PART)
        return plain.with_columns(
            parts, signed.alias(POSITION), pl.lit(None, pl.Binary).alias(TOLD)
        )

    def typed(self, released_frame: pl.DataFrame) -> pl.DataFrame:
        """Every column in its one type, which must hold what it is given."""
        # A column that is wider here than in the sample would not fit the files of other workers.
        common_schema = pl.concat(
            [pl.DataFrame(schema=self.types), pl.DataFrame(schema=types_of_parts(released_frame))],
            how="vertical_relaxed",
        ).schema
        wide = [name for name, dtype in common_schema.items() if dtype != self.types[name]]
        if wide:
            raise SchemaError(
                f"{', '.join(wide)} have different types in different rows; convert them to one "
                "before"
            )
        return released_frame.cast(self.types)  # type: ignore[arg-type]

    def schema_in_spark(self) -> Any:
        """The columns of what it gives, as Spark names them."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.marked(self.none()).to_arrow().schema)


def _require_folder(folder: str) -> None:
    if not Path(folder).is_dir():
        raise ParameterError(
            "the Spark workers use other disks than this machine; let TMPDIR name a folder that "
            "both see"
        )


@dataclasses.dataclass(frozen=True)
class Writing:
    """Writes released rows, which come part after part, and tells how many went into which file.

    A task that is tried again writes another file: only those count that a worker tells of.
    """

    release: Releasing

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Reports of the parts that were written, and of the passes in which they were released."""
        files: list[_File] = []
        for rows in _together(batches):
            # Reports of those who released ride along as rows; they are taken out before rows are
            # written.
            notes = rows[TOLD].drop_nulls()
            yield from _reported([(None, None, 0, note) for note in notes])
            _report_error(
                lambda rows: self.put(files, rows),
                rows.filter(pl.col(TOLD).is_null()).drop(TOLD),
            )
        _report_error(lambda rows: _ended(files, rows), pl.DataFrame())
        yield from _reported([(file.place, file.path.name, file.rows, None) for file in files])

    def put(self, files: list[_File], rows: pl.DataFrame) -> pl.DataFrame:
        """Write rows of one part or of several, the last of which may go on."""
        _require_folder(self.release.folder)
        for (part_number,), part_rows in rows.partition_by(
            PART, as_dict=True, include_key=False, maintain_order=True
        ).items():
            # Rows of one part come together, so another number means that the part before is
            # complete.
            if not files or files[-1].place != part_number:
                _ended(files, rows)
                files.append(_File(Path(self.release.folder), part_number))
            part_rows.columns = list(self.release.types)
            files[-1].add(part_rows.cast(self.release.types))  # type: ignore[arg-type]
        return rows


def _ended(files: Sequence[_File], rows: pl.DataFrame) -> pl.DataFrame:
    if files:
        files[-1].close()
    return rows


def _reported(reports: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    schema = {"place": pl.Int64, "name": pl.String, "rows": pl.Int64, "told": pl.Binary}
    if reports:
        yield from pl.DataFrame(reports, schema=schema, orient="row").to_arrow().to_batches()


@contextlib.contextmanager
def _writable() -> Iterator[None]:
    """Say what keeps a worker from writing, such as a full disk."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise OutputError(
            f"a Spark worker cannot write a part of the release ({reason}); nothing was written"
        ) from None


class _File:
    """A part on the way: its rows are written in groups of one size, however they come."""

    def __init__(self, folder: Path, part_number: int) -> None:
        self.place, self.rows = part_number, 0
        # The random name keeps a task that is tried again from writing into the file of the first
        # try.
        self.path = folder / f"{part_number}-{secrets.token_hex(8)}.parquet"
        self.held = pl.DataFrame()
        self.writer: Any = None

    def add(self, rows: pl.DataFrame) -> None:
        """Take some rows."""
        self.held = pl.concat([self.held, rows]) if self.held.height else rows
        while self.held.height > BATCH:
            self._write(self.held.head(BATCH))
            self.held = self.held[BATCH:]

    def close(self) -> None:
        """Write what is left; a file that is closed is whole."""
        if self.held.height:
            self._write(self.held)
            self.held = self.held.clear()
        if self.writer is not None:
            with _writable():
                self.writer.close()
            self.writer = None

    def _write(self, rows: pl.DataFrame) -> None:
        from pyarrow import parquet

        arrow_table = rows.to_arrow()
        with _writable():
            if self.writer is None:
                self.writer = parquet.ParquetWriter(
                    self.path, arrow_table.schema, compression="zstd"
                )
            self.writer.write_table(arrow_table, row_group_size=BATCH)
        self.rows += rows.height
