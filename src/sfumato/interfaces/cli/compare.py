"""``sfumato compare``: several candidate releases on one map of risk and utility."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.core.options import Option
from sfumato.core.parameters import known_as
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, progress, show_blocks, tell
from sfumato.interfaces.cli.options import Data, Json, Quiet, ReadOptions, read_data

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe


@command()
def compare(
    data: Data,
    candidates: Annotated[
        list[Path], typer.Argument(help="recipes; {vary: [3, 5, 10]} in one tries values in turn")
    ],
    output: Annotated[
        Path | None,
        Option(
            "folder for JSON, CSV, HTML and the map; finished ones are kept", ("--output", "-o")
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        Option(
            "try values in turn: k_anonymity.k=3,5,10, or k=3,5,10 where one has a k; repeat it"
        ),
    ] = None,
    risk: Annotated[str | None, Option("the risk or attack of the map")] = None,
    utility: Annotated[str | None, Option("the utility of the map")] = None,
    attack: Annotated[
        list[str] | None,
        Option(
            "an attack to try, with parameters as in a recipe: 'suda: {most: 2}'; repeat it, or"
            " 'all'"
        ),
    ] = None,
    seconds: Annotated[
        float, Option("budget of the attacks on each candidate, in seconds of computing")
    ] = 20.0,
    sample: Annotated[int, Option("records the intruders look for")] = 2000,
    workers: Annotated[int | None, Option("processes; all cores when not given", minimum=1)] = None,
    seed: Annotated[str | None, Option("hexadecimal seed, to repeat a comparison")] = None,
    force: Annotated[bool, Option("replace an earlier comparison", ("--force",))] = False,
    pictures: Annotated[
        bool,
        Option(
            "write the maps of all other risks and utilities as PNG files too; goes with -o",
            ("--pictures",),
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    reading: ReadOptions,
) -> None:
    """Run candidates alike, attack and measure them alike, and show which of them no other one
    beats.

    An interrupted comparison with the same output folder and seed goes on where it stopped.
    """
    from sfumato.interfaces.api import compare as run

    if pictures and output is None:
        raise ParameterError("--pictures are written to a folder; say which with --output (-o)")
    if output is not None and (output / "comparison.json").exists() and not force:
        raise OutputError(f"{output} already holds a comparison; give --force to write it anew")
    dataset = read_data(data, quiet=quiet, intake=reading.intake, recipe=_first(candidates))
    attacks = (
        ["linkage"]
        if not attack
        else None
        if "all" in attack
        else [_attack_label(text) for text in attack]
    )
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
        show_blocks(comparison.blocks())
    if output is not None:
        tell(f"map and table in {output / 'comparison.html'}", quiet=quiet)


def _first(candidates: list[Path]) -> Recipe | None:
    """The recipe that says how the table is read: candidates are compared on one table, so they
    must agree on it.
    """
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
