"""The original of a written release: how it is read, as the owner's lock or the certificate
says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import recipe_files as recipes
from sfumato.core.fields import Document, Fields
from sfumato.core.shape import PEOPLE, Shape
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.release.read_data import read_recipe_data
from sfumato.release.replay import locked_recipe, read_lock
from sfumato.release.table_sections import sections

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.recipe import Recipe
    from sfumato.core.source import Intake


def original_of(
    data: Any,
    certificate: Fields,
    owner: Path | None,
    *,
    people: Any = None,
    intake: Intake | None = None,
    table: str | None = None,
    engine: str | None = None,
) -> Data:
    """The original of a release, read as the owner's lock says, or its certificate where there is
    none.
    """
    recipe = locked_recipe(owner, Shape(certificate["shape"])) or public_recipe(certificate)
    first_section = next(iter(sections(certificate).values()))
    made_for = (read_lock(owner) or {}).get("made_for", first_section["format"])
    return read_recipe_data(
        data,
        recipe,
        people=people,
        intake=intake,
        format=made_for,
        table=table,
        engine=engine,
    )


def public_recipe(certificate: Fields) -> Recipe:
    """What a certificate says of the columns of the original, without what its owner keeps; no
    promises and no steps.
    """
    recipe_dict = certificate["recipe"]
    plain: Document = {
        **_shown_columns(recipe_dict),
        "meet": [],
        "steps": [],
        "limits": {},
        "contract": [],
    }
    if recipe_dict.get(PEOPLE) is not None:
        plain[PEOPLE] = _shown_columns(recipe_dict[PEOPLE])
    if "tables" in recipe_dict:
        plain["tables"] = {
            name: _shown_columns(table) for name, table in recipe_dict["tables"].items()
        }
    try:
        recipe = recipes.any_from_dict(plain)
    except SfumatoError:
        recipe = None
    if recipe is None or recipe.shape is not Shape(certificate["shape"]):
        raise UnreadableInput(
            "the certificate does not say how its original is read; give --owner with the lock file"
        )
    return recipe


def _shown_columns(section: Fields) -> Document:
    """What is said of a table, but for what lists values of its columns."""
    if "columns" not in section:
        return dict(section)
    columns = {}
    for name, spec in section["columns"].items():
        columns[name] = dict(spec)
        for key in ("hierarchy", "order"):
            columns[name].pop(key, None)
    return {**section, "columns": columns}
