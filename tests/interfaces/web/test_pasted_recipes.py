"""Recipes that are typed into a page: what is too deep, too long or endless is refused, by name and
before it is built.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sfumato.core import recipe_files, yaml_text
from sfumato.errors import RecipeError
from sfumato.interfaces.web.pasted_recipes import LONGEST_LINE, read, recipe_of_text

PLAIN = "columns: {age: quasi}\nmeet: [{k_anonymity: {k: 5}}]\n"
MERGED = "m0: &m0 {a: 1}\nm1: &m1 {b: 1}\n" + "".join(
    f"m{i}: &m{i}\n  <<: [*m{i - 1}, *m{i - 2}]\n" for i in range(2, 60)
)


def test_a_recipe_is_the_same_as_from_a_file() -> None:
    assert asyncio.run(recipe_of_text(PLAIN, base=Path())) == recipe_files.parse(PLAIN)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 50_000, "more than 100 deep"),
        ("{a: " * 20_000, "more than 100 deep"),
        ("a: " + "x" * LONGEST_LINE, "line 1 is longer than"),
        (PLAIN + "b: " + "x" * LONGEST_LINE, "line 3 is longer than"),
        ("- " * 5_000, "not valid YAML"),
        (MERGED, "expands through aliases"),
        ("a: &a [*a]", "expands through aliases|cannot be a recipe"),
    ],
)
def test_hostile_text_is_refused(text: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        read(text, Path(), "the recipe")


def test_a_text_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(yaml_text.time, "thread_time", lambda: float(next(clock)))
    with pytest.raises(RecipeError, match="the recipe is too long to be read here"):
        yaml_text.read_yaml(PLAIN, "the recipe", seconds=3)
    assert yaml_text.read_yaml(PLAIN, "the recipe")["columns"] == {"age": "quasi"}


def test_brackets_a_recipe_may_have() -> None:
    deep = "[" * yaml_text.MAX_DEPTH + "]" * yaml_text.MAX_DEPTH
    assert isinstance(yaml_text.read_yaml(deep, "it"), list)
    with pytest.raises(RecipeError, match="deep"):
        yaml_text.read_yaml(f"[{deep}]", "it")
