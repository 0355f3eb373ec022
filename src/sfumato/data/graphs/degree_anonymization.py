"""Degree anonymization: as few ties as possible come (or go), so that everybody shares the own
degree with k − 1 others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.fields import Fields
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Step
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.pairs import anonymous_pairs
from sfumato.data.graphs.plans import (
    GraphPlan,
    changes,
    require_people,
    suppressed_warning,
    without_rare,
)
from sfumato.data.graphs.sequences import anonymous_within, joined_demands
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal

    Whole = NDArray[np.int64]

ROUNDS = 200
"""How often demands that nobody can meet are probed."""
ORDERS, WORK = 64, 20_000
"""How many orders of people with the same degree are tried: all of these in small graphs, where an
order matters most; people times orders.
"""


@parameters
class DegreeAnonymization(Step):
    r"""Add ties until everybody has as many as k − 1 others; with ``deletions`` ties go as well,
    which takes fewer changes.

    1. The cheapest k-anonymous degrees :math:`\hat d` by a dynamic program, :math:`O(nk)`: groups
       are raised to their largest degree, with ``deletions`` moved to their median.
    2. *Supergraph*: who lacks most ties is joined with those who lack most of the others and are no
       neighbours yet.
    3. *Probing*: what is left over cannot be met (an odd sum, or nobody who lacks a tie is left).
       So many people of low degree, drawn at random, count as having one tie more, and everything
       is done again, from the graph as it was.
    4. With ``deletions`` instead: *swaps* of single ties. Liu and Terzi begin with any graph of
       degrees :math:`\hat d` and swap ties towards the given one; we begin with the given graph,
       and swap until its degrees are reached, so that it keeps most of its ties.

    People's own quasi-identifiers: groups are made among people who share them, and combinations
    that fewer than k people have become missing first; without ``with_attributes`` they stay as
    they are and are not looked at. ``directed``: pairs of ties out and in are grouped, raised to
    the largest of both, made equal in sum, and met by the construction of Kleitman and Wang; no
    polynomial optimum is known for pairs.

    Where nothing is reached the step says so: :class:`Unsatisfiable`. Fewer than k people are
    refused.

    References: Liu & Terzi 2008, doi:10.1145/1376616.1376629; Kleitman & Wang 1973,
    doi:10.1016/0012-365X(73)90037-X.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> from sfumato.core.step import Goal
    >>> DegreeAnonymization(3).plan(examples.karate(), Goal(seed=Seed(1))).describe()[
    ...     "removed_edges"
    ... ]
    0
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[int, Field(ge=2, description="smallest number of people with the same degree")]
    deletions: Annotated[
        bool, Field(description="whether ties may be removed as well as added")
    ] = False
    directed: Annotated[
        bool, Field(description="whether ties from and to a person are distinguished")
    ] = False
    with_attributes: Annotated[
        bool,
        Field(
            description="whether people are grouped only with those who share their "
            "quasi-identifiers"
        ),
    ] = True

    name: ClassVar[str] = "degree_anonymization"
    tells: ClassVar[tuple[str, ...]] = ("added_edges", "removed_edges")

    def __post_init__(self) -> None:
        if self.directed and self.deletions:
            raise ParameterError(
                "DegreeAnonymization: deletions are for undirected graphs; leave one of the two out"
            )

    def plan(self, people: Any, goal: Goal) -> GraphPlan:
        """Find the degrees, and a graph that has them."""
        graph: PeopleGraph = people.seen(self.name, self.directed)
        require_people(self.name, graph, self.k)
        # Groups are made within classes of equal quasi-identifiers, so each class must have k
        # people.
        if self.with_attributes:
            masked, classes, gone = without_rare(graph, self.k)
        else:
            masked = graph
            classes = np.zeros(graph.people, np.int64)
            gone = 0
        stream = goal.stream(self.name)
        if self.directed:
            arcs = anonymous_pairs(masked, classes, self.k, stream)
        elif self.deletions:
            arcs = swapped(masked, classes, self.k, stream)
        else:
            arcs = raised(masked, classes, self.k, stream)
        # Counted against the graph as it came, not against the masked one.
        counts = changes(graph, arcs, self.directed)
        if graph.quasi:
            summary = {**counts, "suppressed_people": gone}
        else:
            summary = counts
        return GraphPlan(arcs, summary, suppressed_warning(gone), float(sum(counts.values())))

    def contradicted(self, told: Fields, schema: Schema, records: int | None) -> str | None:
        """That ties went, which the recipe does not allow."""
        # Only additions are allowed by default; a plan that removes ties was not made by this
        # recipe.
        if told["removed_edges"] and not (self.deletions or self.directed):
            return f"the plan of {self.name} removes ties, but the recipe allows no deletions"
        return None

    def apply(self, people: Any, plan: GraphPlan) -> PeopleGraph:
        """The graph with other ties."""
        return plan.graph


def raised(graph: PeopleGraph, classes: Whole, k: int, stream: np.random.Generator) -> PeopleGraph:
    """A graph with more ties whose degrees are k-anonymous: supergraph and probing, the best of
    several orders.

    Which of several people with the same degree is raised, and who counts as having a tie more,
    decides how many ties it takes: on small graphs one order takes twice as many as needed. So
    other orders are tried, none further than the best so far, until as few ties come as the degrees
    alone ask for.
    """
    degrees = graph.ties.degrees
    # Every tie has two ends, so half of what is missing, rounded up, is the least that can come.
    fewest = -(-int((anonymous_within(degrees, classes, k) - degrees).sum()) // 2)
    best: tuple[Whole, Whole] | None = None
    open_demands = 0
    # Orders matter most in small graphs, where trying many is cheap.
    for attempt in range(max(1, min(ORDERS, WORK // max(1, graph.people)))):
        if attempt == 0:
            order = np.arange(graph.people)
        else:
            order = stream.permutation(graph.people)
        # A later order must beat the best so far, by at least one tie.
        at_most = None
        if best is not None:
            at_most = len(best[0]) - 1
        ties, ends = _raised_in_order(graph, classes, k, stream, order, at_most=at_most)
        open_demands = open_demands or ends
        if ties is not None:
            best = ties
        # No order can do better than the degrees themselves ask for.
        if best is not None and len(best[0]) <= fewest:
            break
    if best is None:
        raise Unsatisfiable(
            f"degree_anonymization: {open_demands:,} tie end(s) found no partner after {ROUNDS} "
            "rounds; allow 'deletions: true', or ask for a smaller k",
            closest={"ends_without_partner": open_demands},
        )
    return graph.with_edges(np.append(graph.edges[0], best[0]), np.append(graph.edges[1], best[1]))


def _raised_in_order(
    graph: PeopleGraph,
    classes: Whole,
    k: int,
    stream: np.random.Generator,
    order: Whole,
    *,
    at_most: int | None,
) -> tuple[tuple[Whole, Whole] | None, int]:
    """New ties, people of one degree taken in an order; None, and how many ends are left, where
    more than ``at_most`` or nothing helps.
    """
    degrees = graph.ties.degrees
    probed = degrees.copy()
    target = np.empty_like(degrees)
    # Low degrees first: raising those costs least, as many people have them.
    lowest = order[np.argsort(degrees[order], kind="stable")]
    open_demands = 0
    for _ in range(ROUNDS):
        target[order] = anonymous_within(probed[order], classes[order], k)
        # Already more than the best so far would take; this order is given up.
        if at_most is not None and int((target - degrees).sum()) > 2 * at_most:
            break
        low, high, want = joined_demands(graph.ties, target - degrees)
        open_demands = int(want.sum())
        if not open_demands:
            return (low, high), 0
        # Who is tied to everybody can have no further tie.
        room = lowest[probed[lowest] < graph.people - 1]
        if not len(room):
            break
        # The lower half, but enough people to choose from in small graphs.
        among = room[: max(len(room) // 2, min(len(room), 4 * k))]
        largest = min(open_demands, len(among))
        # The first order takes the quickest way out; later ones vary how many are probed, to find
        # others.
        if at_most is None:
            size = largest
        else:
            size = int(stream.integers(1, largest + 1))
        probed[stream.choice(among, size=size, replace=False)] += 1
    return None, open_demands


def swapped(graph: PeopleGraph, classes: Whole, k: int, stream: np.random.Generator) -> PeopleGraph:
    """A graph with k-anonymous degrees near the given ones: ties come and go, one at a time."""
    degrees = graph.ties.degrees
    # The sum of degrees of any graph is even.
    target = even(anonymous_within(degrees, classes, k, by_median=True), classes, graph.people)
    change = target - degrees
    # First ties between people who lack some; what is then too much or too little is left to swaps.
    low, high, open_demands = joined_demands(graph.ties, np.maximum(change, 0))
    change = np.where(change > 0, open_demands, change)
    wider = graph.with_edges(np.append(graph.edges[0], low), np.append(graph.edges[1], high))
    # At random, so that the ties that go are not those of the first people.
    order = stream.permutation(wider.edges.shape[1])
    ends = wider.edges[:, order].astype(np.int64)
    keys = kernels.degrees.switch_edges(*wider.ties, ends[0], ends[1], change)
    if change.any():
        missing = int(np.abs(change).sum())
        raise Unsatisfiable(
            f"degree_anonymization: {missing:,} tie end(s) could not be swapped into place; ask for"
            " another k",
            closest={"ends_out_of_place": missing},
        )
    return graph.with_edges(keys // graph.people, keys % graph.people)


def even(target: Whole, classes: Whole, people: int) -> Whole:
    """The target with an even sum: the smallest group of odd size is moved by one; where the sum is
    odd there is such a group.
    """
    if not target.sum() % 2:
        return target
    # One number for (class, degree): the groups of people who must stay alike.
    keys = classes * (people + 1) + target
    values, which, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    odd = np.flatnonzero(sizes % 2 == 1)
    group = odd[np.argmin(sizes[odd])]
    changed = target.copy()
    level = values[group] % (people + 1)
    # The whole group moves, so it stays k-anonymous; downwards only where all ties are there
    # already.
    changed[which == group] += 1 if level < people - 1 else -1
    return changed
