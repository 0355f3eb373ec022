"""Background knowledge: an intruder who can rule out values, or who knows some people of the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.attacks.inference.crowd import no_target, worst_column
from sfumato.core.attack import Attack, Finding, rows_of
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.attacks.inference.crowd import Crowd
    from sfumato.core.attack import Scene


@parameters
class BackgroundKnowledge(Attack):
    r"""The share of records whose sensitive value is certain to who can exclude a few others.

    ``excludes="values"``: the intruder knows of ``amount`` values that a person does not have them; ``"records"``: knows the values
    of ``amount`` other persons of the class (the own record is one). What is left is renormalised:

    .. math:: P(s) = \frac{n_{E,s}}{|E| - \text{excluded}}

    and the worst choice for the person counts: the largest other counts are excluded first. A record is a victim when
    :math:`P(s)` of its own (true) value reaches ``confidence``. With nothing excluded this is the homogeneity attack.
    Reference: Martin et al. 2007, doi:10.1109/ICDE.2007.367858.
    """

    excludes: Annotated[Literal["values", "records"], Field(description="what the intruder can rule out")] = "records"
    amount: Annotated[int, Field(ge=0, description="how many of them")] = 1
    confidence: Annotated[float, Field(gt=0, le=1, description="posterior from which a value is certain")] = 1.0

    name: ClassVar[str] = "background_knowledge"
    line: ClassVar[str] = "A secret becomes sure for who can rule out a few others"
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Rule out the others and renormalise."""
        return worst_column(self.name, scene, lambda crowd: self._one(scene, crowd))

    def _one(self, scene: Scene, crowd: Crowd) -> Finding:
        left = crowd.sizes[crowd.pair_classes] - self._excluded(crowd)
        posterior = crowd.counts / np.maximum(left, crowd.counts)
        hit = crowd.mine(posterior >= self.confidence - 1e-12)
        what = f"{self.amount} other {'person' if self.excludes == 'records' else 'value'}{'s' * (self.amount != 1)}"
        told = f"who can rule out {what} is sure of the {crowd.column} of {int(hit.sum()):,} records"
        return Finding(self.name, float(hit.mean()), told, victims=rows_of(scene, hit))

    def _excluded(self, crowd: Crowd) -> NDArray[np.float64]:
        """Per pair of class and value, the records of other values that can be ruled out at most."""
        others = crowd.sizes[crowd.pair_classes] - crowd.counts
        if self.excludes == "records":
            few: NDArray[np.float64] = np.minimum(others, self.amount)
            return few
        order = np.lexsort([-crowd.counts, crowd.pair_classes])
        starts = np.searchsorted(crowd.pair_classes[order], np.arange(len(crowd.sizes)))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - starts[crowd.pair_classes[order]]
        summed = np.concatenate([[0], np.cumsum(crowd.counts[order])])
        ends = np.append(starts[1:], len(order))[crowd.pair_classes]
        begin = starts[crowd.pair_classes]
        within = rank < self.amount  # the value itself is among the largest: the next one is ruled out in its place
        reach = np.minimum(begin + self.amount + within, ends)
        gone: NDArray[np.float64] = summed[reach] - summed[begin] - np.where(rank < reach - begin, crowd.counts, 0)
        return gone
