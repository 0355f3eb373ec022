"""``sfumato evaluate``: what a release is still worth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import bar, give_json, out, progress
from sfumato.interfaces.cli.foreign_releases import Align, Control, foreign_file
from sfumato.interfaces.cli.options import Json, People, Quiet, open_data, reading, refuse_people, shape_in

if TYPE_CHECKING:
    from sfumato.release.evaluation import Evaluation


@reading
def evaluate(
    folder: Annotated[
        Path, typer.Argument(help="the folder that run wrote, with share and owner; or a table made elsewhere")
    ],
    original: Annotated[str, typer.Option(help="the original table")],
    metric: Annotated[
        list[str] | None,
        typer.Option(help="a metric by name, with parameters as in a recipe: 'c_avg: {k: 5}'; repeat it"),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", "-r", help="for a table made elsewhere: a recipe that says what columns are"),
    ] = None,
    align: Align = None,
    control: Control = None,
    people: People = None,
    keep: Annotated[bool, typer.Option(help="add the values to the certificate and the reports")] = False,
    sign: Annotated[Path | None, typer.Option(help="private key (PEM), for a certificate that is signed")] = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Measure a release beside its original: loss, moments, tables, queries, models; by default everything that applies.

    A table made elsewhere needs a recipe with the roles (-r) and --align.
    """
    from sfumato.interfaces.api import evaluate as measure
    from sfumato.interfaces.cli import shaped
    from sfumato.release.folder import read_release

    wanted = None if metric is None else [_spec(text) for text in metric]
    if folder.is_file() and (keep or sign is not None):
        raise ParameterError("--keep and --sign are about a folder that run wrote; leave them out here")
    if not folder.is_file() and recipe is not None:
        raise ParameterError("-r is about a table made elsewhere; a folder that run wrote has its recipe")
    foreign = foreign_file(folder, recipe, align, control, intake)
    if shape_in(folder) is not None:
        kept: dict[str, Any] = {"keep": keep, "sign": sign, "show_evaluation": show, "json": json, "quiet": quiet}
        shaped.evaluate(folder, original, people=people, said=intake, metrics=wanted, **kept)
        return
    refuse_people(people)
    written: Any = foreign or read_release(folder)
    dataset = open_data(original, quiet=quiet, intake=intake, recipe=written.recipe)
    with progress("measuring", quiet=quiet):
        evaluation = measure(written.beside(dataset), metrics=wanted)
    if keep:
        values = _kept(written.certificate.get("utility", {}), evaluation, wanted or [])
        written.add("utility", values, sign=sign)
    if json:
        give_json(evaluation.to_dict())
    else:
        show(evaluation)


def _kept(known: Mapping[str, Any], evaluation: Evaluation, wanted: list[Any]) -> dict[str, Any]:
    """What a certificate says of utility from now on: a name stands for the measure without parameters, where there is one."""
    asked = {name for spec in wanted if isinstance(spec, Mapping) for name in spec}
    return {**known, **{m.name: m.value for m in evaluation.measures if m.name not in known or m.name not in asked}}


def _spec(text: str) -> Any:
    from sfumato.core.yaml_text import read_yaml

    return read_yaml(text, "--metric")


def show(found: Evaluation) -> None:
    """Print an evaluation for people."""
    console = out()
    console.print(f"[bold]{escape(found.name)}[/]: {found.told_records}\n", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for column in ("measure", "value", "", "meaning"):
        table.add_column(column, overflow="fold")
    for measure in found.measures:
        best = "1" if measure.better == "higher" else "0"
        table.add_row(
            measure.name.replace("_", " "),
            f"{measure.value:.4f}",
            f"{bar(measure.value, 8)} [dim]{best} is best[/]",
            f"[dim]{escape(measure.meaning)}[/]",
        )
    console.print(table)
    for names, reason in found.told_skipped:
        console.print(f"[dim]not measured: {names}: {escape(reason)}[/]", soft_wrap=True)
