"""What all steps for baskets have in common: what they decided, which promises they are for, and
whom they refuse to begin with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from sfumato.core.data import Evidence
from sfumato.core.fields import Document, Fields
from sfumato.core.shape import Shape
from sfumato.core.step import Plan, Step
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.models import BasketModel
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.formulas.itemsets import ItemSets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.model import Verdict
    from sfumato.core.step import Goal


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BasketPlan(Plan):
    """The items that everybody will have, own columns where these change too, and what was done in
    counts.
    """

    sets: ItemSets
    labels: tuple[str, ...]
    told: Fields
    own: pl.DataFrame | None = None
    warned: tuple[str, ...] = ()
    work: Fields = dataclasses.field(default_factory=dict)

    def describe(self) -> Document:
        """What was done, in counts."""
        return dict(self.told)

    def effort(self) -> Document:
        """How it was found."""
        return dict(self.work)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever runs the recipe should know."""
        return self.warned


class BasketStep(Step):
    """A step for baskets: its plan says what everybody will have. Steps inherit this class."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.BASKETS})

    def apply(self, people: Any, plan: BasketPlan) -> Any:
        """Give everybody the items of the plan."""
        changed = people.with_sets(plan.sets, plan.labels)
        if plan.own is None:
            return changed
        return changed.with_own(plan.own)


def aims(
    step: str, people: object, goal: Goal, fits: Callable[[BasketModel], bool], kinds: str
) -> list[BasketModel]:
    """The promises of a run that a step is for; none, and people of whom none has an item, or too
    few, are refused.
    """
    # A step that takes baskets apart leaves no sets that a further one could change.
    if not isinstance(people, Baskets):
        raise ParameterError(
            f"{step}: an earlier step disassociated the baskets; that must be the last step"
        )
    promises: tuple[Any, ...] = goal.models
    models = [model for model in promises if isinstance(model, BasketModel) and fits(model)]
    if not models:
        raise ParameterError(
            f"{step} serves {kinds}; the recipe has no promise of this kind, so add one "
            "or remove the step"
        )
    # Of several promises the largest crowd is the one that must be there.
    require_crowd(people, max(model.crowd for model in models))
    return models


def require_crowd(people: Baskets, k: int) -> None:
    """Refuse baskets that are all empty, or of which fewer than k hold anything: no promise can
    cover them.
    """
    if not people.filled:
        raise SchemaError(
            f"none of the {people.people:,} people has an item; there is nothing to release"
        )
    if people.filled < k:
        raise Unsatisfiable(
            f"{people.filled:,} people have an item, fewer than the k = {k:,} of a promise; ask "
            "for a smaller k",
            closest=people.filled,
        )


def failing(models: Sequence[BasketModel], people: Baskets) -> list[Verdict]:
    # Judged on what would be released, by the same code that judges the release in the end.
    """The verdicts of promises that do not hold."""
    return [verdict for model in models if not (verdict := model.judge(Evidence(people))).holds]


def require_reached(step: str, models: Sequence[BasketModel], people: Baskets, advice: str) -> None:
    """Raise :class:`Unsatisfiable` with the nearest miss where some promise is not reached."""
    short = failing(models, people)
    if short:
        # The first one is enough for the message; its verdict says how far the step came.
        nearest = short[0]
        raise Unsatisfiable(
            f"{step} does not reach {nearest.promise}: {nearest.sentence}; {advice}",
            closest=nearest.to_dict(),
        )


def losses(people: Baskets, nodes: NDArray[Any]) -> float:
    """NCP of a recoding that is given per item that people have (in the order of
    ``sets.items``).
    """
    loss = people.taxonomy.loss[nodes]
    return float(loss.sum()) / max(len(loss), 1)
