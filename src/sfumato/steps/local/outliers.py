"""Dropping outliers: records without which the others of their region can be told more precisely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.steps.local.axes import Axis, points_of
from sfumato.steps.local.regions import Regions
from sfumato.steps.local.terrain import Atoms, Parts, Shape, Terrain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.kernels.space import Space
    from sfumato.steps.local.promises import Promises

LARGEST = 64
"""Regions with more parts than this are left alone: one record is rarely what makes them wide."""
GAIN = 1e-9


def drop_outliers(
    parts: Parts, atoms: Atoms, terrain: Terrain, budget: int, failing: Callable[[ClassTable], NDArray[np.bool_]]
) -> Parts:
    """Drop the parts whose removal gains most, a dropped record counting as lost, until the budget is used up.

    One part a region and round: what its region then looks like decides about the next.
    """
    parts = parts.tidy()
    while budget > 0:
        chosen, gains = _candidates(parts, atoms, terrain, failing)
        order = np.lexsort((chosen, -gains))
        spent = np.cumsum(parts.amounts[chosen[order]])
        going = chosen[order][spent <= budget]
        if not len(going):
            break
        budget -= int(parts.amounts[going].sum())
        kept = np.ones(len(parts.atoms), dtype=np.bool_)
        kept[going] = False
        parts = Parts(parts.atoms[kept], parts.regions[kept], parts.amounts[kept]).tidy()
    return parts


def _candidates(
    parts: Parts, atoms: Atoms, terrain: Terrain, failing: Callable[[ClassTable], NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best part of each region to drop, where that gains and the others still hold; and the gains."""
    before = Shape.tightest(parts, atoms, terrain).costs(atoms, terrain)
    sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
    lengths = np.diff(parts.starts())
    open_ = (sizes * before > 1 + GAIN) & (lengths > 1) & (lengths <= LARGEST)
    dropped = np.flatnonzero(open_[parts.regions])
    if not len(dropped):
        return dropped, np.zeros(0)
    without = _without(parts, dropped, lengths)
    after = Shape.tightest(without, atoms, terrain).costs(atoms, terrain)
    region, lost = parts.regions[dropped], parts.amounts[dropped]
    gains = sizes[region] * before[region] - (sizes[region] - lost) * after - lost
    table = atoms.table(without.atoms, without.amounts, without.regions, len(dropped))
    good = (gains > GAIN) & ~failing(table)
    return _best_of_each(dropped[good], gains[good], region[good])


def _without(parts: Parts, dropped: NDArray[np.int64], lengths: NDArray[np.int64]) -> Parts:
    """For each dropped part, the other parts of its region, as a region of their own."""
    many = lengths[parts.regions[dropped]]
    first = parts.starts()[parts.regions[dropped]]
    number = np.repeat(np.arange(len(dropped)), many)
    place = np.arange(len(number)) - np.repeat(np.cumsum(many) - many, many) + first[number]
    other = place != dropped[number]
    return Parts(parts.atoms[place[other]], number[other], parts.amounts[place[other]])


def _best_of_each(
    dropped: NDArray[np.int64], gains: NDArray[np.float64], regions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    order = np.lexsort((dropped, -gains, regions))
    first = order[np.flatnonzero(np.diff(regions[order], prepend=-1))]
    return dropped[first], gains[first]


# Suppressing outliers: a few records without which the others of their region lose much less.

AT_ONCE = 4
"""In a round the best one in so many trims is made; the others are measured again."""


def without_outliers(regions: Regions, promises: Promises, axes: Sequence[Axis], space: Space, allowed: int) -> Regions:
    r"""Trim regions as long as that lowers the loss of the table, and at most ``allowed`` records go.

    A trim takes the lowest or highest values of a line, one value of a set, or all but one branch of a tree out of a
    region. With *r* of *n* records gone and :math:`\Delta` less loss per record left it gains
    :math:`(n - r)\Delta - r(d - \ell)`, as the :math:`r` records lose all *d* cells instead of :math:`\ell`;
    those that gain most per record go first. What is left of a region keeps the promises.
    """
    trimmed = _Trimming(regions, promises, axes, space).run(allowed)
    if promises.settled or not promises.failing_together(trimmed, axes, points_of(promises.classes, axes)).any():
        return trimmed
    return regions


class _Trimming:
    def __init__(self, regions: Regions, promises: Promises, axes: Sequence[Axis], space: Space) -> None:
        self.promises, self.space = promises, space
        self.original = points_of(promises.classes, axes)
        self.points = self.original[regions.members]
        self.points[:, -2] = regions.amounts
        self.starts = np.concatenate([[0], regions.ends[:-1]]).astype(np.int64)
        self.borders, self.ends = regions.ends, regions.ends.copy()
        self.scratch = kernels.space.scratch_for(space)
        self.trims = np.zeros((len(regions), 6))

    def run(self, allowed: int) -> Regions:
        """Trim the regions, the best trims first."""
        self._measure(np.arange(len(self.starts)))
        while allowed > 0:
            chosen = self._best(allowed)
            if not len(chosen):
                break
            done = self._trim(chosen)
            allowed -= int(self.trims[done, 5].sum())
            self.trims[chosen, 0] = 0.0
            self._measure(done)
        return self._regions()

    def _measure(self, some: NDArray[np.int64]) -> None:
        crowd = self.promises.crowd
        self.trims[some] = kernels.partition.find_trims(
            self.points, self.starts[some], self.ends[some], crowd, self.space, self.scratch
        )

    def _best(self, allowed: int) -> NDArray[np.int64]:
        """The regions to trim in this round."""
        worth, gone = self.trims[:, 0], self.trims[:, 5]
        worthy = np.flatnonzero((worth > 1e-12) & (gone <= allowed))
        worthy = worthy[np.argsort(-worth[worthy], kind="stable")][: -(-len(worthy) // AT_ONCE)]
        return worthy[np.cumsum(gone[worthy]) <= allowed]

    def _trim(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Trim some regions; returns those that keep the promises even so, the others are left whole."""
        starts, before = self.starts[chosen], self.ends[chosen]
        self.ends[chosen] = kernels.partition.trim(self.points, starts, before, self.trims[chosen])
        if self.promises.only_crowds:
            return chosen
        lengths = self.ends[chosen] - starts
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        groups = np.repeat(np.arange(len(chosen)), lengths)
        members = self.points[places, -1].astype(np.int64)
        failing = self.promises.failing(members, groups, len(chosen), self.original)
        self.ends[chosen[failing]] = before[failing]
        return chosen[~failing]

    def _regions(self) -> Regions:
        lengths, whole = self.ends - self.starts, self.borders - self.starts
        within = np.arange(len(self.points)) - np.repeat(self.starts, whole)
        numbers = np.where(within < np.repeat(lengths, whole), np.repeat(np.arange(len(lengths)), whole), -1)
        ordered = Regions.of(numbers, self.points[:, -2].astype(np.int64))
        members = self.points[ordered.members, -1].astype(np.int64)
        return Regions(members, ordered.amounts, ordered.ends)
