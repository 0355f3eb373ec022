"""Codes that often stand for a missing value, looked for in a column.

Only words and numbers of the lists below are ever named, never another value of the table; and only
where they occur at least twice, so that none is one person's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.source import Code

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS = frozenset(
    {
        "na",
        "n/a",
        "n.a.",
        "nan",
        "null",
        "none",
        "missing",
        "unknown",
        "not known",
        "?",
        ".",
        "-",
        "--",
        "#n/a",
    }
)
# Proposed where all other numbers are not negative.
BELOW = (-9, -99, -999, -9999)

# Proposed where they are more than twice as large as all other numbers.
ABOVE = (999, 9999, 99999, 999999)

LEAST = 2

_SPELLED = (*WORDS, *map(str, (*BELOW, *ABOVE)))
_LONGEST = max(map(len, _SPELLED))


def codes_in(values: pl.Series, counts: NDArray[np.int64]) -> tuple[Code, ...]:
    """The common codes among the distinct values of a column, of which each has so many records.

    >>> import numpy as np
    >>> (
    ...     codes_in(pl.Series([31, 44, -9]), np.array([1, 1, 2])),
    ...     codes_in(pl.Series(["cook", "?"]), np.array([1, 2])),
    ... )
    ((-9,), ('?',))
    >>> (
    ...     codes_in(pl.Series([1, 2, 3, 999]), np.array([1, 1, 1, 1])),
    ...     codes_in(pl.Series([12.5, 999.0]), np.array([1, 2])),
    ... )
    ((), (999,))
    >>> codes_in(pl.Series([31, -9], dtype=pl.Int8), np.array([1, 2]))
    (-9,)
    >>> codes_in(pl.Series(["0110", "-9", "9999"]), np.array([1, 2, 2]))
    ('-9',)
    """
    if values.dtype in (pl.String, pl.Categorical, pl.Enum):
        return tuple(_words(values.cast(pl.String), counts))
    if values.dtype.is_numeric():
        return tuple(_numbers(values, counts))
    return ()


def _words(text: pl.Series, counts: NDArray[np.int64]) -> list[str]:
    table = pl.DataFrame(
        {"word": text.str.strip_chars(), "records": pl.Series(counts, dtype=pl.Int64)}
    )
    short = table.filter(pl.col("word").str.len_chars() <= _LONGEST)
    common = short.filter(pl.col("word").str.to_lowercase().is_in(list(_SPELLED)))
    records = common.group_by("word").agg(pl.col("records").sum())
    words = sorted(word for word, count in records.rows() if count >= LEAST)
    spelled = table.get_column("word")
    if not any(map(_number, words)) or not _all_codes(spelled):
        return words
    below = [word for word in words if word.startswith("-") and _number(word)]
    # a postcode is not negative
    lowest = spelled.filter(~spelled.is_in(below)).str.starts_with("-").any()
    return [word for word in words if not _number(word) or (word in below and not lowest)]


def _number(word: str) -> bool:
    return word.lstrip("-").isdigit()


def _all_codes(text: pl.Series) -> bool:
    """Whether every value is made of digits: then 9999 may be a code like any other, a postcode for
    one.
    """
    return bool(text.str.contains(r"^-?\d+$").all())


def _numbers(values: pl.Series, counts: NDArray[np.int64]) -> list[int]:
    if values.dtype.is_integer():
        # a narrow type cannot even be compared with what it cannot hold
        values = values.cast(pl.Int64, strict=False)
    records = {
        code: int(counts[(values == code).fill_null(value=False).to_numpy()].sum())
        for code in (*BELOW, *ABOVE)
    }
    codes = [code for code, count in records.items() if count >= LEAST]
    # numbers of one type can be compared, others are refused
    code_values = pl.Series(codes, dtype=pl.Int64).cast(values.dtype)
    other_values = values
    if codes:
        other_values = values.filter(~values.is_in(code_values.implode())).drop_nulls()
    lowest, highest = other_values.min(), other_values.max()
    if not codes or lowest is None or highest is None:
        return []
    return [
        code
        for code in codes
        if (lowest >= 0 if code < 0 else 2 * highest < code)  # type: ignore[operator]
    ]
