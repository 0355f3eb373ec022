"""``sfumato protect``: from a table to a release and one decision about it."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.words import as_sentence
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, progress, show_blocks, tell, tell_next
from sfumato.interfaces.cli.options import Data, ReadOptions, ShowOptions, read_data
from sfumato.interfaces.cli.recommend import AnswerOptions, ask_context, ask_roles

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.guidance.protection.context import ProtectionContext
    from sfumato.guidance.protection.protection import Protection


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProtectFiles(ShowOptions):
    """Where the release goes, and what it starts from."""

    output: Annotated[Path, CommandOption("folder for the release", ("--output", "-o"))] = Path(
        "release"
    )
    change: Annotated[
        list[str] | None,
        CommandOption("one change: 'drop ward', 'round cost 500', 'k 11'; repeat it"),
    ] = None
    after: Annotated[
        Path | None, CommandOption("an earlier release of the same people: do as there")
    ] = None
    earlier: Annotated[
        str | None, CommandOption("the table of --after, if it was moved", ("--after-original",))
    ] = None
    recipe: Annotated[
        Path | None,
        CommandOption("roles from a recipe; its steps are tried too", ("--recipe", "-r")),
    ] = None
    answers: Annotated[Path | None, CommandOption("answers in a YAML file; flags go before it")] = (
        None
    )
    sign: Annotated[Path | None, CommandOption("private key (PEM): sign the certificate")] = None
    publish_attacks: Annotated[
        bool,
        CommandOption("put attack results into the shared certificate", ("--publish-attacks",)),
    ] = False
    no_input: Annotated[
        bool, CommandOption("ask nothing: exit 2 with what is open", ("--no-input",))
    ] = False
    people: Annotated[
        int | None,
        CommandOption("how many people attacks try where there are more than 5,000; 2,000"),
    ] = None
    workers: Annotated[int | None, CommandOption("processes; one by default", minimum=1)] = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class AssumptionOptions:
    """What the owner assumes; each is printed with the decision."""

    panel: ClassVar[str] = "What you assume, with a reason"

    not_known: Annotated[
        list[str] | None,
        CommandOption("a column nobody else knows: 'cost=billing figure'; repeat it"),
    ] = None
    first_release: Annotated[
        str | None, CommandOption("why nothing of these people was released before")
    ] = None


@command(
    "sfumato.guidance.protection.protect:protect",
    "sfumato.guidance.protection.protection:Protection.write",
)
def protect(
    data: Data,
    *,
    files: ProtectFiles,
    making: Keywords,
    writing: Keywords,
    answering: AnswerOptions,
    assuming: AssumptionOptions,
    reading: ReadOptions,
) -> None:
    """Protect a table: find the release that loses least, attack it, verify it, and decide who may
    have it.

    Exit code 0: it meets the terms that were asked for; 1: those of a narrower circle; 2: questions
    are open; 4: it should not be shared. Questions that no flag and no file answers are asked on a
    terminal; elsewhere they count as the worst case, but a column that only you can judge is never
    guessed.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.exchange import refuse_existing
    from sfumato.guidance.protection.protect import ProtectionOptions
    from sfumato.guidance.protection.protect import protect as protect_data
    from sfumato.release.decision.tiers import Tier

    quiet, force = files.quiet, writing.get("force", False)
    # The folder is refused before the search, which takes a while.
    refuse_existing(files.output, force=force)
    context, answered = _context(files, answering, assuming)
    recipe = None if files.recipe is None else recipes.load(files.recipe)
    tell(f"reading {escape(data)}", quiet=quiet)
    dataset = read_data(data, quiet=quiet, intake=reading.intake, recipe=recipe)
    may_ask = sys.stdin.isatty() and not (files.no_input or files.json or quiet)
    if may_ask and files.after is None:
        context = _ask(context, answered, dataset, recipe)
    for question, worst in context.answers.assumed.items():
        if files.after is None:
            tell(f"[yellow]{question} is unknown[/] and taken as {worst}", quiet=quiet)
    options = ProtectionOptions(
        recipe=recipe,
        earlier=files.after,
        earlier_original=files.earlier,
        source=_place(data),
        target=files.output,
        sign=files.sign,
        publish_attacks=files.publish_attacks,
        workers=files.workers,
        people=files.people,
    )
    with progress("looking at the table", quiet=quiet) as on_progress:
        making["options"] = options
        protection = protect_data(
            dataset, context, changes=files.change or (), **making, progress=on_progress
        )
    is_written = protection.decision.tier is not Tier.NONE
    if is_written:
        protection.write(files.output, **writing)
    if files.json:
        give_json({**protection.to_dict(), "folder": str(files.output) if is_written else None})
    else:
        show_blocks(protection.blocks())
    _tell_places(protection, files, data, is_written=is_written)
    if protection.decision.exit_code:
        raise typer.Exit(protection.decision.exit_code)


def _context(
    files: ProtectFiles, answering: AnswerOptions, assuming: AssumptionOptions
) -> tuple[ProtectionContext, set[str]]:
    """What flags and the file answer, and the questions that have an answer."""
    from sfumato.core import recipe_files as recipes
    from sfumato.guidance.protection.context import assumptions_of, context_from
    from sfumato.guidance.recommendation.answers import decisions

    flags = dict(vars(answering))
    roles = decisions(flags.pop("decide") or [])
    context = context_from(
        files.answers,
        **flags,
        decide=roles,
        not_known=assumptions_of(assuming.not_known or []),
        first_release=assuming.first_release,
    )
    answered = {question for question, answer in flags.items() if answer is not None}
    if assuming.first_release is not None:
        answered.add("first_release")
    if files.answers is not None:
        answered |= set(recipes.read_document(files.answers))
    return context, answered


def _ask(
    context: ProtectionContext, answered: set[str], dataset: Table, recipe: Recipe | None
) -> ProtectionContext:
    """Ask somebody at a terminal what only they can know."""
    from sfumato.guidance.protection.context import OWNERS_WORD

    answers = ask_roles(context.answers, dataset, recipe)
    # Whoever publishes binds nobody, so there is nothing to ask.
    skipped = {"contract"} if answers.recipient == "public" else set()
    answers = ask_context(answers, answered | skipped)
    context = dataclasses.replace(context, answers=answers)
    if "first_release" in answered:
        return context
    words = "Was anything about these people released before (no, yes; unknown)?"
    reply = typer.prompt(words, default="unknown", err=True).strip().lower()
    if reply in ("no", "n"):
        return dataclasses.replace(context, first_release=OWNERS_WORD)
    return context


def _place(data: str) -> str | None:
    """Where the table is, for the release after this one; None: it has no place."""
    if data != "-" and Path(data).exists():
        return str(Path(data).resolve())
    return None


def _tell_places(
    protection: Protection, files: ProtectFiles, data: str, *, is_written: bool
) -> None:
    """Where the release is, and what to do next."""
    from sfumato.guidance.protection.protection import NOTHING_SHARED

    helpful = protection.decision.changes
    repeated_command = None
    if helpful:
        repeated_command = f"the same command with {helpful[0].flag}"
    if not is_written:
        tell(f"[red]{as_sentence(NOTHING_SHARED)}[/]")
        tell_next(repeated_command or f"sfumato profile {shlex.quote(data)}", quiet=files.quiet)
        return
    share, owner = files.output / "share", files.output / "owner"
    verify = f"sfumato verify {shlex.quote(str(share))} --original {shlex.quote(data)}"
    lines = [
        f"open   {share / 'report.html'}",
        f"share  {share}: data, certificate, report",
        f"keep   {owner}: decision, recipe, lock, owner's report",
        f"next:  {verify}",
    ]
    if repeated_command is not None and protection.decision.exit_code:
        lines.append(f"or:    {repeated_command} --force")
    tell("\n" + escape("\n".join(lines)), quiet=files.quiet)
