"""What promises about graphs have in common: crowds of people who are alike, and what is said of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.core.model import Model, make_verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.model import Verdict
    from sfumato.data.graphs.graph import PeopleGraph


def covered(graph: PeopleGraph, with_attributes: bool) -> str:
    """What a verdict adds about the people's own quasi-identifiers: counted, or not covered."""
    if not graph.quasi:
        return ""
    names = ", ".join(graph.quasi)
    if with_attributes:
        return f" and in {names}"
    return f" (knowledge of {names} is not covered)"


def crowds(
    model: Model,
    graph: PeopleGraph,
    sizes: NDArray[np.int64],
    k: int,
    alike: str,
    with_attributes: bool,
) -> Verdict:
    """The verdict on classes of people who are alike: the smallest must have k."""
    # Sizes of classes, so their sum is the number of people concerned.
    failing = sizes[sizes < k]
    attained = int(sizes.min())
    if attained > 1:
        sentence = (
            f"everybody is like at least {attained - 1:,} other(s) in "
            f"{alike}{covered(graph, with_attributes)}"
        )
    else:
        sentence = (
            f"{int((sizes == 1).sum()):,} of {graph.people:,} people are unique in "
            f"{alike}{covered(graph, with_attributes)}"
        )
    return make_verdict(
        model,
        holds=not len(failing),
        attained=attained,
        required=k,
        sentence=sentence,
        broken=len(failing),
        people=int(failing.sum()),
        crowd=k,
    )


def graph_of(people: Any) -> PeopleGraph:
    """What a promise is shown, as what it is."""
    graph: PeopleGraph = people
    return graph
