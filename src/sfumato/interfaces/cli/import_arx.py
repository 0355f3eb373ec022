"""``sfumato import``: take over a project of ARX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import Json, Quiet


@command()
def import_project(
    project: Annotated[Path, typer.Argument(help="a project that ARX saved (.deid)")],
    output: Annotated[
        Path,
        CommandOption("folder to make: recipe.yaml, hierarchies, data.csv", ("--output", "-o")),
    ],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take an ARX project over: roles, hierarchies, privacy models and the table as a recipe; what
    cannot be is named.
    """
    from sfumato.interfaces.arx_import import read_arx

    read = read_arx(project)
    folder = read.write(output)
    if json:
        give_json(
            {
                "folder": str(folder),
                "not_taken": list(read.not_taken),
                "recipe": dict(read.document),
            }
        )
    else:
        out().print(escape(str(read)), soft_wrap=True)
    asked = [name for name, spec in read.document["columns"].items() if spec["role"] == "ask"]
    next_step = f"decide what {len(asked)} column(s) are (role: ask), then " if asked else ""
    table = folder / "data.csv" if read.table is not None else "TABLE"
    tell(f"next   {next_step}sfumato run {table} -r {folder / 'recipe.yaml'} -o out", quiet=quiet)
