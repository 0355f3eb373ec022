"""Incognito: all admissible nodes, by growing subsets of the columns."""

from __future__ import annotations

import itertools

from sfumato.core.progress import Progress, silent
from sfumato.steps.search.lattice import Lattice, Node
from sfumato.steps.search.outcome import Outcome, best_of, closest_of, minimal_notes
from sfumato.steps.search.tagging import FEASIBLE, UNKNOWN, Tags


def incognito(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The node the objective prefers among all admissible ones.

    Reference: LeFevre, DeWitt & Ramakrishnan 2005, doi:10.1145/1066157.1066164.
    """
    tags = Tags(lattice, progress)
    admissible = all_admissible(tags)
    chosen = tags.minimal() if lattice.objective.minimal else admissible
    judged = [tags.judge(node) for node in chosen]
    minimal = minimal_notes(lattice, judged) if lattice.objective.minimal else {}
    notes = {"admissible_nodes": len(admissible), **minimal}
    return Outcome(best_of(lattice, judged), closest_of(tags.judged.values()), tags.looked_at, notes)


def all_admissible(tags: Tags) -> list[Node]:
    """Every feasible node.

    *Subset property*: levels that break a promise on some columns break it on more. So the lattices of one column are
    searched first, then those of two, and so on, with the columns that are left out at their highest level. In each,
    *generalization property*: nodes are tried from below, and those above a feasible one are not looked at. The tags
    carry both from lattice to lattice, where the paper joins the survivors of the smaller ones.
    """
    columns = range(len(tags.free))
    for size in range(1, len(tags.free) + 1):
        for subset in itertools.combinations(columns, size):
            _search(tags, subset)
    if not tags.free:
        tags.judge(tags.lattice.low)
    return tags.nodes(mark=FEASIBLE)


def _search(tags: Tags, subset: tuple[int, ...]) -> None:
    """Decide the lattice of some columns, breadth first."""
    sizes = tags.marks.shape
    box = tuple(slice(0, sizes[a]) if a in subset else slice(sizes[a] - 1, sizes[a]) for a in range(len(sizes)))
    for node in sorted(tags.nodes(mark=UNKNOWN, box=box), key=lambda node: (sum(node), node)):
        tags.is_feasible(node)
