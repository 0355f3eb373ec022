"""Private degrees: a graph drawn from nothing but noisy degrees, so that no single tie can be
learnt.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.parameters import parameters
from sfumato.core.shape import Shape
from sfumato.core.step import Account, Declaration, Effect, Step
from sfumato.core.table import NOBODY
from sfumato.data.graphs.graph import PeopleGraph
from sfumato.data.graphs.plans import GraphPlan
from sfumato.data.graphs.sequences import isotonic, joined_demands, made_graphical, nothing
from sfumato.errors import SchemaError
from sfumato.methods.formulas.exact_draws import Draws

if TYPE_CHECKING:
    from sfumato.core.schema import Schema
    from sfumato.core.step import Goal

SENSITIVITY = 2
"""How much a tie more or less changes the sorted degrees, added up: two people have one tie more or
less each.
"""
REHEARSAL = "rehearsal: the seed can be guessed, so no ε is certified"


@parameters
class PrivateDegrees(Step):
    r"""Draw a graph again from the sorted degrees with noise: ε-differential privacy for one tie.

    Every sorted degree gets noise :math:`P(x) \propto e^{-\varepsilon |x|/2}` from the system's
    randomness (one tie more or less changes the sorted degrees by 2 in sum). What follows looks at
    nothing else: degrees are made ascending by least squares, rounded, kept within 0 … n − 1,
    lowered until there is such a graph (Erdős & Gallai), and met by the construction of Havel and
    Hakimi.

    What is protected is **one tie, not one person**: a person with *d* ties is protected
    by :math:`d\varepsilon`. The number of people is public, so there must be a table of them:
    without one, who is there depends on the ties. The people of the release are nobody: ``origin``
    is −1, and columns of their own would be somebody's, so there may be none but direct ones. A
    seed that can be guessed (a rehearsal) seeds the noise too, and nothing is certified then; no
    other seed does.

    Reference: Hay, Li, Miklau & Jensen 2009, doi:10.1109/ICDM.2009.11.

    >>> from sfumato import examples
    >>> from sfumato.core.step import Goal
    >>> drawn = PrivateDegrees(2.0).plan(examples.karate(), Goal()).graph
    >>> drawn.people, set(drawn.origin.tolist())
    (34, {-1})
    """

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GRAPH})

    epsilon: Annotated[float, Field(gt=0, le=100, description="the ε for one tie")]

    name: ClassVar[str] = "private_degrees"
    replayable: ClassVar[bool] = False
    accounting: ClassVar[Declaration] = Declaration(
        Effect.ACCOUNTED,
        "always: ε for one tie (a row of the edge list); the number of people is public",
    )

    def account(self, schema: Schema) -> Account:
        """ε for one row of the edge list more or less; another row in its place counts twice."""
        return Account(
            Effect.ACCOUNTED,
            columns=None,
            epsilon=self.epsilon,
            neighbours="add_remove",
            replaced=(2 * self.epsilon, 0.0),
        )

    def plan(self, people: Any, goal: Goal) -> GraphPlan:
        """Draw the noise, and the graph."""
        graph: PeopleGraph = people.seen(self.name)
        # Otherwise one tie more could bring a person more, and the count itself would tell it.
        if graph.beside is None:
            raise SchemaError(
                "private_degrees needs a table of people (people: {file: …}): without it, the "
                "ties would decide who is listed, and the number of people could not be public"
            )
        if graph.own is not None and graph.own.width:
            raise SchemaError(
                f"private_degrees makes synthetic people, so the {graph.own.width} column(s) of "
                f"people's own cannot be released: {', '.join(graph.own.columns[:5])}; give them "
                "role drop"
            )
        draws = Draws.of(goal, self.name)
        noise = draws.laplace(Fraction(SENSITIVITY) / Fraction(self.epsilon), graph.people)
        near = isotonic((np.sort(graph.ties.degrees) + noise).astype(np.float64))
        degrees = made_graphical(np.clip(np.rint(near), 0, graph.people - 1).astype(np.int64))
        low, high, _ = joined_demands(nothing(graph.people), degrees)
        synthetic = graph.with_edges(low, high)
        summary = {
            "epsilon": self.epsilon if draws.secure else None,
            "protects": "one tie; the number of people is public",
            "certified": draws.secure,
            **({} if draws.secure else {"not_certified_because": REHEARSAL}),
        }
        warned = () if draws.secure else (REHEARSAL,)
        return GraphPlan(_of_nobody(synthetic), summary, warned)

    def apply(self, people: Any, plan: GraphPlan) -> PeopleGraph:
        """The drawn graph."""
        return plan.graph


def _of_nobody(graph: PeopleGraph) -> PeopleGraph:
    # Nobody of the release is anybody: no row may be traced back.
    return dataclasses.replace(graph, origin=np.full(graph.people, NOBODY, dtype=np.int64))
