"""Absorbing: records that no cell could take join the region that they widen least."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.steps.local_parts import Parts, Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.steps.local_terrain import Atoms, Terrain

Failing = Callable[["ClassTable"], "NDArray[np.bool_]"]
NEAREST = (8, 56)
"""How many of the nearest regions are asked first, and how many then."""


class Absorber:
    """Regions that take in records one atom after the other, as long as they keep the promises."""

    def __init__(self, atoms: Atoms, terrain: Terrain, parts: Parts, failing: Failing) -> None:
        import numpy as np

        parts = parts.tidy()
        shape = Shape.tightest(parts, atoms, terrain)
        starts = parts.starts()
        self.atoms, self.terrain, self.failing = atoms, terrain, failing
        self.levels, self.members = shape.levels, shape.members
        self.costs = shape.costs(atoms, terrain)
        self.sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
        self.pieces = [
            [(parts.atoms[s:e], parts.amounts[s:e])] for s, e in zip(starts[:-1], starts[1:], strict=True)
        ]

    def absorb(self, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take in what is left of each atom; returns the atoms that no single region could take."""
        import numpy as np

        waiting = np.flatnonzero(left)
        stubborn = [i for i in waiting.tolist() if not self._take(i, int(left[i]))]
        return np.array(stubborn, dtype=np.int64)

    def _take(self, atom: int, amount: int) -> bool:
        import numpy as np

        from sfumato.kernels.local import widened

        ground = self.terrain
        new = widened(
            self.atoms.codes, atom, self.levels, self.members, ground.climbs, ground.costs, ground.bases, ground.high
        )
        with np.errstate(invalid="ignore"):
            extra = (self.sizes + amount) * new - self.sizes * self.costs
        order = np.argsort(extra, kind="stable")[: sum(NEAREST)]
        order = order[np.isfinite(extra[order])]
        for few in (order[: NEAREST[0]], order[NEAREST[0] :]):
            home = self._first_that_holds(few, atom, amount)
            if home >= 0:
                self._grow(home, atom, amount, float(new[home]))
                return True
        return False

    def _first_that_holds(self, regions: NDArray[np.int64], atom: int, amount: int) -> int:
        import numpy as np

        if not len(regions):
            return -1
        members, amounts, groups = [], [], []
        for number, region in enumerate(regions.tolist()):
            for who, many in [*self.pieces[region], (np.array([atom]), np.array([amount]))]:
                members.append(who)
                amounts.append(many)
                groups.append(np.full(len(who), number))
        table = self.atoms.table(*(np.concatenate(x) for x in (members, amounts, groups)), len(regions))
        good = np.flatnonzero(~self.failing(table))
        return int(regions[good[0]]) if len(good) else -1

    def _grow(self, region: int, atom: int, amount: int, cost: float) -> None:
        import numpy as np

        ground, codes = self.terrain, self.atoms.codes
        for a in range(codes.shape[1]):
            while not self._agree(region, atom, a):
                self.levels[region, a] += 1
        self.costs[region] = cost
        self.sizes[region] += amount
        self.pieces[region].append((np.array([atom]), np.array([amount])))

    def _agree(self, region: int, atom: int, a: int) -> bool:
        ground, codes = self.terrain, self.atoms.codes
        base = ground.bases[a, self.levels[region, a]]
        return bool(ground.climbs[base + codes[atom, a]] == ground.climbs[base + codes[self.members[region], a]])

    def gather(self, stubborn: NDArray[np.int64], left: NDArray[np.int64]) -> bool:
        """Join the stubborn records with as few of the cheapest regions as keep the promises together."""
        import numpy as np

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
        import numpy as np

        pieces = [piece for region in regions.tolist() for piece in self.pieces[region]] + [(atoms, left[atoms])]
        members, amounts = (np.concatenate([piece[x] for piece in pieces]) for x in (0, 1))
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
        united = [piece for region in regions.tolist() for piece in self.pieces[region]] + [(atoms, left[atoms])]
        gone = set(regions.tolist())
        self.pieces = [p for region, p in enumerate(self.pieces) if region not in gone] + [united]

    def parts(self) -> Parts:
        """What the regions hold now."""
        import numpy as np

        found = [
            Parts(who, np.full(len(who), region), many)
            for region, pieces in enumerate(self.pieces)
            for who, many in pieces
        ]
        return Parts.joined(found).tidy()
