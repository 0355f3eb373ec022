"""Inference: a secret is guessed from the nearest released record."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.gdpr.criteria import Rate, Risk, Surroundings, nearest, refused, surroundings, told_rates
from sfumato.attacks.inference.crowd import known_matrix, no_secret, targets
from sfumato.core.attack import Attack, Finding, cut_short
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import Reading


@parameters
class Inference(Attack):
    r"""How often a sensitive value is guessed from the nearest released records, beyond what the person's own record changes.

    The guess is the most frequent label among the nearest records (the mean, for numbers; the likeliest value, where the column was
    randomised with a known matrix and that gives more). It is right when the original value
    is the label or below it, for numbers within ``tolerance`` of the column's range. The control guesses with the person's own record taken
    out: what can be said about everyone is no breach of anyone. :math:`R = (r_a-r_c)/(1-r_c)`. The worst column counts; where none
    is certainly beyond its control, one counts first of which nothing is known, as its control succeeds for nearly everyone.
    Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055.
    """

    tolerance: Annotated[float, Field(ge=0, le=1, description="numbers: share of the range that counts as right")] = (
        0.05
    )

    name: ClassVar[str] = "inference"
    line: ClassVar[str] = "A person's secret is guessed from the most similar records"
    tried_by: ClassVar[tuple[str, ...]] = ("colleague",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when there is a secret to guess and someone to guess it of."""
        return no_secret(scene) or refused(scene)

    def attack(self, scene: Scene) -> Finding:
        """Guess every secret of every target, with and without the target's own record."""
        around = surroundings(scene, self.name)
        found = [
            self._one(scene, around, secret)
            for column in targets(scene)
            for secret in self._secrets(scene, around, column)
        ]
        return worst_of(found)

    def _secrets(self, scene: Scene, around: Surroundings, column: str) -> Iterator[_Secret]:
        """A column by what was released of it, and by what that makes likely where a transition matrix is known."""
        reading, kinds = scene.pair.reading(column), around.files.ours.kind_of
        yield _Secret(reading, kinds, self.tolerance)
        matrix = known_matrix(scene, column) if reading.scale == "category" else None
        if matrix is not None:
            yield _Secret(reading, kinds, self.tolerance, matrix.beliefs)

    def _one(self, scene: Scene, around: Surroundings, secret: _Secret) -> Finding:
        column = secret.reading.name
        right, control = 0, 0
        seen = []
        for target in scene.sampled(len(around.targets), self.name):
            seen.append(target)
            costs = around.costs(target)
            for without in (False, True):
                near = nearest(costs, around.records(target, without_own=without))
                own = int(around.own[target]) if without else None
                hit = secret.right(secret.guess(near, own), int(scene.intruder.truth[around.targets[target]]))
                right, control = right + (hit and not without), control + (hit and without)
        trials = len(seen)
        rates = Rate.of(right, trials), Rate.of(control, trials)
        everyone = np.ones(len(around.arrays.ours.records), dtype=bool)
        common = secret.guess(everyone, None)
        rows = scene.intruder.truth[around.targets[seen]]
        naive = float(np.mean([secret.right(common, int(row)) for row in rows]))
        risk = Risk.of(*rates)
        told = (
            f"{column} is guessed rightly for {right / trials:.1%} of {trials:,} people, for {control / trials:.1%} without "
            f"their own record, and for {naive:.1%} by guessing alike for all"
            f"{'' if secret.beliefs is None else '; by the known transition matrix'}{cut_short(trials, len(around.targets))}"
        )
        details = {**told_rates(*rates, naive, trials), "column": column, "matrix": secret.beliefs is not None}
        details["stopped_by_time"] = trials < len(around.targets)
        return Finding(self.name, risk.clipped, told, risk.interval, details=details, trials=trials)


def worst_of(found: Sequence[Finding]) -> Finding:
    """The finding that counts: the largest of those that are certain, else one that is not defined, else the largest."""
    return max(found, key=lambda f: (f.undefined is None and f.certain, f.undefined is not None, f.value))


@dataclasses.dataclass(frozen=True, eq=False)
class _Secret:
    """A sensitive column: its released labels by distinct record, and when a guess is right.

    With ``beliefs`` (how likely each label stands for each value) values are guessed, otherwise labels.
    """

    reading: Reading
    kind_of: NDArray[np.int64]
    tolerance: float
    beliefs: NDArray[np.float64] | None = None

    def guess(self, near: NDArray[np.bool_], own: int | None) -> float | None:
        """The mean place, the most frequent label or the likeliest value among released rows that are near, but for one."""
        rows = near[self.kind_of]
        if own is not None:
            rows[own] = False
        labels = self.reading.released[rows]
        if not len(labels):
            return None
        if self.reading.scale != "category":
            places = self.reading.middle[labels]
            return float(np.nanmean(places)) if not np.isnan(places).all() else None
        counts = np.bincount(labels, minlength=len(self.reading.labels))
        return float((counts if self.beliefs is None else counts @ self.beliefs).argmax())

    def right(self, guess: float | None, row: int) -> bool:
        """Whether a guess is right for an original row."""
        if guess is None:
            return False
        value = int(self.reading.original[row])
        if self.beliefs is not None:
            return value == int(guess)
        if self.reading.scale != "category":
            far = abs(guess - float(self.reading.places[value]))
            return bool(far <= self.tolerance * self.reading.span + 1e-12)
        return self.reading.fits(value, int(guess)) and not bool(self.reading.everything[int(guess)])
