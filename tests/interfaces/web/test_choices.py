"""The step that chooses from a lattice, and what a recipe says of its levels."""

from __future__ import annotations

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.interfaces.web import choices, edits

TEXT = """
sfumato: 1
columns: {age: quasi, town: quasi}
meet: [{k_anonymity: {k: 3}}]
steps:
  - global_recoding: {budget: 0.1, levels: {age: 3}}
  - microaggregate: {columns: [age], k: 3}
"""


def recipe_of(text: str = TEXT) -> Recipe:
    """A recipe of two quasi-identifiers."""
    return recipes.parse(text)


def without_steps() -> Recipe:
    """The same without a step that chooses levels."""
    return recipes.parse(TEXT[: TEXT.index("steps:")])


def test_a_number_means_from_nought_and_is_written_as_it_was() -> None:
    recipe = recipe_of()
    assert choices.bounds_of(recipe) == {"age": (0, 3)} and choices.set_levels(recipe) == {}
    changed = edits.with_level(recipe, "town", 1).recipe
    assert choices.levels_of(changed) == {"age": 3, "town": (1, 1)}


def test_other_steps_stay_when_the_lattice_step_changes() -> None:
    recipe = recipe_of()
    changed = choices.with_lattice_step(recipe, budget=0.5)
    assert choices.lattice_step(changed).budget == 0.5
    assert changed.steps[1] is recipe.steps[1]


def test_a_recipe_without_such_a_step_has_no_levels_and_stays_as_it_is() -> None:
    bare = without_steps()
    assert choices.lattice_step(bare) is None and choices.levels_of(bare) == {}
    assert choices.with_lattice_step(bare, budget=0.5) is bare
    assert choices.chosen_in(bare) is None and choices.left_open(bare, []) is bare


def test_a_survey_ends_at_the_lattice_step_and_asks_nothing_of_the_result() -> None:
    recipe = recipe_of(TEXT + "limits: {marketer_risk: 0.2}\n")
    survey = choices.to_survey(recipe)
    assert survey.steps == recipe.steps[:1] and not survey.limits and not survey.contract
    assert survey.meet == (sf.KAnonymity(3),)
