"""Inference: a secret is guessed from the nearest released record."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.core.attack import Finding
from sfumato.core.parameters import parameters
from sfumato.risk.attributes.crowd import targets
from sfumato.risk.criteria.nearest import Surroundings, nearest, refused, surroundings
from sfumato.risk.criteria.rates import Rate, Risk, told_rates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.reading import Reading


@parameters
class Inference:
    r"""How often a sensitive value is guessed from the nearest released records, beyond what the person's own record changes.

    The guess is the most frequent label among the nearest records (the mean, for numbers). It is right when the original value
    is the label or below it, for numbers within ``tolerance`` of the column's range. The control guesses with the person's own record taken
    out: what can be said about everyone is no breach of anyone. :math:`R = (r_a-r_c)/(1-r_c)`. The worst column counts.
    Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055.
    """

    tolerance: Annotated[float, Field(ge=0, le=1, description="numbers: share of the range that counts as right")] = (
        0.05
    )

    name: ClassVar[str] = "inference"
    better: ClassVar[Literal["lower", "higher"]] = "lower"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a secret to guess and someone to guess it of."""
        return refused(scene) or (
            None if targets(scene) else "no sensitive column was released that is not known already"
        )

    def attack(self, scene: Scene) -> Finding:
        """Guess every secret of every target, with and without the target's own record."""
        around = surroundings(scene, self.name)
        found = [self._one(scene, around, column) for column in targets(scene)]
        return max(found, key=lambda finding: finding.value)

    def _one(self, scene: Scene, around: Surroundings, column: str) -> Finding:
        import numpy as np

        secret = _Secret.of(scene, around, column, self.tolerance)
        right, control = 0, 0
        for target in range(len(around.targets)):
            costs = around.costs(target)
            for without in (False, True):
                near = nearest(costs, around.records(target, without_own=without))
                own = int(around.own[target]) if without else None
                hit = secret.right(secret.guess(near, own), int(scene.intruder.truth[around.targets[target]]))
                right, control = right + (hit and not without), control + (hit and without)
        trials = len(around.targets)
        rates = Rate.of(right, trials), Rate.of(control, trials)
        everyone = np.ones(len(around.arrays.ours.records), dtype=bool)
        common = secret.guess(everyone, None)
        rows = scene.intruder.truth[around.targets]
        naive = float(np.mean([secret.right(common, int(row)) for row in rows]))
        risk = Risk.of(*rates)
        told = (
            f"{column} is guessed rightly for {right / trials:.1%} of {trials:,} people, for {control / trials:.1%} without "
            f"their own record, and for {naive:.1%} by guessing alike for all"
        )
        details = {**told_rates(*rates, naive, trials), "column": column}
        return Finding(self.name, risk.clipped, told, risk.interval, details=details)


@dataclasses.dataclass(frozen=True, eq=False)
class _Secret:
    """A sensitive column: its released labels by distinct record, and when a guess is right."""

    reading: Reading
    kind_of: NDArray[np.int64]
    tolerance: float

    @classmethod
    def of(cls, scene: Scene, around: Surroundings, column: str, tolerance: float) -> _Secret:
        return cls(scene.pair.reading(column), around.files.ours.kind_of, tolerance)

    def guess(self, near: NDArray[np.bool_], own: int | None) -> float | None:
        """The mean place or the most frequent label among released rows that are near, but for one of them."""
        import numpy as np

        rows = near[self.kind_of]
        if own is not None:
            rows[own] = False
        labels = self.reading.released[rows]
        if not len(labels):
            return None
        if self.reading.scale != "category":
            places = self.reading.middle[labels]
            return float(np.nanmean(places)) if not np.isnan(places).all() else None
        return float(np.bincount(labels, minlength=len(self.reading.labels)).argmax())

    def right(self, guess: float | None, row: int) -> bool:
        """Whether a guess is right for an original row."""
        if guess is None:
            return False
        value = int(self.reading.original[row])
        if self.reading.scale != "category":
            far = abs(guess - float(self.reading.places[value]))
            return bool(far <= self.tolerance * self.reading.span + 1e-12)
        return self.reading.fits(value, int(guess)) and not bool(self.reading.everything[int(guess)])
