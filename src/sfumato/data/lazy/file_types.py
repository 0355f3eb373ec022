"""Types of columns as the files of a table say them, given back where an engine reads another one.

Engines read Parquet by rules of their own: DuckDB gives moments in UTC whatever their zone, and
spans of time as whole numbers; Spark has no unsigned numbers. What is the same value in another
type is given the type of the file; what is not is refused when the table is opened.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.core.source import Source
from sfumato.data.lazy.constant_columns import ConstantColumns
from sfumato.errors import UnreadableInput


@dataclasses.dataclass(frozen=True)
class PartsSource(Source):
    """Parts of Parquet, and the types that their columns have there.

    ``constants`` are columns that stand outside of the files. ``content`` is the digest of the
    files as they are read, where that of the table is another one: of text that was written as
    Parquet first, or of files together with such columns.
    """

    types: Mapping[str, pl.DataType] = dataclasses.field(default_factory=dict)
    constants: ConstantColumns | None = None
    content: str | None = None


def content_digest(source: Source) -> str | None:
    """The digest that the files of a table have while nobody changes them."""
    if isinstance(source, PartsSource) and source.content is not None:
        return source.content
    return source.digest


def types_of_files(source: Source) -> Mapping[str, pl.DataType]:
    """The types of columns in the files of a table; of none where it has no files."""
    return source.types if isinstance(source, PartsSource) else {}


def with_types_of_files(rows: pl.DataFrame, source: Source) -> pl.DataFrame:
    """Rows as an engine gave them, in the types of the files."""
    types = types_of_files(source)
    return rows.with_columns(
        column.cast(types[column.name])
        for column in rows.iter_columns()
        if column.name in types and _says_the_same(column.dtype, types[column.name])
    )


def _says_the_same(engine_type: pl.DataType, file_type: pl.DataType) -> bool:
    """Whether two types differ, and a cast from the first to the second changes no value.

    >>> _says_the_same(pl.Int64(), pl.Duration("us")), _says_the_same(pl.Int64(), pl.String())
    (True, False)
    """
    if engine_type == file_type:
        return False
    if isinstance(engine_type, pl.Datetime) and isinstance(file_type, pl.Datetime):
        return (engine_type.time_zone is None) == (file_type.time_zone is None)
    if isinstance(file_type, pl.Duration):
        # An engine that knows no spans gives the number of their units.
        return engine_type == pl.Int64 or isinstance(engine_type, pl.Duration)
    if file_type.is_integer():
        return engine_type.is_integer() or engine_type == pl.Decimal(20, 0)
    return False


def require_names(engine: str, engine_names: Sequence[str], file_names: Sequence[str]) -> None:
    """Refuse columns that an engine gives other names, since it takes two names for one."""
    for number, name in enumerate(file_names):
        before = [other.lower() for other in file_names[:number]]
        if engine_names[number] != name and name.lower() in before:
            raise UnreadableInput(
                f"columns number {before.index(name.lower()) + 1} and {number + 1} have names that "
                f"differ in capitals alone, which {engine} takes for one: rename one of them, or "
                "use --engine polars"
            )


def require_types(engine: str, engine_types: pl.Schema, file_types: pl.Schema) -> None:
    """Refuse columns that an engine reads as something else than they are."""
    for number, (name, file_type) in enumerate(file_types.items(), start=1):
        engine_type = engine_types.get(name)
        as_text = isinstance(file_type, pl.Categorical | pl.Enum) and engine_type == pl.String
        if engine_type is None or engine_type == file_type or as_text:
            continue
        # A column that is dropped may be anything; nobody knows yet whether it is.
        same = _says_the_same(engine_type, file_type)
        if not same and not file_type.is_nested() and file_type != pl.Null:
            raise UnreadableInput(
                f"column number {number} is {file_type} in the files, and {engine} reads it as "
                f"{engine_type}: convert it before, or use --engine polars"
            )


def released_otherwise(types: Mapping[str, pl.DataType]) -> list[str]:
    """What is said of columns whose type a release in parts does not have."""
    texts = [name for name, t in types.items() if isinstance(t, pl.Categorical | pl.Enum)]
    if not texts:
        return []
    return [f"categories are released as text: {', '.join(map(repr, texts))}"]
