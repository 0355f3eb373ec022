"""Rolling up classes run by run: in the order of the keys, those that share the columns of the
highest bits lie side by side.
"""

from __future__ import annotations

import dataclasses
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from sfumato import kernels
from sfumato.core.groups import group_starts

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable

SMALL_RUN, LARGEST_RUN = 1 << 15, 1 << 22
"""Cells of a run: so many are in the cache, and beyond so many it is no longer quicker to look up
than to hash.
"""


def rolled_up_in_runs(classes: ClassTable, levels: tuple[int, ...]) -> ClassTable | None:
    """The classes at some levels, counted run by run in a table of all cells of a run; None where
    that cannot be.

    Columns of the highest bits that do not climb make the runs; the other columns make few cells in
    each.
    """
    # The kernel adds up records alone; it does not tell which class went where.
    bare = not classes.counts and classes.weights is None and classes.population is None
    if not bare or classes.keys.shape[1] > 1 or not kernels.keys.FEW < len(classes) < 2**31:
        return None
    layout, ladders = classes.layout, classes.ladders
    sizes = [len(ladder.labels[level]) for ladder, level in zip(ladders, levels, strict=True)]
    # Columns from the lowest bits to the highest.
    inside = sorted(range(len(sizes)), key=lambda a: int(layout.shifts[a]))
    run_shift = 64
    # The highest columns that stay as they are make the runs, until the cells of a run are few.
    while (
        inside
        and levels[inside[-1]] == classes.levels[inside[-1]]
        and prod(sizes[a] for a in inside) > SMALL_RUN
    ):
        run_shift = int(layout.shifts[inside.pop()])
    cells = prod(sizes[a] for a in inside)
    if cells > LARGEST_RUN:
        return None
    climbs = [ladders[a].climb(classes.levels[a], levels[a]).astype(np.uint32) for a in inside]
    # Mixed radix: with sizes 3 and 4 the codes 2 and 1 are cell 2 + 1 * 3 = 5.
    steps = []
    for i, climb in enumerate(climbs):
        stride = prod(sizes[b] for b in inside[:i])
        steps.append(climb * np.uint32(stride))
    offsets = group_starts([len(climb) for climb in climbs])
    none = np.zeros(0, dtype=np.uint32)
    climbing_columns = kernels.runs.ClimbingColumns(
        shifts=layout.shifts[inside],
        widths=layout.widths[inside],
        climbs=np.concatenate([*climbs, none]),
        steps=np.concatenate([*steps, none]),
        offsets=offsets,
    )
    keys, records, in_order = kernels.runs.roll_up_runs(
        classes.keys.reshape(-1),
        classes.records,
        run_shift,
        climbing_columns,
        cells,
    )
    if not in_order:
        return None
    return dataclasses.replace(classes, levels=levels, keys=keys.reshape(-1, 1), records=records)
