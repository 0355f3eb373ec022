"""Fields that masking steps have in common, and the checks that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset


def _once(names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("names a column twice")
    return tuple(names)


Names = Annotated[Sequence[str], Field(min_length=1), AfterValidator(_once)]
"""One or more columns, each once."""


def require_table(dataset: Dataset, step: str, columns: Sequence[str]) -> None:
    """Refuse a table without rows, and columns it lacks."""
    dataset.require(columns)
    if not len(dataset):
        raise SchemaError(f"{step}: {dataset.source.name} has no rows; there is nothing to mask")


def require_only_with(step: str, field: str, given: object, methods: Sequence[str], method: str) -> None:
    """Refuse an option that the chosen method would ignore."""
    if given is not None and method not in methods:
        raise ParameterError(f"{step}: {field} is for {' and '.join(methods)}, not for {method}")
