"""Fields that masking steps have in common, and the checks that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from sfumato.core.parameters import COLUMNS
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.core.table import Table


def _once(names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("names a column twice; name it once")
    return tuple(names)


Names = Annotated[Sequence[str], COLUMNS, Field(min_length=1), AfterValidator(_once)]
"""One or more columns, each once."""

Strata = Annotated[
    Names | None,
    Field(description="columns that define the strata; by default those with that role"),
]


def require_table(dataset: Table, step: str, columns: Sequence[str]) -> None:
    """Refuse a table without rows, and columns it lacks."""
    dataset.require(columns)
    if not len(dataset):
        raise SchemaError(f"{step}: {dataset.source.name} has no rows; there is nothing to mask")


def require_only_with(
    step: str, field: str, value: object, methods: Sequence[str], method: str
) -> None:
    """Refuse an option that the chosen method would ignore."""
    if value is not None and method not in methods:
        raise ParameterError(f"{step}: {field} is for {join_words(methods)}, not for {method}")
