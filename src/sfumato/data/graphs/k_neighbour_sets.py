"""k-anonymity of neighbour sets: nobody is known even by who the neighbours are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.model import Facts, Model
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.graphs.k_degree import WithAttributes
from sfumato.data.graphs.knowledge import set_classes, with_label
from sfumato.data.graphs.promises import crowds, graph_of

if TYPE_CHECKING:
    from sfumato.core.model import Verdict


@parameters
class KNeighbourSets(Model):
    r"""Everybody has exactly the same neighbours as at least k − 1 others.

    .. math:: \min_v |\{u : N(u) = N(v)\}| \ge k

    People with the same neighbours have no tie to each other, so such graphs are exactly blow-ups:
    blocks of at least k, no tie inside, and between two blocks all ties or none.
    ``closed``: :math:`N[v] = N(v) \cup \{v\}` instead, and all ties inside of blocks. The strongest
    promise about graphs here: exchanging two people of a block changes nothing, so it implies all
    others with the same k and any number of rounds.

    Reference: Stokes & Torra 2012, doi:10.1007/s00500-012-0850-4.

    >>> from sfumato import examples
    >>> KNeighbourSets(2).judge(Evidence(examples.karate()))
    ✗ 2-anonymous neighbour sets: 27 of 34 people are unique in who their neighbours are
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[int, Field(ge=1, description="smallest number of people with the same neighbours")]
    closed: Annotated[
        bool, Field(description="whether a person counts as a neighbour of their own")
    ] = False
    with_attributes: WithAttributes = True

    name: ClassVar[str] = "k_neighbour_sets"
    facts: ClassVar[Facts] = Facts(against="identity", truthful=False)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-anonymous {'closed ' if self.closed else ''}neighbour sets"

    def judge(self, evidence: Evidence) -> Verdict:
        """Compare who the neighbours are."""
        people = evidence.data
        graph = graph_of(people).seen(self.name)
        classes, sizes = set_classes(graph, self.closed)
        # Within a block the quasi-identifiers must be the same as well, or they tell people apart.
        if self.with_attributes:
            _, sizes = with_label(classes, graph.labels)
        return crowds(self, graph, sizes, self.k, "who their neighbours are", self.with_attributes)
