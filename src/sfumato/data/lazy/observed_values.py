"""What is learnt of the rows of a large table as they go by in batches: a sample, whether text is
free text, what all rows add up to.

Everything here depends on what the rows hold and on a key alone, not on their order, on the batches
in which they come, or on threads. Rows are told by a keyed hash of 64 bits of what they hold.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sfumato.core.free_text import HARDLY_REPEATS, words_of_free_text
from sfumato.errors import UnreadableInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.encoding import Encoded

DISTINCT = 1 << 14
"""Distinct texts of a column that are looked at; where there are more, those with the lowest
hashes.
"""
SURELY = 0.975
"""Three standard errors of the number of distinct texts, as it is told from so many: what may
hardly repeat is taken to.
"""
WORDS = 2**64


def hashes(rows: pl.DataFrame, key: int) -> pl.Series:
    """A keyed hash of what every row holds: categories as text, numbers and times whatever their
    width, 0 for −0.
    """
    return pl.DataFrame([_plain(column) for column in rows.iter_columns()]).hash_rows(key)


def _plain(column: pl.Series) -> pl.Series:
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if isinstance(column.dtype, pl.Datetime | pl.Duration):
        return column.dt.cast_time_unit("us")
    if column.dtype.is_float():
        return column.cast(pl.Float64) + 0.0
    # Widths differ between batches: an Int8 column in one may be Int64 in another.
    return column.cast(pl.Int64) if column.dtype.is_signed_integer() else column


def _apart(column: pl.Series) -> pl.Series:
    """A column in memory of its own: text that was filtered keeps all it was filtered from
    alive.
    """
    return (
        pl.Series(column.name, column.to_list(), dtype=pl.String)
        if column.dtype == pl.String
        else column
    )


class Shared:
    """What several threads add to, and workers elsewhere may send home: locks stay where they
    are.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=threading.Lock())


class SampledRows(Shared):
    """Some records of a table that goes by in batches: about ``size`` of them, or all where there
    are no more.

    The distinct rows with the lowest hashes are kept with the number of their copies: a row that is
    kept in the end was kept from the start, so its copies are all counted. Of the copies so many
    are taken that ``size`` records come out, a fraction of one by the bits of the row's hash: every
    record has the same chance.
    """

    def __init__(self, size: int, key: int) -> None:
        super().__init__()
        self.size, self.key = size, key
        self.below: int | None = None
        self.kept: pl.DataFrame | None = None

    def see(self, rows: pl.DataFrame) -> None:
        """Look at some rows; every row is seen once."""
        marks = hashes(rows, self.key)
        limit = self._limit(marks)
        # Rows at or above the limit cannot end among those that are kept, so they are dropped
        # early.
        low_rows = rows if limit is None else rows.filter(marks < limit)
        names = [
            str(number) for number in range(rows.width)
        ]  # the name of a column may mean something to a frame
        plain = pl.DataFrame(
            [_apart(c).alias(name) for name, c in zip(names, low_rows.iter_columns(), strict=True)]
        )
        below = marks if limit is None else marks.filter(marks < limit)
        # The limit was read without the lock. It only ever falls, so an old one keeps too many,
        # never too few; the merge cuts again.
        with self.lock:
            self._merge(
                plain.with_columns(pl.lit(1, dtype=pl.Int64).alias("copies"), below.alias("hash"))
            )
            self.columns = rows.columns

    def _limit(self, marks: pl.Series) -> int | None:
        """The hash below which rows of a batch may be kept."""
        threshold = self.below
        lowest = (marks if threshold is None else marks.filter(marks < threshold)).unique().sort()
        return int(lowest[self.size]) if len(lowest) > self.size else threshold

    def _merge(self, added: pl.DataFrame) -> None:
        all_rows = (
            added if self.kept is None else pl.concat([self.kept, added], how="vertical_relaxed")
        )
        if all_rows["hash"].n_unique() < all_rows.height:
            # Rows with one hash are taken for one row: two different ones collide with a chance of
            # 2⁻⁶⁴.
            alike = all_rows.group_by("hash").agg(
                pl.exclude("copies", "hash").first(), pl.col("copies").sum()
            )
            all_rows = alike.select(all_rows.columns)
        sorted_rows = all_rows.sort("hash")
        if sorted_rows.height > self.size:
            self.below = int(sorted_rows["hash"][self.size])
            sorted_rows = sorted_rows.head(self.size)
        self.kept = sorted_rows

    def merge(self, second: SampledRows) -> None:
        """Add what another one kept of other rows."""
        if second.kept is not None:
            self._merge(second.kept)
            self.columns = second.columns

    def taken(self) -> pl.DataFrame:
        """The records of the sample, in the order of their hashes."""
        if self.kept is None:
            return pl.DataFrame()
        copies, marks = self.kept["copies"].to_numpy(), self.kept["hash"].to_numpy()
        times = _thinned(copies, marks, self.size)
        rows = self.kept.drop("hash", "copies")[np.repeat(np.arange(len(times)), times)]
        return pl.DataFrame(
            [
                column.alias(name)
                for name, column in zip(self.columns, rows.iter_columns(), strict=True)
            ]
        )


def _thinned(copies: NDArray[np.int64], marks: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    """How many copies of each row are taken, so that about ``size`` are in all.

    >>> import numpy as np
    >>> _thinned(np.array([3, 1]), np.array([0, 0], dtype=np.uint64), 4).tolist()
    [3, 1]
    """
    total = int(copies.sum())
    if total <= size:
        return copies
    # The kept hashes are all low, so their bits are mixed by an odd constant (2⁶⁴ over the golden
    # ratio) before the top 53 become a fraction in [0, 1).
    fraction = (marks * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(11)).astype(
        np.float64
    ) * 2.0**-53
    copies_kept: NDArray[np.int64] = np.floor(copies * (size / total) + fraction).astype(np.int64)
    return copies_kept


class Texts(Shared):
    """Which columns of a table that goes by in batches hold free text: all cells are looked at.

    The distinct texts with the lowest hashes stand for all
    (see :func:`sfumato.core.free_text.words_of_free_text`); up to 16,384 they are all, beyond that
    their number is told from how low their hashes are. Where it is not sure that texts repeat, they
    do not.
    """

    def __init__(self, columns: Iterable[str], key: int, max_texts: int = DISTINCT) -> None:
        super().__init__()
        self.key, self.most = key, max_texts
        self.cells = dict.fromkeys(columns, 0)
        self.whole = set[str]()
        self.kept: dict[str, pl.DataFrame] = {}

    def see(self, rows: pl.DataFrame, codes: Mapping[str, Encoded] | None = None) -> None:
        """Look at some rows; every row is seen once. Of columns whose ``codes`` are known only the
        labels are looked at.
        """
        for name in self.cells:
            if name in self.whole:
                continue
            column, coded_column = rows.get_column(name), (codes or {}).get(name)
            if coded_column is not None and column.dtype == pl.String:
                labels = pl.Series(name, coded_column.labels, dtype=pl.String).drop_nulls()
                self._see(name, labels, len(column) - column.null_count())
                continue
            if isinstance(column.dtype, pl.Categorical | pl.Enum):
                column = column.cast(pl.String)
            if column.dtype == pl.String:
                self._see(name, column.drop_nulls(), len(column) - column.null_count())

    def see_whole(self, name: str, labels: pl.Series, cells: int) -> None:
        """Look at all labels of a column, none of them missing, that so many cells hold: no row
        says more of it.
        """
        self._see(name, labels, cells)
        self.whole.add(name)

    def _see(self, name: str, texts: pl.Series, cells: int) -> None:
        fresh = pl.DataFrame({"hash": texts.hash(self.key), "text": texts})
        texts_kept = self.kept.get(name)
        if texts_kept is not None and texts_kept.height == self.most:
            fresh = fresh.filter(pl.col("hash") < texts_kept["hash"][-1])
        self._add(name, fresh, cells)

    def _add(self, name: str, fresh: pl.DataFrame, cells: int) -> None:
        # Cells are counted by the caller: from here on every text counts once.
        fresh = fresh.unique("hash")
        fresh = pl.DataFrame([_apart(column) for column in fresh.iter_columns()])
        with self.lock:
            self.cells[name] += cells
            texts_kept = self.kept.get(name)
            all_texts = (
                fresh if texts_kept is None else pl.concat([texts_kept, fresh]).unique("hash")
            )
            self.kept[name] = all_texts.sort("hash").head(self.most)

    def merge(self, second: Texts) -> None:
        """Add what another one kept of other rows."""
        for name, texts in second.kept.items():
            self._add(name, texts, second.cells[name])

    def free(self) -> list[str]:
        """The columns that hold free text."""
        return [name for name in self.cells if name in self.kept and self._is_free(name)]

    def _is_free(self, name: str) -> bool:
        texts, cells = self.kept[name], self.cells[name]
        if texts.height < self.most:
            return words_of_free_text(texts["text"], cells) is not None
        # The k-th lowest of n even hashes lies near k/n of the range: 16,384th at 1% → 1.6 million
        # texts.
        distinct = (self.most - 1) / (max(1, int(texts["hash"][-1])) / WORDS)
        hardly = distinct / cells >= HARDLY_REPEATS * SURELY
        return hardly and words_of_free_text(texts["text"], texts.height) is not None


class Fingerprint(Shared):
    """What the rows of a table add up to: their number, and sums of keyed hashes of what they hold.

    Two tables with the same rows, in any order, have the same one; different ones share it with a
    chance of about 2⁻⁶⁴ a key where nobody knew the keys when the tables were made.
    """

    def __init__(self, columns: Sequence[str], keys: Sequence[int]) -> None:
        super().__init__()
        self.columns, self.keys = list(columns), tuple(keys)
        self.rows, self.sums = 0, [0] * len(keys)

    @classmethod
    def fresh(cls, columns: Sequence[str]) -> Fingerprint:
        """One under a key that nobody knew before."""
        return cls(columns, [secrets.randbits(63)])

    def see(self, rows: pl.DataFrame, copies: NDArray[np.int64] | None = None) -> None:
        """Add some rows, each so many times as ``copies`` says."""
        if not self.columns:
            with self.lock:
                self.rows += rows.height if copies is None else int(copies.sum())
            return
        # Who counts takes NaN for a missing value. Not by select, which reads a name `*` as all.
        own_columns = rows[list(self.columns)].with_columns(pl.selectors.float().fill_nan(None))
        row_hashes = [hashes(own_columns, key).to_numpy() for key in self.keys]
        times = (
            np.ones(rows.height, dtype=np.uint64) if copies is None else copies.astype(np.uint64)
        )
        with self.lock:
            self.rows += int(times.sum())
            self.sums = [
                # uint64 products wrap at 2⁶⁴, which is the modulus of the sums anyway.
                (old + int((new * times).sum(dtype=np.uint64))) % WORDS
                for old, new in zip(self.sums, row_hashes, strict=True)
            ]

    def merge(self, second: Fingerprint) -> None:
        """Add the rows of another one."""
        self.rows += second.rows
        self.sums = [(old + new) % WORDS for old, new in zip(self.sums, second.sums, strict=True)]

    @property
    def text(self) -> str:
        """All of it as hexadecimal text."""
        content = f"{self.columns}\n{self.rows}\n{self.sums}"
        return hashlib.sha256(content.encode()).hexdigest()


class Watch(Shared):
    """All that is learnt in the one pass in which rows are released."""

    def __init__(self, sample: SampledRows, texts: Texts, sums: Fingerprint | None = None) -> None:
        super().__init__()
        self.sample, self.texts, self.sums = sample, texts, sums
        self.rows = 0

    def see(self, rows: pl.DataFrame, codes: Mapping[str, Encoded] | None = None) -> None:
        """Look at some rows; every row is seen once. ``codes`` are those of columns of text, where
        they are known.
        """
        self.sample.see(rows)
        self.texts.see(rows, codes)
        with self.lock:
            self.rows += rows.height

    def see_as_held(self, rows: pl.DataFrame) -> None:
        """Look at some rows as they came, whatever is said of their values."""
        if self.sums is not None:
            self.sums.see(rows)

    def merge(self, second: Watch) -> None:
        """Add what another one saw of other rows."""
        self.sample.merge(second.sample)
        self.texts.merge(second.texts)
        if self.sums is not None and second.sums is not None:
            self.sums.merge(second.sums)
        self.rows += second.rows


class Handed(NamedTuple):
    """Released rows as they were handed over: the parts they were written to, what was seen of
    their originals, and how many there are.
    """

    parts: list[Path]
    watch: Watch
    rows: int


def changed(name: str) -> UnreadableInput:
    """The refusal of a table that is not the one that was counted: a release of it would keep no
    promise for sure.
    """
    return UnreadableInput(
        f"{name} changed while it was being released, so rows and counts disagree; nothing was "
        "released. Run again when nobody writes to it"
    )
