"""k-neighbourhood anonymity: nobody is known by how the own neighbours are tied to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.model import Facts, Model, make_verdict
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.graphs.k_degree import WithAttributes
from sfumato.data.graphs.knowledge import ego_classes, egos, with_label
from sfumato.data.graphs.promises import covered, crowds, graph_of

if TYPE_CHECKING:
    from sfumato.core.model import Verdict

LARGEST_CAP = 62
"""Vertices of a neighbourhood whose form can be worked out at all."""


@parameters
class KNeighbourhood(Model):
    r"""Everybody's neighbourhood is isomorphic to those of at least k − 1 others.

    The neighbourhood (ego graph) of *v* is *v*, its neighbours, and all ties between them.
    Neighbourhoods of up to ``cap`` neighbours are compared by their canonical form. Larger ones are
    compared by invariants alone, and equal invariants do not prove anything: where the promise
    hangs on them it is unknown whether it holds, and what is unknown does not hold.
    ``with_attributes``: the person's own quasi-identifiers must be the same too, those of the
    neighbours are not known to this intruder (Zhou and Pei label neighbours as well).

    Reference: Zhou & Pei 2008, doi:10.1109/ICDE.2008.4497459.

    >>> from sfumato import examples
    >>> KNeighbourhood(2).judge(Evidence(examples.karate()))
    ✗ 2-neighbourhood anonymity: 16 of 34 people are unique in their neighbourhood
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[
        int, Field(ge=1, description="smallest number of people with isomorphic neighbourhoods")
    ]
    cap: Annotated[
        int,
        Field(ge=1, le=LARGEST_CAP, description="neighbours up to which isomorphism is decided"),
    ] = 30
    with_attributes: WithAttributes = True

    name: ClassVar[str] = "k_neighbourhood"
    facts: ClassVar[Facts] = Facts(against="identity", truthful=False)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-neighbourhood anonymity"

    def judge(self, evidence: Evidence) -> Verdict:
        """Compare neighbourhoods; those beyond the cap count as unknown."""
        people = evidence.data
        graph = graph_of(people).seen(self.name)
        forms = egos(graph, self.cap)
        # By both words of a form: a collision here would make a false promise, so 64 bits are not
        # enough.
        classes = ego_classes(forms)
        if self.with_attributes:
            classes, _ = with_label(classes, graph.labels)
        sizes = np.bincount(classes)
        # Neighbourhoods whose form was not worked out: too large, or too many symmetries.
        unknown = int((~forms.settled).sum())
        # different invariants are proof enough
        if self.k == 1 or not unknown or (sizes < self.k).any():
            return crowds(self, graph, sizes, self.k, "their neighbourhood", self.with_attributes)
        sentence = (
            f"unknown for {unknown:,} of {graph.people:,} people, whose neighbourhoods have more "
            f"than {self.cap} neighbours or too many symmetries to "
            f"compare{covered(graph, self.with_attributes)}; promise h_refinement_k or k_degree "
            "instead"
        )
        # Unknown does not hold. Nobody is proved to have any company, so 1 is what is attained.
        return make_verdict(
            self,
            holds=False,
            attained=1,
            required=self.k,
            sentence=sentence,
            broken=len(np.unique(classes[~forms.settled])),
            people=unknown,
            crowd=self.k,
        )
