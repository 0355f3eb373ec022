"""What gestures on the stages *Data* and *Hierarchies* change in a recipe: pure functions from a
recipe to another one."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.interfaces.web import choices, edits
from tests.interfaces.web.tasks.test_data import PEOPLE, asked, bench_of, people, recipe_of


def test_a_role_given_to_many_brings_hierarchies_and_takes_levels() -> None:
    recipe = recipe_of(PEOPLE)
    quasi = edits.with_role(recipe, ["illness"], "quasi", {"illness": sf.suppress()})
    assert (
        quasi.recipe.schema["illness"].hierarchy == sf.suppress()
        and quasi.sentence == "illness: quasi"
    )
    plain = edits.with_role(recipe, ["age", "job", "illness", "name"], "keep", {})
    assert plain.recipe.schema.quasi == () and choices.bounds_of(plain.recipe) == {}
    assert plain.sentence == "4 columns: keep"
    assert recipes.parse(recipes.dump(plain.recipe)).schema == plain.recipe.schema


@pytest.mark.parametrize("choice", edits.CHOICES)
def test_every_choice_of_a_role_is_read_back(choice: str) -> None:
    changed = edits.with_role(recipe_of(PEOPLE), ["job"], choice, {}).recipe
    assert edits.choice_of(changed.schema["job"]) == choice
    again = recipes.parse(recipes.dump(changed))
    assert edits.choice_of(again.schema["job"]) == choice


def test_a_level_is_set_and_left_to_the_search() -> None:
    recipe = recipe_of(PEOPLE)
    assert choices.set_levels(recipe) == {"age": 1}
    assert choices.set_levels(edits.with_level(recipe, "job", 0).recipe) == {"age": 1, "job": 0}
    assert choices.bounds_of(edits.with_level(recipe, "age", None).recipe) == {}
    bare = dataclasses.replace(recipe, steps=())
    assert edits.with_level(bare, "age", 2).recipe == bare
    assert choices.lattice_step(edits.with_recoding(bare).recipe) is not None


def test_a_hierarchy_with_fewer_levels_loses_the_level_that_was_set() -> None:
    recipe = edits.with_level(recipe_of(PEOPLE), "age", 4).recipe
    same = edits.with_hierarchy(recipe, "age", sf.intervals(2, 4, 8), "intervals", top=4)
    less = edits.with_hierarchy(recipe, "age", sf.suppress(), "all or nothing", top=1)
    assert choices.set_levels(same.recipe) == {"age": 4} and choices.set_levels(less.recipe) == {}


def test_the_crowd_is_that_of_the_strongest_promise() -> None:
    recipe = recipe_of(PEOPLE)
    assert edits.crowd_of(recipe) == 5
    assert (
        edits.crowd_of(dataclasses.replace(recipe, meet=(sf.KAnonymity(3), sf.KAnonymity(11))))
        == 11
    )
    assert edits.crowd_of(dataclasses.replace(recipe, meet=())) == edits.USUAL_K


def test_columns_that_are_gone_leave_the_recipe_with_their_levels() -> None:
    changed = edits.without_columns(recipe_of(PEOPLE), ["age"])
    assert "age" not in changed.recipe.schema.attributes and choices.bounds_of(changed.recipe) == {}
    assert changed.sentence == "age: no longer in the table"


def test_codes_are_read_as_missing_in_their_column_only() -> None:
    frame = people().with_columns(age=pl.when(pl.col("age") < 25).then(-9).otherwise(pl.col("age")))
    bench = bench_of(frame)
    codes = asked(bench, "columns")["missing_codes"]
    assert codes == {"age": [-9]}
    changed = edits.with_missing_codes(recipe_of(PEOPLE), codes).recipe
    assert recipes.parse(recipes.dump(changed)).intake.missing_in == {"age": (-9,)}
    levels = asked(bench, "levels", recipe=changed, column="age", at={})["levels"]
    assert (None, int((frame["age"] == -9).sum())) in levels[0]["items"]


@pytest.mark.parametrize("rule", ["category", "wildcard"])
def test_what_a_missing_value_equals_is_said_for_a_column(rule: str) -> None:
    changed = edits.with_missing(recipe_of(PEOPLE), ["job"], rule).recipe
    assert str(recipes.parse(recipes.dump(changed)).schema["job"].missing) == rule
