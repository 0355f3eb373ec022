"""``sfumato check`` and ``sfumato verify``: judge a release, and recompute its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.core.options import CommandOption
from sfumato.core.shape import Shape
from sfumato.core.words import join_words
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import (
    give_json,
    notes,
    out,
    present,
    progress,
    show_blocks,
    tell,
)
from sfumato.interfaces.cli.options import (
    EngineOptions,
    ReadOptions,
    RecipeFile,
    ShowOptions,
    open_data,
    read_beside,
    require_options,
)

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.core.recipe import Recipe
    from sfumato.release.check import FilesToCheck
    from sfumato.release.verification import Verification

# ``sfumato check``: a gate for pipelines.


@dataclass(frozen=True, kw_only=True)
class CheckFiles(ShowOptions):
    """What a released table is judged by."""

    recipe: RecipeFile
    original: Annotated[
        str | None,
        CommandOption("the original table, for promises that compare with it"),
    ] = None
    generalisation_of: Annotated[
        str | None,
        CommandOption("the table that this one should be a generalisation of (Ti ≤ Tj)"),
    ] = None
    max_suppressed: Annotated[
        int | None,
        CommandOption(
            "with --generalisation-of: records that may be suppressed; default: as many as are",
            minimum=0,
        ),
    ] = None
    sql: Annotated[bool, CommandOption("print the promises as a query on --table", ("--sql",))] = (
        False
    )
    diff: Annotated[
        Path | None,
        CommandOption("the earlier version, or the folder with it: print what changed (Markdown)"),
    ] = None
    junit: Annotated[Path | None, CommandOption("write the verdicts as JUnit XML, too")] = None
    sarif: Annotated[Path | None, CommandOption("write the verdicts as SARIF, too")] = None


@command("sfumato.interfaces.api:check")
def check(
    data: Annotated[str | None, typer.Argument(help="the released table; none with --sql")] = None,
    *,
    files: CheckFiles,
    source: EngineOptions,
    reading: ReadOptions,
) -> None:
    """Judge a released table by a recipe; exit code 1 if a promise does not hold or a direct
    identifier remains.

    With --generalisation-of it also says whether every record generalises one of that table, on
    which levels of the hierarchies in the recipe, and whether the table is k-minimal: k is that of
    the recipe's k-anonymity, or what the table attains.

    With --diff it prints what changed against an earlier version, as a comment for reviewers.

    With --sql nothing is read: the promises are printed as a query that returns a row for every
    class that breaks one, a test for dbt.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.evidence import needed
    from sfumato.release.check import check_released, read_to_check

    if files.sql:
        # A query is made of the recipe alone: any other option would be ignored without a word.
        options = {**vars(source), **vars(reading), "data": data, "original": files.original}
        options |= {"of": files.generalisation_of, "suppressed": files.max_suppressed}
        options |= {"diff": files.diff, "junit": files.junit, "sarif": files.sarif}
        table = options.pop("table")
        superfluous = any(value is not None for value in options.values())
        if table is None or superfluous or files.json:
            raise ParameterError(
                "--sql needs a recipe and the name of the table only: check --sql -r visits.yaml "
                "--table visits"
            )
        _print_sql(files.recipe, table)
        return
    if data is None:
        raise ParameterError("name the released table: sfumato check visits.csv -r visits.yaml")
    recipe = recipes.load_any(files.recipe)
    comparison = files.generalisation_of
    require_options(recipe.shape, **vars(source), generalisation_of=comparison)
    released = read_to_check(
        data,
        recipe,
        intake=reading.intake,
        people=source.people,
        engine=source.engine,
        table=source.table,
    )
    notes(released.notes, quiet=files.quiet)
    if files.generalisation_of is not None:
        if any((files.diff, files.junit, files.sarif)):
            raise ParameterError(
                "--diff, --junit and --sarif are about promises; leave out --generalisation-of"
            )
        _show_generalisation(released.content, recipe, files)
        return
    if files.max_suppressed is not None:
        raise ParameterError("--max-suppressed needs --generalisation-of; give both")
    with progress("judging", quiet=files.quiet):
        original = None
        if files.original is not None:
            original = open_data(files.original, quiet=True, recipe=recipe)
        verdicts = check_released(
            released, recipe, original=original, population=read_beside(source.population)
        )
    if original is None and needed(recipe.meet, recipe.schema).reference:
        tell(
            "[dim]note: the released table was used as the original; give the original "
            "with --original[/]",
            quiet=files.quiet,
        )
    _write_outcomes(verdicts, data, files)
    if files.diff is not None:
        _show_difference(data, (released, verdicts), recipe, reading, files)
        if not all(verdicts):
            raise typer.Exit(1)
        return
    _show_verdicts(verdicts, json=files.json)


def _write_outcomes(verdicts: Sequence[Verdict], data: str, files: CheckFiles) -> None:
    """Write the files that were asked for besides."""
    from sfumato.release.check_outcome import junit_text, sarif_text

    for target, text_of in ((files.junit, junit_text), (files.sarif, sarif_text)):
        if target is None:
            continue
        try:
            target.write_text(text_of(verdicts, data), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from None


def _show_difference(
    data: str,
    checked: tuple[FilesToCheck, Sequence[Verdict]],
    recipe: Recipe,
    reading: ReadOptions,
    files: CheckFiles,
) -> None:
    """Print what changed against an earlier version, which is judged by its own recipe where that
    is beside it.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.errors import SfumatoError
    from sfumato.release.check import check_released, read_to_check
    from sfumato.release.check_outcome import CheckedTable, beside_base, difference_text

    if files.json or files.original is not None:
        raise ParameterError(
            "--diff prints Markdown, and has no original of the earlier version; leave out --json"
            " and --original"
        )
    now = CheckedTable.of(data, *checked, recipe=recipe)
    earlier = beside_base(data, Path(str(files.diff)))
    base, problem = None, "There is no earlier version to compare with."
    if earlier is not None:
        # An earlier version that this recipe does not fit is no reason to say nothing of this one.
        try:
            old_recipe = beside_base(str(files.recipe), Path(str(files.diff)), only_folder=True)
            own = recipe if old_recipe is None else recipes.load_any(old_recipe)
            read = read_to_check(str(earlier), own, intake=reading.intake)
            base = CheckedTable.of(str(earlier), read, check_released(read, own), recipe=own)
        except SfumatoError as error:
            problem = f"The earlier version cannot be judged: {error}."
    text = difference_text(data, now, base, problem=problem)
    out().print(text, soft_wrap=True, markup=False, highlight=False, end="")


def _show_generalisation(released: Any, recipe: Recipe, files: CheckFiles) -> None:
    """Judge a table as a generalisation of another one, and by the promises of the recipe; leave
    with 1 where it is none or a promise does not hold.
    """
    from sfumato.release.check import FilesToCheck, check_released
    from sfumato.release.generalisation import judge_generalisation

    original: Any = open_data(str(files.generalisation_of), quiet=True, recipe=recipe)
    purpose = "judging a generalisation"
    crowds = [model.crowd for model in recipe.meet if model.crowd is not None]
    answer = judge_generalisation(
        released.in_memory(purpose),
        original.in_memory(purpose).described_by(recipe),
        k=max(crowds, default=None),
        most_suppressed=files.max_suppressed,
    )
    verdicts: tuple[Verdict, ...] = ()
    if recipe.meet:
        verdicts = check_released(FilesToCheck(released), recipe, original=original)
    if files.json:
        judged = [verdict.to_dict() for verdict in verdicts]
        holds = bool(answer) and all(verdicts)
        give_json({"holds": holds, "generalisation": answer.to_dict(), "verdicts": judged})
    else:
        show_blocks([*answer.blocks(), *(verdict.verdict_block for verdict in verdicts)])
    if not answer or not all(verdicts):
        raise typer.Exit(1)


def _print_sql(recipe: Path, table: str) -> None:
    """The promises of a recipe as a query; ``table`` is its name as SQL has it, such as
    ``{{ ref('visits') }}``.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.sql_tests import sql_test

    out().print(
        sql_test(recipes.load(recipe), table), soft_wrap=True, markup=False, highlight=False
    )


def _show_verdicts(verdicts: Sequence[Verdict], *, json: bool) -> None:
    """Say what was judged; leave with 1 where a promise does not hold."""
    if json:
        give_json({"holds": all(verdicts), "verdicts": [verdict.to_dict() for verdict in verdicts]})
    else:
        show_blocks([verdict.verdict_block for verdict in verdicts])
    if not all(verdicts):
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class VerifyFiles(ShowOptions):
    """What a certificate is checked against."""

    original: Annotated[
        str | None, CommandOption("the original table, for checks that need it")
    ] = None
    owner: Annotated[
        Path | None, CommandOption("the owner's folder; by default found beside 'share'")
    ] = None


@command("sfumato.interfaces.api:verify")
def verify(
    folder: Annotated[
        Path,
        typer.Argument(
            help="the shared folder, the one with certificate.json, or the one that run wrote"
        ),
    ],
    *,
    files: VerifyFiles,
    keywords: Keywords,
    source: EngineOptions,
    reading: ReadOptions,
) -> None:
    """Recompute what a certificate claims: which claims hold, which fail, which need the original.

    Exit code 0 when every promise was checked and holds, or a key you trust (--key) vouches for it;
    1 when a claim is false; 7 when nothing is false and a promise needs the original.
    """
    from sfumato.core.shape import is_shape
    from sfumato.interfaces import api
    from sfumato.release.certificate_files import read_certificate

    folder = shared_folder(folder)
    shape = read_certificate(folder)["shape"]
    # A published table of counts has no shape: there are no records to speak of.
    if not is_shape(shape):
        _refuse_options_of_records(original=files.original, **vars(source))
        owner = files.owner or owner_of(folder)
        show_claims(api.verify(folder, owner=owner, **keywords), json=files.json)
        return
    owner = files.owner
    if owner is None and files.original:
        owner = owner_of(folder)
    require_options(Shape(shape), **vars(source))
    with progress("verifying", quiet=files.quiet):
        verification = api.verify(
            folder,
            original=files.original,
            owner=owner,
            population=read_beside(source.population),
            reading=api.OriginalOptions(source.people, reading.intake, source.table, source.engine),
            **keywords,
        )
    show_claims(verification, json=files.json)


def shared_folder(folder: Path) -> Path:
    """The shared folder: the one that is named, or the one in it where ``run`` wrote both."""
    from sfumato.release.manifest import FILE

    inner = folder / "share"
    # Who named the folder above meant the shared one in it.
    if not (folder / FILE).is_file() and (inner / FILE).is_file():
        return inner
    return folder


def owner_of(folder: Path) -> Path | None:
    """The owner's folder beside a shared one, where it is."""
    owner = folder.resolve().parent / "owner"
    return owner if owner.is_dir() else None


def _refuse_options_of_records(**options: str | None) -> None:
    """Refuse options about records for a published table of counts or sums."""
    names = [f"--{name}" for name, value in options.items() if value]
    if names:
        raise ParameterError(
            f"{join_words(names)} is for releases of records; this is a published table of counts "
            "or sums, so leave it out"
        )


def show_claims(verification: Verification, *, json: bool) -> None:
    """Say what comes of checking and which claims hold; leave with 1 where one fails, with 7 where
    a promise could not be checked.
    """
    present(verification, json=json)
    if verification.exit_code:
        raise typer.Exit(verification.exit_code)
