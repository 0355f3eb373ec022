"""Values that a format cannot distinguish are one value, before anything is counted.

What a format cannot distinguish, and what is made of it:

- any format: NaN is missing, and ``-0.0`` is ``0.0``;
- CSV, Excel, SPSS, Stata, SAS: an empty text is missing;
- CSV: spellings of one number in a column of text (``1``, ``1.0``, ``1e0``) become the shortest of
  them, because a reader who finds nothing but numbers in the column takes them for one; ``01`` is a
  code and no spelling of ``1``, and the columns of codes (by their name) and numbers that may have
  thousands marks (``1.000``) are left as they are;
- JSON lines, Excel, Stata: infinities are missing;
- SPSS, SAS: blanks at the end of a text are lost;
- Excel: decimals have 16 digits; Excel, SPSS, Stata, SAS: times are whole milliseconds.

Everything else is distinguished by every format, and stays different: composed and combining
accents, upper and lower case, blanks at the beginning of a text (and at the end, but for SPSS and
SAS), a byte-order mark inside of a text. NUL in a text, and names of columns that are blank, begin
or end with a blank or hold NUL or a byte-order mark, are refused where the format does not keep
them; so are texts of more than 32,767 signs in Excel, which leaves their cells empty.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.schema import Role
from sfumato.core.words import count_of
from sfumato.data.table.form import repeated_once
from sfumato.data.table.formats import listed
from sfumato.data.table.inference import STYLES, convert, is_identifier_name
from sfumato.data.table.values import strip_habit
from sfumato.errors import OutputError

if TYPE_CHECKING:
    from sfumato.core.table import Table

_EMPTY_IS_MISSING = ("csv", "excel", "spss", "stata", "sas")
_NO_NUL = ("csv", "excel", "spss", "stata", "sas")
_NO_BYTES = ("csv", "jsonl", "excel", "spss", "stata", "sas")
_TRIMMED = ("spss", "sas")
_FINITE = ("jsonl", "excel", "stata")
_MILLISECONDS = ("excel", "spss", "stata", "sas")
_TRIMS_NAMES = ("csv", "excel")
_LONGEST = {"excel": 32_767}
_NUMERAL = r"^-?(?:0|[1-9]\d*)(?:[.,]\d+)?(?:[eE][+-]?\d+)?$"


def made_one(
    dataset: Table,
    format: str,  # noqa: A002
    *,
    spellings: bool = True,
) -> tuple[Table, list[str]]:
    """A table whose values a format distinguishes, and sentences about what was made one; direct
    identifiers are left out.

    ``spellings=False`` leaves the spellings of numbers: what steps wrote is theirs.
    """
    shared = [
        n
        for n in dataset.columns
        if n not in dataset.schema.attributes or Role.DROP not in dataset.schema[n].roles
    ]
    changed: dict[str, tuple[pl.Series, str]] = {}
    for name in shared:
        # Text that is held as categories is looked at once a category.
        if name in dataset.coded:
            labels = _distinct_texts(dataset, name)
            if _merge_values(labels, format, spellings=spellings) is None:
                continue
        column = _merge_values(dataset.column(name), format, spellings=spellings)
        if column is not None:
            changed[name] = column
    notes = [f"{listed([name])}: {note}" for name, (_, note) in changed.items()]
    if not changed:
        return dataset, notes
    return dataset.with_columns({name: values for name, (values, _) in changed.items()}), notes


def refuse_unwritable(dataset: Table, format: str, *, header: bool) -> None:  # noqa: A002
    """Refuse names and values that a format would lose, before anything is searched."""
    shared = [n for n in dataset.columns if Role.DROP not in dataset.schema[n].roles]
    problems = []
    if format in _TRIMS_NAMES and header:
        for position, name in enumerate(dataset.columns, start=1):
            plain = name and name == name.strip() and "\0" not in name and "\ufeff" not in name
            if name in shared and not plain:
                problems.append(
                    f"column {position} has a name that is empty, begins or ends with a blank, "
                    "or holds a NUL or a byte-order mark"
                )
    problems += [
        f"{listed([name])}: bytes; write them as text"
        for name in shared
        if dataset.dtype(name) == pl.Binary and format in _NO_BYTES
    ]
    for name in shared:
        if name in dataset.coded and not _lost(_distinct_texts(dataset, name), format):
            continue
        column = dataset.column(name)
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            problems += [
                f"{listed([name])}: {loss}" for loss in _lost(column.cast(pl.String), format)
            ]
    if problems:
        raise OutputError(
            f"{dataset.source.name} would not read back from {format} unchanged: "
            f"{'; '.join(problems)}; rename or clean them, or write Parquet"
        )


def _lost(text: pl.Series, format: str) -> list[str]:  # noqa: A002
    """What a format would lose of a column of text, in words."""
    longest = _LONGEST.get(format)
    losses: dict[str, int] = {
        "with a NUL character": (
            int(text.str.contains("\0", literal=True).sum()) if format in _NO_NUL else 0
        ),
        f"of more than {longest} characters": (
            0 if longest is None else int((text.str.len_chars() > longest).sum())
        ),
    }
    return [f"{count_of(cells, 'cell')} {loss}" for loss, cells in losses.items() if cells]


def _distinct_texts(dataset: Table, name: str) -> pl.Series:
    return pl.Series(name, dataset.encoded(name).labels, dtype=pl.String)


def _merge_values(
    column: pl.Series,
    format: str,  # noqa: A002
    *,
    spellings: bool,
) -> tuple[pl.Series, str] | None:
    """A column of values that are distinguished and what was made one, or None where nothing
    was.
    """
    if column.dtype.is_float():
        return _numbers(column, format)
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return _texts(column.cast(pl.String), format, spellings=spellings)
    if column.dtype in (pl.Datetime, pl.Time) and format in _MILLISECONDS:
        return _moments(column, format)
    return None


def _numbers(column: pl.Series, format: str) -> tuple[pl.Series, str] | None:  # noqa: A002
    filled = column.fill_null(1.0)
    values = filled.to_numpy()
    if format in _FINITE:
        lost = ~np.isfinite(values)
    else:
        lost = np.isnan(values)
    negative = (values == 0) & np.signbit(values)
    finer = 0
    if format == "excel":
        rounded = np.array([float(f"{value:.16G}") for value in values.tolist()])
        finer = int((~lost & (rounded != values)).sum())
        values = rounded
    if not (lost.any() or negative.any() or finer):
        return None
    missing = column.is_null() | pl.Series(lost)
    distinct_numbers = pl.Series(
        column.name, np.where(negative, 0.0, values), dtype=column.dtype
    ).set(missing, None)
    notes = {
        "no numbers, missing now": int(lost.sum()),
        "-0.0, now 0.0": int(negative.sum()),
        "rounded to 16 digits": finer,
    }
    return distinct_numbers, _sentence(notes, format)


def _texts(
    text: pl.Series,
    format: str,  # noqa: A002
    *,
    spellings: bool,
) -> tuple[pl.Series, str] | None:
    notes = {}
    if format in _TRIMMED:
        bare = text.str.strip_chars_end(" ")
        notes["without blanks at the end"] = int((bare != text).sum())
        text = bare
    if format in _EMPTY_IS_MISSING:
        empty = text == ""
        notes["empty, missing now"] = int(empty.sum())
        text = text.set(empty, None)
    may_be_numbers = format == "csv" and spellings and not is_identifier_name(text.name)
    if may_be_numbers and _may_be_respelled(text):
        text, notes["another spelling of a number, now one"] = _respelled(text)
    if not any(notes.values()):
        return None
    return (text, _sentence(notes, format))


def _respelled(text: pl.Series) -> tuple[pl.Series, int]:
    """Spellings of one number as the shortest of them, and how many cells changed."""
    distinct = text.drop_nulls().unique()
    spelled = distinct.filter(distinct.str.contains(_NUMERAL)).to_list()
    shortest: dict[float, str] = {}
    numbers = {
        spelling: float(spelling.replace(",", "."))
        for spelling in spelled
        if not _grouped(spelling)
    }
    for spelling, number in numbers.items():
        shortest[number] = min(shortest.get(number, spelling), spelling, key=lambda s: (len(s), s))
    replacements = {
        spelling: shortest[number]
        for spelling, number in numbers.items()
        if shortest[number] != spelling
    }
    if not replacements:
        return text, 0
    respelled = text.replace(list(replacements), list(replacements.values()))
    return respelled, int((respelled != text).sum())


def _may_be_respelled(text: pl.Series) -> bool:
    """Whether a value looks like a decimal: whole numbers and words have one spelling."""
    return bool(text.str.contains(r"^-?\d+[.,eE]|^-0").any())


def _grouped(spelled: str) -> bool:
    """Whether a point or comma may separate thousands: 1.000 is a thousand in Lisbon."""
    return any(re.match(style.grouped, spelled) is not None for style in STYLES.values())


def _moments(column: pl.Series, format: str) -> tuple[pl.Series, str] | None:  # noqa: A002
    if isinstance(column.dtype, pl.Datetime):
        coarse = column.dt.truncate("1ms")
    else:
        coarse = ((column.cast(pl.Int64) // 1_000_000) * 1_000_000).cast(pl.Time)
    finer = int((coarse != column).sum())
    if not finer:
        return None
    return (coarse, _sentence({"cut to milliseconds": finer}, format))


def _sentence(merged: dict[str, int], format: str) -> str:  # noqa: A002
    counts = ", ".join(
        f"{count_of(cells, 'cell')} {words}" for words, cells in merged.items() if cells
    )
    if not counts:
        return ""
    return f"{counts}: {format} cannot distinguish them"


def guessed(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Columns of text that whoever reads a CSV without its form finds fewer values in: numbers, or
    text without its blanks.
    """
    guesses = {}
    for column in frame:
        if column.dtype != pl.String:
            continue
        texts = repeated_once(column)
        blanks = texts.str.starts_with(" ") | texts.str.ends_with(" ")
        if not (blanks.any() or _may_be_respelled(texts)):
            continue
        distinct = column.drop_nulls().unique()
        if _as_guessed(distinct).n_unique() < len(distinct):
            guesses[column.name] = _as_guessed(column)
    return guesses


def _as_guessed(column: pl.Series) -> pl.Series:
    read = [column]
    strip_habit(read)
    convert(read, decimal=None)
    return read[0]
