"""Hierarchy files in ARX's format: no header, one row per leaf, ``leaf;level 1;…;top``."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import functools
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import polars as pl
from pydantic import Field

from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.hierarchy import Ladder, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.methods.hierarchies.leaf_lists import (
    Catch,
    CatchesOthers,
    LeafColumns,
    LeafRows,
    Row,
    paths_under,
    require_other_below_top,
    require_sound,
)
from sfumato.methods.hierarchies.table import TableHierarchy

MOST_BYTES = 256 * MEGABYTE
"""Some million leaves; what is larger is no hierarchy."""
FEW_LINES = 1000
"""Shorter files are read line by line, which is as fast."""


@parameters
class HierarchyFile(CatchesOthers):
    """A hierarchy kept in a file; it is read when it is needed.

    It must be a plain file of at most 256 MB: devices and pipes are refused. Blank lines are
    skipped and a byte order mark is ignored. Every line counts as a leaf, whether its value occurs
    or not, and a repeated line counts again, as in ARX; see :class:`TableHierarchy` for the loss
    and for ``other``.
    """

    path: Annotated[Path, Field(description="the file; its path is relative to the recipe")]
    delimiter: Annotated[
        str, Field(min_length=1, max_length=1, description="sign between the levels of a line")
    ] = ";"
    encoding: Annotated[str, Field(description="how the file writes its letters")] = "utf-8"
    other: Catch = None

    name: ClassVar[str] = "file"
    title: ClassVar[str] = "A file"
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "as a list"
    secret: ClassVar[tuple[str, ...]] = ("path",)
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ParameterError(
                f"encoding {self.encoding!r} is not known; try utf-8, cp1252 or latin-1"
            ) from None

    def resolved(self, base: Path) -> HierarchyFile:
        """The same hierarchy with its path taken relative to a folder; an absolute path stays as it
        is.
        """
        return dataclasses.replace(self, path=base / self.path)

    def relative(self, base: Path) -> HierarchyFile:
        """The same hierarchy as a recipe in this folder would name it."""
        path = self.path
        # Below the folder the path becomes short; elsewhere an absolute one stays as it is.
        if path.is_relative_to(base):
            path = path.relative_to(base)
        elif not path.is_absolute():
            path = Path(os.path.relpath(path, base))
        return dataclasses.replace(self, path=path)

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; without ``other``, values that are not listed are counted
        and refused.
        """
        text = _text(self.path, self.encoding)
        # Long sound files are read by level; all others line by line, which also says what is
        # wrong.
        leaves = columns_of(text, self.delimiter) or LeafRows(
            _rows(text, self.path, self.delimiter)
        )
        require_other_below_top(self.other, leaves.top)
        return paths_under(leaves, values, _hierarchy_name(self.path), self.other)

    def listed(self) -> tuple[str, ...]:
        """The leaves of the file, in their order."""
        rows = _rows(_text(self.path, self.encoding), self.path, self.delimiter)
        return tuple(dict.fromkeys(row[0] for row in rows))

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder of values that are leaves of a long file; any others are looked at path by
        path.
        """
        leaves = columns_of(_text(self.path, self.encoding), self.delimiter)
        if leaves is None:
            return None
        require_other_below_top(self.other, leaves.top)
        return leaves.ladder(values, missing=missing)


def hierarchy_file(
    path: str | Path, *, delimiter: str = ";", encoding: str = "utf-8", other: str | None = None
) -> HierarchyFile:
    """A hierarchy kept in a file of ARX's format. See :class:`HierarchyFile`."""
    return HierarchyFile(path=Path(path), delimiter=delimiter, encoding=encoding, other=other)


def read_hierarchy(
    path: str | Path, *, delimiter: str = ";", encoding: str = "utf-8", other: str | None = None
) -> TableHierarchy:
    """Read a hierarchy file of ARX's format into a :class:`TableHierarchy`.

    Raises :class:`UnreadableInput` when it is no such file and :class:`SchemaError` with the lines
    that are wrong.
    """
    file = hierarchy_file(path, delimiter=delimiter, encoding=encoding)
    return TableHierarchy(rows=_rows(_text(file.path, encoding), file.path, delimiter), other=other)


def _hierarchy_name(path: Path) -> str:
    return f"hierarchy file {path.name!r}"


@functools.lru_cache(maxsize=8)  # by its text: a run binds the same file several times
def columns_of(text: str, delimiter: str, fewest_lines: int = FEW_LINES) -> LeafColumns | None:
    """Read a long file without quotes level by level; None for any other, and for one in which
    anything is wrong.

    Then :func:`_rows` reads it line by line and says what is wrong where.
    """
    text = text.replace("\r\n", "\n")
    if (
        # Quotes and odd line ends need a CSV reader.
        text.count("\n") < fewest_lines
        or any(mark in text for mark in ('"', "\r"))
        or delimiter in ('"', "\r", "\n")
    ):
        return None
    try:
        lines = pl.Series([text]).str.split("\n").explode()
    except UnicodeEncodeError:  # half a character, which some encodings allow
        return None
    lines = lines.filter(_quote_labels(lines, delimiter))
    parts = lines.str.count_matches(delimiter, literal=True)
    # Lines of different length are an error, which the other way of reading explains.
    if parts.n_unique() != 1 or (lines.str.len_bytes() > csv.field_size_limit()).any():
        return None
    return LeafColumns.sound(
        lines.str.split_exact(delimiter, int(parts[0])).struct.unnest().get_columns()
    )


def _quote_labels(lines: pl.Series, delimiter: str) -> pl.Series:
    """Whether anything but white space stands in a line; what Python takes for white space is asked
    only where no plain letter is.
    """
    visible = lines.str.replace_all(delimiter, "", literal=True).str.contains("[!-~]")
    doubtful = visible.not_().arg_true()
    decided = [
        bool(line.replace(delimiter, "").strip()) for line in lines.gather(doubtful).to_list()
    ]
    if not decided:
        return visible
    return visible.scatter(doubtful, decided)


@functools.lru_cache(maxsize=32)
def _rows(text: str, path: Path, delimiter: str) -> tuple[Row, ...]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[Row] = []
    lines: list[int] = []
    try:
        for row in reader:
            # Blank lines are skipped, but the number of the line in the file is kept for messages.
            if any(cell.strip() for cell in row):
                rows.append(tuple(row))
                lines.append(reader.line_num)
    except csv.Error:
        raise UnreadableInput(
            f"{_hierarchy_name(path)}, line {reader.line_num}: is not CSV; check the quotes on"
            " this line"
        ) from None
    require_sound(rows, _hierarchy_name(path), lambda i: f"line {lines[i]}")
    return tuple(rows)


def _text(path: Path, encoding: str) -> str:
    content = read_plain(path, limit=MOST_BYTES, purpose="a hierarchy file")
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableInput(
            f"{_hierarchy_name(path)}, line {line}: is not {encoding} text; give its encoding, such"
            " as encoding='cp1252'"
        ) from None
