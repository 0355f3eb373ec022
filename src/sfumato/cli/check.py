"""``sfumato check``: a gate for pipelines."""

from __future__ import annotations

import typer

from sfumato.cli.options import Data, Decimal, Delimiter, Encoding, Json, Quiet, RecipeFile, read_data


def check(
    data: Data,
    recipe: RecipeFile,
    json: Json = False,
    quiet: Quiet = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Judge a released table by a recipe; exit code 1 when a promise does not hold or a direct identifier is left."""
    from rich.markup import escape

    from sfumato.cli.talk import give_json, out, progress
    from sfumato.verbs import check as judge

    dataset = read_data(data, quiet=quiet, delimiter=delimiter, encoding=encoding, decimal=decimal)
    with progress("judging", quiet=quiet):
        verdicts = judge(dataset, recipe)
    if json:
        give_json({"holds": all(verdicts), "verdicts": [v.to_dict() for v in verdicts]})
    else:
        for verdict in verdicts:
            mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
            out().print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)
    if not all(verdicts):
        raise typer.Exit(1)
