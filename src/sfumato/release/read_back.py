"""A release as whoever reads its file finds it.

What was judged in memory is worth nothing where the file says something else. So the file is read
back before it stands, by the function that ``verify`` and ``check`` read it with; where a value is
not the one that was judged, everything is judged again on the file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.acceptance import text_only_columns
from sfumato.core.evidence import gather, judge_all, needed
from sfumato.core.fields import Document, Fields
from sfumato.core.shape import Shape
from sfumato.core.source import Source
from sfumato.core.step import accounts
from sfumato.core.table import Table
from sfumato.data.lazy.databases import Name, Transaction, address
from sfumato.data.lazy.digest import RowsDigest
from sfumato.data.lazy.drivers import begun
from sfumato.data.lazy.on_sql import DatabaseTable
from sfumato.data.lazy.open_table import is_same_table, name_in
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.columnar import parquet_parts
from sfumato.data.table.default_readers import ReadAsOne, read_as_one
from sfumato.data.table.form import Form
from sfumato.data.table.formats import listed
from sfumato.data.table.indistinct import guessed
from sfumato.data.table.read import read_written
from sfumato.data.table.write import write_table
from sfumato.errors import (
    OutputError,
    ParameterError,
    ReleaseRefused,
    SfumatoError,
    UnreadableInput,
)
from sfumato.release.assessment import assess
from sfumato.release.make import judge_again
from sfumato.release.manifest import near

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.release.table_release import TableRelease


def require_kept(release: Release) -> None:
    """Raise unless a release keeps its promises, and has some; a step that accounts for an ε is
    one.
    """
    promised = (
        release.verdicts or release.limits or accounts(release.recipe.steps, release.recipe.schema)
    )
    if not release.holds or not promised:
        raise ReleaseRefused(
            "this release has no promise, or breaks one; it was made for comparison and is never "
            "written"
        )


def as_written(release: TableRelease, file: Path, form: Form) -> TableRelease:
    """The release judged on the file that was written of it; raises :class:`ReleaseRefused` where
    the file breaks a promise.

    Values that come back as they were need not be judged twice. Whoever reads a CSV without its
    form may take text for numbers: where that makes values one, the promises must hold for such a
    reader too.
    """
    # Parquet keeps types, so equal columns end it here, without reading the whole file at once
    if form.format == "parquet" and _all_came_back(release.released, file):
        return release
    frame = _read_back(release, file, form)
    release = _with_rows(release, frame, form)
    if release.recipe.accept:
        text_only = text_only_columns(release.recipe.accept)
    else:
        text_only = set()
    # a CSV does not say what is text: a guessing reader may see fewer values
    if form.format == "csv":
        numbers = {n: c for n, c in guessed(frame).items() if n not in text_only}
    else:
        numbers = {}
    if numbers:
        _judge_frame(
            release,
            frame.with_columns(**numbers),
            f"somebody who reads {listed(list(numbers))} as numbers finds fewer values",
        )
    for reading in read_as_one(frame, form.format, but=text_only):
        _judged_as_read(release, frame, reading)
    return release


def as_it_stands(release: TableRelease, table: Table, data: Fields) -> TableRelease:
    """A release made again, judged on the values that its file holds: a format may write some as
    missing, or as others.

    ``table`` is what was read of the file that stands, which the ``data`` section of its
    certificate describes.
    """
    # as a rule the file holds what was made: then nothing is written a second time
    if table.columns == release.released.columns and all(
        len(column) == len(release.released) and _came_back(release.released, column)
        for column in map(table.column, table.columns)
    ):
        return release
    with tempfile.TemporaryDirectory() as folder:
        file, defuse = Path(folder) / data["file"], bool(data.get("form", {}).get("defused"))
        frame = release.released.to_polars()
        form = write_table(
            frame, file, release.original.source, format=data["format"], defuse=defuse
        )
        return _with_rows(release, _read_back(release, file, form), form)


def _with_rows(release: TableRelease, frame: pl.DataFrame, form: Form) -> TableRelease:
    """The release with the rows that were read back in its place, judged again where they are
    others.
    """
    changed_columns = [
        name for name in frame.columns if not _came_back(release.released, frame[name])
    ]
    if not changed_columns:
        return release
    return _judge_frame(
        release,
        frame,
        f"{form.format} does not distinguish all values of {listed(changed_columns)}",
    )


def _judged_as_read(release: TableRelease, frame: pl.DataFrame, reading: ReadAsOne) -> None:
    """Refuse a release that a default reader would find broken, because it takes several values for
    one.
    """
    # both tables as that reader sees them: promises may compare them
    table = reading.of(dataclasses.replace(release.released, frame=frame))  # type: ignore[arg-type]
    try:
        judge_again(dataclasses.replace(release, original=reading.of(release.original)), table)
    except SfumatoError as error:
        names = list(reading.keys)
        accept = ", ".join(f"{name}: text only" for name in names)
        raise ReleaseRefused(
            f"{reading.reader} reads several values of {listed(names)} as the same, as 00501 and "
            f"501 are the number 501: {error}; put a letter before them, write Parquet (--format "
            f"parquet), or accept it in the recipe (accept: {{{accept}}})"
        ) from None


def _all_came_back(released: Table, file: Path) -> bool:
    """Whether a Parquet file holds what was released, looked at part by part: text of a large table
    fills the memory.
    """
    ends: dict[str, int] = {}  # by column how many rows were read
    with contextlib.suppress(SfumatoError, OSError):
        for start, part in parquet_parts(file):
            if not set(part.columns) <= set(released.columns):
                return False
            if not all(_came_back(released, column, start) for column in part.iter_columns()):
                return False
            ends |= dict.fromkeys(part.columns, start + len(part))
    # all columns, in their order, and every one to its last row
    return list(ends) == list(released.columns) and set(ends.values()) <= {len(released)}


def _read_back(release: TableRelease, file: Path, form: Form) -> pl.DataFrame:
    try:
        frame, _ = read_written(file, form)
    except SfumatoError as error:
        raise OutputError(
            f"the file would not be readable as {form.format}, so it is not written: {error}"
        ) from None
    expected = (len(release.released), release.released.columns)
    # lost rows or columns are no matter of promises: the file is not written
    if (frame.height, frame.columns) != expected:
        raise OutputError(
            f"{form.format} does not preserve this table: {frame.height:,} rows and "
            f"{frame.width:,} columns come back instead of {expected[0]:,} and "
            f"{len(expected[1]):,}, or names of columns change; write another format"
        )
    return frame


def _judge_frame(release: TableRelease, frame: pl.DataFrame, reason: str) -> TableRelease:
    """The release with what a reader finds in its place, judged again."""
    table_read = dataclasses.replace(release.released, frame=frame)  # type: ignore[arg-type]
    try:
        return judge_again(release, table_read)
    except SfumatoError as error:  # a model may also find too few values to judge
        raise ReleaseRefused(
            f"{reason}: {error}; make the release for the format it is written in (format=,"
            " --format), or write another"
        ) from None


def _came_back(released: Table, column: pl.Series, start: int | None = None) -> bool:
    """Whether a column that was read holds what was released in it, in all rows or in as many from
    ``start`` on, whatever the width of its numbers.
    """
    if column.name in released.coded and column.dtype == pl.String:
        return released.encoded(column.name).holds(column, start)
    original = released.column(column.name)
    if start is not None:
        original = original.slice(start, len(column))
    plain = []
    for values in (original, column):
        # widths of integers mean nothing, but 64 unsigned bits do not fit into signed ones
        if values.dtype.is_integer() and values.dtype != pl.UInt64:
            plain.append(values.cast(pl.Int64, strict=False))
        elif values.dtype in (pl.Categorical, pl.Enum):
            plain.append(values.cast(pl.String))
        else:
            plain.append(values)
    return plain[0].equals(plain[1], check_dtypes=True, null_equal=True)


def read_described(file: Path, data: Fields, *, lists: bool = False) -> tuple[pl.DataFrame, Source]:
    """Read a released file as the ``data`` section of its certificate says."""
    return read_written(file, Form.from_dict(data.get("format"), data.get("form", {})), lists=lists)


def read_certified(file: Path) -> Table | None:
    """A file beside the certificate that names it, read as it says; None for any other file, and
    for a folder of parts.
    """
    from sfumato.release.certificate_files import read_certificate

    try:
        data = read_certificate(file.parent, Shape.TABLE)["data"]
    except (UnreadableInput, ParameterError):
        return None
    if data["file"] != file.name or file.is_dir():
        return None
    frame, source = read_described(file, data)
    return Table(frame, source=source).with_text_coded()  # type: ignore[arg-type]


# A release as a table of a database.


@dataclasses.dataclass(frozen=True)
class Target:
    """A table of a database that a release is written into; ``force`` replaces one that is
    there.
    """

    given: str
    table: str
    force: bool = False

    def __post_init__(self) -> None:
        address(self.given), Name.of(self.table)

    @property
    def shown(self) -> str:
        """What may be told of it."""
        return name_in(self.given, self.table)

    @contextlib.contextmanager
    def begun(self, source: Source, columns: Sequence[str] | None = None) -> Iterator[Transaction]:
        """A transaction in which there is room for the table; it ends with the block, and a file
        that was made for nothing is gone.

        The table that a release is made of is never replaced, by whatever address it is reached;
        nor is one with other columns than those to be written, which is no earlier release.
        """
        if is_same_table(source.name, self.shown):
            raise self._is_original()
        database = address(self.given)
        # a file that this makes is taken away again if nothing comes of it
        fresh = database.kind != "postgresql" and not database.file.exists()
        running = begun(database, write=True)
        try:
            self._make_room(running, source, columns)
            yield running
        finally:
            running.close()
            if fresh and not running.stands:
                database.file.unlink(missing_ok=True)

    def _make_room(
        self, running: Transaction, source: Source, columns: Sequence[str] | None
    ) -> None:
        name = Name.of(self.table)
        with running.guarded():
            exists = running.exists(name)
        # by identity: another address may lead to the same table
        if exists and source.identity is not None and running.identity(name) == source.identity:
            raise self._is_original()
        if exists and not self.force:
            raise OutputError(
                f"{self.shown} already exists; choose another name, or replace it with force=True "
                "(--force)"
            )
        # force must not delete a table that only has the name
        if exists and columns is not None and list(running.columns(name)) != list(columns):
            raise OutputError(
                f"{self.shown} has other columns than this release, so it is not an earlier one, "
                "and --force will not replace it; choose another name"
            )
        if exists:
            running.execute(f"DROP TABLE {name.quoted}")

    def require_room(self, source: Source) -> None:
        """Refuse early what would be refused after all the work; nothing is changed."""
        with self.begun(source):
            pass

    def _is_original(self) -> OutputError:
        """The refusal to write what is released in the place of the table it is released of."""
        return OutputError(
            f"{self.shown} is the original table and is never replaced; choose another name"
        )


def target_in(database: str | None, table: str | None, *, force: bool) -> Target | None:
    """The table of a database that was asked for, or None; one needs both, a database and a
    name.
    """
    if database is None and table is None:
        return None
    if database is None or table is None:
        raise ParameterError(
            "give both the database and the name of the table: into and into_table (--into, "
            "--into-table)"
        )
    return Target(database, table, force)


@contextlib.contextmanager
def stored(release: TableRelease, target: Target) -> Iterator[Document]:
    """Write the released table into a database and judge it there; it stands when the block ends
    without an error.

    Everything is one transaction: a run that fails or is killed leaves no table, and with ``force``
    the old one. Gives what a certificate says of the table: no address, since that is nobody's
    business who reads the release.
    """
    name = Name.of(target.table)
    with target.begun(release.original.source, release.released_columns) as running:
        digest = _write_rows(release, running, name)
        database_table = DatabaseTable.within(running, name)
        table = LazyTable(database_table, source=Source(target.shown))  # type: ignore[arg-type]
        # inside the transaction: what does not hold is never seen by anybody
        _require_same(release, table, digest)
        yield {"name": str(name), "kind": running.place.kind, "rows_digest": digest}
        running.commit()


def _write_rows(release: TableRelease, running: Transaction, name: Name) -> str:
    """Write all rows in the order in which they are released; returns their digest."""
    digest = RowsDigest(release.released_columns)
    batches = (
        (pl.read_parquet(part) for part in release.parts)
        if release.parts
        else [release.released.to_polars()]
    )
    for number, batch in enumerate(batches):
        # digest of what the database can hold, as that is what comes back
        rows = running.storable(batch)
        digest.add(rows)
        running.put(name, rows, create=number == 0)
    return digest.hexdigest()


def _require_same(release: TableRelease, table: LazyTable, digest: str) -> None:
    """Read the table back and judge it; refused unless its rows are those written, and every number
    is the one certified.
    """
    if table.digest != digest or table.columns != release.released_columns:
        raise OutputError(
            f"{table.source.name} does not return the rows that were written into it; it was "
            "removed"
        )
    table_described = table.with_schema(release.released_schema)
    if release.parts:
        shared = table_described.counted(release.released.columns)
    else:
        shared = table_described.collected()
    # promises beside the original were judged on the same rows
    models = [m for m in release.recipe.meet if not _needs_rows(m, release)]
    verdicts = judge_all(
        gather(shared, models, original=release.original, population=release.population), models
    )
    promises = {verdict.promise: verdict for verdict in release.verdicts}
    after = assess(shared)
    is_same = all(
        v.holds and near(v.to_dict()["attained"], promises[v.promise].to_dict()["attained"])
        for v in verdicts
    )
    if not is_same or after.class_sizes != release.after.class_sizes:
        raise ReleaseRefused(
            f"{table.source.name} was judged after writing and differs from what was certified; it "
            "was removed"
        )


def _needs_rows(model: Any, release: TableRelease) -> bool:
    """Whether a promise is about records beside their originals, which a table does not hold; its
    rows are the judged ones.
    """
    needs = needed([model], release.released_schema)
    return bool(needs.pairs or needs.unmasked or needs.posteriors)


# A table described by a recipe: read as it says, with the roles it gives.


def has_words(values: pl.Series) -> bool:
    """Whether most values have no digit, besides missing ones and marks of suppressed cells; codes
    like *unknown* or *inf* may stand among numbers.

    >>> has_words(pl.Series(["3.5", "*", "inf"])), has_words(pl.Series(["3.5", "red", "blue"]))
    (False, True)
    """
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        return values.dtype == pl.Boolean
    # a star marks a suppressed cell, in columns of numbers too
    texts = values.filter(values.str.strip_chars() != "*")
    return 2 * int((~texts.str.contains(r"\d")).sum()) > texts.len()
