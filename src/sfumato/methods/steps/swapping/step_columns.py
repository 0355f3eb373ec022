"""The columns a step works on: each named once, present, and of a role that may be masked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from sfumato.core.parameters import COLUMNS
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.core.table import Table


def _once_each(names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("names a column twice; name it once")
    return tuple(names)


Columns = Annotated[Sequence[str], COLUMNS, Field(min_length=1), AfterValidator(_once_each)]
"""One column or more."""


Within = Annotated[Sequence[str], COLUMNS, AfterValidator(_once_each)]
"""Columns that make strata; an empty list for the whole table."""

Strata = Annotated[
    Within | None, Field(description="columns that make strata; by default those with that role")
]


def require_columns(dataset: Table, names: Sequence[str], step: str) -> None:
    """Raise one error for all columns that are not there, or that the survey's design needs as they
    are.
    """
    dataset.require(names)
    design = [n for n in names if n in dataset.schema.attributes and _is_design(dataset, n)]
    if design:
        raise SchemaError(
            f"{step} must leave the columns of persons, households and weights unchanged, but it "
            f"names {', '.join(design)}; leave them out"
        )


def _is_design(dataset: Table, name: str) -> bool:
    attribute = dataset.schema[name]
    return attribute.identifies is not None or attribute.has(Role.WEIGHT)


def require_apart(**lists: Sequence[str]) -> None:
    """Raise when a column is named in two lists that exclude each other."""
    field_of_column: dict[str, str] = {}
    for field, names in lists.items():
        for name in names:
            if name in field_of_column:
                raise ParameterError(
                    f"column {name!r} cannot be in {field_of_column[name]} and in {field}; keep one"
                )
            field_of_column[name] = field
