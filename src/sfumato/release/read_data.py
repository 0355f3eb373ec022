"""Data of every shape from files and frames, read and described as a recipe says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import registry
from sfumato.core.data import Data, digest_of_frame, is_data, joint_digest
from sfumato.core.fields import Fields
from sfumato.core.files import require_plain
from sfumato.core.free_text import refuse_free_text
from sfumato.core.schema import SHAPED, Kind, Role, Schema
from sfumato.core.shape import DATA, PEOPLE, SEVERAL_TABLES, Shape
from sfumato.core.source import Intake, Source, and_more, with_names
from sfumato.core.step import accounts
from sfumato.core.table import Table
from sfumato.data.lazy.databases import is_address
from sfumato.data.lazy.open_table import from_database, opened, require_named, take_lazily
from sfumato.data.table.form import Form
from sfumato.data.table.frames import take_frame
from sfumato.data.table.indistinct import made_one, refuse_unwritable
from sfumato.data.table.read import read_table
from sfumato.errors import ParameterError, SchemaError
from sfumato.release.manifest import sha256_of
from sfumato.release.read_back import has_words
from sfumato.release.table_locations import MOST_BYTES, InDatabase, locations_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.recipe import Recipe
    from sfumato.data.lazy.table import LazyTable


RECODED = {Role.QUASI, Role.DROP}
"""Roles of columns that are not released as they are."""


@dataclasses.dataclass(frozen=True, eq=False)
class TableRead:
    """One table as it was read, and where it came from."""

    frame: pl.DataFrame
    source: Source


def read_recipe_data(
    data: object,
    recipe: Recipe,
    *,
    people: object = None,
    intake: Intake | None = None,
    format: str | None = None,  # noqa: A002
    engine: str | None = None,
    table: str | None = None,
) -> Data:
    """Data of any shape from files and frames, as a recipe says; data that are read already are
    taken as they are.

    ``people`` is a second table, with the people's own columns, else the file that the recipe
    names. Several tables are given by name, as their folder or as a database; None: the files that
    the recipe names. ``intake`` goes before what the recipe says about reading. ``format`` is the
    one a release will be written in: values that it cannot distinguish are one value from the
    start. ``engine`` and ``table`` are those of :func:`read_one_table`.
    """
    kind = registry.data_class(recipe.shape)
    kind.require_options({"people": people, "engine": engine, "table": table})
    if is_data(data) and data.shape is recipe.shape:
        return data
    if kind.may_be_held():
        options = {} if intake is None else intake.options()
        return read_one_table(data, recipe=recipe, engine=engine, table=table, options=options)
    tables = tables_for(data, recipe, people=people, stated_intake=intake)
    # with an ε, types and layout must not depend on single rows
    if accounts(recipe.steps, recipe.schema):
        tables = _in_fixed_form(kind, tables, recipe)
    return describe_tables(tables, recipe.shape, recipe.schemas, format=format)


def _in_fixed_form(
    kind: type[Data], tables: dict[str, TableRead], recipe: Recipe
) -> dict[str, TableRead]:
    """The tables in a form that no row decides about; they keep the digest of what was given."""
    frames = {name: table.frame for name, table in tables.items()}
    fixed = kind.fixed_form(frames, recipe.schemas)
    if fixed is frames:
        return tables
    changed = {}
    for name, table in tables.items():
        # committed to is what was given, not the form it is brought into
        source = dataclasses.replace(table.source, digest=digest_of({"given": table}))
        changed[name] = TableRead(fixed[name], source)
    return changed


def read_one_table(
    data: Any,
    *,
    recipe: Recipe | None = None,
    engine: str | None = None,
    table: str | None = None,
    options: Fields,
) -> Table | LazyTable:
    """One table from a path, a database or a frame, in memory or held by an engine;
    see :func:`sfumato.read`.
    """
    # what the caller says goes before what the recipe says
    about_values = {**(recipe.intake.about_values.options() if recipe else {}), **options}
    if is_address(data):
        return from_database(data, table, engine, about_values)
    if table is not None:
        raise ParameterError(
            "table= names a table of a database, such as sf.read('sqlite:///visits.db',"
            " table='visits')"
        )
    if is_data(data):
        table_given: Any = data.one_table()
        if options or engine:
            option_names = ", ".join([*options, *(["engine"] if engine else [])])
            raise ParameterError(
                f"the table is read already; give {option_names} when it is first read"
            )
        return table_given  # type: ignore[no-any-return]
    lazy = take_lazily(data, about_values)
    if lazy is not None:
        return lazy
    if not isinstance(data, str | Path):
        return take_frame(data, recipe.intake if recipe else Intake(), options)
    require_named(data)
    # standard input can be read once only, so no engine can hold it
    if str(data) != "-" and (lazy_table := opened(data, engine, about_values, recipe)) is not None:
        return lazy_table
    # all as text: what a column is would otherwise be found by looking at its cells
    if recipe is not None and accounts(recipe.steps, recipe.schema):
        options = {"text": True, **options}
    frame, source = read_table(data, otherwise=None if recipe is None else recipe.intake, **options)
    source = with_names(source, frame.columns, () if recipe is None else recipe.schema.attributes)
    return Table(frame, source=source).with_text_coded()  # type: ignore[arg-type]


def tables_for(
    data: object,
    recipe: Recipe,
    *,
    people: object = None,
    stated_intake: Intake | None = None,
    intake: Intake | None = None,
) -> dict[str, TableRead]:
    """The tables that a recipe is about, as they are; ``intake`` is how they are read where that is
    not as the recipe says.
    """
    intake, text = intake or recipe.intake, accounts(recipe.steps, recipe.schema)
    if recipe.shape in SEVERAL_TABLES:
        if people is not None:
            raise ParameterError(
                "the people are one of the tables; give all tables by name, or their folder"
            )
        locations = locations_of(
            data, {name: table.file for name, table in recipe.tables.items()}, recipe.base
        )
        read = {
            name: _read_table(location, intake, stated_intake or Intake(), text=text)
            for name, location in locations.items()
        }
        return {name: _name_table(name, table) for name, table in read.items()}
    beside = recipe.others.get(PEOPLE)
    # the recipe may name the second file, from its own folder
    if people is None and beside is not None and beside.file is not None:
        people = recipe.base / beside.file
    return tables_of(
        data, recipe.shape, people=people, intake=intake, stated_intake=stated_intake, text=text
    )


def _name_table(name: str, table: TableRead) -> TableRead:
    """A table that came as a frame has no name of its own: messages call it as the recipe does."""
    source = dataclasses.replace(table.source, name=f"table {name!r}")
    if table.source.format == "frame" and table.source.identity is None:
        return TableRead(table.frame, source)
    return table


def tables_of(
    data: object,
    shape: Shape,
    *,
    people: object = None,
    intake: Intake | None = None,
    stated_intake: Intake | None = None,
    text: bool = False,
) -> dict[str, TableRead]:
    """The tables of a file or frame as they are, by the name that the noun of the shape knows them
    by.

    ``text`` leaves all columns of a CSV as text: what they are then does not depend on single
    people.
    """
    # formats of a shape hold all its tables at once
    tables = _read_own_format(data, shape) or {
        DATA: _read_table(data, intake or Intake(), stated_intake or Intake(), text=text)
    }
    if people is None:
        return tables
    if PEOPLE in tables:
        raise ParameterError(
            f"{tables[DATA].source.name} already contains the people's own columns; leave the "
            "second file out"
        )
    if isinstance(people, str | Path):
        require_plain(people, limit=MOST_BYTES, purpose="the table of people's own columns")
    # only codes of values are shared: the second file has a layout of its own
    about_values = (intake or Intake()).about_values
    return {
        **tables,
        PEOPLE: _read_table(
            people, about_values, (stated_intake or Intake()).about_values, text=text
        ),
    }


def _read_own_format(data: object, shape: Shape) -> dict[str, TableRead] | None:
    """The tables of a file in a format that only data of this shape has, or None."""
    if not isinstance(data, str | Path) or str(data) == "-":
        return None
    file = Path(data)
    frames = registry.data_class(shape).read_own_format(file)
    if frames is None:
        return None
    source = Source(file.name, "frame", digest=sha256_of(file))
    return {name: TableRead(frame, source) for name, frame in frames.items()}


def _read_table(data: object, intake: Intake, stated_intake: Intake, *, text: bool) -> TableRead:
    if isinstance(data, str | Path):
        frame, source = read_table(
            data, otherwise=intake, lists=True, text=text, **stated_intake.options()
        )
        return TableRead(frame, source)
    if is_data(data):
        read_already: Table = data.one_table().in_memory("data of several rows per person")
        return TableRead(read_already.to_polars(), read_already.source)
    if isinstance(data, InDatabase):
        table = data.read(intake.about_values.options() | stated_intake.options())
        return TableRead(table.to_polars(), table.source)
    table = take_frame(data, intake, stated_intake.options())
    return TableRead(table.to_polars(), table.source)


def describe_tables(
    tables: Mapping[str, TableRead],
    shape: Shape,
    schemas: Mapping[str, Schema],
    *,
    format: str | None = None,  # noqa: A002
) -> Data:
    """People from tables whose columns all have a role; direct identifiers are dropped here and
    seen by nobody.

    Everything that does not fit, in all tables, is one :class:`SchemaError`.
    """
    require_roles(tables, shape, schemas)
    _require_numbers(tables, schemas)
    frames, notes = {}, list[str]()
    has_names = shape in SEVERAL_TABLES
    # the first file says how all are written
    first = next(iter(tables.values())).source
    for name, table in tables.items():
        schema, file_format = schemas[name], format or _format(first)
        refuse_free_text(_watched(table, schema))
        frame, new_notes = _distinct(table, schema, file_format)
        frames[name] = frame
        about = (
            *with_names(table.source, table.frame.columns, schema.attributes).notes,
            *new_notes,
        )
        notes += [f"{table.source.name}: {note}" if has_names else note for note in about]
    table_schemas = {name: schemas[name] for name in tables}
    if has_names:
        names = and_more([table.source.name for table in tables.values()], 3)
    else:
        names = first.name
    source = dataclasses.replace(first, name=names, digest=digest_of(tables), schemas=table_schemas)
    source = dataclasses.replace(source, notes=tuple(dict.fromkeys(notes)))
    # direct identifiers end here: no step and no promise sees them
    bare = {name: schemas[name].without(schemas[name].dropped_columns) for name in tables}
    return registry.data_class(shape).from_tables(frames, bare, source)


def require_roles(
    tables: Mapping[str, TableRead], shape: Shape, schemas: Mapping[str, Schema]
) -> None:
    """Raise one :class:`SchemaError` with everything that does not fit between tables and what is
    said of their columns.
    """
    problems = [
        f"the recipe has a table {name!r}, which was not given; give it"
        for name in schemas
        if name not in tables
    ]
    if shape not in SEVERAL_TABLES:
        problems = [
            f"the recipe describes the {name}'s own columns, but there is no file with them; give"
            " it (--people, people=), or name it in the recipe: 'people: {file: people.csv,"
            " columns: {…}}'"
            for name in schemas
            if name not in tables
        ]
    for name, table in tables.items():
        if name in schemas:
            problems += schemas[name].problems(table.frame.columns, table.source, str(shape))
        else:
            problems.append(
                f"{table.source.name}: the {name}'s own columns are not described; write 'people: "
                "{columns: {…}}' into the recipe"
            )
    if problems:
        raise SchemaError(problems)


def _require_numbers(tables: Mapping[str, TableRead], schemas: Mapping[str, Schema]) -> None:
    """Refuse a column of words that is said to hold amounts and is released as it is: whoever
    verifies the release takes it for another.
    """
    problems = []
    for name, table in tables.items():
        for column, attribute in schemas[name].attributes.items():
            if attribute.kind is not Kind.NUMERIC or set(attribute.roles) & RECODED:
                continue
            if has_words(table.frame[column]):
                problems.append(
                    f"{table.source.name}: column {column!r} has kind numeric, but most of its "
                    "values are not numbers; remove or correct 'kind'"
                )
    if problems:
        raise SchemaError(problems)


def _watched(table: TableRead, schema: Schema) -> Table:
    """The columns in which free text would be an oversight: what a shape itself consists of was
    chosen to be words.
    """
    watched = {
        n: a
        for n, a in schema.attributes.items()
        if not set(a.roles) & set(SHAPED) and not _is_nested(table, n)
    }
    frame = table.frame.select(list(watched))
    return Table(frame, source=table.source).with_schema(Schema(watched))  # type: ignore[arg-type]


def _is_nested(table: TableRead, column: str) -> bool:
    return table.frame.schema[column].is_nested()


def _distinct(
    table: TableRead,
    schema: Schema,
    format: str,  # noqa: A002
) -> tuple[pl.DataFrame, list[str]]:
    """The table without direct identifiers, with values that the format distinguishes, and what was
    made one.
    """
    # never written as they are, so they stay what they are
    keys = table.frame.select(schema.columns(Role.KEY))
    frame = table.frame.drop([*schema.dropped_columns, *keys.columns])
    plain = Schema.from_roles({"keep": frame.columns})
    shared = Table(frame, source=table.source).with_schema(plain)  # type: ignore[arg-type]
    refuse_unwritable(shared, format, header=Form.of(format, table.source).header)
    merged, notes = made_one(shared, format)
    shared_frame = frame if merged is shared else merged.to_polars()
    return (
        keys.hstack(shared_frame)
        if keys.width and shared_frame.width
        else keys
        if keys.width
        else shared_frame
    ), notes


def _format(source: Source) -> str:
    if source.format == "frame":
        return "csv"
    return source.format


def digest_of(tables: Mapping[str, TableRead]) -> str:
    """SHA-256 of the file that was read, of several in their order; of a frame, what it says as
    JSON lines.
    """
    return joint_digest(
        # a frame has no file: its content is hashed
        [table.source.digest or digest_of_frame(table.frame) for table in tables.values()]
    )


def with_origin(people: Data, origin: NDArray[np.int64] | None) -> Data:
    """The same people, with who they were."""
    return dataclasses.replace(people, origin=origin)  # type: ignore[type-var]


def schemas_of(people: Data) -> dict[str, Schema]:
    """What was said of the columns of each table when people were read; of such as came otherwise,
    what they say themselves.
    """
    return dict(people.source.schemas or people.schemas)
