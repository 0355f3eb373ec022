"""Delimited text and JSON lines in parts, written as Parquet before an engine reads them.

What is a number is decided as for one file: by all values of a column, in whatever part they are.
One part after the other is in memory, and the distinct values of the columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sfumato.core.exchange import Workplace, telling
from sfumato.core.source import Intake
from sfumato.data.table.formats import format_of_suffix
from sfumato.data.table.inference import convert
from sfumato.data.table.read import read_table
from sfumato.data.table.values import settle_values, strip_habit
from sfumato.errors import UnreadableInput

MOST_VALUES = 20_000_000
"""Distinct values of one column that are held in memory."""
WIDER: dict[tuple[pl.DataType, pl.DataType], pl.DataType] = {
    (pl.Int64(), pl.Float64()): pl.Float64(),
    (pl.Float64(), pl.Int64()): pl.Float64(),
}
"""The type that holds the values of both."""


@dataclasses.dataclass(frozen=True)
class WrittenParts:
    """Parts as they were written; ``digests`` are those of the files they were read from, and
    ``workplace`` is the folder that holds them.
    """

    files: tuple[Path, ...]
    digests: tuple[str, ...]
    notes: tuple[str, ...]
    workplace: Workplace


def written_as_parquet(files: Sequence[Path], intake: Intake) -> WrittenParts:
    """Text files as parts of Parquet, in a folder that lives as long as the result is held.

    ``intake`` is how they are read, all alike.
    """
    with Workplace() as workplace:
        if format_of_suffix(files[0].suffix) == "csv":
            return _delimited(files, intake, workplace)
        return _json_lines(files, intake, workplace)


def _delimited(files: Sequence[Path], intake: Intake, workplace: Workplace) -> WrittenParts:
    # Codes and blanks are settled below, when all values of a column are known.
    layout = dataclasses.replace(intake, missing_values=None, missing_in={}, blanks=None)
    texts, digests, notes = list[Path](), list[str](), list[str]()
    names: list[str] | None = None
    for number, file in enumerate(files):
        frame, source = read_table(file, format="csv", text=True, **layout.options())
        names = frame.columns if names is None else names
        if frame.columns != names:
            raise _other_columns(file, files[0])
        texts.append(workplace.path / f"text-{number:06}.parquet")
        with telling(workplace.path):
            frame.write_parquet(texts[-1])
        digests.append(str(source.digest))
        notes += source.notes
    values = [_distinct_values(texts, number) for number in range(len(names or ()))]
    settled = list(values)
    # The same three rules in the same order as for one file (data/table/delimited.py).
    notes += [] if intake.blanks else strip_habit(settled)
    settle_values(settled, intake)
    notes += convert(settled, decimal=intake.decimal)[1]
    settle_values(settled, intake)
    rules = list(zip(values, settled, strict=True))
    parts = []
    for text in texts:
        frame = pl.read_parquet(text)
        columns = [_replaced(frame[old.name], old, new) for old, new in rules]
        parts.append(text.with_name(text.name.replace("text-", "part-")))
        with telling(workplace.path):
            pl.DataFrame(columns).write_parquet(parts[-1])
        text.unlink()
    return WrittenParts(tuple(parts), tuple(digests), tuple(dict.fromkeys(notes)), workplace)


def _distinct_values(texts: Sequence[Path], number: int) -> pl.Series:
    """The distinct texts of a column in all parts, in an order of their own."""
    column = pl.scan_parquet(list(texts), glob=False).select(pl.nth(number))
    name = column.collect_schema().names()[0]
    values = column.unique().head(MOST_VALUES + 1).collect(engine="streaming").to_series()
    if values.len() > MOST_VALUES:
        raise UnreadableInput(
            f"{name} has more than {MOST_VALUES:,} distinct values, which do not fit into memory "
            "while types are found; write the table as Parquet first"
        )
    return values.sort()


def _replaced(column: pl.Series, old: pl.Series, new: pl.Series) -> pl.Series:
    """A column with the values that were found for its texts."""
    if new is old:
        return column
    if new.dtype == pl.String and new.equals(old, null_equal=True):
        return column
    present = old.is_not_null()
    return column.replace_strict(
        old.filter(present), new.filter(present), default=None, return_dtype=new.dtype
    )


def _json_lines(files: Sequence[Path], intake: Intake, workplace: Workplace) -> WrittenParts:
    digests, parts = list[str](), list[Path]()
    schema: dict[str, pl.DataType] = {}
    empty: set[str] = set()
    for number, file in enumerate(files):
        frame, source = read_table(file, format="jsonl", **intake.options())
        # A column without a value is text to the reader; here it has the type of the other parts.
        without_values = {c.name for c in frame.iter_columns() if c.null_count() == frame.height}
        for name, dtype in frame.schema.items():
            if name in without_values:
                empty |= {name} - set(schema)
                continue
            known = schema.get(name, dtype)
            if known != dtype and (known, dtype) not in WIDER:
                raise UnreadableInput(
                    f"{file.name}: column {name!r} is {dtype} here and {known} in another part; "
                    "give all parts of a table the same types"
                )
            schema[name] = WIDER.get((known, dtype), dtype)
        parts.append(workplace.path / f"part-{number:06}.parquet")
        with telling(workplace.path):
            frame.write_parquet(parts[-1])
        digests.append(str(source.digest))
    schema |= {name: pl.String() for name in empty if name not in schema}
    for part in parts:
        # A key that no object of a part has is missing there.
        frame = pl.read_parquet(part)
        columns = [
            frame[name].cast(dtype)
            if name in frame.columns
            else pl.Series(name, [None] * frame.height, dtype=dtype)
            for name, dtype in schema.items()
        ]
        pl.DataFrame(columns).write_parquet(part)
    return WrittenParts(tuple(parts), tuple(digests), (), workplace)


def _other_columns(file: Path, first: Path) -> UnreadableInput:
    return UnreadableInput(
        f"{file.name} has other columns than {first.name}, or the same in another order: give all "
        "parts of a table the same columns"
    )
