"""What the attacks that a recipe limits believe of who is behind each released record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core import registry
from sfumato.core.attack import Scene
from sfumato.core.limits import limits_of
from sfumato.core.pair import TablePair, levels_of
from sfumato.errors import ParameterError
from sfumato.release.limit_checks import UNHURRIED

if TYPE_CHECKING:
    from sfumato.core.model import Posterior
    from sfumato.release.table_release import TableRelease


def posteriors_of(release: TableRelease) -> tuple[Posterior, ...]:
    """What the attacks that the recipe limits believe of who is behind each released record, where
    a promise asks for it.

    The intruder knows all quasi-identifiers of everybody.
    """
    recipe, original, released, seed = (
        release.recipe,
        release.original,
        release.released,
        release.seed,
    )
    from sfumato.release.intruders import intruder_from

    pair = TablePair.of(original, released, levels_of(plan.describe() for _, plan in release.plans))
    intruder = intruder_from(pair, pair.quasi, sample=len(original), seed=seed)
    scene = Scene(pair, intruder, recipe.steps, recipe.meet, seed=seed, seconds=UNHURRIED)
    attacks = [
        registry.build_measured(limit)
        for limit in limits_of(recipe.limits)
        if limit.name in registry.attacks()
    ]
    posteriors = []
    for attack in attacks:
        reason = attack.out_of_place(scene)
        if reason is not None:
            raise ParameterError(
                f"the beliefs of {attack.words} about released records are unknown: {reason}"
            )
        posterior = attack.posterior(scene)
        if posterior is not None:
            posteriors.append(posterior)
    return tuple(posteriors)
