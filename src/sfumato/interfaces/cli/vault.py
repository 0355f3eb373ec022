"""``sfumato vault``: the way back from pseudonyms."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import documents_to_stdout, give_json, out, tell
from sfumato.interfaces.cli.options import Json, Quiet, ShowOptions

VaultFile = Annotated[Path, typer.Argument(help="the vault")]


@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    """Where the key of the vault is."""

    key_file: Annotated[Path | None, CommandOption("file with the vault's key")] = None
    key_env: Annotated[
        str | None, CommandOption("environment variable with the vault's key", ("--key-env",))
    ] = None

    @property
    def reference(self) -> dict[str, str]:
        """The same as vaults take it."""
        return _key_reference(self.key_file, self.key_env, "--key-file or --key-env")


@dataclass(frozen=True, kw_only=True)
class NewKeyOptions:
    """Where the new key of the vault is."""

    new_key_file: Annotated[Path | None, CommandOption("file with the new key")] = None
    new_key_env: Annotated[str | None, CommandOption("environment variable with the new key")] = (
        None
    )


def _key_reference(file: Path | None, variable: str | None, options: str) -> dict[str, str]:
    # Exactly one of the two: none or both make the comparison true.
    if (file is None) == (variable is None):
        raise ParameterError(f"say where the key is with one of {options}")
    if variable is not None:
        # Only where a key is goes on from here; the vault reads it.
        return {"env": variable}
    return {"file": str(file)}


@command()
def list_domains(vault: VaultFile, json: Json = False, *, key: KeyOptions) -> None:
    """What a vault holds: its domains and how many pseudonyms each has, and who looked into it."""
    from sfumato.methods.steps.pseudonyms.vault import read_log, summary

    domains = summary(vault, key=key.reference)
    log = read_log(vault)
    if json:
        give_json({"domains": [*map(asdict, domains)], "log": [*map(asdict, log)]})
        return
    for domain in domains:
        out().print(
            f"[bold]{escape(repr(domain.domain))}[/]: {domain.pseudonyms:,} pseudonyms,"
            f" {domain.method}",
            soft_wrap=True,
        )
    for entry in log:
        line = (
            f"{entry.when} {entry.who}: {entry.act}, {entry.found:,} of {entry.asked:,} found:"
            f" {entry.reason}"
        )
        out().print(f"[dim]{escape(line)}[/]", soft_wrap=True)


@command("sfumato.methods.steps.pseudonyms.vault:reidentify")
def reidentify(
    vault: VaultFile,
    pseudonyms: Annotated[
        list[str], typer.Argument(help="the pseudonyms; '-' reads them from stdin, one per line")
    ],
    *,
    request: Keywords,
    key: KeyOptions,
    output: ShowOptions,
) -> None:
    """Name the people behind pseudonyms. Who asked, when, why and for how many is logged first.

    Exit code 1 when the vault does not know all of them.
    """
    from sfumato.methods.steps.pseudonyms.vault import reidentify as look_up

    if pseudonyms == ["-"]:
        # Cut at line feeds only: splitlines would cut at further signs, which a pseudonym may hold.
        pseudonyms = sys.stdin.read().split("\n")
    pseudonyms = [pseudonym for pseudonym in pseudonyms if pseudonym]
    people = look_up(vault, pseudonyms, key=key.reference, **request)
    if output.json:
        give_json(people)
    else:
        _print_lines(people)
    unknown = sum(values is None for values in people.values())
    tell(f"{len(people) - unknown:,} of {len(people):,} found; this was logged", quiet=output.quiet)
    if unknown:
        raise typer.Exit(1)


def _print_lines(people: Mapping[str, tuple[str | None, ...] | None]) -> None:
    """One CSV line a pseudonym, without those that are unknown."""
    lines = csv.writer(documents_to_stdout(), lineterminator="\n")
    for pseudonym, values in people.items():
        if values is not None:
            lines.writerow([pseudonym, *(value or "" for value in values)])


@command("sfumato.methods.steps.pseudonyms.vault:rotate")
def rotate(
    vault: VaultFile,
    quiet: Quiet = False,
    *,
    key: KeyOptions,
    new: NewKeyOptions,
    log: Keywords,
) -> None:
    """Seal a vault with a new key; everyone keeps the pseudonym."""
    from sfumato.methods.steps.pseudonyms.vault import rotate as seal_again

    new_key = _key_reference(new.new_key_file, new.new_key_env, "--new-key-file or --new-key-env")
    count = seal_again(vault, key.reference, new_key, **log)
    tell(
        f"{count:,} pseudonyms are sealed with the new key; the old key still opens old copies of"
        " the vault",
        quiet=quiet,
    )
