"""What the nodes of a lattice keep under k-anonymity, where the finest table has very many classes.

Towers (:mod:`sfumato.methods.steps.recoding.rollup_cache`) roll tables up from finer ones. Where
nearly every record is a class of its own, the finer tables are as large as the data, and every
climb hashes them. Here a node is counted from the classes directly: the columns decided so far make
groups, of which there are few since only feasible prefixes are followed, and groups and codes of
the next column make cells that are counted in a plain array. Whoever is suppressed at a level is
suppressed at every lower one, so the first level from the top that is beyond the budget ends a
column. A sample of the cells finds it; the lowest level above it is counted from the classes, and
higher ones from its cells.
"""

from __future__ import annotations

import dataclasses
import math
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
CELLS_IN_CACHE = 1 << 18
"""So many cells, a megabyte, are counted as quickly as a part of them."""
MOST_SHARE = 4
"""One cell in 2⁴ is looked at first, more where the budget is large."""
FEWEST_GROUPS = 256
"""Of fewer groups none is drawn: a sixteenth of them could hold far more or far fewer than a
sixteenth of the records.
"""
MOST_REMEMBERED = 1 << 22
"""Cells that are kept beside the groups of a prefix, for the prefixes that are one column longer:
16 megabytes.
"""
MOST_NARROW = 1 << 16
"""So many codes fit two bytes."""


def counts_directly(lattice: Lattice) -> bool:
    """Whether the nodes of a lattice are counted from its classes: there are many, with keys of one
    word.
    """
    base = lattice.base
    return len(base) >= MANY_CLASSES and base.keys.shape[1] == 1 and lattice.records < 2**31


@dataclasses.dataclass(frozen=True, eq=False)
class _Sample:
    """All classes of some cells: where they are, their records, and by column their codes, read
    when first asked for.
    """

    rows: NDArray[np.int64]
    records: NDArray[np.int32]
    codes: dict[int, NDArray[Any]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class _Groups:
    """The groups that a prefix makes: of every class its group, and by group its records and what
    its cells cost.

    ``sample`` has all classes of some groups, whose groups are ``sampled_ids``; None where there
    are too few groups to draw from. ``finest`` remembers the lowest level of the next column that
    was counted, and its cells.
    """

    prefix: Node
    ids: NDArray[np.uint32]
    amounts: NDArray[np.int32]
    costs: NDArray[np.float64]
    sample: _Sample | None = None
    sampled_ids: NDArray[np.uint32] | None = None
    finest: dict[int, NDArray[np.int32]] = dataclasses.field(default_factory=dict)


class NodeCounts:
    """Counts nodes from the classes of a lattice; answers like ``Peaks``."""

    def __init__(self, lattice: Lattice, k: int, prices: Prices) -> None:
        self.lattice = lattice
        self.k = k
        self.prices = prices
        base = lattice.base
        self._records = base.records.astype(np.int32)
        everybody = np.array([lattice.records], dtype=np.int32)
        ids = np.zeros(len(base), dtype=np.uint32)
        no_costs = np.zeros((1, prices.features))
        self._stack = [_Groups((), ids, everybody, no_costs)]
        self._codes: dict[int, NDArray[Any]] = {}
        self._scratch = np.zeros(0, dtype=np.int32)
        # The sample must exceed the budget by itself: 1 in 2^share cells hold about that share of
        # what is lost, so the share shrinks as the budget grows. No budget: one in sixteen.
        share = math.log2(lattice.records / (2 * lattice.budget + 1))
        self._share = max(0, min(MOST_SHARE, int(share)))

    def at(self, prefix: Node) -> tuple[list[list[int]], list[list[float]]]:
        """By level of the next column: what ``Tower`` tallies. A level beyond the budget says no
        more than that.

        All classes are read once, for the lowest level that a sample does not rule out; the cells
        of a higher level are put together from those below it.
        """
        a = len(prefix)
        lattice = self.lattice
        groups = self._groups(prefix)
        low = lattice.low[a]
        high = lattice.high[a]
        whole = np.zeros((high - low + 1, 4), dtype=np.int64)
        lost = np.zeros((high - low + 1, 1 + self.prices.features))
        # Until a level is counted it is beyond the budget: levels below the lowest that may be
        # feasible are never counted.
        whole[:, 0] = lattice.budget + 1
        counts: NDArray[np.int32] | None = None
        # From the lowest level up: the first is counted from all classes, every other from the
        # cells of the one before it (roll-up).
        for level in range(self._lowest_left(groups, a), high + 1):
            at_level = whole[level - low], lost[level - low]
            if counts is None:
                counts = self._count_cells(groups, a, level)
            else:
                counts = self._merged(counts, a, level)
            if counts is None:
                if self._count_lost(groups, a, level) <= lattice.budget:
                    self._tally_many(groups, a, level, *at_level)
                continue
            size = self._size(a, level)
            cells = self.prices.cells[a][level]
            kernels.node_counts.tally_cells(counts, size, self.k, cells, groups.costs, *at_level)
            # The lowest feasible level is what prefixes one column longer begin with most often.
            if (
                whole[level - low, 0] <= lattice.budget
                and not groups.finest
                and counts.size <= MOST_REMEMBERED
            ):
                groups.finest[level] = counts.copy()
        return whole.tolist(), lost.tolist()

    def _lowest_left(self, groups: _Groups, a: int) -> int:
        """The lowest level of a column at which a sample does not show that more must be suppressed
        than the budget allows.

        Levels beyond the budget are the finest that are looked at, with the most cells, and mostly
        far beyond it: where 2 % may go and half of the records would, the classes of one cell in
        sixteen show it. All classes of a cell belong to one cell of a higher level, so a sample of
        cells serves every level below.
        """
        lattice = self.lattice
        sample = groups.sample
        ids = groups.sampled_ids
        lowest = lattice.high[a]
        # From the top down: by monotonicity (Samarati's generalization property) the first level
        # beyond the budget rules out all below it.
        for level in range(lattice.high[a], lattice.low[a] - 1, -1):
            size = self._size(a, level)
            climb = self._climb(a, level)
            # So few cells are counted exactly in no time; a sample would save nothing.
            if size * len(groups.amounts) > CELLS_IN_CACHE:
                if sample is None or ids is None:
                    sample = self._draw(groups.ids, self._codes_of(a), climb, size)
                    ids = groups.ids[sample.rows]
                codes = self._sampled_codes(sample, a)
                slots = np.zeros(1 << len(codes).bit_length(), dtype=np.int32)
                lost = kernels.node_counts.count_lost(
                    ids, codes, sample.records, climb, size, self.k, slots
                )
                # Legal: the sample has whole cells, so what it loses is a part of what all lose.
                if lost > lattice.budget:
                    break
            lowest = level
        return lowest

    def _count_lost(self, groups: _Groups, a: int, level: int) -> int:
        """At least so many records are suppressed at a level, counted from all classes.

        A sixteenth of the cells that holds just less than the budget says that sixteen times the
        budget is lost, and proves nothing. To look at the other cells costs a tenth of sorting
        them.
        """
        codes = self._codes_of(a)
        climb = self._climb(a, level)
        size = self._size(a, level)
        slots = np.zeros(1 << len(codes).bit_length(), dtype=np.int32)
        lost: int = kernels.node_counts.count_lost(
            groups.ids, codes, self._records, climb, size, self.k, slots
        )
        return lost

    def _draw(
        self, ids: NDArray[np.uint32], codes: NDArray[Any], climb: NDArray[np.uint32], size: int
    ) -> _Sample:
        """The classes of a share of the cells, more where the budget is large."""
        if self._share:
            rows = kernels.node_counts.draw_rows(ids, codes, climb, size, self._share)
        else:
            rows = np.arange(len(ids))
        return _Sample(rows, self._records[rows])

    def _sampled_codes(self, sample: _Sample, a: int) -> NDArray[Any]:
        if a not in sample.codes:
            sample.codes[a] = self._codes_of(a)[sample.rows]
        return sample.codes[a]

    def _groups(self, prefix: Node) -> _Groups:
        """The groups of a prefix, made from those of the longest part of it that is known."""
        # Depth first: groups of other prefixes are not asked for again.
        while prefix[: len(self._stack[-1].prefix)] != self._stack[-1].prefix:
            self._stack.pop()
        while len(self._stack[-1].prefix) < len(prefix):
            groups = self._stack[-1]
            self._stack.append(self._grouped(groups, prefix[len(groups.prefix)]))
        return self._stack[-1]

    def _grouped(self, groups: _Groups, level: int) -> _Groups:
        """The groups when the next column is decided."""
        a = len(groups.prefix)
        prices = self.prices
        size = self._size(a, level)
        prefix = (*groups.prefix, level)
        climb = self._climb(a, level)
        counts = self._remembered(groups, a, level)
        sample = groups.sample
        sampled_ids = groups.sampled_ids
        # Too many cells for an array: sort them, n log n.
        if counts is None:
            cells, inverse = np.unique(self._cells(groups, a, level), return_inverse=True)
            ids = inverse.reshape(-1).astype(np.uint32)
            amounts = np.bincount(ids, weights=self._records, minlength=len(cells)).astype(np.int32)
            sampled_ids = None if sample is None else ids[sample.rows]
        else:
            amounts, cells = kernels.node_counts.number_cells(counts)
            ids = kernels.node_counts.regroup(groups.ids, self._codes_of(a), climb, size, counts)
            if sample is not None:
                codes = self._sampled_codes(sample, a)
                sampled_ids = kernels.node_counts.regroup(sampled_ids, codes, climb, size, counts)
        if sample is None and self._share and len(amounts) >= FEWEST_GROUPS:
            sample = self._draw(ids, self._codes_of(a), np.zeros_like(climb), size=1)
            sampled_ids = ids[sample.rows]
        # A cell is ``group * size + code``: both come back by division.
        costs = groups.costs[cells // size]
        level_costs = prices.cells[a][level]
        costs[:, prices.of[a]] += level_costs[cells % size]
        return _Groups(
            prefix, ids, amounts=amounts, costs=costs, sample=sample, sampled_ids=sampled_ids
        )

    def _remembered(self, groups: _Groups, a: int, level: int) -> NDArray[np.int32] | None:
        """The records of every cell, put together from those of a lower level where these are
        remembered.
        """
        # Roll-up property: cells of a finer level give those of a coarser one.
        for finer, counts in groups.finest.items():
            if finer == level:
                return counts.copy()
            if finer < level:
                return self._merged(counts, a, level, finer)
        return self._count_cells(groups, a, level)

    def _merged(
        self, counts: NDArray[np.int32], a: int, level: int, finer: int | None = None
    ) -> NDArray[np.int32]:
        """The records of every cell, from those at a lower level: the one below if no other is
        named.
        """
        if finer is None:
            finer = level - 1
        fine_size = self._size(a, finer)
        size = self._size(a, level)
        coarse = np.zeros(counts.size // fine_size * size, dtype=np.int32)
        climb = self.lattice.base.ladders[a].climb(finer, level).astype(np.uint32)
        kernels.node_counts.merge_cells(counts, fine_size, climb, size, coarse)
        return coarse

    def _count_cells(self, groups: _Groups, a: int, level: int) -> NDArray[np.int32] | None:
        """The records of every cell; None where there are too many cells."""
        size = self._size(a, level)
        # One code: cells are the groups.
        if size == 1:
            return groups.amounts.copy()
        if size * len(groups.amounts) > max(MOST_CELLS, 4 * len(self._records)):
            return None
        counts = self._room(size * len(groups.amounts))
        where = groups.ids, self._codes_of(a), self._records, self._climb(a, level), size
        kernels.node_counts.count_cells(*where, counts)
        return counts

    def _room(self, cells: int) -> NDArray[np.int32]:
        """Room for the records of so many cells, all 0: the same for every node, so that the system
        is asked for it once.
        """
        if cells > len(self._scratch):
            self._scratch = np.zeros(cells, dtype=np.int32)
            return self._scratch
        # Cleared for every node: writing zeros is cheaper than new pages.
        room = self._scratch[:cells]
        room[:] = 0
        return room

    def _cells(self, groups: _Groups, a: int, level: int) -> NDArray[np.int64]:
        """The cell of every class."""
        cells = groups.ids.astype(np.int64) * self._size(a, level)
        cells += self._climb(a, level)[self._codes_of(a)]
        return cells

    def _tally_many(
        self,
        groups: _Groups,
        a: int,
        level: int,
        whole: NDArray[np.int64],
        lost: NDArray[np.float64],
    ) -> None:
        """Tally cells of which there are too many for an array: only those that have records."""
        size = self._size(a, level)
        # Cells by sorting; each then counts as a group of one code, priced apart.
        cells, inverse = np.unique(self._cells(groups, a, level), return_inverse=True)
        counts = np.bincount(
            inverse.reshape(-1), weights=self._records, minlength=len(cells)
        ).astype(np.int32)
        costs = groups.costs[cells // size]
        prices = self.prices.cells[a][level][cells % size]
        kernels.node_counts.tally_cells(counts, 1, self.k, np.zeros(1), costs, whole, lost)
        small = counts < self.k
        lost[0] = float((counts[small] * prices[small]).sum())

    def _size(self, a: int, level: int) -> int:
        return len(self.lattice.base.ladders[a].labels[level])

    def _codes_of(self, a: int) -> NDArray[Any]:
        """The code of a column in every class at its lowest level: few are left there, and narrow
        codes are read quickly.
        """
        if a not in self._codes:
            base = self.lattice.base
            low = self.lattice.low[a]
            narrow = np.uint16 if self._size(a, low) <= MOST_NARROW else np.uint32
            climb = base.ladders[a].climb(base.levels[a], low).astype(narrow)
            codes = np.empty(len(base), dtype=narrow)
            field = base.layout.shifts[a], base.layout.widths[a]
            kernels.node_counts.read_codes(base.keys.reshape(-1), *field, climb, codes)
            self._codes[a] = codes
        return self._codes[a]

    def _climb(self, a: int, level: int) -> NDArray[np.uint32]:
        """The code at a level for each code at the lowest."""
        climb = self.lattice.base.ladders[a].climb(self.lattice.low[a], level)
        return climb.astype(np.uint32)
