"""``sfumato attack``: let intruders try a release before someone else does."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import present, progress, tell, tell_next
from sfumato.interfaces.cli.foreign_releases import ForeignOptions, foreign_file
from sfumato.interfaces.cli.options import (
    People,
    ReadOptions,
    ReleaseFolder,
    ShowOptions,
    names_in,
    open_data,
    read_data,
    require_options,
)

if TYPE_CHECKING:
    from sfumato.core.attack import Intruder
    from sfumato.core.data import Data
    from sfumato.core.pair import TablePair
    from sfumato.core.randomness import Seed
    from sfumato.core.shape import Shape
    from sfumato.core.table import Table
    from sfumato.release.attack_report import Skipped, Tried
    from sfumato.release.attack_run import AttackOptions


@dataclass(frozen=True)
class IntruderOptions:
    """What an intruder has and knows."""

    panel: ClassVar[str] = "What the intruder has"
    intruder: Annotated[str | None, CommandOption("a table, instead of the named intruders")] = None
    knows: Annotated[
        str | None, CommandOption("columns the intruder knows, separated by commas")
    ] = None
    rename: Annotated[
        list[str] | None,
        CommandOption("a column there and its name here: years=age; repeat it"),
    ] = None
    by: Annotated[str | None, CommandOption("column that identifies people in both tables")] = None
    population: Annotated[
        str | None, CommandOption("a table of the whole population, for `unique_in_population`")
    ] = None
    aux: Annotated[
        str | None, CommandOption("a table of other people, for `other_columns_linkage`")
    ] = None
    others: Annotated[
        list[Path] | None,
        CommandOption("another release of the same people, for `composition`; repeat it"),
    ] = None
    other_original: Annotated[
        list[Path] | None,
        CommandOption("the original of each of --others, if it is another table"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class AttackFiles(ShowOptions):
    """What is attacked, and where the findings go."""

    original: Annotated[str, CommandOption("the original table")]
    recipe: Annotated[
        Path | None,
        CommandOption(
            "other roles and limits than those of the release",
            ("--recipe", "-r"),
        ),
    ] = None
    people: People = None
    engine: Annotated[
        str | None,
        CommandOption("who reads the original, Parquet: memory, polars, duckdb, spark or auto"),
    ] = None
    sign: Annotated[
        Path | None, CommandOption("private key (PEM), if the certificate is signed")
    ] = None
    certify: Annotated[
        bool,
        CommandOption(
            "add the findings to the shared certificate and both reports", ("--certify",)
        ),
    ] = False


@command("sfumato.release.attack_run:attack_release")
def attack(
    folder: ReleaseFolder,
    *,
    files: AttackFiles,
    knowledge: IntruderOptions,
    keywords: Keywords,
    alignment: ForeignOptions,
    reading: ReadOptions,
) -> None:
    """Let named intruders (prosecutor, journalist, neighbour, colleague, worst case) try the
    attacks of the literature.

    An attack that cannot be tried although it might succeed is unknown. Exit code 1 when an attack
    that the recipe limits succeeds more often than its limit allows, or is unknown. A table made
    elsewhere needs a recipe with the roles (-r) and --align.
    """
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe_files import load
    from sfumato.core.yaml_text import read_yaml
    from sfumato.release.attack_run import AttackContext, attack_release
    from sfumato.release.folder import read_release

    if "only" in keywords:
        keywords["only"] = [read_yaml(text, "--attack") for text in keywords["only"]]
    if files.recipe is not None and files.certify:
        raise ParameterError(
            "what is found with another recipe (-r) is not added to the certificate; leave"
            " --certify out"
        )
    if files.sign is not None and not files.certify:
        raise ParameterError("--sign is about the findings that --certify adds; give both")
    if folder.is_file() and (files.certify or knowledge.others):
        raise ParameterError(
            "--certify and --others are about a folder that run wrote; leave them out here"
        )
    foreign = foreign_file(folder, files.recipe, alignment, reading.intake)
    release: Any = foreign or read_release(folder)
    # A table made elsewhere always has a recipe; a second one is refused, but for tables.
    second_recipe = None if foreign else files.recipe
    sample = keywords.get("sample")
    _require_table_options(
        release.recipe.shape, knowledge, people=files.people, recipe=second_recipe, sample=sample
    )
    other_recipe = None if files.recipe is None else load(files.recipe)
    # A signature is needed in the end: that its key is missing is told before the attacks.
    if files.certify:
        release.require_key(files.sign)
    dataset = open_data(
        files.original,
        quiet=files.quiet,
        intake=reading.intake,
        recipe=release.recipe,
        people=files.people,
        format=release.made_for,
        engine=files.engine,
    )
    pair = release.beside(dataset)
    # The same people are looked for whenever this release is attacked, also by verify.
    seed = Seed(0) if foreign else release.seed
    limits = release.recipe.limits
    if other_recipe is not None:
        # Other roles on the same rows: nothing of the release is read again.
        pair = pair.with_roles_of(other_recipe.schema)
        limits = other_recipe.limits
    aux = _read_table(knowledge.aux)
    context = AttackContext(
        steps=release.recipe.steps,
        models=release.recipe.meet,
        limits=limits,
        intruder=_intruder(pair, knowledge, sample, aux, seed),
        others=_other_releases(knowledge, dataset),
        population=_read_table(knowledge.population),
        aux=aux,
    )
    options: AttackOptions = keywords.pop("options")
    with progress("attacking", quiet=files.quiet) as on_progress:
        report = attack_release(
            pair,
            **keywords,
            seed=seed,
            context=context,
            options=replace(
                options,
                progress=on_progress,
                on_outcome=lambda outcome: _tell_outcome(outcome, quiet=files.quiet),
            ),
        )
    # Added before it is shown: who stops reading must not lose what was found.
    if files.certify:
        release.add("attacks", report.to_dict(), sign=files.sign)
    present(report, json=files.json)
    if files.certify:
        certificate = folder / "share" / "certificate.json"
        tell(f"added to {escape(str(certificate))} and both reports", quiet=files.quiet)
    if not foreign and files.recipe is None:
        _tell_next(folder, files)
    if report.refused:
        raise typer.Exit(1)


def _tell_next(folder: Path, files: AttackFiles) -> None:
    """What to do with the findings: say them in the certificate, or verify what says them."""
    original = shlex.quote(files.original)
    if files.certify:
        command_line = f"sfumato verify {shlex.quote(str(folder / 'share'))} --original {original}"
    else:
        command_line = f"sfumato evaluate {shlex.quote(str(folder))} --original {original}"
    tell_next(command_line, quiet=files.quiet)


def _read_table(path: str | None) -> Table | None:
    if path is None:
        return None
    return read_data(path, quiet=True)


def _require_table_options(shape: Shape, knowledge: IntruderOptions, **options: object) -> None:
    """Refuse options that only releases of tables know."""
    of_tables = {**vars(knowledge), **options}
    del of_tables["others"]  # every shape knows other releases
    require_options(shape, **of_tables)


def _tell_outcome(outcome: Tried | Skipped, *, quiet: bool) -> None:
    """Say what came of one attack as soon as it is known; what does not apply is told at the
    end.
    """
    from sfumato.release.attack_report import Skipped

    if isinstance(outcome, Skipped):
        if not outcome.unknown:
            return
        words, result = outcome.words, "[yellow]unknown[/]"
    else:
        words, result = outcome.finding.words, percent(outcome.finding.value)
    tell(f"[dim]{escape(outcome.intruder)}, {escape(words)}:[/] {result}", quiet=quiet)


def _other_releases(knowledge: IntruderOptions, data: Data) -> tuple[TablePair | Data, ...]:
    """Further releases, each beside its original: the data that are attacked, or a table that was
    named for each of them.
    """
    from sfumato.release.folder import read_release

    folders, originals = knowledge.others or [], knowledge.other_original or []
    if originals and len(originals) != len(folders):
        raise ParameterError(
            f"--other-original was given {len(originals)} times and --others {len(folders)} times;"
            " give one original for each"
        )
    releases = []
    for number, folder in enumerate(folders):
        release = read_release(folder)
        if release.recipe.shape is not data.shape:
            raise ParameterError(
                f"{folder} holds a release of shape {release.recipe.shape}, not {data.shape}"
            )
        original = data
        if originals:
            original = open_data(str(originals[number]), quiet=True, recipe=release.recipe)
        releases.append(release.beside(original).as_other)
    return tuple(releases)


def _intruder(
    pair: TablePair, knowledge: IntruderOptions, sample: int | None, aux: Table | None, seed: Seed
) -> Intruder | None:
    """Who tries the release, where somebody is described; None: the named intruders."""
    from sfumato.release.attack_run import DEFAULT_SAMPLE
    from sfumato.release.intruders import intruder_from, intruder_with, renamed

    columns = names_in(knowledge.knows) if knowledge.knows else None
    if knowledge.intruder is not None:
        table = read_data(knowledge.intruder, quiet=True)
        table = renamed(table, _names(knowledge.rename or []))
        return intruder_with(pair, table, columns, by=knowledge.by, aux=aux)
    if knowledge.by is not None or knowledge.rename or aux is not None:
        raise ParameterError(
            "--by, --rename and --aux describe an intruder's own table; give it with --intruder"
        )
    if columns is None:
        return None
    return intruder_from(pair, columns, sample=sample or DEFAULT_SAMPLE, seed=seed)


def _names(texts: list[str]) -> dict[str, str]:
    """What the intruder calls columns, and what they are called here: ``years=age``."""
    names = {}
    for text in texts:
        parts = [part.strip() for part in text.split("=")]
        if len(parts) != 2 or not all(parts):
            raise ParameterError(
                "--rename takes the intruder's name and ours with = between: years=age"
            )
        if parts[0] in names:
            raise ParameterError(
                "--rename: a column of the intruder's table is named twice; name each once"
            )
        names[parts[0]] = parts[1]
    return names
