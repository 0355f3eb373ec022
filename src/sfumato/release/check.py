"""Judging released data by a recipe: the gate of a pipeline, whatever the shape of the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.acceptance import text_only_columns
from sfumato.core.evidence import columns_seen, judge_all
from sfumato.core.fields import Fields
from sfumato.core.schema import Role
from sfumato.core.words import join_words
from sfumato.data.table.default_readers import read_as_one
from sfumato.errors import ReleaseRefused, UnreadableInput
from sfumato.release.certificate_files import read_certificate
from sfumato.release.make import population_of
from sfumato.release.manifest import own_file, require_plain_file
from sfumato.release.read_back import read_certified, read_described
from sfumato.release.read_data import TableRead, read_recipe_data, require_roles, tables_for
from sfumato.release.table_sections import as_released, sections

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.model import Verdict
    from sfumato.core.recipe import Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.source import Intake
    from sfumato.core.table import Table
    from sfumato.data.lazy.table import LazyTable
    from sfumato.data.table.default_readers import ReadAsOne


@dataclasses.dataclass(frozen=True, eq=False)
class FilesToCheck:
    """Released data that are to be checked: a table, or of other shapes the tables that were read,
    and notes on reading.
    """

    content: Any
    notes: tuple[str, ...] = ()


def check_released(
    files: FilesToCheck, recipe: Recipe, *, original: Any = None, population: Table | None = None
) -> tuple[Verdict, ...]:
    """Judge released data by a recipe: direct identifiers must be gone, promises must hold.

    ``files`` are what :func:`read_to_check` read. Promises that compare tables
    with the original are judged against the released table itself where that is not given.
    """
    if not recipe.meet:
        raise ReleaseRefused(
            "the recipe promises nothing under 'meet', so there is nothing to check in a released "
            "file; limits and contract need the original: sfumato attack, sfumato evaluate"
        )
    everyone = population_of(recipe.meet, population, recipe.base)
    describe: Callable[..., Described] = _describe_people
    if registry.data_class(recipe.shape).may_be_held():
        describe = _describe_table
    released, original, readings = describe(files.content, recipe, original, everyone)
    blind = [model.promise for model in recipe.meet if model.compares and original is None]
    if blind:
        raise ReleaseRefused(
            f"{join_words(blind)} is unknown, since it compares the release with the original; "
            "give --original"
        )
    verdicts = judge_all(
        released.evidence(recipe.meet, original=original, population=everyone), recipe.meet
    )
    for reading in readings:
        reference = None if original is None else reading.of(original)
        verdicts_as_read = judge_all(
            reading.of(released).evidence(recipe.meet, original=reference, population=everyone),
            recipe.meet,
        )
        pairs = zip(verdicts, verdicts_as_read, strict=True)
        worst_verdicts = []
        for verdict, verdict_as_read in pairs:
            if verdict.holds and not verdict_as_read.holds:
                worst_verdicts.append(_read_otherwise(verdict_as_read, reading))
            else:
                worst_verdicts.append(verdict)
        verdicts = tuple(worst_verdicts)
    return verdicts


def describe_released(files: FilesToCheck, recipe: Recipe) -> Any:
    """The released table with the roles that the recipe gives its columns."""
    return _describe_table(files.content, recipe, None, None)[0]


def _read_otherwise(verdict: Verdict, reading: ReadAsOne) -> Verdict:
    """A verdict that a default reader would come to, and why."""
    names = ", ".join(reading.keys)
    reason = (
        f"{reading.reader} reads several values of {names} as the same, as 00501 and 501 are the "
        "number 501"
    )
    return dataclasses.replace(verdict, sentence=f"{verdict.sentence}; {reason}")


def _refuse_direct(name: str, schema: Schema, columns: Iterable[str]) -> None:
    remaining = [column for column in schema.dropped_columns if column in columns]
    if remaining:
        raise ReleaseRefused(f"{name} still holds direct identifiers: {', '.join(remaining)}")


Described = tuple[Any, Any, Iterable["ReadAsOne"]]
"""Released data described as the recipe says, the original as promises compare with it, and readers
that take the file otherwise.
"""


def _describe_table(
    table: Table | LazyTable,
    recipe: Recipe,
    original: Table | LazyTable | None,
    everyone: Table | None,
) -> Described:
    """A released table in memory; of one that an engine holds, the combinations that promises look
    at.
    """
    schema = recipe.schema
    for step in recipe.steps:
        schema = step.released_schema(schema, table.columns)
    _refuse_direct(table.source.name, schema, table.columns)
    schema = schema.without(schema.dropped_columns)
    schema.check(table.columns, table.source)
    if everyone is None:
        schema = _without_hierarchies(schema)
    table_described = table.with_schema(schema)
    counts = table_described.counted(columns_seen(recipe.meet, schema))
    if original is not None:
        original = original.counted(name for name in counts.columns if name in original.columns)
    if counts.copies is not None:  # an engine holds it, which says what is text
        return counts, original, ()
    text_only = text_only_columns(recipe.accept)
    return counts, original, read_as_one(counts.to_polars(), table.source.format, but=text_only)


def _without_hierarchies(schema: Schema) -> Schema:
    """A schema whose quasi-identifiers are what they are: local methods release ranges that no
    hierarchy lists.
    """
    for name in schema.quasi:
        if Role.SENSITIVE not in schema[name].roles:
            schema = schema.replace(name, hierarchy=None)
    return schema


def _describe_people(
    tables: Mapping[str, TableRead], recipe: Recipe, original: Data | None, everyone: Table | None
) -> Described:
    """Released people from the tables that were read."""
    for name, table in tables.items():
        _refuse_direct(
            table.source.name, recipe.schemas.get(name, recipe.schema), table.frame.columns
        )
    frames, source = (
        {name: table.frame for name, table in tables.items()},
        next(iter(tables.values())).source,
    )
    noun: type[Data] = registry.data_class(recipe.shape)
    schemas = noun.released_schemas(
        frames, {name: as_released(schema) for name, schema in recipe.schemas.items()}
    )
    require_roles(tables, recipe.shape, schemas)
    return noun.from_tables(frames, schemas, source), original, ()


# Reading released files.


def read_to_check(
    data: Any,
    recipe: Recipe,
    *,
    people: object = None,
    intake: Intake | None = None,
    engine: str | None = None,
    table: str | None = None,
) -> FilesToCheck:
    """Released data to check: read as the certificate beside them says, or else as the recipe
    does.
    """
    by_itself = not isinstance(data, str | Path) or str(data) == "-"
    said_otherwise = (
        people is not None or table is not None or bool(intake is not None and intake.options())
    )
    certified = None if by_itself or said_otherwise else Path(data)
    options = {"people": people, "intake": intake, "engine": engine, "table": table}
    kind = registry.data_class(recipe.shape)
    if kind.may_be_held():
        return _read_table_to_check(data, recipe, certified, options)
    kind.require_options({"engine": engine, "table": table})
    tables = None if certified is None else _certified_tables(certified)
    if tables is None:
        tables = tables_for(
            data, recipe, people=people, stated_intake=intake, intake=recipe.intake.layout
        )
    return FilesToCheck(tables)


AS_CERTIFIED = "read as the certificate beside it says"


def _read_table_to_check(
    data: object, recipe: Recipe, certified: Path | None, options: Fields
) -> FilesToCheck:
    table = None if certified is None else read_certified(certified)
    if table is not None:
        return FilesToCheck(table, (AS_CERTIFIED,))
    as_said = dataclasses.replace(recipe, intake=recipe.intake.layout)
    read = read_recipe_data(data, as_said, **options)
    return FilesToCheck(read, read.source.notes)


def _certified_tables(file: Path) -> dict[str, TableRead] | None:
    """The tables of a file beside the certificate that names it, or of its folder, read as it says;
    None for any other file.
    """
    folder = file if file.is_dir() else file.parent
    try:
        certificate = read_certificate(folder)
    except UnreadableInput:
        return None
    table_sections = sections(certificate)
    first: Fields = next(iter(table_sections.values()), {"parts": []})
    if "parts" in first or (folder != file and first["file"] != file.name):
        return None
    return {
        name: TableRead(
            *read_described(require_plain_file(folder, own_file(section)), section, lists=True)
        )
        for name, section in table_sections.items()
    }
