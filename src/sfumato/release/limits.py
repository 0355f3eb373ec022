"""Limits of a recipe: how much an attack may reach, how much may be lost."""

from __future__ import annotations

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
        value, better = _attacked(name, pair, known), "lower"
    else:
        measure = _measured(name, cls, pair)
        value, better = measure.value, measure.better
    holds = value <= limit + 1e-12 if better == "lower" else value >= limit - 1e-12
    words = name.replace("_", " ")
    bound = "at most" if better == "lower" else "at least"
    return Kept(name, value, limit, holds, f"{words} is {value:.4g}; the recipe allows {bound} {limit:g}")


def _attacked(name: str, pair: Pair, known: Mapping[str, Any]) -> float:
    report = attack_release(pair, only=[name], **known)
    if not report.tried:
        reasons = "; ".join(skipped.reason for skipped in report.skipped) or "nothing to attack"
        raise ParameterError(f"limits: {name} cannot be measured on this release: {reasons}")
    return report.value(name)


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
