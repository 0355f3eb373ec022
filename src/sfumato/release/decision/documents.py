"""Strict JSON of the decision: frozen records that are read as they were written, or not at all."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from sfumato.core.fields import Document, Fields
from sfumato.errors import ParameterError, UnreadableInput, printable_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

STRICT = ConfigDict(
    strict=True,
    extra="forbid",
    allow_inf_nan=False,
    hide_input_in_errors=True,
)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T]) -> type[T]:
    """Make a class a frozen record of a document: every field has its type, no other is taken, and
    no number is infinite.
    """
    checked: Any = dataclass(frozen=True, config=STRICT)(cls)
    validated = checked.__init__

    @functools.wraps(validated)
    def init(self: object, *args: Any, **kwargs: Any) -> None:
        try:
            validated(self, *args, **kwargs)
        except ValidationError as error:
            raise ParameterError(f"{cls.__name__}: {_first_problem(error)}") from None

    checked.__init__ = init
    return checked  # type: ignore[no-any-return]


def record_to_dict(value: DataclassInstance) -> Document:
    """A record as plain data, in the order of its fields."""
    plain: Document = TypeAdapter(type(value)).dump_python(value, mode="json")
    return plain


def record_from_dict(kind: type[T], document: Fields, name: str) -> T:
    """A record of a document; refused where a field is missing, unknown or of another type."""
    try:
        # As JSON, in which a list is the only sequence and a word the only name of a tier.
        return TypeAdapter(kind).validate_json(json.dumps(document))
    except ValidationError as error:
        raise UnreadableInput(f"{name} cannot be understood: {_first_problem(error)}") from None
    except (TypeError, ValueError):
        raise UnreadableInput(f"{name} cannot be understood: it is no plain JSON") from None


def canonical_json(document: Fields) -> str:
    """The text of a document: equal documents have equal bytes."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _first_problem(error: ValidationError) -> str:
    """What is wrong first, and where: names of fields, never what stands in them."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # Records that contradict themselves say so in a sentence of their own.
    message = problem["msg"].removeprefix("Value error, ")
    path = printable_json(" → ".join(map(str, problem["loc"])))
    if not path:
        return message
    if problem["type"] == "missing":
        return f"it lacks {path}"
    if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"it says {path}, which no such document says"
    return f"{path}: {message}"
