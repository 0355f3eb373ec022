"""``sfumato recommend``: from a table and who is to have it to a first release that can be
defended.
"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, progress, show_blocks, tell, tell_next
from sfumato.interfaces.cli.options import (
    Data,
    ReadOptions,
    SampleOptions,
    ShowOptions,
    read_sample,
)

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.guidance.profiling.questions import RoleQuestion
    from sfumato.guidance.recommendation.answers import ContextAnswers


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
            "take roles from a recipe instead of a profile; its steps are a candidate too",
            ("--recipe", "-r"),
        ),
    ] = None
    answers: Annotated[
        Path | None, CommandOption("answers in a YAML file; options take precedence")
    ] = None
    run: Annotated[
        Path | None, CommandOption("folder for the release itself, made from all rows")
    ] = None
    workers: Annotated[
        int | None, CommandOption("processes; by default one per core", minimum=1)
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """What is known about the context of the release."""

    panel: ClassVar[str] = "Who receives it, and what may they know?"

    recipient: Annotated[
        str | None, CommandOption("public, researchers, internal, trusted or unknown")
    ] = None
    contract: Annotated[
        str | None, CommandOption("whether they are bound by contract: yes, no or unknown")
    ] = None
    sensitivity: Annotated[
        str | None,
        CommandOption("how much harm recognition would do: low, medium, high or unknown"),
    ] = None
    population: Annotated[
        str | None, CommandOption("size of the population the file was drawn from, or unknown")
    ] = None
    keep: Annotated[str | None, CommandOption("columns that must survive, separated by commas")] = (
        None
    )
    decide: Annotated[
        list[str] | None,
        CommandOption(
            "the role of a column that a profile cannot decide on, patient=person, or the answer to"
            " one of its questions, @health=yes; repeat it"
        ),
    ] = None

    def read(self, file: Path | None) -> tuple[ContextAnswers, set[str]]:
        """The answers, flags before those of the file, and the questions that have one, be it
        unknown.
        """
        from sfumato.core import recipe_files as recipes
        from sfumato.guidance.recommendation.answers import answers_from, decisions

        flags = dict(vars(self))
        roles = decisions(flags.pop("decide") or [])
        answers = answers_from(file)
        answers = answers.with_answers(**flags, decide={**answers.decide, **roles})
        answered = {question for question, answer in flags.items() if answer is not None}
        if file is not None:
            answered |= set(recipes.read_document(file))
        return answers, answered


@command(
    "sfumato.guidance.recommendation.recommendation:Recommendation.released",
    "sfumato.guidance.recommendation.recommendation:Recommendation.write",
)
def recommend(
    data: Data,
    *,
    files: RecommendFiles,
    releasing: Keywords,
    writing: Keywords,
    context: AnswerOptions,
    source: SampleOptions,
    reading: ReadOptions,
) -> None:
    """Recommend a release: ask for the context, try every family of methods, and write the best
    recipe with its reasons.

    Questions that no flag and no file answers are asked on a terminal; elsewhere they count as the
    worst case, and it says so. Where no candidate keeps the promises, the best that keeps limits
    only is written as a fallback, and the command ends with exit code 1.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.exchange import refuse_existing
    from sfumato.guidance.recommendation.recommend import recommend as search
    from sfumato.guidance.recommendation.recommendation import NOT_ACCEPTED, refuse_written

    quiet, force = files.quiet, writing.get("force", False)
    # Folders are refused before the search, which may take long.
    refuse_written(files.output, force=force)
    if files.run is not None:
        refuse_existing(files.run, force=force)
    answers, answered = context.read(files.answers)
    recipe = None if files.recipe is None else recipes.load(files.recipe)
    dataset = read_sample(
        data,
        source,
        quiet=quiet,
        intake=reading.intake,
        recipe=recipe,
        needs_all=None if files.run is None else "--run",
    )
    # JSON and silence are for programs, which answer no questions.
    if sys.stdin.isatty() and not files.json and not quiet:
        answers = ask_context(answers, answered)
        answers = ask_roles(answers, dataset, recipe)
    for question, worst in answers.assumed.items():
        tell(f"[yellow]{question} is unknown[/] and counts as {worst}", quiet=quiet)
    with progress("trying candidates", quiet=quiet) as on_progress:
        recommendation = search(
            dataset, answers, recipe=recipe, workers=files.workers, progress=on_progress
        )
    # A fallback keeps limits, not promises: it becomes a release only where that was accepted.
    refused = recommendation.fallback and not releasing.get("accept_limits", False)
    if files.run is not None and not refused:
        with progress("making the release", quiet=quiet) as on_progress:
            recommendation, release = recommendation.released(progress=on_progress, **releasing)
            release.write(files.run, force=force)
    # Recipes are written in any case: they show what a refused one lacks.
    recommendation.write(files.output, **writing)
    if files.json:
        comparison = recommendation.comparison.to_dict()
        give_json({**recommendation.to_dict(), "comparison": comparison})
    else:
        show_blocks(recommendation.blocks())
    tell(f"\nbest   {files.output / 'recipe.yaml'}, runners-up beside it", quiet=quiet)
    tell(f"why    {files.output / 'recommendation.html'}", quiet=quiet)
    if refused:
        tell(f"[red]{escape(NOT_ACCEPTED[:1].upper() + NOT_ACCEPTED[1:])}[/]")
        raise typer.Exit(1)
    if files.run is not None:
        share, owner = files.run / "share", files.run / "owner"
        tell(f"share  {share}: data, certificate, report\nkeep   {owner}", quiet=quiet)
        line = f"sfumato attack {shlex.quote(str(files.run))} --original {shlex.quote(data)}"
    else:
        recipe_file = shlex.quote(str(files.output / "recipe.yaml"))
        line = f"sfumato run {shlex.quote(data)} -r {recipe_file} -o out/"
    tell_next(line, quiet=quiet)


def ask_context(answers: ContextAnswers, answered: set[str]) -> ContextAnswers:
    """Ask somebody at a terminal what is not answered yet; a wrong answer is asked for again."""
    from sfumato.guidance.recommendation.answers import QUESTIONS

    for question, words in QUESTIONS.items():
        # No column at all is an answer about columns to keep; other questions may stay unknown.
        default = "" if question == "keep" else "unknown"
        while question not in answered:
            text = typer.prompt(words, default=default, show_default=bool(default), err=True)
            try:
                answers = dataclasses.replace(answers, **{question: text.strip()})
            except ParameterError as error:
                tell(f"[red]{escape(str(error))}[/]")
                continue
            break
    return answers


def ask_roles(answers: ContextAnswers, dataset: Table, recipe: Recipe | None) -> ContextAnswers:
    """Ask somebody at a terminal for the roles of columns that a profile cannot decide on."""
    from sfumato.guidance.recommendation.inspection import open_decisions

    roles = dict(answers.decide)
    for question in open_decisions(dataset, answers, recipe):
        roles |= ask_role_question(question)
    return dataclasses.replace(answers, decide=roles)


def ask_role_question(question: RoleQuestion) -> dict[str, str]:
    """Ask somebody at a terminal a question about columns: the role word of each of them."""
    from sfumato.guidance.profiling.questions import CHOOSE, YES

    tell(escape(f"{', '.join(question.columns)}: {question.reason}"))
    answer = CHOOSE
    while question.choices != (CHOOSE,):
        choices = " / ".join(question.choices)
        words = f"{question.sentence} ({choices}, or a role)"
        answer = typer.prompt(words, default=YES, err=True).strip()
        if answer in question.choices or _is_role(answer, question.name):
            break
    if answer != CHOOSE:
        return dict.fromkeys(question.columns, question.answered(answer))
    return {column: _ask_role(column) for column in question.columns}


def _ask_role(column: str) -> str:
    """Ask for the role of a column until there is such a role."""
    while True:
        role = typer.prompt(
            f"Its role (drop, quasi, sensitive, keep, person …) of {column}", err=True
        ).strip()
        if _is_role(role, column):
            return str(role)


def _is_role(word: str, column: str) -> bool:
    """Whether a word names a role; it says so where it does not."""
    from sfumato.guidance.recommendation.answers import roles_of

    try:
        roles_of(word, column)
    except ParameterError as error:
        tell(f"[red]{escape(str(error))}[/]")
        return False
    return True
