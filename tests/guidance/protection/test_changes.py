"""Single changes: how they are written, what they refuse, and what they do to a recipe."""

from __future__ import annotations

import shlex

import pytest

import sfumato as sf
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError
from sfumato.guidance.protection.changes import (
    RecipeChange,
    change_of,
    changed_recipe,
    changes_of,
    plan_changes,
    recipe_without,
)


def visits_recipe(**parts):
    table = sf.examples.visits(rows=200)
    meet = (sf.KAnonymity(5), sf.LDiversity("diagnosis", 2))
    parts = {"meet": meet, "steps": (sf.Mondrian(),), **parts}
    return table, Recipe(table.schema, **parts)


@pytest.mark.parametrize(
    "change",
    [
        RecipeChange("drop", "ward"),
        RecipeChange("drop", "first name"),
        RecipeChange("drop", "it's"),
        RecipeChange("round", "cost", "500"),
        RecipeChange("top_code", "cost", "-3"),
        RecipeChange("role", "ward", "quasi+sensitive"),
        RecipeChange("k", None, "11"),
    ],
)
def test_the_flag_of_a_change_is_read_back_as_the_change(change):
    word, text = shlex.split(change.flag)
    assert word == "--change" and change_of(text) == change


@pytest.mark.parametrize(
    "text",
    [
        "",
        "drop",
        "drop a b",
        "round cost",
        "round cost 0",
        "round cost x",
        "k 2.5",
        "k -1",
        "melt x",
        "drop 'a",
        "role x nothing",
        "coarser zip nan",
    ],
)
def test_what_is_no_change_is_refused(text):
    with pytest.raises(ParameterError):
        change_of(text)


def test_a_column_that_is_not_there_or_holds_no_numbers_is_refused():
    table, _ = visits_recipe()
    with pytest.raises(SchemaError, match="no column"):
        plan_changes(changes_of(["drop nowhere"]), table)
    with pytest.raises(SchemaError, match="holds no numbers"):
        plan_changes(changes_of(["round diagnosis 5"]), table)


def test_later_changes_of_a_column_replace_earlier_ones():
    table, _ = visits_recipe()
    plan = plan_changes(changes_of(["round fee 10", "round fee 50", "k 5", "k 9"]), table)
    (step,) = plan.first_steps
    assert step.base == 50 and plan.k == 9
    assert not plan_changes(changes_of(["round fee 10", "drop fee"]), table).first_steps


def test_a_dropped_column_takes_its_promises_and_steps_along():
    _, recipe = visits_recipe(steps=(sf.Round(["fee"], 10), sf.Mondrian()))
    left = recipe_without(recipe, ["diagnosis", "fee"])
    assert left.schema["diagnosis"].roles == (Role.DROP,)
    assert [model.name for model in left.meet] == ["k_anonymity"]
    assert [step.name for step in left.steps] == ["mondrian"]


def test_a_ghost_variable_goes_with_the_column_that_it_follows():
    _, recipe = visits_recipe(steps=(sf.Mondrian(), sf.Follow({"department": "zip"})))
    assert [step.name for step in recipe_without(recipe, ["zip"]).steps] == ["mondrian"]


def test_each_change_does_what_it_says():
    table, recipe = visits_recipe()
    assert changed_recipe(recipe, change_of("k 9"), table).meet[0].k == 9
    assert changed_recipe(recipe, change_of("k 9"), table).meet[1] == recipe.meet[1]
    role = changed_recipe(recipe, change_of("role department quasi"), table)
    assert "department" in role.schema.quasi and role.schema["department"].hierarchy is not None
    assert changed_recipe(recipe, change_of("round fee 50"), table).steps[0].name == "round"


def test_a_level_needs_a_step_that_has_levels():
    table, recipe = visits_recipe()
    assert changed_recipe(recipe, change_of("coarser zip 2"), table) is None
    _, levels = visits_recipe(steps=(sf.GlobalRecoding(budget=0.05),))
    changed = changed_recipe(levels, change_of("coarser zip 2"), table)
    assert changed.steps[-1].levels["zip"][0] == 2


def test_letters_of_any_language_need_no_quotes():
    assert RecipeChange("drop", "éducation").flag == "--change 'drop éducation'"
    assert change_of(RecipeChange("drop", "it's").text).column == "it's"
