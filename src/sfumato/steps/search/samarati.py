"""Samarati's search: the least height at which a node is good enough, by bisection, and all k-minimal nodes."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.steps.search.lattice import Judged, Lattice
from sfumato.steps.search.outcome import Outcome, best_of, closest_of, minimal_notes
from sfumato.steps.search.tagging import FEASIBLE, UNKNOWN, Tags


def samarati(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """A node of the least height, and of those the one that the objective prefers.

    The height of a node is the sum of its levels. Where one of her preferences is the objective (minimum absolute or relative
    distance, maximum distribution, minimum suppression), the choice is among *all* k-minimal nodes, as she meant it.

    Reference: Samarati 2001, doi:10.1109/69.971193.
    """
    tags = Tags(lattice, progress)
    if lattice.objective.minimal:
        chosen = all_minimal(tags)
    else:
        height = least_height(tags)
        chosen = [] if height is None else [tags.judge(node) for node in tags.nodes(height=height)]
    notes = minimal_notes(lattice, chosen) if lattice.objective.minimal else {}
    return Outcome(best_of(lattice, chosen), closest_of(tags.judged.values()), tags.looked_at, notes)


def least_height(tags: Tags) -> int | None:
    """The least height that has a feasible node, counted from the lowest node; None where there is no such node.

    If a height has one, so has the next: bisect. Where a model breaks that rule, heights are tried from below.
    """
    low, high = 0, int(tags.heights.max())
    if not tags.decisive:
        return next((height for height in range(high + 1) if _has_feasible(tags, height)), None)
    if not _has_feasible(tags, high):
        return None
    while low < high:
        middle = (low + high) // 2
        if _has_feasible(tags, middle):
            high = middle
        else:
            low = middle + 1
    return low


def _has_feasible(tags: Tags, height: int) -> bool:
    if tags.nodes(height=height, mark=FEASIBLE):
        return True
    return any(tags.is_feasible(node) for node in tags.nodes(height=height, mark=UNKNOWN))


def all_minimal(tags: Tags) -> list[Judged]:
    """AllMin: every feasible node that has no feasible one below it, from the least height upwards.

    What lies above such a node is not minimal, whatever the models, and is passed over.
    """
    import numpy as np

    start = least_height(tags)
    if start is None:
        return []
    found: list[Judged] = []
    covered = np.zeros(tags.marks.shape, dtype=np.bool_)
    for height in range(start, int(tags.heights.max()) + 1):
        for node in tags.nodes(height=height):
            place = tags.place(node)
            if not covered[place] and tags.is_feasible(node):
                found.append(tags.judge(node))
                covered[tuple(slice(i, None) for i in place)] = True
    return found
