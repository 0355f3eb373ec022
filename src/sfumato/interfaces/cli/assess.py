"""``sfumato profile`` and ``sfumato assess``: look at a table, propose a recipe, say how exposed its people are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.schema import Role
from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces.cli.console import bar, documents_to_stdout, give_json, notes, out, progress, share, tell
from sfumato.interfaces.cli.options import (
    Data,
    Engine,
    Json,
    People,
    Quiet,
    Several,
    TableName,
    open_data,
    read_data,
    reading,
    refuse_options,
    refuse_people,
)

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model, Verdict
    from sfumato.core.recipe import Recipe
    from sfumato.core.registry import AskedModel
    from sfumato.data.lazy.table import LazyTable
    from sfumato.release.assessment import Assessment
    from sfumato.release.shaped.places import InDatabase


# ``sfumato profile``: propose a recipe.


@reading
def profile(
    data: Several,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="write the recipe to this new file instead of stdout")
    ] = None,
    table: TableName = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Look at a table and propose a recipe: roles, kinds and hierarchies, every guess marked with its reason.

    The recipe goes to stdout: [bold]sfumato profile visits.csv > visits.yaml[/]. No value of a person is printed. Several files, a folder of
    them, or a database without --table are several tables: then keys are found too, which table belongs to which, and what can be promised about persons.
    """
    from sfumato.data.lazy.parquet_columns import parquet_columns
    from sfumato.guidance.profiling.yaml_text import recipe_text
    from sfumato.interfaces.api import profile as propose
    from sfumato.release.shaped.places import several_places

    if json and output is not None:
        raise ParameterError("--json goes to stdout; leave out --output, or --json")
    if table is None and (places := several_places(data)) is not None:
        _profile_several(places, intake, output, json=json, quiet=quiet)
        return
    held: dict[str, Any] = {} if table is None else {"table": table, "engine": "memory"}
    large = None if intake.said() or held else parquet_columns(data[0])
    dataset = large or open_data(data[0], quiet=quiet, intake=intake, **held)
    with progress("trying means", quiet=quiet):
        proposal = propose(dataset)
    if json:
        give_json(dataclasses.asdict(proposal))
        return
    _give(recipe_text(proposal), output)
    asked = len(proposal.with_roles(Role.ASK))
    width = len(proposal.columns)
    first = f"decide the {asked} with role 'ask' and " if asked else ""
    together = "" if proposal.sampled is None else f", together in {proposal.sampled:,} of the rows"
    tell(
        f"{proposal.rows:,} rows, {width} column{'' if width == 1 else 's'} looked at{together}; {first}check every line marked 'guess'",
        quiet=quiet,
    )


def _give(text: str, output: Path | None) -> None:
    """A recipe to stdout, or into a new file."""
    if output is None:
        documents_to_stdout().write(text)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{output} already exists; a recipe is not overwritten") from None
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror}") from None


def _profile_several(
    places: Mapping[str, Path | InDatabase], intake: Intake, output: Path | None, *, json: bool, quiet: bool
) -> None:
    """Propose a recipe for several tables."""
    from sfumato.guidance.profiling.related_text import relations_text
    from sfumato.interfaces.api import profile as propose

    tables = {name: _one_of_several(place, intake, quiet=quiet) for name, place in places.items()}
    with progress("looking for keys", quiet=quiet):
        proposal: Any = propose(tables)
    if json:
        give_json(dataclasses.asdict(proposal))
        return
    _give(relations_text(proposal, {n: place.name for n, place in places.items() if isinstance(place, Path)}), output)
    for name, why in zip(proposal.apart, proposal.why, strict=True):
        tell(escape(f"{name} is left out: {why}"), quiet=quiet)
    together = len(proposal.tables)
    told = f"{together} tables belong together" if together > 1 else "no table belongs to another one"
    told += f", {len(proposal.apart)} left out" if proposal.apart else ""
    tell(f"{told}; check every line marked 'guess'", quiet=quiet)


def _one_of_several(place: Path | InDatabase, intake: Intake, *, quiet: bool) -> Dataset:
    """One of several tables; what was decided when it was read is told with its name."""
    if not isinstance(place, Path):
        return place.read(intake.said())
    read = read_data(str(place), quiet=True, intake=intake)
    notes(tuple(f"{place.name}: {note}" for note in read.source.notes), quiet=quiet)
    return read


Told = dict[str, Any]


@reading
def assess(
    data: Data,
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r", help="the recipe (YAML)")] = None,
    quasi: Annotated[list[str] | None, typer.Option(help="a quasi-identifier, instead of a recipe; repeat it")] = None,
    threshold: Annotated[
        float, typer.Option(help="risk above which a record counts as at risk", min=0.0001, max=1)
    ] = 0.2,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="a model to judge besides those of the recipe, with or without its degree: "
            "l_diversity:diagnosis or l_diversity:diagnosis,3 or t_closeness:cost,distance=ordered; repeat it"
        ),
    ] = None,
    record: Annotated[
        int | None, typer.Option(help="say which columns single out this record, counted from 0", min=0)
    ] = None,
    population: Annotated[
        str | None, typer.Option(help="a table of everyone: how many uniques of the table are unique there too")
    ] = None,
    people: People = None,
    seconds: Annotated[
        float, typer.Option(help="data that are no table: seconds of computing attacks have; 0: none", min=0)
    ] = 60.0,
    engine: Engine = None,
    table: TableName = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Say what an intruder can do with a table as it is: uniques, k, risks, and the columns that cause them."""
    from sfumato.core import recipe_files as recipes
    from sfumato.core.registry import ask
    from sfumato.core.shape import Shape
    from sfumato.interfaces.api import assess as look
    from sfumato.interfaces.cli import shaped
    from sfumato.interfaces.cli.attack import show as show_attacks

    loaded = None if recipe is None else recipes.load_any(recipe)
    if loaded is not None and loaded.shape is not Shape.TABLE:
        refuse_options(loaded.shape, quasi=quasi, record=record, population=population, engine=engine, table=table)
        told: dict[str, Any] = {"people": people, "models": model or [], "json": json, "quiet": quiet}
        shaped.assess(data, loaded, said=intake, seconds=seconds, show_attacks=show_attacks, **told)
        return
    refuse_people(people)
    questions = [ask(text) for text in model or []]
    dataset = open_data(data, quiet=quiet, intake=intake, recipe=loaded, engine=engine, table=table)
    described, models = _described(dataset, loaded, quasi or [], questions)
    if record is not None:
        _explain_record(described.in_memory("assess --record"), record, json=json)
        return
    base = Path() if recipe is None else recipe.parent
    everyone = None if population is None else read_data(population, quiet=True)
    with progress("counting", quiet=quiet):
        asked = (*models, *(question.model for question in questions))
        assessment = look(described, asked, threshold=threshold, population=everyone, base=base)
    assessment, attained = _told_apart(assessment, questions)
    if json:
        give_json({**assessment.to_dict(), "attained": [reached for _, reached in attained]})
    else:
        show(assessment, threshold)
        _show_attained(attained)


def _explain_record(dataset: Dataset, record: int, *, json: bool) -> None:
    """Why one record is risky: the smallest sets of columns that nobody else shares with it."""
    from sfumato.interfaces.api import why_alone

    reasons = why_alone(dataset, record)
    if json:
        give_json({"record": record, "alone_on": [list(columns) for columns in reasons]})
        return
    if not reasons:
        out().print(f"Nobody singles out record {record} with up to five columns: others fit as well.")
        return
    out().print(f"Record {record} is the only one for who knows")
    for columns in reasons[:20]:
        out().print(f"  {escape(' + '.join(columns))}", soft_wrap=True)
    if len(reasons) > 20:
        out().print(f"  … and {len(reasons) - 20} more sets")


def _told_apart(found: Assessment, questions: Sequence[AskedModel]) -> tuple[Assessment, list[tuple[Verdict, Told]]]:
    """The assessment with the verdicts on promises, and what is attained where a degree was left open."""
    asked = found.verdicts[len(found.verdicts) - len(questions) :]
    attained = [(v, _told(q, v, found.records)) for q, v in zip(questions, asked, strict=True) if q.left_open]
    open_ones = {id(verdict) for verdict, _ in attained}
    return dataclasses.replace(found, verdicts=tuple(v for v in found.verdicts if id(v) not in open_ones)), attained


def _told(question: AskedModel, verdict: Verdict, records: int) -> Told:
    """What a table attains, as plain data; where not even the weakest promise holds the sentence would speak of it."""
    sentence = verdict.sentence
    if not verdict.holds:
        sentence = (
            f"no {' and '.join(question.left_open)} holds: {verdict.records:,} of {records:,} records are beyond any"
        )
    plain = verdict.to_dict()
    return {"asked": question.text, "attained": plain["attained"], "sentence": sentence} | {
        key: plain[key] for key in ("model", "missing_rule")
    }


def _show_attained(attained: list[tuple[Verdict, Told]]) -> None:
    for verdict, reached in attained:
        value = (
            "nothing" if verdict.attained is None else "∞" if reached["attained"] is None else f"{verdict.attained:.4g}"
        )
        out().print(
            f"• [bold]{escape(reached['asked'])}[/]: attained [bold]{value}[/]; {escape(reached['sentence'])}",
            soft_wrap=True,
        )


def _described(
    dataset: Dataset | LazyTable, recipe: Recipe | None, quasi: list[str], questions: Sequence[AskedModel] = ()
) -> tuple[Dataset | LazyTable, tuple[Model, ...]]:
    from sfumato.interfaces.api import with_recipe

    if recipe is not None and quasi:
        raise ParameterError("give either a recipe (-r) or quasi-identifiers (--quasi), not both")
    if recipe is not None:
        described, loaded = with_recipe(dataset, recipe)
        return described, loaded.meet
    if not quasi:
        raise ParameterError(
            "say what an intruder knows: a recipe (-r visits.yaml) or columns (--quasi age --quasi zip)"
        )
    dataset.require(quasi)
    asked_about = {column for question in questions for column in question.model.about}
    rest = [c for c in dataset.columns if c not in quasi]
    sensitive = [c for c in rest if c in asked_about]
    return dataset.with_roles(quasi=quasi, sensitive=sensitive, plain=[c for c in rest if c not in sensitive]), ()


def show(found: Assessment, threshold: float) -> None:
    """Print an assessment for people."""
    console = out()
    who = f", {found.persons:,} persons" if found.persons is not None else ""
    console.print(
        f"[bold]{escape(found.name)}[/]: {found.records:,} records{who} in {found.classes:,} classes", soft_wrap=True
    )
    alone = f"{found.unique_records:,} records ({share(found.measure('unique_records'))})"
    console.print(
        f"Smallest class (k): [bold]{found.smallest_class}[/]. Unique: [bold]{alone}[/]. Missing values: {found.missing_rule}.\n"
    )
    console.print(_risks(found))
    if any(found.contributions.values()):
        console.print("\nHow much each column does to make records unique:")
        console.print(_contributions(found))
    if found.exposing_sets:
        size = len(found.exposing_sets[0].columns)
        console.print(f"\nSmallest sets of columns that single people out ({size} column{'s' if size > 1 else ''}):")
        for exposure in found.exposing_sets:
            console.print(
                f"  {escape(' + '.join(exposure.columns))}: {exposure.unique_records:,} record{'s' * (exposure.unique_records > 1)}",
                soft_wrap=True,
            )
    for verdict in found.verdicts:
        mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
        console.print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)


def _risks(found: Assessment) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for measure in found.measures:
        table.add_row(
            measure.name.replace("_", " "),
            f"{bar(measure.value, 12)} {share(measure.value):>6}",
            f"[dim]{measure.meaning}[/]",
        )
    return table


def _contributions(found: Assessment) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column()
    for name, fall in list(found.contributions.items())[:8]:
        table.add_row(escape(name), f"{bar(fall, 12)} {share(fall):>6}")
    return table
