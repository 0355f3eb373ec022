"""Whether a recipe can be run: its steps are planned, nothing is released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table


def feasible(recipe: Recipe, table: Table) -> bool:
    """Whether the steps reach the promises. Steps that change nothing promises look at (pseudonyms)
    are left out.
    """
    claimed = {name for step in recipe.steps if not step.keeps_quasi for name in step.claims}
    shared = table.with_schema(recipe.schema)
    shared = shared.drop(set(recipe.schema.dropped_columns) - claimed)
    try:
        for place, step in enumerate(recipe.steps):
            if step.keeps_quasi:
                continue
            shared = step.apply(
                shared, step.plan(shared, Goal(recipe.goals, Seed.of(None), place=place))
            )
    except Unsatisfiable:
        return False
    return True
