"""``sfumato evaluate``: what a release is still worth."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import present, progress, tell_next
from sfumato.interfaces.cli.foreign_releases import ForeignOptions, foreign_file
from sfumato.interfaces.cli.options import (
    People,
    ReadOptions,
    ReleaseFolder,
    ShowOptions,
    open_data,
    require_options,
)

if TYPE_CHECKING:
    from sfumato.release.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class EvaluateFiles(ShowOptions):
    """What the release is measured beside, and where the values go."""

    original: Annotated[str, CommandOption("the original table")]
    recipe: Annotated[
        Path | None,
        CommandOption(
            "for a table made elsewhere: a recipe that describes the columns", ("--recipe", "-r")
        ),
    ] = None
    people: People = None
    engine: Annotated[
        str | None,
        CommandOption("who reads the original, Parquet: memory, polars, duckdb, spark or auto"),
    ] = None
    certify: Annotated[
        bool,
        CommandOption("add the values to the shared certificate and both reports", ("--certify",)),
    ] = False
    sign: Annotated[
        Path | None, CommandOption("private key (PEM), for a certificate that is signed")
    ] = None


@command("sfumato.interfaces.api:evaluate")
def evaluate(
    folder: ReleaseFolder,
    *,
    files: EvaluateFiles,
    keywords: Keywords,
    alignment: ForeignOptions,
    reading: ReadOptions,
) -> None:
    """Compare a release with its original: loss, moments, tables, queries, models; by default
    everything that applies.

    A table made elsewhere needs a recipe with the roles (-r) and --align.
    """
    from sfumato.core.yaml_text import read_yaml
    from sfumato.interfaces import api
    from sfumato.release.folder import read_release

    metrics = None
    if "metrics" in keywords:
        metrics = [read_yaml(text, "--metric") for text in keywords["metrics"]]
    if folder.is_file() and (files.certify or files.sign is not None):
        raise ParameterError(
            "--certify and --sign are about a folder that run wrote; leave them out here"
        )
    if not folder.is_file() and files.recipe is not None:
        raise ParameterError(
            "-r is for a table made elsewhere; a folder that run wrote has its recipe, "
            "so leave -r out"
        )
    foreign = foreign_file(folder, files.recipe, alignment, reading.intake)
    release: Any = foreign or read_release(folder)
    require_options(release.recipe.shape, people=files.people)
    dataset = open_data(
        files.original,
        quiet=files.quiet,
        intake=reading.intake,
        recipe=release.recipe,
        people=files.people,
        format=release.made_for,
        engine=files.engine,
    )
    with progress("measuring", quiet=files.quiet):
        evaluation = api.evaluate(release.beside(dataset), metrics=metrics)
    if files.certify:
        # Values of earlier evaluations stay beside the new ones.
        values = dict(release.certificate.get("utility", {}))
        _add_values(values, evaluation, metrics or [])
        release.add("utility", values, sign=files.sign)
    present(evaluation, json=files.json)
    if not foreign:
        share, original = shlex.quote(str(folder / "share")), shlex.quote(files.original)
        tell_next(f"sfumato verify {share} --original {original}", quiet=files.quiet)


def _add_values(values: Document, evaluation: Evaluation, metrics: list[Any]) -> None:
    """Add what was measured to the values of a certificate: a name there stands for the metric
    without parameters, where it was measured.
    """
    with_parameters: set[str] = set()
    # A mapping is a metric with parameters: {c_avg: {k: 5}}.
    for spec in metrics:
        if isinstance(spec, Mapping):
            with_parameters |= set(spec)
    earlier = set(values)
    for measure in evaluation.measures:
        if measure.name not in earlier or measure.name not in with_parameters:
            values[measure.name] = measure.value
