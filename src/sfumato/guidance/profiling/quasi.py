r"""How well columns single people out, and which few of them do it together.

With *n* records in classes of sizes :math:`n_1, n_2, \dots` (records with equal values; missing
equals missing):

.. math::

    \text{uniqueness} = \frac{|\{c : n_c = 1\}|}{n}, \qquad
    \text{separation} = 1 - \frac{\sum_c n_c (n_c - 1)}{n (n - 1)}

Uniqueness is the share of records that are alone; separation is the share of pairs of records told
apart. Both are exact, by one group-by.

Reference: Motwani and Xu 2007, Efficient algorithms for masking and finding quasi-identifiers.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sizes = Sequence[int] | NDArray[np.int64]

# Columns the search for an identifying set looks at, the best separating ones first.
MOST_COLUMNS = 64


@dataclasses.dataclass(frozen=True)
class QuasiCandidate:
    """A column an intruder may know: how far it separates records and whether its name speaks for
    it.
    """

    name: str
    concept: str | None
    uniqueness: float
    separation: float

    @property
    def strength(self) -> float:
        """Mean of uniqueness and separation: what the ranking goes by among columns of equal
        standing.
        """
        return (self.uniqueness + self.separation) / 2


@dataclasses.dataclass(frozen=True)
class IdentifyingSet:
    """Columns that single records out together; ``reached``: whether they attain what was asked
    for.
    """

    columns: tuple[str, ...]
    uniqueness: float
    separation: float
    reached: bool


def uniqueness(sizes: Sizes) -> float:
    """Share of records that are alone in their class; 0 without records.

    >>> uniqueness([1, 1, 3])
    0.4
    """
    counts = np.asarray(sizes, dtype=np.int64)
    if counts.sum():
        return float((counts == 1).sum() / counts.sum())
    return 0.0


def separation(sizes: Sizes) -> float:
    """Share of pairs of records in different classes; 0 where there is no pair.

    >>> separation([2, 1, 2])
    0.8
    """
    counts = np.asarray(sizes, dtype=np.int64)
    records = int(counts.sum())
    if records > 1:
        return 1 - _pairs(counts) / (records * (records - 1) // 2)
    return 0.0


def _pairs(counts: NDArray[np.int64]) -> int:
    return int((counts * (counts - 1)).sum()) // 2


def class_sizes(frame: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Sizes of the classes of records that agree on some columns; no column: all records are one
    class.
    """
    if not columns or not frame.height:
        return np.array([frame.height] if frame.height else [], dtype=np.int64)
    renamed = pl.DataFrame(
        [comparable(frame.get_column(name)).alias(str(i)) for i, name in enumerate(columns)]
    )
    return (
        renamed.group_by(pl.all())
        .agg(pl.len().alias("len"))
        .get_column("len")
        .to_numpy()
        .astype(np.int64)
    )


def rank(candidates: Sequence[QuasiCandidate]) -> tuple[QuasiCandidate, ...]:
    """Candidates from most to least dangerous: named ones first, then
    by :attr:`QuasiCandidate.strength`.
    """
    return tuple(sorted(candidates, key=lambda c: (c.concept is None, -c.strength)))


def smallest_identifying_set(
    frame: pl.DataFrame,
    columns: Sequence[str],
    *,
    uniqueness: float | None = None,
    separation: float | None = None,
) -> IdentifyingSet:
    """A small set of columns whose uniqueness and separation are at least those asked for.

    Greedy: add the column that parts most of the pairs not yet parted, then drop what is no longer
    needed. The smallest set is NP-hard to find; for separation the greedy one is larger by a factor
    of O(ln n) at most (Motwani and Xu 2007). Pairs parted are a submodular count, so a gain
    computed earlier bounds the gain now and most columns need not be counted again; records already
    alone leave the count. Of equals the column that comes first wins. If no set attains the goal,
    ``reached`` is False and all columns that help are returned.
    """
    if uniqueness is None and separation is None:
        raise ParameterError(
            "smallest_identifying_set: give a target for uniqueness, separation or both (0 to 1)"
        )
    goal = _Goal(uniqueness or 0.0, separation or 0.0)
    parting = _Parting.of(frame, columns)
    coded = as_frame(parting.columns, columns)
    names = [columns[i] for i in _greedy(parting, goal)]
    identifying = goal.result(coded, names)
    # adding columns never lowers either share: where all together miss the goal, so does every part
    # of them
    if identifying.reached:
        return goal.result(coded, _without_idle(coded, names, goal))
    return identifying


def as_frame(coded: Sequence[Codes], names: Sequence[str]) -> pl.DataFrame:
    """Columns as whole numbers, which group faster than texts."""
    return pl.DataFrame({name: codes.of for name, codes in zip(names, coded, strict=True)})


@dataclasses.dataclass(frozen=True)
class _Goal:
    uniqueness: float
    separation: float

    def met(self, uniqueness: float, separation: float) -> bool:
        return uniqueness >= self.uniqueness and separation >= self.separation

    def result(self, frame: pl.DataFrame, columns: Sequence[str]) -> IdentifyingSet:
        sizes = class_sizes(frame, columns)
        alone, apart = uniqueness(sizes), separation(sizes)
        return IdentifyingSet(tuple(columns), alone, apart, self.met(alone, apart))


@dataclasses.dataclass
class _Parting:
    """Records not yet alone: their class by the columns chosen so far, and the codes of all
    columns.
    """

    columns: list[Codes]
    classes: Codes
    records: int
    pairs: int

    @classmethod
    def of(cls, frame: pl.DataFrame, columns: Sequence[str]) -> _Parting:
        coded = [codes_of(comparable(frame.get_column(name))) for name in columns]
        records = frame.height
        return cls(
            coded,
            Codes(np.zeros(records, dtype=np.int64), 1),
            records,
            records * (records - 1) // 2,
        )

    def pairs_after(self, column: int) -> int:
        """Pairs still together when a column is added."""
        return _pairs(self._joined(column).counts())

    def add(self, column: int, pairs: int) -> None:
        """Add a column and let go of the records it leaves alone."""
        joined = self._joined(column).dense()
        shared = joined.counts()[joined.of] > 1
        self.classes = Codes(joined.of[shared], joined.size).dense()
        self.columns = [Codes(codes.of[shared], codes.size) for codes in self.columns]
        self.pairs = pairs

    def _joined(self, column: int) -> Codes:
        codes = self.columns[column]
        return Codes(self.classes.of * codes.size + codes.of, self.classes.size * codes.size)

    @property
    def uniqueness(self) -> float:
        if self.records:
            return (self.records - len(self.classes.of)) / self.records
        return 0.0

    @property
    def separation(self) -> float:
        every = self.records * (self.records - 1) // 2
        return 1 - self.pairs / every if every else 0.0


@dataclasses.dataclass(frozen=True)
class Codes:
    """Records as whole numbers from 0 to ``size`` - 1."""

    of: NDArray[np.int64]
    size: int

    @property
    def compact(self) -> bool:
        """Whether a slot for every code costs no more than sorting the records."""
        return self.size <= 8 * len(self.of) + 1024

    def counts(self) -> NDArray[np.int64]:
        """How often codes occur; by code where that is compact, in any order otherwise."""
        if self.compact:
            return np.bincount(self.of, minlength=self.size)
        return np.unique(self.of, return_counts=True)[1]

    def dense(self) -> Codes:
        """The same partition with codes that all occur."""
        if not self.compact:
            occurring, inverse = np.unique(self.of, return_inverse=True)
            return Codes(inverse.astype(np.int64), len(occurring))
        occurs = np.bincount(self.of, minlength=self.size) > 0
        return Codes((np.cumsum(occurs) - 1)[self.of], int(occurs.sum()))


def codes_of(values: pl.Series) -> Codes:
    """The partition a column makes; missing is a value of its own."""
    return _codes_of_whole(values) or _codes_of_any(values)


def _codes_of_whole(values: pl.Series) -> Codes | None:
    """Whole numbers of a small range are codes already; None for anything else."""
    if not values.dtype.is_integer() or values.null_count() == values.len():
        return None
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]
    if high - low > 4 * values.len():
        return None
    return Codes((values.cast(pl.Int64) - low + 1).fill_null(0).to_numpy(), high - low + 2)


def _codes_of_any(values: pl.Series) -> Codes:
    """The row in which a value comes first stands for it."""
    first = pl.col("row").first().over("value")
    rows = (
        values.alias("value")
        .to_frame()
        .with_row_index("row")
        .select(first.cast(pl.Int64))
        .to_series()
    )
    return Codes(rows.to_numpy(), values.len()).dense()


def _greedy(parting: _Parting, goal: _Goal) -> list[int]:
    positions: list[int] = []
    bounds = [(-parting.pairs, i, 0) for i in range(len(parting.columns))]
    heapq.heapify(bounds)
    sizes: dict[int, int] = {}
    while bounds and parting.pairs and not goal.met(parting.uniqueness, parting.separation):
        bound, column, step = heapq.heappop(bounds)
        if step != len(positions) + 1:  # the bound is from an earlier step: count again
            sizes[column] = parting.pairs_after(column)
            heapq.heappush(bounds, (sizes[column] - parting.pairs, column, len(positions) + 1))
        elif bound < 0:
            parting.add(column, sizes[column])
            positions.append(column)
    return positions


def _without_idle(frame: pl.DataFrame, columns: list[str], goal: _Goal) -> list[str]:
    """Drop, first chosen first, every column without which the goal is still met."""
    needed = list(columns)
    for column in columns[:-1]:
        fewer = [name for name in needed if name != column]
        if goal.result(frame, fewer).reached:
            needed = fewer
    return needed


def comparable(values: pl.Series) -> pl.Series:
    """Values that group-by understands: NaN is missing, Python objects count by their text."""
    if values.dtype.is_float():
        return values.fill_nan(None)
    if isinstance(values.dtype, pl.Object):
        return pl.Series(
            values.name, [None if v is None else str(v) for v in values.to_list()], dtype=pl.String
        )
    return values
