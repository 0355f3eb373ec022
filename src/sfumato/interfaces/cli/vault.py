"""``sfumato vault``: the way back from pseudonyms."""

from __future__ import annotations

import csv
import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import documents_to_stdout, give_json, out, tell
from sfumato.interfaces.cli.options import Json, Quiet, ShowOptions

VaultFile = Annotated[Path, typer.Argument(help="the vault")]
KeyFile = Annotated[Path | None, CommandOption("file with the vault's key")]
KeyVariable = Annotated[
    str | None, CommandOption("environment variable with the vault's key", ("--key-env",))
]


def build() -> typer.Typer:
    """The group of commands."""
    group = typer.Typer(
        no_args_is_help=True, help="The vault of pseudonyms: list, reidentify (logged), rotate."
    )
    for name, function in (
        ("list", list_domains),
        ("reidentify", reidentify),
        ("rotate", rotate),
    ):
        group.command(name)(function)
    return group


@command()
def list_domains(
    vault: VaultFile, key_file: KeyFile = None, key_env: KeyVariable = None, json: Json = False
) -> None:
    """What a vault holds: its domains and how many pseudonyms each has, and who looked into it."""
    from sfumato.methods.steps.pseudonyms.vault import read_log, summary

    domains = summary(vault, key=_reference(key_file, key_env))
    log = read_log(vault)
    if json:
        give_json(
            {
                "domains": [dataclasses.asdict(d) for d in domains],
                "log": [dataclasses.asdict(e) for e in log],
            }
        )
        return
    for one in domains:
        out().print(
            f"[bold]{escape(repr(one.domain))}[/]: {one.pseudonyms:,} pseudonyms, {one.method}",
            soft_wrap=True,
        )
    for act in log:
        line = (
            f"{act.when} {act.who}: {act.act}, {act.found:,} of {act.asked:,} found: {act.reason}"
        )
        out().print(f"[dim]{escape(line)}[/]", soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class ReidentifyOptions(ShowOptions):
    """Why people are named, and the key that opens the vault."""

    reason: Annotated[str, CommandOption("why; it is kept in the vault's log")]
    domain: Annotated[str, CommandOption("the domain of the pseudonyms")] = ""
    key_file: KeyFile = None
    key_env: KeyVariable = None


@command()
def reidentify(
    vault: VaultFile,
    pseudonyms: Annotated[
        list[str], typer.Argument(help="the pseudonyms; '-' reads them from stdin, one a line")
    ],
    *,
    options: ReidentifyOptions,
) -> None:
    """Name the people behind pseudonyms. Who asked, when, why and for how many is logged first.

    Exit code 1 when the vault does not know all of them.
    """
    from sfumato.methods.steps.pseudonyms.vault import reidentify as go_back

    if pseudonyms == ["-"]:
        pseudonyms = sys.stdin.read().split("\n")
    named = go_back(
        vault,
        [pseudonym for pseudonym in pseudonyms if pseudonym],
        key=_reference(options.key_file, options.key_env),
        reason=options.reason,
        domain=options.domain,
    )
    if options.json:
        give_json(
            {code: None if values is None else list(values) for code, values in named.items()}
        )
    else:
        _give_lines(named)
    unknown = sum(values is None for values in named.values())
    tell(f"{len(named) - unknown:,} of {len(named):,} found; this was logged", quiet=options.quiet)
    if unknown:
        raise typer.Exit(1)


def _give_lines(named: dict[str, Any]) -> None:
    """One CSV line a pseudonym, without those that are unknown."""
    lines = csv.writer(documents_to_stdout(), lineterminator="\n")
    lines.writerows(
        [code, *(value or "" for value in values)]
        for code, values in named.items()
        if values is not None
    )


@command()
def rotate(
    vault: VaultFile,
    key_file: KeyFile = None,
    key_env: KeyVariable = None,
    new_key_file: Annotated[Path | None, CommandOption("file with the new key")] = None,
    new_key_env: Annotated[
        str | None, CommandOption("environment variable with the new key")
    ] = None,
    reason: Annotated[str, CommandOption("why; it is kept in the vault's log")] = "rotation",
    quiet: Quiet = False,
) -> None:
    """Seal a vault with a new key; everyone keeps the pseudonym."""
    from sfumato.methods.steps.pseudonyms.vault import rotate as seal_anew

    new = _reference(new_key_file, new_key_env, "--new-key-file or --new-key-env")
    count = seal_anew(vault, _reference(key_file, key_env), new, reason=reason)
    tell(
        f"{count:,} pseudonyms are sealed with the new key; the old key still opens old copies of"
        " the vault",
        quiet=quiet,
    )


def _reference(
    file: Path | None, env: str | None, options: str = "--key-file or --key-env"
) -> dict[str, str]:
    if (file is None) == (env is None):
        raise ParameterError(f"say where the key is with one of {options}")
    return {"env": env} if env is not None else {"file": str(file)}
