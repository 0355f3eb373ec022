"""``sfumato register``: what was released, of what, to whom, and what all releases tell
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.core.source import Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, notes, out, tell
from sfumato.interfaces.cli.options import Json, Quiet, ReadOptions, ShowOptions, open_data
from sfumato.interfaces.cli.register_options import Person

if TYPE_CHECKING:
    from sfumato.release.register.joint_disclosure import Together
    from sfumato.release.register.memory import Newcomer
    from sfumato.release.register.store import Register

RegisterFile = Annotated[Path, typer.Argument(help="the register, for example releases.db")]
KeyFile = Annotated[
    Path | None, CommandOption("file with its key, when it is not beside it", ("--key",))
]
Folder = Annotated[Path, typer.Argument(help="the folder that run wrote, with share and owner")]
Original = Annotated[str, CommandOption("the original table")]


def build() -> typer.Typer:
    """The group of commands."""
    group = typer.Typer(
        no_args_is_help=True,
        help=(
            "What was released, of what, to whom, and what all of it tells together: start, list,"
            " check, add, withdraw."
        ),
    )
    commands = (
        ("start", start),
        ("list", show),
        ("check", check),
        ("add", add),
        ("withdraw", withdraw),
    )
    for name, function in commands:
        group.command(name)(function)
    return group


@command()
def start(register: RegisterFile, key: KeyFile = None, quiet: Quiet = False) -> None:
    """Make a new register and its key, both for you alone."""
    from sfumato.release.register.store import key_file, start_register

    with start_register(register, key=key):
        pass
    kept = key or key_file(register)
    tell(
        f"keep {escape(str(kept))} apart from the register if others can read your folders, and"
        " keep a copy",
        quiet=quiet,
    )
    notes(cannot_promise("modes"), quiet=quiet)


@command()
def show(register: RegisterFile, key: KeyFile = None, json: Json = False) -> None:
    """The releases of a register; every row of it is checked."""
    from sfumato.release.register.store import open_register

    with open_register(register, key=key) as held:
        entries = held.entries
    if json:
        give_json({"releases": [entry.to_dict() for entry in entries]})
        return
    if not entries:
        out().print("nothing is registered yet: sfumato run … --register, or sfumato register add")
        return
    table = Table(box=None, pad_edge=False)
    for head in ("no.", "when", "to", "of", "people", "k", "ε", "state"):
        table.add_column(
            head,
            justify="right" if head in ("no.", "people", "k", "ε") else "left",
            overflow="fold",
        )
    for entry in entries:
        epsilon = "–" if entry.epsilon is None else f"{entry.epsilon:g}"
        told = (
            entry.number,
            entry.created[:10],
            entry.recipient,
            entry.source,
            f"{entry.people:,}",
            entry.k or "–",
            epsilon,
            entry.state,
        )
        table.add_row(*(escape(str(cell)) for cell in told))
    out().print(table)


@dataclass(frozen=True, kw_only=True)
class RegisterCheck(ShowOptions):
    """What a release is compared with."""

    original: Original
    person: Person = None
    key: KeyFile = None


@command()
def check(
    register: RegisterFile,
    folder: Folder,
    *,
    files: RegisterCheck,
    reading: ReadOptions,
) -> None:
    """Say what a written release tells together with all that are registered; exit code 1 when it
    singles people out.
    """
    from sfumato.release.register.store import open_register

    with open_register(register, key=files.key) as held:
        candidate, certificate, _ = _candidate(
            held, folder, files.original, files.person, reading.intake, quiet=files.quiet
        )
        own = [
            entry.number for entry in held.standing if entry.certificate == certificate["digest"]
        ]
        found = candidate.together(besides=own)
    tell_together(found, json=files.json)
    if found.alone or found.unknown:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class RegisterAdd(ShowOptions):
    """What is written down of a release."""

    original: Original
    to: Annotated[str, CommandOption("who receives it", ("--to",))]
    person: Person = None
    note: Annotated[str, CommandOption("a word to go with it")] = ""
    key: KeyFile = None


@command()
def add(
    register: RegisterFile,
    folder: Folder,
    *,
    files: RegisterAdd,
    reading: ReadOptions,
) -> None:
    """Register a release that was made before; nothing is refused, for it is out already."""
    from sfumato.release.register.store import open_register

    with open_register(register, key=files.key) as held:
        candidate, certificate, digest = _candidate(
            held, folder, files.original, files.person, reading.intake, quiet=files.quiet
        )
        with held.turn():
            if any(entry.certificate == certificate["digest"] for entry in held.standing):
                raise ParameterError(f"{folder} is registered already")
            found = candidate.together()
            smallest = certificate.get("classes", {}).get("smallest")
            told = {
                "certificate": certificate["digest"],
                "digest": digest,
                "k": smallest,
                "note": files.note,
            }
            number = held.plan(
                candidate.entry(recipient=files.to, folder=folder, **told), candidate.people
            )
            held.now_is(number, "released")
    tell_together(found, json=files.json)
    tell(f"registered as release {number}", quiet=files.quiet)


@command()
def withdraw(
    register: RegisterFile,
    number: Annotated[int, typer.Argument(help="the release, by its number in the list")],
    key: KeyFile = None,
    quiet: Quiet = False,
) -> None:
    """Say that a release was never handed out, or a run that died never wrote it: it counts no
    more. This stays on record.
    """
    from sfumato.release.register.store import open_register

    with open_register(register, key=key) as held, held.turn():
        held.now_is(number, "withdrawn")
    tell(
        f"release {number} counts no more; what somebody has seen cannot be withdrawn", quiet=quiet
    )


def tell_together(found: Together, *, json: bool) -> None:
    """Print what releases tell together."""
    if json:
        give_json(found.to_dict())
        return
    for sentence in found.sentences:
        mark = "[yellow]![/]" if found.alone or found.unknown else "[green]✓[/]"
        out().print(f"{mark} {escape(sentence)}", soft_wrap=True)


def _candidate(
    register: Register,
    folder: Path,
    original: str,
    person: str | None,
    intake: Intake,
    *,
    quiet: bool,
) -> tuple[Newcomer, dict[str, Any], str]:
    """A written release beside its original, its certificate, and the digest of the original."""
    from sfumato.release.folder import read_table_release
    from sfumato.release.register.memory import Newcomer

    written = read_table_release(folder)
    table = open_data(original, quiet=quiet, intake=intake, recipe=written.recipe)
    columns = [name.strip() for name in person.split(",")] if person else []
    pair, private = written.beside(table), written.certificate.get("differential_privacy")
    return (
        Newcomer.of(register, pair, person=columns, private=private),
        written.certificate,
        pair.original.input_digest(),
    )
