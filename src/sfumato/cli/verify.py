"""``sfumato verify``: recompute a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.cli.options import Json, Population, Quiet, read_beside, read_data, reading
from sfumato.cli.talk import give_json, out, progress
from sfumato.core.source import NOTHING_SAID, Intake


@reading
def verify(
    folder: Annotated[Path, typer.Argument(help="the shared folder, the one with certificate.json")],
    original: Annotated[str | None, typer.Option(help="the original table, to check what needs it")] = None,
    owner: Annotated[Path | None, typer.Option(help="the owner's folder; found beside 'share' when not given")] = None,
    key: Annotated[Path | None, typer.Option(help="public key (PEM) of whom you trust to sign")] = None,
    population: Population = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Recompute what a certificate claims: which claims hold, which fail, which need the original.

    Exit code 1 when a claim fails, or when no promise could be checked because all need the original. Nothing has to be
    believed: every number is computed again from the file.
    """
    from sfumato.release.replay import locked_recipe
    from sfumato.verbs import verify as recompute

    beside = folder.resolve().parent / "owner"
    kept = owner or (beside if original and beside.is_dir() else None)
    with progress("verifying", quiet=quiet):
        table = original and read_data(original, quiet=True, intake=intake, recipe=locked_recipe(kept))
        found = recompute(folder, original=table, population=read_beside(population), owner=kept, trusted_key=key)
    if json:
        give_json(found.to_dict())
    else:
        marks = {"holds": "[green]✓[/]", "fails": "[red]✗[/]", "needs original": "[yellow]?[/]"}
        for claim in found.claims:
            out().print(f"{marks[claim.status]} [bold]{escape(claim.name)}[/]: {escape(claim.detail)}", soft_wrap=True)
    if not found.holds:
        raise typer.Exit(1)
