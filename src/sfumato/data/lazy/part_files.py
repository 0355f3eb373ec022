"""The files of a table in parts: of a folder, a pattern, a Delta or an Iceberg table. They are
Parquet, or text that is written as Parquet first.
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.source import Intake
from sfumato.core.words import join_words
from sfumato.data.lazy.constant_columns import ConstantColumns, columns_of_folders
from sfumato.data.lazy.table_logs import (
    DELTA_LOG,
    delta_files,
    iceberg_files,
    is_delta,
    is_iceberg,
)
from sfumato.data.lazy.text_parts import written_as_parquet
from sfumato.data.table.formats import format_of_suffix
from sfumato.errors import ParameterError, UnreadableInput

SUFFIXES = (".parquet", ".pq")
TEXT_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson")
"""The suffixes of text files that may be parts of a table."""
MAGIC = "*?["
ABOUT_VALUES = ("missing_values", "missing_in", "unicode", "blanks")


@dataclasses.dataclass(frozen=True)
class PartFiles:
    """Parquet files of a table in parts.

    ``constants`` are columns that stand outside of them. ``digest`` is that of the table,
    ``content`` that of the files where it is another one. ``intake`` says what is left to be done
    with values, and ``keep`` holds what was written for us.
    """

    files: tuple[Path, ...]
    digest: str
    intake: Intake
    constants: ConstantColumns | None = None
    content: str | None = None
    notes: tuple[str, ...] = ()
    keep: Any = None


def find_parts(data: str | Path, options: Mapping[str, Any]) -> PartFiles:
    """The files of a table in parts, whatever they are; ``options`` are those of reading."""
    folder = Path(data)
    if is_delta(folder) or is_iceberg(folder):
        return _of_table_log(folder, about_values(options))
    if folder.is_dir() and any(folder.rglob(DELTA_LOG)):
        raise UnreadableInput(
            f"{folder}: there is a Delta table in a folder of it; name the folder of that table"
        )
    text_files = [] if has_parquet(data) else _text_files(data)
    if text_files:
        return _of_text(text_files, data, options)
    intake = about_values(options)
    files = parquet_files(data)
    _require_alike(files)
    if not folder.is_dir():
        _refuse_values_in_names(files, data)
        return PartFiles(tuple(files), digest_of_parts(files), intake)
    in_files = list(pl.read_parquet_schema(files[0]))
    constants = columns_of_folders(files, folder, in_files)
    return _with_constants(files, constants, intake)


def _with_constants(
    files: Sequence[Path], constants: ConstantColumns | None, intake: Intake
) -> PartFiles:
    content = digest_of_parts(files)
    if constants is None:
        return PartFiles(tuple(files), content, intake)
    digests = {file: digest_of_parts([file]) for file in files}
    return PartFiles(
        tuple(files), constants.digest(digests), intake, constants=constants, content=content
    )


def _of_table_log(folder: Path, intake: Intake) -> PartFiles:
    if is_delta(folder):
        files, constants = delta_files(folder)
        _require_alike(files)
        return _with_constants(files, constants, intake)
    files, metadata = iceberg_files(folder)
    _require_alike(files)
    notes = (f"Iceberg table as {metadata} describes it",)
    return PartFiles(tuple(files), digest_of_parts(files), intake, notes=notes)


def _of_text(files: Sequence[Path], data: str | Path, options: Mapping[str, Any]) -> PartFiles:
    formats = {format_of_suffix(file.suffix) for file in files}
    if len(formats) > 1:
        raise UnreadableInput(
            f"{data}: there are both delimited text and JSON lines here; keep one kind of parts, or"
            " name a pattern such as 'visits/*.csv'"
        )
    _refuse_values_in_names(files, data)
    written = written_as_parquet(files, Intake.of(options))
    # What was said about values is done: the written parts are read as they are.
    return PartFiles(
        written.files,
        _joint(written.digests),
        Intake(),
        content=digest_of_parts(written.files),
        notes=written.notes,
        keep=written.workplace,
    )


def about_values(options: Mapping[str, Any]) -> Intake:
    """What was said about values; anything else is about text, and refused."""
    idle = [name for name in options if name not in ABOUT_VALUES]
    if idle:
        raise ParameterError(
            f"a table that an engine reads takes no reading option {join_words(idle, 'or')}; it "
            f"takes {', '.join(ABOUT_VALUES)}"
        )
    return Intake.of(options)


def is_in_parts(data: str | Path) -> bool:
    """Whether a path is a folder or a pattern."""
    has_signs = any(sign in str(data) for sign in MAGIC)
    return (has_signs and not Path(data).exists()) or Path(data).is_dir()


def has_parquet(data: str | Path) -> bool:
    """Whether a folder or a pattern names Parquet files."""
    return any(file.suffix.lower() in SUFFIXES for file in _files_in(data, SUFFIXES))


def _text_files(data: str | Path) -> list[Path]:
    files = _files_in(data, TEXT_SUFFIXES)
    return [file for file in files if file.suffix.lower() in TEXT_SUFFIXES]


def _files_in(data: str | Path, suffixes: Sequence[str]) -> list[Path]:
    """The files of a folder that have one of some suffixes, or those that a pattern names."""
    folder = Path(data)
    if folder.is_dir():
        names = [path for suffix in suffixes for path in folder.rglob(f"*{suffix}")]
        paths = [path for path in names if not _hidden(path.relative_to(folder))]
    elif is_in_parts(data):
        paths = [Path(name) for name in glob.glob(str(data), recursive=True)]
    else:
        paths = [folder]
    return sorted(path for path in paths if path.is_file())


def parts_of(folder: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder, by name; parts that differ in their columns or types are
    refused.
    """
    files = parquet_files(folder)
    _require_alike(files)
    return tuple(files)


def parquet_files(data: str | Path) -> list[Path]:
    """The Parquet files of a folder or a pattern."""
    files = _files_in(data, SUFFIXES)
    if not files:
        raise UnreadableInput(
            f"{data}: there are no Parquet files here; check the path, name one file, or, if the "
            "folder holds several tables with keys, use a recipe with a section 'tables'"
        )
    return files


def _refuse_values_in_names(files: Sequence[Path], data: str | Path) -> None:
    """Refuse a pattern, or text, whose folders hold values of a column (``year=2020/``): nobody
    says where the table begins.
    """
    # Folders above the ones that were named are the user's own business.
    named = {part for part in Path(data).parts if "=" in part and not set(MAGIC) & set(part)}
    found = {part for file in files for part in file.parent.parts if "=" in part} - named
    if found:
        keys = sorted({part.split("=")[0] for part in found})
        raise UnreadableInput(
            f"{data}: the values of {', '.join(keys)} are in the names of folders and missing from "
            "the parts; name the folder that holds them all, with parts of Parquet"
        )


def _hidden(path: Path) -> bool:
    """What engines leave beside parts: marks of success, checksums, unfinished work."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _require_alike(files: Sequence[Path]) -> None:
    """Refuse parts that are damaged, or have other columns or types than the first."""
    first: Any = None
    for file in files:
        try:
            schema = pl.read_parquet_schema(file)
        except (pl.exceptions.PolarsError, OSError):
            raise UnreadableInput(
                f"{file.name} is damaged or not Parquet; remove it or write it again"
            ) from None
        if first is None:
            first = schema
        if schema != first:
            # Columns that are missing on one side, or of another type.
            differing_columns = sorted(
                {*schema, *first} - {n for n in schema if n in first and schema[n] == first[n]}
            )
            raise UnreadableInput(
                f"{file.name} differs from {files[0].name} in "
                f"{', '.join(differing_columns[:5]) or 'the order of its columns'}: give all parts "
                "of a table the same columns and types"
            )


def digest_of_parts(parts: Sequence[Path]) -> str:
    """SHA-256 of the digests of all parts, which does not depend on their names or order; of one
    file its own.
    """

    def digest_part(file: Path) -> str:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()

    if len(parts) == 1:
        return digest_part(parts[0])
    with ThreadPoolExecutor() as pool:
        return _joint(pool.map(digest_part, parts))


def _joint(digests: Iterable[str]) -> str:
    # Sorted digests: parts may be renamed or come in another order and are still the same table.
    listed = sorted(digests)
    if len(listed) == 1:
        return listed[0]
    return hashlib.sha256("".join(listed).encode()).hexdigest()
