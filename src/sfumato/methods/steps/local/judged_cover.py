"""Covering records by cells when the promises are more than a size.

As in :mod:`sfumato.methods.steps.local.respecialise` the cells of all nodes are tried, the cheapest
first. A cell whose records fail the models may still open with some of them: no value of the
sensitive column then occurs more than so many times its share in the table. What exceeds that waits
for a coarser cell, where others make up for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.methods.steps.local.atoms import Atoms, Parts, Terrain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.encoding import Column
    from sfumato.core.progress import Progress

    Ints = NDArray[np.int64]

Failing = Callable[["ClassTable"], "NDArray[np.bool_]"]
DEAREST_CELL, FEW = 0.5, 0.05
"""Cells that cost more are not opened for the last few records, this share of all: they join others
at less cost.
"""
EXCESS = (2.0, 1.5, 1.2, 1.0)
"""How many times its share in the table a value may occur in a cell that is trimmed, tried in this
order.
"""


class JudgedCover:
    """One pass over the nodes. ``rest`` is what waits of each atom, ``waiting`` the atoms that have
    something left.
    """

    def __init__(
        self,
        atoms: Atoms,
        terrain: Terrain,
        failing: Failing,
        trimmed: Column | None,
        smallest_class: int,
    ) -> None:
        self.atoms = atoms
        self.terrain = terrain
        self.failing = failing
        self.trimmed = trimmed
        self.least = smallest_class
        self.rest = atoms.amounts.copy()
        self.waiting = np.arange(len(atoms))
        self.found: list[Parts] = []
        self.regions = 0

    def run(self, progress: Progress) -> Parts:
        """Try all nodes."""
        nodes, costs = self.terrain.nodes
        small_rest = FEW * self.atoms.amounts.sum()
        columns = np.arange(nodes.shape[1])
        # Nodes come in the order of their cost, so a record is taken by the cheapest cell that
        # holds.
        for step, node in enumerate(nodes):
            # The few records that are left at a high cost are better absorbed by regions that
            # exist.
            if not len(self.waiting) or (
                costs[step] > DEAREST_CELL and self.rest.sum() <= small_rest
            ):
                break
            self._visit(self.terrain.bases[columns, node])
            if step % 256 == 0:
                progress(step / len(nodes), "covering records")
        return Parts.joined([*self.found, Parts(*(np.zeros(0, dtype=np.int64) for _ in range(3)))])

    def _visit(self, offsets: Ints) -> None:
        ids, sizes = kernels.local.group_cells(
            self.atoms.codes, self.rest, self.waiting, offsets, self.terrain.marks
        )
        # Smaller groups break a promise in any case: no need to ask models.
        large = sizes >= self.least
        if not large.any():
            return
        inside = large[ids]
        # Large groups numbered without gaps: [F, T, T] gives numbers 0 and 1 to the last two.
        number = np.cumsum(large) - 1
        self._judge(self.waiting[inside], number[ids[inside]], int(large.sum()))
        self.waiting = self.waiting[self.rest[self.waiting] > 0]

    def _judge(self, members: Ints, ids: Ints, groups: int) -> None:
        """Open a region for every group that holds, and for parts of those that do not."""
        table = self.atoms.table(members, self.rest[members], ids, groups)
        failing = self.failing(table)
        # Trimming first: what it leaves waits for a coarser node.
        if self.trimmed is not None and failing.any():
            self._trim(members, ids, failing)
        self._release(members, ids, ~failing, self.rest[members])

    def _release(
        self,
        members: Ints,
        ids: Ints,
        good: NDArray[np.bool_],
        amounts: Ints,
    ) -> None:
        """Open a region for every good group, with so many records of each member."""
        if not good.any():
            return
        numbers = np.cumsum(good) - 1 + self.regions
        is_released = good[ids] & (amounts > 0)
        released_atoms = members[is_released]
        self.found.append(Parts(released_atoms, numbers[ids[is_released]], amounts[is_released]))
        self.rest[released_atoms] -= amounts[is_released]
        self.regions += int(good.sum())

    def _trim(self, members: Ints, ids: Ints, failing: NDArray[np.bool_]) -> None:
        """Open regions with a part of the records of failing groups, as large a part as holds."""
        groups = np.flatnonzero(failing)
        position = np.full(len(failing), -1)
        position[groups] = np.arange(len(groups))
        values = self.atoms.values[self.trimmed][members]  # type: ignore[index]
        rows = position[ids]
        inside = rows >= 0
        # Records by failing group and value of the trimmed column.
        counts = np.zeros((len(groups), len(self._shares)), dtype=np.int64)
        positions = rows[inside], values[inside]
        np.add.at(counts, positions, self.rest[members[inside]])
        caps = self._caps(counts)
        good = np.zeros(len(failing), dtype=np.bool_)
        good[groups] = caps.any(axis=1)
        if good.any():
            self._release(members, ids, good, self._dealt(self.rest[members], rows, values, caps))

    def _caps(self, counts: Ints) -> Ints:
        """Per group and value, how many records a trimmed region takes; all zero where no trimming
        holds.
        """
        caps = np.zeros_like(counts)
        open_ = np.flatnonzero(counts.sum(axis=1) >= self.least)
        # The loosest cap that holds keeps most records; groups that hold are done.
        for excess in EXCESS:
            upper = np.floor(excess * self._shares * counts[open_].sum(axis=1, keepdims=True))
            trial = np.minimum(counts[open_], upper.astype(np.int64))
            holds = ~self._failing_rows(trial)
            caps[open_[holds]] = trial[holds]
            open_ = open_[~holds]
        return caps

    def _failing_rows(self, counts: Ints) -> NDArray[np.bool_]:
        """Which rows of counts fail the models; those too small do."""
        failing = np.ones(len(counts), dtype=np.bool_)
        large_rows = np.flatnonzero(counts.sum(axis=1) >= self.least)
        if len(large_rows):
            rows, values = np.nonzero(counts[large_rows])
            # Models see counts of values only, so any atom with the value may stand for it.
            amounts = counts[large_rows][rows, values]
            table = self.atoms.table(self._bearers[values], amounts, rows, len(large_rows))
            failing[large_rows] = self.failing(table)
        return failing

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """Share of each value in the table."""
        codes = self.atoms.values[self.trimmed]  # type: ignore[index]
        labels = self.atoms.base.counts[self.trimmed].labels  # type: ignore[index]
        counts = np.bincount(codes, weights=self.atoms.amounts, minlength=len(labels))
        shares: NDArray[np.float64] = counts / counts.sum()
        return shares

    @cached_property
    def _bearers(self) -> Ints:
        """An atom that has each value."""
        codes = self.atoms.values[self.trimmed]  # type: ignore[index]
        bearers = np.zeros(len(self._shares), dtype=np.int64)
        # Written backwards, the first atom with a value stays.
        bearers[codes[::-1]] = np.arange(len(codes))[::-1]
        return bearers

    @staticmethod
    def _dealt(
        remaining: Ints,
        rows: Ints,
        values: Ints,
        caps: Ints,
    ) -> Ints:
        """How many records of each member go along: atom after atom, up to the cap of group and
        value.
        """
        amounts = np.zeros(len(rows), dtype=np.int64)
        inside = np.flatnonzero(rows >= 0)
        keys = rows[inside] * caps.shape[1] + values[inside]
        order = np.argsort(keys, kind="stable")
        inside = inside[order]
        keys = keys[order]
        available = remaining[inside]
        # Records of the same group and value that come before, as a running sum that starts again
        # at every new key. With a cap of 3 and atoms of 2, 2, 2 records, 2, 1 and 0 go along.
        before = np.cumsum(available) - available
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        before -= np.repeat(before[begins], np.diff(np.append(begins, len(keys))))
        amounts[inside] = np.clip(caps.ravel()[keys] - before, 0, available)
        return amounts
