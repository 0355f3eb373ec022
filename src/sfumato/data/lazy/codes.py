"""Text as numbers while rows wait or are counted: labels that repeat are looked at once a batch,
not once a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.classes import MOST_BITS, in_order, is_dense
from sfumato.core.encoding import tallied as amounts_of
from sfumato.core.table import MOST_LABELS, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPEATS = 8
"""A column of text is worth numbering if its labels come so often in a batch, on average."""
WORD = 1 << 63


class Coder:
    """Numbers for the labels of text columns, the same in every batch, given in the order in which
    labels are met.

    A column whose labels hardly repeat stays text; so does one whose labels become more than a
    million, from then on. Numbers never leave the machine: what is written is text again.
    """

    def __init__(self, max_labels: int = MOST_LABELS) -> None:
        self.most = max_labels
        self.books: dict[str, dict[str | None, int]] = {}
        self.plain: set[str] = set()
        self.whole: dict[str, pl.Enum] = {}
        """The labels of columns whose last batch had no new ones, by number."""

    def coded(self, rows: Table) -> pl.DataFrame:
        """The rows with numbers in the place of text."""
        return pl.DataFrame([self.column(rows, name) for name in rows.columns])

    def column(self, rows: Table, name: str) -> pl.Series:
        """A column with numbers in the place of text."""
        if rows.dtype(name) != pl.String or name in self.plain:
            return rows.column(name)
        if (quick := self._known(rows, name)) is not None:
            return quick
        encoded = rows.encoded(name)
        book = self.books.setdefault(name, {})
        before = len(book)
        # Whether labels repeat is judged on the first batch alone. Later the numbers given so
        # far must stay valid, and only too many labels end the numbering.
        if (not book and len(encoded.labels) * REPEATS > len(rows)) or len(book) + len(
            encoded.labels
        ) > self.most:
            self.plain.add(name)
            return rows.column(name)
        numbers = [book.setdefault(label, len(book)) for label in encoded.labels]
        # None has no place in an Enum, so the quick path is for columns without missing values.
        if len(book) == before and None not in book:
            self.whole.setdefault(name, pl.Enum(list(book)))  # type: ignore[arg-type]
        table = np.array(numbers, dtype=np.min_scalar_type(max(1, len(book)) - 1))
        return pl.Series(name, table[encoded.narrow] if len(table) else table)

    def _known(self, rows: Table, name: str) -> pl.Series | None:
        """The numbers of a column all of whose labels have one: half the work of encoding it. None:
        some have none yet.
        """
        # Codes that are known already are cheaper than a cast.
        dtype = None if name in rows.known.codes else self.whole.get(name)
        if dtype is None:
            return None
        # A label outside the Enum becomes null in a cast that is not strict.
        placed = rows.column(name).cast(dtype, strict=False)
        if placed.null_count():
            del self.whole[name]
            return None
        narrow = pl.Series(
            np.zeros(0, dtype=np.min_scalar_type(max(1, len(dtype.categories)) - 1))
        ).dtype
        return placed.to_physical().cast(narrow)

    def labels(self, name: str) -> pl.Series:
        """The labels of a column by number."""
        return pl.Series(name, list(self.books[name]), dtype=pl.String)

    def is_coded(self, column: pl.Series) -> bool:
        """Whether a column holds numbers of labels."""
        return column.name in self.books and column.dtype.is_unsigned_integer()

    def text(self, column: pl.Series) -> pl.Series:
        """A column as it was before."""
        if not self.is_coded(column):
            return column
        return self.labels(column.name).gather(column)

    def decoded(self, rows: pl.DataFrame, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """The rows with text again, in some columns or all."""
        column_names = set(rows.columns if columns is None else columns)
        return pl.DataFrame(
            [
                self.text(column) if column.name in column_names else column
                for column in rows.iter_columns()
            ]
        )

    def together(self, rows: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Batches below each other; a column that is text in one of them is so in all. Numbers get
        the widest of their types.
        """
        # Columns that were given up after some batches were numbered: those batches become text
        # again.
        loose = {name for name in self.plain if name in self.books}
        return pl.concat(
            [self.decoded(batch, loose) for batch in rows] if loose else rows,
            how="vertical_relaxed",
        )

    def hashes(self, rows: pl.DataFrame, key: int) -> pl.Series:
        """A keyed hash of what every row holds, whatever numbers stand for it and however wide its
        numbers are.
        """
        return pl.DataFrame([self._hash(column, key) for column in rows.iter_columns()]).hash_rows(
            key
        )

    def _hash(self, column: pl.Series, key: int) -> pl.Series:
        # Hashing each label once and gathering is the same as hashing every cell's text.
        if self.is_coded(column):
            return self.labels(column.name).hash(key).gather(column)
        wide = (
            pl.Int64
            if column.dtype.is_signed_integer()
            else pl.Float64
            if column.dtype.is_float()
            else column.dtype
        )
        return column.cast(wide).hash(key)


def counted_in_pieces(
    pieces: Iterable[pl.DataFrame],
    columns: Sequence[str],
    name: str,
    max_combinations: int,
    coder: Coder,
) -> pl.DataFrame | None:
    """The distinct rows of a coded table that comes in pieces, with their numbers under
    ``name``; None: more than ``max_combinations``.

    Pieces are counted one by one and their counts merged when they have grown as large as what they
    are merged with: memory stays near the size of the result, and every combination is merged a few
    times only.
    """
    merged, fresh = None, list[pl.DataFrame]()
    for piece in pieces:
        fresh.append(tallied(piece, columns, name))
        # A merge costs at most twice the new counts, so all merges together stay linear.
        if merged is None or sum(part.height for part in fresh) >= merged.height:
            merged, fresh = _merged([merged, *fresh], columns, name, coder), []
            if merged.height > max_combinations:
                return None
    counts = _merged([merged, *fresh], columns, name, coder)
    if counts.height > max_combinations:
        return None
    return counts


def _merged(
    parts: Sequence[pl.DataFrame | None], columns: Sequence[str], name: str, coder: Coder
) -> pl.DataFrame:
    tables = [part for part in parts if part is not None]
    if len(tables) == 1:
        return tables[0]
    return tallied(coder.together(tables), columns, name)


def tallied(rows: pl.DataFrame, columns: Sequence[str], name: str) -> pl.DataFrame:
    """The distinct rows of some columns and, under ``name``, how many there are of each: added up
    where the rows say it already.
    """
    packed = _packed(rows, columns)
    # Without one number per row (text, floats, too wide) polars groups by several columns.
    if packed is None:
        if name in rows.columns:
            amount = pl.col(name).sum()
        else:
            amount = pl.len().cast(pl.Int64).alias(name)
        return rows.group_by(list(columns)).agg(amount)
    keys, spans = packed
    span = math.prod(width for _, width in spans)
    # Keys lie in a small range: a table of sums by key is one pass, without sorting.
    if name in rows.columns and is_dense(span, len(keys)):
        sums = np.bincount(
            keys.astype(np.int64, copy=False), weights=rows[name].to_numpy(), minlength=span
        )
        distinct = np.flatnonzero(sums).astype(keys.dtype)
        amounts = pl.Series(name, sums[distinct], dtype=pl.Float64).cast(
            pl.Int64
        )  # exact up to 2⁵³ records
    elif name in rows.columns:
        sums_by_key = (
            pl.DataFrame({"": keys, name: rows[name]}).group_by("").agg(pl.col(name).sum())
        )
        distinct, amounts = sums_by_key[""].to_numpy(), sums_by_key[name]
    else:
        distinct, counts = _numbers(keys, span)
        amounts = pl.Series(name, counts, dtype=pl.Int64)
    return pl.DataFrame([*_unpacked(distinct, rows.select(columns), spans), amounts])


def _numbers(keys: NDArray[Any], span: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct keys, all below ``span``, and how many there are of each: sorted where there may
    be too many for a table of bits.
    """
    if span > MOST_BITS * len(keys):
        distinct, counts = np.unique(keys, return_counts=True)
        return distinct, counts
    group_numbers, distinct_keys = in_order(keys.astype(np.uint64).reshape(-1, 1), span)
    return distinct_keys[:, 0].astype(keys.dtype), amounts_of(
        group_numbers, len(distinct_keys), None
    )


def _packed(
    rows: pl.DataFrame, columns: Sequence[str]
) -> tuple[NDArray[Any], list[tuple[int, int]]] | None:
    """One whole number for every row, and the least value and the number of values of every
    column; None: they do not fit.

    A missing value counts as the one after the greatest.
    """
    spans = [_span(rows[name]) for name in columns]
    known_spans = [span for span in spans if span is not None]
    size = math.prod(width for _, width in known_spans)
    if len(known_spans) < len(spans) or not known_spans or size >= WORD:
        return None
    # Mixed radix: with widths 3 and 4 the row (2, 1) becomes 2*4 + 1 = 9.
    keys = np.zeros(rows.height, dtype=np.min_scalar_type(size))
    for name, (low, width) in zip(columns, known_spans, strict=True):
        keys *= keys.dtype.type(width)
        keys += (_whole(rows[name], low + width - 1) - low).astype(keys.dtype)
    return keys, known_spans


def _whole(column: pl.Series, missing: int) -> NDArray[np.int64]:
    filled = column.cast(pl.Int64)
    return (filled.fill_null(missing) if column.null_count() else filled).to_numpy()


def _span(column: pl.Series) -> tuple[int, int] | None:
    """The least value of a column of whole numbers and how many values it may have, with the one
    for missing; None: it is none.
    """
    if not (column.dtype.is_integer() or column.dtype == pl.Boolean):
        return None
    low, high = column.min(), column.max()
    if low is None or high is None:
        return 0, 1
    least, largest = int(low), int(high)  # type: ignore[arg-type]
    width = largest - least + 1 + (column.null_count() > 0)
    if least < -WORD or least + width >= WORD:
        return None
    return least, width


def _unpacked(
    keys: NDArray[Any], like: pl.DataFrame, spans: Sequence[tuple[int, int]]
) -> list[pl.Series]:
    """The columns that keys were made from."""
    decoded_columns = list[pl.Series]()
    # The last column was added last, so it is the remainder of the first division.
    for column, (low, width) in zip(reversed(like.get_columns()), reversed(spans), strict=True):
        keys, remainder = np.divmod(keys, keys.dtype.type(width))
        values = pl.Series(column.name, remainder.astype(np.int64) + low)
        if column.null_count():
            values = values.set(pl.Series(remainder == width - 1), None)
        decoded_columns.append(values.cast(column.dtype))
    return decoded_columns[::-1]
