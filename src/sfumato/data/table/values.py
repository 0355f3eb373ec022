"""Values as they were said to be read: codes that stand for missing, text in one spelling.

Applied to the cells of a file before their types are settled, so that ``1, 2, NA`` is a column of
numbers; and to frames, which have their types.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.source import Code, ColumnNote, Intake
from sfumato.core.table import refuse_patterns
from sfumato.data.table.formats import listed
from sfumato.data.table.inference import convert, is_number_like
from sfumato.errors import UnreadableInput

if TYPE_CHECKING:
    from sfumato.core.table import Table


# The names of columns as the first row of a file gives them.

MOST_PAIRS = 5


def column_names(cells: Sequence[str], *, where: str, rename: bool) -> tuple[list[str], list[str]]:
    """Names of the columns, and what there is to say about them.

    A column without a name gets one by position. A name that comes again is refused, or with
    ``rename`` gets a number: ``a, a, a`` become ``a, a_2, a_3``. The refusal tells positions,
    not names: the row may hold data.

    >>> column_names(["a", " a", "a_2", ""], where="t.csv, line 1", rename=True)[0]
    ['a', 'a_3', 'a_2', 'column_4']
    """
    names = [cell.strip() or f"column_{i}" for i, cell in enumerate(cells, start=1)]
    unnamed = [column for column, cell in zip(names, cells, strict=True) if not cell.strip()]
    if unnamed:
        notes = [f"{listed(unnamed)} had no name and got one by position"]
    else:
        notes = []
    refuse_patterns(names)
    repeated_names = repeated(names)
    if repeated_names and not rename:
        pairs = [f"{first:,} and {i:,}" for i, first in repeated_names.items()]
        if len(pairs) > MOST_PAIRS:
            remainder = f" and {len(pairs) - MOST_PAIRS:,} more pairs"
        else:
            remainder = ""
        raise UnreadableInput(
            f"{where}: columns {', '.join(pairs[:MOST_PAIRS])}{remainder} have the same name; "
            "rename them in the file, number them with --rename-duplicates "
            "(rename_duplicates=True), or use --no-header (header=False) if the row holds data"
        )
    if repeated_names:
        names = numbered(names)
        notes.append(ColumnNote.of("repeated names got a number: {}", list(repeated_names), names))
    return names, notes


def repeated(names: Sequence[str]) -> dict[int, int]:
    """Position of every column whose name came before → position of the first one; counted from
    1.
    """
    first: dict[str, int] = {}
    positions = enumerate(names, start=1)
    return {i: first[name] for i, name in positions if first.setdefault(name, i) != i}


def numbered(names: Sequence[str]) -> list[str]:
    """Names made different: the second ``a`` is ``a_2``, unless a column has that name already."""
    names_taken, counts, unique = set(names), dict[str, int](), list[str]()
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        fresh = name
        # A number that another column has as its name is skipped: a, a, a_2 become a, a_3, a_2.
        while counts[name] > 1 and fresh in names_taken:
            fresh = f"{name}_{counts[name]}"
            counts[name] += fresh in names_taken
        names_taken.add(fresh)
        unique.append(fresh)
    return unique


def settle_values(columns: list[pl.Series], intake: Intake) -> Counter[str]:
    """Apply what was said about values to columns, in place; column → number of cells that held a
    code.
    """
    blanked = Counter[str]()
    for i, column in enumerate(columns):
        if column.dtype.is_nested():  # codes and spellings are about single values
            continue
        if (intake.unicode or intake.blanks) and column.dtype in (
            pl.String,
            pl.Categorical,
            pl.Enum,
        ):
            columns[i] = _respelled(column, intake)
        codes = intake.missing_in.get(column.name, intake.missing_values or ())
        blanked[column.name] += 0  # every column is counted, so that its place is known
        if codes:
            coded, columns[i] = columns[i], _without_codes(columns[i], codes)
            blanked[column.name] += columns[i].null_count() - coded.null_count()
    return blanked


def about_codes(blanked: Counter[str]) -> list[str]:
    """What there is to say about cells that held a code."""
    columns = [i for i, count in enumerate(blanked.values(), start=1) if count]
    sentence = f"{blanked.total():,} cells read as missing by their code, in {{}}"
    if not columns:
        return []
    return [ColumnNote.of(sentence, columns, list(blanked))]


_BLANK = (pl.nth(0).str.starts_with(" ") | pl.nth(0).str.ends_with(" ")).any()
"""Whether a value begins or ends with a blank."""


def strip_habit(columns: list[pl.Series]) -> list[str]:
    """Leave out the blanks around separators, in place; what there is to say about it.

    Blanks are a habit of the writer where the values are numbers without them, and where every
    value of a column begins (or every one ends) with a blank. Other text is left as it is:
    ``text: {blanks: strip}`` makes it alike.
    """
    bare, loose = list[int](), list[int]()
    for i, column in enumerate(columns):
        if not column.to_frame().select(_BLANK).item():
            continue
        first, last = column.str.starts_with(" "), column.str.ends_with(" ")
        stripped = column.str.strip_chars(" ")
        stripped = stripped.set(stripped == "", None)
        if first.all() or last.all() or is_number_like(stripped):
            columns[i] = stripped
            bare.append(i + 1)
        else:
            loose.append(i + 1)
    names = [column.name for column in columns]
    positions_by_note = {
        "blanks around the values of {} were removed": bare,
        "some values of {} begin or end with blanks, which were kept": loose,
    }
    return [
        ColumnNote.of(sentence, positions, names)
        for sentence, positions in positions_by_note.items()
        if positions
    ]


def _respelled(column: pl.Series, intake: Intake) -> pl.Series:
    """Text in the spelling that was asked for; the column itself where nothing changes."""
    text = column.cast(pl.String)
    if intake.unicode == "nfc":
        text = text.str.normalize("NFC")
    if intake.blanks == "strip":
        text = text.str.strip_chars()
        text = text.set(text == "", None)
    # The same object tells the caller that nothing changed.
    if text.equals(column.cast(pl.String), null_equal=True):
        return column
    return text


def _without_codes(column: pl.Series, codes: tuple[Code, ...]) -> pl.Series:
    """The column with missing values where it held a code."""
    if column.dtype == pl.Duration:  # no code spells a span of time
        return column
    if column.dtype.is_numeric():
        is_code = _holds_numbers(column, codes)
    else:
        spelled = [f"{code:g}" if isinstance(code, float) else str(code) for code in codes]
        is_code = column.cast(pl.String, strict=False).is_in(spelled)
    if not is_code.any():
        return column
    # Without an otherwise the cells that hold a code become missing.
    return pl.select(pl.when(~is_code.fill_null(False)).then(column)).to_series().alias(column.name)


def _holds_numbers(column: pl.Series, codes: tuple[Code, ...]) -> pl.Series:
    """Which cells of a column of numbers equal a code that is a number."""
    numbers = [number for code in codes if (number := _number(code)) is not None]
    if column.dtype.is_integer():
        whole = [int(number) for number in numbers if number == int(number)]
        # Wide enough for both unsigned numbers of 64 bits and negative codes.
        return column.cast(pl.Int128).is_in(pl.Series(whole, dtype=pl.Int128).implode())
    return column.cast(pl.Float64).is_in(
        pl.Series([float(number) for number in numbers], dtype=pl.Float64).implode()
    )


def _number(code: Code) -> int | float | None:
    if not isinstance(code, str):
        return code
    with contextlib.suppress(ValueError):
        return int(code)
    with contextlib.suppress(ValueError):
        number = float(code)
        return number if abs(number) < float("inf") else None
    return None


def with_values(dataset: Table, intake: Intake) -> Table:
    """A table in which what was said about values holds, in the user's own kind of frame."""
    if intake.about_values == dataset.source.intake.about_values:
        return dataset
    before = [dataset.column(name) for name in dataset.columns]
    after = list(before)
    blanked = settle_values(after, intake)
    if dataset.source.format == "csv":
        _settle_types(before, after)
    # A column that nothing changed is the same object.
    changed = {new.name: new for old, new in zip(before, after, strict=True) if new is not old}
    notes = (*dataset.source.notes, *about_codes(blanked))
    source = dataclasses.replace(dataset.source, intake=intake, notes=notes)
    return dataclasses.replace(dataset.with_columns(changed) if changed else dataset, source=source)


def _settle_types(before: list[pl.Series], after: list[pl.Series]) -> None:
    """Numbers, where codes alone had kept a column of a delimited text from being one of
    numbers.
    """
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if new is not old and new.dtype == pl.String:
            single = [new]
            convert(single, decimal=None)
            after[i] = single[0]
