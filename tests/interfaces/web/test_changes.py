"""What differs between two versions of a recipe, in lines that a person reads: where, before,
after."""

from __future__ import annotations

from hypothesis import given

from sfumato.core import recipe_files as recipes
from sfumato.core.recipe import Recipe
from sfumato.interfaces.web.changes import changes
from tests.core.test_recipe import RECIPES


@given(one=RECIPES, other=RECIPES)
def test_recipes_that_differ_have_changes_and_the_same_has_none(one: Recipe, other: Recipe) -> None:
    assert changes(one, one) == []
    there, back = changes(one, other), changes(other, one)
    assert {(c.path, c.before, c.after) for c in there} == {
        (c.path, c.after, c.before) for c in back
    }
    if recipes.to_dict(one, base=one.base) == recipes.to_dict(other, base=other.base):
        assert not there
