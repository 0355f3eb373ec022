"""What the nodes of a lattice keep under k-anonymity, where the finest table has very many classes.

Towers (:mod:`sfumato.methods.steps.recoding.rollup_cache`) roll tables up from finer ones. Where nearly every record is a class of its own, the finer tables
are as large as the data, and every climb hashes them. Here a node is counted from the classes directly: the columns
decided so far make groups, of which there are few since only feasible prefixes are followed, and groups and codes of the next column make cells
that are counted in a plain array. The levels of a column are taken from the top down; whoever is suppressed at a level is
suppressed at every lower one, so the first level beyond the budget ends it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.recoding.lattice import Lattice, Node
    from sfumato.methods.steps.recoding.rollup_cache import Prices

MANY_CLASSES = 100_000
"""Below this number of classes towers are quicker: their tables stay in the cache."""
MOST_CELLS = 1 << 24
"""So many cells are counted in an array, or four times as many as there are classes."""

FEW_CELLS = 16
"""Cells are remembered where there is at most one for so many classes: then all that are remembered are small beside these."""


def counts_directly(lattice: Lattice) -> bool:
    """Whether the nodes of a lattice are counted from its classes: there are many, with keys of one word."""
    base = lattice.base
    return len(base) >= MANY_CLASSES and base.keys.shape[1] == 1 and lattice.records < 2**31


@dataclasses.dataclass(frozen=True, eq=False)
class _Groups:
    """The groups that a prefix makes: of every class its group, and by group its records and what its cells cost.

    ``counted`` holds cells of the next column that were counted, by its level, for whoever decides on one of them.
    """

    prefix: Node
    ids: NDArray[np.uint32]
    amounts: NDArray[np.int32]
    costs: NDArray[np.float64]
    counted: dict[int, NDArray[np.int32]] = dataclasses.field(default_factory=dict)


class NodeCounts:
    """Counts nodes from the classes of a lattice; answers like ``Peaks``."""

    def __init__(self, lattice: Lattice, k: int, prices: Prices) -> None:
        self.lattice, self.k, self.prices = lattice, k, prices
        # of millions of numbers few hundred ranges are left where a search begins, and these are looked up in the cache
        base = lattice.base.climbed(dict(zip(lattice.columns, lattice.low, strict=True)))
        self._levels = base.levels
        self._keys = base.keys.reshape(-1)
        self._records = base.records.astype(np.int32)
        everybody = np.array([lattice.records], dtype=np.int32)
        ids = np.zeros(len(base), dtype=np.uint32)
        self._stack = [_Groups((), ids, everybody, np.zeros((1, prices.features)))]
        self._climbs: dict[tuple[int, int], NDArray[Any]] = {}
        self._last_ends: dict[int, int] = {}
        """By column, the level that was beyond the budget last time: it is likely to be so again."""

    def at(self, prefix: Node) -> tuple[list[list[int]], list[list[float]]]:
        """By level of the next column: what ``Tower`` tallies. A level beyond the budget says no more than that."""
        a, lattice = len(prefix), self.lattice
        groups = self._groups(prefix)
        low, high = lattice.low[a], lattice.high[a]
        whole = np.zeros((high - low + 1, 4), dtype=np.int64)
        lost = np.zeros((high - low + 1, 1 + self.prices.features))
        whole[:, 0] = lattice.budget + 1
        lower_cells = self._counted_first(groups, a)
        for level in range(high, low - 1, -1):
            counts = self._counted_above(lower_cells, groups, a, level)
            if counts is None:
                self._tally_many(groups, a, level, whole[level - low], lost[level - low])
            else:
                size, cells = self._size(a, level), self.prices.cells[a][level]
                args = (counts, size, self.k, cells, groups.costs, whole[level - low], lost[level - low])
                kernels.node_counts.tally_cells(*args)
            if whole[level - low, 0] > lattice.budget:
                self._last_ends[a] = level
                break
            if counts is not None and counts.size <= len(self._keys) // FEW_CELLS:
                groups.counted[level] = counts
        return whole.tolist(), lost.tolist()

    def _counted_first(self, groups: _Groups, a: int) -> tuple[int, NDArray[np.int32]] | None:
        """The cells at the level at which the levels of this column ended last time; None where nothing is gained.

        The cells of all levels above follow from them, so the classes are passed over once and not once a level.
        """
        level = self._last_ends.get(a, self.lattice.high[a])
        if level == self.lattice.high[a] or self._size(a, level) * len(groups.amounts) > len(self._keys) // 4:
            return None
        counts = self._counted(groups, a, level)
        return None if counts is None else (level, counts)

    def _counted_above(
        self, lower_cells: tuple[int, NDArray[np.int32]] | None, groups: _Groups, a: int, level: int
    ) -> NDArray[np.int32] | None:
        """The cells at a level, from those of a lower one where they were counted."""
        if lower_cells is None or level < lower_cells[0]:
            return self._counted(groups, a, level)
        lower, counts = lower_cells
        if level == lower:
            return counts
        ladder = self.lattice.base.ladders[a]
        return kernels.node_counts.merge_cells(  # type: ignore[no-any-return]
            counts, self._size(a, lower), ladder.climb(lower, level), self._size(a, level)
        )

    def _groups(self, prefix: Node) -> _Groups:
        """The groups of a prefix, made from those of the longest part of it that is known."""
        while prefix[: len(self._stack[-1].prefix)] != self._stack[-1].prefix:
            self._stack.pop()
        while len(self._stack[-1].prefix) < len(prefix):
            groups = self._stack[-1]
            self._stack.append(self._grouped(groups, prefix[len(groups.prefix)]))
        return self._stack[-1]

    def _grouped(self, groups: _Groups, level: int) -> _Groups:
        """The groups when the next column is decided."""
        a, prices = len(groups.prefix), self.prices
        size, prefix = self._size(a, level), (*groups.prefix, level)
        counts = groups.counted.pop(level, None)  # what was counted is written over
        counts = self._counted(groups, a, level) if counts is None else counts
        if counts is None:
            cells, place = np.unique(self._cells(groups, a, level), return_inverse=True)
            ids = place.reshape(-1).astype(np.uint32)
            amounts = np.bincount(ids, weights=self._records, minlength=len(cells)).astype(np.int32)
        else:
            amounts, cells = kernels.node_counts.number_cells(counts)
            where = self._where(a, level)
            ids = kernels.node_counts.regroup(groups.ids, self._keys, *where, size, counts)
        costs = groups.costs[cells // size]
        costs[:, prices.of[a]] += prices.cells[a][level][cells % size]
        return _Groups(prefix, ids, amounts, costs)

    def _counted(self, groups: _Groups, a: int, level: int) -> NDArray[np.int32] | None:
        """The records of every cell; None where there are too many cells."""
        size = self._size(a, level)
        if size == 1:
            return groups.amounts.copy()
        if size * len(groups.amounts) > max(MOST_CELLS, 4 * len(self._keys)):
            return None
        counts = np.zeros(size * len(groups.amounts), dtype=np.int32)
        where = self._where(a, level)
        kernels.node_counts.count_cells(groups.ids, self._keys, self._records, *where, size, counts)
        return counts

    def _cells(self, groups: _Groups, a: int, level: int) -> NDArray[np.int64]:
        """The cell of every class."""
        shift, mask, climb = self._where(a, level)
        codes = climb[((self._keys >> shift) & mask).astype(np.int64)].astype(np.int64)
        return groups.ids.astype(np.int64) * self._size(a, level) + codes

    def _tally_many(
        self, groups: _Groups, a: int, level: int, whole: NDArray[np.int64], lost: NDArray[np.float64]
    ) -> None:
        """Tally cells of which there are too many for an array: only those that have records."""
        size = self._size(a, level)
        cells, place = np.unique(self._cells(groups, a, level), return_inverse=True)
        counts = np.bincount(place.reshape(-1), weights=self._records, minlength=len(cells)).astype(np.int32)
        costs, prices = groups.costs[cells // size], self.prices.cells[a][level][cells % size]
        kernels.node_counts.tally_cells(counts, 1, self.k, np.zeros(1), costs, whole, lost)
        small = counts < self.k
        lost[0] = float((counts[small] * prices[small]).sum())

    def _size(self, a: int, level: int) -> int:
        return len(self.lattice.base.ladders[a].labels[level])

    def _where(self, a: int, level: int) -> tuple[np.uint64, np.uint64, NDArray[Any]]:
        """Where the code of a column lies in a key, and the code at a level for each."""
        base = self.lattice.base
        if (a, level) not in self._climbs:
            narrow = np.min_scalar_type(
                max(1, self._size(a, level)) - 1
            )  # the fewer bytes, the more of it is in the cache
            self._climbs[a, level] = base.ladders[a].climb(self._levels[a], level).astype(narrow)
        mask = (np.uint64(1) << np.uint64(base.layout.widths[a])) - np.uint64(1)
        return np.uint64(base.layout.shifts[a]), mask, self._climbs[a, level]
