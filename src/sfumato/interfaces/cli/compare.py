"""``sfumato compare``: several candidate releases on one map of risk and utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.core.options import CommandOption
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import present, progress, tell
from sfumato.interfaces.cli.options import (
    Data,
    ReadOptions,
    SampleOptions,
    ShowOptions,
    read_sample,
)

if TYPE_CHECKING:
    from sfumato.interfaces.compare_options import CompareOptions


@dataclass(frozen=True, kw_only=True)
class CompareFiles(ShowOptions):
    """Where the comparison is written, and what its map shows."""

    output: Annotated[
        Path | None,
        CommandOption(
            "folder for JSON, CSV, HTML and the map; finished candidates are kept",
            ("--output", "-o"),
        ),
    ] = None
    risk: Annotated[str | None, CommandOption("the risk or attack of the map")] = None
    utility: Annotated[str | None, CommandOption("the utility of the map")] = None
    force: Annotated[bool, CommandOption("replace an earlier comparison", ("--force",))] = False
    pictures: Annotated[
        bool,
        CommandOption(
            "write the map, and those of all other risks and utilities, as PNG files; needs -o",
            ("--pictures",),
        ),
    ] = False


@command("sfumato.interfaces.api:compare")
def compare(
    data: Data,
    candidates: Annotated[
        list[Path],
        typer.Argument(help="recipes; {vary: [3, 5, 10]} in a recipe tries values in turn"),
    ],
    *,
    files: CompareFiles,
    keywords: Keywords,
    source: SampleOptions,
    reading: ReadOptions,
) -> None:
    """Run, attack and measure several candidates in the same way, and show which of them no other
    one beats.

    An interrupted comparison with the same output folder and seed goes on where it stopped.
    """
    from sfumato.core.chart_drawing import require_png
    from sfumato.core.parameters import known_as
    from sfumato.guidance.comparison import candidates_from
    from sfumato.interfaces import api

    output = files.output
    if files.pictures and output is None:
        raise ParameterError("--pictures are written to a folder; say which with --output (-o)")
    if files.pictures:
        require_png()
    if output is not None and (output / "comparison.json").exists() and not files.force:
        raise OutputError(f"{output} already holds a comparison; give --force to replace it")
    # Candidates are compared on one table, so that they must agree on how it is read.
    recipe = candidates_from(candidates, ())[0].recipe
    dataset = read_sample(data, source, quiet=files.quiet, intake=reading.intake, recipe=recipe)
    risk = None if files.risk is None else known_as(files.risk)
    options: CompareOptions = keywords.pop("options")
    with progress("comparing", quiet=files.quiet) as on_progress:
        comparison = api.compare(
            dataset,
            candidates,
            # A fixed seed unless one is given: finished candidates are only found again under the
            # same.
            **{"seed": 0, **keywords},
            options=replace(options, attacks=_attacks(options.attacks, risk)),
            remember=output,
            progress=on_progress,
        )
    comparison = comparison.with_axes(risk=risk, utility=files.utility)
    if output is not None:
        comparison.write(output, force=files.force, pictures=files.pictures)
    present(comparison, json=files.json)
    if output is not None:
        tell(f"map and table in {output / 'comparison.html'}", quiet=files.quiet)


def _attacks(texts: str | Sequence[str] | None, risk: str | None) -> list[str] | None:
    """The attacks that are tried, called as their findings are: those that were named and the one
    of the map; None: all.
    """
    from sfumato.core import registry
    from sfumato.core.parameters import label_of, values_of

    if texts is None or "all" in texts:
        return None
    labels = []
    for text in texts:
        attack = registry.asked_attack(text)
        labels.append(label_of(attack.name, values_of(attack)))
    # The map needs the risk it shows, so that attack is tried without being named.
    if risk is not None and risk not in labels and risk in registry.attacks():
        labels.append(risk)
    return labels
