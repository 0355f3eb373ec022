"""Linkability: two files about the same people are joined through the release."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.gdpr.criteria import Rate, Risk, nearest, refused, surroundings, told_rates
from sfumato.core.attack import Attack, Finding, NothingToAttack, cut_short
from sfumato.core.parameters import parameters

if TYPE_CHECKING:
    from sfumato.core.attack import Scene


@parameters
class Linkability(Attack):
    r"""How often two halves of what is known about a person meet in one released record, beyond chance.

    The columns an intruder knows are split in two files (every other column). A person's halves are *linked* when some released
    record is nearest to both. The control repeats this with the person's own record taken out of the release;
    :math:`R = (r_a - r_c)/(1 - r_c)` is the risk, with the error of both rates (95 %).
    Reference: Giomi et al. 2023, doi:10.56553/popets-2023-0055 (control group there: people who did not take part).
    """

    name: ClassVar[str] = "linkability"
    line: ClassVar[str] = "Two files about one person are brought together through the release"
    tried_by: ClassVar[tuple[str, ...]] = ("colleague",)
    turn: ClassVar[int] = 2

    def applies(self, scene: Scene) -> str | None:
        """None when there are two columns to split and someone to link."""
        known = [c for c in scene.intruder.knows if c in scene.pair.released.columns]
        if len(known) < 2:
            return NothingToAttack("linking two files takes two known columns")
        return refused(scene)

    def attack(self, scene: Scene) -> Finding:
        """Link both halves through the release, with and without the person's own record."""
        around = surroundings(scene, self.name)
        halves = [[i for i, _ in enumerate(around.names) if i % 2 == side] for side in (0, 1)]
        met, trials = {False: 0, True: 0}, 0
        for target in scene.sampled(len(around.targets), self.name):
            trials += 1
            costs = around.costs(target)
            for without in met:
                records = around.records(target, without_own=without)
                both = nearest(costs[:, halves[0]], records) & nearest(costs[:, halves[1]], records)
                met[without] += bool(both.any())
        linked, control = met[False], met[True]
        rates = Rate.of(linked, trials), Rate.of(control, trials)
        risk = Risk.of(*rates)
        told = (
            f"two files about the same people meet in one released record for {linked / trials:.1%} of {trials:,} people, "
            f"for {control / trials:.1%} without their own record{cut_short(trials, len(around.targets))}"
        )
        guess = 1 / len(scene.pair.released)
        details = {**told_rates(*rates, guess, trials), "stopped_by_time": trials < len(around.targets)}
        return Finding(self.name, risk.clipped, told, risk.interval, details=details, trials=trials)
