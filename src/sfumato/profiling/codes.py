"""Codes that often stand for a missing value, looked for in a table; and the words of a recipe about reading.

Only words and numbers of the lists below are ever named, never another value of the table; and only where they occur at least
twice, so that none is one person's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from sfumato.core.source import Code

WORDS = frozenset(
    {"na", "n/a", "n.a.", "nan", "null", "none", "missing", "unknown", "not known", "?", ".", "-", "--", "#n/a"}
)
BELOW = (-9, -99, -999, -9999)
"""Proposed where all other numbers are not negative."""

ABOVE = (999, 9999, 99999, 999999)
"""Proposed where they are more than twice as large as all other numbers."""

LEAST = 2


def common_codes(frame: pl.DataFrame) -> dict[str, tuple[Code, ...]]:
    """Column → the common codes in it.

    >>> import polars as pl
    >>> common_codes(pl.DataFrame({"age": [31, -9, 44, -9], "job": ["cook", "?", "?", "nurse"], "n": [1, 2, 3, 999]}))
    {'age': (-9,), 'job': ('?',)}
    """
    found: dict[str, tuple[Code, ...]] = {column.name: (*_words(column), *_numbers(column)) for column in frame}
    return {name: codes for name, codes in found.items() if codes}


def _words(column: pl.Series) -> list[str]:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return []
    text = column.cast(pl.String)
    spelled = text.str.strip_chars()
    known = spelled.filter(spelled.str.to_lowercase().is_in([*WORDS, *map(str, (*BELOW, *ABOVE))])).value_counts()
    return sorted(
        word for word, count in known.rows() if count >= LEAST and not (_number(word) and _all_codes(spelled))
    )


def _number(word: str) -> bool:
    return word.lstrip("-").isdigit()


def _all_codes(text: pl.Series) -> bool:
    """Whether every value is made of digits: then 9999 may be a code like any other, a postcode for one."""
    return bool(text.str.contains(r"^-?\d+$").all())


def _numbers(column: pl.Series) -> list[int]:
    if not column.dtype.is_numeric():
        return []
    found = [code for code in (*BELOW, *ABOVE) if int((column == code).sum()) >= LEAST]
    others = column.filter(~column.is_in(found)).drop_nulls() if found else column
    lowest, highest = others.min(), others.max()
    if not found or lowest is None or highest is None:
        return []
    return [code for code in found if (lowest >= 0 if code < 0 else 2 * highest < code)]  # type: ignore[operator]
