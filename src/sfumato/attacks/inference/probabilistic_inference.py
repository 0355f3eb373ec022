"""Probabilistic inference: guess the most frequent value of the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.inference.crowd import no_target, worst_column
from sfumato.core.attack import Attack, Finding
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from sfumato.attacks.inference.crowd import Crowd
    from sfumato.core.attack import Scene


@parameters
class ProbabilisticInference(Attack):
    r"""How often guessing the most frequent sensitive value of a person's class is right, against guessing for all alike.

    .. math:: \frac1N \sum_E \max_s n_{E,s}, \quad\text{baseline } \max_s n_s / N

    Where released values were changed, :math:`n` are those that were released (or expected, where a transition matrix is known),
    and a guess is right when it is the person's true value.

    Ten records with values 1, 1 and 8 times are distinct-3-diverse, and yet the guess is right in 80 % of the cases.
    """

    name: ClassVar[str] = "probabilistic_inference"
    line: ClassVar[str] = "A secret is guessed from what is most common in a person's crowd"

    def applies(self, scene: Scene) -> str | None:
        """None when there is a sensitive column to attack."""
        return no_target(scene)

    def attack(self, scene: Scene) -> Finding:
        """Guess, class by class."""
        return worst_column(self.name, scene, self._one)

    def _one(self, crowd: Crowd) -> Finding:
        value = float((crowd.guesses()[crowd.classes] == crowd.truth).mean())
        guess = float((crowd.truth == crowd.totals.argmax()).mean())
        told = f"guessing {crowd.column} by class is right for {value:.1%} of the records, for all alike {guess:.1%}"
        strongest = float((crowd.largest() / crowd.sizes).max())
        return Finding(self.name, value, told, baseline=guess, details={"strongest_class": strongest})
