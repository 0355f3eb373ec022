"""Hierarchy files in ARX's format: no header, one row per leaf, ``leaf;level 1;…;top``."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.hierarchy import Hierarchy, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.hierarchies.listed import Catch, Row, paths_under, require_other_below_top, require_sound
from sfumato.hierarchies.table import Table

MOST_BYTES = 256 * MEGABYTE
"""Some million leaves; what is larger is no hierarchy."""


@parameters
class HierarchyFile(Hierarchy):
    """A hierarchy kept in a file; it is read when it is needed.

    It must be a plain file of at most 256 MB: devices and pipes are refused. Blank lines are skipped and a byte order mark is ignored. Every line counts as a leaf, whether its value occurs
    or not, and a repeated line counts again, as in ARX; see :class:`Table` for the loss and for ``other``.
    """

    path: Annotated[Path, Field(description="the file; relative to the recipe that names it")]
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ";"
    encoding: str = "utf-8"
    other: Catch = None

    name: ClassVar[str] = "file"
    secret: ClassVar[tuple[str, ...]] = ("path",)
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ParameterError(f"encoding {self.encoding!r} is not known; try utf-8, cp1252 or latin-1") from None

    def resolved(self, base: Path) -> HierarchyFile:
        """The same hierarchy with its path taken relative to a folder; an absolute path stays as it is."""
        return dataclasses.replace(self, path=base / self.path)

    def relative(self, base: Path) -> HierarchyFile:
        """The same hierarchy as a recipe in this folder would name it."""
        path = self.path
        if path.is_relative_to(base):
            path = path.relative_to(base)
        elif not path.is_absolute():
            path = Path(os.path.relpath(path, base))
        return dataclasses.replace(self, path=path)

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; without ``other``, values that are not listed are counted and refused."""
        rows = _read_rows(self.path, self.delimiter, self.encoding)
        require_other_below_top(self.other, rows[0][-1])
        return paths_under(rows, values, _called(self.path), self.other)


def hierarchy_file(
    path: str | Path, *, delimiter: str = ";", encoding: str = "utf-8", other: str | None = None
) -> HierarchyFile:
    """A hierarchy kept in a file of ARX's format. See :class:`HierarchyFile`."""
    return HierarchyFile(path=Path(path), delimiter=delimiter, encoding=encoding, other=other)


def read_hierarchy(
    path: str | Path, *, delimiter: str = ";", encoding: str = "utf-8", other: str | None = None
) -> Table:
    """Read a hierarchy file of ARX's format into a :class:`Table`.

    Raises :class:`UnreadableInput` when it is no such file and :class:`SchemaError` with the lines that are wrong.
    """
    place = hierarchy_file(path, delimiter=delimiter, encoding=encoding)
    return Table(rows=_read_rows(place.path, delimiter, encoding), other=other)


def _called(path: Path) -> str:
    return f"hierarchy file {path.name!r}"


def _read_rows(path: Path, delimiter: str, encoding: str) -> list[Row]:
    reader = csv.reader(io.StringIO(_text(path, encoding), newline=""), delimiter=delimiter)
    rows: list[Row] = []
    lines: list[int] = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(tuple(row))
                lines.append(reader.line_num)
    except csv.Error:
        raise UnreadableInput(
            f"{_called(path)}, line {reader.line_num}: is not CSV; check the quotes on this line"
        ) from None
    require_sound(rows, _called(path), lambda i: f"line {lines[i]}")
    return rows


def _text(path: Path, encoding: str) -> str:
    content = read_plain(path, most=MOST_BYTES, what="a hierarchy file")
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(
            f"{_called(path)}, line {line}: is not {encoding} text; give its encoding, such as encoding='cp1252'"
        ) from None
