"""Tables that say in a log which of the files in their folder hold rows today: Delta Lake and
Iceberg. Read as a plain folder they would give back rows that were deleted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from sfumato.data.lazy.constant_columns import ConstantColumns
from sfumato.errors import UnreadableInput, require

DELTA_LOG = "_delta_log"
ICEBERG_METADATA = "metadata"
ICEBERG_FILE = re.compile(r"(?:v?(\d+).*)\.metadata\.json")
REFUSED_FEATURES = {"deletionVectors": "deleted rows", "columnMapping": "renamed columns"}
"""What a Delta table may keep beside its files, and only readers of Delta understand."""


def is_delta(folder: Path) -> bool:
    """Whether a folder is a Delta table."""
    return (folder / DELTA_LOG).is_dir()


def is_iceberg(folder: Path) -> bool:
    """Whether a folder is an Iceberg table."""
    return any((folder / ICEBERG_METADATA).glob("*.metadata.json"))


def delta_files(folder: Path) -> tuple[list[Path], ConstantColumns | None]:
    """The files of the latest version of a Delta table, and the columns that stand in its log."""
    deltalake: Any = require("deltalake", extra="delta", to="read Delta tables")
    try:
        table = deltalake.DeltaTable(str(folder))
        features = set(table.protocol().reader_features or ())
        actions = pl.DataFrame(table.get_add_actions(flatten=True))
        names = list(table.metadata().partition_columns)
    except Exception as error:  # noqa: BLE001 - errors of the library may show values
        raise UnreadableInput(
            f"{folder.name} cannot be read as a Delta table ({type(error).__name__}); check its "
            f"{DELTA_LOG}"
        ) from None
    for feature, what in REFUSED_FEATURES.items():
        if feature in features:
            raise UnreadableInput(
                f"{folder.name} is a Delta table with {what} beside its files ({feature}); write "
                "a copy of it without (in Spark: REORG TABLE … APPLY (PURGE)), or read it with an "
                "engine and give its frame: sf.read(frame)"
            )
    if not actions.height:
        raise UnreadableInput(f"{folder.name} is a Delta table without rows")
    files = [_file_in(folder, path) for path in actions["path"].to_list()]
    if not names:
        return files, None
    columns = [actions[f"partition.{name}"] for name in names]
    types = dict(zip(names, (column.dtype for column in columns), strict=True))
    values = zip(*(column.to_list() for column in columns), strict=True)
    return files, ConstantColumns(types, dict(zip(files, values, strict=True)))


def iceberg_files(folder: Path) -> tuple[list[Path], str]:
    """The files of the current snapshot of an Iceberg table, and the name of the metadata that say
    so.
    """
    require("pyiceberg", extra="iceberg", to="read Iceberg tables")
    from pyiceberg.table import StaticTable

    metadata = latest_metadata(folder / ICEBERG_METADATA)
    try:
        table = StaticTable.from_metadata(str(metadata))
        tasks = list(table.scan().plan_files())
        names = [field.name for field in table.schema().fields]
    except Exception as error:  # noqa: BLE001 - errors of the library may show values
        raise UnreadableInput(
            f"{folder.name} cannot be read as an Iceberg table ({type(error).__name__}); check "
            f"{ICEBERG_METADATA}/{metadata.name}"
        ) from None
    if any(task.delete_files for task in tasks):
        raise UnreadableInput(
            f"{folder.name} is an Iceberg table with deleted rows beside its files; compact it "
            "(in Spark: CALL system.rewrite_data_files), or read it with an engine and give its "
            "frame: sf.read(frame)"
        )
    if not tasks:
        raise UnreadableInput(f"{folder.name} is an Iceberg table without rows")
    files = [_file_in(folder, task.file.file_path) for task in tasks]
    for file in files:
        # Iceberg knows columns by number; a column that was renamed has its old name in old files.
        if file.is_file() and list(pl.read_parquet_schema(file)) != names:
            raise UnreadableInput(
                f"{file.name} has other columns than the Iceberg table {folder.name} has today; "
                "rewrite its files (in Spark: CALL system.rewrite_data_files)"
            )
    return files, metadata.name


def latest_metadata(folder: Path) -> Path:
    """The metadata that a hint names, else those with the highest number."""
    hint = folder / "version-hint.text"
    if hint.is_file():
        version = hint.read_text(encoding="utf-8").strip()
        for name in (f"v{version}.metadata.json", f"{version}.metadata.json", version):
            if (folder / name).is_file():
                return folder / name
    numbered = [
        (int(match[1]), file)
        for file in folder.glob("*.metadata.json")
        if (match := ICEBERG_FILE.fullmatch(file.name))
    ]
    highest = max((number for number, _ in numbered), default=None)
    newest = [file for number, file in numbered if number == highest]
    # Two writers may have tried the same number: only a catalogue knows who won.
    if len(newest) != 1:
        raise UnreadableInput(
            f"{folder.parent.name} is an Iceberg table, and its metadata do not say which version "
            "is the current one; name the frame of an engine that asks its catalogue: "
            "sf.read(frame)"
        )
    return newest[0]


def _file_in(folder: Path, path: str) -> Path:
    """A file as a log names it: an address, an absolute path, or one from the folder."""
    parts = urlsplit(path)
    if parts.scheme not in ("", "file"):
        raise UnreadableInput(
            f"{folder.name} has files elsewhere ({parts.scheme}://…); read it with an engine and "
            "give its frame: sf.read(frame)"
        )
    name = parts.path if parts.scheme else path
    file = folder / name
    # Logs write signs that an address cannot have as %20; some write them twice.
    for _ in range(2):
        if file.is_file():
            break
        name = unquote(name)
        file = folder / name
    if not file.is_file():
        raise UnreadableInput(
            f"{folder.name} names a file that is not there; if the table was moved, read it where "
            "it was written"
        )
    return file
