"""MinGen: look at every node, keep those that are good enough, choose the one that distorts least."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.core.progress import Progress, silent
from sfumato.steps.search.lattice import Lattice
from sfumato.steps.search.optimal import k_minimal
from sfumato.steps.search.outcome import Outcome, best_of, closest_of, minimal_notes, tell
from sfumato.steps.search.tagging import require_small

if TYPE_CHECKING:
    from sfumato.core.classes import ClassTable


def mingen(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The optimum of the lattice, under any model and objective. Exhaustive: for small lattices and to check others.

    Reference: Sweeney 2002, doi:10.1142/S021848850200165X.
    """
    require_small(lattice)
    judged = []
    for classes in every_table(lattice):
        judged.append(lattice.judge(classes))
        tell(progress, len(judged), lattice.size, "looking at every node")
    feasible = [j for j in judged if j.feasible]
    notes = minimal_notes(lattice, k_minimal(feasible)) if lattice.objective.minimal else {}
    return Outcome(best_of(lattice, judged), closest_of(judged), len(judged), notes)


def every_table(lattice: Lattice) -> Iterator[ClassTable]:
    """The classes of every node, each rolled up by one level from those of a finer one."""

    def climb(classes: ClassTable, column: int) -> Iterator[ClassTable]:
        if column == len(lattice.columns):
            yield classes
            return
        for level in range(lattice.low[column], lattice.high[column] + 1):
            classes = classes.roll_up({lattice.columns[column]: level})
            yield from climb(classes, column + 1)

    return climb(lattice.at(lattice.low), 0)
