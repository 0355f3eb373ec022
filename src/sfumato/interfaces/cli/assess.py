"""``sfumato profile`` and ``sfumato assess``: look at a table, propose a recipe, say how exposed
its people are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.schema import Role
from sfumato.core.shape import Shape
from sfumato.core.source import Intake
from sfumato.core.words import count_of, join_words
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces import api
from sfumato.interfaces.api import AssessOptions
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import (
    documents_to_stdout,
    give_json,
    notes,
    out,
    progress,
    show_blocks,
    tell,
)
from sfumato.interfaces.cli.hierarchy import ColumnOptions, look_at_column
from sfumato.interfaces.cli.options import (
    Data,
    EngineOptions,
    ReadOptions,
    Several,
    ShowOptions,
    TableName,
    open_data,
    read_data,
    require_options,
)

if TYPE_CHECKING:
    from sfumato.core import data as core_data
    from sfumato.core.model import Model, Verdict
    from sfumato.core.recipe import Recipe
    from sfumato.core.registry import AskedModel
    from sfumato.core.table import Table
    from sfumato.release.table_locations import InDatabase


# ``sfumato profile``: propose a recipe.


@dataclass(frozen=True, kw_only=True)
class ProfileFiles(ShowOptions):
    """Which table is looked at, and where the recipe goes."""

    output: Annotated[
        Path | None,
        CommandOption(
            "new file for the recipe, instead of stdout; with --column for its hierarchy (CSV)",
            ("--output", "-o"),
        ),
    ] = None
    table: TableName = None


@command(api.profile)
def profile(
    data: Several,
    *,
    files: ProfileFiles,
    hierarchy: ColumnOptions,
    reading: ReadOptions,
) -> None:
    """Look at a table and propose a recipe: roles, kinds and hierarchies, every guess marked with
    its reason.

    The recipe goes to stdout: [bold]sfumato profile visits.csv > visits.yaml[/]. No value of a
    person is printed. Several files, a folder of them, or a database without --table are
    several tables: then keys are found too, which table belongs to which, and what can be promised
    about persons. With --column the hierarchy of a column is shown with its labels and counts: for
    the owner's eyes.
    """
    output, table, json, quiet = files.output, files.table, files.json, files.quiet
    from sfumato.data.lazy.parquet_columns import parquet_columns
    from sfumato.guidance.profiling.yaml_text import recipe_text
    from sfumato.release.table_locations import locations_in

    if hierarchy.column is not None:
        if table is not None:
            raise ParameterError("--column looks at a file; leave out --table")
        look_at_column(data, hierarchy, output, reading.intake, json=json, quiet=quiet)
        return
    if any(value is not None for value in vars(hierarchy).values()):
        raise ParameterError(
            "--recipe, --rule and --show go with --column, which names the column to look at"
        )
    if json and output is not None:
        raise ParameterError("--json goes to stdout; leave out --output, or --json")
    if table is None and (places := locations_in(data)) is not None:
        _profile_several(places, reading.intake, output, json=json, quiet=quiet)
        return
    held: dict[str, Any] = {} if table is None else {"table": table, "engine": "memory"}
    large = None if reading.intake.said() or held else parquet_columns(data[0])
    dataset = large or open_data(data[0], quiet=quiet, intake=reading.intake, **held)
    with progress("trying means", quiet=quiet):
        proposal = api.profile(dataset)
    if json:
        give_json(dataclasses.asdict(proposal))
        return
    _give(recipe_text(proposal), output)
    asked = len(proposal.with_roles(Role.ASK))
    width = len(proposal.columns)
    first = f"decide the {asked} with role 'ask' and " if asked else ""
    together = "" if proposal.sampled is None else f", together in {proposal.sampled:,} of the rows"
    tell(
        f"{proposal.rows:,} rows, {count_of(width, 'column')} looked at{together}; {first}check"
        " every line marked 'guess'",
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
    places: Mapping[str, Path | InDatabase],
    intake: Intake,
    output: Path | None,
    *,
    json: bool,
    quiet: bool,
) -> None:
    """Propose a recipe for several tables."""
    from sfumato.guidance.profiling.related_text import relations_text

    tables = {name: _one_of_several(place, intake, quiet=quiet) for name, place in places.items()}
    with progress("looking for keys", quiet=quiet):
        proposal: Any = api.profile(tables)
    if json:
        give_json(dataclasses.asdict(proposal))
        return
    _give(
        relations_text(
            proposal, {n: place.name for n, place in places.items() if isinstance(place, Path)}
        ),
        output,
    )
    for name, why in zip(proposal.apart, proposal.why, strict=True):
        tell(escape(f"{name} is left out: {why}"), quiet=quiet)
    together = len(proposal.tables)
    told = (
        f"{together} tables belong together" if together > 1 else "no table belongs to another one"
    )
    told += f", {len(proposal.apart)} left out" if proposal.apart else ""
    tell(f"{told}; check every line marked 'guess'", quiet=quiet)


def _one_of_several(place: Path | InDatabase, intake: Intake, *, quiet: bool) -> Table:
    """One of several tables; what was decided when it was read is told with its name."""
    if not isinstance(place, Path):
        return place.read(intake.said())
    read = read_data(str(place), quiet=True, intake=intake)
    notes(tuple(f"{place.name}: {note}" for note in read.source.notes), quiet=quiet)
    return read


Told = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class AssessFiles(ShowOptions):
    """What says which columns an intruder knows, and whether one record is looked at."""

    recipe: Annotated[Path | None, CommandOption("the recipe (YAML)", ("--recipe", "-r"))] = None
    quasi: Annotated[
        list[str] | None, CommandOption("a quasi-identifier, instead of a recipe; repeat it")
    ] = None
    record: Annotated[
        int | None,
        CommandOption("say which columns single out this record, counted from 0", minimum=0),
    ] = None


@command(api.assess)
def assess(
    data: Data,
    *,
    files: AssessFiles,
    keywords: Keywords,
    given: EngineOptions,
    reading: ReadOptions,
) -> None:
    """Say what an intruder can do with a table as it is: uniques, k, risks, and the columns that
    cause them.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.registry import ask

    recipe = None if files.recipe is None else recipes.load_any(files.recipe)
    shape = Shape.TABLE if recipe is None else recipe.shape
    options: AssessOptions = keywords.pop("options")
    require_options(
        shape,
        **vars(given),
        seconds=options.seconds,
        quasi=files.quasi,
        record=files.record,
        threshold=keywords.get("threshold"),
    )
    questions = [ask(text, shape) for text in keywords.pop("meet", ())]
    how_to_read = {"engine": given.engine, "table": given.table}
    if given.people is not None:
        how_to_read["people"] = given.people
    dataset = open_data(
        data, quiet=files.quiet, intake=reading.intake, recipe=recipe, **how_to_read
    )
    described, models = _described(dataset, recipe, files.quasi or [], questions)
    if files.record is not None:
        table = described.one_table().in_memory("assess --record")
        _explain_record(table, files.record, json=files.json)
        return
    meet = (*models, *(question.model for question in questions))
    population = None if given.population is None else read_data(given.population, quiet=True)
    if files.recipe is not None:
        options = dataclasses.replace(options, base=files.recipe.parent)
    act = "attacking" if described.attacked_by_run else "counting"
    with progress(act, quiet=files.quiet) as on_progress:
        assessment = api.assess(
            described,
            meet,
            **keywords,
            population=population,
            progress=on_progress,
            options=options,
        )
    assessment, attained = _told_apart(assessment, questions)
    if files.json:
        give_json({**assessment.to_dict(), "attained": [reached for _, reached in attained]})
        return
    show_blocks(assessment.blocks())
    _show_attained(attained)


def _explain_record(dataset: Table, record: int, *, json: bool) -> None:
    """Why one record is risky: the smallest sets of columns that nobody else shares with it."""
    from sfumato.interfaces.api import why_alone

    reasons = why_alone(dataset, record)
    if json:
        give_json({"record": record, "alone_on": [list(columns) for columns in reasons]})
        return
    if not reasons:
        out().print(
            f"Nobody singles out record {record} with up to five columns: others fit as well."
        )
        return
    out().print(f"Record {record} is the only one for who knows")
    for columns in reasons[:20]:
        out().print(f"  {escape(' + '.join(columns))}", soft_wrap=True)
    if len(reasons) > 20:
        out().print(f"  … and {len(reasons) - 20} more sets")


def _told_apart(
    found: Any, questions: Sequence[AskedModel]
) -> tuple[Any, list[tuple[Verdict, Told]]]:
    """The assessment with the verdicts on promises, and what is attained where a degree was left
    open.
    """
    asked = found.verdicts[len(found.verdicts) - len(questions) :]
    attained = [
        (v, _told(q, v, found.size)) for q, v in zip(questions, asked, strict=True) if q.left_open
    ]
    open_ones = {id(verdict) for verdict, _ in attained}
    return (
        dataclasses.replace(
            found, verdicts=tuple(v for v in found.verdicts if id(v) not in open_ones)
        ),
        attained,
    )


def _told(question: AskedModel, verdict: Verdict, records: int) -> Told:
    """What a table attains, as plain data; where not even the weakest promise holds the sentence
    would speak of it.
    """
    sentence = verdict.sentence
    if not verdict.holds:
        sentence = (
            f"no {join_words(question.left_open)} holds: {verdict.records:,} of {records:,} records"
            " are beyond any"
        )
    plain = verdict.to_dict()
    return {"asked": question.text, "attained": plain["attained"], "sentence": sentence} | {
        key: plain[key] for key in ("model", "missing_rule")
    }


def _show_attained(attained: list[tuple[Verdict, Told]]) -> None:
    for verdict, reached in attained:
        value = (
            "nothing"
            if verdict.attained is None
            else "∞"
            if reached["attained"] is None
            else f"{verdict.attained:.4g}"
        )
        out().print(
            f"• [bold]{escape(reached['asked'])}[/]: attained [bold]{value}[/];"
            f" {escape(reached['sentence'])}",
            soft_wrap=True,
        )


def _described(
    data: core_data.Data,
    recipe: Recipe | None,
    quasi: list[str],
    questions: Sequence[AskedModel] = (),
) -> tuple[core_data.Data, tuple[Model, ...]]:
    if recipe is not None and quasi:
        raise ParameterError("give either a recipe (-r) or quasi-identifiers (--quasi), not both")
    if recipe is not None:
        return data.described_by(recipe), recipe.meet
    if not quasi:
        raise ParameterError(
            "say what an intruder knows: a recipe (-r visits.yaml) or columns (--quasi age --quasi"
            " zip)"
        )
    table = data.one_table()
    table.require(quasi)
    asked_about = {column for question in questions for column in question.model.about}
    others = [c for c in table.columns if c not in quasi]
    sensitive = [c for c in others if c in asked_about]
    plain = [c for c in others if c not in sensitive]
    return table.with_roles(quasi=quasi, sensitive=sensitive, keep=plain), ()
