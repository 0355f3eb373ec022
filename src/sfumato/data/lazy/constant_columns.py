"""Columns that stand outside of the files of a table: in the names of folders (``year=2020/``), or
in the log of a Delta table.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from sfumato.core.words import join_words
from sfumato.errors import UnreadableInput

Constant = str | int | dt.date | bool | None
"""What a column holds in all rows of a file."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder whose rows lack the value."""
SQL_TYPES: Mapping[pl.DataType, str] = {
    pl.Int64(): "BIGINT",
    pl.Int32(): "INTEGER",
    pl.Int16(): "SMALLINT",
    pl.Int8(): "TINYINT",
    pl.Date(): "DATE",
    pl.Boolean(): "BOOLEAN",
    pl.String(): "VARCHAR",
}
"""The types that such columns may have, as SQL calls them."""


@dataclasses.dataclass(frozen=True)
class ConstantColumns:
    """Columns and their types, and the values of each file."""

    types: Mapping[str, pl.DataType]
    values: Mapping[Path, tuple[Constant, ...]]

    def __post_init__(self) -> None:
        for number, dtype in enumerate(self.types.values(), start=1):
            if dtype not in SQL_TYPES:
                raise UnreadableInput(
                    f"column number {number} of those that divide the table into folders is of "
                    f"type {dtype}; whole numbers, dates, truth values and text are supported"
                )

    def groups(self) -> dict[tuple[Constant, ...], list[Path]]:
        """The files that share their values."""
        groups: dict[tuple[Constant, ...], list[Path]] = {}
        for file, values in self.values.items():
            groups.setdefault(values, []).append(file)
        return groups

    def digest(self, file_digests: Mapping[Path, str]) -> str:
        """SHA-256 of the digests of all files, each with its values; names and order do not count.

        A folder that is renamed from ``year=2020`` to ``year=2021`` makes another table.
        """
        names = list(self.types)
        lines = [
            json.dumps([file_digests[file], names, [_spelled(value) for value in values]])
            for file, values in self.values.items()
        ]
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _spelled(value: Constant) -> str | None:
    if value is None:
        return None
    return str(value)


def columns_of_folders(
    files: Sequence[Path], root: Path, in_files: Sequence[str]
) -> ConstantColumns | None:
    """The columns that the names of folders below ``root`` hold; None: there are none, or the
    files have them too.

    A column of whole numbers that are written the one way (``7``, not ``07``) is one of numbers,
    of days (``2020-01-31``) one of dates; any other is text.
    """
    texts = {file: _texts_of(file, root) for file in files}
    names = list(texts[files[0]])
    for file, by_name in texts.items():
        if list(by_name) != names:
            raise UnreadableInput(
                f"{file.name} lies in folders of other columns than {files[0].name}: give all "
                "parts of a table the same kind of folders, such as year=2020/month=7"
            )
    outside = [name for name in names if name not in in_files]
    if not outside:
        return None
    if len(outside) < len(names):
        inside = join_words([name for name in names if name in in_files])
        raise UnreadableInput(
            f"{inside} stands in the names of folders and in the files, other columns only in the "
            "names; write the whole table in one way"
        )
    columns = {name: _typed([texts[file][name] for file in files]) for name in names}
    values = zip(*(column.to_list() for column in columns.values()), strict=True)
    types = {name: column.dtype for name, column in columns.items()}
    return ConstantColumns(types, dict(zip(files, values, strict=True)))


def _texts_of(file: Path, root: Path) -> dict[str, str | None]:
    """By column, what the folders of a file say; signs that no name can have stand as %2F."""
    texts: dict[str, str | None] = {}
    for part in file.parent.relative_to(root).parts:
        name, is_column, text = part.partition("=")
        if is_column:
            texts[unquote(name)] = None if text == NO_VALUE else unquote(text)
    return texts


def _typed(texts: Sequence[str | None]) -> pl.Series:
    """The values of a column in the type that all of them have."""
    column = pl.Series(texts, dtype=pl.String)
    for dtype in (pl.Int64(), pl.Date()):
        values = column.cast(dtype, strict=False) if dtype == pl.Int64 else _days(column)
        # Written again it must be the same text, else something would be lost.
        if column.drop_nulls().len() and values.cast(pl.String).equals(column, null_equal=True):
            return values
    return column


def _days(column: pl.Series) -> pl.Series:
    return column.str.to_date("%Y-%m-%d", strict=False)
