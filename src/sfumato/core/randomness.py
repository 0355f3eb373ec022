"""One stream of randomness a release, keyed by a seed that stays with the owner.

Streams are counter-based (Philox): each is derived from the seed and the name of what draws from
it, so no step changes the draws of another, and nothing draws from global state.

What is drawn for a record is keyed by what the record says (:class:`Marks`), not by where
it stands: the counter is the key of the row and its number among equal rows. So a record gets the
same draw whatever the order of the rows, the kind of frame, the engine that holds them and the
pieces in which they come.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import operator
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

SEED_BITS = 128
REHEARSAL_BITS = 64
"""Seeds shorter than this can be guessed: a release made with one is a rehearsal."""


@dataclasses.dataclass(frozen=True, repr=False)
class Seed:
    """A secret number. Its text is hexadecimal and is written only to the owner's folder."""

    value: int

    def __post_init__(self) -> None:
        if not 0 <= self.value < 1 << SEED_BITS:
            raise ParameterError(f"a seed must be a whole number from 0 to 2^{SEED_BITS} − 1")

    def __repr__(self) -> str:
        return f"Seed(<secret>, rehearsal={self.rehearsal})"

    @classmethod
    def fresh(cls) -> Seed:
        """A new seed from the system's source of randomness."""
        return cls(secrets.randbits(SEED_BITS) | 1 << (SEED_BITS - 1))

    @classmethod
    def of(cls, seed: int | str | Seed | None) -> Seed:
        """A seed from a number, from hexadecimal text, or a fresh one."""
        if isinstance(seed, Seed):
            return seed
        if seed is None:
            return cls.fresh()
        try:
            if isinstance(seed, str):
                value = int(seed, 16)
            else:
                value = operator.index(seed)
        except ValueError:
            raise ParameterError("a seed given as text must be hexadecimal") from None
        except TypeError:
            raise ParameterError(
                "a seed must be a whole number, hexadecimal text, or None for a fresh one"
            ) from None
        return cls(value)

    @property
    def rehearsal(self) -> bool:
        """Whether the seed is short enough to be guessed."""
        return self.value < 1 << REHEARSAL_BITS

    @property
    def text(self) -> str:
        """Hexadecimal text, for the owner's lock file."""
        return f"{self.value:032x}"

    def stream(self, purpose: str) -> np.random.Generator:
        """The stream of one purpose; the same seed and purpose give the same draws on every
        machine.

        >>> int(Seed(7).stream("shuffle").integers(1000)) == int(
        ...     Seed(7).stream("shuffle").integers(1000)
        ... )
        True
        """
        return np.random.Generator(np.random.Philox(key=self._key(purpose)))

    def keyed(self, purpose: str) -> Keyed:
        """The draws of one purpose for records by their marks."""
        return Keyed(self._key(purpose))

    def _key(self, purpose: str) -> int:
        message = self.value.to_bytes(16, "big") + purpose.encode()
        digest = hashlib.sha256(message).digest()
        return int.from_bytes(digest[:16], "big")


# What a row says, as a number.

NOTHING = np.uint64(0x6D697373696E6721)
"""The key of a cell without a value."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FITS = 2.0**63
"""Numbers below this in size are whole numbers of 64 bits where they are whole."""


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words whose bits all depend on all bits of the given ones (the finalizer of SplitMix64, a
    permutation).
    """
    hashes = words + GOLDEN
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)
    return hashes


def cell_keys(dataset: Table, name: str) -> NDArray[np.uint64]:
    """A number of 64 bits for every cell of a column: equal values have equal ones, whatever frame
    they came in.

    Whole numbers are alike as integers and as floating-point numbers; dates and times are alike in
    any unit down to microseconds, and as the text that stands for them in a file; categories are
    text. Missing and NaN are one value, and so are 0 and −0.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> table = Table(pl.DataFrame({"a": [1, None], "b": [1.0, float("nan")]}))
    >>> cell_keys(table, "a").tolist() == cell_keys(table, "b").tolist()
    True
    """
    column = dataset.column(name)
    if column.dtype == pl.Null:
        return np.full(len(column), NOTHING)
    if column.dtype in (pl.Date, pl.Datetime):
        return _keys_of_text(_written_days(column))
    if column.dtype.is_temporal():
        column = column.to_physical() // (1000 if column.dtype == pl.Time else 1)
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return _keys_of_numbers(column)
    if column.dtype == pl.String and name not in dataset.known.codes:
        return _keys_of_text(column)
    encoded = dataset.encoded(name)
    return _hashed(encoded.labels)[encoded.codes]


def _written_days(column: pl.Series) -> pl.Series:
    """Days as text of the form 2024-02-28, moments as 2024-02-28T23:05:00.000000: as they stand in
    files of text.
    """
    if column.dtype == pl.Date:
        moments = column.cast(pl.Datetime)
    else:
        moments = column.dt.cast_time_unit("us")
    texts = moments.dt.to_string("%Y-%m-%dT%H:%M:%S%.6f").str.strip_suffix("T00:00:00.000000")
    zone = getattr(column.dtype, "time_zone", None)
    if zone is None:
        return texts
    # In autumn an hour comes twice on the clock. The second one is another moment, so it is marked.
    clock = moments.dt.replace_time_zone(None)
    is_second = clock.dt.replace_time_zone(zone, ambiguous="earliest") != moments
    marked = pl.when(is_second.fill_null(False)).then(texts + "+").otherwise(texts)
    return pl.select(marked).to_series()


def _keys_of_numbers(column: pl.Series) -> NDArray[np.uint64]:
    gaps = column.is_null().to_numpy()
    if column.dtype == pl.Boolean or (
        column.dtype.is_integer() and column.dtype not in (pl.UInt64, pl.Int128)
    ):
        whole_numbers = column.cast(pl.Int64).fill_null(0).to_numpy()
        keys = mixed(whole_numbers.view(np.uint64))
    else:
        numbers = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        gaps = gaps | np.isnan(numbers)
        whole = (np.abs(numbers) < FITS) & (numbers == np.rint(numbers))
        keys = np.array(numbers, dtype=np.float64).view(np.uint64) ^ NOTHING
        keys[whole] = numbers[whole].astype(np.int64).view(np.uint64)
        keys = mixed(keys)
    keys[gaps] = NOTHING
    return keys


def _keys_of_text(column: pl.Series) -> NDArray[np.uint64]:
    values = column.unique()
    table = pl.DataFrame({"text": values, "key": _hashed(values.to_list())})
    rows = pl.DataFrame({"text": column})
    keyed = rows.join(table, on="text", how="left", nulls_equal=True, maintain_order="left")
    return np.array(keyed["key"].to_numpy(), dtype=np.uint64)


def _hashed(labels: Sequence[str | None]) -> NDArray[np.uint64]:
    """Eight bytes of BLAKE2b of every text."""
    bytes_of = (
        b"" if v is None else hashlib.blake2b(v.encode(), digest_size=8).digest() for v in labels
    )
    numbers = (
        int(NOTHING) if not digest else int.from_bytes(digest, "little") for digest in bytes_of
    )
    return np.fromiter(numbers, dtype=np.uint64, count=len(labels))


def row_keys(dataset: Table, columns: Iterable[str] | None = None) -> NDArray[np.uint64]:
    """A number of 64 bits for every row: the keys of its cells, folded over the sorted names of
    some columns or all.

    Two different rows of *n* share one with a chance of about n²/2⁶⁵ in the whole table; then they
    count as equal rows.
    """
    keys = np.zeros(len(dataset), dtype=np.uint64)
    for name in sorted(dataset.columns if columns is None else columns):
        keys = mixed(keys ^ cell_keys(dataset, name))
    return keys


def numbered(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The number of every key among those that equal it: 0, 1, … in the order in which they come.

    >>> import numpy as np
    >>> numbered(np.array([7, 3, 7, 7], dtype=np.uint64)).tolist()
    [0, 0, 1, 2]
    """
    order: NDArray[np.int64] = np.argsort(keys, kind="stable")
    before_first = ~keys[order[:1]]
    fresh = np.flatnonzero(np.diff(keys[order], prepend=before_first))
    group_starts = np.repeat(fresh, np.diff(np.append(fresh, len(keys))))
    rank = np.arange(len(keys)) - group_starts
    numbers = np.empty(len(keys), dtype=np.uint64)
    numbers[order] = rank
    return numbers


class Marks:
    """What the draws of records are keyed by: the key of each row, and its number among equal rows.

    Equal rows are interchangeable, so it does not matter which of them has which number. Both are
    worked out when something is drawn, and not before.
    """

    def __init__(self, find: Callable[[], tuple[NDArray[np.uint64], NDArray[np.uint64]]]) -> None:
        self._find = find

    @classmethod
    def of(cls, dataset: Table) -> Marks:
        """The marks of a table: those its rows were given, or those of the table as it is."""
        if dataset.marks is not None:
            return dataset.marks
        if "marks" not in dataset.memo:
            dataset.memo["marks"] = cls.now(dataset)
        marks: Marks = dataset.memo["marks"]
        return marks

    @classmethod
    def now(cls, dataset: Table) -> Marks:
        """The marks of the rows of a table as they are."""

        def find() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
            keys = row_keys(dataset)
            return keys, numbered(keys)

        return cls(find)

    @classmethod
    def of_keys(cls, keys: NDArray[np.uint64], numbers: NDArray[np.uint64]) -> Marks:
        """Marks that are known."""
        return cls(lambda: (keys, numbers))

    @functools.cached_property
    def _keys_and_numbers(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return self._find()

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys of the rows."""
        return self._keys_and_numbers[0]

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """The numbers of the rows among those that equal them."""
        return self._keys_and_numbers[1]

    def taken(self, rows: NDArray[np.int64]) -> Marks:
        """The marks of some rows."""
        return Marks(lambda: (self.keys[rows], self.numbers[rows]))

    @property
    def order(self) -> NDArray[np.int64]:
        """Positions of the rows by their marks: an order that depends on what rows say alone."""
        return np.lexsort((self.numbers, self.keys)).astype(np.int64)


def marked(dataset: Table) -> Table:
    """A table whose rows keep the marks they have now, whatever steps make of them."""
    return dataset.with_marks(Marks.now(dataset))


# Draws for records by their marks.

FEW = 20_000
"""Records up to which drawing does without loading a loop."""


@dataclasses.dataclass(frozen=True, repr=False)
class Keyed:
    """The draws of one purpose: Philox4x64-10 with a key of 128 bits, and the marks of a record as
    its counter.

    ``number`` tells several draws of one record apart.
    """

    key: int

    def words(self, marks: Marks, number: int = 0) -> NDArray[np.uint64]:
        """64 random bits a record; as numpy's ``Philox(key=..., counter=...)`` gives them."""
        low, high = self.key & (1 << 64) - 1, self.key >> 64
        if len(marks.keys) <= FEW:
            return _philox(low, high, marks, number)
        key = np.array([low, high], dtype=np.uint64)
        words: NDArray[np.uint64] = kernels.philox.draw_words(
            key, marks.keys, marks.numbers, np.uint64(number)
        )
        return words

    def uniforms(self, marks: Marks, number: int = 0) -> NDArray[np.float64]:
        """Multiples of 2⁻⁵³ from 0 up to below 1."""
        high_bits = self.words(marks, number) >> np.uint64(11)
        return high_bits.astype(np.float64) * 2.0**-53

    def normals(self, marks: Marks, number: int = 0) -> NDArray[np.float64]:
        """Standard normal numbers: the quantiles at odd multiples of 2⁻⁵⁴, none of which is 0
        or 1.
        """
        from scipy.special import ndtri

        uniforms = self.uniforms(marks, number) + 2.0**-54
        normals: NDArray[np.float64] = ndtri(np.minimum(uniforms, 1 - 2.0**-53))
        return normals


def _philox(low: int, high: int, marks: Marks, number: int) -> NDArray[np.uint64]:
    """The first word of Philox4x64-10 in plain numpy: as the loop gives it."""
    first, second = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
    a, b = marks.keys, marks.numbers
    c, d = np.full(len(a), number, dtype=np.uint64), np.zeros(len(a), dtype=np.uint64)
    for turn in range(10):
        k = np.uint64((low + turn * 0x9E3779B97F4A7C15) % (1 << 64))
        m = np.uint64((high + turn * 0xBB67AE8584CAA73B) % (1 << 64))
        next_a = _high(c, second) ^ b ^ k
        next_c = _high(a, first) ^ d ^ m
        a, b, c, d = next_a, c * second, next_c, a * first
    return a


def _high(a: NDArray[np.uint64], b: np.uint64) -> NDArray[np.uint64]:
    """The upper 64 bits of products."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    cross = a0 * b1 + (middle & low)
    upper: NDArray[np.uint64] = a1 * b1 + (middle >> half) + (cross >> half)
    return upper


# Marks of a table that comes in pieces.


class Repeats:
    """Keys of rows that occur more than once, found in one pass over the rows of a table.

    A filter of 16 to 32 bits a row tells which keys were seen before: all that come again, and a
    few more, which does no harm.
    """

    def __init__(self, rows: int) -> None:
        length_bits = math.ceil(math.log2(max(1, rows) / 4))
        self.bits = np.zeros(1 << max(4, length_bits), dtype=np.uint64)
        self.again: list[NDArray[np.uint64]] = []

    def see(self, rows: Table) -> None:
        """Look at some rows."""
        keys = row_keys(rows)
        repeats = np.unique(keys[kernels.philox.mark_repeats(self.bits, keys)])
        self.again.append(repeats)

    def learnt(self) -> NDArray[np.uint64]:
        """The keys that come again, sorted."""
        if self.again:
            return np.unique(np.concatenate(self.again))
        return np.zeros(0, dtype=np.uint64)


class Numbering:
    """Gives the rows of a table marks, piece by piece, in one pass; ``repeats`` are the keys that
    occur more than once.
    """

    def __init__(self, repeats: NDArray[np.uint64]) -> None:
        self.repeats, self.seen = repeats, np.zeros(len(repeats), dtype=np.uint64)
        self.lock = threading.Lock()

    def marked(self, rows: Table) -> Table:
        """The rows with their marks: numbers go on where those of the rows before ended."""
        keys = row_keys(rows)
        numbers = np.zeros(len(keys), dtype=np.uint64)
        if len(self.repeats):
            positions = np.searchsorted(self.repeats, keys)
            positions = np.minimum(positions, len(self.repeats) - 1)
            hit = np.flatnonzero(self.repeats[positions] == keys)
            hits_of_keys = np.bincount(positions[hit], minlength=len(self.seen))
            within, counts = (numbered(keys[hit]), hits_of_keys.astype(np.uint64))
            with self.lock:
                numbers[hit] = self.seen[positions[hit]] + within
                self.seen += counts
        return rows.with_marks(Marks.of_keys(keys, numbers))


# An order of the rows that depends on what they say and not on how they came in.
#
# Steps that take all records at once (swapping, microaggregation) draw in this order, so that the
# same table gives the same release whatever the kind of frame or the order of its rows. Equal rows
# are interchangeable: which of them comes first changes nothing that is released.


def canonical_order(dataset: Table) -> NDArray[np.int64]:
    """Positions of the rows from the first to the last, sorted by all columns in the order of their
    names.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> canonical_order(Table(pl.DataFrame({"b": [1, 2, 0], "a": ["y", "x", "y"]}))).tolist()
    [1, 2, 0]
    """
    if "canonical order" not in dataset.memo:
        columns = {}
        for i, name in enumerate(sorted(dataset.columns)):
            columns[f"c{i}"] = comparable(dataset.column(name))
        if columns and len(dataset):
            positions = (
                pl.DataFrame(columns)
                .select(pl.arg_sort_by(list(columns), nulls_last=True))
                .to_series()
                .to_numpy()
            )
        else:
            positions = np.arange(len(dataset))
        dataset.memo["canonical order"] = positions.astype(np.int64)
    order: NDArray[np.int64] = dataset.memo["canonical order"]
    return order


def comparable(column: pl.Series) -> pl.Series:
    """A column that sorts alike whatever frame it came from: one kind of missing, text for
    categories.
    """
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime("us"))
    return column


def placed_back(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Values given in canonical order, in the order of the rows."""
    placed = np.empty_like(values)
    placed[order] = values
    return placed
