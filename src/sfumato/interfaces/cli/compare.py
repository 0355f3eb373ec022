"""``sfumato compare``: several candidate releases on one map of risk and utility."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.parameters import known_as
from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces.cli.console import bar, give_json, out, progress, share, tell
from sfumato.interfaces.cli.options import Data, Json, Quiet, read_data, reading

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.guidance.comparison import CandidateOutcome, Comparison


@reading
def compare(
    data: Data,
    candidates: Annotated[list[Path], typer.Argument(help="recipes; {vary: [3, 5, 10]} in one tries values in turn")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="folder for JSON, CSV, HTML and the map; finished ones are kept"),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="try values in turn: k_anonymity.k=3,5,10, or k=3,5,10 where one has a k; repeat it"),
    ] = None,
    risk: Annotated[str | None, typer.Option(help="the risk or attack of the map")] = None,
    utility: Annotated[str | None, typer.Option(help="the utility of the map")] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="an attack to try, with parameters as in a recipe: 'suda: {most: 2}'; repeat it, or 'all'"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="budget of the attacks on each candidate, in seconds of computing")
    ] = 20.0,
    sample: Annotated[int, typer.Option(help="records the intruders look for")] = 2000,
    workers: Annotated[int | None, typer.Option(help="processes; all cores when not given", min=1)] = None,
    seed: Annotated[str | None, typer.Option(help="hexadecimal seed, to repeat a comparison")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier comparison")] = False,
    pictures: Annotated[
        bool,
        typer.Option(
            "--pictures", help="write the maps of all other risks and utilities as PNG files too; goes with -o"
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Run candidates alike, attack and measure them alike, and show which of them no other one beats.

    An interrupted comparison with the same output folder and seed goes on where it stopped.
    """
    from sfumato.interfaces.api import compare as run

    if pictures and output is None:
        raise ParameterError("--pictures are written to a folder; say which with --output (-o)")
    if output is not None and (output / "comparison.json").exists() and not force:
        raise OutputError(f"{output} already holds a comparison; give --force to write it anew")
    dataset = read_data(data, quiet=quiet, intake=intake, recipe=_first(candidates))
    attacks = ["linkage"] if not attack else None if "all" in attack else [_attack_label(text) for text in attack]
    risk = None if risk is None else known_as(risk)
    if risk is not None and attacks is not None and risk not in attacks and _is_attack(risk):
        attacks = [*attacks, risk]
    with progress("comparing", quiet=quiet) as on_progress:
        comparison = run(
            dataset,
            candidates,
            vary=vary or (),
            seed=seed if seed is not None else 0,
            attacks=attacks,
            seconds=seconds,
            sample=sample,
            workers=workers,
            remember=output,
            progress=on_progress,
        )
    comparison = comparison.with_axes(risk=risk, utility=utility)
    if output is not None:
        comparison.write(output, force=force, pictures=pictures)
    if json:
        give_json(comparison.to_dict())
    else:
        show(comparison)
    if output is not None:
        tell(f"map and table in {output / 'comparison.html'}", quiet=quiet)


def _first(candidates: list[Path]) -> Recipe | None:
    """The recipe that says how the table is read: candidates are compared on one table, so they must agree on it."""
    from sfumato.guidance.comparison import candidates_from

    return candidates_from(candidates, ())[0].recipe


def _attack_label(text: str) -> str:
    """The attack of a text, called as its findings are."""
    from sfumato.core import registry
    from sfumato.core.parameters import label_of, values_of

    attack = registry.asked_attack(text)
    return label_of(attack.name, values_of(attack))


def _is_attack(name: str) -> bool:
    from sfumato.core import registry

    return name in registry.attacks()


def _cells(found: Comparison, outcome: CandidateOutcome, on_front: bool) -> dict[str, str]:
    """A candidate in the table, by column."""
    risk, worth = outcome.risks.get(found.risk), outcome.utilities.get(found.utility)
    between = outcome.intervals.get(found.risk)
    return {
        "": "[green]●[/]" if on_front else "○",
        "candidate": escape(outcome.name),
        found.risk.replace("_", " "): "–" if risk is None else f"{bar(risk, 8)} {share(risk):>6}",
        "between": "" if between is None else f"[dim]{share(between[0])}–{share(between[1])}[/]",
        found.utility.replace("_", " "): "–" if worth is None else f"{worth:.4f}",
        "records": f"{outcome.records:,}",
        "promises": "[green]kept[/]"
        if outcome.holds and outcome.promises
        else ("none" if outcome.holds else "[red]broken[/]"),
    }


def show(found: Comparison) -> None:
    """Print a comparison for people: the front first, then the rest, as bars."""
    from sfumato.release.report.risk_utility import axis_told, front_told, risk_told

    front = {outcome.name for outcome in found.front}
    rows = [_cells(found, outcome, outcome.name in front) for outcome in found.outcomes]
    told = [name for name in rows[0] if name != "between" or any(row[name] for row in rows)]
    table = Table(box=None, pad_edge=False)
    for column in told:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(row[column] for column in told))
    console = out()
    console.print(table)
    plain = found.to_dict()
    console.print(f"\n● {escape(front_told(plain))}", soft_wrap=True)
    for axis in filter(None, (risk_told(plain), axis_told(plain))):
        console.print(f"[dim]{escape(axis)}[/]", soft_wrap=True)
    for outcome in found.outcomes:
        if outcome.reason:
            console.print(f"[dim]{escape(outcome.name)}: {escape(outcome.reason)}[/]", soft_wrap=True)
