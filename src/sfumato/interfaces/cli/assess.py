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

from sfumato.core.fields import Document, Fields
from sfumato.core.options import CommandOption
from sfumato.core.source import Intake
from sfumato.core.words import count_of, join_words
from sfumato.errors import OutputError, ParameterError
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
    from sfumato.interfaces.api import AssessOptions
    from sfumato.release.assessment import Assessment
    from sfumato.release.data_assessment import DataAssessment
    from sfumato.release.table_locations import InDatabase


MOST_CLASSES = 20
"""Classes that are shown of a promise."""
MOST_SETS = 20
"""Sets of columns that are shown for a record."""

# ``sfumato profile``: propose a recipe.


@dataclass(frozen=True, kw_only=True)
class ProfileFiles(ShowOptions):
    """Which table is looked at, and where the recipe goes."""

    output: Annotated[
        Path | None,
        CommandOption(
            "new file for the recipe, instead of stdout; with --column, for its hierarchy (CSV)",
            ("--output", "-o"),
        ),
    ] = None
    table: TableName = None
    engine: Annotated[
        str | None,
        CommandOption("parts of one table: memory, polars, duckdb or spark"),
    ] = None


@command("sfumato.interfaces.api:profile")
def profile(
    data: Several,
    *,
    files: ProfileFiles,
    hierarchy: ColumnOptions,
    reading: ReadOptions,
) -> None:
    """Look at a table and propose a recipe: roles, kinds and hierarchies, each with its reason.

    The recipe goes to stdout: [bold]sfumato profile visits.csv > visits.yaml[/]. No value of a
    person is printed. Several files, a folder of them, or a database without --table are
    several tables: then keys are found too, which table belongs to which, and what can be promised
    about persons. With --column the hierarchy of a column is shown with its labels and counts: for
    the owner's eyes.
    """
    from sfumato.core.schema import Role
    from sfumato.data.lazy.parquet_columns import parquet_columns
    from sfumato.guidance.profiling.yaml_text import recipe_text
    from sfumato.interfaces import api
    from sfumato.release.table_locations import locations_in

    output, table, json, quiet = files.output, files.table, files.json, files.quiet
    if hierarchy.column is not None:
        if table is not None:
            raise ParameterError("--column looks at a file; leave out --table")
        look_at_column(data, hierarchy, output, reading.intake, json=json, quiet=quiet)
        return
    if any(value is not None for value in vars(hierarchy).values()):
        raise ParameterError(
            "--recipe, --rule and --show belong to --column, which names the column; add --column"
        )
    if json and output is not None:
        raise ParameterError("--json goes to stdout; leave out --output, or --json")
    if table is None and files.engine is None:
        locations = locations_in(data)
        if locations is not None:
            _profile_tables(locations, reading.intake, files)
            return
    dataset: Any = None
    # Column by column only where nothing is said of reading: options are for the usual reader.
    if table is None and files.engine is None and not reading.intake.options():
        dataset = parquet_columns(data[0])
    if dataset is None:
        engine = files.engine
        dataset = open_data(data[0], quiet=quiet, intake=reading.intake, table=table, engine=engine)
    with progress("trying steps", quiet=quiet):
        proposal = api.profile_table(dataset)
    if json:
        questions = [dataclasses.asdict(question) for question in proposal.questions]
        about_all = {"questions": questions, "warnings": proposal.warnings}
        give_json({**dataclasses.asdict(proposal), **about_all})
        return
    _write_recipe(recipe_text(proposal), output)
    sentence = f"{proposal.rows:,} rows, {count_of(len(proposal.columns), 'column')} examined"
    if proposal.sampled is not None:
        sentence += f", together in {proposal.sampled:,} of the rows"
    notes(proposal.warnings, quiet=quiet)
    undecided = len(proposal.with_roles(Role.ASK))
    first = f"decide the {undecided} with role 'ask' and " if undecided else ""
    tell(f"{sentence}; {first}check every line marked 'guess'", quiet=quiet)


def _write_recipe(text: str, output: Path | None) -> None:
    """Write a recipe to stdout, or into a new file."""
    if output is None:
        documents_to_stdout().write(text)
        return
    try:
        # Mode x refuses a file that exists, with no moment between asking and writing.
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(
            f"{output} already exists, and a recipe is never overwritten; choose another file"
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror}") from None


def _profile_tables(
    locations: Mapping[str, Path | InDatabase], intake: Intake, files: ProfileFiles
) -> None:
    """Propose a recipe for several tables."""
    from sfumato.guidance.profiling.related_text import relations_text
    from sfumato.interfaces import api

    quiet = files.quiet
    tables, names = {}, {}
    for name, location in locations.items():
        if isinstance(location, Path):
            names[name] = location.name
            tables[name] = read_data(str(location), quiet=True, intake=intake)
            # Several tables are read: each note says which one it is about.
            source_notes = tables[name].source.notes
            notes(tuple(f"{location.name}: {note}" for note in source_notes), quiet=quiet)
        else:
            tables[name] = location.read(intake.options())
    with progress("looking for keys", quiet=quiet):
        proposal: Any = api.profile(tables)
    if files.json:
        give_json(dataclasses.asdict(proposal))
        return
    _write_recipe(relations_text(proposal, names), files.output)
    for name, why in zip(proposal.apart, proposal.why, strict=True):
        tell(escape(f"{name} is left out: {why}"), quiet=quiet)
    count = len(proposal.tables)
    sentence = "no table belongs to another one"
    if count > 1:
        sentence = f"{count} tables belong together"
    if proposal.apart:
        sentence += f", {len(proposal.apart)} left out"
    tell(f"{sentence}; check every line marked 'guess'", quiet=quiet)


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
    by_class: Annotated[
        bool,
        CommandOption("every promise class by class, with labels: for the owner's eyes"),
    ] = False


@command("sfumato.interfaces.api:assess")
def assess(
    data: Data,
    *,
    files: AssessFiles,
    keywords: Keywords,
    source: EngineOptions,
    reading: ReadOptions,
) -> None:
    """Show what an intruder can do with a table as it is: uniques, k, risks, and the columns that
    cause them.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.core.registry import ask
    from sfumato.core.shape import Shape
    from sfumato.interfaces import api

    recipe = None if files.recipe is None else recipes.load_any(files.recipe)
    shape = Shape.TABLE if recipe is None else recipe.shape
    options: AssessOptions = keywords.pop("options")
    require_options(
        shape,
        **vars(source),
        seconds=options.seconds,
        quasi=files.quasi,
        record=files.record,
        threshold=keywords.get("threshold"),
    )
    # A model that does not exist is refused before the data are read.
    questions = [ask(text, shape) for text in keywords.pop("meet", ())]
    how_to_read = {"engine": source.engine, "table": source.table}
    # Without a recipe data are read as one table, which knows no such option.
    if source.people is not None:
        how_to_read["people"] = source.people
    dataset = open_data(
        data, quiet=files.quiet, intake=reading.intake, recipe=recipe, **how_to_read
    )
    dataset, models = _with_roles(dataset, recipe, files.quasi or [], questions)
    if files.record is not None:
        table = dataset.one_table().in_memory("assess --record")
        _show_record(table, files.record, json=files.json)
        return
    meet = (*models, *(question.model for question in questions))
    if files.by_class:
        table = dataset.one_table().in_memory("assess --by-class")
        _show_classes(table, meet, json=files.json)
        return
    population = None
    if source.population is not None:
        population = read_data(source.population, quiet=True)
    if files.recipe is not None:
        options = dataclasses.replace(options, base=files.recipe.parent)
    act = "attacking" if dataset.attacked_by_run else "counting"
    with progress(act, quiet=files.quiet) as on_progress:
        assessment = api.assess(
            dataset,
            meet,
            **keywords,
            population=population,
            progress=on_progress,
            options=options,
        )
    assessment, attained = _split_verdicts(assessment, questions)
    if files.json:
        give_json({**assessment.to_dict(), "attained": [fields for _, fields in attained]})
        return
    show_blocks(assessment.blocks())
    for verdict, fields in attained:
        _show_attained(verdict, fields)


def _show_record(dataset: Table, record: int, *, json: bool) -> None:
    """Why one record is risky: the smallest sets of columns that nobody else shares with it."""
    from sfumato.interfaces.api import why_alone

    reasons = why_alone(dataset, record)
    if json:
        give_json({"record": record, "alone_on": [list(columns) for columns in reasons]})
        return
    if not reasons:
        out().print(f"Record {record} is not unique by any combination of up to five columns.")
        return
    out().print(f"Record {record} is unique to somebody who knows")
    for columns in reasons[:MOST_SETS]:
        out().print(f"  {escape(' + '.join(columns))}", soft_wrap=True)
    if len(reasons) > MOST_SETS:
        out().print(f"  … and {len(reasons) - MOST_SETS} more sets")


def _show_classes(dataset: Table, meet: Sequence[Any], *, json: bool) -> None:
    """What every promise attains in every class; without promises, how large the classes are."""
    from sfumato.core.blocks import Paragraph, TableBlock
    from sfumato.interfaces.api import judge

    verdicts = judge(dataset, meet or "k_anonymity")
    if json:
        give_json([{**v.to_dict(), "classes": v.classes().to_dicts()} for v in verdicts])
        return
    for verdict in verdicts:
        frame = verdict.classes()
        caption = verdict.promise if meet else "classes"
        rows = tuple(frame.head(MOST_CLASSES).rows())
        show_blocks([TableBlock(tuple(frame.columns), rows, caption)])
        if frame.height > MOST_CLASSES:
            rest = f"… and {frame.height - MOST_CLASSES:,} more classes: use --json"
            show_blocks([Paragraph(rest)])


def _split_verdicts(
    assessment: Assessment | DataAssessment, questions: Sequence[AskedModel]
) -> tuple[Assessment | DataAssessment, list[tuple[Verdict, Document]]]:
    """The assessment with the verdicts on promises, and the verdicts on models whose degree was
    left open, each with what is attained as plain data.
    """
    verdicts = assessment.verdicts
    # Verdicts stand in the order of the models: first the recipe's, then those that were asked for.
    first = len(verdicts) - len(questions)
    promises, attained = list(verdicts[:first]), []
    for question, verdict in zip(questions, verdicts[first:], strict=True):
        if not question.left_open:
            promises.append(verdict)
            continue
        plain = verdict.to_dict()
        sentence = verdict.sentence
        if not verdict.holds:
            # Not even the weakest promise holds, and the sentence would speak of that one.
            sentence = (
                f"no {join_words(question.left_open)} holds: {verdict.records:,} of "
                f"{assessment.size:,} records exceed every limit"
            )
        fields = {
            "asked": question.text,
            "attained": plain["attained"],
            "sentence": sentence,
            "model": plain["model"],
            "missing_rule": plain["missing_rule"],
        }
        attained.append((verdict, fields))
    return dataclasses.replace(assessment, verdicts=tuple(promises)), attained


def _show_attained(verdict: Verdict, fields: Fields) -> None:
    if verdict.attained is None:
        degree = "nothing"
    elif fields["attained"] is None:  # JSON knows no infinity
        degree = "∞"
    else:
        degree = f"{verdict.attained:.4g}"
    question, sentence = escape(fields["asked"]), escape(fields["sentence"])
    out().print(f"• [bold]{question}[/]: attained [bold]{degree}[/]; {sentence}", soft_wrap=True)


def _with_roles(
    data: core_data.Data,
    recipe: Recipe | None,
    quasi: list[str],
    questions: Sequence[AskedModel],
) -> tuple[core_data.Data, tuple[Model, ...]]:
    """Data whose columns have roles, from a recipe or as they were typed, and the promises."""
    if recipe is not None:
        if quasi:
            raise ParameterError(
                "give either a recipe (-r) or quasi-identifiers (--quasi), not both"
            )
        return data.described_by(recipe), recipe.meet
    if not quasi:
        raise ParameterError(
            "say what an intruder knows: a recipe (-r visits.yaml) or columns (--quasi age --quasi"
            " zip)"
        )
    table = data.one_table()
    table.require(quasi)
    # A column that a model speaks of (l_diversity:diagnosis) is sensitive without being named so.
    subjects = {column for question in questions for column in question.model.about}
    sensitive, plain = [], []
    for column in table.columns:
        if column in quasi:
            continue
        if column in subjects:
            sensitive.append(column)
        else:
            plain.append(column)
    return table.with_roles(quasi=quasi, sensitive=sensitive, keep=plain), ()
