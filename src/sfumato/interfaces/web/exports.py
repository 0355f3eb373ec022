"""The recipe of a project in the forms in which it can be taken away."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core import recipe_files as recipes
from sfumato.core.yaml_text import write_yaml
from sfumato.data.lazy.databases import is_address
from sfumato.interfaces.scripts import Errand, to_command, to_notebook, to_python

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web.project import Project


@dataclasses.dataclass(frozen=True)
class Parcel:
    """A form of a recipe: its title, the name of its file, and what it is for."""

    title: str
    file: str
    media: str
    meaning: str


KINDS = {
    "recipe": Parcel(
        "Recipe",
        "recipe.yaml",
        "application/yaml",
        "The whole state of this workbench. Edit it here, or keep it with your data.",
    ),
    "python": Parcel(
        "Python", "release.py", "text/x-python", "A script that makes the same release."
    ),
    "command": Parcel(
        "Command line",
        "release.sh",
        "text/x-sh",
        "The commands for a terminal, a Makefile or a pipeline.",
    ),
    "notebook": Parcel(
        "Notebook", "release.ipynb", "application/x-ipynb+json", "The script as cells, for Jupyter."
    ),
}


def export_text(project: Project, kind: str) -> tuple[str, str]:
    """The name of the file and the text of a form of the recipe in use."""
    form, recipe, errand = KINDS[kind], project.recipe, errand_of(project)
    if kind == "recipe":
        return form.file, write_yaml(recipes.to_dict(_from_anywhere(recipe), base=Path()))
    if kind == "python":
        return form.file, to_python(recipe, errand)
    if kind == "notebook":
        return form.file, to_notebook(recipe, errand)
    return form.file, to_command(errand, str(project.folder / "recipe.yaml")) + "\n"


def _from_anywhere(recipe: Recipe) -> Recipe:
    """The recipe with files that are found from any folder: the text is saved where the files of
    the project are not.
    """
    folder, schema, meet = recipe.base.absolute(), recipe.schema, list(recipe.meet)
    for name, attribute in schema.attributes.items():
        if attribute.hierarchy is not None:
            schema = schema.replace(name, hierarchy=attribute.hierarchy.resolved(folder))
    for position, model in enumerate(meet):
        if model.population is not None:
            population = str(folder / model.population)
            meet[position] = dataclasses.replace(model, population=population)  # type: ignore[type-var]
    return dataclasses.replace(recipe, schema=schema, meet=tuple(meet))


def errand_of(project: Project) -> Errand:
    """What is done with the recipe: the table of the project, read as it was read here."""
    data = project.data
    options = dict(data.options)
    if is_address(data.path):
        options |= {
            "engine": "memory"
        }  # as it was read here; a database that counts itself may search otherwise
    register = {}
    if project.register.get("file") and project.register.get("to"):
        register = project.register
    return Errand(data.path or "data.csv", example=data.example, options=options, register=register)
