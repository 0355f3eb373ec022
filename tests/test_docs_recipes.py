"""Every recipe, or part of one, that README.md and docs/ print can be read."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from sfumato.core import recipe_files as recipes
from sfumato.core.recipe_files import read_yaml
from sfumato.errors import RecipeError
from sfumato.guidance.comparison import expanded

HERE = Path(__file__).resolve().parent
DOCS = runpy.run_path(str(HERE / "test_docs.py"))
PAGES = {str(path.relative_to(HERE.parent)): path for path in DOCS["PAGES"]}


def documents(text: str) -> list[tuple[int, dict]]:
    """The YAML blocks of a page that are a recipe or a part of one, each with its line."""
    found = [
        (b.line, read_yaml(b.text, "block")) for b in DOCS["blocks"](text) if b.language == "yaml"
    ]
    return [
        (n, plain)
        for n, plain in found
        if isinstance(plain, dict) and set(plain) <= set(recipes.SECTIONS)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_recipes_of_a_page_can_be_read(page):
    for line, plain in documents(PAGES[page].read_text(encoding="utf-8")):
        for _, concrete in expanded(plain):
            recipes.any_from_dict(concrete, name=f"{page}:{line}")


def test_there_are_recipes_to_read():
    assert len(documents(PAGES["docs/how_to/masking.md"].read_text(encoding="utf-8"))) >= 6


def test_a_wrong_recipe_is_noticed():
    (_, plain), *_ = documents(
        "```yaml\nsteps:\n  - add_noise: {columns: [cost], alfa: 0.1}\n```\n"
    )
    with pytest.raises(RecipeError, match="alfa"):
        recipes.from_dict(plain)
