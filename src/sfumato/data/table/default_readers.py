"""Values of a column of text that a default reader takes for one: ``00501`` and ``501`` are the
number 501, quoted or not.

A file of text does not say that a column is text, and readers guess it from all of its values:

- pandas (``read_csv``, ``read_excel``): words for *missing* (``NA``, ``None``, ``null``, …) are
  missing; a column of nothing but numbers is numbers, one of nothing but ``true``, ``True``,
  ``TRUE`` and their opposites is truth values;
- pandas (``read_json``): a column of nothing but numbers in text is numbers;
- R (``read.csv``): ``NA`` is missing; a column of numbers, hexadecimal ones too, is numbers of 53
  bits; one of ``T``, ``TRUE``, ``true``, ``True`` and their opposites is truth values;
- polars (``read_csv``): as pandas, with fewer spellings.

So ``00501``, ``501``, ``+501``, ``501.0`` and ``5.01e2`` are one value in a column of numbers, and
two in a column in which one word stands. None of these readers takes text for dates unless it is
told to: days keep their spelling.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from sfumato.core.table import Table

Key = Callable[[str], Hashable | None]
"""What a reader makes of a text; None where the column cannot be what it was taken for."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"\s*[+-]?0[xX][0-9a-fA-F]+\s*")
_PANDAS_MISSING = frozenset(
    [
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
    ]
)
MISSING = "missing"


def _number(text: str) -> Hashable | None:
    if _NUMBER.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text)
    return None


def _number_of_53_bits(text: str) -> Hashable | None:
    if _HEXADECIMAL.fullmatch(text):
        return float(int(text, 16))
    return _number(text)


def _exact_number(text: str) -> Hashable | None:
    """As pandas reads it: whole numbers have all their digits."""
    plain = text.strip()
    if re.fullmatch(r"[+-]?\d+", plain):
        return int(plain)
    return _number(text)


def _python_number(text: str) -> Hashable | None:
    """As Python reads it: one that is none is missing."""
    try:
        number = float(text)
    except ValueError:
        return None
    return MISSING if math.isnan(number) else number


@dataclasses.dataclass(frozen=True)
class Reader:
    """What a reader takes text for when nobody tells it: missing values, and what all values of a
    column can be.
    """

    name: str
    formats: tuple[str, ...]
    missing: frozenset[str]
    kinds: tuple[Key, ...]

    def key_for(self, values: Iterable[str]) -> Key:
        """What this reader makes of the values of a column that has these."""
        # Words for missing do not decide what a column is.
        present = [value for value in values if value not in self.missing]
        # The first kind that all values can be; a single word among numbers makes the column text.
        kind = next(
            (kind for kind in self.kinds if present and all(kind(v) is not None for v in present)),
            None,
        )

        def key(text: str) -> Hashable | None:
            if text in self.missing:
                return MISSING
            return None if kind is None else kind(text)

        return key


_TRUTHS: dict[str, Hashable] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TRUTHS_OF_R: dict[str, Hashable] = {**_TRUTHS, "T": True, "F": False}
READERS = (
    Reader("pandas", ("csv", "excel"), _PANDAS_MISSING, (_exact_number, _TRUTHS.get)),
    Reader("pandas", ("jsonl",), frozenset(), (_python_number,)),
    Reader("R", ("csv",), frozenset({"NA"}), (_number_of_53_bits, _TRUTHS_OF_R.get)),
)


@dataclasses.dataclass(frozen=True)
class ReadAsOne:
    """Columns in which a reader finds fewer values than were written, and what stands for those it
    takes for one.
    """

    reader: str
    keys: Mapping[str, Key]
    spellings: Mapping[str, Mapping[Hashable, str | None]]

    def of(self, dataset: Table) -> Table:
        """A table as this reader has it, spelled as before: the same columns of an original,
        too.
        """
        names = [
            name for name in self.keys if name in dataset.columns and dataset.dtype(name) in TEXT
        ]
        if not names:
            return dataset
        return dataset.with_columns({name: self.column(dataset.column(name)) for name in names})

    def column(self, column: pl.Series) -> pl.Series:
        """One column as this reader has it."""
        text = column.cast(pl.String)
        key, spelled = self.keys[column.name], self.spellings[column.name]
        distinct = text.drop_nulls().unique().to_list()
        return text.replace(distinct, [spelled.get(key(value), value) for value in distinct])


TEXT = (pl.String, pl.Categorical, pl.Enum)


def read_as_one(
    frame: pl.DataFrame,
    format: str,  # noqa: A002
    *,
    but: Iterable[str] = (),
) -> list[ReadAsOne]:
    """Readers that find fewer values in columns of text than a file holds, ``but`` for some
    columns.

    >>> [
    ...     one.reader
    ...     for one in read_as_one(
    ...         pl.DataFrame({"zip": ["00501", "501"], "ill": ["00501", "flu"]}), "csv"
    ...     )
    ... ]
    ['pandas', 'R']
    """
    readers = [reader for reader in READERS if format in reader.formats]
    texts = [
        c for c in frame.iter_columns() if readers and c.dtype in TEXT and c.name not in set(but)
    ]
    readings = []
    distinct = {
        c.name: (c.cast(pl.String).drop_nulls().unique().sort().to_list(), c.null_count() > 0)
        for c in texts
    }
    for reader in readers:
        keys: dict[str, Key] = {}
        spellings: dict[str, dict[Hashable, str | None]] = {}
        for name, (values, missing) in distinct.items():
            key = reader.key_for(values)
            # What this reader takes for one; missing values are one more spelling of what it takes
            # for missing.
            groups: dict[Hashable, list[str]] = {MISSING: [""]} if missing else {}
            for value in values:
                found_key = key(value)
                if found_key is not None:
                    groups.setdefault(found_key, []).append(value)
            if any(len(group) > 1 for group in groups.values()):
                keys[name] = key
                # The shortest spelling stands for all: 501 for 00501.
                shortest: dict[Hashable, str | None] = {}
                for found_key, group in groups.items():
                    shortest[found_key] = min(group, key=_shortest)
                    if found_key == MISSING:
                        shortest[found_key] = None
                spellings[name] = shortest
        if keys:
            readings.append(ReadAsOne(reader.name, keys, spellings))
    return readings


def _shortest(text: str) -> tuple[int, str]:
    return len(text), text
