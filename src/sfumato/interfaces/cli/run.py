"""``sfumato run``: make a release."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from rich.markup import escape

from sfumato.core.blocks import Paragraph
from sfumato.core.fields import Fields
from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, notes, progress, show_blocks, tell, tell_next
from sfumato.interfaces.cli.options import (
    Data,
    EngineOptions,
    ReadOptions,
    ShowOptions,
    open_data,
    read_beside,
    require_options,
)
from sfumato.interfaces.cli.register_options import RegisterOptions, open_memory, tell_remembered

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe
    from sfumato.interfaces.api import RunOptions
    from sfumato.release.release import Release, WriteOptions
    from sfumato.release.table_release import TableRelease


@dataclass(frozen=True, kw_only=True)
class RunFiles(ShowOptions):
    """Where the release goes, and what says how it is made."""

    output: Annotated[str, CommandOption("folder to make; '-': print the data", ("--output", "-o"))]
    recipe: Annotated[Path | None, CommandOption("the recipe (YAML)", ("--recipe", "-r"))] = None
    like: Annotated[
        Path | None,
        CommandOption("instead of a recipe: repeat the decisions of this earlier release"),
    ] = None

    @property
    def folder(self) -> str | None:
        """The folder to make; None where the data are printed."""
        return None if self.output == "-" else self.output


@command("sfumato.interfaces.api:run", "sfumato.release.release:Release.write", without=("attack",))
def run(
    data: Data,
    *,
    files: RunFiles,
    making: Keywords,
    writing: Keywords,
    source: EngineOptions,
    register: RegisterOptions,
    reading: ReadOptions,
) -> None:
    """Anonymize a table by a recipe, judge the output again, and write what to share and what to
    keep.

    Intruders try non-tabular data and synthetic records for 60 s (see --attack).
    """
    from sfumato.core.exchange import refuse_existing
    from sfumato.core.registry import data_class
    from sfumato.interfaces import api
    from sfumato.release.attack_run import DEFAULT_SECONDS, AttackOptions
    from sfumato.release.publish import publish
    from sfumato.release.read_back import target_in
    from sfumato.release.report.wording import formulas
    from sfumato.release.table_sections import sections

    quiet = files.quiet
    write: WriteOptions = writing["options"]
    force = writing.get("force", False)
    recipe = _load_recipe(files)
    database = {"into": write.into, "into_table": write.into_table}
    require_options(recipe.shape, **vars(source), **database, register=register.register)
    remembered = open_memory(register, files.output)
    options: RunOptions = making.pop("options")
    if files.folder is None and options.format is None:
        options = replace(options, format="csv")
    target = target_in(write.into, write.into_table, force=force)
    if files.folder is not None:
        refuse_existing(Path(files.folder), force=force)
    elif target is not None:
        raise ParameterError(
            "--into needs a folder (-o out/), which holds the certificate of the table"
        )
    # Who holds the data: the engine that was named, else one by size where the data can be held and
    # the release is written as Parquet.
    can_be_held = "engine" in data_class(recipe.shape).options
    is_parquet = files.folder is not None and options.format in (None, "parquet")
    engine = source.engine
    if engine is None and can_be_held and is_parquet and register.register is None:
        engine = "auto"
    dataset = open_data(
        data,
        quiet=quiet,
        intake=reading.intake,
        recipe=recipe,
        people=source.people,
        format=options.format,
        engine=engine,
        table=source.table,
    )
    if files.folder is None:
        dataset.one_table()  # only one table can be printed; everything else goes into a folder
    if target is not None:
        target.require_room(dataset.source)
    seconds = making.pop("seconds", None)
    with progress("searching", quiet=quiet) as on_progress:
        release = api.run(
            dataset,
            recipe,
            **making,
            population=read_beside(source.population),
            seconds=seconds if dataset.attacked_by_run else None,
            progress=on_progress,
            options=replace(options, into=files.folder, memory=remembered.memory),
        )
    notes(release.original.source.notes[len(dataset.source.notes) :], quiet=quiet)
    if files.folder is None:
        # Only one table has its rows on standard output.
        cast("TableRelease", release).write_data("-", format=options.format, defuse=write.defuse)
        return
    if release.attacks is None and (seconds or (seconds is None and release.needs_attack)):
        with progress("attacking", quiet=quiet) as on_progress:
            release = release.attacked(
                seconds=seconds or DEFAULT_SECONDS, options=AttackOptions(progress=on_progress)
            )
    folder = Path(files.folder)
    with remembered.registered(release, folder, elsewhere=write.into is not None) as enter:
        files_written = publish(
            release,
            folder,
            format=options.format,
            force=force,
            sign=writing.get("sign"),
            options=write,
        )
        enter(folder)
    # Say what was released, and what a spreadsheet would run of it.
    tables = sections(files_written.certificate).values()
    if files.json:
        give_json({**_summary(release, folder, tables), **remembered.told})
    else:
        show_blocks(release.blocks())
        for table in tables:
            sentence = formulas(table)
            if sentence is not None:
                show_blocks([Paragraph(sentence, "warning")])
    tell_remembered(remembered, json=files.json, quiet=quiet)
    alignment = "" if release.parts else "alignment, "
    places = f"share  {folder / 'share'}: data, certificate, report\n"
    places += f"keep   {folder / 'owner'}: lock, {alignment}owner's report"
    if target is not None:
        places += f"\ntable  {escape(target.shown)}: written and judged there"
    tell(places, quiet=quiet)
    _tell_next(release, folder, data, with_verifier=write.with_verifier, quiet=quiet)
    exchange = ("exchange",) if force else ()
    notes(cannot_promise("modes", "locks", *exchange), quiet=quiet)


def _tell_next(
    release: Release, folder: Path, data: str, *, with_verifier: bool, quiet: bool
) -> None:
    """What a checker beside the data is worth, and what to do before the release is shared: let
    intruders try it, or verify it.
    """
    if with_verifier:
        from sfumato.release.verifier_file import CAVEAT

        notes((CAVEAT,), quiet=quiet)
    original = f"--original {shlex.quote(data)}"
    if release.attacks is None and release.certified is None:
        tell_next(f"sfumato attack {shlex.quote(str(folder))} {original}", quiet=quiet)
    else:
        tell_next(f"sfumato verify {shlex.quote(str(folder / 'share'))} {original}", quiet=quiet)


def _load_recipe(files: RunFiles) -> Recipe:
    """What is to be done: as a recipe says, or as it was done before."""
    from sfumato.core import recipe_files as recipes

    # Exactly one of the two: none or both make the comparison true.
    if (files.recipe is None) == (files.like is None):
        raise ParameterError(
            "give a recipe with -r recipe.yaml, or the folder of an earlier release with --like"
        )
    if files.recipe is not None:
        return recipes.load_any(files.recipe)
    from sfumato.release.reapply import recipe_like

    recipe, steps = recipe_like(str(files.like))
    for name in steps:
        note = f"{name} cannot repeat its decisions on other rows, and decides again"
        notes((note,), quiet=files.quiet)
    return recipe


def _summary(release: Release, folder: Path, tables: Iterable[Fields]) -> dict[str, object]:
    """The release as plain data, with the cells that a spreadsheet would run."""
    summary: dict[str, object] = {**release.summary(), "folder": str(folder)}
    runnable: dict[str, int] = {}
    for table in tables:
        runnable |= table.get("formulas", {})
    if runnable or release.columns:  # of one table it is told where there are none, too
        summary["formulas"] = runnable
    return summary
