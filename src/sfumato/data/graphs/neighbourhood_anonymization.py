"""Neighbourhood anonymization: ties go, or come, until everybody's neighbourhood looks like those
of k − 1 others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Step
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.k_neighbourhood import LARGEST_CAP
from sfumato.data.graphs.knowledge import ego_classes, egos, triangles_of, with_label
from sfumato.data.graphs.plans import (
    GraphPlan,
    changes,
    require_people,
    suppressed_warning,
    without_rare,
)
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal

    Whole = NDArray[np.int64]
    Matrix = NDArray[np.bool_]

MOST_PEOPLE = 2000
FALLBACK = (
    "promise h_refinement_k or k_degree and use degree_anonymization, or give whole blocks the "
    "same neighbours by neighbour_set_blowup"
)


@parameters
class NeighbourhoodAnonymization(Step):
    r"""Take ties away, or add some, until every neighbourhood is isomorphic to those of at least k
    − 1 others; for small graphs.

    Greedy: of the people whose neighbourhood is too rare, the one with most neighbours is taken
    with the k − 1 whose neighbourhoods are most alike (degree, then inner ties; of equals the rare
    ones). Their neighbours are laid side by side by their inner degrees, all get as many as the one
    with fewest, and an inner tie that one of them lacks goes in all. Without ``deletions`` it is
    the other way round, as Zhou and Pei do it: as many as the one with most, and a tie that one of
    them has comes in all. Ties that change change the neighbourhoods of others, so this is repeated
    until the promise holds. Since ties only go, or only come, it ends, at the latest with no tie or
    all ties; ``budget`` says how far it may go. Adding ties rarely ends before everything is joined
    unless the graph is nearly regular; taking them away does with a fraction of them.

    Neighbourhoods of more than ``cap`` neighbours, more than 2,000 people, or a spent budget are
    named errors, which say what to fall back on. Zhou and Pei code components by least depth-first
    codes and generalise labels of neighbours; here the inner degrees decide, and labels of
    neighbours are not looked at.

    Reference: Zhou & Pei 2008, doi:10.1109/ICDE.2008.4497459.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> NeighbourhoodAnonymization(2).plan(examples.karate(), Goal()).describe()["added_edges"]
    0
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[
        int, Field(ge=2, description="smallest number of people with isomorphic neighbourhoods")
    ]
    cap: Annotated[
        int,
        Field(ge=1, le=LARGEST_CAP, description="most neighbours anybody may have in the release"),
    ] = 30
    deletions: Annotated[
        bool, Field(description="whether ties may be removed; else they are only added")
    ] = True
    budget: Annotated[
        float, Field(gt=0, description="ties that may change, as a share of all ties")
    ] = 1.0
    with_attributes: Annotated[
        bool, Field(description="whether similar people also share their quasi-identifiers")
    ] = True

    name: ClassVar[str] = "neighbourhood_anonymization"
    tells: ClassVar[tuple[str, ...]] = ("added_edges", "removed_edges")

    def plan(self, people: Any, goal: Goal) -> GraphPlan:
        """Change ties until everybody is alike enough others."""
        graph: PeopleGraph = people.seen(self.name)
        require_people(self.name, graph, self.k)
        # Larger neighbourhoods could not be compared, so nothing could be proved of the result.
        largest = int(graph.ties.degrees.max())
        if graph.people > MOST_PEOPLE or largest > self.cap:
            raise Unsatisfiable(
                f"neighbourhood_anonymization handles up to {MOST_PEOPLE:,} people with at most "
                f"{self.cap} neighbours each (cap); these data have {graph.people:,} people with "
                f"up to {largest:,}; {FALLBACK}"
            )
        if self.with_attributes:
            masked, classes, gone = without_rare(graph, self.k)
        else:
            masked = graph
            classes = np.zeros(graph.people, np.int64)
            gone = 0
        edges = self._reached(masked, classes)
        counts = changes(graph, edges)
        return GraphPlan(edges, counts, suppressed_warning(gone), float(sum(counts.values())))

    def apply(self, people: Any, plan: GraphPlan) -> PeopleGraph:
        """The graph with other ties."""
        return plan.graph

    def _reached(self, graph: PeopleGraph, classes: Whole) -> PeopleGraph:
        # A matrix of all pairs: changes are quick, and there are at most 2,000 people.
        tied = np.zeros((graph.people, graph.people), dtype=np.bool_)
        tied[graph.edges[0], graph.edges[1]] = tied[graph.edges[1], graph.edges[0]] = True
        budget_of_ties = int(self.budget * graph.edges.shape[1])
        while True:
            now = graph.with_edges(*np.nonzero(np.triu(tied)))
            forms = egos(now, self.cap)
            # One more, so that class 0 is a label too.
            pairs, sizes = with_label(ego_classes(forms), (classes + 1).astype(np.uint64))
            rare: NDArray[np.bool_] = sizes[pairs] < self.k
            # Given up where a form cannot be decided, or more ties changed than allowed.
            if (
                not forms.settled.all()
                or abs(now.edges.shape[1] - graph.edges.shape[1]) > budget_of_ties
            ):
                break
            if not rare.any():
                return now
            # Nothing left to change: all ties are there, or none.
            if not _made_alike(tied, _alike(now, rare, classes, self.k), self.deletions):
                break
        raise Unsatisfiable(
            f"neighbourhood_anonymization: {int(rare.sum()):,} of {graph.people:,} neighbourhoods"
            f" were still too rare when the budget of ties ({budget_of_ties:,}) or the cap"
            f" ({self.cap}) was reached; raise them, ask for a smaller k, or {FALLBACK}",
            closest={"people_too_rare": int(rare.sum())},
        )


def _alike(graph: PeopleGraph, rare: NDArray[np.bool_], classes: Whole, k: int) -> list[int]:
    """The rare person with most neighbours, and the k − 1 of its class whose neighbourhoods are
    most alike.
    """
    degrees = graph.ties.degrees
    inner = triangles_of(graph)
    numbers = np.arange(graph.people)
    # Rare ones first, then most neighbours, then most inner ties: the hardest case decides.
    seed = int(np.lexsort((numbers, -inner, -degrees, ~rare))[0])
    # The degree weighs more: numbers of neighbours are made equal before inner ties are.
    apart = 2 * np.abs(degrees - degrees[seed]) + np.abs(inner - inner[seed])
    # People of another class, and the person itself, must never be chosen.
    apart[(classes != classes[seed]) | (numbers == seed)] = np.iinfo(np.int64).max
    order = np.lexsort((numbers, ~rare, apart))
    return [seed, *(int(v) for v in order[: k - 1])]


def _made_alike(tied: Matrix, members: list[int], deletions: bool) -> bool:
    """Change ties so that the neighbourhoods of some become isomorphic, as they stand now; False
    where nothing could be changed.
    """
    before = int(tied.sum())
    sizes = [int(tied[v].sum()) for v in members]
    size = min(sizes) if deletions else max(sizes)
    for v in members:
        _resize(tied, v, size, deletions)
    rows = [np.flatnonzero(tied[v]) for v in members]
    # A resized member may have lost neighbours by the changes made for another one.
    size = min(len(row) for row in rows)
    # The neighbours with most inner ties are laid upon each other, as they fit best.
    ordered = [row[np.lexsort((row, -tied[np.ix_(row, row)].sum(axis=1)))][:size] for row in rows]
    inner = [tied[np.ix_(row, row)] for row in ordered]
    if deletions:
        target = np.logical_and.reduce(inner)
    else:
        target = np.logical_or.reduce(inner)
    for row in ordered:  # neighbours may be shared: ties only go, or only come, so that it ends
        block = np.ix_(row, row)
        if deletions:
            tied[block] = tied[block] & target
        else:
            tied[block] = tied[block] | target
    return int(tied.sum()) != before


def _resize(tied: Matrix, person: int, size: int, deletions: bool) -> None:
    """Take ties to people of high degree away, or tie a person to others of low degree, until there
    are so many.
    """
    now = int(tied[person].sum())
    among = np.flatnonzero(tied[person] if deletions else ~tied[person])
    among = among[among != person]
    degrees = tied[among].sum(axis=1)
    order = among[np.lexsort((among, -degrees if deletions else degrees))]
    neighbours = order[: max(0, now - size if deletions else size - now)]
    tied[person, neighbours] = tied[neighbours, person] = not deletions
