"""One thing a certificate says, and whether it is so."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

NEAR = 1e-9
Status = Literal["holds", "fails", "needs original"]


@dataclasses.dataclass(frozen=True)
class Claim:
    """One thing a certificate says, and whether it is so."""

    name: str
    status: Status
    detail: str
    promise: bool = False
    """Whether it is a promise or limit of the recipe: what a release is made for."""


def near(one: Any, other: Any) -> bool:
    """Whether two claimed values are the same number."""
    if one is None or other is None:
        return one is other
    return abs(float(one) - float(other)) <= NEAR * max(1.0, abs(float(other)))
