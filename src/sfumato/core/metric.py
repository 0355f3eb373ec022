"""Quantities: what a release risks and what it is still worth."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal, Protocol


@dataclasses.dataclass(frozen=True)
class Measure:
    """One number with its meaning. ``interval`` is a confidence or certainty interval where there is one."""

    name: str
    value: float
    better: Literal["lower", "higher"]
    meaning: str
    interval: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The measure as plain data."""
        return dataclasses.asdict(self)


class Metric(Protocol):
    """A risk or a utility."""

    name: ClassVar[str]
    better: ClassVar[Literal["lower", "higher"]]
