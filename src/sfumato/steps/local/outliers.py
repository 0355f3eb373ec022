"""Dropping outliers: records without which the others of their region can be told more precisely."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sfumato.steps.local.parts import Parts, Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.steps.local.terrain import Atoms, Terrain

LARGEST = 64
"""Regions with more parts than this are left alone: one record is rarely what makes them wide."""
GAIN = 1e-9


def drop_outliers(
    parts: Parts, atoms: Atoms, terrain: Terrain, budget: int, failing: Callable[[ClassTable], NDArray[np.bool_]]
) -> Parts:
    """Drop the parts whose removal gains most, a dropped record counting as lost, until the budget is used up.

    One part a region and round: what its region then looks like decides about the next.
    """
    import numpy as np

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
    import numpy as np

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
    import numpy as np

    many = lengths[parts.regions[dropped]]
    first = parts.starts()[parts.regions[dropped]]
    number = np.repeat(np.arange(len(dropped)), many)
    place = np.arange(len(number)) - np.repeat(np.cumsum(many) - many, many) + first[number]
    other = place != dropped[number]
    return Parts(parts.atoms[place[other]], number[other], parts.amounts[place[other]])


def _best_of_each(
    dropped: NDArray[np.int64], gains: NDArray[np.float64], regions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    import numpy as np

    order = np.lexsort((dropped, -gains, regions))
    first = order[np.flatnonzero(np.diff(regions[order], prepend=-1))]
    return dropped[first], gains[first]
