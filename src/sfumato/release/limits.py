"""Limits of a recipe: how much an attack may reach, how much may be lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato import registry
from sfumato.core.agreement import Kept
from sfumato.core.evidence import gather
from sfumato.core.metric import Measure
from sfumato.errors import ParameterError
from sfumato.intruders.attack import attack_release

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.pair import Pair
    from sfumato.core.randomness import Seed
    from sfumato.core.step import Step


def judge_limits(
    limits: Mapping[str, float],
    pair: Pair,
    *,
    steps: Sequence[Step] = (),
    models: Sequence[Model] = (),
    seed: Seed,
) -> tuple[Kept, ...]:
    """Measure everything that is limited; what is better when lower must stay below its limit, the rest above."""
    known = {"steps": steps, "models": models, "seed": seed}
    return tuple(_judge(name, float(limit), pair, known) for name, limit in limits.items())


def _judge(name: str, limit: float, pair: Pair, known: Mapping[str, Any]) -> Kept:
    cls = next(registry.family(family)[name] for family in registry.MEASURED if name in registry.family(family))
    if hasattr(cls, "attack"):
        return _attacked(name, limit, pair, known)
    measure = _measured(name, cls, pair)
    holds = measure.value <= limit + 1e-12 if measure.better == "lower" else measure.value >= limit - 1e-12
    return _kept(name, measure.value, limit, holds, "at most" if measure.better == "lower" else "at least")


def _kept(name: str, value: float, limit: float, holds: bool, bound: str) -> Kept:
    words = name.replace("_", " ")
    return Kept(name, value, limit, holds, f"{words} is {value:.4g}; the recipe allows {bound} {limit:g}")


def _attacked(name: str, limit: float, pair: Pair, known: Mapping[str, Any]) -> Kept:
    """The limit of an attack by the intruder who knows most; one that cannot be tried is unknown, and does not keep it."""
    report = attack_release(pair, only=[name], limits={name: limit}, **known)
    words = name.replace("_", " ")
    for skipped in (each for each in report.skipped if each.limit is not None):
        if skipped.unknown:
            told = f"{words} is unknown: {skipped.reason}; the recipe allows at most {limit:g}"
            return Kept(name, math.nan, limit, False, told)
        raise ParameterError(f"limits: {words} does not apply to this release: {skipped.reason}; take the limit out")
    value = report.value(name)
    return _kept(name, value, limit, value <= limit + 1e-12, "at most")


def _measured(name: str, cls: type, pair: Pair) -> Measure:
    made: Any = cls()
    if name in registry.family("risk"):
        found: Measure = made.measure(gather(pair.released, ()))
        return found
    reason = made.applies(pair)
    if reason is not None:
        raise ParameterError(f"limits: {name} cannot be measured on this release: {reason}")
    utility: Measure = made.measure(pair)
    return utility
