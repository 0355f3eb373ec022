"""k-degree anonymity: nobody is known by the number of ties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.core.data import Evidence
from sfumato.core.model import Facts, Model
from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.data.graphs.knowledge import classes_of, degree_words, with_label
from sfumato.data.graphs.promises import crowds, graph_of

if TYPE_CHECKING:
    from sfumato.core.model import Verdict

WithAttributes = Annotated[
    bool,
    Field(description="whether people are alike only if their own quasi-identifiers are equal too"),
]
Directed = Annotated[bool, Field(description="whether ties from and to a person are distinguished")]


@parameters
class KDegree(Model):
    r"""Everybody has as many ties as at least k − 1 others.

    .. math:: \min_v |\{u : \deg(u) = \deg(v),\ q(u) = q(v)\}| \ge k

    *q* are the people's own quasi-identifiers (none: all are alike); without ``with_attributes``
    they do not count, and the verdict says so. ``directed``: the degree is the pair of ties from
    and ties to a person. People without ties are a class like any other.

    Reference: Liu & Terzi 2008, doi:10.1145/1376616.1376629.

    >>> from sfumato import examples
    >>> KDegree(2).judge(Evidence(examples.karate()))
    ✗ 2-degree anonymity: 6 of 34 people are unique in the number of their ties
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    k: Annotated[int, Field(ge=1, description="smallest number of people with the same degree")]
    directed: Directed = False
    with_attributes: WithAttributes = True

    name: ClassVar[str] = "k_degree"
    facts: ClassVar[Facts] = Facts(against="identity", truthful=False)

    @property
    def promise(self) -> str:
        """The promise in a few words."""
        return f"{self.k}-degree anonymity" + (" of pairs" if self.directed else "")

    def judge(self, evidence: Evidence) -> Verdict:
        """Count people of the same degree."""
        people = evidence.data
        graph = graph_of(people).seen(self.name, self.directed)
        classes, sizes = classes_of(degree_words(graph, self.directed))
        if self.with_attributes:
            # An intruder who knows both the degree and the own columns sees these finer classes.
            _, sizes = with_label(classes, graph.labels)
        alike = "the number of their ties"
        if self.directed:
            alike = "the numbers of their outgoing and incoming ties"
        return crowds(self, graph, sizes, self.k, alike, self.with_attributes)
