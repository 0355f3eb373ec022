"""``sfumato recommend``: from a table and who is to have it to a first release that can be
defended.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, progress, show_blocks, tell
from sfumato.interfaces.cli.options import Data, ReadOptions, ShowOptions, read_data

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.guidance.recommendation.answers import ContextAnswers
    from sfumato.guidance.recommendation.recommendation import Recommendation


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecommendFiles(ShowOptions):
    """Where the recommendation goes, and what it starts from."""

    output: Annotated[
        Path,
        CommandOption("folder for recipes, reasons, answers and the map", ("--output", "-o")),
    ] = Path("recommended")
    recipe: Annotated[
        Path | None,
        CommandOption(
            "roles from a recipe instead of a profile; its steps are a candidate too",
            ("--recipe", "-r"),
        ),
    ] = None
    answers: Annotated[Path | None, CommandOption("answers in a YAML file; flags go before it")] = (
        None
    )
    run: Annotated[
        Path | None, CommandOption("folder for the release itself, made of all rows")
    ] = None
    accept_limits: Annotated[
        bool,
        CommandOption(
            "take a fallback that keeps limits only, such as masked or synthetic records",
            ("--accept-limits",),
        ),
    ] = False
    seed: Annotated[
        str | None,
        CommandOption("hexadecimal seed of the release; short ones mark a rehearsal"),
    ] = None
    workers: Annotated[
        int | None, CommandOption("processes; all cores when not given", minimum=1)
    ] = None
    force: Annotated[
        bool, CommandOption("replace an earlier recommendation, and release", ("--force",))
    ] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """What is known about the context of the release."""

    panel: ClassVar[str] = "Who receives it, and what they may know"

    recipient: Annotated[
        str | None, CommandOption("public, researchers, internal, trusted or unknown")
    ] = None
    contract: Annotated[
        str | None, CommandOption("whether they are bound by contract: yes, no or unknown")
    ] = None
    sensitivity: Annotated[
        str | None, CommandOption("how bad it would be: low, medium, high or unknown")
    ] = None
    population: Annotated[
        str | None, CommandOption("how many people the file was drawn from, or unknown")
    ] = None
    keep: Annotated[str | None, CommandOption("columns that must survive, with commas between")] = (
        None
    )
    decide: Annotated[
        list[str] | None,
        CommandOption(
            "the role of a column that a profile cannot decide on: patient=unit; repeat it"
        ),
    ] = None


@command()
def recommend(
    data: Data,
    *,
    files: RecommendFiles,
    answers: AnswerOptions,
    reading: ReadOptions,
) -> None:
    """Recommend a release: ask for the context, try every family of means, and write the best
    recipe with its reasons.

    Questions that no flag and no file answers are asked on a terminal; elsewhere they count as the
    worst case, and it says so. Where no candidate keeps the promises, the best that keeps limits
    only is written as a fallback, and the command ends with exit code 1.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.exchange import refuse_existing
    from sfumato.guidance.recommendation.answers import answers_from, decisions
    from sfumato.guidance.recommendation.recommend import recommend as find
    from sfumato.guidance.recommendation.recommendation import NOT_ACCEPTED, refuse_written

    refuse_written(files.output, force=files.force)
    if files.run is not None:
        refuse_existing(files.run, force=files.force)
    said = answers_from(files.answers)
    flags = {name: value for name, value in vars(answers).items() if name != "decide"}
    said = said.with_answers(**flags, decide={**said.decide, **decisions(answers.decide or [])})
    loaded = None if files.recipe is None else recipes.load(files.recipe)
    dataset = read_data(data, quiet=files.quiet, intake=reading.intake, recipe=loaded)
    asked = {name for name, value in flags.items() if value is not None} | _in_file(files.answers)
    if sys.stdin.isatty() and not files.json and not files.quiet:
        said = _decided(_asked(said, asked), dataset, loaded)
    for question, worst in said.assumed.items():
        tell(f"[yellow]{question} is unknown[/] and taken as {worst}", quiet=files.quiet)
    with progress("trying candidates", quiet=files.quiet) as on_progress:
        found = find(dataset, said, recipe=loaded, workers=files.workers, progress=on_progress)
    refused = found.fallback and not files.accept_limits
    if files.run is not None and not refused:
        with progress("making the release", quiet=files.quiet) as on_progress:
            found, release = found.released(
                seed=files.seed, progress=on_progress, accept_limits=files.accept_limits
            )
            release.write(files.run, force=files.force)
    found.write(files.output, force=files.force)
    _tell(found, json=files.json)
    _tell_files(files.output, None if refused else files.run, quiet=files.quiet)
    if refused:
        tell(f"[red]{escape(NOT_ACCEPTED[:1].upper() + NOT_ACCEPTED[1:])}[/]")
        raise typer.Exit(1)


def _in_file(answers: Path | None) -> set[str]:
    """The questions that a file answers, with unknown too: they are not asked again."""
    from sfumato.core import recipe_files as recipes

    return set() if answers is None else set(recipes.read_document(answers))


def _asked(said: ContextAnswers, answered: set[str]) -> ContextAnswers:
    """The answers with those that somebody at a terminal gave; a wrong one is asked again."""
    from sfumato.errors import ParameterError
    from sfumato.guidance.recommendation.answers import QUESTIONS

    for question, words in QUESTIONS.items():
        while question not in answered:
            default = "unknown" if question != "keep" else ""
            given = typer.prompt(words, default=default, show_default=bool(default), err=True)
            try:
                said = dataclasses.replace(said, **{question: given.strip()})
            except ParameterError as error:
                tell(f"[red]{escape(str(error))}[/]")
                continue
            break
    return said


def _decided(said: ContextAnswers, dataset: Table, recipe: Recipe | None) -> ContextAnswers:
    """The answers with the roles that somebody at a terminal gave to columns that wait for a
    decision.
    """
    from sfumato.errors import ParameterError
    from sfumato.guidance.recommendation.answers import roles_of
    from sfumato.guidance.recommendation.inspection import open_decisions

    decided = dict(said.decide)
    for column, why in open_decisions(dataset, said, recipe).items():
        while column not in decided:
            tell(escape(f"{column}: {why}"))
            role = typer.prompt(
                f"Its role (direct, quasi, sensitive, plain, unit …) of {column}", err=True
            ).strip()
            try:
                roles_of(role, column)
            except ParameterError as error:
                tell(f"[red]{escape(str(error))}[/]")
                continue
            decided[column] = role
    return dataclasses.replace(said, decide=decided)


def _tell(found: Recommendation, *, json: bool) -> None:
    if json:
        give_json(found.to_dict() | {"comparison": found.comparison.to_dict()})
        return
    show_blocks(found.blocks())


def _tell_files(output: Path, run: Path | None, *, quiet: bool) -> None:
    tell(f"\nbest   {output / 'recipe.yaml'}, runners-up beside it", quiet=quiet)
    tell(f"why    {output / 'recommendation.html'}", quiet=quiet)
    if run is not None:
        tell(
            f"share  {run / 'share'}: data, certificate, report\nkeep   {run / 'owner'}",
            quiet=quiet,
        )
