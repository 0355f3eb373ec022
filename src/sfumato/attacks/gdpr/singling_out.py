"""Singling out: a description taken from the release that fits exactly one person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.gdpr.criteria import AT_MOST, Rate, Risk, told_rates
from sfumato.core.attack import AT_LEAST, Attack, Finding, NothingToAttack, cut_short
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import Reading


@parameters
class SinglingOut(Attack):
    r"""How often the cells of a released record describe exactly one person of the original, beyond its control.

    A predicate is the conjunction of some cells of a random released record (``columns`` of those the intruder knows, all where there are fewer):
    *age within 30–39 and zip below 478*. It singles out when exactly one original record satisfies it. The control asks whether it would do so
    had the record's own person not been there; the naive rate is that of cells put together at random.
    Reference: Cohen & Nissim 2020, doi:10.1073/pnas.1914598117; Giomi et al. 2023, doi:10.56553/popets-2023-0055.
    """

    columns: Annotated[int, Field(ge=1, description="cells in a predicate")] = 4

    name: ClassVar[str] = "singling_out"
    line: ClassVar[str] = "A description is found that fits just one person"
    tried_by: ClassVar[tuple[str, ...]] = ("journalist",)

    def applies(self, scene: Scene) -> str | None:
        """None when the intruder knows a released column."""
        known = [c for c in scene.intruder.knows if c in scene.pair.columns]
        if known and len(scene.pair.released):
            return None
        return NothingToAttack("this intruder knows no column of the release")

    def attack(self, scene: Scene) -> Finding:
        """Make predicates of random records and count whom they fit."""
        pair = scene.pair
        draw = scene.seed.stream("singling out")
        known = [c for c in scene.intruder.knows if c in pair.columns]
        rows = draw.choice(len(pair.released), min(AT_MOST, len(pair.released)), replace=False)
        single, control, naive, trials, victims = 0, 0, 0, 0, []
        for row in rows:
            if trials >= AT_LEAST and not scene.left:
                break
            trials += 1
            chosen = draw.choice(len(known), min(self.columns, len(known)), replace=False)
            readings = [pair.reading(known[i]) for i in np.sort(chosen)]
            fit = _fitting(readings, [int(r.released[row]) for r in readings])
            others = int(fit.sum()) - bool(fit[pair.rows[row]])
            single += int(fit.sum()) == 1
            control += others == 1
            if int(fit.sum()) == 1:
                victims.append(int(np.flatnonzero(fit)[0]))
            mixed = [int(r.released[draw.integers(len(r.released))]) for r in readings]
            naive += int(_fitting(readings, mixed).sum()) == 1
        rates = Rate.of(single, trials), Rate.of(control, trials)
        risk = Risk.of(*rates)
        told = (
            f"{single / trials:.1%} of {trials:,} descriptions taken from released records fit exactly one person; "
            f"{naive / trials:.1%} of descriptions put together at random do{cut_short(trials, len(rows))}"
        )
        return Finding(
            self.name,
            risk.clipped,
            told,
            risk.interval,
            victims=np.unique(np.array(victims, dtype=np.int64)),
            details={**told_rates(*rates, naive / trials, trials), "stopped_by_time": trials < len(rows)},
            trials=trials,
        )


def _fitting(readings: list[Reading], labels: list[int]) -> NDArray[np.bool_]:
    """Which original rows satisfy the conjunction of some released cells."""
    fit = np.ones(len(readings[0].original), dtype=bool)
    for reading, label in zip(readings, labels, strict=True):
        fit &= reading.held_by(label)[reading.original]
    return fit
