"""Blow-ups: blocks of people with exactly the same neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato import kernels
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Step
from sfumato.data.graphs.graph import PeopleGraph
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

MOST_EDGES = 50_000_000
"""Ties that a release may have at most: two blocks that are joined give |B|·|B'| of them."""


@parameters
class NeighbourSetBlowup(Step):
    r"""Cut people into blocks of at least k and give every block one set of neighbours: all ties
    between two blocks, or none.

    Greedy: of those who are left, whoever has most ties forms a block with the k − 1 whose
    neighbours differ least, :math:`|N \triangle N'|`; the last block takes the rest. Between two
    blocks the majority decides. With *e* ties inside a block or between two, the changes are

    .. math:: \sum_B e(B) + \sum_{B < B'} \min(e(B, B'),\ |B||B'| - e(B, B'))

    ``closed`` blocks have all ties inside instead of none. Graphs that are sparse lose most of
    their ties: where the changes are as many as there are ties, the plan warns that taking all ties
    away costs no more. Everybody keeps the own columns; blocks are made among people who share
    their quasi-identifiers, and rare combinations become missing (:class:`DegreeAnonymization`).

    Reference: Stokes & Torra 2012, doi:10.1007/s00500-012-0850-4; the greedy partition is ours.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> NeighbourSetBlowup(2).plan(examples.karate(), Goal()).scores()
    {'edges_changed': 36.0}
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[int, Field(ge=2, description="smallest block")]
    closed: Annotated[
        bool, Field(description="whether a person counts as a neighbour of their own")
    ] = False
    with_attributes: Annotated[
        bool, Field(description="whether people of a block share their quasi-identifiers")
    ] = True

    name: ClassVar[str] = "neighbour_set_blowup"
    tells: ClassVar[tuple[str, ...]] = ("added_edges", "removed_edges")

    def plan(self, people: Any, goal: Goal) -> GraphPlan:
        """Cut people into blocks and count what changes."""
        graph: PeopleGraph = people.seen(self.name)
        require_people(self.name, graph, self.k)
        if self.with_attributes:
            masked, classes, gone = without_rare(graph, self.k)
        else:
            masked = graph
            classes = np.zeros(graph.people, np.int64)
            gone = 0
        edges = blown_up(masked, blocks_of(masked, classes, self.k), self.closed)
        counts = changes(graph, edges)
        total = sum(counts.values())
        warned = suppressed_warning(gone)
        ties = graph.edges.shape[1]
        # Closed blocks cannot do without ties, so the comparison would mean nothing there.
        if total >= ties and not self.closed:
            warned += (
                (
                    f"{total:,} ties would change, but there are only {ties:,}: removing all ties "
                    "costs no more; ask for a smaller k"
                ),
            )
        return GraphPlan(edges, counts, warned, float(total))

    def apply(self, people: Any, plan: GraphPlan) -> PeopleGraph:
        """The graph of blocks."""
        return plan.graph


def blocks_of(graph: PeopleGraph, classes: Whole, k: int) -> Whole:
    """The block of everybody."""
    # By degree, the lower number behind the higher one among equals; the loop takes the last first.
    by_degree = np.lexsort((-np.arange(graph.people), graph.ties.degrees)).astype(np.int64)
    block_of, _ = kernels.degrees.build_blocks(
        *graph.ties, by_degree, classes, np.bincount(classes), k
    )
    blocks: Whole = block_of
    return blocks


def blown_up(graph: PeopleGraph, blocks: Whole, closed: bool) -> PeopleGraph:
    """All ties or none between any two blocks, as the majority of pairs has it; inside none, or
    all.
    """
    sizes = np.bincount(blocks)
    # The blocks of both ends, the smaller first: ties between two blocks are counted together.
    ends = np.sort(blocks[graph.edges], axis=0)
    keys, tie_counts = np.unique(ends[0] * len(sizes) + ends[1], return_counts=True)
    first = keys // len(sizes)
    second = keys % len(sizes)
    # More than half of all possible ties: filling the rest changes fewer than taking all away.
    full = (first != second) & (2 * tie_counts > sizes[first] * sizes[second])
    pairs = [(int(a), int(b)) for a, b in zip(first[full], second[full], strict=True)]
    # Known before any tie is made: a few large blocks can mean very many.
    ties = int((sizes[first[full]] * sizes[second[full]]).sum())
    ties += int((sizes * (sizes - 1) // 2).sum()) if closed else 0
    if ties > MOST_EDGES:
        raise Unsatisfiable(
            f"neighbour_set_blowup: the release would have {ties:,} ties; ask for a smaller k"
        )
    # The members of every block: sorted by block, cut where the next one begins.
    members = np.split(np.argsort(blocks, kind="stable"), np.cumsum(sizes)[:-1])
    low = [np.repeat(members[a], len(members[b])) for a, b in pairs]
    high = [np.tile(members[b], len(members[a])) for a, b in pairs]
    if closed:
        inside = [np.triu_indices(len(block), 1) for block in members]
        low += [block[i] for block, (i, _) in zip(members, inside, strict=True)]
        high += [block[j] for block, (_, j) in zip(members, inside, strict=True)]
    # Without any pair there would be nothing to join.
    none = [np.zeros(0, dtype=np.int64)]
    return graph.with_edges(np.concatenate(none + low), np.concatenate(none + high))
