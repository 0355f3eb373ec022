"""Data of other shapes than one table, from Python: one verb for every shape, and a short name for
each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.core.fields import Fields
from sfumato.core.recipe import Recipe
from sfumato.core.schema import Schema
from sfumato.core.shape import DATA, ONE_TABLE, PEOPLE, SEVERAL_TABLES, Shape
from sfumato.core.source import Intake, IntakeKeywords, ReadKeywords
from sfumato.errors import ParameterError, SchemaError, did_you_mean
from sfumato.release.read_data import describe_tables, read_recipe_data, tables_of

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.hierarchy import Hierarchy

Roles = Mapping[str, str | Sequence[str]]
"""Role → the columns that have it."""


class PeopleKeywords(ReadKeywords, total=False):
    """The keywords of :func:`read_data`, for its short names."""

    people: object
    people_roles: Roles | None
    columns: ColumnDetails


@dataclass(frozen=True)
class ColumnDetails:
    """What is known of columns besides their roles, by column, in either table.

    ``units`` say what whole numbers in a column of times count: ``{"t": "minutes"}``.
    """

    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def read_data(
    data: object,
    shape: str,
    roles: Roles,
    *,
    people: object = None,
    people_roles: Roles | None = None,
    columns: ColumnDetails = ColumnDetails(),
    **options: Unpack[ReadKeywords],
) -> Data:
    """Data of another shape than one table, from a path or a frame: ``shape`` is ``baskets``,
    ``paths`` or ``graph``, ``roles`` what the columns are.

    ``people`` is a second table with the people's own columns, and ``people_roles`` what these are.
    Options say how a file is read (see :func:`sfumato.read`): ``format`` is the one a release will
    be written in, and ``text`` leaves all columns of a CSV as text, as a step that accounts for an
    ε asks for.
    """
    # These two are about the release and the columns, not about how a file is read.
    release_format = options.pop("format", None)
    text = options.pop("text", False)
    details = {"hierarchy": columns.hierarchies, "kind": columns.kinds, "unit": columns.units}
    schemas = {DATA: _schema_of(roles, details)}
    if people_roles is not None:
        schemas[PEOPLE] = _schema_of(people_roles, details)
    _require_columns(
        {column: value for by_column in details.values() for column, value in by_column.items()},
        schemas,
    )
    data_shape = _shape(shape)
    tables = tables_of(data, data_shape, people=people, stated_intake=Intake.of(options), text=text)
    return describe_tables(tables, data_shape, schemas, format=release_format)


def _shape(word: str) -> Shape:
    if str(word) in SEVERAL_TABLES:
        raise ParameterError(
            "several tables are read by sf.read_tables({'people': …, 'visits': …}, relations)"
        )
    # Tables have verbs of their own.
    table_shapes = ONE_TABLE | SEVERAL_TABLES
    names = [str(shape) for shape in registry.installed_shapes() if shape not in table_shapes]
    if str(word) not in names:
        raise ParameterError(
            f"shape {str(word)!r} is not known here.{did_you_mean(str(word), names)} A table is"
            " read by sf.read"
        )
    return Shape(word)


def _require_columns(details: Fields, schemas: Mapping[str, Schema]) -> None:
    """Refuse a hierarchy, kind or unit of a column that has no role: it would be ignored without a
    word.
    """
    columns = [column for schema in schemas.values() for column in schema.attributes]
    strange = [column for column in details if column not in columns]
    if strange:
        raise SchemaError(
            f"column {strange[0]!r} has a hierarchy, kind or unit, but no"
            f" role.{did_you_mean(strange[0], columns)}"
        )


def read_baskets(data: object, roles: Roles, **options: Unpack[PeopleKeywords]) -> Data:
    """Sets of items: long rows of person and item, or a list of items a person;
    see :func:`read_data`.
    """
    return read_data(data, "baskets", roles, **options)


def read_paths(data: object, roles: Roles, **options: Unpack[PeopleKeywords]) -> Data:
    """Points of people in time: rows of person, time and place or event; see :func:`read_data`."""
    return read_data(data, "paths", roles, **options)


def read_graph(data: object, roles: Roles, **options: Unpack[PeopleKeywords]) -> Data:
    """Ties between people: rows of two persons each; see :func:`read_data`."""
    return read_data(data, "graph", roles, **options)


def read_tables(
    data: object,
    relations: Recipe | Fields | str | Path,
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    **options: Unpack[IntakeKeywords],
) -> Data:
    """Several tables that belong together: paths or frames by name, the folder they are in, or a
    database (``sqlite:///clinic.db``).

    ``relations`` is a recipe, the path of one, or its section ``tables`` as plain data: the key of
    each table, to which other table its rows belong, and what its columns are. ``data=None`` reads
    the files that it names. Options say how files are read (see :func:`sfumato.read`).

    >>> import polars as pl
    >>> people = pl.DataFrame({"id": [7, 8], "age": [31, 44]})
    >>> visits = pl.DataFrame({"id": [8, 8, 7], "ward": ["eye", "skin", "eye"]})
    >>> both = read_tables(
    ...     {"people": people, "visits": visits},
    ...     {
    ...         "people": {"key": "id", "columns": {"age": "quasi"}},
    ...         "visits": {"belongs_to": {"people": "id"}, "columns": {"ward": "quasi"}},
    ...     },
    ... )
    >>> both.counts()
    {'people': 2, 'rows_of_visits': 3}
    """
    recipe = _relations(relations)
    return read_recipe_data(data, recipe, intake=Intake.of(options), format=format)


def _relations(value: Recipe | Fields | str | Path) -> Recipe:
    """What is said of several tables, as a recipe."""
    recipe: object = value
    if isinstance(value, str | Path):
        recipe = recipes.load_any(value)
    elif isinstance(value, Mapping):
        recipe = recipes.any_from_dict({"tables": value}, name="relations")
    if not isinstance(recipe, Recipe) or recipe.shape not in SEVERAL_TABLES:
        raise ParameterError(
            "relations is a recipe with a section 'tables', its path, or that section: {'people':"
            " {'key': 'id', 'columns': {…}}, …}"
        )
    return recipe


def _schema_of(roles: Roles, details: Mapping[str, Fields]) -> Schema:
    schema = Schema.from_roles(roles)
    for detail, by_column in details.items():
        for column, value in by_column.items():
            # Details are given by column for both tables; those of the other one are skipped.
            if column in schema.attributes:
                schema = schema.replace(column, **{detail: value})
    return schema
