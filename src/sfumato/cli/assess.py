"""``sfumato assess``: what an intruder can do with a table today."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import Data, Decimal, Delimiter, Encoding, Json, Quiet, read_data

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.assessment import Assessment
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model


def assess(
    data: Data,
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r", help="the recipe (YAML)")] = None,
    quasi: Annotated[list[str] | None, typer.Option(help="a quasi-identifier, instead of a recipe; repeat it")] = None,
    threshold: Annotated[
        float, typer.Option(help="risk above which a record counts as at risk", min=0.0001, max=1)
    ] = 0.2,
    json: Json = False,
    quiet: Quiet = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Say what an intruder can do with a table as it is: uniques, k, risks, and the columns that cause them."""
    from sfumato.cli.talk import give_json, progress
    from sfumato.verbs import assess as look

    dataset = read_data(data, quiet=quiet, delimiter=delimiter, encoding=encoding, decimal=decimal)
    described, models = _described(dataset, recipe, quasi or [])
    with progress("counting", quiet=quiet):
        found = look(described, models, threshold=threshold)
    if json:
        give_json(found.to_dict())
    else:
        show(found, threshold)


def _described(dataset: Dataset, recipe: Path | None, quasi: list[str]) -> tuple[Dataset, tuple[Model, ...]]:
    from sfumato.errors import ParameterError
    from sfumato.verbs import with_recipe

    if recipe is not None and quasi:
        raise ParameterError("give either a recipe (-r) or quasi-identifiers (--quasi), not both")
    if recipe is not None:
        described, made = with_recipe(dataset, recipe)
        return described, made.meet
    if not quasi:
        raise ParameterError(
            "say what an intruder knows: a recipe (-r visits.yaml) or columns (--quasi age --quasi zip)"
        )
    dataset.require(quasi)
    rest = [c for c in dataset.columns if c not in quasi]
    return dataset.with_roles(quasi=quasi, plain=rest), ()


def show(found: Assessment, threshold: float) -> None:
    """Print an assessment for people."""
    from rich.markup import escape

    from sfumato.cli.talk import out, share

    console = out()
    who = f", {found.persons:,} persons" if found.persons is not None else ""
    console.print(
        f"[bold]{escape(found.name)}[/]: {found.records:,} records{who} in {found.classes:,} classes", soft_wrap=True
    )
    alone = f"{found.unique_records:,} records ({share(found.measure('unique_records'))})"
    console.print(
        f"Smallest class (k): [bold]{found.smallest_class}[/]. Unique: [bold]{alone}[/]. Missing values: {found.missing_rule}.\n"
    )
    console.print(_risks(found))
    if any(found.contributions.values()):
        console.print("\nHow much each column does to make records unique:")
        console.print(_contributions(found))
    if found.exposing_sets:
        size = len(found.exposing_sets[0].columns)
        console.print(f"\nSmallest sets of columns that single people out ({size} column{'s' if size > 1 else ''}):")
        for exposure in found.exposing_sets:
            console.print(
                f"  {escape(' + '.join(exposure.columns))}: {exposure.unique_records:,} record{'s' * (exposure.unique_records > 1)}",
                soft_wrap=True,
            )
    for verdict in found.verdicts:
        mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
        console.print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)


def _risks(found: Assessment) -> Table:
    from rich.table import Table

    from sfumato.cli.talk import bar, share

    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for measure in found.measures:
        table.add_row(
            measure.name.replace("_", " "),
            f"{bar(measure.value, 12)} {share(measure.value):>6}",
            f"[dim]{measure.meaning}[/]",
        )
    return table


def _contributions(found: Assessment) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from sfumato.cli.talk import bar, share

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column()
    for name, fall in list(found.contributions.items())[:8]:
        table.add_row(escape(name), f"{bar(fall, 12)} {share(fall):>6}")
    return table
