"""``sfumato run``: make a release."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.portable import cannot_promise
from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import bar, give_json, notes, out, progress, share, tell
from sfumato.interfaces.cli.options import (
    Data,
    Engine,
    Json,
    People,
    Population,
    Quiet,
    TableName,
    open_data,
    read_beside,
    reading,
    refuse_options,
    refuse_people,
)
from sfumato.interfaces.cli.register_options import Person, RegisterFile, RegisterKey, memory_of, tell_remembered

if TYPE_CHECKING:
    from sfumato.release.table_release import TableRelease


@reading
def run(
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", help="folder to make; '-' prints the data only")],
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r", help="the recipe (YAML)")] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="instead of a recipe: an earlier release (its folder), whose levels, maps and keys are applied to these rows"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier release in that folder")] = False,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(help="format of the data, when it should differ from the input")
    ] = None,
    defuse: Annotated[
        bool, typer.Option("--defuse", help="CSV: an apostrophe before cells that a spreadsheet would run as formulas")
    ] = False,
    sign: Annotated[Path | None, typer.Option(help="Ed25519 private key (PEM) to sign the certificate with")] = None,
    seed: Annotated[
        str | None, typer.Option(help="hexadecimal seed, to repeat a run; short ones mark a rehearsal")
    ] = None,
    shuffle: Annotated[bool, typer.Option(help="shuffle the released rows: order identifies people too")] = True,
    attack: Annotated[
        float | None,
        typer.Option(
            help="seconds of computing intruders have to try the release before it is written; 0: none; by default none for tables, 60 for "
            "data of other shapes and where records are drawn anew",
            min=0,
        ),
    ] = None,
    population: Population = None,
    people: People = None,
    engine: Engine = None,
    table: TableName = None,
    into: Annotated[
        str | None,
        typer.Option(help="a database to write the released table into as well, such as postgresql://host/db"),
    ] = None,
    into_table: Annotated[str | None, typer.Option(help="the name of the table there")] = None,
    register: RegisterFile = None,
    to: Annotated[str | None, typer.Option("--to", help="with --register: who receives the release")] = None,
    person: Person = None,
    register_key: RegisterKey = None,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="write the pictures of both reports as PNG files too")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Anonymize a table as a recipe says, judge the output again, and write what may be shared and what may not.

    A recipe may be about data of another shape (baskets, paths, graph): they are attacked before and after too.
    """
    from sfumato.core.exchange import refuse_existing
    from sfumato.core.shape import Shape
    from sfumato.interfaces.api import run as make
    from sfumato.release.read_back import target_in

    loaded = _recipe(recipe, like, quiet=quiet)
    remembered = memory_of(register, to, person, register_key, output)
    if loaded.shape is not Shape.TABLE:
        from sfumato.interfaces.cli import shaped

        about_tables = {"population": population, "engine": engine, "table": table, "into": into}
        refuse_options(loaded.shape, **about_tables, into_table=into_table, register=register)
        how: dict[str, Any] = {"people": people, "format": format, "seed": seed, "shuffle": shuffle, "attack": attack}
        how |= {"force": force, "sign": sign, "pictures": pictures, "defuse": defuse, "json": json, "quiet": quiet}
        shaped.run(data, loaded, output, said=intake, **how)
        return
    refuse_people(people)
    format = format or ("csv" if output == "-" else None)  # noqa: A001
    target = target_in(into, into_table, force=force)
    if output != "-":
        refuse_existing(Path(output), force=force)
    elif target is not None:
        raise ParameterError("--into goes with a folder (-o out/), which holds the certificate of the table")
    if engine is None and output != "-" and format in (None, "parquet") and register is None:
        engine = "auto"
    dataset = open_data(data, quiet=quiet, intake=intake, recipe=loaded, engine=engine, table=table)
    if target is not None:
        target.require_room(dataset.source)
    with progress("searching", quiet=quiet) as on_progress:
        beside = read_beside(population)
        release = make(
            dataset,
            loaded,
            seed=seed,
            shuffle=shuffle,
            progress=on_progress,
            population=beside,
            format=format,
            into=None if output == "-" else output,
            memory=remembered.memory,
        )
    notes(release.original.source.notes[len(dataset.source.notes) :], quiet=quiet)
    if output == "-":
        release.write_data("-", format=format, defuse=defuse)
        return
    if attack or (attack is None and release.needs_attack):
        with progress("attacking", quiet=quiet) as on_progress:
            budget = {"seconds": attack} if attack else {}
            release = release.attacked(progress=on_progress, **budget)
    where: dict[str, Any] = {"into": into, "into_table": into_table, "attack": 0}
    form: dict[str, Any] = {"format": format, "force": force, "pictures": pictures, "defuse": defuse}
    folder = remembered.write(release, output, sign=sign, **form, **where)
    _tell_written(release, folder, remembered.told, json=json)
    tell_remembered(remembered, json=json, quiet=quiet)
    _tell_places(release, folder, None if target is None else target.shown, quiet=quiet)
    notes(cannot_promise("modes", "locks", *(("exchange",) if force else ())), quiet=quiet)


def _tell_places(release: TableRelease, folder: Path, table: str | None, *, quiet: bool) -> None:
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
        raise ParameterError("say what to do with -r recipe.yaml, or with --like the folder of an earlier release")
    if recipe is not None:
        return recipes.load_any(recipe)
    from sfumato.release.reapply import recipe_like

    loaded, anew = recipe_like(str(like))
    notes(tuple(f"{name} cannot do to other rows what it did before, and decides anew" for name in anew), quiet=quiet)
    return loaded


def _tell_written(release: TableRelease, folder: Path, told: dict[str, Any], *, json: bool) -> None:
    """Say what was released, and what a spreadsheet would run of it."""
    from sfumato.release.certificates import read_certificate
    from sfumato.release.report.wording import formulas

    written = read_certificate(folder / "share")["data"]
    if json:
        give_json({**_summary(release), "folder": str(folder), "formulas": written.get("formulas", {}), **told})
        return
    show(release)
    if (told_formulas := formulas(written)) is not None:
        out().print(f"[yellow]! {escape(told_formulas)}[/]", soft_wrap=True)


def _summary(release: TableRelease) -> dict[str, object]:
    return {
        "holds": release.holds,
        "headline": release.headline.text,
        "records": release.released.records,
        "suppressed": release.suppressed,
        "verdicts": [v.to_dict() for v in release.verdicts],
        "plan": [{"step": name, **plan.describe()} for name, plan in release.plans],
        "scores": release.scores,
        "risks_before": {m.name: m.value for m in release.before.measures},
        "risks_after": {m.name: m.value for m in release.after.measures},
        "limits": [kept.to_dict() for kept in release.limits],
        "contract": [kept.to_dict() for kept in release.contract],
        "preserved": [dataclasses.asdict(kept) for kept in release.preserved],
        "warnings": list(release.warnings),
        **({} if release.attacks is None else {"attacks": release.attacks.to_dict()}),
    }


def show(release: TableRelease) -> None:
    """Print a release for people."""
    console = out()
    _headline(release)
    for verdict in release.verdicts:
        mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
        console.print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)
    lost = f" ({share(release.suppressed / release.original.records)})" if not release.released.drawn else ""
    console.print(f"  {release.told_records}{lost}\n", soft_wrap=True)
    for bound in (*release.limits, *release.contract):
        console.print(f"{'[green]✓[/]' if bound else '[yellow]✗[/]'} {escape(bound.sentence)}", soft_wrap=True)
    console.print(_columns(release))
    if release.risks:
        console.print(_risks(release))
    _masking(release)
    if release.attacks is not None:
        from sfumato.interfaces.cli.attack import show as show_attacks

        console.print()
        show_attacks(release.attacks)


def _headline(release: TableRelease) -> None:
    """Promises, limits, attacks and unknowns in one line, before anything else."""
    headline = release.headline
    color = {"holds": "green", "broken": "red", "mixed": "yellow", "open": "yellow"}[headline.state]
    out().print(f"[bold {color}]{headline.text}[/]\n", soft_wrap=True)


def _masking(release: TableRelease) -> None:
    """What masking kept, exactly or approximately, and what it warns of."""
    if release.preserved:
        out().print("\nWhat masking kept:")
    for kept in release.preserved:
        out().print(f"  {'=' if kept.exactly else '≈'} {escape(str(kept))}", soft_wrap=True)
    for warning in release.warnings:
        out().print(f"[yellow]! {escape(warning)}[/]", soft_wrap=True)


def _columns(release: TableRelease) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("column", overflow="fold")
    table.add_column("what happened", overflow="fold")
    table.add_column("distinct values", justify="right")
    for change in release.columns:
        after = "–" if change.distinct_after is None else f"{change.distinct_after:,}"
        table.add_row(escape(change.name), change.action, f"{change.distinct_before:,} → {after}")
    return table


def _risks(release: TableRelease) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("risk")
    table.add_column("before")
    table.add_column("after")
    for before, after in release.risks:
        shown = (f"{bar(risk.value, 10)} {share(risk.value):>6}" for risk in (before, after))
        table.add_row(before.name.replace("_", " "), *shown)
    return table
