"""``sfumato serve``: the workbench in a browser on this machine."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sfumato.core.fields import Document, Fields
from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, require
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import notes, out, tell
from sfumato.interfaces.cli.options import ReadOptions, TableName

if TYPE_CHECKING:
    from sfumato.interfaces.web.project import Held
    from sfumato.interfaces.web.server import Reach

INTERRUPTED = 130
"""The code that all commands leave with after Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """What the workbench opens."""

    recipe: Annotated[
        Path | None,
        CommandOption("a recipe (YAML) to start or continue with", ("--recipe", "-r")),
    ] = None
    project: Annotated[
        Path | None,
        CommandOption(
            "folder of the project, created if missing; by default one per table, in the data "
            "folder of your account"
        ),
    ] = None
    table: TableName = None
    browser: Annotated[
        bool, CommandOption("open the browser; otherwise only print the address")
    ] = True
    api: Annotated[
        bool,
        CommandOption(
            "let programs work with the project too, at /api; they send the header in the file"
            " .api-token of the project"
        ),
    ] = False
    to_others: Annotated[
        bool,
        CommandOption(
            "with --host: confirm that everybody with the address may work with these data",
            ("--to-others",),
        ),
    ] = False


@command("sfumato.interfaces.web.server:Reach")
def serve(
    data: Annotated[
        str | None,
        typer.Argument(
            help=(
                "a table to open: CSV, Parquet, Arrow, JSON lines, Excel …; a database with"
                " --table, such as sqlite:///file.db"
            )
        ),
    ] = None,
    *,
    files: ProjectOptions,
    address: Keywords,
    reading: ReadOptions,
) -> None:
    """Open the workbench: an editor of the recipe in a browser on this machine. Nothing is uploaded
    anywhere.

    What is done there is kept in a project: every version of the recipe, and what it did. The same
    table opens the same project again. End it with Ctrl-C. The same command once more, while it
    runs, gives a new address for another browser.
    """
    from sfumato.core import recipe_files
    from sfumato.interfaces.web import server
    from sfumato.interfaces.web.folders import project_of
    from sfumato.interfaces.web.project import Held, Project
    from sfumato.interfaces.web.workbench import Workbench

    reach = _reach(address, to_others=files.to_others)
    # A wrong address is refused before anything is opened or made.
    reach.check()
    require("nicegui", extra="web", to="open the workbench")
    intake = reading.intake.options()
    first, file = _first_table(data, intake, files.table)
    if files.recipe is None:
        recipe = None
    else:
        recipe = recipe_files.load(files.recipe)
    folder = files.project or project_of(file)
    try:
        project = Project.open(folder)
    except Held as busy:
        # What would change what the running workbench does is refused by name.
        changes = {
            "--recipe": files.recipe,
            "--port": reach.port,
            "--host": not reach.local,
            "how the table is read": intake,
            "--api": files.api,
        }
        refused = [name for name, value in changes.items() if value]
        _print_new_address(folder, busy, first, refused, browser=files.browser)
        return
    if recipe is not None and files.recipe is not None:
        # The same recipe again is no new version.
        word = "Went on with" if project.has_recipe else "Began with"
        reason = f"{word} the recipe {files.recipe.name}"
        project.edit(recipe, reason, based_on=project.version)
    workbench = Workbench(project, first=first, local=reach.local)
    try:
        server.serve(
            workbench,
            reach,
            browser=files.browser,
            on_ready=lambda link: _print_address(
                link, project.folder, local=reach.local, api=files.api
            ),
            api=files.api,
        )
    except KeyboardInterrupt:  # this is how a workbench ends
        tell(
            "The workbench has ended. The project is kept in"
            f" {escape(str(workbench.project.folder))}."
        )
        raise typer.Exit(INTERRUPTED) from None


def _first_table(
    data: str | None, intake: Fields, table: str | None
) -> tuple[Document | None, Path | None]:
    """The table that a new project starts with, and the file that names its project."""
    from sfumato.interfaces.web.table_locations import absolute_location, file_of, require_one_table

    if data is None:
        if intake or table is not None:
            raise ParameterError("reading options need a table: sfumato serve visits.csv")
        return None, None
    path = absolute_location(data)
    require_one_table(path)
    options = dict(intake)
    if table is not None:
        options["table"] = table
    return {"path": path, "options": options}, file_of(path, table)


def _print_new_address(
    folder: Path, busy: Held, first: Fields | None, refused: list[str], *, browser: bool
) -> None:
    """Print a new address of the workbench that has the project open."""
    from sfumato.interfaces.web.login_links import new_address
    from sfumato.interfaces.web.project import data_in
    from sfumato.interfaces.web.server import open_browser
    from sfumato.interfaces.web.uploads import at_home

    home = at_home(str(folder)).absolute()
    # The running workbench has one table; its address would open another one than was named.
    if not refused and first is not None and first["path"] != data_in(home).path:
        refused = ["another table"]
    if refused:
        raise type(busy)(f"{busy}. While it runs it takes no other options: {join_words(refused)}")
    address = new_address(home)
    # The one who holds the project cannot give an address.
    if address is None:
        raise busy
    out().print(address, soft_wrap=True, markup=False)
    # A program that waits for the address gets it now.
    out().file.flush()
    tell(
        "The project is open in a running workbench. This is a new address for it, valid once; "
        "earlier addresses are no longer valid."
    )
    if browser:
        open_browser(home)


def _reach(address: Keywords, *, to_others: bool) -> Reach:
    """Where the workbench listens; another address than that of this machine must be meant."""
    from sfumato.interfaces.web.server import LOCAL, Reach

    host = address.get("host", LOCAL)
    if host in (LOCAL, "localhost"):
        if to_others or "certificate" in address or "key" in address:
            raise ParameterError(
                "--certificate, --key and --to-others belong to --host, an address that others "
                "can reach; add --host or leave them out"
            )
        return Reach(port=address.get("port", 0))
    if not to_others:
        raise ParameterError(
            f"at {host} others could open the workbench and see the data; if you want that, add "
            "--to-others, with --certificate and --key"
        )
    return Reach(**address)


def _print_address(address: str, folder: Path, *, local: bool, api: bool = False) -> None:
    """Print the address alone on stdout, where a program may read it; the rest goes to stderr."""
    out().print(address, soft_wrap=True, markup=False)
    out().file.flush()
    sentence = "The address is valid once, for the first browser that opens it."
    if local:
        sentence += " Everything stays on this machine."
    tell(sentence)
    tell(f"[dim]project {escape(str(folder))} · Ctrl-C ends the workbench[/]")
    if api:
        from sfumato.interfaces.web.server import TOKEN_FILE

        calls = f"{address.partition('?')[0]}api/"
        header = escape(shlex.quote(f"@{folder / TOKEN_FILE}"))
        tell(f"[dim]For programs: curl -H {header} {calls}[/]")
    notes(cannot_promise("modes", "locks"), quiet=False)
