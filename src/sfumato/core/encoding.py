"""Dictionary encoding: a column as integer codes and the labels they stand for."""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.core.labels import MANY, Labels, TextLabels, labels_of, some_of, text_of
from sfumato.core.labels import missing_in as missing_in  # noqa: PLC0414 - given out here too
from sfumato.core.labels import positions_in as positions_in  # noqa: PLC0414
from sfumato.core.sums import PART
from sfumato.core.threads import parts_of_rows, side_by_side
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

Column = str | tuple[str, ...]
"""A column by name, or several whose values are taken together."""

SEPARATOR = "\x1f"
"""Stands between the parts of a combined label."""

WORD = 1 << 63
FIRST_ROWS = 1024
"""Rows that are looked at to guess which texts a column holds."""
FEWEST_REPEATS = 8
"""So often a text of the first rows must come on average, if these are to be most of the texts."""
DIRECT_RANGE = 1 << 20
"""Whole numbers that span less than this are encoded by subtraction instead of hashing."""


@dataclasses.dataclass(frozen=True, eq=False)
class Encoded:
    """``labels[codes[i]]`` is the label of row *i* (None: missing); ``counts`` says how often each
    occurs.

    ``narrow`` are the codes in the narrowest unsigned type, as they are kept: one byte a row where
    there are few labels.
    """

    narrow: NDArray[Any]
    labels: Labels
    counts: NDArray[np.int64]
    ladders: list[tuple[Any, Any]] = dataclasses.field(default_factory=list, init=False, repr=False)
    """Hierarchies that were bound to the labels, and the ladders they made
    (:func:`sfumato.core.hierarchy.bind_column`).
    """

    @property
    def codes(self) -> NDArray[np.int64]:
        """The codes to compute with, widened again at every call."""
        return self.narrow.astype(np.int64)

    def taken(self, rows: NDArray[np.int64]) -> Encoded:
        """The encoding of some of the rows, in another order or repeated."""
        codes = self.narrow.take(rows)
        if not isinstance(self.labels, TextLabels):
            return relabelled(codes, self.labels)
        amounts = tallied(codes, len(self.labels), None)  # so many labels are in order
        used = np.flatnonzero(amounts)
        labels = self.labels if len(used) == len(amounts) else some_of(self.labels, used)
        return _without_unused(codes, labels, used, amounts)

    def text(self, name: str) -> pl.Series:
        """The labels of all rows as a column of text."""
        return text_of(self.labels).alias(name).gather(self.narrow.astype(np.uint32, copy=False))

    def holds(self, column: pl.Series, start: int | None = None) -> bool:
        """Whether a column of text holds the labels of all rows, or of as many as it has from
        ``start`` on.

        It is looked at part by part, not beside a copy of it all.

        >>> Encoded(np.array([1, 0]), ("a", None), np.array([1, 1])).holds(pl.Series([None, "a"]))
        True
        """
        labels = text_of(self.labels).alias(column.name)
        if start is None:
            codes = self.narrow
        else:
            codes = self.narrow[start : start + len(column)]

        def is_equal(part: slice) -> bool:
            return labels.gather(codes[part].astype(np.uint32, copy=False)).equals(
                column[part], null_equal=True
            )

        return len(column) == len(codes) and all(
            side_by_side(is_equal, parts_of_rows(len(codes)), rows=len(codes))
        )

    def categories(self, name: str) -> pl.Series:
        """The labels of all rows as a column of categories: a code a row, and each label once."""
        dtype = pl.Enum([label for label in self.labels if label is not None])
        if None not in self.labels:  # the codes are those of the categories
            width = pl.Series([], dtype=dtype).to_physical().dtype
            return pl.Series(name, self.narrow).cast(width).cat.to(dtype)
        positions = self.narrow.astype(np.uint32)
        return pl.Series(name, self.labels, dtype=dtype).gather(positions)


def relabelled(codes: NDArray[Any], labels: Sequence[str | None]) -> Encoded:
    """The encoding of rows that have these labels: in order, missing last, without those that no
    row has; equal ones are one.

    >>> found = relabelled(np.array([2, 0, 2]), ["b", "unused", "a"])
    >>> found.codes.tolist(), found.labels, found.counts.tolist()
    ([0, 1, 0], ('a', 'b'), [2, 1])
    """
    amounts = tallied(codes, len(labels), None)
    used = np.flatnonzero(amounts)
    if len(used) > MANY:
        return _relabelled_many(codes, text_of(labels), used, amounts)
    if len(used) == len(labels):
        names = labels
    else:
        names = [labels[code] for code in used.tolist()]
    # After a draw of rows of an encoded column the labels are still sorted, each once, missing
    # last.
    if len(names) > 0 and names[-1] is None:
        present: Sequence[Any] = names[:-1]
    else:
        present = names
    if None not in present and all(map(operator.lt, present, present[1:])):
        return _without_unused(codes, tuple(names), used, amounts)
    fresh = sorted({name for name in names if name is not None})
    position: dict[str | None, int] = {name: i for i, name in enumerate(fresh)}
    final = (*fresh, *([None] if None in names else []))
    position[None] = len(fresh)
    new_codes = np.zeros(len(labels), dtype=code_type(len(final)))
    new_codes[used] = [position[name] for name in names]
    counts = np.bincount(new_codes[used], weights=amounts[used], minlength=len(final)).astype(
        np.int64
    )
    return Encoded(
        kernels.keys.map_codes(codes, new_codes) if len(labels) else new_codes, final, counts
    )


def _relabelled_many(
    codes: NDArray[Any], labels: pl.Series, used: NDArray[np.int64], amounts: NDArray[np.int64]
) -> Encoded:
    """What :func:`relabelled` gives where very many labels are used."""
    names = labels.gather(used)
    final = names.unique().sort(nulls_last=True)
    dense_ranks = names.rank("dense").cast(pl.Int64).fill_null(len(final)).to_numpy()
    rank = dense_ranks - 1
    new_codes = np.zeros(len(labels), dtype=code_type(len(final)))
    new_codes[used] = rank
    counts = np.bincount(rank, weights=amounts[used], minlength=len(final)).astype(np.int64)
    return Encoded(kernels.keys.map_codes(codes, new_codes), labels_of(final), counts)


def _without_unused(
    codes: NDArray[Any], names: Labels, used: NDArray[np.int64], amounts: NDArray[np.int64]
) -> Encoded:
    """The encoding whose labels in order are ``names``: those with the codes ``used``."""
    width = code_type(len(names))
    if len(used) == len(amounts):  # every code stays as it is
        return Encoded(codes.astype(width, copy=False), names, amounts)
    new_codes = np.zeros(len(amounts), dtype=width)
    new_codes[used] = np.arange(len(used))
    return Encoded(kernels.keys.map_codes(codes, new_codes), names, amounts[used])


def label(value: object) -> str:
    """The text under which hierarchies and reports know a value.

    Whole floats lose their ``.0`` so that a column read as 33.0 meets a hierarchy that says 33.

    >>> label(33.0), label("07"), label(True)
    ('33', '07', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value)
    return str(value)


def require_same_codes(
    labels: Iterable[str | None], other_labels: Iterable[str | None], name: str, *, between: str
) -> None:
    """Refuse a column whose codes, all of one length, have leading zeros in one table only: read as
    numbers, 03601 became 3601.

    Compared as text nothing would match, and nobody would know why. Numbers of any length with a
    stray zero are no codes.

    >>> require_same_codes(
    ...     ["03601", "53711"], ["3601"], "zip", between="the table and the population"
    ... )
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'zip' of the table and the population: codes have leading
    zeros in one of the two ...
    """
    first, second = (
        {v for v in values if v is not None and v.isdigit()} for values in (labels, other_labels)
    )
    for full, bare in ((first, second), (second, first)):
        padded = {v for v in full if v[0] == "0" and len(v) > 1}
        lengths = len({len(v) for v in full})
        codes = lengths == 1 and not any(v[0] == "0" and len(v) > 1 for v in bare)
        if codes and {v.lstrip("0") for v in padded} & bare:
            raise SchemaError(
                f"column {name!r} of {between}: codes have leading zeros in one of the two and lost"
                " them in the other; read the column as text in both"
            )


def as_text(column: pl.Series) -> pl.Series:
    """A column cell by cell as text; spans of time, which frames do not spell, by their labels."""
    if column.dtype != pl.Duration:
        return column.cast(pl.String, strict=False)
    encoded = encode(column)
    labels = pl.Series(column.name, encoded.labels, dtype=pl.String)
    return labels.gather(encoded.codes)


def encode(column: pl.Series) -> Encoded:
    """Encode a column; labels are sorted, missing (null, NaN) comes last. Row order does not
    matter.
    """
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise SchemaError(
            f"column {column.name!r} holds lists or objects; give every cell one value"
        )
    if column.dtype.is_float() and column.is_nan().any():
        column = column.fill_nan(None)
    if column.dtype.is_integer():
        direct = _encode_whole(column)
        if direct is not None:
            return direct
    if column.dtype == pl.Date:
        direct = _encode_whole(column.to_physical(), _written_days)
        if direct is not None:
            return direct
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return _encode_categories(column)
    if column.dtype == pl.String:
        return _encode_text(column)
    if column.dtype.is_float():
        return _encode_floats(column)
    distinct = column.drop_nulls().unique()
    names = _labels(distinct)
    labels: list[str | None] = [*sorted(set(names))]
    position = {name: i for i, name in enumerate(labels)}
    missing = len(labels)
    if column.null_count():
        labels.append(None)
    final_codes = [position[name] for name in names]
    replaced = column.replace_strict(
        distinct,
        pl.Series(final_codes, dtype=pl.Int64),
        default=missing,
        return_dtype=pl.Int64,
    )
    return _count_codes(replaced.fill_null(missing).to_numpy(), tuple(labels))


PLAIN = (1e-4, 1e15)
"""Sizes of numbers that Python and polars write alike: the fewest digits that tell them apart,
without an exponent.
"""


def _encode_floats(column: pl.Series) -> Encoded:
    """Encode floating-point numbers, none of them NaN; as many may be distinct as there are
    rows.
    """
    wide = column.cast(pl.Float64)
    values, which = _distinct_numbers(_present(wide).to_numpy())
    names = _spell_floats(values)
    order = names.arg_sort().to_numpy()
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    labels = names.gather(order)
    if not column.null_count():
        return _count_codes(rank[which], labels_of(labels))
    codes = np.full(len(column), len(labels), dtype=np.int64)
    codes[wide.is_not_null().to_numpy()] = rank[which]
    return _count_codes(codes, labels_of(_with_missing(labels)))


MOST_BITS = 64
"""So many different numbers for every one that is there are looked up in a table of bits."""
SCALES = (1, 100, 1000)
"""Numbers with no more decimals than these, as prices and shares have, are distinguished as whole
numbers.
"""


def _distinct_numbers(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The distinct numbers in their order, and the place of every number among them."""
    for scale in SCALES if len(numbers) > kernels.keys.FEW else ():
        low = float(numbers.min()) * scale
        high = float(numbers.max()) * scale
        if not (-PLAIN[1] < low and high < PLAIN[1]):
            break
        keys = _scaled(numbers, scale, round(low))
        if keys is None:
            continue
        span = round(high) - round(low) + 1
        if span <= BITS_A_ROW * len(numbers):
            ranks_of = kernels.keys.rank_keys
        else:
            ranks_of = kernels.keys.rank_by_sorting
        ranks, distinct = ranks_of(keys, span)
        return (distinct.view(np.int64) + round(low)) / scale, ranks
    return np.unique(numbers, return_inverse=True)


BITS_A_ROW = 32
"""So many possible numbers for every row are looked up in a table of bits; beyond that sorting is
as quick.
"""


def _scaled(numbers: NDArray[np.float64], scale: int, start: int) -> NDArray[np.uint64] | None:
    """The numbers times ``scale`` as whole numbers above ``start``; None where one has more
    decimals. The first tell it mostly.

    >>> _scaled(np.array([0.25, 0.5]), 100, 25), _scaled(np.array([0.25, 0.5]), 1, 0)
    (array([ 0, 25], dtype=uint64), None)
    """
    keys = np.empty(len(numbers), dtype=np.int64)
    for first in range(0, len(numbers), PART):
        part = numbers[first : first + PART]
        whole = np.rint(part * scale)
        if not (whole / scale == part).all():
            return None
        keys[first : first + PART] = whole
    keys -= start
    return keys.view(np.uint64)


def _with_missing(labels: pl.Series) -> pl.Series:
    """The labels and behind them the missing one."""
    return pl.concat([labels, pl.Series(labels.name, [None], dtype=pl.String)])


def _spell_floats(values: NDArray[np.float64]) -> pl.Series:
    """The labels of distinct numbers, as :func:`label` writes each."""
    size = np.abs(values)
    whole = (values == np.trunc(values)) & (size < PLAIN[1])
    plain = (size >= PLAIN[0]) & (size < PLAIN[1])
    numbers = pl.Series(values)
    whole_values = np.where(whole, values, 0).astype(np.int64)
    names = pl.Series(whole_values).cast(pl.String)
    names = names.zip_with(pl.Series(whole), numbers.cast(pl.String))
    unusual = np.flatnonzero(~whole & ~plain)
    if len(unusual):
        return names.scatter(unusual, [label(value) for value in values[unusual].tolist()])
    return names


def _encode_text(column: pl.Series) -> Encoded:
    """Encode text, which is its own label; UTF-8 sorts as its characters do."""
    missing = column.null_count()
    # If a label of the first rows comes several times on average, these are likely to be most there
    # are, and what is distinct need not be looked for in every row: the column is placed among
    # them, and what is none of them is missing.
    first_rows = column.head(FIRST_ROWS).to_list()
    distinct = set(first_rows)
    distinct.discard(None)
    labels = pl.Series(column.name, sorted(distinct), dtype=pl.String)
    placed = None
    if distinct and len(distinct) * FEWEST_REPEATS <= len(first_rows):
        placed = column.cast(pl.Enum(labels), strict=False)
    if placed is None:
        rare = len(column)
    else:
        rare = placed.null_count() - missing
    if placed is not None and 0 < rare <= len(column) // 8:
        return _with_others(column, labels, placed)
    if placed is None or rare:
        labels = _present(column.unique()).sort()
        placed = column.cast(pl.Enum(labels))
    codes = placed.to_physical()
    if missing:
        codes = codes.cast(pl.UInt64).fill_null(len(labels))
    return _count_codes(codes.to_numpy(), labels_of(_with_missing(labels) if missing else labels))


def _with_others(column: pl.Series, labels: pl.Series, placed: pl.Series) -> Encoded:
    """The encoding of a column in which a few rows hold text, or nothing, that is not among the
    labels.
    """
    unplaced = np.iinfo(np.uint32).max
    codes = placed.to_physical().cast(pl.UInt32).fill_null(unplaced).to_numpy()
    rows = np.flatnonzero(codes == unplaced)
    names = column.gather(rows).to_list()
    label_list = labels.to_list()
    position = {name: len(label_list) + i for i, name in enumerate(dict.fromkeys(names))}
    widest = np.min_scalar_type(len(label_list) + len(position))
    narrow = codes.astype(widest)  # the unplaced ones are written next
    narrow[rows] = [position[name] for name in names]
    return relabelled(narrow, [*label_list, *position])


def _present(column: pl.Series) -> pl.Series:
    """The values that are there; polars plans a query even to drop nothing."""
    if not column.null_count():
        return column
    return column.drop_nulls()


def _encode_categories(column: pl.Series) -> Encoded:
    """Encode categories by the codes they have; their text is looked at once a category."""
    distinct = _present(column.unique())
    own = distinct.to_physical().cast(pl.Int64).to_numpy()
    if not len(own) or int(own.max()) >= DIRECT_RANGE:
        return _encode_text(column.cast(pl.String))
    missing = int(own.max()) + 1
    labels: list[str | None] = [None] * (missing + 1)
    for code, name in zip(own.tolist(), distinct.cast(pl.String).to_list(), strict=True):
        labels[code] = name
    physical = column.to_physical()
    if column.null_count():
        physical = physical.cast(pl.UInt64).fill_null(missing)
    return relabelled(physical.to_numpy(), labels)


def _count_codes(codes: NDArray[Any], labels: Labels) -> Encoded:
    """The encoding with these codes, none of them missing, and labels, which are in order."""
    narrow = codes.astype(code_type(len(labels)))
    return Encoded(narrow, labels, tallied(narrow, len(labels), None))


def _labels(distinct: pl.Series) -> list[str]:
    """The labels of distinct values; Python cuts times to microseconds, what is finer is written
    behind.
    """
    names = [label(v) for v in distinct.to_list()]
    if distinct.dtype == pl.Time or getattr(distinct.dtype, "time_unit", None) == "ns":
        finer = [ticks % 1000 for ticks in distinct.to_physical().to_list()]
        names = [f"{name} +{ns} ns" if ns else name for name, ns in zip(names, finer, strict=True)]
    return names


def _written_days(days: pl.Series) -> pl.Series | None:
    """The labels of days since 1970; None where a year has not four digits, as Python writes it."""
    if int(days.min()) < FIRST_DAY or int(days.max()) > LAST_DAY:  # type: ignore[arg-type]
        return None
    return days.cast(pl.Int32).cast(pl.Date).dt.to_string("%Y-%m-%d")


FIRST_DAY, LAST_DAY = -354_285, 2_932_896
"""The first day of the year 1000 and the last of 9999, in days since 1970."""


def _encode_whole(
    column: pl.Series, written: Callable[[pl.Series], pl.Series | None] | None = None
) -> Encoded | None:
    """Encode whole numbers of a small range without hashing, or return None; ``written`` gives
    labels that are not the numbers themselves, or None where it cannot.
    """
    if column.len() == column.null_count():
        return None
    low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
    if high - low >= DIRECT_RANGE or low < -WORD or high >= WORD:
        return None
    missing = high - low + 1
    parts = list(parts_of_rows(len(column)))
    counts = sum(
        (
            np.bincount(_shifted(column[part], low, missing), minlength=missing + 1)
            for part in parts
        ),
        start=np.zeros(missing + 1, dtype=np.int64),
    )
    used = np.flatnonzero(counts)
    numbers = pl.Series(used[used < missing] + low)
    names = numbers.cast(pl.String) if written is None else written(numbers)
    if names is None:
        return None
    if counts[missing]:
        names = _with_missing(names)
    order = names.arg_sort(nulls_last=True).to_numpy()
    dense = np.zeros(missing + 1, dtype=np.min_scalar_type(len(used) - 1))
    dense[used[order]] = np.arange(len(used))
    narrow = np.empty(len(column), dtype=dense.dtype)
    for part in parts:
        dense.take(_shifted(column[part], low, missing), out=narrow[part], mode="clip")
    return Encoded(narrow, labels_of(names.gather(order)), counts[used[order]])


def _shifted(column: pl.Series, low: int, missing: int) -> NDArray[np.int64]:
    """How far above the lowest every whole number is; ``missing`` where there is none."""
    if not column.null_count():
        return column.cast(pl.Int64).to_numpy() - low
    shifted = column.fill_null(low).cast(pl.Int64).to_numpy() - low
    shifted[column.is_null().to_numpy()] = missing
    return shifted


def code_type(count: int) -> np.dtype[Any]:
    """The narrowest type of the codes 0 to ``count`` − 1.

    >>> code_type(256), code_type(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(max(1, count) - 1)


def parts_of(column: Column) -> tuple[str, ...]:
    """Names of the columns that a column or a combination is made of.

    >>> parts_of("illness"), parts_of(("illness", "income"))
    (('illness',), ('illness', 'income'))
    """
    return (column,) if isinstance(column, str) else column


def encode_column(dataset: Table, column: Column) -> Encoded:
    """Encode a column of a table, or the combination of several: the values that occur together are
    one value.
    """
    if isinstance(column, str):
        single = dataset.encoded(column)
        if is_one_record_each(dataset.copies):
            return single
        counts = tallied(single.codes, len(single.labels), dataset.copies)
        return dataclasses.replace(single, counts=counts)
    encoded = [dataset.encoded(name) for name in column]
    codes = np.zeros(len(dataset), dtype=np.int64)
    labels: list[tuple[str | None, ...]] = [()]
    for (
        part
    ) in encoded:  # renumbered after each part: the product of all domains may not fit a word
        shifted_codes = codes * max(1, len(part.labels)) + part.codes
        used, codes = np.unique(shifted_codes, return_inverse=True)
        before = [divmod(pair, max(1, len(part.labels))) for pair in used.tolist()]
        labels = [(*labels[before_code], part.labels[own_code]) for before_code, own_code in before]
    counts = tallied(codes, len(labels), dataset.copies)
    return Encoded(codes, tuple(joint_label(parts) for parts in labels), counts)


def one_record_each(rows: int) -> NDArray[np.int64]:
    """The ``copies`` of a table each of whose rows is one record: ones that all lie in the same
    place and take no room.
    """
    return np.broadcast_to(np.int64(1), rows)


def is_one_record_each(copies: NDArray[np.int64] | None) -> bool:
    """Whether every row surely is one record: None, or what :func:`one_record_each` gave.

    >>> (
    ...     is_one_record_each(None),
    ...     is_one_record_each(one_record_each(3)),
    ...     is_one_record_each(np.array([1, 1])),
    ... )
    (True, True, False)
    """
    return copies is None or (copies.strides == (0,) and copies.size > 0 and int(copies[0]) == 1)


def tallied(
    codes: NDArray[Any], groups: int, copies: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """How many records have each code; every row is one, or stands for so many.

    >>> tallied(np.array([0, 1, 0]), 2, np.array([5, 1, 2])).tolist()
    [7, 1]
    """
    if copies is not None and is_one_record_each(copies):
        copies = None
    # numpy widens the codes it counts
    if copies is None and len(codes) > kernels.keys.FEW and codes.dtype.kind == "u":
        counts: NDArray[np.int64] = kernels.keys.count_codes(codes, groups)
        return counts
    if copies is None:
        return np.bincount(codes, minlength=groups)
    # exact up to 2⁵³ records
    return np.bincount(codes, weights=copies, minlength=groups).astype(np.int64)


def alike(dataset: Table, columns: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number rows alike that have the same values in some columns: the number of every row, and the
    first row of each.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> [found.tolist() for found in alike(Table(pl.DataFrame({"a": [1, 2, 1]})), ["a"])]
    [[0, 1, 0], [0, 1]]
    """
    codes = np.stack([dataset.encoded(name).codes for name in columns], axis=1)
    ids, first = kernels.keys.group(codes.astype(np.uint64))
    return ids.astype(np.int64), first.astype(np.int64)


def value_counts(dataset: Table, column: Column) -> dict[str | None, int]:
    """How often each value of a column, or each combination of values of several, occurs."""
    encoded = encode_column(dataset, column)
    return dict(zip(encoded.labels, encoded.counts.tolist(), strict=True))


def joint_label(parts: tuple[str | None, ...]) -> str | None:
    """The label of a combination, different for different parts; missing where every part is."""
    if all(part is None for part in parts):
        return None
    return SEPARATOR.join(
        "-" if part is None else "=" + part.replace(SEPARATOR, 2 * SEPARATOR) for part in parts
    )


def parts_of_label(text: str | None, columns: int) -> tuple[str | None, ...]:
    """What :func:`joint_label` put together, apart again.

    >>> parts_of_label(joint_label(("a", None)), 2)
    ('a', None)
    """
    if text is None:
        return (None,) * columns
    parts = re.split(f"(?<!{SEPARATOR}){SEPARATOR}(?=[-=])", text.replace(2 * SEPARATOR, "\0"))
    return tuple(None if part == "-" else part[1:].replace("\0", SEPARATOR) for part in parts)


# Columns of numbers: as arrays to compute with, and back.


def numbers_of(dataset: Table, name: str) -> NDArray[np.float64]:
    """A column as floating-point numbers; missing is NaN. Text that holds numbers only is read as
    numbers.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> numbers_of(Table(pl.DataFrame({"a": [1, None]})), "a").tolist()
    [1.0, nan]
    """
    column = dataset.column(name)
    if column.dtype == pl.Boolean or not (
        column.dtype.is_numeric() or column.dtype in (pl.String, pl.Null)
    ):
        raise SchemaError(
            f"column {name!r} of {dataset.source.name} must hold numbers, but it holds "
            f"{column.dtype}; convert it"
        )
    read = column.cast(pl.Float64, strict=False)
    lost = read.null_count() - column.null_count()
    if lost:
        raise SchemaError(
            f"column {name!r} of {dataset.source.name} must hold numbers; {lost:,} value(s) are "
            "not numbers: correct them or make them missing"
        )
    values = np.array(read.fill_null(float("nan")).to_numpy(), dtype=np.float64)
    if np.isinf(values).any():
        raise SchemaError(
            f"column {name!r} of {dataset.source.name} holds infinite values; remove them first"
        )
    return values


def as_column(
    name: str, values: NDArray[np.float64], like: pl.Series, *, whole: bool | None = None
) -> pl.Series:
    """Numbers as a column again, of the type the column had where that holds them.

    NaN is missing. Single-precision numbers stay so; columns of whole numbers stay so where
    ``whole`` says it (None: exactly when the column had an integer type and all values still are
    whole), in their own width or, where a value does not fit into it, in 64 bits.
    """
    present = ~np.isnan(values)
    series = pl.Series(name, values, dtype=pl.Float64).fill_nan(None)
    integral = like.dtype.is_integer()
    if whole is None:
        whole = integral and bool((values[present] == np.rint(values[present])).all())
    if not whole:
        if like.dtype == pl.Float32:
            return _narrowed(series, like.dtype)
        return series
    series = series.round(0)
    small = bool((np.abs(values[present]) < 2.0**63).all())  # larger ones have no whole-number type
    if integral and small:
        return _narrowed(series.cast(pl.Int64), like.dtype)
    return series


def _narrowed(numbers: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The numbers in a narrower type, unless one is beyond it."""
    narrow = numbers.cast(dtype, strict=False)
    lost = narrow.null_count() != numbers.null_count() or (
        dtype.is_float() and not narrow.is_finite().all()
    )
    return numbers if lost else narrow


NUMERAL = re.compile(r"-?(?:0|[1-9]\d*)\.\d+|-0", re.ASCII)


def shortest_spelling(text: str) -> str:
    """A decimal in its shortest spelling; any other text as it is.

    >>> (
    ...     shortest_spelling("1.50"),
    ...     shortest_spelling("2.0"),
    ...     shortest_spelling("01"),
    ...     shortest_spelling("1.5.2024"),
    ... )
    ('1.5', '2', '01', '1.5.2024')
    """
    if NUMERAL.fullmatch(text) is None:
        return text
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if short in ("-0", "") else short


def mapped_text(column: pl.Series, spell: Callable[[str | None], str | None]) -> pl.Series:
    """A column of text, every distinct cell by itself."""
    encoded = encode(column)
    labels = pl.Series(column.name, [spell(text) for text in encoded.labels], dtype=pl.String)
    return labels.gather(encoded.codes)
