"""Next month's file: what was decided for one table, done to the rows of another."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core import recipe_files as recipes
from sfumato.core.hierarchy import is_fixed
from sfumato.core.shape import Shape
from sfumato.errors import SfumatoError, UnreadableInput
from sfumato.release.certificate_files import read_certificate
from sfumato.release.folder import require_both
from sfumato.release.signatures import digest_of
from sfumato.release.written_files import read_json

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe


def recipe_like(folder: str | Path) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe that does to other rows what the release in a folder did, and what can only decide
    again.

    Levels stay as they were chosen, pseudonyms keep their key, rules their thresholds; a step that
    chose by looking at all rows (clusters, regions, donors) looks at the new ones, and is named, as
    is a hierarchy that is made from the data.
    """
    release_folder = Path(folder)
    require_both(release_folder)
    certificate = read_certificate(release_folder / "share", Shape.TABLE)
    if certificate["digest"] != digest_of(certificate):
        raise UnreadableInput(
            f"the certificate in {release_folder / 'share'} was edited, so its decisions are "
            "unknown; get the original"
        )
    plans = certificate.get("plan", ())
    try:
        recipe = recipes.from_dict(read_json(release_folder / "owner" / "lock.json")["recipe"])
        steps_before = [
            step.as_before(plan) for step, plan in zip(recipe.steps, plans, strict=True)
        ]
    except (KeyError, TypeError, ValueError, SfumatoError):
        raise UnreadableInput(
            f"{release_folder} does not record its decisions, perhaps because an older "
            "version wrote it; give the recipe instead"
        ) from None
    anew = tuple(
        step.name
        for step, step_before in zip(recipe.steps, steps_before, strict=True)
        if step_before is None
    )
    anew += tuple(
        f"the hierarchy of column {name!r} ({attribute.hierarchy.name}, made from the data)"
        for name, attribute in recipe.schema.attributes.items()
        if attribute.hierarchy is not None and not is_fixed(attribute.hierarchy)
    )
    steps = tuple(
        step if step_before is None else step_before
        for step, step_before in zip(recipe.steps, steps_before, strict=True)
    )
    return dataclasses.replace(recipe, steps=steps), anew
