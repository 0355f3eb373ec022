"""Values as they were said to be read: codes that stand for missing, text in one spelling.

Applied to the cells of a file before their types are settled, so that ``1, 2, NA`` is a column of numbers; and to
frames, which have their types.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.source import Code, Intake, placed
from sfumato.io.inference import convert, is_number_like

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset


def settle_values(columns: list[pl.Series], intake: Intake) -> Counter[str]:
    """Apply what was said about values to columns, in place; column → number of cells that held a code."""
    blanked = Counter[str]()
    for i, column in enumerate(columns):
        respelled = _respelled(column, intake)
        columns[i] = _without_codes(respelled, intake.codes(column.name))
        blanked[column.name] += columns[i].null_count() - respelled.null_count()
    return blanked


def about_codes(blanked: Counter[str]) -> list[str]:
    """What there is to say about cells that held a code."""
    columns = [i for i, count in enumerate(blanked.values(), start=1) if count]
    return [f"{blanked.total():,} cells read as missing by their code, in {placed(columns)}"] if columns else []


def strip_habit(columns: list[pl.Series]) -> list[str]:
    """Leave out the blanks around separators, in place; what there is to say about it.

    Blanks are a habit of the writer where the values are numbers without them, and where every value of a column begins
    (or every one ends) with a blank. Other text is left as it is: ``text: {blanks: strip}`` makes it alike.
    """
    bare, loose = list[int](), list[int]()
    for i, column in enumerate(columns):
        first, last = column.str.starts_with(" "), column.str.ends_with(" ")
        if not (first.any() or last.any()):
            continue
        stripped = column.str.strip_chars(" ")
        stripped = stripped.set(stripped == "", None)
        if first.all() or last.all() or is_number_like(stripped):
            columns[i] = stripped
            bare.append(i + 1)
        else:
            loose.append(i + 1)
    return [
        *([f"blanks around the values of {placed(bare)} were left out"] if bare else []),
        *([f"some values of {placed(loose)} begin or end with blanks and were left so"] if loose else []),
    ]


def _respelled(column: pl.Series, intake: Intake) -> pl.Series:
    """Text in the spelling that was asked for; the column itself where nothing changes."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum) or not (intake.unicode or intake.blanks):
        return column
    text = column.cast(pl.String)
    if intake.unicode == "nfc":
        text = text.str.normalize("NFC")
    if intake.blanks == "strip":
        text = text.str.strip_chars()
        text = text.set(text == "", None)
    return column if text.equals(column.cast(pl.String), null_equal=True) else text


def _without_codes(column: pl.Series, codes: tuple[Code, ...]) -> pl.Series:
    """The column with missing values where it held a code."""
    if not codes:
        return column
    if column.dtype.is_numeric():
        held = _holds_numbers(column, codes)
    else:
        spelled = [f"{code:g}" if isinstance(code, float) else str(code) for code in codes]
        held = column.cast(pl.String, strict=False).is_in(spelled)
    if not held.any():
        return column
    return pl.select(pl.when(~held.fill_null(False)).then(column)).to_series().alias(column.name)


def _holds_numbers(column: pl.Series, codes: tuple[Code, ...]) -> pl.Series:
    """Which cells of a column of numbers equal a code that is a number."""
    numbers = [number for code in codes if (number := _number(code)) is not None]
    if column.dtype.is_integer():
        whole = [int(number) for number in numbers if number == int(number)]
        return column.cast(pl.Int128).is_in(pl.Series(whole, dtype=pl.Int128).implode())
    return column.cast(pl.Float64).is_in(pl.Series([float(number) for number in numbers], dtype=pl.Float64).implode())


def _number(code: Code) -> int | float | None:
    if not isinstance(code, str):
        return code
    with contextlib.suppress(ValueError):
        return int(code)
    with contextlib.suppress(ValueError):
        number = float(code)
        return number if abs(number) < float("inf") else None
    return None


def with_values(dataset: Dataset, intake: Intake) -> Dataset:
    """A dataset in which what was said about values holds, in the user's own kind of frame."""
    if intake.about_values == dataset.source.intake.about_values:
        return dataset
    before = [dataset.column(name) for name in dataset.columns]
    after = list(before)
    blanked = settle_values(after, intake)
    if dataset.source.format == "csv":
        _settle_types(before, after)
    changed = {new.name: new for old, new in zip(before, after, strict=True) if new is not old}
    told = (*dataset.source.notes, *about_codes(blanked))
    source = dataclasses.replace(dataset.source, intake=intake, notes=told)
    return dataclasses.replace(dataset.with_columns(changed) if changed else dataset, source=source)


def _settle_types(before: list[pl.Series], after: list[pl.Series]) -> None:
    """Numbers, where codes alone had kept a column of a delimited text from being one of numbers."""
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if new is not old and new.dtype == pl.String:
            single = [new]
            convert(single, decimal=None)
            after[i] = single[0]
