"""A run that asks a register first, and is written down in it: the options, and what is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import out, tell

if TYPE_CHECKING:
    from sfumato.release.register.joint_disclosure import Together
    from sfumato.release.registered_release import Remembering

Person = Annotated[
    str | None,
    CommandOption(
        "columns that identify people, separated by commas; by default direct identifiers"
    ),
]


@dataclass(frozen=True)
class TableRegisterOptions:
    """The register that a published table is written down in."""

    panel: ClassVar[str] = "Register of releases"
    register: Annotated[
        Path | None,
        CommandOption("check first what all releases reveal together, then add this one"),
    ] = None
    to: Annotated[str | None, CommandOption("who receives it", ("--to",))] = None
    register_key: Annotated[
        Path | None, CommandOption("the key file, if not beside the register")
    ] = None


@dataclass(frozen=True)
class RegisterOptions(TableRegisterOptions):
    """The register that a release of records is written down in."""

    person: Person = None


def show_disclosure(disclosure: Together) -> None:
    """Print what releases tell together."""
    mark = "[green]✓[/]"
    # Unknown is shown like a finding: nobody may take it for safe.
    if disclosure.alone or disclosure.unknown:
        mark = "[yellow]![/]"
    for sentence in disclosure.sentences:
        out().print(f"{mark} {escape(sentence)}", soft_wrap=True)


def tell_remembered(remembered: Remembering, *, json: bool, quiet: bool) -> None:
    """Say what this release tells together with the earlier ones."""
    if remembered.found is None:
        return
    if not json:
        show_disclosure(remembered.found)
    tell(
        f"kept   as release {remembered.number}, to {escape(remembered.to)}",
        quiet=quiet,
    )


def open_memory(options: RegisterOptions, output: str) -> Remembering:
    """The register of a run, open and checked; options that go without one are refused."""
    from sfumato.release.registered_release import Remembering, remember

    if options.register is None:
        if options.to or options.person or options.register_key:
            raise ParameterError("--to, --person and --register-key go with --register")
        return Remembering()
    # Without --to the register refuses further down, and says what it wants.
    if options.to and output == "-":
        raise ParameterError(
            "--register needs a folder (-o out/), which holds the certificate it records"
        )
    return remember(
        options.register,
        to=options.to or "",
        person=options.person or "",
        key=options.register_key,
    )
