"""A run that asks a register first, and is written down in it: the options, and what is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import out, tell

if TYPE_CHECKING:
    from sfumato.release.registered_release import Remembering

RegisterFile = Annotated[
    Path | None,
    typer.Option(
        help="a register of releases: what all of them tell together is looked at first, and this one is added"
    ),
]
RegisterKey = Annotated[Path | None, typer.Option(help="file with the key of the register, when it is not beside it")]
Person = Annotated[
    str | None,
    typer.Option(help="columns that tell people apart, with commas; else the person column or all direct identifiers"),
]


def tell_remembered(remembered: Remembering, *, json: bool, quiet: bool) -> None:
    """Say what this release tells together with the earlier ones."""
    found = remembered.found
    if found is None:
        return
    if not json:
        mark = "[yellow]![/]" if found.alone or found.unknown else "[green]✓[/]"
        for sentence in found.sentences:
            out().print(f"{mark} {escape(sentence)}", soft_wrap=True)
    tell(f"kept   release {remembered.number} of the register, to {escape(remembered.to)}", quiet=quiet)


def memory_of(register: Path | None, to: str | None, person: str | None, key: Path | None, output: str) -> Remembering:
    """The register of a run, open and checked; options that go without one are refused."""
    from sfumato.release.registered_release import Remembering, remember

    if register is None:
        if to or person or key:
            raise ParameterError("--to, --person and --register-key go with --register")
        return Remembering()
    if to and output == "-":
        raise ParameterError("--register goes with a folder (-o out/), which holds the certificate it writes down")
    return remember(register, to=to or "", person=person or "", key=key)
