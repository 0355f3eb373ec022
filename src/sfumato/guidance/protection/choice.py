"""Which candidate is made of the whole table: of those that would meet the terms, with classes as
large as these need, the one that loses least.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.core.progress import Progress, silent
from sfumato.guidance.protection.changes import with_class_size
from sfumato.guidance.recommendation.selection import loss_allowed
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.utility.groupability import Groupability
from sfumato.methods.utility.information_loss import Loss
from sfumato.release.decision.decision import limit_words
from sfumato.release.evaluation import evaluate

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.guidance.protection.search import SearchResult
    from sfumato.guidance.protection.trial import ReleaseTrial, TrialGround
    from sfumato.release.decision.tiers import Tier
    from sfumato.release.table_release import TableRelease

FACTORS = (1, 2, 4, 8)
"""How much larger classes may be than the terms ask for by themselves."""
MOST_FAMILIES = 4
"""Families of which the best candidate is tried under the terms."""
HELPED_BY_CLASSES = frozenset(("T1", "T2", "T5", "T7", "T9"))
"""Terms that larger classes may meet; the others need another change."""


@dataclasses.dataclass(frozen=True, eq=False)
class CandidateChoice:
    """The candidate that is made, its recipe, what its trial said (None: it was not tried), and why
    its classes are larger than asked for.

    ``loss`` is that of the quasi-identifiers; ``groupable`` says whether records can be grouped by
    all labels. ``meets`` says whether it would meet the terms, and ``safe`` whether by enough for
    another sample of people to show it.
    """

    name: str
    recipe: Recipe
    trial: ReleaseTrial | None = None
    reason: str = ""
    loss: float = math.inf
    groupable: bool = False
    meets: bool = False
    safe: bool = False

    @property
    def rank(self) -> int:
        """How many might get it, as far as a trial can tell."""
        if self.trial is None:
            return 0
        return self.trial.decision.tier.rank


def choose_candidate(
    ground: TrialGround, found: SearchResult, *, progress: Progress = silent
) -> CandidateChoice:
    """The candidate to make: of those that would meet the terms that are asked for the one that
    loses least, or one by whose labels records can be grouped that loses little more; where none
    would, the one that comes nearest.
    """
    choices: list[CandidateChoice] = []
    names = _best_of_families(found)
    for number, name in enumerate(names):
        progress(number / len(names), f"trying to meet the terms: {name}")
        # Larger classes lose more: whoever loses more already need not be tried.
        if not _may_win(found, name, choices):
            continue
        choice = _smallest_classes(ground, found, name)
        if choice is not None:
            choices.append(choice)
    if not choices:
        name = found.ranked.best
        return CandidateChoice(name, found.candidate(name).candidate.recipe)
    meeting = [choice for choice in choices if choice.safe]
    if not meeting:
        meeting = [choice for choice in choices if choice.meets]
    if not meeting:
        most = max(choice.rank for choice in choices)
        meeting = [choice for choice in choices if choice.rank == most]
    return _least_loss(meeting)


def _least_loss(choices: Sequence[CandidateChoice]) -> CandidateChoice:
    best = min(choices, key=lambda choice: choice.loss)
    groupable = [choice for choice in choices if choice.groupable]
    first = min(groupable, key=lambda choice: choice.loss, default=best)
    if first.loss <= loss_allowed(best.loss):
        return first
    return best


def _best_of_families(found: SearchResult) -> list[str]:
    """The best candidate of every family that promises classes, the best of all first."""
    families: dict[str, str] = {}
    for name in found.can_win:
        trial = found.candidate(name)
        if not trial.other_promise:
            families.setdefault(trial.candidate.recipe.steps[-1].name, name)
    names = list(families.values())
    groupable = [n for n in names if found.outcome(n).utilities.get("groupability") == 1]
    return list(dict.fromkeys([*names[: MOST_FAMILIES - 1], *groupable[:1]]))


def _may_win(found: SearchResult, name: str, choices: Sequence[CandidateChoice]) -> bool:
    """Whether a candidate could be taken before those that meet the terms already."""
    least = min((choice.loss for choice in choices if choice.safe), default=math.inf)
    utilities = found.outcome(name).utilities
    if utilities.get("groupability") == 1:
        return utilities.get("loss", 0.0) <= loss_allowed(least)
    return utilities.get("loss", 0.0) < least


def _smallest_classes(
    ground: TrialGround, found: SearchResult, name: str
) -> CandidateChoice | None:
    """A candidate with the smallest classes with which it would meet the terms; where none would,
    with those that come nearest. None: nothing comes out of it.
    """
    recipe = found.candidate(name).candidate.recipe
    asked, too_small = class_size_in(recipe), ""
    best: CandidateChoice | None = None
    below = 0
    tier = ground.terms.requested
    for k in _sizes(asked, len(ground.sample)):
        choice = _tried(ground, name, with_classes_of(recipe, k))
        if choice is None or choice.trial is None:
            break
        if best is None or _comes_nearer(choice, best):
            best = choice
        if choice.safe:
            between = round(math.sqrt(below * k))
            # Halfway between classes that are too small and those that will do.
            smaller = None
            if below:
                smaller = _tried(ground, name, with_classes_of(recipe, between))
            if smaller is not None and smaller.safe and between < k:
                best = smaller
            break
        broken = choice.trial.broken(tier)
        too_small = too_small or _why_too_small(choice.trial, tier)
        if not {line.term for line in broken} <= HELPED_BY_CLASSES:
            break
        below = k
    if best is None or class_size_in(best.recipe) == asked:
        return best
    k = class_size_in(best.recipe)
    reason = f"classes are of {k} and not of {asked}, because with these {too_small}"
    return dataclasses.replace(best, reason=reason)


def _comes_nearer(choice: CandidateChoice, best: CandidateChoice) -> bool:
    """Whether a choice comes nearer to the terms than one with smaller classes."""
    return (choice.rank, choice.meets, choice.safe) > (best.rank, best.meets, best.safe)


def _why_too_small(trial: ReleaseTrial, tier: Tier) -> str:
    """What keeps a candidate from a tier, or nearly does."""
    broken = trial.broken(tier)
    if broken:
        return broken[0].explanation
    line = trial.narrow(tier)[0]
    limit = limit_words(line.limit or 0.0)
    return f"{line.sentence}, which another sample may find above the limit of {limit}"


def _sizes(asked: int, records: int) -> Iterator[int]:
    """Class sizes in turn; of a small table not so large that hardly a class is left."""
    for factor in FACTORS:
        if factor == 1 or asked * factor * 4 <= records:
            yield asked * factor


def _tried(ground: TrialGround, name: str, recipe: Recipe) -> CandidateChoice | None:
    trial = ground.run(recipe, ground.terms.requested)
    if trial is None:
        return None
    tier = ground.terms.requested
    meets = not trial.broken(tier)
    loss, groupable = _quality(trial.release)
    return CandidateChoice(
        name,
        recipe,
        trial,
        loss=loss,
        groupable=groupable,
        meets=meets,
        safe=meets and not trial.narrow(tier),
    )


def _quality(release: TableRelease) -> tuple[float, bool]:
    """What the quasi-identifiers lose, and whether records can be grouped by all labels."""
    measures = {m.name: m.value for m in evaluate(release.pair, (Loss(), Groupability())).measures}
    return measures.get("loss", math.inf), measures.get("groupability") == 1


def with_classes_of(recipe: Recipe, k: int) -> Recipe:
    """The recipe with another class size."""
    models = tuple(with_class_size(model, k) for model in recipe.meet)
    return dataclasses.replace(recipe, meet=models)


def class_size_in(recipe: Recipe) -> int:
    """The class size that a recipe promises; 1 where it promises none."""
    return max((model.k for model in recipe.meet if isinstance(model, KAnonymity)), default=1)
