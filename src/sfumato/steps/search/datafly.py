"""Datafly: generalise the column with the most values until what is left over may be suppressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.progress import Progress, silent
from sfumato.steps.search.lattice import Lattice
from sfumato.steps.search.outcome import Outcome, best_of, closest_of

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable


def datafly(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """A node that is good enough, found in one climb; neither minimal nor optimal.

    Sweeney stops when at most k records are left over; here the suppression budget says how many may be. Of columns with
    equally many values the first in the order of the lattice climbs.

    Reference: Sweeney 1997; 2002, doi:10.1142/S021848850200165X.
    """
    classes = lattice.at(lattice.low)
    climbed = [lattice.judge(classes)]
    rungs = sum(lattice.high) - sum(lattice.low)
    while not climbed[-1].feasible and classes.levels != lattice.high:
        column = most_values(lattice, classes)
        classes = classes.roll_up({column: classes.levels[lattice.columns.index(column)] + 1})
        climbed.append(lattice.judge(classes))
        progress((len(climbed) - 1) / rungs, "climbing")
    return Outcome(best_of(lattice, climbed), closest_of(climbed), len(climbed))


def most_values(lattice: Lattice, classes: ClassTable, among: Sequence[str] | None = None) -> str:
    """The column with the most distinct values among those that can still climb (and are named, where some are)."""
    import numpy as np

    levels = zip(lattice.columns, classes.levels, lattice.high, strict=True)
    able = [c for c, level, high in levels if level < high and (among is None or c in among)]
    counts = {c: len(np.unique(classes.codes(c)[classes.records > 0])) for c in able}
    return max(counts, key=counts.__getitem__)
