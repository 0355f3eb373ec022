"""The skewness attack: a class tells far more about a value than the table does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.inference.crowd import no_target, worst_column
from sfumato.core.attack import Attack, Finding, rows_of
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from sfumato.attacks.inference.crowd import Crowd
    from sfumato.core.attack import Scene


@parameters
class Skewness(Attack):
    r"""The share of records whose value is much more frequent in their class than in the whole table.

    .. math:: \text{lift} = \frac{n_{E,s}/|E|}{n_s/N} \ge \lambda

    Half of a class with an illness that one in two hundred has is a lift of 100. Classes of one record have the highest lift there
    is, as they should. Where released values were changed, shares are those of the released values (or what they make likely
    where a transition matrix is known), and only people whose true value it is count.
    The baseline is what chance gives: the same for classes of the same sizes whose other members are drawn at random from the
    table, :math:`P\bigl(1 + \mathrm{Bin}(|E|-1, \tfrac{n_s-1}{N-1}) \ge \lambda |E| n_s/N\bigr)` on average. A value that hardly anyone has
    is frequent in any class that has it: in a column with as many values as records that says nothing, and the baseline is 1.
    Chance explains no class of one record: its baseline is 0.
    Reference: Li, Li & Venkatasubramanian 2007, doi:10.1109/ICDE.2007.367856.
    """

    lift: Annotated[float, Field(gt=1, description="lift from which a record counts as given away")] = 5.0

    name: ClassVar[str] = "skewness"
    line: ClassVar[str] = "A secret is much more common in a person's crowd than elsewhere"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Look for values that pile up in a class."""
        return worst_column(self.name, scene, lambda crowd: self._one(scene, crowd))

    def _one(self, scene: Scene, crowd: Crowd) -> Finding:
        lifts = crowd.shares / (crowd.totals[crowd.pair_values] / crowd.sizes.sum())
        hit = crowd.mine(lifts >= self.lift - 1e-12)
        told = (
            f"the {crowd.column} of {int(hit.sum()):,} records is at least {self.lift:g} times as frequent in their class "
            f"as in the table; at most {float(lifts.max()):.3g} times"
        )
        guess = self._by_chance(crowd)
        return Finding(
            self.name,
            float(hit.mean()),
            f"{told}; in classes drawn at random {guess:.1%} are",
            baseline=guess,
            victims=rows_of(scene, hit),
            details={"largest_lift": float(lifts.max())},
        )

    def _by_chance(self, crowd: Crowd) -> float:
        """The share of records that would be given away by classes of these sizes, were their members drawn at random."""
        from scipy.special import bdtrc

        records = float(crowd.sizes.sum())
        sizes, classes = np.unique(crowd.sizes[crowd.sizes > 1], return_counts=True)
        totals, values = np.unique(crowd.totals[crowd.totals > 0], return_counts=True)
        found = 0.0
        for size, often in zip(sizes.tolist(), classes.tolist(), strict=True):
            needed = np.ceil(self.lift * size * totals / records - 1e-9) - 1  # of the others; the own record is one
            odds = np.clip((totals - 1) / max(1.0, records - 1), 0.0, 1.0)
            above = bdtrc(np.clip(needed - 1, 0, size - 1), size - 1, odds)
            chance = np.where(needed <= 0, 1.0, np.where(needed > size - 1, 0.0, above))
            found += size * often / records * float((chance * totals * values).sum() / records)
        return min(1.0, found)
