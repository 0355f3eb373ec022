"""``sfumato import``: take over a project of ARX, or metadata of µ-Argus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import Json, Quiet

if TYPE_CHECKING:
    from sfumato.interfaces.argus_import import ArgusTable
    from sfumato.interfaces.arx_import import ArxProject


@command()
def import_project(
    project: Annotated[
        Path, typer.Argument(help="a project that ARX saved (.deid), or metadata of µ-Argus (.rda)")
    ],
    output: Annotated[
        Path,
        CommandOption("folder to create: recipe.yaml, hierarchies, data.csv", ("--output", "-o")),
    ],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a project of ARX or metadata of µ-Argus to a recipe: roles, hierarchies, privacy
    models and the table; what cannot be converted is listed.

    Beside metadata of µ-Argus stand the data (same name, .asc, .dat, .txt or .csv), and recode
    files (name of the variable, .grc).
    """
    content: ArxProject | ArgusTable
    if project.suffix.lower() == ".rda":
        from sfumato.interfaces.argus_import import read_argus

        content = read_argus(project)
    else:
        from sfumato.interfaces.arx_import import read_arx

        content = read_arx(project)
    folder = content.write(output)
    if json:
        give_json(
            {
                "folder": str(folder),
                "not_taken": list(content.not_taken),
                "recipe": dict(content.document),
            }
        )
    else:
        out().print(escape(str(content)), soft_wrap=True)
    undecided = 0
    for spec in content.document["columns"].values():
        undecided += spec["role"] == "ask"
    if undecided:
        first = f"decide {undecided} column(s) with role ask, then "
    else:
        first = ""
    table = "TABLE" if content.table is None else folder / "data.csv"
    tell(f"next   {first}sfumato run {table} -r {folder / 'recipe.yaml'} -o out", quiet=quiet)
