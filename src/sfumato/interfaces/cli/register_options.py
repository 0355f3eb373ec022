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
    from sfumato.release.registered_release import Remembering

Person = Annotated[
    str | None,
    CommandOption("columns that tell people apart, with commas; else direct identifiers"),
]


@dataclass(frozen=True)
class TableRegisterOptions:
    """The register that a published table is written down in."""

    panel: ClassVar[str] = "Register of releases"
    register: Annotated[
        Path | None, CommandOption("look first at what all releases tell together; add this")
    ] = None
    to: Annotated[str | None, CommandOption("who receives it", ("--to",))] = None
    register_key: Annotated[
        Path | None, CommandOption("the key file, if not beside the register")
    ] = None


@dataclass(frozen=True)
class RegisterOptions(TableRegisterOptions):
    """The register that a release of records is written down in."""

    person: Person = None


def tell_remembered(remembered: Remembering, *, json: bool, quiet: bool) -> None:
    """Say what this release tells together with the earlier ones."""
    found = remembered.found
    if found is None:
        return
    if not json:
        mark = "[yellow]![/]" if found.alone or found.unknown else "[green]✓[/]"
        for sentence in found.sentences:
            out().print(f"{mark} {escape(sentence)}", soft_wrap=True)
    tell(
        f"kept   release {remembered.number} of the register, to {escape(remembered.to)}",
        quiet=quiet,
    )


def memory_of(named: RegisterOptions, output: str) -> Remembering:
    """The register of a run, open and checked; options that go without one are refused."""
    from sfumato.release.registered_release import Remembering, remember

    if named.register is None:
        if named.to or named.person or named.register_key:
            raise ParameterError("--to, --person and --register-key go with --register")
        return Remembering()
    if named.to and output == "-":
        raise ParameterError(
            "--register goes with a folder (-o out/), which holds the certificate it writes down"
        )
    return remember(
        named.register, to=named.to or "", person=named.person or "", key=named.register_key
    )
