"""What steps that change a graph have in common: the plan, and people's quasi-identifiers that
would stand out.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.fields import Document, Fields
from sfumato.core.step import Plan
from sfumato.data.graphs.graph import PeopleGraph, labels_in
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class GraphPlan(Plan):
    """The graph as it will be; ``counts`` say in numbers how it differs, ``warned`` what whoever
    runs the recipe should know.
    """

    graph: PeopleGraph
    counts: Fields
    warned: tuple[str, ...] = ()
    cost: float | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know."""
        return self.warned

    def describe(self) -> Document:
        """The plan in counts."""
        return dict(self.counts)

    def scores(self) -> dict[str, float]:
        """How many ties change."""
        if self.cost is None:
            return {}
        return {"edges_changed": self.cost}


def changes(before: PeopleGraph, after: PeopleGraph, directed: bool = False) -> dict[str, int]:
    """How many ties came and went, between the same people under the same numbers."""
    old, new = (_keys(g.arcs if directed else g.edges, g.people) for g in (before, after))
    shared = in_both(old, new)
    return {"added_edges": len(new) - shared, "removed_edges": len(old) - shared}


def in_both(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """How many numbers two ascending lists have in common."""
    if not len(first):
        return 0
    # A number behind the last one is moved inside, and then differs.
    positions = np.minimum(np.searchsorted(first, second), len(first) - 1)
    return int((first[positions] == second).sum())


def _keys(edges: NDArray[np.int32], people: int) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = edges[0].astype(np.int64) * people + edges[1]
    return keys


def require_people(asker: str, graph: PeopleGraph, k: int) -> None:
    """Refuse a k that there are too few people for."""
    if graph.people < k:
        raise Unsatisfiable(
            f"{asker}: with {graph.people:,} people nobody can be one of {k:,}; ask for a smaller k"
        )


def without_rare(graph: PeopleGraph, k: int) -> tuple[PeopleGraph, NDArray[np.int64], int]:
    """The graph in which no combination of quasi-identifiers has fewer than k people, the class of
    everybody, and how many were suppressed.

    The values of rare combinations become missing; where these are still fewer than k, those of the
    next rarest combination do as well.
    """
    labels = graph.labels
    values, classes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    # Nothing to suppress: no quasi-identifiers, or every combination is frequent enough.
    if not graph.quasi or (sizes >= k).all() or graph.own is None:
        return graph, classes.astype(np.int64), 0
    nothing = labels_in(pl.DataFrame({name: [None] for name in graph.quasi}), graph.quasi, 1)[0]
    sizes_left = sizes.copy()
    # People whose values are all missing belong to those that will be suppressed: they look alike.
    gone = (sizes < k) | (values == nothing)
    # Out of the search for the next rarest.
    sizes_left[gone] = np.iinfo(np.int64).max
    # The suppressed are a class as well, and must be k.
    while sizes[gone].sum() < k and not gone.all():
        rarest = np.lexsort((values, sizes_left))[0]
        gone[rarest], sizes_left[rarest] = True, np.iinfo(np.int64).max
    # Who had no values before lost none.
    hit = gone[classes] & (labels != nothing)
    quasi = [
        pl.when(pl.Series(hit)).then(None).otherwise(pl.col(name)).alias(name)
        for name in graph.quasi
    ]
    masked = graph.with_own(graph.own.with_columns(quasi))
    return masked, np.unique(masked.labels, return_inverse=True)[1].astype(np.int64), int(hit.sum())


def suppressed_warning(count: int) -> tuple[str, ...]:
    """What is said of people whose quasi-identifiers had to go."""
    if not count:
        return ()
    return (
        (
            f"the quasi-identifiers of {count:,} people are missing in the release: too few people "
            "share them"
        ),
    )
