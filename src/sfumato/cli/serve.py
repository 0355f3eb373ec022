"""``sfumato serve``: the workbench in a browser on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sfumato.cli.options import reading
from sfumato.cli.talk import out, tell
from sfumato.core.portable import cannot_promise
from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import ParameterError, require

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.web import server
    from sfumato.web.project import Project

MOST_BYTES = 1 << 40
INTERRUPTED = 130
"""The code that all commands leave with after Ctrl-C."""


@reading
def serve(
    data: Annotated[
        Path | None, typer.Argument(help="a table to open: CSV, Parquet, Arrow, JSON lines, Excel …")
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", "-r", help="a recipe (YAML) to begin with, or to go on with")
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            help="folder of the project, made where there is none; by default one a table, in the folder for data of your account"
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="port to listen on; 0: any free one", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="open the browser; without, the address is only printed")] = True,
    host: Annotated[
        str | None,
        typer.Option(
            help="an address of this machine that others can reach; with --certificate, --key and --to-others"
        ),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="with --host: certificate of that address (PEM)")] = None,
    key: Annotated[Path | None, typer.Option(help="with --host: key of the certificate (PEM)")] = None,
    to_others: Annotated[
        bool, typer.Option("--to-others", help="with --host: yes, who has the address may work with these data")
    ] = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Open the workbench: an editor of the recipe in a browser on this machine. Nothing is uploaded anywhere.

    What is done there is kept in a project: every version of the recipe, and what it did. The same table opens the same project
    again. End it with Ctrl-C.
    """
    from sfumato import recipe_files
    from sfumato.core.files import require_plain
    from sfumato.web import server
    from sfumato.web.folders import project_of
    from sfumato.web.project import Project
    from sfumato.web.workbench import Workbench

    place = _place(host, port, certificate, key, to_others=to_others)
    place.check()
    require("nicegui", extra="web", to="open the workbench")
    if data is not None:
        require_plain(data, most=MOST_BYTES, what="a table")
    if data is None and intake.said():
        raise ParameterError("how a table is read goes with a table: sfumato serve visits.csv")
    loaded = None if recipe is None else recipe_files.load(recipe)
    opened = Project.open(project or project_of(data))
    _begin_with(opened, recipe, loaded)
    first = None if data is None else {"path": str(data.absolute()), "options": intake.said()}
    workbench = Workbench(opened, first=first, local=place.local)
    try:
        server.serve(
            workbench, place, browser=browser, on_ready=lambda address: _say(address, opened.folder, place.local)
        )
    except KeyboardInterrupt:  # this is how a workbench ends
        tell(f"The workbench has ended. The project is kept in {escape(str(opened.folder))}.")
        raise typer.Exit(INTERRUPTED) from None


def _place(host: str | None, port: int, certificate: Path | None, key: Path | None, *, to_others: bool) -> server.Reach:
    from sfumato.web.server import LOCAL, Reach

    if host in (None, LOCAL, "localhost"):
        if certificate or key or to_others:
            raise ParameterError(
                "--certificate, --key and --to-others go with --host, an address that others can reach"
            )
        return Reach(port=port)
    if not to_others:
        raise ParameterError(
            f"at {host} others could open the workbench and see the data; say --to-others if that is meant, with --certificate and --key"
        )
    return Reach(str(host), port, certificate, key)


def _begin_with(project: Project, file: Path | None, recipe: Recipe | None) -> None:
    """Make a recipe that was named the one in use; the same one again is no new version."""
    if recipe is not None and file is not None:
        word = "Went on with" if project.has_recipe else "Began with"
        project.edit(recipe, f"{word} the recipe {file.name}", based_on=project.version)


def _say(address: str, folder: Path, local: bool) -> None:
    """The address alone on stdout, where a program may read it; the rest is talk."""
    out().print(address, soft_wrap=True, markup=False)
    out().file.flush()
    tell(
        "The address is good once, for the first browser that opens it."
        + (" Everything stays on this machine." if local else "")
    )
    tell(f"[dim]project {escape(str(folder))} · Ctrl-C ends the workbench[/]")
    for sentence in cannot_promise("modes", "locks"):
        tell(f"[dim]note: {escape(sentence)}[/]")
