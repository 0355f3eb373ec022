"""What a search of the lattice ends with, whatever the algorithm."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from sfumato.core.progress import Progress
from sfumato.steps.search.lattice import Judged, Lattice
from sfumato.steps.search.optimal import better, k_minimal, preferred


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The node that was chosen, or None and the infeasible node that lacks least.

    ``looked_at`` counts the nodes whose classes were counted; ``notes`` say what the algorithm knows besides, as plain
    data. ``algorithm`` names the one that was taken where that was left open.
    """

    best: Judged | None
    closest: Judged | None
    looked_at: int
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    algorithm: str | None = None


class Algorithm(Protocol):
    """A way to search a lattice."""

    def __call__(self, lattice: Lattice, progress: Progress) -> Outcome:  # noqa: D102
        ...


def best_of(lattice: Lattice, judged: Iterable[Judged]) -> Judged | None:
    """The feasible node that the objective prefers; Samarati's preferences choose among the k-minimal ones."""
    feasible = (j for j in judged if j.feasible)
    if lattice.objective.minimal:
        return preferred(k_minimal(list(feasible)))
    best: Judged | None = None
    for one in feasible:
        if best is None or better(one, best):
            best = one
    return best


def closest_of(judged: Iterable[Judged]) -> Judged | None:
    """The infeasible node that would suppress least."""
    return min((j for j in judged if not j.feasible), key=lambda j: (j.tally.suppressed, j.node), default=None)


def tell(progress: Progress, done: int, work: int, words: str) -> None:
    """Say how much is done whenever that is one percent more."""
    if done * 100 // work != (done - 1) * 100 // work:
        progress(min(1.0, done / work), words)


def minimal_notes(lattice: Lattice, minimal: Iterable[Judged]) -> dict[str, Any]:
    """How many k-minimal nodes there are, and every one of them: its levels, what it suppresses, and its score.

    The least score first; nodes of equal score in the order of their levels.
    """
    listed = sorted(minimal, key=lambda j: (j.score, sum(j.node), j.node))
    return {
        "k_minimal_nodes": len(listed),
        "k_minimal": [
            {
                "levels": dict(zip(lattice.columns, j.node, strict=True)),
                "suppressed_records": j.tally.suppressed,
                "score": j.score,
            }
            for j in listed
        ],
    }
