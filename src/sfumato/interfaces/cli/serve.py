"""``sfumato serve``: the workbench in a browser on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, require
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import out, tell
from sfumato.interfaces.cli.options import ReadOptions, TableName

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.web import server
    from sfumato.interfaces.web.project import Held, Project

INTERRUPTED = 130
"""The code that all commands leave with after Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class ProjectOptions:
    """What the workbench opens."""

    recipe: Annotated[
        Path | None,
        CommandOption("a recipe (YAML) to begin with, or to go on with", ("--recipe", "-r")),
    ] = None
    project: Annotated[
        Path | None,
        CommandOption(
            "folder of the project, made where there is none; by default one a table, in the"
            " folder for data of your account"
        ),
    ] = None
    table: TableName = None


@dataclass(frozen=True, kw_only=True)
class AddressOptions:
    """Where the workbench is reached."""

    port: Annotated[
        int, CommandOption("port to listen on; 0: any free one", minimum=0, maximum=65535)
    ] = 0
    browser: Annotated[
        bool, CommandOption("open the browser; without, the address is only printed")
    ] = True
    host: Annotated[
        str | None,
        CommandOption(
            "an address of this machine that others can reach; with --certificate, --key and"
            " --to-others"
        ),
    ] = None
    certificate: Annotated[
        Path | None, CommandOption("with --host: certificate of that address (PEM)")
    ] = None
    key: Annotated[Path | None, CommandOption("with --host: key of the certificate (PEM)")] = None
    to_others: Annotated[
        bool,
        CommandOption(
            "with --host: yes, who has the address may work with these data", ("--to-others",)
        ),
    ] = False


@command()
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
    named: ProjectOptions,
    address: AddressOptions,
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
    from sfumato.interfaces.web.table_locations import absolute_location, file_of, require_one_table
    from sfumato.interfaces.web.workbench import Workbench

    place = _place(
        address.host, address.port, address.certificate, address.key, to_others=address.to_others
    )
    place.check()
    require("nicegui", extra="web", to="open the workbench")
    if data is None and (reading.intake.options() or named.table is not None):
        raise ParameterError("how a table is read goes with a table: sfumato serve visits.csv")
    at = None if data is None else absolute_location(data)
    if at is not None:
        require_one_table(at)
    chosen = {} if named.table is None else {"table": named.table}
    first = None if at is None else {"path": at, "options": {**reading.intake.options(), **chosen}}
    loaded = None if named.recipe is None else recipe_files.load(named.recipe)
    folder = named.project or project_of(None if at is None else file_of(at, named.table))
    try:
        opened = Project.open(folder)
    except Held as held:
        more = {
            "--recipe": named.recipe,
            "--port": address.port,
            "--host": address.host,
            "how the table is read": reading.intake.options(),
        }
        _address_of_running(
            folder,
            held,
            first,
            [name for name, given in more.items() if given],
            browser=address.browser,
        )
        return
    _begin_with(opened, named.recipe, loaded)
    workbench = Workbench(opened, first=first, local=place.local)
    try:
        server.serve(
            workbench,
            place,
            browser=address.browser,
            on_ready=lambda link: _say(link, opened.folder, place.local),
        )
    except KeyboardInterrupt:  # this is how a workbench ends
        tell(
            "The workbench has ended. The project is kept in"
            f" {escape(str(workbench.project.folder))}."
        )
        raise typer.Exit(INTERRUPTED) from None


def _address_of_running(
    folder: Path, held: Held, first: Any, more: list[str], *, browser: bool
) -> None:
    """Print a new address of the workbench that has the project open; what would change what it
    does is refused.
    """
    from sfumato.interfaces.web.login_links import new_address
    from sfumato.interfaces.web.project import data_in
    from sfumato.interfaces.web.server import open_browser
    from sfumato.interfaces.web.uploads import at_home

    there = at_home(str(folder)).absolute()
    if more or (first is not None and first["path"] != data_in(there).path):
        said = join_words(more) or "another table"
        raise type(held)(f"{held}. While it runs it takes no new word: {said}")
    address = new_address(there)
    if address is None:
        raise held
    out().print(address, soft_wrap=True, markup=False)
    out().file.flush()
    tell(
        "The project is open in a workbench that runs. This is a new address of it, good once;"
        " earlier ones are not good any more."
    )
    if browser:
        open_browser(there)


def _place(
    host: str | None, port: int, certificate: Path | None, key: Path | None, *, to_others: bool
) -> server.Reach:
    from sfumato.interfaces.web.server import LOCAL, Reach

    if host in (None, LOCAL, "localhost"):
        if certificate or key or to_others:
            raise ParameterError(
                "--certificate, --key and --to-others go with --host, an address that others can"
                " reach"
            )
        return Reach(port=port)
    if not to_others:
        raise ParameterError(
            f"at {host} others could open the workbench and see the data; say --to-others if that"
            " is meant, with --certificate and --key"
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
