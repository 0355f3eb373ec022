"""Files of a release of other data than one table, written and read back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core import environment, registry
from sfumato.core.fields import Document, Fields
from sfumato.data.table.default_readers import read_as_one
from sfumato.data.table.formats import chosen_format
from sfumato.data.table.indistinct import guessed
from sfumato.errors import OutputError, ReleaseRefused, SfumatoError
from sfumato.release.documents import data_certificate, data_lock, data_owner_record
from sfumato.release.make import judge_again
from sfumato.release.read_data import with_origin
from sfumato.release.shared_folder import read_released
from sfumato.release.table_sections import as_sections, columns_told, schema_told
from sfumato.release.written_files import (
    ALIGNMENT,
    ORIGINAL_PERSON,
    WrittenFiles,
    alignment_file,
    write_json,
    write_section,
)

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.release.release import Release


def write_data_files(
    release: Release,
    share: Path,
    owner: Path,
    *,
    format: str | None,  # noqa: A002
    defuse: bool,
    table: Fields,
) -> WrittenFiles:
    """Write the released tables, the lock and the alignment of data other than a table."""
    # values were distinguished for this format from the start
    file_format = chosen_format(release.original.source, format or release.made_for)
    tables = write_tables(release, share, file_format, defuse=defuse)
    # what is certified below is judged on the files, not on memory
    release = as_written(release, share, tables)
    salt = environment.fresh_salt()
    body = data_certificate(release, tables=tables, salt=salt)
    write_json(owner / "lock.json", data_lock(release, salt=salt, certificate=body))
    _write_alignment(release, owner)
    return WrittenFiles(release, body, data_owner_record(release))


def write_tables(
    release: Release,
    folder: Path,
    format: str,  # noqa: A002
    *,
    defuse: bool = False,
) -> dict[str, Document]:
    """Write every released table into a file of its own; what a certificate says of each."""
    source = release.original.source
    columns = columns_told(release.released, release.recipe)
    sections = {}
    for name, frame in release.released.to_tables().items():
        table = write_section(name, frame, folder, source, format, defuse=defuse)
        sections[name] = {**table.section, "rows": frame.height, "columns": columns[name]}
    return sections


def as_written(release: Release, share: Path, tables: Mapping[str, Fields]) -> Release:
    """The release judged on the files that were written of it, read as a stranger reads them;
    refused where they break a promise.

    Promises are always judged on the files, limits and contract where the files say anything else
    than was made. Whoever reads a CSV without its form may take text for numbers: where that makes
    values one, the promises must hold for such a reader too.
    """
    try:
        read = read_released(share, as_sections(tables, release.shape), release.shape)
    except SfumatoError as error:
        raise OutputError(
            f"the written file could not be read again, so it is not released: {error}"
        ) from None
    # a person without anything may leave no row in a file, and would be lost unnoticed
    if read.counts() != release.released.counts():
        raise OutputError(
            "the files contain other numbers of people than the release; write another format, or "
            "remove people without items (--format)"
        )
    # the files do not say who is who; the owner knows it
    data_read = with_origin(read, release.released.origin).described_further(
        release.released.schemas
    )
    alike = release.released.same(data_read)
    judged_release = _judge_read(
        release, data_read, "the files contain other values than the release", bounds=not alike
    )
    for reader, guess in _as_guessed(release, data_read, tables):
        _judge_read(
            release,
            guess,
            f"{reader} reads several values as the same and finds fewer",
            bounds=False,
        )
    # in memory as it was made, with the verdicts on the files
    return dataclasses.replace(judged_release, released=release.released)


def _judge_read(release: Release, data_read: Data, reason: str, *, bounds: bool) -> Release:
    try:
        return judge_again(release, data_read, bounds=bounds)
    except SfumatoError as error:
        raise ReleaseRefused(
            f"{reason}: {error}; write another format (format=, --format)"
        ) from None


def _as_guessed(
    release: Release, data_read: Data, tables: Mapping[str, Fields]
) -> Iterator[tuple[str, Data]]:
    """The people as default readers find them who take values of a file of text for one, such as
    00501 and 501; none where that changes nothing.
    """
    frames = data_read.to_tables()
    readings: dict[str, dict[str, dict[str, pl.Series]]] = {}
    for name, frame in frames.items():
        # one reader may misread several tables: they are judged together
        if tables[name]["format"] == "csv" and (numbers := guessed(frame)):
            readings.setdefault("somebody who reads text as numbers", {})[name] = numbers
        for reading in read_as_one(frame, tables[name]["format"]):
            readings.setdefault(reading.reader, {})[name] = {
                column: reading.column(frame[column]) for column in reading.keys
            }
    schemas = {name: schema_told(tables[name]["columns"]) for name in frames}
    for reader, columns in readings.items():
        frames_read = {
            name: frame.with_columns(**columns.get(name, {})) for name, frame in frames.items()
        }
        people = registry.data_class(release.shape).from_tables(
            frames_read, schemas, data_read.source
        )
        yield reader, people.described_further(release.released.schemas)


def _write_alignment(release: Release, owner: Path) -> None:
    """Number of the original person for every released one, in released order, and what else is
    known of who is who.
    """
    for name, table in release.released.alignment().items():
        table.write_parquet(alignment_file(owner, name), compression="lz4")
    origin = release.released.origin
    # nobody was moved or left out: each is the person of the same number
    if origin is None:
        people = np.arange(release.released.size, dtype=np.int64)
    else:
        people = origin
    pl.DataFrame({ORIGINAL_PERSON: people}).write_parquet(owner / ALIGNMENT, compression="lz4")
