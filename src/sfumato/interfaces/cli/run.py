"""``sfumato run``: make a release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rich.markup import escape

from sfumato.core.blocks import Paragraph
from sfumato.core.options import Option
from sfumato.core.portable import cannot_promise
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, notes, progress, show_blocks, tell
from sfumato.interfaces.cli.options import (
    SECONDS,
    Data,
    EngineOptions,
    Json,
    Quiet,
    ReadOptions,
    open_data,
    read_beside,
    require_options,
)
from sfumato.interfaces.cli.register_options import RegisterOptions, memory_of, tell_remembered

if TYPE_CHECKING:
    from sfumato.release.release import Release


@dataclass(frozen=True)
class WriteOptions:
    """How a release is written."""

    panel: ClassVar[str] = "How the release is written"
    force: Annotated[bool, Option("replace an earlier release", ("--force",))] = False
    sign: Annotated[Path | None, Option("private key (PEM) to sign with")] = None
    seed: Annotated[
        str | None, Option("hexadecimal, to repeat a run; short ones mark a rehearsal")
    ] = None
    shuffle: Annotated[bool, Option("shuffle rows: order identifies too")] = True
    format: Annotated[str | None, Option("another format than the input's")] = None
    defuse: Annotated[bool, Option("CSV: an apostrophe before formulas", ("--defuse",))] = False
    pictures: Annotated[bool, Option("pictures of reports as PNG too", ("--pictures",))] = False
    into: Annotated[str | None, Option("a database for the table, too")] = None
    into_table: Annotated[str | None, Option("the name of the table there")] = None


@command()
def run(
    data: Data,
    output: Annotated[str, Option("folder to make; '-': print the data", ("--output", "-o"))],
    recipe: Annotated[Path | None, Option("the recipe (YAML)", ("--recipe", "-r"))] = None,
    like: Annotated[
        Path | None, Option("instead of a recipe: do as in this earlier release")
    ] = None,
    attack: Annotated[
        float | None,
        Option("time that intruders have to try the release; 0: none", minimum=0, metavar=SECONDS),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    *,
    writing: WriteOptions,
    given: EngineOptions,
    register: RegisterOptions,
    reading: ReadOptions,
) -> None:
    """Anonymize a table as a recipe says, judge the output again, and write what may be shared and
    what may not.

    Intruders try data that are no table, and records drawn anew, for 60 seconds unless --attack
    says otherwise.
    """
    from sfumato.core.exchange import refuse_existing
    from sfumato.core.registry import data_class
    from sfumato.interfaces.api import run as make
    from sfumato.release.read_back import target_in

    loaded = _recipe(recipe, like, quiet=quiet)
    place = {"into": writing.into, "into_table": writing.into_table}
    require_options(loaded.shape, **vars(given), **place, register=register.register)
    remembered = memory_of(register, output)
    format = writing.format or ("csv" if output == "-" else None)  # noqa: A001
    target = target_in(writing.into, writing.into_table, force=writing.force)
    if output != "-":
        refuse_existing(Path(output), force=writing.force)
    elif target is not None:
        raise ParameterError(
            "--into goes with a folder (-o out/), which holds the certificate of the table"
        )
    engine = given.engine
    may_be_held = "engine" in data_class(loaded.shape).options
    if (
        may_be_held
        and engine is None
        and output != "-"
        and format in (None, "parquet")
        and register.register is None
    ):
        engine = "auto"
    how_to_read: dict[str, Any] = {
        "people": given.people,
        "format": format,
        "engine": engine,
        "table": given.table,
    }
    dataset = open_data(data, quiet=quiet, intake=reading.intake, recipe=loaded, **how_to_read)
    if output == "-":
        dataset.one_table()  # only one table can be printed; everything else goes into a folder
    if target is not None:
        target.require_room(dataset.source)
    with progress("searching", quiet=quiet) as on_progress:
        beside = read_beside(given.population)
        release = make(
            dataset,
            loaded,
            seed=writing.seed,
            shuffle=writing.shuffle,
            progress=on_progress,
            population=beside,
            format=format,
            into=None if output == "-" else output,
            memory=remembered.memory,
            seconds=attack if dataset.attacked_by_run else None,
        )
    notes(release.original.source.notes[len(dataset.source.notes) :], quiet=quiet)
    if output == "-":
        release.write_data("-", format=format, defuse=writing.defuse)
        return
    if release.attacks is None and (attack or (attack is None and release.needs_attack)):
        with progress("attacking", quiet=quiet) as on_progress:
            budget = {"seconds": attack} if attack else {}
            release = release.attacked(progress=on_progress, **budget)
    form: dict[str, Any] = {"format": format, "force": writing.force, "pictures": writing.pictures}
    form |= {"sign": writing.sign, "defuse": writing.defuse, "attack": 0, **place}
    folder = remembered.write(release, output, **form)
    _tell_written(release, folder, remembered.told, json=json)
    tell_remembered(remembered, json=json, quiet=quiet)
    _tell_places(release, folder, None if target is None else target.shown, quiet=quiet)
    notes(cannot_promise("modes", "locks", *(("exchange",) if writing.force else ())), quiet=quiet)


def _tell_places(release: Release, folder: Path, table: str | None, *, quiet: bool) -> None:
    """Say what may be shared, what is to be kept, and where the table is."""
    tell(
        f"share  {folder / 'share'}: data, certificate, report\n"
        f"keep   {folder / 'owner'}: lock, {'' if release.parts else 'alignment, '}owner's report"
        + (f"\ntable  {escape(table)}: written and judged there" if table else ""),
        quiet=quiet,
    )


def _recipe(recipe: Path | None, like: Path | None, *, quiet: bool) -> Any:
    """What is to be done: as a recipe says, or as it was done before."""
    from sfumato.core import recipe_files as recipes

    if (recipe is None) == (like is None):
        raise ParameterError(
            "say what to do with -r recipe.yaml, or with --like the folder of an earlier release"
        )
    if recipe is not None:
        return recipes.load_any(recipe)
    from sfumato.release.reapply import recipe_like

    loaded, anew = recipe_like(str(like))
    notes(
        tuple(
            f"{name} cannot do to other rows what it did before, and decides anew" for name in anew
        ),
        quiet=quiet,
    )
    return loaded


def _tell_written(release: Release, folder: Path, told: dict[str, Any], *, json: bool) -> None:
    """Say what was released, and what a spreadsheet would run of it."""
    from sfumato.release.manifest import FILE
    from sfumato.release.report.wording import formulas
    from sfumato.release.table_sections import sections
    from sfumato.release.written_files import read_json

    written = list(sections(read_json(folder / "share" / FILE)).values())
    if json:
        runnable = {
            column: cells
            for section in written
            for column, cells in section.get("formulas", {}).items()
        }
        if runnable or release.columns:  # of one table it is told where there are none, too
            told = {"formulas": runnable, **told}
        give_json({**release.summary(), "folder": str(folder), **told})
        return
    show_blocks(release.blocks())
    for section in written:
        if (sentence := formulas(section)) is not None:
            show_blocks([Paragraph(sentence, "warning")])
