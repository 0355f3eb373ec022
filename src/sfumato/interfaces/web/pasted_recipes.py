"""Recipes that somebody typed or pasted into a page: read beside the pages, and only for so
long.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core import recipe_files
from sfumato.core.yaml_text import read_yaml
from sfumato.errors import RecipeError

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe

# How long reading may compute: a recipe of a thousand columns takes less than one.
SECONDS = 2.0
# Characters in a line; one is read in one go, which nothing can stop.
LONGEST_LINE = 100_000


async def recipe_of_text(text: str, *, base: Path, name: str = "the recipe") -> Recipe:
    """The recipe that a text is; pages go on meanwhile, and what is too long, too deep or endless
    is a :class:`RecipeError`.
    """
    return await asyncio.to_thread(read, text, base, name)


def read(text: str, base: Path, name: str) -> Recipe:
    """The recipe that a text is, within the bounds of this module."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            raise RecipeError(
                f"{name}, line {number} is longer than {LONGEST_LINE:,} characters, so it cannot "
                "be a recipe"
            )
    return recipe_files.from_dict(read_yaml(text, name, seconds=SECONDS), base=base, name=name)
