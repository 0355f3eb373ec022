"""Who goes where: the parts of atoms that make up regions, and the cells these regions release."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.steps.local.terrain import Atoms, Terrain


@dataclasses.dataclass(frozen=True)
class Parts:
    """``amounts[p]`` records of atom ``atoms[p]`` go to ``regions[p]``; what no part names is not released."""

    atoms: NDArray[np.int64]
    regions: NDArray[np.int64]
    amounts: NDArray[np.int64]

    @classmethod
    def joined(cls, pieces: list[Parts]) -> Parts:
        """Several lists of parts one after the other."""
        import numpy as np

        fields = ("atoms", "regions", "amounts")
        return cls(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in fields))

    def tidy(self) -> Parts:
        """Parts in the order of regions, regions numbered from 0 without gaps, equal parts added up."""
        import numpy as np

        kept = (self.amounts > 0) & (self.regions >= 0)
        _, regions = np.unique(self.regions[kept], return_inverse=True)
        pairs, which = np.unique(np.stack([regions, self.atoms[kept]]), axis=1, return_inverse=True)
        amounts = np.bincount(which.ravel(), weights=self.amounts[kept], minlength=pairs.shape[1])
        return Parts(pairs[1], pairs[0], amounts.astype(np.int64))

    @property
    def count(self) -> int:
        """Number of regions of tidy parts."""
        return int(self.regions[-1]) + 1 if len(self.regions) else 0

    def starts(self) -> NDArray[np.int64]:
        """Where each region of tidy parts begins, and the end."""
        import numpy as np

        return np.searchsorted(self.regions, np.arange(self.count + 1)).astype(np.int64)

    def left(self, atoms: Atoms) -> NDArray[np.int64]:
        """Records of each atom that go nowhere."""
        import numpy as np

        placed = np.bincount(self.atoms, weights=self.amounts, minlength=len(atoms)).astype(np.int64)
        rest: NDArray[np.int64] = atoms.amounts - placed
        return rest


@dataclasses.dataclass(frozen=True)
class Shape:
    """The cells of regions: ``levels[region, column]`` above the codes of ``members[region]``, any of its atoms."""

    levels: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def tightest(cls, parts: Parts, atoms: Atoms, terrain: Terrain) -> Shape:
        """The lowest cells that cover what tidy parts hold."""
        from sfumato.kernels.local import lowest_common

        starts = parts.starts()
        levels = lowest_common(
            atoms.codes, parts.atoms, starts, terrain.climbs, terrain.bases, terrain.low, terrain.high
        )
        return cls(levels, parts.atoms[starts[:-1]])

    def costs(self, atoms: Atoms, terrain: Terrain) -> NDArray[np.float64]:
        """Weighted cost of a record in each region."""
        import numpy as np

        found = np.zeros(len(self.members))
        for a in range(self.levels.shape[1]):
            found += terrain.costs[terrain.bases[a, self.levels[:, a]] + atoms.codes[self.members, a]]
        return found


def cost_of(parts: Parts, shape: Shape, atoms: Atoms, terrain: Terrain) -> float:
    """Weighted mean cost of a record; one that is not released costs 1."""
    import numpy as np

    total = int(atoms.amounts.sum())
    if not total:
        return 0.0
    sizes = np.bincount(parts.regions, weights=parts.amounts, minlength=parts.count)
    return float((sizes @ shape.costs(atoms, terrain) + total - sizes.sum()) / total)
