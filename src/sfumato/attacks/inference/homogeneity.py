"""The homogeneity attack: everyone in a class has the same secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from sfumato.attacks.inference.crowd import no_target, worst_column
from sfumato.core.attack import Attack, Finding, rows_of
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from sfumato.attacks.inference.crowd import Crowd
    from sfumato.core.attack import Scene


@parameters
class Homogeneity(Attack):
    r"""The share of records whose sensitive value an intruder reads off their class with confidence τ or more.

    A class gives itself away when :math:`\max_s n_{E,s}/|E| \ge \tau`; those of its records that truly have that value are victims.
    With τ = 1 all of them share one value. Missing values count as a value. Where released values were changed, the intruder goes
    by them, and by what they make likely where a transition matrix is known; only people whose true value it is are victims.
    The baseline is the same attack on the whole table as one class, which is what is known without the release: 0, unless the
    table itself gives a value away.
    Reference: Machanavajjhala et al. 2007, doi:10.1145/1217299.1217302.
    """

    confidence: Annotated[float, Field(gt=0, le=1, description="share of a class from which its value is certain")] = (
        1.0
    )

    name: ClassVar[str] = "homogeneity"
    line: ClassVar[str] = "A secret is read off because everyone in a crowd shares it"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Read the secrets of classes that have but one."""
        return worst_column(self.name, scene, lambda crowd: self._one(scene, crowd))

    def _one(self, scene: Scene, crowd: Crowd) -> Finding:
        certain = crowd.shares >= self.confidence - 1e-12
        hit = crowd.mine(certain)
        classes = int(certain.sum()) if self.confidence > 0.5 else len(set(crowd.pair_classes[certain].tolist()))
        how = "all records have" if self.confidence == 1 else f"{self.confidence:.0%} or more of the records have"
        told = (
            f"in {classes:,} of {len(crowd.sizes):,} classes {how} the same {crowd.column}: {int(hit.sum()):,} records"
        )
        guess = self._known_of_all(crowd)
        details = {"classes": classes}
        return Finding(self.name, float(hit.mean()), told, baseline=guess, victims=rows_of(scene, hit), details=details)

    def _known_of_all(self, crowd: Crowd) -> float:
        """The share of records whose value the table as one class gives away."""
        known = crowd.totals >= self.confidence * crowd.totals.sum() - 1e-9
        return float(((crowd.truth >= 0) & known[crowd.truth]).mean())
