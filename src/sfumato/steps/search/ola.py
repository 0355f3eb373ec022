"""OLA, the optimal lattice anonymization: bisect between the bottom and the top, tag, and choose a k-minimal node."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.errors import ParameterError
from sfumato.steps.search.lattice import Lattice, Node
from sfumato.steps.search.outcome import Outcome, best_of, closest_of, minimal_notes
from sfumato.steps.search.tagging import Tags


def ola(lattice: Lattice, progress: Progress = silent) -> Outcome:
    """The k-minimal node that the objective prefers.

    It is the optimum of the whole lattice if the objective never falls on the way up: ``height`` never does, the others do not
    where nothing is suppressed. With suppression a coarser node may cost less than every k-minimal one; ``optimal``
    finds it. All depends on tags, so models that merging or suppression can break are refused.

    Reference: El Emam et al. 2009, doi:10.1197/jamia.M3144.
    """
    tags = Tags(lattice, progress)
    if not tags.decisive:
        raise ParameterError(_why_not(lattice))
    decide(tags, lattice.low, lattice.high)
    minimal = [tags.judge(node) for node in tags.minimal()]
    best = best_of(lattice, minimal)
    return Outcome(best, closest_of(tags.judged.values()), tags.looked_at, minimal_notes(lattice, minimal))


def decide(tags: Tags, bottom: Node, top: Node) -> None:
    """Tag every node between two: look at those half way up, then go on below a feasible one and above any other."""
    box = tags.box(bottom, top)
    if not tags.undecided(box):
        return
    start, height = sum(bottom) - sum(tags.lattice.low), sum(top) - sum(bottom)
    if height <= 1:
        tags.is_feasible(bottom)
        tags.is_feasible(top)
        return
    for node in tags.nodes(height=start + height // 2, box=box):
        if tags.is_feasible(node):
            decide(tags, bottom, node)
        else:
            decide(tags, node, top)


def _why_not(lattice: Lattice) -> str:
    told = [m.promise for m in lattice.models if not m.shrinking and not (m.monotone and lattice.budget == 0)]
    return (
        f"ola concludes from one node to others, which is wrong for {' and '.join(told)}"
        f"{' with suppression' if lattice.budget else ''}; use the algorithm optimal, or suppress nothing"
    )
