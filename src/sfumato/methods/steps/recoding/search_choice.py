"""Which lattices are decided, and what is said of the others.

Deciding a lattice looks at a share of its nodes that nobody knows before, so the estimate is the
work of looking at all of them: nodes times classes, where a look itself costs as much as 20,000
classes. Up to ``REACH`` the search for the optimum is over in seconds to minutes. Beyond it the
any-time search takes over, for an effort that follows from the size of the table, never from a
clock.
"""

from __future__ import annotations

import dataclasses

from sfumato.core.fields import Fields
from sfumato.core.progress import Progress, silent
from sfumato.methods.steps.recoding.anytime import EFFORT, anytime
from sfumato.methods.steps.recoding.lattice import Lattice
from sfumato.methods.steps.recoding.optimal import Outcome, Search, k_minimal, minimal_notes

REACH = 1e11
"""Nodes times classes up to which a lattice is decided."""
LOOK = 20_000
"""What looking at a node costs besides its classes, in classes."""
WORK = 200_000_000
"""Looks times classes that the any-time search takes beyond that."""
LEAST_EFFORT = 500
"""Looks that it takes at least."""


def effort_beyond(lattice: Lattice) -> int:
    """How many looks a lattice out of reach gets.

    >>> [min(EFFORT, max(LEAST_EFFORT, WORK // classes)) for classes in (2_000, 50_000, 1_000_000)]
    [20000, 4000, 500]
    """
    return min(EFFORT, max(LEAST_EFFORT, WORK // max(1, len(lattice.base))))


def optimal(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The optimum of the lattice under any model and objective, by branch and bound."""
    search = Search(lattice, progress).run()
    if lattice.objective.minimal:
        notes = minimal_notes(lattice, k_minimal(search.feasible))
    else:
        notes = {}
    return Outcome(search.best, search.closest, search.looked_at, notes, algorithm="optimal")


def auto(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The optimum where the lattice is within reach; else the best that is found, with a bound and
    a warning.
    """
    # What looking at every node would cost: nodes times classes, and what a look costs. Samarati's
    # preferences are always searched for: only that finds what is minimal.
    work = float(lattice.size) * (len(lattice.base) + LOOK)
    if lattice.objective.minimal or work <= REACH:
        return optimal(lattice, progress)
    progress(0.0, f"{lattice.size:,} nodes, too many to decide: searching for good ones")
    outcome = anytime(lattice, progress, effort=effort_beyond(lattice))
    notes = dict(outcome.notes)
    if not notes["proved_optimal"]:
        notes["warning"] = warning(lattice, outcome)
    return dataclasses.replace(outcome, notes=notes, algorithm="anytime")


def warning(lattice: Lattice, outcome: Outcome) -> str:
    """That not all was decided, and how far the best that was found can be from the optimum."""
    name = lattice.objective.name.replace("_", " ")
    text = f"the best of {outcome.looked_at:,} evaluated nodes was chosen"
    if outcome.best is not None and "lower_bound" in outcome.notes:
        lower = float(outcome.notes["lower_bound"])
        score = float(outcome.best.score)
        text += (
            f" ({name} {score:.4f}; no node has less than {lower:.4f}, so the gap is"
            f" {score - lower:.4f} at most)"
        )
    return (
        f"the lattice has {lattice.size:.3g} nodes, too many to decide which is best: {text}. "
        "Fewer quasi-identifiers or levels make it decidable; algorithm optimal decides it, "
        "however long that takes"
    )


def warnings_of(notes: Fields) -> tuple[str, ...]:
    """The warning that a search left in the notes of a plan, if any."""
    if "warning" in notes:
        return (str(notes["warning"]),)
    return ()
