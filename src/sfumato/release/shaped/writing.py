"""Writing a release of people who are no table: two folders that cannot be confused, or nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core import environment, registry
from sfumato.data.table.default_readers import read_as_one
from sfumato.data.table.form import runnable_cells
from sfumato.data.table.formats import chosen_format
from sfumato.data.table.indistinct import guessed
from sfumato.data.table.write import suffix_of, write_table
from sfumato.errors import OutputError, ReleaseRefused, SfumatoError, UnreadableInput
from sfumato.release.make import judge_again
from sfumato.release.manifest import sha256_of
from sfumato.release.publish import WrittenFiles, write_json
from sfumato.release.shaped.documents import certificate, lock, owner_record
from sfumato.release.shaped.reading import as_sections, columns_told, read_released, schema_told, with_origin

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.source import Source
    from sfumato.release.release import Release

ALIGNMENT, PERSON = "alignment.parquet", "original_person"


def write_data_files(
    release: Release,
    share: Path,
    owner: Path,
    *,
    format: str | None,  # noqa: A002
    defuse: bool,
    table: Mapping[str, Any],
) -> WrittenFiles:
    """Write the released tables, the lock and the alignment of data other than a table."""
    chosen = chosen_format(release.original.source, format or release.made_for)
    tables = write_tables(release, share, chosen, defuse=defuse)
    release = as_written(release, share, tables)
    salt = environment.fresh_salt()
    body = certificate(release, tables=tables, salt=salt)
    write_json(owner / "lock.json", lock(release, salt=salt, certificate=body))
    _write_alignment(release, owner)
    return WrittenFiles(release, body, owner_record(release))


def write_tables(
    release: Release,
    folder: Path,
    format: str,  # noqa: A002
    *,
    defuse: bool = False,
) -> dict[str, dict[str, Any]]:
    """Write every released table into a file of its own; what a certificate says of each."""
    source, told = release.original.source, columns_told(release.released, release.recipe)
    return {
        name: _written(name, frame, folder, source, format, defuse=defuse) | {"columns": told[name]}
        for name, frame in release.released.to_tables().items()
    }


def _written(
    name: str,
    frame: pl.DataFrame,
    folder: Path,
    source: Source,
    format: str,  # noqa: A002
    *,
    defuse: bool,
) -> dict[str, Any]:
    file = folder / f"{name}{suffix_of(format)}"
    form = write_table(frame, file, source, format=format, defuse=defuse)
    formulas = {"formulas": runnable_cells(frame)} if format == "csv" else {}
    told = {"file": file.name, "sha256": sha256_of(file), "format": format, "form": form.to_dict()}
    return {**told, **formulas, "rows": frame.height}


def as_written(release: Release, share: Path, tables: Mapping[str, Mapping[str, Any]]) -> Release:
    """The release judged on the files that were written of it, read as a stranger reads them; refused where they break a promise.

    Promises are always judged on the files, limits and contract where the files say anything else than was made. Whoever reads a
    CSV without its form may take text for numbers: where that makes values one, the promises must hold for such a reader too.
    """
    try:
        read = read_released(share, as_sections(tables, release.shape), release.shape)
    except SfumatoError as error:
        raise OutputError(f"what was written could not be read again, so it is not released: {error}") from None
    if read.counts() != release.released.counts():
        raise OutputError(
            "the files do not hold the people that were made: other counts come back; write another format, or keep nobody who has "
            "nothing (--format)"
        )
    found = with_origin(read, release.released.origin).described_further(release.released.schemas)
    alike = release.released.same(found)
    again = _judged(release, found, "the files say something else than was made", bounds=not alike)
    for reader, guess in _as_guessed(release, found, tables):
        _judged(release, guess, f"{reader} takes several values for one and finds fewer", bounds=False)
    return dataclasses.replace(again, released=release.released)


def _judged(release: Release, found: Data, reason: str, *, bounds: bool) -> Release:
    try:
        return judge_again(release, found, bounds=bounds)
    except SfumatoError as error:
        raise ReleaseRefused(f"{reason}: {error}; write another format (format=, --format)") from None


def _as_guessed(release: Release, found: Data, tables: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Data]]:
    """The people as default readers find them who take values of a file of text for one, such as 00501 and 501; none where that changes nothing."""
    frames = found.to_tables()
    readings: dict[str, dict[str, dict[str, pl.Series]]] = {}
    for name, frame in frames.items():
        if tables[name]["format"] == "csv" and (numbers := guessed(frame)):
            readings.setdefault("whoever reads text as numbers", {})[name] = numbers
        for one in read_as_one(frame, tables[name]["format"]):
            readings.setdefault(one.reader, {})[name] = {column: one.column(frame[column]) for column in one.keys}
    schemas = {name: schema_told(tables[name]["columns"]) for name in frames}
    for reader, columns in readings.items():
        taken = {name: frame.with_columns(**columns.get(name, {})) for name, frame in frames.items()}
        people = registry.shaped(release.shape).from_tables(taken, schemas, found.source)
        yield reader, people.described_further(release.released.schemas)


def _write_alignment(release: Release, owner: Path) -> None:
    """Number of the original person for every released one, in released order, and what else is known of who is who."""
    for name, table in release.released.alignment().items():
        table.write_parquet(alignment_file(owner, name), compression="lz4")
    origin = release.released.origin
    people = np.arange(release.released.size, dtype=np.int64) if origin is None else origin
    pl.DataFrame({PERSON: people}).write_parquet(owner / ALIGNMENT, compression="lz4")


def alignment_file(owner: Path, table: str) -> Path:
    """Where the owner keeps what is known of the rows of a table."""
    return owner / f"alignment_{table}.parquet"


def read_alignments(owner: Path, tables: Iterable[str]) -> dict[str, pl.DataFrame]:
    """What the owner kept of the rows of tables; those of which nothing was kept are left out."""
    files = {name: alignment_file(owner, name) for name in tables}
    try:
        return {name: pl.read_parquet(file) for name, file in files.items() if file.is_file()}
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"what {owner} keeps of who is who cannot be read") from None
