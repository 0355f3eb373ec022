"""Candidates under vertex refinement: nobody is known by the ties of the neighbours of … of
neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.model import Facts, Model
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.graphs.k_degree import Directed, WithAttributes
from sfumato.data.graphs.knowledge import exact_classes, with_label
from sfumato.data.graphs.promises import crowds, graph_of

if TYPE_CHECKING:
    from sfumato.core.model import Verdict


@parameters
class HRefinement(Model):
    r"""Everybody has at least k candidates for an intruder who knows :math:`H_i`.

    :math:`H_1(v)` is the degree, :math:`H_{i+1}(v) = \{\{H_i(u) : u \in N(v)\}\}` the multiset of
    what is known of the neighbours; *i* is ``rounds``. Every round refines the one before, so the
    promise implies that of fewer rounds, k-degree anonymity first. Classes are proved by comparing
    neighbours. ``with_attributes``: candidates share the person's own quasi-identifiers too; those
    of the neighbours are not known to this intruder.

    Reference: Hay, Miklau, Jensen, Towsley & Weis 2008, doi:10.14778/1453856.1453873.

    >>> from sfumato import examples
    >>> HRefinement(2, rounds=2).judge(Evidence(examples.karate()))
    ✗ 2 candidates under H2: 23 of 34 people are unique in what is known after 2 rounds of
    refinement
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[int, Field(ge=1, description="smallest number of candidates")]
    rounds: Annotated[int, Field(ge=1, description="the i of the H_i that the intruder knows")] = 2
    directed: Directed = False
    with_attributes: WithAttributes = True

    name: ClassVar[str] = "h_refinement_k"
    facts: ClassVar[Facts] = Facts(against="identity", truthful=False)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k} candidates under H{self.rounds}"

    def judge(self, evidence: Evidence) -> Verdict:
        """Refine as often as asked, and count."""
        people = evidence.data
        graph = graph_of(people).seen(self.name, self.directed)
        classes, sizes = exact_classes(graph, self.rounds, self.directed)
        if self.with_attributes:
            # The own quasi-identifiers split the classes further; only the sizes matter for the
            # verdict.
            _, sizes = with_label(classes, graph.labels)
        alike = f"what is known after {self.rounds} rounds of refinement"
        return crowds(self, graph, sizes, self.k, alike, self.with_attributes)
