"""Choosing a node of the lattice by hand: what of a recipe says so, how it is put in, and how it is
taken out again.

The lattice step of a recipe is the last one that gives every quasi-identifier one level of its
hierarchy, such as ``global_recoding``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.interfaces.web.fields import Fields

# What is suppressed where a budget counts.
BUDGETED = ("tuple", "cell")
# A budget that is raised is a multiple of one part of so many.
FINE = 10_000


def lattice_step(recipe: Recipe) -> Any:
    """The lattice step of a recipe; None: there is none."""
    return next((step for step in reversed(recipe.steps) if step.surveys), None)


def with_lattice_step(recipe: Recipe, **changes: Any) -> Recipe:
    """The recipe with fields of its lattice step changed; without such a step it stays as it is."""
    step = lattice_step(recipe)
    if step is None:
        return recipe
    changed = dataclasses.replace(step, **changes)
    steps = tuple(changed if other is step else other for other in recipe.steps)
    return dataclasses.replace(recipe, steps=steps)


def levels_of(recipe: Recipe) -> Fields:
    """What the lattice step says of levels, as the recipe writes it: ``3`` means 0 to 3."""
    step = lattice_step(recipe)
    return {} if step is None else dict(step.levels)


def bounds_of(recipe: Recipe) -> dict[str, tuple[int, int]]:
    """The lowest and highest level that the recipe allows a column, of those that it says anything
    of.
    """
    bounds = {}
    for column, bound in levels_of(recipe).items():
        bounds[column] = (0, bound) if isinstance(bound, int) else tuple(bound)
    return bounds


def set_levels(recipe: Recipe) -> dict[str, int]:
    """The columns whose level is set, and not left to the search."""
    return {column: low for column, (low, high) in bounds_of(recipe).items() if low == high}


def chosen_in(recipe: Recipe) -> dict[str, int] | None:
    """The node that a recipe fixes, column by column; None where it leaves the search a choice."""
    fixed, quasi = set_levels(recipe), recipe.schema.quasi
    if not quasi or not set(quasi) <= set(fixed):
        return None
    return {column: fixed[column] for column in quasi}


def with_node(recipe: Recipe, levels: Mapping[str, int], *, lost: int, records: int) -> Recipe:
    """The recipe at one node; the budget is raised where the node loses more records than it
    allows.
    """
    step = lattice_step(recipe)
    changes: Fields = {"levels": {column: (level, level) for column, level in levels.items()}}
    if step.suppress in BUDGETED and allowed(step.budget, records) < lost:
        changes["budget"] = raised(lost, records)
    return with_lattice_step(recipe, **changes)


def allowed(budget: float, records: int) -> int:
    """How many records a budget lets go.

    >>> allowed(0.02, 3000), raised(251, 3000), allowed(0.0837, 3000)
    (60, 0.0837, 251)
    """
    return math.floor(budget * records + 1e-9)


def raised(lost: int, records: int) -> float:
    """The smallest round budget that lets so many records go."""
    parts = math.ceil(lost * FINE / max(1, records) - 1e-9)
    return min(1.0, parts / FINE)


def records_allowed(recipe: Recipe, records: int) -> int:
    """How many records the lattice step may lose."""
    step = lattice_step(recipe)
    if step.suppress in BUDGETED:
        return allowed(step.budget, records)
    return 0


def left_open(recipe: Recipe, before: Iterable[Recipe]) -> Recipe:
    """The recipe with the choice given back to the search.

    ``before`` are the recipes it came from, newest first: bounds that one of them had are bounds
    again. A recipe that leaves a choice is as it was.
    """
    if chosen_in(recipe) is None:
        return recipe
    bounds: Fields = {}
    for earlier in before:
        if lattice_step(earlier) is not None and chosen_in(earlier) is None:
            levels, quasi = levels_of(earlier), recipe.schema.quasi
            bounds = {column: bound for column, bound in levels.items() if column in quasi}
            break
    return with_lattice_step(recipe, levels=bounds)


def lattice_key(recipe: Recipe) -> str:
    """What two recipes share that have the same lattice with the same figures: all but how it is
    searched and what is asked of the result.

    How much may be lost does not count as long as anything may: a landscape is read under any
    budget.
    """
    some_loss = float(lattice_step(recipe).budget > 0)
    plain = {"budget": some_loss, "algorithm": "auto", "effort": None, "seconds": None}
    return searched_key(with_lattice_step(recipe, **plain))


def searched_key(recipe: Recipe) -> str:
    """What two recipes share for which the search ends at the same node."""
    document = recipes.to_dict(_through_lattice_step(recipe))
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def to_survey(recipe: Recipe) -> Recipe:
    """The recipe up to its lattice step, with nothing asked of the result."""
    return dataclasses.replace(_through_lattice_step(recipe), meet=recipe.goals)


def _through_lattice_step(recipe: Recipe) -> Recipe:
    """The recipe without the steps after its lattice step, without limits and contract."""
    end = max(at for at, step in enumerate(recipe.steps, 1) if step.surveys)
    return dataclasses.replace(recipe, steps=recipe.steps[:end], limits={}, contract=())
