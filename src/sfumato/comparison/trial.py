"""One candidate, run, attacked and measured. What is refused is measured too: the map shows what it would have been."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

from sfumato import recipes
from sfumato.comparison.outcome import Outcome
from sfumato.core.dataset import Dataset
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.evaluation import evaluate, quick_metrics
from sfumato.intruders.attack import attack_release
from sfumato.release.described import described
from sfumato.release.make import make_release

if TYPE_CHECKING:
    from sfumato.comparison.grid import Candidate
    from sfumato.release.release import Release


@dataclasses.dataclass(frozen=True)
class Terms:
    """What is the same for all candidates: the seed, and the budget and attacks of the intruders."""

    seed: Seed
    attacks: tuple[str, ...] | None = ("linkage",)
    seconds: float = 20.0
    sample: int = 2000


def try_candidate(dataset: Dataset, candidate: Candidate, terms: Terms) -> Outcome:
    """Make a release as the candidate's recipe says, let the intruders try it, and measure what it is worth."""
    started = time.monotonic()
    recipe = candidate.recipe
    plain = recipes.public_dict(recipe)
    try:
        release = make_release(described(dataset, recipe), recipe, seed=terms.seed, refuse=False)
    except (Unsatisfiable, SchemaError, ParameterError) as error:
        return _nothing(candidate.name, str(error), plain, started)
    measured = _measured(release, terms)
    broken = [verdict.promise for verdict in release.verdicts if not verdict.holds]
    broken += [kept.sentence for kept in (*release.limits, *release.contract) if kept.refuses and not kept.holds]
    return Outcome(
        name=candidate.name,
        holds=release.holds,
        reason="; ".join(broken),
        records=len(release.dataset),
        suppressed=release.suppressed,
        promises=(
            *(verdict.promise for verdict in release.verdicts),
            *(f"{kept.name.replace('_', ' ')} within {kept.limit:g}" for kept in release.limits),
        ),
        recipe=plain,
        seconds=time.monotonic() - started,
        **measured,
    )


def _measured(release: Release, terms: Terms) -> dict[str, Any]:
    if not len(release.dataset):
        return {"risks": {}, "utilities": {}, "higher": ()}
    pair = release.pair
    report = attack_release(
        pair,
        steps=release.recipe.steps,
        models=release.recipe.meet,
        only=terms.attacks,
        seconds=terms.seconds,
        sample=terms.sample,
        seed=terms.seed,
    )
    worth = evaluate(pair, quick_metrics())
    return {
        "risks": {**report.values(), **{m.name: m.value for m in release.after.measures}},
        "utilities": {m.name: m.value for m in worth.measures},
        "higher": tuple(m.name for m in worth.measures if m.better == "higher"),
    }


def _nothing(name: str, reason: str, recipe: dict[str, Any], started: float) -> Outcome:
    return Outcome(name, False, reason, 0, 0, (), {}, {}, (), recipe, time.monotonic() - started)
