"""``sfumato register``: what was released, of what, to whom, and what all releases tell
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.core.source import Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, notes, out, tell
from sfumato.interfaces.cli.options import (
    Json,
    Quiet,
    ReadOptions,
    ShowOptions,
    names_in,
    open_data,
)
from sfumato.interfaces.cli.register_options import Person, show_disclosure

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.release.folder import Folder as ReleaseFolder
    from sfumato.release.register.joint_disclosure import Together
    from sfumato.release.register.memory import Newcomer
    from sfumato.release.register.store import Register

RegisterFile = Annotated[Path, typer.Argument(help="the register, for example releases.db")]
Folder = Annotated[Path, typer.Argument(help="the folder that run wrote, with share and owner")]
START = "sfumato.release.register.store:start_register"
OPEN = "sfumato.release.register.store:open_register"


@command(START)
def start(register: RegisterFile, quiet: Quiet = False, *, secret: Keywords) -> None:
    """Make a new register and its key, both for you alone."""
    from sfumato.release.register.store import key_file, start_register

    # Starting makes the files; nothing is entered yet.
    with start_register(register, **secret):
        pass
    key = secret.get("key", key_file(register))
    tell(
        f"keep {escape(str(key))} apart from the register if others can read your folders, and"
        " keep a copy",
        quiet=quiet,
    )
    notes(cannot_promise("modes"), quiet=quiet)


@command(OPEN)
def show(register: RegisterFile, json: Json = False, *, secret: Keywords) -> None:
    """The releases of a register; every row of it is checked."""
    from sfumato.release.register.store import open_register

    with open_register(register, **secret) as opened:
        entries = opened.entries
    if json:
        give_json({"releases": [entry.to_dict() for entry in entries]})
        return
    if not entries:
        out().print(
            "nothing is registered yet; use sfumato run … --register, or sfumato register add"
        )
        return
    table = Table(box=None, pad_edge=False)
    for head in ("no.", "when", "to", "of", "people", "k", "ε", "state"):
        is_number = head in ("no.", "people", "k", "ε")
        table.add_column(head, justify="right" if is_number else "left", overflow="fold")
    for entry in entries:
        cells = (
            entry.number,
            entry.created[:10],
            entry.recipient,
            entry.source,
            f"{entry.people:,}",
            entry.k or "–",
            "–" if entry.epsilon is None else f"{entry.epsilon:g}",
            entry.state,
        )
        table.add_row(*(escape(str(cell)) for cell in cells))
    out().print(table)


@dataclass(frozen=True, kw_only=True)
class OriginalFiles(ShowOptions):
    """What a release was made from."""

    original: Annotated[str, CommandOption("the original table")]
    person: Person = None


@command(OPEN)
def check(
    register: RegisterFile,
    folder: Folder,
    *,
    files: OriginalFiles,
    secret: Keywords,
    reading: ReadOptions,
) -> None:
    """Say what a written release tells together with all that are registered; exit code 1 when it
    singles people out.
    """
    from sfumato.release.register.store import open_register

    with open_register(register, **secret) as opened:
        release, _, candidate = _read_candidate(opened, folder, files, reading.intake)
        # A release is known by its certificate, wherever its folder lies.
        digest = release.certificate["digest"]
        # A release that is registered already must not be compared with itself.
        own = [entry.number for entry in opened.standing if entry.certificate == digest]
        disclosure = candidate.together(besides=own)
    _show(disclosure, json=files.json)
    # What could not be computed counts as a finding: nobody may take it for safe.
    if disclosure.alone or disclosure.unknown:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class RecipientOptions:
    """Who received a release."""

    to: Annotated[str, CommandOption("who receives it", ("--to",))]
    note: Annotated[str, CommandOption("a note about the release")] = ""


@command(OPEN)
def add(
    register: RegisterFile,
    folder: Folder,
    *,
    files: OriginalFiles,
    recipient: RecipientOptions,
    secret: Keywords,
    reading: ReadOptions,
) -> None:
    """Register a release that was made before; nothing is refused, for it is out already."""
    from sfumato.release.register.store import open_register

    with open_register(register, **secret) as opened:
        release, pair, candidate = _read_candidate(opened, folder, files, reading.intake)
        certificate = release.certificate
        # One at a time: nobody may register the same release between the check and the entry.
        with opened.turn():
            if any(entry.certificate == certificate["digest"] for entry in opened.standing):
                raise ParameterError(f"{folder} is registered already")
            disclosure = candidate.together()
            entry = candidate.entry(
                recipient=recipient.to,
                folder=folder,
                certificate=certificate["digest"],
                digest=pair.original.input_digest(),
                k=certificate.get("classes", {}).get("smallest"),
                note=recipient.note,
            )
            # Planned first, then released: the same two states as a run leaves on record.
            number = opened.plan(entry, candidate.people)
            opened.now_is(number, "released")
    _show(disclosure, json=files.json)
    tell(f"registered as release {number}", quiet=files.quiet)


@command(OPEN)
def withdraw(
    register: RegisterFile,
    number: Annotated[int, typer.Argument(help="the release, by its number in the list")],
    quiet: Quiet = False,
    *,
    secret: Keywords,
) -> None:
    """Say that a release was never handed out, or a run that died never wrote it: it counts no
    more. This stays on record.
    """
    from sfumato.release.register.store import open_register

    with open_register(register, **secret) as opened, opened.turn():
        opened.now_is(number, "withdrawn")
    tell(
        f"release {number} no longer counts; but recipients cannot forget what they have seen",
        quiet=quiet,
    )


def _show(disclosure: Together, *, json: bool) -> None:
    if json:
        give_json(disclosure.to_dict())
    else:
        show_disclosure(disclosure)


def _read_candidate(
    register: Register, folder: Path, files: OriginalFiles, intake: Intake
) -> tuple[ReleaseFolder, TablePair, Newcomer]:
    """A written release, the same beside its original, and its people as a register knows them."""
    from sfumato.release.folder import read_table_release
    from sfumato.release.register.memory import Newcomer

    release = read_table_release(folder)
    table = open_data(files.original, quiet=files.quiet, intake=intake, recipe=release.recipe)
    pair = release.beside(table)
    candidate = Newcomer.of(
        register,
        pair,
        person=names_in(files.person),
        private=release.certificate.get("differential_privacy"),
    )
    return release, pair, candidate
