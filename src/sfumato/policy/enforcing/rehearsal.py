"""Whether a recipe can be run: its steps are planned, nothing is released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.recipe import Recipe

PSEUDONYMS = "pseudonymize"


def feasible(recipe: Recipe, dataset: Dataset) -> bool:
    """Whether the steps reach the promises. Pseudonyms are left out: they change nothing that promises look at."""
    claimed = {name for step in recipe.steps if step.name != PSEUDONYMS for name in getattr(step, "claims", ())}
    shared = dataset.with_schema(recipe.schema)
    shared = shared.drop(set(recipe.schema.direct) - claimed)
    try:
        for place, step in enumerate(recipe.steps):
            if step.name == PSEUDONYMS:
                continue
            shared = step.apply(shared, step.plan(shared, Goal(recipe.meet, Seed.of(None), place=place)))
    except Unsatisfiable:
        return False
    return True
