"""What would help: single changes of the recipe, tried against what limits the decision.

Each is measured on the rows of the search, with the same seed: the figure of the limiting line,
what is lost, and the tier that would hold. All of it looks at the original and is for its owner.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.encoding import numbers_of
from sfumato.core.progress import Progress, silent
from sfumato.core.schema import Role
from sfumato.guidance.protection.changes import (
    RecipeChange,
    changed_recipe,
    is_rounded,
    revealing_columns,
    short_number,
)
from sfumato.guidance.protection.trial import NOT_TRIED
from sfumato.release.decision.decision import MeasuredChange
from sfumato.release.decision.tiers import Tier, class_size

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.guidance.protection.trial import ReleaseTrial, TrialGround
    from sfumato.release.decision.decision import Decision, TermOutcome
    from sfumato.release.decision.evidence import DecisionEvidence

MOST_TRIED = 12
"""Changes that are measured, at most: each is a release that is made and attacked."""
ROUNDED_VALUES = (20, 8, 4)
"""How many different values rounding leaves between the 5th and the 95th percentile."""
LEAST_PART = 0.1
"""The part of the way to the limit that a change must go to be told."""
LARGER_CLASSES = (1.5, 2.0, 4.0)
FIRST_RELEASE = MeasuredChange(
    "say that nothing of these people was released before, if that is so",
    "--first-release 'nothing of these people was released before'",
    None,
    0.0,
)


@dataclasses.dataclass(frozen=True)
class TierLimit:
    """The line that keeps a release from a tier, and the columns it is about."""

    tier: Tier
    line: TermOutcome
    columns: tuple[str, ...]


def measured_changes(
    ground: TrialGround,
    recipe: Recipe,
    decision: Decision,
    evidence: DecisionEvidence,
    *,
    keep: Sequence[str] = (),
    progress: Progress = silent,
) -> tuple[MeasuredChange, ...]:
    """Changes of a recipe that were tried, those that help most first."""
    limit = limit_of(decision, evidence)
    said = _of_assumptions(decision, evidence)
    if limit is None:
        return said
    base = ground.run(recipe, limit.tier)
    if base is None:
        return said
    changes = list(_worth_trying(limit, recipe, ground, keep))[:MOST_TRIED]
    results = []
    for number, change in enumerate(changes):
        progress(number / len(changes), f"measuring: {change.description}")
        changed = changed_recipe(recipe, change, ground.sample)
        trial = None
        if changed is not None and changed.schema.quasi and _hides(change, recipe, changed, ground):
            trial = ground.run(changed, limit.tier)
        if trial is None:
            continue
        result = _measured(change, trial, base, limit)
        if result is not None:
            results.append(result)
    progress(1.0)
    return (*said, *_best_first(results, limit))


def _hides(change: RecipeChange, recipe: Recipe, changed: Recipe, ground: TrialGround) -> bool:
    """Whether no released column reveals a quasi-identifier that the change drops."""
    if change.action != "drop" or change.column not in recipe.schema.quasi:
        return True
    return not revealing_columns(ground.sample.described_by(changed), str(change.column))


def limit_of(decision: Decision, evidence: DecisionEvidence) -> TierLimit | None:
    """The line that keeps the release most from the next higher tier and that a change can move."""
    tier = decision.tier.next_higher
    if tier is None:
        return None
    for line in decision.outcome_of(tier).broken:
        if line.term not in NOT_TRIED:
            return TierLimit(tier, line, _columns_of(line, evidence))
    return None


def _of_assumptions(decision: Decision, evidence: DecisionEvidence) -> tuple[MeasuredChange, ...]:
    """What only the owner can say, where nothing else is asked for: that it is the first release,
    unless an earlier one is known.
    """
    tier = decision.tier.next_higher
    if tier is None or evidence.earlier:
        return ()
    broken = decision.outcome_of(tier).broken
    is_open = any(line.term == "T8" and line.status == "unknown" for line in broken)
    if not is_open:
        return ()
    alone = all(line.term == "T8" for line in broken)
    return (dataclasses.replace(FIRST_RELEASE, tier=tier if alone else None),)


def _columns_of(line: TermOutcome, evidence: DecisionEvidence) -> tuple[str, ...]:
    """The columns that a line is about: what an intruder knows, or the sensitive column."""
    for entry in evidence.attacks:
        words = entry.attack.replace("_", " ")
        if line.subject in (words, f"{words} by the {entry.intruder}"):
            return entry.knows
    for column in evidence.sensitive:
        if f" of {column}" in line.subject:
            return (column,)
    return ()


# Which changes are worth trying.


def _worth_trying(
    limit: TierLimit, recipe: Recipe, ground: TrialGround, keep: Iterable[str]
) -> Iterator[RecipeChange]:
    """Changes against the limiting line, in turn: of the columns that it is about, then larger
    classes.
    """
    wanted = frozenset(keep)
    schema, table = recipe.schema, ground.sample
    free = [name for name in limit.columns if Role.DROP not in schema[name].roles]
    # Quasi-identifiers are coarse already: what others know besides them tells most.
    free.sort(key=lambda name: Role.QUASI in schema[name].roles)
    by_column = [list(_of_column(name, recipe, table, wanted)) for name in free]
    sizes = list(_larger_classes(limit, recipe, ground))
    yield from sizes[:1]
    # All that can be done to the first column, then to the next: it is the one that tells most.
    for changes in by_column:
        yield from changes
    yield from sizes[1:]


def _of_column(
    name: str, recipe: Recipe, table: Table, keep: frozenset[str]
) -> Iterator[RecipeChange]:
    """What can be done to one column, mildest first."""
    roles = recipe.schema[name].roles
    if is_rounded(table, name):
        places = numbers_of(table, name)
        places = places[~np.isnan(places)]
        for base in _bases(places):
            yield RecipeChange("round", name, short_number(base))
        top = _top_of(places)
        if top is not None and Role.QUASI not in roles:
            yield RecipeChange("top_code", name, short_number(top))
    if name not in keep:
        yield RecipeChange("drop", name)
    if Role.QUASI not in roles:
        kept_roles = [str(Role.SENSITIVE)] if Role.SENSITIVE in roles else []
        yield RecipeChange("role", name, "+".join(["quasi", *kept_roles]))
    elif recipe.schema[name].hierarchy is not None:
        yield RecipeChange("coarser", name, "1")


def _bases(places: np.ndarray) -> list[float]:
    """Round numbers that leave few different values; none where there are few already."""
    if not len(places):
        return []
    low, high = np.quantile(places, (0.05, 0.95))
    bases = [nice_number(float(high - low) / count) for count in ROUNDED_VALUES]
    distinct = len(np.unique(places))
    fewer = [b for b in bases if b > 0 and len(np.unique(np.round(places / b))) < distinct]
    return list(dict.fromkeys(fewer))


def _top_of(places: np.ndarray) -> float | None:
    """A round number that about one in twenty values lie beyond; None where there is no tail."""
    if not len(places):
        return None
    high, highest = float(np.quantile(places, 0.95)), float(places.max())
    unit = nice_number((highest - float(np.median(places))) / 10)
    if unit <= 0 or highest <= high + unit:
        return None
    top = math.floor(high / unit) * unit
    if float(places.min()) < top < highest:
        return top
    return None


def nice_number(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten; 0 where there is none.

    >>> nice_number(370.0), nice_number(0.13), nice_number(0.0)
    (500.0, 0.2, 0.0)
    """
    if not math.isfinite(value) or value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    for factor in (1, 2, 5, 10):
        if value <= factor * power * (1 + 1e-9):
            return float(short_number(factor * power))
    return 0.0


def _larger_classes(
    limit: TierLimit, recipe: Recipe, ground: TrialGround
) -> Iterator[RecipeChange]:
    """Larger classes: what the tier asks for, then more."""
    sizes = [model.crowd for model in recipe.meet if model.crowd]
    if not sizes:
        return
    own = max(sizes)
    asked = class_size(limit.tier, ground.terms.harm)
    candidates = [asked, *(math.ceil(own * factor) for factor in LARGER_CLASSES)]
    for k in dict.fromkeys(sorted(candidates)):
        if k > own and k * 4 <= len(ground.sample):
            yield RecipeChange("k", None, str(k))


# What came of them.


def _measured(
    change: RecipeChange, trial: ReleaseTrial, base: ReleaseTrial, limit: TierLimit
) -> MeasuredChange | None:
    """A change with the figure that it leaves; None where it makes the limiting line no better."""
    line = trial.line(limit.tier, limit.line.term, limit.line.subject)
    before = base.line(limit.tier, limit.line.term, limit.line.subject)
    figure = None if line is None else line.figure
    was = None if before is None else before.figure
    if figure is not None and was is not None:
        way = was.value - (limit.line.limit or 0.0)
        # What leaves nearly all of the way to the limit is no help.
        if was.value - figure.value <= LEAST_PART * max(way, 0.0) + 1e-9:
            return None
    tier = trial.decision.tier
    loss = max(0.0, trial.loss - base.loss)
    return MeasuredChange(change.description, change.flag, figure, loss, tier)


def _best_first(results: Iterable[MeasuredChange], limit: TierLimit) -> tuple[MeasuredChange, ...]:
    """Those that reach the highest tier first; of these the ones that lose least."""
    bound = limit.line.limit

    def order(change: MeasuredChange) -> tuple[int, bool, float, float]:
        high = 0.0 if change.risk is None else change.risk.high
        rank = 0 if change.tier is None else change.tier.rank
        exceeds = bound is not None and high > bound
        # Among those that stay above the limit the one that comes nearest goes first.
        return (-rank, exceeds, high if exceeds else change.loss, change.loss)

    return tuple(sorted(results, key=order))
