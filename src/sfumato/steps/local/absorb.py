"""Absorbing: records that no cell could take join the region that they widen least."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.steps.local.terrain import Parts, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.steps.local.terrain import Atoms, Terrain

Failing = Callable[["ClassTable"], "NDArray[np.bool_]"]
Piece = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
NEAREST = (8, 56)
"""How many of the nearest regions are asked first, and how many then."""


class Absorber:
    """Regions that take in records one atom after the other, as long as they keep the promises."""

    def __init__(self, atoms: Atoms, terrain: Terrain, parts: Parts, failing: Failing) -> None:
        parts = parts.tidy()
        shape = Shape.tightest(parts, atoms, terrain)
        starts = parts.starts()
        self.atoms, self.terrain, self.failing = atoms, terrain, failing
        self.levels, self.members = shape.levels, shape.members
        self.costs = shape.costs(atoms, terrain)
        self.sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
        self.pieces = [(parts.atoms[s:e], parts.amounts[s:e]) for s, e in itertools.pairwise(starts.tolist())]

    def absorb(self, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take in what is left of each atom; returns the atoms that no single region could take."""
        waiting = np.flatnonzero(left)
        stubborn = [i for i in waiting.tolist() if not self._take(i, int(left[i]))]
        return np.array(stubborn, dtype=np.int64)

    def _take(self, atom: int, amount: int) -> bool:
        ground = self.terrain
        new = kernels.local.widened(
            self.atoms.codes, atom, self.levels, self.members, ground.climbs, ground.costs, ground.bases, ground.high
        )
        with np.errstate(invalid="ignore"):
            extra = (self.sizes + amount) * new - self.sizes * self.costs
        order = _smallest(extra, sum(NEAREST))
        for few in (order[: NEAREST[0]], order[NEAREST[0] :]):
            home = self._first_that_holds(few, atom, amount)
            if home >= 0:
                self._grow(home, atom, amount, float(new[home]))
                return True
        return False

    def _first_that_holds(self, regions: NDArray[np.int64], atom: int, amount: int) -> int:
        if not len(regions):
            return -1
        members, amounts = self._contents(regions.tolist())
        groups = np.repeat(np.arange(len(regions)), [len(self.pieces[region][0]) for region in regions.tolist()])
        table = self.atoms.table(
            np.append(members, np.full(len(regions), atom)),
            np.append(amounts, np.full(len(regions), amount)),
            np.append(groups, np.arange(len(regions))),
            len(regions),
        )
        good = np.flatnonzero(~self.failing(table))
        return int(regions[good[0]]) if len(good) else -1

    def _grow(self, region: int, atom: int, amount: int, cost: float) -> None:
        for a in range(self.levels.shape[1]):
            while not self._agree(region, atom, a):
                self.levels[region, a] += 1
        self.costs[region] = cost
        self.sizes[region] += amount
        members, amounts = self.pieces[region]
        self.pieces[region] = np.append(members, atom), np.append(amounts, amount)

    def _agree(self, region: int, atom: int, a: int) -> bool:
        ground, codes = self.terrain, self.atoms.codes
        base = ground.bases[a, self.levels[region, a]]
        return bool(ground.climbs[base + codes[atom, a]] == ground.climbs[base + codes[self.members[region], a]])

    def gather(self, stubborn: NDArray[np.int64], left: NDArray[np.int64]) -> bool:
        """Join the stubborn records with as few of the cheapest regions as keep the promises together."""
        whole = self.sizes * (1.0 - self.costs)
        found = []
        for price in (whole, 1.0 - self.costs):
            order = np.lexsort((np.arange(len(price)), price))
            many = self._enough(order, stubborn, left)
            if many is not None:
                found.append((float(whole[order[:many]].sum()), order[:many]))
        if found:
            self._unite(min(found, key=lambda f: f[0])[1], stubborn, left)
        return bool(found)

    def _enough(self, order: NDArray[np.int64], stubborn: NDArray[np.int64], left: NDArray[np.int64]) -> int | None:
        """How many regions, taken in this order, make the promises hold: found by doubling, then by halving."""
        few, many = -1, 0
        while not self._holds_together(order[:many], stubborn, left):
            if many >= len(order):
                return None
            few, many = many, min(max(1, 2 * many), len(order))
        while many - few > 1:
            middle = (few + many) // 2
            if self._holds_together(order[:middle], stubborn, left):
                many = middle
            else:
                few = middle
        return many

    def _holds_together(self, regions: NDArray[np.int64], atoms: NDArray[np.int64], left: NDArray[np.int64]) -> bool:
        members, amounts = self._contents(regions.tolist(), (atoms, left[atoms]))
        table = self.atoms.table(members, amounts, np.zeros(len(members), dtype=np.int64), 1)
        return bool(self._reachable(members) and not self.failing(table)[0])

    def _reachable(self, members: NDArray[np.int64]) -> bool:
        """Whether the records agree on every column at its highest level."""
        ground, codes = self.terrain, self.atoms.codes
        for a in range(codes.shape[1]):
            top = ground.climbs[ground.bases[a, ground.high[a]] + codes[members, a]]
            if (top != top[0]).any():
                return False
        return True

    def _unite(self, regions: NDArray[np.int64], atoms: NDArray[np.int64], left: NDArray[np.int64]) -> None:
        united = self._contents(regions.tolist(), (atoms, left[atoms]))
        gone = set(regions.tolist())
        self.pieces = [p for region, p in enumerate(self.pieces) if region not in gone] + [united]

    def _contents(self, regions: Sequence[int], *more: Piece) -> Piece:
        """Atoms and amounts of some regions, and of what joins them."""
        pieces = [*(self.pieces[region] for region in regions), *more]
        return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])

    def parts(self) -> Parts:
        """What the regions hold now."""
        found = [
            Parts(members, np.full(len(members), region), amounts)
            for region, (members, amounts) in enumerate(self.pieces)
        ]
        return Parts.joined(found).tidy()


def _smallest(values: NDArray[np.float64], many: int) -> NDArray[np.int64]:
    """Where the smallest values stand, in their order; infinite ones are left out."""
    found = np.argpartition(values, many)[:many] if len(values) > many else np.arange(len(values))
    found = found[np.lexsort((found, values[found]))]
    return found[np.isfinite(values[found])]
