"""What local recoding may suppress: cells of columns without a hierarchy, and whole columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.core.hierarchy import all_or_nothing, ends_of
from sfumato.steps.search.reach import auto

if TYPE_CHECKING:
    from sfumato.steps.search.lattice import Lattice


def with_suppressible_cells(lattice: Lattice, levels: Mapping[str, int | tuple[int, int]]) -> Lattice:
    """The same lattice, but a column without a hierarchy has one step: to ``*``, which loses everything."""
    bare = [ladder.top == 0 for ladder in lattice.base.ladders]
    ladders = tuple(all_or_nothing(ladder) if ladder.top == 0 else ladder for ladder in lattice.base.ladders)
    high = tuple(
        1 if is_bare and name not in levels else h
        for name, is_bare, h in zip(lattice.columns, bare, lattice.high, strict=True)
    )
    return dataclasses.replace(lattice, base=dataclasses.replace(lattice.base, ladders=ladders), high=high)


def with_attributes_dropped(lattice: Lattice) -> Lattice:
    """The same lattice with some columns held at their top: those that the best table of whole columns drops.

    That table keeps a column as it is or drops it, and may suppress records, which count as lost; the models and the
    weights decide which columns are worth it. Columns whose levels are bounded below the top are never dropped.
    """
    search = auto(_two_levels(lattice))
    if search.best is None:
        return lattice
    tops = lattice.tops
    dropped = [level > 0 for level in search.best.node]
    return dataclasses.replace(
        lattice,
        low=tuple(top if gone else lo for gone, top, lo in zip(dropped, tops, lattice.low, strict=True)),
    )


def _two_levels(lattice: Lattice) -> Lattice:
    ladders = tuple(ends_of(ladder) for ladder in lattice.base.ladders)
    droppable = [h == top > 0 for h, top in zip(lattice.high, lattice.tops, strict=True)]
    return dataclasses.replace(
        lattice,
        base=dataclasses.replace(lattice.base, ladders=ladders),
        low=(0,) * len(ladders),
        high=tuple(int(yes) for yes in droppable),
        budget=lattice.records,
    )
