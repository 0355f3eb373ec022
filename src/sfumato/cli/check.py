"""``sfumato check``: a gate for pipelines."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.cli.options import Data, Json, Population, Quiet, RecipeFile, read_beside, read_data, reading
from sfumato.cli.talk import give_json, out, progress, tell
from sfumato.core.evidence import needed
from sfumato.core.source import NOTHING_SAID, Intake


@reading
def check(
    data: Data,
    recipe: RecipeFile,
    original: Annotated[
        str | None, typer.Option(help="the table before anything was released of it, for promises that compare with it")
    ] = None,
    population: Population = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Judge a released table by a recipe; exit code 1 when a promise does not hold or a direct identifier is left."""
    from sfumato import recipe_files as recipes
    from sfumato.release.written import read_certified
    from sfumato.verbs import check as judge

    made = recipes.load(recipe)
    dataset = None if data == "-" or intake.said() else read_certified(Path(data))
    if dataset is None:
        as_said = dataclasses.replace(made, intake=made.intake.layout)
        dataset = read_data(data, quiet=quiet, intake=intake, recipe=as_said)
    else:
        tell("[dim]note: read as the certificate beside it says[/]", quiet=quiet)
    with progress("judging", quiet=quiet):
        before = None if original is None else read_data(original, quiet=True, recipe=made)
        verdicts = judge(dataset, made, original=before, population=read_beside(population))
    if before is None and needed(made.meet, made.schema).reference:
        tell("[dim]note: the released table stands for the original one; --original names that[/]", quiet=quiet)
    if json:
        give_json({"holds": all(verdicts), "verdicts": [v.to_dict() for v in verdicts]})
    else:
        for verdict in verdicts:
            mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
            out().print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)
    if not all(verdicts):
        raise typer.Exit(1)
