"""``sfumato attack``: let intruders try a release before someone else does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.randomness import Seed
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import present, progress, tell
from sfumato.interfaces.cli.foreign_releases import ForeignOptions, foreign_file
from sfumato.interfaces.cli.options import (
    People,
    ReadOptions,
    ReleaseFolder,
    ShowOptions,
    open_data,
    read_data,
    require_options,
)
from sfumato.release.attack_run import (
    DEFAULT_SAMPLE,
    AttackContext,
    AttackOptions,
    attack_release,
)

if TYPE_CHECKING:
    from sfumato.core import data as core_data
    from sfumato.core.attack import Intruder
    from sfumato.core.pair import TablePair
    from sfumato.core.shape import Shape
    from sfumato.core.table import Table
    from sfumato.release.attack_report import Skipped, Tried


@dataclass(frozen=True)
class IntruderOptions:
    """What an intruder has and knows."""

    panel: ClassVar[str] = "What the intruder has"
    intruder: Annotated[str | None, CommandOption("a table, instead of the named intruders")] = None
    knows: Annotated[str | None, CommandOption("columns the intruder knows, with commas")] = None
    called: Annotated[
        list[str] | None,
        CommandOption("a column there and its name here: years=age; repeat it", ("--rename",)),
    ] = None
    by: Annotated[str | None, CommandOption("column that identifies people in both tables")] = None
    population: Annotated[
        str | None, CommandOption("a table of everyone, for `unique_in_population`")
    ] = None
    aux: Annotated[
        str | None, CommandOption("a table of other people, for `other_columns_linkage`")
    ] = None
    others: Annotated[
        list[Path] | None,
        CommandOption("another release of the same people, for `composition`; repeat it"),
    ] = None
    other_originals: Annotated[
        list[Path] | None,
        CommandOption("the original of each of --others, if another table", ("--other-original",)),
    ] = None


@dataclass(frozen=True, kw_only=True)
class AttackFiles(ShowOptions):
    """What is attacked, and where the findings go."""

    original: Annotated[str, CommandOption("the original table")]
    recipe: Annotated[
        Path | None,
        CommandOption(
            "other roles and limits than those of the release; nothing is kept then",
            ("--recipe", "-r"),
        ),
    ] = None
    people: People = None
    sign: Annotated[
        Path | None, CommandOption("private key (PEM), if the certificate is signed")
    ] = None
    keep: Annotated[
        bool | None,
        CommandOption("add it to the certificate; usual without --recipe", ("--keep/--no-keep",)),
    ] = None


@command(attack_release)
def attack(
    folder: ReleaseFolder,
    *,
    files: AttackFiles,
    given: IntruderOptions,
    keywords: Keywords,
    elsewhere: ForeignOptions,
    reading: ReadOptions,
) -> None:
    """Let named intruders (prosecutor, journalist, neighbour, colleague, worst case) try what the
    literature knows.

    An attack that cannot be tried although it might succeed is unknown. Exit code 1 when an attack
    that the recipe limits succeeds more often than its limit allows, or is unknown. A table made
    elsewhere needs a recipe with the roles (-r) and --align.
    """
    from sfumato.core.recipe_files import load
    from sfumato.core.yaml_text import read_yaml
    from sfumato.release.folder import read_release

    if "only" in keywords:
        keywords["only"] = [read_yaml(text, "--attack") for text in keywords["only"]]
    if files.recipe is not None and files.keep:
        raise ParameterError(
            "what is found with another recipe (-r) is not added to the certificate; leave"
            " --keep out"
        )
    if folder.is_file() and (files.keep or files.sign is not None or given.others):
        raise ParameterError(
            "--keep, --sign and --others are about a folder that run wrote; leave them out here"
        )
    foreign = foreign_file(folder, files.recipe, elsewhere, reading.intake)
    keep = files.recipe is None if files.keep is None else files.keep
    release: Any = foreign or read_release(folder)
    _require_table_options(release.recipe.shape, files, given, keywords, foreign is not None)
    said = None if files.recipe is None else load(files.recipe)
    if keep:
        release.require_key(files.sign)
    dataset = open_data(
        files.original,
        quiet=files.quiet,
        intake=reading.intake,
        recipe=release.recipe,
        people=files.people,
        format=release.made_for,
    )
    pair = release.beside(dataset)
    if said is not None:
        pair = pair.with_roles_of(said.schema)
    aux = None if given.aux is None else read_data(given.aux, quiet=True)
    context = AttackContext(
        steps=release.recipe.steps,
        models=release.recipe.meet,
        limits=(said or release.recipe).limits,
        intruder=_intruder(pair, given, keywords.get("sample"), aux),
        others=_other_releases(given.others or [], given.other_originals or [], dataset),
        population=None if given.population is None else read_data(given.population, quiet=True),
        aux=aux,
    )
    options: AttackOptions = keywords.pop("options")
    with progress("attacking", quiet=files.quiet) as on_progress:
        report = attack_release(
            pair,
            **keywords,
            context=context,
            options=replace(
                options,
                progress=on_progress,
                on_outcome=lambda outcome: _tell_outcome(outcome, quiet=files.quiet),
            ),
        )
    if keep:
        release.add("attacks", report.to_dict(), sign=files.sign)
    present(report, json=files.json)
    if keep:
        certificate = folder / "share" / "certificate.json"
        tell(f"added to {certificate} and both reports", quiet=files.quiet)
    if report.refused:
        raise typer.Exit(1)


def _require_table_options(
    shape: Shape,
    files: AttackFiles,
    given: IntruderOptions,
    keywords: Keywords,
    foreign: bool,
) -> None:
    """Refuse options that only releases of tables know."""
    of_tables: dict[str, Any] = {**vars(given), "sample": keywords.get("sample")}
    del of_tables["others"]  # every shape knows them
    of_tables["rename"] = of_tables.pop("called")
    of_tables["other_original"] = of_tables.pop("other_originals")
    if not foreign:
        of_tables["recipe"] = files.recipe
    require_options(shape, people=files.people, **of_tables)


def _tell_outcome(outcome: Tried | Skipped, *, quiet: bool) -> None:
    """Say what came of one attack as soon as it is known; what does not apply is told at the
    end.
    """
    from sfumato.release.attack_report import Skipped

    if isinstance(outcome, Skipped):
        if outcome.unknown:
            tell(
                f"[dim]{escape(outcome.intruder)}, {escape(outcome.words)}:[/] [yellow]unknown[/]",
                quiet=quiet,
            )
        return
    finding = outcome.finding
    tell(
        f"[dim]{escape(outcome.intruder)}, {escape(finding.words)}:[/] {percent(finding.value)}",
        quiet=quiet,
    )


def _other_releases(
    folders: list[Path], originals: list[Path], data: core_data.Data
) -> tuple[Any, ...]:
    """Further releases, each beside its original: the data that are attacked, or a table that was
    named for each of them.
    """
    from sfumato.release.folder import read_release

    if originals and len(originals) != len(folders):
        raise ParameterError(
            f"--other-original was given {len(originals)} times and --others {len(folders)} times;"
            " give one original for each"
        )
    others = []
    for place, folder in enumerate(folders):
        release = read_release(folder)
        if release.recipe.shape is not data.shape:
            raise ParameterError(
                f"{folder} holds a release of shape {release.recipe.shape}, not {data.shape}"
            )
        before = data
        if originals:
            before = open_data(str(originals[place]), quiet=True, recipe=release.recipe)
        others.append(release.beside(before).as_other)
    return tuple(others)


def _intruder(
    pair: TablePair, given: IntruderOptions, sample: int | None, aux: Table | None
) -> Intruder | None:
    from sfumato.release.intruders import intruder_from, intruder_with, renamed

    columns = [c.strip() for c in given.knows.split(",") if c.strip()] if given.knows else None
    if given.intruder is None:
        if given.by is not None or given.called or aux is not None:
            raise ParameterError(
                "--by, --rename and --aux are about an intruder's own table; give it with"
                " --intruder"
            )
        return (
            None
            if columns is None
            else intruder_from(pair, columns, sample=sample or DEFAULT_SAMPLE, seed=Seed(0))
        )
    table = renamed(read_data(given.intruder, quiet=True), _names(given.called or []))
    return intruder_with(pair, table, columns, by=given.by, aux=aux)


def _names(called: list[str]) -> dict[str, str]:
    """What the intruder calls columns, and what they are called here."""
    pairs = [[part.strip() for part in text.split("=")] for text in called]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise ParameterError(
            "--rename takes the intruder's name and ours with = between: years=age"
        )
    names = {pair[0]: pair[1] for pair in pairs}
    if len(names) < len(pairs):
        raise ParameterError("--rename: a column of the intruder's table is named twice")
    return names
