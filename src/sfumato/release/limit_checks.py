"""Limits and contract of a recipe: how much an attack may reach, how much may be lost."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.evidence import gather
from sfumato.core.fields import Fields
from sfumato.core.limits import Limit, limits_of, written_limits
from sfumato.core.recipe import Kept
from sfumato.core.step import accounts
from sfumato.errors import ParameterError, SfumatoError

if TYPE_CHECKING:
    from sfumato.core.attack import Memory
    from sfumato.core.data import Pair
    from sfumato.core.metric import Measure, Utility
    from sfumato.core.model import Model
    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Agreement, Recipe
    from sfumato.core.step import Step
    from sfumato.core.table import Table
    from sfumato.release.attack_report import AttackReport

MOST_COPIED = 0.10
"""The copied excess beyond which drawn rows are refused where the recipe says nothing."""
MOST_RECOGNISED = 0.10
"""The same of any excess less what chance makes of it: copies, near copies and recognised members.
"""
USUAL_LIMITS = {"copied_records": MOST_COPIED, "recognised_members": MOST_RECOGNISED}

UNHURRIED = 86_400.0
"""Seconds for an attack that a limit names: what a certificate says must not depend on how busy the
machine was.
"""


def judge_limits(
    limits: Fields,
    pair: TablePair | Pair,
    *,
    steps: Sequence[Step] = (),
    models: Sequence[Model] = (),
    seed: Seed,
    counted: Table | None = None,
    memory: Memory | None = None,
) -> tuple[Kept, ...]:
    """Measure everything that is limited; what is better when lower must stay below its limit, the
    rest above.

    Where the pair is a sample, ``counted`` is all that was released, by counts: risks are measured
    on that. ``memory`` answers for earlier releases of the same people.
    """
    context = {"steps": steps, "models": models, "seed": seed}
    released = pair.released if counted is None else counted
    checks = []
    for limit in limits_of(limits):
        # only a register knows the other releases
        if memory is not None and about_all_releases(limit.name):
            checks.append(memory.kept(float(limit.bound), pair))
        else:
            checks.append(_judge(limit, pair, released, context))
    return tuple(checks)


def about_all_releases(name: str) -> bool:
    """Whether a limit is about all releases of the same people together."""
    return name in registry.attacks() and registry.attacks()[name].remembers


def _judge(limit: Limit, pair: TablePair | Pair, released: Any, context: Fields) -> Kept:
    shape = released.shape
    if limit.name in registry.attacks(shape):
        return _check_by_attack(limit, pair, context)
    metric = registry.build_measured(limit, shape)
    # risks of the file are measured on all records, utility on the pair
    if limit.name in registry.family("risk", shape):
        return kept_within(limit, metric.measure(gather(released, ())))
    pair_seen = metric.looks_at(pair)
    return kept_within(limit, _measure(limit.name, metric, pair_seen), pair_seen.of_a_sample)


def kept_within(limit: Limit, measure: Measure, where: str = "") -> Kept:
    """What was measured compared with a limit, by which way is better."""
    bound = float(limit.bound)
    if measure.better == "lower":
        # 1e-12: a rate that is the limit itself, but for rounding, keeps it
        return _limit_check(limit, measure.value, measure.value <= bound + 1e-12, "at most", where)
    return _limit_check(limit, measure.value, measure.value >= bound - 1e-12, "at least", where)


def _limit_check(limit: Limit, value: float, holds: bool, way: str, where: str) -> Kept:
    bound = float(limit.bound)
    sentence = f"{limit.words} is {value:.4g}{where}; the recipe allows {way} {bound:g}"
    return Kept(limit.name, value, bound, holds, sentence, parameters=limit.parameters)


def _check_by_attack(limit: Limit, pair: TablePair | Pair, context: Fields) -> Kept:
    """The limit of an attack by the intruder who knows most; one that cannot be tried is unknown,
    and does not keep it.
    """
    from sfumato.release.attack_run import AttackContext, attack_release

    report = attack_release(
        pair,
        # without a time limit: a certificate must not depend on the machine
        only=[limit.spec],
        seconds=UNHURRIED,
        seed=context.get("seed"),
        context=AttackContext(
            steps=context.get("steps", ()),
            models=context.get("models", ()),
            limits=written_limits([limit]),
        ),
    )
    return kept_by_attack(limit, report, pair.of_a_sample)


def kept_by_attack(limit: Limit, report: AttackReport, where: str = "") -> Kept:
    """What came of an attack compared with its limit; one that could not be tried is unknown, and
    does not keep it.
    """
    bound = float(limit.bound)
    for skipped in (attempt for attempt in report.skipped if attempt.limit is not None):
        # a limit of 1 accepts everything, so unknown is no reason to refuse
        if skipped.unknown and limit.name in USUAL_LIMITS and bound >= 1:
            # what nobody can tell counts as the worst there is
            return _limit_check(limit, 1.0, True, "at most", where)
        # unknown is not a pass: not a number, and not kept
        if skipped.unknown:
            sentence = (
                f"{limit.words} is unknown: {skipped.reason}; the recipe allows at most {bound:g}"
            )
            return Kept(limit.name, math.nan, bound, False, sentence, parameters=limit.parameters)
        if about_all_releases(limit.name):
            otherwise = "give a register (--register)"
        else:
            otherwise = "take the limit out"
        raise ParameterError(
            f"limits: {limit.words} does not apply to this release: {skipped.reason}; {otherwise}"
        )
    value = report.value(limit.name)  # nothing else was tried
    return _limit_check(limit, value, value <= bound + 1e-12, "at most", where)


def _measure(name: str, metric: Utility, pair: TablePair | Pair) -> Measure:
    reason = metric.out_of_place(pair)
    if reason is not None:
        raise ParameterError(f"limits: {name} cannot be measured on this release: {reason}")
    return metric.measure(pair)


def check_agreement(agreement: Agreement, pair: TablePair | Pair, *, fixed: bool) -> Kept:
    """A line of the contract compared with the release; where an ε is accounted for, what cannot be
    measured ends no run.
    """
    try:
        return agreement.judge(pair)
    except SfumatoError:
        if not fixed or agreement.refuse:
            raise
        return agreement.check("it cannot be measured on this table")


def with_usual_limits(recipe: Recipe) -> Recipe:
    """The recipe with the limits that hold of synthetic rows, unless it sets them or a step
    accounts for an ε.

    Where an ε is accounted for nothing may decide by looking at the original.
    """
    if accounts(recipe.steps, recipe.schema):
        return recipe
    # what the recipe says replaces the usual limit of the same name
    return dataclasses.replace(recipe, limits={**USUAL_LIMITS, **recipe.limits})
