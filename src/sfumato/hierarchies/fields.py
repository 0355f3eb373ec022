"""What the fields of all hierarchies are made of: labels and numbers."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def label_text(value: Any) -> str:
    """A label as text; whole numbers may be written without quotes, other things may not.

    >>> label_text(7)
    '7'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"labels must be text; put quotes around this {type(value).__name__}")


def finite(value: Any) -> int | float:
    """A finite number, or a ValueError that says so."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Label = Annotated[str, BeforeValidator(label_text)]
Number = Annotated[int | float, BeforeValidator(finite)]
PositiveNumber = Annotated[int | float, BeforeValidator(finite), Field(gt=0)]
Catch = Annotated[
    Label | None, Field(description="label below the top that adopts the values the hierarchy does not list")
]
