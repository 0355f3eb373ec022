"""Choosing a node of the lattice by hand: what of a recipe says so, how it is put in, and how it is
taken out again.
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

# What is suppressed where a budget counts.
BUDGETED = ("tuple", "cell")
# A budget that is raised is a multiple of one part of so many.
FINE = 10_000


def position_of(recipe: Recipe) -> int | None:
    """The place of the last step that chooses from a lattice; None: there is none."""
    return max(
        (position for position, step in enumerate(recipe.steps) if step.surveys), default=None
    )


def chosen_in(recipe: Recipe) -> dict[str, int] | None:
    """The node that a recipe fixes, column by column; None where it leaves the search a choice."""
    position = position_of(recipe)
    if position is None or not recipe.schema.quasi:
        return None
    bounds = _step(recipe, position).levels
    fixed = {column: _only(bounds.get(column)) for column in recipe.schema.quasi}
    return (
        None
        if None in fixed.values()
        else {column: int(level or 0) for column, level in fixed.items()}
    )


def _only(bound: Any) -> int | None:
    """The one level that a bound leaves; None: it leaves several."""
    if bound is None:
        return None
    low, high = (0, bound) if isinstance(bound, int) else bound
    return int(low) if low == high else None


def with_node(recipe: Recipe, levels: Mapping[str, int], *, lost: int, records: int) -> Recipe:
    """The recipe at one node; the budget is raised where the node loses more records than it
    allows.
    """
    position = _require_position(recipe)
    step = _step(recipe, position)
    changes: dict[str, Any] = {
        "levels": {column: (level, level) for column, level in levels.items()}
    }
    if step.suppress in BUDGETED and allowed(step.budget, records) < lost:
        changes["budget"] = raised(lost, records)
    return _with_step(recipe, position, dataclasses.replace(step, **changes))


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
    """How many records the step that chooses from a lattice may lose."""
    step = _step(recipe, _require_position(recipe))
    return allowed(step.budget, records) if step.suppress in BUDGETED else 0


def left_open(recipe: Recipe, before: Iterable[Recipe]) -> Recipe:
    """The recipe with the choice given back to the search.

    ``before`` are the recipes it came from, newest first: bounds that one of them had are bounds
    again. A recipe that leaves a choice is as it was.
    """
    position = position_of(recipe)
    if position is None or chosen_in(recipe) is None:
        return recipe
    bounds: dict[str, Any] = {}
    for earlier in before:
        at = position_of(earlier)
        if at is not None and chosen_in(earlier) is None:
            bounds = {
                c: bound
                for c, bound in _step(earlier, at).levels.items()
                if c in recipe.schema.quasi
            }
            break
    return _with_step(recipe, position, dataclasses.replace(_step(recipe, position), levels=bounds))


def lattice_key(recipe: Recipe) -> str:
    """What two recipes share that have the same lattice with the same figures: all but how it is
    searched and what is asked of the result.

    How much may be lost does not count as long as anything may: a landscape is read under any
    budget.
    """
    position = _require_position(recipe)
    step = _step(recipe, position)
    plain = dataclasses.replace(
        step,
        budget=float(step.budget > 0),
        algorithm="auto",
        effort=None,
        seconds=None,
        objective=step.objective,
    )
    cut = dataclasses.replace(
        recipe, steps=(*recipe.steps[:position], plain), limits={}, contract=()
    )
    return hashlib.sha256(json.dumps(recipes.to_dict(cut), sort_keys=True).encode()).hexdigest()


def searched_key(recipe: Recipe) -> str:
    """What two recipes share for which the search ends at the same node."""
    position = _require_position(recipe)
    cut = dataclasses.replace(recipe, steps=recipe.steps[: position + 1], limits={}, contract=())
    return hashlib.sha256(json.dumps(recipes.to_dict(cut), sort_keys=True).encode()).hexdigest()


def with_any_loss(recipe: Recipe) -> Recipe:
    """The recipe that may lose all records but some: where nothing stays within the budget, there
    is still something to look at.
    """
    position = _require_position(recipe)
    return _with_step(recipe, position, dataclasses.replace(_step(recipe, position), budget=1.0))


def to_survey(recipe: Recipe) -> Recipe:
    """The recipe up to the step that chooses from a lattice, with nothing asked of the result."""
    position = _require_position(recipe)
    return dataclasses.replace(
        recipe, meet=recipe.goals, steps=recipe.steps[: position + 1], limits={}, contract=()
    )


def _require_position(recipe: Recipe) -> int:
    position = position_of(recipe)
    if position is None:
        raise LookupError("no step chooses from a lattice")
    return position


def _step(recipe: Recipe, position: int) -> Any:
    return recipe.steps[position]


def _with_step(recipe: Recipe, position: int, step: Any) -> Recipe:
    return dataclasses.replace(
        recipe, steps=(*recipe.steps[:position], step, *recipe.steps[position + 1 :])
    )
