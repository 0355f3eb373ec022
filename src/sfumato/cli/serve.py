"""``sfumato serve``: the workbench in a browser on this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.talk import out


def serve(
    data: Annotated[Path | None, typer.Argument(help="a table to open")] = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r", help="a recipe to begin with")] = None,
    project: Annotated[Path | None, typer.Option(help="folder of the project; made where there is none")] = None,
    port: Annotated[int, typer.Option(help="port to listen on; 0: any free one")] = 0,
    browser: Annotated[bool, typer.Option(help="open the browser")] = True,
) -> None:
    """Open the workbench: an editor of the recipe in a browser on this machine. Nothing is uploaded anywhere."""
    from sfumato import recipe_files
    from sfumato.web.project import Project
    from sfumato.web.server import serve as listen
    from sfumato.web.workbench import Workbench

    loaded = None if recipe is None else recipe_files.load(recipe)
    folder = project or Path(tempfile.mkdtemp(prefix="sfumato-project-"))
    opened = Project.open(folder)
    if loaded is not None:
        opened.edit(loaded, f"Began with {recipe.name}", based_on=opened.version)
    workbench = Workbench(opened, first=None if data is None else {"path": str(data.absolute())})
    listen(workbench, port=port, on_ready=lambda address: out().print(address, soft_wrap=True))
