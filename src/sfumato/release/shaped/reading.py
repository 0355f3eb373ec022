"""People from files and frames: the tables are read and described as a recipe says, and handed to the noun of their shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core import registry
from sfumato.core.data import Data, digest_of_frame, is_shaped, joint_digest
from sfumato.core.dataset import Dataset
from sfumato.core.files import require_plain
from sfumato.core.free_text import refuse_free_text
from sfumato.core.schema import SHAPED, Attribute, Kind, Role, Schema
from sfumato.core.shape import DATA, PEOPLE, Shape
from sfumato.core.source import Intake, Source, and_more, with_names
from sfumato.core.step import accounts
from sfumato.data.table.fixed_form import ties_between_known_people
from sfumato.data.table.form import Form
from sfumato.data.table.frames import take_frame
from sfumato.data.table.indistinct import made_one, refuse_unwritable
from sfumato.data.table.read import read_table
from sfumato.errors import ParameterError, SchemaError, UnreadableInput
from sfumato.release.manifest import own_file, require_plain_file, sha256_of
from sfumato.release.read_back import has_words, read_described
from sfumato.release.shaped.places import MOST_BYTES, InDatabase, places_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.recipe import Recipe


RECODED = {Role.QUASI, Role.DIRECT}
"""Roles of columns that are not released as they are."""


@dataclasses.dataclass(frozen=True, eq=False)
class TableRead:
    """One table as it was read, and where it came from."""

    frame: pl.DataFrame
    source: Source


def people_of(
    data: Any,
    recipe: Recipe,
    *,
    people: Any = None,
    said: Intake | None = None,
    format: str | None = None,  # noqa: A002
) -> Data:
    """The people of a file or frame, described as a recipe says; ``people`` is the second table, else the file the recipe names.

    Several tables are given by name, as their folder or as a database; None: the files that the recipe names. ``said`` goes before what the recipe says about reading. ``format`` is the one a release will be written in: values that it
    cannot tell apart are one value from the start. People who are read already are taken as they are.
    """
    if is_shaped(data):
        return data
    tables = tables_for(data, recipe, people=people, said=said)
    if recipe.shape is Shape.GRAPH and accounts(recipe.steps, recipe.schema):
        tables = _with_known_ties(tables, recipe)
    return described(tables, recipe.shape, recipe.schemas, format=format)


def _with_known_ties(tables: dict[str, TableRead], recipe: Recipe) -> dict[str, TableRead]:
    """The tables of a graph in which no row can be an error, where a step accounts for an ε of one tie; wrong columns are told later."""
    beside = recipe.schemas.get(PEOPLE)
    ends = [name for role in (Role.FROM, Role.TO) for name in recipe.schema.columns(role)]
    units = () if beside is None else beside.columns(Role.UNIT)
    if PEOPLE not in tables or len(ends) != 2 or len(units) != 1:
        return tables
    ties, people = tables[DATA], tables[PEOPLE]
    if not {*ends} <= {*ties.frame.columns} or units[0] not in people.frame.columns:
        return tables
    frames = ties_between_known_people(ties.frame, people.frame, ends, units[0])
    digests = (digest_of({"given": table}) for table in (ties, people))  # of what was given, not of what is made of it
    sources = [dataclasses.replace(t.source, digest=d) for t, d in zip((ties, people), digests, strict=True)]
    return {**tables, DATA: TableRead(frames[0], sources[0]), PEOPLE: TableRead(frames[1], sources[1])}


def tables_for(
    data: Any, recipe: Recipe, *, people: Any = None, said: Intake | None = None, intake: Intake | None = None
) -> dict[str, TableRead]:
    """The tables that a recipe is about, as they are; ``intake`` is how they are read where that is not as the recipe says."""
    intake, text = intake or recipe.intake, accounts(recipe.steps, recipe.schema)
    if registry.shaped(recipe.shape).named_tables:
        if people is not None:
            raise ParameterError(
                "the people are one of the tables; give all of them by name, or the folder they are in"
            )
        places = places_of(data, {name: table.file for name, table in recipe.tables.items()}, recipe.base)
        read = {name: _one(place, intake, said or Intake(), text=text) for name, place in places.items()}
        return {name: _called(name, table) for name, table in read.items()}
    beside = recipe.others.get(PEOPLE)
    if people is None and beside is not None and beside.file is not None:
        people = recipe.base / beside.file
    return tables_of(data, recipe.shape, people=people, intake=intake, said=said, text=text)


def _called(name: str, table: TableRead) -> TableRead:
    """A table that came as a frame has no name of its own: messages call it as the recipe does."""
    named = dataclasses.replace(table.source, name=f"table {name!r}")
    return TableRead(table.frame, named) if table.source.format == "frame" and table.source.identity is None else table


def tables_of(
    data: Any,
    shape: Shape,
    *,
    people: Any = None,
    intake: Intake | None = None,
    said: Intake | None = None,
    text: bool = False,
) -> dict[str, TableRead]:
    """The tables of a file or frame as they are, by the name that the noun of the shape knows them by.

    ``text`` leaves all columns of a CSV as text: what they are then does not depend on single people.
    """
    tables = _several(data, shape) or {DATA: _one(data, intake or Intake(), said or Intake(), text=text)}
    if people is None:
        return tables
    if PEOPLE in tables:
        raise ParameterError(
            f"{tables[DATA].source.name} holds the people's own columns itself; leave the second file out"
        )
    if isinstance(people, str | Path):
        require_plain(people, most=MOST_BYTES, what="the table of people's own columns")
    about_values = (intake or Intake()).about_values
    return {**tables, PEOPLE: _one(people, about_values, (said or Intake()).about_values, text=text)}


def _several(data: Any, shape: Shape) -> dict[str, TableRead] | None:
    """The tables of a file in a format that only data of this shape has, or None."""
    if not isinstance(data, str | Path) or str(data) == "-":
        return None
    file = Path(data)
    held = registry.shaped(shape).read_own_format(file)
    if held is None:
        return None
    source = Source(file.name, "frame", digest=sha256_of(file))
    return {name: TableRead(frame, source) for name, frame in held.items()}


def _one(data: Any, intake: Intake, said: Intake, *, text: bool) -> TableRead:
    if isinstance(data, str | Path):
        frame, source = read_table(data, otherwise=intake, lists=True, text=text, **said.said())
        return TableRead(frame, source)
    if isinstance(data, Dataset):
        return TableRead(data.to_polars(), data.source)
    if isinstance(data, InDatabase):
        taken = data.read(intake.about_values.said() | said.said())
        return TableRead(taken.to_polars(), taken.source)
    taken = take_frame(data, intake, said.said())
    return TableRead(taken.to_polars(), taken.source)


def described(
    tables: Mapping[str, TableRead],
    shape: Shape,
    schemas: Mapping[str, Schema],
    *,
    format: str | None = None,  # noqa: A002
) -> Data:
    """People from tables whose columns all have a role; direct identifiers are dropped here and seen by nobody.

    Everything that does not fit, in all tables, is one :class:`SchemaError`.
    """
    require_roles(tables, shape, schemas)
    _require_numbers(tables, schemas)
    kept, notes = {}, list[str]()
    named = registry.shaped(shape).named_tables
    first = next(iter(tables.values())).source
    for name, table in tables.items():
        schema, chosen = schemas[name], format or _format(first)
        refuse_free_text(_watched(table, schema))
        frame, more = _distinct(table, schema, chosen)
        kept[name] = frame
        about = (*with_names(table.source, table.frame.columns, schema.attributes).notes, *more)
        notes += [f"{table.source.name}: {note}" if named else note for note in about]
    said = {name: schemas[name] for name in tables}
    names = and_more([table.source.name for table in tables.values()], 3) if named else first.name
    source = dataclasses.replace(first, name=names, digest=digest_of(tables), schemas=said)
    source = dataclasses.replace(source, notes=tuple(dict.fromkeys(notes)))
    bare = {name: schemas[name].without(schemas[name].direct) for name in tables}
    return registry.shaped(shape).from_tables(kept, bare, source)


def require_roles(tables: Mapping[str, TableRead], shape: Shape, schemas: Mapping[str, Schema]) -> None:
    """Raise one :class:`SchemaError` with everything that does not fit between tables and what is said of their columns."""
    problems = [f"the recipe has a table {name!r}, and it was not given" for name in schemas if name not in tables]
    problems = (
        problems
        if registry.shaped(shape).named_tables
        else [
            f"the recipe describes the {name}'s own columns, but there is no file with them; give it (--people, people=), or "
            "name it in the recipe: 'people: {file: people.csv, columns: {…}}'"
            for name in schemas
            if name not in tables
        ]
    )
    for name, table in tables.items():
        if name in schemas:
            problems += schemas[name].problems(table.frame.columns, table.source, str(shape))
        else:
            problems.append(
                f"{table.source.name}: nothing says what the {name}'s own columns are; write 'people: {{columns: {{…}}}}' into the recipe"
            )
    if problems:
        raise SchemaError(problems)


def _require_numbers(tables: Mapping[str, TableRead], schemas: Mapping[str, Schema]) -> None:
    """Refuse a column of words that is said to hold amounts and is released as it is: whoever verifies the release takes it for another."""
    problems = [
        f"{table.source.name}: column {column!r} is said to be numeric, and most of its values are no numbers; leave 'kind' out, or say which it is"
        for name, table in tables.items()
        for column, said in schemas[name].attributes.items()
        if said.kind is Kind.NUMERIC and not set(said.roles) & RECODED and has_words(table.frame[column])
    ]
    if problems:
        raise SchemaError(problems)


def _watched(table: TableRead, schema: Schema) -> Dataset:
    """The columns in which free text would be an oversight: what a shape itself consists of was chosen to be words."""
    seen = {n: a for n, a in schema.attributes.items() if not set(a.roles) & set(SHAPED) and not _is_nested(table, n)}
    return Dataset(table.frame.select(list(seen)), source=table.source).with_schema(Schema(seen))  # type: ignore[arg-type]


def _is_nested(table: TableRead, column: str) -> bool:
    return table.frame.schema[column].is_nested()


def _distinct(table: TableRead, schema: Schema, format: str) -> tuple[pl.DataFrame, list[str]]:  # noqa: A002
    """The table without direct identifiers, with values that the format tells apart, and what was made one."""
    keys = table.frame.select(schema.columns(Role.KEY))  # never written as they are, so they stay what they are
    frame = table.frame.drop([*schema.direct, *keys.columns])
    plain = Schema.from_roles({"plain": frame.columns})
    shared = Dataset(frame, source=table.source).with_schema(plain)  # type: ignore[arg-type]
    refuse_unwritable(shared, format, header=Form.of(format, table.source).header)
    made, notes = made_one(shared, format)
    told = frame if made is shared else made.to_polars()
    return (keys.hstack(told) if keys.width and told.width else keys if keys.width else told), notes


def _format(source: Source) -> str:
    return "csv" if source.format == "frame" else source.format


def digest_of(tables: Mapping[str, TableRead]) -> str:
    """SHA-256 of the file that was read, of several in their order; of a frame, what it says as JSON lines."""
    return joint_digest([table.source.digest or digest_of_frame(table.frame) for table in tables.values()])


def digest_of_people(people: Data) -> str:
    """The digest of what people were read from, which a release commits to; of such as came otherwise, what they would be written as."""
    return people.input_digest()


# A release read back, as whoever gets it reads it.


def as_released(schema: Schema) -> Schema:
    """What the columns of a release are: no direct identifiers, and no hierarchy, of whose inner nodes a cell may be one.

    Items keep theirs: only it tells which released groups hold an item that nobody may be sure of. So do sensitive columns, which are no
    quasi-identifiers and are released as they are: distances between their values need it.
    """
    kept = schema.without(schema.direct).attributes
    return Schema({name: said if _as_it_is(said) else _bare(said) for name, said in kept.items()})


def _as_it_is(said: Attribute) -> bool:
    return said.has(Role.SENSITIVE) and not said.has(Role.QUASI)


def _bare(said: Attribute) -> Attribute:
    return dataclasses.replace(said, hierarchy=said.hierarchy if said.has(Role.ITEM) else None, order=None)


def sections(said: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What a certificate says of each table of a release; of several tables together, else of one or two by themselves."""
    found = dict(said["tables"]) if "tables" in said else {name: said[name] for name in (DATA, PEOPLE) if name in said}
    if not found:
        raise UnreadableInput("the certificate describes no table")
    return found


def as_sections(tables: Mapping[str, Mapping[str, Any]], shape: Shape) -> dict[str, Any]:
    """The same as a certificate writes it; :func:`sections` reads it."""
    return {"tables": dict(tables)} if registry.shaped(shape).named_tables else dict(tables)


def read_released(share: Path, said: Mapping[str, Any], shape: Shape) -> Data:
    """The people of a shared folder, read and described as its certificate says and no other way."""
    tables, schemas = {}, {}
    for name, section in sections(said).items():
        file = require_plain_file(share, own_file(section))
        frame, source = read_described(file, section, lists=True)
        tables[name], schemas[name] = TableRead(frame, source), schema_told(section["columns"])
    require_roles(tables, shape, schemas)
    frames = {name: table.frame for name, table in tables.items()}
    source = dataclasses.replace(next(iter(tables.values())).source, digest=digest_of(tables))
    return registry.shaped(shape).from_tables(frames, schemas, source)


TOLD = ("kind", "missing", "unit", "free_text", "of")
"""What a certificate says of a column besides its roles; orders and hierarchies list values."""


def schema_told(columns: Mapping[str, Any]) -> Schema:
    """What the columns of a released table are, as its certificate says."""
    try:
        return Schema({name: _attribute(spec) for name, spec in columns.items()})
    except ParameterError as error:
        raise UnreadableInput(f"the certificate says of a column what cannot be: {error}") from None


def _attribute(spec: Mapping[str, Any]) -> Attribute:
    said = spec["role"]
    roles: Any = (said,) if isinstance(said, str) else tuple(said)
    return Attribute(roles, **{key: spec[key] for key in TOLD if key in spec})


def with_origin(people: Data, origin: NDArray[np.int64] | None) -> Data:
    """The same people, with who they were."""
    return dataclasses.replace(people, origin=origin)  # type: ignore[type-var]


def columns_told(released: Data, recipe: Recipe) -> dict[str, dict[str, Any]]:
    """What a certificate says of the columns of each table: their roles and kinds, nothing that lists values."""
    told: dict[str, dict[str, Any]] = {}
    for name, frame in released.to_tables().items():
        own = released.schemas.get(name)
        known = {**recipe.schemas.get(name, recipe.schema).attributes, **({} if own is None else own.attributes)}
        lost = [column for column in frame.columns if column not in known]
        if lost:
            raise SchemaError(f"{len(lost)} column(s) of the release have no role: {', '.join(lost[:5])}")
        told[name] = {column: _told(known[column]) for column in frame.columns}
    return told


def schemas_of(people: Data) -> dict[str, Schema]:
    """What was said of the columns of each table when people were read; of such as came otherwise, what they say themselves."""
    return dict(people.source.schemas or people.schemas)


def _told(attribute: Attribute) -> dict[str, Any]:
    roles = [str(role) for role in attribute.roles]
    plain: dict[str, Any] = {"role": roles[0] if len(roles) == 1 else roles}
    for field in dataclasses.fields(attribute):
        value = getattr(attribute, field.name)
        if field.name in TOLD and value != field.default:
            plain[field.name] = value if isinstance(value, bool) else str(value)
    return plain


def direct_in(recipe: Recipe) -> list[str]:
    """The direct identifiers that a recipe names, in all its tables."""
    return [name for schema in recipe.schemas.values() for name in schema.columns(Role.DIRECT)]
