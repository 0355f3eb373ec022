"""What a certificate says of each released table, and the schemas that are read from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.core.fields import Document, Fields
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.shape import DATA, PEOPLE, SEVERAL_TABLES, Shape
from sfumato.errors import ParameterError, SchemaError, UnreadableInput

if TYPE_CHECKING:
    from sfumato.core.data import Data
    from sfumato.core.recipe import Recipe


def as_released(schema: Schema) -> Schema:
    """What the columns of a release are: no direct identifiers, and no hierarchy, of whose inner
    nodes a cell may be one.

    Items keep theirs: only it tells which released groups hold an item that nobody may be sure of.
    So do sensitive columns, which are no quasi-identifiers and are released as they are: distances
    between their values need it.
    """
    attributes = schema.without(schema.dropped_columns).attributes
    return Schema(
        {
            name: attribute if _as_it_is(attribute) else _bare(attribute)
            for name, attribute in attributes.items()
        }
    )


def _as_it_is(attribute: Attribute) -> bool:
    return attribute.has(Role.SENSITIVE) and not attribute.has(Role.QUASI)


def _bare(attribute: Attribute) -> Attribute:
    return dataclasses.replace(
        attribute, hierarchy=attribute.hierarchy if attribute.has(Role.ITEM) else None, order=None
    )


def sections(certificate: Fields) -> dict[str, Fields]:
    """What a certificate says of each table of a release; of several tables together, else of one
    or two by themselves.
    """
    if "tables" in certificate:
        table_sections = dict(certificate["tables"])
    else:
        table_sections = {name: certificate[name] for name in (DATA, PEOPLE) if name in certificate}
    if not table_sections:
        raise UnreadableInput("the certificate does not describe a table")
    return table_sections


def as_sections(tables: Mapping[str, Fields], shape: Shape) -> Document:
    """The same as a certificate writes it; :func:`sections` reads it."""
    if shape in SEVERAL_TABLES:
        return {"tables": dict(tables)}
    return dict(tables)


TOLD = ("kind", "missing", "unit", "free_text", "of")
"""What a certificate says of a column besides its roles; orders and hierarchies list values."""


def schema_told(columns: Fields) -> Schema:
    """What the columns of a released table are, as its certificate says."""
    try:
        return Schema({name: _attribute(spec) for name, spec in columns.items()})
    except ParameterError as error:
        raise UnreadableInput(
            f"the certificate contradicts itself about a column: {error}"
        ) from None


def _attribute(spec: Fields) -> Attribute:
    role = spec["role"]
    roles: Any = (role,) if isinstance(role, str) else tuple(role)
    return Attribute(roles, **{key: spec[key] for key in TOLD if key in spec})


def columns_told(released: Data, recipe: Recipe) -> dict[str, Document]:
    """What a certificate says of the columns of each table: their roles and kinds, nothing that
    lists values.
    """
    columns: dict[str, Document] = {}
    for name, frame in released.to_tables().items():
        own = released.schemas.get(name)
        attributes = {
            **recipe.schemas.get(name, recipe.schema).attributes,
            **({} if own is None else own.attributes),
        }
        lost = [column for column in frame.columns if column not in attributes]
        if lost:
            raise SchemaError(
                f"{len(lost)} column(s) of the release have no role: {', '.join(lost[:5])}"
            )
        columns[name] = {column: _column_dict(attributes[column]) for column in frame.columns}
    return columns


def _column_dict(attribute: Attribute) -> Document:
    roles = [str(role) for role in attribute.roles]
    plain: Document = {"role": roles[0] if len(roles) == 1 else roles}
    for field in dataclasses.fields(attribute):
        value = getattr(attribute, field.name)
        if field.name in TOLD and value != field.default:
            plain[field.name] = value if isinstance(value, bool) else str(value)
    return plain


def direct_in(recipe: Recipe) -> list[str]:
    """The direct identifiers that a recipe names, in all its tables."""
    return [name for schema in recipe.schemas.values() for name in schema.columns(Role.DROP)]
