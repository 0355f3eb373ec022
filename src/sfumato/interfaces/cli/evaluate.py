"""``sfumato evaluate``: what a release is still worth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.core.options import Option
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, progress, show_blocks
from sfumato.interfaces.cli.foreign_releases import ForeignOptions, foreign_file
from sfumato.interfaces.cli.options import (
    Json,
    People,
    Quiet,
    ReadOptions,
    open_data,
    require_options,
)

if TYPE_CHECKING:
    from sfumato.release.evaluation import Evaluation


@command()
def evaluate(
    folder: Annotated[
        Path,
        typer.Argument(
            help="the folder that run wrote, with share and owner; or a table made elsewhere"
        ),
    ],
    original: Annotated[str, Option("the original table")],
    metric: Annotated[
        list[str] | None,
        Option("a metric by name, with parameters as in a recipe: 'c_avg: {k: 5}'; repeat it"),
    ] = None,
    recipe: Annotated[
        Path | None,
        Option(
            "for a table made elsewhere: a recipe that says what columns are", ("--recipe", "-r")
        ),
    ] = None,
    people: People = None,
    keep: Annotated[bool, Option("add the values to the certificate and the reports")] = False,
    sign: Annotated[
        Path | None, Option("private key (PEM), for a certificate that is signed")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    *,
    elsewhere: ForeignOptions,
    reading: ReadOptions,
) -> None:
    """Measure a release beside its original: loss, moments, tables, queries, models; by default
    everything that applies.

    A table made elsewhere needs a recipe with the roles (-r) and --align.
    """
    from sfumato.interfaces.api import evaluate as measure
    from sfumato.release.folder import read_release

    wanted = None if metric is None else [_spec(text) for text in metric]
    if folder.is_file() and (keep or sign is not None):
        raise ParameterError(
            "--keep and --sign are about a folder that run wrote; leave them out here"
        )
    if not folder.is_file() and recipe is not None:
        raise ParameterError(
            "-r is about a table made elsewhere; a folder that run wrote has its recipe"
        )
    foreign = foreign_file(folder, recipe, elsewhere, reading.intake)
    written: Any = foreign or read_release(folder)
    require_options(written.recipe.shape, people=people)
    how_to_read = {"people": people, "format": written.made_for}
    dataset = open_data(
        original, quiet=quiet, intake=reading.intake, recipe=written.recipe, **how_to_read
    )
    with progress("measuring", quiet=quiet):
        evaluation = measure(written.beside(dataset), metrics=wanted)
    if keep:
        values = _kept(written.certificate.get("utility", {}), evaluation, wanted or [])
        written.add("utility", values, sign=sign)
    if json:
        give_json(evaluation.to_dict())
    else:
        show_blocks(evaluation.blocks())


def _kept(known: Mapping[str, Any], evaluation: Evaluation, wanted: list[Any]) -> dict[str, Any]:
    """What a certificate says of utility from now on: a name stands for the measure without
    parameters, where there is one.
    """
    asked = {name for spec in wanted if isinstance(spec, Mapping) for name in spec}
    return {
        **known,
        **{
            m.name: m.value
            for m in evaluation.measures
            if m.name not in known or m.name not in asked
        },
    }


def _spec(text: str) -> Any:
    from sfumato.core.yaml_text import read_yaml

    return read_yaml(text, "--metric")
